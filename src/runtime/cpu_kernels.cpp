#include "runtime/cpu_kernels.h"

#include <atomic>

#include "runtime/call.h"
#include "runtime/math_table.h"
#include "runtime/memory.h"

namespace isomer::runtime {
namespace {

/// A thread's frame, on cache lines of its own. Code sees its first member.
struct alignas(64) ThreadFrame {
  Frame frame = {};
  ValueTable* table = nullptr;
  const PreparedStep* step = nullptr;
};

bool resize_buffer(Frame* frame, int32_t buffer, int64_t bytes) {
  auto* thread = reinterpret_cast<ThreadFrame*>(frame);
  return thread->table->resize_cleared((*thread->step->arguments)[buffer], bytes);
}

class CpuKernels : public KernelRunner {
 public:
  CpuKernels(const Model& model, ValueTable& table, Workers& workers)
      : code_(model.code()), table_(table), workers_(workers), frames_(workers.threads()) {}

  Result<void> take_scratch(int64_t bytes) {
    for (ThreadFrame& thread : frames_) {
      auto memory = Memory::allocate(bytes);
      if (!memory) return unsupported("scratch", "{} bytes of memory for each thread expected, less found", bytes);
      thread.frame = {nullptr, nullptr, memory->data(), resize_buffer, math_table(), 0};
      thread.table = &table_;
      scratch_.push_back(std::move(*memory));
    }
    return {};
  }

  Result<void> run(const PreparedStep& step) override {
    const Outcome outcome =
        run_parts(step.kernel->parts, [&](const Part& part, int64_t turn) { return run_part(step, part, turn); });
    if (outcome == Outcome::kDone) return {};
    if (outcome == Outcome::kOutOfMemory && !table_.problem().empty()) return unsupported("", "{}", table_.problem());
    return failure(outcome);
  }

 private:
  Outcome run_part(const PreparedStep& step, const Part& part, int64_t turn) {
    const auto function = reinterpret_cast<PartFunction>(reinterpret_cast<uintptr_t>(code_ + part.entry));
    std::atomic<Outcome> outcome = Outcome::kDone;
    workers_.share(part.iterations, part.grain,
                   [frames = frames_.data(), step = &step, function, turn, outcome = &outcome](
                       int number, int64_t begin, int64_t end) {
                     ThreadFrame& thread = frames[number];
                     thread.step = step;
                     thread.frame.buffers = const_cast<void**>(step->buffers.data());
                     thread.frame.extents = const_cast<int64_t**>(step->extents.data());
                     thread.frame.turn = turn;
                     const Outcome end_of_range = call(function, thread.frame, begin, end);
                     if (end_of_range != Outcome::kDone) outcome->store(end_of_range, std::memory_order_relaxed);
                   });
    return outcome;
  }

  const std::byte* const code_;
  ValueTable& table_;
  Workers& workers_;
  std::vector<ThreadFrame> frames_;
  std::vector<Memory> scratch_;
};

}  // namespace

Result<std::unique_ptr<KernelRunner>> cpu_kernels(const Model& model, const Variant& variant, ValueTable& table,
                                                  Workers& workers) {
  auto made = std::make_unique<CpuKernels>(model, table, workers);
  TRY_VOID(made->take_scratch(scratch_bytes(model, variant.steps)));
  return std::unique_ptr<KernelRunner>(std::move(made));
}

}  // namespace isomer::runtime
