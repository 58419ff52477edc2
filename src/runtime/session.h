// One variant of a model with memory and threads of its own: what runs it.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/executor.h"
#include "runtime/model.h"
#include "runtime/workers.h"
#include "util/memory_limit.h"

namespace isomer::runtime {

struct SessionOptions {
  int threads = 0;          ///< 0: as many as this process may use
  Bindings bindings;        ///< of the model's symbolic dims; none where there is one variant only
  bool timed = false;       ///< fill the times of `Session::times`
  MemoryLimit memory = {};  ///< of the host, for values; what would need more ends with an error of kind kUnsupported
  /// That the variant is to run on; nothing: that of the first one that this machine runs.
  std::optional<DeviceChoice> device = {};
  bool device_timed = false;  ///< on a GPU: fill `Session::device_seconds` (cuda/event_clock.h)
};

struct Tensor {
  ElementType type = ElementType::kUndefined;
  std::span<const int64_t> dims;
  void* data = nullptr;
  DeviceKind device = DeviceKind::kCpu;  ///< where the data lie
  void* stream = nullptr;                ///< of a GPU: in which they are ready, and are used
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Model> model, const SessionOptions& options);

  const Variant& variant() const { return variant_; }
  const Value& input(size_t k) const { return variant_.values[variant_.inputs[k].value]; }
  const Value& output(size_t k) const { return variant_.values[variant_.outputs[k].value]; }
  int threads() const { return workers_->threads(); }
  /// That it runs on; nothing: the CPU.
  std::shared_ptr<const cuda::Gpu> gpu() const { return resident_ ? resident_->gpu() : nullptr; }

  /// One run at a time, whoever calls; same inputs and same number of threads, same bits. Inputs are only read; a
  /// pointer that is no multiple of 64 costs a copy, as does one to what the last run has handed out. An output of
  /// known shape with `data` is written there (its type and dims are checked; one that overlaps an input or another
  /// output costs a copy when all are computed, in their order); one without, and any whose dims data decide, gets
  /// memory of the session, on the device that it names, which stays until the next run. All outputs get type and dims.
  /// A session on a GPU takes tensors of the host too, which costs copies; work that its tensors' streams hold comes
  /// first, and all is done when it returns. Errors: kUsage for wrong tensors, kInvalid once a mapped file has changed,
  /// Executor's.
  Result<void> run(std::span<const Tensor> inputs, std::span<Tensor> outputs);

  /// A copy of the host's data where this session's kernels run, for tensors that many runs take.
  Result<DeviceMemory> copy_of(std::span<const std::byte> data);

  std::vector<StepTime> times() const;
  /// Of the last run, on the GPU alone; 0 where that was not asked for.
  double device_seconds() const { return kernels_->seconds(); }
  /// Of this session: arena, dynamic values, scratch memory aside.
  int64_t memory_bytes() const;

 private:
  /// Memory for an input or output whose pointer can't be used as it is.
  struct PortMemory {
    DeviceMemory memory;
    Memory host;              ///< for outputs that nobody gave memory, where the device's is not the host's
    void* copy_to = nullptr;  ///< the caller's memory
  };
  Session(std::shared_ptr<const Model> model, const Variant& variant)
      : model_(std::move(model)), variant_(variant), inputs_(variant.inputs.size()), outputs_(variant.outputs.size()) {}
  Result<void> open(const SessionOptions& options);
  Result<void> check(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;
  Result<void> check_device(std::string_view what, const Port& port, const Tensor& tensor) const;
  Result<void> follow(std::span<const Tensor> inputs, std::span<const Tensor> outputs);
  Result<void*> take(DeviceMemory& memory, int64_t bytes);
  Result<void> bind_inputs(std::span<const Tensor> inputs);
  Result<void> bind_outputs(std::span<const Tensor> outputs);
  Result<void> hand_out(std::span<Tensor> outputs);
  Result<void> compute(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  Result<void*> on_host(size_t output);
  bool is_usable(const Tensor& tensor) const;
  bool overlaps_others(std::span<const Tensor> outputs, size_t k) const;
  bool is_handed_out(const void* data) const;

  std::shared_ptr<const Model> model_;
  const Variant& variant_;
  std::shared_ptr<const cuda::Resident> resident_;  ///< of a GPU
  std::unique_ptr<Device> device_;
  std::unique_ptr<Workers> workers_;
  std::optional<ValueTable> table_;
  std::unique_ptr<KernelRunner> kernels_;
  std::unique_ptr<Executor> executor_;
  std::vector<PortMemory> inputs_, outputs_;
  mutable std::mutex mutex_;
};

}  // namespace isomer::runtime
