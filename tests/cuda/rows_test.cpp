// CUDA code of every operator against the interpreter, on random nodes, emulated and as plain loops: as it is lowered,
// in one thread; with loops bound at random; by the default schedule for a GPU and by random decisions. Whatever the
// order of the threads, nothing races, and nobody leaves a buffer.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/clang.h"
#include "cuda/native.h"
#include "graph/te/interpret.h"
#include "kernel/default_schedule.h"
#include "kernel/row_tasks.h"
#include "kernel/run_kernel.h"
#include "kernel/schedule.h"
#include "kernel/space/gpu_modules.h"
#include "support/long_run.h"

namespace isomer::kernel::test {
namespace {

using isomer::test::Instance;
using isomer::test::is_long_run;

/// Loops of root nests become blocks and threads at random, where they can.
Schedule bound_at_random(const Kernel& kernel, Random& random) {
  Schedule schedule(kernel);
  for (const std::string& block : schedule.blocks()) {
    LoopIds loops = *schedule.loops(block);
    if (!loops.empty() && random.chance(0.4))
      if (const auto parts = schedule.split(loops[random.below(loops.size())], {-1, random.between(1, 4)}); parts.ok())
        loops = *schedule.loops(block);
    std::vector<std::string> axes = {"block.x", "block.y", "block.z", "thread.x", "thread.y", "thread.z"};
    for (const LoopId loop : loops)
      if (!axes.empty() && random.chance(0.7)) {
        const size_t axis = random.below(axes.size());
        if (schedule.bind(loop, axes[axis]).ok()) axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(axis));
      }
  }
  return schedule;
}

struct Case {
  Instance instance;
  te::Program program;
  Kernel kernel;
  CudaKernel code;
};

class CudaRows : public testing::TestWithParam<const OpDef*> {};

TEST_P(CudaRows, RunAsTheyMean) {
  const OpDef& op = *GetParam();
  Random random(Hasher().add(isomer::test::full_name(op)).add(20).finish().low);
  const int count = is_native_run() ? 4 : is_long_run() ? 16 : 2;
  std::vector<Case> cases;
  std::string text;
  std::vector<std::string> functions;
  for (int turn = 0; turn < count; ++turn) {
    const Instance instance = isomer::test::make_instance(op, random, turn);
    const auto task = lowered(instance);
    if (!task.ok()) continue;
    std::vector<Schedule> schedules = {Schedule(task->kernel), bound_at_random(task->kernel, random),
                                       default_gpu_schedule(Schedule(task->kernel))};
    for (int sampled = 0; sampled < (is_long_run() || is_native_run() ? 3 : 1); ++sampled) {
      Sampling sampling(random, 0.5);
      schedules.push_back(scheduled(Schedule(task->kernel), gpu_space(), Machine(), sampling).schedule);
    }
    for (const Schedule& schedule : schedules) {
      SCOPED_TRACE(instance.text() + print(schedule.finish()));
      auto code = emit_cuda(schedule.finish(), fmt::format("f{}_", cases.size()));
      if (!code.ok()) {
        EXPECT_EQ(code.error().kind, ErrorKind::kUnsupported) << code.error().message();
        continue;
      }
      text += code->text;
      for (const CudaLaunch& launch : code->launches) functions.push_back(launch.function);
      cases.push_back({instance, task->program, schedule.finish(), *std::move(code)});
    }
  }
  if (cases.empty()) GTEST_SKIP() << "data decide the sizes of its outputs";
  // Clang reads all of them in the long run, now one row in four.
  if (!is_native_run() && (is_long_run() || random.chance(0.25))) {
    ASSERT_EQ(clang_to_ptx(text, random.chance(0.5) ? "sm_80" : "sm_90a"), "") << text;
  }
  const RunnableCode runnable(text, functions);
  for (const Case& each : cases) {
    SCOPED_TRACE(each.instance.text() + print(each.kernel) + each.code.text);
    std::vector<Tensor> tensors;
    std::vector<te::Array> arrays;
    for (const Instance::Input& input : each.instance.inputs) {
      tensors.push_back(input.present ? input.tensor : Tensor());
      arrays.push_back(input.present ? te::Array::from(input.tensor) : te::Array());
    }
    const auto expected = te::interpret(each.program, arrays);
    const auto expect_right = [&](const std::vector<Tensor>& outputs) {
      for (size_t i = 0; i < expected->size(); ++i) {
        SCOPED_TRACE(fmt::format("output {}", i));
        if ((*expected)[i].empty()) continue;
        ASSERT_NO_FATAL_FAILURE(expect_near((*expected)[i], outputs[i].reshaped((*expected)[i].dims()),
                                            std::max(tolerance(each.instance), tolerance((*expected)[i].dtype())),
                                            truncates_reals(each.kernel)));
      }
    };
    if (expected.ok()) {
      SCOPED_TRACE("plain loops");
      const auto plain = kernel::test::run(each.kernel, tensors, host_target());
      ASSERT_TRUE(plain.ok()) << plain.error().message();
      ASSERT_NO_FATAL_FAILURE(expect_right(plain->outputs));
    }
    for (const EmulatedRun& run : runnable.run(each.kernel, each.code, tensors)) {
      ASSERT_THAT(run.findings, testing::IsEmpty());
      ASSERT_EQ(run.outcome == 0, expected.ok()) << (expected.ok() ? "" : expected.error().message());
      if (!expected.ok()) continue;
      ASSERT_NO_FATAL_FAILURE(expect_right(run.outputs));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CudaRows, testing::ValuesIn(rows_with_meaning()),
                         [](const auto& info) { return isomer::test::test_name(*info.param); });

}  // namespace
}  // namespace isomer::kernel::test
