#include <algorithm>
#include <functional>
#include <numeric>

#include "kernel/space/gpu_modules.h"
#include "kernel/space/gpu_operands.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// Blocks of threads (CUDA C++ Programming Guide, compute capability 5.0 and later).
constexpr int64_t kMostAlongYOrZ = 65535;

/// A product over a grid of blocks of threads: each thread sums up results of its own in registers, turn by turn, from
/// copies of the operands in the memory of its block.
class ProductLayout {
 public:
  /// `packed`: a copy of an operand that is made beforehand.
  ProductLayout(Builder& builder, const std::string& name, const ProductPlan& plan, const std::string& packed)
      : builder_(builder),
        schedule_(builder.schedule),
        view_(builder.view),
        name_(name),
        plan_(plan),
        packed_(packed),
        rank_(view_.block(name).axes.size()),
        operands_(load_accesses(builder.kernel(), view_.block(name))) {}

  /// False: it can't be, and the schedule is left half done.
  bool lay_out() {
    const auto sums = sum_apart(builder_, name_);
    if (!sums.ok()) return false;
    sums_ = *sums;
    if (!divide_results() || !sum_in_registers() || !divide_reduction() || !start_with_zeros()) return false;
    for (const LoadAccess& operand : operands_)
      if (!fetch(operand)) return false;
    annotate_turns();
    if (plan_.mma && !multiply_by_tensor_cores()) return false;
    return plan_.stages * bytes_of(schedule_, Scope::kShared) <= kMostSharedBytes &&
           bytes_of(schedule_, Scope::kRegister) <= kSumBytes && check_launches(schedule_.finish()).ok();
  }

 private:
  /// Among blocks of threads, and threads; a thread's own ones are innermost.
  bool divide_results() {
    const LoopIds loops = view_.loops(name_);
    if (loops.size() != rank_) return false;
    const auto down = schedule_.split(loops[plan_.row_axis], Integers{-1, plan_.threads_y, plan_.rows});
    const auto across = schedule_.split(loops[plan_.column_axis], Integers{-1, plan_.threads_x, plan_.columns});
    if (!down.ok() || !across.ok()) return false;
    LoopIds others, images;
    for (size_t k = 0; k < rank_; ++k) {
      if (k == plan_.row_axis || k == plan_.column_axis) continue;
      others.push_back(loops[k]);
      if (plan_.images == 1 || k != plan_.image_axis) continue;
      const auto parts = schedule_.split(loops[k], Integers{-1, plan_.images});
      if (!parts.ok()) return false;
      others.back() = (*parts)[0];
      images = {(*parts)[1]};
    }
    // There may be more blocks along x than along the others: columns, or rows where these are too many; and all that
    // is neither, where that is.
    const bool is_tall = view_.extent((*down)[0]) > kMostAlongYOrZ,
               are_many = view_.iterations(others) > kMostAlongYOrZ;
    const LoopId to_x = is_tall ? (*down)[0] : (*across)[0], to_y = is_tall ? (*across)[0] : (*down)[0];
    const LoopIds along_y = {to_y};
    LoopIds along_z = others, along_x = {to_x};
    if (are_many) {
      along_x.insert(along_x.begin(), along_z.begin(), along_z.end());
      along_z.clear();
    }
    // From the outermost to the innermost, as they can be bound.
    std::vector<std::pair<const LoopIds*, const char*>> grid = {
        {&along_z, "block.z"}, {&along_y, "block.y"}, {&along_x, "block.x"}};
    if (are_many) std::swap(grid[1], grid[2]);
    LoopIds order;
    for (const auto& [loops_of_axis, axis] : grid)
      order.insert(order.end(), loops_of_axis->begin(), loops_of_axis->end());
    for (const LoopId loop : {(*down)[1], (*across)[1], (*down)[2]}) order.push_back(loop);
    order.insert(order.end(), images.begin(), images.end());
    order.push_back((*across)[2]);
    thread_ = (*across)[1];
    if (!schedule_.reorder(order).ok()) return false;
    for (const auto& [loops_of_axis, axis] : grid)
      if (!loops_of_axis->empty() && !bind_fused(*loops_of_axis, axis)) return false;
    if (!tried(schedule_.bind((*down)[1], "thread.y")) || !tried(schedule_.bind(thread_, "thread.x"))) return false;
    for (const LoopId loop : {(*down)[2], (*across)[2]}) (void)tried(schedule_.unroll(loop));
    for (const LoopId loop : images) (void)tried(schedule_.unroll(loop));
    return true;
  }

  bool bind_fused(const LoopIds& loops, const char* axis) {
    const auto fused = loops.size() == 1 ? Result<LoopId>(loops[0]) : schedule_.fuse(loops);
    return fused.ok() && tried(schedule_.bind(*fused, axis));
  }

  bool sum_in_registers() {
    if (!tried(schedule_.compute_at(sums_, thread_)) ||
        !tried(schedule_.set_scope(view_.buffer(view_.block(sums_).writes[0].buffer).name, "registers")))
      return false;
    const LoopIds own = view_.inner_loops(sums_, thread_);
    if (own.size() != rank_ + view_.block(sums_).reduce.size()) return false;
    const auto reduction = own.begin() + static_cast<std::ptrdiff_t>(rank_);
    tile_.assign(own.begin(), reduction);
    reduction_.assign(reduction, own.end());
    // Where the copy reads by what is no sum of its loops, more than the thread's own results are computed.
    return view_.iterations(tile_) <= plan_.rows * plan_.columns * plan_.images;
  }

  /// Turns, and what a thread computes in one: some steps of all of its results.
  bool divide_reduction() {
    if (plan_.images > 1) {
      const LoopId of_columns = tile_[plan_.column_axis], of_images = tile_[*plan_.image_axis];
      std::erase_if(tile_, [&](LoopId loop) { return loop == of_columns || loop == of_images; });
      tile_.insert(tile_.end(), {of_images, of_columns});
    }
    const auto steps = schedule_.split(
        reduction_[plan_.reduce_axis],
        plan_.mma ? Integers{-1, plan_.steps / plan_.mma->steps, plan_.mma->steps} : Integers{-1, plan_.steps});
    if (!steps.ok()) return false;
    steps_.assign(steps->begin() + 1, steps->end());
    // A turn takes some steps at one place of a window, say.
    LoopIds turns = {(*steps)[0]};
    for (size_t k = 0; k < reduction_.size(); ++k)
      if (k != plan_.reduce_axis) turns.push_back(reduction_[k]);
    LoopIds order = turns;
    for (const auto* list : {&steps_, &tile_}) order.insert(order.end(), list->begin(), list->end());
    if (!schedule_.reorder(order).ok()) return false;
    const auto turn = turns.size() == 1 ? Result<LoopId>(turns[0]) : schedule_.fuse(turns);
    if (!turn.ok()) return false;
    turn_ = *turn;
    if (plan_.images > 1) {
      const auto columns = schedule_.fuse({tile_.end()[-2], tile_.end()[-1]});
      if (!columns.ok()) return false;
      tile_.pop_back();
      tile_.back() = *columns;
    }
    return true;
  }

  /// Sums begin before the first turn; what a thread computes is written out.
  bool start_with_zeros() {
    const auto zeros = schedule_.decompose_reduction(sums_, turn_);
    if (!zeros.ok()) return false;
    if (plan_.mma || plan_.rows * plan_.columns * plan_.steps <= kMostWrittenOut)
      (void)tried(schedule_.unroll(steps_.front()));
    // Rows beyond the last one read that one again, and are not stored.
    if (!plan_.mma && plan_.rows > 1 && extents_of(view_.block(sums_))[plan_.row_axis] % plan_.rows != 0)
      for (const std::string& block : {*zeros, sums_})
        (void)tried(schedule_.pad(block, static_cast<int64_t>(plan_.row_axis)));
    for (const LoopId loop : tile_) (void)tried(schedule_.unroll(loop));
    for (const LoopId loop : view_.inner_loops(*zeros, thread_)) (void)tried(schedule_.unroll(loop));
    return true;
  }

  /// Into the memory of the block of threads, in each turn what it reads.
  bool fetch(const LoadAccess& operand) {
    const bool is_across = moves(operand.axes[plan_.column_axis]);
    const auto copy = copy_of(builder_, sums_, source_of(operand), packed_);
    if (!copy.ok()) return false;
    const std::string memory = view_.buffer(view_.block(*copy).writes[0].buffer).name;
    // Side by side: columns of a thread, or steps of a register of tensor cores.
    const Expr last = plan_.mma ? step() : te::axis(static_cast<int>(plan_.column_axis));
    if ((is_across || plan_.mma) && !lay_last(builder_, sums_, *copy, last)) return false;
    if (!tried(schedule_.set_scope(memory, "shared")) || (plan_.mma && !tried(schedule_.swizzle(memory))) ||
        !tried(schedule_.compute_at(*copy, turn_)) || !fetch_together(builder_, *copy, turn_, plan_))
      return false;
    if (plan_.mma)
      (void)lay_for_warps(builder_, sums_, *copy,
                          te::axis(static_cast<int>(is_across ? plan_.column_axis : plan_.row_axis)),
                          is_across ? plan_.columns : plan_.rows, is_across);
    return true;
  }

  /// The buffer that an operand is fetched from: of what is known, for tensor cores, one that is laid out beforehand,
  /// once, if that can be.
  int source_of(const LoadAccess& operand) {
    if (!plan_.mma || !view_.buffer(operand.buffer).is_constant) return operand.buffer;
    const Schedule before = schedule_;
    const auto packed = schedule_.cache_read(sums_, view_.buffer(operand.buffer).name);
    if (packed.ok() && lay_last(builder_, sums_, *packed, step())) return view_.block(*packed).writes[0].buffer;
    schedule_ = before;
    return operand.buffer;
  }

  /// While one is computed, what the next ones read is fetched.
  void annotate_turns() {
    (void)tried(schedule_.annotate(turn_, kAhead, 1));
    if (plan_.stages > 1) (void)tried(schedule_.annotate(turn_, kStages, plan_.stages));
  }

  bool multiply_by_tensor_cores() { return schedule_.tensorize(steps_.back(), std::string(plan_.mma->name)).ok(); }

  Expr step() const { return te::reduce_axis(static_cast<int>(plan_.reduce_axis)); }

  Builder& builder_;
  Schedule& schedule_;
  const View& view_;
  const std::string& name_;
  const ProductPlan& plan_;
  const std::string& packed_;
  const size_t rank_;
  const std::vector<LoadAccess> operands_;
  std::string sums_;          ///< the block that sums up
  LoopId thread_, turn_;      ///< the innermost loop over threads; the one over turns
  LoopIds tile_, reduction_;  ///< loops of the sums, over results and over the reduction
  LoopIds steps_;             ///< of a turn
};

/// What fetching an element of the operand takes.
double operations_of_fetch(const View& view, const Block& block, const LoadAccess& access, const ProductPlan& plan) {
  const auto makers = writers(view.kernel(), access.buffer);
  const bool is_window = makers.size() == 1 && view.is_alone(makers[0]) && is_copy(view.block(makers[0]));
  const bool is_apart = block.reduce.size() > 1;
  if (!plan.mma) return is_window && !is_apart ? kOperationsOfWindow : kOperationsOfFetch;
  if (!is_window)
    return view.buffer(access.buffer).is_constant || access.reduce[plan.reduce_axis] == 1 ? kOperationsOfVector
                                                                                          : kOperationsOfStore;
  // Where steps lie side by side, they do so in what the windows are taken of, too.
  const auto& index = te::as<te::Load>(access.load)->index;
  const auto dim = std::find(index.begin(), index.end(), te::reduce_axis(static_cast<int>(plan.reduce_axis)));
  const std::vector<LoadAccess> read = load_accesses(view.kernel(), view.block(makers[0]));
  if (dim != index.end() && read.size() == 1 && read[0].axes[static_cast<size_t>(dim - index.begin())] == 1)
    return kOperationsOfVector;
  return is_apart ? kOperationsOfChannel : kOperationsOfWindow;
}

/// How many of them a thread may have together.
std::vector<int64_t> images_of(const ProductPlan& plan, const Integers& extents) {
  std::vector<int64_t> all = {1};
  for (int64_t each = 2; plan.image_axis && each <= kMostImages && extents[*plan.image_axis] % each == 0; each *= 2)
    all.push_back(each);
  return all;
}

/// Decides how a product is computed, and lays it out.
class ProductScheduler {
 public:
  /// `axes`: of the product, which has so many points.
  ProductScheduler(Builder& builder, const std::string& name, const ProductPlan& axes, int64_t work)
      : builder_(builder), name_(name), block_(builder.view.block(name)), extents_(extents_of(block_)), plan_(axes) {
    const int64_t rows = extents_[plan_.row_axis], columns = extents_[plan_.column_axis];
    Integers lengths;
    for (const Iterator& iterator : block_.reduce) lengths.push_back(te::as_constant(iterator.extent).value_or(0));
    const MmaShape* mma = mma_of(block_.bodies[0]);
    if (mma && allows(builder.machine(), *mma)) mma_ = mma;
    // What instructions take whole comes before what is long: eight channels before nine places of a window.
    const auto rank_of = [&](int64_t length) { return std::pair(mma_ && length % mma_->steps == 0, length); };
    const auto longest = std::ranges::max_element(lengths, {}, rank_of);
    plan_.reduce_axis = static_cast<size_t>(longest - lengths.begin());
    const int64_t length = lengths[plan_.reduce_axis];
    steps_ = std::accumulate(lengths.begin(), lengths.end(), int64_t{1}, std::multiplies<>());
    size_ = {work / (rows * columns * steps_), rows, columns, length, steps_ / length};
  }

  void schedule() {
    if (!decide_means()) return;
    const Schedule before = builder_.schedule;
    std::string packed;  // a copy of an operand in which steps lie side by side
    const ProductPlan wanted = cheapest_plan(packed);
    if (plan_.mma)
      decide_tiles_of_warps(wanted);
    else
      decide_tiles(wanted);
    const std::string product = divide_reduction();
    if (!lay_out_what_fits(product, packed)) builder_.schedule = before;
  }

 private:
  /// Whether there are tiles in shared memory at all; if so, with tensor cores or without.
  bool decide_means() {
    const bool is_large = size_.length >= 4 && size_.rows >= 4 && size_.columns >= 4;
    if (!builder_.decide(name_, "shared_tiles", is_large)) return false;
    if (mma_ && builder_.decide(name_, "tensor_cores",
                                size_.length % mma_->steps == 0 && size_.columns >= 16 && size_.rows >= 16))
      plan_.mma = mma_;
    return true;
  }

  /// By the estimate. `packed` is made and named where it is decided that reading of it pays.
  ProductPlan cheapest_plan(std::string& packed) {
    estimate_fetches();
    const ProductPlan wanted = cheapest(plan_, size_);
    if (!plan_.mma || size_.operations_of_column != kOperationsOfStore) return wanted;
    ProductSize beside = size_;
    beside.operations_of_column = kOperationsOfVector;
    const ProductPlan other = cheapest(plan_, beside);
    const int64_t bytes = 2 * plan_.mma->bytes() * size_.others * size_.columns * steps_;  // read and written
    if (!builder_.decide(name_, "steps_last", other.cycles + cycles_of_launch(bytes) < wanted.cycles)) return wanted;
    for (const LoadAccess& access : load_accesses(builder_.kernel(), block_))
      if (packed.empty() && moves(access.axes[plan_.column_axis]))
        packed = read_laid_last(builder_, name_, access, te::reduce_axis(static_cast<int>(plan_.reduce_axis)));
    return packed.empty() ? wanted : other;
  }

  void estimate_fetches() {
    for (const LoadAccess& access : load_accesses(builder_.kernel(), block_)) {
      const double operations = operations_of_fetch(builder_.view, block_, access, plan_);
      if (moves(access.axes[plan_.column_axis])) {
        size_.operations_of_column = operations;
      } else if (plan_.mma) {
        size_.operations_of_row = operations;
      }
    }
    if (plan_.image_axis) size_.most_images = std::min<int64_t>(extents_[*plan_.image_axis], kMostImages);
  }

  /// What is preferred is a candidate, too.
  int64_t decide(const char* what, std::vector<int64_t> candidates, int64_t preferred) {
    if (std::find(candidates.begin(), candidates.end(), preferred) == candidates.end()) candidates.push_back(preferred);
    std::sort(candidates.begin(), candidates.end());
    return builder_.decide(name_, what, candidates, preferred);
  }

  void decide_tiles_of_warps(const ProductPlan& wanted) {
    plan_.threads_x = kMmaWide;
    plan_.threads_y = decide("threads_y", {8, 16, 32, 64}, wanted.threads_y);
    plan_.columns = decide("columns", {2, 4, 8, 16, 32}, wanted.columns);
    plan_.rows = decide("rows", {2, 4, 8}, wanted.rows);
    plan_.images = decide("images", images_of(plan_, extents_), wanted.images);
    plan_.parts = decide("parts", divisors(size_.length / plan_.mma->steps, 32), wanted.parts);
    const int64_t most = plan_.most_steps(size_.length / plan_.parts) / plan_.mma->steps;
    plan_.steps = builder_.decide(name_, "steps", divisors(most, 2), most) * plan_.mma->steps;
    plan_.stages = builder_.decide(name_, "stages", {1, 2, 3, 4, 5}, most_stages(plan_));
  }

  void decide_tiles(const ProductPlan& wanted) {
    plan_.threads_x = decide("threads_x", {4, 8, 16, 32}, wanted.threads_x);
    plan_.threads_y = decide("threads_y", {4, 8, 16}, wanted.threads_y);
    plan_.columns = decide("columns", {1, 2, 4, 8}, wanted.columns);
    plan_.rows = decide("rows", {1, 2, 4, 8}, wanted.rows);
    plan_.parts = decide("parts", divisors(size_.length, 32), wanted.parts);
    plan_.steps = decide("steps", divisors(size_.length / plan_.parts, 32), wanted.steps);
  }

  /// In the parts that were decided on: the block that is a product then.
  std::string divide_reduction() {
    if (plan_.parts <= 1) return name_;
    const Schedule whole = builder_.schedule;
    const LoopIds loops = builder_.view.loops(name_);
    const auto partial = builder_.schedule.split_k(name_, loops[block_.axes.size() + plan_.reduce_axis], plan_.parts);
    const auto axes = partial.ok() ? axes_of(builder_.view, builder_.view.block(*partial)) : std::nullopt;
    if (!axes) {
      builder_.schedule = whole;
      return name_;
    }
    plan_.row_axis = axes->row_axis;
    plan_.column_axis = axes->column_axis;
    plan_.image_axis = axes->image_axis;
    return *partial;
  }

  /// What does not fit is tried with one stage, without tensor cores, with fewer steps.
  bool lay_out_what_fits(const std::string& product, const std::string& packed) {
    const Schedule divided = builder_.schedule;
    while (plan_.steps >= 1) {
      if (ProductLayout(builder_, product, plan_, packed).lay_out()) return true;
      builder_.schedule = divided;
      if (plan_.stages * plan_.images > 1) {
        plan_.stages = plan_.images = 1;
      } else {
        plan_.mma = nullptr;
        plan_.steps /= 2;
      }
    }
    return false;
  }

  Builder& builder_;
  const std::string& name_;
  const Block block_;  ///< as it was
  const Integers extents_;
  const MmaShape* mma_ = nullptr;  ///< that may compute it
  ProductPlan plan_;
  ProductSize size_;
  int64_t steps_ = 1;  ///< of the whole reduction
};

void schedule_product(Builder& builder, const std::string& name) {
  const Block block = builder.view.block(name);
  const auto axes = axes_of(builder.view, block);
  const auto work = points(block);
  if (!axes || !work || *work == 0 || block.reduce.empty()) return;
  ProductScheduler(builder, name, *axes, *work).schedule();
}

}  // namespace

Module gpu_products() {
  return {"gpu_products", [](const View& view, const std::string& name) { return view.is_free_reduction(name); },
          schedule_product};
}

}  // namespace isomer::kernel
