#include "measure/clock_job.h"

#include <algorithm>

#include "kernel/tree.h"

namespace isomer {

int64_t ClockJob::bytes() const {
  int64_t sum = 0;
  for (const Buffer& buffer : buffers) sum += buffer.bytes;
  return sum;
}

int64_t ClockJob::output_bytes() const {
  int64_t sum = 0;
  for (const int output : outputs) sum += buffers[static_cast<size_t>(output)].bytes;
  return sum;
}

int64_t ClockJob::scratch_bytes() const {
  int64_t most = 0;
  for (const runtime::Part& part : parts) most = std::max(most, part.scratch_bytes);
  return most;
}

// Packed weights are filled as they lie: what they were packed from makes no difference.
ClockJob job_of(const kernel::Kernel& kernel, std::span<const runtime::Part> parts, std::span<const std::byte> code) {
  ClockJob job{std::vector<ClockJob::Buffer>(kernel.buffers.size()),
               {},
               {parts.begin(), parts.end()},
               {code.begin(), code.end()}};
  const std::map<int, int64_t> bounds = index_bounds(kernel);
  for (const int number : used_arguments(kernel)) {
    const kernel::Buffer& buffer = kernel.buffers[static_cast<size_t>(number)];
    const bool is_value = kernel::is_argument(kernel, number) && !buffer.is_constant;
    IntegerRange range{1, 7};
    if (const auto bound = bounds.find(number); bound != bounds.end())
      range = {0, std::max<int64_t>(bound->second - 1, 0)};
    if (buffer.dtype == DataType::kBool) range = {0, 1};
    job.buffers[static_cast<size_t>(number)] = {!kernel::writers(kernel, number).empty() ? ClockJob::Use::kWritten
                                                : is_value                               ? ClockJob::Use::kValue
                                                                                         : ClockJob::Use::kWeight,
                                                buffer.dtype,
                                                byte_size(buffer.dtype, element_count(buffer.shape).value()), range,
                                                kernel.inputs.size() + static_cast<size_t>(number)};
  }
  for (size_t k = 0; k < kernel.inputs.size(); ++k)
    if (kernel.inputs[k] >= 0) job.buffers[static_cast<size_t>(kernel.inputs[k])].seed = k;
  for (const int output : kernel.outputs)
    if (output >= 0) job.outputs.push_back(output);
  return job;
}

}  // namespace isomer
