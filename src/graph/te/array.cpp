#include "graph/te/array.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "graph/minifloat.h"
#include "util/check.h"

namespace isomer::te {
namespace {

constexpr size_t kAlignment = 64;

Storage working_storage(DataType dtype) { return is_float(dtype) ? Storage::kDouble : Storage::kInt64; }

Storage native_storage(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat64: return Storage::kDouble;
    case DataType::kFloat32: return Storage::kFloat32;
    case DataType::kFloat16: return Storage::kFloat16;
    case DataType::kBFloat16: return Storage::kBFloat16;
    case DataType::kInt8: return Storage::kInt8;
    case DataType::kUInt8:
    case DataType::kFloat8E4M3FN:
    case DataType::kFloat8E4M3FNUZ:
    case DataType::kFloat8E5M2:
    case DataType::kFloat8E5M2FNUZ:
    case DataType::kFloat8E8M0: return Storage::kUInt8;
    case DataType::kInt4:
    case DataType::kInt2:
    case DataType::kUInt4:
    case DataType::kUInt2:
    case DataType::kFloat4E2M1: return Storage::kInt64;
    case DataType::kInt16: return Storage::kInt16;
    case DataType::kUInt16: return Storage::kUInt16;
    case DataType::kInt32: return Storage::kInt32;
    case DataType::kUInt32: return Storage::kUInt32;
    case DataType::kInt64:
    case DataType::kUInt64: return Storage::kInt64;
    case DataType::kBool: return Storage::kBool;
    default: CHECK(false) << "array of " << name(dtype);
  }
  return Storage::kInt64;
}

void copy(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

/// Beside its elements an array takes about so much.
constexpr int64_t kOverhead = 256;
/// The program itself, beside arrays of some size.
constexpr size_t kProgram = size_t{64} << 20, kSomeSize = size_t{1} << 20;

/// Bytes of all arrays that live. Memory that is asked for is not refused until it is written, and then it is the
/// machine that stops: a model that grows without end must end before.
std::atomic<size_t> live_total = 0;

size_t most_live_bytes() {
  static const size_t half =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE)) / 2;
  return half;
}

/// Memory for `bytes`, counted until it is freed; nullptr where there is not so much.
std::shared_ptr<void> allocate_counted(size_t bytes, MemoryLimit limit) {
  const size_t counted = bytes + kOverhead;
  const size_t most = limit.is_none() ? most_live_bytes() : static_cast<size_t>(limit.bytes);
  const size_t beside = limit.is_none() || bytes < kSomeSize ? 0 : kProgram;
  if (live_total.fetch_add(counted) + counted + beside <= most && limit.allows(static_cast<int64_t>(bytes)))
    if (void* memory = std::aligned_alloc(kAlignment, bytes))
      return {memory, [counted](void* p) {
                std::free(p);
                live_total -= counted;
              }};
  live_total -= counted;
  return nullptr;
}

Array allocate_or_throw(DataType dtype, Dims dims) {
  Result<Array> array = Array::allocate(dtype, std::move(dims));
  if (!array.ok()) throw std::bad_alloc();
  return *std::move(array);
}

}  // namespace

int64_t Array::bytes_for(int64_t elements) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, int64_t{8}, &bytes)) return std::numeric_limits<int64_t>::max();
  return std::min(bytes, std::numeric_limits<int64_t>::max() - kOverhead) + kOverhead;
}

int64_t Array::live_bytes() { return static_cast<int64_t>(live_total.load()); }

Result<Array> Array::allocate(DataType dtype, Dims dims, MemoryLimit limit) {
  size_t count = 1;
  for (const int64_t dim : dims) {
    CHECK(dim >= 0);
    if (__builtin_mul_overflow(count, static_cast<size_t>(dim), &count)) count = std::numeric_limits<size_t>::max();
  }
  // Eight bytes an element, and a little more so that an empty array has an address.
  const bool absurd = count > (size_t{1} << 44);
  std::shared_ptr<void> memory =
      absurd ? nullptr : allocate_counted((count * 8 + kAlignment) / kAlignment * kAlignment, limit);
  if (!memory && limit.is_none()) return unsupported("", "a tensor of {} elements does not fit into memory", count);
  if (!memory)
    return limit.refusal(bytes_for(static_cast<int64_t>(std::min(count, size_t{1} << 62))),
                         fmt::format("a tensor of {} elements", count));
  Array array;
  array.dtype_ = dtype;
  array.storage_ = working_storage(dtype);
  array.dims_ = std::move(dims);
  array.data_ = std::move(memory);
  return array;
}

Array Array::reals(DataType dtype, Dims dims, std::span<const double> values) {
  CHECK(is_float(dtype) && element_count(dims) == static_cast<int64_t>(values.size()));
  Array array = allocate_or_throw(dtype, std::move(dims));
  copy(array.mutable_data(), values.data(), values.size_bytes());
  return array;
}

Array Array::integers(DataType dtype, Dims dims, std::span<const int64_t> values) {
  CHECK(is_computable(dtype) && !is_float(dtype) && element_count(dims) == static_cast<int64_t>(values.size()));
  Array array = allocate_or_throw(dtype, std::move(dims));
  copy(array.mutable_data(), values.data(), values.size_bytes());
  return array;
}

std::vector<Array> to_arrays(std::span<const Tensor> tensors) {
  std::vector<Array> arrays;
  for (const Tensor& tensor : tensors) arrays.push_back(Array::from(tensor));
  return arrays;
}

Array Array::from(const Tensor& tensor) {
  const Storage storage = native_storage(tensor.dtype());
  const std::byte* bytes = tensor.bytes().data();
  if (value_bits(tensor.dtype()) < 8) return Array::integers(tensor.dtype(), tensor.dims(), tensor.integers());
  const bool eight_bytes = storage == Storage::kDouble || storage == Storage::kInt64;
  if (!bytes || (eight_bytes && reinterpret_cast<uintptr_t>(bytes) % alignof(double) != 0)) {
    // Working storage is read through double and int64 pointers, which a file's offsets need not suit.
    Array array = allocate_or_throw(tensor.dtype(), tensor.dims());
    CHECK(eight_bytes || tensor.bytes().empty());
    copy(array.mutable_data(), bytes, tensor.bytes().size());
    return array;
  }
  Array array;
  array.dtype_ = tensor.dtype();
  array.storage_ = storage;
  array.dims_ = tensor.dims();
  const auto owner = std::make_shared<const Tensor>(tensor);
  array.data_ = std::shared_ptr<const void>(owner, bytes);
  return array;
}

Array Array::sequence(std::vector<Array> elements) {
  Array array;
  array.kind_ = Kind::kSequence;
  array.data_ = std::make_shared<const std::vector<Array>>(std::move(elements));
  return array;
}

Array Array::none() {
  static const std::shared_ptr<const char> nothing = std::make_shared<const char>('\0');
  Array array;
  array.kind_ = Kind::kNone;
  array.data_ = nothing;
  return array;
}

const std::vector<Array>* Array::sequence_elements() const {
  return kind_ == Kind::kSequence ? static_cast<const std::vector<Array>*>(data_.get()) : nullptr;
}

std::span<const double> Array::reals() const {
  CHECK(is_tensor() && storage_ == Storage::kDouble);
  return {static_cast<const double*>(data_.get()), static_cast<size_t>(count())};
}
std::span<const int64_t> Array::integers() const {
  CHECK(is_tensor() && storage_ == Storage::kInt64);
  return {static_cast<const int64_t*>(data_.get()), static_cast<size_t>(count())};
}
void* Array::mutable_data() {
  CHECK(data_.use_count() == 1) << "an array that is shared is read only";
  return const_cast<void*>(data_.get());
}
double* Array::mutable_reals() {
  CHECK(storage_ == Storage::kDouble);
  return static_cast<double*>(mutable_data());
}
int64_t* Array::mutable_integers() {
  CHECK(storage_ == Storage::kInt64);
  return static_cast<int64_t*>(mutable_data());
}

double Array::real(int64_t i) const {
  if (storage_ == Storage::kDouble) return static_cast<const double*>(data())[i];
  return decode_real(dtype_, static_cast<const std::byte*>(data()) + i * (bit_width(dtype_) / 8));
}
int64_t Array::integer(int64_t i) const {
  if (storage_ == Storage::kInt64) return static_cast<const int64_t*>(data())[i];
  return decode_integer(dtype_, static_cast<const std::byte*>(data()) + i * (bit_width(dtype_) / 8));
}
double Array::as_double(int64_t i) const {
  if (is_float(dtype_)) return real(i);
  const int64_t value = integer(i);
  if (is_minifloat(dtype_)) return decode_minifloat(dtype_, static_cast<int>(value));
  return dtype_ == DataType::kUInt64 ? static_cast<double>(static_cast<uint64_t>(value)) : static_cast<double>(value);
}

Array Array::reshaped(Dims dims) const {
  CHECK(element_count(dims) == count());
  Array array = *this;
  array.dims_ = std::move(dims);
  return array;
}

Array Array::part(int64_t first, Dims dims) const {
  CHECK(storage_ == Storage::kDouble || storage_ == Storage::kInt64);
  CHECK(first >= 0 && first + element_count(dims) <= count());
  Array array = *this;
  array.dims_ = std::move(dims);
  array.data_ = std::shared_ptr<const void>(data_, static_cast<const std::byte*>(data_.get()) + first * 8);
  return array;
}

Tensor to_tensor(const Array& array) {
  const DataType dtype = array.dtype();
  const int width = bit_width(dtype) / 8;
  const int64_t count = array.count();
  const auto size = static_cast<size_t>(byte_size(dtype, count));
  const bool working = array.storage() == Storage::kDouble || array.storage() == Storage::kInt64;
  if (!working || dtype == DataType::kFloat64 || dtype == DataType::kInt64 || dtype == DataType::kUInt64)
    return Tensor(dtype, array.dims(), {static_cast<const std::byte*>(array.data()), size}, array.data_);
  std::vector<std::byte> bytes(size);
  if (dtype == DataType::kFloat32) {
    // Most constants are such: a loop that does no more than round runs on vectors.
    const double* reals = array.reals().data();
    for (int64_t i = 0; i < count; ++i) {
      const auto rounded = static_cast<float>(reals[i]);
      std::memcpy(&bytes[static_cast<size_t>(i) * sizeof(float)], &rounded, sizeof(float));
    }
  } else if (is_float(dtype)) {
    for (int64_t i = 0; i < count; ++i) encode_real(dtype, array.real(i), &bytes[i * width]);
  } else {
    for (int64_t i = 0; i < count; ++i) encode_integer(dtype, array.integer(i), &bytes[i * width]);
  }
  return Tensor(dtype, array.dims(), std::move(bytes));
}

}  // namespace isomer::te
