// Isomer's C++ interface to schedules: a module that makes schedules of loop nests, a micro-kernel that computes a
// tile, a template or decisions for a task. compile.h compiles and tunes models with them. C++20 and its library alone.
//
// docs/adding-a-schedule-rule.md and docs/templates.md go through an example of each. Nothing here is global: what is
// given to a call is used by that call, compile_model's on the thread that calls, tune_model's on several threads at
// once. Several calls may run at once. What functions of users throw passes through, beside NoValue and
// std::bad_alloc.
#ifndef ISOMER_SCHEDULE_H
#define ISOMER_SCHEDULE_H

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "isomer/expected.h"

namespace isomer {

// Questions to a loop nest

/// A loop of a nest, by the number of its variable: k4.
struct Loop {
  int number = -1;
  bool operator==(const Loop&) const = default;
};
using Loops = std::vector<Loop>;
using Integers = std::vector<int64_t>;
/// Elements of a buffer from one step of an iterator to the next; nothing where that is no constant.
using Strides = std::vector<std::optional<int64_t>>;

struct Buffer {
  std::string name;
  std::string type;   ///< "float32"
  Integers shape;     ///< as it lies in memory, row-major; 0 where data decide
  std::string scope;  ///< "": memory of all threads; "cache", "registers": of one; "shared": of a block of threads
  bool is_input = false, is_output = false;
  bool is_constant = false;  ///< what is made of constants alone is computed when the model is compiled
};

/// One of the elements that a block reads at each of its points.
struct Load {
  std::string buffer;
  Strides axes, reduction;
};

/// A computation at each point of its axes and of its reduction: writes[0][i] += body over r.
struct Block {
  std::string name;
  Integers axes;                    ///< extents; 0 where data decide
  Integers reduction;               ///< the same; empty: nothing is reduced
  std::string combines;             ///< "sum", "max", "argmax"; "" where nothing is reduced
  std::vector<std::string> writes;  ///< a buffer for each value: argmax writes two
  Strides stores;                   ///< of the first of them, by axis
  std::vector<std::string> bodies;  ///< as `isomer inspect --nest` prints them
  std::vector<Load> loads;
  /// Around it, outermost first. As long as nothing was done to them: one for each axis, then one for each of
  /// `reduction`.
  Loops loops;
  bool is_alone = false;  ///< in these loops, which are serial, of constant extent, and may take any order
};

struct Machine {
  std::string cpu;                      ///< as LLVM calls it
  std::vector<std::string> extensions;  ///< beyond x86-64: "avx2", "avx512f"
  int vector_bits = 128;
  int vector_registers = 16;
  int64_t first_cache = 0, second_cache = 0;  ///< bytes that a core has of its own
  int threads = 1;
  bool has(const std::string& extension) const;
};

namespace detail {
struct NestState;
class ScheduleAccess;
}  // namespace detail

/// The loops of a task as they are now.
class Nest {
 public:
  std::vector<std::string> blocks() const;
  bool has_block(const std::string& name) const;
  /// NoValue is thrown where there is none of that name.
  Block block(const std::string& name) const;
  Buffer buffer(const std::string& name) const;
  /// 0: data decide it, or there is no such loop.
  int64_t extent(Loop loop) const;
  const Machine& machine() const;
  /// As `isomer inspect --nest` prints it.
  std::string text() const;

 private:
  friend class detail::ScheduleAccess;
  explicit Nest(detail::NestState& state) : state_(state) {}
  detail::NestState& state_;
};

// Schedules

/// What primitives take and give. Names are those of blocks, buffers, scopes, layouts.
using Argument = std::variant<int64_t, std::string, Loop, Integers, Loops>;
using Arguments = std::vector<Argument>;

/// What a primitive gave: loops and names, in the order of docs/schedule.md. std::bad_variant_access and
/// std::out_of_range where there is no such result.
struct Results {
  Arguments all;
  Loop loop(size_t k) const { return std::get<Loop>(all.at(k)); }
  const std::string& name(size_t k = 0) const { return std::get<std::string>(all.at(k)); }
};

/// A schedule in the making.
class Schedule {
 public:
  const Nest& nest() const { return nest_; }

  /// A primitive by its name; docs/schedule.md lists them. One that does not apply changes nothing. Layouts of inputs
  /// and outputs are the graph's: set_layout is none of them.
  Expected<Results> apply(const std::string& primitive, Arguments arguments);

  /// A choice of the schedule: one of the candidates, each there once, of which `preferred` is one. Its name is
  /// "of.what", by which decisions fix it and traces tell it; whoever asks twice gets the same answer.
  int64_t decide(const std::string& of, const std::string& what, Integers candidates, int64_t preferred);

  /// Whether the steps succeed; the schedule is as it was where they return an error or NoValue is thrown.
  bool attempt(const std::function<Expected<void>()>& steps);

 private:
  friend class detail::ScheduleAccess;
  Schedule(const Nest& nest, detail::NestState& state) : nest_(nest), state_(state) {}
  Nest nest_;
  detail::NestState& state_;
};

/// Makes schedule of the blocks that it applies to. Blocks are visited in their order; each that it applies to is a
/// choice of its name ("s0.lanes_of_pairs := 1"), so that a decision can turn it off.
struct ScheduleModule {
  std::string name;  ///< letters, digits and '_'
  /// The default module that it stands in front of: inline_maps, collapse, groups, transforms, shared_reductions,
  /// rows_inside, tiles, steps, rows or maps. Those before it have run then.
  std::string before = "inline_maps";
  /// Whether default modules leave the blocks alone that it scheduled or made. Otherwise they go on where they find
  /// something to do.
  bool instead = true;
  std::function<bool(const Nest& nest, const Block& block)> applies;
  /// An error, or NoValue thrown, ends the compilation with the sentence.
  std::function<Expected<void>(Schedule& schedule, const Block& block)> apply;
};

/// Code for a tile of a sum of products of float32: c[i, j] += sum over k < depth of a[i, k] * b[k, j], for all i <
/// rows and j < columns. With one row and one column it is a dot product. The primitive `tensorize(loop, name)` has it
/// compute the loop, which runs over this and nothing else.
struct MicroKernel {
  /// How far apart an operand's elements lie, in elements. Nothing: the function takes what it is told.
  struct Steps {
    std::optional<int64_t> first, second;
  };
  std::string name;  ///< letters, digits, '_' and '.'
  int64_t rows = 1, columns = 1;
  int64_t depth = 0;               ///< 0: any
  Steps a, b, c;                   ///< a: along i and k; b: along k and j; c: along i and j
  std::vector<std::string> needs;  ///< of the CPU: "avx512f", "fma"
  /// LLVM's assembly (opaque pointers, LLVM 19) of one function
  ///
  ///     define void @any_name(ptr %a, i64 %a_i, i64 %a_k, ptr %b, i64 %b_k, i64 %b_j,
  ///                           ptr %c, i64 %c_i, i64 %c_j, i64 %depth)
  ///
  /// that calls nothing but intrinsics. Pointers are aligned to 4 bytes, or as the steps and the buffers make them; c
  /// overlaps neither a nor b. The text is trusted as the program's own code is: what it writes elsewhere is not seen.
  std::string text;
};

/// Decisions of a task's schedule, by name; the rest is decided as ever.
struct TaskDecisions {
  std::string task;  ///< its number, or the name that no other has (`isomer inspect --tasks`)
  std::map<std::string, int64_t> decisions;
};

/// A task's schedule as docs/schedule.md and docs/templates.md write it: a trace, a template, or decisions alone.
struct TaskSchedule {
  std::string task;  ///< as in TaskDecisions
  std::string text;
};

}  // namespace isomer

#endif
