// Where a law may be used: types of its variables and parameters such as those that it was checked with
// (refute/law_instances.h draws them); what its names of dims say.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "verify/proof/substitute.h"
#include "verify/proof/term_graph.h"

namespace isomer::verify {

/// Families of shapes: "equal" (all variables have one shape, of rank 0 to 4), "broadcast" (ranks up to 4, dims that
/// broadcast), "ranked" (one rank of 1 to 4, any dims), "matrices" (ranks 2 to 4), "images" (one rank of 3 to 5, as
/// convolutions take them). "broadcast of floats" is the family of laws that hold for exact numbers and not for
/// integers, which wrap: |a·b| = |a|·|b|.
bool is_shape_family(std::string_view family);

/// Whether a law's variables may have such types in draws of the family, ranks and sizes aside: no size of 0,
/// one element type, of floats if it says so. A number, of no element type, is of any. A law may be used where it is
/// checked, not beyond.
bool is_drawn(std::string_view family, std::span<const ValueType> variables);
/// Whether those whose rank the law does not say may, in draws of the family, sizes aside.
bool is_of_family(std::string_view family, std::span<const ValueType> variables);
/// Of a family without what it says of element types: "broadcast" of "broadcast of floats".
std::string_view shapes_of(std::string_view family);
bool is_of_floats(std::string_view family);

/// What draws choose from: element types, some more often than others; integers for names that are no dims, sizes and
/// small ones; of attributes integers, or lists of such, between these.
inline constexpr std::array<DataType, 5> kDrawnTypes = {DataType::kFloat32, DataType::kFloat64, DataType::kInt32,
                                                        DataType::kInt64, DataType::kBool};
inline constexpr std::array<int64_t, 6> kDrawnSizes = {1, 2, 3, 5, 4, 6};
inline constexpr int64_t kLargestSmall = 3;
struct DrawnValues {
  std::string_view name;
  int64_t low, high;
};
/// nullptr: those of this name keep their defaults, or any value will do.
const DrawnValues* drawn_values(std::string_view name);
bool is_set_by_draws(const AttributeDef& def);

/// Whether draws set such parameters behind `..`; those that they never set must have their defaults.
bool is_drawn(const OpDef& op, const Parameters& rest);
/// Whether draws give them such values, too: strides of 3 they never do. Of integers that a law leaves open.
bool has_drawn_values(const Parameters& rest);
bool is_drawn(const Dim& integer);
/// The ranks of variables that a law's condition says (x_rank == 2, x_rank == y_rank - 1); these the family does not
/// bind.
struct SaidRank {
  std::string of;  ///< a variable whose rank it is, and so many more; empty: it is that many
  int64_t more = 0;
};
std::map<std::string, SaidRank> ranks_said(const Law& law);
/// What the name of a dim says: "x" and 2 of "x_2", "x" and -1 of "x_back1" (from the back), "x" alone of "x_rank".
struct DimName {
  std::string variable;
  std::optional<int> axis;
};
/// Whatever variables there are.
std::optional<DimName> dim_name(std::string_view name);
/// Nothing where there is no such variable.
std::optional<DimName> dim_name(std::string_view name, const std::vector<std::string>& variables);
std::string text(const DimName& name);
/// The dim, or the rank; nothing where the shape has none there.
std::optional<Dim> dim_at(const Shape& shape, std::optional<int> axis);
/// The same; 0 where the shape has none.
Dim dim_or_none(const Shape& shape, std::optional<int> axis);
/// What a name that is one of these variables' dims stands for. The variables must be of known rank.
std::optional<Dim> dim_named(std::string_view name, const VariableTypes& variables);

}  // namespace isomer::verify
