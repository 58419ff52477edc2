// How long work takes on a GPU, between two events in its stream. Tests: tests/cuda/sessions_test.cpp
#pragma once

#include <memory>

#include "runtime/cuda/gpu.h"

namespace isomer::runtime::cuda {

class EventClock {
 public:
  /// Twice as much as the second-level cache holds is written before each measurement: nothing else stays in it, and
  /// the host has asked for all work before that begins. The GPU's context is current. Errors (kUnsupported): memory.
  static Result<std::unique_ptr<EventClock>> create(GpuDevice& device);
  ~EventClock();
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;

  void start();
  void stop();
  /// Between the last start and stop; waits for it.
  Result<double> seconds();

 private:
  explicit EventClock(GpuDevice& device) : device_(device) {}

  GpuDevice& device_;
  DeviceMemory cold_;
  Event first_ = nullptr, last_ = nullptr;
};

}  // namespace isomer::runtime::cuda
