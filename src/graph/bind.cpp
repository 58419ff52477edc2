#include "graph/bind.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "graph/infer.h"

namespace isomer {
namespace {

Dim substitute(const Dim& dim, const std::map<std::string, int64_t>& values) {
  if (dim.is_constant()) return dim;
  return Dim(te::transform(dim.expr(), [&](const te::Expr& e) {
    const te::Symbol* symbol = te::as<te::Symbol>(e);
    const auto found = symbol ? values.find(symbol->name) : values.end();
    return found == values.end() ? te::Expr() : te::index(found->second);
  }));
}

void substitute(ValueType& type, const std::map<std::string, int64_t>& values) {
  if (!type.shape) return;
  for (Dim& dim : *type.shape) dim = substitute(dim, values);
}

Result<ValueId> find_input(const Graph& graph, const std::string& name) {
  if (name.empty() && graph.inputs().size() == 1) return graph.inputs().front();
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs()) {
    if (graph.value(id).name == name) return id;
    names.push_back(graph.value(id).name);
  }
  return Error{ErrorKind::kUsage, "--input-shapes",
               fmt::format("one of the inputs {} expected, '{}' found", fmt::join(names, ", "), name)};
}

/// Fixes the shape of one input; what its symbolic dims turn out to be goes into `dims`.
Result<void> fix_shape(Graph& graph, ValueId input, const Dims& shape, std::map<std::string, int64_t>& dims) {
  Value& value = graph.edit(input);
  const auto contradiction = [&]() {
    return invalid(value.name, "a shape that fits {} expected, [{}] found", value.type.text(), fmt::join(shape, ","));
  };
  if (value.type.shape) {
    if (value.type.shape->size() != shape.size()) return contradiction();
    for (size_t k = 0; k < shape.size(); ++k) {
      const Dim& declared = (*value.type.shape)[k];
      if (declared.is_constant()) {
        if (!declared.is(shape[k])) return contradiction();
        continue;
      }
      if (const te::Symbol* symbol = te::as<te::Symbol>(declared.expr())) {
        const auto [known, inserted] = dims.emplace(symbol->name, shape[k]);
        if (!inserted && known->second != shape[k]) return contradiction();
      }
    }
  }
  value.type.shape = Shape(shape.begin(), shape.end());
  if (value.declared) value.declared->shape = value.type.shape;
  return {};
}

}  // namespace

std::vector<std::string> free_dims(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueId id : graph.inputs()) {
    if (!graph.value(id).type.shape) continue;
    for (const Dim& dim : *graph.value(id).type.shape)
      te::for_each_node(dim.expr(), [&](const te::Expr& e) {
        const te::Symbol* symbol = te::as<te::Symbol>(e);
        if (symbol && std::find(names.begin(), names.end(), symbol->name) == names.end()) names.push_back(symbol->name);
      });
  }
  return names;
}

Error unknown_dim(const std::vector<std::string>& known, const std::string& name) {
  const std::string found = fmt::format("'{}' found", name);
  return {ErrorKind::kUsage, "--dim",
          known.empty() ? "no dim expected, as there are no free dims, " + found
                        : fmt::format("one of the dims {} expected, {}", fmt::join(known, ", "), found)};
}

Result<void> bind_inputs(Graph& graph, std::map<std::string, int64_t> dims, const std::map<std::string, Dims>& shapes) {
  if (dims.empty() && shapes.empty()) return {};
  const std::vector<std::string> known = free_dims(graph);
  for (const auto& [name, value] : dims)
    if (std::find(known.begin(), known.end(), name) == known.end()) return unknown_dim(known, name);
  for (const auto& [name, shape] : shapes) {
    TRY(const ValueId input, find_input(graph, name));
    TRY_VOID(fix_shape(graph, input, shape, dims));
  }
  for (const ValueId id : graph.values()) {
    Value& value = graph.edit(id);
    substitute(value.type, dims);
    if (value.declared) substitute(*value.declared, dims);
  }
  return infer(graph);
}

}  // namespace isomer
