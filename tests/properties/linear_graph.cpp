#include "properties/linear_graph.h"

#include <cmath>
#include <numeric>

#include "graph/infer.h"
#include "graph/op_def.h"
#include "util/check.h"

namespace isomer::test {
namespace {

constexpr int64_t kMostMade = 2000;

using Ints = std::vector<int64_t>;

/// Adds nodes to a graph or to a body. What a choice makes of a value is no valid id where it does not fit.
class Chain {
 public:
  Chain(Graph& graph, Random& random) : graph_(graph), random_(random) {}

  /// A next value made of x, of any shape.
  ValueId extended(ValueId x) {
    switch (random_.below(24)) {
      case 0:
      case 1:
      case 2: return scaled(x);
      case 3:
      case 4:
      case 5: return convolved(x);
      case 6: return convolved_back(x);
      case 7:
      case 8: return gemm(x);
      case 9: return product(x);
      case 10: return normalized(x);
      case 11: return transposed(x);
      case 12: return sliced(x);
      case 13: return split_and_joined(x);
      case 14: return bent(x);
      case 15: return reshaped(x);
      case 16: return reduced(x);
      case 17: return padded(x);
      case 18: return pooled(x);
      case 19: return joined(x);
      case 20: return cast_there_and_back(x);
      case 21: return selected(x);
      case 22: return repeated(x);
      default: return controlled(x);
    }
  }

  /// A next value of the same shape.
  ValueId mapped(ValueId x) { return random_.chance(0.5) ? bent(x) : scaled_in_place(x); }

 private:
  Dims dims(ValueId x) const { return constants(*graph_.value(x).type.shape).value(); }
  int64_t one_of(const Ints& values) { return values[random_.below(values.size())]; }
  std::string_view word(const std::vector<std::string_view>& values) { return values[random_.below(values.size())]; }
  Ints some(size_t count, int64_t low, int64_t high) {
    Ints values(count);
    for (int64_t& value : values) value = random_.between(low, high);
    return values;
  }
  int64_t axis_of(ValueId x) { return random_.between(0, static_cast<int64_t>(dims(x).size()) - 1); }

  ValueId numbers(const Dims& shape) {
    std::vector<double> values(element_count(shape));
    for (double& value : values) value = static_cast<float>(random_.normal());
    return graph_.add_constant(Tensor::from_doubles(DataType::kFloat32, shape, values), graph_.fresh_name("w"));
  }
  ValueId positive(const Dims& shape) {
    std::vector<double> values(element_count(shape));
    for (double& value : values) value = static_cast<float>(std::fabs(random_.normal()));
    return graph_.add_constant(Tensor::from_doubles(DataType::kFloat32, shape, values), graph_.fresh_name("w"));
  }
  ValueId number(double value) {
    return graph_.add_constant(Tensor::scalar(DataType::kFloat32, value), graph_.fresh_name("s"));
  }
  ValueId ints(const Ints& values) { return graph_.add_constant(Tensor::int64s(values), graph_.fresh_name("i")); }

  ValueId fresh_value() {
    Value value;
    value.name = graph_.fresh_name("v");
    return graph_.add_value(std::move(value));
  }

  std::vector<ValueId> emit_several(std::string_view op, std::vector<ValueId> inputs, Attributes attributes,
                                    size_t outputs, std::vector<ValueId> captures = {}) {
    Node node;
    node.op = find_op("", op);
    CHECK(node.op != nullptr) << op;
    node.op_type = op;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.captures = std::move(captures);
    const Graph::Mark mark = graph_.mark();
    std::vector<ValueId> made;
    for (size_t k = 0; k < outputs; ++k) made.push_back(fresh_value());
    node.outputs = made;
    const NodeId id = graph_.add_node(std::move(node));
    bool fits = infer_node(graph_, id).ok() && !graph_.node(id).is_opaque();
    for (const ValueId output : made) {
      if (!fits) break;
      const ValueType& type = graph_.value(output).type;
      const auto sizes = type.has_shape() ? constants(*type.shape) : std::nullopt;
      fits = sizes && element_count(*sizes) > 0 && element_count(*sizes) <= kMostMade;
    }
    if (fits) return made;
    graph_.roll_back(mark);
    return std::vector<ValueId>(outputs);
  }
  ValueId emit(std::string_view op, std::vector<ValueId> inputs, Attributes attributes = {}) {
    return emit_several(op, std::move(inputs), std::move(attributes), 1)[0];
  }

  /// What broadcasts to the dims: a value a channel most often.
  ValueId broadcast(ValueId x, bool same_shape) {
    const Dims shape = dims(x);
    if (random_.chance(0.2) || shape.empty()) return number(random_.normal());
    const size_t channel = shape.size() > 2 ? 1 : shape.size() - 1;
    const size_t axis = random_.chance(0.7) ? channel : random_.below(shape.size());
    Dims other(shape.size(), 1);
    other[axis] = shape[axis];
    const bool grows = !same_shape && random_.chance(0.05) && shape[0] == 1;
    if (grows && axis != 0) other[0] = 2;
    while (other.size() > 1 && other[0] == 1 && random_.chance(0.7)) other.erase(other.begin());
    return numbers(other);
  }
  ValueId with_constant(ValueId x, bool same_shape) {
    const std::string_view op = word({"Mul", "Add", "Sub", "Div", "Mul", "Add"});
    const ValueId other = broadcast(x, same_shape);
    return random_.chance(0.7) || op == "Div" ? emit(op, {x, other}) : emit(op, {other, x});
  }
  ValueId scaled(ValueId x) { return with_constant(x, false); }
  ValueId scaled_in_place(ValueId x) { return with_constant(x, true); }

  ValueId convolved(ValueId x) {
    const Dims shape = dims(x);
    if (shape.size() < 3) return {};
    const size_t spatial = shape.size() - 2;
    const int64_t group = one_of({1, 1, 1, 2, shape[1]}), out = group * one_of({1, 2, 3}), kernel = one_of({1, 2, 3});
    if (shape[1] % group != 0) return {};
    Dims weights = {out, shape[1] / group};
    weights.insert(weights.end(), spatial, kernel);
    Attributes attributes = {{"group", group}};
    if (random_.chance(0.2))
      attributes["auto_pad"] = std::string(word({"SAME_UPPER", "SAME_LOWER", "VALID"}));
    else if (random_.chance(0.6))
      attributes["pads"] = some(2 * spatial, 0, 2);
    if (random_.chance(0.3)) attributes["strides"] = some(spatial, 1, 2);
    if (random_.chance(0.2) && !attributes.contains("auto_pad")) attributes["dilations"] = some(spatial, 1, 2);
    std::vector<ValueId> inputs = {x, numbers(weights)};
    if (random_.chance(0.5)) inputs.push_back(numbers({out}));
    return emit("Conv", std::move(inputs), std::move(attributes));
  }

  ValueId convolved_back(ValueId x) {
    const Dims shape = dims(x);
    if (shape.size() < 3) return {};
    const size_t spatial = shape.size() - 2;
    const int64_t group = one_of({1, 2}), out = one_of({1, 2}), kernel = one_of({1, 2, 3});
    if (shape[1] % group != 0) return {};
    Dims weights = {shape[1], out};
    weights.insert(weights.end(), spatial, kernel);
    Attributes attributes = {{"group", group}, {"strides", some(spatial, 1, 2)}};
    if (random_.chance(0.5)) attributes["pads"] = some(2 * spatial, 0, kernel - 1);
    std::vector<ValueId> inputs = {x, numbers(weights)};
    if (random_.chance(0.5)) inputs.push_back(numbers({out * group}));
    return emit("ConvTranspose", std::move(inputs), std::move(attributes));
  }

  ValueId gemm(ValueId x) {
    const Dims shape = dims(x);
    if (shape.size() != 2) return {};
    const int64_t turn_a = random_.chance(0.2), turn_b = random_.chance(0.4), n = one_of({1, 3, 5});
    const int64_t m = shape[turn_a ? 1 : 0], k = shape[turn_a ? 0 : 1];
    Attributes attributes = {{"transA", turn_a}, {"transB", turn_b}};
    if (random_.chance(0.4)) attributes["alpha"] = random_.chance(0.5) ? 0.5F : 2.F;
    if (random_.chance(0.4)) attributes["beta"] = random_.chance(0.3) ? 0.F : 0.5F;
    std::vector<ValueId> inputs = {x, numbers(turn_b ? Dims{n, k} : Dims{k, n})};
    const std::vector<Dims> biases = {{n}, {1}, {}, {m, n}, {m, 1}, {1, n}};
    if (random_.chance(0.6)) inputs.push_back(numbers(biases[random_.below(biases.size())]));
    return emit("Gemm", std::move(inputs), std::move(attributes));
  }

  ValueId product(ValueId x) {
    const Dims shape = dims(x);
    if (shape.empty()) return {};
    Dims weights = {shape.back(), one_of({1, 3})};
    if (shape.size() > 2 && random_.chance(0.3)) weights.insert(weights.begin(), shape[shape.size() - 3]);
    if (shape.size() > 1 && random_.chance(0.2)) return emit("MatMul", {numbers({2, shape[shape.size() - 2]}), x});
    return emit("MatMul", {x, numbers(weights)});
  }

  ValueId normalized(ValueId x) {
    const Dims shape = dims(x);
    if (shape.size() < 2) return {};
    const Dims channel = {shape[1]};
    return emit("BatchNormalization", {x, numbers(channel), numbers(channel), numbers(channel), positive(channel)},
                {{"epsilon", random_.chance(0.5) ? 1e-5F : 0.1F}});
  }

  ValueId transposed(ValueId x) {
    Ints order(dims(x).size());
    std::iota(order.begin(), order.end(), 0);
    for (size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[random_.below(k)]);
    return emit("Transpose", {x}, {{"perm", order}});
  }

  ValueId sliced(ValueId x) {
    if (dims(x).empty()) return {};
    const int64_t axis = axis_of(x), size = dims(x)[axis], step = one_of({1, 1, 2, -1, -2});
    const int64_t start = random_.between(-size, size - 1);
    const int64_t end = step > 0 ? one_of({int64_t{1} << 62, -1, size - 1}) : one_of({-(int64_t{1} << 62), 0});
    return emit("Slice", {x, ints({start}), ints({end}), ints({axis}), ints({step})});
  }

  ValueId split_and_joined(ValueId x) {
    if (dims(x).empty()) return {};
    const int64_t axis = axis_of(x), size = dims(x)[axis];
    if (size < 2) return {};
    const int64_t first = random_.between(1, size - 1);
    auto parts = emit_several("Split", {x, ints({first, size - first})}, {{"axis", axis}}, 2);
    if (!parts[0].valid()) return {};
    if (random_.chance(0.5)) parts[0] = mapped(parts[0]);
    if (!parts[0].valid()) return {};
    if (random_.chance(0.2)) return parts[1];
    if (random_.chance(0.3)) std::swap(parts[0], parts[1]);
    return emit("Concat", parts, {{"axis", axis}});
  }

  /// Not linear, of the same shape.
  ValueId bent(ValueId x) {
    if (random_.chance(0.15)) return emit("Clip", {x, number(random_.normal()), number(random_.normal())});
    if (random_.chance(0.1)) return emit("Softmax", {x}, {{"axis", int64_t{-1}}});
    return emit(word({"Relu", "Neg", "Identity", "Abs", "Sigmoid", "Tanh", "Floor", "Exp", "Sign", "LeakyRelu"}), {x});
  }

  ValueId reshaped(ValueId x) {
    const Dims shape = dims(x);
    switch (random_.below(3)) {
      case 0: {
        Ints divisors;
        const int64_t count = element_count(shape);
        for (int64_t d = 1; d <= count; ++d)
          if (count % d == 0) divisors.push_back(d);
        return emit("Reshape", {x, ints({one_of(divisors), -1})});
      }
      case 1: return emit("Flatten", {x}, {{"axis", random_.between(0, static_cast<int64_t>(shape.size()))}});
      default: {
        const auto one = std::find(shape.begin(), shape.end(), 1);
        if (one != shape.end()) return emit("Squeeze", {x, ints({one - shape.begin()})});
        return emit("Unsqueeze", {x, ints({random_.between(0, static_cast<int64_t>(shape.size()))})});
      }
    }
  }

  ValueId reduced(ValueId x) {
    if (dims(x).empty()) return {};
    const int64_t keep = random_.chance(0.7);
    return emit(word({"ReduceMean", "ReduceMax", "ReduceSum", "ReduceMin", "ReduceL2"}), {x, ints({axis_of(x)})},
                {{"keepdims", keep}});
  }

  ValueId padded(ValueId x) {
    const Dims shape = dims(x);
    if (shape.empty()) return {};
    Ints pads = some(2 * shape.size(), 0, 1);
    if (shape.size() > 2) pads[0] = pads[1] = pads[shape.size()] = pads[shape.size() + 1] = 0;
    const bool repeats = random_.chance(0.3);
    std::vector<ValueId> inputs = {x, ints(pads)};
    if (!repeats && random_.chance(0.4)) inputs.push_back(number(random_.chance(0.5) ? random_.normal() : -INFINITY));
    return emit("Pad", std::move(inputs), {{"mode", std::string(repeats ? "edge" : "constant")}});
  }

  ValueId pooled(ValueId x) {
    const Dims shape = dims(x);
    if (shape.size() < 3) return {};
    const size_t spatial = shape.size() - 2;
    const int64_t kernel = one_of({1, 2, 3});
    Attributes attributes = {{"kernel_shape", Ints(spatial, kernel)}, {"pads", some(2 * spatial, 0, kernel - 1)}};
    if (random_.chance(0.5)) attributes["strides"] = some(spatial, 1, 2);
    if (random_.chance(0.3)) attributes["ceil_mode"] = int64_t{1};
    if (random_.chance(0.5)) {
      attributes["count_include_pad"] = static_cast<int64_t>(random_.chance(0.5));
      return emit("AveragePool", {x}, std::move(attributes));
    }
    const auto made = emit_several("MaxPool", {x}, std::move(attributes), random_.chance(0.3) ? 2 : 1);
    return random_.chance(0.5) || !made[0].valid() ? made[0] : emit("Cast", {made.back()}, to(DataType::kFloat32));
  }

  /// With a value of the same shape that was made of it.
  ValueId joined(ValueId x) {
    const ValueId other = random_.chance(0.3) ? x : mapped(x);
    if (!other.valid()) return {};
    return emit(word({"Add", "Mul", "Sub", "Max", "Min", "Sum"}), {x, other});
  }

  static Attributes to(DataType dtype) { return {{"to", static_cast<int64_t>(dtype)}}; }

  ValueId cast_there_and_back(ValueId x) {
    const DataType through =
        std::vector<DataType>{DataType::kInt64,   DataType::kInt32, DataType::kFloat16,
                              DataType::kFloat64, DataType::kBool,  DataType::kBFloat16}[random_.below(6)];
    ValueId inner = emit("Cast", {x}, to(through));
    if (!inner.valid()) return {};
    if (is_int(through) && random_.chance(0.7)) {
      const Tensor constant = Tensor::scalar(through, static_cast<double>(random_.between(1, 7)));
      inner = emit(word({"Add", "Mul", "Sub", "Div", "Max"}),
                   {inner, graph_.add_constant(constant, graph_.fresh_name("n"))});
      if (random_.chance(0.5)) inner = emit("Abs", {inner});
    }
    return emit("Cast", {inner}, to(DataType::kFloat32));
  }

  /// By indices, by conditions, by rank; one of two outputs.
  ValueId selected(ValueId x) {
    const Dims shape = dims(x);
    if (shape.empty()) return {};
    const int64_t axis = axis_of(x), size = shape[axis];
    switch (random_.below(4)) {
      case 0: return emit("Gather", {x, ints(some(random_.between(1, 3), -size, size - 1))}, {{"axis", axis}});
      case 1: {
        const ValueId condition = emit("Greater", {x, broadcast(x, true)});
        return emit("Where", {condition, x, broadcast(x, true)});
      }
      case 2: {
        const auto made = emit_several("TopK", {x, ints({random_.between(1, size)})},
                                       {{"axis", axis}, {"largest", static_cast<int64_t>(random_.chance(0.5))}}, 2);
        if (!made[0].valid() || random_.chance(0.6)) return made[0];
        return emit("Cast", {made[1]}, to(DataType::kFloat32));
      }
      default: {
        const auto made = emit_several("Dropout", {x}, {}, random_.chance(0.5) ? 2 : 1);
        if (made.size() < 2 || !made[0].valid()) return made[0];
        return emit("Where", {made[1], made[0], x});
      }
    }
  }

  ValueId repeated(ValueId x) {
    Ints times(dims(x).size(), 1);
    if (times.empty()) return {};
    const int64_t axis = axis_of(x);
    if (dims(x)[axis] != 1 || random_.chance(0.3)) {
      times[axis] = 2;
      return emit("Tile", {x, ints(times)});
    }
    times[axis] = 3;
    return emit("Expand", {x, ints(times)});
  }

  ValueType type(DataType dtype) const { return ValueType::tensor(dtype, {}); }
  static ValueId formal(Graph& body, std::string name, ValueType type) {
    Value value;
    value.name = std::move(name);
    value.type = std::move(type);
    return body.add_value(std::move(value));
  }

  /// Some values of the same shape.
  static ValueId mapped_often(Graph& body, Random& random, ValueId x) {
    Chain chain(body, random);
    for (int64_t k = random.between(1, 3); k > 0; --k)
      if (const ValueId next = chain.mapped(x); next.valid()) x = next;
    return x;
  }

  /// Inside of a branch or a loop.
  ValueId controlled(ValueId x) { return random_.chance(0.5) ? branch(x) : loop(x); }

  ValueId branch(ValueId x) {
    Attributes attributes;
    for (const char* name : {"then_branch", "else_branch"}) {
      Graph body;
      const ValueId captured = formal(body, "captured", graph_.value(x).type);
      body.set_captures({captured});
      body.set_outputs({mapped_often(body, random_, captured)});
      if (body.outputs()[0] == captured) return {};
      attributes.emplace(name, std::make_shared<const Graph>(std::move(body)));
    }
    const ValueId total = emit("ReduceSum", {x}, {{"keepdims", int64_t{0}}});
    if (!total.valid()) return {};
    const ValueId condition = random_.chance(0.3)
                                  ? graph_.add_constant(Tensor::scalar(DataType::kBool, 1), graph_.fresh_name("yes"))
                                  : emit("Greater", {total, number(0)});
    return emit_several("If", {condition}, std::move(attributes), 1, {x})[0];
  }

  ValueId loop(ValueId x) {
    Graph body;
    const ValueId step = formal(body, "step", type(DataType::kInt64));
    const ValueId go = formal(body, "go", type(DataType::kBool));
    const ValueId state = formal(body, "state", graph_.value(x).type);
    const ValueId next = mapped_often(body, random_, state);
    if (next == state) return {};
    body.set_inputs({step, go, state});
    body.set_outputs({go, next});
    const ValueId trips = graph_.add_constant(
        Tensor::scalar(DataType::kInt64, static_cast<double>(random_.between(0, 3))), graph_.fresh_name("trips"));
    return emit_several("Loop", {trips, ValueId(), x}, {{"body", std::make_shared<const Graph>(std::move(body))}},
                        1)[0];
  }

  Graph& graph_;
  Random& random_;
};

Dims input_dims(Random& random) {
  switch (random.below(4)) {
    case 0: return {random.between(1, 2), 2 * random.between(1, 2), random.between(4, 6), random.between(4, 5)};
    case 1: return {random.between(1, 2), 2 * random.between(1, 2), random.between(5, 7)};
    case 2: return {random.between(1, 3), random.between(2, 4)};
    default: return {2, random.between(2, 3), random.between(2, 4)};
  }
}

}  // namespace

Sample linear_sample(uint64_t seed) {
  Random random(seed);
  Graph graph;
  graph.name = "g";
  graph.edit_info().ir_version = 10;
  graph.edit_info().opsets[""] = 22;
  const Dims shape = input_dims(random);
  Value value;
  value.name = "x";
  value.type = ValueType::tensor(DataType::kFloat32, Shape(shape.begin(), shape.end()));
  value.declared = value.type;
  const ValueId x = graph.add_value(std::move(value));
  graph.set_inputs({x});
  std::vector<ValueId> made = {x};
  const int64_t wanted = random.between(2, 7);
  for (int64_t attempt = 0; attempt < 3 * wanted && static_cast<int64_t>(made.size()) <= wanted; ++attempt) {
    // Most often of the last one, so that chains are long.
    const ValueId from = random.chance(0.85) ? made.back() : made[random.below(made.size())];
    if (const ValueId next = Chain(graph, random).extended(from); next.valid()) made.push_back(next);
  }
  std::vector<ValueId> outputs;
  const std::vector<int> uses = graph.use_counts();
  for (size_t k = 1; k < made.size(); ++k)
    if (uses[made[k].index] == 0 || random.chance(0.1)) outputs.push_back(made[k]);
  for (const ValueId output : outputs) graph.edit(output).declared = declarable(graph.value(output).type);
  graph.set_outputs(std::move(outputs));
  return sample_of(std::move(graph), seed);
}

}  // namespace isomer::test
