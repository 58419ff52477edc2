#include "driver/bench_session.h"

#include <algorithm>

#include "util/stop.h"

namespace isomer {

using Clock = std::chrono::steady_clock;

double milliseconds(Clock::duration duration) { return std::chrono::duration<double, std::milli>(duration).count(); }

std::vector<float> elements_of(const Tensor& tensor) {
  if (!is_computable(tensor.dtype())) return {};
  std::vector<float> elements(static_cast<size_t>(tensor.count()));
  for (size_t k = 0; k < elements.size(); ++k) elements[k] = static_cast<float>(tensor.real(static_cast<int64_t>(k)));
  return elements;
}

Result<BenchSession> BenchSession::make(LoadedArtifact artifact, std::vector<Tensor> inputs) {
  BenchSession bench(std::move(artifact), std::move(inputs));
  TRY_VOID(bench.give_inputs());
  return bench;
}

/// Moves them to where code reads them as they lie: the session would copy others in each run. On a GPU outputs stay
/// there.
Result<void> BenchSession::give_inputs() {
  const runtime::DeviceKind device = session().variant().target.device;
  for (Tensor& tensor : inputs_) {
    const auto bytes = tensor.bytes();
    auto made = runtime::Memory::allocate(static_cast<int64_t>(bytes.size()));
    if (!made) return unsupported("inputs", "{} bytes of memory expected", bytes.size());
    const auto memory = std::make_shared<const runtime::Memory>(std::move(*made));
    std::copy(bytes.begin(), bytes.end(), memory->data());
    tensor = Tensor(tensor.dtype(), tensor.dims(), std::span<const std::byte>(memory->data(), bytes.size()), memory);
    given_.push_back(
        {static_cast<runtime::ElementType>(tensor.dtype()), tensor.dims(), memory->data(), device, nullptr});
    if (device == runtime::DeviceKind::kCpu) continue;
    TRY(runtime::DeviceMemory there, session().copy_of(tensor.bytes()));
    given_.back().data = there.data();
    on_gpu_.push_back(std::move(there));
  }
  for (runtime::Tensor& output : outputs_) output.device = device;
  return {};
}

Result<double> BenchSession::run() {
  const auto start = Clock::now();
  TRY_VOID(session().run(given_, outputs_));
  return milliseconds(Clock::now() - start);
}

Result<std::vector<double>> BenchSession::run_for(double seconds) {
  std::vector<double> times;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  do {
    TRY_VOID(check_stop());
    TRY(const double time, run());
    times.push_back(time);
  } while (Clock::now() < end);
  return times;
}

Result<double> BenchSession::run_on_gpu() {
  TRY_VOID(session().run(given_, outputs_));
  return 1e3 * session().device_seconds();
}

Result<std::vector<Tensor>> BenchSession::outputs() {
  std::vector<runtime::Tensor> outputs(outputs_.size());  // of the host
  TRY_VOID(session().run(given_, outputs));
  std::vector<Tensor> tensors;
  for (const runtime::Tensor& output : outputs) {
    const auto dtype = static_cast<DataType>(output.type);
    const Dims dims(output.dims.begin(), output.dims.end());
    const auto bytes = static_cast<size_t>(byte_size(dtype, element_count(dims)));
    tensors.emplace_back(dtype, dims, std::span(static_cast<const std::byte*>(output.data), bytes), nullptr);
  }
  return tensors;
}

Result<std::vector<float>> BenchSession::first_output() {
  TRY(const std::vector<Tensor> all, outputs());
  return all.empty() || !is_float(all[0].dtype()) ? std::vector<float>() : elements_of(all[0]);
}

}  // namespace isomer
