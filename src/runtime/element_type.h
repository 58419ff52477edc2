// Element types of the runtime. The numbers are those of ONNX's TensorProto.DataType.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace isomer::runtime {

enum class ElementType : uint8_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUInt4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUInt2 = 25,
  kInt2 = 26,
};

/// Bits of one element in memory, where types of less than a byte have one each; 0 for what has no elements there
/// (undefined, strings, numbers of no type).
int bit_width(ElementType type);
/// "float32", "int64", …; "undefined" for numbers of no type.
std::string_view name(ElementType type);

/// Bytes of a tensor of these dims; nothing where a dim is negative or the bytes pass 2^62.
std::optional<int64_t> byte_size(ElementType type, std::span<const int64_t> dims);
/// "float32[2,?,4]"; a negative dim is a question mark.
std::string describe(ElementType type, std::span<const int64_t> dims);

}  // namespace isomer::runtime
