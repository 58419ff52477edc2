#include "search/cost/estimate.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/op_def.h"
#include "graph/passes/fold_constants.h"
#include "search/cost/graph_cost.h"
#include "search/cost/work.h"
#include "substitutions/rewrite/subprogram.h"
#include "util/check.h"

namespace isomer::search {
namespace {

using substitutions::Program;

constexpr double kStartOfNode = 0.5;
/// What moves or maps elements is fused into what makes or reads them, mostly.
constexpr double kUnfused = 0.4;
/// Of an application that can't be looked at by itself.
constexpr double kUnknown = 1;

struct OfNode {
  double microseconds;
  bool reduces;
  NodeWork work = {};
};

OfNode estimate(const Graph& graph, NodeId id) {
  const auto work = work_of(graph, id);
  if (!work) return {kUnknown, true};
  if (work->is_view) return {0, false};
  const double moved = work->bytes / kBytesPerMicrosecond;
  return {work->reduces ? kStartOfNode + std::max(work->operations / kOperationsPerMicrosecond, moved)
                        : kUnfused * (kStartOfNode + moved),
          work->reduces, *work};
}

}  // namespace

double estimate(const Graph& graph) {
  Graph folded = graph;
  if (!assume_folded(folded, Folded::kAllButDequantized).ok()) return kUnknown * graph.node_count();
  double sum = 0;
  for (const NodeId id : folded.nodes())
    sum += folded.node(id).op && folded.node(id).op->compute ? estimate(folded, id).microseconds : kUnknown;
  return sum;
}

int64_t weight_bytes(const Program& program) {
  const Program::Uses uses = program.uses();
  const auto is_computed = [&](int id) {
    const Program::Application& there = program.application(id);
    return there.value_count == 0 || !program.value(there.first_value).is_constant;
  };
  // What is made twice of the same becomes one.
  std::vector<int> same(static_cast<size_t>(program.value_count()));
  for (size_t id = 0; id < same.size(); ++id) same[id] = static_cast<int>(id);
  std::map<std::vector<int>, int> made;
  const auto order = program.order();
  CHECK(order) << "a program without cycle expected";
  for (const int id : *order) {
    if (is_computed(id)) continue;
    const Program::Application& there = program.application(id);
    std::vector<int> key = {there.operation};
    for (const int argument : program.arguments(id)) key.push_back(same[static_cast<size_t>(argument)]);
    const int first = made.try_emplace(std::move(key), there.first_value).first->second;
    for (int k = 0; k < there.value_count; ++k) same[static_cast<size_t>(there.first_value + k)] = first + k;
  }
  std::set<int> left;
  for (const int output : program.outputs()) left.insert(output);
  for (int id = 0; id < program.value_count(); ++id) {
    const auto readers = uses.of(id);
    if (std::any_of(readers.begin(), readers.end(), is_computed)) left.insert(same[static_cast<size_t>(id)]);
  }
  int64_t bytes = 0;
  for (const int id : left) {
    const ValueType& type = program.theory().signatures().type(program.value(id).type);
    const auto dims = program.value(id).is_constant && type.has_shape() ? constants(*type.shape) : std::nullopt;
    if (dims) bytes += byte_size(type.dtype, element_count(*dims));
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
  const auto graph = substitutions::graph_of(
      substitutions::subprogram_of(program, std::span(&application, 1), program.uses()).program);
  if (graph.ok() && graph->node_count() == 1) {
    const OfNode found = estimate(*graph, graph->nodes().front());
    known->second = {found.microseconds, found.reduces, isomer::can_be_folded(*graph, graph->nodes().front()),
                     found.work};
  }
  return known->second;
}

bool Estimates::is_gone(const Program& program, int application) {
  const Program::Application& there = program.application(application);
  return there.operation == Program::kRemoved ||
         (there.value_count > 0 && program.value(there.first_value).is_constant);
}

double Estimates::application(const Program& program, int application) {
  if (is_gone(program, application)) return 0;
  return program.application(application).operation == Program::kOpaque ? kUnknown
                                                                        : look(program, application).microseconds;
}

NodeWork Estimates::work(const Program& program, int application) {
  if (is_gone(program, application) || program.application(application).operation == Program::kOpaque) return {};
  return look(program, application).work;
}

bool Estimates::reduces(const Program& program, int application) {
  return program.application(application).operation < 0 || look(program, application).reduces;
}

bool Estimates::can_be_folded(const Program& program, int application) {
  return program.application(application).operation >= 0 && look(program, application).can_be_folded;
}

}  // namespace isomer::search
