#include "kernel/codegen_llvm/part.h"

#include <limits>

#include "kernel/ahead.h"
#include "kernel/bound_block.h"
#include "kernel/codegen_llvm/expressions.h"
#include "kernel/codegen_llvm/transpose.h"
#include "kernel/codegen_llvm/words.h"
#include "kernel/micro_kernel.h"
#include "kernel/narrow_floats.h"
#include "kernel/regions.h"
#include "kernel/tree.h"
#include "kernel/vectorizable.h"
#include "kernel/words.h"
#include "util/check.h"

namespace isomer::kernel::codegen {
namespace {

using runtime::Outcome;

/// Of a part, before optimization; more take more than some seconds.
constexpr unsigned kMaxInstructions = 50000;
/// Thrown where there would be more.
struct TooManyInstructions {};
constexpr int64_t kMaxLanes = 256;
/// Iterations that a vectorized loop is written out for where they can't be made at once.
constexpr int64_t kMaxLanesInTurn = 64;

bool holds_vectorized(const Statements& statements) {
  return std::any_of(statements.begin(), statements.end(), [](const Statement& statement) {
    const auto* loop = std::get_if<Loop>(&statement.node);
    return loop && (loop->kind == LoopKind::kVectorized || holds_vectorized(loop->body));
  });
}

/// How often blocks stand in the code, lanes being one.
int64_t copies(const Statements& statements) {
  int64_t sum = 0;
  for (const Statement& statement : statements)
    sum += std::visit(
        te::Overloaded{[](const Loop& loop) {
                         const auto extent = te::as_constant(loop.extent);
                         const bool repeats = loop.kind == LoopKind::kUnrolled && extent;
                         return copies(loop.body) * (repeats ? *extent : 1);
                       },
                       [](const Branch& s) { return copies(s.then) + copies(s.otherwise); },
                       [](const While& s) { return copies(s.body); }, [](const auto&) { return int64_t{1}; }},
        statement.node);
  return sum;
}

/// Of blocks, in a loop that is written out: a register tile, not the sum of channels around it.
constexpr int64_t kCopiesOfATile = 512, kAnyCopies = std::numeric_limits<int64_t>::max();

class PartEmitter {
 public:
  /// Loops with more copies than `most_copies` are not written out but count; what lies in registers may be indexed.
  PartEmitter(llvm::Function* function, const CpuTarget& target, LinkedMicroKernels& micro_kernels,
              const Kernel& kernel, int64_t most_copies)
      : kernel_(kernel),
        most_copies_(most_copies),
        function_(function),
        micro_kernels_(micro_kernels),
        build_(function->getContext()),
        site_{build_, target, function->getArg(0)},
        entry_(llvm::BasicBlock::Create(build_.getContext(), "entry", function)),
        plans_(kernel, environment_.ranges),
        memory_(site_, kernel, entry_),
        expressions_(site_, environment_, memory_, plans_, [this](Outcome outcome) { return exit(outcome); }) {
    // The only liberty that optimization may take with real numbers.
    llvm::FastMathFlags flags;
    flags.setAllowContract();
    build_.setFastMathFlags(flags);
  }

  PartCode run(const Statement& statement, const Loop* turns) {
    PartCode part;
    build_.SetInsertPoint(entry_);
    llvm::BasicBlock* const body = expressions_.new_block("body");
    build_.SetInsertPoint(body);
    if (turns) {
      environment_.ranges.enter(*turns);
      environment_.loops[turns->variable] = memory_.turn();
    }
    check_sizes(statement);
    const auto* loop = std::get_if<Loop>(&statement.node);
    const auto extent = loop && loop->kind == LoopKind::kParallel ? te::as_constant(loop->extent) : std::nullopt;
    if (extent) {
      part.iterations = *extent;
      counted(*loop, function_->getArg(1), function_->getArg(2));
    } else {
      emit(statement);
    }
    memory_.finish();
    build_.CreateBr(exit(Outcome::kDone));
    build_.SetInsertPoint(entry_);
    build_.CreateBr(body);
    part.scratch_bytes = memory_.scratch_bytes();
    part.private_buffers = memory_.private_buffers();
    return part;
  }

 private:
  /// Inputs are as large as the sizes say that accesses were proved with (open_sizes.h). What the statement doesn't
  /// read it was not proved with, and need not be there.
  void check_sizes(const Statement& statement) {
    if (std::ranges::all_of(kernel_.buffers, has_static_shape)) return;
    const OpenSizes& sizes = plans_.sizes();
    const std::set<int> used = touched(statement);
    for (const int buffer : used) {
      const Buffer& target = kernel_.buffers[static_cast<size_t>(buffer)];
      if (std::ranges::find(kernel_.inputs, buffer) == kernel_.inputs.end() || has_static_shape(target)) continue;
      for (size_t k = 0; k < target.shape.size(); ++k) {
        const Expr size = target.shape[k].expr();
        if (!sizes.decide(size) || !std::ranges::includes(used, loads(size))) continue;
        llvm::Value* const given = memory_.given_extent(buffer, static_cast<int>(k));
        expressions_.require(build_.CreateICmpEQ(given, evaluate(size)), Outcome::kIndexOutOfRange);
      }
    }
  }

  llvm::BasicBlock* exit(Outcome outcome) {
    llvm::BasicBlock*& block = exits_[outcome];
    if (block) return block;
    block = expressions_.new_block("exit");
    const Builder::InsertPointGuard guard(build_);
    build_.SetInsertPoint(block);
    build_.CreateRet(build_.getInt32(static_cast<int32_t>(outcome)));
    return block;
  }

  llvm::Value* evaluate(const Expr& expr) {
    expressions_.forget();
    return expressions_.evaluate(expr);
  }

  void emit(const Statements& statements) {
    for (size_t k = 1; k < statements.size(); ++k)
      if (const auto* loop = std::get_if<Loop>(&statements[k].node); loop && loop->annotations.contains(kPrefetch))
        prefetch(*loop);
    for (const Statement& statement : statements) emit(statement);
  }
  void emit(const Statement& statement) {
    std::visit([&](const auto& s) { emit(s); }, statement.node);
  }

  // Loops

  void emit(const Loop& loop) {
    if (const MicroKernel* const micro_kernel = micro_kernel_of(kernel_, loop)) return call(*micro_kernel, loop);
    const auto extent = te::as_constant(loop.extent);
    if (extent && *extent <= 1) return written_out(loop, *extent);
    switch (loop.kind) {
      case LoopKind::kUnrolled:
        CHECK(extent) << "k" << loop.variable << " is unrolled but has no constant extent";
        if (is_short(loop)) return written_out(loop, *extent);
        break;
      case LoopKind::kVectorized:
        CHECK(extent) << "k" << loop.variable << " is vectorized but has no constant extent";
        if (const Loop* const lanes = lanes_of_tile(loop); lanes && environment_.lanes == 1 && is_vectorizable(loop))
          return as_tile(loop, *lanes);
        if (environment_.lanes == 1 && *extent <= kMaxLanes && !holds_vectorized(loop.body) && is_vectorizable(loop))
          return at_once(loop, static_cast<int>(*extent));
        if (is_short(loop) && (holds_vectorized(loop.body) || *extent <= kMaxLanesInTurn))
          return written_out(loop, *extent);
        break;
      case LoopKind::kSerial:
      case LoopKind::kParallel:
      case LoopKind::kBlockX:
      case LoopKind::kBlockY:
      case LoopKind::kBlockZ:
      case LoopKind::kThreadX:
      case LoopKind::kThreadY:
      case LoopKind::kThreadZ: break;
    }
    llvm::Value* const end = evaluate(loop.extent);
    counted(loop, build_.getInt64(0), end);
  }

  void call(const MicroKernel& micro_kernel, const Loop& loop) {
    std::vector<const Loop*> around;
    for (const auto& [variable, value] : environment_.loops)
      if (const Loop* const entered = loop_of(kernel_, variable)) around.push_back(entered);
    auto matched = micro_kernel_call(kernel_, micro_kernel, loop, around, true);
    if (!matched.ok()) throw Unsupported{unsupported("", "{}", matched.error().message())};
    const MicroKernelCall& tile = *matched;
    for (const Loop* inner : tile.loops) {
      environment_.ranges.enter(*inner);
      environment_.loops[inner->variable] = build_.getInt64(0);
    }
    const BoundBlock& plan = bound(*tile.block);
    expressions_.forget();
    std::vector<llvm::Value*> arguments;
    const auto add = [&](const AccessPlan& access, const std::array<int64_t, 2>& steps) {
      if (!access.is_proved || !access.axes.empty())
        fail_unsupported("{}: operands that lie inside of their buffers expected", micro_kernel.name);
      arguments.push_back(memory_.pointer(access.buffer, expressions_.position(access)));
      for (const int64_t step : steps) arguments.push_back(build_.getInt64(step));
    };
    const auto& product = *te::as<te::Binary>(plan.bodies[0]);
    add(plans_.of_load(tile.is_swapped ? product.right : product.left), tile.a);
    add(plans_.of_load(tile.is_swapped ? product.left : product.right), tile.b);
    add(plan.writes[0], tile.c);
    arguments.push_back(build_.getInt64(tile.depth));
    build_.CreateCall(micro_kernels_.function_of(micro_kernel), arguments);
    for (const Loop* inner : tile.loops) {
      environment_.loops.erase(inner->variable);
      environment_.ranges.leave(*inner);
    }
    expressions_.forget();
  }

  void with_variable(const Loop& loop, llvm::Value* value) {
    environment_.ranges.enter(loop);
    environment_.loops[loop.variable] = value;
    const bool asks =
        ahead_ && !ahead_->is_asked && !ahead_->inside.empty() && ahead_->inside.back() == &loop && ask_ahead();
    if (asks) ahead_->is_asked = true;
    emit(loop.body);
    if (asks) ahead_->is_asked = false;
    environment_.loops.erase(loop.variable);
    environment_.ranges.leave(loop);
  }

  /// The same of a loop whose iterations follow each other in time.
  void with_counted(const Loop& loop, llvm::Value* value) {
    if (!ahead_) {
      if (loop.annotations.contains(kAhead)) ahead_ = Ahead{&loop, {}, false};
      with_variable(loop, value);
      if (ahead_ && ahead_->loop == &loop) ahead_.reset();
      return;
    }
    ahead_->inside.push_back(&loop);
    with_variable(loop, value);
    ahead_->inside.pop_back();
  }

  /// Whether it is written out where it is to be.
  bool is_short(const Loop& loop) const {
    return most_copies_ == kAnyCopies || copies(loop.body) * te::as_constant(loop.extent).value_or(1) <= most_copies_;
  }
  void written_out(const Loop& loop, int64_t extent) {
    for (int64_t i = 0; i < extent; ++i) with_variable(loop, build_.getInt64(i));
  }

  void at_once(const Loop& loop, int lanes) {
    environment_.lanes = lanes;
    environment_.vector_variable = loop.variable;
    environment_.streams = loop.annotations.contains(kStream);
    with_variable(loop, build_.CreateStepVector(widened(build_.getInt64Ty(), lanes)));
    environment_.vector_variable = -1;
    environment_.streams = false;
    environment_.lanes = 1;
  }

  /// evaluate() where the lanes are iterations of the loop.
  template <class Evaluate>
  auto over_lanes(const Loop& loop, int count, const Evaluate& evaluate) {
    const Environment before = environment_;
    environment_.lanes = count;
    environment_.vector_variable = loop.variable;
    environment_.loops[loop.variable] = build_.CreateStepVector(widened(build_.getInt64Ty(), count));
    expressions_.forget();
    const auto result = evaluate();
    expressions_.forget();
    environment_ = before;
    return result;
  }

  /// Rows of lanes. What lies along the rows in memory is read so, and transposed in registers.
  void as_tile(const Loop& rows, const Loop& lanes) {
    const auto count = static_cast<int>(*te::as_constant(rows.extent));
    environment_.ranges.enter(rows);
    environment_.ranges.enter(lanes);
    const BoundBlock& block = bound(std::get<Block>(lanes.body[0].node));
    environment_.loops[rows.variable] = environment_.loops[lanes.variable] = build_.getInt64(0);
    expressions_.forget();
    std::vector<Expr> turned;
    if (!block.predicate || block.predicate == te::truth(true))
      te::for_each_node(block.bodies[0], [&](const Expr& e) {
        if (te::as<te::Load>(e) && lies_along(e, rows, count) && !lies_along(e, lanes, count)) turned.push_back(e);
      });
    std::map<const te::ExprNode*, std::vector<llvm::Value*>> values;
    for (const Expr& load : turned) {
      std::vector<llvm::Value*> columns;
      for (int i = 0; i < count; ++i) {
        environment_.loops[lanes.variable] = build_.getInt64(i);
        columns.push_back(over_lanes(rows, count, [&] { return expressions_.evaluate(load); }));
      }
      values[&*load] = transposed(build_, columns);
    }
    environment_.ranges.leave(lanes);
    environment_.loops.erase(lanes.variable);
    for (int row = 0; row < count; ++row) {
      std::unordered_map<const te::ExprNode*, llvm::Value*> given;
      for (const auto& [load, of_row] : values) given.emplace(load, of_row[row]);
      expressions_.give(std::move(given));
      environment_.loops[rows.variable] = build_.getInt64(row);
      emit(lanes);
    }
    expressions_.give({});
    environment_.loops.erase(rows.variable);
    environment_.ranges.leave(rows);
  }

  /// Whether neighbouring iterations load neighbours, which are there.
  bool lies_along(const Expr& load, const Loop& loop, int count) {
    const AccessPlan& access = plans_.of_load(load);
    if (!access.is_proved || !access.axes.empty()) return false;
    const Position at = over_lanes(loop, count, [&] { return expressions_.position(access); });
    return !at.numbers && at.stride == 1;
  }

  /// if (begin < end) do { body } while (++i < end)
  void counted(const Loop& loop, llvm::Value* begin, llvm::Value* end) {
    expressions_.branch(
        build_.CreateICmpSLT(begin, end),
        [&] {
          llvm::BasicBlock *const before = build_.GetInsertBlock(), *const body = expressions_.new_block("loop"),
                                  *const after = expressions_.new_block("after");
          build_.CreateBr(body);
          build_.SetInsertPoint(body);
          llvm::PHINode* const i = build_.CreatePHI(build_.getInt64Ty(), 2, "k" + std::to_string(loop.variable));
          i->addIncoming(begin, before);
          with_counted(loop, i);
          llvm::Value* const next = build_.CreateAdd(i, build_.getInt64(1), "", true, true);
          i->addIncoming(next, build_.GetInsertBlock());
          build_.CreateCondBr(build_.CreateICmpSLT(next, end), body, after);
          build_.SetInsertPoint(after);
        },
        [] {});
  }

  /// Asks for what the loop is going to load: that moves in each loop down to its block, lanes being neighbours.
  void prefetch(const Loop& loop) {
    const auto extent = te::as_constant(loop.extent).value_or(kMaxLanesInTurn);
    if (loop.body.size() != 1 || extent >= kMaxLanesInTurn) return;
    environment_.ranges.enter(loop);
    if (extent > 1) moving_.push_back(loop.variable);
    for (int64_t i = 0; i < (loop.kind == LoopKind::kVectorized ? 1 : extent); ++i) {
      environment_.loops[loop.variable] = build_.getInt64(i);
      if (const auto* inner = std::get_if<Loop>(&loop.body[0].node)) prefetch(*inner);
      if (const auto* block = std::get_if<Block>(&loop.body[0].node)) prefetch(*block);
    }
    if (extent > 1) moving_.pop_back();
    environment_.loops.erase(loop.variable);
    environment_.ranges.leave(loop);
  }

  void prefetch(const Block& block) {
    const BoundBlock& plan = bound(block);
    if (plan.predicate && plan.predicate != te::truth(true)) return;
    expressions_.forget();
    for (const Expr& body : plan.bodies)
      te::for_each_node(body, [&](const Expr& e) {
        if (!te::as<te::Load>(e) ||
            !std::all_of(moving_.begin(), moving_.end(), [&](int variable) { return depends_on(e, variable); }))
          return;
        const AccessPlan& access = plans_.of_load(e);
        if (access.is_proved && access.axes.empty())
          memory_.prefetch(access.buffer, expressions_.position(access).base, true);
      });
  }

  /// A part of what the next iteration of the loop around reads, in an iteration of the loop that has just been
  /// entered; all iterations together ask for all of it. Not where loops inside of it are to ask for less at a time.
  /// Whether it did.
  bool ask_ahead() {
    constexpr int64_t kMostLines = 8, kLineBits = 512;
    constexpr int kFraction = 16;  // bits
    const std::vector<NextRead> reads =
        next_reads(kernel_, *ahead_->loop, ahead_->inside, environment_.ranges.ranges());
    int64_t rounds = 1;
    for (const Loop* loop : ahead_->inside) rounds *= te::as_constant(loop->extent).value_or(0);
    if (rounds == 0 || reads.empty()) return false;
    const auto elements_of_line = [&](const NextRead& read) {
      return kLineBits / bit_width(kernel_.buffers[read.buffer].dtype);
    };
    const auto lines_of = [&](const NextRead& read) {
      return (read.elements + elements_of_line(read) - 1) / elements_of_line(read);
    };
    const bool are_few = std::all_of(reads.begin(), reads.end(),
                                     [&](const NextRead& read) { return lines_of(read) <= kMostLines * rounds; });
    if (!are_few && counts_inside(*ahead_->inside.back())) return false;
    llvm::Value* round = build_.getInt64(0);
    for (const Loop* loop : ahead_->inside)
      round = build_.CreateAdd(build_.CreateMul(round, build_.getInt64(*te::as_constant(loop->extent))),
                               environment_.loops.at(loop->variable));
    for (const NextRead& read : reads) {
      const int64_t lines = lines_of(read), at_once = (lines + rounds - 1) / rounds;
      if (at_once > kMostLines) continue;
      // round * lines / rounds, in steps of `at_once` lines.
      const int64_t steps = (((lines + at_once - 1) / at_once) << kFraction) / rounds;
      llvm::Value* const line = build_.CreateMul(
          build_.CreateLShr(build_.CreateMul(round, build_.getInt64(steps)), kFraction), build_.getInt64(at_once));
      llvm::Value* const before = evaluate(read.first);
      llvm::Value* const first =
          build_.CreateAdd(before, build_.CreateMul(line, build_.getInt64(elements_of_line(read))));
      for (int64_t k = 0; k < at_once; ++k)
        memory_.prefetch(read.buffer, build_.CreateAdd(first, build_.getInt64(k * elements_of_line(read))), false);
    }
    return true;
  }

  /// Whether a loop stands inside of this one, alone, that is neither written out nor lanes.
  static bool counts_inside(const Loop& loop) {
    const auto* inner = loop.body.size() == 1 ? std::get_if<Loop>(&loop.body[0].node) : nullptr;
    if (!inner || inner->annotations.contains(kMicroKernel)) return false;
    const bool counts = inner->kind == LoopKind::kSerial && te::as_constant(inner->extent) != 1;
    return counts || counts_inside(*inner);
  }

  // Imperative statements

  void emit(const Branch& branch) {
    expressions_.branch(evaluate(branch.condition), [&] { emit(branch.then); }, [&] { emit(branch.otherwise); });
  }

  void emit(const While& loop) {
    llvm::BasicBlock *const head = expressions_.new_block("while"), *const body = expressions_.new_block("round"),
                            *const after = expressions_.new_block("after");
    build_.CreateBr(head);
    build_.SetInsertPoint(head);
    build_.CreateCondBr(evaluate(loop.condition), body, after);
    build_.SetInsertPoint(body);
    emit(loop.body);
    build_.CreateBr(head);
    build_.SetInsertPoint(after);
  }

  void emit(const Resize& resize) {
    expressions_.forget();
    std::vector<llvm::Value*> extents;
    for (const Expr& extent : resize.extents) {
      extents.push_back(expressions_.evaluate(extent));
      const Dim& dim = kernel_.buffers[static_cast<size_t>(resize.buffer)].shape[extents.size() - 1];
      expressions_.require(dim.is_constant() ? build_.CreateICmpEQ(extents.back(), build_.getInt64(dim.value()))
                                             : build_.CreateICmpSGE(extents.back(), build_.getInt64(0)),
                           Outcome::kIndexOutOfRange);
    }
    expressions_.require(memory_.resize(resize.buffer, extents), Outcome::kOutOfMemory);
  }

  void emit(const Barrier&) {}  // one thread computes all that is between barriers

  // Blocks

  const BoundBlock& bound(const Block& block) {
    const auto known = blocks_.find(&block);
    if (known != blocks_.end()) return known->second;
    return blocks_.emplace(&block, bind(kernel_, block, environment_.ranges, plans_)).first->second;
  }

  void emit(const Block& block) {
    // Counting walks the function: now and then is enough.
    if (++copies_ % 64 == 0 && function_->getInstructionCount() > kMaxInstructions) throw TooManyInstructions();
    const BoundBlock& plan = bound(block);
    expressions_.forget();
    if (!plan.predicate) return compute(block, plan);
    llvm::Value* const predicate = expressions_.evaluate(plan.predicate);
    if (lanes_of(predicate) == 1) return expressions_.branch(predicate, [&] { compute(block, plan); }, [] {});
    if (is_never(predicate)) return;
    environment_.mask = is_always(predicate) ? nullptr : predicate;
    compute(block, plan);
    environment_.mask = nullptr;
  }

  void compute(const Block& block, const BoundBlock& plan) {
    if (add_words(block, plan)) return;
    std::vector<llvm::Value*> values;
    const bool is_rounded = combines_rounded(block.combine);
    for (const Expr& body : plan.bodies)
      values.push_back(is_rounded ? expressions_.evaluate_rounded(body) : expressions_.evaluate(body));
    if (environment_.lanes == 1) return write(block, plan, values, positions(plan));
    const std::vector<Position> at = positions(plan);
    const bool are_distinct =
        std::all_of(at.begin(), at.end(), [](const Position& p) { return !p.numbers && p.stride != 0; });
    if (are_distinct) return write(block, plan, values, at);
    const bool is_one = std::all_of(at.begin(), at.end(), [](const Position& p) { return p.is_uniform(); });
    if (is_one && !block.is_reduction() && !environment_.mask) return write(block, plan, values, at);
    in_turn(block, plan, values);
  }

  /// A vector that is stored whole does not wait for what was there.
  llvm::Value* mask_of_store(const BoundBlock& plan, size_t c) const {
    return plan.writes_beyond && plan.writes[c].is_proved ? nullptr : environment_.mask;
  }

  /// A sum of products of words in lanes; whether there is an instruction that adds them up.
  bool add_words(const Block& block, const BoundBlock& plan) {
    if (environment_.lanes == 1 || block.combine.name != te::sum(DataType::kInt32).name) return false;
    const auto dot = as_dot_of_words(plan.bodies[0]);
    if (!dot || !is_never(expressions_.evaluate(plan.is_first))) return false;
    const Position at = expressions_.position(plan.writes[0]);
    if (!at.is_regular() || at.stride != 1) return false;
    const auto in_lanes = [&](llvm::Value* value) { return spread(build_, value, environment_.lanes); };
    llvm::Value* const a = in_lanes(expressions_.evaluate(dot->a));
    llvm::Value* const b = in_lanes(expressions_.evaluate(dot->b));
    const int buffer = plan.writes[0].buffer;
    llvm::Value* const before = in_lanes(memory_.load(buffer, at, environment_.lanes, environment_.mask));
    llvm::Value* const sums = add_dot_of_words(site_, dot->parts, before, a, b);
    if (!sums) return false;
    memory_.store(buffer, at, sums, mask_of_store(plan, 0), false);
    return true;
  }

  /// One lane after the other: several may write to one element.
  void in_turn(const Block& block, const BoundBlock& plan, const std::vector<llvm::Value*>& values) {
    const Environment outer = environment_;
    for (int k = 0; k < outer.lanes; ++k) {
      environment_.lanes = 1;
      environment_.mask = nullptr;
      environment_.loops[outer.vector_variable] = build_.getInt64(k);
      expressions_.forget();
      std::vector<llvm::Value*> of_lane;
      for (llvm::Value* value : values) of_lane.push_back(lane(build_, value, k));
      const auto step = [&] { write(block, plan, of_lane, positions(plan)); };
      outer.mask ? expressions_.branch(lane(build_, outer.mask, k), step, [] {}) : step();
    }
    environment_ = outer;
  }

  std::vector<Position> positions(const BoundBlock& plan) {
    std::vector<Position> result;
    for (const AccessPlan& access : plan.writes) result.push_back(expressions_.position(access));
    return result;
  }

  void write(const Block& block, const BoundBlock& plan, std::vector<llvm::Value*> values,
             const std::vector<Position>& at) {
    if (block.is_reduction()) values = combined(block, plan, values, at);
    for (size_t c = 0; c < values.size(); ++c) {
      const int lanes = at[c].is_uniform() ? 1 : environment_.lanes;
      memory_.store(plan.writes[c].buffer, at[c], spread(build_, values[c], lanes), mask_of_store(plan, c),
                    environment_.streams);
    }
  }

  std::vector<llvm::Value*> combined(const Block& block, const BoundBlock& plan,
                                     const std::vector<llvm::Value*>& values, const std::vector<Position>& at) {
    llvm::Value* const is_first = expressions_.evaluate(plan.is_first);
    std::vector<llvm::Value*> old;
    for (size_t c = 0; c < values.size(); ++c) {
      llvm::Value* initial = expressions_.evaluate(block.combine.identity[c]);
      if (is_always(is_first)) {
        old.push_back(initial);
        continue;
      }
      llvm::Value* value = memory_.load(plan.writes[c].buffer, at[c], environment_.lanes, environment_.mask);
      if (!is_never(is_first)) {
        const int lanes = std::max(lanes_of(value), lanes_of(is_first));
        initial = spread(build_, initial, lanes);
        value = build_.CreateSelect(is_first, initial, spread(build_, value, lanes));
      }
      old.push_back(value);
    }
    environment_.left = &old;
    environment_.right = &values;
    expressions_.forget();
    std::vector<llvm::Value*> result;
    for (const Expr& combine : block.combine.combine) result.push_back(expressions_.evaluate(combine));
    expressions_.forget();
    environment_.left = environment_.right = nullptr;
    return result;
  }

  const Kernel& kernel_;
  const int64_t most_copies_;
  llvm::Function* const function_;
  LinkedMicroKernels& micro_kernels_;
  Builder build_;
  const Site site_;
  llvm::BasicBlock* const entry_;
  Environment environment_;
  AccessPlans plans_;
  Memory memory_;
  std::map<Outcome, llvm::BasicBlock*> exits_;
  std::map<const Block*, BoundBlock> blocks_;
  /// The loop of which the next iteration is asked for, and those that time passes in inside of it, outermost first.
  struct Ahead {
    const Loop* loop;
    std::vector<const Loop*> inside;
    bool is_asked = false;  ///< for, in an iteration of one of them
  };
  std::optional<Ahead> ahead_;
  std::vector<int> moving_;  ///< variables of the loops around what is prefetched
  int copies_ = 0;
  Expressions expressions_;
};

}  // namespace

void set_attributes(llvm::Function& function, const CpuTarget& target) {
  function.setDoesNotThrow();
  function.addFnAttr("no-builtins");
  function.addFnAttr("target-cpu", target.cpu);
  function.addFnAttr("target-features", target.features);
  // Both: one alone splits vectors of 512 bits.
  function.addFnAttr("prefer-vector-width", std::to_string(target.vector_bits));
  function.addFnAttr("min-legal-vector-width", std::to_string(target.vector_bits));
}

PartCode emit_part(llvm::Module& module, const CpuTarget& target, LinkedMicroKernels& micro_kernels,
                   const Kernel& kernel, const Statement& statement, const Loop* turns, const std::string& name) {
  llvm::LLVMContext& context = module.getContext();
  llvm::Type *const pointer = llvm::PointerType::get(context, 0), *const integer = llvm::Type::getInt64Ty(context);
  auto* const type = llvm::FunctionType::get(llvm::Type::getInt32Ty(context), {pointer, integer, integer}, false);
  llvm::Function* const function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, module);
  set_attributes(*function, target);
  function->getArg(0)->addAttr(llvm::Attribute::NoAlias);
  for (const int64_t most_copies : {kAnyCopies, kCopiesOfATile, int64_t{0}}) {
    try {
      return PartEmitter(function, target, micro_kernels, kernel, most_copies).run(statement, turns);
    } catch (const TooManyInstructions&) {
      function->deleteBody();
    }
  }
  fail_unsupported("more than {} instructions", kMaxInstructions);
}

}  // namespace isomer::kernel::codegen
