// Code of every operator against the interpreter, on random nodes: straight from `lower`, with loops of random kinds,
// by the default schedule.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/te/interpret.h"
#include "kernel/default_schedule.h"
#include "kernel/row_tasks.h"
#include "kernel/run_kernel.h"
#include "kernel/tree.h"
#include "ops/instance.h"
#include "support/long_run.h"
#include "util/hash.h"

namespace isomer::kernel::test {
namespace {

using isomer::test::Instance;
using isomer::test::is_long_run;

/// Makes loops at random vectorized, unrolled, parallel: as long as nothing is ordered, none of it changes a result. At
/// most `copies` of a block are written out.
void annotate(Statements& statements, Random& random, bool is_root, int64_t copies) {
  for (Statement& statement : statements) {
    auto* loop = std::get_if<Loop>(&statement.node);
    if (!loop) continue;
    const auto extent = te::as_constant(loop->extent);
    const bool is_free = !loop->ordered && extent;
    if (is_free && *extent <= copies && random.chance(0.6))
      loop->kind = random.chance(0.7) ? LoopKind::kVectorized : LoopKind::kUnrolled;
    bool reduces = false;
    for_each_block(loop->body, [&](const Block& block, const auto&) {
      for (const Iterator& iterator : block.reduce)
        reduces = reduces || variables(iterator.binding).contains(loop->variable);
    });
    if (is_free && is_root && !reduces && random.chance(0.3)) loop->kind = LoopKind::kParallel;
    const bool is_written_out = loop->kind == LoopKind::kVectorized || loop->kind == LoopKind::kUnrolled;
    annotate(loop->body, random, false, is_written_out ? copies / std::max<int64_t>(*extent, 1) : copies);
  }
}
void annotate(Kernel& kernel, Random& random) { annotate(kernel.body, random, true, 24); }

class Rows : public testing::TestWithParam<const OpDef*> {};

TEST_P(Rows, RunAsTheyMean) {
  const OpDef& op = *GetParam();
  Random random(Hasher().add(isomer::test::full_name(op)).add(2).finish().low);
  // Each needs other code where instructions are lacking; those that this machine can't run are compiled.
  const std::vector<CpuTarget> targets = {host_target(), *parse_cpu_target("cpu=x86-64"),
                                          *parse_cpu_target("cpu=haswell"), *parse_cpu_target("cpu=skylake-avx512")};
  const int count = is_long_run() ? 300 : 12;
  int valid = 0;
  for (int turn = 0; turn < count; ++turn) {
    const Instance instance = isomer::test::make_instance(op, random, turn);
    SCOPED_TRACE(instance.text());
    const CpuTarget& target = targets[turn % targets.size()];
    const auto task = lowered(instance);
    if (!task.ok()) continue;
    ++valid;
    std::vector<Tensor> tensors;
    std::vector<te::Array> arrays;
    for (const Instance::Input& input : instance.inputs) {
      tensors.push_back(input.present ? input.tensor : Tensor());
      arrays.push_back(input.present ? te::Array::from(input.tensor) : te::Array());
    }
    const double bound = tolerance(instance);
    const auto expected = te::interpret(task->program, arrays);
    const bool may_tip = truncates_reals(task->kernel);
    const Machine machine = {.vectors = target.vectors(), .word_parts = target.word_parts()};
    const Kernel scheduled = default_schedule(Schedule(task->kernel), machine).finish();
    Kernel annotated = task->kernel;
    annotate(annotated, random);
    for (const Kernel* kernel : std::initializer_list<const Kernel*>{&task->kernel, &annotated, &scheduled}) {
      SCOPED_TRACE(print(*kernel));
      if (!runs_here(target)) {
        ASSERT_TRUE(compile(*kernel, target).ok());
        continue;
      }
      const auto found = run(*kernel, tensors, target);
      ASSERT_EQ(found.ok(), expected.ok()) << (found.ok() ? expected.error() : found.error()).message();
      if (!found.ok()) continue;
      ASSERT_EQ(found->outputs.size(), expected->size());
      for (size_t i = 0; i < expected->size(); ++i) {
        SCOPED_TRACE(fmt::format("output {}", i));
        if ((*expected)[i].empty()) continue;
        ASSERT_EQ(found->outputs[i].count(), (*expected)[i].count());
        const Tensor output =
            found->outputs[i].reshaped((*expected)[i].dims());  // schedules may merge neighbouring dims
        ASSERT_NO_FATAL_FAILURE(
            expect_near((*expected)[i], output, std::max(bound, tolerance((*expected)[i].dtype())), may_tip));
      }
    }
  }
  EXPECT_GT(valid, 0);
}

INSTANTIATE_TEST_SUITE_P(All, Rows, testing::ValuesIn(rows_with_meaning()),
                         [](const auto& info) { return isomer::test::test_name(*info.param); });

}  // namespace
}  // namespace isomer::kernel::test
