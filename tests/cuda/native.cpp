#include "cuda/native.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "kernel/codegen_cuda/module.h"

namespace isomer::kernel::test {
namespace {

using runtime::DeviceMemory;
using runtime::cuda::Address;
using runtime::cuda::Gpu;
using runtime::cuda::GpuDevice;

constexpr int64_t kMarginThere = 256;
constexpr std::byte kUntouched{0xff};

template <class T>
T needed(Result<T> result) {
  if (!result.ok()) throw std::runtime_error(result.error().message());
  return *std::move(result);
}
void need(const Result<void>& result) {
  if (!result.ok()) throw std::runtime_error(result.error().message());
}

/// The GPU of all tests, its context current in their thread.
struct Here {
  std::shared_ptr<const Gpu> gpu = needed(Gpu::open(0));
  std::unique_ptr<GpuDevice> device = needed(GpuDevice::create(gpu));
  Gpu::Current current{*gpu};
};
Here& here() {
  static Here* const all = new Here;  // outlives what tests keep
  return *all;
}

/// Memory of an argument on the GPU, with margins around.
struct ArgumentThere {
  std::vector<std::byte> content;
  DeviceMemory memory;

  explicit ArgumentThere(int64_t bytes)
      : content(static_cast<size_t>(bytes + 2 * kMarginThere), kUntouched),
        memory(*here().device->allocate(bytes + 2 * kMarginThere)) {}
  std::byte* data() { return content.data() + kMarginThere; }
  void upload() {
    here().device->upload(memory.data(), content.data(), static_cast<int64_t>(content.size()));
    need(here().device->finish());
  }
  void download() {
    need(here().device->download(content.data(), memory.data(), static_cast<int64_t>(content.size())));
  }
  bool is_margin_touched() const {
    const auto is_touched = [](std::byte byte) { return byte != kUntouched; };
    return std::any_of(content.begin(), content.begin() + kMarginThere, is_touched) ||
           std::any_of(content.end() - kMarginThere, content.end(), is_touched);
  }
};

void launch(const CudaLaunch& launch, runtime::cuda::Function function, void** arguments) {
  const auto size = [](int64_t count) { return static_cast<unsigned>(count); };
  const auto& [blocks, threads] = launch.launch;
  here().device->ask(launch.function, [&] {
    return here().gpu->driver().launch(function, size(blocks[0]), size(blocks[1]), size(blocks[2]), size(threads[0]),
                                       size(threads[1]), size(threads[2]), size(launch.asked_bytes()),
                                       here().device->stream(), arguments, nullptr);
  });
}

}  // namespace

bool is_native_run() { return std::getenv("ISOMER_TEST_GPU") != nullptr; }

NativeModule::NativeModule(const std::string& text, const std::vector<std::string>& functions) {
  const std::string arch = here().gpu->facts().arch() + (here().gpu->facts().major == 9 ? "a" : "");
  const Cubin cubin = needed(compile_cuda(text, functions, arch));
  need(here().gpu->driver().check(here().gpu->driver().module_load(&module_, cubin.image.data()), "a module"));
}

NativeModule::~NativeModule() { here().gpu->driver().module_unload(module_); }

runtime::cuda::Function NativeModule::function(const CudaLaunch& launch) const {
  return needed(here().gpu->driver().function(module_, launch.function, launch.asked_bytes()));
}

EmulatedRun run_natively(const NativeModule& module, const Kernel& kernel, const CudaKernel& code,
                         const std::vector<Tensor>& inputs) {
  std::vector<std::optional<ArgumentThere>> arguments(kernel.buffers.size());
  for (size_t b = 0; b < kernel.buffers.size(); ++b) {
    const Buffer& buffer = kernel.buffers[b];
    if (buffer.scope != Scope::kArgument) continue;
    ArgumentThere& argument = arguments[b].emplace(byte_size(buffer.dtype, element_count(buffer.shape).value()));
    const auto input = std::find(kernel.inputs.begin(), kernel.inputs.end(), static_cast<int>(b));
    if (input != kernel.inputs.end())
      std::ranges::copy(inputs[static_cast<size_t>(input - kernel.inputs.begin())].bytes(), argument.data());
    argument.upload();
  }
  const DeviceMemory word = *here().device->allocate(sizeof(int32_t));
  for_each_launch(code, [&](const CudaLaunch& each, int turn) {
    Address error = reinterpret_cast<Address>(word.data());
    std::vector<Address> pointers;
    for (const int b : each.buffers)
      pointers.push_back(reinterpret_cast<Address>(arguments[static_cast<size_t>(b)]->memory.data()) + kMarginThere);
    std::vector<void*> addresses = {&error};
    for (Address& pointer : pointers) addresses.push_back(&pointer);
    if (each.takes_turn) addresses.push_back(&turn);
    launch(each, module.function(each), addresses.data());
  });
  EmulatedRun run;
  int32_t outcome = 0;
  need(here().device->download(&outcome, word.data(), sizeof outcome));
  run.outcome = outcome;
  for (size_t b = 0; b < arguments.size(); ++b) {
    if (!arguments[b]) continue;
    arguments[b]->download();
    if (arguments[b]->is_margin_touched())
      run.findings.push_back(kernel.buffers[b].name + ": memory beside it was written");
  }
  run.outputs = outputs_of(kernel, [&](size_t b) { return arguments[b]->data(); });
  return run;
}

RunnableCode::RunnableCode(const std::string& text, const std::vector<std::string>& functions) {
  if (is_native_run())
    module_ = std::make_unique<NativeModule>(text, functions);
  else
    library_ = std::make_unique<EmulatedLibrary>(text, functions);
}

std::vector<EmulatedRun> RunnableCode::run(const Kernel& kernel, const CudaKernel& code,
                                           const std::vector<Tensor>& inputs) const {
  if (module_) return {run_natively(*module_, kernel, code, inputs)};
  return {emulate(*library_, kernel, code, inputs, ThreadOrder::kForward),
          emulate(*library_, kernel, code, inputs, ThreadOrder::kBackward)};
}

}  // namespace isomer::kernel::test
