#include "search/estimate.h"

#include <algorithm>
#include <set>

#include "graph/infer.h"
#include "graph/op_def.h"
#include "graph/passes/fold_constants.h"
#include "search/fuse.h"
#include "search/graph_cost.h"
#include "substitutions/part.h"

namespace isomer {
namespace {

using substitutions::Program;

// A core with vectors, as found in servers of the last ten years, within a factor of three.
constexpr double kOperationsPerMicrosecond = 6e4;
constexpr double kBytesPerMicrosecond = 1e4;
constexpr double kStart = 0.5;
/// What moves or maps elements is fused into what makes or reads them, mostly.
constexpr double kUnfused = 0.4;
/// Of an application that can't be looked at by itself.
constexpr double kUnknown = 1;

double points(const Shape& shape) {
  double result = 1;
  for (const Dim& dim : shape) result *= static_cast<double>(dim.constant().value_or(1));
  return result;
}

struct Work {
  double operations = 0;
  bool reduces = false;
};

Work work_of(const te::Program& program) {
  Work work;
  for (const te::Stage& stage : program.stages) {
    const auto* body = std::get_if<te::MapReduce>(&stage.body);
    if (!body) {
      work.reduces = true;
      continue;
    }
    int each = body->combine.arity() > 0 ? 1 : 0;
    for (const te::Expr& e : body->bodies)
      te::for_each_node(e, [&](const te::Expr& part) { each += is_float(part.dtype()) && (te::as<te::Binary>(part) || te::as<te::Unary>(part)); });
    work.operations += each * points(body->axes) * points(body->reduce);
    work.reduces = work.reduces || body->combine.arity() > 0;
  }
  return work;
}

struct OfNode {
  double microseconds;
  bool reduces;
};

OfNode estimate(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const auto program = node.op->compute(context_of(graph, id));
  if (!program.ok()) return {kUnknown, true};
  std::vector<kernel::TaskType> types;
  double bytes = 0;
  for (const auto* list : {&node.inputs, &node.outputs})
    for (const ValueId value : *list) {
      if (!value.valid()) {
        if (list == &node.inputs) types.push_back({DataType::kUndefined, {}});
        continue;
      }
      const ValueType& type = graph.value(value).type;
      if (list == &node.inputs) types.push_back({type.dtype, *type.shape});
      bytes += static_cast<double>(packed_bytes(type.dtype, 1)) * points(*type.shape);
    }
  if (viewed_input(*program, types) >= 0) return {0, false};
  const Work work = work_of(*program);
  const double moved = bytes / kBytesPerMicrosecond;
  return {work.reduces ? kStart + std::max(work.operations / kOperationsPerMicrosecond, moved) : kUnfused * (kStart + moved), work.reduces};
}

}  // namespace

double estimate(const Graph& graph) {
  Graph folded = graph;
  if (!assume_folded(folded).ok()) return kUnknown * graph.node_count();
  double sum = 0;
  for (const NodeId id : folded.nodes()) sum += folded.node(id).op && folded.node(id).op->compute ? estimate(folded, id).microseconds : kUnknown;
  return sum;
}

int64_t weight_bytes(const Program& program) {
  const Program::Uses uses = program.uses();
  const auto computes = [&](int id) {
    const Program::Application& there = program.application(id);
    return there.value_count == 0 || !program.value(there.first_value).is_constant;
  };
  std::set<int> outputs(program.outputs().begin(), program.outputs().end());
  std::set<std::vector<int>> known;
  int64_t bytes = 0;
  for (int id = 0; id < program.value_count(); ++id) {
    const Program::Value& value = program.value(id);
    const auto readers = uses.of(id);
    if (!value.is_constant || (!outputs.contains(id) && std::none_of(readers.begin(), readers.end(), computes))) continue;
    if (value.producer >= 0) {
      // Made twice of the same it is one in the end.
      std::vector<int> key = {program.application(value.producer).operation, value.index};
      const auto arguments = program.arguments(value.producer);
      key.insert(key.end(), arguments.begin(), arguments.end());
      if (!known.insert(std::move(key)).second) continue;
    }
    const ValueType& type = program.theory().signatures().type(value.type);
    if (const auto dims = type.has_shape() ? constants(*type.shape) : std::nullopt) bytes += packed_bytes(type.dtype, element_count(*dims));
  }
  return bytes;
}

size_t Estimates::KeyHash::operator()(const std::vector<int>& key) const {
  Hasher hasher;
  for (const int word : key) hasher.add(static_cast<uint64_t>(word));
  return hasher.finish().low;
}

Estimates::Estimate Estimates::look(const Program& program, int application) {
  std::vector<int> key = {program.application(application).operation};
  for (const int argument : program.arguments(application)) key.push_back(program.value(argument).type);
  const auto [known, is_new] = known_.try_emplace(std::move(key), Estimate{kUnknown, true, false});
  if (!is_new) return known->second;
  const auto graph = substitutions::graph_of(substitutions::part_of(program, std::span(&application, 1), program.uses()).program);
  if (graph.ok() && graph->node_count() == 1) {
    const OfNode found = estimate(*graph, graph->nodes().front());
    known->second = {found.microseconds, found.reduces, isomer::can_be_folded(*graph, graph->nodes().front())};
  }
  return known->second;
}

double Estimates::application(const Program& program, int application) {
  const Program::Application& there = program.application(application);
  if (there.operation == Program::kRemoved || (there.value_count > 0 && program.value(there.first_value).is_constant)) return 0;
  return there.operation == Program::kOpaque ? kUnknown : look(program, application).microseconds;
}

bool Estimates::reduces(const Program& program, int application) { return program.application(application).operation < 0 || look(program, application).reduces; }

bool Estimates::can_be_folded(const Program& program, int application) { return program.application(application).operation >= 0 && look(program, application).can_be_folded; }

}  // namespace isomer
