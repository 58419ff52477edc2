#include "graph/te/dtype.h"

#include <array>

namespace isomer {
namespace {

struct TypeFacts {
  std::string_view name;
  int bits;
};
constexpr std::array<TypeFacts, 27> kFacts = {{
    {"undefined", 0},      {"float32", 32},  {"uint8", 8},        {"int8", 8},           {"uint16", 16},
    {"int16", 16},         {"int32", 32},    {"int64", 64},       {"string", 0},         {"bool", 8},
    {"float16", 16},       {"float64", 64},  {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},     {"int4", 4},         {"float4e2m1", 4},     {"float8e8m0", 8},
    {"uint2", 2},          {"int2", 2},
}};

struct FloatBits {
  int mantissa, exponent;
};

/// Bits of significand (the leading one included) and exponent.
FloatBits float_bits(DataType type) {
  switch (type) {
    case DataType::kFloat16: return {11, 5};
    case DataType::kBFloat16: return {8, 8};
    case DataType::kFloat32: return {24, 8};
    default: return {53, 11};
  }
}

}  // namespace

int value_bits(DataType type) { return kFacts[static_cast<size_t>(type)].bits; }
int bit_width(DataType type) { return (value_bits(type) + 7) / 8 * 8; }

int64_t byte_size(DataType type, int64_t count) { return count * (bit_width(type) / 8); }
int64_t packed_bytes(DataType type, int64_t count) {
  const int64_t bits = value_bits(type);
  return bits >= 8 ? byte_size(type, count) : (count * bits + 7) / 8;
}

bool is_exact_cast(DataType from, DataType to) {
  if (!is_computable(from) || !is_computable(to)) return false;
  if (from == to) return true;
  if (is_minifloat(from) || is_minifloat(to) || to == DataType::kBool) return false;
  if (from == DataType::kBool) return true;
  if (is_float(from)) {
    const FloatBits a = float_bits(from), b = float_bits(to);
    return is_float(to) && a.mantissa <= b.mantissa && a.exponent <= b.exponent;
  }
  const int bits = value_bits(from) - is_signed_int(from);
  if (is_float(to)) return bits <= float_bits(to).mantissa && bits < (1 << (float_bits(to).exponent - 1));
  if (is_unsigned_int(to)) return is_unsigned_int(from) && bits <= value_bits(to);
  return bits <= value_bits(to) - 1;
}

std::string_view name(DataType type) { return kFacts[static_cast<size_t>(type)].name; }

DataType parse_data_type(std::string_view name) {
  for (size_t i = 1; i < kFacts.size(); ++i)
    if (kFacts[i].name == name) return static_cast<DataType>(i);
  return DataType::kUndefined;
}

}  // namespace isomer
