#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "runtime/overloaded.h"
#include "runtime/prepared_step.h"
#include "util/stop.h"

namespace isomer::runtime {
namespace {

/// More than the loops of a model mean to run, all of one run together: a model whose loop never ends gives an error.
constexpr int64_t kMostIterations = int64_t{1} << 26;

/// A value's content and dims, away from its place.
struct Staged {
  const std::byte* data;
  int64_t bytes;
  std::vector<int64_t> dims;
};

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

class Executor::State {
 public:
  State(const Model& model, const Variant& variant, ValueTable& table, Device& device, KernelRunner& kernels,
        bool timed)
      : table_(table),
        device_(device),
        kernels_(kernels),
        timed_(timed),
        in_spans_(kernels.repeats() && !timed),
        steps_(prepare(model, variant.steps, table)) {}

  Result<void> run() {
    iterations_left_ = kMostIterations;
    kernels_.begin();
    auto done = run_steps(steps_);
    // What is still to be done uses memory of the caller.
    auto finished = kernels_.finish();
    return finished.ok() ? std::move(done) : std::move(finished);
  }

  void collect_times(const std::vector<PreparedStep>& steps, int depth, std::vector<StepTime>& times) const {
    for (const PreparedStep& step : steps) {
      StepTime& time = times.emplace_back(step.step, depth, step.runs, step.nanoseconds, step.times.median());
      for (const PreparedBody& body : step.bodies) time.bodies.push_back(body.runs);
      for (const PreparedBody& body : step.bodies) collect_times(body.steps, depth + 1, times);
    }
  }
  const std::vector<PreparedStep>& steps() const { return steps_; }

 private:
  Result<void> run_steps(std::vector<PreparedStep>& steps) {
    for (size_t k = 0; k < steps.size();) {
      const size_t end = k + (in_spans_ ? steps[k].span : 1);
      if (end == k + 1) {
        TRY_VOID(run_steps(steps, k, end));
      } else {
        TRY_VOID(kernels_.run_span(steps[k], [&] { return run_steps(steps, k, end); }));
      }
      for (; k < end; ++k) ++steps[k].runs;
    }
    return {};
  }

  Result<void> run_steps(std::vector<PreparedStep>& steps, size_t begin, size_t end) {
    for (size_t k = begin; k < end; ++k) {
      auto done = timed_ ? run_timed(steps[k]) : run_step(steps[k]);
      if (!done.ok()) return std::move(done).error().within(fmt::format("step {} ({})", k, steps[k].step->name));
    }
    return {};
  }

  Result<void> run_timed(PreparedStep& step) {
    const auto start = std::chrono::steady_clock::now();
    auto done = run_step(step);
    if (done.ok()) done = device_.finish();
    const int64_t took =
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
    step.nanoseconds += took;
    step.times.add(took);
    return done;
  }

  Result<void> run_step(PreparedStep& prepared) {
    return std::visit(Overloaded{
                          [&](const KernelStep&) { return kernels_.run(prepared); },
                          [&](const CopyStep& step) { return move(step.move); },
                          [&](const ShapeStep& step) -> Result<void> {
                            const auto dims = table_.dims(step.of);
                            device_.upload(table_.data(step.to), dims.data(), static_cast<int64_t>(dims.size_bytes()));
                            return {};
                          },
                          [&](const BranchStep& step) -> Result<void> {
                            TRY(const bool is_so, holds(step.condition));
                            return run_body(prepared.bodies[is_so ? 0 : 1]);
                          },
                          [&](const LoopStep& step) { return run_loop(step, prepared.bodies[0]); },
                      },
                      prepared.step->action);
  }

  template <class T>
  Result<T> read_scalar(int32_t value) {
    T scalar;
    TRY_VOID(device_.download(&scalar, table_.data(value), sizeof scalar));
    return scalar;
  }
  Result<bool> holds(int32_t condition) {
    TRY(const uint8_t byte, read_scalar<uint8_t>(condition));
    return byte != 0;
  }

  Error out_of_memory() const {
    return unsupported("", "{}", table_.problem().empty() ? "memory expected, none found" : table_.problem());
  }

  Result<void> run_body(PreparedBody& body) {
    ++body.runs;
    TRY_VOID(run_steps(body.steps));
    return run_moves(body);
  }

  Result<void> run_moves(const PreparedBody& body) {
    if (!body.is_staged) {
      for (const Move& one : *body.moves) TRY_VOID(move(one));
      return {};
    }
    int64_t bytes = 0;
    for (const Move& one : *body.moves) bytes += aligned(table_.bytes(one.from));
    if (staging_.bytes() < bytes) {
      auto larger = device_.allocate(bytes);
      if (!larger) return unsupported("", "{} bytes of memory for what is carried over expected, less found", bytes);
      staging_ = std::move(*larger);
    }
    std::vector<Staged> staged;
    std::byte* place = staging_.data();
    for (const Move& one : *body.moves) {
      const auto dims = table_.dims(one.from);
      staged.push_back({place, table_.bytes(one.from), {dims.begin(), dims.end()}});
      device_.copy(place, table_.data(one.from), table_.bytes(one.from));
      place += aligned(table_.bytes(one.from));
    }
    for (size_t k = 0; k < staged.size(); ++k)
      TRY_VOID(write((*body.moves)[k].to, staged[k].dims, staged[k].data, staged[k].bytes));
    return {};
  }

  Result<void> move(const Move& move) {
    return write(move.to, table_.dims(move.from), table_.data(move.from), table_.bytes(move.from));
  }

  Result<void> write(int32_t to, std::span<const int64_t> dims, const std::byte* data, int64_t bytes) {
    if (table_.is_open(to)) {
      if (!table_.resize(to, dims)) return out_of_memory();
    } else if (!std::ranges::equal(dims, table_.dims(to))) {
      const Value& value = table_.value(to);
      return invalid("", "{} expected, {} found", describe(value.type, value.dims), describe(value.type, dims));
    }
    device_.copy(table_.data(to), data, bytes);
    return {};
  }

  Result<void> run_loop(const LoopStep& step, PreparedBody& body) {
    int64_t trips = std::numeric_limits<int64_t>::max();
    if (step.trip_count != -1) {
      TRY(trips, read_scalar<int64_t>(step.trip_count));
    }
    for (const Stack& stack : step.stacks) TRY_VOID(clear(stack));
    int64_t iteration = 0;
    for (; iteration < trips; ++iteration) {
      if (step.condition != -1) {
        TRY(const bool goes_on, holds(step.condition));
        if (!goes_on) break;
      }
      if (step.iteration != -1) device_.upload(table_.data(step.iteration), &iteration, sizeof iteration);
      auto done = run_iteration(step, body, iteration);
      if (!done.ok()) return std::move(done).error().within(fmt::format("iteration {}", iteration));
    }
    for (const Stack& stack : step.stacks) {
      if (table_.is_open(stack.to) || table_.dims(stack.to)[0] == iteration) continue;
      return invalid("", "{} iterations expected, {} found", table_.dims(stack.to)[0], iteration);
    }
    return {};
  }

  // The moves come last: they write what the stacks take.
  Result<void> run_iteration(const LoopStep& step, PreparedBody& body, int64_t iteration) {
    if (--iterations_left_ < 0)
      return unsupported("", "at most {} iterations of all loops expected, more found", kMostIterations);
    TRY_VOID(check_stop());
    ++body.runs;
    TRY_VOID(run_steps(body.steps));
    for (const Stack& stack : step.stacks) TRY_VOID(push(stack, iteration));
    return run_moves(body);
  }

  /// Of no elements; what is no multiple of the first dim stays as declared.
  Result<void> clear(const Stack& stack) {
    if (!table_.is_open(stack.to)) return {};
    std::vector<int64_t> dims = table_.value(stack.to).dims;
    for (int64_t& dim : dims) dim = std::max<int64_t>(dim, 0);
    dims[0] = 0;
    return table_.resize(stack.to, dims) ? Result<void>() : out_of_memory();
  }

  Result<void> push(const Stack& stack, int64_t iteration) {
    const auto element = table_.dims(stack.from);
    const auto before = table_.dims(stack.to);
    const int64_t bytes = table_.bytes(stack.from);
    if (iteration > 0 && !std::ranges::equal(element, before.subspan(1))) {
      const ElementType type = table_.value(stack.to).type;
      return invalid("", "{} as in the iterations before expected, {} found", describe(type, before.subspan(1)),
                     describe(type, element));
    }
    if (table_.is_open(stack.to)) {
      std::vector<int64_t> dims = {iteration + 1};
      dims.insert(dims.end(), element.begin(), element.end());
      if (!table_.grow(stack.to, dims)) return out_of_memory();
    } else if (iteration >= before[0]) {
      return invalid("", "{} iterations expected, more found", before[0]);
    }
    device_.copy(table_.data(stack.to) + iteration * bytes, table_.data(stack.from), bytes);
    return {};
  }

  ValueTable& table_;
  Device& device_;
  KernelRunner& kernels_;
  const bool timed_, in_spans_;
  std::vector<PreparedStep> steps_;
  DeviceMemory staging_;  ///< of moves that are done at once
  int64_t iterations_left_ = 0;
};

Executor::Executor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executor::Executor(Executor&&) noexcept = default;
Executor::~Executor() = default;

Executor Executor::create(const Model& model, const Variant& variant, ValueTable& table, Device& device,
                          KernelRunner& kernels, bool timed) {
  return Executor(std::make_unique<State>(model, variant, table, device, kernels, timed));
}

Result<void> Executor::run() { return state_->run(); }

std::vector<StepTime> Executor::times() const {
  std::vector<StepTime> times;
  state_->collect_times(state_->steps(), 0, times);
  return times;
}

}  // namespace isomer::runtime
