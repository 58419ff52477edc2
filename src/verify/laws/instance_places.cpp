#include "verify/laws/instance_places.h"

#include <algorithm>

#include "graph/te/simplify.h"
#include "graph/te/symbols.h"
#include "verify/prover/bind.h"

namespace isomer::verify {
namespace {

std::optional<ValueType> type_of(const Term& term, const VariableTypes& variables) {
  if (const auto* variable = term.as_variable()) return variables.find(variable->name)->second;
  const auto* application = term.as_application();
  if (!application) return ValueType::tensor(DataType::kUndefined, {});
  std::vector<ValueType> types;
  for (const Term& argument : application->arguments) {
    auto type = type_of(argument, variables);
    if (!type) return std::nullopt;
    types.push_back(*std::move(type));
  }
  auto outputs = infer_application(*application, types);
  if (!outputs.ok() || static_cast<size_t>(application->output) >= outputs->size()) return std::nullopt;
  return std::move((*outputs)[static_cast<size_t>(application->output)]);
}

/// A number takes the element type of the other side.
bool have_one_type(const Law& law, const VariableTypes& variables) {
  const auto left = type_of(law.left, variables), right = left ? type_of(law.right, variables) : std::nullopt;
  if (!left || !right) return false;
  const bool is_open = left->dtype == DataType::kUndefined || right->dtype == DataType::kUndefined;
  return *left->shape == *right->shape && (is_open || left->dtype == right->dtype);
}

/// Integers that attributes state, which must be numbers.
void add_attribute_names(const Term& term, std::set<std::string>& result) {
  const auto* application = term.as_application();
  if (!application) return;
  for (const Term& argument : application->arguments) add_attribute_names(argument, result);
  for (const AttributeDef& def : application->op->attributes) {
    const auto found = application->parameters.find(def.name);
    if (found == application->parameters.end()) continue;
    for_each_dim(found->second, [&](const Dim& integer) { result.merge(names(integer)); });
  }
}

/// What is computed on the way has elements.
void add_facts(const Term& term, LawSizes& sizes) {
  const auto* application = term.as_application();
  if (!application) return;
  for (const Term& argument : application->arguments) add_facts(argument, sizes);
  const auto type = type_of(term, sizes.types);
  if (!type) return;
  for (const Dim& dim : *type->shape)
    if (!dim.is_constant() && !te::as<te::Symbol>(dim.expr())) sizes.facts.push_back(te::index(1) <= dim.expr());
}

}  // namespace

InstancePlaces::InstancePlaces(const Law& law, std::string_view family, const LawInstance& instance)
    : law_(law), family_(family), instance_(instance), said_(ranks_said(law)) {
  std::set<std::string> stated;
  add_attribute_names(law.left, stated);
  add_attribute_names(law.right, stated);
  for (const auto& [name, type] : instance.types)
    for (size_t k = 0; k < type.shape->size(); ++k)
      add({.variable = name, .index = k, .value = (*type.shape)[k].value()}, stated);
  dims_ = places_.size();
  for (const auto& [name, value] : instance.bindings.integers)
    if (!dim_named(name, instance.types)) add({.variable = {}, .name = name, .value = value.value()}, stated);
  const auto ops = rest_names({law.left, law.right});
  for (const auto& [rest, parameters] : instance.bindings.rests)
    for (const auto& [name, parameter] : parameters) {
      const auto* integers = std::get_if<std::vector<Dim>>(&parameter);
      const auto& attributes = ops.at(rest)->attributes;
      if (!integers ||
          std::any_of(attributes.begin(), attributes.end(), [&](const AttributeDef& def) { return def.name == name; }))
        continue;
      for (size_t k = 0; k < integers->size(); ++k)
        add({.variable = {}, .name = name, .rest = rest, .index = k, .value = (*integers)[k].value()}, stated);
    }
}

void InstancePlaces::add(Place place, const std::set<std::string>& stated) {
  if (place.variable.empty())
    place.is_stated = place.rest.empty() && stated.contains(place.name);
  else
    place.is_stated = std::any_of(stated.begin(), stated.end(), [&](const std::string& each) {
      const auto dim = dim_name(each, {place.variable});
      if (!dim || !dim->axis) return false;
      return static_cast<size_t>(*dim->axis < 0 ? *dim->axis + static_cast<int>(rank(place)) : *dim->axis) ==
             place.index;
    });
  places_.push_back(std::move(place));
}

LawSizes InstancePlaces::with(const std::vector<Dim>& sizes) const {
  VariableTypes types = instance_.types;
  Bindings bindings = instance_.bindings;
  for (size_t k = 0; k < places_.size(); ++k) {
    const Place& place = places_[k];
    if (!place.variable.empty())
      (*types.find(place.variable)->second.shape)[place.index] = sizes[k];
    else if (place.rest.empty())
      bindings.integers.insert_or_assign(place.name, sizes[k]);
    else
      std::get<std::vector<Dim>>(bindings.rests.find(place.rest)->second.find(place.name)->second)[place.index] =
          sizes[k];
  }
  for (auto& [name, value] : bindings.integers)
    if (auto dim = dim_named(name, types)) value = *std::move(dim);
  const te::Expr condition = law_.condition ? substitute(law_.condition, bindings) : te::Expr();
  LawSizes result{{substitute(law_.left, bindings), substitute(law_.right, bindings), condition}, std::move(types)};
  const bool has_names = std::any_of(sizes.begin(), sizes.end(), [](const Dim& size) { return !size.is_constant(); });
  for (const Term* side : {&result.law.left, &result.law.right})
    if (has_names) add_facts(*side, result);
  return result;
}

bool InstancePlaces::is_instance(const std::vector<int64_t>& values) const {
  const LawSizes sizes = with(values);
  if (sizes.law.condition && !(sizes.law.condition == te::truth(true))) return false;
  std::vector<ValueType> bound;
  for (const auto& [name, type] : sizes.types)
    if (!said_.contains(name)) bound.push_back(type);
  if (!is_of_family(family_, bound)) return false;
  return have_one_type(sizes.law, sizes.types);
}

std::string text(const LawSizes& sizes) {
  std::string result = sizes.law.text();
  for (const auto& [name, type] : sizes.types)
    result += fmt::format(" {}:{}{}", name, isomer::name(type.dtype), isomer::text(*type.shape));
  return result;
}

bool is_typed(const LawInstance& instance) { return have_one_type(instance.law, instance.types); }

bool has_elements(const LawInstance& instance) {
  const auto graph = graph_of({instance.law.left, instance.law.right}, instance.types);
  if (!graph.ok()) return false;
  const std::vector<ValueId> values = graph->values();
  return std::none_of(values.begin(), values.end(), [&](ValueId id) {
    const auto dims = constants(*graph->value(id).type.shape);
    return !graph->is_constant(id) && element_count(*dims) == 0;
  });
}

bool covers(const LawSizes& sizes, const LawInstance& instance) {
  Bindings bindings;
  for (const auto& [name, type] : sizes.types) {
    const ValueType& other = instance.types.find(name)->second;
    if (type.dtype != other.dtype || type.shape->size() != other.shape->size()) return false;
    for (size_t k = 0; k < type.shape->size(); ++k) {
      const std::set<std::string> free = names((*type.shape)[k]);
      if (free.size() != 1 || bindings.integers.contains(*free.begin())) continue;
      const Dim one = substitute((*type.shape)[k], Bindings{{}, {{*free.begin(), Dim(1)}}, {}});
      const Dim rest = substitute((*type.shape)[k], Bindings{{}, {{*free.begin(), Dim(0)}}, {}});
      const int64_t value = ((*other.shape)[k].value() - rest.value()) / std::max<int64_t>((one - rest).value(), 1);
      if (value < 1) return false;
      bindings.integers.emplace(*free.begin(), Dim(value));
    }
  }
  // Integers of the law may be parts of sums.
  if (!bind(sizes.law.left, instance.law.left, bindings) || !bind(sizes.law.right, instance.law.right, bindings))
    return false;
  if (std::any_of(bindings.integers.begin(), bindings.integers.end(),
                  [](const auto& named) { return !named.second.is_constant() || named.second.value() < 1; }))
    return false;
  for (const auto& [name, type] : sizes.types) {
    const ValueType& other = instance.types.find(name)->second;
    for (size_t k = 0; k < type.shape->size(); ++k)
      if (substitute((*type.shape)[k], bindings) != (*other.shape)[k]) return false;
  }
  if (!std::all_of(sizes.facts.begin(), sizes.facts.end(),
                   [&](const te::Expr& fact) { return substitute(fact, bindings) == te::truth(true); }))
    return false;
  return substitute(sizes.law.left, bindings) == instance.law.left &&
         substitute(sizes.law.right, bindings) == instance.law.right;
}

}  // namespace isomer::verify
