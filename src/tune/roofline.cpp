#include "tune/roofline.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "kernel/tree.h"
#include "util/machine_peak.h"

namespace isomer::tune {
namespace {

using kernel::Block;
using kernel::Buffer;
using kernel::Kernel;
using kernel::Loop;

/// What constants that the steps of a scan read take from the second step on, from the least cache that holds them.
template <class Bytes>
double read_again(const Kernel& kernel, const Bytes& bytes, const Peaks& peaks) {
  std::map<int, int64_t> steps;
  for_each_block(kernel.body, [&](const Block& block, const std::vector<const Loop*>& loops) {
    int64_t count = 1;
    for (const Loop* loop : loops)
      if (loop->ordered) count *= te::as_constant(loop->extent).value_or(1);
    for (const int buffer : loads(block))
      if (count > 1 && kernel.buffers[static_cast<size_t>(buffer)].is_constant) steps[buffer] = count;
  });
  double once = 0, again = 0;
  for (const auto& [buffer, count] : steps) {
    once += bytes(buffer);
    again += bytes(buffer) * static_cast<double>(count - 1);
  }
  return again / (once < Peaks::kSecond ? peaks.second : peaks.last);
}

/// Numbers of which the machine may multiply more in an instruction than floats of 32 bits: how many is not measured.
bool has_narrow_inputs(const Kernel& kernel) {
  return std::ranges::any_of(kernel.inputs, [&](int input) {
    if (input < 0) return false;
    const DataType dtype = kernel.buffers[static_cast<size_t>(input)].dtype;
    return dtype != DataType::kBool && bit_width(dtype) < 32;
  });
}

}  // namespace

Peaks measure_peaks(int threads) {
  // Of which caches hold a small part; some machines don't say how much.
  constexpr int64_t kLeast = int64_t{128} << 20, kMost = int64_t{256} << 20;
  const int64_t cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  const int64_t memory = cache > 0 ? std::clamp(4 * cache, kLeast, kMost) : kMost;
  // Each thread reads bytes of its own.
  return {measure_fma_peak(threads), measure_read_bandwidth(Peaks::kSecond, threads),
          measure_read_bandwidth(Peaks::kLast / threads, threads), measure_read_bandwidth(memory / threads, threads)};
}

double roofline_us(const Kernel& kernel, int64_t flops, const Peaks& peaks, Weights where) {
  double weights = 0, values = 0;
  const auto bytes = [&](int buffer) {
    const Buffer& there = kernel.buffers[static_cast<size_t>(buffer)];
    return static_cast<double>(element_count(there.shape).constant().value_or(0)) * bit_width(there.dtype) / 8;
  };
  for (const int input : kernel.inputs)
    if (input >= 0) (kernel.buffers[static_cast<size_t>(input)].is_constant ? weights : values) += bytes(input);
  for (const int output : kernel.outputs)
    if (output >= 0) values += bytes(output);
  const double bandwidth = values < Peaks::kSecond ? peaks.second : values < Peaks::kLast ? peaks.last : peaks.memory;
  const double of_weights = where != Weights::kInCache          ? peaks.memory
                            : weights + values < Peaks::kSecond ? peaks.second
                                                                : peaks.last;
  const double moved = values / bandwidth + weights / of_weights + read_again(kernel, bytes, peaks);
  const double computed = has_narrow_inputs(kernel) ? 0 : static_cast<double>(flops) / peaks.fma;
  return std::max(computed, moved) / 1e3;
}

}  // namespace isomer::tune
