#include "verify/proof/law_family.h"

#include <algorithm>

#include "graph/te/symbols.h"

namespace isomer::verify {
namespace {

constexpr std::array<std::string_view, 5> kFamilies = {"equal", "broadcast", "ranked", "matrices", "images"};
constexpr std::string_view kRank = "rank", kBack = "back", kAxes = "axes", kShape = "shape", kOfFloats = " of floats";
constexpr std::array<DrawnValues, 8> kValues = {{{"strides", 1, 2},
                                                 {"dilations", 1, 2},
                                                 {"pads", 0, 2},
                                                 {"kernel_shape", 1, 3},
                                                 {"group", 1, 3},
                                                 {"ceil_mode", 0, 1},
                                                 {"count_include_pad", 0, 1},
                                                 {"keepdims", 0, 1}}};
/// Attributes that draws set beside those, to any value.
constexpr std::array<std::string_view, 4> kAnyValue = {"axis", "perm", "epsilon", "momentum"};

bool broadcast_together(std::span<const ValueType> types) {
  Shape common;
  for (const ValueType& type : types)
    for (size_t back = 0; back < type.shape->size(); ++back) {
      const Dim& dim = type.shape->rbegin()[static_cast<std::ptrdiff_t>(back)];
      if (back == common.size()) common.push_back(dim);
      if (common[back].is(1)) common[back] = dim;
      if (!dim.is(1) && !(dim == common[back])) return false;
    }
  return true;
}

}  // namespace

const DrawnValues* drawn_values(std::string_view name) {
  const auto* found = std::ranges::find_if(kValues, [&](const DrawnValues& v) { return v.name == name; });
  return found == kValues.end() ? nullptr : found;
}

bool is_set_by_draws(const AttributeDef& def) {
  if (def.name == "kernel_shape") return def.required;
  return drawn_values(def.name) || std::ranges::find(kAnyValue, def.name) != kAnyValue.end();
}

bool is_of_floats(std::string_view family) { return family.ends_with(kOfFloats); }

std::string_view shapes_of(std::string_view family) {
  return is_of_floats(family) ? family.substr(0, family.size() - kOfFloats.size()) : family;
}

bool is_shape_family(std::string_view family) {
  return std::ranges::find(kFamilies, shapes_of(family)) != kFamilies.end();
}

bool is_drawn(std::string_view family, std::span<const ValueType> variables) {
  std::optional<DataType> dtype;
  for (const ValueType& type : variables) {
    if (!type.has_shape() || std::ranges::any_of(*type.shape, [](const Dim& dim) { return dim.is(0); })) return false;
    if (type.dtype == DataType::kUndefined) continue;
    if (dtype && *dtype != type.dtype) return false;
    dtype = type.dtype;
  }
  // What floats are to a law are reals: which type rounds them is no part of it.
  return !dtype || is_float(*dtype) ||
         (!is_of_floats(family) && std::ranges::find(kDrawnTypes, *dtype) != kDrawnTypes.end());
}

bool is_of_family(std::string_view family, std::span<const ValueType> variables) {
  family = shapes_of(family);
  const auto all = [&](const auto& is_so) { return std::ranges::all_of(variables, is_so); };
  const auto ranks_between = [&](size_t least, size_t most) {
    return all([&](const ValueType& type) { return least <= type.shape->size() && type.shape->size() <= most; });
  };
  const auto one_rank = [&] {
    return all([&](const ValueType& type) { return type.shape->size() == variables[0].shape->size(); });
  };
  if (family == "equal")
    return ranks_between(0, 4) && all([&](const ValueType& type) { return *type.shape == *variables[0].shape; });
  if (family == "broadcast") return ranks_between(0, 4) && broadcast_together(variables);
  if (family == "ranked") return ranks_between(1, 4) && one_rank();
  if (family == "matrices") return ranks_between(2, 4);
  return family == "images" && ranks_between(3, 5) && one_rank();
}

bool is_drawn(const OpDef& op, const Parameters& rest) {
  return std::ranges::all_of(rest, [&](const auto& named) {
    const auto& [name, value] = named;
    const auto def = std::ranges::find_if(op.attributes, [&](const AttributeDef& d) { return d.name == name; });
    if (def == op.attributes.end()) return name == kAxes || name == kShape;
    return is_set_by_draws(*def) || (def->fallback && parameter_of(*def->fallback) == value);
  });
}

bool has_drawn_values(const Parameters& rest) {
  return std::ranges::all_of(rest, [](const auto& named) {
    const DrawnValues* drawn = drawn_values(named.first);
    bool are_between = true;
    for_each_dim(named.second, [&](const Dim& value) {
      are_between &= !drawn || (value.is_constant() && drawn->low <= value.value() && value.value() <= drawn->high);
    });
    return are_between;
  });
}

bool is_drawn(const Dim& integer) {
  return integer.is_constant() && ((0 <= integer.value() && integer.value() <= kLargestSmall) ||
                                   std::ranges::find(kDrawnSizes, integer.value()) != kDrawnSizes.end());
}

std::map<std::string, SaidRank> ranks_said(const Law& law) {
  std::map<std::string, SaidRank> result;
  if (!law.condition) return result;
  const std::vector<std::string> variables = verify::variables({law.left, law.right});
  const auto ranked = [&](const std::string& name) {
    const auto dim = dim_name(name, variables);
    return dim && !dim->axis ? dim->variable : std::string();
  };
  te::for_each_node(law.condition, [&](const te::Expr& e) {
    const auto* equal = te::as<te::Binary>(e);
    const auto* symbol = equal && equal->op == te::BinaryOp::kEqual ? te::as<te::Symbol>(equal->left) : nullptr;
    const std::string variable = symbol ? ranked(symbol->name) : std::string();
    if (variable.empty()) return;
    const Dim rank(equal->right);
    const std::set<std::string> others = names(rank);
    const std::string of = others.size() == 1 ? ranked(*others.begin()) : std::string();
    const Dim more = of.empty() ? rank : rank - Dim::symbol(*others.begin());
    // Of two that are said of each other the first is bound by the family.
    if (more.is_constant() && of != variable && (of.empty() || !result.contains(of)))
      result.emplace(variable, SaidRank{of, more.value()});
  });
  return result;
}

std::optional<DimName> dim_name(std::string_view name) {
  const size_t bar = name.rfind('_');
  if (bar == std::string_view::npos) return std::nullopt;
  const std::string variable(name.substr(0, bar));
  std::string_view what = name.substr(bar + 1);
  if (what == kRank) return DimName{variable, std::nullopt};
  const bool from_back = what.starts_with(kBack);
  if (from_back) what.remove_prefix(kBack.size());
  if (what.empty() || what.size() > 2 || what.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const int number = std::stoi(std::string(what));
  if (from_back && number == 0) return std::nullopt;
  return DimName{variable, from_back ? -number : number};
}

std::optional<DimName> dim_name(std::string_view name, const std::vector<std::string>& variables) {
  auto result = dim_name(name);
  if (result && std::ranges::find(variables, result->variable) == variables.end()) return std::nullopt;
  return result;
}

std::string text(const DimName& name) {
  if (!name.axis) return fmt::format("{}_{}", name.variable, kRank);
  return *name.axis < 0 ? fmt::format("{}_{}{}", name.variable, kBack, -*name.axis)
                        : fmt::format("{}_{}", name.variable, *name.axis);
}

std::optional<Dim> dim_at(const Shape& shape, std::optional<int> axis) {
  const auto rank = static_cast<int>(shape.size());
  if (!axis) return Dim(rank);
  const int at = *axis < 0 ? *axis + rank : *axis;
  return 0 <= at && at < rank ? std::optional(shape[static_cast<size_t>(at)]) : std::nullopt;
}

Dim dim_or_none(const Shape& shape, std::optional<int> axis) { return dim_at(shape, axis).value_or(Dim(0)); }

std::optional<Dim> dim_named(std::string_view name, const VariableTypes& variables) {
  const auto dim = dim_name(name);
  const auto variable = dim ? variables.find(dim->variable) : variables.end();
  return variable == variables.end() ? std::nullopt : std::optional(dim_or_none(*variable->second.shape, dim->axis));
}

}  // namespace isomer::verify
