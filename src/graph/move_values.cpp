#include "graph/move_values.h"

#include <bit>
#include <cmath>
#include <limits>

namespace isomer {
namespace {

constexpr int kDoubleBits = 52;

/// Bits of a double's mantissa that the type doesn't have.
int spare_bits(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16: return kDoubleBits - 10;
    case DataType::kBFloat16: return kDoubleBits - 7;
    case DataType::kFloat64: return 8;
    default: return kDoubleBits - 23;
  }
}

class Rounder {
 public:
  explicit Rounder(DataType dtype) : dtype_(dtype), unit_(uint64_t{1} << spare_bits(dtype)) {}

  bool has(double value) const {
    if (!std::isfinite(value)) return true;
    if (dtype_ == DataType::kFloat32) return static_cast<double>(static_cast<float>(value)) == value;
    return (std::bit_cast<uint64_t>(value) & (unit_ - 1)) == 0 &&
           (dtype_ == DataType::kFloat64 || round_to(dtype_, value) == value);
  }

  /// The number of the type nearest to what is `places` last places from the value.
  double moved(double value, double places) const {
    const auto distance = static_cast<int64_t>(places * static_cast<double>(unit_));
    const uint64_t bits = std::bit_cast<uint64_t>(value) + static_cast<uint64_t>(distance) + unit_ / 2;
    const double rounded = std::bit_cast<double>(bits & ~(unit_ - 1));
    // Close to zero the step to the left would change the sign, close to the largest number the type ends.
    if (std::isnan(rounded) || std::signbit(rounded) != std::signbit(value)) return value;
    return dtype_ == DataType::kFloat64 ? rounded : round_to(dtype_, rounded);
  }

 private:
  DataType dtype_;
  uint64_t unit_;
};

double draw(const RandomRounding& movement, double most, Random& random) {
  const double places = random.uniform(-most, most);
  return movement.opposite ? -places : places;
}

/// All elements as doubles, for writing.
te::Array copied(const te::Array& array) {
  auto result = te::Array::allocate(array.dtype(), array.dims());
  if (!result.ok()) return array;
  for (int64_t i = 0; i < array.count(); ++i) result->mutable_reals()[i] = array.real(i);
  return *std::move(result);
}

bool is_writable_copy(const te::Array& made, const te::Array& of) { return made.data() != of.data(); }

bool is_round(double value) { return value * 4 == std::floor(value * 4) && std::fabs(value) < 0x1p24; }

}  // namespace

void move_elements(te::Array& array, const RandomRounding& movement, Random& random) {
  if (array.empty() || !is_float(array.dtype()) || array.storage() != te::Storage::kDouble) return;
  const Rounder rounder(array.dtype());
  const auto values = array.reals();
  int64_t first = 0;
  while (first < array.count() && rounder.has(values[first])) ++first;
  if (first == array.count()) return;
  te::Array result = copied(array);
  if (!is_writable_copy(result, array)) return;
  double* elements = result.mutable_reals();
  for (int64_t i = first; i < array.count(); ++i) {
    // Drawn in any case, so that runs the one and the other way stay in step.
    const double places = draw(movement, movement.half_ulps / 2, random);
    if (!rounder.has(elements[i])) elements[i] = rounder.moved(elements[i], places);
  }
  array = std::move(result);
}

te::Array moved_input(const te::Array& array, const RandomRounding& movement, Random& random) {
  if (array.empty() || !is_float(array.dtype())) return array;
  te::Array result = copied(array);
  if (!is_writable_copy(result, array)) return array;
  const Rounder rounder(array.dtype());
  double* elements = result.mutable_reals();
  // Half a place would be rounded away.
  const double most = std::max(1.0, movement.half_ulps / 2);
  for (int64_t i = 0; i < array.count(); ++i) {
    const double places = draw(movement, most, random);
    if (std::isfinite(elements[i]) && !is_round(elements[i])) elements[i] = rounder.moved(elements[i], places);
  }
  return result;
}

}  // namespace isomer
