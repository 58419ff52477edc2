#include "verify/proof/certificate.h"

#include <map>
#include <unordered_map>

namespace isomer::verify {
namespace {

/// Congruence closure, in its simplest form: proofs are short.
class Congruence {
 public:
  int node(const Term& term) {
    if (const auto known = nodes_.find(term); known != nodes_.end()) return known->second;
    std::vector<int> arguments;
    Term symbol = term;
    if (const auto* application = term.as_application()) {
      for (const Term& argument : application->arguments) arguments.push_back(node(argument));
      Term::Application bare = *application;
      bare.arguments.clear();
      symbol = Term(std::move(bare));
    }
    const int id = static_cast<int>(list_.size());
    list_.emplace_back(symbols_.emplace(std::move(symbol), id).first->second, std::move(arguments));
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
      std::map<Node, int> seen;
      for (int id = 0; id < static_cast<int>(list_.size()); ++id) {
        Node canonical = list_[id];
        for (int& argument : canonical.second) argument = leader(argument);
        const auto [first, is_new] = seen.emplace(std::move(canonical), id);
        if (is_new || leader(id) == leader(first->second)) continue;
        merge(id, first->second);
        changed = true;
      }
    }
  }

 private:
  using Node = std::pair<int, std::vector<int>>;  ///< symbol and arguments
  std::vector<Node> list_;
  std::vector<int> leader_;
  std::unordered_map<Term, int, TermHash> nodes_, symbols_;
};

}  // namespace

bool follows(const Equations& equations, const Term& left, const Term& right) {
  Congruence congruence;
  const int from = congruence.node(left), to = congruence.node(right);
  for (const auto& [a, b] : equations) congruence.merge(congruence.node(a), congruence.node(b));
  congruence.close();
  return congruence.leader(from) == congruence.leader(to);
}

}  // namespace isomer::verify
