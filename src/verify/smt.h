// The one door to Z3: a child process that talks SMT-LIB 2 over a socket, for ground equations of uninterpreted functions. Test:
// tests/verify/smt_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/term.h"

namespace isomer::verify {

struct SolverOptions {
  std::string program = "z3";
  int64_t resources = 2'000'000;  ///< of a query, as Z3 counts them ("rlimit"; some hundreds for a proof): the same on every machine
  int64_t memory_mb = 1024;
};

/// Lives over many queries; an answer does not depend on those before. Not for several threads.
class Solver {
 public:
  /// An error where there is no such program.
  static Result<Solver> start(const SolverOptions& options = {});
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;
  ~Solver();

  /// Indices of equations from which left = right follows, terms being equal where their operators, parameters and arguments
  /// are; nothing where it does not, or the resources did not suffice. An error where the child died or says something else;
  /// there is no other answer after it.
  Result<std::optional<std::vector<int>>> unsat_core(std::span<const std::pair<Term, Term>> equations, const Term& left, const Term& right);

 private:
  class Child;
  explicit Solver(std::unique_ptr<Child> child);
  Result<std::optional<std::vector<int>>> ask(std::span<const std::pair<Term, Term>> equations, const Term& left, const Term& right);
  std::unique_ptr<Child> child_;
};

}  // namespace isomer::verify
