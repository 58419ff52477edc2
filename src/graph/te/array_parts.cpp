#include "graph/te/array_parts.h"

#include <fmt/format.h>

#include <cstring>

#include "util/append.h"
#include "util/check.h"

namespace isomer::te {
namespace {

void copy_elements(const Array& from, int64_t begin, int64_t count, Array& to, int64_t at) {
  if (from.storage() == to.storage()) {
    constexpr size_t kBytes = 8;
    if (count > 0)
      std::memcpy(static_cast<char*>(to.mutable_data()) + at * kBytes,
                  static_cast<const char*>(from.data()) + begin * kBytes, count * kBytes);
  } else if (is_float(to.dtype())) {
    for (int64_t i = 0; i < count; ++i) to.mutable_reals()[at + i] = from.real(begin + i);
  } else {
    for (int64_t i = 0; i < count; ++i) to.mutable_integers()[at + i] = from.integer(begin + i);
  }
}

/// Elements of one position of an axis, and how often the axis is gone through.
struct Around {
  int64_t inner, outer;
};

Around around(const Dims& dims, int64_t axis) {
  return {element_count(Dims(dims.begin() + axis + 1, dims.end())),
          element_count(Dims(dims.begin(), dims.begin() + axis))};
}

}  // namespace

Result<Array> slice(const Array& array, int64_t axis, int64_t begin, int64_t count) {
  const int64_t extent = array.dims()[axis];
  CHECK(begin >= 0 && count >= 0 && begin + count <= extent);
  Dims dims = array.dims();
  dims[axis] = count;
  TRY(Array part, Array::allocate(array.dtype(), dims));
  if (part.count() == 0) return part;
  const auto [inner, outer] = around(dims, axis);
  for (int64_t i = 0; i < outer; ++i)
    copy_elements(array, (i * extent + begin) * inner, count * inner, part, i * count * inner);
  return part;
}

Result<Array> concatenate(std::span<const Array> arrays, int64_t axis) {
  Dims dims = arrays[0].dims();
  dims[axis] = 0;
  for (const Array& array : arrays) dims[axis] += array.dims()[axis];
  const int64_t extent = dims[axis];
  TRY(Array whole, Array::allocate(arrays[0].dtype(), dims));
  if (whole.count() == 0) return whole;
  const auto [inner, outer] = around(dims, axis);
  int64_t at = 0;
  for (const Array& array : arrays) {
    const int64_t count = array.dims()[axis];
    for (int64_t i = 0; i < outer; ++i)
      copy_elements(array, i * count * inner, count * inner, whole, (i * extent + at) * inner);
    at += count;
  }
  return whole;
}

Array with_axis(const Array& array, int64_t axis) {
  Dims dims = array.dims();
  dims.insert(dims.begin() + axis, 1);
  return array.reshaped(std::move(dims));
}

Array without_axis(const Array& array, int64_t axis) {
  Dims dims = array.dims();
  CHECK(dims[axis] == 1);
  dims.erase(dims.begin() + axis);
  return array.reshaped(std::move(dims));
}

std::vector<std::pair<std::string, Array>> named_tensors(const std::string& name, const Array& value) {
  if (value.is_tensor()) return {{name, value}};
  std::vector<std::pair<std::string, Array>> tensors;
  if (const auto* elements = value.sequence_elements())
    for (size_t k = 0; k < elements->size(); ++k)
      append(tensors, named_tensors(fmt::format("{}.{}", name, k), (*elements)[k]));
  return tensors;
}

}  // namespace isomer::te
