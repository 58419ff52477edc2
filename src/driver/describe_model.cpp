#include <algorithm>
#include <set>

#include "driver/load_model.h"
#include "driver/public_options.h"
#include "driver/staging_folder.h"
#include "driver/told.h"
#include "graph/bind.h"
#include "graph/edit.h"
#include "graph/onnx/export.h"
#include "graph/te/symbols.h"
#include "isomer/model.h"
#include "verify/check/check.h"
#include "verify/check/pairs.h"

namespace isomer {
namespace {

/// Names of dims that have none in the file: VALUE.AXIS.
std::set<std::string> invented_names(const Graph& graph) {
  std::set<std::string> names;
  for (const ValueId id : graph.values()) {
    const Value& value = graph.value(id);
    if (!value.type.has_shape()) continue;
    for (size_t axis = 0; axis < value.type.shape->size(); ++axis) names.insert(fmt::format("{}.{}", value.name, axis));
  }
  return names;
}

ModelDim dim_of(const Dim& dim, const std::set<std::string>& invented) {
  if (dim.is_constant()) return dim.value();
  if (te::any_symbol(dim.expr(), [&](const std::string& name) { return invented.contains(name); })) return "";
  const std::string* const name = only_name(dim);
  return name ? *name : dim.text();
}

ModelPort port_of(const Value& value, const std::set<std::string>& invented) {
  ModelPort port;
  port.name = value.name;
  if (value.type.is_tensor()) port.type = std::string(name(value.type.dtype));
  port.has_shape = value.type.has_shape();
  if (!port.has_shape) return port;
  for (const Dim& dim : *value.type.shape) port.shape.push_back(dim_of(dim, invented));
  return port;
}

Result<ModelDescription> description_of(const std::string& model, const std::vector<Operator>& operators) {
  Settings settings;
  TRY(settings.operators, operators_of(operators));
  TRY(const LoadedModel loaded, load_model(model, settings));
  const Graph& graph = loaded.graph;
  ModelDescription result;
  const std::set<std::string> invented = invented_names(graph);
  for (const ValueId input : graph.inputs()) {
    const Value& value = graph.value(input);
    (value.constant ? result.overridable : result.inputs).push_back(port_of(value, invented));
  }
  for (const ValueId output : graph.outputs()) result.outputs.push_back(port_of(graph.value(output), invented));
  result.free_dims = free_dims(graph);
  result.operators = loaded.file.operators;
  result.nodes = loaded.file.nodes;
  result.weight_bytes = count_bytes(graph);
  result.external_files = loaded.file.external_files;
  const isomer::ModelInfo& info = graph.info();
  result.graph_name = graph.name;
  result.producer_name = info.producer_name;
  result.producer_version = info.producer_version;
  result.domain = info.domain;
  result.doc_string = info.doc_string;
  result.graph_doc_string = loaded.file.graph_doc;
  result.model_version = info.model_version;
  result.ir_version = info.ir_version;
  result.opsets = info.opsets;
  result.metadata = info.metadata;
  return result;
}

/// Each output was compared, or comes in both models from one node that has no row and reads what was compared.
Result<void> check_outputs(const Graph& first, const Graph& second, const Equivalence& found) {
  const auto is_made_by_opaque = [](const Graph& graph, const std::string& name) {
    return std::ranges::any_of(graph.outputs(), [&](ValueId output) {
      const Value& value = graph.value(output);
      return value.name == name && value.producer.valid() && graph.node(value.producer).is_opaque();
    });
  };
  for (const ValueId output : first.outputs()) {
    const std::string& name = first.value(output).name;
    if (std::ranges::any_of(found.outputs, [&](const OutputCoverage& each) { return each.name == name; })) continue;
    if (std::ranges::none_of(second.outputs(), [&](ValueId each) { return second.value(each).name == name; }))
      return Error{ErrorKind::kMismatch, "outputs", fmt::format("'{}' expected, none found", name)};
    if (!is_made_by_opaque(first, name) || !is_made_by_opaque(second, name))
      return unsupported("outputs", "'{}' of nodes that can be run expected, one behind others found", name);
  }
  return {};
}

Result<ModelComparison> comparison_of(const std::string& reference, const std::string& candidate,
                                      const CompareModelsOptions& options) {
  TRY(const Settings settings, settings_of(options));
  TRY(const LoadedModel first, load_model(reference, settings));
  TRY(LoadedModel second, load_model(candidate, settings));
  put_in_order(second.graph, first.graph);
  TRY(const CheckReport report, check_same(first.graph, second.graph,
                                           {.seed = settings.seed,
                                            .runs = std::max(options.runs, 1),
                                            .threads = settings.threads,
                                            .memory = settings.memory}));
  const Equivalence& found = report.equivalence;
  TRY_VOID(check_outputs(first.graph, second.graph, found));
  return ModelComparison{found.passed(), found.max_abs_error, found.max_error_over_bound, found.runs,
                         found.difference ? found.difference->text() : found.text()};
}

}  // namespace

Expected<ModelDescription> describe_model(const std::string& model, const std::vector<Operator>& operators) {
  return told<ModelDescription>(nullptr, [&] { return description_of(model, operators); });
}

Expected<void> save_model(const std::string& model, const std::string& place) {
  const auto saved = told<bool>(nullptr, [&]() -> Result<bool> {
    TRY(const LoadedModel loaded, load_model(model, {}));
    TRY(StagingFolder staging, StagingFolder::beside(place));
    if (auto done = staging.write_model(loaded.graph); !done.ok()) return std::move(done).error().within(model);
    TRY_VOID(staging.release());
    return true;
  });
  if (!saved) return saved.error();
  return {};
}

Expected<ModelComparison> compare_models(const std::string& reference, const std::string& candidate,
                                         const CompareModelsOptions& options) {
  return told<ModelComparison>(options.stop, [&] { return comparison_of(reference, candidate, options); });
}

}  // namespace isomer
