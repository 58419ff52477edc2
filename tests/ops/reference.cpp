#include "ops/reference.h"

#include <cmath>
#include <limits>

#include "graph/minifloat.h"

namespace isomer::test {
namespace {

template <class T>
T attribute_or(const Instance& instance, std::string_view name, T fallback) {
  const auto found = instance.attributes.find(name);
  return found == instance.attributes.end() ? fallback : std::get<T>(found->second);
}

/// Of float8e8m0, whose codes are exponents.
int exponent_code(double value, bool saturates, const std::string& round_mode) {
  constexpr int kNan = 255, kBias = 127;
  if (std::isinf(value) || value > 0x1p127) return saturates ? kNan - 1 : kNan;
  if (value < 0x1p-127) return saturates ? 0 : kNan;
  const int exponent = std::ilogb(value);
  const double mantissa = std::ldexp(value, -exponent);
  const bool is_up = round_mode == "nearest" ? mantissa >= 1.5 : round_mode != "down" && mantissa > 1;
  return exponent + is_up + kBias;
}

}  // namespace

double broadcast_element(const Plain& x, const Dims& out_index) {
  Dims index(x.dims.size());
  for (size_t k = 0; k < index.size(); ++k)
    index[k] = x.dims[k] == 1 ? 0 : out_index[out_index.size() - index.size() + k];
  return x.at(index);
}

double as_minifloat(DataType dtype, double value, bool saturates, const std::string& round_mode) {
  if (std::isnan(value)) return minifloat_of(dtype).nan < 0 ? -0.0 : value;
  if (dtype == DataType::kFloat8E8M0) return decode_minifloat(dtype, exponent_code(value, saturates, round_mode));
  // One more place of the largest binade, so that what rounds to it is known as beyond.
  const Minifloat format = minifloat_of(dtype);
  const double largest = decode_minifloat(dtype, format.largest), magnitude = std::fabs(value);
  const int exponent = std::max(std::ilogb(std::max(magnitude, 0x1p-100)), 1 - format.bias);
  const double unit = std::ldexp(1, exponent - format.mantissa_bits);
  double rounded = std::nearbyint(magnitude / unit) * unit;
  if (std::isinf(magnitude) || rounded > largest) {
    if (!saturates)
      return format.has_infinity ? std::copysign(std::numeric_limits<double>::infinity(), value)
             : format.nan < 0    ? std::copysign(largest, value)
                                 : std::numeric_limits<double>::quiet_NaN();
    rounded = largest;
  }
  return std::copysign(rounded, value);
}

Plain::Plain(const Tensor& tensor) : dims(tensor.dims()) {
  for (int64_t i = 0; i < tensor.count(); ++i) values.push_back(tensor.real(i));
}

int64_t Plain::offset(const Dims& index) const {
  int64_t result = 0;
  for (size_t k = 0; k < dims.size(); ++k) result = result * dims[k] + index[k];
  return result;
}

Dims Plain::index(int64_t i) const {
  Dims result(dims.size());
  for (size_t k = dims.size(); k-- > 0; i /= dims[k]) result[k] = i % dims[k];
  return result;
}

int64_t Call::integer(std::string_view name, int64_t fallback) const { return attribute_or(instance, name, fallback); }
double Call::real(std::string_view name, double fallback) const {
  return attribute_or(instance, name, static_cast<float>(fallback));
}
std::string Call::text(std::string_view name, std::string fallback) const {
  return attribute_or(instance, name, std::move(fallback));
}
std::vector<int64_t> Call::integers(std::string_view name, std::vector<int64_t> fallback) const {
  return attribute_or(instance, name, std::move(fallback));
}
std::vector<float> Call::reals(std::string_view name) const {
  return attribute_or(instance, name, std::vector<float>());
}
std::vector<std::string> Call::texts(std::string_view name) const {
  return attribute_or(instance, name, std::vector<std::string>());
}
int64_t Call::axis(int64_t fallback, int64_t rank) const {
  const int64_t axis = integer("axis", fallback);
  return axis < 0 ? axis + rank : axis;
}

const Reference* reference_for(const OpDef& op) {
  static const References references = [] {
    References all;
    add_pointwise_references(all);
    add_movement_references(all);
    add_shape_references(all);
    add_index_references(all);
    add_quantized_references(all);
    add_axis_references(all);
    add_window_references(all);
    add_product_references(all);
    add_recurrent_references(all);
    add_attention_references(all);
    add_contrib_references(all);
    return all;
  }();
  const auto found = references.find(full_name(op));
  return found == references.end() ? nullptr : &found->second;
}

}  // namespace isomer::test
