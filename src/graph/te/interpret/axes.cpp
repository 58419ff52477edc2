#include "graph/te/interpret/axes.h"

#include <algorithm>
#include <cstdlib>

#include "graph/te/interpret/arithmetic.h"
#include "graph/te/interpret/strip_compile.h"

namespace isomer::te::interpreter {
namespace {

/// Calls look(sum) for the sums of the nodes that `reached` marks, and for the output.
template <class LoweredT, class F>
void for_each_sum(LoweredT& lowered, const std::vector<bool>& reached, bool output, F&& look) {
  for (size_t id = 0; id < lowered.nodes.size(); ++id) {
    if (!reached[id]) continue;
    look(lowered.nodes[id].linear);
    for (auto& check : lowered.nodes[id].checks) look(check.index);
  }
  if (output) look(lowered.output);
}

int bytes_of(Storage storage) {
  switch (storage) {
    case Storage::kDouble:
    case Storage::kInt64: return 8;
    case Storage::kFloat32:
    case Storage::kInt32:
    case Storage::kUInt32: return 4;
    case Storage::kFloat16:
    case Storage::kBFloat16:
    case Storage::kInt16:
    case Storage::kUInt16: return 2;
    case Storage::kInt8:
    case Storage::kUInt8:
    case Storage::kBool: return 1;
  }
  return 8;
}

double access_cost(int64_t stride, int bytes) {
  if (stride == 0) return 0;
  if (stride == 1) return bytes == 8 ? 0.1 : 0.3;
  return std::llabs(stride) * bytes >= 64 ? 2.5 : 1.0;
}

}  // namespace

std::vector<bool> reachable(const Lowered& lowered, const std::vector<int>& roots) {
  std::vector<bool> reached(lowered.nodes.size(), false);
  for (const int root : roots) reached[root] = true;
  for (size_t id = lowered.nodes.size(); id-- > 0;)
    if (reached[id]) for_each_operand(lowered.nodes[id], [&](int operand) { reached[operand] = true; });
  return reached;
}

Group iterators_of(const Lowered& lowered, Role role) {
  Group group;
  for (size_t k = 0; k < lowered.iterators.size(); ++k)
    if (lowered.iterators[k].role == role && lowered.iterators[k].extent > 1) group.push_back(static_cast<int>(k));
  return group;
}

void coalesce(Lowered& lowered, const std::vector<int>& roots, bool output, const std::vector<Group>& groups) {
  const std::vector<bool> reached = reachable(lowered, roots);
  std::vector<Iterator>& iterators = lowered.iterators;
  const auto join = [&](int outer, int inner) {
    bool joins = Range::exactly(iterators[inner].extent) * Range::exactly(iterators[outer].extent) != Range();
    for_each_sum(std::as_const(lowered), reached, output, [&](const Linear& sum) {
      joins = joins && sum.factor_of(outer) == wrapping::mul(iterators[inner].extent, sum.factor_of(inner));
    });
    if (!joins) return false;
    for_each_sum(lowered, reached, output,
                 [&](Linear& sum) { std::erase_if(sum.terms, [&](const Term& term) { return term.atom == outer; }); });
    for (Node& node : lowered.nodes) node.depends &= ~(uint64_t{1} << outer);
    iterators[inner].extent *= iterators[outer].extent;
    iterators[outer].extent = 1;
    return true;
  };
  for (const Group& group : groups) {
    size_t inner = group.size();
    for (size_t outer = group.size(); outer-- > 0;)
      if (inner == group.size() || !join(group[outer], group[inner])) inner = outer;
  }
}

double strip_cost(const Lowered& lowered, const std::vector<Storage>& storages, const std::vector<int>& roots,
                  int vector, bool reduces) {
  constexpr double kStrip = 30, kUniform = 4, kLane = 0.3, kGather = 2.5;
  const std::vector<bool> reached = reachable(lowered, roots);
  const Variance variance = interpreter::variance(lowered, vector);
  const int64_t extent = vector < 0 ? 1 : lowered.iterators[vector].extent;
  double strip = kStrip, lane = 0;
  for (size_t id = 0; id < lowered.nodes.size(); ++id) {
    const Node& node = lowered.nodes[id];
    if (!reached[id] || node.kind == Node::Kind::kReal || node.kind == Node::Kind::kInteger) continue;
    strip += kUniform;
    if (!variance.varies[id]) continue;
    if (node.kind != Node::Kind::kLoad)
      lane += kLane;
    else if (variance.fits_slot(node.linear))
      lane += access_cost(node.linear.factor_of(vector), bytes_of(storages[node.buffer]));
    else
      lane += kGather;
  }
  const bool along_reduction = vector >= 0 && lowered.iterators[vector].role == Role::kReduce;
  if (!reduces)
    lane += access_cost(lowered.output.factor_of(vector), 8);
  else if (along_reduction)
    strip += 60 + kLane * static_cast<double>(std::min<int64_t>(extent, 256));  // combining the lanes in the end
  return lane + strip / static_cast<double>(std::min<int64_t>(extent, 512));
}

int neighbouring_iterator(const Lowered& lowered, const std::vector<int>& roots, int vector) {
  const std::vector<bool> reached = reachable(lowered, roots);
  const auto find = [&](const Linear& sum) {
    if (vector < 0 || std::llabs(sum.factor_of(vector)) <= 1) return -1;
    for (const Term& term : sum.terms)
      if (is_iterator(term.atom) && std::llabs(term.factor) == 1 && lowered.iterators[term.atom].role == Role::kSpatial)
        return term.atom;
    return -1;
  };
  for (size_t id = 0; id < lowered.nodes.size(); ++id)
    if (reached[id] && lowered.nodes[id].kind == Node::Kind::kLoad)
      if (const int iterator = find(lowered.nodes[id].linear); iterator >= 0) return iterator;
  return find(lowered.output);
}

}  // namespace isomer::te::interpreter
