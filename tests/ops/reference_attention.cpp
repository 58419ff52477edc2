// Attention and what goes with it, losses, windows.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "ops/reference.h"

namespace isomer::test {
namespace {

/// [batch, heads, sequence, size] whatever the rank.
Plain split_heads(const Plain& x, int64_t heads) {
  if (x.rank() == 4) return x;
  const int64_t size = x.dims[2] / heads;
  Plain y({x.dims[0], heads, x.dims[1], size});
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = y.index(i);
    y.values[i] = x.at({at[0], at[2], at[1] * size + at[3]});
  }
  return y;
}

Plain join_heads(const Plain& x) {
  Plain y({x.dims[0], x.dims[2], x.dims[1] * x.dims[3]});
  for (int64_t i = 0; i < x.count(); ++i) {
    const Dims at = x.index(i);
    y.at({at[0], at[2], at[1] * x.dims[3] + at[3]}) = x.values[i];
  }
  return y;
}

double mask_at(const Call& call, const Plain& mask, const Dims& at) {
  if (at[3] >= mask.dims.back()) return -HUGE_VAL;
  Dims place(at.end() - mask.rank(), at.end());
  for (size_t k = 0; k + 1 < place.size(); ++k)
    if (mask.dims[k] == 1) place[k] = 0;
  const double value = mask.at(place);
  return call.instance.inputs[3].tensor.dtype() == DataType::kBool ? (value != 0 ? 0 : -HUGE_VAL) : value;
}

std::vector<Plain> attention(const Call& call) {
  const bool apart = call.input(0).rank() == 4;
  const Plain q = split_heads(call.input(0), call.integer("q_num_heads", 0));
  Plain k = split_heads(call.input(1), call.integer("kv_num_heads", 0));
  Plain v = split_heads(call.input(2), call.integer("kv_num_heads", 0));
  int64_t past = 0;
  if (call.has(4)) {
    past = call.input(4).dims[2];
    k = appended(call.input(4), k, 2);
    v = appended(call.input(5), v, 2);
  }
  const int64_t size = q.dims[3], total = k.dims[2], shared = q.dims[1] / k.dims[1];
  const double scale = call.real("scale", 1 / std::sqrt(static_cast<double>(size)));
  const int64_t left = call.integer("left_window_size", -1), right = call.integer("right_window_size", -1);
  const double cap = call.real("softcap", 0);
  const int64_t mode = call.integer("qk_matmul_output_mode", 0);
  Plain shown({q.dims[0], q.dims[1], q.dims[2], total}), y({q.dims[0], q.dims[1], q.dims[2], v.dims[3]});
  for (int64_t b = 0; b < q.dims[0]; ++b)
    for (int64_t h = 0; h < q.dims[1]; ++h)
      for (int64_t i = 0; i < q.dims[2]; ++i) {
        const int64_t length = call.has(6) ? static_cast<int64_t>(call.input(6).values[b]) : total;
        const int64_t place = i + (call.has(6) ? length - q.dims[2] : past);
        std::vector<double> scores(total), bias(total);
        double greatest = -HUGE_VAL;
        bool sees = false;
        for (int64_t j = 0; j < total; ++j) {
          for (int64_t e = 0; e < size; ++e) scores[j] += q.at({b, h, i, e}) * k.at({b, h / shared, j, e});
          scores[j] *= scale;
          if (mode == 0) shown.at({b, h, i, j}) = scores[j];
          if (cap > 0) scores[j] = cap * std::tanh(scores[j] / cap);
          if (mode == 1) shown.at({b, h, i, j}) = scores[j];
          if (call.has(3)) bias[j] = mask_at(call, call.input(3), {b, h, i, j});
          const bool hidden = (call.integer("is_causal", 0) != 0 && j > place) || (left >= 0 && j < place - left) ||
                              (right >= 0 && j > place + right) || j >= length;
          if (hidden) bias[j] = -HUGE_VAL;
          sees = sees || bias[j] != -HUGE_VAL;
          scores[j] += bias[j];
          if (mode == 2) shown.at({b, h, i, j}) = scores[j];
          greatest = std::max(greatest, scores[j]);
        }
        double sum = 0;
        for (double& score : scores) sum += score = sees ? std::exp(score - greatest) : 0;
        for (int64_t j = 0; j < total; ++j) {
          const double share = sees ? scores[j] / sum : 0;
          if (mode == 3) shown.at({b, h, i, j}) = share;
          for (int64_t e = 0; e < v.dims[3]; ++e) y.at({b, h, i, e}) += share * v.at({b, h / shared, j, e});
        }
      }
  return {apart ? y : join_heads(y), k, v, shown};
}

std::vector<Plain> rotary(const Call& call) {
  const bool apart = call.input(0).rank() == 4, interleaved = call.integer("interleaved", 0) != 0;
  const Plain x = split_heads(call.input(0), call.integer("num_heads", 0));
  const int64_t written = call.integer("rotary_embedding_dim", 0), turned = written == 0 ? x.dims[3] : written;
  Plain y = x;
  for (int64_t i = 0; i < x.count(); ++i) {
    const Dims at = x.index(i);
    if (at[3] >= turned / 2) continue;
    const auto cached = [&](size_t cache) {
      if (!call.has(3)) return call.input(cache).at({at[0], at[2], at[3]});
      return call.input(cache).at({static_cast<int64_t>(call.input(3).at({at[0], at[2]})), at[3]});
    };
    Dims first = at, second = at;
    first[3] = interleaved ? 2 * at[3] : at[3];
    second[3] = interleaved ? 2 * at[3] + 1 : at[3] + turned / 2;
    const double cosine = cached(1), sine = cached(2);
    y.at(first) = cosine * x.at(first) - sine * x.at(second);
    y.at(second) = sine * x.at(first) + cosine * x.at(second);
  }
  return {apart ? y : join_heads(y)};
}

std::vector<Plain> tensor_scatter(const Call& call) {
  Plain y = call.input(0);
  const Plain update = call.input(1);
  const int64_t axis = call.axis(-2, y.rank());
  for (int64_t i = 0; i < update.count(); ++i) {
    Dims at = update.index(i);
    if (call.has(2)) at[axis] += static_cast<int64_t>(call.input(2).values[at[0]]);
    if (call.text("mode", "linear") == "circular") at[axis] %= y.dims[axis];
    y.at(at) = update.values[i];
  }
  return {y};
}

std::vector<Plain> linear_attention(const Call& call) {
  const int64_t heads = call.integer("q_num_heads", 1), shared_by = heads / call.integer("kv_num_heads", 1);
  const Plain q = split_heads(call.input(0), heads);
  const Plain k = split_heads(call.input(1), heads / shared_by), v = split_heads(call.input(2), heads / shared_by);
  Plain state({k.dims[0], k.dims[1], k.dims[3], v.dims[3]});
  if (call.has(3)) state = call.input(3);
  const double written = call.real("scale", 0);
  const double scale = written == 0 ? 1 / std::sqrt(static_cast<double>(q.dims[3])) : written;
  Plain y({q.dims[0], q.dims[1], q.dims[2], v.dims[3]});
  for (int64_t t = 0; t < q.dims[2]; ++t) {
    for (int64_t b = 0; b < k.dims[0]; ++b)
      for (int64_t h = 0; h < k.dims[1]; ++h) {
        if (call.has(4)) {
          const Plain decay = call.input(4);
          for (int64_t e = 0; e < k.dims[3]; ++e)
            for (int64_t o = 0; o < v.dims[3]; ++o)
              state.at({b, h, e, o}) *= std::exp(decay.at({b, t, decay.dims[2] == k.dims[1] ? h : h * k.dims[3] + e}));
        }
        for (int64_t o = 0; o < v.dims[3]; ++o) {
          double learnt = v.at({b, h, t, o});
          if (call.has(5)) {
            for (int64_t e = 0; e < k.dims[3]; ++e) learnt -= state.at({b, h, e, o}) * k.at({b, h, t, e});
            const Plain beta = call.input(5);
            learnt *= beta.at({b, t, beta.dims[2] == 1 ? 0 : h});
          }
          for (int64_t e = 0; e < k.dims[3]; ++e) state.at({b, h, e, o}) += k.at({b, h, t, e}) * learnt;
        }
      }
    for (int64_t b = 0; b < q.dims[0]; ++b)
      for (int64_t h = 0; h < q.dims[1]; ++h)
        for (int64_t o = 0; o < v.dims[3]; ++o)
          for (int64_t e = 0; e < q.dims[3]; ++e)
            y.at({b, h, t, o}) += scale * q.at({b, h, t, e}) * state.at({b, h / shared_by, e, o});
  }
  return {join_heads(y), state};
}

std::vector<Plain> causal_conv(const Call& call) {
  const Plain x = call.input(0), w = call.input(1);
  const int64_t taps = w.dims[2];
  Plain past({x.dims[0], x.dims[1], taps - 1});
  if (call.has(3)) past = call.input(3);
  const Plain padded = appended(past, x, 2);
  Plain y(x.dims), state(past.dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = y.index(i);
    for (int64_t tap = 0; tap < taps; ++tap)
      y.values[i] += w.at({at[1], 0, tap}) * padded.at({at[0], at[1], at[2] + tap});
    if (call.has(2)) y.values[i] += call.input(2).values[at[1]];
    if (call.text("activation", "none") != "none") y.values[i] /= 1 + std::exp(-y.values[i]);
  }
  for (int64_t i = 0; i < state.count(); ++i) {
    const Dims at = state.index(i);
    state.values[i] = padded.at({at[0], at[1], at[2] + x.dims[2]});
  }
  return {y, state};
}

std::vector<Plain> loss_of(const Call& call, const Plain& logs) {
  const Plain labels = call.input(1);
  const std::string reduction = call.text("reduction", "mean");
  Plain losses(labels.dims);
  double weights = 0, sum = 0;
  for (int64_t i = 0; i < labels.count(); ++i) {
    const auto label = static_cast<int64_t>(labels.values[i]);
    if (call.instance.attributes.contains("ignore_index") && label == call.integer("ignore_index", 0)) continue;
    const double weight = call.has(2) ? call.input(2).values[label] : 1;
    Dims at = labels.index(i);
    at.insert(at.begin() + 1, label);
    losses.values[i] = -logs.at(at) * weight;
    weights += weight;
    sum += losses.values[i];
  }
  if (reduction == "none") return {losses};
  return {Plain({}, reduction == "sum" ? sum : sum / weights)};
}

std::vector<Plain> likelihood(const Call& call) { return loss_of(call, call.input(0)); }

std::vector<Plain> cross_entropy(const Call& call) {
  const Plain x = call.input(0);
  Plain logs(x.dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    Dims at = x.index(i);
    double sum = 0;
    for (at[1] = 0; at[1] < x.dims[1]; ++at[1]) sum += std::exp(x.at(at));
    logs.values[i] = x.values[i] - std::log(sum);
  }
  return {loss_of(call, logs).front(), logs};
}

Reference window(double constant, double once, double twice) {
  return [=](const Call& call) {
    Plain y({call.instance.inputs[0].tensor.integer(0)});
    const int64_t length = y.dims[0] - (call.integer("periodic", 1) == 0);
    for (int64_t n = 0; n < y.count(); ++n) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(n) / static_cast<double>(length);
      y.values[n] = constant - once * std::cos(angle) + twice * std::cos(2 * angle);
    }
    return std::vector{y};
  };
}

std::vector<Plain> mel(const Call& call) {
  const int64_t bands = call.instance.inputs[0].tensor.integer(0), length = call.instance.inputs[1].tensor.integer(0);
  const double rate = call.input(2).values[0];
  const auto mel_of = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel_of(call.input(3).values[0]), high = mel_of(call.input(4).values[0]);
  std::vector<int64_t> bins;
  for (int64_t k = 0; k < bands + 2; ++k) {
    const double hertz =
        700 * (std::pow(10, (low + static_cast<double>(k) * (high - low) / static_cast<double>(bands + 2)) / 2595) - 1);
    bins.push_back(static_cast<int64_t>(std::floor(static_cast<double>(length + 1) * hertz / rate)));
  }
  Plain y({length / 2 + 1, bands});
  for (int64_t i = 0; i < bands; ++i) {
    if (bins[i] == bins[i + 1]) y.at({bins[i + 1], i}) = 1;
    for (int64_t j = bins[i]; bins[i] != bins[i + 1] && j <= bins[i + 1]; ++j)
      y.at({j, i}) = static_cast<double>(j - bins[i]) / static_cast<double>(bins[i + 1] - bins[i]);
    for (int64_t j = bins[i + 1]; j < bins[i + 2]; ++j)
      y.at({j, i}) = static_cast<double>(bins[i + 2] - j) / static_cast<double>(bins[i + 2] - bins[i + 1]);
  }
  return {y};
}

std::vector<Plain> swiglu(const Call& call) {
  const Plain a = call.input(0), b = call.input(1);
  Plain y(a.dims);
  for (int64_t i = 0; i < y.count(); ++i)
    y.values[i] = a.values[i] / (1 + std::exp(-call.real("alpha", 1) * a.values[i])) * b.values[i];
  return {y};
}

}  // namespace

Plain appended(const Plain& a, const Plain& b, int64_t axis) {
  Dims dims = a.dims;
  dims[axis] += b.dims[axis];
  Plain y(dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims at = y.index(i);
    const bool first = at[axis] < a.dims[axis];
    if (!first) at[axis] -= a.dims[axis];
    y.values[i] = (first ? a : b).at(at);
  }
  return y;
}

void add_attention_references(References& references) {
  references["Attention"] = attention;
  references["RotaryEmbedding"] = rotary;
  references["TensorScatter"] = tensor_scatter;
  references["LinearAttention"] = linear_attention;
  references["CausalConvWithState"] = causal_conv;
  references["NegativeLogLikelihoodLoss"] = likelihood;
  references["SoftmaxCrossEntropyLoss"] = cross_entropy;
  references["HannWindow"] = window(0.5, 0.5, 0);
  references["HammingWindow"] = window(25.0 / 46, 21.0 / 46, 0);
  references["BlackmanWindow"] = window(0.42, 0.5, 0.08);
  references["MelWeightMatrix"] = mel;
  references["SwiGLU"] = swiglu;
}

}  // namespace isomer::test
