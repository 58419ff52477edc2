// What language models decode with, losses, and what goes before and after spectra.
#include "ops/recipes.h"

namespace isomer::test {
namespace {

struct HeadsDims {
  int64_t batch, heads, sequence, size;
  Dims apart() const { return {batch, heads, sequence, size}; }
  Dims together() const { return {batch, sequence, heads * size}; }
};

void attention(Maker& m) {
  const bool apart = m.flip();
  const HeadsDims k = {m.pick(1, 2), m.pick(1, 2), m.pick(1, 3), m.pick(1, 3)};
  HeadsDims q = k, v = k;
  q.heads *= m.pick(1, 2);
  q.sequence = m.flip() ? k.sequence : m.pick(1, 3);
  v.size = m.pick(1, 3);
  for (const HeadsDims& heads : {q, k, v}) m.add(apart ? heads.apart() : heads.together());
  if (!apart) {
    m.set("q_num_heads", q.heads);
    m.set("kv_num_heads", k.heads);
  }
  const bool has_past = m.flip(0.4), ends = !has_past && m.flip(0.4);
  const int64_t past = has_past ? m.pick(0, 2) : 0, total = past + k.sequence;
  if (m.flip()) {
    Dims mask = {m.flip() ? 1 : q.batch, m.flip() ? 1 : q.heads, m.flip(0.2) ? 1 : q.sequence,
                 m.flip(0.8) ? total : m.pick(1, total)};
    mask.erase(mask.begin(), mask.begin() + m.pick(0, 3));
    m.add(mask);
  } else {
    m.omit();
  }
  if (has_past) {
    m.add({k.batch, k.heads, past, k.size});
    m.add({v.batch, v.heads, past, v.size});
  } else {
    m.omit();
    m.omit();
  }
  if (ends) m.add({q.batch}, 0, static_cast<double>(k.sequence));
  m.maybe("is_causal", m.pick(0, 1));
  if (m.flip(0.3)) m.set("left_window_size", m.pick(-1, 2));
  if (m.flip(0.3)) m.set("right_window_size", m.pick(-1, 2));
  if (m.flip(0.3)) m.set("scale", static_cast<float>(m.one_of<double>({0.25, 1, 1.5})));
  if (m.flip(0.3)) m.set("softcap", static_cast<float>(m.one_of<double>({0, 0.5, 2})));
  if (m.flip(0.3)) m.set("softmax_precision", m.one_of<int64_t>({1, 11}));
  m.maybe("qk_matmul_output_mode", m.pick(0, 3));
  m.outputs(static_cast<size_t>(m.pick(1, 4)));
}

void rotary(Maker& m) {
  const bool apart = m.flip();
  const HeadsDims x = {m.pick(1, 2), m.pick(1, 2), m.pick(1, 3), 2 * m.pick(1, 3)};
  m.add(apart ? x.apart() : x.together());
  if (!apart || m.flip(0.2)) m.set("num_heads", x.heads);
  const int64_t turned = m.flip() ? x.size : 2 * m.pick(1, x.size / 2);
  if (turned != x.size || m.flip()) m.set("rotary_embedding_dim", turned == x.size && m.flip() ? 0 : turned);
  m.maybe("interleaved", m.pick(0, 1));
  if (m.flip()) {
    const int64_t places = m.pick(1, 4);
    for (int cache = 0; cache < 2; ++cache) m.add({places, turned / 2});
    m.add({x.batch, x.sequence}, 0, static_cast<double>(places - 1));
  } else {
    for (int cache = 0; cache < 2; ++cache) m.add({x.batch, x.sequence, turned / 2});
  }
}

void tensor_scatter(Maker& m) {
  Dims cache = m.dims(2, 4, 1, 4);
  const auto rank = static_cast<int64_t>(cache.size());
  const int64_t axis = m.pick(1, rank - 1), room = cache[axis], length = m.pick(0, room);
  const bool circular = m.flip();
  m.add(cache);
  cache[axis] = length;
  m.add(cache);
  if (m.flip()) m.add({cache[0]}, 0, static_cast<double>(circular ? room : room - length));
  if (axis != rank - 2 || m.flip()) m.set("axis", m.flip() ? axis : axis - rank);
  m.set("mode", std::string(circular ? "circular" : "linear"));
}

void linear_attention(Maker& m) {
  const HeadsDims k = {m.pick(1, 2), m.pick(1, 2), m.pick(1, 3), m.pick(1, 3)};
  HeadsDims q = k, v = k;
  q.heads *= m.pick(1, 2);
  v.size = m.pick(1, 3);
  for (const HeadsDims& heads : {q, k, v}) m.add(heads.together());
  m.set("q_num_heads", q.heads);
  m.set("kv_num_heads", k.heads);
  const std::string rule = m.word({"linear", "gated", "delta", "gated_delta"});
  if (rule != "gated_delta" || m.flip()) m.set("update_rule", rule);
  m.maybe("chunk_size", m.pick(1, 64));
  m.maybe("scale", static_cast<float>(m.one_of<double>({0, 0.5, 2})));
  m.flip() ? m.add({k.batch, k.heads, k.size, v.size}) : m.omit();
  if (rule.starts_with("gated"))
    m.add({k.batch, k.sequence, k.heads * (m.flip() ? 1 : k.size)}, -2, 0);
  else
    m.omit();
  if (rule.ends_with("delta")) m.add({k.batch, k.sequence, m.flip() ? 1 : k.heads}, 0, 1);
}

void causal_conv(Maker& m) {
  const int64_t batch = m.pick(1, 2), channels = m.pick(1, 3), taps = m.pick(1, 4);
  m.add({batch, channels, m.pick(0, 4)});
  m.add({channels, 1, taps});
  m.flip() ? m.add({channels}) : m.omit();
  if (m.flip()) m.add({batch, channels, taps - 1});
  m.maybe("activation", m.word({"none", "silu", "swish"}));
}

void loss(Maker& m) {
  const Dims scores = m.dims(2, 4, 1);
  Dims places = scores;
  places.erase(places.begin() + 1);
  m.add(scores);
  m.add(places, 0, static_cast<double>(scores[1] - 1));
  if (m.flip()) m.add({scores[1]}, 0.5, 2);
  // All labels may be ignored; then the mean is 0/0.
  if (m.flip()) m.set("ignore_index", m.pick(-1, scores[1] - 1));
  m.maybe("reduction", m.word({"none", "sum", "mean"}));
}

void cross_entropy(Maker& m) {
  loss(m);
  m.outputs(static_cast<size_t>(m.pick(1, 2)));
}

void mel(Maker& m) {
  m.decide_scalar(m.pick(1, 6));
  m.fix_dims();
  m.decide_scalar(m.pick(4, 32));
  m.fix_dims();
  m.decide_scalar(8192);
  m.add({}, 0, 100);
  m.add({}, 3000, 4096);
  m.maybe("output_datatype", m.one_of<int64_t>({1, 11}));
}

void equal_shapes(Maker& m) {
  const Dims shape = m.dims(0, 4);
  m.add(shape);
  m.add(shape);
  m.maybe("alpha", static_cast<float>(m.one_of<double>({0.5, 1, 1.5})));
}

}  // namespace

void add_attention_recipes(Recipes& recipes) {
  recipes["Attention"] = attention;
  recipes["RotaryEmbedding"] = rotary;
  recipes["TensorScatter"] = tensor_scatter;
  recipes["LinearAttention"] = linear_attention;
  recipes["CausalConvWithState"] = causal_conv;
  recipes["NegativeLogLikelihoodLoss"] = loss;
  recipes["SoftmaxCrossEntropyLoss"] = cross_entropy;
  recipes["MelWeightMatrix"] = mel;
  recipes["SwiGLU"] = equal_shapes;
}

}  // namespace isomer::test
