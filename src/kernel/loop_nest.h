// The loop nest: the one lowered form of a task, which schedules transform and code generators read.
//
//     Kernel         buffers and a list of statements
//     Loop           for (kV = 0; kV < extent; ++kV) body, with a kind: serial, parallel, vectorized, unrolled, or
//     bound
//                    to an axis of a launch on a GPU
//     Block          a computation at one point of an iteration domain: its iterators are bound to expressions of the
//                    loop variables around it, its bodies are tensor expressions over the iterators (TensorIR's block:
//                    Feng et al. 2023, section 3). Schedules move loops and change bindings; what a block means stays.
//     Branch, While, Resize    what imperative references need besides
//     Barrier        where the threads of a block of threads wait for each other
//
// Expressions are te::Expr. In a kernel every load reads BufferRef::kLocal with the number of one of its buffers;
// axis(k) and reduce_axis(k) are iterators of the block around, var(kLoop, v) is the variable of an enclosing loop.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "graph/te/program.h"
#include "graph/te/simplify.h"

namespace isomer::kernel {

using te::Expr;

/// Where a buffer lives.
enum class Scope : uint8_t {
  kArgument,  ///< memory of the caller: an input, an output, a value that outlives a root statement
  kCache,     ///< one copy a thread, in its scratch memory
  kRegister,  ///< one copy a thread; every index is a constant once unrolled and vectorized loops are laid out
  kShared,    ///< one copy a block of threads, in memory that all of them see
};

struct Buffer {
  std::string name;  ///< unique in the kernel; how schedules and the text form call it
  DataType dtype = DataType::kUndefined;
  Shape shape;  ///< of the layout in memory, row-major; dims that data decide hold loads of scalar buffers
  Scope scope = Scope::kArgument;
  /// Elements without use behind each row of the last dim, once the buffer has its size: rows begin in other banks of
  /// shared memory then.
  int64_t row_gap = 0;
  /// In shared memory: pieces of 16 bytes of the last dim's rows change places within their row from line of
  /// 128 bytes to line, so that neither a row nor a column of pieces lies in one bank. Rows are of 32 to 128 bytes.
  bool is_swizzled = false;
  /// An input that is known when code is made, without infinities and NaN: what depends on such inputs alone is
  /// computed once, so it may be brought into any layout.
  bool is_constant = false;
  bool is_checked = false;  ///< indices may be outside of it though no data decide them (unguarded.h)
  bool operator==(const Buffer&) const = default;
};

struct Iterator {
  Expr extent;   ///< the iterator runs over [0, extent)
  Expr binding;  ///< over loop variables
};

/// Component k writes `writes[k].index` of buffer `writes[k].buffer`: bodies[k] itself where `combine` has no
/// components, else the old element combined with it. Where `initialize` is set, the block first writes `initial` at
/// the first point of its reduction (all reduce iterators 0).
struct Write {
  int buffer = -1;
  std::vector<Expr> index;  ///< over the iterators
};

struct Block {
  std::string name;              ///< unique in the kernel
  std::vector<Iterator> axes;    ///< iterator k is axis(k) in the bodies
  std::vector<Iterator> reduce;  ///< iterator k is reduce_axis(k)
  Expr predicate;                ///< over loop variables: the block does nothing where it is false; empty: always true
  std::vector<Write> writes;
  te::Monoid combine;
  bool initialize = false;
  std::vector<Expr> bodies;
  bool is_reduction() const { return combine.arity() > 0; }
};

enum class LoopKind : uint8_t {
  kSerial,
  kParallel,    ///< iterations may run on several threads; outermost, or right inside an ordered loop that is
  kVectorized,  ///< all iterations at once, in vector lanes; constant extent
  kUnrolled,    ///< written out; constant extent
  // Bound (CUDA; launch.h): the iterations are the blocks of threads of a launch, or the threads of such a block, along
  // an axis of theirs. In its order of time a bound loop is a loop like any other.
  kBlockX,
  kBlockY,
  kBlockZ,
  kThreadX,
  kThreadY,
  kThreadZ,
};

/// Loops that are bound to axes, in the order of the axes: "block.x", …, "thread.z".
inline constexpr std::array kBoundKinds = {LoopKind::kBlockX,  LoopKind::kBlockY,  LoopKind::kBlockZ,
                                           LoopKind::kThreadX, LoopKind::kThreadY, LoopKind::kThreadZ};
inline bool is_block(LoopKind kind) { return kind >= LoopKind::kBlockX && kind <= LoopKind::kBlockZ; }
inline bool is_thread(LoopKind kind) { return kind >= LoopKind::kThreadX; }
inline bool is_bound(LoopKind kind) { return is_block(kind) || is_thread(kind); }
/// All iterations stand one after the other in the code, or are lanes.
inline bool is_written_out(LoopKind kind) { return kind == LoopKind::kVectorized || kind == LoopKind::kUnrolled; }
/// "" of a serial loop.
std::string_view name(LoopKind kind);

struct Statement;
using Statements = std::vector<Statement>;

/// Annotation: what the loop, a tile of the kernel's arguments, loads is asked for before the statements in front of it
/// run.
inline constexpr const char* kPrefetch = "prefetch";
/// Annotation of a serial loop: while an iteration is computed, what the next one reads of the kernel's arguments is
/// asked for (ahead.h).
inline constexpr const char* kAhead = "ahead";
/// Annotation of such a loop on a GPU: what iterations copy to shared memory has so many places, which they take in
/// turn, so that the copies of some iterations are under way (software pipelining).
inline constexpr const char* kStages = "stages";
/// Annotation of a vectorized loop: what it stores goes past the caches, which it is too large for.
inline constexpr const char* kStream = "stream";
/// Annotation: iterations compute anew what others compute, so each starts its reductions (shift_inwards).
inline constexpr const char* kOverlaps = "overlaps";
/// Annotation: the loop is computed by this one of the kernel's micro-kernels.
inline constexpr const char* kMicroKernel = "micro_kernel";

struct Loop {
  Loop();
  Loop(int variable, Expr extent, bool ordered = false);

  int variable = -1;  ///< read as var(kLoop, variable); unique in the kernel
  Expr extent;
  LoopKind kind = LoopKind::kSerial;
  /// The iterations depend on each other in this order (steps of a scan, updates, imperative loops): no primitive but
  /// `annotate` and `reorder` touch the loop. With a parallel loop inside, all threads take each of its steps
  /// together.
  bool ordered = false;
  std::map<std::string, int64_t> annotations;
  Statements body;
};

struct Branch {
  Expr condition;
  Statements then, otherwise;
};
/// The condition is read again before each round.
struct While {
  Expr condition;
  Statements body;
};
/// Gives a buffer, whose size data decide, its extents before its first use; its elements are zero then.
struct Resize {
  int buffer = -1;
  std::vector<Expr> extents;
};

/// All threads of a block of threads have come here, and what they wrote is seen by all, before one goes on. Made by
/// `with_barriers` alone (barriers.h), after all scheduling.
struct Barrier {};

struct Statement {
  std::variant<Loop, Block, Branch, While, Resize, Barrier> node;
};

struct MicroKernel;
using MicroKernels = std::vector<std::shared_ptr<const MicroKernel>>;

/// A task on its way to machine code.
struct Kernel {
  std::vector<Buffer> buffers;
  std::vector<int> inputs;   ///< buffer of the task's input k; -1 where it is not read
  std::vector<int> outputs;  ///< buffer of output k; -1 for an output that the task does not have
  Statements body;
  int next_variable = 0;       ///< the number that the next new loop takes
  MicroKernels micro_kernels;  ///< that `tensorize` may use (micro_kernel.h)

  int find_buffer(std::string_view name) const;  ///< -1 where there is none
};

inline Expr loop_variable(int v) { return te::var(te::VarKind::kLoop, v); }
inline Expr load_buffer(const Kernel& kernel, int buffer, std::vector<Expr> index) {
  return te::load({te::BufferRef::Kind::kLocal, buffer, 0}, kernel.buffers[buffer].dtype, std::move(index));
}

/// Ranges of the loop variables that have been entered, for simplification and bounds.
class LoopRanges {
 public:
  void enter(int variable, const Expr& extent) { extents_[variable] = extent; }
  void enter(const Loop& loop) { enter(loop.variable, loop.extent); }
  void leave(const Loop& loop) { extents_.erase(loop.variable); }
  te::Interval interval(int variable) const;
  /// nullptr: the loop has not been entered.
  const Expr* extent(int variable) const;
  te::Ranges ranges() const;

 private:
  std::map<int, Expr> extents_;
};

/// The bodies of a block with its iterators replaced by their bindings.
Expr bind_iterators(const Block& block, const Expr& expr);

/// Text of a kernel, for people, tests and hashes:
///
///     buffer s0: float32[4, 8]
///     for k0 < 4 parallel {
///       for k1 < 8 {
///         s0: i0 < 4 = k0, i1 < 8 = k1 { s0[i0, i1] = in0[i0, i1]:float32*2 }
///       }
///     }
std::string print(const Kernel& kernel);
/// Equal for kernels that print alike.
Hash128 structural_hash(const Kernel& kernel);

}  // namespace isomer::kernel
