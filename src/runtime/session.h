// One variant of a model with memory and threads of its own: what runs it.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/executor.h"
#include "runtime/model.h"
#include "util/memory_limit.h"

namespace isomer::runtime {

struct SessionOptions {
  int threads = 0;          ///< 0: as many as this process may use
  Bindings bindings;        ///< of the model's symbolic dims; none where there is one variant only
  bool timed = false;       ///< fill the nanoseconds of `Session::times`
  MemoryLimit memory = {};  ///< for values; what would need more ends with an error of kind kUnsupported
};

struct Tensor {
  ElementType type = ElementType::kUndefined;
  std::span<const int64_t> dims;
  void* data = nullptr;
};

class Session {
 public:
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<const Model> model, const SessionOptions& options);

  const Variant& variant() const { return variant_; }
  const Value& input(size_t k) const { return variant_.values[variant_.inputs[k].value]; }
  const Value& output(size_t k) const { return variant_.values[variant_.outputs[k].value]; }
  int threads() const { return workers_.threads(); }

  /// One run at a time, whoever calls; same inputs and same number of threads, same bits. Inputs are only read; a
  /// pointer that is no multiple of 64 costs a copy. An output of known shape with `data` is written there (its type
  /// and dims are checked, it must overlap no input); one without, and any whose dims data decide, gets memory of the
  /// session, which stays until the next run. All outputs get type and dims. Errors: kUsage for wrong tensors, else
  /// those of Executor.
  Result<void> run(std::span<const Tensor> inputs, std::span<Tensor> outputs);

  std::vector<StepTime> times() const;
  /// Of this session: arena, dynamic values, scratch memory aside.
  int64_t memory_bytes() const;

 private:
  /// Memory for an input or output whose pointer can't be used as it is.
  struct PortMemory {
    Memory memory;
    void* copy_to = nullptr;
  };
  Session(std::shared_ptr<const Model> model, const Variant& variant, ValueTable table, int threads);
  Result<void> check(std::span<const Tensor> inputs, std::span<const Tensor> outputs) const;
  Result<void> bind_inputs(std::span<const Tensor> inputs);
  Result<void> bind_outputs(std::span<const Tensor> outputs);
  void hand_out(std::span<Tensor> outputs);

  std::shared_ptr<const Model> model_;
  const Variant& variant_;
  ValueTable table_;
  Workers workers_;
  std::unique_ptr<Executor> executor_;
  std::vector<PortMemory> inputs_, outputs_;
  mutable std::mutex mutex_;
};

}  // namespace isomer::runtime
