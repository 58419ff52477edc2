#include "runtime/element_type.h"

#include <algorithm>
#include <array>

namespace isomer::runtime {
namespace {

struct Facts {
  std::string_view name;
  int bits;
};

/// By number of the type.
constexpr std::array<Facts, 27> kFacts = {{
    {"undefined", 0},      {"float32", 32},  {"uint8", 8},        {"int8", 8},           {"uint16", 16},
    {"int16", 16},         {"int32", 32},    {"int64", 64},       {"string", 0},         {"bool", 8},
    {"float16", 16},       {"float64", 64},  {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 8},     {"int4", 8},         {"float4e2m1", 8},     {"float8e8m0", 8},
    {"uint2", 8},          {"int2", 8},
}};

const Facts& facts_of(ElementType type) {
  const auto number = static_cast<size_t>(type);
  return kFacts[number < kFacts.size() ? number : 0];
}

}  // namespace

int bit_width(ElementType type) { return facts_of(type).bits; }
std::string_view name(ElementType type) { return facts_of(type).name; }

std::optional<int64_t> byte_size(ElementType type, std::span<const int64_t> dims) {
  constexpr int64_t kMost = int64_t{1} << 62;
  if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; })) return std::nullopt;
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t bytes = bit_width(type) / 8;
  for (const int64_t dim : dims)
    if (__builtin_mul_overflow(bytes, dim, &bytes)) return std::nullopt;
  return bytes > kMost ? std::nullopt : std::optional(bytes);
}

std::string describe(ElementType type, std::span<const int64_t> dims) {
  std::string text(name(type));
  char separator = '[';
  for (const int64_t dim : dims) {
    text += separator;
    text += dim < 0 ? "?" : std::to_string(dim);
    separator = ',';
  }
  return text + (dims.empty() ? "[]" : "]");
}

}  // namespace isomer::runtime
