// Attention RotaryEmbedding TensorScatter LinearAttention CausalConvWithState: what language models decode with.
#include "graph/ops/attend.h"
#include "graph/ops/common.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;

/// Input i of rank 4 is [batch, heads, sequence, size]; of rank 3 the heads lie in the last axis.
Result<Heads> heads_of(const OpContext& context, int i, std::string_view attribute) {
  const Shape& shape = context.shape(i);
  if (shape.size() == 4) return Heads{shape[0], shape[1], shape[2], shape[3]};
  if (shape.size() != 3)
    return context.invalid("{} of rank 3 or 4 expected, {} found", context.input_name(i), text(shape));
  if (!context.has_attribute(attribute)) return context.invalid("{} expected, none found", attribute);
  const int64_t heads = context.get_int(attribute);
  if (heads < 1 || (shape[2].is_constant() && shape[2].value() % heads != 0))
    return context.invalid("{} that divides {} expected, {} found", attribute, shape[2].text(), heads);
  return Heads{shape[0], heads, shape[1], floor_div(shape[2], heads)};
}

/// Element `size` of head `head` at `place` of input i.
Expr load_head(const OpContext& context, int i, const Heads& heads, const Expr& batch, const Expr& head,
               const Expr& place, const Expr& size) {
  if (context.rank(i) == 4) return context.load(i, {batch, head, place, size});
  return context.load(i, {batch, place, head * heads.size.expr() + size});
}

// Attention: Softmax(scale Q Kᵀ + bias) V.

constexpr int kQ = 0, kK = 1, kV = 2, kMask = 3, kPastKey = 4, kPastValue = 5, kLengths = 6;
constexpr int kY = 0, kPresentKey = 1, kPresentValue = 2, kScores = 3;

struct Attention {
  Heads q, k, v;
  Dim past = 0;  ///< keys that come before those of K
  Dim total;     ///< past and K's
  DataType softmax;
  int64_t left, right;  ///< how far a query looks before and behind its own place; -1: to the ends
  bool causal;

  Shape scores() const { return {q.batch, q.heads, q.sequence, total}; }
};

Result<Attention> attention_of(const OpContext& context) {
  Attention result;
  TRY(result.q, heads_of(context, kQ, "q_num_heads"));
  TRY(result.k, heads_of(context, kK, "kv_num_heads"));
  TRY(result.v, heads_of(context, kV, "kv_num_heads"));
  const bool fits = agreed(result.q.batch, result.k.batch) && agreed(result.q.batch, result.v.batch) &&
                    agreed(result.k.heads, result.v.heads) && agreed(result.k.sequence, result.v.sequence) &&
                    agreed(result.q.size, result.k.size) && context.rank(kQ) == context.rank(kK) &&
                    context.rank(kQ) == context.rank(kV);
  if (!fits)
    return context.invalid("Q, K and V that fit together expected, {}, {} and {} found", text(context.shape(kQ)),
                           text(context.shape(kK)), text(context.shape(kV)));
  TRY_VOID(expect_shared(context, result.q.heads, result.k.heads));
  if (context.has_input(kPastKey) != context.has_input(kPastValue))
    return context.invalid("past_key and past_value together expected, one of them found");
  if (context.has_input(kPastKey)) {
    TRY_VOID(expect_rank(context, kPastKey, 4));
    result.past = context.dim(kPastKey, 2);
    TRY_VOID(expect_shape(context, kPastKey, {result.k.batch, result.k.heads, result.past, result.k.size}));
    TRY_VOID(expect_shape(context, kPastValue, {result.v.batch, result.v.heads, result.past, result.v.size}));
    if (context.has_input(kLengths)) return context.invalid("nonpad_kv_seqlen or past_key expected, both found");
  }
  TRY_VOID(expect_shape(context, kLengths, {result.q.batch}));
  result.total = result.past + result.k.sequence;
  if (context.has_input(kMask)) {
    const Shape& mask = context.shape(kMask);
    const Shape scores = result.scores();
    bool broadcasts = !mask.empty() && mask.size() <= 4;
    for (size_t k = 0; broadcasts && k + 1 < mask.size(); ++k)
      broadcasts = mask[k].is(1) || agreed(mask[k], scores[4 - mask.size() + k]);
    if (!broadcasts)
      return context.invalid("attn_mask that broadcasts to {} expected, {} found", text(scores), text(mask));
  }
  for (const std::string_view side : {"left_window_size", "right_window_size"})
    if (context.get_int(side) < -1)
      return context.invalid("{} of at least -1 expected, {} found", side, context.get_int(side));
  result.left = context.get_int("left_window_size");
  result.right = context.get_int("right_window_size");
  result.causal = context.get_int("is_causal") != 0;
  result.softmax = context.dtype(kQ);
  if (context.has_attribute("softmax_precision")) {
    TRY(result.softmax, type_attribute(context, "softmax_precision"));
    if (!is_float(result.softmax))
      return context.invalid("softmax_precision of a float type expected, {} found",
                             context.get_int("softmax_precision"));
  }
  if (const int64_t mode = context.get_int("qk_matmul_output_mode"); mode < 0 || mode > 3)
    return context.invalid("qk_matmul_output_mode in [0, 3] expected, {} found", mode);
  if (!(context.get_float("softcap") >= 0))
    return context.invalid("softcap of at least 0 expected, {} found", context.get_float("softcap"));
  return result;
}

Result<std::vector<ValueType>> infer_attention(const OpContext& context) {
  TRY(const Attention a, attention_of(context));
  const DataType dtype = context.dtype(kQ);
  const Shape y = context.rank(kQ) == 4 ? Shape{a.q.batch, a.q.heads, a.q.sequence, a.v.size}
                                        : Shape{a.q.batch, a.q.sequence, a.q.heads * a.v.size};
  return std::vector{ValueType::tensor(dtype, y), ValueType::tensor(dtype, {a.k.batch, a.k.heads, a.total, a.k.size}),
                     ValueType::tensor(context.dtype(kV), {a.v.batch, a.v.heads, a.total, a.v.size}),
                     ValueType::tensor(dtype, a.scores())};
}

/// Element (axis(0), head, key, size) of the keys or values, what is past before what is new.
Expr load_cached(const OpContext& context, int i, int past_input, const Attention& a, const Heads& heads,
                 const Expr& head, const Expr& key, const Expr& size) {
  const Expr past = a.past.expr();
  const Expr fresh = load_head(context, i, heads, te::axis(0), head, key - past, size);
  if (!context.has_input(past_input)) return fresh;
  return te::select(key < past, context.load(past_input, {te::axis(0), head, key, size}), fresh);
}

bool adds_bias(const OpContext& context, const Attention& a) {
  return context.has_input(kMask) || context.has_input(kLengths) || a.causal || a.left >= 0 || a.right >= 0;
}

/// What is added to the scores at (batch, head, query, key): 0 or -inf by the places of query and key, and the mask.
Expr attention_bias(const OpContext& context, const Attention& a, const Expr& batch, const Expr& head,
                    const Expr& query, const Expr& key) {
  const DataType dtype = context.dtype(kQ);
  const Expr none = te::literal(0, dtype), hidden = te::maximum(dtype).identity[0];
  Expr sees;
  const auto demand = [&](Expr condition) { sees = sees ? sees && condition : condition; };
  const bool ends = context.has_input(kLengths);
  const Expr length = ends ? context.load(kLengths, {batch}) : Expr();
  const Expr place = query + (ends ? length - a.q.sequence.expr() : a.past.expr());
  if (a.causal) demand(key <= place);
  if (a.left >= 0) demand(place <= key + a.left);
  if (a.right >= 0) demand(key <= place + a.right);
  if (ends) demand(key < length);
  Expr bias;
  if (context.has_input(kMask)) {
    const Shape& mask = context.shape(kMask);
    const Shape scores = a.scores();
    const std::vector<Expr> place_of = {batch, head, query, key};
    std::vector<Expr> at;
    for (size_t k = 4 - mask.size(); k + 1 < 4; ++k)
      at.push_back(broadcast_position(mask[k + mask.size() - 4], scores[k], place_of[k]));
    at.push_back(key);
    const Expr element = context.load(kMask, at);
    bias = element.dtype() == DataType::kBool ? te::select(element, none, hidden) : te::cast(dtype, element);
    // A mask may end before the keys do.
    if (mask.back() != a.total) bias = te::select(key < mask.back().expr(), bias, hidden);
  }
  if (!sees) return bias;
  const Expr by_place = te::select(sees, none, hidden);
  return bias ? bias + by_place : by_place;
}

Result<te::Program> compute_attention(const OpContext& context) {
  TRY(const Attention a, attention_of(context));
  const DataType dtype = context.dtype(kQ);
  te::Program program;
  program.outputs.resize(4);
  const auto present = [&](int input, int past_input, const Heads& heads, int output) {
    if (context.wants_output(output))
      program.outputs[output] =
          program.map({heads.batch, heads.heads, a.total, heads.size},
                      load_cached(context, input, past_input, a, heads, te::axis(1), te::axis(2), te::axis(3)));
  };
  present(kK, kPastKey, a.k, kPresentKey);
  present(kV, kPastValue, a.v, kPresentValue);

  AttentionForm form{.q = a.q, .keys = a.total, .value_size = a.v.size, .dtype = dtype, .softmax = a.softmax};
  form.query = [&](const Expr& batch, const Expr& head, const Expr& place, const Expr& size) {
    return load_head(context, kQ, a.q, batch, head, place, size);
  };
  const auto cached = [&](int input, int past_input, const Heads& heads) {
    return [&context, &a, &heads, input, past_input](const Expr&, const Expr& head, const Expr& place,
                                                     const Expr& size) {
      return load_cached(context, input, past_input, a, heads, shared_head(head, a.q.heads, heads.heads), place, size);
    };
  };
  form.key = cached(kK, kPastKey, a.k);
  form.value = cached(kV, kPastValue, a.v);
  const DataType wide = accumulator(dtype);
  form.scale =
      context.has_attribute("scale") ? te::literal(context.get_float("scale"), wide) : inverse_root(a.q.size, wide);
  form.softcap = context.get_float("softcap");
  if (adds_bias(context, a))
    form.bias = [&](const Expr& batch, const Expr& head, const Expr& query, const Expr& key) {
      return attention_bias(context, a, batch, head, query, key);
    };
  // A query that sees no key gets nothing. By its place alone it sees the first one, or its own.
  form.may_see_nothing = context.has_input(kMask) || context.has_input(kLengths) || a.left >= 0;
  const AttentionStages stages = attend(program, form);
  if (context.wants_output(kScores)) {
    const te::StageValue steps[] = {stages.scaled, stages.capped, stages.biased, stages.shares};
    program.outputs[kScores] = steps[context.get_int("qk_matmul_output_mode")];
  }
  program.outputs[kY] =
      context.rank(kQ) == 4 ? as_type(program, stages.y, dtype) : heads_together(program, form, stages.y, dtype);
  return program;
}

// RotaryEmbedding: pairs of elements are turned by angles whose sines and cosines are given.

struct Rotary {
  Heads x;
  Dim turned;  ///< how many elements of a head, from the first on
  bool has_positions;
};

Result<Rotary> rotary_of(const OpContext& context) {
  Rotary result;
  TRY(result.x, heads_of(context, 0, "num_heads"));
  const int64_t written = context.get_int("rotary_embedding_dim");
  result.turned = written == 0 ? result.x.size : Dim(written);
  if (written < 0 || (result.turned.is_constant() && result.turned.value() % 2 != 0) ||
      (result.turned.is_constant() && result.x.size.is_constant() && result.turned.value() > result.x.size.value()))
    return context.invalid("an even rotary_embedding_dim of at most {} expected, {} found", result.x.size.text(),
                           result.turned.text());
  result.has_positions = context.has_input(3);
  const Dim half = floor_div(result.turned, 2);
  for (const int cache : {1, 2}) {
    if (result.has_positions) TRY_VOID(expect_rank(context, cache, 2));
    TRY_VOID(expect_shape(
        context, cache,
        result.has_positions ? Shape{context.dim(1, 0), half} : Shape{result.x.batch, result.x.sequence, half}));
  }
  TRY_VOID(expect_shape(context, 3, {result.x.batch, result.x.sequence}));
  return result;
}

Result<std::vector<ValueType>> infer_rotary(const OpContext& context) {
  TRY_VOID(rotary_of(context));
  return same_as_first(context);
}

Result<te::Program> compute_rotary(const OpContext& context) {
  TRY(const Rotary rotary, rotary_of(context));
  const bool flat = context.rank(0) == 3;
  const Expr width = rotary.x.size.expr();
  const Expr batch = te::axis(0), place = te::axis(flat ? 1 : 2);
  const Expr head = flat ? te::floor_div(te::axis(2), width) : te::axis(1);
  const Expr element = flat ? te::floor_mod(te::axis(2), width) : te::axis(3);
  const auto cached = [&](int cache) {
    return [&, cache](const Expr& pair) {
      if (!rotary.has_positions) return context.load(cache, {batch, place, pair});
      return context.load(cache, {wrapped(context.load(3, {batch, place}), context.dim(cache, 0)), pair});
    };
  };
  const Rotation rotation = {rotary.turned, rotary.x.size, context.get_int("interleaved") != 0, cached(1), cached(2)};
  return single_map(context.shape(0), rotated(rotation, element, [&](const Expr& at) {
                      return load_head(context, 0, rotary.x, batch, head, place, at);
                    }));
}

// TensorScatter: an update written into a cache, from the place of its batch on; circular ones go on at the start.

Result<int> scatter_axis(const OpContext& context) {
  TRY(const int axis, context.normalize_axis(context.get_int("axis"), context.rank(0)));
  if (axis == 0) return context.invalid("an axis behind the first expected, {} found", context.get_int("axis"));
  if (const std::string& mode = context.get_string("mode"); mode != "linear" && mode != "circular")
    return context.invalid("mode linear or circular expected, '{}' found", mode);
  Shape update = context.shape(0);
  if (context.rank(1) != context.rank(0))
    return context.invalid("an update of rank {} expected, {} found", context.rank(0), text(context.shape(1)));
  update[axis] = context.dim(1, axis);
  TRY_VOID(expect_shape(context, 1, update));
  TRY_VOID(expect_shape(context, 2, {context.dim(0, 0)}));
  const Dim &room = context.dim(0, axis), &length = context.dim(1, axis);
  if (room.is_constant() && length.is_constant() && length.value() > room.value())
    return context.invalid("an update of at most {} places expected, {} found", room.text(), length.text());
  return axis;
}

Result<std::vector<ValueType>> infer_scatter(const OpContext& context) {
  TRY_VOID(scatter_axis(context));
  return same_as_first(context);
}

Result<te::Program> compute_scatter(const OpContext& context) {
  TRY(const int axis, scatter_axis(context));
  const Expr first = context.has_input(2) ? context.load(2, {te::axis(0)}) : te::index(0);
  Expr place = te::axis(axis) - first;
  if (context.get_string("mode") == "circular") place = te::floor_mod(place, context.dim(0, axis).expr());
  std::vector<Expr> at = te::axes(context.rank(0));
  const Expr before = context.load(0, at);
  at[axis] = place;
  const Expr is_written = te::index(0) <= place && place < context.dim(1, axis).expr();
  return single_map(context.shape(0), te::select(is_written, context.load(1, at), before));
}

// LinearAttention: a state of keys by values that decays and learns with each step (Gated DeltaNet, Yang et al. 2024).

constexpr int kState = 3, kDecay = 4, kBeta = 5;

struct Linear {
  Heads q, k, v;
  DataType state;
  bool decays, corrects;
};

Result<Linear> linear_of(const OpContext& context) {
  for (const int i : {0, 1, 2}) TRY_VOID(expect_rank(context, i, 3));
  Linear result;
  TRY(result.q, heads_of(context, 0, "q_num_heads"));
  TRY(result.k, heads_of(context, 1, "kv_num_heads"));
  TRY(result.v, heads_of(context, 2, "kv_num_heads"));
  TRY_VOID(expect_shared(context, result.q.heads, result.k.heads));
  const bool fits = agreed(result.q.batch, result.k.batch) && agreed(result.q.batch, result.v.batch) &&
                    agreed(result.q.sequence, result.k.sequence) && agreed(result.q.sequence, result.v.sequence) &&
                    agreed(result.q.size, result.k.size);
  if (!fits)
    return context.invalid("query, key and value that fit together expected, {}, {} and {} found",
                           text(context.shape(0)), text(context.shape(1)), text(context.shape(2)));
  const std::string& rule = context.get_string("update_rule");
  if (rule != "linear" && rule != "gated" && rule != "delta" && rule != "gated_delta")
    return context.invalid("update_rule linear, gated, delta or gated_delta expected, '{}' found", rule);
  result.decays = rule == "gated" || rule == "gated_delta";
  result.corrects = rule == "delta" || rule == "gated_delta";
  if (context.has_input(kDecay) != result.decays)
    return context.invalid("{} decay for update_rule {} expected, {} found", result.decays ? "a" : "no", rule,
                           result.decays ? "none" : "one");
  if (context.has_input(kBeta) != result.corrects)
    return context.invalid("{} beta for update_rule {} expected, {} found", result.corrects ? "a" : "no", rule,
                           result.corrects ? "none" : "one");
  TRY_VOID(expect_shape(context, kState, {result.q.batch, result.k.heads, result.k.size, result.v.size}));
  for (const int gate : {kDecay, kBeta}) {
    if (!context.has_input(gate)) continue;
    const Dim other = gate == kDecay ? result.k.heads * result.k.size : Dim(1);
    if (context.rank(gate) != 3 ||
        !(agreed(context.dim(gate, 2), result.k.heads) || agreed(context.dim(gate, 2), other)))
      return context.invalid("{} of {} or {} elements a step expected, {} found", context.input_name(gate),
                             result.k.heads.text(), other.text(), text(context.shape(gate)));
    TRY_VOID(expect_shape(context, gate, {result.q.batch, result.q.sequence, context.dim(gate, 2)}));
  }
  result.state = context.has_input(kState) ? context.dtype(kState) : context.dtype(0);
  return result;
}

Result<std::vector<ValueType>> infer_linear(const OpContext& context) {
  TRY(const Linear linear, linear_of(context));
  return std::vector{
      ValueType::tensor(context.dtype(0), {linear.q.batch, linear.q.sequence, linear.q.heads * linear.v.size}),
      ValueType::tensor(linear.state, {linear.q.batch, linear.k.heads, linear.k.size, linear.v.size})};
}

Result<te::Program> compute_linear(const OpContext& context) {
  TRY(const Linear linear, linear_of(context));
  constexpr DataType kWide = DataType::kFloat32;
  const Expr b = te::axis(0), h = te::axis(1), t = te::time_step(), r = te::reduce_axis(0);
  const auto element = [&](int input, const Heads& heads, const Expr& head, const Expr& at) {
    return te::cast(kWide, load_head(context, input, heads, b, head, t, at));
  };
  // Of the gates some have an element a head, others one for all, or one for each row of the state.
  const auto gate = [&](int input, const Expr& row) {
    const Dim& count = context.dim(input, 2);
    Expr at = h;
    if (input == kDecay && count != linear.k.heads) at = h * linear.k.size.expr() + row;
    if (input == kBeta && count.is(1)) at = te::index(0);
    return te::cast(kWide, context.load(input, {b, t, at}));
  };
  const auto decayed = [&](const Expr& row, const Expr& column) {
    const Expr before = te::load_state(0, kWide, {b, h, row, column});
    return linear.decays ? before * te::exp(gate(kDecay, row)) : before;
  };
  const Shape state = {linear.q.batch, linear.k.heads, linear.k.size, linear.v.size};
  const Shape answer = {linear.q.batch, linear.q.heads, linear.v.size};
  te::Scan scan{.trip = linear.q.sequence, .states = {}, .steps = {}, .next = {}};
  scan.states.push_back(
      {state, context.has_input(kState) ? te::cast(kWide, context.load(kState, te::axes(4))) : te::literal(0, kWide)});
  scan.states.push_back({answer, te::literal(0, kWide)});
  Expr learnt = element(2, linear.v, h, te::axis(3));
  if (linear.corrects) {
    scan.steps.push_back({{linear.q.batch, linear.k.heads, linear.v.size},
                          {linear.k.size},
                          te::sum(kWide),
                          {decayed(r, te::axis(2)) * element(1, linear.k, h, r)}});
    learnt = gate(kBeta, te::axis(2)) * (learnt - te::load_inner(0, kWide, {b, h, te::axis(3)}));
  }
  const int next = static_cast<int>(scan.steps.size());
  scan.steps.push_back(
      {state, {}, {}, {decayed(te::axis(2), te::axis(3)) + element(1, linear.k, h, te::axis(2)) * learnt}});
  const Expr read = te::load_inner(next, kWide, {b, shared_head(h, linear.q.heads, linear.k.heads), r, te::axis(2)});
  scan.steps.push_back({answer, {linear.k.size}, te::sum(kWide), {element(0, linear.q, h, r) * read}});
  scan.next = {next, next + 1};

  te::Program program;
  te::StageValue states = program.scan(std::move(scan));
  te::StageValue answers = states;
  answers.component = 1;
  Expr scale = te::literal(context.get_float("scale"), kWide);
  if (context.get_float("scale") == 0) scale = inverse_root(linear.q.size, kWide);
  const Expr width = linear.v.size.expr();
  program.outputs.resize(2);
  program.outputs[0] = program.map(
      {linear.q.batch, linear.q.sequence, linear.q.heads * linear.v.size},
      te::cast(context.dtype(0), scale * program.load(answers, {te::axis(1), b, te::floor_div(te::axis(2), width),
                                                                te::floor_mod(te::axis(2), width)})));
  if (context.wants_output(1)) {
    const Expr count = linear.q.sequence.expr();
    const Expr first = context.has_input(kState) ? context.load(kState, te::axes(4)) : te::literal(0, linear.state);
    const Expr last = te::cast(linear.state, program.load(states, {count - 1, b, h, te::axis(2), te::axis(3)}));
    program.outputs[1] = program.map(state, te::select(te::equal(count, 0), first, last));
  }
  return program;
}

// CausalConvWithState: each channel's own kernel over the last places, those before the first ones from a state.

struct CausalConv {
  Dim taps;
  bool swish;
};

Result<CausalConv> causal_conv_of(const OpContext& context) {
  for (const int i : {0, 1}) TRY_VOID(expect_rank(context, i, 3));
  const Dim &channels = context.dim(0, 1), &taps = context.dim(1, 2);
  if (taps.is(0)) return context.invalid("weight of at least one tap expected, {} found", text(context.shape(1)));
  TRY_VOID(expect_shape(context, 1, {channels, 1, taps}));
  TRY_VOID(expect_shape(context, 2, {channels}));
  TRY_VOID(expect_shape(context, 3, {context.dim(0, 0), channels, taps - 1}));
  const std::string& activation = context.get_string("activation");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return context.invalid("activation none, silu or swish expected, '{}' found", activation);
  return CausalConv{taps, activation != "none"};
}

Result<std::vector<ValueType>> infer_causal_conv(const OpContext& context) {
  TRY(const CausalConv conv, causal_conv_of(context));
  return std::vector{ValueType::tensor(context.dtype(0), context.shape(0)),
                     ValueType::tensor(context.dtype(0), {context.dim(0, 0), context.dim(0, 1), conv.taps - 1})};
}

Result<te::Program> compute_causal_conv(const OpContext& context) {
  TRY(const CausalConv conv, causal_conv_of(context));
  const DataType dtype = context.dtype(0), wide = accumulator(dtype);
  const Expr before = (conv.taps - 1).expr();
  const auto padded = [&](const Expr& place) {
    const Expr past = context.has_input(3) ? context.load(3, {te::axis(0), te::axis(1), place}) : te::literal(0, dtype);
    return te::select(place < before, past, context.load(0, {te::axis(0), te::axis(1), place - before}));
  };
  te::Program program;
  const Expr weight = context.load(1, {te::axis(1), te::index(0), te::reduce_axis(0)});
  const te::StageValue sums =
      sum_over(program, context.shape(0), {conv.taps},
               te::cast(wide, weight) * te::cast(wide, padded(te::axis(2) + te::reduce_axis(0))));
  Expr result = program.load(sums, te::axes(3));
  if (context.has_input(2)) result = result + te::cast(wide, context.load(2, {te::axis(1)}));
  result = te::cast(dtype, result);
  if (conv.swish) {
    const Expr x = te::cast(wide, result);
    result = te::cast(dtype, x * (te::literal(1, wide) / (te::exp(-x) + 1)));
  }
  program.outputs.resize(2);
  program.outputs[0] = program.map(context.shape(0), result);
  if (context.wants_output(1))
    program.outputs[1] = program.map({context.dim(0, 0), context.dim(0, 1), conv.taps - 1},
                                     padded(te::axis(2) + context.dim(0, 2).expr()));
  return program;
}

}  // namespace

std::vector<OpDef> attention() {
  constexpr TypeSet kNarrow = DataType::kFloat16 | DataType::kBFloat16 | DataType::kFloat32;
  const std::vector<const char*> windows = {"left_window_size", "right_window_size"};
  return {
      {.name = "Attention",
       .since = 25,
       .inputs = {"Q:T1", "K:T1", "V:T2", "attn_mask?:U", "past_key?:T1", "past_value?:T2", "nonpad_kv_seqlen?:int64"},
       .outputs = {"Y:T1", "present_key?:T1", "present_value?:T2", "qk_matmul_output?:T1"},
       .types = {{"T1", kFloats}, {"T2", kFloats}, {"U", kNumeric | kBoolean}},
       .attributes = {with_default("is_causal", 0), optional("kv_num_heads", AttributeKind::kInt),
                      with_default("left_window_size", -1), optional("q_num_heads", AttributeKind::kInt),
                      with_default("qk_matmul_output_mode", 0), with_default("right_window_size", -1),
                      optional("scale", AttributeKind::kFloat), with_default("softcap", 0.0),
                      optional("softmax_precision", AttributeKind::kInt)},
       .versions = {without(24, windows), without(23, windows)},
       .infer = infer_attention,
       .compute = compute_attention},

      {.name = "RotaryEmbedding",
       .since = 23,
       .inputs = {"X", "cos_cache", "sin_cache", "position_ids?:int64"},
       .outputs = {"Y"},
       .types = {{"T", kNarrow}},
       .attributes = {with_default("interleaved", 0), optional("num_heads", AttributeKind::kInt),
                      with_default("rotary_embedding_dim", 0)},
       .infer = infer_rotary,
       .compute = compute_rotary},

      {.name = "TensorScatter",
       .since = 24,
       .inputs = {"past_cache", "update", "write_indices?:int64"},
       .outputs = {"present_cache"},
       .types = {{"T", kComputable}},
       .attributes = {with_default("axis", -2), with_default("mode", "linear")},
       .infer = infer_scatter,
       .compute = compute_scatter},

      {.name = "LinearAttention",
       .since = 27,
       .inputs = {"query", "key", "value", "past_state?:S", "decay?", "beta?"},
       .outputs = {"output", "present_state:S"},
       .types = {{"T", kNarrow}, {"S", kNarrow}},
       .attributes = {with_default("chunk_size", 64), required("kv_num_heads", AttributeKind::kInt),
                      required("q_num_heads", AttributeKind::kInt), with_default("scale", 0.0),
                      with_default("update_rule", "gated_delta")},
       .infer = infer_linear,
       .compute = compute_linear},

      {.name = "CausalConvWithState",
       .since = 27,
       .inputs = {"input", "weight", "bias?", "past_state?"},
       .outputs = {"output", "present_state"},
       .types = {{"T", kNarrow}},
       .attributes = {with_default("activation", "none")},
       .infer = infer_causal_conv,
       .compute = compute_causal_conv},
  };
}

}  // namespace isomer::ops
