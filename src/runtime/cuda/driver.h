// The door to NVIDIA's driver, which is opened where it is found: the same binary starts on machines without one.
// Names and meanings are those of the driver API; types are declared here, so that nothing of CUDA is needed to build.
// Tests: tests/cuda/sessions_test.cpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "util/result.h"

namespace isomer::runtime::cuda {

using Status = int;  ///< CUresult; 0: done
using DeviceNumber = int;
using Address = unsigned long long;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Graph = struct GraphTag*;
using GraphExec = struct GraphExecTag*;
using Event = struct EventTag*;

/// CUdevice_attribute.
enum class Attribute : int {
  kMultiprocessors = 16,
  kSecondLevelCache = 38,  ///< bytes
  kCapabilityMajor = 75,
  kCapabilityMinor = 76,
};

/// Of a stream: it and the legacy default stream don't wait for each other.
inline constexpr unsigned kNonBlocking = 1;

/// Thread-local captures: other threads of the process may do what they like, but wait for all of the context, or use
/// the legacy default stream where the one that is captured waits for it.
inline constexpr int kCaptureThreadLocal = 1;

struct Driver {
  /// $ISOMER_CUDA_DRIVER, alone where it is set, or what the loader knows as libcuda. Opened once a process and
  /// library; the error says what the loader or the driver says.
  static Result<std::shared_ptr<const Driver>> open();

  /// An error in a process that was forked from the one that opened it: contexts are not there.
  Result<void> check_process() const;

  std::string library;
  int process = 0;  ///< that opened it
  int version = 0;  ///< 13000: CUDA 13.0

  Status (*init)(unsigned) = nullptr;
  Status (*driver_version)(int*) = nullptr;
  Status (*error_name)(Status, const char**) = nullptr;
  Status (*error_string)(Status, const char**) = nullptr;
  Status (*device_count)(int*) = nullptr;
  Status (*device_get)(DeviceNumber*, int) = nullptr;
  Status (*device_name)(char*, int, DeviceNumber) = nullptr;
  Status (*device_attribute)(int*, Attribute, DeviceNumber) = nullptr;
  Status (*device_memory)(size_t*, DeviceNumber) = nullptr;
  Status (*primary_retain)(Context*, DeviceNumber) = nullptr;
  Status (*primary_release)(DeviceNumber) = nullptr;
  Status (*context_push)(Context) = nullptr;
  Status (*context_pop)(Context*) = nullptr;
  Status (*memory_allocate)(Address*, size_t) = nullptr;
  Status (*memory_free)(Address) = nullptr;
  Status (*memory_allocate_host)(void**, size_t) = nullptr;
  Status (*memory_free_host)(void*) = nullptr;
  Status (*memory_set)(Address, unsigned char, size_t, Stream) = nullptr;
  Status (*copy_to_device)(Address, const void*, size_t, Stream) = nullptr;
  Status (*copy_to_host)(void*, Address, size_t, Stream) = nullptr;
  Status (*copy_in_device)(Address, Address, size_t, Stream) = nullptr;
  Status (*stream_create)(Stream*, unsigned) = nullptr;
  Status (*stream_destroy)(Stream) = nullptr;
  Status (*stream_synchronize)(Stream) = nullptr;
  Status (*capture_begin)(Stream, int) = nullptr;
  Status (*capture_end)(Stream, Graph*) = nullptr;
  Status (*graph_instantiate)(GraphExec*, Graph, unsigned long long) = nullptr;
  Status (*graph_launch)(GraphExec, Stream) = nullptr;
  Status (*graph_destroy)(Graph) = nullptr;
  Status (*graph_exec_destroy)(GraphExec) = nullptr;
  Status (*module_load)(Module*, const void*) = nullptr;
  Status (*module_unload)(Module) = nullptr;
  Status (*module_function)(Function*, Module, const char*) = nullptr;
  Status (*function_attribute)(Function, int, int) = nullptr;
  Status (*launch)(Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream, void**,
                   void**) = nullptr;
  Status (*event_create)(Event*, unsigned) = nullptr;
  Status (*event_destroy)(Event) = nullptr;
  Status (*event_record)(Event, Stream) = nullptr;
  Status (*event_elapsed)(float*, Event, Event) = nullptr;  ///< milliseconds

  /// A function of a module whose launches ask for so much shared memory. Errors name it and what it lacks.
  Result<Function> function(Module module, const std::string& name, int64_t shared_bytes) const;
  /// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)".
  std::string describe(Status status) const;
  /// The error of `what` that failed ("a launch of conv_0"); nothing where it did not.
  Result<void> check(Status status, std::string_view what) const;
};

}  // namespace isomer::runtime::cuda
