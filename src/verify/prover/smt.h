// The one door to Z3: a child process that talks SMT-LIB 2 over a socket, for ground equations of uninterpreted
// functions and for arithmetic. Test: tests/verify/smt_test.cpp
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/proof/term.h"

namespace isomer::verify {

struct SolverOptions {
  std::string program = "z3";
  int64_t resources =
      2'000'000;  ///< of a query, as Z3 counts them ("rlimit"; some hundreds for a proof): the same on every machine
  int64_t seconds = 60;  ///< of a query of arithmetic: products of names may take long that the count does not see
};

class SolverProcess;

/// Lives over many queries; an answer does not depend on those before. Not for several threads.
class Solver {
 public:
  /// An error where there is no such program.
  static Result<Solver> start(const SolverOptions& options = {});
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;
  ~Solver();

  /// Indices of equations from which left = right follows, terms being equal where their operators, parameters and
  /// arguments are; nothing where it does not, or the resources did not suffice. An error where the child died or says
  /// something else; there is no other answer after it.
  Result<std::optional<std::vector<int>>> unsat_core(std::span<const std::pair<Term, Term>> equations, const Term& left,
                                                     const Term& right);
  /// False after an error.
  bool is_running() const;

 private:
  explicit Solver(std::unique_ptr<SolverProcess> child);
  Result<std::optional<std::vector<int>>> ask(std::span<const std::pair<Term, Term>> equations, const Term& left,
                                              const Term& right);
  std::unique_ptr<SolverProcess> child_;
};

/// Questions of arithmetic, in SMT-LIB's own words. Answers do not depend on questions before the last start_over. Not
/// for several threads.
class ArithmeticSolver {
 public:
  static Result<ArithmeticSolver> start(const SolverOptions& options = {});
  ArithmeticSolver(ArithmeticSolver&&) noexcept;
  ~ArithmeticSolver();

  enum class Answer : uint8_t { kContradiction, kConsistent, kUnknown /* the resources did not suffice */ };
  /// What the declarations and assertions are together. An error where the child died or says something else.
  Result<Answer> ask(std::string_view assertions);
  /// The same by all means that it has: some milliseconds instead of a fraction of one.
  Result<Answer> ask_thoroughly(std::string_view assertions);
  Result<void> start_over();

 private:
  ArithmeticSolver(std::unique_ptr<SolverProcess> child, SolverOptions options);
  Result<Answer> answer();
  std::unique_ptr<SolverProcess> child_;
  SolverOptions options_;
};

}  // namespace isomer::verify
