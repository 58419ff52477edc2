#include "substitutions/rewrite/substitution.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "graph/te/expr.h"
#include "verify/proof/law_family.h"
#include "verify/prover/bind.h"

namespace isomer::substitutions {
namespace {

using verify::Pattern;
using verify::Term;

/// Of a side, wherever they stand; time to prepare a rule grows with more than their square.
constexpr int kMostOperators = 256;

/// Adds the term's operators, until there are too many.
void count_operators(const Term& term, int& count) {
  const auto* application = term.as_application();
  if (!application || ++count > kMostOperators) return;
  for (const Term& argument : application->arguments) count_operators(argument, count);
}

bool is_too_large(const std::vector<Term>& side) {
  int count = 0;
  for (const Term& term : side) count_operators(term, count);
  return count > kMostOperators;
}

/// The term with operands that commute in one order.
Term sorted(const Term& term, const Theory& theory) {
  const auto* application = term.as_application();
  if (!application) return term;
  Term::Application result = *application;
  for (Term& argument : result.arguments) argument = sorted(argument, theory);
  if (theory.may_commute(result.op))
    std::sort(result.arguments.begin(), result.arguments.end(),
              [](const Term& a, const Term& b) { return a.text() < b.text(); });
  return Term(std::move(result));
}

class Preparation {
 public:
  Preparation(const Rule& rule, bool is_forward, const Theory& theory, int& next_id)
      : theory_(theory), next_id_(next_id) {
    result_->rule = &rule;
    result_->is_forward = is_forward;
    result_->first_id = next_id;
    for (const Output& output : rule.outputs) {
      sources_.push_back(is_forward ? output.left : output.right);
      targets_.push_back(is_forward ? output.right : output.left);
    }
  }

  std::variant<std::unique_ptr<Substitution>, Unusable> run() {
    if (is_too_large(sources_) || is_too_large(targets_)) return Unusable::kTooLarge;
    for (const Term& source : sources_) {
      if (!source.as_application()) return Unusable::kNoOperator;
      result_->sources.push_back(verify::pattern_of(source, *result_, next_id_));
    }
    result_->applications = next_id_ - result_->first_id;
    const size_t bound = result_->tensors.size();
    for (const Term& target : targets_) result_->targets.push_back(verify::pattern_of(target, *result_, next_id_));
    if (result_->tensors.size() > bound) return Unusable::kOpenTensor;
    if (only_commutes()) return Unusable::kOnlyCommutes;
    if (only_adds()) return Unusable::kOnlyAdds;
    result_->find_dims();
    if (!result_->is_forward && is_own_inverse()) return Unusable::kOwnInverse;
    take_examples();
    find_turns();
    for (size_t first = 0; first < sources_.size(); ++first) {
      result_->orders.push_back(order_from(static_cast<int>(first)));
      if (result_->orders.back().size() < sources_.size()) return Unusable::kApart;
    }
    for (const Pattern& source : result_->sources) result_->depth = std::max(result_->depth, depth_of(source));
    return std::move(result_);
  }

 private:
  bool only_commutes() const {
    for (size_t k = 0; k < sources_.size(); ++k)
      if (!(sorted(sources_[k], theory_) == sorted(targets_[k], theory_))) return false;
    return true;
  }

  static bool contains(const Term& term, const Term& part) {
    if (term == part) return true;
    const auto* application = term.as_application();
    return application && std::any_of(application->arguments.begin(), application->arguments.end(),
                                      [&](const Term& argument) { return contains(argument, part); });
  }

  bool only_adds() const {
    return std::all_of(sources_.begin(), sources_.end(), [&](const Term& source) {
      const Term sought = sorted(source, theory_);
      return std::any_of(targets_.begin(), targets_.end(),
                         [&](const Term& target) { return contains(sorted(target, theory_), sought); });
    });
  }

  void take_examples() {
    const verify::Bindings& names = result_->rule->example.names;
    for (const std::string& name : result_->integers) {
      const auto found = names.integers.find(name);
      result_->example_integers.push_back(found == names.integers.end() ? std::nullopt : std::optional(found->second));
    }
    for (const std::string& name : result_->rests) {
      const auto found = names.rests.find(name);
      result_->example_rests.push_back(found == names.rests.end() ? std::nullopt : std::optional(found->second));
    }
  }

  /// Variables stand for variables, rests for nothing that is named.
  static bool renames(const verify::Bindings& names) {
    return std::all_of(names.tensors.begin(), names.tensors.end(),
                       [](const auto& named) { return named.second.as_variable() != nullptr; }) &&
           std::all_of(names.rests.begin(), names.rests.end(), [](const auto& named) { return named.second.empty(); });
  }

  void rename_dims(verify::Bindings& names) const {
    for (const verify::DimSlot& dim : result_->dims) {
      const std::string& variable = result_->tensors[static_cast<size_t>(dim.variable)];
      const auto renamed = names.tensors.find(variable);
      if (renamed == names.tensors.end()) continue;
      const std::string& name = result_->integers[static_cast<size_t>(dim.slot)];
      names.integers.insert_or_assign(name,
                                      Dim::symbol(renamed->second.as_variable()->name + name.substr(variable.size())));
    }
  }

  bool is_own_inverse() const {
    verify::Bindings names;
    for (size_t k = 0; k < sources_.size(); ++k)
      if (!verify::bind(targets_[k], sources_[k], names)) return false;
    if (!renames(names)) return false;
    std::set<std::string> images;
    for (const auto& [name, term] : names.tensors) images.insert(term.as_variable()->name);
    if (images.size() != names.tensors.size()) return false;
    rename_dims(names);
    names.rests.clear();
    for (size_t k = 0; k < sources_.size(); ++k)
      if (!(sorted(substitute(sources_[k], names), theory_) == sorted(targets_[k], theory_))) return false;
    return true;
  }

  /// Names that change places where the operands do leave both sides what they were.
  bool is_symmetric(const Term& one, const Term& other) const {
    verify::Bindings exchange;
    if (!verify::bind(one, other, exchange) || !verify::bind(other, one, exchange)) return false;
    if (!renames(exchange)) return false;
    rename_dims(exchange);
    // A rest that both have says nothing of itself: it stays.
    exchange.rests.clear();
    const auto stays = [&](const Term& term) {
      return sorted(substitute(term, exchange), theory_) == sorted(term, theory_);
    };
    return std::all_of(sources_.begin(), sources_.end(), stays) && std::all_of(targets_.begin(), targets_.end(), stays);
  }

  void find_turns() {
    int id = 0;
    const std::function<void(const Term&)> visit = [&](const Term& term) {
      const auto* application = term.as_application();
      if (!application) return;
      result_->turns[static_cast<size_t>(id++)] = theory_.may_commute(application->op) &&
                                                  application->arguments.size() == 2 &&
                                                  !is_symmetric(application->arguments[0], application->arguments[1]);
      for (const Term& argument : application->arguments) visit(argument);
    };
    result_->turns.resize(static_cast<size_t>(result_->applications));
    for (const Term& source : sources_) visit(source);
  }

  static void bound_by(const Pattern& pattern, std::set<int>& variables) {
    if (pattern.kind == Pattern::Kind::kVariable) variables.insert(pattern.variable);
    for (const Pattern& argument : pattern.arguments) bound_by(argument, variables);
  }

  /// The way from a variable that is bound up to the pattern's root.
  static bool find_path(const Pattern& pattern, const std::set<int>& bound, Substitution::Joined& found) {
    if (pattern.kind == Pattern::Kind::kVariable && bound.contains(pattern.variable)) {
      found.variable = pattern.variable;
      return true;
    }
    for (size_t k = 0; k < pattern.arguments.size(); ++k) {
      if (!find_path(pattern.arguments[k], bound, found)) continue;
      found.path.push_back(&pattern);
      found.positions.push_back(k);
      return true;
    }
    return false;
  }

  /// As far as each source shares a variable with those before it.
  std::vector<Substitution::Joined> order_from(int first) const {
    std::vector<Substitution::Joined> result = {{first, -1, {}, {}}};
    std::set<int> bound, open;
    for (int source = 0; source < static_cast<int>(sources_.size()); ++source)
      if (source != first) open.insert(source);
    bound_by(result_->sources[static_cast<size_t>(first)], bound);
    while (!open.empty()) {
      std::optional<Substitution::Joined> next;
      for (const int source : open) {
        Substitution::Joined joined{source, -1, {}, {}};
        if (!find_path(result_->sources[static_cast<size_t>(source)], bound, joined)) continue;
        next = std::move(joined);
        break;
      }
      if (!next) break;
      open.erase(next->source);
      bound_by(result_->sources[static_cast<size_t>(next->source)], bound);
      result.push_back(*std::move(next));
    }
    return result;
  }

  static int depth_of(const Pattern& pattern) {
    int below = 0;
    for (const Pattern& argument : pattern.arguments) below = std::max(below, depth_of(argument));
    return pattern.kind == Pattern::Kind::kApplication ? below + 1 : 0;
  }

  const Theory& theory_;
  int& next_id_;
  std::vector<Term> sources_, targets_;
  std::unique_ptr<Substitution> result_ = std::make_unique<Substitution>();
};

}  // namespace

std::string_view name(Unusable reason) {
  constexpr std::array<std::string_view, 8> kNames = {
      "an output without operator", "a tensor that the source does not have",
      "only operands that commute", "its own inverse",
      "only more of the same",      "outputs that share no variable",
      "known by other names",       "too many operators"};
  return kNames[static_cast<size_t>(reason)];
}

std::string Substitution::key() const {
  verify::Bindings names;
  for (size_t slot = 0; slot < tensors.size(); ++slot)
    names.tensors.emplace(tensors[slot], Term::variable(fmt::format("t{}", slot)));
  for (size_t slot = 0; slot < integers.size(); ++slot)
    names.integers.emplace(integers[slot], Dim::symbol(fmt::format("n{}", slot)));
  for (const verify::DimSlot& dim : dims) {
    const verify::DimName name{fmt::format("t{}", dim.variable), dim.axis};
    names.integers.insert_or_assign(integers[static_cast<size_t>(dim.slot)], Dim::symbol(verify::text(name)));
  }
  for (size_t slot = 0; slot < rests.size(); ++slot) names.open_rests.emplace(rests[slot], fmt::format("p{}", slot));
  std::string result;
  for (const Output& output : rule->outputs) {
    const Term left = substitute(output.left, names), right = substitute(output.right, names);
    result += fmt::format("{} -> {} ; ", (is_forward ? left : right).text(), (is_forward ? right : left).text());
  }
  std::multiset<int> laws;
  for (const verify::LawUse& use : rule->proof.uses) laws.insert(use.law);
  return fmt::format("{}{}", result, fmt::join(laws, ","));
}

std::variant<std::unique_ptr<Substitution>, Unusable> substitution_of(const Rule& rule, bool is_forward,
                                                                      const Theory& theory, int& next_id) {
  return Preparation(rule, is_forward, theory, next_id).run();
}

}  // namespace isomer::substitutions
