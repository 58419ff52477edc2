#include "graph/te/program.h"

#include <limits>

#include "util/check.h"

namespace isomer::te {
namespace {

Expr left(int k, DataType dtype) { return operand(VarKind::kLeft, k, dtype); }
Expr right(int k, DataType dtype) { return operand(VarKind::kRight, k, dtype); }

/// The least (or greatest) value of a type.
Expr extreme(DataType dtype, bool least) {
  if (is_float(dtype)) return literal(Number::infinity(least), dtype);
  if (dtype == DataType::kBool) return truth(!least);
  const int bits = value_bits(dtype);
  if (!is_signed_int(dtype))
    return literal(least ? Number(0) : Number::from_unsigned(std::numeric_limits<uint64_t>::max() >> (64 - bits)),
                   dtype);
  const int64_t low = std::numeric_limits<int64_t>::min() >> (64 - bits);
  return literal(least ? Number(low) : Number(-(low + 1)), dtype);
}

Monoid arg_extreme(DataType dtype, bool greatest, bool last_index) {
  const auto wins = [&](Expr a, Expr b) { return greatest ? b < a : a < b; };
  const Expr l = left(0, dtype), r = right(0, dtype);
  const Expr li = left(1, DataType::kInt64), ri = right(1, DataType::kInt64);
  const Expr unset = index(-1);
  const Expr comes_first = last_index ? ri < li : li < ri;
  Expr beats = wins(l, r) || (equal(l, r) && comes_first);
  if (is_float(dtype)) {
    const Expr left_is_nan = unary(UnaryOp::kIsNan, l), right_is_nan = unary(UnaryOp::kIsNan, r);
    beats = beats || (right_is_nan && (logical_not(left_is_nan) || comes_first));
  }
  const Expr take_left = equal(ri, unset) || (logical_not(equal(li, unset)) && beats);
  return {std::string(greatest ? "argmax" : "argmin") + (last_index ? "_last" : ""),
          {extreme(dtype, greatest), unset},
          {select(take_left, l, r), select(take_left, li, ri)},
          true};
}

}  // namespace

Monoid sum(DataType dtype) { return {"sum", {literal(0, dtype)}, {left(0, dtype) + right(0, dtype)}, true}; }
Monoid product(DataType dtype) { return {"prod", {literal(1, dtype)}, {left(0, dtype) * right(0, dtype)}, true}; }
Monoid maximum(DataType dtype) { return {"max", {extreme(dtype, true)}, {max(left(0, dtype), right(0, dtype))}, true}; }
Monoid minimum(DataType dtype) {
  return {"min", {extreme(dtype, false)}, {min(left(0, dtype), right(0, dtype))}, true};
}
Monoid argmax(DataType dtype, bool last_index) { return arg_extreme(dtype, true, last_index); }
Monoid argmin(DataType dtype, bool last_index) { return arg_extreme(dtype, false, last_index); }

Monoid welford(DataType dtype) {
  const Expr n = left(0, dtype), m = right(0, dtype);
  const Expr mean_a = left(1, dtype), mean_b = right(1, dtype);
  const Expr total = n + m;
  const Expr weight = select(equal(total, 0), literal(0, dtype), m / total);
  const Expr delta = mean_b - mean_a;
  return {"welford",
          {literal(0, dtype), literal(0, dtype), literal(0, dtype)},
          {total, mean_a + delta * weight, left(2, dtype) + right(2, dtype) + delta * delta * n * weight},
          true};
}

Monoid online_softmax(DataType dtype) {
  const Expr m = max(left(0, dtype), right(0, dtype));
  const Expr none = literal(Number::infinity(true), dtype);
  const auto scale = [&](Expr x) { return select(equal(x, none), literal(0, dtype), exp(x - m)); };
  const Expr a = scale(left(0, dtype)), b = scale(right(0, dtype));
  return {"online_softmax",
          {none, literal(0, dtype), literal(0, dtype)},
          {m, left(1, dtype) * a + right(1, dtype) * b, left(2, dtype) * a + right(2, dtype) * b},
          true};
}

int Stage::components() const {
  return std::visit(
      Overloaded{[](const MapReduce& s) { return static_cast<int>(s.bodies.size()); },
                 [](const Scan& s) { return static_cast<int>(s.states.size()); }, [](const Update&) { return 1; },
                 [](const Imperative& s) { return static_cast<int>(s.outputs.size()); }},
      body);
}

DataType Stage::dtype(int component) const {
  return std::visit(Overloaded{[&](const MapReduce& s) { return s.bodies[component].dtype(); },
                               [&](const Scan& s) { return s.states[component].init.dtype(); },
                               [&](const Update& s) { return s.init.dtype(); },
                               [&](const Imperative& s) { return s.body.locals[s.outputs[component]].dtype; }},
                    body);
}

Shape Stage::shape(int component) const {
  return std::visit(Overloaded{[&](const MapReduce& s) { return s.axes; },
                               [&](const Scan& s) {
                                 Shape shape = {s.trip};
                                 const Shape& state = s.states[component].shape;
                                 shape.insert(shape.end(), state.begin(), state.end());
                                 return shape;
                               },
                               [&](const Update& s) { return s.shape; },
                               [&](const Imperative& s) { return s.body.locals[s.outputs[component]].shape; }},
                    body);
}

StageValue Program::map(Shape axes, Expr body) {
  stages.push_back({MapReduce{std::move(axes), {}, {}, {std::move(body)}}});
  return {static_cast<int>(stages.size()) - 1, 0};
}

StageValue Program::reduce(Shape axes, Shape reduce, Monoid combine, std::vector<Expr> bodies) {
  CHECK(combine.arity() == static_cast<int>(bodies.size()));
  stages.push_back({MapReduce{std::move(axes), std::move(reduce), std::move(combine), std::move(bodies)}});
  return {static_cast<int>(stages.size()) - 1, 0};
}

StageValue Program::reduce(Shape axes, Shape reduce, Monoid combine, Expr body) {
  return this->reduce(std::move(axes), std::move(reduce), std::move(combine), std::vector<Expr>{std::move(body)});
}

StageValue Program::scan(Scan scan) {
  CHECK(scan.states.size() == scan.next.size());
  stages.push_back({std::move(scan)});
  return {static_cast<int>(stages.size()) - 1, 0};
}

StageValue Program::update(Update update) {
  stages.push_back({std::move(update)});
  return {static_cast<int>(stages.size()) - 1, 0};
}

StageValue Program::imperative(Imperative imperative) {
  stages.push_back({std::move(imperative)});
  return {static_cast<int>(stages.size()) - 1, 0};
}

Expr Program::load(StageValue value, std::vector<Expr> index) const {
  return te::load({BufferRef::Kind::kStage, value.stage, value.component}, dtype(value), std::move(index));
}

std::vector<Expr> axes(int rank) {
  std::vector<Expr> result;
  for (int k = 0; k < rank; ++k) result.push_back(axis(k));
  return result;
}

Expr load_state(int state, DataType dtype, std::vector<Expr> index) {
  return load({BufferRef::Kind::kState, state, 0}, dtype, std::move(index));
}
Expr load_inner(int inner, DataType dtype, std::vector<Expr> index) {
  return load({BufferRef::Kind::kInner, inner, 0}, dtype, std::move(index));
}
Expr time_step() { return var(VarKind::kTime, 0); }

}  // namespace isomer::te
