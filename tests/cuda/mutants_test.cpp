// What the emulator is worth on the code of random schedules: each of its barriers removed, an index off by one,
// all threads or blocks of an axis taken for the first, lanes of a warp that are left out. Such a mutant is found, by a
// finding or a wrong result, unless it means the same.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>

#include "cuda/emulator.h"
#include "kernel/launch_examples.h"
#include "kernel/run_kernel.h"
#include "kernel/space/gpu_modules.h"
#include "support/long_run.h"

namespace isomer::kernel::test {
namespace {

using isomer::test::is_long_run;

struct Tally {
  int all = 0, found = 0;
  std::vector<std::string> survivors = {};
};

/// A kernel of a random schedule with barriers.
struct Subject {
  Example example;
  Kernel kernel;
  CudaKernel code;
  std::vector<Tensor> inputs;
  std::vector<Tensor> expected;

  /// Every launch has several threads and several blocks along x.
  bool is_wide() const {
    return std::ranges::all_of(
        code.launches, [](const CudaLaunch& each) { return each.launch.blocks[0] > 1 && each.launch.threads[0] > 1; });
  }
  std::vector<std::string> functions() const {
    std::vector<std::string> names;
    for (const CudaLaunch& launch : code.launches) names.push_back(launch.function);
    return names;
  }
  /// In either order of the threads.
  bool shows(const std::string& text) const {
    const EmulatedLibrary library(text, functions());
    for (const ThreadOrder order : {ThreadOrder::kForward, ThreadOrder::kBackward}) {
      const EmulatedRun run = emulate(library, kernel, code, inputs, order);
      if (!run.findings.empty() || run.outcome != 0) return true;
      for (size_t k = 0; k < expected.size(); ++k)
        if (!std::ranges::equal(run.outputs[k].bytes(), expected[k].bytes())) return true;
    }
    return false;
  }
};

/// Nothing where it has no barriers, or its sums depend on their order.
std::optional<Subject> subject_of(const Example& example, const Schedule& schedule, Random& random) {
  Subject subject{example, schedule.finish(), {}, integers(example, random), {}};
  subject.code = ok(emit_cuda(subject.kernel, "f"));
  if (subject.code.text.find("__syncthreads();") == std::string::npos) return std::nullopt;
  subject.expected = ok(run(lowered(example), subject.inputs, host_target())).outputs;
  if (subject.shows(subject.code.text)) return std::nullopt;
  return subject;
}

std::optional<Subject> random_subject(Random& random, size_t number) {
  const Example example = number % 3 == 0 ? product() : number % 3 == 1 ? rows() : random_example(random);
  Sampling sampling(random, 0.3);
  return subject_of(example, scheduled(Schedule(lowered(example)), gpu_space(), Machine(), sampling).schedule, random);
}

/// `text` with the occurrence `number` of `from` replaced; nothing where there are not so many.
std::optional<std::string> mutant(const std::string& text, std::string_view from, std::string_view to, int number) {
  size_t at = text.find(from);
  for (; at != std::string::npos && number > 0; --number) at = text.find(from, at + 1);
  if (at == std::string::npos) return std::nullopt;
  return std::string(text).replace(at, from.size(), to);
}

TEST(Mutants, AreFound) {
  const int subjects = is_long_run() ? 200 : 4;
  struct Mutation {
    const char *name, *from, *to;
    int most;         ///< of a kernel
    bool is_of_many;  ///< of one thread or block it would change nothing
  };
  const std::vector<Mutation> mutations = {{"barrier", "__syncthreads();", "", 100, false},
                                           {"index", "[(", "[1 + (", 3, false},
                                           {"thread", "= threadIdx.x;", "= 0;", 1, true},
                                           {"block", "= blockIdx.x;", "= 0;", 1, true}};
  std::map<std::string, Tally> tallies;
  Random random(77);
  int count = 0;
  for (size_t number = 0; count < subjects; ++number) {
    ASSERT_LT(number, 20u * static_cast<size_t>(subjects)) << "too few schedules have barriers";
    const std::optional<Subject> subject = random_subject(random, number);
    if (!subject) continue;
    ++count;
    for (const Mutation& mutation : mutations)
      for (int k = 0; k < mutation.most && (subject->is_wide() || !mutation.is_of_many); ++k) {
        const auto text = mutant(subject->code.text, mutation.from, mutation.to, k);
        if (!text) break;
        Tally& tally = tallies[mutation.name];
        ++tally.all;
        const bool is_found = subject->shows(*text);
        tally.found += is_found;
        if (!is_found) tally.survivors.push_back(fmt::format("{} {}\n{}", mutation.name, k, subject->code.text));
      }
  }
  for (const auto& [name, tally] : tallies)
    std::cout << fmt::format("{}: {} of {} mutants found\n", name, tally.found, tally.all);
  // A barrier is derived only where it is needed.
  EXPECT_LE(tallies["barrier"].all - tallies["barrier"].found, tallies["barrier"].all / 50)
      << tallies["barrier"].survivors.front();
  for (const char* name : {"index", "thread", "block"})
    EXPECT_LE(tallies[name].all - tallies[name].found, tallies[name].all / 50) << tallies[name].survivors.front();
}

TEST(Mutants, OfWarpsAreFound) {
  Random random(78);
  const auto subject = subject_of(long_rows(), rows_of_warps(lowered(long_rows())), random);
  ASSERT_TRUE(subject);
  // Halves of the warp, pairs of lanes and the other warp are left out.
  for (const auto& [from, to] : {std::pair("= 16; apart", "= 8; apart"), std::pair("> 0; apart", "> 1; apart"),
                                 std::pair("__syncthreads();", "")}) {
    const auto text = mutant(subject->code.text, from, to, 0);
    ASSERT_TRUE(text) << from;
    EXPECT_TRUE(subject->shows(*text)) << *text;
  }
}

}  // namespace
}  // namespace isomer::kernel::test
