#include "graph/ops/attend.h"

#include <cmath>

#include "graph/ops/operand.h"

namespace isomer::ops {

using te::Expr;

Expr shared_head(const Expr& head, const Dim& queries, const Dim& keys) {
  return queries == keys ? head : te::floor_div(head, floor_div(queries, keys).expr());
}

Result<void> expect_shared(const OpContext& context, const Dim& queries, const Dim& keys) {
  if (!queries.is_constant() || !keys.is_constant() || queries == keys) return {};
  if (keys.value() > 0 && queries.value() % keys.value() == 0) return {};
  return context.invalid("a multiple of {} heads of keys expected, {} heads of queries found", keys.text(),
                         queries.text());
}

Expr inverse_root(const Dim& size, DataType dtype) {
  if (size.is_constant()) return te::literal(1 / std::sqrt(static_cast<double>(size.value())), dtype);
  return te::literal(1, dtype) / te::sqrt(te::cast(dtype, size.expr()));
}

Expr rotated(const Rotation& rotation, const Expr& element, const std::function<Expr(const Expr&)>& x) {
  const bool interleaved = rotation.interleaved;
  const Expr half = floor_div(rotation.turned, 2).expr();
  // The pair that an element belongs to, and whether it is the first of it.
  const Expr pair = interleaved ? te::floor_div(element, te::index(2)) : te::floor_mod(element, half);
  const Expr is_first = interleaved ? te::equal(te::floor_mod(element, te::index(2)), 0) : element < half;
  const Expr apart = interleaved ? te::index(1) : half;
  const Expr cosine = rotation.cosine(pair), sine = rotation.sine(pair);
  const Expr turned = te::select(is_first, cosine * x(element) - sine * x(element + apart),
                                 sine * x(element - apart) + cosine * x(element));
  const bool whole = rotation.turned == rotation.size;
  return whole ? turned : te::select(element < rotation.turned.expr(), turned, x(element));
}

AttentionStages attend(te::Program& program, const AttentionForm& form) {
  const DataType wide = accumulator(form.dtype);
  const Expr b = te::axis(0), h = te::axis(1), i = te::axis(2), last = te::axis(3), r = te::reduce_axis(0);
  AttentionStages stages;

  // The scale comes after the sum, which is kept in a type wide enough for it.
  const te::StageValue sums =
      sum_over(program, form.scores(), {form.q.size},
               te::cast(wide, form.query(b, h, i, r)) * te::cast(wide, form.key(b, h, last, r)));
  stages.scaled = program.map(form.scores(), te::cast(form.dtype, program.load(sums, te::axes(4)) * form.scale));
  stages.capped = stages.scaled;
  if (form.softcap > 0)
    stages.capped =
        program.map(form.scores(), te::tanh(program.load(stages.scaled, te::axes(4)) / te::Number(form.softcap)) *
                                       te::Number(form.softcap));
  stages.biased = stages.capped;
  if (form.bias)
    stages.biased = program.map(form.scores(), program.load(stages.capped, te::axes(4)) + form.bias(b, h, i, last));

  const auto score_of = [&](const Expr& at) {
    return te::cast(form.softmax, program.load(stages.biased, {b, h, i, at}));
  };
  te::StageValue greatest = program.reduce(form.rows(), {form.keys}, te::maximum(form.softmax), score_of(r));
  if (form.sink)
    greatest =
        program.map(form.rows(), te::max(program.load(greatest, te::axes(3)), te::cast(form.softmax, form.sink(h))));
  const te::StageValue powers =
      program.map(form.scores(), te::exp(score_of(last) - program.load(greatest, te::axes(3))));
  const te::StageValue sum = sum_over(program, form.rows(), {form.keys}, program.load(powers, {b, h, i, r}));
  Expr total = program.load(sum, te::axes(3));
  if (form.sink) total = total + te::exp(te::cast(form.softmax, form.sink(h)) - program.load(greatest, te::axes(3)));
  Expr share = program.load(powers, te::axes(4)) * (te::literal(1, form.softmax) / total);
  if (form.may_see_nothing && form.bias) {
    const te::Monoid greatest_bias = te::maximum(form.dtype);
    const te::StageValue seen = program.reduce(form.rows(), {form.keys}, greatest_bias, form.bias(b, h, i, r));
    share = te::select(te::equal(program.load(seen, te::axes(3)), greatest_bias.identity[0]),
                       te::literal(0, form.softmax), share);
  }
  stages.shares = program.map(form.scores(), te::cast(form.dtype, share));
  stages.y =
      sum_over(program, {form.q.batch, form.q.heads, form.q.sequence, form.value_size}, {form.keys},
               te::cast(wide, program.load(stages.shares, {b, h, i, r})) * te::cast(wide, form.value(b, h, r, last)));
  return stages;
}

te::StageValue heads_together(te::Program& program, const AttentionForm& form, te::StageValue y, DataType dtype) {
  const Expr width = form.value_size.expr();
  return program.map({form.q.batch, form.q.sequence, form.q.heads * form.value_size},
                     te::cast(dtype, program.load(y, {te::axis(0), te::floor_div(te::axis(2), width), te::axis(1),
                                                      te::floor_mod(te::axis(2), width)})));
}

}  // namespace isomer::ops
