// Sums of products as matrix products. The sides are whatever expressions the factors are: padding, strides, dilation,
// conversions and gathers happen while panels are packed.
#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>

#include "graph/te/interpret/arithmetic.h"
#include "graph/te/interpret/contraction_sides.h"
#include "graph/te/interpret/matrix_product.h"
#include "graph/te/interpret/stage_plan.h"

namespace isomer::te::interpreter {
namespace {

std::vector<Level> levels_of(const Lowered& lowered, const Group& group) {
  std::vector<Level> levels;
  for (const int k : group) levels.push_back({k, lowered.iterators[k].extent});
  return levels;
}

/// Σ of what the iterators of the levels add to the output's place, for each of their points in order.
std::vector<int64_t> places_of(const Lowered& lowered, const std::vector<Level>& levels) {
  std::vector<int64_t> places = {0};
  for (const Level& level : levels) {
    std::vector<int64_t> next;
    next.reserve(places.size() * level.extent);
    for (const int64_t place : places)
      for (int64_t i = 0; i < level.extent; ++i) next.push_back(place + i * lowered.output.factor_of(level.iterator));
    places = std::move(next);
  }
  return places;
}

class ContractionPlan : public StagePlan {
 public:
  ContractionPlan(const Lowered& lowered, const MapReduce& stage, const Sides& sides,
                  const std::vector<Storage>& storages)
      : lowered_(lowered),
        stage_(stage),
        batch_(levels_of(lowered, sides.batch)),
        rows_(levels_of(lowered, sides.rows)),
        columns_(levels_of(lowered, sides.columns)),
        depth_(levels_of(lowered, sides.depth)),
        left_(lowered, storages, sides.left, rows_, depth_, micro_kernel().rows),
        right_(lowered, storages, sides.right, columns_, depth_, micro_kernel().columns),
        places_{places_of(lowered, rows_), places_of(lowered, columns_)},
        batch_places_(places_of(lowered, batch_)),
        product_(left_, right_, points(depth_), places_, sides.left_must_be_finite, sides.right_must_be_finite) {}

  const std::vector<BufferRef>& buffers() const override { return lowered_.buffers; }

  /// Expected nanoseconds, in one thread.
  double cost() const {
    constexpr double kMultiply = 0.06, kStore = 0.5, kProduct = 2000;
    const auto padded = [](int64_t count, int unit) { return static_cast<double>((count + unit - 1) / unit * unit); };
    const auto rows = static_cast<double>(points(rows_)), columns = static_cast<double>(points(columns_));
    const auto depth = static_cast<double>(points(depth_));
    const double multiply = padded(points(rows_), micro_kernel().rows) *
                            padded(points(columns_), micro_kernel().columns) * depth * kMultiply;
    const double pack = (rows * left_.cost() + columns * right_.cost()) * depth;
    return static_cast<double>(points(batch_)) * (multiply + pack + rows * columns * kStore + kProduct);
  }

  Result<void> run(const RunContext& context, std::span<void* const> outputs) override;

 private:
  /// Points the frames to their arrays and to a point of the batch.
  void start(MatrixProduct::Thread& thread, const RunContext& context, int64_t batch) const;
  void convert_to_integers(ThreadPool* pool, void* output) const;

  const Lowered lowered_;
  const MapReduce& stage_;
  const std::vector<Level> batch_, rows_, columns_, depth_;
  const Packer left_, right_;
  const ResultPlaces places_;
  const std::vector<int64_t> batch_places_;
  const MatrixProduct product_;
  std::unique_ptr<StagePlan> fallback_;  ///< for sides that are not finite where they must be
};

void ContractionPlan::start(MatrixProduct::Thread& thread, const RunContext& context, int64_t batch) const {
  for (Frame* frame : {&thread.left.frame, &thread.right.frame}) {
    for (size_t k = 0; k < lowered_.buffers.size(); ++k)
      frame->buffers[k] = (*context.buffers)(lowered_.buffers[k]).data();
    frame->failure.clear();
    frame->reset();
    frame->advance(static_cast<int>(lowered_.iterators.size()) - 1, context.time);
    Position(batch_, *frame).seek(batch);
  }
}

void ContractionPlan::convert_to_integers(ThreadPool* pool, void* output) const {
  const IntegerType type(stage_.bodies[0].dtype());
  const int64_t total = static_cast<int64_t>(batch_places_.size() * places_.rows.size() * places_.columns.size());
  const int64_t chunk = std::max<int64_t>(total / 16, 1 << 14);
  const auto convert = [&](int64_t task, int) {
    auto* cells = static_cast<Cell*>(output);
    for (int64_t i = task * chunk; i < std::min(total, (task + 1) * chunk); ++i)
      cells[i] = Cell{.integer = wrap(static_cast<int64_t>(cells[i].real), type)};
  };
  const int64_t tasks = (total + chunk - 1) / chunk;
  if (pool) return pool->run(tasks, convert);
  for (int64_t task = 0; task < tasks; ++task) convert(task, 0);
}

Result<void> ContractionPlan::run(const RunContext& context, std::span<void* const> outputs) {
  constexpr double kWorthAThread = 60'000;  // nanoseconds
  const int64_t batches = points(batch_);
  const double work = cost();
  const int threads = context.pool && work > 2 * kWorthAThread ? context.pool->threads() : 1;
  const bool by_batch = threads == 1 || batches >= 4 * threads || work / static_cast<double>(batches) < kWorthAThread;
  std::vector<MatrixProduct::Thread> states;
  for (int t = 0; t < threads; ++t) states.push_back(product_.make_thread());

  auto* result = static_cast<double*>(outputs[0]);
  std::mutex mutex;
  ProductEnd worst = ProductEnd::kDone;
  int64_t failed_batch = batches;
  std::string failure;
  const auto note = [&](ProductEnd end, int64_t batch, std::span<const MatrixProduct::Thread> of) {
    if (end == ProductEnd::kDone) return;
    const std::lock_guard lock(mutex);
    worst = std::max(worst, end);
    if (batch >= failed_batch) return;
    for (const MatrixProduct::Thread& state : of)
      for (const Frame* frame : {&state.left.frame, &state.right.frame})
        if (!frame->failure.empty()) failure = frame->failure;
    if (end == ProductEnd::kFailed) failed_batch = batch;
  };
  if (by_batch) {
    const auto run_batch = [&](int64_t batch, int thread) {
      start(states[thread], context, batch);
      note(product_.run(states[thread], result + batch_places_[batch]), batch, {&states[thread], 1});
    };
    if (threads > 1)
      context.pool->run(batches, run_batch);
    else
      for (int64_t batch = 0; batch < batches; ++batch) run_batch(batch, 0);
  } else {
    for (int64_t batch = 0; batch < batches && worst == ProductEnd::kDone; ++batch) {
      for (MatrixProduct::Thread& state : states) start(state, context, batch);
      note(product_.run_shared(states, *context.pool, result + batch_places_[batch]), batch, states);
    }
  }
  if (worst == ProductEnd::kFailed) return invalid("", "{}", failure);
  if (worst == ProductEnd::kNotFinite) {
    if (!fallback_) {
      TRY(fallback_, plan_strips(lowered_, stage_, *context.buffers));
    }
    return fallback_->run(context, outputs);
  }
  if (!is_float(stage_.bodies[0].dtype())) convert_to_integers(context.pool, outputs[0]);
  return {};
}

}  // namespace

std::unique_ptr<StagePlan> plan_contraction(Lowered& lowered, const MapReduce& stage, const Buffers& buffers) {
  if (stage.bodies.size() != 1 || stage.reduce.empty()) return nullptr;
  const size_t nodes = lowered.nodes.size();
  const std::optional<Sides> sides = find_sides(lowered, stage);
  if (!sides) return nullptr;
  std::vector<Storage> storages;
  for (const BufferRef& ref : lowered.buffers) storages.push_back(buffers(ref).storage());
  auto plan = std::make_unique<ContractionPlan>(lowered, stage, *sides, storages);
  double strips = std::numeric_limits<double>::infinity();
  double terms = 1;
  for (size_t k = 0; k < lowered.iterators.size(); ++k) {
    if (lowered.iterators[k].role == Role::kTime) continue;
    terms *= static_cast<double>(lowered.iterators[k].extent);
    strips = std::min(strips, strip_cost(lowered, storages, lowered.results, static_cast<int>(k), true));
  }
  if (plan->cost() < strips * terms) return plan;
  lowered.nodes.resize(nodes, Node{Node::Kind::kInteger});
  return nullptr;
}

}  // namespace isomer::te::interpreter
