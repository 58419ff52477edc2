#include "verify/laws/float_values.h"

#include <array>
#include <cmath>
#include <limits>

#include "graph/tensor.h"

namespace isomer::verify {
namespace {

using Limits = std::numeric_limits<float>;

/// Kinds of draws.
enum class Kind : uint8_t { kOrdinary, kNearZero, kZeros, kWide, kAllMagnitudes, kFiniteSpecial, kSpecial };

float draw(Kind kind, double share, const std::vector<float>& specials, Random& random) {
  const auto ordinary = [&] { return static_cast<float>(random.uniform(-2, 2)); };
  constexpr std::array<float, 7> kNearZero = {0.0f, -0.0f, 1.0f, -1.0f, 2.0f, -2.0f, 0.5f};
  constexpr std::array<float, 3> kZeros = {0.0f, -0.0f, -1.0f};
  switch (kind) {
    case Kind::kOrdinary: return ordinary();
    case Kind::kNearZero: return kNearZero[random.below(kNearZero.size())];
    case Kind::kZeros: return kZeros[random.below(kZeros.size())];
    case Kind::kWide: return 100 * ordinary();
    case Kind::kAllMagnitudes: return std::ldexp(ordinary(), static_cast<int>(random.between(-30, 30)));
    case Kind::kFiniteSpecial:
    case Kind::kSpecial: break;
  }
  if (!random.chance(share)) return ordinary();
  const float value = specials[random.below(specials.size())];
  return kind == Kind::kSpecial || std::isfinite(value) ? value : ordinary();
}

}  // namespace

std::vector<float> special_values() {
  std::vector<float> result = {Limits::quiet_NaN(),
                               0.0f,
                               0.5f,
                               1.0f,
                               1.0f + Limits::epsilon(),
                               1.0f - Limits::epsilon() / 2,
                               1.0f / 3,
                               0.1f,
                               2.0f,
                               3.0f,
                               100.0f,
                               1000.0f,
                               16777215.0f,
                               1e20f,
                               Limits::min(),
                               Limits::min() / 2,
                               Limits::denorm_min(),
                               Limits::max(),
                               Limits::max() / 2,
                               Limits::infinity()};
  for (size_t k = result.size(); k > 1; --k) result.push_back(-result[k - 1]);
  return result;
}

std::vector<float> half_values() {
  std::vector<float> result;
  for (uint32_t pattern = 0; pattern < (1U << 16); ++pattern) {
    const std::array<std::byte, 2> bytes = {static_cast<std::byte>(pattern & 0xff),
                                            static_cast<std::byte>(pattern >> 8)};
    const auto value = static_cast<float>(decode_real(DataType::kFloat16, bytes.data()));
    if (!std::isnan(value) || pattern == 0x7e00) result.push_back(value);
  }
  return result;
}

std::vector<std::vector<float>> draw_values(const std::vector<int64_t>& counts, Random& random) {
  constexpr std::array<Kind, 9> kKinds = {Kind::kOrdinary,      Kind::kOrdinary, Kind::kNearZero,
                                          Kind::kZeros,         Kind::kWide,     Kind::kAllMagnitudes,
                                          Kind::kFiniteSpecial, Kind::kSpecial,  Kind::kSpecial};
  constexpr std::array<double, 3> kShares = {0.1, 0.5, 1};
  const std::vector<float> specials = special_values();
  const Kind common = kKinds[random.below(kKinds.size())];
  std::vector<std::vector<float>> result;
  for (const int64_t count : counts) {
    const Kind kind = random.chance(0.7) ? common : kKinds[random.below(kKinds.size())];
    const double share = kShares[random.below(kShares.size())];
    const bool is_positive = random.chance(0.3);
    auto& values = result.emplace_back();
    for (int64_t k = 0; k < count; ++k) {
      const float value = draw(kind, share, specials, random);
      values.push_back(is_positive ? std::fabs(value) : value);
    }
  }
  return result;
}

}  // namespace isomer::verify
