#include "runtime/cuda/kernels.h"

#include <algorithm>
#include <map>

#include "runtime/cuda/event_clock.h"
#include "runtime/overloaded.h"

namespace isomer::runtime::cuda {
namespace {

/// In the order of PreparedStep::number.
void collect_names(const std::vector<Step>& steps, std::vector<std::string>& names) {
  for (const Step& step : steps)
    std::visit(Overloaded{
                   [&](const KernelStep&) { names.push_back(step.name); },
                   [](const CopyStep&) {},
                   [](const ShapeStep&) {},
                   [&](const BranchStep& branch) {
                     collect_names(branch.then_body.steps, names);
                     collect_names(branch.else_body.steps, names);
                   },
                   [&](const LoopStep& loop) { collect_names(loop.body.steps, names); },
               },
               step.action);
}

class GpuKernels : public KernelRunner {
 public:
  GpuKernels(const Model& model, const Variant& variant, const Resident& resident, GpuDevice& device,
             const ValueTable& table)
      : kernels_(model.artifact().kernels.data()), resident_(resident), device_(device), table_(table) {
    collect_names(variant.steps, names_);
  }

  Result<void> open(bool timed) {
    if (timed) {
      TRY(clock_, EventClock::create(device_));
    }
    auto words = device_.allocate(word_bytes());
    if (!words) return unsupported("", "memory of the GPU expected, none found");
    words_ = std::move(*words);
    return {};
  }

  void begin() override {
    device_.clear(words_.data(), word_bytes());
    if (clock_) clock_->start();
  }

  Result<void> run(const PreparedStep& step) override {
    const auto number = static_cast<int32_t>(step.kernel - kernels_);
    const std::vector<Launch>& launches = step.kernel->launches;
    run_parts(launches, [&](const Launch& launch, int64_t turn) {
      ask(step, launch, resident_.functions(number)[static_cast<size_t>(&launch - launches.data())], turn);
      return Outcome::kDone;
    });
    return {};
  }

  bool repeats() const override { return true; }
  Result<void> run_span(const PreparedStep& first, const std::function<Result<void>()>& enqueue) override {
    Span& span = spans_[&first];
    const bool is_same = span.moves == table_.moves();
    // Values that moved once may do so in every run: what came twice is captured.
    if (!is_same) span = {table_.moves(), nullptr};
    if (is_same && !span.graph && --span.runs_to_wait <= 0) {
      span.graph = device_.capture(enqueue);
      // Others may have ended the capture, or it always ends: what fails is tried again, each time later.
      span.runs_to_wait = span.pause;
      span.pause *= 2;
    }
    if (!span.graph) return enqueue();
    device_.ask("a graph to run", [&] { return device_.gpu().driver().graph_launch(*span.graph, device_.stream()); });
    return {};
  }

  Result<void> finish() override {
    if (clock_) clock_->stop();
    std::vector<int32_t> words(names_.size());
    TRY_VOID(device_.download(words.data(), words_.data(), word_bytes()));
    const auto failed = std::ranges::find_if(words, [](int32_t word) { return word != 0; });
    if (failed == words.end()) {
      if (clock_) {
        TRY(seconds_, clock_->seconds());
      }
      return {};
    }
    return failure(static_cast<Outcome>(*failed)).within(fmt::format("step {}", names_[failed - words.begin()]));
  }

  double seconds() const override { return seconds_; }

 private:
  /// Steps that only ask for work.
  struct Span {
    int64_t moves = -1;  ///< of values, when it ran last
    std::shared_ptr<const GraphExec> graph;
    int64_t runs_to_wait = 0, pause = 1;  ///< until it is captured; after a capture that failed
  };

  int64_t word_bytes() const { return static_cast<int64_t>(names_.size() * sizeof(int32_t)); }

  void ask(const PreparedStep& step, const Launch& launch, Function function, int64_t turn) {
    Address word = reinterpret_cast<Address>(words_.data()) + static_cast<Address>(step.number) * sizeof(int32_t);
    auto turn_number = static_cast<int32_t>(turn);
    std::vector<void*> arguments = {&word};
    for (const int32_t buffer : launch.buffers)
      arguments.push_back(static_cast<void*>(const_cast<void**>(&step.buffers[static_cast<size_t>(buffer)])));
    if (launch.takes_turn) arguments.push_back(&turn_number);
    const auto size = [](int64_t count) { return static_cast<unsigned>(count); };
    device_.ask(launch.function, [&] {
      return device_.gpu().driver().launch(function, size(launch.blocks[0]), size(launch.blocks[1]),
                                           size(launch.blocks[2]), size(launch.threads[0]), size(launch.threads[1]),
                                           size(launch.threads[2]), size(launch.shared_bytes), device_.stream(),
                                           arguments.data(), nullptr);
    });
  }

  const Kernel* const kernels_;
  const Resident& resident_;
  GpuDevice& device_;
  const ValueTable& table_;
  std::vector<std::string> names_;  ///< of kernel steps, by number
  DeviceMemory words_;              ///< of errors, by number
  std::map<const PreparedStep*, Span> spans_;
  std::unique_ptr<EventClock> clock_;  ///< where runs are measured
  double seconds_ = 0;
};

}  // namespace

Result<std::unique_ptr<KernelRunner>> gpu_kernels(const Model& model, const Variant& variant, const Resident& resident,
                                                  GpuDevice& device, const ValueTable& table, bool timed) {
  auto made = std::make_unique<GpuKernels>(model, variant, resident, device, table);
  TRY_VOID(made->open(timed));
  return std::unique_ptr<KernelRunner>(std::move(made));
}

}  // namespace isomer::runtime::cuda
