#include "graph/onnx/packing.h"

#include "util/check.h"

namespace isomer {

std::vector<std::byte> unpacked(DataType dtype, int64_t count, std::span<const std::byte> packed) {
  CHECK(static_cast<int64_t>(packed.size()) == packed_bytes(dtype, count));
  const int bits = value_bits(dtype), each = 8 / bits;
  std::vector<std::byte> elements(static_cast<size_t>(count));
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto code = std::to_integer<int64_t>(packed[i / each]) >> (i % each * bits);
    encode_integer(dtype, code, &elements[i]);
  }
  return elements;
}

FileBytes::FileBytes(const Tensor& tensor) : bytes_(tensor.bytes()) {
  const int bits = value_bits(tensor.dtype()), each = 8 / std::max(bits, 1);
  if (bits == 0 || bits >= 8) return;
  packed_.resize(static_cast<size_t>(packed_bytes(tensor.dtype(), tensor.count())));
  const auto mask = static_cast<std::byte>((1 << bits) - 1);
  for (size_t i = 0; i < tensor.bytes().size(); ++i)
    packed_[i / each] |= (tensor.bytes()[i] & mask) << (i % each * bits);
  bytes_ = packed_;
}

}  // namespace isomer
