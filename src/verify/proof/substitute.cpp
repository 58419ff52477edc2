#include "verify/proof/substitute.h"

#include "graph/te/simplify.h"
#include "graph/te/symbols.h"

namespace isomer::verify {
namespace {

/// What a name of integers stands for.
auto integer_of(const Bindings& bindings) {
  return [&](const std::string& name) {
    const auto found = bindings.integers.find(name);
    return found == bindings.integers.end() ? te::Expr() : found->second.expr();
  };
}

template <class Visit>
void for_each_application(const Term& term, const Visit& visit) {
  const auto* application = term.as_application();
  if (!application) return;
  for (const Term& argument : application->arguments) for_each_application(argument, visit);
  visit(*application);
}

}  // namespace

Parameter substitute(const Parameter& parameter, const Bindings& bindings) {
  Parameter result = parameter;
  for_each_dim(result, [&](Dim& integer) { integer = substitute(integer, bindings); });
  return result;
}

Dim substitute(const Dim& integer, const Bindings& bindings) { return with_symbols(integer, integer_of(bindings)); }

te::Expr substitute(const te::Expr& condition, const Bindings& bindings) {
  return te::simplify_index(te::with_symbols(condition, integer_of(bindings)));
}

Term substitute(const Term& term, const Bindings& bindings) {
  if (const auto* variable = term.as_variable()) {
    const auto found = bindings.tensors.find(variable->name);
    return found == bindings.tensors.end() ? term : found->second;
  }
  const auto* application = term.as_application();
  if (!application) return term;
  Term::Application result{application->op, application->output, {}, application->rest, {}};
  for (const auto& [name, parameter] : application->parameters)
    result.parameters.emplace(name, substitute(parameter, bindings));
  const auto rest = bindings.rests.find(application->rest);
  const auto open = bindings.open_rests.find(application->rest);
  // What is named stands before what the rest says of it.
  if (rest != bindings.rests.end()) result.parameters.insert(rest->second.begin(), rest->second.end());
  if (open != bindings.open_rests.end())
    result.rest = open->second;
  else if (rest != bindings.rests.end())
    result.rest.clear();
  for (const Term& argument : application->arguments) result.arguments.push_back(substitute(argument, bindings));
  return Term(std::move(result));
}

Bindings composed(const Bindings& inner, const Bindings& outer) {
  Bindings result;
  for (const auto& [name, term] : inner.tensors) result.tensors.emplace(name, substitute(term, outer));
  for (const auto& [name, integer] : inner.integers) result.integers.emplace(name, substitute(integer, outer));
  for (const auto& [name, parameters] : inner.rests)
    for (auto& made = result.rests[name]; const auto& [parameter, value] : parameters)
      made.emplace(parameter, substitute(value, outer));
  for (const auto& [name, open] : inner.open_rests) {
    if (const auto rest = outer.rests.find(open); rest != outer.rests.end())
      result.rests[name].insert(rest->second.begin(), rest->second.end());
    const auto further = outer.open_rests.find(open);
    if (further != outer.open_rests.end())
      result.open_rests.emplace(name, further->second);
    else if (!outer.rests.contains(open))
      result.open_rests.emplace(name, open);
  }
  return result;
}

std::set<std::string> integer_names(const Term& term) {
  std::set<std::string> result;
  for_each_application(term, [&](const Term::Application& application) {
    for_each_dim(application.parameters, [&](const Dim& integer) { result.merge(names(integer)); });
  });
  return result;
}

std::set<std::string> integer_names(const Law& law) {
  std::set<std::string> result = integer_names(law.left);
  result.merge(integer_names(law.right));
  if (law.condition) result.merge(names(law.condition));
  return result;
}

std::map<std::string, const OpDef*> rest_names(const std::vector<Term>& terms) {
  std::map<std::string, const OpDef*> result;
  for (const Term& term : terms)
    for_each_application(term, [&](const Term::Application& application) {
      if (!application.rest.empty()) result.emplace(application.rest, application.op);
    });
  return result;
}

}  // namespace isomer::verify
