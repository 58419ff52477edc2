// Element types. The numbers are those of ONNX's TensorProto.DataType, so that files and rows speak of the same thing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace isomer {

enum class DataType : uint8_t {
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

/// A set of element types.
class TypeSet {
 public:
  constexpr TypeSet() = default;
  constexpr TypeSet(DataType type) : bits_(uint32_t{1} << static_cast<int>(type)) {}
  constexpr bool contains(DataType type) const { return (bits_ >> static_cast<int>(type)) & 1; }
  constexpr TypeSet operator|(TypeSet other) const { return TypeSet(bits_ | other.bits_); }
  constexpr bool operator==(const TypeSet&) const = default;

 private:
  explicit constexpr TypeSet(uint32_t bits) : bits_(bits) {}
  uint32_t bits_ = 0;
};
constexpr TypeSet operator|(DataType a, DataType b) { return TypeSet(a) | TypeSet(b); }

/// The sets that schemas are written with. Expressions, arrays and kernels know the types in `kComputable`; the rest
/// pass through untouched.
inline constexpr TypeSet kFloats = DataType::kFloat16 | DataType::kBFloat16 | DataType::kFloat32 | DataType::kFloat64;
inline constexpr TypeSet kSignedInts = DataType::kInt8 | DataType::kInt16 | DataType::kInt32 | DataType::kInt64;
inline constexpr TypeSet kUnsignedInts = DataType::kUInt8 | DataType::kUInt16 | DataType::kUInt32 | DataType::kUInt64;
inline constexpr TypeSet kInts = kSignedInts | kUnsignedInts;
inline constexpr TypeSet kNumeric = kFloats | kInts;
inline constexpr TypeSet kBoolean = DataType::kBool;
/// Types with arithmetic in ONNX.
inline constexpr TypeSet kPlain = kNumeric | kBoolean;
/// Integers of less than a byte.
inline constexpr TypeSet kSmallInts = DataType::kUInt4 | DataType::kInt4 | DataType::kUInt2 | DataType::kInt2;
/// Floats of at most a byte. To expressions their elements are codes: unsigned integers of as many bits. Casts from and
/// to them are written out by rows (graph/ops/minifloat_casts.h).
inline constexpr TypeSet kMinifloats = DataType::kFloat8E4M3FN | DataType::kFloat8E4M3FNUZ | DataType::kFloat8E5M2 |
                                       DataType::kFloat8E5M2FNUZ | DataType::kFloat4E2M1 | DataType::kFloat8E8M0;
inline constexpr TypeSet kComputable = kPlain | kSmallInts | kMinifloats;
inline constexpr TypeSet kIndices = DataType::kInt32 | DataType::kInt64;

constexpr bool is_float(DataType type) { return kFloats.contains(type); }
constexpr bool is_signed_int(DataType type) {
  return kSignedInts.contains(type) || type == DataType::kInt4 || type == DataType::kInt2;
}
constexpr bool is_unsigned_int(DataType type) {
  return kUnsignedInts.contains(type) || type == DataType::kUInt4 || type == DataType::kUInt2;
}
constexpr bool is_int(DataType type) { return is_signed_int(type) || is_unsigned_int(type); }
constexpr bool is_minifloat(DataType type) { return kMinifloats.contains(type); }
constexpr bool is_computable(DataType type) { return kComputable.contains(type); }

/// Bits of one element in memory, of at least a byte; 0 for kUndefined and kString.
int bit_width(DataType type);
/// Bits of one element in a file: 4 of int4, of which memory has one a byte.
int value_bits(DataType type);
/// Bytes that `count` elements take in memory. The count must be below 2^59.
int64_t byte_size(DataType type, int64_t count);
/// The same in a file, where ONNX packs two or four elements of less than a byte into one.
int64_t packed_bytes(DataType type, int64_t count);
/// Every value of `from` is a value of `to`.
bool is_exact_cast(DataType from, DataType to);
/// "float32", "int64", … as in error messages, JSON and the text form.
std::string_view name(DataType type);
/// The inverse of `name`; kUndefined when there is no such type.
DataType parse_data_type(std::string_view name);
/// True for a number that ONNX assigns to a type other than UNDEFINED.
constexpr bool is_known_data_type(int64_t code) { return code >= 1 && code <= 26; }

}  // namespace isomer
