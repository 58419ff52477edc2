#include "graph/te/interpret/node_builder.h"

#include <algorithm>
#include <numeric>

#include "graph/te/integer.h"
#include "util/check.h"

namespace isomer::te::interpreter {

int NodeBuilder::add(Node node) {
  for_each_operand(node, [&](int operand) {
    node.depends |= this->node(operand).depends;
    node.conditional |= this->node(operand).conditional;
  });
  node.depends |= depends_on(node.linear);
  for (const Check& check : node.checks) node.depends |= depends_on(check.index);
  lowered_->nodes.push_back(std::move(node));
  return static_cast<int>(lowered_->nodes.size()) - 1;
}

uint64_t NodeBuilder::depends_on(const Linear& linear) const {
  uint64_t mask = 0;
  for (const Term& term : linear.terms)
    if (is_iterator(term.atom)) mask |= uint64_t{1} << term.atom;
  return mask;
}

int NodeBuilder::real(double value, DataType dtype) {
  Node node{.kind = Node::Kind::kReal, .dtype = dtype};
  node.real = value;
  return add(std::move(node));
}

int NodeBuilder::integer(int64_t value, DataType dtype) {
  Node node{.kind = Node::Kind::kInteger, .dtype = dtype};
  node.integer = value;
  node.range = Range::exactly(value);
  return add(std::move(node));
}

int NodeBuilder::linear(Linear linear, Range range) {
  if (linear.is_constant()) return integer(linear.constant, DataType::kInt64);
  if (linear.constant == 0 && linear.terms.size() == 1 && linear.terms[0].factor == 1 &&
      !is_iterator(linear.terms[0].atom))
    return node_of(linear.terms[0].atom);
  Node node{.kind = Node::Kind::kLinear};
  node.range = intersection(range, range_of(linear));
  node.linear = std::move(linear);
  return add(std::move(node));
}

int NodeBuilder::accumulator(int component, DataType dtype, bool unwrapped) {
  Node node{.kind = Node::Kind::kAccumulator, .dtype = dtype};
  node.integer = component;
  node.unwrapped = unwrapped;
  if (!is_float(dtype)) node.range = Range::of(IntegerType(dtype));
  return add(std::move(node));
}

int NodeBuilder::load(int buffer, DataType dtype, Linear offset, std::vector<Check> checks, bool conditional) {
  Node node{.kind = Node::Kind::kLoad, .dtype = dtype};
  node.buffer = buffer;
  node.linear = std::move(offset);
  node.conditional = conditional || !checks.empty();
  node.checks = std::move(checks);
  if (!is_float(dtype)) node.range = Range::of(IntegerType(dtype));
  return add(std::move(node));
}

Linear NodeBuilder::as_linear(int id) const {
  const Node& n = node(id);
  if (n.kind == Node::Kind::kInteger) return {n.integer, {}};
  if (n.kind == Node::Kind::kLinear) return n.linear;
  return Linear::of(atom_of_node(id));
}

Range NodeBuilder::range_of(const Linear& linear) const {
  Range range = Range::exactly(linear.constant);
  for (const Term& term : linear.terms) {
    const Range atom =
        is_iterator(term.atom) ? Range{0, lowered_->iterators[term.atom].extent - 1} : node(node_of(term.atom)).range;
    range = range + atom * Range::exactly(term.factor);
  }
  return range;
}

std::optional<int64_t> NodeBuilder::constant(int id) const {
  if (node(id).kind != Node::Kind::kInteger) return std::nullopt;
  return node(id).integer;
}

int NodeBuilder::wrapped(int id) {
  if (!node(id).unwrapped) return id;
  Node wrap{.kind = Node::Kind::kWrap, .dtype = node(id).dtype};
  wrap.a = id;
  wrap.range = Range::of(IntegerType(wrap.dtype));
  return add(std::move(wrap));
}

// floor((c·x + y) / c) = x + floor(y / c); floor((g·t + r) / (g·c)) = floor((t + floor(r / g)) / c).
Linear NodeBuilder::floor_div(const Linear& numerator, int64_t divisor) {
  Linear quotient{te::floor_div(numerator.constant, divisor), {}};
  Linear rest{floor_mod(numerator.constant, divisor), {}};
  for (const Term& term : numerator.terms) {
    if (term.factor % divisor == 0)
      quotient.terms.push_back({term.atom, term.factor / divisor});
    else
      rest.terms.push_back(term);
  }
  const Range range = range_of(rest);
  if (te::floor_div(range.low, divisor) == te::floor_div(range.high, divisor))
    return shifted(std::move(quotient), te::floor_div(range.low, divisor));

  // The longest run of terms, largest factors first, that share a factor g with the divisor while what is left stays in
  // [0, g).
  std::vector<Term> terms = rest.terms;
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
    const auto left = Range::exactly(a.factor).magnitude(), right = Range::exactly(b.factor).magnitude();
    return left != right ? left > right : a.atom < b.atom;
  });
  for (size_t count = terms.size(); count > 0; --count) {
    int64_t g = divisor;
    for (size_t i = 0; i < count; ++i) g = std::gcd(g, terms[i].factor);
    if (g == 1) continue;
    Linear low{rest.constant % g, {}};
    Linear high{rest.constant / g, {}};
    for (const Term& term : rest.terms) {
      const bool shares = std::find(terms.begin(), terms.begin() + count, term) != terms.begin() + count;
      (shares ? high : low).terms.push_back(shares ? Term{term.atom, term.factor / g} : term);
    }
    if (range_of(low).within({0, g - 1})) return add_scaled(quotient, floor_div(high, divisor / g), 1);
  }
  return add_scaled(quotient, irreducible_floor_div(rest, divisor), 1);
}

Linear NodeBuilder::irreducible_floor_div(const Linear& numerator, int64_t divisor) {
  if (divisor == 1) return numerator;
  if (numerator.constant == 0 && numerator.terms.size() == 1 && numerator.terms[0].factor == 1 &&
      !is_iterator(numerator.terms[0].atom)) {
    const Node& inner = node(node_of(numerator.terms[0].atom));
    if (inner.kind == Node::Kind::kFloorDiv && inner.integer < kSaturated / divisor)
      return floor_div(Linear(inner.linear), inner.integer * divisor);
  }
  for (const Term& term : numerator.terms) {
    if (!is_iterator(term.atom)) continue;
    const Iterator& iterator = lowered_->iterators[term.atom];
    const int64_t part = divisor / std::gcd(term.factor, divisor);
    if (iterator.role != Role::kTime && part > 1 && part < iterator.extent && iterator.extent % part == 0)
      split_requests_.emplace_back(term.atom, part);
  }
  for (size_t id = 0; id < lowered_->nodes.size(); ++id)
    if (const Node& n = node(static_cast<int>(id));
        n.kind == Node::Kind::kFloorDiv && n.integer == divisor && n.linear == numerator)
      return Linear::of(atom_of_node(static_cast<int>(id)));
  Node division{.kind = Node::Kind::kFloorDiv};
  const Range range = range_of(numerator);
  division.range = {te::floor_div(range.low, divisor), te::floor_div(range.high, divisor)};
  division.integer = divisor;
  division.linear = numerator;
  return Linear::of(atom_of_node(add(std::move(division))));
}

int NodeBuilder::predicate(Linear form, bool equality) {
  Node node{.kind = Node::Kind::kPredicate, .dtype = DataType::kBool};
  node.equality = equality;
  node.range = {0, 1};
  node.linear = std::move(form);
  return add(std::move(node));
}

std::optional<bool> NodeBuilder::decided(BinaryOp op, const Node& a, const Node& b) const {
  const bool unsigned64 = a.dtype == DataType::kUInt64;
  if (unsigned64 && (a.range.low < 0 || b.range.low < 0)) return std::nullopt;
  if (op == BinaryOp::kEqual) {
    if (a.range.high < b.range.low || b.range.high < a.range.low) return false;
    if (a.range.low == a.range.high && a.range == b.range) return true;
    return std::nullopt;
  }
  const bool strict = op == BinaryOp::kLess;
  if (strict ? a.range.high < b.range.low : a.range.high <= b.range.low) return true;
  if (strict ? a.range.low >= b.range.high : a.range.low > b.range.high) return false;
  return std::nullopt;
}

int NodeBuilder::binary(BinaryOp op, int a, int b) {
  if (node(a).is_real()) {
    Node result{.kind = Node::Kind::kBinary, .dtype = is_comparison(op) ? DataType::kBool : node(a).dtype};
    result.binary = op;
    result.a = a;
    result.b = b;
    if (is_comparison(op)) result.range = {0, 1};
    return add(std::move(result));
  }
  if (!is_ring_operation(op)) {
    a = wrapped(a);
    b = wrapped(b);
    if (is_comparison(op))
      if (const auto truth = decided(op, node(a), node(b))) return integer(*truth, DataType::kBool);
    if (op == BinaryOp::kMin || op == BinaryOp::kMax) {
      if (const auto first = decided(BinaryOp::kLessEqual, node(a), node(b)))
        return *first == (op == BinaryOp::kMin) ? a : b;
    }
  }
  return node(a).dtype == DataType::kInt64 ? index_binary(op, a, b) : integer_binary(op, a, b);
}

int NodeBuilder::index_binary(BinaryOp op, int a, int b) {
  const Range ra = node(a).range, rb = node(b).range;
  const bool bounded = ra.is_bounded() && rb.is_bounded();
  switch (op) {
    case BinaryOp::kAdd: return linear(add_scaled(as_linear(a), as_linear(b), 1), ra + rb);
    case BinaryOp::kSub: return linear(add_scaled(as_linear(a), as_linear(b), -1), ra - rb);
    case BinaryOp::kMul:
      if (const auto factor = constant(b)) return linear(scaled(as_linear(a), *factor), ra * rb);
      if (const auto factor = constant(a)) return linear(scaled(as_linear(b), *factor), ra * rb);
      break;
    case BinaryOp::kDiv:
    case BinaryOp::kTruncMod:
      if (ra.low < 0) break;
      [[fallthrough]];
    case BinaryOp::kFloorDiv:
    case BinaryOp::kFloorMod: {
      const auto divisor = constant(b);
      if (!divisor || *divisor <= 0 || !bounded) break;
      const Linear numerator = as_linear(a);
      const Linear quotient = floor_div(numerator, *divisor);
      if (op == BinaryOp::kDiv || op == BinaryOp::kFloorDiv)
        return linear(quotient, {te::floor_div(ra.low, *divisor), te::floor_div(ra.high, *divisor)});
      return linear(add_scaled(numerator, quotient, -*divisor), {0, *divisor - 1});
    }
    case BinaryOp::kLess:
    case BinaryOp::kLessEqual:
    case BinaryOp::kEqual: {
      if (!bounded) break;
      Linear form = add_scaled(as_linear(a), as_linear(b), -1);
      if (op == BinaryOp::kLessEqual) form = shifted(std::move(form), -1);
      const bool of_iterators = std::all_of(form.terms.begin(), form.terms.end(), [&](const Term& term) {
        return is_iterator(term.atom) || node(node_of(term.atom)).kind == Node::Kind::kFloorDiv;
      });
      if (!of_iterators) break;
      const Range range = range_of(form);
      if (op == BinaryOp::kEqual ? !range.contains(0) : range.low >= 0) return integer(0, DataType::kBool);
      if (op == BinaryOp::kEqual ? range == Range::exactly(0) : range.high < 0) return integer(1, DataType::kBool);
      return predicate(std::move(form), op == BinaryOp::kEqual);
    }
    default: break;
  }
  return integer_binary(op, a, b);
}

int NodeBuilder::integer_binary(BinaryOp op, int a, int b) {
  const DataType dtype = node(a).dtype;
  Node result{.kind = Node::Kind::kBinary, .dtype = is_comparison(op) ? DataType::kBool : dtype};
  result.binary = op;
  result.a = a;
  result.b = b;
  const IntegerType type(dtype);
  const Range ra = node(a).range, rb = node(b).range;
  const bool logical = op == BinaryOp::kAnd || op == BinaryOp::kOr || op == BinaryOp::kXor;
  if (type.is_bool && (op == BinaryOp::kAnd || op == BinaryOp::kOr)) {
    const bool absorbing = op == BinaryOp::kOr;
    for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)})
      if (const auto value = constant(one)) return (*value != 0) == absorbing ? one : other;
  }
  if (is_integer_division(op)) result.checked = rb.contains(0);
  result.conditional = result.checked;
  if (is_comparison(op)) {
    result.range = {0, 1};
    return add(std::move(result));
  }
  const bool ordered = !type.is_unsigned64() || (ra.low >= 0 && rb.low >= 0);
  switch (op) {
    case BinaryOp::kAdd: result.range = ra + rb; break;
    case BinaryOp::kSub: result.range = ra - rb; break;
    case BinaryOp::kMul: result.range = ra * rb; break;
    case BinaryOp::kMin:
      if (ordered) result.range = {std::min(ra.low, rb.low), std::min(ra.high, rb.high)};
      break;
    case BinaryOp::kMax:
      if (ordered) result.range = {std::max(ra.low, rb.low), std::max(ra.high, rb.high)};
      break;
    default: break;
  }
  const Range all = Range::of(type);
  const bool stays =
      logical || is_integer_division(op) || op == BinaryOp::kShiftRight || op == BinaryOp::kMin || op == BinaryOp::kMax;
  if (is_integer_division(op) && type.is_signed && type.bits < 64) {
    result.unwrapped = rb.contains(-1) && ra.contains(all.low);  // -128 / -1
  } else if (!stays && type.bits < 64) {
    const bool operands_exact = !node(a).unwrapped && !node(b).unwrapped;
    result.unwrapped = !operands_exact || !result.range.within(all);
  }
  if (result.unwrapped || !result.range.within(all)) result.range = all;
  return add(std::move(result));
}

int NodeBuilder::unary(UnaryOp op, int a) {
  if (node(a).is_real()) {
    Node result{.kind = Node::Kind::kUnary, .dtype = op == UnaryOp::kIsNan ? DataType::kBool : node(a).dtype};
    result.unary = op;
    result.a = a;
    if (op == UnaryOp::kIsNan) result.range = {0, 1};
    return add(std::move(result));
  }
  const DataType dtype = node(a).dtype;
  if (op == UnaryOp::kNeg) return binary(BinaryOp::kSub, integer(0, dtype), a);
  if (op == UnaryOp::kIsNan) return integer(0, DataType::kBool);
  if (op == UnaryOp::kFloor || op == UnaryOp::kCeil || op == UnaryOp::kRound) return a;
  CHECK(op == UnaryOp::kNot || op == UnaryOp::kAbs) << "a transcendental function of " << name(dtype);
  a = wrapped(a);
  if (dtype == DataType::kBool)
    if (const auto value = constant(a)) return op == UnaryOp::kNot ? integer(*value == 0, dtype) : a;
  const IntegerType type(dtype);
  if (op == UnaryOp::kAbs && (!type.is_signed || node(a).range.low >= 0)) return a;
  Node result{.kind = Node::Kind::kUnary, .dtype = dtype};
  result.unary = op;
  result.a = a;
  result.range = Range::of(type);
  if (op == UnaryOp::kAbs && node(a).range.is_bounded()) result.range = {0, node(a).range.magnitude()};
  if (!result.range.within(Range::of(type))) result.range = Range::of(type);
  result.unwrapped = type.bits < 64 && !type.is_bool &&
                     (op == UnaryOp::kNot ? !type.is_signed : node(a).range.contains(Range::of(type).low));
  return add(std::move(result));
}

int NodeBuilder::select(int condition, int then, int otherwise) {
  if (const auto value = constant(condition)) return *value ? then : otherwise;
  if (then == otherwise) return then;
  Node result{.kind = Node::Kind::kSelect, .dtype = node(then).dtype};
  result.a = condition;
  result.b = then;
  result.c = otherwise;
  if (!result.is_real()) {
    result.range = hull(node(then).range, node(otherwise).range);
    result.unwrapped = node(then).unwrapped || node(otherwise).unwrapped;
  }
  return add(std::move(result));
}

int NodeBuilder::retyped(DataType dtype, int a) {
  const IntegerType type(dtype);
  if (const auto value = constant(a)) return integer(wrap(*value, type), dtype);
  // What is left to wrap to a narrower type is undone by wrapping to a wider one.
  if (type.bits > value_bits(node(a).dtype)) a = wrapped(a);
  const bool fits = !node(a).unwrapped && (type.bits == 64 || node(a).range.within(Range::of(type)));
  if (fits && node(a).kind == Node::Kind::kRetype) a = node(a).a;
  if (node(a).dtype == dtype) return a;
  Node result{.kind = Node::Kind::kRetype, .dtype = dtype};
  result.a = a;
  result.unwrapped = !fits;
  result.range = fits ? node(a).range : Range::of(type);
  return add(std::move(result));
}

int NodeBuilder::cast(DataType dtype, int a) {
  const DataType from = node(a).dtype;
  if (from == dtype) return a;
  const bool to_real = is_float(dtype), from_real = is_float(from);
  if (!to_real && !from_real && dtype != DataType::kBool) return retyped(dtype, a);
  if (!from_real) a = wrapped(a);
  // A float32 that is 2 must become 2, also where doubles made 1.9999999999999998 of it.
  if (from_real && !to_real && from != DataType::kFloat64) {
    Node rounded{.kind = Node::Kind::kCast, .dtype = from};
    rounded.a = a;
    a = add(std::move(rounded));
  }
  const bool is_truth = dtype == DataType::kBool && !from_real;
  Node result{.kind = is_truth ? Node::Kind::kWrap : Node::Kind::kCast, .dtype = dtype};
  result.a = a;
  if (!to_real) result.range = Range::of(IntegerType(dtype));
  return add(std::move(result));
}

}  // namespace isomer::te::interpreter
