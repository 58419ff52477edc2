#include "runtime/session.h"

#include <algorithm>
#include <limits>

#include "runtime/cpu_kernels.h"
#include "runtime/cuda/kernels.h"
#include "util/threads.h"

namespace isomer::runtime {
namespace {

constexpr int kMostThreads = 1024;

Error usage(std::string where, std::string what) { return {ErrorKind::kUsage, std::move(where), std::move(what)}; }

bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % kAlignment == 0; }

Result<void> check_count(std::string_view what, size_t expected, size_t found) {
  if (expected == found) return {};
  return usage(std::string(what), fmt::format("{} expected, {} found", expected, found));
}

Result<void> check_tensor(std::string_view what, const Port& port, const Value& value, const Tensor& tensor) {
  if (tensor.type == value.type && std::ranges::equal(tensor.dims, value.dims)) return {};
  return usage(
      fmt::format("{} '{}'", what, port.name),
      fmt::format("{} expected, {} found", describe(value.type, value.dims), describe(tensor.type, tensor.dims)));
}

/// What is taken of the host's memory before the first run, and in it where the caller has no aligned memory: for
/// values, or where these are a GPU's, which says itself what it has, for outputs alone.
Result<void> check_memory(const Variant& variant, MemoryLimit limit) {
  const bool is_cpu = variant.target.device == DeviceKind::kCpu;
  int64_t bytes = is_cpu ? variant.arena_bytes : 0;
  for (const auto* ports : {&variant.inputs, &variant.outputs})
    for (const Port& port : *ports) {
      if (!is_cpu && ports == &variant.inputs) continue;
      const int64_t more = std::max<int64_t>(variant.values[port.value].bytes, 0);
      if (__builtin_add_overflow(bytes, more, &bytes)) bytes = std::numeric_limits<int64_t>::max();
    }
  return limit.check(bytes, "the values of a run");
}

}  // namespace

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Model> model, const SessionOptions& options) {
  if (options.threads < 0 || options.threads > kMostThreads)
    return usage("threads", fmt::format("a number from 0 to {} expected, {} found", kMostThreads, options.threads));
  TRY(const Variant* variant, model->find(options.bindings, options.device));
  TRY_VOID(check_memory(*variant, options.memory));
  std::unique_ptr<Session> session(new Session(std::move(model), *variant));
  TRY_VOID(session->open(options));
  return session;
}

Result<void> Session::open(const SessionOptions& options) {
  const bool is_cpu = variant_.target.device == DeviceKind::kCpu;
  const int threads = options.threads == 0 ? available_threads() : options.threads;
  workers_ = std::make_unique<Workers>(is_cpu ? threads : 1);
  if (is_cpu) {
    device_ = std::make_unique<HostDevice>();
    TRY(table_, ValueTable::create(variant_, model_->weights(), *device_, options.memory));
    TRY(kernels_, cpu_kernels(*model_, variant_, *table_, *workers_));
  } else {
    TRY(auto gpu, model_->gpu_for(variant_, options.device));
    TRY(resident_, model_->on(gpu));
    const cuda::Gpu::Current current(*gpu);
    TRY(auto device, cuda::GpuDevice::create(gpu));
    cuda::GpuDevice& made = *device;
    device_ = std::move(device);
    TRY(table_, ValueTable::create(variant_, resident_->weights(), made, MemoryLimit{}));
    TRY(kernels_, cuda::gpu_kernels(*model_, variant_, *resident_, made, *table_, options.device_timed));
    TRY_VOID(made.finish());
  }
  executor_ =
      std::make_unique<Executor>(Executor::create(*model_, variant_, *table_, *device_, *kernels_, options.timed));
  return {};
}

Result<void> Session::check(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const {
  TRY_VOID(check_count("inputs", variant_.inputs.size(), inputs.size()));
  TRY_VOID(check_count("outputs", variant_.outputs.size(), outputs.size()));
  for (size_t k = 0; k < inputs.size(); ++k) {
    TRY_VOID(check_tensor("input", variant_.inputs[k], input(k), inputs[k]));
    if (inputs[k].data == nullptr && input(k).bytes > 0)
      return usage(fmt::format("input '{}'", variant_.inputs[k].name),
                   "a pointer to its elements expected, none found");
    TRY_VOID(check_device("input", variant_.inputs[k], inputs[k]));
  }
  for (size_t k = 0; k < outputs.size(); ++k)
    if (outputs[k].data != nullptr && !table_->is_open(variant_.outputs[k].value)) {
      TRY_VOID(check_tensor("output", variant_.outputs[k], output(k), outputs[k]));
      TRY_VOID(check_device("output", variant_.outputs[k], outputs[k]));
    }
  return {};
}

Result<void> Session::check_device(std::string_view what, const Port& port, const Tensor& tensor) const {
  if (tensor.device == DeviceKind::kCpu || tensor.device == device_->kind()) return {};
  return usage(fmt::format("{} '{}'", what, port.name), "a tensor of the CPU expected, one of a GPU found");
}

Result<void> Session::follow(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
  std::vector<void*> streams;
  const auto add = [&](const Tensor& tensor) {
    if (tensor.device == DeviceKind::kCuda && tensor.data != nullptr &&
        std::ranges::find(streams, tensor.stream) == streams.end())
      streams.push_back(tensor.stream);
  };
  std::ranges::for_each(inputs, add);
  std::ranges::for_each(outputs, add);
  return device_->follow(streams);
}

/// Enough for `bytes`, kept for the next run.
Result<void*> Session::take(DeviceMemory& memory, int64_t bytes) {
  if (memory.data() == nullptr || memory.bytes() < bytes) {
    auto larger = device_->allocate(bytes);
    if (!larger) return unsupported("", "{} bytes of memory expected, less found", bytes);
    memory = std::move(*larger);
  }
  return static_cast<void*>(memory.data());
}

bool Session::is_usable(const Tensor& tensor) const {
  return tensor.data != nullptr && tensor.device == device_->kind() && is_aligned(tensor.data);
}

/// In memory that a run has handed out, and that the next one writes to.
bool Session::is_handed_out(const void* data) const {
  for (size_t k = 0; k < outputs_.size(); ++k)
    if (outputs_[k].memory.holds(data) || table_->holds(variant_.outputs[k].value, data)) return true;
  return false;
}

/// Whether what kernels read or write elsewhere lies in the caller's memory of an output: they are free to write that
/// in any order. Inputs are bound.
bool Session::overlaps_others(std::span<const Tensor> outputs, size_t k) const {
  const auto start = [](const void* data) { return reinterpret_cast<uintptr_t>(data); };
  const void* const data = outputs[k].data;
  const auto meets = [&](const void* other, int64_t bytes) {
    return start(other) < start(data) + static_cast<uintptr_t>(output(k).bytes) &&
           start(data) < start(other) + static_cast<uintptr_t>(bytes);
  };
  for (size_t other = 0; other < inputs_.size(); ++other)
    if (meets(table_->data(variant_.inputs[other].value), input(other).bytes)) return true;
  for (size_t other = 0; other < outputs.size(); ++other)
    if (other != k && outputs[other].data != nullptr && meets(outputs[other].data, output(other).bytes)) return true;
  return false;
}

Result<void> Session::bind_inputs(std::span<const Tensor> inputs) {
  for (size_t k = 0; k < inputs.size(); ++k) {
    void* data = inputs[k].data;
    if (!is_usable(inputs[k]) || is_handed_out(data)) {
      TRY(data, take(inputs_[k].memory, input(k).bytes));
      if (inputs[k].device == device_->kind())
        device_->copy(data, inputs[k].data, input(k).bytes);
      else
        device_->upload(data, inputs[k].data, input(k).bytes);
    }
    table_->place(variant_.inputs[k].value, data);
  }
  return {};
}

Result<void> Session::bind_outputs(std::span<const Tensor> outputs) {
  for (size_t k = 0; k < outputs.size(); ++k) {
    const int32_t value = variant_.outputs[k].value;
    outputs_[k].copy_to = nullptr;
    if (table_->is_open(value)) continue;
    void* data = outputs[k].data;
    if (!is_usable(outputs[k]) || overlaps_others(outputs, k)) {
      outputs_[k].copy_to = data;
      TRY(data, take(outputs_[k].memory, output(k).bytes));
    }
    table_->place(value, data);
  }
  return {};
}

/// Memory of the host for an output.
Result<void*> Session::on_host(size_t k) {
  Memory& memory = outputs_[k].host;
  const int64_t bytes = table_->bytes(variant_.outputs[k].value);
  if (memory.data() == nullptr || memory.bytes() < bytes) {
    auto larger = Memory::allocate(bytes);
    if (!larger) return unsupported("", "{} bytes of memory expected, less found", bytes);
    memory = std::move(*larger);
  }
  return static_cast<void*>(memory.data());
}

Result<void> Session::hand_out(std::span<Tensor> outputs) {
  for (size_t k = 0; k < outputs.size(); ++k) {
    const int32_t value = variant_.outputs[k].value;
    const int64_t bytes = table_->bytes(value);
    const DeviceKind wanted = outputs[k].device == device_->kind() ? device_->kind() : DeviceKind::kCpu;
    void* data = table_->data(value);
    void* to = outputs_[k].copy_to;
    if (to == nullptr && wanted != device_->kind()) {
      TRY(to, on_host(k));
    }
    if (to != nullptr) {
      if (wanted == device_->kind())
        device_->copy(to, data, bytes);
      else
        TRY_VOID(device_->download(to, data, bytes));
      data = to;
    }
    outputs[k] = {output(k).type, table_->dims(value), data, wanted, outputs[k].stream};
  }
  return device_->finish();
}

Result<void> Session::run(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const std::lock_guard lock(mutex_);
  TRY_VOID(check(inputs, outputs));
  std::optional<cuda::Gpu::Current> current;
  if (resident_) {
    TRY_VOID(resident_->gpu()->driver().check_process());
    current.emplace(*resident_->gpu());
  }
  auto done = compute(inputs, outputs);
  device_->leave();
  return done;
}

Result<void> Session::compute(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  TRY_VOID(follow(inputs, outputs));
  TRY_VOID(bind_inputs(inputs));
  TRY_VOID(bind_outputs(outputs));
  {
    const FlushDenormals flush;
    workers_->keep_apart();
    auto done = executor_->run();
    // Weights that went away meanwhile read as zeros; those of a GPU lie in its own memory.
    if (!resident_) TRY_VOID(model_->check_unchanged());
    TRY_VOID(done);
  }
  return hand_out(outputs);
}

Result<DeviceMemory> Session::copy_of(std::span<const std::byte> data) {
  const std::lock_guard lock(mutex_);
  std::optional<cuda::Gpu::Current> current;
  if (resident_) {
    TRY_VOID(resident_->gpu()->driver().check_process());
    current.emplace(*resident_->gpu());
  }
  auto memory = device_->allocate(std::ssize(data));
  if (!memory) return unsupported("", "{} bytes of memory expected, less found", data.size());
  device_->upload(memory->data(), data.data(), std::ssize(data));
  const auto done = device_->finish();
  device_->leave();
  TRY_VOID(done);
  return *std::move(memory);
}

std::vector<StepTime> Session::times() const {
  const std::lock_guard lock(mutex_);
  return executor_->times();
}

int64_t Session::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  int64_t bytes = table_->memory_bytes();
  for (const auto* ports : {&inputs_, &outputs_})
    for (const PortMemory& port : *ports) bytes += port.memory.bytes() + port.host.bytes();
  return bytes;
}

}  // namespace isomer::runtime
