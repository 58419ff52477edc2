#include "verify/prover/operator_count.h"

#include <unordered_set>

namespace isomer::verify {
namespace {

void add_applied(const Term& term, std::unordered_set<Term, TermHash>& applied) {
  const auto* application = term.as_application();
  if (!application) return;
  // Outputs of one application count once.
  Term::Application first = *application;
  first.output = 0;
  if (!applied.insert(Term(std::move(first))).second) return;
  for (const Term& argument : application->arguments) add_applied(argument, applied);
}

}  // namespace

int operator_count(const std::vector<Term>& terms) {
  std::unordered_set<Term, TermHash> applied;
  for (const Term& term : terms) add_applied(term, applied);
  return static_cast<int>(applied.size());
}

}  // namespace isomer::verify
