#include "search/strategies/cost_changes.h"

#include <algorithm>
#include <cmath>

#include "substitutions/rewrite/subprogram.h"

namespace isomer::search {

using substitutions::Program;
using substitutions::Rewritten;

namespace {

/// Of a window's cost: what measuring may be off; less is no difference.
constexpr double kNoise = 0.02;

bool can_be_costed(const Program& program, int id) {
  if (id < 0 || id >= program.application_count()) return false;
  const Program::Application& there = program.application(id);
  return there.operation >= 0 && there.value_count > 0 && !program.value(there.first_value).is_constant;
}

/// What makes its arguments and what reads its values.
void add_neighbours(const Program& program, const Program::Uses& uses, int id, std::vector<int>& found) {
  if (id >= program.application_count() || !program.contains(id)) return;
  for (const int argument : program.arguments(id))
    if (argument >= 0 && program.value(argument).producer >= 0) found.push_back(program.value(argument).producer);
  const Program::Application& there = program.application(id);
  for (int k = 0; k < there.value_count; ++k)
    for (const int reader : uses.of(there.first_value + k)) found.push_back(reader);
}

}  // namespace

Result<Cost> CostChanges::window(const Program& program, std::span<const int> applications, Effort effort) {
  if (applications.empty()) return Cost();
  const substitutions::Subprogram part = substitutions::subprogram_of(program, applications, program.uses());
  const Hash128 key = substitutions::subprogram_key(part.program);
  const auto found = known_.find(key);
  const bool is_enough =
      found != known_.end() && (!found->second.ok() || found->second->is_measured || effort == Effort::kLookUp);
  ++(is_enough ? statistics_.known : statistics_.windows);
  if (is_enough) return found->second;
  const auto cost = [&]() -> Result<Cost> {
    TRY(const Graph graph, substitutions::graph_of(part.program));
    return costs_.cost(graph, effort);
  }();
  return known_.insert_or_assign(key, cost).first->second;
}

std::vector<int> CostChanges::around(const Program& before, const Rewritten& after) {
  const Program::Uses uses_before = before.uses(), uses_after = after.program.uses();
  std::vector<bool> is_in(static_cast<size_t>(after.program.application_count()));
  std::vector<int> result, level;
  for (const int id : after.changed) {
    if (is_in[static_cast<size_t>(id)]) continue;
    is_in[static_cast<size_t>(id)] = true;
    result.push_back(id);
  }
  level = result;
  for (int step = 0; step < options_.reach; ++step) {
    std::vector<int> near;
    for (const int id : level) {
      add_neighbours(before, uses_before, id, near);
      add_neighbours(after.program, uses_after, id, near);
    }
    level.clear();
    for (const int id : near) {
      if (is_in[static_cast<size_t>(id)] || static_cast<int>(result.size()) >= options_.applications) continue;
      if (!can_be_costed(before, id) && !can_be_costed(after.program, id)) continue;
      is_in[static_cast<size_t>(id)] = true;
      result.push_back(id);
      // Tasks end behind what reduces: beyond it nothing changes.
      if (!estimates_.reduces(can_be_costed(after.program, id) ? after.program : before, id)) level.push_back(id);
    }
  }
  return result;
}

std::vector<int> CostChanges::all_of(const Program& program) {
  std::vector<int> all;
  for (int id = 0; id < program.application_count(); ++id)
    if (can_be_costed(program, id)) all.push_back(id);
  return all;
}

Result<Cost> CostChanges::whole(const Program& program, Effort effort) {
  return window(program, all_of(program), effort);
}

Result<std::pair<Cost, Cost>> CostChanges::compare(const Program& program, const Program& other) {
  const auto graph = [](const Program& of) {
    return substitutions::graph_of(substitutions::subprogram_of(of, all_of(of), of.uses()).program);
  };
  TRY(const Graph first, graph(program));
  TRY(const Graph second, graph(other));
  known_.clear();  // sums of what was known before
  return costs_.compare(first, second);
}

Result<Cost> CostChanges::change(const Program& before, const Rewritten& after, Effort effort) {
  std::vector<int> old_ones, new_ones;
  for (const int id : around(before, after)) {
    if (can_be_costed(before, id)) old_ones.push_back(id);
    if (can_be_costed(after.program, id)) new_ones.push_back(id);
  }
  TRY(const Cost cost_before, window(before, old_ones, effort));
  TRY(const Cost cost_after, window(after.program, new_ones, effort));
  const double difference = cost_after.microseconds - cost_before.microseconds;
  return Cost{std::abs(difference) < kNoise * cost_before.microseconds ? 0 : difference,
              cost_before.is_measured && cost_after.is_measured};
}

bool CostChanges::can_be_folded(const Rewritten& after) {
  return std::all_of(after.built.begin(), after.built.end(), [&](int id) {
    return !after.program.contains(id) || can_be_costed(after.program, id) ||
           estimates_.can_be_folded(after.program, id);
  });
}

CostChanges::Effect CostChanges::effect(const Program& before, const Rewritten& after) {
  /// Times as many products are about as many: images are folded in whole pieces.
  constexpr double kAbout = 1.25;
  struct Sum {
    int applications = 0, reducing = 0;
    NodeWork work;
  };
  const auto sum_of = [&](const Program& program) {
    Sum sum;
    for (const int id : after.changed) {
      if (!can_be_costed(program, id)) continue;
      const NodeWork work = estimates_.work(program, id);
      ++sum.applications;
      sum.reducing += estimates_.reduces(program, id) ? 1 : 0;
      sum.work.operations += work.operations;
      sum.work.bytes += work.bytes;
    }
    return sum;
  };
  const Sum old_one = sum_of(before), made = sum_of(after.program);
  if (made.applications <= old_one.applications || made.work.operations < old_one.work.operations ||
      made.work.bytes < old_one.work.bytes)
    return Effect::kMaySave;
  return old_one.reducing > 0 && made.reducing > 0 && made.work.operations <= kAbout * old_one.work.operations
             ? Effect::kOtherSum
             : Effect::kAdds;
}

double CostChanges::estimate(const Program& before, const Rewritten& after) {
  double sum = 0;
  for (const int id : after.changed) {
    if (can_be_costed(after.program, id)) sum += estimates_.application(after.program, id);
    if (can_be_costed(before, id)) sum -= estimates_.application(before, id);
  }
  return sum;
}

}  // namespace isomer::search
