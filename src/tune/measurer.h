// Candidates made code, checked and timed. A fault of theirs, of any kind, is what became of them, and no more.
// Test: tests/tune/measurer_test.cpp
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/worker.h"
#include "tune/candidates.h"
#include "tune/compiler.h"

namespace isomer::tune {

using isomer::Fault;
using isomer::Measured;

/// Two kernels, in turns.
struct Contest {
  double ratio = 1;  ///< of the first's time to the second's, the median of the rounds
  int rounds = 0;
  int won = 0;          ///< rounds in which the second was faster
  double control = 1;   ///< of the first's times to each other, one round to the next: the nearest to 1
  Measured fault = {};  ///< of the second
  int may_lose = 0;     ///< rounds: something else had the machine then
  /// Beyond what the same kernel against itself shows, in nearly every round.
  bool is_won() const { return rounds >= 3 && won >= rounds - may_lose && ratio > control; }
};

/// Not for several threads at once.
class Measurer {
 public:
  Measurer(kernel::CpuTarget target, const MeasuringOptions& options, CompilerOptions compiler = {})
      : compiler_(std::move(target), std::move(compiler)), worker_(options) {}

  /// Code for each of them, on all cores; an error where there is none.
  std::vector<Result<ClockJob>> compile(std::span<const Candidate> candidates) const;

  /// Errors: kUnsupported: nothing can be measured here (memory, processes); kStopped.
  Result<Measured> time(const Result<ClockJob>& job, double hopeless_us = kAnyTime);
  /// At most so many rounds; fewer where the first ones say that the second is not faster.
  Result<Contest> contest(const ClockJob& first, const ClockJob& second, int rounds);
  /// Whether a candidate, measured as this job, stays within its memory and gives the same twice, and computes what
  /// another one does, its packed weights made of the same: equal on small integers, whose sums are exact in any order,
  /// and within rounding on floats. Nothing where they can't be compared. Errors: as time.
  Result<std::optional<Measured>> check(const Candidate& candidate, const ClockJob& job, const Candidate& reference);

 private:
  Compiler compiler_;
  MeasuringWorker worker_;
};

}  // namespace isomer::tune
