#include "verify/proof/certificate.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

#include "graph/te/simplify.h"

namespace isomer::verify {
namespace {

/// Congruence closure, in its simplest form: proofs are short.
class Congruence {
 public:
  int node(const Term& term) {
    if (const auto known = nodes_.find(term); known != nodes_.end()) return known->second;
    Node made;
    if (const auto* application = term.as_application()) {
      for (const Term& argument : application->arguments) made.arguments.push_back(node(argument));
      Term::Application symbol = *application;
      symbol.arguments.clear();
      made.symbol = Term(std::move(symbol)).text();
    } else {
      made.symbol = term.text();
    }
    const int id = static_cast<int>(list_.size());
    list_.push_back(std::move(made));
    leader_.push_back(id);
    nodes_.emplace(term, id);
    return id;
  }

  int leader(int id) const {
    while (leader_[id] != id) id = leader_[id];
    return id;
  }

  void merge(int a, int b) { leader_[leader(a)] = leader(b); }

  void close() {
    for (bool changed = true; changed;) {
      changed = false;
      std::map<std::pair<std::string, std::vector<int>>, int> seen;
      for (int id = 0; id < static_cast<int>(list_.size()); ++id) {
        std::vector<int> arguments;
        for (const int argument : list_[id].arguments) arguments.push_back(leader(argument));
        const auto [first, is_new] = seen.emplace(std::pair(list_[id].symbol, std::move(arguments)), id);
        if (is_new || leader(id) == leader(first->second)) continue;
        merge(id, first->second);
        changed = true;
      }
    }
  }

 private:
  struct Node {
    std::string symbol;
    std::vector<int> arguments;
  };
  std::vector<Node> list_;
  std::vector<int> leader_;
  std::unordered_map<Term, int, TermHash> nodes_;
};

std::vector<te::Expr> conjuncts(const te::Expr& condition) {
  if (!condition) return {};
  const auto* both = te::as<te::Binary>(condition);
  if (!both || both->op != te::BinaryOp::kAnd) return {condition};
  std::vector<te::Expr> result = conjuncts(both->left), right = conjuncts(both->right);
  result.insert(result.end(), right.begin(), right.end());
  return result;
}

/// Each part of the condition is true, or one of the claim's.
bool holds(const te::Expr& condition, const Law& claim) {
  const std::vector<te::Expr> given = conjuncts(claim.condition ? te::simplify_index(claim.condition) : te::Expr());
  const std::vector<te::Expr> asked = conjuncts(condition);
  return std::all_of(asked.begin(), asked.end(), [&](const te::Expr& part) {
    return part == te::truth(true) || std::find(given.begin(), given.end(), part) != given.end();
  });
}

}  // namespace

bool follows(std::span<const std::pair<Term, Term>> equations, const Term& left, const Term& right) {
  Congruence congruence;
  const int from = congruence.node(left), to = congruence.node(right);
  for (const auto& [a, b] : equations) {
    const int first = congruence.node(a), second = congruence.node(b);
    congruence.merge(first, second);
  }
  congruence.close();
  return congruence.leader(from) == congruence.leader(to);
}

Result<void> replay(const Certificate& certificate, std::span<const Law> laws, const Law& claim) {
  std::vector<std::pair<Term, Term>> equations;
  for (size_t k = 0; k < certificate.uses.size(); ++k) {
    const LawUse& use = certificate.uses[k];
    const std::string place = fmt::format("use {}", k + 1);
    if (use.law < 0 || use.law >= static_cast<int>(laws.size()))
      return invalid(place, "one of {} laws expected, number {} found", laws.size(), use.law);
    const Law& law = laws[static_cast<size_t>(use.law)];
    if (law.condition)
      if (const te::Expr condition = substitute(law.condition, use.bindings); !holds(condition, claim))
        return invalid(place, "the condition of '{}' expected to hold", law.text());
    equations.emplace_back(substitute(law.left, use.bindings), substitute(law.right, use.bindings));
  }
  if (!follows(equations, claim.left, claim.right))
    return invalid("", "an equation that follows from the {} uses expected, '{}' does not", certificate.uses.size(),
                   claim.text());
  return {};
}

}  // namespace isomer::verify
