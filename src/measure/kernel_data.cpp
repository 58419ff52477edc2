#include "measure/kernel_data.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "graph/tensor.h"
#include "kernel/tree.h"
#include "util/random.h"

namespace isomer {
namespace {

/// Values repeat after so many: a prime, so that rows of a buffer, or images, are not alike.
constexpr int64_t kPeriod = 4093;

/// What so many bytes begin with, and repeat.
std::vector<std::byte> period_of(size_t bytes, DataType dtype, IntegerRange range, uint64_t seed, Numbers numbers) {
  if (!is_computable(dtype)) return std::vector<std::byte>(std::min<size_t>(bytes, kPeriod));
  const size_t width = static_cast<size_t>(bit_width(dtype)) / 8;
  if (dtype == DataType::kBool) range = {std::clamp<int64_t>(range.low, 0, 1), std::clamp<int64_t>(range.high, 0, 1)};
  Random random(seed);
  std::vector<std::byte> period(std::min(bytes, kPeriod * width));
  for (size_t at = 0; at < period.size(); at += width)
    if (!is_float(dtype))
      encode_integer(dtype, random.between(range.low, range.high), &period[at]);
    else if (numbers == Numbers::kIntegers)
      encode_real(dtype, static_cast<double>(random.between(-2, 2)), &period[at]);
    else
      encode_real(dtype, random.uniform(0.1, 0.9), &period[at]);
  return period;
}

}  // namespace

std::set<int> used_arguments(const kernel::Kernel& kernel) {
  std::set<int> used = kernel::touched(kernel.body);
  std::erase_if(used, [&](int buffer) { return kernel.buffers[buffer].scope != kernel::Scope::kArgument; });
  return used;
}

std::map<int, int64_t> index_bounds(const kernel::Kernel& kernel) {
  std::map<int, int64_t> bounds;
  const auto look = [&](int buffer, const std::vector<kernel::Expr>& index) {
    for (size_t axis = 0; axis < index.size(); ++axis) {
      const auto extent = kernel.buffers[buffer].shape[axis].constant();
      for (const int source : kernel::loads(index[axis]))
        if (extent) bounds[source] = std::min(bounds.try_emplace(source, *extent).first->second, *extent);
    }
  };
  kernel::for_each_expression(kernel.body, [&](const kernel::Expr& whole) {
    te::for_each_node(whole, [&](const kernel::Expr& e) {
      if (const auto* load = te::as<te::Load>(e)) look(load->buffer.index, load->index);
    });
  });
  kernel::for_each_block(kernel.body, [&](const kernel::Block& block, const auto&) {
    for (const kernel::Write& write : block.writes) look(write.buffer, write.index);
  });
  return bounds;
}

void fill(std::span<std::byte> bytes, DataType dtype, IntegerRange range, uint64_t seed, Numbers numbers) {
  const std::vector<std::byte> period = period_of(bytes.size(), dtype, range, seed, numbers);
  for (size_t at = 0; at < bytes.size(); at += period.size())
    std::memcpy(&bytes[at], period.data(), std::min(period.size(), bytes.size() - at));
}

bool is_filled(std::span<const std::byte> bytes, DataType dtype, IntegerRange range, uint64_t seed, Numbers numbers) {
  const std::vector<std::byte> period = period_of(bytes.size(), dtype, range, seed, numbers);
  for (size_t at = 0; at < bytes.size(); at += period.size())
    if (std::memcmp(&bytes[at], period.data(), std::min(period.size(), bytes.size() - at)) != 0) return false;
  return true;
}

}  // namespace isomer
