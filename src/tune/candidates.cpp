#include "tune/candidates.h"

#include <algorithm>
#include <optional>

#include "util/parallel.h"
#include "util/threads.h"

namespace isomer::tune {
namespace {

using kernel::Builder;

/// That one more decision is changed with it.
constexpr double kOneMore = 0.3;
/// That a value next to the one at hand is taken, where there is an order.
constexpr double kNext = 0.5;
/// That a change keeps what was preferred before, too; else preferences follow what was changed.
constexpr double kKeepsPreferred = 0.5;
/// Candidates for which another thread is started.
constexpr int64_t kWorthAThread = 4;

std::vector<int64_t> in_order(const kernel::Choice& choice) {
  std::vector<int64_t> values = choice.candidates;
  std::sort(values.begin(), values.end());
  return values;
}

/// Another candidate than the one that was taken.
int64_t other_value(const Builder::Made& made, Random& random) {
  const std::vector<int64_t> values = in_order(made.choice);
  const auto at = std::find(values.begin(), values.end(), made.value) - values.begin();
  if (random.chance(kNext)) {
    const auto next = at + (random.chance(0.5) ? 1 : -1);
    if (next >= 0 && next < static_cast<std::ptrdiff_t>(values.size())) return values[static_cast<size_t>(next)];
  }
  const auto any = random.below(values.size() - 1);
  return values[any < static_cast<uint64_t>(at) ? any : any + 1];
}

}  // namespace

Decisions decisions_of(const std::vector<kernel::Decision>& all) {
  Decisions result;
  for (const kernel::Decision& decision : all) result[decision.name] = decision.value;
  return result;
}

Decisions Candidate::decisions() const {
  Decisions result;
  for (const Builder::Made& each : made.choices) result[each.choice.name] = each.value;
  return result;
}

Decisions Candidate::unpreferred() const {
  Decisions result;
  for (const Builder::Made& each : made.choices)
    if (!each.is_preferred()) result[each.choice.name] = each.value;
  return result;
}

Candidate Candidates::made(kernel::Decider& decider) const {
  kernel::Scheduled scheduled = kernel::scheduled(start_, space_, machine_, decider);
  kernel::ScheduledKernel made = kernel::finish(scheduled.schedule, flops_);
  made.choices = std::move(scheduled.choices);
  const Hash128 hash = kernel::hash(made.trace);
  return {std::move(scheduled.schedule), std::move(made), hash};
}

Candidate Candidates::made_of_open(kernel::Decider& decider) const {
  kernel::Given given(fixed_, decider);
  Candidate candidate = made(given);
  if (given.taken() < std::ssize(fixed_)) {
    kernel::Preferring preferring;
    kernel::Given alone(fixed_, preferring);
    candidate = made(alone);
  }
  for (Builder::Made& each : candidate.made.choices)
    if (const auto fixed = fixed_.find(each.choice.name); fixed != fixed_.end() && each.value == fixed->second)
      each.choice.candidates = {fixed->second};
  return candidate;
}

Candidate Candidates::preferred() const {
  kernel::Preferring preferring;
  return made(preferring);
}

Candidate Candidates::with(const Decisions& decisions) const {
  kernel::Preferring preferring;
  kernel::Given given(decisions, preferring);
  return made_of_open(given);
}

std::vector<Candidate> Candidates::with_each(const std::vector<Decisions>& all,
                                             const std::function<bool()>& is_over) const {
  std::vector<std::optional<Candidate>> made(all.size());
  ThreadPool pool(static_cast<int>(std::clamp<int64_t>(std::ssize(all) / kWorthAThread, 1, available_threads())));
  pool.run(std::ssize(all), [&](int64_t k, int) {
    if (is_over && is_over()) return;
    made[static_cast<size_t>(k)].emplace(with(all[static_cast<size_t>(k)]));
  });
  std::vector<Candidate> result;
  for (std::optional<Candidate>& each : made)
    if (each) result.push_back(*std::move(each));
  return result;
}

Candidate Candidates::sampled(Random& random, double chance) const {
  kernel::Sampling sampling(random, chance);
  return made_of_open(sampling);
}

Decisions Candidates::mutated(const Candidate& parent, Random& random) {
  std::vector<const Builder::Made*> open;
  for (const Builder::Made& each : parent.made.choices)
    if (each.choice.candidates.size() > 1) open.push_back(&each);
  if (open.empty()) return parent.decisions();
  Decisions decisions = random.chance(kKeepsPreferred) ? parent.decisions() : parent.unpreferred();
  do {
    const Builder::Made& changed = *open[random.below(open.size())];
    decisions[changed.choice.name] = other_value(changed, random);
  } while (random.chance(kOneMore));
  return decisions;
}

Decisions Candidates::crossed(const Candidate& one, const Candidate& other, Random& random) {
  Decisions decisions = one.decisions();
  for (const auto& [name, value] : other.decisions())
    if (random.chance(0.5)) decisions[name] = value;
  return decisions;
}

std::vector<Decisions> Candidates::neighbours(const Candidate& parent) {
  std::vector<Decisions> near, far;
  for (const Builder::Made& made : parent.made.choices) {
    const std::vector<int64_t> values = in_order(made.choice);
    const auto at = std::find(values.begin(), values.end(), made.value) - values.begin();
    for (std::ptrdiff_t k = 0; k < static_cast<std::ptrdiff_t>(values.size()); ++k) {
      if (k == at) continue;
      Decisions decisions = parent.unpreferred();
      decisions[made.choice.name] = values[static_cast<size_t>(k)];
      (std::abs(k - at) == 1 ? near : far).push_back(std::move(decisions));
    }
  }
  near.insert(near.end(), far.begin(), far.end());
  return near;
}

}  // namespace isomer::tune
