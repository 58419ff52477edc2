#include "runtime/cuda/driver.h"

#include <unistd.h>

#include <map>
#include <mutex>

#include "backends/find_library.h"
#include "backends/foreign_functions.h"

namespace isomer::runtime::cuda {
namespace {

Result<std::shared_ptr<const Driver>> open_library(const std::string& library) {
  TRY(auto find, backends::ForeignFunctions::open(library, "cuda", "NVIDIA's driver"));
  auto driver = std::make_shared<Driver>();
  driver->library = library;
  driver->process = getpid();
  find(driver->init, "cuInit");
  find(driver->driver_version, "cuDriverGetVersion");
  find(driver->error_name, "cuGetErrorName");
  find(driver->error_string, "cuGetErrorString");
  find(driver->device_count, "cuDeviceGetCount");
  find(driver->device_get, "cuDeviceGet");
  find(driver->device_name, "cuDeviceGetName");
  find(driver->device_attribute, "cuDeviceGetAttribute");
  find(driver->device_memory, "cuDeviceTotalMem_v2");
  find(driver->primary_retain, "cuDevicePrimaryCtxRetain");
  find(driver->primary_release, "cuDevicePrimaryCtxRelease_v2");
  find(driver->context_push, "cuCtxPushCurrent_v2");
  find(driver->context_pop, "cuCtxPopCurrent_v2");
  find(driver->memory_allocate, "cuMemAlloc_v2");
  find(driver->memory_free, "cuMemFree_v2");
  find(driver->memory_allocate_host, "cuMemAllocHost_v2");
  find(driver->memory_free_host, "cuMemFreeHost");
  find(driver->memory_set, "cuMemsetD8Async");
  find(driver->copy_to_device, "cuMemcpyHtoDAsync_v2");
  find(driver->copy_to_host, "cuMemcpyDtoHAsync_v2");
  find(driver->copy_in_device, "cuMemcpyDtoDAsync_v2");
  find(driver->stream_create, "cuStreamCreate");
  find(driver->stream_destroy, "cuStreamDestroy_v2");
  find(driver->stream_synchronize, "cuStreamSynchronize");
  find(driver->capture_begin, "cuStreamBeginCapture_v2");
  find(driver->capture_end, "cuStreamEndCapture");
  find(driver->graph_instantiate, "cuGraphInstantiateWithFlags");
  find(driver->graph_launch, "cuGraphLaunch");
  find(driver->graph_destroy, "cuGraphDestroy");
  find(driver->graph_exec_destroy, "cuGraphExecDestroy");
  find(driver->module_load, "cuModuleLoadData");
  find(driver->module_unload, "cuModuleUnload");
  find(driver->module_function, "cuModuleGetFunction");
  find(driver->function_attribute, "cuFuncSetAttribute");
  find(driver->launch, "cuLaunchKernel");
  find(driver->event_create, "cuEventCreate");
  find(driver->event_destroy, "cuEventDestroy_v2");
  find(driver->event_record, "cuEventRecord");
  find(driver->event_elapsed, "cuEventElapsedTime");
  TRY_VOID(find.are_all_there("a driver"));
  TRY_VOID(driver->check(driver->init(0), "the driver's start"));
  TRY_VOID(driver->check(driver->driver_version(&driver->version), "its version"));
  return std::shared_ptr<const Driver>(std::move(driver));
}

}  // namespace

Result<std::shared_ptr<const Driver>> Driver::open() {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<const Driver>> opened;
  const std::string library = backends::places_of(backends::cuda_driver_library()).front();
  const std::lock_guard lock(mutex);
  if (const auto known = opened.find(library); known != opened.end()) {
    TRY_VOID(known->second->check_process());
    return known->second;
  }
  TRY(std::shared_ptr<const Driver> driver, open_library(library));
  return opened[library] = std::move(driver);
}

Result<void> Driver::check_process() const {
  if (getpid() == process) return {};
  return unsupported("cuda", "the process that began to use GPUs expected, one that was forked from it found");
}

Result<Function> Driver::function(Module module, const std::string& name, int64_t shared_bytes) const {
  constexpr int kMostAskedSharedBytes = 8;  // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  Function found = nullptr;
  TRY_VOID(check(module_function(&found, module, name.c_str()), fmt::format("function '{}'", name)));
  if (shared_bytes > 0)
    TRY_VOID(check(function_attribute(found, kMostAskedSharedBytes, static_cast<int>(shared_bytes)),
                   fmt::format("{} bytes of shared memory for '{}'", shared_bytes, name)));
  return found;
}

std::string Driver::describe(Status status) const {
  const char *name = nullptr, *text = nullptr;
  if (error_name(status, &name) != 0 || !name) return fmt::format("status {}", status);
  if (error_string(status, &text) != 0 || !text) return name;
  return fmt::format("{} ({})", name, text);
}

Result<void> Driver::check(Status status, std::string_view what) const {
  if (status == 0) return {};
  return unsupported("cuda", "{} expected, {} found", what, describe(status));
}

}  // namespace isomer::runtime::cuda
