// The calling convention between a runtime and the machine code of kernels: plain data, position-independent code, no
// symbols. What code can't express in a few instructions it calls through the frame.
#pragma once

#include <cstdint>

namespace isomer::runtime {

/// Functions of libm for which no vector code is generated, in double precision; by number in `Frame::math`.
enum class MathFunction : int32_t {
  kSin, kCos, kTan, kAsin, kAcos, kAtan, kSinh, kCosh, kAsinh, kAcosh, kAtanh, kLog, kExp, kErf, kTanh, kPow, kFmod, kCount,
};

struct Frame {
  /// By number of the kernel's buffer; 64-byte aligned; nullptr for buffers that are no arguments.
  void** buffers;
  /// extents[b]: the extents of a buffer whose size data decide, set by `resize`; nullptr for the others.
  int64_t** extents;
  /// This thread's scratch memory, 64-byte aligned, of the part's `scratch_bytes`.
  void* scratch;
  /// Gives buffer b memory of `bytes` zero bytes: sets buffers[b]; extents[b] was set before. False: there is not so much.
  bool (*resize)(Frame* frame, int32_t b, int64_t bytes);
  /// double(double), kPow and kFmod double(double, double); by MathFunction.
  void (*const* math)();
};

/// What a part of a kernel reports.
enum class Outcome : int32_t { kDone = 0, kIndexOutOfRange = 1, kDivisionByZero = 2, kOutOfMemory = 3 };

/// Runs iterations [begin, end) of a part's outermost loop; [0, 1) where that loop is not parallel. Several threads may run
/// disjoint ranges of one part at a time; the parts of a kernel run one after the other.
using PartFunction = int32_t (*)(Frame* frame, int64_t begin, int64_t end);

}  // namespace isomer::runtime
