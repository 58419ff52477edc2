// ONNX Runtime's operators, written from its ContribOperators.md and from what its CPU kernels answer.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "ops/reference.h"

namespace isomer::test {
namespace {

// Activations and normalizations.

double gelu(double x) { return x / 2 * (1 + std::erf(x / std::numbers::sqrt2)); }
double tanh_gelu(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

Reference biased(double (*activation)(double)) {
  return [activation](const Call& call) {
    Plain y = call.input(0);
    for (int64_t i = 0; i < y.count(); ++i) {
      if (call.has(1)) y.values[i] += call.input(1).values[y.index(i).back()];
      y.values[i] = activation(y.values[i]);
    }
    return std::vector{y};
  };
}

std::vector<Plain> quick_gelu(const Call& call) {
  Plain y = call.input(0);
  for (double& x : y.values) x /= 1 + std::exp(-call.real("alpha", 1.702) * x);
  return {y};
}

/// Rows of x, less their mean where `centers`, over their root mean square, times gamma, plus beta; with the
/// statistics.
std::vector<Plain> normalized(const Plain& x, const Call& call, double epsilon, bool centers, size_t gamma,
                              std::optional<size_t> beta) {
  const int64_t size = x.dims.back();
  Dims rows = x.dims;
  rows.back() = 1;
  Plain y(x.dims), means(rows), inverses(rows);
  for (int64_t row = 0; size > 0 && row < x.count() / size; ++row) {
    double mean = 0, square = 0;
    for (int64_t k = 0; k < size; ++k) mean += x.values[row * size + k] / static_cast<double>(size);
    if (!centers) mean = 0;
    for (int64_t k = 0; k < size; ++k)
      square += std::pow(x.values[row * size + k] - mean, 2) / static_cast<double>(size);
    means.values[row] = mean;
    inverses.values[row] = 1 / std::sqrt(square + epsilon);
    for (int64_t k = 0; k < size; ++k) {
      double& value = y.values[row * size + k];
      value = (x.values[row * size + k] - mean) * inverses.values[row] * call.input(gamma).values[k];
      if (beta && call.has(*beta)) value += call.input(*beta).values[k];
    }
  }
  return {y, means, inverses};
}

Reference skip(bool centers) {
  return [centers](const Call& call) {
    Plain sum = call.input(0);
    const size_t bias = centers ? 4 : 3;
    for (int64_t i = 0; i < sum.count(); ++i) {
      const Dims at = sum.index(i);
      sum.values[i] += broadcast_element(call.input(1), at);
      if (call.has(bias)) sum.values[i] += call.input(bias).values[at.back()];
    }
    std::vector<Plain> result = normalized(sum, call, call.real("epsilon", 1e-12), centers, 2,
                                           centers ? std::optional<size_t>(3) : std::nullopt);
    result.push_back(sum);
    return result;
  };
}

std::vector<Plain> embed(const Call& call) {
  const Plain ids = call.input(0), words = call.input(2), places = call.input(3);
  const int64_t batch = ids.dims[0], length = ids.dims[1], size = words.dims[1];
  Plain sum({batch, length, size}), seen({batch});
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t s = 0; s < length; ++s) {
      int64_t place = s;
      if (call.has(8)) {
        const Plain given = call.input(8);
        place = static_cast<int64_t>(given.at({given.dims[0] == 1 ? 0 : b, s}));
      }
      if (call.has(7)) seen.values[b] += call.input(7).at({b, s}) == 1;
      for (int64_t k = 0; k < size; ++k) {
        double& value = sum.at({b, s, k});
        value = words.at({static_cast<int64_t>(ids.at({b, s})), k}) + places.at({place, k});
        if (call.has(1)) value += call.input(4).at({static_cast<int64_t>(call.input(1).at({b, s})), k});
      }
    }
  return {normalized(sum, call, call.real("epsilon", 1e-12), true, 5, 6)[0], seen, sum};
}

// Products.

Plain transposed(const Plain& x, const std::vector<int64_t>& axes) {
  Dims dims;
  for (const int64_t axis : axes) dims.push_back(x.dims[axis]);
  Plain y(dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims from(axes.size());
    for (size_t k = 0; k < axes.size(); ++k) from[axes[k]] = y.index(i)[k];
    y.values[i] = x.at(from);
  }
  return y;
}

Plain operand(const Call& call, size_t i, const std::string& side) {
  Plain x = call.input(i);
  if (x.rank() < 2) return x;
  std::vector<int64_t> axes;
  if (call.integer("transBatch" + side, 0) != 0) {
    for (int64_t k = 1; k + 1 < x.rank(); ++k) axes.push_back(k);
    axes.push_back(0);
    axes.push_back(x.rank() - 1);
    x = transposed(x, axes);
    axes.clear();
  }
  if (call.integer("trans" + side, 0) == 0) return x;
  for (int64_t k = 0; k + 2 < x.rank(); ++k) axes.push_back(k);
  axes.push_back(x.rank() - 1);
  axes.push_back(x.rank() - 2);
  return transposed(x, axes);
}

std::vector<Plain> fused_matmul(const Call& call) {
  Plain y = multiplied(operand(call, 0, "A"), operand(call, 1, "B"));
  for (double& value : y.values) value *= call.real("alpha", 1);
  return {y};
}

/// The activation of FusedConv and FusedGemm.
double activated(const Call& call, double x) {
  const std::string name = call.text("activation", "");
  std::vector<float> parameters = call.reals("activation_params");
  if (parameters.empty())
    parameters = {static_cast<float>(call.real("activation_alpha", 0)),
                  static_cast<float>(call.real("activation_beta", 0))};
  if (name == "Relu") return std::max(x, 0.0);
  if (name == "Sigmoid") return 1 / (1 + std::exp(-x));
  if (name == "Tanh") return std::tanh(x);
  if (name == "LeakyRelu") return x < 0 ? parameters[0] * x : x;
  if (name == "HardSigmoid") return std::clamp(parameters[0] * x + parameters[1], 0.0, 1.0);
  if (name == "Clip") return std::min<double>(std::max<double>(x, parameters[0]), parameters[1]);
  return x;
}

std::vector<Plain> fused_gemm(const Call& call) {
  Plain y = multiplied(operand(call, 0, "A"), operand(call, 1, "B"));
  for (int64_t i = 0; i < y.count(); ++i) {
    y.values[i] *= call.real("alpha", 1);
    if (call.has(2)) y.values[i] += call.real("beta", 1) * broadcast_element(call.input(2), y.index(i));
    y.values[i] = activated(call, y.values[i]);
  }
  return {y};
}

std::vector<Plain> fused_conv(const Call& call) {
  Plain y = convolved(call, call.input(0), call.input(1));
  for (int64_t i = 0; i < y.count(); ++i) {
    if (call.has(2)) y.values[i] += call.input(2).values[y.index(i)[1]];
    if (call.has(3)) y.values[i] += call.input(3).values[i];
    y.values[i] = activated(call, y.values[i]);
  }
  return {y};
}

/// Number k of those of so many bits that lie in the bytes from `first` on.
int64_t packed(const Plain& bytes, int64_t first, int64_t k, int64_t bits) {
  const int64_t byte = static_cast<int64_t>(bytes.values[first + k * bits / 8]);
  return (byte >> (k * bits % 8)) & ((int64_t{1} << bits) - 1);
}

std::vector<Plain> nbits(const Call& call) {
  const int64_t rows = call.integer("N", 0), inner = call.integer("K", 0), size = call.integer("block_size", 0);
  const int64_t bits = call.integer("bits", 4), blocks = (inner + size - 1) / size;
  const Plain a = call.input(0), b = call.input(1), scales = call.input(2);
  Plain weights({inner, rows});
  for (int64_t n = 0; n < rows; ++n)
    for (int64_t k = 0; k < inner; ++k) {
      const int64_t block = k / size;
      double zero = std::pow(2, bits - 1);
      if (call.has(3)) {
        const bool is_packed = call.instance.inputs[3].tensor.dtype() == DataType::kUInt8;
        zero = is_packed ? static_cast<double>(packed(call.input(3), n * ((blocks * bits + 7) / 8), block, bits))
                         : call.input(3).values[n * blocks + block];
      }
      const auto number = static_cast<double>(packed(b, (n * blocks + block) * (size * bits / 8), k % size, bits));
      weights.at({k, n}) = (number - zero) * scales.values[n * blocks + block];
    }
  Plain y = multiplied(a, weights);
  for (int64_t i = 0; i < y.count() && call.has(5); ++i) y.values[i] += call.input(5).values[y.index(i).back()];
  return {y};
}

/// The element of a scale or zero point that belongs to a column; `fallback` where there is none.
double of_column(const Call& call, size_t i, int64_t column, double fallback) {
  if (!call.has(i)) return fallback;
  const Plain values = call.input(i);
  return values.values[values.count() == 1 ? 0 : column];
}

std::vector<Plain> integer_to_float(const Call& call) {
  Plain a = call.input(0), b = call.input(1);
  for (double& value : a.values) value -= of_column(call, 4, 0, 0);
  for (int64_t i = 0; i < b.count(); ++i) b.values[i] -= of_column(call, 5, b.index(i).back(), 0);
  Plain y = multiplied(a, b);
  for (int64_t i = 0; i < y.count(); ++i) {
    const int64_t column = y.index(i).back();
    y.values[i] *= call.input(2).values[0] * of_column(call, 3, column, 1);
    if (call.has(6)) y.values[i] += call.input(6).values[column];
  }
  return {y};
}

// Attention.

/// Of [batch, heads, places, size]; heads of keys and values are shared by neighbours. `bias` of -HUGE_VAL hides.
template <class Bias, class Sink>
Plain attended(const Plain& q, const Plain& k, const Plain& v, double scale, double cap, const Bias& bias,
               const Sink& sink) {
  const int64_t shared = q.dims[1] / k.dims[1], keys = k.dims[2], size = v.dims[3];
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(q.dims[3]));
  Plain y({q.dims[0], q.dims[2], q.dims[1] * size});
  for (int64_t b = 0; b < q.dims[0]; ++b)
    for (int64_t h = 0; h < q.dims[1]; ++h)
      for (int64_t i = 0; i < q.dims[2]; ++i) {
        std::vector<double> scores(keys);
        const std::optional<double> extra = sink(h);
        double greatest = extra.value_or(-HUGE_VAL), total = 0;
        for (int64_t j = 0; j < keys; ++j) {
          double sum = 0;
          for (int64_t e = 0; e < q.dims[3]; ++e) sum += q.at({b, h, i, e}) * k.at({b, h / shared, j, e});
          scores[j] = sum * scale;
          if (cap > 0) scores[j] = cap * std::tanh(scores[j] / cap);
          scores[j] += bias(b, h, i, j);
          greatest = std::max(greatest, scores[j]);
        }
        if (extra) total += std::exp(*extra - greatest);
        for (double& score : scores) total += score = std::exp(score - greatest);
        for (int64_t e = 0; e < size; ++e) {
          double sum = 0;
          for (int64_t j = 0; j < keys; ++j) sum += scores[j] / total * v.at({b, h / shared, j, e});
          y.at({b, i, h * size + e}) = sum;
        }
      }
  return y;
}

const auto no_sink = [](int64_t) { return std::optional<double>(); };

/// What mask and bias, inputs of these numbers, and the order of places add to a score.
auto hiding(const Call& call, size_t mask, size_t added, int64_t past) {
  return [&call, mask, added, past](int64_t b, int64_t h, int64_t i, int64_t j) {
    double sum = 0;
    if (call.has(mask)) {
      const Plain seen = call.input(mask);
      const int64_t batch = call.input(0).dims[0];
      bool sees = true;
      if (seen.rank() == 1) sees = j < seen.values[b] && (seen.count() == batch || j >= seen.values[b + batch]);
      if (seen.rank() == 2) sees = seen.at({b, j}) > 0;
      if (seen.rank() == 3) sees = seen.at({b, i, j}) > 0;
      if (!sees) sum += call.real("mask_filter_value", -10000);
    }
    if (call.has(added)) {
      const Plain bias = call.input(added);
      sum += bias.at({bias.dims[0] == 1 ? 0 : b, bias.dims[1] == 1 ? 0 : h, i, j});
    }
    if (call.integer("unidirectional", 0) != 0 && j > past + i) sum = -HUGE_VAL;
    return sum;
  };
}

/// Columns [first, first + heads * size) of [batch, places, columns] as [batch, heads, places, size].
Plain heads_of(const Plain& x, int64_t first, int64_t heads, int64_t size) {
  Plain y({x.dims[0], heads, x.dims[1], size});
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = y.index(i);
    y.values[i] = x.at({at[0], at[2], first + at[1] * size + at[3]});
  }
  return y;
}

/// Of rows of queries, keys and values; mask, past and bias are inputs of these numbers.
std::vector<Plain> attention_of_rows(const Call& call, Plain rows, size_t mask, size_t cache, size_t added) {
  const int64_t heads = call.integer("num_heads", 1);
  for (int64_t i = 0; i < rows.count() && call.has(2); ++i)
    rows.values[i] += call.input(2).values[rows.index(i).back()];
  const std::vector<int64_t> sizes = call.integers("qkv_hidden_sizes", std::vector<int64_t>(3, rows.dims.back() / 3));
  const Plain q = heads_of(rows, 0, heads, sizes[0] / heads);
  Plain k = heads_of(rows, sizes[0], heads, sizes[1] / heads);
  Plain v = heads_of(rows, sizes[0] + sizes[1], heads, sizes[2] / heads);
  int64_t past = 0;
  if (call.has(cache)) {
    const Plain both = call.input(cache);
    Plain keys(Dims(both.dims.begin() + 1, both.dims.end()));
    Plain values = keys;
    const int64_t half = keys.count();
    std::copy_n(both.values.begin(), half, keys.values.begin());
    std::copy_n(both.values.begin() + half, half, values.values.begin());
    past = keys.dims[2];
    k = appended(keys, k, 2);
    v = appended(values, v, 2);
  }
  Dims dims = k.dims;
  dims.insert(dims.begin(), 2);
  Plain present(dims);
  if (k.dims == v.dims) {
    std::copy(k.values.begin(), k.values.end(), present.values.begin());
    std::copy(v.values.begin(), v.values.end(), present.values.begin() + k.count());
  }
  return {attended(q, k, v, call.real("scale", 0), 0, hiding(call, mask, added, past), no_sink), present};
}

std::vector<Plain> merged_attention(const Call& call) {
  return attention_of_rows(call, multiplied(call.input(0), call.input(1)), 3, 4, 5);
}

std::vector<Plain> merged_bytes(const Call& call) {
  Plain x = call.input(0), w = call.input(1);
  for (double& value : x.values) value = (value - of_column(call, 6, 0, 0)) * call.input(3).values[0];
  for (int64_t i = 0; i < w.count(); ++i) {
    const int64_t column = w.index(i).back();
    w.values[i] = (w.values[i] - of_column(call, 7, column, 0)) * of_column(call, 4, column, 1);
  }
  return attention_of_rows(call, multiplied(x, w), 5, 8, 99);
}

std::vector<Plain> multi_head_attention(const Call& call) {
  const int64_t heads = call.integer("num_heads", 1);
  // Part k of a packed [batch, places, heads, parts, size] as [batch, heads, places, size].
  const auto unpacked = [](const Plain& x, int64_t k) {
    Plain y({x.dims[0], x.dims[2], x.dims[1], x.dims[4]});
    for (int64_t i = 0; i < y.count(); ++i) {
      const Dims at = y.index(i);
      y.values[i] = x.at({at[0], at[2], at[1], k, at[3]});
    }
    return y;
  };
  const auto apart = [&](size_t i) {
    const Plain x = call.input(i);
    return x.rank() == 4 ? x : heads_of(x, 0, heads, x.dims[2] / heads);
  };
  const bool all = call.input(0).rank() == 5, pairs = !all && call.input(1).rank() == 5;
  const bool made = !all && !pairs && call.input(1).rank() == 4;
  Plain q = all ? unpacked(call.input(0), 0) : apart(0);
  Plain k = all ? unpacked(call.input(0), 1) : pairs ? unpacked(call.input(1), 0) : apart(1);
  Plain v = all ? unpacked(call.input(0), 2) : pairs ? unpacked(call.input(1), 1) : apart(2);
  if (call.has(3)) {
    int64_t first = 0;
    for (Plain* part : {&q, &k, &v}) {
      for (int64_t i = 0; i < part->count() && (part == &q || !made); ++i) {
        const Dims at = part->index(i);
        part->values[i] += call.input(3).values[first + at[1] * part->dims[3] + at[3]];
      }
      first += heads * part->dims[3];
    }
  }
  int64_t past = 0;
  if (call.has(6)) {
    past = call.input(6).dims[2];
    k = appended(call.input(6), k, 2);
    v = appended(call.input(7), v, 2);
  }
  return {attended(q, k, v, call.real("scale", 0), 0, hiding(call, 4, 5, past), no_sink), k, v};
}

/// Elements of heads turned by the angles of their places.
template <class Place>
Plain turned(const Plain& x, const Plain& cosines, const Plain& sines, bool interleaved, const Place& place_of) {
  Plain y = x;
  const int64_t half = cosines.dims[1];
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = y.index(i);
    if (at[3] >= 2 * half) continue;
    const int64_t pair = interleaved ? at[3] / 2 : at[3] % half;
    const bool is_first = interleaved ? at[3] % 2 == 0 : at[3] < half;
    Dims other = at;
    other[3] += (is_first ? 1 : -1) * (interleaved ? 1 : half);
    const int64_t place = place_of(at[0], at[2]);
    const double cosine = cosines.at({place, pair}), sine = sines.at({place, pair});
    y.values[i] = is_first ? cosine * x.at(at) - sine * x.at(other) : sine * x.at(other) + cosine * x.at(at);
  }
  return y;
}

std::vector<Plain> rotary_at_places(const Call& call) {
  const Plain x = call.input(0), places = call.input(1), cosines = call.input(2);
  const auto place_of = [&](int64_t b, int64_t s) {
    return static_cast<int64_t>(places.rank() == 1 ? places.values[0] + static_cast<double>(s) : places.at({b, s}));
  };
  const bool interleaved = call.integer("interleaved", 0) != 0;
  if (x.rank() == 4) return {turned(x, cosines, call.input(3), interleaved, place_of)};
  int64_t heads = call.integer("num_heads", 0);
  if (heads == 0) heads = x.dims[2] / (2 * cosines.dims[1]);
  const Plain y = turned(heads_of(x, 0, heads, x.dims[2] / heads), cosines, call.input(3), interleaved, place_of);
  Plain together(x.dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = y.index(i);
    together.at({at[0], at[2], at[1] * y.dims[3] + at[3]}) = y.values[i];
  }
  return {together};
}

std::vector<Plain> group_query_attention(const Call& call) {
  const int64_t heads = call.integer("num_heads", 1), shared = call.integer("kv_num_heads", 1);
  const Plain rows = call.input(0);
  const bool packed = !call.has(1);
  const int64_t size = rows.dims[2] / (packed ? heads + 2 * shared : heads), fresh = rows.dims[1];
  Plain q = heads_of(rows, 0, heads, size);
  Plain k = packed ? heads_of(rows, heads * size, shared, size) : heads_of(call.input(1), 0, shared, size);
  const Plain v =
      packed ? heads_of(rows, (heads + shared) * size, shared, size) : heads_of(call.input(2), 0, shared, size);
  const auto total = static_cast<int64_t>(call.input(6).values[0]);
  const auto first_of = [&](int64_t b) {
    return total == fresh ? 0 : static_cast<int64_t>(call.input(5).values[b]) + 1 - fresh;
  };
  if (call.integer("do_rotary", 0) != 0) {
    const auto place_of = [&](int64_t b, int64_t s) {
      return call.has(9) ? static_cast<int64_t>(call.input(9).at({b, s})) : first_of(b) + s;
    };
    const bool interleaved = call.integer("rotary_interleaved", 0) != 0;
    q = turned(q, call.input(7), call.input(8), interleaved, place_of);
    k = turned(k, call.input(7), call.input(8), interleaved, place_of);
  }
  const int64_t cached = call.has(3) ? call.input(3).dims[2] : 0;
  const auto kept = [&](size_t cache, const Plain& x) {
    Plain y({x.dims[0], shared, std::max(cached, total), size});
    for (int64_t i = 0; i < y.count(); ++i) {
      Dims at = y.index(i);
      const int64_t first = first_of(at[0]);
      if (at[2] < first) {
        y.values[i] = call.has(cache) ? call.input(cache).at(at) : 0;
      } else if (at[2] < first + fresh) {
        at[2] -= first;
        y.values[i] = x.at(at);
      }
    }
    return y;
  };
  const Plain keys = kept(3, k), values = kept(4, v);
  const int64_t window = call.integer("local_window_size", -1);
  const auto bias = [&](int64_t b, int64_t h, int64_t i, int64_t j) -> double {
    const int64_t place = first_of(b) + i;
    if (j > place || (window > 0 && place - j >= window)) return -HUGE_VAL;
    if (!call.has(10)) return 0;
    const Plain added = call.input(10);
    return added.at({added.dims[0] == 1 ? 0 : b, added.dims[1] == 1 ? 0 : h, i, j});
  };
  const auto sink = [&](int64_t h) -> std::optional<double> {
    if (call.has(11)) return call.input(11).values[h];
    if (call.integer("smooth_softmax", -1) == 1) return 0;
    return std::nullopt;
  };
  return {attended(q, keys, values, call.real("scale", 0), call.real("softcap", 0), bias, sink), keys, values};
}

}  // namespace

void add_contrib_references(References& references) {
  references["com.microsoft.Gelu"] = biased(gelu);
  references["com.microsoft.BiasGelu"] = biased(gelu);
  references["com.microsoft.FastGelu"] = biased(tanh_gelu);
  references["com.microsoft.QuickGelu"] = quick_gelu;
  references["com.microsoft.SkipLayerNormalization"] = skip(true);
  references["com.microsoft.SkipSimplifiedLayerNormalization"] = skip(false);
  references["com.microsoft.EmbedLayerNormalization"] = embed;
  references["SimplifiedLayerNormalization"] = references.at("RMSNormalization");
  for (const std::string_view name : {"com.microsoft.FusedMatMul", "com.microsoft.TransposeMatMul"})
    references[name] = fused_matmul;
  references["com.microsoft.FusedGemm"] = fused_gemm;
  references["com.microsoft.FusedConv"] = fused_conv;
  references["com.microsoft.MatMulNBits"] = nbits;
  references["com.microsoft.MatMulIntegerToFloat"] = integer_to_float;
  references["com.microsoft.Attention"] = merged_attention;
  references["com.microsoft.QAttention"] = merged_bytes;
  references["com.microsoft.MultiHeadAttention"] = multi_head_attention;
  references["com.microsoft.GroupQueryAttention"] = group_query_attention;
  references["com.microsoft.RotaryEmbedding"] = rotary_at_places;
}

}  // namespace isomer::test
