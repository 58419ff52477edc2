// ONNX Runtime's operators.
#include "ops/recipes.h"

namespace isomer::test {
namespace {

void bias_gelu(Maker& m) {
  const Dims x = m.dims(1, 3);
  m.add(x);
  if (m.instance.op->inputs[1].arity == Parameter::Arity::kRequired || m.flip()) m.add({x.back()});
}

void quick_gelu(Maker& m) {
  m.add(m.dims(0, 3));
  m.maybe("alpha", static_cast<float>(m.one_of<double>({1, 1.702})));
}

void simplified(Maker& m) {
  const Dims x = m.dims(1, 3, 1);
  m.add(x);
  m.add({x.back()});
  m.maybe("epsilon", 0.25f);
  m.maybe("axis", m.pick(-1, static_cast<int64_t>(x.size()) - 1));
  m.maybe("stash_type", int64_t{1});
}

void skip(Maker& m) {
  const bool flat = m.flip(0.2), centers = m.instance.op->name == "SkipLayerNormalization";
  const int64_t batch = m.pick(1, 3), places = m.pick(1, 3), size = m.pick(1, 4);
  const Dims x = flat ? Dims{places, size} : Dims{batch, places, size};
  m.add(x);
  m.add(flat || m.flip() ? x : m.one_of<Dims>({{1, places, size}, {places, size}}));
  m.add({size});
  if (centers) m.flip() ? m.add({size}) : m.omit();
  if (m.flip()) m.add({size});
  m.maybe("epsilon", 0.25f);
  m.instance.outputs = {true, centers && m.flip(), m.flip(), m.flip()};
}

void embed(Maker& m) {
  const int64_t batch = m.pick(1, 2), places = m.pick(1, 3), size = m.pick(1, 4);
  const int64_t words = m.pick(1, 4), most = places + m.pick(0, 2), segments = m.pick(1, 2);
  const bool has_segments = m.flip();
  m.add({batch, places}, 0, static_cast<double>(words - 1));
  has_segments ? m.add({batch, places}, 0, static_cast<double>(segments - 1)) : m.omit();
  m.add({words, size});
  m.add({most, size});
  has_segments ? m.add({segments, size}) : m.omit();
  m.add({size});
  m.add({size});
  m.flip() ? m.add({batch, places}, 0, 2) : m.omit();
  if (m.flip()) m.add({m.flip() ? 1 : batch, places}, 0, static_cast<double>(most - 1));
  m.maybe("epsilon", 0.25f);
  m.maybe("mask_index_type", m.pick(0, 1));
  m.outputs(static_cast<size_t>(m.pick(1, 3)));
}

/// Shapes of operands that are transposed as the attributes say.
void fused_matmul(Maker& m) {
  const int64_t rows = m.pick(1, 3), inner = m.pick(1, 3), columns = m.pick(1, 3);
  const Dims batch = m.dims(0, 2, 1);
  const bool moves = m.instance.op->name == "FusedMatMul";
  const auto operand = [&](const std::string& side, int64_t height, int64_t width) {
    Dims dims = batch;
    dims.insert(dims.end(), {height, width});
    if (m.flip()) {
      m.set("trans" + side, int64_t{1});
      std::swap(dims[dims.size() - 2], dims.back());
    }
    if (moves && m.flip()) {
      m.set("transBatch" + side, int64_t{1});
      std::rotate(dims.begin(), dims.end() - 2, dims.end() - 1);
    }
    m.add(dims);
  };
  operand("A", rows, inner);
  operand("B", inner, columns);
  m.maybe("alpha", static_cast<float>(m.one_of<double>({1, 0.5, -2})));
}

/// The activation and how many parameters it has.
size_t activation(Maker& m) {
  const std::string name = m.word({"Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid", "Clip"});
  m.set("activation", name);
  return name == "LeakyRelu" ? 1 : name == "HardSigmoid" || name == "Clip" ? 2 : 0;
}

void fused_gemm(Maker& m) {
  const int64_t rows = m.pick(1, 3), inner = m.pick(1, 3), columns = m.pick(1, 3);
  const int64_t trans_a = m.pick(0, 1), trans_b = m.pick(0, 1);
  m.add(trans_a ? Dims{inner, rows} : Dims{rows, inner});
  m.add(trans_b ? Dims{columns, inner} : Dims{inner, columns});
  if (m.flip()) m.add(broadcastable(m, {rows, columns}));
  m.set("transA", trans_a);
  m.set("transB", trans_b);
  m.maybe("alpha", 0.5f);
  m.maybe("beta", 2.0f);
  const size_t parameters = activation(m);
  if (parameters > 0) m.set("activation_alpha", 0.25f);
  if (parameters > 1) m.set("activation_beta", 0.5f);
  if (m.flip(0.1)) m.set("activation_gamma", 1.0f);
}

void fused_conv(Maker& m) {
  const int64_t batch = m.pick(1, 2), group = m.pick(1, 2), in = m.pick(1, 2), out = group * m.pick(1, 2);
  const int64_t kernel = m.pick(1, 3), stride = m.pick(1, 2), dilation = m.pick(1, 2), pad = m.pick(0, 1);
  const auto both = [](int64_t value) { return std::vector<int64_t>{value, value}; };
  Dims image = {batch, group * in, m.pick(5, 7), m.pick(5, 7)}, result = {batch, out};
  for (const size_t axis : {2, 3}) {
    result.push_back((image[axis] + 2 * pad - dilation * (kernel - 1) - 1) / stride + 1);
  }
  m.add(image);
  m.add({out, in, kernel, kernel});
  m.flip() ? m.add({out}) : m.omit();
  if (m.flip()) m.add(result);
  m.set("group", group);
  m.set("strides", both(stride));
  m.set("dilations", both(dilation));
  m.maybe("kernel_shape", both(kernel));
  if (pad > 0) m.set("pads", std::vector<int64_t>(4, pad));
  if (m.flip(0.3)) m.set("auto_pad", std::string("NOTSET"));
  if (const size_t parameters = activation(m); parameters > 0) {
    std::vector<float> values = {0.25f, 0.5f};
    values.resize(parameters);
    m.set("activation_params", values);
  }
}

void nbits(Maker& m) {
  const int64_t bits = m.one_of<int64_t>({2, 4, 8}), size = m.one_of<int64_t>({16, 32});
  const int64_t inner = m.flip() ? size * m.pick(1, 3) : m.pick(1, 70), rows = m.pick(1, 3);
  const int64_t blocks = (inner + size - 1) / size;
  Dims a = m.dims(0, 2, 1);
  a.push_back(inner);
  m.add(a);
  m.add({rows, blocks, size * bits / 8}, 0, 255);
  m.add(m.flip() ? Dims{rows, blocks} : Dims{rows * blocks}, 0.1, 1);
  if (m.flip()) {
    const bool packed = m.type(3) == DataType::kUInt8;
    const int64_t a_row = packed ? (blocks * bits + 7) / 8 : blocks;
    m.add(m.flip() ? Dims{rows, a_row} : Dims{rows * a_row}, 0, packed ? 255 : 3);
  } else {
    m.omit();
  }
  m.omit();
  if (m.flip()) m.add({rows});
  m.set("K", inner);
  m.set("N", rows);
  m.set("block_size", size);
  if (bits != 4 || m.flip()) m.set("bits", bits);
  m.maybe("accuracy_level", m.pick(0, 4));
  m.maybe("weight_prepacked", int64_t{0});
}

/// Adds a product's operands; the number of columns.
int64_t add_factors(Maker& m) {
  const int64_t inner = m.pick(1, 3), columns = m.pick(1, 3);
  Dims a = m.dims(1, 2, 1);
  a.push_back(inner);
  m.add(a);
  m.add({inner, columns});
  return columns;
}

void dynamic_matmul(Maker& m) {
  const int64_t columns = add_factors(m);
  const Dims scales = m.flip() ? Dims{columns} : Dims{};
  m.add(scales, 0.1, 1);
  m.flip() ? m.add(scales, 0, 5) : m.omit();
  if (m.flip()) m.add({columns});
}

void integer_to_float(Maker& m) {
  const int64_t columns = add_factors(m);
  const Dims scales = m.flip() ? Dims{columns} : Dims{};
  m.add({}, 0.1, 1);
  m.add(scales, 0.1, 1);
  m.flip() ? m.add({}, 0, 5) : m.omit();
  m.flip() ? m.add(scales, 0, 5) : m.omit();
  if (m.flip()) m.add({columns});
}

/// A mask of one of the forms, or none. Where it may hide all keys of a query what it adds is small, so that the scores
/// keep their digits.
void add_mask(Maker& m, int64_t batch, int64_t queries, int64_t keys) {
  const int64_t form = m.pick(0, 4);
  switch (form) {
    case 0: m.add({batch}, 1, static_cast<double>(keys)); break;
    case 1: m.add({2 * batch}, 0, static_cast<double>(keys)); break;
    case 2: m.add({batch, keys}, 0, 1); break;
    case 3: m.add({batch, queries, keys}, 0, 1); break;
    default: m.omit();
  }
  if ((form >= 1 && form <= 3) || m.flip(0.3)) m.set("mask_filter_value", -2.0f);
}

void add_score_bias(Maker& m, int64_t batch, int64_t heads, int64_t queries, int64_t keys) {
  m.flip(0.4) ? m.add({m.flip() ? 1 : batch, m.flip() ? 1 : heads, queries, keys}) : m.omit();
}

void merged_attention(Maker& m) {
  const int64_t batch = m.pick(1, 2), places = m.pick(1, 3), heads = m.pick(1, 2), size = m.pick(1, 3);
  const int64_t inner = m.pick(1, 3), of_values = m.flip(0.3) ? m.pick(1, 3) : size;
  const bool has_past = of_values == size && m.flip(0.4);
  const int64_t past = has_past ? m.pick(0, 2) : 0, width = heads * (2 * size + of_values);
  m.add({batch, places, inner});
  m.add({inner, width});
  m.flip() ? m.add({width}) : m.omit();
  add_mask(m, batch, places, past + places);
  has_past ? m.add({2, batch, heads, past, size}) : m.omit();
  add_score_bias(m, batch, heads, places, past + places);
  m.set("num_heads", heads);
  if (of_values != size || m.flip(0.3))
    m.set("qkv_hidden_sizes", std::vector<int64_t>{heads * size, heads * size, heads * of_values});
  m.maybe("unidirectional", m.pick(0, 1));
  if (m.flip(0.3)) m.set("scale", 0.25f);
  for (const char* name : {"do_rotary", "past_present_share_buffer"}) m.maybe(name, int64_t{0});
  if (m.flip(0.1)) m.set("rotary_embedding_dim", int64_t{32});
  m.outputs(of_values == size ? static_cast<size_t>(m.pick(1, 2)) : 1);
}

void merged_bytes(Maker& m) {
  const int64_t batch = m.pick(1, 2), places = m.pick(1, 3), heads = m.pick(1, 2), size = m.pick(1, 3);
  const int64_t inner = m.pick(1, 3), past = m.flip(0.4) ? m.pick(0, 2) : -1, width = 3 * heads * size;
  const Dims columns = m.flip() ? Dims{width} : Dims{};
  m.add({batch, places, inner});
  m.add({inner, width});
  m.add({width});
  m.add({}, 0.1, 0.3);
  m.add(columns, 0.1, 0.3);
  add_mask(m, batch, places, std::max<int64_t>(past, 0) + places);
  m.flip() ? m.add({}, 0, 5) : m.omit();
  m.flip() ? m.add(columns, 0, 5) : m.omit();
  if (past >= 0) m.add({2, batch, heads, past, size});
  m.set("num_heads", heads);
  m.maybe("unidirectional", m.pick(0, 1));
  if (m.flip(0.3)) m.set("scale", 0.25f);
  for (const char* name : {"do_rotary", "past_present_share_buffer"}) m.maybe(name, int64_t{0});
  m.outputs(static_cast<size_t>(m.pick(1, 2)));
}

void multi_head_attention(Maker& m) {
  const int64_t batch = m.pick(1, 2), queries = m.pick(1, 3), heads = m.pick(1, 2), size = m.pick(1, 3);
  const int64_t form = m.pick(0, 3);  // apart, heads first, keys with values, all together
  const int64_t keys = form == 3 || m.flip() ? queries : m.pick(1, 3);
  const int64_t of_values = form < 2 && m.flip(0.3) ? m.pick(1, 3) : size;
  const int64_t past = m.flip(0.4) ? m.pick(0, 2) : -1;
  if (form == 3) {
    m.add({batch, queries, heads, 3, size});
    m.omit();
    m.omit();
  } else {
    m.add({batch, queries, heads * size});
    if (form == 0) {
      m.add({batch, keys, heads * size});
      m.add({batch, keys, heads * of_values});
    } else if (form == 1) {
      m.add({batch, heads, keys, size});
      m.add({batch, heads, keys, of_values});
    } else {
      m.add({batch, keys, heads, 2, size});
      m.omit();
    }
  }
  m.flip() ? m.add({heads * (2 * size + of_values)}) : m.omit();
  const int64_t total = std::max<int64_t>(past, 0) + keys;
  add_mask(m, batch, queries, total);
  add_score_bias(m, batch, heads, queries, total);
  if (past >= 0) {
    m.add({batch, heads, past, size});
    m.add({batch, heads, past, of_values});
  }
  m.set("num_heads", heads);
  m.maybe("unidirectional", m.pick(0, 1));
  if (m.flip(0.3)) m.set("scale", 0.25f);
  m.outputs(static_cast<size_t>(m.pick(1, 3)));
}

void group_query_attention(Maker& m) {
  const int64_t batch = m.pick(1, 2), places = m.pick(1, 3), shared = m.pick(1, 2), heads = shared * m.pick(1, 2);
  const int64_t size = 2 * m.pick(1, 2), packed = m.pick(0, 1), past = m.pick(0, 3);
  const bool is_first = past == 0, has_cache = !is_first || m.flip();
  const int64_t total = places + past, room = has_cache ? (m.flip() ? past : total + m.pick(0, 1)) : 0;
  m.add({batch, places, (packed ? heads + 2 * shared : heads) * size});
  for (int part = 0; part < 2; ++part) packed ? m.omit() : m.add({batch, places, shared * size});
  for (int part = 0; part < 2; ++part) has_cache ? m.add({batch, shared, room, size}) : m.omit();
  m.add({batch}, static_cast<double>(places - 1), static_cast<double>(total - 1));
  m.decide_scalar(total);
  if (m.flip()) {
    m.set("do_rotary", int64_t{1});
    const int64_t half = m.pick(1, size / 2), rows = total + m.pick(0, 2);
    for (int cache = 0; cache < 2; ++cache) m.add({rows, half});
    m.maybe("rotary_interleaved", m.pick(0, 1));
    m.flip(0.3) ? m.add({batch, places}, 0, static_cast<double>(rows - 1)) : m.omit();
  } else {
    for (int i = 0; i < 3; ++i) m.omit();
  }
  m.flip(0.3) ? m.add({m.flip() ? 1 : batch, m.flip() ? 1 : heads, places, total}) : m.omit();
  if (m.flip(0.3)) m.add({heads});
  m.set("num_heads", heads);
  m.set("kv_num_heads", shared);
  if (m.flip(0.3)) m.set("local_window_size", m.pick(1, 3));
  if (m.flip(0.3)) m.set("softcap", 2.0f);
  if (m.flip(0.3)) m.set("scale", 0.25f);
  if (m.flip(0.3)) m.set("smooth_softmax", m.pick(0, 1));
  for (const char* name : {"kv_cache_bit_width", "qk_output", "sliding_window_cache"}) m.maybe(name, int64_t{0});
  for (const char* name : {"k_quant_type", "v_quant_type"}) m.maybe(name, std::string("NONE"));
  for (const char* name : {"q_norm_epsilon", "k_norm_epsilon", "qk_norm_epsilon"}) m.maybe(name, 0.25f);
  m.maybe("causal", int64_t{1});
  m.outputs(static_cast<size_t>(m.pick(1, 3)));
}

void rotary_at_places(Maker& m) {
  const bool apart = m.flip();
  const int64_t batch = m.pick(1, 2), places = m.pick(1, 3), heads = m.pick(1, 2), size = 2 * m.pick(1, 3);
  const int64_t turned = m.flip() ? size : 2 * m.pick(1, size / 2), rows = places + m.pick(0, 2);
  m.add(apart ? Dims{batch, heads, places, size} : Dims{batch, places, heads * size});
  if (m.flip())
    m.add({1}, 0, static_cast<double>(rows - places));
  else
    m.add({batch, places}, 0, static_cast<double>(rows - 1));
  for (int cache = 0; cache < 2; ++cache) m.add({rows, turned / 2});
  if ((!apart && turned != size) || m.flip()) m.set("num_heads", heads);
  if (turned != size || m.flip()) m.set("rotary_embedding_dim", turned == size && m.flip() ? 0 : turned);
  m.maybe("interleaved", m.pick(0, 1));
  m.maybe("is_packed_batching", int64_t{0});
  m.maybe("scale", 1.0f);
}

}  // namespace

void add_contrib_recipes(Recipes& recipes) {
  for (const std::string_view name : {"com.microsoft.BiasGelu", "com.microsoft.FastGelu"}) recipes[name] = bias_gelu;
  recipes["com.microsoft.QuickGelu"] = quick_gelu;
  recipes["SimplifiedLayerNormalization"] = simplified;
  for (const std::string_view name :
       {"com.microsoft.SkipLayerNormalization", "com.microsoft.SkipSimplifiedLayerNormalization"})
    recipes[name] = skip;
  recipes["com.microsoft.EmbedLayerNormalization"] = embed;
  for (const std::string_view name : {"com.microsoft.FusedMatMul", "com.microsoft.TransposeMatMul"})
    recipes[name] = fused_matmul;
  recipes["com.microsoft.FusedGemm"] = fused_gemm;
  recipes["com.microsoft.FusedConv"] = fused_conv;
  recipes["com.microsoft.MatMulNBits"] = nbits;
  recipes["com.microsoft.DynamicQuantizeMatMul"] = dynamic_matmul;
  recipes["com.microsoft.MatMulIntegerToFloat"] = integer_to_float;
  recipes["com.microsoft.Attention"] = merged_attention;
  recipes["com.microsoft.QAttention"] = merged_bytes;
  recipes["com.microsoft.MultiHeadAttention"] = multi_head_attention;
  recipes["com.microsoft.GroupQueryAttention"] = group_query_attention;
  recipes["com.microsoft.RotaryEmbedding"] = rotary_at_places;
}

}  // namespace isomer::test
