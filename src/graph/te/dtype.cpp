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

}  // namespace

int bit_width(DataType type) { return kFacts[static_cast<size_t>(type)].bits; }

int64_t packed_bytes(DataType type, int64_t count) {
  const int64_t bits = bit_width(type);
  return bits >= 8 ? count * (bits / 8) : (count * bits + 7) / 8;
}

std::string_view name(DataType type) { return kFacts[static_cast<size_t>(type)].name; }

DataType parse_data_type(std::string_view name) {
  for (size_t i = 1; i < kFacts.size(); ++i)
    if (kFacts[i].name == name) return static_cast<DataType>(i);
  return DataType::kUndefined;
}

}  // namespace isomer
