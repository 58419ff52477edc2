// Where the values of a session lie: what the runtime asks of a machine's memory. Work is done in the order in which it
// is asked for, kernels (kernel_runner.h) included, and may be done later, where memory is not the host's; what failed
// then is told by `finish` and `download`, and what follows it has no effect before `leave`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "util/result.h"

namespace isomer::runtime {

enum class DeviceKind : uint8_t { kCpu = 0, kCuda = 1 };

/// Aligned to 64 bytes.
class DeviceMemory {
 public:
  DeviceMemory() = default;
  DeviceMemory(std::byte* data, int64_t bytes, std::function<void()> release)
      : data_(data), bytes_(bytes), release_(std::move(release)) {}
  DeviceMemory(DeviceMemory&& other) noexcept { swap(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceMemory() {
    if (release_) release_();
  }

  std::byte* data() const { return data_; }
  /// At least what was asked for.
  int64_t bytes() const { return bytes_; }
  /// Whether it points there.
  bool holds(const void* data) const {
    return reinterpret_cast<uintptr_t>(data) - reinterpret_cast<uintptr_t>(data_) < static_cast<uintptr_t>(bytes_);
  }

 private:
  void swap(DeviceMemory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(release_, other.release_);
  }
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  std::function<void()> release_;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceKind kind() const = 0;

  /// Zeros; nothing where there is not so much. 0 bytes give a pointer too. It goes when what was asked for is done,
  /// but not while another thread asks for work.
  virtual std::optional<DeviceMemory> allocate(int64_t bytes) = 0;
  virtual void clear(void* to, int64_t bytes) = 0;
  /// Ranges that may overlap on the CPU only.
  virtual void copy(void* to, const void* from, int64_t bytes) = 0;
  /// From memory of the host, which may change after the call.
  virtual void upload(void* to, const void* from, int64_t bytes) = 0;
  /// To memory of the host, which holds it after the call.
  virtual Result<void> download(void* to, const void* from, int64_t bytes) = 0;
  /// Waits for all that was asked for.
  virtual Result<void> finish() = 0;
  /// What is asked for from now on comes after what the caller has asked for in these streams.
  virtual Result<void> follow(std::span<void* const> streams) = 0;
  /// The end of what `follow` began, also where something failed: all is done, the caller's streams are used no more,
  /// and what failed may be asked for again.
  virtual void leave() = 0;
};

/// The host's own memory: all is done at once.
class HostDevice : public Device {
 public:
  DeviceKind kind() const override { return DeviceKind::kCpu; }
  std::optional<DeviceMemory> allocate(int64_t bytes) override;
  void clear(void* to, int64_t bytes) override;
  void copy(void* to, const void* from, int64_t bytes) override;
  void upload(void* to, const void* from, int64_t bytes) override { copy(to, from, bytes); }
  Result<void> download(void* to, const void* from, int64_t bytes) override {
    copy(to, from, bytes);
    return {};
  }
  Result<void> finish() override { return {}; }
  Result<void> follow(std::span<void* const>) override { return {}; }
  void leave() override {}
};

}  // namespace isomer::runtime
