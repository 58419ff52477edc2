#include "verify/proof/element_of.h"

#include <algorithm>

#include "graph/te/print.h"
#include "graph/te/syntax.h"
#include "util/check.h"

namespace isomer::verify {
namespace {

constexpr int64_t kMostFactors = 8;  ///< that a power is written out as

Error not_read(std::string_view what) {
  return unsupported("a tensor expression", "maps, sums and maxima of elements expected, {} found", what);
}

bool is_monoid(const te::Monoid& monoid, const te::Monoid& known) {
  return monoid.identity == known.identity && monoid.combine == known.combine;
}

bool is_map(const te::MapReduce& stage) {
  return stage.bodies.size() == 1 && stage.reduce.empty() && stage.combine.arity() == 0;
}

bool is_infinity(const te::Expr& expr) {
  const auto* literal = te::as<te::Literal>(expr);
  return literal && !literal->value.is_finite();
}

/// Of integers that no data are in, but indices and sizes.
bool is_index(const te::Expr& expr) { return expr.dtype() == DataType::kInt64 && !te::has_load(expr); }

/// Whether a cast keeps every value: the numbers are exact.
bool keeps_values(DataType from, DataType to) {
  return from == DataType::kBool || (is_exact_cast(from, to) && !(from | to).contains(DataType::kBFloat16));
}

Result<Element> literal(const te::Number& value, const ElementMaker& make) {
  return value.is_finite() ? Result<Element>(make.number(te::Rational(value))) : not_read("an infinity");
}

}  // namespace

/// Reads the stages of one application.
class ElementReader::Stages {
 public:
  Stages(ElementReader& reader, const Term::Application& application, const Read& read)
      : reader_(reader), make_(reader.make_), application_(application), read_(read) {}

  Result<te::Expr> integer(te::StageValue value, const std::vector<te::Expr>& index) {
    const auto* map =
        value.stage < 0 ? nullptr
                        : std::get_if<te::MapReduce>(&read_.made.program.stages[static_cast<size_t>(value.stage)].body);
    if (!map || !is_map(*map)) return not_read("integers that are no map");
    const auto* cast = te::as<te::Cast>(map->bodies[0]);
    const te::Expr& moved =
        cast && keeps_values(cast->operand.dtype(), map->bodies[0].dtype()) ? cast->operand : map->bodies[0];
    if (!te::as<te::Load>(moved)) return not_read("integers that are computed");
    return integer(with_axes(map->bodies[0], index, {}));
  }

  Result<Element> value(te::StageValue value, const std::vector<te::Expr>& index) {
    if (value.stage < 0) return not_read("an output that is not there");
    const te::Stage& any = read_.made.program.stages[static_cast<size_t>(value.stage)];
    if (const auto* scan = std::get_if<te::Scan>(&any.body)) return running_sum(*scan, index);
    const auto* stage = std::get_if<te::MapReduce>(&any.body);
    if (!stage || stage->bodies.size() != 1) return not_read("a stage of another kind");
    CHECK(index.size() == stage->axes.size()) << application_.op->name;
    std::vector<te::Expr> iterators;
    std::vector<Bound> bounds;
    for (const Dim& dim : stage->reduce) {
      TRY(const te::Expr extent, integer(with_axes(dim.expr(), index, {})));
      bounds.push_back(make_.fresh("r", extent));
      iterators.push_back(te::symbol(bounds.back().name));
    }
    const te::Expr body = with_axes(stage->bodies[0], index, iterators);
    if (is_map(*stage)) return read(body);
    const DataType dtype = body.dtype();
    if (is_monoid(stage->combine, te::sum(dtype)) && may_compute(dtype)) {
      TRY(const Element summand, read(body));
      return make_.sum_over(bounds, summand);
    }
    const bool is_least = is_monoid(stage->combine, te::minimum(dtype));
    if (!is_least && !is_monoid(stage->combine, te::maximum(dtype))) return not_read("another reduction");
    std::vector<Piece> pieces;
    TRY_VOID(add_pieces(body, is_least, stage->combine.identity[0], {bounds, {}, {}}, pieces));
    const Element most = make_.greatest(std::move(pieces));
    return is_least ? make_.negated(most) : most;
  }

 private:
  static te::Expr with_axes(const te::Expr& expr, const std::vector<te::Expr>& axes,
                            const std::vector<te::Expr>& iterators) {
    return te::transform(expr, [&](const te::Expr& e) -> te::Expr {
      const auto* var = te::as<te::Var>(e);
      if (!var) return {};
      if (var->kind == te::VarKind::kSpatial && static_cast<size_t>(var->index) < axes.size())
        return axes[static_cast<size_t>(var->index)];
      if (var->kind == te::VarKind::kReduce && static_cast<size_t>(var->index) < iterators.size())
        return iterators[static_cast<size_t>(var->index)];
      return {};
    });
  }

  /// From nothing, each step adds an element that it does not find in the state.
  Result<Element> running_sum(const te::Scan& scan, const std::vector<te::Expr>& index) {
    const bool is_single = scan.states.size() == 1 && scan.steps.size() == 1 && is_map(scan.steps[0]);
    const auto* add = is_single ? te::as<te::Binary>(scan.steps[0].bodies[0]) : nullptr;
    const auto rank = static_cast<int>(index.size()) - 1;
    if (!add || add->op != te::BinaryOp::kAdd || !may_compute(add->left.dtype()) ||
        add->left != te::load_state(0, add->left.dtype(), te::axes(rank)) ||
        scan.states[0].init != te::literal(0, add->left.dtype()))
      return not_read("another recurrence");
    const Bound step = make_.fresh("t", index[0] + 1);
    const te::Expr added = te::transform(
        add->right, [&](const te::Expr& e) { return e == te::time_step() ? te::symbol(step.name) : te::Expr(); });
    TRY(const Element summand, read(with_axes(added, {index.begin() + 1, index.end()}, {})));
    return make_.sum_over({step}, summand);
  }

  /// What a maximum is taken of: where the body is the identity there is nothing.
  Result<void> add_pieces(const te::Expr& body, bool is_least, const te::Expr& identity, Piece piece,
                          std::vector<Piece>& pieces) {
    if (body == identity) return {};
    const auto* select = te::as<te::Select>(body);
    if (select && !te::has_load(select->condition)) {
      Piece otherwise = piece;
      if (make_.add_condition(piece.conditions, select->condition))
        TRY_VOID(add_pieces(select->then, is_least, identity, std::move(piece), pieces));
      if (!make_.add_condition(otherwise.conditions, te::logical_not(select->condition))) return {};
      return add_pieces(select->otherwise, is_least, identity, std::move(otherwise), pieces);
    }
    TRY(piece.value, read(body));
    if (is_least) piece.value = make_.negated(piece.value);
    pieces.push_back(std::move(piece));
    return {};
  }

  /// Integers have limits, of which elements say nothing.
  bool may_compute(DataType dtype) const { return reader_.computes_integers_ || !is_int(dtype); }

  Result<Element> read(const te::Expr& expr) {
    if (make_.is_exhausted()) return not_read("too much");
    if (is_index(expr)) return make_.integer(expr);
    if (expr.dtype() == DataType::kBool && !te::has_load(expr)) return make_.truth(expr);
    return te::visit(
        expr, [&](const te::Literal& e) { return literal(e.value, make_); },
        [&](const te::Var&) -> Result<Element> { return not_read("an iterator"); },
        [&](const te::Symbol&) -> Result<Element> { return not_read("a name"); },
        [&](const te::Unary& e) { return unary(e); }, [&](const te::Binary& e) { return binary(expr, e); },
        [&](const te::Select& e) { return select(e); }, [&](const te::Cast& e) { return cast(expr, e); },
        [&](const te::Load& e) { return load(expr, e); });
  }

  Result<Element> unary(const te::Unary& e) {
    TRY(const Element operand, read(e.operand));
    const DataType dtype = e.operand.dtype();
    if (dtype == DataType::kBool) {
      if (e.op == te::UnaryOp::kNot) return make_.opposite(operand);
      return not_read("a function of truth values");
    }
    if (!may_compute(dtype) && e.op != te::UnaryOp::kNot) return not_read("arithmetic of integers");
    if (e.op == te::UnaryOp::kNeg) return make_.negated(operand);
    if (e.op == te::UnaryOp::kAbs) return greatest(operand, make_.negated(operand));
    return make_.call(
        is_float(dtype) ? std::string(te::name_of(e.op)) : fmt::format("{} of {}", te::name_of(e.op), name(dtype)),
        {operand});
  }

  Element greatest(const Element& a, const Element& b) { return make_.greatest({{{}, {}, a}, {{}, {}, b}}); }

  Result<Element> binary(const te::Expr& expr, const te::Binary& e) {
    using enum te::BinaryOp;
    const DataType dtype = e.left.dtype();
    // Numbers are finite here; whether floats are is a function of theirs.
    if (e.op == kEqual && (is_infinity(e.left) || is_infinity(e.right))) {
      const te::Expr& bound = is_infinity(e.right) ? e.right : e.left;
      TRY(const Element operand, read(is_infinity(e.right) ? e.left : e.right));
      return make_.call("is " + te::print(bound), {operand});
    }
    TRY(const Element a, read(e.left));
    TRY(const Element b, read(e.right));
    if (dtype == DataType::kBool) {
      const Element both = make_.product(a, b), either = make_.difference(make_.sum(a, b), both);
      if (e.op == kAnd || e.op == kMin) return both;
      if (e.op == kOr || e.op == kMax) return either;
      if (e.op == kXor) return make_.difference(either, both);
      if (e.op == kEqual) return make_.opposite(make_.difference(either, both));
      return not_read("a comparison of truth values");
    }
    const bool is_of_bits = e.op == kAnd || e.op == kOr || e.op == kXor;
    const bool compares = e.op == kMax || e.op == kMin || expr.dtype() == DataType::kBool;
    if (!is_of_bits && !compares && !may_compute(dtype)) return not_read("arithmetic of integers");
    switch (e.op) {
      case kAdd: return make_.sum(a, b);
      case kSub: return make_.difference(a, b);
      case kMul: return make_.product(a, b);
      case kMax: return greatest(a, b);
      case kMin: return make_.negated(greatest(make_.negated(a), make_.negated(b)));
      // a < b as 0 < b - a, so that both spellings of one comparison are one.
      case kEqual: return make_.call("is_zero", {make_.difference(a, b)}, true);
      case kLess: return make_.call("is_positive", {make_.difference(b, a)}, true);
      case kLessEqual: return make_.opposite(make_.call("is_positive", {make_.difference(a, b)}, true));
      case kDiv:
        if (is_float(dtype)) return make_.product(a, make_.call("reciprocal", {b}));
        break;
      case kPow:
        for (auto [n, power] = std::pair(int64_t{0}, make_.number(te::Rational(1))); n <= kMostFactors;
             ++n, power = make_.product(power, a))
          if (make_.difference(b, make_.number(te::Rational(n))).products.empty()) return power;
        break;
      default: break;
    }
    return make_.call(fmt::format("{} of {}", te::syntax_of(e.op).text, name(expr.dtype())), {a, b});
  }

  Result<Element> select(const te::Select& e) {
    TRY(const Element then, read(e.then));
    TRY(const Element otherwise, read(e.otherwise));
    if (!te::has_load(e.condition))
      return make_.sum(make_.restricted(then, e.condition), make_.restricted(otherwise, te::logical_not(e.condition)));
    TRY(const Element condition, read(e.condition));
    return make_.sum(make_.product(condition, then), make_.product(make_.opposite(condition), otherwise));
  }

  /// Sizes and indices are numbers as floats; other integers may be rounded, all types' alike.
  Result<Element> cast(const te::Expr& expr, const te::Cast& e) {
    TRY(const Element operand, read(e.operand));
    const DataType from = e.operand.dtype(), to = expr.dtype();
    const bool is_size = is_int(from) && !te::has_load(e.operand) && is_float(to) && bit_width(to) >= 32;
    if (is_size || keeps_values(from, to) || is_among(operand, to)) return operand;
    const std::string kind = fmt::format("cast of {} to {}", is_int(from) ? "int" : name(from), name(to));
    return make_.call(kind, {operand}, to == DataType::kBool);
  }

  /// Whether the type has all values that it may have: of a variable of a narrower type, or 0 and 1.
  bool is_among(const Element& element, DataType dtype) {
    const FactorRef factor = only_factor(element);
    if (factor && factor->kind == Factor::Kind::kLoad)
      return keeps_values(reader_.variables_.find(factor->name)->second.dtype, dtype);
    const FactorRef opposite = only_factor(make_.opposite(element));
    return (factor && factor->is_truth) || (opposite && opposite->is_truth);
  }

  Result<std::vector<te::Expr>> indices(const std::vector<te::Expr>& exprs) {
    std::vector<te::Expr> result;
    for (const te::Expr& each : exprs) {
      TRY(const te::Expr decided, integer(each));
      result.push_back(make_.simplified(decided));
    }
    return result;
  }

  /// Data in an index are loads of variables: of local buffers, by the variables' numbers, so that equal indices are
  /// written alike.
  Result<te::Expr> integer(const te::Expr& expr) {
    std::optional<Error> error;
    te::Expr made = te::transform(expr, [&](const te::Expr& e) -> te::Expr {
      const auto* load = te::as<te::Load>(e);
      if (!load || load->buffer.kind == te::BufferRef::Kind::kLocal || error) return {};
      Result<te::Expr> loaded = this->loaded(*load, e.dtype());
      if (loaded.ok()) return *std::move(loaded);
      error = loaded.error();
      return {};
    });
    if (error) return *std::move(error);
    return made;
  }

  Result<te::Expr> loaded(const te::Load& load, DataType dtype) {
    using Kind = te::BufferRef::Kind;
    if (load.buffer.kind == Kind::kStage) return integer({load.buffer.index, load.buffer.component}, load.index);
    const auto argument =
        load.buffer.kind == Kind::kInput ? read_.made.arguments[static_cast<size_t>(load.buffer.index)] : std::nullopt;
    if (!argument || !is_int(dtype)) return not_read("an index that other data decide");
    return reader_.integer(application_.arguments[*argument], dtype, load.index);
  }

  Result<Element> load(const te::Expr& expr, const te::Load& e) {
    TRY(const std::vector<te::Expr> index, indices(e.index));
    if (e.buffer.kind == te::BufferRef::Kind::kStage) return value({e.buffer.index, e.buffer.component}, index);
    const auto argument = e.buffer.kind == te::BufferRef::Kind::kInput
                              ? read_.made.arguments[static_cast<size_t>(e.buffer.index)]
                              : std::nullopt;
    if (!argument) return not_read("integers that are read");
    const Term& operand = application_.arguments[*argument];
    const auto* number = std::get_if<Term::Number>(&operand.form());
    if (number && is_int(expr.dtype()) && !number->value.is_integer()) return not_read("a fraction among integers");
    return reader_.element(operand, index);
  }

  ElementReader& reader_;
  ElementMaker& make_;
  const Term::Application& application_;
  const Read& read_;
};

bool has_no_elements(const ValueType& type) {
  return type.has_shape() && std::ranges::any_of(*type.shape, [](const Dim& dim) { return dim.is(0); });
}

Result<ValueType> ElementReader::type_of(const Term& term) {
  if (const auto* variable = term.as_variable()) {
    const auto found = variables_.find(variable->name);
    if (found == variables_.end())
      return invalid(variable->name, "a type of each variable expected, this one has none");
    return found->second;
  }
  const auto* application = term.as_application();
  if (!application) return ValueType::tensor(DataType::kUndefined, {});
  TRY(const Read* read, this->read(term));
  if (static_cast<size_t>(application->output) >= read->outputs.size())
    return invalid(term.text(), "an output below {} expected", read->outputs.size());
  return read->outputs[static_cast<size_t>(application->output)];
}

Result<const ElementReader::Read*> ElementReader::read(const Term& term) {
  const auto [found, is_new] = reads_.emplace(term, Read());
  Read& result = found->second;
  // What could not be read once has no outputs.
  if (!is_new) return &result;
  const Term::Application& application = *term.as_application();
  std::vector<ValueType> types;
  for (const Term& argument : application.arguments) {
    TRY(ValueType type, type_of(argument));
    if (has_no_elements(type)) return invalid(argument.text(), "a tensor that has elements expected");
    types.push_back(std::move(type));
  }
  TRY(std::vector<ValueType> outputs, infer_application(application, types));
  TRY(ApplicationProgram made, program_of(application, types));
  result = {std::move(made), std::move(outputs)};
  return &result;
}

Result<Element> ElementReader::element(const Term& term, const std::vector<te::Expr>& index) {
  if (const auto* variable = term.as_variable())
    return make_.load(variable->name, variables_.find(variable->name)->second.dtype == DataType::kBool, index);
  if (const auto* number = std::get_if<Term::Number>(&term.form())) return literal(number->value, make_);
  TRY(const Read* read, this->read(term));
  const Term::Application& application = *term.as_application();
  const auto output = static_cast<size_t>(application.output);
  if (output >= read->made.program.outputs.size()) return not_read("an output that is not there");
  return Stages(*this, application, *read).value(read->made.program.outputs[output], index);
}

Result<te::Expr> ElementReader::integer(const Term& term, DataType dtype, const std::vector<te::Expr>& index) {
  if (const auto* variable = term.as_variable()) {
    const auto number = std::distance(variables_.begin(), variables_.find(variable->name));
    return te::load_local(static_cast<int>(number), dtype, index);
  }
  if (const auto* number = std::get_if<Term::Number>(&term.form())) return te::literal(number->value, dtype);
  TRY(const Read* read, this->read(term));
  const Term::Application& application = *term.as_application();
  return Stages(*this, application, *read)
      .integer(read->made.program.outputs[static_cast<size_t>(application.output)], index);
}

}  // namespace isomer::verify
