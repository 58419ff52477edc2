// A constant tensor: bytes in ONNX's raw layout (little-endian, row-major; of types of less than a byte one element a
// byte), shared and immutable, often a view into a mapped file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/te/dtype.h"
#include "graph/te/number.h"
#include "util/hash.h"

namespace isomer {

using Dims = std::vector<int64_t>;

/// The product of dims; 1 for a scalar. Dims are >= 0 and their product is below 2^59.
int64_t element_count(const Dims& dims);

class Tensor {
 public:
  Tensor() = default;
  /// A view of bytes that `owner` keeps alive; size must be byte_size(dtype, count).
  Tensor(DataType dtype, Dims dims, std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  /// Takes over the bytes.
  Tensor(DataType dtype, Dims dims, std::vector<std::byte> bytes);
  /// String tensors: one string an element.
  Tensor(Dims dims, std::vector<std::string> strings);

  static Tensor from_ints(DataType dtype, Dims dims, std::span<const int64_t> values);
  static Tensor from_doubles(DataType dtype, Dims dims, std::span<const double> values);
  static Tensor scalar(DataType dtype, double value) { return from_doubles(dtype, {}, {&value, 1}); }
  static Tensor int64s(std::vector<int64_t> values);  ///< a vector (rank 1)

  DataType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  int64_t count() const { return element_count(dims_); }
  std::span<const std::byte> bytes() const { return bytes_; }
  const std::vector<std::string>& strings() const { return *strings_; }

  /// Element i as an exact number; computable types only. Nothing of -0.0: exact numbers have one zero.
  std::optional<te::Number> number(int64_t i) const;
  double real(int64_t i) const;  ///< element i of a float type, minifloats included, exact; integers are converted
  int64_t integer(
      int64_t i) const;  ///< element i of an integer or bool type, a minifloat's code; uint64 as two's complement
  std::vector<int64_t> integers() const;

  /// The same bytes under other dims of the same count.
  Tensor reshaped(Dims dims) const;
  /// Over dtype, dims and contents; computed once and shared by copies. Reads all bytes. Tensors with other hashes are
  /// others; equal hashes say nothing for sure: whoever makes a model can make two that have the same.
  Hash128 content_hash() const;
  /// Element type, dims and bytes.
  bool same_contents(const Tensor& other) const;

 private:
  struct HashCache;
  DataType dtype_ = DataType::kUndefined;
  Dims dims_;
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<const std::vector<std::string>> strings_;
  std::shared_ptr<HashCache> hash_;
};

/// One element in a type's encoding, from and to double (nearest even; overflow to infinity) and int64 (wrapping;
/// minifloats by their codes).
void encode_real(DataType dtype, double value, std::byte* out);
void encode_integer(DataType dtype, int64_t value, std::byte* out);
double decode_real(DataType dtype, const std::byte* in);
int64_t decode_integer(DataType dtype, const std::byte* in);
/// The double rounded to the nearest value of a float type (the double itself for float64).
double round_to(DataType dtype, double value);

}  // namespace isomer
