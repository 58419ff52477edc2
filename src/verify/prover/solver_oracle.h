// Z3 asked what normal forms do not tell of elements and their indices.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "verify/proof/index_facts.h"
#include "verify/prover/smt.h"

namespace isomer::verify {

/// For the proof of one structure: few questions only may cost all that a question may.
class SolverOracle : public Oracle {
 public:
  explicit SolverOracle(ArithmeticSolver& solver) : solver_(solver) {}

  bool follows(const Facts& facts, const te::Expr& condition, const ElementMaker& make) override;
  bool is_zero(const Element& element, const Facts& facts, ElementMaker& make, ElementComparison& comparison) override;
  bool has_budget() const override { return questions_ < kMostQuestions && unknown_ < kMostUnknown && !error_; }

  bool is_contradiction(const std::string& assertions, bool thoroughly = false);
  /// The sentence that ended everything, if any: the solver died.
  const std::optional<Error>& error() const { return error_; }

 private:
  static constexpr int kMostQuestions = 400, kMostUnknown = 3;
  ArithmeticSolver& solver_;
  int questions_ = 0, unknown_ = 0;
  std::map<std::string, bool> answers_;
  std::optional<Error> error_;
};

}  // namespace isomer::verify
