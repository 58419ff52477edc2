#include "substitutions/library/size_reader.h"

#include <algorithm>

#include "graph/te/expr.h"
#include "graph/te/symbols.h"
#include "verify/proof/law_family.h"

namespace isomer::substitutions {

using verify::Parameters;
using verify::Term;

namespace {

bool share_names(const Dim& a, const Dim& b) {
  const auto names = isomer::names(a), others = isomer::names(b);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return others.contains(name); });
}

}  // namespace

int64_t SizeReader::at_example(const Dim& size) {
  verify::Bindings values;
  for (const std::string& name : isomer::names(size)) {
    if (const auto number = ParameterScheme::number_of(name)) {
      values.integers.emplace(name, scheme_.number(*number).value);
      continue;
    }
    for (const auto& [variable, type] : scheme_.types())
      if (const auto dim = verify::dim_name(name, {variable}))
        values.integers.emplace(name, verify::dim_or_none(*type.shape, dim->axis));
  }
  return substitute(size, values).constant().value_or(-1);
}

bool SizeReader::is_over_symbols(const Dim& size) const {
  std::vector<std::string> variables;
  for (const auto& [name, type] : scheme_.types()) variables.push_back(name);
  const auto names = isomer::names(size);
  return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
    return ParameterScheme::number_of(name) || verify::dim_name(name, variables);
  });
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
    for (size_t axis = 0; axis < ranks_.type_of(term).shape->size(); ++axis)
      sizes->push_back({Dim::symbol(verify::text(verify::DimName{variable->name, static_cast<int>(axis)})), {}});
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
    ValueType type = is_number(argument) ? ValueType::tensor(DataType::kUndefined, {}) : ranks_.type_of(argument);
    for (size_t axis = 0; axis < sizes->size(); ++axis) (*type.shape)[axis] = (*sizes)[axis].value;
    result.types.push_back(std::move(type));
    result.sizes.push_back(*sizes);
  }
  return result;
}

/// Numbers as symbols where the row takes them for any; parameters of others, which it reads, are `plain`.
Parameters SizeReader::symbolic_parameters(const Term& application, const Operands& operands,
                                           std::set<std::string>& plain) {
  Parameters result = application.as_application()->parameters;
  for (const auto& [name, id] : scheme_.units_of(application)) {
    const ParameterScheme::Unit& unit = scheme_.unit(id);
    if (!unit.opened) continue;
    Parameters proposal = result;
    for (size_t k = 0; k < unit.numbers.size(); ++k)
      if (!scheme_.number(unit.numbers[k]).pinned)
        integer_at(proposal, name, k) = ParameterScheme::symbol(scheme_.leader(unit.numbers[k]));
    const auto made = unit.is_input ? inferred(application, proposal, operands.types) : std::nullopt;
    if (made &&
        std::all_of(made->shape->begin(), made->shape->end(), [&](const Dim& dim) { return is_over_symbols(dim); }))
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
std::vector<Parameters> SizeReader::neighbours(const Parameters& parameters, const std::string& name,
                                               size_t index) const {
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
void SizeReader::add_dependences(const Term& application, const Operands& operands, const std::set<std::string>& plain,
                                 Sizes& sizes) {
  const Parameters& parameters = application.as_application()->parameters;
  const auto here = inferred(application, parameters, operands.types);
  for (const std::string& name : plain) {
    const ParameterScheme::Unit& unit = scheme_.unit(scheme_.units_of(application).at(name));
    for (size_t k = 0; here && k < unit.numbers.size(); ++k) {
      if (scheme_.number(unit.numbers[k]).pinned) continue;
      for (const Parameters& changed : neighbours(parameters, name, k)) {
        const auto there = inferred(application, changed, operands.types);
        if (!there) continue;
        for (size_t axis = 0; axis < sizes.size(); ++axis)
          if (there->shape->size() != sizes.size() || (*there->shape)[axis] != (*here->shape)[axis])
            sizes[axis].depends.insert(scheme_.leader(unit.numbers[k]));
      }
    }
  }
}

std::set<int> SizeReader::axes_of(const Term& application) {
  std::set<int> result;
  for (const auto& [name, id] : scheme_.units_of(application)) {
    const std::vector<int>& numbers = scheme_.unit(id).numbers;
    for (size_t k = 0; k < numbers.size(); ++k)
      if (!scheme_.number(numbers[k]).pinned && ranks_.counted_from(application, name, k))
        result.insert(scheme_.leader(numbers[k]));
  }
  return result;
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
  std::vector<ValueType> types = ranks_.operand_types(application);
  for (size_t k = 0; k < types.size(); ++k)
    for (size_t axis = 0; axis < types[k].shape->size(); ++axis)
      locals.push_back({operands->sizes[k][axis], &(*types[k].shape)[axis]});
  Parameters parameters = application.as_application()->parameters;
  for (const auto& [name, id] : scheme_.units_of(application)) {
    const ParameterScheme::Unit& unit = scheme_.unit(id);
    for (size_t k = 0; unit.is_input && k < unit.numbers.size(); ++k)
      if (!scheme_.number(unit.numbers[k]).pinned)
        locals.push_back(
            {{ParameterScheme::symbol(scheme_.leader(unit.numbers[k])), {}}, &integer_at(parameters, name, k)});
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

}  // namespace isomer::substitutions
