// A schedule: a kernel on its way from `lower` to code, and the trace of what was done to it. Every primitive either
// applies or leaves everything as it was and says why.
//
//     Schedule schedule(kernel);
//     TRY(const LoopIds tile, schedule.split(loop, {-1, 8}));
//     TRY_VOID(schedule.vectorize(tile[1]));
//     Kernel ready = schedule.finish();
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/loop_nest.h"
#include "kernel/trace.h"
#include "util/result.h"

namespace isomer::kernel {

class Schedule {
 public:
  explicit Schedule(Kernel kernel) : kernel_(std::move(kernel)) {}

  const Kernel& kernel() const { return kernel_; }
  const Trace& trace() const { return trace_; }
  /// The kernel for code generation: thread-private buffers compacted (compact.h).
  Kernel finish() const;

  /// The loops around a block, outermost first; the names of all blocks, in order.
  Result<LoopIds> loops(const std::string& block) const;
  std::vector<std::string> blocks() const;

  /// Any primitive, by name. What it gives stands in the trace.
  Result<Arguments> apply(const std::string& primitive, Arguments arguments);

  // The primitives (primitives.h).
  Result<LoopIds> split(LoopId loop, const Integers& factors);
  Result<LoopId> fuse(const LoopIds& loops);
  Result<void> reorder(const LoopIds& loops);
  Result<void> parallel(LoopId loop);
  Result<void> vectorize(LoopId loop);
  Result<void> unroll(LoopId loop);
  Result<void> bind(LoopId loop, const std::string& axis);
  Result<void> peel(LoopId loop, const std::string& iteration);
  Result<LoopId> partition(LoopId loop, int64_t at);
  Result<LoopIds> shift_inwards(LoopId loop, const Integers& sizes);
  Result<void> split_padding(const std::string& block, const std::string& buffer, const Integers& dims);
  Result<void> skip_padding(const std::string& block);
  Result<void> skip_border(const std::string& block, const std::string& buffer);
  Result<void> annotate(LoopId loop, const std::string& key, int64_t value);
  Result<void> compute_inline(const std::string& block);
  Result<void> reverse_compute_inline(const std::string& block);
  Result<std::string> tabulate(const std::string& block);
  Result<void> compute_at(const std::string& block, LoopId loop);
  Result<void> reverse_compute_at(const std::string& block, LoopId loop);
  Result<void> join(LoopId first, LoopId second);
  Result<std::string> cache_read(const std::string& block, const std::string& buffer, int64_t number = 0);
  Result<std::string> reindex(const std::string& block, const std::string& buffer, int64_t number = 0);
  Result<std::string> cache_write(const std::string& block);
  Result<void> set_scope(const std::string& buffer, const std::string& scope);
  Result<void> storage_align(const std::string& buffer, int64_t gap);
  Result<void> swizzle(const std::string& buffer);
  Result<void> transform_layout(const std::string& buffer, const std::string& layout);
  Result<void> set_layout(const std::string& buffer, const std::string& layout);
  Result<void> widen(const std::string& buffer, const std::string& type);
  Result<void> pad(const std::string& block, int64_t axis);
  Result<void> split_dims(const std::string& block, int64_t axis, int64_t factor);
  Result<void> split_axis(const std::string& block, int64_t axis, int64_t factor);
  Result<void> collapse();
  Result<void> flatten(const std::string& copy, int64_t apart = -1);
  Result<std::string> decompose_reduction(const std::string& block, LoopId loop);
  Result<std::string> keep_in_registers(const std::string& block, LoopId loop);
  Result<std::string> reduce_in_lanes(const std::string& block, LoopId loop, int64_t lanes);
  Result<std::string> rfactor(const std::string& block, LoopId loop);
  Result<std::string> split_k(const std::string& block, LoopId loop, int64_t parts);
  Result<void> accumulate_in(const std::string& block, const std::string& type);
  Result<void> multiply_words(const std::string& block, int64_t iterator, int64_t count);
  Result<void> tensorize(LoopId loop, const std::string& tile);

  /// What was decided on the way, for the trace to say; it changes nothing.
  void decide(std::vector<Decision> decisions) { trace_.decisions = std::move(decisions); }

 private:
  Kernel kernel_;
  Trace trace_;
};

bool is_primitive(std::string_view name);

/// Applies a trace to a kernel: loops and blocks that its instructions gave are called as they call them there; an
/// instruction names all that it gives or nothing. The error names the first instruction that does not apply, by its
/// line where the trace was read from a text.
Result<Schedule> replay(const Trace& trace, Kernel kernel);
/// The same of instructions on top of what was done; those before one that does not apply stay done.
Result<void> replay(std::span<const Instruction> instructions, Schedule& schedule);

}  // namespace isomer::kernel
