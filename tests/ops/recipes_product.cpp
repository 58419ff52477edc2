// Matrix products and recurrent operators.
#include "ops/recipes.h"

namespace isomer::test {
namespace {

/// Shapes of two operands of MatMul.
std::pair<Dims, Dims> factors(Maker& m) {
  const int64_t rows = m.pick(1, 3), inner = m.pick(0, 3), columns = m.pick(1, 3);
  const Dims batch = m.dims(0, 2);
  Dims a = broadcastable(m, batch), b = broadcastable(m, batch);
  const bool vector_a = m.flip(0.15), vector_b = m.flip(0.15);
  if (vector_a)
    a = {inner};
  else
    a.insert(a.end(), {rows, inner});
  if (vector_b)
    b = {inner};
  else
    b.insert(b.end(), {inner, columns});
  return {a, b};
}

void matmul(Maker& m) {
  const auto [a, b] = factors(m);
  m.add(a);
  m.add(b);
}

void matmul_integer(Maker& m) {
  const auto [a, b] = factors(m);
  m.add(a);
  m.add(b);
  if (m.flip())
    m.add(a.size() == 2 && m.flip() ? Dims{a[0]} : Dims{}, 0, 5);
  else
    m.omit();
  if (m.flip()) m.add(b.size() >= 2 && m.flip() ? Dims{b.back()} : Dims{}, 0, 5);
}

void qlinear_matmul(Maker& m) {
  const auto [a, b] = factors(m);
  const Dims rows = a.size() == 2 && m.flip() ? Dims{a[0]} : Dims{};
  const Dims columns = b.size() >= 2 && m.flip() ? Dims{b.back()} : Dims{};
  // Of the types of a byte those of integers: nodes of others are opaque.
  const auto add_bytes = [&](const Dims& dims, double low, double high) {
    const bool is_int8 = is_minifloat(m.type(m.next_input()));
    is_int8 ? m.give(m.values(DataType::kInt8, dims, low, high)) : m.add(dims, low, high);
  };
  add_bytes(a, 0, 9);
  m.add(rows, 0.01, 0.1);
  add_bytes(rows, 0, 5);
  add_bytes(b, 0, 9);
  m.add(columns, 0.01, 0.1);
  add_bytes(columns, 0, 5);
  m.add({}, 0.01, 0.1);
  add_bytes({}, 0, 5);
}

/// A quantized tensor, its scale and its zero point, which may be omitted.
void add_quantized(Maker& m, const Dims& dims) {
  m.add(dims);
  m.add({}, 0.2, 0.7);
  m.flip() ? m.add({}, 0, 5) : m.omit();
}

void add_scale(Maker& m) {
  m.add({}, 0.3, 0.9);
  m.flip() ? m.add({}, 0, 5) : m.omit();
}

void qlinear_pair(Maker& m) {
  const Dims shape = m.dims(0, 3, 1);
  add_quantized(m, shape);
  add_quantized(m, broadcastable(m, shape));
  add_scale(m);
}

void qlinear_single(Maker& m) {
  add_quantized(m, m.dims(0, 3));
  add_scale(m);
  if (m.instance.op->name == "QLinearLeakyRelu") m.maybe("alpha", 0.2f);
}

void qlinear_mean(Maker& m) {
  m.add(m.dims(3, 4, 1));
  m.add({}, 0.2, 0.7);
  m.add({}, 0, 5);
  m.add({}, 0.3, 0.9);
  m.add({}, 0, 5);
  m.maybe("channels_last", m.pick(0, 1));
}

void qlinear_where(Maker& m) {
  const Dims shape = m.dims(0, 3, 1);
  m.add(broadcastable(m, shape));
  for (const Dims& dims : {shape, broadcastable(m, shape)}) {
    m.add(dims);
    m.add({}, 0.2, 0.7);
    m.add({}, 0, 5);
  }
  m.add({}, 0.3, 0.9);
  m.add({}, 0, 5);
}

void qlinear_softmax(Maker& m) {
  const Dims shape = m.dims(1, 3, 1);
  const auto rank = static_cast<int64_t>(shape.size());
  add_quantized(m, shape);
  m.add({}, 0.01, 0.02);
  m.add({}, 0, 5);
  m.set("opset", m.one_of<int64_t>({11, 13}));
  m.maybe("axis", m.pick(-rank, rank - 1));
}

void qlinear_reduce_mean(Maker& m) {
  const Dims shape = m.dims(1, 4, 1);
  add_quantized(m, shape);
  add_scale(m);
  std::vector<int64_t> axes;
  for (int64_t k = 0; k < static_cast<int64_t>(shape.size()); ++k)
    if (m.flip() || axes.empty()) axes.push_back(m.flip() ? k : k - static_cast<int64_t>(shape.size()));
  m.set("axes", axes);
  m.set("keepdims", m.pick(0, 1));
}

void qlinear_concat(Maker& m) {
  Dims shape = m.dims(1, 3, 1);
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = m.pick(-rank, rank - 1);
  m.set("axis", axis);
  m.add({}, 0.3, 0.9);
  m.add({}, 0, 5);
  const DataType dtype = m.type_of("T8");
  for (int64_t count = m.pick(1, 3); count > 0; --count) {
    shape[axis < 0 ? axis + rank : axis] = m.pick(1, 3);
    m.give(m.values(dtype, shape, -9, 9));
    m.give(m.values(DataType::kFloat32, {}, 0.2, 0.7));
    m.give(m.values(dtype, {}, 0, 5));
  }
}

void qgemm(Maker& m) {
  const int64_t rows = m.pick(1, 3), inner = m.pick(1, 3), columns = m.pick(1, 3);
  const bool trans_a = m.flip(), trans_b = m.flip();
  m.maybe("alpha", 0.5f);
  if (trans_a) m.set("transA", int64_t{1});
  if (trans_b) m.set("transB", int64_t{1});
  m.add(trans_a ? Dims{inner, rows} : Dims{rows, inner});
  m.add({}, 0.2, 0.7);
  m.add({}, 0, 5);
  m.add(trans_b ? Dims{columns, inner} : Dims{inner, columns});
  const Dims of_columns = m.flip() ? Dims{columns} : Dims{};
  m.add(of_columns, 0.2, 0.7);
  m.add(of_columns, 0, 5);
  m.flip() ? m.add(broadcastable(m, {rows, columns})) : m.omit();
  if (!m.flip()) return;
  m.add({}, 0.3, 0.9);
  m.add({}, 0, 5);
}

void gemm(Maker& m) {
  const int64_t rows = m.pick(0, 3), inner = m.pick(0, 3), columns = m.pick(1, 3);
  const bool trans_a = m.flip(), trans_b = m.flip(), whole = !is_float(m.type(0));
  m.maybe("alpha", whole ? 2.0f : 0.5f);
  m.maybe("beta", whole ? 3.0f : static_cast<float>(m.one_of<double>({0, 1, 1.5})));
  if (trans_a) m.set("transA", int64_t{1});
  if (trans_b) m.set("transB", int64_t{1});
  m.add(trans_a ? Dims{inner, rows} : Dims{rows, inner});
  m.add(trans_b ? Dims{columns, inner} : Dims{inner, columns});
  if (m.flip()) m.add(broadcastable(m, {rows, columns}));
}

/// Random subscripts over a few letters, with and without ellipses and an output.
void einsum(Maker& m) {
  const std::string letters = "ijkA";
  const std::map<char, int64_t> dims = {
      {'i', m.pick(1, 3)}, {'j', m.pick(0, 3)}, {'k', m.pick(1, 3)}, {'A', m.pick(1, 3)}};
  const Dims batch = m.dims(0, 2);
  const bool ellipsis = m.flip(0.4);
  std::string equation, used;
  for (int64_t operand = m.pick(1, 3); operand > 0; --operand) {
    const int64_t before = m.pick(0, 1), count = m.pick(1, 3);
    Dims shape;
    for (int64_t k = 0; k < count; ++k) {
      if (ellipsis && k == before) {
        const Dims own = broadcastable(m, batch);
        shape.insert(shape.end(), own.begin(), own.end());
        equation += "...";
      }
      const char letter = letters[m.random.below(letters.size())];
      shape.push_back(dims.at(letter));
      equation += letter;
      used += letter;
    }
    m.add(shape, -2, 2);
    if (operand > 1) equation += m.flip(0.1) ? ", " : ",";
  }
  if (m.flip(0.7)) {
    std::string out;
    for (const char letter : letters)
      if (used.find(letter) != std::string::npos && m.flip()) out += letter;
    equation += "->" + std::string(ellipsis ? "..." : "") + out;
  }
  m.set("equation", equation);
}

void recurrent(Maker& m) {
  const std::string_view op = m.instance.op->name;
  const int64_t gates = op == "LSTM" ? 4 : op == "GRU" ? 3 : 1;
  const int64_t steps = m.pick(1, 3), batch = m.pick(1, 2), inputs = m.pick(1, 3), hidden = m.pick(1, 3);
  const std::string direction = m.word({"forward", "reverse", "bidirectional"});
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  if (direction != "forward" || m.flip()) m.set("direction", direction);
  m.maybe("hidden_size", hidden);
  const bool batch_first = m.flip(0.3);
  if (batch_first || m.flip()) m.set("layout", int64_t{batch_first});
  if (m.flip(0.3)) m.set("clip", 0.5f);
  if (m.flip(0.4)) {
    std::vector<std::string> names;
    for (int64_t k = 0; k < directions * (op == "LSTM" ? 3 : op == "GRU" ? 2 : 1); ++k)
      names.push_back(m.word({"Tanh", "Sigmoid", "Relu", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
                              "HardSigmoid", "Elu", "Softsign", "Softplus"}));
    m.set("activations", names);
    if (m.flip()) m.set("activation_alpha", std::vector<float>(names.size(), 0.7f));
    if (m.flip()) m.set("activation_beta", std::vector<float>(names.size(), 0.3f));
  }
  if (op == "LSTM") m.maybe("input_forget", m.pick(0, 1));
  if (op == "GRU") m.maybe("linear_before_reset", m.pick(0, 1));
  const Dims state = batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  m.add(batch_first ? Dims{batch, steps, inputs} : Dims{steps, batch, inputs}, -1, 1);
  m.add({directions, gates * hidden, inputs}, -1, 1);
  m.add({directions, gates * hidden, hidden}, -1, 1);
  m.flip() ? m.add({directions, 2 * gates * hidden}, -1, 1) : m.omit();
  m.flip(0.4) ? m.add({batch}, 0, static_cast<double>(steps)) : m.omit();
  m.flip() ? m.add(state, -1, 1) : m.omit();
  if (op == "LSTM") {
    m.flip() ? m.add(state, -1, 1) : m.omit();
    m.flip() ? m.add({directions, 3 * hidden}, -1, 1) : m.omit();
  }
  m.outputs(op == "LSTM" ? 3 : 2);
  for (size_t k = 0; k < m.instance.outputs.size(); ++k)
    m.instance.outputs[k] = k == m.instance.outputs.size() - 1 || m.flip(0.8);
}

/// A scalar of the type of formal input i, mostly constant.
void length(Maker& m, int i, int64_t least, int64_t most) {
  m.give(m.values(m.type(i), {}, static_cast<double>(least), static_cast<double>(most)), m.flip(0.75));
}

void dft(Maker& m) {
  const bool onesided = m.flip(), inverse = m.flip();
  Dims in = m.dims(1, 3, onesided && inverse ? 2 : 1, 5);
  in.push_back(onesided && !inverse ? 1 : m.pick(1, 2));
  const int64_t rank = static_cast<int64_t>(in.size());
  if (inverse || m.flip()) m.set("inverse", int64_t{inverse});
  if (onesided || m.flip()) m.set("onesided", int64_t{onesided});
  m.add(in);
  m.flip() ? length(m, 1, 1, 6) : m.omit();
  m.flip() ? m.decide_scalar(m.pick(-rank, rank - 2) == -1 ? 0 : m.pick(0, rank - 2)) : m.omit();
}

void stft(Maker& m) {
  const bool onesided = m.flip();
  const int64_t frame = m.pick(1, 4), samples = frame + m.pick(0, 5);
  const int has = static_cast<int>(m.pick(0, 3));
  if (!onesided || m.flip()) m.set("onesided", int64_t{onesided});
  m.add({m.pick(1, 2), samples, onesided ? 1 : m.pick(1, 2)});
  length(m, 1, 1, 3);
  has & 1 ? m.add({frame}) : m.omit();
  has & 2 ? length(m, 3, frame, frame) : m.omit();
}

}  // namespace

void add_product_recipes(Recipes& recipes) {
  recipes["DFT"] = dft;
  recipes["STFT"] = stft;
  recipes["MatMul"] = matmul;
  recipes["MatMulInteger"] = matmul_integer;
  recipes["QLinearMatMul"] = qlinear_matmul;
  recipes["Gemm"] = gemm;
  for (const std::string_view name : {"com.microsoft.QLinearAdd", "com.microsoft.QLinearMul"})
    recipes[name] = qlinear_pair;
  for (const std::string_view name : {"com.microsoft.QLinearSigmoid", "com.microsoft.QLinearLeakyRelu"})
    recipes[name] = qlinear_single;
  recipes["com.microsoft.QLinearGlobalAveragePool"] = qlinear_mean;
  recipes["com.microsoft.QLinearWhere"] = qlinear_where;
  recipes["com.microsoft.QLinearSoftmax"] = qlinear_softmax;
  recipes["com.microsoft.QLinearReduceMean"] = qlinear_reduce_mean;
  recipes["com.microsoft.QLinearConcat"] = qlinear_concat;
  recipes["com.microsoft.QGemm"] = qgemm;
  recipes["Einsum"] = einsum;
  for (const std::string_view name : {"LSTM", "GRU", "RNN"}) recipes[name] = recurrent;
}

}  // namespace isomer::test
