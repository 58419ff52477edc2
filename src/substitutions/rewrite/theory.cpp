#include "substitutions/rewrite/theory.h"

#include <limits>
#include <ranges>

#include "substitutions/proof/read/rule_text.h"
#include "verify/proof/law_family.h"

namespace isomer::substitutions {
namespace {

using verify::Term;

bool is_symbolic(const verify::Parameter& parameter) {
  if (const auto* one = std::get_if<Dim>(&parameter)) return !one->is_constant();
  const auto* several = std::get_if<std::vector<Dim>>(&parameter);
  return several && !constants(*several);
}

std::vector<Dim*> symbolic_integers(verify::Parameters& parameters) {
  std::vector<Dim*> result;
  for (auto& [name, parameter] : parameters) {
    if (!is_symbolic(parameter)) continue;
    if (auto* one = std::get_if<Dim>(&parameter)) result.push_back(one);
    if (auto* several = std::get_if<std::vector<Dim>>(&parameter))
      for (Dim& each : *several)
        if (!each.is_constant()) result.push_back(&each);
  }
  return result;
}

}  // namespace

DataType Theory::dtype_beside(std::span<const int> types, int conditions) {
  const auto type_of = [&](int id) -> const ValueType& { return signatures().type(id); };
  return verify::dtype_beside(std::views::transform(types, type_of), conditions);
}

std::optional<int> Theory::constant_form(int operation, std::span<const int> types) {
  verify::Parameters parameters = signatures().operation(operation).parameters;
  std::vector<Dim*> open = symbolic_integers(parameters);
  if (open.empty()) return operation;
  std::vector<int> key = {operation};
  key.insert(key.end(), types.begin(), types.end());
  const auto [known, is_new] = constant_forms_.try_emplace(std::move(key));
  if (!is_new) return known->second;
  // Rows read some numbers as what sizes say: 0 and -1 in a shape, 1 in a broadcast, the largest integer as an end.
  constexpr int64_t kSpecial[] = {0, -1, 1, std::numeric_limits<int64_t>::max()};
  constexpr size_t kMostOpen = 5;
  if (open.size() > kMostOpen) return std::nullopt;
  const OpDef& op = *signatures().operation(operation).op;
  std::vector<ValueType> arguments;
  for (const int type : types) arguments.push_back(signatures().type(type));
  const auto meaning = [&](const verify::Parameters& given) {
    return verify::program_text({&op, 0, given, "", std::vector<Term>(arguments.size(), Term::variable("x"))},
                                arguments);
  };
  const auto sought = meaning(parameters);
  if (!sought.ok()) return std::nullopt;
  size_t combinations = 1;
  for (size_t k = 0; k < open.size(); ++k) combinations *= std::size(kSpecial);
  for (size_t combination = 0; combination < combinations; ++combination) {
    size_t rest = combination;
    for (Dim* integer : open) {
      *integer = Dim(kSpecial[rest % std::size(kSpecial)]);
      rest /= std::size(kSpecial);
    }
    if (const auto found = meaning(parameters); found.ok() && *found == *sought)
      return known->second = signatures().operation_id(op, parameters);
  }
  return std::nullopt;
}

Hash128 Theory::operation_hash(int operation) {
  const auto at = static_cast<size_t>(operation);
  if (at >= hashes_.size()) hashes_.resize(at + 1);
  if (!hashes_[at]) {
    const auto& [op, parameters] = signatures().operation(operation);
    Hasher hasher;
    hasher.add(op->domain).add(op->name);
    for (const auto& [name, value] : parameters) hasher.add(name).add(verify::text(value));
    hashes_[at] = hasher.finish();
  }
  return *hashes_[at];
}

Rule rule_of(int law, std::span<const verify::StatedAxiom> axioms) {
  const verify::StatedAxiom& axiom = axioms[static_cast<size_t>(law)];
  Rule rule;
  rule.name = law_name(law, axioms);
  rule.outputs = {{axiom.law.left, axiom.law.right}};
  rule.float_class = axiom.axiom->float_class;
  verify::Bindings same;
  const std::vector<std::string> variables = verify::variables({axiom.law.left, axiom.law.right});
  for (const std::string& name : variables) same.tensors.emplace(name, Term::variable(name));
  for (const Term* side : {&axiom.law.left, &axiom.law.right}) {
    // Dims are what they are wherever the rule is used.
    for (const std::string& name : verify::integer_names(*side))
      if (!verify::dim_name(name, variables)) same.integers.emplace(name, Dim::symbol(name));
  }
  for (const auto& [name, op] : verify::rest_names({axiom.law.left, axiom.law.right})) {
    same.rests.emplace(name, verify::Parameters());
    same.open_rests.emplace(name, name);
  }
  rule.proof.uses.push_back({law, std::move(same)});
  return rule;
}

std::vector<Rule> rules_of_laws(std::span<const verify::StatedAxiom> axioms) {
  std::vector<Rule> rules;
  for (size_t law = 0; law < axioms.size(); ++law) rules.push_back(rule_of(static_cast<int>(law), axioms));
  return rules;
}

}  // namespace isomer::substitutions
