#include "backends/gpu_operands.h"

#include <array>
#include <cstring>
#include <span>

namespace isomer::backends::gpu {
namespace {

/// A layout as a swap of the last two of three axes.
std::array<int64_t, 3> extents(const Dims& dims, Layout layout) {
  const int64_t count = element_count(dims);
  const size_t rank = dims.size();
  if (rank < 2 || layout == Layout::kPlain || count == 0) return {1, 1, count};
  if (layout == Layout::kChannelsLast) return {dims[0], dims[1], count / (dims[0] * dims[1])};
  return {count / (dims[rank - 2] * dims[rank - 1]), dims[rank - 2], dims[rank - 1]};
}

/// Elements [outer, rows, columns] as [outer, columns, rows].
std::vector<std::byte> swapped(std::span<const std::byte> from, const std::array<int64_t, 3>& sizes, size_t width) {
  const auto [outer, rows, columns] = sizes;
  std::vector<std::byte> to(from.size());
  std::byte* place = to.data();
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t column = 0; column < columns; ++column)
      for (int64_t row = 0; row < rows; ++row, place += width)
        std::memcpy(place, from.data() + static_cast<size_t>((i * rows + row) * columns + column) * width, width);
  return to;
}

}  // namespace

Dims strides(const Dims& dims, Layout layout) {
  const size_t rank = dims.size();
  Dims made(rank, 1);
  int64_t next = layout == Layout::kChannelsLast && rank > 1 ? dims[1] : 1;
  for (size_t k = rank; k-- > 0;) {
    if (layout == Layout::kChannelsLast && k == 1) continue;
    made[k] = next;
    next *= dims[k];
  }
  return made;
}

Result<void*> Operands::upload(const Tensor& tensor, Layout layout) {
  const std::span<const std::byte> bytes = tensor.bytes();
  const auto [known, is_new] = uploaded_.try_emplace({bytes.data(), layout});
  if (!is_new) return static_cast<void*>(known->second.memory.data());
  auto memory = device_.allocate(static_cast<int64_t>(bytes.size()));
  if (!memory) {
    uploaded_.erase(known);
    return unsupported("cuda", "{} bytes of memory for an operand expected", bytes.size());
  }
  const std::array<int64_t, 3> sizes = extents(tensor.dims(), layout);
  if (sizes[1] == 1 || sizes[2] == 1) {
    device_.upload(memory->data(), bytes.data(), static_cast<int64_t>(bytes.size()));
  } else {
    const auto ordered = swapped(bytes, sizes, bytes.size() / static_cast<size_t>(tensor.count()));
    device_.upload(memory->data(), ordered.data(), static_cast<int64_t>(ordered.size()));
  }
  known->second = {tensor, std::move(*memory)};
  return static_cast<void*>(known->second.memory.data());
}

Result<Output> Output::allocate(runtime::cuda::GpuDevice& device, DataType dtype, Dims dims, Layout layout) {
  Output made;
  const int64_t width = dtype == DataType::kFloat32 ? 4 : 2;
  auto memory = device.allocate(element_count(dims) * width);
  if (!memory) return unsupported("cuda", "{} bytes of memory for a result expected", element_count(dims) * width);
  made.device_ = &device;
  made.dtype_ = dtype;
  made.dims_ = std::move(dims);
  made.layout_ = layout;
  made.memory_ = std::move(*memory);
  return made;
}

Result<std::vector<float>> Output::elements() const {
  const auto count = static_cast<size_t>(element_count(dims_));
  const size_t width = dtype_ == DataType::kFloat32 ? 4 : 2;
  std::vector<std::byte> bytes(count * width);
  TRY_VOID(device_->download(bytes.data(), memory_.data(), static_cast<int64_t>(bytes.size())));
  const auto [outer, rows, columns] = extents(dims_, layout_);
  if (rows > 1 && columns > 1) bytes = swapped(bytes, {outer, columns, rows}, width);
  std::vector<float> elements(count);
  for (size_t i = 0; i < count; ++i) elements[i] = static_cast<float>(decode_real(dtype_, &bytes[i * width]));
  return elements;
}

}  // namespace isomer::backends::gpu
