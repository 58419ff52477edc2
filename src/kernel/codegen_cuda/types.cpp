#include "kernel/codegen_cuda/types.h"

#include <fmt/format.h>

#include <cmath>

#include "graph/te/integer_algebra.h"
#include "kernel/narrow_floats.h"
#include "kernel/unsupported.h"

namespace isomer::kernel::cuda {
namespace {

std::string_view short_name(DataType narrow) { return narrow == DataType::kFloat16 ? "f16" : "bf16"; }

template <class T>
std::string real(T value, std::string_view suffix, std::string_view infinity) {
  if (std::isnan(value)) return fmt::format("({0} - {0})", infinity);
  if (std::isinf(value)) return value < 0 ? fmt::format("(-{})", infinity) : std::string(infinity);
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  text += suffix;
  return value < 0 || text.front() == '-' ? "(" + text + ")" : text;
}

/// The low bits of a byte as an element of a type that has less.
std::string of_low_bits(DataType dtype, std::string value) {
  const int unused = bit_width(dtype) - value_bits(dtype);
  return unused == 0 ? value : fmt::format("{0}({0}({1} << {2}) >> {2})", register_type(dtype), value, unused);
}

}  // namespace

std::string_view register_type(DataType dtype) {
  switch (dtype) {
    case DataType::kBool: return "bool";
    case DataType::kInt4:
    case DataType::kInt2:
    case DataType::kInt8: return "i8";
    case DataType::kUInt4:
    case DataType::kUInt2:
    case DataType::kFloat4E2M1:
    case DataType::kFloat8E4M3FN:
    case DataType::kFloat8E4M3FNUZ:
    case DataType::kFloat8E5M2:
    case DataType::kFloat8E5M2FNUZ:
    case DataType::kFloat8E8M0:
    case DataType::kUInt8: return "u8";
    case DataType::kInt16: return "i16";
    case DataType::kUInt16: return "u16";
    case DataType::kInt32: return "i32";
    case DataType::kUInt32: return "u32";
    case DataType::kInt64: return "i64";
    case DataType::kUInt64: return "u64";
    case DataType::kFloat16:
    case DataType::kBFloat16:
    case DataType::kFloat32: return "float";
    case DataType::kFloat64: return "double";
    default: fail_unsupported("elements of type {} have no code", name(dtype));
  }
}

std::string_view memory_type(DataType dtype) {
  if (dtype == DataType::kBool) return "u8";
  return is_narrow_float(dtype) ? "u16" : register_type(dtype);
}

std::string from_memory(DataType dtype, std::string stored) {
  if (dtype == DataType::kBool) return fmt::format("({} != 0)", stored);
  return is_narrow_float(dtype) ? fmt::format("op::from_{}({})", short_name(dtype), stored)
                                : of_low_bits(dtype, std::move(stored));
}

std::string to_memory(DataType dtype, std::string value, bool is_chosen) {
  if (dtype == DataType::kBFloat16 && is_chosen) return fmt::format("op::upper_half({})", value);
  return is_narrow_float(dtype) ? fmt::format("op::to_{}({})", short_name(dtype), value) : value;
}

bool is_kept_wide(const Buffer& buffer) {
  constexpr int64_t kFew = 32;
  const bool is_own = buffer.scope == Scope::kCache || buffer.scope == Scope::kRegister;
  return is_own && is_narrow_float(buffer.dtype) && element_count(buffer.shape).constant().value_or(INT64_MAX) <= kFew;
}

std::string_view element_type(const Buffer& buffer) {
  return is_kept_wide(buffer) ? register_type(buffer.dtype) : memory_type(buffer.dtype);
}

std::string from_element(const Buffer& buffer, std::string stored) {
  return is_kept_wide(buffer) ? stored : from_memory(buffer.dtype, std::move(stored));
}

std::string to_element(const Buffer& buffer, std::string value, bool is_chosen) {
  if (!is_kept_wide(buffer)) return to_memory(buffer.dtype, std::move(value), is_chosen);
  return is_chosen ? value : rounded(buffer.dtype, value);
}

std::string rounded(DataType narrow, std::string_view value) {
  return fmt::format("op::round_{}({})", short_name(narrow), value);
}

std::string literal_text(const te::Number& number, DataType dtype) {
  if (dtype == DataType::kFloat64) return real(number.to_double(), "", "double(__int_as_float(0x7f800000))");
  if (is_float(dtype)) return real(static_cast<float>(number.to_double()), "f", "__int_as_float(0x7f800000)");
  const int64_t value = te::wrap(dtype, number.to_int64());
  if (dtype == DataType::kBool) return value != 0 ? "true" : "false";
  if (dtype == DataType::kUInt64) return fmt::format("{}ull", static_cast<uint64_t>(value));
  if (value == INT64_MIN) return "(-9223372036854775807ll - 1)";
  return fmt::format("{}({}{})", register_type(dtype), value, bit_width(dtype) >= 32 ? "ll" : "");
}

std::string converted(DataType from, DataType to, std::string value, bool is_rounded) {
  // Registers hold what a narrower type would have rounded.
  if (is_narrow_float(from) && !is_rounded) value = rounded(from, value);
  if (to == DataType::kBool) return fmt::format("({} != 0)", value);
  if (is_narrow_float(to)) {
    const bool is_exact = from == DataType::kFloat32 || from == DataType::kFloat64 || is_narrow_float(from);
    const std::string_view real = is_exact ? "" : bit_width(from) <= 16 ? "float" : "double";
    return rounded(to, fmt::format("{}({})", real, value));
  }
  const bool is_truncated = is_float(from) && !is_float(to);
  const std::string result = is_truncated ? fmt::format("op::truncated<{}>({})", register_type(to), value)
                                          : fmt::format("{}({})", register_type(to), value);
  return of_low_bits(to, result);
}

}  // namespace isomer::kernel::cuda
