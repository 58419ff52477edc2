#include "substitutions/library/generalise.h"

#include <algorithm>

#include "graph/te/expr.h"
#include "graph/te/symbols.h"
#include "substitutions/library/solve_scheme.h"
#include "verify/proof/law_family.h"

namespace isomer::substitutions {
namespace {

using verify::Parameters;
using verify::Term;

/// Writes the rule that a solved scheme is.
class Writer {
 public:
  Writer(ParameterScheme& scheme, RankReader& ranks, const Solution& solution)
      : scheme_(scheme), ranks_(ranks), solution_(solution) {}

  Rule write(std::span<const verify::StatedAxiom> axioms) {
    Rule rule;
    // Names in the order in which the left side has them, then the right one.
    for (const Output& output : scheme_.outputs()) rule.outputs.push_back({written(output.left), output.right});
    for (Output& output : rule.outputs) output.right = written(output.right);
    for (size_t use = 0; use < scheme_.proof().uses.size(); ++use) rule.proof.uses.push_back(written(use));
    rule.float_class = float_class_of(rule.proof, axioms);
    rule.example = {scheme_.types(), {}};
    for (const auto& [id, name] : names_) rule.example.names.integers.emplace(name, scheme_.number(id).value);
    for (const auto& [name, parameters] : rest_values_) rule.example.names.rests.emplace(name, parameters);
    return rule;
  }

 private:
  Dim written(int id) {
    if (scheme_.number(id).pinned) return scheme_.number(id).value;
    if (const auto found = solution_.expressions.find(scheme_.leader(id)); found != solution_.expressions.end())
      return written(found->second);
    const auto [name, is_new] = names_.emplace(scheme_.leader(id), std::string());
    if (is_new) name->second = fresh_name();
    return Dim::symbol(name->second);
  }

  /// Numbers in it as the rule writes them.
  Dim written(const Dim& expression) {
    verify::Bindings names;
    for (const std::string& name : isomer::names(expression))
      if (const auto number = ParameterScheme::number_of(name)) names.integers.emplace(name, written(*number));
    return substitute(expression, names);
  }

  std::string fresh_name() {
    for (;; ++last_name_) {
      std::string name =
          last_name_ < 26 ? std::string(1, static_cast<char>('a' + last_name_)) : fmt::format("n{}", last_name_);
      if (scheme_.types().contains(name)) continue;
      ++last_name_;
      return name;
    }
  }

  /// A number where it stands in an application: an axis from the back as a negative one.
  Dim written(int id, const Term& application, const std::string& parameter, size_t index) {
    if (solution_.from_back.contains(scheme_.leader(id)))
      if (const auto rank = ranks_.counted_from(application, parameter, index)) return scheme_.number(id).value - *rank;
    return written(id);
  }

  verify::Parameter written_unit(int id, const Term* application, const std::string& name) {
    const ParameterScheme::Unit& unit = scheme_.unit(id);
    if (!unit.opened) return unit.value;
    std::vector<Dim> list;
    for (size_t k = 0; k < unit.numbers.size(); ++k)
      list.push_back(application ? written(unit.numbers[k], *application, name, k) : written(unit.numbers[k]));
    if (std::holds_alternative<Dim>(unit.value)) return list[0];
    return list;
  }

  /// Named parameters, and the rest that whole ones make; of an application, or of a law's rest.
  std::string write(const ParameterScheme::Units& units, const Term* application, Parameters& named) {
    std::set<int> group;
    for (const auto& [name, id] : units) {
      if (!scheme_.unit(id).opened && !scheme_.unit(id).pinned)
        group.insert(scheme_.unit_leader(id));
      else
        named.emplace(name, written_unit(id, application, name));
    }
    if (group.empty()) return {};
    const auto [known, is_new] = rest_names_.emplace(group, std::string());
    if (is_new) {
      known->second = fmt::format("p{}", rest_names_.size());
      for (const auto& [name, id] : units)
        if (group.contains(scheme_.unit_leader(id))) rest_values_[known->second].emplace(name, scheme_.unit(id).value);
    }
    return known->second;
  }

  Term written(const Term& term) {
    const auto* application = term.as_application();
    if (!application) return term;
    Term::Application result{application->op, application->output, {}, "", {}};
    result.rest = write(scheme_.units_of(term), &term, result.parameters);
    for (const Term& argument : application->arguments) result.arguments.push_back(written(argument));
    return Term(std::move(result));
  }

  verify::LawUse written(size_t use) {
    const verify::LawUse& at = scheme_.proof().uses[use];
    verify::LawUse result{at.law, {}};
    for (const auto& [name, term] : at.bindings.tensors)
      result.bindings.tensors.emplace(name, written(scheme_.tensor({use, name})));
    for (const auto& [name, value] : at.bindings.integers) {
      if (verify::dim_name(name, scheme_.variables_of(use))) continue;
      const auto number = scheme_.named({use, name});
      result.bindings.integers.emplace(name, number ? written(*number) : value);
    }
    for (const auto& [name, parameters] : at.bindings.rests) {
      Parameters& named = result.bindings.rests[name];
      const ParameterScheme::Units* units = scheme_.rest({use, name});
      if (!units) continue;
      if (const std::string rest = write(*units, nullptr, named); !rest.empty())
        result.bindings.open_rests.emplace(name, rest);
    }
    return result;
  }

  ParameterScheme& scheme_;
  RankReader& ranks_;
  const Solution& solution_;
  std::map<int, std::string> names_;
  std::map<std::set<int>, std::string> rest_names_;
  std::map<std::string, Parameters> rest_values_;
  int last_name_ = 0;
};

}  // namespace

Result<Rule> generalised(const std::vector<Output>& outputs, const verify::VariableTypes& types,
                         const verify::Certificate& proof, std::span<const verify::StatedAxiom> axioms,
                         verify::Signatures& signatures) {
  Result<Rule> result = Error{};
  for (const Reading reading : {Reading::kSizesTell, Reading::kLawsTell}) {
    ParameterScheme scheme(outputs, types, proof, axioms, signatures);
    TRY_VOID(scheme.read());
    RankReader ranks(scheme);
    SizeReader sizes(scheme, ranks);
    const Solution solution = solve(scheme, ranks, sizes, reading);
    result = Writer(scheme, ranks, solution).write(axioms);
    const auto held = holds_at(*result, result->example, axioms, signatures);
    if (held.ok()) break;
    result = held.error();
  }
  return result;
}

}  // namespace isomer::substitutions
