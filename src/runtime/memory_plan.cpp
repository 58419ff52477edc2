#include "runtime/memory_plan.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>

#include "runtime/artifact.h"
#include "util/check.h"

namespace isomer::runtime {
namespace {

int64_t padded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
bool meet(const Lifetime& a, const Lifetime& b) { return a.first_step <= b.last_step && b.first_step <= a.last_step; }
int64_t length(const Lifetime& lifetime) { return lifetime.last_step - lifetime.first_step + 1; }

/// Bytes alive in each step in which something begins; no other step has more.
std::map<int64_t, int64_t> live_bytes(const std::vector<Lifetime>& lifetimes) {
  std::map<int64_t, int64_t> change;
  for (const Lifetime& lifetime : lifetimes) {
    change[lifetime.first_step] += padded(lifetime.bytes);
    change[lifetime.last_step + 1] -= padded(lifetime.bytes);
  }
  int64_t live = 0;
  for (auto& [step, bytes] : change) bytes = live += bytes;
  return change;
}

/// One after the other into the smallest gap that holds it between those that it meets, else behind them.
MemoryPlan place(const std::vector<Lifetime>& lifetimes, const std::vector<size_t>& order) {
  MemoryPlan plan{std::vector<int64_t>(lifetimes.size()), 0};
  std::vector<size_t> placed;  // by offset
  for (const size_t k : order) {
    const int64_t bytes = padded(lifetimes[k].bytes);
    int64_t free_from = 0, best = -1, best_gap = std::numeric_limits<int64_t>::max();
    for (const size_t other : placed) {
      if (!meet(lifetimes[k], lifetimes[other])) continue;
      const int64_t gap = plan.offsets[other] - free_from;
      if (gap >= bytes && gap < best_gap) {
        best = free_from;
        best_gap = gap;
      }
      free_from = std::max(free_from, plan.offsets[other] + padded(lifetimes[other].bytes));
    }
    plan.offsets[k] = best >= 0 ? best : free_from;
    plan.arena_bytes = std::max(plan.arena_bytes, plan.offsets[k] + bytes);
    const auto behind =
        std::ranges::upper_bound(placed, plan.offsets[k], {}, [&](size_t other) { return plan.offsets[other]; });
    placed.insert(behind, k);
  }
  return plan;
}

}  // namespace

int64_t least_arena(const std::vector<Lifetime>& lifetimes) {
  int64_t most = 0;
  for (const auto& [step, bytes] : live_bytes(lifetimes)) most = std::max(most, bytes);
  return most;
}

MemoryPlan plan_memory(const std::vector<Lifetime>& lifetimes) {
  const auto live = live_bytes(lifetimes);
  // How crowded the most crowded step of a lifetime is: what must fit there goes first.
  std::vector<int64_t> breadth(lifetimes.size());
  std::vector<size_t> order;
  for (size_t k = 0; k < lifetimes.size(); ++k) {
    CHECK(lifetimes[k].bytes >= 0 && lifetimes[k].first_step <= lifetimes[k].last_step) << k;
    for (auto at = live.find(lifetimes[k].first_step); at != live.end() && at->first <= lifetimes[k].last_step; ++at)
      breadth[k] = std::max(breadth[k], at->second);
    if (lifetimes[k].bytes > 0) order.push_back(k);
  }
  using Key = std::function<double(size_t)>;
  const auto size = [&](size_t k) { return static_cast<double>(lifetimes[k].bytes); };
  const Key keys[] = {
      size,
      [&](size_t k) { return size(k) * static_cast<double>(length(lifetimes[k])); },
      [&](size_t k) { return static_cast<double>(breadth[k]); },
      [&](size_t k) { return static_cast<double>(length(lifetimes[k])); },
      [&](size_t k) { return -static_cast<double>(lifetimes[k].first_step); },
  };
  const int64_t least = least_arena(lifetimes);
  MemoryPlan best{std::vector<int64_t>(lifetimes.size()), 0};
  bool found = order.empty();
  for (const Key& key : keys) {
    if (found && best.arena_bytes == least) break;
    auto by_key = order;
    std::ranges::sort(by_key, [&](size_t a, size_t b) {
      if (key(a) != key(b)) return key(a) > key(b);
      return size(a) != size(b) ? size(a) > size(b) : a < b;
    });
    MemoryPlan plan = place(lifetimes, by_key);
    if (!found || plan.arena_bytes < best.arena_bytes) best = std::move(plan);
    found = true;
  }
  return best;
}

}  // namespace isomer::runtime
