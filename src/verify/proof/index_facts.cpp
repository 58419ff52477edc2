#include "verify/proof/index_facts.h"

#include <algorithm>
#include <set>

#include "verify/proof/linear_facts.h"

namespace isomer::verify {

void add_range(const Bound& bound, Facts& facts) {
  const te::Expr at = te::symbol(bound.name);
  facts.push_back(te::index(0) <= at);
  facts.push_back(at < bound.extent);
}

/// Whether they contradict each other, without asking the solver.
bool IndexFacts::can_be_told(const Facts& facts, const te::Expr& opposite) const {
  Facts all = facts;
  all.push_back(opposite);
  std::set<std::string> sizes;
  for (const te::Expr& each : all) sizes.merge(names(each));
  for (const std::string& name : sizes)
    if (!make_.is_bounded(name)) all.push_back(te::index(make_.least(name)) <= te::symbol(name));
  return are_contradictory(all);
}

bool IndexFacts::follows(const Facts& facts, const te::Expr& condition) {
  if (te::as_constant(condition).value_or(0) != 0) return true;
  if (std::ranges::find(facts, condition) != facts.end()) return true;
  const te::Expr opposite = te::logical_not(condition);
  if (can_be_told(facts, opposite)) return true;
  return oracle_ && oracle_->follows(facts, condition, make_);
}

bool IndexFacts::are_equal(const Facts& facts, const te::Expr& a, const te::Expr& b) {
  return a == b || make_.simplified(a) == make_.simplified(b) || follows(facts, te::equal(a, b));
}

}  // namespace isomer::verify
