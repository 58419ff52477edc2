#include "substitutions/library/parameter_scheme.h"

#include <algorithm>

#include "graph/te/expr.h"
#include "graph/te/symbols.h"
#include "verify/proof/law_family.h"

namespace isomer::substitutions {

using verify::Parameter;
using verify::Term;

namespace {

constexpr char kNumber = '#';

/// Outputs of one application share it.
Term node_term(const Term& application) {
  Term::Application first = *application.as_application();
  first.output = 0;
  return Term(std::move(first));
}

bool is_input(const OpDef& op, const std::string& name) {
  return std::any_of(op.inputs.begin(), op.inputs.end(),
                     [&](const isomer::Parameter& formal) { return formal.name == name; });
}

}  // namespace

std::optional<std::vector<Dim>> integers_of(const Parameter& value) {
  if (const auto* one = std::get_if<Dim>(&value)) return std::vector<Dim>{*one};
  const auto* several = std::get_if<std::vector<Dim>>(&value);
  return several ? std::optional(*several) : std::nullopt;
}

int UnionFind::make() {
  leaders_.push_back(static_cast<int>(leaders_.size()));
  return leaders_.back();
}

int UnionFind::leader(int id) const {
  while (leaders_[static_cast<size_t>(id)] != id) id = leaders_[static_cast<size_t>(id)];
  return id;
}

void UnionFind::unite(int a, int b) {
  a = leader(a);
  b = leader(b);
  leaders_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
}

std::string ParameterScheme::symbol_name(int number) { return kNumber + std::to_string(number); }
std::optional<int> ParameterScheme::number_of(const std::string& symbol) {
  return symbol[0] == kNumber ? std::optional(std::stoi(symbol.substr(1))) : std::nullopt;
}

Result<void> ParameterScheme::read() {
  for (Output& output : outputs_) {
    TRY(verify::TypedTerm left, verify::spelled_out(output.left, types_, signatures_));
    TRY(verify::TypedTerm right, verify::spelled_out(output.right, types_, signatures_));
    output = {std::move(left.term), std::move(right.term)};
    add(output.left);
    add(output.right);
  }
  for (size_t use = 0; use < proof_.uses.size(); ++use) TRY_VOID(read_use(use));
  unite_congruent();
  separate_rests();
  return {};
}

// Terms

int ParameterScheme::node_of(const Term& application) {
  const auto [known, is_new] = nodes_.emplace(node_term(application), static_cast<int>(units_of_.size()));
  if (is_new) {
    units_of_.emplace_back();
    const auto& there = *known->first.as_application();
    for (const auto& [name, value] : there.parameters)
      units_of_.back().emplace(name, make_unit(value, is_input(*there.op, name)));
  }
  return known->second;
}

const ParameterScheme::Units& ParameterScheme::units_of(const Term& application) const {
  return units_of_[static_cast<size_t>(nodes_.at(node_term(application)))];
}

const ParameterScheme::Units* ParameterScheme::rest(const Place& place) const {
  const auto found = rests_.find(place);
  return found == rests_.end() ? nullptr : &found->second;
}

void ParameterScheme::add(const Term& term) {
  if (!term_ids_.emplace(term, static_cast<int>(terms_.size())).second) return;
  terms_.push_back(term);
  (void)term_classes_.make();
  if (!term.as_application()) return;
  node_of(term);
  for (const Term& argument : term.as_application()->arguments) add(argument);
}

/// Applications that the proof takes for one, as their arguments are equal, have one set of parameters.
void ParameterScheme::unite_congruent() {
  for (bool changed = true; changed;) {
    changed = false;
    std::map<std::pair<std::string, std::vector<int>>, int> seen;
    for (size_t id = 0; id < terms_.size(); ++id) {
      const auto* application = terms_[id].as_application();
      if (!application) continue;
      std::vector<int> arguments;
      for (const Term& argument : application->arguments)
        arguments.push_back(term_classes_.leader(term_ids_.at(argument)));
      Term::Application symbol = *application;
      symbol.arguments.clear();
      const auto [first, is_new] =
          seen.emplace(std::pair(Term(std::move(symbol)).text(), std::move(arguments)), static_cast<int>(id));
      if (is_new) continue;
      const Units &one = units_of(terms_[static_cast<size_t>(first->second)]), &other = units_of(terms_[id]);
      for (const auto& [name, unit] : one) unite_units(unit, other.at(name));
      if (term_classes_.leader(first->second) == term_classes_.leader(static_cast<int>(id))) continue;
      term_classes_.unite(first->second, static_cast<int>(id));
      changed = true;
    }
  }
}

// Units and numbers

int ParameterScheme::make_unit(const Parameter& value, bool is_input) {
  units_.push_back({value, is_input, false, false, {}});
  return unit_classes_.make();
}

int ParameterScheme::make_number(const Dim& value, bool pinned) {
  numbers_.push_back({value, pinned});
  return number_classes_.make();
}

void ParameterScheme::unite_numbers(int a, int b) {
  const bool pinned = number(a).pinned || number(b).pinned;
  number_classes_.unite(a, b);
  number(a).pinned = pinned;
}

void ParameterScheme::unite_units(int a, int b) {
  if (unit_leader(a) == unit_leader(b)) return;
  const Unit one = unit(a), other = unit(b);
  unit_classes_.unite(a, b);
  Unit& made = unit(a);
  made.is_input = one.is_input && other.is_input;
  made.pinned = one.pinned || other.pinned;
  made.opened = one.opened || other.opened;
  made.numbers = one.opened ? one.numbers : other.numbers;
  if (one.opened && other.opened)
    for (size_t k = 0; k < one.numbers.size(); ++k) unite_numbers(one.numbers[k], other.numbers[k]);
  if (made.pinned) pin(a);
}

void ParameterScheme::open(int id) {
  if (unit(id).opened) return;
  const auto integers = integers_of(unit(id).value);
  if (!integers) {
    unit(id).pinned = true;
    return;
  }
  std::vector<int> numbers;
  for (const Dim& value : *integers) numbers.push_back(make_number(value, unit(id).pinned));
  unit(id).opened = true;
  unit(id).numbers = std::move(numbers);
}

void ParameterScheme::pin(int id) {
  unit(id).pinned = true;
  for (const int each : unit(id).numbers) number(each).pinned = true;
}

// Uses of laws

Result<void> ParameterScheme::read_use(size_t use) {
  const verify::LawUse& at = proof_.uses[use];
  const verify::StatedAxiom& axiom = axioms_[static_cast<size_t>(at.law)];
  TRY(verify::Law instance, verify::instance_of(axiom, at.bindings, types_, signatures_));
  add(instance.left);
  add(instance.right);
  term_classes_.unite(term_ids_.at(instance.left), term_ids_.at(instance.right));
  read(use, axiom.law.left, instance.left);
  read(use, axiom.law.right, instance.right);
  if (axiom.law.condition) read_condition(use, axiom.law.condition);
  instances_.push_back(std::move(instance));
  return {};
}

void ParameterScheme::read(size_t use, const Term& pattern, const Term& term) {
  if (pattern.as_variable()) {
    tensors_.emplace(Place(use, pattern.as_variable()->name), term);
    return;
  }
  const auto* sought = pattern.as_application();
  if (!sought) return;
  for (const auto& [name, id] : units_of(term)) {
    const auto written = sought->parameters.find(name);
    if (written == sought->parameters.end()) {
      if (sought->rest.empty())
        pin(id);
      else if (const auto [rest, is_new] = rests_[{use, sought->rest}].emplace(name, id); !is_new)
        unite_units(rest->second, id);
      continue;
    }
    open(id);
    const auto integers = integers_of(written->second);
    for (size_t k = 0; integers && k < integers->size(); ++k) read(use, (*integers)[k], unit(id).numbers[k], term);
  }
  for (size_t k = 0; k < sought->arguments.size(); ++k)
    read(use, sought->arguments[k], term.as_application()->arguments[k]);
}

void ParameterScheme::read(size_t use, const Dim& written, int there, const Term& application) {
  const auto* name = te::as<te::Symbol>(written.expr());
  if (written.is_constant() && written != number(there).value)
    from_back_.push_back({there, written.value(), application});
  else if (written.is_constant())
    number(there).pinned = true;
  else if (name && !verify::dim_name(name->name, variables_of(use)))
    unite_numbers(there, number_named({use, name->name}));
  else
    relate(use, symbol(there), written);
}

void ParameterScheme::relate(size_t use, const Dim& left, const Dim& right) {
  for (const Dim* side : {&left, &right})
    for (const std::string& name : isomer::names(*side))
      if (!number_of(name) && !verify::dim_name(name, variables_of(use))) (void)number_named({use, name});
  relations_.push_back({left, right, use});
}

/// What the parts of the condition say to be equal.
void ParameterScheme::read_condition(size_t use, const te::Expr& condition) {
  const auto* both = te::as<te::Binary>(condition);
  if (both && both->op == te::BinaryOp::kAnd) {
    read_condition(use, both->left);
    read_condition(use, both->right);
  } else if (both && both->op == te::BinaryOp::kEqual && both->left.dtype() == DataType::kInt64) {
    relate(use, Dim(both->left), Dim(both->right));
  }
}

std::vector<std::string> ParameterScheme::variables_of(size_t use) const {
  std::vector<std::string> result;
  for (const auto& [name, term] : proof_.uses[use].bindings.tensors) result.push_back(name);
  return result;
}

int ParameterScheme::number_named(const Place& place) {
  if (const auto known = named(place)) return *known;
  return named_
      .emplace(place, make_number(proof_.uses[place.first].bindings.integers.find(place.second)->second, false))
      .first->second;
}

std::optional<int> ParameterScheme::named(const Place& place) const {
  const auto known = named_.find(place);
  return known == named_.end() ? std::nullopt : std::optional(known->second);
}

// Rests

/// Whole parameters that no law looks into, by the places where they stand together.
std::vector<std::set<int>> ParameterScheme::groups() {
  std::vector<std::set<int>> result;
  const auto collect = [&](const Units& ids) {
    std::set<int> group;
    for (const auto& [name, id] : ids)
      if (!unit(id).opened && !unit(id).pinned) group.insert(unit_leader(id));
    if (!group.empty()) result.push_back(std::move(group));
  };
  for (const Units& ids : units_of_) collect(ids);
  for (const auto& [place, ids] : rests_) collect(ids);
  return result;
}

/// A rest is the same wherever one of its parameters stands; parameters that don't keep together are opened.
void ParameterScheme::separate_rests() {
  for (bool changed = true; changed;) {
    changed = false;
    const auto all = groups();
    for (size_t a = 0; a < all.size() && !changed; ++a)
      for (size_t b = a + 1; b < all.size() && !changed; ++b) {
        if (all[a] == all[b]) continue;
        std::vector<int> shared, apart;
        std::set_intersection(all[a].begin(), all[a].end(), all[b].begin(), all[b].end(), std::back_inserter(shared));
        if (shared.empty()) continue;
        std::set_symmetric_difference(all[a].begin(), all[a].end(), all[b].begin(), all[b].end(),
                                      std::back_inserter(apart));
        for (const int id : apart) open(id);
        changed = true;
      }
  }
}

}  // namespace isomer::substitutions
