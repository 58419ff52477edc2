// Candidates made code, checked and timed. A fault of theirs, of any kind, is what became of them, and no more.
// Test: tests/tune/measurer_test.cpp
#pragma once

#include <atomic>
#include <future>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "kernel/codegen_llvm.h"
#include "measure/worker.h"
#include "tune/candidates.h"

namespace isomer::tune {

/// What was wrong with a candidate.
enum class Fault : uint8_t {
  kNone,
  kCode,   ///< no code is generated for it
  kCrash,  ///< it does not come to its end
  kLate,   ///< it takes too long
  kValue,  ///< it computes something else
};
std::string_view name(Fault fault);

struct Measured {
  Fault fault = Fault::kNone;
  std::string why;          ///< of a fault
  double microseconds = 0;  ///< where there is none
  int64_t runs = 0;
};

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
  Measurer(kernel::CpuTarget target, const MeasuringOptions& options) : target_(std::move(target)), worker_(options) {}
  virtual ~Measurer() = default;

  /// Code for each of them, on all cores; an error where there is none.
  virtual std::vector<Result<ClockJob>> compile(std::span<const Candidate> candidates) const;

  /// Errors: kUnsupported: nothing can be measured here (memory, processes); kStopped.
  virtual Result<Measured> time(const Result<ClockJob>& job, double hopeless_us = kAnyTime);
  /// At most so many rounds; fewer where the first ones say that the second is not faster.
  Result<Contest> contest(const ClockJob& first, const ClockJob& second, int rounds);
  /// Whether a candidate computes what another one does, its packed weights made of the same: equal on small integers,
  /// whose sums are exact in any order, and within rounding on floats. Nothing where they can't be compared. Errors: as
  /// time.
  virtual Result<std::optional<Measured>> check(const Candidate& candidate, const Candidate& reference);

 private:
  /// With what depends on constants alone, which is computed beforehand elsewhere.
  Result<ClockJob> whole(const Candidate& candidate) const;

  kernel::CpuTarget target_;
  MeasuringWorker worker_;
};

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
