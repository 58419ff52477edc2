#include "substitutions/library/rank_reader.h"

#include <algorithm>
#include <utility>

#include "util/check.h"
#include "verify/proof/law_family.h"
#include "verify/proof/term_graph.h"

namespace isomer::substitutions {

using verify::Parameter;
using verify::Parameters;
using verify::Term;

Dim& integer_at(Parameters& parameters, const std::string& name, size_t index) {
  Parameter& value = parameters.find(name)->second;
  return std::holds_alternative<Dim>(value) ? std::get<Dim>(value) : std::get<std::vector<Dim>>(value)[index];
}

/// Of the output that the term is; nothing where the row refuses the operands.
std::optional<ValueType> inferred(const Term& term, const Parameters& parameters, std::span<const ValueType> types) {
  Term::Application asked = *term.as_application();
  asked.parameters = parameters;
  const auto made = verify::infer_application(asked, types);
  if (!made.ok() || static_cast<size_t>(asked.output) >= made->size()) return std::nullopt;
  const ValueType& type = (*made)[static_cast<size_t>(asked.output)];
  return type.has_shape() ? std::optional(type) : std::nullopt;
}

bool is_number(const Term& term) { return !term.as_variable() && !term.as_application(); }

const ValueType& RankReader::type_of(const Term& term) {
  if (const auto known = types_.find(term); known != types_.end()) return known->second;
  const auto typed = verify::spelled_out(term, scheme_.types(), scheme_.signatures());
  CHECK(typed.ok()) << "terms of a proof are well typed";
  return types_.emplace(term, typed->type).first->second;
}

std::vector<ValueType> RankReader::operand_types(const Term& application) {
  std::vector<ValueType> types;
  for (const Term& argument : application.as_application()->arguments)
    types.push_back(is_number(argument) ? ValueType::tensor(DataType::kUndefined, {}) : type_of(argument));
  return types;
}

Dim RankReader::rank_of(const Term& term) {
  if (const auto known = ranks_.find(term); known != ranks_.end()) return known->second;
  const auto* variable = term.as_variable();
  const Dim rank = variable                ? Dim::symbol(verify::text(verify::DimName{variable->name, std::nullopt}))
                   : term.as_application() ? rank_made(term)
                                           : Dim(0);
  return ranks_.emplace(term, rank).first->second;
}

/// Found by trying: whether it grows with one operand alone, with all of them, or with none.
Dim RankReader::rank_made(const Term& application) {
  const std::vector<Term>& arguments = application.as_application()->arguments;
  const std::vector<ValueType> types = operand_types(application);
  const auto rank = static_cast<int64_t>(type_of(application).shape->size());
  const Parameters from_back = axes_from_back(application);
  const auto grows_with = [&](const auto& is_raised) {
    std::vector<ValueType> raised = types;
    for (size_t k = 0; k < raised.size(); ++k)
      if (is_raised(k) && !is_number(arguments[k])) raised[k].shape->insert(raised[k].shape->begin(), Dim(1));
    const auto is_larger = [&](const Parameters& parameters) {
      const auto there = inferred(application, parameters, raised);
      return there && static_cast<int64_t>(there->shape->size()) == rank + 1;
    };
    return is_larger(application.as_application()->parameters) || is_larger(from_back);
  };
  std::optional<Dim> result;
  int64_t most = 0;
  const auto take = [&](size_t k) {
    result = result ? max(*result, rank_of(arguments[k])) : rank_of(arguments[k]);
    most = std::max(most, static_cast<int64_t>(types[k].shape->size()));
  };
  for (size_t k = 0; k < arguments.size(); ++k)
    if (grows_with([&](size_t other) { return other == k; })) take(k);
  if (!result && !arguments.empty() && grows_with([](size_t) { return true; })) take(0);
  return result ? *result + (rank - most) : Dim(rank);
}

std::optional<int64_t> RankReader::counted_from(const Term& application, const std::string& parameter, size_t index) {
  const Dim there = integers_of(application.as_application()->parameters.find(parameter)->second)->at(index);
  const Dim counted = integers_of(axes_from_back(application).find(parameter)->second)->at(index);
  return counted == there ? std::nullopt : std::optional((there - counted).value());
}

/// Less the rank of the first operand where that says the same.
const Parameters& RankReader::axes_from_back(const Term& application) {
  if (const auto known = from_back_.find(application); known != from_back_.end()) return known->second;
  Term::Application there = *application.as_application();
  const std::vector<ValueType> types = operand_types(application);
  const auto meant = types.empty() ? Result<std::string>(Error{}) : verify::program_text(there, types);
  for (const auto& [name, value] : application.as_application()->parameters) {
    const auto integers = integers_of(value);
    for (size_t k = 0; meant.ok() && integers && k < integers->size(); ++k) {
      Dim& number = integer_at(there.parameters, name, k);
      const Dim before = std::exchange(number, number - static_cast<int64_t>(types[0].shape->size()));
      const auto said = number.is_constant() && number.value() < 0 ? verify::program_text(there, types)
                                                                   : Result<std::string>(Error{});
      if (!said.ok() || *said != *meant) number = before;
    }
  }
  return from_back_.emplace(application, std::move(there.parameters)).first->second;
}

}  // namespace isomer::substitutions
