#include "search/tasks/task.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace isomer::search {

std::string Task::name(const Graph& graph) const {
  if (nodes.empty()) return "Relayout";
  std::vector<std::string> operators;
  for (const NodeId id : nodes) operators.push_back(graph.node(id).op_type);
  return fmt::format("{}", fmt::join(operators, "+"));
}

bool Task::is_laid_out() const {
  const auto is_set = [](const std::string& layout) { return !layout.empty(); };
  return std::any_of(input_layouts.begin(), input_layouts.end(), is_set) ||
         std::any_of(output_layouts.begin(), output_layouts.end(), is_set);
}

Task Task::row_major() const {
  Task result = *this;
  result.input_layouts.clear();
  result.output_layouts.clear();
  return result;
}

std::string Task::place(const Graph& graph) const {
  return nodes.empty() ? graph.value(outputs.front()).name : label(graph, nodes.front());
}

Result<std::vector<kernel::TaskType>> input_types(const Graph& graph, const Task& task) {
  std::vector<kernel::TaskType> types;
  for (const ValueId value : task.inputs) {
    if (!value.valid()) {
      types.push_back({DataType::kUndefined, {}});
      continue;
    }
    const ValueType& type = graph.value(value).type;
    if (!type.has_shape())
      return unsupported(graph.value(value).name, "a shape of known rank expected, {} found", type.text());
    types.push_back({type.dtype, *type.shape});
  }
  return types;
}

std::string symbol_of(const Dim& dim) {
  const te::Expr expr = dim.expr();
  const auto* symbol = te::as<te::Symbol>(expr);
  return symbol ? symbol->name : std::string();
}

std::vector<kernel::SizeNames> size_names(const Graph& graph, const Task& task) {
  std::vector<kernel::SizeNames> all;
  for (const ValueId value : task.sizes_of) {
    kernel::SizeNames names;
    for (const Dim& dim : *graph.value(value).type.shape) names.push_back(symbol_of(dim));
    all.push_back(std::move(names));
  }
  return all;
}

}  // namespace isomer::search
