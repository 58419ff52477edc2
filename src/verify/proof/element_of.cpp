#include "verify/proof/element_of.h"

#include <algorithm>

#include "graph/te/syntax.h"
#include "util/check.h"

namespace isomer::verify {
namespace {

Error not_read(std::string_view what) {
  return unsupported("a tensor expression", "maps, sums and maxima of elements expected, {} found", what);
}

bool is_monoid(const te::Monoid& monoid, const te::Monoid& known) {
  return monoid.identity == known.identity && monoid.combine == known.combine;
}

/// Of integers that no data are in, but indices and sizes.
bool is_index(const te::Expr& expr) { return expr.dtype() == DataType::kInt64 && !te::has_load(expr); }

/// Whether a cast keeps every value: the numbers are exact, sizes and indices are numbers.
bool keeps_values(DataType from, DataType to) {
  if (from == DataType::kBool) return true;
  if (is_float(from))
    return is_float(to) && bit_width(from) <= bit_width(to) && from != DataType::kBFloat16 && to != DataType::kBFloat16;
  if (is_int(from) && is_int(to)) return is_signed_int(from) && is_signed_int(to) && bit_width(from) <= bit_width(to);
  return is_int(from) && (to == DataType::kFloat32 || to == DataType::kFloat64);
}

}  // namespace

/// Reads the stages of one application.
class ElementReader::Stages {
 public:
  Stages(ElementReader& reader, const Term::Application& application, const Read& read)
      : reader_(reader), make_(reader.make_), application_(application), read_(read) {}

  Result<Element> value(te::StageValue value, const std::vector<te::Expr>& index) {
    if (value.stage < 0) return not_read("an output that is not there");
    const auto* stage = std::get_if<te::MapReduce>(&read_.made.program.stages[static_cast<size_t>(value.stage)].body);
    if (!stage || stage->bodies.size() != 1) return not_read("a stage of another kind");
    CHECK(index.size() == stage->axes.size()) << application_.op->name;
    std::vector<te::Expr> iterators;
    std::vector<Bound> bounds;
    for (const Dim& dim : stage->reduce) {
      bounds.push_back(make_.fresh("r", with_axes(dim.expr(), index, {})));
      iterators.push_back(te::symbol(bounds.back().name));
    }
    const te::Expr body = with_axes(stage->bodies[0], index, iterators);
    if (stage->reduce.empty() && stage->combine.arity() == 0) return read(body);
    const DataType dtype = body.dtype();
    if (is_monoid(stage->combine, te::sum(dtype))) {
      TRY(const Element summand, read(body));
      return make_.sum_over(bounds, summand);
    }
    const bool is_least = is_monoid(stage->combine, te::minimum(dtype));
    if (!is_least && !is_monoid(stage->combine, te::maximum(dtype))) return not_read("another reduction");
    std::vector<Piece> pieces;
    TRY_VOID(add_pieces(body, is_least, stage->combine.identity[0], {bounds, {}, {}}, pieces));
    return make_.scaled(make_.greatest(std::move(pieces)), te::Rational(is_least ? -1 : 1));
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
    if (is_least) piece.value = make_.scaled(piece.value, te::Rational(-1));
    pieces.push_back(std::move(piece));
    return {};
  }

  Result<Element> read(const te::Expr& expr) {
    if (make_.is_exhausted()) return not_read("too much");
    if (is_index(expr)) return make_.integer(expr);
    if (expr.dtype() == DataType::kBool && !te::has_load(expr)) return make_.truth(expr);
    return te::visit(
        expr, [&](const te::Literal& e) { return literal(e.value); },
        [&](const te::Var&) -> Result<Element> { return not_read("an iterator"); },
        [&](const te::Symbol&) -> Result<Element> { return not_read("a name"); },
        [&](const te::Unary& e) { return unary(e); }, [&](const te::Binary& e) { return binary(expr, e); },
        [&](const te::Select& e) { return select(e); }, [&](const te::Cast& e) { return cast(expr, e); },
        [&](const te::Load& e) { return load(expr, e); });
  }

  Result<Element> literal(const te::Number& value) {
    if (value.is_finite()) return make_.number(te::Rational(value));
    return not_read("an infinity");
  }

  Result<Element> unary(const te::Unary& e) {
    TRY(const Element operand, read(e.operand));
    const DataType dtype = e.operand.dtype();
    if (dtype == DataType::kBool) {
      if (e.op == te::UnaryOp::kNot)
        return make_.sum(make_.number(te::Rational(1)), make_.scaled(operand, te::Rational(-1)));
      return not_read("a function of truth values");
    }
    if (e.op == te::UnaryOp::kNeg) return make_.scaled(operand, te::Rational(-1));
    if (e.op == te::UnaryOp::kAbs) return greatest(operand, make_.scaled(operand, te::Rational(-1)));
    // The numbers are finite.
    if (e.op == te::UnaryOp::kIsNan) return Element();
    return make_.call(
        is_float(dtype) ? std::string(te::name_of(e.op)) : fmt::format("{} of {}", te::name_of(e.op), name(dtype)),
        {operand});
  }

  Element greatest(const Element& a, const Element& b) { return make_.greatest({{{}, {}, a}, {{}, {}, b}}); }

  Result<Element> binary(const te::Expr& expr, const te::Binary& e) {
    using enum te::BinaryOp;
    const DataType dtype = e.left.dtype();
    TRY(const Element a, read(e.left));
    TRY(const Element b, read(e.right));
    const te::Rational minus(-1), one(1);
    if (dtype == DataType::kBool) {
      const Element both = make_.product(a, b), either = make_.sum(a, b);
      if (e.op == kAnd || e.op == kMin) return both;
      if (e.op == kOr || e.op == kMax) return make_.sum(either, make_.scaled(both, minus));
      if (e.op == kXor) return make_.sum(either, make_.scaled(both, te::Rational(-2)));
      if (e.op == kEqual)
        return make_.sum(make_.number(one),
                         make_.scaled(make_.sum(either, make_.scaled(both, te::Rational(-2))), minus));
      return not_read("a comparison of truth values");
    }
    switch (e.op) {
      case kAdd: return make_.sum(a, b);
      case kSub: return make_.sum(a, make_.scaled(b, minus));
      case kMul: return make_.product(a, b);
      case kMax: return greatest(a, b);
      case kMin: return make_.scaled(greatest(make_.scaled(a, minus), make_.scaled(b, minus)), minus);
      // a < b as 0 < b - a, so that both spellings of one comparison are one.
      case kEqual: return make_.call("is_zero", {make_.sum(a, make_.scaled(b, minus))}, true);
      case kLess: return make_.call("is_positive", {make_.sum(b, make_.scaled(a, minus))}, true);
      case kLessEqual:
        return make_.sum(make_.number(one),
                         make_.scaled(make_.call("is_positive", {make_.sum(a, make_.scaled(b, minus))}, true), minus));
      case kDiv:
        if (is_float(dtype)) return make_.product(a, make_.call("reciprocal", {b}));
        break;
      case kPow:
        if (make_.sum(b, make_.number(te::Rational(-2))).products.empty()) return make_.product(a, a);
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
    const Element opposite = make_.sum(make_.number(te::Rational(1)), make_.scaled(condition, te::Rational(-1)));
    return make_.sum(make_.product(condition, then), make_.product(opposite, otherwise));
  }

  Result<Element> cast(const te::Expr& expr, const te::Cast& e) {
    TRY(const Element operand, read(e.operand));
    if (keeps_values(e.operand.dtype(), expr.dtype())) return operand;
    return make_.call(fmt::format("cast of {} to {}", name(e.operand.dtype()), name(expr.dtype())), {operand},
                      expr.dtype() == DataType::kBool);
  }

  Result<Element> load(const te::Expr& expr, const te::Load& e) {
    if (std::any_of(e.index.begin(), e.index.end(), te::has_load)) return not_read("an index that data decide");
    std::vector<te::Expr> index;
    for (const te::Expr& each : e.index) index.push_back(make_.simplified(each));
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
  const auto [found, is_new] = reads_.emplace(term.text(), Read());
  // What could not be read once has no outputs.
  if (!is_new) return &found->second;
  const Term::Application& application = *term.as_application();
  std::vector<ValueType> types;
  for (const Term& argument : application.arguments) {
    TRY(ValueType type, type_of(argument));
    if (has_no_elements(type)) return invalid(argument.text(), "a tensor that has elements expected");
    types.push_back(std::move(type));
  }
  TRY(std::vector<ValueType> outputs, infer_application(application, types));
  TRY(ApplicationProgram made, program_of(application, types));
  found->second = {std::move(made), std::move(outputs)};
  return &found->second;
}

Result<Element> ElementReader::element(const Term& term, const std::vector<te::Expr>& index) {
  if (const auto* variable = term.as_variable())
    return make_.load(variable->name, variables_.find(variable->name)->second.dtype == DataType::kBool, index);
  if (const auto* number = std::get_if<Term::Number>(&term.form())) return make_.number(te::Rational(number->value));
  TRY(const Read* read, this->read(term));
  const Term::Application& application = *term.as_application();
  const auto output = static_cast<size_t>(application.output);
  if (output >= read->made.program.outputs.size()) return not_read("an output that is not there");
  return Stages(*this, application, *read).value(read->made.program.outputs[output], index);
}

}  // namespace isomer::verify
