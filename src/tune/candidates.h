// Schedules of one task, by what is decided on the way (kernel/space/decider.h): what a tuner draws, changes, measures.
// Test: tests/tune/candidates_test.cpp
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "kernel/scheduled_kernel.h"
#include "kernel/space/module.h"
#include "util/hash.h"
#include "util/random.h"

namespace isomer::tune {

/// Values by the names of choices.
using Decisions = std::map<std::string, int64_t>;

Decisions decisions_of(const std::vector<kernel::Decision>& all);
inline Decisions decisions_of(const kernel::Trace& trace) { return decisions_of(trace.decisions); }

struct Candidate {
  kernel::Schedule schedule;
  kernel::ScheduledKernel made;  ///< with the choices that led to it
  Hash128 hash;                  ///< of its instructions: equal ones are one schedule, whatever was decided

  Decisions decisions() const;    ///< all of them
  Decisions unpreferred() const;  ///< those that are not what is preferred
};

class Candidates {
 public:
  /// Of the schedule that a task was lowered to. The space outlives it.
  /// All but the preferred one have what is fixed; where that can't go with what is decided, it stands alone.
  Candidates(kernel::Schedule start, const kernel::Space& space, const kernel::Machine& machine, int64_t flops,
             Decisions fixed = {})
      : start_(std::move(start)), space_(space), machine_(machine), flops_(flops), fixed_(std::move(fixed)) {}

  /// What is not given, or not among the candidates any more, is as it is preferred.
  Candidate with(const Decisions& decisions) const;
  /// The same of each, on all cores; once it is over, of those that were made until then.
  std::vector<Candidate> with_each(const std::vector<Decisions>& all, const std::function<bool()>& is_over = {}) const;
  /// By default, whatever is fixed.
  Candidate preferred() const;
  /// Each choice at random with a chance, else as it is preferred.
  Candidate sampled(Random& random, double chance) const;
  /// A few of its decisions changed, the others kept where they apply: tiles grow or shrink by a step, or anything else
  /// is taken. The same where there is nothing to decide.
  static Decisions mutated(const Candidate& parent, Random& random);
  /// Each decision as one of both has it.
  static Decisions crossed(const Candidate& one, const Candidate& other, Random& random);
  /// One decision of it changed, in all ways: first those next to what it has, then the others.
  static std::vector<Decisions> neighbours(const Candidate& parent);

 private:
  Candidate made(kernel::Decider& decider) const;
  /// With what is fixed, where nothing can be changed then.
  Candidate made_of_open(kernel::Decider& decider) const;

  kernel::Schedule start_;
  const kernel::Space& space_;
  kernel::Machine machine_;
  int64_t flops_;
  Decisions fixed_;
};

}  // namespace isomer::tune
