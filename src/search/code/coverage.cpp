#include "search/code/coverage.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace isomer::search {
namespace {

std::string_view body_name(const runtime::Step& step, size_t body) {
  if (std::holds_alternative<runtime::LoopStep>(step.action)) return "body";
  return body == 0 ? "then side" : "else side";
}

/// Walks over the steps of a session, those of bodies behind their step.
class Counter {
 public:
  Counter(const Compilation& code, const runtime::Session& session)
      : code_(code), times_(session.times()), kernels_(code.artifact.kernels.size()) {
    for (const PlacedTask& placed : all_tasks(code.whole))
      if (placed.task->kernel >= 0) kernels_[placed.task->kernel].task = placed.task;
  }

  Coverage count() && {
    for (int number = 0; at_ < times_.size(); ++number) count_step(number, "", false);
    for (const KernelRuns& kernel : kernels_) {
      result_.kernels.count(1, kernel.ran);
      if (!kernel.task) continue;
      for (const kernel::Instruction& instruction : code_.kernel_of(*kernel.task).trace.instructions)
        result_.primitives[instruction.primitive].count(1, kernel.ran);
    }
    return std::move(result_);
  }

 private:
  struct KernelRuns {
    const GraphTask* task = nullptr;  ///< one of those that share it
    bool ran = false;
  };

  /// `inside`: the bodies around it, in words; `is_named`: one of them is named already.
  void count_step(int number, const std::string& inside, bool is_named) {
    const runtime::StepTime& time = times_[at_++];
    const bool ran = time.runs > 0;
    result_.steps.count(1, ran);
    if (const auto* step = std::get_if<runtime::KernelStep>(&time.step->action)) {
      KernelRuns& kernel = kernels_[step->kernel];
      kernel.ran |= ran;
      if (kernel.task) result_.stages.count(static_cast<int>(kernel.task->task.program.stages.size()), ran);
    }
    const std::string here = fmt::format("{}step {} ({})", inside, number, time.step->name);
    for (size_t body = 0; body < time.bodies.size(); ++body) {
      const bool body_ran = time.bodies[body] > 0;
      const std::string name = fmt::format("{}: {}", here, body_name(*time.step, body));
      result_.bodies.count(1, body_ran);
      if (!body_ran && !is_named) result_.missed.push_back(name);
      const size_t steps = steps_of(*time.step, body);
      for (size_t k = 0; k < steps; ++k) count_step(static_cast<int>(k), name + ", ", is_named || !body_ran);
    }
  }

  static size_t steps_of(const runtime::Step& step, size_t body) {
    if (const auto* loop = std::get_if<runtime::LoopStep>(&step.action)) return loop->body.steps.size();
    const auto& branch = std::get<runtime::BranchStep>(step.action);
    return (body == 0 ? branch.then_body : branch.else_body).steps.size();
  }

  const Compilation& code_;
  const std::vector<runtime::StepTime> times_;
  size_t at_ = 0;
  std::vector<KernelRuns> kernels_;
  Coverage result_;
};

}  // namespace

void Exercised::count(int some, bool did_run) {
  all += some;
  if (did_run) ran += some;
}

Exercised& Exercised::operator+=(const Exercised& other) {
  ran += other.ran;
  all += other.all;
  return *this;
}

std::string Exercised::text() const { return fmt::format("{} of {}", ran, all); }

Coverage& Coverage::operator+=(const Coverage& other) {
  steps += other.steps;
  bodies += other.bodies;
  stages += other.stages;
  kernels += other.kernels;
  for (const auto& [name, exercised] : other.primitives) primitives[name] += exercised;
  missed.insert(missed.end(), other.missed.begin(), other.missed.end());
  return *this;
}

std::vector<std::string> Coverage::lines() const {
  Exercised all;
  std::vector<std::string> by_name;
  for (const auto& [name, exercised] : primitives) {
    all += exercised;
    by_name.push_back(exercised.is_all() ? fmt::format("{} {}", name, exercised.all)
                                         : fmt::format("{} {}", name, exercised.text()));
  }
  std::string first = fmt::format("exercised: {} steps, {} stages, {} kernels, {} schedule primitives", steps.text(),
                                  stages.text(), kernels.text(), all.text());
  if (!by_name.empty()) first += fmt::format(" ({})", fmt::join(by_name, ", "));
  std::vector<std::string> lines = {std::move(first)};
  for (const std::string& name : missed) lines.push_back("not exercised: " + name);
  return lines;
}

Coverage coverage_of(const Compilation& code, const runtime::Session& session) {
  return Counter(code, session).count();
}

}  // namespace isomer::search
