// The calling convention between a runtime and the machine code of kernels: plain data, position-independent code, no
// symbols. What code can't express in a few instructions it calls through the frame.
#pragma once

#include <cstdint>
#include <span>

namespace isomer::runtime {

/// Functions of libm for which no vector code is generated, in double precision; by number in `Frame::math`.
enum class MathFunction : int32_t {
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kLog,
  kExp,
  kErf,
  kTanh,
  kPow,
  kFmod,
  kCount,
};

struct Frame {
  /// By number of the kernel's buffer; 64-byte aligned; nullptr for buffers that are no arguments.
  void** buffers;
  /// extents[b]: the extents of a buffer whose size data decide, set by `resize`; nullptr for the others.
  int64_t** extents;
  /// This thread's scratch memory, 64-byte aligned, of the part's `scratch_bytes`.
  void* scratch;
  /// Gives buffer b memory of `bytes` zero bytes: sets buffers[b]; extents[b] was set before. False: there is not so
  /// much.
  bool (*resize)(Frame* frame, int32_t b, int64_t bytes);
  /// double(double), kPow and kFmod double(double, double); by MathFunction.
  void (*const* math)();
  /// The turn of the part, where it is one of several that take turns.
  int64_t turn;
};

/// What a part of a kernel reports.
enum class Outcome : int32_t { kDone = 0, kIndexOutOfRange = 1, kDivisionByZero = 2, kOutOfMemory = 3 };

/// Runs iterations [begin, end) of a part's outermost loop; [0, 1) where that loop is not parallel. Several threads may
/// run disjoint ranges of one part at a time; the parts of a kernel run one after the other.
using PartFunction = int32_t (*)(Frame* frame, int64_t begin, int64_t end);

/// A function of a code image, and how it is run.
struct Part {
  uint64_t entry = 0;         ///< where the PartFunction starts, in bytes from the start of the code
  int64_t iterations = 1;     ///< split over the threads; 1 runs in the caller
  int64_t grain = 0;          ///< so many iterations may change hands where a thread is late; 0: none
  int64_t scratch_bytes = 0;  ///< of each thread
  int64_t turns = 1;          ///< how often it runs, and with it, after it, in each turn
  int64_t followers = 0;      ///< the next parts of the kernel, whose own turns don't count
  bool operator==(const Part&) const = default;
};

/// Calls run(part, turn), which returns an Outcome, in the order in which the parts (or launches) of a kernel run;
/// until one fails.
template <class Parts, class Run>
Outcome run_parts(const Parts& all, const Run& run) {
  std::span parts(all);
  while (!parts.empty()) {
    const auto group = parts.first(1 + static_cast<size_t>(parts[0].followers));
    for (int64_t turn = 0; turn < group[0].turns; ++turn)
      for (const auto& part : group)
        if (const Outcome outcome = run(part, turn); outcome != Outcome::kDone) return outcome;
    parts = parts.subspan(group.size());
  }
  return Outcome::kDone;
}

}  // namespace isomer::runtime
