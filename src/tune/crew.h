// Other processes that measure for a tuner, on this machine or on others of its kind: each round they get a share of
// its candidates as decisions, make them, compile them and time them beside the best one. One that ends, or says
// nothing, is one less: what it was given is measured here. Tests: tests/tune/crew_test.cpp
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tune/tuner.h"
#include "util/connection.h"

namespace isomer::tune {

/// Who offers to measure.
struct Member {
  std::string token;      ///< that all who belong to the run know
  std::string host;       ///< for people, and to know who shares a machine
  std::string target;     ///< kernel::fingerprint
  std::string generator;  ///< kernel::generator_version
  int64_t threads = 1;    ///< that kernels run on
  int64_t cores = 1;      ///< of the machine
};
/// This process.
Member this_member(std::string token, const kernel::CpuTarget& target, int threads);

class Crew {
 public:
  /// For the process that tunes, which is the first member.
  explicit Crew(Member first) { members_.push_back(std::move(first)); }

  /// Who is not of the run, or not like this machine, or one too many on its machine is sent home: why, or nothing.
  Result<std::optional<std::string>> add(Connection connection);
  const Member& first() const { return members_.front(); }
  /// That are there now, without this process.
  size_t size() const;

  /// What became of a candidate.
  struct Finding {
    Measured measured;
    double now_us = 0;  ///< of the best one, there and then
  };
  struct Work {
    const Problem& problem;
    const Candidate& best;
    std::span<const Candidate> candidates;
    double hopeless = 0;  ///< times as long as the best one
    double seconds = 0;   ///< of one candidate, all its runs together
  };
  /// Gives the others their share: how many candidates, the first ones, are left for this process. Errors (kStopped).
  Result<size_t> give(const Work& work);
  /// Of the others' candidates, in order; nothing where it is to be measured here. Errors (kStopped).
  Result<std::vector<std::optional<Finding>>> take();

 private:
  struct Hired {
    Connection connection;
    size_t share = 0;  ///< candidates of the round
  };

  std::vector<Member> members_;  ///< all that ever were
  std::vector<Hired> hired_;
  int64_t round_ = 0;
  double seconds_ = 0;  ///< of a candidate in it
};

/// The side of a member. Errors: kStopped; kUnsupported: it is sent home.
Result<void> apply(Connection& connection, const Member& self);
/// Measures what it is given until nobody asks any more. `problems` and options are those of the tuner. Errors:
/// kStopped; kUnsupported: nothing can be measured here.
Result<void> serve(Connection& connection, const std::vector<Problem>& problems, const TuneOptions& options);

}  // namespace isomer::tune
