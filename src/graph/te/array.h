// A value at run time: a tensor, or for the few operators that take such, a sequence or an optional without a value.
// Floats are held as unrounded doubles and integers as int64, whatever their logical type; a constant of a model stays
// in its file's encoding and is converted as it is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "graph/te/dtype.h"
#include "graph/tensor.h"
#include "util/memory_limit.h"
#include "util/result.h"

namespace isomer::te {

/// How an array's elements lie in memory; bool is one byte, 0 or not.
enum class Storage : uint8_t {
  kDouble,
  kInt64,
  kFloat32,
  kFloat16,
  kBFloat16,
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kBool,
};

class Array {
 public:
  Array() = default;
  /// Uninitialized elements, kDouble or kInt64 by type; an error if there is not so much memory, or the limit does not
  /// allow it.
  static Result<Array> allocate(DataType dtype, Dims dims, MemoryLimit limit = {});
  /// What `allocate` takes for so many elements.
  static int64_t bytes_for(int64_t elements);
  /// Of all arrays that were allocated and live, whether their elements were written or not.
  static int64_t live_bytes();
  static Array reals(DataType dtype, Dims dims, std::span<const double> values);
  /// Elements of an integer or bool type, already within its range; uint64 as two's complement.
  static Array integers(DataType dtype, Dims dims, std::span<const int64_t> values);
  /// A view of the tensor's bytes, which it keeps alive. The type must be computable.
  static Array from(const Tensor& tensor);
  /// ONNX's sequence: its elements, none of them empty. What follows of elements is for tensors.
  static Array sequence(std::vector<Array> elements);
  /// ONNX's optional that holds nothing; one that holds a value is that value.
  static Array none();

  bool is_tensor() const { return kind_ == Kind::kTensor; }
  bool is_none() const { return kind_ == Kind::kNone; }
  /// Of a sequence; nullptr of all else.
  const std::vector<Array>* sequence_elements() const;

  bool empty() const { return data_ == nullptr; }  ///< default-constructed: the absent optional input or output
  DataType dtype() const { return dtype_; }
  const Dims& dims() const { return dims_; }
  int64_t count() const { return element_count(dims_); }
  Storage storage() const { return storage_; }
  const void* data() const { return data_.get(); }

  /// The elements of an array of kDouble (kInt64) storage; CHECKed.
  std::span<const double> reals() const;
  std::span<const int64_t> integers() const;
  /// For the one who allocated it, before it is shared.
  double* mutable_reals();
  int64_t* mutable_integers();
  void* mutable_data();

  /// Element i of an array of any storage: of a float type; of an integer or bool type.
  double real(int64_t i) const;
  int64_t integer(int64_t i) const;
  /// Either, as a double (uint64 as unsigned, a minifloat's value).
  double as_double(int64_t i) const;

  /// The same elements under other dims of the same count.
  Array reshaped(Dims dims) const;
  /// A view of consecutive elements of kDouble or kInt64 storage, from element `first` on.
  Array part(int64_t first, Dims dims) const;

 private:
  friend Tensor to_tensor(const Array& array);
  enum class Kind : uint8_t { kTensor, kSequence, kNone };
  Kind kind_ = Kind::kTensor;
  DataType dtype_ = DataType::kUndefined;
  Storage storage_ = Storage::kDouble;
  Dims dims_;
  std::shared_ptr<const void> data_;  ///< elements; of a sequence the vector of its arrays
};

/// Rounds to the array's logical type. Elements that lie as the type has them are shared, not copied.
Tensor to_tensor(const Array& array);
/// Array::from of each.
std::vector<Array> to_arrays(std::span<const Tensor> tensors);

}  // namespace isomer::te
