#include "runtime/executor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>

#include "runtime/math_table.h"
#include "runtime/overloaded.h"
#include "runtime/prepared_step.h"
#include "util/stop.h"

namespace isomer::runtime {
namespace {

/// More than the loops of a model mean to run, all of one run together: a model whose loop never ends gives an error.
constexpr int64_t kMostIterations = int64_t{1} << 26;

/// A thread's frame, on cache lines of its own. Code sees its first member.
struct alignas(64) ThreadFrame {
  Frame frame = {};
  ValueTable* table = nullptr;
  const PreparedStep* step = nullptr;
};

bool resize_buffer(Frame* frame, int32_t buffer, int64_t bytes) {
  auto* thread = reinterpret_cast<ThreadFrame*>(frame);
  return thread->table->resize_cleared((*thread->step->arguments)[buffer], bytes);
}

/// Clang's sanitizer looks for the type of a function before its first byte; machine code has none there.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
Outcome
call(PartFunction function, Frame* frame, int64_t begin, int64_t end) {
  return static_cast<Outcome>(function(frame, begin, end));
}

template <class T>
T read_scalar(const ValueTable& table, int32_t value) {
  T scalar;
  std::memcpy(&scalar, table.data(value), sizeof scalar);
  return scalar;
}
bool holds(const ValueTable& table, int32_t condition) { return read_scalar<uint8_t>(table, condition) != 0; }

/// A value's content and dims, away from its place.
struct Staged {
  std::vector<std::byte> bytes;
  std::vector<int64_t> dims;
};

}  // namespace

class Executor::State {
 public:
  State(const Model& model, const Variant& variant, ValueTable& table, Workers& workers, bool timed)
      : code_(model.code()),
        table_(table),
        workers_(workers),
        timed_(timed),
        steps_(prepare(model, variant.steps, table)),
        frames_(workers.threads()) {}

  Result<void> take_scratch(int64_t bytes) {
    for (ThreadFrame& thread : frames_) {
      auto memory = Memory::allocate(bytes);
      if (!memory) return unsupported("scratch", "{} bytes of memory for each thread expected, less found", bytes);
      thread.frame = {nullptr, nullptr, memory->data(), resize_buffer, math_table(), 0};
      thread.table = &table_;
      scratch_.push_back(std::move(*memory));
    }
    return {};
  }

  Result<void> run() {
    iterations_left_ = kMostIterations;
    return run_steps(steps_);
  }

  void collect_times(const std::vector<PreparedStep>& steps, int depth, std::vector<StepTime>& times) const {
    for (const PreparedStep& step : steps) {
      StepTime& time = times.emplace_back(step.step, depth, step.runs, step.nanoseconds);
      for (const PreparedBody& body : step.bodies) time.bodies.push_back(body.runs);
      for (const PreparedBody& body : step.bodies) collect_times(body.steps, depth + 1, times);
    }
  }
  const std::vector<PreparedStep>& steps() const { return steps_; }

 private:
  Result<void> run_steps(std::vector<PreparedStep>& steps) {
    for (size_t k = 0; k < steps.size(); ++k) {
      auto done = timed_ ? run_timed(steps[k]) : run_step(steps[k]);
      ++steps[k].runs;
      if (!done.ok()) return std::move(done).error().within(fmt::format("step {} ({})", k, steps[k].step->name));
    }
    return {};
  }

  Result<void> run_timed(PreparedStep& step) {
    const auto start = std::chrono::steady_clock::now();
    auto done = run_step(step);
    step.nanoseconds +=
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start).count();
    return done;
  }

  Result<void> run_step(PreparedStep& prepared) {
    return std::visit(
        Overloaded{
            [&](const KernelStep&) { return run_kernel(prepared); },
            [&](const CopyStep& step) { return move(step.move); },
            [&](const ShapeStep& step) -> Result<void> {
              const auto dims = table_.dims(step.of);
              std::copy(dims.begin(), dims.end(), reinterpret_cast<int64_t*>(table_.data(step.to)));
              return {};
            },
            [&](const BranchStep& step) { return run_body(prepared.bodies[holds(table_, step.condition) ? 0 : 1]); },
            [&](const LoopStep& step) { return run_loop(step, prepared.bodies[0]); },
        },
        prepared.step->action);
  }

  Result<void> run_kernel(const PreparedStep& step) {
    const Outcome outcome =
        run_parts(step.parts, [&](const Part& part, int64_t turn) { return run_part(step, part, turn); });
    return outcome == Outcome::kDone ? Result<void>() : failure(outcome);
  }

  Outcome run_part(const PreparedStep& step, const Part& part, int64_t turn) {
    const auto function = reinterpret_cast<PartFunction>(reinterpret_cast<uintptr_t>(code_ + part.entry));
    std::atomic<Outcome> outcome = Outcome::kDone;
    workers_.share(part.iterations, part.grain,
                   [frames = frames_.data(), step = &step, function, turn, outcome = &outcome](
                       int number, int64_t begin, int64_t end) {
                     ThreadFrame& thread = frames[number];
                     thread.step = step;
                     thread.frame.buffers = const_cast<void**>(step->buffers.data());
                     thread.frame.extents = const_cast<int64_t**>(step->extents.data());
                     thread.frame.turn = turn;
                     const Outcome end_of_range = call(function, &thread.frame, begin, end);
                     if (end_of_range != Outcome::kDone) outcome->store(end_of_range, std::memory_order_relaxed);
                   });
    return outcome;
  }

  Error failure(Outcome outcome) const {
    switch (outcome) {
      case Outcome::kIndexOutOfRange: return invalid("", "an index inside of its axis expected, one outside found");
      case Outcome::kDivisionByZero: return invalid("", "an integer divisor other than 0 expected, 0 found");
      case Outcome::kOutOfMemory: return out_of_memory();
      case Outcome::kDone: break;
    }
    return invalid("", "a kernel that ends as kernels do expected, code {} found", static_cast<int>(outcome));
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
    std::vector<Staged> staged;
    for (const Move& one : *body.moves) {
      const auto dims = table_.dims(one.from);
      staged.push_back(
          {{table_.data(one.from), table_.data(one.from) + table_.bytes(one.from)}, {dims.begin(), dims.end()}});
    }
    for (size_t k = 0; k < staged.size(); ++k) TRY_VOID(write((*body.moves)[k].to, staged[k].dims, staged[k].bytes));
    return {};
  }

  Result<void> move(const Move& move) {
    return write(move.to, table_.dims(move.from),
                 {table_.data(move.from), static_cast<size_t>(table_.bytes(move.from))});
  }

  Result<void> write(int32_t to, std::span<const int64_t> dims, std::span<const std::byte> bytes) {
    if (table_.is_open(to)) {
      if (!table_.resize(to, dims)) return out_of_memory();
    } else if (!std::ranges::equal(dims, table_.dims(to))) {
      const Value& value = table_.value(to);
      return invalid("", "{} expected, {} found", describe(value.type, value.dims), describe(value.type, dims));
    }
    if (!bytes.empty()) std::memmove(table_.data(to), bytes.data(), bytes.size());
    return {};
  }

  Result<void> run_loop(const LoopStep& step, PreparedBody& body) {
    const int64_t trips =
        step.trip_count == -1 ? std::numeric_limits<int64_t>::max() : read_scalar<int64_t>(table_, step.trip_count);
    for (const Stack& stack : step.stacks) TRY_VOID(clear(stack));
    int64_t iteration = 0;
    for (; iteration < trips && (step.condition == -1 || holds(table_, step.condition)); ++iteration) {
      if (step.iteration != -1) std::memcpy(table_.data(step.iteration), &iteration, sizeof iteration);
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
    if (bytes > 0) std::memmove(table_.data(stack.to) + iteration * bytes, table_.data(stack.from), bytes);
    return {};
  }

  const std::byte* const code_;
  ValueTable& table_;
  Workers& workers_;
  const bool timed_;
  std::vector<PreparedStep> steps_;
  std::vector<ThreadFrame> frames_;
  std::vector<Memory> scratch_;
  int64_t iterations_left_ = 0;
};

Executor::Executor(std::unique_ptr<State> state) : state_(std::move(state)) {}
Executor::Executor(Executor&&) noexcept = default;
Executor::~Executor() = default;

Result<Executor> Executor::create(const Model& model, const Variant& variant, ValueTable& table, Workers& workers,
                                  bool timed) {
  auto state = std::make_unique<State>(model, variant, table, workers, timed);
  TRY_VOID(state->take_scratch(scratch_bytes(model, variant.steps)));
  return Executor(std::move(state));
}

Result<void> Executor::run() { return state_->run(); }

std::vector<StepTime> Executor::times() const {
  std::vector<StepTime> times;
  state_->collect_times(state_->steps(), 0, times);
  return times;
}

}  // namespace isomer::runtime
