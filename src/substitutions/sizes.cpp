#include "substitutions/sizes.h"

#include <algorithm>

#include "graph/te/expr.h"
#include "util/check.h"
#include "verify/law_instances.h"
#include "verify/term_graph.h"

namespace isomer::substitutions {

using verify::Parameter;
using verify::Parameters;
using verify::Term;

namespace {

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

bool share_names(const Dim& a, const Dim& b) {
  const auto names = verify::names(a), others = verify::names(b);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return others.contains(name); });
}

}  // namespace

const ValueType& SizeReader::type_of(const Term& term) {
  if (const auto known = types_.find(term); known != types_.end()) return known->second;
  const auto typed = verify::spelled_out(term, scheme_.types(), scheme_.signatures());
  CHECK(typed.ok()) << "terms of a proof are well typed";
  return types_.emplace(term, typed->type).first->second;
}

int64_t SizeReader::at_example(const Dim& size) {
  verify::Bindings values;
  for (const std::string& name : verify::names(size)) {
    if (const auto number = Scheme::number_of(name)) {
      values.integers.emplace(name, scheme_.number(*number).value);
      continue;
    }
    for (const auto& [variable, type] : scheme_.types())
      if (const auto dim = verify::dim_name(name, {variable})) values.integers.emplace(name, verify::dim_or_none(*type.shape, dim->axis));
  }
  return substitute(size, values).constant().value_or(-1);
}

bool SizeReader::is_over_symbols(const Dim& size) const {
  std::vector<std::string> variables;
  for (const auto& [name, type] : scheme_.types()) variables.push_back(name);
  const auto names = verify::names(size);
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) { return Scheme::number_of(name) || verify::dim_name(name, variables); });
}

/// Rows write the greater of two sizes for what they broadcast to.
Dim SizeReader::without_maximum(const Dim& size) {
  if (size.is_constant()) return size;
  return Dim(te::transform(size.expr(), [&](const te::Expr& e) -> te::Expr {
    const auto* maximum = te::as<te::Binary>(e);
    if (!maximum || maximum->op != te::BinaryOp::kMax) return {};
    return at_example(Dim(maximum->left)) >= at_example(Dim(maximum->right)) ? maximum->left : maximum->right;
  }));
}

// Sizes

const std::optional<Sizes>& SizeReader::sizes_of(const Term& term) {
  if (const auto known = sizes_.find(term); known != sizes_.end()) return known->second;
  std::optional<Sizes> sizes;
  if (const auto* variable = term.as_variable()) {
    sizes.emplace();
    for (size_t axis = 0; axis < type_of(term).shape->size(); ++axis) sizes->push_back({Dim::symbol(verify::text(verify::DimName{variable->name, static_cast<int>(axis)})), {}});
  } else if (term.as_application()) {
    sizes = made(term);
  } else {
    sizes.emplace();
  }
  return sizes_.emplace(term, std::move(sizes)).first->second;
}

std::optional<SizeReader::Operands> SizeReader::operands_of(const Term& application) {
  Operands result;
  for (const Term& argument : application.as_application()->arguments) {
    const auto& sizes = sizes_of(argument);
    if (!sizes) return std::nullopt;
    ValueType type = is_number(argument) ? ValueType::tensor(DataType::kUndefined, {}) : type_of(argument);
    for (size_t axis = 0; axis < sizes->size(); ++axis) (*type.shape)[axis] = (*sizes)[axis].value;
    result.types.push_back(std::move(type));
    result.sizes.push_back(*sizes);
  }
  return result;
}

/// Numbers as symbols where the row takes them for any; parameters of others, which it reads, are `plain`.
Parameters SizeReader::symbolic_parameters(const Term& application, const Operands& operands, std::set<std::string>& plain) {
  Parameters result = application.as_application()->parameters;
  for (const auto& [name, id] : scheme_.units_of(application)) {
    const Scheme::Unit& unit = scheme_.unit(id);
    if (!unit.opened) continue;
    Parameters proposal = result;
    for (size_t k = 0; k < unit.numbers.size(); ++k)
      if (!scheme_.number(unit.numbers[k]).pinned) integer_at(proposal, name, k) = Scheme::symbol(scheme_.leader(unit.numbers[k]));
    const auto made = unit.is_input ? inferred(application, proposal, operands.types) : std::nullopt;
    if (made && std::all_of(made->shape->begin(), made->shape->end(), [&](const Dim& dim) { return is_over_symbols(dim); }))
      result = std::move(proposal);
    else
      plain.insert(name);
  }
  return result;
}

std::optional<Sizes> SizeReader::made(const Term& application) {
  const auto operands = operands_of(application);
  if (!operands) return std::nullopt;
  std::set<std::string> plain;
  const auto type = inferred(application, symbolic_parameters(application, *operands, plain), operands->types);
  if (!type) return std::nullopt;
  Sizes result;
  for (const Dim& dim : *type->shape) {
    Size size{without_maximum(dim), {}};
    for (const Sizes& operand : operands->sizes)
      for (const Size& from : operand)
        if (share_names(from.value, size.value)) size.depends.insert(from.depends.begin(), from.depends.end());
    result.push_back(std::move(size));
  }
  add_dependences(application, *operands, plain, result);
  return result;
}

/// The number one more, one less, or in another place of its list.
std::vector<Parameters> SizeReader::neighbours(const Parameters& parameters, const std::string& name, size_t index) const {
  std::vector<Parameters> result;
  for (const int step : {-1, 1}) {
    result.push_back(parameters);
    Dim& number = integer_at(result.back(), name, index);
    number = number + step;
  }
  const auto* list = std::get_if<std::vector<Dim>>(&parameters.find(name)->second);
  for (size_t other = 0; list && other < list->size(); ++other) {
    if (other == index) continue;
    result.push_back(parameters);
    std::swap(integer_at(result.back(), name, index), integer_at(result.back(), name, other));
  }
  return result;
}

/// A size depends on a number if it would be another one beside it.
void SizeReader::add_dependences(const Term& application, const Operands& operands, const std::set<std::string>& plain, Sizes& sizes) {
  const Parameters& parameters = application.as_application()->parameters;
  const auto here = inferred(application, parameters, operands.types);
  for (const std::string& name : plain) {
    const Scheme::Unit& unit = scheme_.unit(scheme_.units_of(application).at(name));
    for (size_t k = 0; here && k < unit.numbers.size(); ++k) {
      if (scheme_.number(unit.numbers[k]).pinned) continue;
      for (const Parameters& changed : neighbours(parameters, name, k)) {
        const auto there = inferred(application, changed, operands.types);
        if (!there) continue;
        for (size_t axis = 0; axis < sizes.size(); ++axis)
          if (there->shape->size() != sizes.size() || (*there->shape)[axis] != (*here->shape)[axis]) sizes[axis].depends.insert(scheme_.leader(unit.numbers[k]));
      }
    }
  }
}

// Equations

std::vector<SizeEquation> SizeReader::equal(const Term& left, const Term& right) {
  const auto &a = sizes_of(left), &b = sizes_of(right);
  std::vector<SizeEquation> result;
  if (!a || !b || a->size() != b->size()) return result;
  for (size_t axis = 0; axis < a->size(); ++axis) {
    SizeEquation equation{(*a)[axis].value - (*b)[axis].value, (*a)[axis].depends};
    equation.depends.insert((*b)[axis].depends.begin(), (*b)[axis].depends.end());
    result.push_back(std::move(equation));
  }
  return result;
}

/// Found by trying: what can only grow together with each of some others is their sum.
std::vector<SizeEquation> SizeReader::needs_of(const Term& application) {
  const auto operands = operands_of(application);
  if (!operands) return {};
  struct Local {
    Size size;
    Dim* place;
  };
  std::vector<Local> locals;
  std::vector<ValueType> types = argument_types(application);
  for (size_t k = 0; k < types.size(); ++k)
    for (size_t axis = 0; axis < types[k].shape->size(); ++axis) locals.push_back({operands->sizes[k][axis], &(*types[k].shape)[axis]});
  Parameters parameters = application.as_application()->parameters;
  for (const auto& [name, id] : scheme_.units_of(application)) {
    const Scheme::Unit& unit = scheme_.unit(id);
    for (size_t k = 0; unit.is_input && k < unit.numbers.size(); ++k)
      if (!scheme_.number(unit.numbers[k]).pinned) locals.push_back({{Scheme::symbol(scheme_.leader(unit.numbers[k])), {}}, &integer_at(parameters, name, k)});
  }
  const auto fits = [&](std::initializer_list<size_t> grown) {
    for (const size_t k : grown) *locals[k].place = *locals[k].place + 1;
    const bool result = inferred(application, parameters, types).has_value();
    for (const size_t k : grown) *locals[k].place = *locals[k].place - 1;
    return result;
  };
  const std::set<int> axes = axes_of(application);
  std::vector<SizeEquation> result;
  for (size_t k = 0; k < locals.size(); ++k) {
    if (fits({k})) continue;
    SizeEquation equation{locals[k].size.value, locals[k].size.depends};
    equation.depends.insert(axes.begin(), axes.end());
    Dim rest = *locals[k].place;
    for (size_t other = 0; other < locals.size(); ++other) {
      if (other == k || fits({other}) || !fits({k, other})) continue;
      equation.difference = equation.difference - locals[other].size.value;
      equation.depends.insert(locals[other].size.depends.begin(), locals[other].size.depends.end());
      rest = rest - *locals[other].place;
    }
    if (rest.is(0)) result.push_back(std::move(equation));
  }
  return result;
}

// Ranks

Dim SizeReader::rank_of(const Term& term) {
  if (const auto known = ranks_.find(term); known != ranks_.end()) return known->second;
  const auto* variable = term.as_variable();
  const Dim rank = variable ? Dim::symbol(verify::text(verify::DimName{variable->name, std::nullopt})) : term.as_application() ? rank_made(term) : Dim(0);
  return ranks_.emplace(term, rank).first->second;
}

/// Found by trying: whether it grows with one operand alone, with all of them, or with none.
Dim SizeReader::rank_made(const Term& application) {
  const std::vector<Term>& arguments = application.as_application()->arguments;
  const std::vector<ValueType> types = argument_types(application);
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

std::optional<int64_t> SizeReader::counted_from(const Term& application, const std::string& parameter, size_t index) {
  const Dim there = integers_of(application.as_application()->parameters.find(parameter)->second)->at(index);
  const Dim counted = integers_of(axes_from_back(application).find(parameter)->second)->at(index);
  return counted == there ? std::nullopt : std::optional((there - counted).value());
}

/// Less the rank of the first operand where that says the same.
const Parameters& SizeReader::axes_from_back(const Term& application) {
  if (const auto known = from_back_.find(application); known != from_back_.end()) return known->second;
  Term::Application there = *application.as_application();
  const std::vector<ValueType> types = argument_types(application);
  const auto meant = types.empty() ? Result<std::string>(Error{}) : verify::program_text(there, types);
  for (const auto& [name, value] : application.as_application()->parameters) {
    const auto integers = integers_of(value);
    for (size_t k = 0; meant.ok() && integers && k < integers->size(); ++k) {
      Dim& number = integer_at(there.parameters, name, k);
      const Dim before = std::exchange(number, number - static_cast<int64_t>(types[0].shape->size()));
      const auto said = number.is_constant() && number.value() < 0 ? verify::program_text(there, types) : Result<std::string>(Error{});
      if (!said.ok() || *said != *meant) number = before;
    }
  }
  return from_back_.emplace(application, std::move(there.parameters)).first->second;
}

std::set<int> SizeReader::axes_of(const Term& application) {
  std::set<int> result;
  for (const auto& [name, id] : scheme_.units_of(application)) {
    const std::vector<int>& numbers = scheme_.unit(id).numbers;
    for (size_t k = 0; k < numbers.size(); ++k)
      if (!scheme_.number(numbers[k]).pinned && counted_from(application, name, k)) result.insert(scheme_.leader(numbers[k]));
  }
  return result;
}

std::vector<ValueType> SizeReader::argument_types(const Term& application) {
  std::vector<ValueType> types;
  for (const Term& argument : application.as_application()->arguments) types.push_back(is_number(argument) ? ValueType::tensor(DataType::kUndefined, {}) : type_of(argument));
  return types;
}

}  // namespace isomer::substitutions
