// Candidates made code, checked and timed. A fault of theirs, of any kind, is what became of them, and no more.
// Test: tests/tune/measurer_test.cpp
#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "measure/worker.h"
#include "tune/candidates.h"
#include "tune/compiler.h"

namespace isomer::tune {

using isomer::Fault;
using isomer::Measured;

/// Two kernels, in turns, until the rounds say which is the faster (Wald's sequential test, 1945): either of them wins
/// a round by chance, or the second wins most. By chance it wins one contest of a hundred at most; one that wins nine
/// rounds of ten wins 98.
struct Contest {
  double ratio = 1;  ///< of the first's time to the second's, the median of the rounds
  int rounds = 0;
  int won = 0;          ///< rounds in which the second was faster
  double control = 1;   ///< of the first's times to each other, one round to the next: the nearest to 1
  Measured fault = {};  ///< of the second
  /// How much likelier the rounds are if the second wins most of them than by chance; a logarithm.
  double evidence() const;
  /// Lost where the rounds come to no end.
  bool is_decided() const;
  /// And beyond what the same kernel against itself shows.
  bool is_won() const;
};

/// Not for several threads at once, but that one may compile while another one measures (CodeAhead).
class Measurer {
 public:
  Measurer(kernel::CpuTarget target, const MeasuringOptions& options, CompilerOptions compiler = {})
      : compiler_(std::move(target), std::move(compiler)), worker_(options) {}
  virtual ~Measurer() = default;

  /// Code for each of them, on all cores; an error where there is none.
  virtual std::vector<Result<ClockJob>> compile(std::span<const Candidate> candidates) const;

  /// A time below what is possible is taken once more, and is a fault then. Errors: kUnsupported: nothing can be
  /// measured here (memory, processes); kStopped.
  virtual Result<Measured> time(const Result<ClockJob>& job, double hopeless_us = kAnyTime, double possible_us = 0);
  Result<Contest> contest(const ClockJob& first, const ClockJob& second);
  /// Whether a candidate, measured as this job, stays within its memory and gives the same twice, and computes what
  /// another one does, its packed weights made of the same: equal on small integers, whose sums are exact in any order,
  /// and within rounding on floats. Nothing where they can't be compared. Errors: as time.
  virtual Result<std::optional<Measured>> check(const Candidate& candidate, const ClockJob& job,
                                                const Candidate& reference);

 private:
  Compiler compiler_;
  MeasuringWorker worker_;
};

/// Has candidates timed one after the other by `time(number, what the best one takes now)`, until that is an error; the
/// best one before them, after every few of them and behind the last: what makes the machine slower for a while does so
/// for both. `best_us` gets, for each that was timed, the shorter of the best one's times around it, since what
/// disturbs a measurement makes it longer. What became of the best one at first; where it is a fault no other was
/// timed. Errors: as Measurer::time; those of `time`.
Result<Measured> time_beside_best(Measurer& measurer, const Result<ClockJob>& best, size_t count,
                                  std::vector<double>& best_us,
                                  const std::function<Result<void>(size_t number, double best_us)>& time);

/// Makes code for candidates, one after the other, on a thread beside that which takes it. Both outlive it.
class CodeAhead {
 public:
  CodeAhead(const Measurer& measurer, std::span<const Candidate> candidates);
  /// Those that are not made yet are not.
  ~CodeAhead();
  CodeAhead(const CodeAhead&) = delete;
  CodeAhead& operator=(const CodeAhead&) = delete;

  /// Waits for it; each is taken once.
  Result<ClockJob> take(size_t number) { return made_[number].get_future().get(); }

 private:
  std::vector<std::promise<Result<ClockJob>>> made_;
  std::atomic<bool> ends_ = false;
  std::thread thread_;
};

}  // namespace isomer::tune
