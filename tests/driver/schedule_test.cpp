// include/isomer/schedule.h: modules, micro-kernels and decisions of users, and the one sentence for what is wrong with
// them. tests/kernel/micro_kernel_test.cpp has the table of texts and tiles.
#include "isomer/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "isomer/compile.h"
#include "support/files.h"
#include "support/model_file.h"

namespace isomer::test {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kLayer = R"(opset 17
graph layer(x: float32[24,32]) -> (y: float32[24,48]) {
  w: float32[32,48] = random 1
  p = MatMul(x, w)
  y = Relu(p)
}
)";

class UserSchedules : public testing::Test {
 protected:
  UserSchedules() { options_.threads = 2; }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  std::string model(std::string_view text = kLayer) const { return write_model(text, path("model.onnx")); }

  CompileModelReport compiled(std::string_view text = kLayer) const {
    auto made = compile_model(model(text), path("model.iso"), options_);
    EXPECT_TRUE(made.has_value()) << made.error().sentence;
    return made ? std::move(made).value() : CompileModelReport();
  }
  std::string trace() const {
    const CompileModelReport report = compiled();
    return report.tasks.empty() ? "" : report.tasks[0].trace;
  }

  void expect_refused(const std::string& part) const {
    const auto made = compile_model(model(), path("refused.iso"), options_);
    ASSERT_FALSE(made.has_value());
    EXPECT_THAT(made.error().sentence, HasSubstr(part));
    EXPECT_EQ(made.error().sentence.find('\n'), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path("refused.iso")));
  }

  ScratchFolder folder_;
  CompileModelOptions options_;
};

using Apply = std::function<Expected<void>(Schedule&, const Block&)>;

/// Of sums, in front of the tiles.
ScheduleModule module_of_sums(Apply apply) {
  ScheduleModule module;
  module.name = "sums";
  module.before = "tiles";
  module.applies = [](const Nest&, const Block& block) { return block.is_alone && block.combines == "sum"; };
  module.apply = std::move(apply);
  return module;
}

Expected<void> in_lanes(Schedule& schedule, const Block& block) {
  const int64_t lanes = schedule.decide(block.name, "lanes", {4, 8}, 8);
  const auto columns = schedule.apply("split", {block.loops[1], Integers{-1, lanes}}).value();
  schedule.apply("reorder", {Loops{columns.loop(0), block.loops[2], columns.loop(1)}}).value();
  schedule.apply("vectorize", {columns.loop(1)}).value();
  return {};
}

TEST_F(UserSchedules, AModuleMakesTheScheduleAndIsAChoice) {
  const std::string usual = trace();
  options_.modules = {module_of_sums(in_lanes)};
  const CompileModelReport mine = compiled();
  EXPECT_THAT(mine.check, HasSubstr("largest difference"));
  EXPECT_THAT(mine.tasks[0].trace, HasSubstr("s0.sums := 1\n"));
  EXPECT_THAT(mine.tasks[0].trace, HasSubstr("s0.lanes := 8\n"));
  EXPECT_THAT(mine.tasks[0].trace, Not(HasSubstr("s0.tiles"))) << "no default module looks at the block";
  // Decisions of a user decide a user's module, and whether it is applied.
  options_.decisions = {{"0", {{"s0.lanes", 4}}}};
  EXPECT_THAT(trace(), HasSubstr("[-1, 4])"));
  options_.decisions = {{"MatMul+Relu", {{"s0.sums", 0}}}};
  std::string others = trace();
  const std::string mark = "s0.sums := 0\n";
  ASSERT_THAT(others, HasSubstr(mark));
  EXPECT_EQ(others.erase(others.find(mark), mark.size()), usual);
}

/// It is neither a bug of ours nor what a module has to say of the schedule.
TEST_F(UserSchedules, WhatAModuleThrowsPassesThrough) {
  options_.modules = {
      module_of_sums([](Schedule&, const Block&) -> Expected<void> { throw std::logic_error("of a user's"); })};
  EXPECT_THROW(static_cast<void>(compile_model(model(), path("refused.iso"), options_)), std::logic_error);
  EXPECT_FALSE(std::filesystem::exists(path("refused.iso")));
}

TEST_F(UserSchedules, AModuleMayLeaveTheRestToTheDefaults) {
  options_.modules = {module_of_sums([](Schedule& schedule, const Block& block) -> Expected<void> {
    schedule.apply("cache_read", {block.name, block.loads[1].buffer, 0}).value();
    return {};
  })};
  options_.modules[0].instead = false;
  const std::string both = trace();
  EXPECT_THAT(both, HasSubstr("s0.sums := 1"));
  EXPECT_THAT(both, HasSubstr("s0.tiles := 1"));
  options_.modules[0].instead = true;
  EXPECT_THAT(trace(), Not(HasSubstr("s0.tiles")));
}

/// Choices of modules are tuned, on several threads, and what is found is taken where the same modules are given.
TEST_F(UserSchedules, AModulesChoicesAreTuned) {
  std::atomic<int> refused = 0;
  options_.threads = 1;
  options_.modules = {module_of_sums([&](Schedule& schedule, const Block& block) -> Expected<void> {
    const int64_t lanes = schedule.decide(block.name, "lanes", {1, 3, 8, 16}, 1);
    if (lanes == 3) return ++refused, Failure{"eight lanes expected, three found"};
    const auto columns = schedule.apply("split", {block.loops[1], Integers{-1, lanes}}).value();
    schedule.apply("reorder", {Loops{columns.loop(0), block.loops[2], columns.loop(1)}}).value();
    if (lanes > 1) schedule.apply("vectorize", {columns.loop(1)}).value();
    return {};
  })};
  options_.records = path("records");
  const auto tuned = tune_model(model(), options_, {.trials = 24, .seconds = {}, .continues = false});
  ASSERT_TRUE(tuned.has_value()) << tuned.error().sentence;
  ASSERT_EQ(tuned.value().size(), 1U);
  const TunedTaskReport& task = tuned.value()[0];
  EXPECT_GT(refused, 0) << "which ends nothing";
  EXPECT_LT(task.best_us, task.first_us / 1.3) << "of one lane";
  EXPECT_GT(task.trials, 0);

  const std::string found = trace();
  EXPECT_THAT(found, Not(HasSubstr("s0.lanes := 1\n")));
  options_.records.clear();
  EXPECT_THAT(trace(), HasSubstr("s0.lanes := 1\n"));
  options_.records = path("records");
  options_.modules[0].name = "others";
  EXPECT_THAT(trace(), HasSubstr("s0.lanes := 1\n")) << "another module's";
}

/// Schedules that win where a module failed are those without it.
TEST_F(UserSchedules, AModuleThatFailsLosesToTheDefaults) {
  options_.threads = 1;
  options_.modules = {module_of_sums([&](Schedule& schedule, const Block& block) -> Expected<void> {
    if (schedule.decide(block.name, "lanes", {1, 3}, 1) == 3) return Failure{"one lane expected, three found"};
    schedule.apply("reorder", {Loops{block.loops[1], block.loops[2]}}).value();
    return {};
  })};
  options_.records = path("records");
  const auto tuned = tune_model(model(), options_, {.trials = 24, .seconds = {}, .continues = false});
  ASSERT_TRUE(tuned.has_value()) << tuned.error().sentence;
  EXPECT_LT(tuned.value()[0].best_us, tuned.value()[0].first_us / 1.3);
  const std::string found = trace();
  EXPECT_THAT(found, HasSubstr("s0.sums := 0\n"));
  EXPECT_THAT(found, Not(HasSubstr("s0.lanes := 3\n")));
}

TEST_F(UserSchedules, ATemplateIsCompiledAndTuned) {
  options_.threads = 1;
  options_.records = path("records");
  options_.schedules = {{"0",
                         "lanes := 1 in [1, 8, 16]\nk90, k91 = split(k1, [-1, ?lanes])\nreorder({k90, k2, k91})\n"
                         "vectorize(k91) if ?lanes = 8\nvectorize(k91) if ?lanes = 16\n"}};
  EXPECT_THAT(trace(), HasSubstr("lanes := 1\n"));
  const auto tuned = tune_model(model(), options_, {.trials = 8, .seconds = {}, .continues = false});
  ASSERT_TRUE(tuned.has_value()) << tuned.error().sentence;
  EXPECT_EQ(tuned.value()[0].trials, 2);
  EXPECT_THAT(trace(), Not(HasSubstr("lanes := 1\n")));
  EXPECT_THAT(trace(), HasSubstr("vectorize("));

  options_.schedules[0].text = "parallel(k0)\n";
  const auto closed = tune_model(model(), options_, {});
  ASSERT_FALSE(closed.has_value());
  EXPECT_THAT(closed.error().sentence, HasSubstr("a task to tune expected, none found"));
  options_.schedules[0].text = "lanes := 8 in [8]\nvectorise(k1) if ?lanes = 8\n";
  expect_refused("0: line 2: vectorise: the name of a primitive expected");
  options_.schedules.clear();
  EXPECT_THAT(tune_model(model(), options_, {.trials = -1, .seconds = {}, .continues = false}).error().sentence,
              HasSubstr("trials: a number from 0 on expected, -1 found"));
  options_.records.clear();
  EXPECT_THAT(tune_model(model(), options_, {}).error().sentence,
              HasSubstr("records: a file for what is found expected"));
}

TEST_F(UserSchedules, ModulesComeInTheOrderInWhichTheyAreGiven) {
  ScheduleModule first = module_of_sums(in_lanes), second = first;
  first.name = "first";
  second.name = "second";
  options_.modules = {first, second};
  EXPECT_THAT(trace(), testing::AllOf(HasSubstr("s0.first := 1"), Not(HasSubstr("s0.second"))));
}

TEST_F(UserSchedules, QuestionsSayWhatIsThere) {
  Block block;
  Buffer weights, result;
  int64_t rows = 0, nothing = -1;
  std::string text;
  options_.target = "cpu=haswell";
  options_.modules = {module_of_sums([&](Schedule& schedule, const Block& given) -> Expected<void> {
    const Nest& nest = schedule.nest();
    block = given;
    weights = nest.buffer(given.loads[1].buffer);
    result = nest.buffer(given.writes[0]);
    rows = nest.extent(given.loops[0]);
    nothing = nest.extent(Loop{999});
    text = nest.text();
    EXPECT_EQ(nest.machine().cpu, "haswell");
    EXPECT_TRUE(nest.machine().has("avx2"));
    EXPECT_FALSE(nest.machine().has("avx512f"));
    EXPECT_EQ(nest.machine().vector_bits, 256);
    EXPECT_EQ(nest.machine().threads, 2);
    EXPECT_TRUE(nest.has_block("s1"));
    EXPECT_FALSE(nest.has_block("s9"));
    EXPECT_THROW(nest.block("s9"), NoValue);
    return {};
  })};
  compiled();
  EXPECT_EQ(block.name, "s0");
  EXPECT_EQ(block.axes, (Integers{24, 48}));
  EXPECT_EQ(block.reduction, Integers{32});
  EXPECT_EQ(block.stores, (Strides{48, 1}));
  EXPECT_EQ(block.bodies, std::vector<std::string>{"in0[i0, r0]:float32*in1[r0, i1]:float32"});
  ASSERT_EQ(block.loads.size(), 2);
  EXPECT_EQ(block.loads[0].axes, (Strides{32, 0}));
  EXPECT_EQ(block.loads[1].reduction, Strides{48});
  EXPECT_EQ(block.loops.size(), 3);
  EXPECT_TRUE(weights.is_constant && weights.is_input && !weights.is_output);
  EXPECT_EQ(weights.shape, (Integers{32, 48}));
  EXPECT_EQ(weights.type, "float32");
  EXPECT_TRUE(!result.is_input && !result.is_output);
  EXPECT_EQ(rows, 24);
  EXPECT_EQ(nothing, 0);
  EXPECT_THAT(text, HasSubstr("s0[i0, i1] from 0:float32 sum= in0[i0, r0]:float32*in1[r0, i1]:float32"));
}

TEST_F(UserSchedules, WhatFailsInAnAttemptLeavesNothing) {
  bool failed = true, threw = true, done = false;
  options_.modules = {module_of_sums([&](Schedule& schedule, const Block& block) -> Expected<void> {
    failed = schedule.attempt([&]() -> Expected<void> {
      schedule.apply("unroll", {block.loops[0]}).value();
      return Failure{"not what I want"};
    });
    threw = schedule.attempt([&]() -> Expected<void> {
      schedule.apply("parallel", {block.loops[0]}).value();
      schedule.apply("vectorize", {block.loops[2]}).value();
      return {};
    });
    EXPECT_EQ(schedule.nest().block(block.name).is_alone, true);
    done = schedule.attempt([&] { return in_lanes(schedule, block); });
    return {};
  })};
  EXPECT_THAT(trace(), Not(HasSubstr("unroll")));
  EXPECT_FALSE(failed);
  EXPECT_FALSE(threw);
  EXPECT_TRUE(done);
}

TEST_F(UserSchedules, WhatAModuleDoesWronglyIsOneSentence) {
  struct Wrong {
    Apply apply;
    std::string sentence;
  };
  const auto one = [](const std::string& primitive, const std::function<Arguments(const Block&)>& arguments) -> Apply {
    return [=](Schedule& schedule, const Block& block) -> Expected<void> {
      const auto made = schedule.apply(primitive, arguments(block));
      if (!made) return made.error();
      return {};
    };
  };
  const Wrong cases[] = {
      {one("vectorize", [](const Block& b) { return Arguments{b.loops[2]}; }),
       "sums: s0: vectorize: k2: a loop over axes expected to be vectorized, s0 reduces over it"},
      {one("frobnicate", [](const Block&) { return Arguments{}; }), "sums: s0: frobnicate: the name of a primitive"},
      {one("split", [](const Block& b) { return Arguments{b.loops[0], int64_t{4}}; }),
       "split: argument 2: a list like [4, 8] expected, '4' found"},
      {one("tensorize", [](const Block& b) { return Arguments{b.loops[0], std::string("mine")}; }),
       "or a micro-kernel that was given expected"},
      {one("set_layout", [](const Block& b) { return Arguments{b.loads[0].buffer, std::string("1:0")}; }),
       "sums: s0: set_layout: a buffer of the task's own expected"},
      {[](Schedule&, const Block&) -> Expected<void> { return Failure{"no rows of mine"}; },
       "sums: s0: no rows of mine"},
      {[](Schedule& schedule, const Block&) -> Expected<void> {
         (void)schedule.nest().block("s7");
         return {};
       },
       "sums: s0: the name of a block expected, 's7' found"},
      {[](Schedule& schedule, const Block&) -> Expected<void> {
         schedule.decide("s0", "rows", {1, 2}, 3);
         return {};
       },
       "sums: s0: s0.rows: candidates that differ, with the preferred one, 3, expected among them"},
  };
  for (const Wrong& each : cases) {
    SCOPED_TRACE(each.sentence);
    options_.modules = {module_of_sums(each.apply)};
    expect_refused(each.sentence);
  }
}

TEST_F(UserSchedules, WhatIsWrongWithTheOptionsIsOneSentence) {
  const ScheduleModule good = module_of_sums(in_lanes);
  const auto with = [&](const std::function<void(ScheduleModule&)>& change) {
    ScheduleModule module = good;
    change(module);
    return std::vector{module};
  };
  options_.modules = with([](ScheduleModule& m) { m.before = "tile"; });
  expect_refused("sums: a default module to stand in front of expected, one of collapse, groups, inline_maps, ");
  options_.modules = with([](ScheduleModule& m) {
    m.applies = [](const Nest& nest, const Block&) { return !nest.buffer("in9").shape.empty(); };
  });
  expect_refused("sums: s0: the name of a buffer expected, 'in9' found");
  options_.modules = with([](ScheduleModule& m) { m.name = "my sums"; });
  expect_refused("my sums: a name of its own");
  options_.modules = with([](ScheduleModule& m) { m.name = "tiles"; });
  expect_refused("tiles: a name of its own");
  options_.modules = with([](ScheduleModule& m) { m.applies = nullptr; });
  expect_refused("sums: a module with both of its functions expected");
  options_.modules = {good, good};
  expect_refused("sums: a name of its own");
  options_.modules.clear();
  options_.decisions = {{"0", {{"s0.rows", 1000}}}};
  expect_refused("s0.rows: one of 1, ");
  options_.decisions = {{"0", {{"s0.lines", 1}}}};
  expect_refused("s0.lines: a choice that this schedule comes to expected");
  options_.decisions = {{"Conv", {{"s0.rows", 1}}}};
  expect_refused("'Conv' found");
  options_.decisions.clear();
  options_.target = "cpu=abacus";
  expect_refused("a CPU that LLVM knows");
  options_.target = "cpu";
  options_.dims = {{"batch", 2}};
  expect_refused("batch");
  options_.dims.clear();
  const auto none = compile_model(path("none.onnx"), path("none.iso"), options_);
  ASSERT_FALSE(none.has_value());
  EXPECT_THAT(none.error().sentence, HasSubstr("none.onnx"));
}

/// c[i, j] `operation` a[i, k] * b[k, j], eight columns at a time.
MicroKernel row_of_8(const std::string& operation = "fadd") {
  MicroKernel row;
  row.name = "row_of_8";
  row.columns = 8;
  row.b = {std::nullopt, 1};
  row.c = {std::nullopt, 1};
  row.text = R"(
define void @row(ptr %a, i64 %a_i, i64 %a_k, ptr %b, i64 %b_k, i64 %b_j, ptr %c, i64 %c_i, i64 %c_j, i64 %depth) {
entry:
  %start = load <8 x float>, ptr %c, align 4
  br label %step
step:
  %k = phi i64 [ 0, %entry ], [ %next, %step ]
  %sum = phi <8 x float> [ %start, %entry ], [ %new, %step ]
  %a_place = mul i64 %k, %a_k
  %p = getelementptr float, ptr %a, i64 %a_place
  %x = load float, ptr %p, align 4
  %lane = insertelement <8 x float> poison, float %x, i64 0
  %row = shufflevector <8 x float> %lane, <8 x float> poison, <8 x i32> zeroinitializer
  %b_place = mul i64 %k, %b_k
  %q = getelementptr float, ptr %b, i64 %b_place
  %columns = load <8 x float>, ptr %q, align 4
  %product = fmul <8 x float> %row, %columns
  %new = )" + operation +
             R"( <8 x float> %sum, %product
  %next = add i64 %k, 1
  %more = icmp slt i64 %next, %depth
  br i1 %more, label %step, label %done
done:
  store <8 x float> %new, ptr %c, align 4
  ret void
}
)";
  return row;
}

Expected<void> in_rows_of_8(Schedule& schedule, const Block& block) {
  const auto columns = schedule.apply("split", {block.loops[1], Integers{-1, 8}}).value();
  schedule.apply("decompose_reduction", {block.name, columns.loop(1)}).value();
  schedule.apply("tensorize", {columns.loop(1), "row_of_8"}).value();
  return {};
}

TEST_F(UserSchedules, AMicroKernelComputesTheTilesThatItIsDescribedFor) {
  options_.modules = {module_of_sums(in_rows_of_8)};
  options_.micro_kernels = {row_of_8()};
  const CompileModelReport report = compiled();
  EXPECT_THAT(report.tasks[0].trace, HasSubstr(", row_of_8)"));
  EXPECT_THAT(report.check, HasSubstr("largest difference"));
  options_.target = "cpu=x86-64";
  EXPECT_THAT(compiled().tasks[0].trace, HasSubstr(", row_of_8)")) << "it asks for nothing that some CPU has not";
}

TEST_F(UserSchedules, AMicroKernelThatComputesSomethingElseIsRefusedByTheCheck) {
  options_.modules = {module_of_sums(in_rows_of_8)};
  options_.micro_kernels = {row_of_8("fsub")};
  expect_refused("check: ");
  options_.check = false;
  EXPECT_TRUE(compile_model(model(), path("unchecked.iso"), options_).has_value());
}

TEST_F(UserSchedules, WhatIsWrongWithAMicroKernelIsOneSentence) {
  options_.modules = {module_of_sums(in_rows_of_8)};
  const auto refused = [&](const std::function<void(MicroKernel&)>& change, const std::string& sentence) {
    SCOPED_TRACE(sentence);
    MicroKernel other = row_of_8();
    change(other);
    options_.micro_kernels = {other};
    expect_refused(sentence);
  };
  refused([](MicroKernel& m) { m.text = "ret"; }, "row_of_8: LLVM's assembly expected, line 1: ");
  refused([](MicroKernel& m) { m.columns = 16; },
          "tensorize: row_of_8: a sum of products over 1 rows, 16 columns and any depth expected, loops of 8 x 32");
  refused([](MicroKernel& m) { m.b.first = 8; }, "b with steps of [8, 1] expected, those in 'in1' are [48, 1]");
  refused([](MicroKernel& m) { m.name = "k8"; }, "k8: a name of letters");
  options_.target = "cpu=haswell";
  refused([](MicroKernel& m) { m.needs = {"avx512f"}; }, "row_of_8: a CPU with avx512f expected, haswell has none");
}

/// What these pages show is compiled and run by tests/consumer.
TEST(AddingAScheduleRule, ShowsSourcesThatAreCompiled) {
  std::string sources;
  for (const auto& file : std::filesystem::directory_iterator(source_path("docs/schedule_rule")))
    sources += read_file(file.path());
  const std::string page =
      read_file(source_path("docs/adding-a-schedule-rule.md")) + read_file(source_path("docs/templates.md"));
  int blocks = 0;
  for (size_t at = page.find("```c"); at != std::string::npos; at = page.find("```c", at), ++blocks) {
    const size_t start = page.find('\n', at) + 1, end = page.find("```", start);
    ASSERT_NE(end, std::string::npos);
    const std::string block = page.substr(start, end - start);
    EXPECT_THAT(sources, HasSubstr(block));
    at = end + 3;
  }
  EXPECT_GE(blocks, 5);
}

TEST_F(UserSchedules, AreOfOneCall) {
  const std::string file = model();
  const auto compile = [&](const std::string& artifact, const CompileModelOptions& options) {
    const auto made = compile_model(file, path(artifact), options);
    EXPECT_TRUE(made.has_value());
    return made ? made.value().tasks[0].trace : "";
  };
  CompileModelOptions mine = options_;
  mine.modules = {module_of_sums(in_lanes)};
  const std::string usual = compile("before.iso", options_);
  std::string beside;
  std::thread other([&] { beside = compile("beside.iso", options_); });
  EXPECT_THAT(compile("mine.iso", mine), HasSubstr("s0.sums := 1"));
  other.join();
  EXPECT_EQ(beside, usual);
  EXPECT_EQ(read_file(path("beside.iso")), read_file(path("before.iso")));
}

}  // namespace
}  // namespace isomer::test
