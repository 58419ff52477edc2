// What schedules are chosen by: questions to the kernel of a schedule, of which none changes or copies it. What they
// look at is how blocks read and write memory; they know no operators (DESIGN.md 7). Tests: tests/kernel/view_test.cpp
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernel/access.h"
#include "kernel/machine.h"
#include "kernel/schedule.h"

namespace isomer::kernel {

using Strides = std::vector<std::optional<int64_t>>;

/// Always of the schedule as it is now. Not for several threads at once.
class View {
 public:
  /// Both outlive it.
  View(const Schedule& schedule, const Machine& machine) : schedule_(schedule), machine_(machine) {}

  const Kernel& kernel() const { return schedule_.kernel(); }
  const Machine& machine() const { return machine_; }
  const Buffer& buffer(int number) const { return kernel().buffers[static_cast<size_t>(number)]; }

  // Blocks and loops

  std::vector<std::string> blocks() const { return schedule_.blocks(); }
  bool has_block(const std::string& name) const;
  bool has_loop(LoopId loop) const;

  // Of those that are there:

  /// Until the schedule changes.
  const Block& block(const std::string& name) const;
  /// Whether the block stands in a root nest of its own, without an order, not yet scheduled.
  bool is_alone(const std::string& name) const;
  /// A reduction that does.
  bool is_free_reduction(const std::string& name) const { return is_alone(name) && block(name).is_reduction(); }
  /// Whether the block is part of something ordered (a step of a scan) and alone in the loops inside of that.
  bool is_step(const std::string& name) const;
  /// The one loop over steps around the block, where nothing else stands in it.
  std::optional<LoopId> steps_around(const std::string& name) const;
  /// The loops around the block, outermost first.
  LoopIds loops(const std::string& name) const;
  /// Its own, inside of what is ordered, or of the loop around them.
  LoopIds inner_loops(const std::string& name, LoopId around = {}) const;
  /// 0: no constant.
  int64_t extent(LoopId loop) const;
  int64_t iterations(const LoopIds& loops) const;

  // How a block computes

  int lanes(const Block& block) const;
  /// Bytes of a lane of its results.
  int64_t lane_bytes(const Block& block) const;
  /// How many elements of the buffer a point of the block reads.
  int64_t loads_of(const Block& reader, int buffer) const;
  /// In how many steps of the reduction an element of the operand takes part, on average.
  int64_t reuse(const Block& reduction, const LoadAccess& access) const;
  /// Which of the elements of its buffer that a block reads an access is.
  int64_t ordinal(const std::string& name, const LoadAccess& access) const;
  /// A map that brings the results of a reduction into another place.
  bool moves_reduction(const Block& map) const;
  /// A map that brings what a step of a scan writes into another place, where nobody else but the step reads it.
  bool moves_steps(const Block& map) const;
  /// Whether every load moves through memory as the output does, or not at all, and the same is computed everywhere.
  bool is_flat(const Block& block) const;
  /// The axis along which the output lies contiguous; -1: none.
  int contiguous_axis(const Block& map) const;
  /// Whether neighbours in the output need neighbours of each input, or one element of it.
  bool runs_along(const Block& map) const;
  /// Whether what is multiplied in the reduction with some operand is finite (padding.h): zeros of that may be skipped.
  bool has_finite_factor(const Block& reduction) const;

  // Who makes what for whom

  /// Whether nothing but constants decides what the block computes: it is computed once, beforehand.
  bool is_known(const std::string& name) const;
  /// A constant input, or what blocks make of such alone.
  bool is_constant(int buffer) const;
  /// Whether all that writes the buffer stands in other nests than the block: copies may be made of it.
  bool is_made_before(int buffer, const std::string& name) const;
  /// The map that alone reads the reduction's result, element by element; empty: there is none.
  std::string epilogue(const Block& reduction) const;
  /// How the results lie in memory in the end: as the epilogue stores them, if there is one.
  Strides stored_strides(const Block& reduction) const;
  /// Whether the block is a reduction or made of what one gives, not yet scheduled.
  bool follows_reduction(const std::string& name) const;

 private:
  /// `answers`, by buffer, to the same question so far.
  bool is_known(const Block& block, std::map<int, bool>& answers) const;
  bool is_constant(int buffer, std::map<int, bool>& answers) const;
  bool may_be_constant(int buffer) const;

  const Schedule& schedule_;
  const Machine& machine_;
  /// By buffer, of those that there were when it was first asked: whether blocks make it of constants alone, in
  /// whatever loops they stand. No primitive changes what values are made of.
  mutable std::vector<char> made_of_constants_;
};

bool holds_select(const Expr& expr);
/// The extents of a block's axes; 0: no constant.
Integers extents_of(const Block& block);

}  // namespace isomer::kernel
