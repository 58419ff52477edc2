// A task that copies floats, and a code generator that plants what a decision says in the copy.
#pragma once

#include <functional>

#include "kernel/examples.h"
#include "kernel/fingerprint.h"
#include "kernel/tree.h"
#include "measure/machine_code.h"
#include "tune/examples.h"
#include "tune/features.h"
#include "tune/tuned.h"
#include "tune/tuner.h"

namespace isomer::tune::test {

inline constexpr int64_t kCopied = int64_t{4} * 16 * 1024;  ///< bytes
inline constexpr const char* kPlanted = "planted";

inline Problem copy_problem() {
  const kernel::test::Example example = {
      "copy", "s0 = map [16, 1024] { in0[i0, i1]:float32 }\noutput s0\n", {{16, 1024}}};
  const kernel::Kernel kernel = kernel::test::lowered(example);
  return {kernel::Schedule(kernel), kernel::structural_hash(kernel), 0, 0, example.name, types_of(kernel),
          Weights::kInCache};
}

/// Schedules by number, 0 preferred; the code generator finds the number in an annotation.
inline kernel::Space numbered_space(int64_t most) {
  kernel::Module module;
  module.name = kPlanted;
  module.applies = [](const kernel::View&, const std::string&) { return true; };
  module.apply = [most](kernel::Builder& builder, const std::string& block) {
    std::vector<int64_t> numbers;
    for (int64_t k = 0; k <= most; ++k) numbers.push_back(k);
    const int64_t number = builder.decide(block, kPlanted, numbers, 0);
    if (number == 0) return;
    const auto annotated = builder.schedule.annotate(builder.schedule.loops(block)->back(), kPlanted, number);
    CHECK(annotated.ok());
  };
  return {{false, {module}}};
}

inline int64_t number_of(const kernel::Kernel& kernel) {
  int64_t number = 0;
  kernel::for_each_block(kernel.body, [&](const kernel::Block&, const std::vector<const kernel::Loop*>& loops) {
    for (const kernel::Loop* loop : loops)
      if (const auto found = loop->annotations.find(kPlanted); found != loop->annotations.end()) number = found->second;
  });
  return number;
}

/// A copy with what is planted in it; slow where that is nothing.
inline Result<kernel::MachineCode> copy_with(const kernel::Kernel& kernel, const isomer::test::Plant* plant) {
  using isomer::test::operator+;
  constexpr int kSlow = 300'000;
  const isomer::test::Bytes wait = {0xFF, 0xC9, 0x75, 0xFC};  // dec ecx; jnz -4
  isomer::test::Bytes code;
  if (!plant) code = isomer::test::Bytes{0xB9} + isomer::test::word(kSlow) + wait;
  code = code + isomer::test::copy_code(kernel.inputs[0], kernel.outputs[0], kCopied, plant ? plant->left : 0);
  if (plant) code = code + plant->code;
  return kernel::MachineCode{isomer::test::image(code + isomer::test::kReturn), {{runtime::Part()}}};
}

/// Microseconds by a schedule's number: what its job carries instead of code.
class PlantedClock : public Measurer {
 public:
  using Times = std::function<double(int64_t number)>;
  PlantedClock(const MeasuringOptions& options, Times times)
      : Measurer(kernel::host_target(), options), times_(std::move(times)) {}

  std::vector<Result<ClockJob>> compile(std::span<const Candidate> candidates) const override {
    std::vector<Result<ClockJob>> jobs;
    for (const Candidate& each : candidates) {
      ClockJob job;
      job.code.resize(1 + static_cast<size_t>(number_of(each.made.kernel)));
      jobs.emplace_back(std::move(job));
    }
    return jobs;
  }
  Result<Measured> time(const Result<ClockJob>& job, double, double) override {
    if (!job.ok()) return Measured{Fault::kCode, job.error().message(), 0, 0};
    return Measured{Fault::kNone, {}, times_(std::ssize(job->code) - 1), 3};
  }
  Result<std::optional<Measured>> check(const Candidate&, const ClockJob&, const Candidate&) override {
    return std::optional(Measured{});
  }

 private:
  Times times_;
};

inline kernel::RecordKey key_of(const Problem& problem) {
  return {problem.hash, kernel::fingerprint(kernel::host_target(), 1), kernel::generator_version()};
}

inline TuneOptions planted_options(int64_t trials) {
  TuneOptions options;
  options.target = kernel::host_target();
  options.machine = machine();
  options.trials = trials;
  options.round = 3;  // each of which is contested, if it is faster
  options.space = numbered_space(trials);
  options.strategy = "exhaustive";
  return options;
}

}  // namespace isomer::tune::test
