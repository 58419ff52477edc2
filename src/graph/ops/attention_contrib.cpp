// Attention QAttention MultiHeadAttention GroupQueryAttention RotaryEmbedding, as ONNX Runtime's transformers tool and
// its model builder write them, in its domain (ContribOperators.md). What only its GPU kernels know is opaque here.
#include <functional>
#include <limits>

#include "graph/ops/attend.h"
#include "graph/ops/common.h"
#include "graph/ops/contrib.h"
#include "graph/ops/indexing.h"
#include "graph/ops/operand.h"
#include "graph/ops/quantized.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;
using te::Number;

/// What a query at some place adds to the scores of keys that a mask hides.
constexpr float kHidden = -10000.0f;

Expr scale_of(const OpContext& context, const Dim& size, DataType dtype) {
  const double scale = context.get_float("scale");
  return scale == 0 ? inverse_root(size, dtype) : te::literal(Number(scale), dtype);
}

Result<int64_t> number_of_heads(const OpContext& context, std::string_view attribute) {
  constexpr int64_t kMost = int64_t{1} << 30;
  const int64_t value = context.get_int(attribute);
  if (value < 1 || value > kMost) return context.invalid("{} in [1, 2^30] expected, {} found", attribute, value);
  return value;
}

/// A dim that holds so many heads.
Result<Dim> a_head_of(const OpContext& context, const Dim& dim, int64_t heads) {
  if (dim.is_constant() && dim.value() % heads != 0)
    return context.invalid("a size that {} heads divide expected, {} found", heads, dim.text());
  return floor_div(dim, heads);
}

/// Inputs `cosines` and the one behind it are of the same two axes, positions and pairs.
Result<void> check_caches(const OpContext& context, int cosines) {
  for (const int i : {cosines, cosines + 1}) TRY_VOID(expect_rank(context, i, 2));
  if (context.dim(cosines, 1).is(0))
    return context.invalid("{} of at least one column expected, {} found", context.input_name(cosines),
                           text(context.shape(cosines)));
  return expect_shape(context, cosines + 1, context.shape(cosines));
}

/// A bias of the scores, input i, is [batch or 1, heads or 1, queries, keys].
Result<void> check_score_bias(const OpContext& context, int i, const Heads& q, const Dim& keys) {
  if (!context.has_input(i)) return {};
  TRY_VOID(expect_rank(context, i, 4));
  return expect_shape(
      context, i,
      {context.dim(i, 0).is(1) ? Dim(1) : q.batch, context.dim(i, 1).is(1) ? Dim(1) : q.heads, q.sequence, keys});
}

Expr load_score_bias(const OpContext& context, int i, const Expr& batch, const Expr& head, const Expr& query,
                     const Expr& key) {
  const auto own = [&](int axis, const Expr& place) { return context.dim(i, axis).is(1) ? te::index(0) : place; };
  return context.load(i, {own(0, batch), own(1, head), query, key});
}

/// Of a pair at a place, from input i.
std::function<Expr(const Expr&)> cached_angle(const OpContext& context, int i, const Expr& place) {
  return [&context, i, place](const Expr& pair) { return context.load(i, {wrapped(place, context.dim(i, 0)), pair}); };
}

// Masks and biases of Attention and MultiHeadAttention, over [batch, heads, queries, keys].

struct Hiding {
  int mask, bias;  ///< inputs
  Dim past;        ///< keys before those of the queries
  bool causal;
};

/// The mask is [batch] or [2 * batch], ends and beginnings of what is seen; [batch, keys]; [batch, queries, keys].
Result<void> check_hiding(const OpContext& context, const Hiding& hiding, const Heads& q, const Dim& keys) {
  if (context.has_input(hiding.mask)) {
    switch (context.rank(hiding.mask)) {
      case 1: {
        const Dim& count = context.dim(hiding.mask, 0);
        const Dim twice = q.batch * Dim(2);
        if (!agreed(count, q.batch) && !agreed(count, twice))
          return context.unsupported("{} of {} or {} elements expected, {} found", context.input_name(hiding.mask),
                                     q.batch.text(), twice.text(), count.text());
        break;
      }
      case 2: TRY_VOID(expect_shape(context, hiding.mask, {q.batch, keys})); break;
      case 3: TRY_VOID(expect_shape(context, hiding.mask, {q.batch, q.sequence, keys})); break;
      default: return context.unsupported("{} of rank {}", context.input_name(hiding.mask), context.rank(hiding.mask));
    }
  }
  return check_score_bias(context, hiding.bias, q, keys);
}

/// What the scores get added: mask_filter_value where the mask hides a key, the bias, and -inf behind a query's own
/// place where it sees none of what comes later.
AttentionForm::Element bias_of(const OpContext& context, const Hiding& hiding, const Heads& q, DataType dtype) {
  if (!context.has_input(hiding.mask) && !context.has_input(hiding.bias) && !hiding.causal) return nullptr;
  return [&context, hiding, q, dtype](const Expr& b, const Expr& h, const Expr& i, const Expr& j) {
    const Expr none = te::literal(0, dtype);
    Expr sum;
    const auto add = [&](const Expr& term) { sum = sum ? sum + term : term; };
    if (context.has_input(hiding.mask)) {
      const auto mask = [&](std::vector<Expr> at) { return load_index(context, hiding.mask, std::move(at)); };
      Expr sees;
      if (context.rank(hiding.mask) == 2) sees = te::index(0) < mask({b, j});
      if (context.rank(hiding.mask) == 3) sees = te::index(0) < mask({b, i, j});
      if (context.rank(hiding.mask) == 1) {
        sees = j < mask({b});
        if (context.dim(hiding.mask, 0) == q.batch * Dim(2)) sees = sees && mask({b + q.batch.expr()}) <= j;
      }
      add(te::select(sees, none, te::literal(Number(context.get_float("mask_filter_value")), dtype)));
    }
    if (context.has_input(hiding.bias)) add(load_score_bias(context, hiding.bias, b, h, i, j));
    if (hiding.causal) add(te::select(j <= i + hiding.past.expr(), none, te::maximum(dtype).identity[0]));
    return sum;
  };
}

// Attention: queries, keys and values are products of one input and merged weights. QAttention: of bytes.

constexpr int kInput = 0, kWeights = 1, kBias = 2;
/// Where the node has what else it takes; an input that it never has is beyond all.
struct MergedInputs {
  int mask, past, score_bias;
};
constexpr int kNever = std::numeric_limits<int>::max();
constexpr MergedInputs kFloatInputs = {3, 4, 5}, kByteInputs = {5, 8, kNever};
enum OfBytes { kInputScale = 3, kWeightScale = 4, kInputZero = 6, kWeightZero = 7 };

struct MergedAttention {
  MergedInputs inputs;
  Heads q;  ///< and of the keys
  Dim value_size, width;
  Hiding hiding;
  Dim keys;
};

Result<MergedAttention> merged_of(const OpContext& context, const MergedInputs& inputs) {
  TRY_VOID(expect_rank(context, kInput, 3));
  TRY_VOID(expect_rank(context, kWeights, 2));
  TRY(const int64_t heads, number_of_heads(context, "num_heads"));
  MergedAttention result;
  result.inputs = inputs;
  result.width = context.dim(kWeights, 1);
  TRY_VOID(expect_shape(context, kWeights, {context.dim(kInput, 2), result.width}));
  TRY_VOID(expect_shape(context, kBias, {result.width}));
  Dim hidden, of_values;
  if (context.has_attribute("qkv_hidden_sizes")) {
    const std::vector<int64_t>& sizes = context.get_ints("qkv_hidden_sizes");
    if (sizes.size() != 3 || sizes[0] != sizes[1] || sizes[0] < 1 || sizes[2] < 1)
      return context.invalid("qkv_hidden_sizes of three, the first two equal, expected, [{}] found",
                             fmt::join(sizes, ","));
    hidden = sizes[0];
    of_values = sizes[2];
    TRY_VOID(expect_shape(context, kWeights, {context.dim(kInput, 2), sizes[0] + sizes[1] + sizes[2]}));
  } else {
    TRY(hidden, a_head_of(context, result.width, 3));
    of_values = hidden;
  }
  TRY(const Dim size, a_head_of(context, hidden, heads));
  TRY(result.value_size, a_head_of(context, of_values, heads));
  result.q = {context.dim(kInput, 0), heads, context.dim(kInput, 1), size};
  result.hiding = {inputs.mask, inputs.score_bias, 0, context.get_int("unidirectional") != 0};
  if (context.has_input(inputs.past)) {
    TRY_VOID(expect_rank(context, inputs.past, 5));
    result.hiding.past = context.dim(inputs.past, 3);
    TRY_VOID(expect_shape(context, inputs.past, {2, result.q.batch, heads, result.hiding.past, size}));
    if (result.value_size != size)
      return context.invalid("keys and values of one size beside past expected, {} and {} found", size.text(),
                             result.value_size.text());
  }
  result.keys = result.hiding.past + result.q.sequence;
  TRY_VOID(check_hiding(context, result.hiding, result.q, result.keys));
  return result;
}

Result<std::vector<ValueType>> merged_types(const OpContext& context, const MergedInputs& inputs, DataType dtype) {
  TRY(const MergedAttention a, merged_of(context, inputs));
  return std::vector{ValueType::tensor(dtype, {a.q.batch, a.q.sequence, a.q.heads * a.value_size}),
                     ValueType::tensor(dtype, {2, a.q.batch, a.q.heads, a.keys, a.q.size})};
}

/// Of a stage [batch, places, width] in a type that sums are kept in.
Result<te::Program> attended(te::Program program, const OpContext& context, const MergedAttention& a,
                             te::StageValue merged, DataType dtype) {
  if (context.wants_output(1) && a.value_size != a.q.size)
    return context.unsupported("present with values of another size than keys");
  const DataType wide = accumulator(dtype);
  program.outputs.resize(2);

  // Element of part 0, 1 or 2: queries, keys, values. Keys and values of the past come first.
  const auto fresh = [&](int part, const Expr& b, const Expr& h, const Expr& i, const Expr& k) {
    const Dim& size = part == 2 ? a.value_size : a.q.size;
    return program.load(merged, {b, i, (a.q.heads * a.q.size * Dim(part)).expr() + h * size.expr() + k});
  };
  const auto cached = [&](int part, const Expr& b, const Expr& h, const Expr& j, const Expr& k) {
    if (!context.has_input(a.inputs.past)) return fresh(part, b, h, j, k);
    const Expr past = a.hiding.past.expr();
    return te::select(j < past, te::cast(wide, context.load(a.inputs.past, {te::index(part - 1), b, h, j, k})),
                      fresh(part, b, h, j - past, k));
  };
  AttentionForm form{
      .q = a.q, .keys = a.keys, .value_size = a.value_size, .dtype = dtype, .softmax = accumulator(dtype)};
  const auto element = [&](auto part_of, int part) {
    return [part_of, part](const Expr& b, const Expr& h, const Expr& i, const Expr& k) {
      return part_of(part, b, h, i, k);
    };
  };
  form.query = element(fresh, 0);
  form.key = element(cached, 1);
  form.value = element(cached, 2);
  form.scale = scale_of(context, a.q.size, wide);
  form.bias = bias_of(context, a.hiding, a.q, dtype);
  program.outputs[0] = heads_together(program, form, attend(program, form).y, dtype);
  if (context.wants_output(1)) {
    const Expr b = te::axis(1), h = te::axis(2), j = te::axis(3), k = te::axis(4);
    program.outputs[1] = program.map(
        {2, a.q.batch, a.q.heads, a.keys, a.q.size},
        te::cast(dtype, te::select(te::equal(te::axis(0), 0), cached(1, b, h, j, k), cached(2, b, h, j, k))));
  }
  return program;
}

/// The sum, scaled and biased.
te::StageValue merged_rows(te::Program& program, const OpContext& context, const MergedAttention& a, te::StageValue sum,
                           DataType wide, const Expr& scale) {
  Expr value = te::cast(wide, program.load(sum, te::axes(3)));
  if (scale) value = value * scale;
  if (context.has_input(kBias)) value = value + te::cast(wide, context.load(kBias, {te::axis(2)}));
  return program.map({a.q.batch, a.q.sequence, a.width}, value);
}

Result<std::vector<ValueType>> infer_merged(const OpContext& context) {
  return merged_types(context, kFloatInputs, context.dtype(kInput));
}

Result<te::Program> compute_merged(const OpContext& context) {
  TRY(const MergedAttention a, merged_of(context, kFloatInputs));
  const DataType dtype = context.dtype(kInput), wide = accumulator(dtype);
  te::Program program;
  const te::StageValue sum =
      sum_over(program, {a.q.batch, a.q.sequence, a.width}, {context.dim(kInput, 2)},
               te::cast(wide, context.load(kInput, {te::axis(0), te::axis(1), te::reduce_axis(0)})) *
                   te::cast(wide, context.load(kWeights, {te::reduce_axis(0), te::axis(2)})));
  const te::StageValue merged = merged_rows(program, context, a, sum, wide, {});
  return attended(std::move(program), context, a, merged, dtype);
}

Result<MergedAttention> merged_bytes_of(const OpContext& context) {
  TRY(MergedAttention result, merged_of(context, kByteInputs));
  TRY_VOID(check_scalars(context, {kInputScale, kInputZero}));
  for (const int i : {int{kWeightScale}, int{kWeightZero}})
    if (context.has_input(i) && !element_count(context.shape(i)).is(1))
      TRY_VOID(expect_shape(context, i, {result.width}));
  return result;
}

Result<std::vector<ValueType>> infer_merged_bytes(const OpContext& context) {
  TRY_VOID(merged_bytes_of(context));
  return merged_types(context, kByteInputs, context.dtype(kInputScale));
}

Result<te::Program> compute_merged_bytes(const OpContext& context) {
  TRY(const MergedAttention a, merged_bytes_of(context));
  const DataType dtype = context.dtype(kInputScale), wide = accumulator(dtype);
  const Expr column = te::axis(2);
  const auto less = [&](const Expr& element, int zero, const Expr& at) {
    const Expr whole = te::cast(DataType::kInt32, element);
    if (!context.has_input(zero)) return whole;
    return whole - te::cast(DataType::kInt32, load_scalar_or_vector(context, zero, at, a.width));
  };
  te::Program program;
  const te::StageValue sum =
      sum_over(program, {a.q.batch, a.q.sequence, a.width}, {context.dim(kInput, 2)},
               less(context.load(kInput, {te::axis(0), te::axis(1), te::reduce_axis(0)}), kInputZero, te::index(0)) *
                   less(context.load(kWeights, {te::reduce_axis(0), column}), kWeightZero, column));
  const Expr scale = scalar(context, kInputScale, wide) *
                     te::cast(wide, load_scalar_or_vector(context, kWeightScale, column, a.width));
  const te::StageValue merged = merged_rows(program, context, a, sum, wide, scale);
  return attended(std::move(program), context, a, merged, dtype);
}

// MultiHeadAttention: queries, keys and values lie in inputs of their own, in one, or keys and values in one.

enum Multi { kQuery, kKey, kValue, kInputBias, kPadding, kMultiBias, kPastKey, kPastValue, kPastCount, kBeams };

struct MultiAttention {
  enum class Packing { kNone, kKeysAndValues, kAll } packing = Packing::kNone;
  Heads q;
  Dim sequence;  ///< of keys and values, without past ones
  Dim value_size;
  bool heads_first = false;  ///< keys and values are [batch, heads, sequence, size]
  Hiding hiding;
  Dim keys;

  Shape present(const Dim& size) const { return {q.batch, q.heads, keys, size}; }
};

Result<MultiAttention> multi_of(const OpContext& context) {
  using Packing = MultiAttention::Packing;
  TRY(const int64_t heads, number_of_heads(context, "num_heads"));
  MultiAttention result;
  const Dim batch = context.dim(kQuery, 0), places = context.dim(kQuery, 1);
  if (context.rank(kQuery) == 5) {
    for (const int i : {int{kKey}, int{kValue}})
      if (context.has_input(i)) return context.invalid("no {} beside packed ones expected", context.input_name(i));
    const Dim& size = context.dim(kQuery, 4);
    TRY_VOID(expect_shape(context, kQuery, {batch, places, heads, 3, size}));
    result.packing = Packing::kAll;
    result.q = {batch, heads, places, size};
    result.sequence = places;
    result.value_size = size;
  } else {
    TRY_VOID(expect_rank(context, kQuery, 3));
    TRY(const Dim size, a_head_of(context, context.dim(kQuery, 2), heads));
    result.q = {batch, heads, places, size};
    if (!context.has_input(kKey)) return context.invalid("key expected, none found");
    const int rank = context.rank(kKey);
    if (rank == 5) {
      if (context.has_input(kValue)) return context.invalid("no value beside packed ones expected, one found");
      result.packing = Packing::kKeysAndValues;
      result.sequence = context.dim(kKey, 1);
      TRY_VOID(expect_shape(context, kKey, {batch, result.sequence, heads, 2, size}));
      result.value_size = size;
    } else {
      if (rank != 3 && rank != 4)
        return context.invalid("key of rank 3, 4 or 5 expected, {} found", text(context.shape(kKey)));
      if (!context.has_input(kValue)) return context.invalid("value expected, none found");
      TRY_VOID(expect_rank(context, kValue, rank));
      result.heads_first = rank == 4;
      result.sequence = context.dim(kKey, rank == 4 ? 2 : 1);
      if (rank == 4) {
        result.value_size = context.dim(kValue, 3);
        TRY_VOID(expect_shape(context, kKey, {batch, heads, result.sequence, size}));
        TRY_VOID(expect_shape(context, kValue, {batch, heads, result.sequence, result.value_size}));
      } else {
        TRY(result.value_size, a_head_of(context, context.dim(kValue, 2), heads));
        TRY_VOID(expect_shape(context, kKey, {batch, result.sequence, context.dim(kQuery, 2)}));
        TRY_VOID(expect_shape(context, kValue, {batch, result.sequence, context.dim(kValue, 2)}));
      }
    }
  }
  const Dim hidden = result.q.heads * result.q.size;
  TRY_VOID(expect_shape(context, kInputBias, {hidden + hidden + result.q.heads * result.value_size}));
  result.hiding = {kPadding, kMultiBias, 0, context.get_int("unidirectional") != 0};
  if (context.has_input(kPastKey) != context.has_input(kPastValue))
    return context.invalid("past_key and past_value together expected, one of them found");
  if (context.has_input(kPastKey)) {
    TRY_VOID(expect_rank(context, kPastKey, 4));
    const Dim past = context.dim(kPastKey, 2);
    result.hiding.past = past;
    TRY_VOID(expect_shape(context, kPastKey, {batch, heads, past, result.q.size}));
    TRY_VOID(expect_shape(context, kPastValue, {batch, heads, past, result.value_size}));
  }
  result.keys = result.hiding.past + result.sequence;
  TRY_VOID(check_hiding(context, result.hiding, result.q, result.keys));
  return result;
}

Result<std::vector<ValueType>> infer_multi(const OpContext& context) {
  TRY(const MultiAttention a, multi_of(context));
  const DataType dtype = context.dtype(kQuery);
  return std::vector{ValueType::tensor(dtype, {a.q.batch, a.q.sequence, a.q.heads * a.value_size}),
                     ValueType::tensor(dtype, a.present(a.q.size)), ValueType::tensor(dtype, a.present(a.value_size))};
}

/// Element of part 0, 1 or 2: queries, keys and values, with their bias, without past ones.
Expr load_part(const OpContext& context, const MultiAttention& a, int part, const Expr& b, const Expr& h, const Expr& i,
               const Expr& k) {
  using Packing = MultiAttention::Packing;
  const Dim& size = part == 2 ? a.value_size : a.q.size;
  const Expr in_row = h * size.expr() + k;
  Expr element;
  if (a.packing == Packing::kAll) {
    element = context.load(kQuery, {b, i, h, te::index(part), k});
  } else if (a.packing == Packing::kKeysAndValues && part > 0) {
    element = context.load(kKey, {b, i, h, te::index(part - 1), k});
  } else if (a.heads_first && part > 0) {
    return context.load(part, {b, h, i, k});  // These are made already, bias and all.
  } else {
    element = context.load(part, {b, i, in_row});
  }
  if (!context.has_input(kInputBias)) return element;
  return element + context.load(kInputBias, {(a.q.heads * a.q.size * Dim(part)).expr() + in_row});
}

Result<te::Program> compute_multi(const OpContext& context) {
  TRY(const MultiAttention a, multi_of(context));
  const DataType dtype = context.dtype(kQuery), wide = accumulator(dtype);
  const auto part_of = [&](int part) {
    return [&context, &a, part](const Expr& b, const Expr& h, const Expr& i, const Expr& k) {
      if (part == 0 || !context.has_input(kPastKey)) return load_part(context, a, part, b, h, i, k);
      const Expr past = a.hiding.past.expr();
      return te::select(i < past, context.load(part == 1 ? kPastKey : kPastValue, {b, h, i, k}),
                        load_part(context, a, part, b, h, i - past, k));
    };
  };
  AttentionForm form{.q = a.q, .keys = a.keys, .value_size = a.value_size, .dtype = dtype, .softmax = wide};
  form.query = part_of(0);
  form.key = part_of(1);
  form.value = part_of(2);
  form.scale = scale_of(context, a.q.size, wide);
  form.bias = bias_of(context, a.hiding, a.q, dtype);
  te::Program program;
  program.outputs.resize(3);
  for (const int part : {1, 2})
    if (context.wants_output(part))
      program.outputs[part] = program.map(a.present(part == 1 ? a.q.size : a.value_size),
                                          part_of(part)(te::axis(0), te::axis(1), te::axis(2), te::axis(3)));
  program.outputs[0] = heads_together(program, form, attend(program, form).y, dtype);
  return program;
}

// GroupQueryAttention: heads of queries share those of keys and values; keys and values are kept in a cache of which
// each sequence fills another part.

enum Group {
  kGroupQuery,
  kGroupKey,
  kGroupValue,
  kCachedKeys,
  kCachedValues,
  kLengths,
  kTotal,
  kCos,
  kSin,
  kPlaces,
  kGroupBias,
  kSink
};

struct GroupAttention {
  Heads q, k;  ///< k: new keys and values
  bool packed;
  Dim cached;     ///< places of the cache that comes in
  Dim present;    ///< and of the one that goes out
  bool is_first;  ///< nothing was kept before
};

Result<GroupAttention> group_query_of(const OpContext& context) {
  TRY_VOID(expect_rank(context, kGroupQuery, 3));
  TRY(const int64_t heads, number_of_heads(context, "num_heads"));
  TRY(const int64_t shared, number_of_heads(context, "kv_num_heads"));
  TRY_VOID(expect_shared(context, heads, shared));
  GroupAttention result;
  const Dim batch = context.dim(kGroupQuery, 0), places = context.dim(kGroupQuery, 1);
  result.packed = !context.has_input(kGroupKey);
  if (result.packed == context.has_input(kGroupValue))
    return context.invalid("key and value together, or none of them, expected");
  TRY(const Dim size, a_head_of(context, context.dim(kGroupQuery, 2), result.packed ? heads + 2 * shared : heads));
  result.q = {batch, heads, places, size};
  result.k = {batch, shared, places, size};
  for (const int i : {int{kGroupKey}, int{kGroupValue}})
    TRY_VOID(expect_shape(context, i, {batch, places, result.k.heads * size}));
  if (context.has_input(kCachedKeys) != context.has_input(kCachedValues))
    return context.invalid("past_key and past_value together expected, one of them found");
  result.cached = 0;
  if (context.has_input(kCachedKeys)) {
    TRY_VOID(expect_rank(context, kCachedKeys, 4));
    result.cached = context.dim(kCachedKeys, 2);
    for (const int i : {int{kCachedKeys}, int{kCachedValues}})
      TRY_VOID(expect_shape(context, i, {batch, shared, result.cached, size}));
  }
  if (!agreed(element_count(context.shape(kLengths)), batch))
    return context.invalid("seqlens_k of {} elements expected, {} found", batch.text(), text(context.shape(kLengths)));
  const auto total = context.dims(kTotal);
  if (!total || total->size() != 1) return context.unsupported("a total_sequence_length that shapes tell expected");
  result.is_first = (*total)[0] == places;
  result.present = max(result.cached, (*total)[0]);
  if (context.has_input(kCos) != context.has_input(kSin))
    return context.invalid("cos_cache and sin_cache together expected, one of them found");
  if (context.get_int("do_rotary") != 0 && !context.has_input(kCos))
    return context.invalid("cos_cache and sin_cache with do_rotary expected, none found");
  if (context.has_input(kCos)) TRY_VOID(check_caches(context, kCos));
  TRY_VOID(expect_shape(context, kPlaces, {batch, places}));
  TRY_VOID(check_score_bias(context, kGroupBias, result.q, (*total)[0]));
  TRY_VOID(expect_shape(context, kSink, {heads}));
  return result;
}

Result<std::vector<ValueType>> infer_group_query(const OpContext& context) {
  TRY(const GroupAttention a, group_query_of(context));
  const DataType dtype = context.dtype(kGroupQuery);
  const ValueType cache = ValueType::tensor(dtype, {a.k.batch, a.k.heads, a.present, a.k.size});
  return std::vector{ValueType::tensor(dtype, {a.q.batch, a.q.sequence, a.q.heads * a.q.size}), cache, cache};
}

class GroupQueryProgram {
 public:
  GroupQueryProgram(const OpContext& context, const GroupAttention& attention)
      : context_(context),
        a_(attention),
        dtype_(context.dtype(kGroupQuery)),
        rotates_(context.get_int("do_rotary") != 0) {}

  te::Program finish() && {
    program_.outputs.resize(3);
    if (rotates_) {
      queries_ = turned(0, a_.q);
      keys_ = turned(1, a_.k);
    }
    program_.outputs[1] = present(1);
    program_.outputs[2] = present(2);
    const AttentionForm attention = form();
    program_.outputs[0] = heads_together(program_, attention, attend(program_, attention).y, dtype_);
    for (const int i : {1, 2})
      if (!context_.wants_output(i)) program_.outputs[i] = {};
    return std::move(program_);
  }

 private:
  /// Where the new keys of a sequence begin.
  Expr first_of(const Expr& b) const {
    if (a_.is_first) return te::index(0);
    const Expr last =
        load_index(context_, kLengths, context_.rank(kLengths) == 1 ? std::vector{b} : std::vector{b, te::index(0)});
    return last + 1 - a_.q.sequence.expr();
  }

  /// Element of part 0, 1 or 2: queries, keys, values.
  Expr given(int part, const Expr& b, const Expr& h, const Expr& i, const Expr& k) const {
    const Expr in_row = h * a_.q.size.expr() + k;
    if (!a_.packed) return context_.load(part, {b, i, in_row});
    const Dim before = part == 0 ? Dim(0) : part == 1 ? a_.q.heads : a_.q.heads + a_.k.heads;
    return context_.load(kGroupQuery, {b, i, (before * a_.q.size).expr() + in_row});
  }

  te::StageValue turned(int part, const Heads& heads) {
    const Expr b = te::axis(0), h = te::axis(1), i = te::axis(2);
    const Expr place = context_.has_input(kPlaces) ? context_.load(kPlaces, {b, i}) : first_of(b) + i;
    const Rotation rotation = {context_.dim(kCos, 1) * Dim(2), a_.q.size, context_.get_int("rotary_interleaved") != 0,
                               cached_angle(context_, kCos, place), cached_angle(context_, kSin, place)};
    return program_.map({heads.batch, heads.heads, heads.sequence, heads.size},
                        rotated(rotation, te::axis(3), [&](const Expr& at) { return given(part, b, h, i, at); }));
  }

  /// The cache that goes out, of keys (1) or values (2).
  te::StageValue present(int part) {
    const Expr b = te::axis(0), h = te::axis(1), j = te::axis(2), k = te::axis(3);
    const Expr first = first_of(b), at = j - first;
    const Expr fresh = part == 1 && rotates_ ? program_.load(keys_, {b, h, at, k}) : given(part, b, h, at, k);
    Expr element = te::select(j < first + a_.k.sequence.expr(), fresh, te::literal(0, dtype_));
    if (context_.has_input(kCachedKeys) && !a_.is_first)
      element = te::select(j < first, context_.load(part == 1 ? kCachedKeys : kCachedValues, {b, h, j, k}), element);
    return program_.map({a_.k.batch, a_.k.heads, a_.present, a_.k.size}, element);
  }

  AttentionForm form() const {
    const DataType wide = accumulator(dtype_);
    AttentionForm form{.q = a_.q, .keys = a_.present, .value_size = a_.q.size, .dtype = dtype_, .softmax = wide};
    form.query = [&](const Expr& b, const Expr& h, const Expr& i, const Expr& k) {
      return rotates_ ? program_.load(queries_, {b, h, i, k}) : given(0, b, h, i, k);
    };
    const auto cached = [&](int output) {
      return [&, output](const Expr& b, const Expr& h, const Expr& j, const Expr& k) {
        return program_.load(program_.outputs[output], {b, shared_head(h, a_.q.heads, a_.k.heads), j, k});
      };
    };
    form.key = cached(1);
    form.value = cached(2);
    form.scale = scale_of(context_, a_.q.size, wide);
    form.softcap = context_.get_float("softcap");
    form.bias = [&](const Expr& b, const Expr& h, const Expr& i, const Expr& j) { return bias(b, h, i, j); };
    if (context_.has_input(kSink))
      form.sink = [&](const Expr& h) { return context_.load(kSink, {h}); };
    else if (context_.get_int("smooth_softmax") == 1)
      form.sink = [&](const Expr&) { return te::literal(0, dtype_); };
    return form;
  }

  /// Of a score; as little as there is for what a query doesn't see.
  Expr bias(const Expr& b, const Expr& h, const Expr& i, const Expr& j) const {
    const Expr place = first_of(b) + i;
    Expr sees = j <= place;
    if (const int64_t window = context_.get_int("local_window_size"); window > 0) sees = sees && place < j + window;
    Expr bias = te::literal(0, dtype_);
    if (context_.has_input(kGroupBias))
      bias = load_score_bias(context_, kGroupBias, b, h, i, te::min(j, (context_.dim(kGroupBias, 3) - 1).expr()));
    return te::select(sees, bias, te::maximum(dtype_).identity[0]);
  }

  const OpContext& context_;
  const GroupAttention& a_;
  const DataType dtype_;
  const bool rotates_;
  te::Program program_;
  te::StageValue queries_, keys_;  ///< where they are rotated
};

Result<te::Program> compute_group_query(const OpContext& context) {
  TRY(const GroupAttention attention, group_query_of(context));
  return GroupQueryProgram(context, attention).finish();
}

// RotaryEmbedding: positions come before the caches, or are one from which all are counted.

struct TurnedHeads {
  Heads x;
  Dim turned;
};

Result<TurnedHeads> turned_heads_of(const OpContext& context) {
  TRY_VOID(check_caches(context, 2));
  TurnedHeads result;
  const Shape& x = context.shape(0);
  result.turned = context.dim(2, 1) * Dim(2);
  if (x.size() == 4) {
    result.x = {x[0], x[1], x[2], x[3]};
  } else if (x.size() == 3) {
    // Without a number of heads the caches tell the size of one.
    const int64_t heads = context.get_int("num_heads");
    if (heads < 0) return context.invalid("num_heads of at least 0 expected, {} found", heads);
    if (heads > 0) {
      TRY(const Dim size, a_head_of(context, x[2], heads));
      result.x = {x[0], heads, x[1], size};
    } else {
      result.x = {x[0], floor_div(x[2], result.turned), x[1], result.turned};
    }
  } else {
    return context.invalid("input of rank 3 or 4 expected, {} found", text(x));
  }
  const Dim written = context.get_int("rotary_embedding_dim");
  if (!written.is(0) && !agreed(written, result.turned))
    return context.invalid("caches of rotary_embedding_dim / 2 = {} columns expected, {} found",
                           floor_div(written, 2).text(), context.dim(2, 1).text());
  if (result.turned.is_constant() && result.x.size.is_constant() && result.turned.value() > result.x.size.value())
    return context.invalid("at most {} turned elements a head expected, {} found", result.x.size.text(),
                           result.turned.text());
  TRY_VOID(expect_shape(context, 1, context.rank(1) == 1 ? Shape{1} : Shape{result.x.batch, result.x.sequence}));
  return result;
}

Result<std::vector<ValueType>> infer_turned(const OpContext& context) {
  TRY_VOID(turned_heads_of(context));
  return same_as_first(context);
}

Result<te::Program> compute_turned(const OpContext& context) {
  TRY(const TurnedHeads rotary, turned_heads_of(context));
  const bool flat = context.rank(0) == 3;
  const Expr width = rotary.x.size.expr();
  const Expr b = te::axis(0), i = te::axis(flat ? 1 : 2);
  const Expr h = flat ? te::floor_div(te::axis(2), width) : te::axis(1);
  const Expr element = flat ? te::floor_mod(te::axis(2), width) : te::axis(3);
  const Expr place = context.rank(1) == 1 ? context.load(1, {te::index(0)}) + i : context.load(1, {b, i});
  const Rotation rotation = {rotary.turned, rotary.x.size, context.get_int("interleaved") != 0,
                             cached_angle(context, 2, place), cached_angle(context, 3, place)};
  return single_map(context.shape(0), rotated(rotation, element, [&](const Expr& at) {
                      return flat ? context.load(0, {b, i, h * width + at}) : context.load(0, {b, h, i, at});
                    }));
}

}  // namespace

std::vector<OpDef> attention_contrib() {
  return {
      {.domain = kContribDomain,
       .name = "Attention",
       .since = 1,
       .inputs = {"input", "weights", "bias?", "mask_index?:int32", "past?", "attention_bias?"},
       .outputs = {"output", "present?"},
       .types = {{"T", kContribFloats}},
       .attributes = {only("do_rotary", 0), with_default("mask_filter_value", kHidden),
                      required("num_heads", AttributeKind::kInt), only("past_present_share_buffer", 0),
                      optional("qkv_hidden_sizes", AttributeKind::kInts),
                      optional("rotary_embedding_dim", AttributeKind::kInt), with_default("scale", 0.0),
                      with_default("unidirectional", 0)},
       .infer = infer_merged,
       .compute = compute_merged},
      {.domain = kContribDomain,
       .name = "QAttention",
       .since = 1,
       .inputs = {"input:T1", "weight:T2", "bias:T3", "input_scale:T3", "weight_scale:T3", "mask_index?:int32",
                  "input_zero_point?:T1", "weight_zero_point?:T2", "past?:T3"},
       .outputs = {"output:T3", "present?:T3"},
       .types = {{"T1", kContribBytes}, {"T2", kContribBytes}, {"T3", DataType::kFloat16 | DataType::kFloat32}},
       .attributes = {only("do_rotary", 0), with_default("mask_filter_value", kHidden),
                      required("num_heads", AttributeKind::kInt), only("past_present_share_buffer", 0),
                      with_default("scale", 0.0), with_default("unidirectional", 0)},
       .infer = infer_merged_bytes,
       .compute = compute_merged_bytes},
      {.domain = kContribDomain,
       .name = "MultiHeadAttention",
       .since = 1,
       .inputs = {"query", "key?", "value?", "bias?", "key_padding_mask?:int32", "attention_bias?", "past_key?",
                  "past_value?"},
       .outputs = {"output", "present_key?", "present_value?"},
       .types = {{"T", kContribFloats}},
       .attributes = {with_default("mask_filter_value", kHidden), required("num_heads", AttributeKind::kInt),
                      with_default("scale", 0.0), with_default("unidirectional", 0)},
       .infer = infer_multi,
       .compute = compute_multi},
      {.domain = kContribDomain,
       .name = "GroupQueryAttention",
       .since = 1,
       .inputs = {"query", "key?", "value?", "past_key?", "past_value?", "seqlens_k:int32",
                  "total_sequence_length:int32", "cos_cache?", "sin_cache?", "position_ids?:int64", "attention_bias?",
                  "head_sink?"},
       .outputs = {"output", "present_key?", "present_value?"},
       .types = {{"T", kContribFloats}},
       .attributes = {only("causal", 1), with_default("do_rotary", 0),
                      optional("k_norm_epsilon", AttributeKind::kFloat), only("k_quant_type", "NONE"),
                      only("kv_cache_bit_width", 0), required("kv_num_heads", AttributeKind::kInt),
                      with_default("local_window_size", -1), required("num_heads", AttributeKind::kInt),
                      optional("q_norm_epsilon", AttributeKind::kFloat), with_default("qk_norm_epsilon", 1e-6f),
                      only("qk_output", 0), with_default("rotary_interleaved", 0), with_default("scale", 0.0),
                      only("sliding_window_cache", 0), with_default("smooth_softmax", -1), with_default("softcap", 0.0),
                      only("v_quant_type", "NONE")},
       .infer = infer_group_query,
       .compute = compute_group_query},
      {.domain = kContribDomain,
       .name = "RotaryEmbedding",
       .since = 1,
       .inputs = {"input", "position_ids:int64", "cos_cache", "sin_cache"},
       .outputs = {"output"},
       .types = {{"T", kContribFloats}},
       .attributes = {with_default("interleaved", 0), only("is_packed_batching", 0), with_default("num_heads", 0),
                      with_default("rotary_embedding_dim", 0), only("scale", 1.0)},
       .infer = infer_turned,
       .compute = compute_turned},
  };
}

}  // namespace isomer::ops
