#include "verify/proof/guess/spellings.h"

#include <algorithm>

namespace isomer::verify {
namespace {

bool is_index(const OpDef& op, const isomer::Parameter& formal) {
  if (formal.type == name(DataType::kInt64)) return true;
  return std::ranges::any_of(op.types,
                             [&](const TypeVariable& v) { return v.name == formal.type && v.types == kIndices; });
}

bool is_optional_list(const AttributeDef& def) {
  return def.kind == AttributeKind::kInts && !def.required && !def.fallback;
}

int64_t rank_of(const ValueType& type) { return static_cast<int64_t>(type.shape->size()); }

}  // namespace

std::vector<std::string> optional_lists(const OpDef& op) {
  std::vector<std::string> result;
  for (const AttributeDef& def : op.attributes)
    if (is_optional_list(def)) result.emplace_back(def.name);
  for (const isomer::Parameter& formal : op.inputs)
    if (formal.arity == isomer::Parameter::Arity::kOptional && is_index(op, formal)) result.emplace_back(formal.name);
  return result;
}

std::vector<std::string> repeated_dims(const Term::Application& application, std::span<const ValueType> types) {
  std::vector<std::string> result;
  for (const AttributeDef& def : application.op->attributes) {
    const auto found = application.parameters.find(def.name);
    const auto* list = found == application.parameters.end() ? nullptr : std::get_if<Integers>(&found->second);
    if (!list || !is_optional_list(def)) continue;
    const auto ends_with_it = [&](const ValueType& type) {
      return type.has_shape() && list->size() <= type.shape->size() &&
             std::equal(list->rbegin(), list->rend(), type.shape->rbegin());
    };
    if (std::ranges::any_of(types, ends_with_it)) result.emplace_back(def.name);
  }
  return result;
}

std::vector<std::array<Integers, 4>> default_lists(const Parameters& others, std::span<const ValueType> types) {
  std::set<size_t> lengths;
  if (!types.empty() && types[0].has_shape())
    for (const int64_t rank : {rank_of(types[0]), rank_of(types[0]) - 2})
      if (rank > 0) lengths.insert({static_cast<size_t>(rank), static_cast<size_t>(2 * rank)});
  for (const auto& [other, value] : others)
    if (const auto* list = std::get_if<Integers>(&value); list && !list->empty()) lengths.insert(list->size());
  std::vector<std::array<Integers, 4>> result;
  for (const size_t length : lengths) {
    auto& lists = result.emplace_back(std::array<Integers, 4>{Integers(length, Dim(0)), Integers(length, Dim(1))});
    for (size_t k = 0; k < length; ++k) lists[2].emplace_back(static_cast<int64_t>(k));
    lists[3].assign(lists[2].rbegin(), lists[2].rend());
  }
  return result;
}

std::set<int64_t> ranks_counted_in(const Term::Application& application, std::span<const ValueType> types) {
  std::set<int64_t> ranks;
  if (!types.empty() && types[0].has_shape()) ranks.insert(rank_of(types[0]));
  if (const auto made = infer_application(application, types); made.ok() && made->front().has_shape())
    ranks.insert(rank_of(made->front()));
  return ranks;
}

std::optional<Parameter> counted_from_front(const Parameter& axes, int64_t rank) {
  Parameter result = axes;
  bool changed = false;
  for_each_dim(result, [&](Dim& axis) {
    if (!axis.is_constant() || axis.value() >= 0) return;
    axis = axis + rank;
    changed = true;
  });
  return changed ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<Parameter> sorted(const Parameter& list) {
  const auto* integers = std::get_if<Integers>(&list);
  if (!integers || !constants(*integers)) return std::nullopt;
  Integers result = *integers;
  std::ranges::sort(result, {}, &Dim::value);
  return result == *integers ? std::nullopt : std::optional<Parameter>(std::move(result));
}

}  // namespace isomer::verify
