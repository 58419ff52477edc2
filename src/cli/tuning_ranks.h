// `mpirun -n R isomer tune …`: the first process tunes and keeps the records, the others measure for it (tune/crew.h).
// Test: tests/cli/tuning_ranks_test.cpp
#pragma once

#include <optional>

#include "cli/options.h"
#include "cli/program.h"
#include "tune/crew.h"

namespace isomer::cli {

class TuningRanks {
 public:
  /// Alone unless mpirun started this process. MPI is how the processes find each other, and is left at once: later one
  /// that is killed is a closed connection, where MPI would end them all. Errors: those of Cluster; kStopped.
  static Result<TuningRanks> join(const CommonOptions& options, const kernel::CpuTarget& target);

  bool is_first() const { return is_first_; }
  /// nullptr where nobody else measures.
  tune::Crew* crew() { return crew_ ? &*crew_ : nullptr; }
  /// Of a process that is not the first: what it does.
  Result<ExitCode> serve(const std::vector<tune::Problem>& problems, const tune::TuneOptions& options);

 private:
  bool is_first_ = true;
  std::optional<tune::Crew> crew_;
  std::optional<Connection> first_;  ///< to the first one; none: that needs nobody
};

}  // namespace isomer::cli
