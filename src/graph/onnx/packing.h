// Elements of less than a byte: ONNX's files have two or four in a byte, the first in its lowest bits; memory has one a
// byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph/tensor.h"

namespace isomer {

/// `count` elements of the type out of packed_bytes(dtype, count) bytes, signed ones extended.
std::vector<std::byte> unpacked(DataType dtype, int64_t count, std::span<const std::byte> packed);

/// How many bytes a file has of a tensor other than of strings.
inline uint64_t size_in_file(const Tensor& tensor) {
  return static_cast<uint64_t>(packed_bytes(tensor.dtype(), tensor.count()));
}

/// The bytes that a file has of a tensor other than of strings: its own, or a packed copy.
class FileBytes {
 public:
  explicit FileBytes(const Tensor& tensor);
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::vector<std::byte> packed_;
  std::span<const std::byte> bytes_;
};

}  // namespace isomer
