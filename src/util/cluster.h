// The processes that `mpirun -n R` starts: who we are among them, what all must know, what one collects. The one door
// to MPI (Open MPI, opened at run time). Test: tests/cli/tuning_ranks_test.cpp
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "util/result.h"

namespace isomer {

class Cluster {
 public:
  /// Alone unless mpirun started us. Errors: it did, and the library is not there.
  static Result<Cluster> join();
  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;
  ~Cluster();

  int rank() const;
  int size() const;
  bool is_first() const { return rank() == 0; }

  /// All call these, in the same order; each returns when all have come. Errors: MPI fails.
  Result<void> barrier();
  /// What rank 0 gives.
  Result<std::string> broadcast(std::string bytes);
  /// At rank 0 what each gives, by rank; elsewhere nothing.
  Result<std::vector<std::string>> gather(std::string bytes);

 private:
  class Mpi;
  explicit Cluster(std::unique_ptr<Mpi> mpi);
  std::unique_ptr<Mpi> mpi_;  ///< none: alone
};

}  // namespace isomer
