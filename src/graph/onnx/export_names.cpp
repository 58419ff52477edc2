#include "graph/onnx/export_names.h"

namespace isomer {

ExportNames::ExportNames(const Graph& graph, const std::vector<std::string>& captured, const ExportNames* outer)
    : outer_(outer) {
  const std::vector<ValueId> values = graph.values();
  names_.resize(values.empty() ? 0 : values.back().index + 1);
  for (size_t i = 0; i < captured.size(); ++i) names_[graph.captures()[i].index] = captured[i];
  for (const auto* interface : {&graph.inputs(), &graph.outputs()})
    for (const ValueId id : *interface)
      if (names_[id.index].empty()) give(id, graph.value(id).name);
  for (const ValueId id : values)
    if (names_[id.index].empty()) give(id, graph.value(id).name);
}

bool ExportNames::is_taken(const std::string& name) const {
  return taken_.contains(name) || (outer_ && outer_->is_taken(name));
}

std::string ExportNames::fresh(const std::string& hint) {
  std::string name = hint;
  for (int& suffix = last_suffix_[hint]; name.empty() || is_taken(name);) name = fmt::format("{}_{}", hint, ++suffix);
  taken_.insert(name);
  return name;
}

void ExportNames::give(ValueId id, const std::string& wanted) {
  names_[id.index] = fresh(wanted.empty() ? "value" : wanted);
}

}  // namespace isomer
