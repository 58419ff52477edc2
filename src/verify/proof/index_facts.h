// What follows for integers: indices, bounds and sizes. The normal form first, then Z3.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "verify/proof/element.h"
#include "verify/smt.h"

namespace isomer::verify {

using Facts = std::vector<te::Expr>;

/// Arithmetic over integers in SMT-LIB's words, divisions as tensor expressions have them; nothing where there are no
/// words for it.
std::optional<std::string> smt_text(const te::Expr& expr);
/// The declarations of the names in these, the sizes among them at least 1, and that the facts hold.
std::optional<std::string> smt_facts(std::span<const te::Expr> facts, std::span<const te::Expr> others,
                                     const ElementMaker& make);

/// The facts that a bound is within its extent.
void add_range(const Bound& bound, Facts& facts);

class IndexFacts {
 public:
  /// Without a solver what it would have to tell is not found.
  IndexFacts(ArithmeticSolver* solver, const ElementMaker& make) : solver_(solver), make_(make) {}

  /// Whether the condition holds for all integers for which the facts do, sizes being at least 1. False where that was
  /// not found.
  bool follows(const Facts& facts, const te::Expr& condition);
  /// Of index arithmetic, normal forms with the names within their extents: the facts must say so too.
  bool are_equal(const Facts& facts, const te::Expr& a, const te::Expr& b);
  /// The sentence that ended everything, if any: the solver died.
  const std::optional<Error>& error() const { return error_; }
  bool is_contradiction(const std::string& assertions, bool thoroughly = false);
  /// Few questions only may cost all that a question may.
  bool has_budget() const { return questions_ < kMostQuestions && unknown_ < kMostUnknown && !error_; }

 private:
  bool can_be_told(const Facts& facts, const te::Expr& opposite) const;
  static constexpr int kMostQuestions = 400, kMostUnknown = 3;
  ArithmeticSolver* solver_;
  const ElementMaker& make_;
  int questions_ = 0, unknown_ = 0;
  std::map<std::string, bool> answers_;
  std::optional<Error> error_;
};

}  // namespace isomer::verify
