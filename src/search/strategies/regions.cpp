#include "search/strategies/regions.h"

#include <algorithm>
#include <limits>
#include <map>

#include "util/check.h"

namespace isomer::search {
namespace {

using substitutions::Program;

/// Of cutting at a seam of an earlier cut: like this many values alive.
constexpr int64_t kSeam = 1000;
/// Readers of one value in a region, at most.
constexpr int kMostReaders = 10;

/// Values alive behind each application of the order: made, or read for the first time, up to there, and read later or
/// an output.
std::vector<int64_t> alive_behind(const Program& program, const std::vector<int>& order) {
  const auto values = static_cast<size_t>(program.value_count());
  std::vector<int> first(values, -1), last(values, -1);
  for (int k = 0; k < static_cast<int>(order.size()); ++k) {
    const Program::Application& there = program.application(order[static_cast<size_t>(k)]);
    for (int j = 0; j < there.value_count; ++j) first[static_cast<size_t>(there.first_value + j)] = k;
    for (const int argument : program.arguments(order[static_cast<size_t>(k)])) {
      if (argument < 0) continue;
      if (first[static_cast<size_t>(argument)] < 0) first[static_cast<size_t>(argument)] = k;
      last[static_cast<size_t>(argument)] = k;
    }
  }
  for (const int output : program.outputs()) last[static_cast<size_t>(output)] = static_cast<int>(order.size());
  std::vector<int64_t> changes(order.size() + 1), alive(order.size());
  for (size_t k = 0; k < values; ++k) {
    if (program.value(static_cast<int>(k)).is_constant || first[k] < 0 || last[k] <= first[k]) continue;
    ++changes[static_cast<size_t>(first[k])];
    --changes[static_cast<size_t>(last[k])];
  }
  int64_t now = 0;
  for (size_t k = 0; k < order.size(); ++k) alive[k] = now += changes[k];
  return alive;
}

bool is_searched(const Program& program, int id) {
  const Program::Application& there = program.application(id);
  return there.operation >= 0 && there.value_count > 0 && !program.value(there.first_value).is_constant;
}

/// The first of the candidates, which stand in an order in which they can run, and at most so many of those that need
/// none of the chosen.
std::vector<int> independent_ones(const Program& program, const Program::Uses& uses, const std::vector<int>& candidates,
                                  int most) {
  std::vector<bool> needs_chosen(static_cast<size_t>(program.application_count()));
  std::vector<int> chosen, pending;
  for (const int candidate : candidates) {
    if (static_cast<int>(chosen.size()) == most) break;
    if (needs_chosen[static_cast<size_t>(candidate)]) continue;
    chosen.push_back(candidate);
    for (pending = {candidate}; !pending.empty();) {
      const Program::Application& there = program.application(pending.back());
      pending.pop_back();
      for (int k = 0; k < there.value_count; ++k)
        for (const int reader : uses.of(there.first_value + k)) {
          if (needs_chosen[static_cast<size_t>(reader)]) continue;
          needs_chosen[static_cast<size_t>(reader)] = true;
          pending.push_back(reader);
        }
    }
  }
  return chosen;
}

bool reads_shared_constant(const Program& program, const Program::Uses& uses, int id) {
  const auto arguments = program.arguments(id);
  return std::any_of(arguments.begin(), arguments.end(), [&](int value) {
    return value >= 0 && program.value(value).is_constant && !program.number(value) && uses.of(value).size() > 1;
  });
}

/// What reads the region's values and is not heavy, and what reads that.
void add_light_readers(const Program& program, const Program::Uses& uses, const std::function<bool(int)>& is_heavy,
                       int most, std::vector<int>& region) {
  std::set<int> inside(region.begin(), region.end());
  for (size_t next = 0; next < region.size() && static_cast<int>(region.size()) < most; ++next) {
    const Program::Application& there = program.application(region[next]);
    for (int k = 0; k < there.value_count; ++k)
      for (const int near : uses.of(there.first_value + k))
        if (static_cast<int>(region.size()) < most && is_searched(program, near) && !is_heavy(near) &&
            inside.insert(near).second)
          region.push_back(near);
  }
}

}  // namespace

Regions regions_of(const Program& program, const std::set<int>& earlier_seams, const RegionOptions& options) {
  const auto whole_order = program.order();
  CHECK(whole_order) << "a program without cycle expected";
  const std::vector<int64_t> alive = alive_behind(program, *whole_order);
  std::vector<int> order;
  std::vector<int64_t> price;  // of a cut behind each of them
  for (size_t k = 0; k < whole_order->size(); ++k) {
    if (!is_searched(program, (*whole_order)[k])) continue;
    order.push_back((*whole_order)[k]);
    price.push_back(alive[k]);
  }
  // What is alive everywhere, a mask that all layers read, makes no difference.
  const int64_t least = price.size() < 2 ? 0 : *std::min_element(price.begin(), price.end() - 1);
  for (int64_t& each : price) each -= least;
  const int near = options.least / 2;
  for (int k = 0; k < static_cast<int>(order.size()); ++k) {
    if (!earlier_seams.contains(order[static_cast<size_t>(k)])) continue;
    for (int other = std::max(0, k - near); other <= std::min(static_cast<int>(order.size()) - 1, k + near); ++other)
      price[static_cast<size_t>(other)] += kSeam;
  }
  // The cheapest cut of what is before each place; of equally cheap ones the one with the most regions.
  struct Best {
    int64_t price = std::numeric_limits<int64_t>::max();
    int regions = 0, from = 0;
  };
  const int count = static_cast<int>(order.size());
  std::vector<Best> best(static_cast<size_t>(count) + 1);
  best[0] = {0, 0, 0};
  for (int end = 1; end <= count; ++end)
    for (int from = std::max(0, end - options.most); from < end; ++from) {
      const Best& before = best[static_cast<size_t>(from)];
      const bool is_long_enough = end - from >= options.least || end == count;
      if (!is_long_enough || before.price == std::numeric_limits<int64_t>::max()) continue;
      const int64_t total = before.price + (end == count ? 0 : price[static_cast<size_t>(end) - 1]);
      Best& there = best[static_cast<size_t>(end)];
      if (total < there.price || (total == there.price && before.regions + 1 > there.regions))
        there = {total, before.regions + 1, from};
    }
  Regions result;
  for (int end = count; end > 0; end = best[static_cast<size_t>(end)].from) {
    const int from = best[static_cast<size_t>(end)].from;
    result.applications.emplace_back(order.begin() + from, order.begin() + end);
    if (end < count) result.seams.insert(order[static_cast<size_t>(end) - 1]);
  }
  std::reverse(result.applications.begin(), result.applications.end());
  return result;
}

std::vector<std::vector<int>> sharing_regions(const Program& program, const Sharing& sharing,
                                              const std::function<bool(int)>& is_heavy, const RegionOptions& options) {
  const Program::Uses uses = program.uses();
  const auto order = program.order();
  CHECK(order) << "a program without cycle expected";
  std::vector<int> position(static_cast<size_t>(program.application_count()));
  for (size_t k = 0; k < order->size(); ++k) position[static_cast<size_t>((*order)[k])] = static_cast<int>(k);
  std::set<std::vector<int>> known;
  std::vector<std::vector<int>> result;
  for (int value = 0; value < program.value_count(); ++value) {
    if (program.value(value).is_constant != (sharing.shared == Shared::kConstant)) continue;
    std::map<const OpDef*, std::vector<int>> readers;
    for (const int reader : uses.of(value))
      if (is_searched(program, reader) && is_heavy(reader) &&
          (sharing.beside == Beside::kLightReaders || reads_shared_constant(program, uses, reader)))
        readers[program.op(reader)].push_back(reader);
    for (auto& [op, all] : readers) {
      std::sort(all.begin(), all.end(),
                [&](int a, int b) { return position[static_cast<size_t>(a)] < position[static_cast<size_t>(b)]; });
      while (all.size() > 1) {
        std::vector<int> region = independent_ones(program, uses, all, kMostReaders);
        std::erase_if(all, [&](int id) { return std::find(region.begin(), region.end(), id) != region.end(); });
        if (region.size() < 2) continue;
        if (sharing.beside == Beside::kLightReaders) add_light_readers(program, uses, is_heavy, options.most, region);
        std::sort(region.begin(), region.end());
        if (known.insert(region).second) result.push_back(std::move(region));
      }
    }
  }
  return result;
}

}  // namespace isomer::search
