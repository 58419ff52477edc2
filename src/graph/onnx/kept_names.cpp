#include "graph/onnx/kept_names.h"

#include <map>
#include <string_view>
#include <vector>

#include "graph/equal.h"
#include "graph/onnx/import_attribute.h"
#include "graph/onnx/onnx.pb.h"
#include "graph/onnx/parse.h"

namespace isomer {
namespace {

using onnx_proto::GraphProto;
using onnx_proto::ModelProto;

/// How often each value is read, by bodies as often as they read what stands for it.
std::vector<int64_t> count_reads(const Graph& graph) {
  const std::vector<int> uses = graph.use_counts();
  std::vector<int64_t> reads(uses.begin(), uses.end());
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.captures.empty()) continue;
    for (const auto& [name, attribute] : node.attributes)
      for (const Graph* body : bodies_of(attribute)) {
        const std::vector<int64_t> inner = count_reads(*body);
        for (size_t k = 0; k < node.captures.size(); ++k)
          reads[node.captures[k].index] += inner[body->captures()[k].index];
      }
  }
  return reads;
}

/// The values of a graph by their names, and how often they are read.
class Values {
 public:
  explicit Values(const Graph& graph) : graph_(graph) {
    for (const ValueId id : graph.values()) ids_.emplace(graph.value(id).name, id);
  }

  ValueId find(const std::string& name) const {
    const auto found = ids_.find(name);
    return found == ids_.end() ? ValueId{} : found->second;
  }
  /// nullptr: there is none, or callers may give another.
  const Tensor* constant(const std::string& name) const {
    const ValueId id = find(name);
    return id.valid() && graph_.is_constant(id) ? &*graph_.value(id).constant : nullptr;
  }
  int64_t reads(const std::string& name) const { return find(name).valid() ? reads_[find(name).index] : 0; }

 private:
  const Graph& graph_;
  std::map<std::string, ValueId> ids_;
  std::vector<int64_t> reads_ = count_reads(graph_);
};

/// A weight that is read as often as before is folded nowhere, and what is read of the graph has its name.
bool means_the_same(const TrainingNames& names, const Values& before, const Values& after) {
  for (const std::string& name : names.bound) {
    const Tensor *was = before.constant(name), *is = after.constant(name);
    if (!was || before.reads(name) + after.reads(name) == 0) continue;
    if (!is || !is->same_contents(*was) || before.reads(name) != after.reads(name)) return false;
  }
  for (const std::string& name : names.read)
    if (before.find(name).valid() && !before.constant(name) && !after.find(name).valid()) return false;
  return true;
}

}  // namespace

TrainingNames names_of_training(const ModelProto& model) {
  TrainingNames names;
  for (const auto& training : model.training_info()) {
    std::set<std::string_view> own;
    for (const auto& tensor : training.algorithm().initializer()) own.insert(tensor.name());
    for (const auto* bindings : {&training.initialization_binding(), &training.update_binding()})
      for (const auto& binding : *bindings)
        if (!own.contains(binding.key())) names.bound.insert(binding.key());
    for (const GraphProto* graph : {&training.initialization(), &training.algorithm()})
      for_each_free_name(*graph, [&](const std::string& name) { names.read.insert(name); });
  }
  return names;
}

std::set<std::string> names_of_parameters(const GraphProto& graph) {
  std::set<std::string> names;
  for (const auto& annotation : graph.quantization_annotation())
    for (const auto& parameter : annotation.quant_parameter_tensor_names()) names.insert(parameter.value());
  return names;
}

bool keep_named(Graph& graph, const Graph& original) {
  ModelProto model;
  GraphProto said;
  const bool parsed = parse_nested(original.info().extra, model) && parse_nested(original.extra, said);
  CHECK(parsed) << original.name;
  std::set<std::string> names = names_of_parameters(said);
  const TrainingNames training = names_of_training(model);
  if (model.training_info_size() == 0 && names.empty()) return true;
  const Values before(original), after(graph);
  const bool keeps = means_the_same(training, before, after);
  if (keeps) {
    names.insert(training.bound.begin(), training.bound.end());
    names.insert(training.read.begin(), training.read.end());
  } else {
    model.clear_training_info();
    model.clear_functions();  // which it alone may call
    graph.edit_info().extra = model.SerializePartialAsString();
  }
  for (const std::string& name : names) {
    const Tensor *was = before.constant(name), *is = after.constant(name);
    if (!was || (is && is->same_contents(*was))) continue;
    if (const ValueId other = after.find(name); other.valid()) graph.edit(other).name = graph.fresh_name(name);
    graph.add_value(original.value(before.find(name)));
  }
  return keeps;
}

}  // namespace isomer
