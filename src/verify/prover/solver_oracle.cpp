#include "verify/prover/solver_oracle.h"

#include <algorithm>

#include "verify/prover/real_question.h"
#include "verify/prover/smt_facts.h"

namespace isomer::verify {

bool SolverOracle::follows(const Facts& facts, const te::Expr& condition, const ElementMaker& make) {
  const te::Expr opposite = te::logical_not(condition);
  const auto asserted = smt_facts(facts, std::span(&opposite, 1), make);
  const auto refuted = smt_text(opposite);
  return asserted && refuted && is_contradiction(*asserted + "(assert " + *refuted + ")\n");
}

bool SolverOracle::is_zero(const Element& element, const Facts& facts, ElementMaker& make,
                           ElementComparison& comparison) {
  // Sums of logarithms are equal where the products of what they are of are: a question of polynomials.
  const bool has_logarithm = std::ranges::any_of(element.products, [](const Product& product) {
    return product.bounds.empty() && product.factors.size() == 1 && is_call(product.factors[0], "log");
  });
  if (has_logarithm) {
    const Element power = make.sum(make.call("exp", {element}), make.number(te::Rational(-1)));
    if (RealQuestion(make, *this, comparison, facts, {.maxima = false}).is_zero(power)) return true;
  }
  const int unknown = unknown_;
  if (RealQuestion(make, *this, comparison, facts, {}).is_zero(element)) return true;
  // What more facts are said to has had an answer without them.
  return unknown_ == unknown && RealQuestion(make, *this, comparison, facts, {.more = true}).is_zero(element);
}

bool SolverOracle::is_contradiction(const std::string& assertions, bool thoroughly) {
  if (!has_budget()) return false;
  if (const auto known = answers_.find(assertions); known != answers_.end()) return known->second;
  ++questions_;
  auto answer = thoroughly ? solver_.ask_thoroughly(assertions) : solver_.ask(assertions);
  if (!thoroughly && answer.ok() && *answer == ArithmeticSolver::Answer::kUnknown)
    answer = solver_.ask_thoroughly(assertions);
  if (!answer.ok()) error_ = answer.error();
  if (answer.ok() && *answer == ArithmeticSolver::Answer::kUnknown) ++unknown_;
  return answers_.emplace(assertions, answer.ok() && *answer == ArithmeticSolver::Answer::kContradiction).first->second;
}

}  // namespace isomer::verify
