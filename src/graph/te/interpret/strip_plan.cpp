#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>

#include "graph/te/interpret/arithmetic.h"
#include "graph/te/interpret/axes.h"
#include "graph/te/interpret/loops.h"
#include "graph/te/interpret/stage_plan.h"
#include "graph/te/interpret/strip_compile.h"
#include "util/check.h"

namespace isomer::te::interpreter {
namespace {

constexpr int64_t kMaxLanes = 1024;

/// Combines lanes of accumulators with each other.
class Merge {
 public:
  explicit Merge(const Monoid& monoid) : arity_(monoid.arity()) {
    std::vector<Expr> right;
    for (int k = 0; k < arity_; ++k) right.push_back(operand(VarKind::kLeft, arity_ + k, monoid.identity[k].dtype()));
    const Buffers none = [](const BufferRef& ref) -> const Array& { throw Bug("a monoid loads " + describe(ref)); };
    Result<Lowered> lowered = lower(right, monoid, {{kMaxLanes}, {}, 1}, none);
    CHECK(lowered.ok()) << lowered.error().message();
    const Node& result = lowered->nodes[lowered->results[0]];
    const auto is_accumulator = [&](int id) { return id >= 0 && lowered->nodes[id].kind == Node::Kind::kAccumulator; };
    const bool simple = arity_ == 1 && result.kind == Node::Kind::kBinary && is_accumulator(result.a) &&
                        is_accumulator(result.b) && result.dtype != DataType::kUInt64;
    real_ = result.is_real();
    if (simple && is_foldable(result.binary)) {
      operation_ = result.binary;
    } else {
      program_ = compile_strip(*lowered, {}, lowered->results, 0, Results::kToLanes);
      frame_.emplace(program_, kMaxLanes);
    }
  }
  Merge(const Merge&) = delete;
  Merge& operator=(const Merge&) = delete;

  /// Leaves the combination of the first `lanes` lanes of each component in its first lane.
  void run(const std::vector<void*>& components, int64_t lanes) {
    if (operation_) {
      real_ ? kernels::fold_real(*operation_, static_cast<double*>(components[0]), lanes)
            : kernels::fold_integer(*operation_, static_cast<int64_t*>(components[0]), lanes);
      return;
    }
    frame_->sinks.resize(2 * arity_);
    for (; lanes > 1; lanes -= lanes / 2) {
      const int64_t half = lanes / 2;
      for (int k = 0; k < arity_; ++k) {
        frame_->sinks[k] = components[k];
        frame_->sinks[arity_ + k] = static_cast<Cell*>(components[k]) + (lanes - half);
      }
      frame_->run(half);
    }
  }

 private:
  static bool is_foldable(BinaryOp op) {
    return op == BinaryOp::kAdd || op == BinaryOp::kMul || op == BinaryOp::kMin || op == BinaryOp::kMax ||
           op == BinaryOp::kAnd || op == BinaryOp::kOr || op == BinaryOp::kXor;
  }
  int arity_;
  bool real_ = true;
  std::optional<BinaryOp> operation_;
  StripProgram program_;
  std::optional<Frame> frame_;
};

class StripPlan : public StagePlan {
 public:
  StripPlan(Lowered lowered, const MapReduce& stage, const std::vector<Storage>& storages);
  const std::vector<BufferRef>& buffers() const override { return lowered_.buffers; }
  Result<void> run(const RunContext& context, std::span<void* const> outputs) override;

 private:
  struct Thread {
    Frame frame;
    std::vector<std::vector<Cell>> accumulators;
    std::unique_ptr<Merge> merge;
  };
  void choose_vector(const std::vector<Storage>& storages);
  void make_loops();
  Thread make_thread() const;
  bool run_points(Thread& thread, int64_t begin, int64_t end, std::span<void* const> outputs) const;
  bool reduce_point(Thread& thread, int64_t lanes, std::span<void* const> outputs) const;
  void finish(void* values, int64_t lanes, int component) const;

  Lowered lowered_;
  const Monoid monoid_;
  const bool reduces_;
  std::vector<int> roots_;
  std::vector<Cell> identity_;
  int vector_ = -1;
  double cost_ = 0;  ///< expected nanoseconds for one value
  int64_t lanes_ = 1;
  StripProgram program_;
  std::vector<Level> outer_, inner_;
  int strip_level_ = -1;  ///< in outer_, or in inner_ where strips run along the reduction
  bool along_reduction_ = false;
  bool in_place_ = false;  ///< accumulators are the output's own memory
  std::vector<Thread> threads_;
};

StripPlan::StripPlan(Lowered lowered, const MapReduce& stage, const std::vector<Storage>& storages)
    : lowered_(std::move(lowered)),
      monoid_(stage.combine),
      reduces_(!stage.combine.combine.empty()),
      roots_(lowered_.results),
      identity_(identity_of(stage.combine)) {
  coalesce(lowered_, roots_, true, {iterators_of(lowered_, Role::kSpatial), iterators_of(lowered_, Role::kReduce)});
  choose_vector(storages);
  program_ = compile_strip(lowered_, storages, roots_, vector_, reduces_ ? Results::kToLanes : Results::kToOutput);
  make_loops();
}

void StripPlan::choose_vector(const std::vector<Storage>& storages) {
  cost_ = std::numeric_limits<double>::infinity();
  for (int k = static_cast<int>(lowered_.iterators.size()) - 1; k >= 0; --k) {
    const Iterator& iterator = lowered_.iterators[k];
    if (iterator.extent == 1 || iterator.role == Role::kTime) continue;
    if (iterator.role == Role::kReduce && !(reduces_ && monoid_.commutative)) continue;
    const double cost = strip_cost(lowered_, storages, roots_, k, reduces_);
    if (cost >= cost_) continue;
    cost_ = cost;
    vector_ = k;
  }
  along_reduction_ = vector_ >= 0 && lowered_.iterators[vector_].role == Role::kReduce;
}

void StripPlan::make_loops() {
  // Neighbouring elements should be in the cache still when the next strips need them.
  const int neighbour = vector_ < 0 ? -1 : neighbouring_iterator(lowered_, roots_, vector_);
  if (vector_ >= 0) {
    const int64_t extent = lowered_.iterators[vector_].extent;
    const int64_t fitting = (24 << 10) / (8 * std::max(1, program_.scratch_areas + 1));
    int64_t most = std::clamp<int64_t>(fitting, 128, kMaxLanes);
    if (neighbour >= 0) most = 64;
    if (along_reduction_) most = extent >= 4096 ? kMaxLanes : 256;
    lanes_ = std::min(extent, most);
  }
  const auto add = [&](std::vector<Level>& levels, int k) {
    if (k == vector_) strip_level_ = static_cast<int>(levels.size());
    levels.push_back({k, lowered_.iterators[k].extent, k == vector_ ? lanes_ : 1});
  };
  for (int k = 0; k < static_cast<int>(lowered_.iterators.size()); ++k) {
    const Iterator& iterator = lowered_.iterators[k];
    if (iterator.extent == 1 || iterator.role == Role::kTime) continue;
    if (iterator.role == Role::kReduce)
      add(inner_, k);
    else if (k != neighbour)
      add(outer_, k);
  }
  if (neighbour >= 0) add(outer_, neighbour);
  in_place_ = reduces_ && !along_reduction_ && (vector_ < 0 || lowered_.output.factor_of(vector_) == 1);
}

StripPlan::Thread StripPlan::make_thread() const {
  Thread thread{Frame(program_, lanes_), {}, nullptr};
  thread.frame.sinks.resize(roots_.size());
  if (reduces_ && !in_place_) thread.accumulators.assign(roots_.size(), std::vector<Cell>(lanes_));
  if (along_reduction_) thread.merge = std::make_unique<Merge>(monoid_);
  return thread;
}

/// Wraps accumulated integers into their type's range.
void StripPlan::finish(void* values, int64_t lanes, int component) const {
  const Node& node = lowered_.nodes[roots_[component]];
  if (!node.unwrapped) return;
  const IntegerType type(node.dtype);
  auto* integers = static_cast<int64_t*>(values);
  for (int64_t l = 0; l < lanes; ++l) integers[l] = wrap(integers[l], type);
}

bool StripPlan::reduce_point(Thread& thread, int64_t lanes, std::span<void* const> outputs) const {
  Frame& frame = thread.frame;
  const int64_t accumulated = along_reduction_ ? lanes_ : lanes;
  // Slots may be corrected only where they are read; the output's has nothing to correct.
  const int64_t element = frame.base[program_.output_slot];
  for (size_t k = 0; k < roots_.size(); ++k) {
    auto* sink = in_place_ ? static_cast<Cell*>(outputs[k]) + element : thread.accumulators[k].data();
    std::fill_n(sink, accumulated, identity_[k]);
    frame.sinks[k] = sink;
  }
  Position position(inner_, frame);
  do {
    if (!frame.run(along_reduction_ ? position.length(strip_level_) : lanes)) return false;
  } while (position.next());
  const std::vector<void*> sinks = frame.sinks;
  if (along_reduction_) {
    for (size_t k = 0; k < roots_.size(); ++k) finish(sinks[k], accumulated, static_cast<int>(k));
    thread.merge->run(sinks, accumulated);
  }
  const int64_t stride = along_reduction_ || vector_ < 0 ? 1 : lowered_.output.factor_of(vector_);
  for (size_t k = 0; k < roots_.size(); ++k) {
    const int64_t count = along_reduction_ ? 1 : lanes;
    finish(sinks[k], count, static_cast<int>(k));
    if (in_place_) continue;
    for (int64_t l = 0; l < count; ++l)
      static_cast<Cell*>(outputs[k])[element + l * stride] = static_cast<const Cell*>(sinks[k])[l];
  }
  return true;
}

bool StripPlan::run_points(Thread& thread, int64_t begin, int64_t end, std::span<void* const> outputs) const {
  Position position(outer_, thread.frame);
  position.seek(begin);
  const int level = along_reduction_ ? -1 : strip_level_;
  if (!reduces_) std::copy(outputs.begin(), outputs.end(), thread.frame.sinks.begin());
  for (int64_t point = begin; point < end; ++point, position.next()) {
    const int64_t lanes = position.length(level);
    if (!(reduces_ ? reduce_point(thread, lanes, outputs) : thread.frame.run(lanes))) return false;
  }
  return true;
}

Result<void> StripPlan::run(const RunContext& context, std::span<void* const> outputs) {
  constexpr double kWorthAThread = 40'000;  // nanoseconds
  const int64_t total = points(outer_);
  double work = cost_;
  for (const Level& level : outer_) work *= static_cast<double>(level.extent);
  for (const Level& level : inner_) work *= static_cast<double>(level.extent);
  const bool parallel = context.pool && context.pool->threads() > 1 && work > 2 * kWorthAThread && total > 1;
  const int threads = parallel ? context.pool->threads() : 1;
  const int64_t chunks =
      parallel ? std::min<int64_t>({total, threads * 8, static_cast<int64_t>(work / kWorthAThread)}) : 1;

  while (static_cast<int>(threads_.size()) < threads) threads_.push_back(make_thread());
  std::vector<const void*> data;
  for (const BufferRef& ref : lowered_.buffers) data.push_back((*context.buffers)(ref).data());
  for (int t = 0; t < threads; ++t) threads_[t].frame.buffers = data;

  const int time = static_cast<int>(lowered_.iterators.size()) - 1;
  std::mutex mutex;
  int64_t failed_chunk = chunks;
  std::string failure;
  const auto run_chunk = [&](int64_t chunk, int thread) {
    Frame& frame = threads_[thread].frame;
    frame.reset();
    frame.advance(time, context.time);
    const auto edge = [&](int64_t k) { return total / chunks * k + std::min(k, total % chunks); };
    if (run_points(threads_[thread], edge(chunk), edge(chunk + 1), outputs)) return;
    // The first failure in the order of points, whichever thread is faster.
    const std::lock_guard lock(mutex);
    if (chunk < failed_chunk) {
      failed_chunk = chunk;
      failure = frame.failure;
    }
    frame.failure.clear();
  };
  if (parallel)
    context.pool->run(chunks, run_chunk);
  else
    run_chunk(0, 0);
  if (failed_chunk < chunks) return invalid("", "{}", failure);
  return {};
}

}  // namespace

std::vector<Cell> identity_of(const Monoid& monoid) {
  std::vector<Cell> values;
  for (const Expr& expr : monoid.identity) {
    ScalarCode code;
    const Section section = code.compile(expr);
    ScalarMachine machine(code);
    machine.run(section);
    values.push_back(machine[section.result]);
  }
  return values;
}

Result<std::unique_ptr<StagePlan>> plan_strips(Lowered lowered, const MapReduce& stage, const Buffers& buffers) {
  std::vector<Storage> storages;
  for (const BufferRef& ref : lowered.buffers) storages.push_back(buffers(ref).storage());
  return std::unique_ptr<StagePlan>(std::make_unique<StripPlan>(std::move(lowered), stage, storages));
}

}  // namespace isomer::te::interpreter
