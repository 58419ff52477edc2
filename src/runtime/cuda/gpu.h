// A GPU of this machine: its context, and memory there in the order of a stream.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/cuda/driver.h"
#include "runtime/device.h"

namespace isomer::runtime::cuda {

/// A device as it says it is.
struct GpuFacts {
  int ordinal = 0;
  std::string name;
  int major = 0, minor = 0;  ///< compute capability; 0.0: emulated (tests/cuda)
  int multiprocessors = 0;
  int64_t memory_bytes = 0, second_level_cache = 0;
  /// "sm_90"; "emulated".
  std::string arch() const;
};

/// Whether code for `arch` ("sm_80", "sm_90a", "emulated") runs on a device: CUBINs do on those of their own major
/// number and no smaller minor one, those of "a" on their own alone.
bool runs(const std::string& arch, const GpuFacts& gpu);

/// The context that the process shares of a device, current in a thread as long as a `Current` of it lives.
class Gpu {
 public:
  static Result<std::shared_ptr<const Gpu>> open(int ordinal);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const Driver& driver() const { return *driver_; }
  const GpuFacts& facts() const { return facts_; }

  class Current {
   public:
    explicit Current(const Gpu& gpu) : gpu_(gpu) { gpu_.driver_->context_push(gpu_.context_); }
    ~Current() {
      Context ignored = nullptr;
      gpu_.driver_->context_pop(&ignored);
    }
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    const Gpu& gpu_;
  };

 private:
  Gpu(std::shared_ptr<const Driver> driver, GpuFacts facts) : driver_(std::move(driver)), facts_(std::move(facts)) {}
  std::shared_ptr<const Driver> driver_;
  GpuFacts facts_;
  Context context_ = nullptr;
};

/// All devices of the driver; an error where there is no driver.
Result<std::vector<GpuFacts>> gpus();

/// Device memory used in the order of a stream. After a failure nothing more is asked for before `leave`.
class GpuDevice : public Device {
 public:
  static Result<std::unique_ptr<GpuDevice>> create(std::shared_ptr<const Gpu> gpu);
  ~GpuDevice() override;

  DeviceKind kind() const override { return DeviceKind::kCuda; }
  std::optional<DeviceMemory> allocate(int64_t bytes) override;
  void clear(void* to, int64_t bytes) override;
  void copy(void* to, const void* from, int64_t bytes) override;
  void upload(void* to, const void* from, int64_t bytes) override;
  Result<void> download(void* to, const void* from, int64_t bytes) override;
  Result<void> finish() override;
  Result<void> follow(std::span<void* const> streams) override;
  void leave() override;

  const Gpu& gpu() const { return *gpu_; }
  Stream stream() const { return streams_->used; }
  /// Asks for work by `call`, which returns a status, unless something failed before; its failure is told later, as
  /// that of `what`.
  template <class Call>
  void ask(std::string_view what, const Call& call) {
    if (failure_) return;
    is_idle_ = false;
    if (auto done = gpu_->driver().check(call(), what); !done.ok()) failure_ = std::move(done).error();
  }

  /// A graph of what `enqueue` asks for, to be launched again and again. Nothing where that can't be captured.
  std::shared_ptr<const GraphExec> capture(const std::function<Result<void>()>& enqueue);

 private:
  /// Shared with memory of the device, which waits for what may still use it.
  struct Streams {
    explicit Streams(std::shared_ptr<const Gpu> its_gpu) : gpu(std::move(its_gpu)) {}
    ~Streams();
    Streams(const Streams&) = delete;
    Streams& operator=(const Streams&) = delete;

    std::shared_ptr<const Gpu> gpu;
    Stream own = nullptr;
    Stream used = nullptr;  ///< of the work: its own, or the caller's
  };

  explicit GpuDevice(std::shared_ptr<const Gpu> gpu) : gpu_(gpu), streams_(std::make_shared<Streams>(std::move(gpu))) {}

  std::shared_ptr<const Gpu> gpu_;
  std::shared_ptr<Streams> streams_;
  bool is_idle_ = true;          ///< all that was asked for is known to be done
  std::byte* pinned_ = nullptr;  ///< memory of the host: a place for what is read, then those of small uploads
  int64_t next_place_ = 1;       ///< for an upload
  std::optional<Error> failure_;
};

}  // namespace isomer::runtime::cuda
