// LSTM, GRU, RNN: one element of the batch at a time, one step after the other.
#include <algorithm>
#include <cmath>

#include "ops/reference.h"

namespace isomer::test {
namespace {

using Vector = std::vector<double>;

struct Activations {
  std::vector<std::string> names;
  std::vector<float> alphas, betas;
  size_t next_alpha = 0, next_beta = 0;

  /// Activations in order, each bound to the parameters that it takes from the lists.
  std::function<double(double)> take(size_t which) {
    const std::string& name = names[which];
    const auto alpha = [&](double fallback) {
      return next_alpha < alphas.size() ? alphas[next_alpha++] : static_cast<float>(fallback);
    };
    const auto beta = [&](double fallback) {
      return next_beta < betas.size() ? betas[next_beta++] : static_cast<float>(fallback);
    };
    if (name == "Tanh") return [](double x) { return std::tanh(x); };
    if (name == "Sigmoid") return [](double x) { return 1 / (1 + std::exp(-x)); };
    if (name == "Relu") return [](double x) { return std::max(x, 0.0); };
    if (name == "Softsign") return [](double x) { return x / (1 + std::fabs(x)); };
    if (name == "Softplus") return [](double x) { return std::log1p(std::exp(x)); };
    if (name == "LeakyRelu") return [a = alpha(0.01)](double x) { return x < 0 ? a * x : x; };
    if (name == "ThresholdedRelu") return [a = alpha(1)](double x) { return x > a ? x : 0; };
    if (name == "Elu") return [a = alpha(1)](double x) { return x < 0 ? a * (std::exp(x) - 1) : x; };
    if (name == "Affine") return [a = alpha(1), b = beta(0)](double x) { return a * x + b; };
    if (name == "ScaledTanh") return [a = alpha(1), b = beta(1)](double x) { return a * std::tanh(b * x); };
    return [a = alpha(0.2), b = beta(0.5)](double x) { return std::clamp(a * x + b, 0.0, 1.0); };
  }
};

/// One direction of one node: its weights, and how a step goes.
struct Layer {
  const Call& call;
  Plain x, w, r, b, lengths, p;
  std::vector<std::function<double(double)>> f;  ///< this direction's activations
  int64_t direction, hidden, gates;

  double clip(double value) const {
    const double limit = call.real("clip", 1e30);
    return std::clamp(value, -limit, limit);
  }
  /// Row of a gate: W x + R h + Wb + Rb; the parts that GRU wants apart are switched off by their factors.
  double input_part(int64_t gate, int64_t unit, const Vector& input) const {
    double sum = call.has(3) ? b.at({direction, gate * hidden + unit}) : 0;
    for (size_t k = 0; k < input.size(); ++k)
      sum += w.at({direction, gate * hidden + unit, static_cast<int64_t>(k)}) * input[k];
    return sum;
  }
  double state_part(int64_t gate, int64_t unit, const Vector& state) const {
    double sum = call.has(3) ? b.at({direction, (gates + gate) * hidden + unit}) : 0;
    for (int64_t k = 0; k < hidden; ++k) sum += r.at({direction, gate * hidden + unit, k}) * state[k];
    return sum;
  }
  double peephole(int64_t which, int64_t unit, double memory) const {
    return call.has(7) ? p.at({direction, which * hidden + unit}) * memory : 0;
  }

  void rnn(const Vector& in, Vector& h) const {
    const Vector before = h;
    for (int64_t u = 0; u < hidden; ++u) h[u] = f[0](clip(input_part(0, u, in) + state_part(0, u, before)));
  }

  void gru(const Vector& in, Vector& h) const {
    const Vector before = h;
    Vector update(hidden), reset(hidden), gated(hidden);
    for (int64_t u = 0; u < hidden; ++u) {
      update[u] = f[0](clip(input_part(0, u, in) + state_part(0, u, before)));
      reset[u] = f[0](clip(input_part(1, u, in) + state_part(1, u, before)));
      gated[u] = reset[u] * before[u];
    }
    const bool linear = call.integer("linear_before_reset", 0) != 0;
    for (int64_t u = 0; u < hidden; ++u) {
      const double recurrent = linear ? reset[u] * state_part(2, u, before) : state_part(2, u, gated);
      h[u] = (1 - update[u]) * f[1](clip(input_part(2, u, in) + recurrent)) + update[u] * before[u];
    }
  }

  void lstm(const Vector& in, Vector& h, Vector& c) const {
    const Vector before = h;
    for (int64_t u = 0; u < hidden; ++u) {
      const auto gate = [&](int64_t which) { return input_part(which, u, in) + state_part(which, u, before); };
      const double i = f[0](clip(gate(0) + peephole(0, u, c[u])));
      double forget = f[0](clip(gate(2) + peephole(2, u, c[u])));
      if (call.integer("input_forget", 0) != 0) forget = 1 - i;
      c[u] = forget * c[u] + i * f[1](clip(gate(3)));
      h[u] = f[0](clip(gate(1) + peephole(1, u, c[u]))) * f[2](c[u]);
    }
  }
};

std::vector<Plain> recurrent(const Call& call, std::vector<std::string> defaults) {
  const std::string op(call.instance.op->name), way = call.text("direction", "forward");
  const bool batch_first = call.integer("layout", 0) != 0;
  const int64_t directions = way == "bidirectional" ? 2 : 1;
  const Plain x = call.input(0);
  const int64_t steps = x.dims[batch_first], batch = x.dims[!batch_first], inputs = x.dims[2];
  const int64_t hidden = call.input(2).dims[2], per_direction = static_cast<int64_t>(defaults.size());
  Activations activations{call.texts("activations"), call.reals("activation_alpha"), call.reals("activation_beta")};
  if (activations.names.empty())
    for (int64_t d = 0; d < directions; ++d)
      activations.names.insert(activations.names.end(), defaults.begin(), defaults.end());
  const auto state_index = [&](int64_t d, int64_t n, int64_t u) { return batch_first ? Dims{n, d, u} : Dims{d, n, u}; };
  Plain y(batch_first ? Dims{batch, steps, directions, hidden} : Dims{steps, directions, batch, hidden});
  Plain last(batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden}), memory = last;
  for (int64_t d = 0; d < directions; ++d) {
    Layer layer{
        call, x, call.input(1), call.input(2), {}, {}, {}, {}, d, hidden, op == "LSTM" ? 4 : op == "GRU" ? 3 : 1};
    if (call.has(3)) layer.b = call.input(3);
    if (call.has(7)) layer.p = call.input(7);
    for (int64_t k = 0; k < per_direction; ++k) layer.f.push_back(activations.take(d * per_direction + k));
    for (int64_t n = 0; n < batch; ++n) {
      const int64_t length = call.has(4) ? static_cast<int64_t>(call.input(4).values[n]) : steps;
      Vector h(hidden), c(hidden);
      for (int64_t u = 0; u < hidden; ++u) {
        if (call.has(5)) h[u] = call.input(5).at(state_index(d, n, u));
        if (call.has(6)) c[u] = call.input(6).at(state_index(d, n, u));
      }
      for (int64_t s = 0; s < length; ++s) {
        const int64_t t = way == "reverse" || d == 1 ? length - 1 - s : s;
        Vector in;
        for (int64_t k = 0; k < inputs; ++k) in.push_back(x.at(batch_first ? Dims{n, t, k} : Dims{t, n, k}));
        if (op == "RNN") layer.rnn(in, h);
        if (op == "GRU") layer.gru(in, h);
        if (op == "LSTM") layer.lstm(in, h, c);
        for (int64_t u = 0; u < hidden; ++u) y.at(batch_first ? Dims{n, t, d, u} : Dims{t, d, n, u}) = h[u];
      }
      for (int64_t u = 0; u < hidden; ++u) {
        last.at(state_index(d, n, u)) = h[u];
        memory.at(state_index(d, n, u)) = c[u];
      }
    }
  }
  return {y, last, memory};
}

}  // namespace

void add_recurrent_references(References& references) {
  references["RNN"] = [](const Call& call) { return recurrent(call, {"Tanh"}); };
  references["GRU"] = [](const Call& call) { return recurrent(call, {"Sigmoid", "Tanh"}); };
  references["LSTM"] = [](const Call& call) { return recurrent(call, {"Sigmoid", "Tanh", "Tanh"}); };
}

}  // namespace isomer::test
