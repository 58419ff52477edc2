#include "properties/random_graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "graph/infer.h"
#include "graph/interpret.h"
#include "graph/text.h"
#include "ops/instance.h"
#include "util/check.h"

namespace isomer::test {
namespace {

constexpr int64_t kMostElements = 600;

class Builder {
 public:
  explicit Builder(uint64_t seed) : random_(seed) {
    graph_.name = "g";
    graph_.edit_info().ir_version = 10;
    graph_.edit_info().opsets[""] = 22;
  }

  Sample build() {
    const int nodes = static_cast<int>(random_.between(2, 14));
    for (int attempt = 0; attempt < 4 * nodes && graph_.node_count() < nodes; ++attempt) {
      if (graph_.node_count() > 0 && random_.chance(0.06))
        repeat_node();
      else
        add_instance();
    }
    choose_outputs();
    Sample sample{std::move(graph_), std::move(inputs_), std::move(free_)};
    if (random_.chance(0.5)) make_symbolic(sample);
    return sample;
  }

 private:
  struct Known {
    ValueId id;
    te::Array array;
  };

  const OpDef& random_op() {
    // What passes look for, more often than its share of the rows.
    static const std::vector<const OpDef*> sought = [] {
      std::vector<const OpDef*> rows;
      for (const char* name : {"Identity",  "Transpose",
                               "Reshape",   "Cast",
                               "Squeeze",   "Unsqueeze",
                               "Flatten",   "Concat",
                               "Slice",     "Split",
                               "Shape",     "Gather",
                               "Expand",    "Tile",
                               "Add",       "Sub",
                               "Mul",       "Div",
                               "Sum",       "Neg",
                               "Sqrt",      "Pow",
                               "MatMul",    "Gemm",
                               "Conv",      "BatchNormalization",
                               "Pad",       "Clip",
                               "Relu",      "Sigmoid",
                               "Erf",       "ReduceMean",
                               "ReduceSum", "Softmax",
                               "Where",     "Equal",
                               "Not",       "ConstantOfShape",
                               "Range",     "Dropout",
                               "MaxPool",   "ConvTranspose",
                               "Constant"})
        rows.push_back(find_op("", name));
      return rows;
    }();
    // Our own have no form in a file where sizes are not known.
    static const std::vector<const OpDef*> all = [] {
      std::vector<const OpDef*> rows = all_ops();
      std::erase_if(rows, [](const OpDef* op) { return op->domain == kOwnDomain; });
      return rows;
    }();
    return random_.chance(0.5) ? *sought[random_.below(sought.size())] : *all[random_.below(all.size())];
  }

  std::vector<Suggestion> suggestions() const {
    std::vector<Suggestion> result;
    for (const Known& known : known_) result.push_back({known.array.dtype(), known.array.dims()});
    return result;
  }

  void add_instance() {
    const OpDef& op = random_op();
    // One after the other: compilers evaluate the arguments of a call in orders of their own.
    const auto suggested = suggestions();
    const auto turn = static_cast<int>(random_.below(1000));
    const auto instance = make_instance(op, random_, turn, suggested);
    const Graph::Mark mark = graph_.mark();
    const size_t inputs = inputs_.size(), known = known_.size();
    if (add(instance)) return;
    graph_.roll_back(mark);
    inputs_.resize(inputs);
    free_.resize(inputs);
    auto ids = graph_.inputs();
    ids.resize(inputs);
    graph_.set_inputs(std::move(ids));
    known_.resize(known);
  }

  bool add(const Instance& instance) {
    Node node;
    node.op = instance.op;
    node.op_type = instance.op->name;
    node.domain = instance.op->domain;
    if (random_.chance(0.7)) node.name = fmt::format("{}_{}", node.op_type, counter_++);
    node.attributes = instance.attributes;
    for (const Instance::Input& input : instance.inputs) {
      const auto id = input.present ? supply(input) : ValueId{};
      if (input.present && !id.valid()) return false;
      node.inputs.push_back(id);
    }
    for (const Tensor& capture : instance.captures) {
      const auto id = existing(capture.dtype(), capture.dims(), 0.7);
      node.captures.push_back(id.valid() ? id : constant(capture));
    }
    for (const bool wanted : instance.outputs) node.outputs.push_back(wanted ? fresh_value() : ValueId{});
    graph_.edit_info().opsets[""] = std::max<int64_t>(graph_.info().opset(), instance.op->since);
    return run(graph_.add_node(std::move(node)));
  }

  ValueId fresh_value() {
    Value value;
    value.name = fmt::format("v{}", counter_++);
    return graph_.add_value(std::move(value));
  }

  /// Infers and runs the node; its outputs are known from then on. False where it is no good.
  bool run(NodeId id) {
    if (!infer_node(graph_, id).ok() || graph_.node(id).is_opaque()) return false;
    const Node& node = graph_.node(id);
    Graph alone = graph_;
    std::vector<ValueId> wanted;
    for (const ValueId output : node.outputs)
      if (output.valid()) wanted.push_back(output);
    alone.set_outputs(wanted);
    std::vector<te::Array> arrays;
    for (const Tensor& input : inputs_) arrays.push_back(te::Array::from(input));
    const auto values = interpret(alone, arrays, {});
    if (!values.ok()) return false;
    for (const te::Array& array : *values) {
      if (array.count() > kMostElements) return false;
      bool tame = true;
      for (int64_t i = 0; i < array.count(); ++i) tame = tame && std::fabs(array.as_double(i)) < 1e5;
      if (!tame && random_.chance(0.9)) return false;
    }
    for (size_t i = 0; i < wanted.size(); ++i) known_.push_back({wanted[i], (*values)[i]});
    return true;
  }

  ValueId supply(const Instance::Input& input) {
    if (input.fixed && input.tensor.dims().size() == 1 && random_.chance(0.4)) {
      const ValueId computed = compute_content(input.tensor);
      if (computed.valid()) return computed;
    }
    if (input.free) {
      const ValueId id = existing(input.tensor.dtype(), input.tensor.dims(), 0.9);
      if (id.valid()) return id;
      const ValueId fitted = fit(input.tensor.dtype(), input.tensor.dims());
      if (fitted.valid()) return fitted;
    }
    if (input.constant || random_.chance(input.free ? 0.4 : 0.2)) return constant(input.tensor);
    return new_input(input.tensor, input.free);
  }

  /// A value of that type and these dims, rather a late one.
  ValueId existing(DataType dtype, const Dims& dims, double probability) {
    if (!random_.chance(probability)) return {};
    std::vector<ValueId> found;
    for (const Known& known : known_)
      if (known.array.dtype() == dtype && known.array.dims() == dims) found.push_back(known.id);
    if (found.empty()) return {};
    return random_.chance(0.5) ? found.back() : found[random_.below(found.size())];
  }

  /// Reshapes a value of enough elements.
  ValueId fit(DataType dtype, const Dims& dims) {
    if (!random_.chance(0.3)) return {};
    for (auto known = known_.rbegin(); known != known_.rend(); ++known) {
      if (known->array.dtype() != dtype || known->array.count() != element_count(dims) || element_count(dims) == 0)
        continue;
      return emit("Reshape", {known->id, constant(Tensor::int64s(dims))}, {});
    }
    return {};
  }

  ValueId emit(std::string_view op, std::vector<ValueId> inputs, Attributes attributes) {
    Node node;
    node.op = find_op("", op);
    node.op_type = op;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    const Graph::Mark mark = graph_.mark();
    const ValueId output = fresh_value();
    node.outputs = {output};
    if (run(graph_.add_node(std::move(node)))) return output;
    graph_.roll_back(mark);
    return {};
  }

  /// The elements one by one: out of shapes where one has such a dim, else constants.
  ValueId compute_content(const Tensor& tensor) {
    if (tensor.dtype() != DataType::kInt64 || tensor.count() == 0) return {};
    std::vector<ValueId> parts;
    bool computed = false;
    for (const int64_t element : tensor.integers()) {
      const ValueId dim = element > 1 ? dim_of(element) : ValueId{};
      computed = computed || dim.valid();
      parts.push_back(dim.valid() ? dim : constant(Tensor::int64s({element})));
    }
    if (!computed) return {};
    return emit("Concat", std::move(parts), {{"axis", int64_t{0}}});
  }

  ValueId dim_of(int64_t size) {
    for (auto known = known_.rbegin(); known != known_.rend(); ++known) {
      const Dims& dims = known->array.dims();
      const auto found = std::find(dims.begin(), dims.end(), size);
      if (found == dims.end() || graph_.is_constant(known->id)) continue;
      const int64_t axis = found - dims.begin();
      if (random_.chance(0.3)) return emit("Shape", {known->id}, {{"start", axis}, {"end", axis + 1}});
      const ValueId shape = emit("Shape", {known->id}, {});
      if (!shape.valid()) return {};
      if (random_.chance(0.5)) return emit("Gather", {shape, constant(Tensor::int64s({axis}))}, {});
      const std::vector<int64_t> place = {axis};
      const ValueId scalar = emit("Gather", {shape, constant(Tensor::from_ints(DataType::kInt64, {}, place))}, {});
      return scalar.valid() ? emit("Unsqueeze", {scalar, constant(Tensor::int64s({0}))}, {}) : scalar;
    }
    return {};
  }

  ValueId constant(const Tensor& tensor) {
    const ValueId id = graph_.add_constant(tensor, fmt::format("c{}", counter_++));
    known_.push_back({id, te::Array::from(tensor)});
    return id;
  }

  ValueId new_input(const Tensor& tensor, bool free) {
    Value value;
    value.name = fmt::format("x{}", counter_++);
    value.type = ValueType::tensor(tensor.dtype(), Shape(tensor.dims().begin(), tensor.dims().end()));
    value.declared = value.type;
    const ValueId id = graph_.add_value(std::move(value));
    auto ids = graph_.inputs();
    ids.push_back(id);
    graph_.set_inputs(std::move(ids));
    inputs_.push_back(tensor);
    free_.push_back(free);
    if (free) known_.push_back({id, te::Array::from(tensor)});
    return id;
  }

  /// The same operator on the same inputs once more.
  void repeat_node() {
    const auto nodes = graph_.nodes();
    Node node = graph_.node(nodes[random_.below(nodes.size())]);
    const Graph::Mark mark = graph_.mark();
    for (ValueId& output : node.outputs)
      if (output.valid()) output = fresh_value();
    if (!node.name.empty()) node.name += "_again";
    if (!run(graph_.add_node(std::move(node)))) graph_.roll_back(mark);
  }

  /// Nobody else reads them, or chosen by chance.
  void choose_outputs() {
    std::vector<ValueId> outputs;
    const std::vector<int> uses = graph_.use_counts();
    for (const NodeId node : graph_.nodes())
      for (const ValueId value : graph_.node(node).outputs)
        if (value.valid() && (uses[value.index] == 0 || random_.chance(0.1))) outputs.push_back(value);
    for (const Known& known : known_)
      if (!graph_.value(known.id).producer.valid() && random_.chance(0.01)) outputs.push_back(known.id);
    std::sort(outputs.begin(), outputs.end());
    outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
    for (const ValueId output : outputs) {
      if (graph_.value(output).declared) continue;
      graph_.edit(output).declared = declarable(graph_.value(output).type);
    }
    graph_.set_outputs(std::move(outputs));
  }

  /// Dims of inputs become symbols, if the rows take them.
  void make_symbolic(Sample& sample) {
    std::set<int64_t> sizes;
    for (const Tensor& input : sample.inputs)
      for (const int64_t dim : input.dims())
        if (dim > 1 && random_.chance(0.5)) sizes.insert(dim);
    Graph symbolic = sample.graph;
    for (size_t i = 0; i < sample.inputs.size(); ++i) {
      if (!sample.free[i] || sizes.empty()) continue;
      Value& value = symbolic.edit(symbolic.inputs()[i]);
      for (Dim& dim : *value.type.shape)
        if (sizes.contains(dim.value())) dim = Dim::symbol(fmt::format("d{}", dim.value()));
      value.declared = value.type;
    }
    for (const NodeId node : symbolic.nodes())
      for (const ValueId output : symbolic.node(node).outputs)
        if (output.valid()) symbolic.edit(output).type = {};
    if (!infer(symbolic).ok()) return;
    for (const NodeId node : symbolic.nodes())
      if (symbolic.node(node).is_opaque()) return;
    for (const ValueId output : symbolic.outputs())
      if (symbolic.value(output).producer.valid())
        symbolic.edit(output).declared = declarable(symbolic.value(output).type);
    sample.graph = std::move(symbolic);
  }

  Random random_;
  Graph graph_;
  std::vector<Tensor> inputs_;
  std::vector<bool> free_;
  std::vector<Known> known_;
  int counter_ = 0;
};

/// Elements of the tensor in a new shape, by chance.
Tensor mixed(const Tensor& tensor, Dims dims, Random& random) {
  const int64_t count = element_count(dims), there = tensor.count();
  const auto pick = [&] { return static_cast<int64_t>(random.below(static_cast<uint64_t>(there))); };
  if (is_float(tensor.dtype())) {
    std::vector<double> values(count);
    for (double& value : values) value = there == 0 ? 0 : tensor.real(pick());
    return Tensor::from_doubles(tensor.dtype(), std::move(dims), values);
  }
  std::vector<int64_t> values(count);
  for (int64_t& value : values) value = there == 0 ? 0 : tensor.integer(pick());
  return Tensor::from_ints(tensor.dtype(), std::move(dims), values);
}

}  // namespace

std::string text_of(const Sample& sample) {
  std::string text = print_graph(sample.graph);
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    std::vector<double> shown;
    for (int64_t k = 0; k < std::min<int64_t>(sample.inputs[i].count(), 64); ++k)
      shown.push_back(sample.inputs[i].real(k));
    text += fmt::format("{} = {}\n", sample.graph.value(sample.graph.inputs()[i]).name, shown);
  }
  return text;
}

ValueType declarable(ValueType type) {
  if (!type.has_shape()) return type;
  for (Dim& dim : *type.shape)
    if (!dim.is_constant()) dim = Dim::symbol(dim.text());
  return type;
}

Sample sample_of(Graph graph, uint64_t seed) {
  Random random(seed);
  Sample sample{std::move(graph), {}, {}};
  for (const ValueId input : sample.graph.inputs()) {
    const ValueType& type = sample.graph.value(input).type;
    Dims dims;
    for (const Dim& dim : *type.shape) dims.push_back(dim.constant().value_or(3));
    sample.inputs.push_back(random_tensor(type.dtype, std::move(dims), random));
    sample.free.push_back(true);
  }
  return sample;
}

Tensor random_tensor(DataType dtype, Dims dims, Random& random) {
  const int64_t count = element_count(dims);
  if (is_float(dtype)) {
    std::vector<double> values(count);
    for (double& value : values) value = random.uniform(-2, 2);
    return Tensor::from_doubles(dtype, std::move(dims), values);
  }
  const bool is_bool = dtype == DataType::kBool;
  std::vector<int64_t> values(count);
  for (int64_t& value : values) value = random.between(is_bool || is_unsigned_int(dtype) ? 0 : -9, is_bool ? 1 : 9);
  return Tensor::from_ints(dtype, std::move(dims), values);
}

std::vector<Tensor> other_inputs(const Sample& sample, Random& random) {
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    const Tensor& old = sample.inputs[i];
    inputs.push_back(sample.free[i] ? random_tensor(old.dtype(), old.dims(), random) : old);
  }
  return inputs;
}

std::vector<Tensor> other_sizes(const Sample& sample, Random& random) {
  std::map<std::string, int64_t> sizes;
  // A dim of 0 that a shape is computed of would say "copied" to Reshape: symbols stand for none there.
  const auto nodes = sample.graph.nodes();
  const bool has_reshape =
      std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) { return sample.graph.node(id).op_type == "Reshape"; });
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < sample.inputs.size(); ++i) {
    const Shape& shape = *sample.graph.value(sample.graph.inputs()[i]).type.shape;
    Dims dims;
    for (const Dim& dim : shape)
      dims.push_back(dim.is_constant() ? dim.value()
                                       : sizes.try_emplace(dim.text(), random.between(has_reshape, 5)).first->second);
    const Tensor& old = sample.inputs[i];
    inputs.push_back(sample.free[i] ? random_tensor(old.dtype(), dims, random) : mixed(old, dims, random));
  }
  if (sizes.empty()) inputs.clear();
  return inputs;
}

void Reach::add(const Graph& graph) {
  bool has_symbol = false;
  for (const ValueId id : graph.values()) {
    const ValueType& type = graph.value(id).type;
    if (type.is_tensor()) dtypes.insert(type.dtype);
    for (const Dim& dim : type.has_shape() ? *type.shape : Shape()) has_symbol = has_symbol || !dim.is_constant();
  }
  symbolic += has_symbol;
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    ++nodes;
    ++rows[node.op->name];
    for (const auto& [name, attribute] : node.attributes) attributes.emplace(node.op->name, name);
  }
}

Sample random_sample(uint64_t seed) { return Builder(seed).build(); }

}  // namespace isomer::test
