#include "ops/instance.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "graph/minifloat.h"
#include "ops/recipes.h"
#include "util/check.h"

namespace isomer::test {
namespace {

std::vector<DataType> computable(TypeSet set) {
  std::vector<DataType> list;
  for (int code = 1; code <= 26; ++code)
    if (const auto dtype = static_cast<DataType>(code); set.contains(dtype) && is_computable(dtype))
      list.push_back(dtype);
  return list;
}

std::string text_of(const Attribute& attribute) {
  if (const auto* value = std::get_if<int64_t>(&attribute)) return fmt::format("{}", *value);
  if (const auto* value = std::get_if<float>(&attribute)) return fmt::format("{}", *value);
  if (const auto* value = std::get_if<std::string>(&attribute)) return fmt::format("'{}'", *value);
  if (const auto* value = std::get_if<std::vector<int64_t>>(&attribute)) return fmt::format("{}", *value);
  if (const auto* value = std::get_if<std::vector<float>>(&attribute)) return fmt::format("{}", *value);
  if (const auto* value = std::get_if<std::vector<std::string>>(&attribute)) return fmt::format("{}", *value);
  return "…";
}

std::string text_of(const Tensor& tensor) {
  std::vector<double> shown;
  for (int64_t i = 0; i < std::min<int64_t>(tensor.count(), 12); ++i) shown.push_back(tensor.real(i));
  return fmt::format("{}{}{}{}", name(tensor.dtype()), tensor.dims(), shown, tensor.count() > 12 ? "…" : "");
}

}  // namespace

std::string full_name(const OpDef& op) {
  const bool is_plain = op.domain.empty() || op.domain == kOwnDomain;
  return is_plain ? std::string(op.name) : fmt::format("{}.{}", op.domain, op.name);
}

std::string test_name(const OpDef& op) {
  std::string name = full_name(op);
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

std::string Instance::text() const {
  std::string result(op->name);
  for (const auto& [name, value] : attributes) result += fmt::format(" {}={}", name, text_of(value));
  for (const Input& input : inputs)
    result +=
        input.present ? fmt::format("\n  {}{}", text_of(input.tensor), input.constant ? " constant" : "") : "\n  -";
  return result + fmt::format("\n  -> {} outputs", std::count(outputs.begin(), outputs.end(), true));
}

Graph graph_of(const Instance& instance, const DimOf& dim) {
  Graph graph;
  graph.edit_info().opsets[""] = 22;
  graph.edit_info().ir_version = 10;
  std::vector<ValueId> inputs;
  Node node;
  node.op = instance.op;
  node.op_type = instance.op->name;
  if (instance.op->domain != kOwnDomain) node.domain = instance.op->domain;
  node.name = "node";
  node.attributes = instance.attributes;
  for (size_t i = 0; i < instance.inputs.size(); ++i) {
    const Instance::Input& input = instance.inputs[i];
    if (!input.present) {
      node.inputs.push_back({});
      continue;
    }
    const std::string name = fmt::format("x{}", i);
    if (input.constant) {
      node.inputs.push_back(graph.add_constant(input.tensor, name));
      continue;
    }
    Value value;
    value.name = name;
    Shape shape;
    for (size_t k = 0; k < input.tensor.dims().size(); ++k)
      shape.push_back(dim ? dim(i, k) : Dim(input.tensor.dims()[k]));
    value.type = ValueType::tensor(input.tensor.dtype(), std::move(shape));
    value.declared = value.type;
    inputs.push_back(graph.add_value(std::move(value)));
    node.inputs.push_back(inputs.back());
  }
  for (size_t k = 0; k < instance.captures.size(); ++k)
    node.captures.push_back(graph.add_constant(instance.captures[k], fmt::format("c{}", k)));
  std::vector<ValueId> outputs;
  for (size_t i = 0; i < instance.outputs.size(); ++i) {
    if (!instance.outputs[i]) {
      node.outputs.push_back({});
      continue;
    }
    Value value;
    value.name = fmt::format("y{}", i);
    outputs.push_back(graph.add_value(std::move(value)));
    node.outputs.push_back(outputs.back());
  }
  graph.set_inputs(std::move(inputs));
  graph.set_outputs(std::move(outputs));
  graph.add_node(std::move(node));
  return graph;
}

Maker::Maker(const OpDef& op, Random& random, int turn, const std::vector<Suggestion>& suggestions)
    : random(random), suggestions_(suggestions) {
  instance.op = &op;
  // Each variable runs through its types, and is moved on where all begin anew together.
  size_t period = 1;
  for (const TypeVariable& variable : op.types) {
    const std::vector<DataType> list = computable(variable.types);
    CHECK(!list.empty()) << op.name << " " << variable.name;
    const size_t before = period;
    period = std::lcm(period, list.size());
    types_[variable.name] = list[(turn + (before > 1 ? turn / period : 0)) % list.size()];
  }
  if (!suggestions.empty() && !op.types.empty() && flip(0.7)) {
    const DataType dtype = suggestions[random.below(suggestions.size())].dtype;
    if (op.types[0].types.contains(dtype)) types_[op.types[0].name] = dtype;
  }
  size_t required = 0;
  for (const Parameter& output : op.outputs) required += output.arity != Parameter::Arity::kOptional;
  instance.outputs.assign(std::max<size_t>(required, 1), true);
}

Dims Maker::dims(int least_rank, int most_rank, int64_t least, int64_t most) {
  if (!suggestions_.empty() && flip(0.7)) {
    const Dims& known = suggestions_[random.below(suggestions_.size())].dims;
    const auto rank = static_cast<int>(known.size());
    const bool fits = std::all_of(known.begin(), known.end(),
                                  [&](int64_t dim) { return dim >= least && dim <= std::max<int64_t>(most, 6); });
    if (rank >= least_rank && rank <= most_rank && fits) return known;
  }
  Dims result(pick(least_rank, most_rank));
  for (int64_t& dim : result)
    dim = flip(0.9) ? pick(std::max<int64_t>(least, std::min<int64_t>(1, most)), most) : pick(least, most);
  return result;
}

DataType Maker::type_of(std::string_view variable) const {
  const auto bound = types_.find(variable);
  return bound != types_.end() ? bound->second : parse_data_type(variable);
}

DataType Maker::type(int i) const {
  const auto& formals = instance.op->inputs;
  return type_of(formals[std::min<size_t>(i, formals.size() - 1)].type);
}

Tensor Maker::values(DataType dtype, Dims dims, double low, double high) {
  const int64_t count = element_count(dims);
  if (is_float(dtype)) {
    std::vector<double> reals;
    for (int64_t i = 0; i < count; ++i) reals.push_back(random.uniform(low, high));
    return Tensor::from_doubles(dtype, std::move(dims), reals);
  }
  if (dtype == DataType::kBool) low = 0, high = 1;
  if (is_unsigned_int(dtype)) low = std::max(low, 0.0);
  if (is_minifloat(dtype)) {
    std::vector<int64_t> codes;
    for (int64_t i = 0; i < count; ++i) codes.push_back(nearest_minifloat(dtype, random.uniform(low, high)));
    return Tensor::from_ints(dtype, std::move(dims), codes);
  }
  const int64_t bits = value_bits(dtype) - is_signed_int(dtype);
  if (bits < 8) {
    high = std::min(high, std::exp2(bits) - 1);
    low = std::max(std::min(low, high), is_signed_int(dtype) ? -std::exp2(bits) : 0);
  }
  std::vector<int64_t> integers;
  for (int64_t i = 0; i < count; ++i) integers.push_back(pick(static_cast<int64_t>(low), static_cast<int64_t>(high)));
  return Tensor::from_ints(dtype, std::move(dims), integers);
}

void Maker::add(Dims dims) {
  const DataType dtype = type(next_input());
  add(std::move(dims), is_float(dtype) ? -2 : -9, is_float(dtype) ? 2 : 9);
  instance.inputs.back().free = true;
}
void Maker::add(Dims dims, double low, double high) {
  give(values(type(next_input()), std::move(dims), low, high), flip(0.1));
}
void Maker::give(Tensor tensor, bool constant) { instance.inputs.push_back({true, std::move(tensor), constant}); }
void Maker::decide(std::vector<int64_t> values) {
  const auto count = static_cast<int64_t>(values.size());
  give(Tensor::from_ints(type(next_input()), {count}, values), flip(0.75));
  fix_dims();
}
void Maker::decide_scalar(int64_t value) {
  give(Tensor::from_ints(type(next_input()), {}, std::vector{value}), flip(0.75));
}
void Maker::omit() { instance.inputs.emplace_back(); }

Instance make_instance(const OpDef& op, Random& random, int turn, const std::vector<Suggestion>& suggestions) {
  Maker maker(op, random, turn, suggestions);
  recipe_for(op)(maker);
  auto& inputs = maker.instance.inputs;
  while (!inputs.empty() && !inputs.back().present) inputs.pop_back();
  return std::move(maker.instance);
}

}  // namespace isomer::test
