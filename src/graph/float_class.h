// What floating point may do to a change of a program, and what a user lets it do.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace isomer {

/// What floating point does to a law (reliability.md 3.2): bit-identical; up to the sign of zero; equal unless NaN or
/// Inf appears; equal in the reals but rounded differently; the same, but of values of usual size one side may give NaN
/// or Inf. Bit-identical is what a runtime that does as it is told, one node after the other, can't tell apart: each
/// element is made of the same numbers by the same operations, none of them a sum of several terms (products and
/// convolutions among them: runtimes group terms by the shapes that they find), nor a maximum of floats (which of two
/// zeros it is hangs on the vector that it is computed in).
enum class FloatClass : uint8_t { kExact, kSignOfZero, kFinite, kReassociated, kUnsafe };

constexpr std::string_view name(FloatClass float_class) {
  constexpr std::string_view kNames[] = {"exact", "sign-of-zero", "finite", "reassociated", "unsafe"};
  return kNames[static_cast<size_t>(float_class)];
}

/// From the strictest to the weakest.
enum class FloatMode : uint8_t {
  kStrict,       ///< bit-identical results
  kReassociate,  ///< equal in the reals on finite values; rounded differently
  kFast,         ///< where overflow may lose a result, too
};

/// As users write them.
inline constexpr std::pair<FloatMode, std::string_view> kFloatModes[] = {
    {FloatMode::kStrict, "strict"}, {FloatMode::kReassociate, "reassociate"}, {FloatMode::kFast, "fast"}};
constexpr std::string_view name(FloatMode mode) {
  for (const auto& [known, name] : kFloatModes)
    if (known == mode) return name;
  return {};
}
constexpr std::optional<FloatMode> float_mode(std::string_view name) {
  for (const auto& [mode, known] : kFloatModes)
    if (known == name) return mode;
  return std::nullopt;
}

/// May a change of this class be made?
constexpr bool allows(FloatMode mode, FloatClass fp_class) {
  return fp_class == FloatClass::kExact ||
         (mode != FloatMode::kStrict && (fp_class != FloatClass::kUnsafe || mode == FloatMode::kFast));
}

}  // namespace isomer
