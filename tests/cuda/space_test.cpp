// Schedules for a GPU, by the default decisions and by random ones: as plain loops and as threads they give what the
// kernel as it was lowered gives, on small integers, where sums are exact.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/clang.h"
#include "cuda/native.h"
#include "kernel/default_schedule.h"
#include "kernel/launch_examples.h"
#include "kernel/run_kernel.h"
#include "kernel/space/gpu_modules.h"
#include "support/long_run.h"

namespace isomer::kernel::test {
namespace {

using isomer::test::is_long_run;

struct Case {
  Example example;
  Kernel kernel;  ///< as it was lowered
  Schedule schedule;
  CudaKernel code;
};

void expect_same(const std::vector<Case>& cases, Random& random) {
  std::string text;
  std::vector<std::string> functions;
  for (const Case& each : cases) {
    text += each.code.text;
    for (const CudaLaunch& launch : each.code.launches) functions.push_back(launch.function);
  }
  if (!is_native_run()) {
    for (const char* arch : {"sm_80", "sm_90a"}) ASSERT_EQ(clang_to_ptx(text, arch), "") << text;
  }
  const RunnableCode runnable(text, functions);
  for (const Case& each : cases) {
    const Kernel scheduled = each.schedule.finish();
    SCOPED_TRACE(each.example.name + "\n" + print(each.schedule.trace()) + print(scheduled) + each.code.text);
    const std::vector<Tensor> inputs = integers(each.example, random);
    const Run expected = ok(run(each.kernel, inputs, host_target())), plain = ok(run(scheduled, inputs, host_target()));
    for (const EmulatedRun& found : runnable.run(scheduled, each.code, inputs)) {
      ASSERT_THAT(found.findings, testing::IsEmpty());
      ASSERT_EQ(found.outcome, 0);
      for (size_t i = 0; i < expected.outputs.size(); ++i) {
        ASSERT_THAT(found.outputs[i].bytes(), testing::ElementsAreArray(expected.outputs[i].bytes()));
        ASSERT_THAT(plain.outputs[i].bytes(), testing::ElementsAreArray(expected.outputs[i].bytes()));
      }
    }
  }
}

bool is_exact(const Example& example) {
  return example.program.find("exp(") == std::string::npos && example.program.find(" / ") == std::string::npos;
}

Case made(const Example& example, const Schedule& schedule, const Kernel& kernel, size_t number) {
  return {example, kernel, schedule, ok(emit_cuda(schedule.finish(), fmt::format("f{}_", number)))};
}

TEST(GpuSpace, DefaultSchedulesKeepTheMeaning) {
  Random random(41);
  std::vector<Case> cases;
  std::vector<Example> all = examples();
  all.push_back(product());
  all.push_back(rows());
  for (const Example& example : all) {
    if (!is_exact(example)) continue;
    const Kernel kernel = lowered(example);
    cases.push_back(made(example, default_gpu_schedule(Schedule(kernel)), kernel, cases.size()));
  }
  expect_same(cases, random);
}

TEST(GpuSpace, ProductsAndRowsAreTiled) {
  const auto shared = [](const Example& example) {
    int count = 0;
    for (const Buffer& buffer : default_gpu_schedule(Schedule(lowered(example))).finish().buffers)
      count += buffer.scope == Scope::kShared;
    return count;
  };
  EXPECT_EQ(shared(product()), 2);
  EXPECT_EQ(
      shared({"mean", "s0 = reduce [6] over [400] with sum:float32 { in0[i0, r0]:float32 }\noutput s0\n", {{6, 400}}}),
      1);
}

/// Elements side by side are moved as vectors where they begin at one; a scalar, a row that begins elsewhere and one
/// that is read backwards are not.
TEST(GpuSpace, VectorsAreMovedWhereTheyBegin) {
  Random random(44);
  std::vector<Case> cases;
  for (const auto& [name, program, dims, is_moved] : std::vector<std::tuple<const char*, const char*, Dims, bool>>{
           {"whole", "s0 = map [8, 16] { in0[i0, i1]:float32 }\noutput s0\n", {8, 16}, true},
           {"rows", "s0 = map [8, 16] { in0[i1, i0]:float32 }\noutput s0\n", {16, 8}, false},
           {"later", "s0 = map [8, 16] { in0[i0, i1 + 1]:float32 }\noutput s0\n", {8, 20}, false},
           {"odd", "s0 = map [8, 16] { in0[i0, i1]:float32 }\noutput s0\n", {8, 17}, false},
           {"backwards", "s0 = map [8, 16] { in0[i0, 15 - i1]:float32 }\noutput s0\n", {8, 16}, false},
           {"scalar", "s0 = map [8, 16] { in0[]:float32 }\noutput s0\n", {}, false}}) {
    const Example example = {name, program, {dims}};
    const Kernel kernel = lowered(example);
    Preferring preferring;
    Given given({{"s0.elements", 4}, {"s0.transpose_in_shared", 0}}, preferring);
    cases.push_back(
        made(example, scheduled(Schedule(kernel), gpu_space(), Machine(), given).schedule, kernel, cases.size()));
    // What is computed of elements that lie elsewhere is stored as a vector all the same.
    EXPECT_THAT(cases.back().code.text, testing::HasSubstr("op::move<16>(&m_s0["));
    EXPECT_EQ(cases.back().code.text.find(", &m_in0[") != std::string::npos, is_moved) << cases.back().code.text;
  }
  expect_same(cases, random);
}

/// Behind a condition, which says where there is an element, it is read once however often it is used.
TEST(GpuSpace, WhatMayFaultIsReadOnceBehindItsCondition) {
  Random random(49);
  const std::string element = "in1[in0[i0]:int64]:float32", square = fmt::format("({0}*{0})", element),
                    fourth = fmt::format("({0}*{0})", square);
  const std::string is_there = "0 <= in0[i0]:int64 && in0[i0]:int64 < 3";
  std::vector<Case> cases;
  for (const auto& [name, body] :
       {std::pair("where", fmt::format("select({}, {}, -1:float32)", is_there, fourth)),
        std::pair("otherwise", fmt::format("select(!({}), -1:float32, {})", is_there, fourth)),
        std::pair("both", fmt::format("select({}, select(1:float32 < {}, {} + {}, {}), 2:float32)", is_there, square,
                                      element, fourth, square))}) {
    const Example example = {name,
                             fmt::format("s0 = map [64] {{ {} }}\noutput s0\n", body),
                             {{64}, {3}},
                             DataType::kFloat32,
                             {DataType::kInt64, DataType::kFloat32}};
    const Kernel kernel = lowered(example);
    cases.push_back(made(example, default_gpu_schedule(Schedule(kernel)), kernel, cases.size()));
    const std::string& code = cases.back().code.text;
    const size_t first = code.find("op::checked(");
    EXPECT_NE(first, std::string::npos) << code;
    EXPECT_EQ(code.find("op::checked(", first + 1), std::string::npos) << code;
  }
  expect_same(cases, random);
}

/// Tiles of what is narrower than a word are read and written by words, also where tiles go over both ends; what has an
/// odd length is not.
TEST(GpuSpace, TransposesMoveWords) {
  Random random(46);
  std::vector<Case> cases;
  for (const auto& [dtype, dims, is_moved] :
       std::vector<std::tuple<DataType, Dims, bool>>{{DataType::kFloat16, {66, 130}, true},
                                                     {DataType::kBFloat16, {130, 66}, true},
                                                     {DataType::kUInt8, {132, 260}, true},
                                                     {DataType::kFloat16, {66, 131}, false},
                                                     {DataType::kFloat16, {66, 34}, false},
                                                     {DataType::kInt32, {66, 34}, false}}) {
    const Example example = {
        fmt::format("{} of {} by {}", name(dtype), dims[0], dims[1]),
        fmt::format("s0 = map [{}, {}] {{ in0[i1, i0]:{} }}\noutput s0\n", dims[1], dims[0], name(dtype)),
        {dims},
        dtype};
    const Kernel kernel = lowered(example);
    cases.push_back(made(example, default_gpu_schedule(Schedule(kernel)), kernel, cases.size()));
    const std::string& text = cases.back().code.text;
    EXPECT_THAT(text, testing::HasSubstr("__shared__"));
    EXPECT_EQ(text.find("op::move<4>(&m_s0[") != std::string::npos, is_moved) << text;
    EXPECT_EQ(text.find("op::move<4>(&loaded") != std::string::npos, is_moved) << text;
  }
  expect_same(cases, random);
}

/// Elements of a row are multiplied by what is the same for all of them, which is computed once.
TEST(GpuSpace, WhatIsDearAndTheSameIsComputedOnce) {
  const Example example = {
      "ratio",
      "s0 = reduce [6] over [512] with sum:float32 { float32(in0[i0, r0]:bfloat16) }\n"
      "s1 = map [6, 512] { in0[i0, i1]:bfloat16 * bfloat16(float32(1) / s0[i0]:float32) }\noutput s1\n",
      {{6, 512}},
      DataType::kBFloat16};
  const Kernel kernel = lowered(example);
  const std::string text = made(example, default_gpu_schedule(Schedule(kernel)), kernel, 0).code.text;
  EXPECT_THAT(text, testing::ContainsRegex("const float same[0-9]+ = op::round_bf16"));
}

TEST(GpuSpace, ThreadsWithoutAStepOfTheRowChangeNothing) {
  Random random(43);
  std::vector<Case> cases;
  for (const char* monoid : {"sum", "max"}) {
    const Example example = {monoid,
                             fmt::format("s0 = reduce [3] over [10, 20] with {}:float32 {{ in0[i0, r0, r1]:float32 }}\n"
                                         "s1 = map [3] {{ s0[i0]:float32*2 }}\noutput s1\n",
                                         monoid),
                             {{3, 10, 20}}};
    const Kernel kernel = lowered(example);
    for (const int64_t threads : {32, 128, 512}) {
      Preferring preferring;
      Given given({{"s0.share_row", 1}, {"s0.join_rows", 0}, {"s0.threads", threads}}, preferring);
      const Schedule schedule = scheduled(Schedule(kernel), gpu_space(), Machine(), given).schedule;
      EXPECT_EQ(launch_of(schedule.finish().body.front()).threads[0], threads);
      cases.push_back(made(example, schedule, kernel, cases.size()));
    }
  }
  expect_same(cases, random);
}

/// Rows less what is found of them twice, by one warp, by several, and where rows of a block are left over.
TEST(GpuSpace, WarpsShareRows) {
  Random random(44);
  std::vector<Case> cases;
  for (const char* type : {"float32", "float64", "int64", "int32", "uint8", "bfloat16"}) {
    const Example example = {type,
                             fmt::format("s0 = reduce [6] over [128] with max:{0} {{ {0}(in0[i0, r0]:float32) }}\n"
                                         "s1 = map [6, 128] {{ in0[i0, i1]:float32 - float32(s0[i0]:{0}) }}\n"
                                         "s2 = reduce [6] over [128] with sum:float32 {{ s1[i0, r0]:float32 }}\n"
                                         "s3 = map [6, 128] {{ s1[i0, i1]:float32 + s2[i0]:float32 }}\noutput s3\n",
                                         type),
                             {{6, 128}}};
    const Kernel kernel = lowered(example);
    for (const auto& [threads, rows] : {std::pair(32, 1), std::pair(32, 4), std::pair(64, 1), std::pair(128, 1)}) {
      Preferring preferring;
      Given given({{"s0.share_row", 1}, {"s0.join_rows", 1}, {"s0.row_threads", threads}, {"s0.block_rows", rows}},
                  preferring);
      const Schedule schedule = scheduled(Schedule(kernel), gpu_space(), Machine(), given).schedule;
      EXPECT_EQ(launch_of(schedule.finish().body.front()).threads,
                (std::array<int64_t, 3>{32, std::max(threads / 32, rows), 1}));
      cases.push_back(made(example, schedule, kernel, cases.size()));
      EXPECT_THAT(cases.back().code.text, testing::HasSubstr("op::across"));
      EXPECT_EQ(cases.back().code.text.find("__shared__") != std::string::npos, threads > 32);
    }
  }
  expect_same(cases, random);
}

/// The first and the last of the greatest and least elements, of which there are several: both lanes choose alike.
TEST(GpuSpace, LanesChooseWithTheirPlaces) {
  Random random(45);
  std::vector<Case> cases;
  for (const char* monoid : {"argmax", "argmax_last", "argmin", "argmin_last"}) {
    const Example example = {monoid,
                             fmt::format("s0 = reduce [6] over [128] with {}:float32 {{ in0[i0, r0]:float32, r0 }}\n"
                                         "s1 = map [6, 128] {{ in0[i0, i1]:float32 + float32(s0.1[i0]) }}\noutput s1\n",
                                         monoid),
                             {{6, 128}}};
    const Kernel kernel = lowered(example);
    cases.push_back(made(example, rows_of_warps(kernel), kernel, cases.size()));
  }
  expect_same(cases, random);
}

/// Threads share the steps to a single result, of a scalar and of dims of 1, and blocks of threads long ones.
TEST(GpuSpace, OneResultIsMadeByManyThreads) {
  Random random(48);
  std::vector<Case> cases;
  for (const int64_t length : {100, 4096, 5000, 20000, 20011})
    for (const auto& [dims, load] : {std::pair("", "in0[r0]"), std::pair("1, 1", "in0[r0 + i0]")})
      for (const char* monoid : {"sum", "argmax"}) {
        const bool is_sum = std::string_view(monoid) == "sum";
        const std::string point = std::string_view(dims).empty() ? "" : "i0, i1";
        const Example example = {
            fmt::format("{} of {}", monoid, length),
            fmt::format("s0 = reduce [{0}] over [{1}] with {2}:float32 {{ {3}:float32{4} }}\ns1 = map [{0}] {{ "
                        "{5} }}\noutput s1\n",
                        dims, length, monoid, load, is_sum ? "" : ", r0",
                        is_sum ? fmt::format("s0[{}]:float32*2", point) : fmt::format("s0.1[{}]", point)),
            {{length}}};
        const Kernel kernel = lowered(example);
        cases.push_back(made(example, default_gpu_schedule(Schedule(kernel)), kernel, cases.size()));
        int64_t blocks = 1;
        bool is_shared = false;
        for (const CudaLaunch& each : cases.back().code.launches) {
          blocks = std::max(blocks, each.launch.blocks[0]);
          is_shared |= each.launch.threads_of_block() > 1;
        }
        EXPECT_TRUE(is_shared) << example.program << cases.back().code.text;
        EXPECT_EQ(blocks > 1, length >= 20000) << example.program;
      }
  expect_same(cases, random);
}

/// However many rows there are: their threads read side by side. A thread a column does so, too.
TEST(GpuSpace, RowsInMemoryAreSharedByThreads) {
  const auto launches = [](int64_t rows, int64_t length, const char* load) {
    const Example example = {
        "rows",
        fmt::format("s0 = reduce [{0}] over [{1}] with max:float32 {{ in0[{2}]:float32 }}\ns1 = map [{0}, {1}] {{ "
                    "in0[{3}]:float32 - s0[i0]:float32 }}\noutput s1\n",
                    rows, length, load, std::string_view(load) == "i0, r0" ? "i0, i1" : "i1, i0"),
        {std::string_view(load) == "i0, r0" ? Dims{rows, length} : Dims{length, rows}}};
    return ok(emit_cuda(default_gpu_schedule(Schedule(lowered(example))).finish(), "f")).launches.size();
  };
  EXPECT_EQ(launches(60000, 128, "i0, r0"), 1u);
  EXPECT_EQ(launches(70000, 128, "i0, r0"), 1u);
  EXPECT_EQ(launches(70000, 32, "i0, r0"), 1u);
  EXPECT_EQ(launches(70000, 49, "i0, r0"), 1u);
  EXPECT_EQ(launches(70000, 128, "r0, i0"), 2u);
}

/// Of short rows that no warp divides, and of long ones: some lanes have an element less.
TEST(GpuSpace, WarpsShareRowsThatTheyDontDivide) {
  Random random(50);
  std::vector<Case> cases;
  for (const char* type : {"float32", "int32"})
    for (const int64_t length : {33, 49, 58, 62, 63, 1031}) {
      const Example example = {fmt::format("{} {}", type, length),
                               fmt::format("s0 = reduce [6] over [{1}] with max:{0} {{ {0}(in0[i0, r0]:float32) }}\n"
                                           "s1 = map [6, {1}] {{ in0[i0, i1]:float32 - float32(s0[i0]:{0}) }}\n"
                                           "s2 = reduce [6] over [{1}] with sum:float32 {{ s1[i0, r0]:float32 }}\n"
                                           "s3 = map [6, {1}] {{ s1[i0, i1]:float32 + s2[i0]:float32 }}\noutput s3\n",
                                           type, length),
                               {{6, length}}};
      const Kernel kernel = lowered(example);
      cases.push_back(made(example, default_gpu_schedule(Schedule(kernel)), kernel, cases.size()));
      EXPECT_EQ(cases.back().code.launches.size(), 1u) << cases.back().code.text;
      EXPECT_EQ(cases.back().code.launches[0].launch.threads[0], 32) << cases.back().code.text;
    }
  expect_same(cases, random);
}

/// More products, or rows of one, than a grid has blocks along y or z: along x.
TEST(GpuSpace, ManyProductsHaveTiles) {
  const auto product_of = [](int64_t products, int64_t rows, int64_t columns, int64_t steps, DataType type) {
    return Example{
        fmt::format("{} of {} by {}", products, rows, columns),
        fmt::format("s0 = reduce [{0}, {1}, {2}] over [{3}] with sum:float32 {{ float32(in0[i0, i1, r0]:{4})*"
                    "float32(in1[i0, r0, i2]:{4}) }}\noutput s0\n",
                    products, rows, columns, steps, name(type)),
        {{products, rows, steps}, {products, steps, columns}},
        type};
  };
  const auto text = [&](int64_t products, int64_t rows, int64_t columns) {
    const Example example = product_of(products, rows, columns, 32, DataType::kFloat16);
    return ok(emit_cuda(default_gpu_schedule(Schedule(lowered(example))).finish(), "f")).text;
  };
  for (const auto& [products, rows, columns] : std::vector<std::array<int64_t, 3>>{
           {65535, 49, 49}, {65536, 49, 49}, {70000, 49, 300}, {2, 1 << 24, 64}, {70000, 64, 64}})
    EXPECT_THAT(text(products, rows, columns), testing::HasSubstr("op::mma_f16"))
        << products << ' ' << rows << ' ' << columns;

  // Small tiles of what an emulator runs in a moment.
  Random random(49);
  std::vector<Case> cases;
  for (const auto& [products, rows, columns] : std::vector<std::array<int64_t, 3>>{{65540, 2, 5}, {2, 262'148, 2}}) {
    const Example example = product_of(products, rows, columns, 2, DataType::kFloat32);
    const Kernel kernel = lowered(example);
    Preferring preferring;
    Given given({{"s0.shared_tiles", 1}, {"s0.threads_x", 4}, {"s0.threads_y", 4}, {"s0.columns", 1}, {"s0.rows", 1}},
                preferring);
    cases.push_back(
        made(example, scheduled(Schedule(kernel), gpu_space(), Machine(), given).schedule, kernel, cases.size()));
    EXPECT_THAT(cases.back().code.text, testing::HasSubstr("__shared__"));
  }
  expect_same(cases, random);
}

/// A step that reads of the one before what other blocks of threads wrote is a launch of its own; where each place
/// needs its own steps alone, a thread takes them all.
TEST(GpuSpace, StepsOfSeveralAxesHaveManyBlocks) {
  Random random(47);
  std::vector<Case> cases;
  for (const char* last : {"state0[i0, i1]", "state0[4 - i0, i1]", "state0[i0, 32 - i1]"}) {
    const Example example = {last,
                             fmt::format("s0 = scan 4 {{\n  state [5, 33] = in0[0, i0, i1]:float32\n  step map [5, 33] "
                                         "{{ {}:float32 + in0[t0, i0, i1]:float32 }}\n  next 0\n}}\n"
                                         "s1 = map [5, 4, 33] {{ s0[i1, i0, i2]:float32 }}\noutput s1\n",
                                         last),
                             {{4, 5, 33}}};
    const Kernel kernel = lowered(example);
    cases.push_back(made(example, default_gpu_schedule(Schedule(kernel)), kernel, cases.size()));
    const int turns = std::string_view(last) == "state0[i0, i1]" ? 1 : 4;
    EXPECT_TRUE(std::ranges::any_of(cases.back().code.launches, [&](const CudaLaunch& each) {
      return each.turns == turns && each.launch.blocks[0] == 2;
    })) << cases.back().code.text;
  }
  expect_same(cases, random);
}

TEST(GpuSpace, RandomDecisionsKeepTheMeaning) {
  Random random(42);
  int others = 0, all = 0;
  for (int round = 0; round < (is_long_run() ? 40 : 3); ++round) {
    std::vector<Case> cases;
    for (int k = 0; k < 24; ++k) {
      const Example example = k % 3 == 0 ? examples()[random.below(examples().size())] : random_example(random);
      if (!is_exact(example)) continue;
      const Kernel kernel = lowered(example);
      Sampling sampling(random, 0.5);
      const Schedule schedule = scheduled(Schedule(kernel), gpu_space(), Machine(), sampling).schedule;
      cases.push_back(made(example, schedule, kernel, cases.size()));
      ++all;
      others += structural_hash(schedule.finish()) != structural_hash(default_gpu_schedule(Schedule(kernel)).finish());
    }
    ASSERT_NO_FATAL_FAILURE(expect_same(cases, random));
  }
  EXPECT_GT(2 * others, all);
}

}  // namespace
}  // namespace isomer::kernel::test
