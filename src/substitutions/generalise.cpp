#include "substitutions/generalise.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <unordered_map>

#include "graph/te/expr.h"
#include "util/check.h"
#include "verify/law_instances.h"

namespace isomer::substitutions {
namespace {

using verify::Parameter;
using verify::Parameters;
using verify::Term;

/// Guesses are compared by how many of these draws give another place where the rule holds; that many are enough.
constexpr int kDraws = 6, kAttempts = 2, kEnough = 6;
constexpr size_t kMostCandidates = 4;
constexpr int kMostChoices = 16;

bool is_integers(const Parameter& value) { return std::holds_alternative<Dim>(value) || std::holds_alternative<std::vector<Dim>>(value); }

std::vector<Dim> integers_of(const Parameter& value) {
  if (const auto* one = std::get_if<Dim>(&value)) return {*one};
  return std::get<std::vector<Dim>>(value);
}

/// Classes of things that must be equal.
class Classes {
 public:
  int make() {
    leaders_.push_back(static_cast<int>(leaders_.size()));
    return leaders_.back();
  }
  int leader(int id) const {
    while (leaders_[static_cast<size_t>(id)] != id) id = leaders_[static_cast<size_t>(id)];
    return id;
  }
  void unite(int a, int b) {
    a = leader(a);
    b = leader(b);
    leaders_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

 private:
  std::vector<int> leaders_;
};

/// A parameter as a whole: taken over as it is, or opened into numbers that laws speak of.
struct Unit {
  Parameter value;
  bool pinned = false;
  bool opened = false;
  std::vector<int> numbers;  ///< once opened
};

/// One number of a parameter, or what a law's name stands for.
struct Number {
  Dim value;
  bool pinned = false;
};

class Generaliser {
 public:
  Generaliser(const std::vector<Output>& outputs, const verify::VariableTypes& types, const verify::Certificate& proof, std::span<const verify::StatedAxiom> axioms,
              verify::Signatures& signatures, uint64_t seed)
      : outputs_(outputs), types_(types), proof_(proof), axioms_(axioms), signatures_(signatures), random_(seed) {}

  Result<Rule> run() {
    for (Output& output : outputs_) {
      TRY(verify::TypedTerm left, verify::spelled_out(output.left, types_, signatures_));
      TRY(verify::TypedTerm right, verify::spelled_out(output.right, types_, signatures_));
      output = {std::move(left.term), std::move(right.term)};
      add(output.left);
      add(output.right);
    }
    for (size_t use = 0; use < proof_.uses.size(); ++use) TRY_VOID(read(use));
    unite_congruent();
    separate_rests();
    find_sides();
    solve();
    guess();
    return rule();
  }

 private:
  // Reading

  /// A node's parameters as units. Outputs of one application share them.
  int node_of(const Term& term) {
    Term::Application first = *term.as_application();
    first.output = 0;
    const auto [known, is_new] = nodes_.emplace(Term(std::move(first)), static_cast<int>(units_of_.size()));
    if (is_new) {
      units_of_.emplace_back();
      for (const auto& [name, value] : known->first.as_application()->parameters) units_of_.back().emplace(name, make_unit(value));
    }
    return known->second;
  }

  void add(const Term& term) {
    const auto [known, is_new] = terms_.emplace(term, static_cast<int>(terms_.size()));
    if (!is_new) return;
    (void)term_classes_.make();
    const auto* application = term.as_application();
    if (!application) return;
    node_of(term);
    for (const Term& argument : application->arguments) add(argument);
  }

  /// Applications that the proof takes for one, as their arguments are equal, have one set of parameters.
  void unite_congruent() {
    for (bool changed = true; changed;) {
      changed = false;
      std::map<std::pair<std::string, std::vector<int>>, const Term*> seen;
      for (const auto& [term, id] : terms_) {
        const auto* application = term.as_application();
        if (!application) continue;
        std::vector<int> arguments;
        for (const Term& argument : application->arguments) arguments.push_back(term_classes_.leader(terms_.at(argument)));
        Term::Application symbol = *application;
        symbol.arguments.clear();
        const auto [first, is_new] = seen.emplace(std::pair(Term(std::move(symbol)).text(), std::move(arguments)), &term);
        if (is_new) continue;
        const auto &one = units_of_[static_cast<size_t>(node_of(*first->second))], &other = units_of_[static_cast<size_t>(node_of(term))];
        for (const auto& [name, unit] : one) unite_units(unit, other.at(name));
        const int known = terms_.at(*first->second);
        if (term_classes_.leader(known) == term_classes_.leader(id)) continue;
        term_classes_.unite(known, id);
        changed = true;
      }
    }
  }

  int make_unit(const Parameter& value) {
    units_.push_back({value, false, false, {}});
    return unit_classes_.make();
  }
  int make_number(const Dim& value, bool pinned = false) {
    numbers_.push_back({value, pinned});
    return number_classes_.make();
  }

  Unit& unit(int id) { return units_[static_cast<size_t>(unit_classes_.leader(id))]; }
  Number& number(int id) { return numbers_[static_cast<size_t>(number_classes_.leader(id))]; }

  void unite_numbers(int a, int b) {
    const bool pinned = number(a).pinned || number(b).pinned;
    number_classes_.unite(a, b);
    number(a).pinned = pinned;
  }

  void unite_units(int a, int b) {
    if (unit_classes_.leader(a) == unit_classes_.leader(b)) return;
    const Unit one = unit(a), other = unit(b);
    unit_classes_.unite(a, b);
    Unit& made = unit(a);
    made.pinned = one.pinned || other.pinned;
    made.opened = one.opened || other.opened;
    made.numbers = one.opened ? one.numbers : other.numbers;
    if (one.opened && other.opened)
      for (size_t k = 0; k < one.numbers.size(); ++k) unite_numbers(one.numbers[k], other.numbers[k]);
    if (made.pinned) pin(a);
  }

  void open(int id) {
    Unit& opened = unit(id);
    if (opened.opened) return;
    if (!is_integers(opened.value)) {
      opened.pinned = true;
      return;
    }
    std::vector<int> numbers;
    for (const Dim& value : integers_of(opened.value)) numbers.push_back(make_number(value, opened.pinned));
    unit(id).opened = true;
    unit(id).numbers = std::move(numbers);
  }

  void pin(int id) {
    unit(id).pinned = true;
    for (const int each : unit(id).numbers) number(each).pinned = true;
  }

  Result<void> read(size_t use) {
    const verify::LawUse& at = proof_.uses[use];
    const verify::StatedAxiom& axiom = axioms_[static_cast<size_t>(at.law)];
    TRY(const verify::Law instance, verify::instance_of(axiom, at.bindings, types_, signatures_));
    add(instance.left);
    add(instance.right);
    term_classes_.unite(terms_.at(instance.left), terms_.at(instance.right));
    read(use, axiom.law.left, instance.left);
    read(use, axiom.law.right, instance.right);
    return {};
  }

  void read(size_t use, const Term& pattern, const Term& term) {
    if (pattern.as_variable()) {
      tensors_.emplace(std::pair(use, pattern.as_variable()->name), term);
      return;
    }
    const auto* sought = pattern.as_application();
    if (!sought) return;
    for (const auto& [name, id] : units_of_[static_cast<size_t>(node_of(term))]) {
      const auto written = sought->parameters.find(name);
      if (written == sought->parameters.end()) {
        if (sought->rest.empty())
          pin(id);
        else if (const auto [rest, is_new] = rests_[{use, sought->rest}].emplace(name, id); !is_new)
          unite_units(rest->second, id);
        continue;
      }
      open(id);
      if (!is_integers(written->second)) continue;
      const std::vector<Dim> integers = integers_of(written->second);
      for (size_t k = 0; k < integers.size(); ++k) read(use, integers[k], unit(id).numbers[k]);
    }
    for (size_t k = 0; k < sought->arguments.size(); ++k) read(use, sought->arguments[k], term.as_application()->arguments[k]);
  }

  void read(size_t use, const Dim& written, int there) {
    const auto* symbol = te::as<te::Symbol>(written.expr());
    if (written.is_constant()) {
      number(there).pinned = true;
    } else if (symbol && !is_dim(use, symbol->name)) {
      unite_numbers(there, named(use, symbol->name));
    } else {
      equations_.push_back({there, written, use});
    }
  }

  bool is_dim(size_t use, const std::string& name) const { return verify::dim_name(name, variables_of(use)).has_value(); }

  std::vector<std::string> variables_of(size_t use) const {
    std::vector<std::string> result;
    for (const auto& [name, term] : proof_.uses[use].bindings.tensors) result.push_back(name);
    return result;
  }

  int named(size_t use, const std::string& name) {
    const auto known = named_.find({use, name});
    if (known != named_.end()) return known->second;
    const int made = make_number(proof_.uses[use].bindings.integers.find(name)->second);
    return named_.emplace(std::pair(use, name), made).first->second;
  }

  // Rests

  /// Whole parameters that no law looks into, by the places where they stand together.
  std::vector<std::set<int>> groups() {
    std::vector<std::set<int>> result;
    const auto collect = [&](const std::map<std::string, int>& ids) {
      std::set<int> group;
      for (const auto& [name, id] : ids)
        if (!unit(id).opened && !unit(id).pinned) group.insert(unit_classes_.leader(id));
      if (!group.empty()) result.push_back(std::move(group));
    };
    for (const auto& ids : units_of_) collect(ids);
    for (const auto& [place, ids] : rests_) collect(ids);
    return result;
  }

  /// A rest is the same wherever one of its parameters stands; parameters that don't keep together are opened.
  void separate_rests() {
    for (bool changed = true; changed;) {
      changed = false;
      const auto all = groups();
      for (size_t a = 0; a < all.size() && !changed; ++a)
        for (size_t b = a + 1; b < all.size() && !changed; ++b) {
          if (all[a] == all[b]) continue;
          std::vector<int> shared, apart;
          std::set_intersection(all[a].begin(), all[a].end(), all[b].begin(), all[b].end(), std::back_inserter(shared));
          if (shared.empty()) continue;
          std::set_symmetric_difference(all[a].begin(), all[a].end(), all[b].begin(), all[b].end(), std::back_inserter(apart));
          for (const int id : apart) open(id);
          changed = true;
        }
    }
  }

  // Sides

  void find_sides() {
    for (const Output& output : outputs_) {
      mark(output.left, left_units_, left_numbers_);
      mark(output.right, right_units_, right_numbers_);
    }
    // A whole parameter that the other side does not have is what it was.
    for (size_t id = 0; id < units_.size(); ++id) {
      Unit& each = unit(static_cast<int>(id));
      const int leader = unit_classes_.leader(static_cast<int>(id));
      if (!each.opened && !each.pinned && !(left_units_.contains(leader) && right_units_.contains(leader))) each.pinned = true;
    }
    // Names in the order in which the sides have them.
    for (const Output& output : outputs_) (void)written(output.left);
  }

  void mark(const Term& term, std::set<int>& units, std::set<int>& numbers) {
    const auto* application = term.as_application();
    if (!application) return;
    for (const auto& [name, id] : units_of_[static_cast<size_t>(node_of(term))]) {
      units.insert(unit_classes_.leader(id));
      for (const int each : unit(id).numbers) numbers.insert(number_classes_.leader(each));
    }
    for (const Term& argument : application->arguments) mark(argument, units, numbers);
  }

  // Numbers

  /// The left side's numbers are bound by what it stands for; those of the right side alone must be computed.
  bool is_known(int id) {
    const int leader = number_classes_.leader(id);
    return number(id).pinned || expressions_.contains(leader) || free_.contains(leader) || left_numbers_.contains(leader);
  }

  /// What the rule writes for a number that is known.
  Dim written(int id) {
    const int leader = number_classes_.leader(id);
    if (number(id).pinned || !is_known(id)) return number(id).value;
    if (const auto found = expressions_.find(leader); found != expressions_.end()) return found->second;
    const auto [name, is_new] = names_.emplace(leader, std::string());
    if (is_new) name->second = fresh_name();
    return Dim::symbol(name->second);
  }

  std::string fresh_name() {
    for (;; ++last_name_) {
      std::string name = last_name_ < 26 ? std::string(1, static_cast<char>('a' + last_name_)) : fmt::format("n{}", last_name_);
      if (types_.contains(name)) continue;
      ++last_name_;
      return name;
    }
  }

  /// A law's arithmetic over the rule's names; nothing while one of them is not known.
  std::optional<Dim> in_rule(const Dim& integer, size_t use) {
    verify::Bindings names;
    for (const std::string& name : verify::names(integer)) {
      const auto dim = verify::dim_name(name, variables_of(use));
      if (!dim) {
        if (!is_known(named(use, name))) return std::nullopt;
        names.integers.emplace(name, written(named(use, name)));
        continue;
      }
      const auto* variable = tensors_.at({use, dim->variable}).as_variable();
      if (!variable) return std::nullopt;
      names.integers.emplace(name, Dim::symbol(dim->axis ? fmt::format("{}_{}", variable->name, *dim->axis) : variable->name + "_rank"));
    }
    return verify::substitute(integer, names);
  }

  /// Numbers of one side that the laws compute from what is known.
  void solve() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [there, integer, use] : equations_) {
        const bool known = is_known(there);
        if (!known) {
          const auto value = in_rule(integer, use);
          if (!value) continue;
          expressions_.emplace(number_classes_.leader(there), *value);
          changed = true;
          continue;
        }
        // there = a + unknown
        int unknown = -1, count = 0;
        for (const std::string& name : verify::names(integer))
          if (!is_dim(use, name) && !is_known(named(use, name))) {
            unknown = named(use, name);
            ++count;
          }
        if (count != 1) continue;
        const std::string name = name_of(use, unknown);
        const Dim others = integer - Dim::symbol(name);
        if (verify::names(others).contains(name)) continue;
        const auto value = in_rule(others, use);
        if (!value) continue;
        expressions_.emplace(number_classes_.leader(unknown), written(there) - *value);
        changed = true;
      }
    }
  }

  std::string name_of(size_t use, int id) const {
    for (const auto& [place, number] : named_)
      if (place.first == use && number == id) return place.second;
    CHECK(false) << "a number without name";
  }

  std::vector<int> unknown_numbers() {
    std::set<int> result;
    for (size_t id = 0; id < numbers_.size(); ++id)
      if (!is_known(static_cast<int>(id))) result.insert(number_classes_.leader(static_cast<int>(id)));
    return {result.begin(), result.end()};
  }

  /// What a number that no law computes may be: one of the left side, a dim of what a law that names it is about, as a row infers it.
  std::vector<Dim> candidates(int id) {
    std::vector<Dim> likely, others;
    for (const int known : left_numbers_)
      if (const Dim dim = written(known); number(known).value == number(id).value && !dim.is_constant()) likely.push_back(dim);
    for (const auto& [place, other] : named_) {
      if (number_classes_.leader(other) != id) continue;
      const verify::Bindings& bindings = proof_.uses[place.first].bindings;
      for (const auto& [name, term] : bindings.tensors) {
        const auto here = verify::spelled_out(term, types_, signatures_), anywhere = verify::spelled_out(term, symbolic_types(), signatures_);
        if (!here.ok() || !anywhere.ok()) continue;
        const Shape &dims = *here->type.shape, &symbols = *anywhere->type.shape;
        for (size_t axis = 0; axis < dims.size() && axis < symbols.size(); ++axis) {
          if (dims[axis] != number(id).value || symbols[axis].is_constant()) continue;
          const bool is_named = std::any_of(bindings.integers.begin(), bindings.integers.end(), [&](const auto& each) {
            return !is_dim(place.first, each.first) && each.second.is(static_cast<int64_t>(axis)) && is_known(named(place.first, each.first));
          });
          std::vector<Dim>& list = is_named ? likely : others;
          if (std::find(list.begin(), list.end(), symbols[axis]) == list.end()) list.push_back(symbols[axis]);
        }
      }
    }
    if (likely.empty()) likely = std::move(others);
    if (likely.size() > kMostCandidates) likely.resize(kMostCandidates);
    return likely;
  }

  verify::VariableTypes symbolic_types() const {
    verify::VariableTypes result = types_;
    for (auto& [name, type] : result)
      for (size_t axis = 0; axis < type.shape->size(); ++axis) (*type.shape)[axis] = Dim::symbol(fmt::format("{}_{}", name, axis));
    return result;
  }

  /// Arithmetic of laws over several numbers of the right side: all but one of them are free.
  void free_some() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [there, integer, use] : equations_) {
        for (const std::string& name : verify::names(integer)) {
          if (changed || is_known(there) || is_dim(use, name) || is_known(named(use, name))) continue;
          free_.insert(number_classes_.leader(named(use, name)));
          changed = true;
        }
      }
      if (changed) solve();
    }
  }

  /// Numbers of the right side that no law computes: dims with which the rule holds elsewhere; else they are free.
  void guess() {
    free_some();
    const std::vector<int> unknown = unknown_numbers();
    for (const int id : unknown)
      if (!right_numbers_.contains(id)) number(id).pinned = true;
    std::vector<int> open;
    std::vector<std::vector<Dim>> choices;
    for (const int id : unknown) {
      if (number(id).pinned) continue;
      std::vector<Dim> dims = candidates(id);
      if (dims.empty()) {
        free_.insert(id);
        continue;
      }
      open.push_back(id);
      choices.push_back(std::move(dims));
    }
    if (open.empty()) return;
    const bool is_one = std::all_of(choices.begin(), choices.end(), [](const std::vector<Dim>& dims) { return dims.size() == 1; });
    std::vector<size_t> at(open.size(), 0), best;
    int most = 0;
    for (int tried = 0; tried < kMostChoices; ++tried) {
      for (size_t k = 0; k < open.size(); ++k) expressions_.insert_or_assign(open[k], choices[k][at[k]]);
      const auto [known, names] = std::pair(names_, last_name_);
      Rule scheme = build();
      scheme.example = example();
      int held = holds_at(scheme, scheme.example, axioms_, signatures_).ok() ? 1 : 0;
      if (held > 0 && !is_one) held += static_cast<int>(draw_instances(scheme, kDraws, kAttempts, axioms_, signatures_, random_).size());
      names_ = known;
      last_name_ = names;
      if (held > most) {
        most = held;
        best = at;
      }
      if (most >= kEnough) break;
      size_t k = 0;
      while (k < at.size() && ++at[k] == choices[k].size()) at[k++] = 0;
      if (k == at.size()) break;
    }
    for (size_t k = 0; k < open.size(); ++k) {
      expressions_.erase(open[k]);
      if (most > 0)
        expressions_.emplace(open[k], choices[k][best[k]]);
      else
        free_.insert(open[k]);
    }
  }

  // Writing

  Rule build() {
    Rule rule;
    for (const Output& output : outputs_) rule.outputs.push_back({written(output.left), written(output.right)});
    for (size_t use = 0; use < proof_.uses.size(); ++use) rule.proof.uses.push_back(written(use));
    rule.float_class = float_class_of(rule.proof, axioms_);
    return rule;
  }

  Parameter written_unit(int id) {
    const Unit& each = unit(id);
    if (!each.opened) return each.value;
    if (std::holds_alternative<Dim>(each.value)) return written(each.numbers[0]);
    std::vector<Dim> list;
    for (const int part : each.numbers) list.push_back(written(part));
    return list;
  }

  /// Named parameters, and the rest that whole ones make.
  std::string write(const std::map<std::string, int>& ids, Parameters& named) {
    std::set<int> group;
    for (const auto& [name, id] : ids) {
      if (!unit(id).opened && !unit(id).pinned)
        group.insert(unit_classes_.leader(id));
      else
        named.emplace(name, written_unit(id));
    }
    if (group.empty()) return {};
    const auto [known, is_new] = rest_names_.emplace(group, std::string());
    if (is_new) {
      known->second = fmt::format("p{}", rest_names_.size());
      for (const auto& [name, id] : ids)
        if (group.contains(unit_classes_.leader(id))) rest_values_[known->second].emplace(name, unit(id).value);
    }
    return known->second;
  }

  Term written(const Term& term) {
    const auto* application = term.as_application();
    if (!application) return term;
    Term::Application result{application->op, application->output, {}, "", {}};
    result.rest = write(units_of_[static_cast<size_t>(node_of(term))], result.parameters);
    for (const Term& argument : application->arguments) result.arguments.push_back(written(argument));
    return Term(std::move(result));
  }

  verify::LawUse written(size_t use) {
    const verify::LawUse& at = proof_.uses[use];
    verify::LawUse result{at.law, {}};
    for (const auto& [name, term] : at.bindings.tensors) result.bindings.tensors.emplace(name, written(tensors_.at({use, name})));
    for (const auto& [name, value] : at.bindings.integers)
      if (!is_dim(use, name)) result.bindings.integers.emplace(name, named_.contains({use, name}) ? written(named(use, name)) : value);
    for (const auto& [name, parameters] : at.bindings.rests) {
      Parameters& named = result.bindings.rests[name];
      const auto ids = rests_.find({use, name});
      if (ids == rests_.end()) continue;
      if (const std::string rest = write(ids->second, named); !rest.empty()) result.bindings.open_rests.emplace(name, rest);
    }
    return result;
  }

  RuleInstance example() {
    RuleInstance result{types_, {}};
    for (const auto& [id, name] : names_) result.names.integers.emplace(name, number(id).value);
    for (const auto& [name, parameters] : rest_values_) result.names.rests.emplace(name, parameters);
    return result;
  }

  Result<Rule> rule() {
    Rule result = build();
    result.example = example();
    TRY_VOID(holds_at(result, result.example, axioms_, signatures_));
    return result;
  }

  struct Relation {
    int there;
    Dim integer;
    size_t use;
  };

  std::vector<Output> outputs_;
  const verify::VariableTypes& types_;
  const verify::Certificate& proof_;
  std::span<const verify::StatedAxiom> axioms_;
  verify::Signatures& signatures_;
  Random random_;

  std::map<Term, int, std::function<bool(const Term&, const Term&)>> nodes_{[](const Term& a, const Term& b) { return a.text() < b.text(); }};
  std::vector<std::map<std::string, int>> units_of_;  ///< of nodes
  std::vector<Unit> units_;
  std::unordered_map<Term, int, verify::TermHash> terms_;
  Classes unit_classes_, number_classes_, term_classes_;
  std::vector<Number> numbers_;
  std::map<std::pair<size_t, std::string>, std::map<std::string, int>> rests_;
  std::map<std::pair<size_t, std::string>, int> named_;
  std::map<std::pair<size_t, std::string>, Term> tensors_;
  std::vector<Relation> equations_;
  std::set<int> left_units_, right_units_, left_numbers_, right_numbers_;
  std::set<int> free_;  ///< of the right side: nothing on the left decides them
  std::map<int, Dim> expressions_;
  std::map<int, std::string> names_;
  std::map<std::set<int>, std::string> rest_names_;
  std::map<std::string, Parameters> rest_values_;
  int last_name_ = 0;
};

}  // namespace

Result<Rule> generalised(const std::vector<Output>& outputs, const verify::VariableTypes& types, const verify::Certificate& proof, std::span<const verify::StatedAxiom> axioms,
                         verify::Signatures& signatures, uint64_t seed) {
  return Generaliser(outputs, types, proof, axioms, signatures, seed).run();
}

}  // namespace isomer::substitutions
