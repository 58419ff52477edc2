#include "graph/tensor.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>

#include "graph/minifloat.h"
#include "graph/te/integer_algebra.h"
#include "util/check.h"

namespace isomer {
namespace {

template <class T>
T read(const std::byte* in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  return value;
}
template <class T>
void write(T value, std::byte* out) {
  std::memcpy(out, &value, sizeof value);
}

/// IEEE binary16 or bfloat16 bits of a double, rounded once to nearest even.
uint16_t narrow(double value, int exponent_bits, int mantissa_bits) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa_bits);
  if (std::isnan(value)) return sign | infinity | (1 << (mantissa_bits - 1));
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return sign | infinity;
  if (magnitude == 0) return sign;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = std::max(std::ilogb(magnitude), 1 - bias);
  // In units of the last place; a carry into the exponent is the right encoding of the next binade.
  const auto units = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, mantissa_bits - exponent)));
  const uint32_t bits = (static_cast<uint32_t>(exponent + bias - 1) << mantissa_bits) + units;
  return sign | static_cast<uint16_t>(std::min<uint32_t>(bits, infinity));
}

double widen(uint16_t bits, int exponent_bits, int mantissa_bits) {
  const int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  double magnitude;
  if (exponent == (1 << exponent_bits) - 1)
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  else
    magnitude = std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  return bits & 0x8000 ? -magnitude : magnitude;
}

std::vector<std::byte> allocate(DataType dtype, const Dims& dims) {
  return std::vector<std::byte>(byte_size(dtype, element_count(dims)));
}

}  // namespace

struct Tensor::HashCache {
  std::once_flag once;
  Hash128 hash;
};

int64_t element_count(const Dims& dims) {
  int64_t count = 1;
  for (const int64_t dim : dims) count *= dim;
  return count;
}

Tensor::Tensor(DataType dtype, Dims dims, std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
    : dtype_(dtype),
      dims_(std::move(dims)),
      bytes_(bytes),
      owner_(std::move(owner)),
      hash_(std::make_shared<HashCache>()) {
  CHECK(static_cast<int64_t>(bytes.size()) == byte_size(dtype, count()));
}

Tensor::Tensor(DataType dtype, Dims dims, std::vector<std::byte> bytes) {
  const auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  *this = Tensor(dtype, std::move(dims), std::span(*owner), owner);
}

Tensor::Tensor(Dims dims, std::vector<std::string> strings)
    : dtype_(DataType::kString),
      dims_(std::move(dims)),
      strings_(std::make_shared<const std::vector<std::string>>(std::move(strings))),
      hash_(std::make_shared<HashCache>()) {
  CHECK(static_cast<int64_t>(strings_->size()) == count());
}

Tensor Tensor::from_ints(DataType dtype, Dims dims, std::span<const int64_t> values) {
  auto bytes = allocate(dtype, dims);
  const int width = bit_width(dtype) / 8;
  CHECK(width > 0 && static_cast<int64_t>(values.size()) == element_count(dims));
  for (size_t i = 0; i < values.size(); ++i)
    is_float(dtype) ? encode_real(dtype, static_cast<double>(values[i]), &bytes[i * width])
                    : encode_integer(dtype, values[i], &bytes[i * width]);
  return Tensor(dtype, std::move(dims), std::move(bytes));
}

Tensor Tensor::from_doubles(DataType dtype, Dims dims, std::span<const double> values) {
  auto bytes = allocate(dtype, dims);
  const int width = bit_width(dtype) / 8;
  CHECK(width > 0 && static_cast<int64_t>(values.size()) == element_count(dims));
  for (size_t i = 0; i < values.size(); ++i)
    is_float(dtype) ? encode_real(dtype, values[i], &bytes[i * width])
                    : encode_integer(dtype, static_cast<int64_t>(values[i]), &bytes[i * width]);
  return Tensor(dtype, std::move(dims), std::move(bytes));
}

Tensor Tensor::int64s(std::vector<int64_t> values) {
  return from_ints(DataType::kInt64, {static_cast<int64_t>(values.size())}, values);
}

std::optional<te::Number> Tensor::number(int64_t i) const {
  if (is_float(dtype_)) {
    const double value = real(i);
    return value == 0 && std::signbit(value) ? std::nullopt : std::optional(te::Number(value));
  }
  if (dtype_ == DataType::kUInt64) return te::Number::from_unsigned(static_cast<uint64_t>(integer(i)));
  return te::Number(integer(i));
}

double Tensor::real(int64_t i) const {
  const std::byte* in = bytes_.data() + i * (bit_width(dtype_) / 8);
  if (is_float(dtype_)) return decode_real(dtype_, in);
  if (is_minifloat(dtype_)) return decode_minifloat(dtype_, static_cast<int>(decode_integer(dtype_, in)));
  const int64_t value = decode_integer(dtype_, in);
  return dtype_ == DataType::kUInt64 ? static_cast<double>(static_cast<uint64_t>(value)) : static_cast<double>(value);
}

int64_t Tensor::integer(int64_t i) const { return decode_integer(dtype_, bytes_.data() + i * (bit_width(dtype_) / 8)); }

std::vector<int64_t> Tensor::integers() const {
  std::vector<int64_t> values(count());
  for (size_t i = 0; i < values.size(); ++i) values[i] = integer(static_cast<int64_t>(i));
  return values;
}

Tensor Tensor::reshaped(Dims dims) const {
  CHECK(element_count(dims) == count());
  if (dtype_ == DataType::kString) return Tensor(std::move(dims), *strings_);
  return Tensor(dtype_, std::move(dims), bytes_, owner_);
}

Hash128 Tensor::content_hash() const {
  std::call_once(hash_->once, [&] {
    Hasher hasher;
    hasher.add(static_cast<uint64_t>(dtype_)).add(static_cast<uint64_t>(dims_.size()));
    for (const int64_t dim : dims_) hasher.add(static_cast<uint64_t>(dim));
    if (strings_)
      for (const std::string& text : *strings_) hasher.add(text);
    else
      hasher.add(bytes_);
    hash_->hash = hasher.finish();
  });
  return hash_->hash;
}

bool Tensor::same_contents(const Tensor& other) const {
  if (dtype_ != other.dtype_ || dims_ != other.dims_) return false;
  if (strings_) return *strings_ == *other.strings_;
  return bytes_.data() == other.bytes_.data() || std::ranges::equal(bytes_, other.bytes_);
}

void encode_real(DataType dtype, double value, std::byte* out) {
  switch (dtype) {
    case DataType::kFloat64: return write(value, out);
    case DataType::kFloat32: return write(static_cast<float>(value), out);
    case DataType::kFloat16: return write(narrow(value, 5, 10), out);
    case DataType::kBFloat16: return write(narrow(value, 8, 7), out);
    default: CHECK(false) << "encode_real of " << name(dtype);
  }
}

double decode_real(DataType dtype, const std::byte* in) {
  switch (dtype) {
    case DataType::kFloat64: return read<double>(in);
    case DataType::kFloat32: return read<float>(in);
    case DataType::kFloat16: return widen(read<uint16_t>(in), 5, 10);
    case DataType::kBFloat16: return widen(read<uint16_t>(in), 8, 7);
    default: CHECK(false) << "decode_real of " << name(dtype);
  }
  return 0;
}

void encode_integer(DataType dtype, int64_t value, std::byte* out) {
  switch (bit_width(dtype)) {
    case 8: return write(static_cast<uint8_t>(te::wrap(dtype, value)), out);
    case 16: return write(static_cast<uint16_t>(value), out);
    case 32: return write(static_cast<uint32_t>(value), out);
    case 64: return write(value, out);
    default: CHECK(false) << "encode_integer of " << name(dtype);
  }
}

int64_t decode_integer(DataType dtype, const std::byte* in) {
  switch (dtype) {
    case DataType::kBool: return read<uint8_t>(in) != 0;
    case DataType::kInt8: return read<int8_t>(in);
    case DataType::kUInt8:
    case DataType::kFloat8E4M3FN:
    case DataType::kFloat8E4M3FNUZ:
    case DataType::kFloat8E5M2:
    case DataType::kFloat8E5M2FNUZ:
    case DataType::kFloat8E8M0: return read<uint8_t>(in);
    case DataType::kInt4:
    case DataType::kInt2:
    case DataType::kUInt4:
    case DataType::kUInt2:
    case DataType::kFloat4E2M1: return te::wrap(dtype, read<uint8_t>(in));
    case DataType::kInt16: return read<int16_t>(in);
    case DataType::kUInt16: return read<uint16_t>(in);
    case DataType::kInt32: return read<int32_t>(in);
    case DataType::kUInt32: return read<uint32_t>(in);
    case DataType::kInt64:
    case DataType::kUInt64: return read<int64_t>(in);
    default: CHECK(false) << "decode_integer of " << name(dtype);
  }
  return 0;
}

double round_to(DataType dtype, double value) {
  switch (dtype) {
    case DataType::kFloat32: return static_cast<float>(value);
    case DataType::kFloat16: return widen(narrow(value, 5, 10), 5, 10);
    case DataType::kBFloat16: return widen(narrow(value, 8, 7), 8, 7);
    default: return value;
  }
}

}  // namespace isomer
