#include "tune/possible.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "kernel/tree.h"

namespace isomer::tune {
namespace {

using kernel::Block;
using kernel::Buffer;
using kernel::Expr;
using kernel::Iterator;
using kernel::Kernel;

/// A spatial or a reduce iterator of a block.
using IteratorId = std::pair<te::VarKind, int>;

std::set<IteratorId> iterators_in(const Expr& expr) {
  std::set<IteratorId> found;
  te::for_each_node(expr, [&](const Expr& e) {
    if (const auto* var = te::as<te::Var>(e)) found.insert({var->kind, var->index});
  });
  return found;
}

double extent_of(const Block& block, const IteratorId& id) {
  const auto& [kind, index] = id;
  if (kind != te::VarKind::kSpatial && kind != te::VarKind::kReduce) return 1;
  const std::vector<Iterator>& all = kind == te::VarKind::kSpatial ? block.axes : block.reduce;
  return static_cast<double>(te::as_constant(all[static_cast<size_t>(index)].extent).value_or(1));
}

/// Another value of an iterator is another value of the expression.
bool is_affine(const Expr& expr) {
  if (te::as_constant(expr) || te::as<te::Var>(expr)) return true;
  const auto* binary = te::as<te::Binary>(expr);
  if (!binary) return false;
  if (binary->op == te::BinaryOp::kMul)
    return (te::as_constant(binary->right).value_or(0) != 0 && is_affine(binary->left)) ||
           (te::as_constant(binary->left).value_or(0) != 0 && is_affine(binary->right));
  return (binary->op == te::BinaryOp::kAdd || binary->op == te::BinaryOp::kSub) && is_affine(binary->left) &&
         is_affine(binary->right);
}

/// Elements that a load reads at least: each axis in as many places as the longest iterator has that no other axis has.
double elements_of(const Block& block, const te::Load& load) {
  double elements = 1;
  for (size_t axis = 0; axis < load.index.size(); ++axis) {
    if (!is_affine(load.index[axis])) continue;
    double places = 1;
    for (const IteratorId& id : iterators_in(load.index[axis])) {
      bool is_shared = false;
      for (size_t other = 0; other < load.index.size(); ++other)
        is_shared = is_shared || (other != axis && iterators_in(load.index[other]).contains(id));
      if (!is_shared) places = std::max(places, extent_of(block, id));
    }
    elements *= places;
  }
  return elements;
}

/// What a block does, whatever the data are.
struct Work {
  std::vector<const te::Load*> loads;  ///< at each point
  std::set<IteratorId> used, conditions;
  bool multiplies = false, is_wide = true;
};

void add(Work& work, const Expr& expr, bool is_conditional) {
  if (const auto* load = te::as<te::Load>(expr)) {
    if (!is_conditional) work.loads.push_back(load);
    work.is_wide = work.is_wide && bit_width(expr.dtype()) >= 32;
  }
  if (const auto* binary = te::as<te::Binary>(expr)) work.multiplies |= binary->op == te::BinaryOp::kMul;
  if (const auto* select = te::as<te::Select>(expr)) {
    work.conditions.merge(iterators_in(select->condition));
    add(work, select->condition, is_conditional);
    add(work, select->then, true);
    add(work, select->otherwise, true);
    return;
  }
  for (const Expr& child : te::detail::children(expr)) add(work, child, is_conditional);
}

Work work_of(const Block& block) {
  Work work;
  for (const Expr& body : block.bodies) {
    work.used.merge(iterators_in(body));
    add(work, body, false);
  }
  return work;
}

/// Operations of a sum; terms that are the same at many points may be computed once.
double flops_of(const Block& block, const Work& work) {
  if (!block.is_reduction() || !work.is_wide) return 0;
  double points = work.multiplies ? 2 : 1;
  for (const IteratorId& id : work.used)
    if (id.first == te::VarKind::kSpatial || !work.conditions.contains(id)) points *= extent_of(block, id);
  return points;
}

/// Buffers that depend on constants alone, which is computed beforehand.
std::set<int> constants_of(const Kernel& kernel, const std::vector<const Block*>& blocks) {
  std::set<int> constants;
  for (int buffer = 0; buffer < static_cast<int>(kernel.buffers.size()); ++buffer)
    if (kernel.buffers[static_cast<size_t>(buffer)].is_constant) constants.insert(buffer);
  for (const Block* block : blocks)
    if (std::ranges::all_of(kernel::loads(*block), [&](int buffer) { return constants.contains(buffer); }))
      for (const kernel::Write& write : block->writes) constants.insert(write.buffer);
  return constants;
}

}  // namespace

Result<Peaks> greatest_peaks(kernel::Records& records, const std::string& target, const Peaks& now) {
  Peaks peaks = now;
  const std::pair<const char*, double*> kept[] = {{"greatest_fma_gflops", &peaks.fma},
                                                  {"greatest_second_gbs", &peaks.second},
                                                  {"greatest_last_gbs", &peaks.last},
                                                  {"greatest_memory_gbs", &peaks.memory}};
  for (const auto& [name, peak] : kept) {
    TRY(const auto known, records.constant(target, name));
    if (known && *known >= *peak)
      *peak = *known;
    else
      TRY_VOID(records.set_constant(target, name, *peak));
  }
  return peaks;
}

Result<Peaks> peaks_of_target(kernel::Records& records, const std::string& target, int threads) {
  constexpr int kOften = 3;
  constexpr const char* kTimes = "times_peaks_were_measured";
  TRY(const auto times, records.constant(target, kTimes));
  if (times && *times >= kOften) {
    TRY(const Peaks known, greatest_peaks(records, target, {}));
    // Others may have written the file: where a peak is missing, no kernel would be possible.
    if (std::min({known.fma, known.second, known.last, known.memory}) > 0) return known;
  }
  const Peaks now = measure_peaks(threads);
  TRY_VOID(records.set_constant(target, kTimes, times.value_or(0) + 1));
  return greatest_peaks(records, target, now);
}

double possible_us(const Kernel& kernel, const Peaks& peaks, Weights where) {
  std::vector<const Block*> blocks;
  kernel::for_each_block(kernel.body, [&](const Block& block, const auto&) { blocks.push_back(&block); });
  const std::set<int> constants = constants_of(kernel, blocks);
  std::map<int, double> needed;  // elements at least, by buffer
  const auto elements = [&](int buffer) {
    return static_cast<double>(element_count(kernel.buffers[static_cast<size_t>(buffer)].shape).constant().value_or(0));
  };
  for (const int output : kernel.outputs)
    if (output >= 0) needed[output] = elements(output);
  double flops = 0;
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    // Of what it writes only a part may be read.
    double share = 0;
    for (const kernel::Write& write : (*block)->writes)
      if (const double all = constants.contains(write.buffer) ? 0 : elements(write.buffer); all > 0)
        share = std::max(share, needed[write.buffer] / all);
    if (share == 0 || (*block)->predicate) continue;
    const Work work = work_of(**block);
    flops += share * flops_of(**block, work);
    for (const te::Load* load : work.loads) {
      double& least = needed[load->buffer.index];
      least = std::max(least, share * std::min(elements_of(**block, *load), elements(load->buffer.index)));
    }
  }
  double weights = 0, values = 0;
  for (const auto& [buffer, count] : needed) {
    const Buffer& there = kernel.buffers[static_cast<size_t>(buffer)];
    const double bytes = count * bit_width(there.dtype) / 8;
    if (constants.contains(buffer))
      weights += bytes;
    else if (kernel::is_argument(kernel, buffer))
      values += bytes;
  }
  const double moved = values / (values < Peaks::kLast ? peaks.second : peaks.last) +
                       weights / (where == Weights::kInCache ? peaks.second : peaks.memory);
  return std::max(flops / peaks.fma, moved) / 1e3 / kImpossiblyFast;
}

}  // namespace isomer::tune
