// Prints the code of a launch: state and parts of the printer, of which each file of this folder that ends in _code.cpp
// has some.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <map>
#include <optional>
#include <set>

#include "kernel/bound_block.h"
#include "kernel/codegen_cuda/copies_ahead.h"
#include "kernel/codegen_cuda/expressions.h"
#include "kernel/codegen_cuda/function.h"
#include "kernel/launch.h"
#include "kernel/mma.h"
#include "kernel/tree.h"
#include "kernel/unsupported.h"

namespace isomer::kernel::cuda {

/// Of arguments and shared memory: what lies side by side is loaded and stored as vectors of so many bytes.
inline constexpr int64_t kAlignment = 16;

class FunctionPrinter {
 public:
  FunctionPrinter(const Kernel& kernel, const Statement& statement)
      : kernel_(kernel),
        launch_(launch_of(statement)),
        plans_(kernel, ranges_),
        expressions_(
            kernel, ranges_, plans_, [this](int buffer) { return name_of(buffer); },
            [this](std::string text) { line(text); }) {
    for_each_block(statement, [&](const Block& block, const auto&) { written_.merge(stores(block)); });
    used_ = touched(statement);
    find_stages(statement, statement);
  }

  Function run(const Statement& statement, const Loop* turns, const std::string& name);

 private:
  const Buffer& buffer_at(int number) const { return kernel_.buffers[static_cast<size_t>(number)]; }

  /// A C++ name that is like the buffer's.
  std::string name_of(int buffer);

  void line(const std::string& text) {
    text_.append(2 * depth_, ' ');
    text_ += text;
    text_ += '\n';
  }
  void open(const std::string& text) {
    line(text.empty() ? "{" : text + " {");
    ++depth_;
  }
  void close() {
    --depth_;
    line("}");
  }

  void print(const Statements& statements) {
    for (const Statement& statement : statements) print(statement);
  }
  void print(const Statement& statement) {
    std::visit([&](const auto& s) { print(s); }, statement.node);
  }

  void print(const Loop& loop) {
    if (loop.annotations.contains(kMma)) return print_mma(loop);
    if (const auto moved = moved_vector(loop)) return line(*moved);
    if (const Expr whole = holds_throughout(loop)) return print_whole_or_cut(loop, whole);
    hoist(loop);
    expressions_.use_loaded(load_vectors(loop));
    if (const auto stored = stored_vectors(loop)) {
      print_stored(loop, *stored);
    } else {
      print_other(loop);
    }
    expressions_.use_loaded({});
    if (unrolled_block(loop)) expressions_.forget_hoisted();
  }

  void print_other(const Loop& loop) {
    if (const auto ahead = copies_ahead(kernel_, launch_, written_, loop); !ahead.copies.empty()) {
      const auto places = places_.find(ahead.copies.front().target);
      return places == places_.end() ? print_ahead(loop, ahead) : print_stages(loop, ahead, places->second);
    }
    print_whole(loop);
  }

  void print_whole(const Loop& loop);
  /// Whether copies of the body, which compilers make of short loops, would be long.
  static bool is_long(const Loop& loop);

  // What an iteration reads into shared memory, loaded into registers while the one before is computed
  // (copies_ahead.h; ahead_code.cpp)

  enum class Fetch : uint8_t { kWhole, kLoad, kStore, kAsync };

  /// One copy, or that part of it. `array`: of registers.
  void print_copy(const CopyAhead& copy, Fetch fetch, const std::string& array);

  std::string print_registers(const CopyAhead& copy);

  void print_ahead(const Loop& loop, const CopiesAhead& ahead);

  // The same with several places for it, so that the copies of some iterations are under way (software pipelining):
  // while one is computed, what comes some iterations later is copied to the place that the one before has left. Then
  // one barrier an iteration does. Vectors go past the registers.

  void find_stages(const Statement& launched, const Statement& statement);

  std::string name_of_places(int buffer) { return name_of(buffer) + "_places"; }

  /// The places that an iteration has, under the buffers' names.
  void print_places(const std::vector<const CopyAhead*>& copies, const Loop& loop);

  /// Whether all that the copy does can be left to itself.
  bool is_async(const CopyAhead& copy);

  class StagePrinter;
  void print_stages(const Loop& loop, const CopiesAhead& ahead, int64_t stages);

  /// The place of what is fetched, in its array; loops other than `without` count.
  std::string place_ahead(int without = -1) const;

  // What lies side by side along an unrolled loop, as vectors (vectors_code.cpp)

  /// The only block in an unrolled loop of constant extent; nullptr: the loop is none.
  static const Block* unrolled_block(const Loop& loop);
  BoundBlock bound_in(const Loop& loop, const Block& block);

  /// The line that moves elements side by side as one vector, where that is what the loop does; nothing: it isn't, or
  /// they are not known to begin at a multiple of the vector.
  std::optional<std::string> moved_vector(const Loop& loop);

  /// The first of the elements that lie side by side along the loop, at a multiple of `elements`; nothing: they don't.
  std::optional<AccessPlan> first_of(const Loop& loop, const Block& block, int buffer, const std::vector<Expr>& index,
                                     int64_t elements);

  /// When the predicate of the only block in an unrolled loop holds in all iterations: at both ends, as each part of it
  /// compares what grows evenly. Empty: it always does, or nothing simpler than itself says so.
  Expr holds_throughout(const Loop& loop);

  void print_whole_or_cut(const Loop& loop, const Expr& whole);

  /// Of which a whole number makes `count` elements: up to 16 bytes; 1: there is no vector.
  static int64_t elements_of_vector(DataType dtype, int64_t count);

  /// Prints loads of what the only block in an unrolled loop reads side by side of the kernel's arguments, and says
  /// how it is called then, by the bound loads.
  std::vector<Expressions::Loaded> load_vectors(const Loop& loop);

  /// What the only block in an unrolled loop computes alike in all iterations, before it.
  void hoist(const Loop& loop);

  /// What a loop computes and stores side by side.
  struct Stored {
    std::string first;     ///< its position
    int64_t elements = 0;  ///< of a vector
  };
  std::optional<Stored> stored_vectors(const Loop& loop);

  void print_stored(const Loop& loop, const Stored& stored);

  // Products by tensor cores (mma.h; mma_code.cpp)

  /// What a register of an operand holds: a float as tf32, or the halves at two steps from an even one on; 0 where
  /// `inside` does not hold.
  std::string packed(const Expr& load, const Expr& inside, std::map<int, Expr> values, int steps, const Expr& first);
  std::string pair(const Expr& load, const std::map<int, Expr>& values, int steps, const Expr& first);
  struct ReadAt {
    std::vector<Expr> index;
    std::string place;  ///< "buffer[place]"
  };
  ReadAt read_at(const Expr& load, std::map<int, Expr> values, int steps, const Expr& step);

  /// Where 16 bytes of elements begin that lie side by side in shared memory, at a multiple of 16 bytes.
  struct MatrixRow {
    std::string place;   ///< a pointer
    int64_t offset = 0;  ///< from there on, in elements
  };
  /// Of those at the steps from `first` on. Where `inside` does not hold it is somewhere else there. Nothing: they
  /// don't lie so.
  std::optional<MatrixRow> row_of_matrix(const Expr& load, const Expr& inside, std::map<int, Expr> values, int steps,
                                         const Expr& first);

  class MmaPrinter;
  void print_mma(const Loop& loop);

  /// Names of the registers that hold this lane's elements: of `mine` each those from step `first` plus one of `steps`
  /// on. At once as rows of four matrices, of which `row` is one, or else one by one.
  std::vector<std::string> registers(const std::optional<MatrixRow>& row, const Expr& load, const Expr& inside,
                                     const std::vector<std::map<int, Expr>>& mine, const std::array<int64_t, 4>& steps,
                                     int variable, const Expr& first);

  void print(const Branch& branch) {
    ++branches_;
    print_branch(branch);
    --branches_;
  }
  void print_branch(const Branch& branch);

  void print(const While& loop) {
    open("while (true)");
    line(fmt::format("if (!({})) break;", condition(loop.condition)));
    print(loop.body);
    close();
  }

  void print(const Resize& resize) {
    fail_unsupported("'{}' has a size that data decide", buffer_at(resize.buffer).name);
  }

  void print(const Barrier&) { line("__syncthreads();"); }

  /// In the lines before and this text.
  std::string condition(const Expr& expr) {
    expressions_.begin({expr});
    return expressions_.value(expr);
  }

  void print(const Block& block) {
    const BoundBlock plan = bind(kernel_, block, ranges_, plans_);
    std::vector<std::string> conditions;
    if (!lanes_of_reduction(block, around_)) conditions = of_one_thread(block);
    if (!is_inside_ && plan.predicate && plan.predicate != te::truth(true))
      conditions.push_back(condition(plan.predicate));
    if (!conditions.empty()) open(fmt::format("if ({})", fmt::join(conditions, " && ")));
    compute(block, plan);
    if (!conditions.empty()) close();
  }

  /// What several threads would write alike one of them writes.
  std::vector<std::string> of_one_thread(const Block& block) const;

  void compute(const Block& block, const BoundBlock& plan);

  /// A half that is moved, or where a padding has it a zero, as it lies in memory; nothing: the block does something
  /// else.
  std::optional<std::string> moved_half(const Block& block, const BoundBlock& plan);

  /// Loads whose indices are in range at every point of the block, and so wherever its predicate holds; as they are
  /// bound.
  std::vector<Expr> loads_inside(const Block& block) const;

  std::vector<std::string> combined(const Block& block, const BoundBlock& plan, const std::vector<std::string>& values,
                                    const std::vector<std::string>& places);

  /// Of the whole warp, what its lanes' values are together.
  std::vector<std::string> combined_lanes(const Block& block, const BoundBlock& plan,
                                          const std::vector<std::string>& values);
  /// Of names of operands.
  std::vector<std::string> combined_values(const Block& block, const BoundBlock& plan,
                                           const std::vector<std::string>& left, const std::vector<std::string>& right);

  const Kernel& kernel_;
  const Launch launch_;
  LoopRanges ranges_;
  AccessPlans plans_;
  Expressions expressions_;
  std::set<int> used_, written_;
  std::map<int, std::string> names_;
  std::set<std::string> taken_;
  std::vector<const Loop*> around_;
  std::string text_;
  size_t depth_ = 1;
  int branches_ = 0;  ///< around
  Fetch fetch_ = Fetch::kWhole;
  const CopyAhead* fetched_ = nullptr;
  std::string array_;              ///< of what is fetched
  bool is_inside_ = false;         ///< the block's predicate is known to hold
  std::string stored_;             ///< where a value goes that is stored as part of a vector
  bool is_stored_wide_ = false;    ///< it becomes a half with the others
  bool is_async_ = true;           ///< nothing but vectors has been printed of a copy
  std::map<int, int64_t> places_;  ///< of buffers that have several
  int64_t private_bytes_ = 0;
};

}  // namespace isomer::kernel::cuda
