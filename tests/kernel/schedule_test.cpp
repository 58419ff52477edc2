// Schedule primitives: whatever applies leaves the meaning as it was, traces replay to the same kernel, and what does
// not apply says why.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <sstream>

#include "kernel/access.h"
#include "kernel/default_schedule.h"
#include "kernel/examples.h"
#include "kernel/run_kernel.h"
#include "kernel/schedule.h"
#include "kernel/space/open_loops.h"
#include "kernel/tree.h"
#include "support/long_run.h"

namespace isomer::kernel::test {
namespace {

using isomer::test::is_long_run;
using testing::HasSubstr;
using testing::Not;

class OnExample : public testing::TestWithParam<Example> {};

TEST_P(OnExample, TheDefaultScheduleReplaysAndKeepsTheMeaning) {
  for (const VectorUnit& vectors : kVectorUnits)
    for (const int threads : {1, 2})
      for (const bool has_constant : {false, true}) {
        const Kernel kernel =
            lowered(GetParam(), has_constant ? std::set{GetParam().inputs.size() - 1} : std::set<size_t>());
        Machine machine;
        machine.vectors = vectors;
        machine.threads = threads;
        machine.word_parts = has_constant ? 4 : 2;
        const Schedule schedule = default_schedule(Schedule(kernel), machine);
        expect_replays(schedule, kernel);
        expect_same_meaning(GetParam(), schedule, kernel);
      }
}

TEST(DefaultSchedule, ThreadsShareALongReduction) {
  const std::vector<Example> long_ones = {
      {"total",
       "s0 = reduce [1] over [512, 600] with sum:float32 { in0[r0, r1]:float32 }\ns1 = map [1] { s0[i0]:float32*2 "
       "}\noutput s1\n",
       {{512, 600}}},
      {"columns",
       "s0 = reduce [2, 3] over [65536] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\noutput s0\n",
       {{2, 65'536}, {65'536, 3}}},
      {"row",
       "s0 = reduce [1] over [300000] with max:float32 { in0[i0, r0]:float32 }\ns1 = map [1, 300000] { in0[i0, "
       "i1]:float32 - s0[i0]:float32 }\noutput s1\n",
       {{1, 300'000}}}};
  for (const Example& example : long_ones) {
    SCOPED_TRACE(example.name);
    const Kernel kernel = lowered(example);
    Machine machine;
    machine.threads = 3;
    const Schedule schedule = default_schedule(Schedule(kernel), machine);
    EXPECT_THAT(print(schedule.trace()), HasSubstr("split_k"));
    expect_replays(schedule, kernel);
    expect_same_meaning(example, schedule, kernel);
  }
}

/// Few columns of long sums, beside as many as fill lanes.
TEST(DefaultSchedule, LanesRunAlongSumsOfFewColumns) {
  const auto product = [](int64_t rows, int64_t columns) {
    return Example{"product",
                   fmt::format("s0 = reduce [{}, {}] over [64] with sum:float32 {{ in0[i0, r0]:float32*in1[i1, "
                               "r0]:float32 }}\noutput s0\n",
                               rows, columns),
                   {{rows, 64}, {columns, 64}}};
  };
  const std::pair<Example, bool> cases[] = {{example_of("few_filters"), true},
                                            {example_of("few_transposed_filters"), true},
                                            {product(33, 2), true},
                                            {product(33, 3), true},
                                            {product(33, 16), false},
                                            {product(33, 33), false},
                                            {product(1, 33), false}};
  for (const auto& [example, is_inner] : cases) {
    SCOPED_TRACE(example.program);
    const Kernel kernel = lowered(example, {1});
    for (const int threads : {1, 3}) {
      const Machine machine{.vectors = kAvx512, .threads = threads};
      const Schedule schedule = default_schedule(Schedule(kernel), machine);
      EXPECT_EQ(print(schedule.trace()).find("inner_product := 1") != std::string::npos, is_inner);
      expect_replays(schedule, kernel);
      expect_same_meaning(example, schedule, kernel);
    }
  }
}

/// Rows whose weights no other row reads: a matrix times a vector, but not times sixteen. A last block of columns that
/// is not full has room in memory all the same.
TEST(DefaultSchedule, WeightsThatAreReadOnceComeInStreams) {
  for (const int64_t rows : {1, 2, 4, 16})
    for (const int64_t columns : {256, 520})
      for (const int threads : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} x {} by {}", rows, columns, threads));
        const Example product = {
            "product",
            fmt::format("s0 = reduce [{0}, {1}] over [64] with sum:float32 {{ in0[i0, r0]:float32*in1[r0, "
                        "i1]:float32 }}\noutput s0\n",
                        rows, columns),
            {{rows, 64}, {64, columns}}};
        const Kernel kernel = lowered(product, {1});
        const Schedule schedule = default_schedule(Schedule(kernel), {.threads = threads});
        EXPECT_THAT(print(schedule.trace()),
                    HasSubstr(rows < 16 ? "transform_layout(in1.cache, 0:2/8:1:2%8)" : "s0.streams_of_in1 := 0"));
        EXPECT_THAT(print(schedule.kernel()), Not(HasSubstr("min(")));
        expect_replays(schedule, kernel);
        expect_same_meaning(product, schedule, kernel);
      }
}

/// The reduction, if there is one, whose lanes sum up in memory at elements apart: each step of the sum would load and
/// store them one by one.
std::string summed_apart(const Kernel& kernel) {
  std::string found;
  for_each_block(kernel.body, [&](const Block& block, const std::vector<const Loop*>& loops) {
    if (!block.is_reduction() || kernel.buffers[block.writes[0].buffer].scope == Scope::kRegister) return;
    const auto strides = write_strides(kernel, block);
    bool is_apart = false, goes_on = false;
    for (const Loop* loop : loops) {
      const auto moves = [&](const Iterator& iterator) { return variables(iterator.binding).contains(loop->variable); };
      const int64_t extent = te::as_constant(loop->extent).value_or(2);
      for (size_t k = 0; k < block.axes.size() && loop->kind == LoopKind::kVectorized; ++k)
        is_apart |= moves(block.axes[k]) && strides[k] != 1 && strides[k] != 0;
      goes_on |= extent > 1 && loop->kind != LoopKind::kVectorized &&
                 std::any_of(block.reduce.begin(), block.reduce.end(), moves);
    }
    if (is_apart && goes_on) found = block.name;
  });
  return found;
}

/// A product with what a map makes of its right operand, transposed or not, given or known: nothing is summed up in
/// memory that lies apart. Numbers of a byte that are known stay bytes where each is read once.
TEST(DefaultSchedule, OperandsOfProductsMayBeMade) {
  for (const int64_t rows : {1, 16})
    for (const bool is_transposed : {false, true})
      for (const bool is_known : {false, true}) {
        SCOPED_TRACE(fmt::format("{} rows, transposed {}, known {}", rows, is_transposed, is_known));
        const Dims weights = is_transposed ? Dims{96, 64} : Dims{64, 96};
        const Example product = {
            "product",
            fmt::format("s0 = map [{}, {}] {{ (float32(select(i1 floormod 2 == 0, in1[i0, i1]:uint8, in1[i0, "
                        "i1]:uint8 floordiv 2)) - 8)*2 }}\n"
                        "s1 = reduce [{}, 96] over [64] with sum:float32 {{ in0[i0, r0]:float32*s0[{}]:float32 }}\n"
                        "output s1\n",
                        weights[0], weights[1], rows, is_transposed ? "i1, r0" : "r0, i1"),
            {{rows, 64}, weights},
            DataType::kFloat32,
            {DataType::kFloat32, DataType::kUInt8}};
        const Kernel kernel = lowered(product, is_known ? std::set<size_t>{1} : std::set<size_t>());
        const Schedule schedule = default_schedule(Schedule(kernel), {.vectors = kAvx512, .threads = 1});
        const std::string trace = print(schedule.trace());
        EXPECT_EQ(summed_apart(schedule.kernel()), "") << trace;
        EXPECT_TRUE(!is_known || (trace.find("s0.inline := 1") != std::string::npos) == (rows == 1)) << trace;
        expect_replays(schedule, kernel);
        expect_same_meaning(product, schedule, kernel);
      }
}

/// The blocks that compute many elements, but fewer than `least` side by side.
std::vector<std::string> narrow_blocks(const Kernel& kernel, int64_t least) {
  std::vector<std::string> found;
  for_each_block(kernel.body, [&](const Block& block, const std::vector<const Loop*>& loops) {
    int64_t iterations = 1, lanes = 1;
    for (const Loop* loop : loops) {
      const int64_t extent = te::as_constant(loop->extent).value_or(1);
      iterations *= extent;
      if (loop->kind == LoopKind::kVectorized) lanes *= extent;
    }
    if (iterations >= 4096 && lanes < least) found.push_back(block.name);
  });
  return found;
}

/// What once ran one element at a time, or by parts of vectors, for its shape: short rows, dims of one element behind,
/// parts of a concatenation along an inner axis.
TEST(DefaultSchedule, OddShapesHaveLanes) {
  const std::vector<Example> cases = {
      {"short_rows", "s0 = reduce [512] over [21] with max:float32 { in0[i0, r0]:float32 }\noutput s0\n", {{512, 21}}},
      {"last_of_one", "s0 = map [4096, 1] { abs(in0[i0, 0]:float32) }\noutput s0\n", {{4096, 1}}},
      {"inner_parts",
       "s0 = map [512, 24, 2] { select(i1 < 12, in0[i0, i1, i2]:float32, in1[i0, i1 - 12, i2]:float32) }\noutput s0\n",
       {{512, 12, 2}, {512, 12, 2}}},
      {"short_transposition", "s0 = map [64, 12, 32] { in0[i0, i2, i1]:float32 }\noutput s0\n", {{64, 32, 12}}}};
  for (const Example& example : cases)
    for (const VectorUnit& vectors : {kAvx2, kAvx512}) {
      SCOPED_TRACE(fmt::format("{}, {} bits", example.name, vectors.bits));
      const Kernel kernel = lowered(example);
      const Schedule schedule = default_schedule(Schedule(kernel), {.vectors = vectors, .threads = 1});
      EXPECT_THAT(narrow_blocks(schedule.kernel(), 4), testing::IsEmpty()) << print(schedule.kernel());
      expect_replays(schedule, kernel);
      expect_same_meaning(example, schedule, kernel);
    }
}

/// Where neither rows nor results of lanes lie side by side, lanes are results: no step works out its place in the sum
/// by quotients. What nearest elements of another size are is known for each vector of a row.
TEST(DefaultSchedule, PlacesAreNotWorkedOutLaneByLane) {
  const Example sums = {"apart",
                        "s0 = reduce [8, 96] over [5, 7] with sum:float32 { in0[i0, r0, i1, r1]:float32 }\noutput s0\n",
                        {{8, 5, 96, 7}}},
                nearest = {"nearest",
                           "s0 = map [128, 100] { in0[i0, (23*i1 + 23) floordiv 99]:float32 }\noutput s0\n",
                           {{128, 24}}};
  for (const Example& example : {sums, nearest}) {
    const Kernel kernel = lowered(example);
    const Schedule schedule = default_schedule(Schedule(kernel), {.vectors = kAvx512, .threads = 1});
    const std::string trace = print(schedule.trace());
    EXPECT_THAT(trace, Not(HasSubstr("interleaved := 1"))) << print(schedule.kernel());
    EXPECT_THAT(trace, HasSubstr("unroll(")) << print(schedule.kernel());
    expect_replays(schedule, kernel);
    expect_same_meaning(example, schedule, kernel);
  }
}

/// Gates whose number is none of lanes: their sums lie in whole vectors, of weights that are packed from where the gate
/// begins.
TEST(DefaultSchedule, GatesOfOddWidthsAreTiles) {
  const auto all = examples();
  const Example& recurrence =
      *std::find_if(all.begin(), all.end(), [](const Example& e) { return e.name == "recurrence_of_odd_parts"; });
  const Kernel kernel = lowered(recurrence, {2});
  const Schedule schedule = default_schedule(Schedule(kernel), {.vectors = kAvx512, .threads = 1});
  int sums = 0;
  for_each_block(schedule.kernel().body, [&](const Block& block, const std::vector<const Loop*>& loops) {
    if (!block.is_reduction()) return;
    sums += 1;
    EXPECT_FALSE(block.predicate) << print(schedule.kernel());
    EXPECT_EQ(loops.back()->kind, LoopKind::kVectorized) << print(schedule.kernel());
  });
  EXPECT_GT(sums, 0);
}

/// The blocks that compute many elements outside of any loop that threads share.
std::vector<std::string> blocks_of_one_thread(const Kernel& kernel) {
  std::vector<std::string> found;
  for_each_block(kernel.body, [&](const Block& block, const std::vector<const Loop*>& loops) {
    int64_t iterations = 1, shares = 1;
    for (const Loop* loop : loops) {
      const int64_t extent = te::as_constant(loop->extent).value_or(1);
      iterations *= extent;
      if (loop->kind == LoopKind::kParallel) shares *= extent;
    }
    if (iterations >= 65'536 && shares < 2) found.push_back(block.name);
  });
  return found;
}

/// Two tiles of columns and a part (80, 116, 232 channels of pointwise convolutions), with few tiles of rows or many;
/// results whose last lanes are peeled off (linear resizing).
TEST(DefaultSchedule, ThreadsShareWhatStandsInPieces) {
  std::vector<Example> cases = {
      {"resizing",
       "s0 = reduce [64, 32, 64] over [2] with sum:float32 { in1[i2, r0]:float32*in0[i0, i1, min(max((i2 + 1) floordiv "
       "2 - 1 + r0, 0), 31)]:float32 }\noutput s0\n",
       {{64, 32, 32}, {64, 2}}}};
  for (const auto& [rows, columns] : {std::pair(196, 80), std::pair(196, 116), std::pair(49, 232), std::pair(49, 64)})
    cases.push_back({fmt::format("{} rows, {} columns", rows, columns),
                     fmt::format("s0 = reduce [{0}, {1}] over [240] with sum:float32 {{ in0[i0, r0]:float32*in1[i1, "
                                 "r0]:float32 }}\noutput s0\n",
                                 rows, columns),
                     {{rows, 240}, {columns, 240}}});
  // Long sums, in blocks of their steps.
  cases.push_back({"long sums",
                   "s0 = reduce [32, 64] over [2048] with sum:float32 { in1[i0, r0]:float32*in0[r0, i1]:float32 }\n"
                   "output s0\n",
                   {{2048, 64}, {32, 2048}}});
  for (const Example& example : cases) {
    SCOPED_TRACE(example.name);
    const Kernel kernel = lowered(example, {1});
    const Schedule schedule = default_schedule(Schedule(kernel), {.vectors = kAvx512, .threads = 2});
    EXPECT_THAT(blocks_of_one_thread(schedule.kernel()), testing::IsEmpty()) << print(schedule.kernel());
    expect_replays(schedule, kernel);
    expect_same_meaning(example, schedule, kernel);
  }
}

/// Lines of one set of the cache: each tile of rows would bring all of them anew.
TEST(DefaultSchedule, OperandsOfRowsThatShareASetArePacked) {
  for (const int64_t columns : {960, 1024, 3072}) {
    SCOPED_TRACE(columns);
    const Example product = {
        "product",
        fmt::format("s0 = reduce [64, {0}] over [40] with sum:float32 {{ in0[i0, r0]:float32*in1[r0, i1]:float32 "
                    "}}\noutput s0\n",
                    columns),
        {{64, 40}, {40, columns}}};
    const Kernel kernel = lowered(product, {0});
    const Schedule schedule = default_schedule(Schedule(kernel), {.vectors = kAvx512, .threads = 1});
    EXPECT_THAT(print(schedule.trace()),
                HasSubstr(columns % 1024 == 0 ? "packs_operand0 := 1" : "packs_operand0 := 0"));
    expect_replays(schedule, kernel);
    expect_same_meaning(product, schedule, kernel);
  }
}

/// A transposed convolution of stride 8 (as vocoders have): rows of one phase share a tile.
TEST(DefaultSchedule, RowsOfAPhaseShareTiles) {
  const Example phases = {
      "phases",
      "s0 = reduce [64, 256] over [32, 2] with sum:float32 { select(0 <= (i1 + 4) floordiv 8 - r1 && (i1 + 4) floordiv "
      "8 - r1 < 32, in0[r0, (i1 + 4) floordiv 8 - r1]:float32*in1[r0, i0, (i1 + 4) floormod 8 + 8*r1]:float32, 0) "
      "}\noutput s0\n",
      {{32, 32}, {32, 64, 16}}};
  const Kernel kernel = lowered(phases, {1});
  const Schedule schedule = default_schedule(Schedule(kernel), {.vectors = kAvx512, .threads = 1});
  const std::string trace = print(schedule.trace());
  const size_t rows = trace.find("s0.rows := ");
  ASSERT_NE(rows, std::string::npos) << trace;
  EXPECT_GT(std::stoi(trace.substr(rows + std::string("s0.rows := ").size())), 1) << trace;
  expect_replays(schedule, kernel);
  expect_same_meaning(phases, schedule, kernel);
}

/// An operand that lies the other way (Q K^T) is packed by transpositions in registers: a copy that scatters its
/// elements takes as long as the product.
TEST(DefaultSchedule, PackedCopiesAreTransposedInRegisters) {
  for (const int64_t columns : {128, 49}) {
    const Example product = {
        "scores",
        fmt::format("s0 = reduce [4, {0}, {0}] over [32] with sum:float32 {{ in0[i0, i1, r0]:float32*in1[i0, i2, "
                    "r0]:float32 }}\noutput s0\n",
                    columns),
        {{4, columns, 32}, {4, columns, 32}}};
    const Kernel kernel = lowered(product);
    const Schedule schedule = default_schedule(Schedule(kernel), {.vectors = kAvx512, .threads = 1});
    int packed = 0;
    for_each_block(schedule.kernel().body, [&](const Block& block, const std::vector<const Loop*>& loops) {
      if (block.is_reduction() || !block.name.starts_with("in")) return;
      packed += 1;
      EXPECT_EQ(std::count_if(loops.begin(), loops.end(),
                              [](const Loop* loop) { return loop->kind == LoopKind::kVectorized; }),
                2)
          << block.name << print(schedule.kernel());
    });
    EXPECT_GT(packed, 0) << print(schedule.kernel());
    expect_replays(schedule, kernel);
    expect_same_meaning(product, schedule, kernel);
  }
}

TEST(DefaultSchedule, NothingIsSummedUpApart) {
  Random random(7);
  std::vector<Example> all = examples();
  for (int k = 0; k < (is_long_run() ? 5000 : 300); ++k) all.push_back(random_example(random));
  int tried = 0;
  for (const Example& example : all)
    for (const VectorUnit& vectors : kVectorUnits) {
      const Kernel kernel = lowered(example);
      const Schedule schedule = default_schedule(Schedule(kernel), {.vectors = vectors, .threads = 1});
      EXPECT_EQ(summed_apart(schedule.kernel()), "")
          << example.program << print(schedule.trace()) << print(schedule.kernel());
      ++tried;
    }
  EXPECT_GT(tried, 0);
}

/// Instructions for each multiply-add of the block that has most of them: between labels and jumps.
double instructions_of_multiply_add(const std::string& assembly) {
  std::istringstream lines(assembly);
  int instructions = 0, multiply_adds = 0, most = 0;
  double result = 0;
  for (std::string line; std::getline(lines, line);) {
    const bool is_instruction = line.starts_with('\t') && !line.starts_with("\t.");
    instructions += is_instruction;
    multiply_adds += line.find("vfmadd") != std::string::npos;
    if (is_instruction ? !line.starts_with("\tj") : line.starts_with('\t')) continue;
    if (multiply_adds > most) result = static_cast<double>(instructions) / multiply_adds;
    most = std::max(most, multiply_adds);
    instructions = multiply_adds = 0;
  }
  return result;
}

/// A core that two threads share issues some three instructions a cycle for each: what counts, and what asks for the
/// next operands, may take little beside two multiply-adds a cycle.
TEST(DefaultSchedule, TilesComputeMoreThanTheyCount) {
  const std::vector<Example> cases = {
      {"convolution",
       "s0 = reduce [56, 56, 64] over [64, 3, 3] with sum:float32 { in0[i0 + r1, i1 + r2, r0]:float32*in1[i2, r0, r1, "
       "r2]:float32 }\noutput s0\n",
       {{58, 58, 64}, {64, 64, 3, 3}}},
      {"product",
       "s0 = reduce [128, 768] over [768] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\noutput s0\n",
       {{128, 768}, {768, 768}}},
      {"first_convolution",
       "s0 = reduce [112, 112, 64] over [3, 7, 7] with sum:float32 { in0[2*i0 + r1, 2*i1 + r2, r0]:float32*in1[i2, r0, "
       "r1, r2]:float32 }\noutput s0\n",
       {{230, 230, 3}, {64, 3, 7, 7}}}};
  for (const Example& example : cases)
    for (const std::string cpu : {"haswell", "skylake-avx512"}) {
      SCOPED_TRACE(example.name + " " + cpu);
      const CpuTarget target = *parse_cpu_target("cpu=" + cpu);
      const Machine machine{.vectors = target.vectors(), .caches = caches_of(target.cpu)};
      const Schedule schedule = default_schedule(Schedule(lowered(example, {1})), machine);
      const auto assembly = emit_assembly(schedule.finish(), target);
      ASSERT_TRUE(assembly.ok());
      const double instructions = instructions_of_multiply_add(*assembly);
      EXPECT_GT(instructions, 1);
      EXPECT_LT(instructions, 1.95);
    }
}

/// Three channels beside each other are no loop of their own; where the window's pixels lie apart they are.
TEST(DefaultSchedule, FewStepsJoinThoseAround) {
  for (const int64_t dilation : {1, 2}) {
    SCOPED_TRACE(dilation);
    const int64_t size = 12 + 4 * dilation;
    const Example convolution = {
        "convolution",
        fmt::format("s0 = reduce [12, 12, 16] over [5, 5, 3] with sum:float32 {{ in0[i0 + {0}*r0, i1 + {0}*r1, "
                    "r2]:float32*in1[r0, r1, r2, i2]:float32 }}\noutput s0\n",
                    dilation),
        {{size, size, 3}, {5, 5, 3, 16}}};
    const Kernel kernel = lowered(convolution, {1});
    const Schedule schedule = default_schedule(Schedule(kernel), {});
    EXPECT_EQ(print(schedule.trace()).find("s0.join_steps := 1") != std::string::npos, dilation == 1);
    expect_replays(schedule, kernel);
    expect_same_meaning(convolution, schedule, kernel);
  }
}

/// Where a window's pixels lie further apart than most rows are away from the border, most of them are padding: tiles
/// of few rows lie in it and are skipped, one as wide as the image never does.
TEST(DefaultSchedule, TilesOfFewRowsLieInThePadding) {
  const CpuTarget target = *parse_cpu_target("cpu=skylake-avx512");
  const Machine machine{.vectors = target.vectors(), .caches = caches_of(target.cpu)};
  const auto rows_at = [&](int64_t dilation) -> int64_t {
    const Example convolution = {
        "convolution",
        fmt::format(
            "s0 = reduce [14, 14, 64] over [3, 3, 8] with sum:float32 {{ select(0 <= i0 + {0}*r0 - {0} && "
            "i0 + {0}*r0 - {0} < 14 && 0 <= i1 + {0}*r1 - {0} && i1 + {0}*r1 - {0} < 14, in0[i0 + {0}*r0 - {0}, "
            "i1 + {0}*r1 - {0}, r2]:float32, 0:float32)*in1[r0, r1, r2, i2]:float32 }}\noutput s0\n",
            dilation),
        {{14, 14, 8}, {3, 3, 8, 64}}};
    const Kernel kernel = lowered(convolution, {1});
    const Schedule schedule = default_schedule(Schedule(kernel), machine);
    expect_replays(schedule, kernel);
    expect_same_meaning(convolution, schedule, kernel);
    for (const Decision& decision : schedule.trace().decisions)
      if (decision.name == "s0.rows") return decision.value;
    ADD_FAILURE() << "no rows were decided for";
    return 0;
  };
  EXPECT_EQ(rows_at(1), 14);
  EXPECT_LE(rows_at(12), 5);
}

/// Neighbouring rows of a pool, or of a filter of one channel, read most of the same vectors: tiles have several of
/// them, and the window's steps that they share are innermost. By two rows at a time windows of two share nothing.
TEST(DefaultSchedule, RowsShareWhatSlidingWindowsRead) {
  struct Case {
    int64_t window, stride;
    bool shares;
  };
  for (const auto& [window, stride, shares] : {Case{3, 1, true}, Case{3, 2, true}, Case{7, 1, true}, Case{2, 2, false}})
    for (const bool weighs : {false, true}) {
      SCOPED_TRACE(fmt::format("{} by {}, {}", window, stride, weighs ? "weights" : "sums"));
      const int64_t size = 20 * stride + window;
      const Example sliding = {
          "sliding",
          fmt::format("s0 = reduce [6, 20, 20] over [{0}, {0}] with sum:float32 {{ in0[i0, {1}*i1 + r0, "
                      "i2 + r1]:float32{2} }}\noutput s0\n",
                      window, stride, weighs ? "*in1[i0, r0, r1]:float32" : ""),
          weighs ? std::vector<std::vector<int64_t>>{{6, size, size}, {6, window, window}}
                 : std::vector<std::vector<int64_t>>{{6, size, size}}};
      const Kernel kernel = lowered(sliding, weighs ? std::set<size_t>{1} : std::set<size_t>());
      const Schedule schedule = default_schedule(Schedule(kernel), {.vectors = kAvx512, .threads = 1});
      const std::string trace = print(schedule.trace());
      EXPECT_THAT(trace, HasSubstr("s0.vector_axis := 2"));
      EXPECT_EQ(trace.find("s0.row_axis := 1") != std::string::npos, shares) << trace;
      expect_replays(schedule, kernel);
      expect_same_meaning(sliding, schedule, kernel);
    }
}

/// Samples of an image whose places other stages work out are no rows that pass by: their channels are lanes.
TEST(DefaultSchedule, SamplesAreTakenChannelByChannel) {
  const Example samples = {"samples",
                           "s0 = map [5, 3] { min(max(int64(in1[i0, i1]:float32), 0), 8) }\n"
                           "s1 = map [5, 3] { in1[i0, i1]:float32*2 }\n"
                           "s2 = reduce [5, 32] over [3] with sum:float32 { s1[i0, r0]:float32*in0[s0[i0, r0], "
                           "i1]:float32 }\noutput s2\n",
                           {{9, 32}, {5, 3}}};
  const Kernel kernel = lowered(samples);
  const Schedule schedule = default_schedule(Schedule(kernel), {.vectors = kAvx512, .threads = 1});
  const std::string trace = print(schedule.trace());
  EXPECT_THAT(trace, HasSubstr("s2.vector_axis := 1"));
  EXPECT_THAT(trace, Not(HasSubstr("rows_inside := 1")));
  expect_replays(schedule, kernel);
  expect_same_meaning(samples, schedule, kernel);
}

/// Results of attention that do not fill a tile's vectors are summed up in registers: parts of vectors in memory would
/// be read and written again in each step.
TEST(DefaultSchedule, PartsOfVectorsAreSummedUpInRegisters) {
  for (const int64_t width : {24, 32, 40}) {
    SCOPED_TRACE(width);
    const Example attention = {
        "attention",
        fmt::format("s0 = reduce [4, 20, 24] over [{0}] with sum:float32 {{ in0[i0, i1, r0]:float32*in1[i0, i2, "
                    "r0]:float32 }}\ns1 = reduce [4, 20] over [24] with max:float32 {{ s0[i0, i1, r0]:float32 }}\n"
                    "s2 = map [4, 20, 24] {{ s0[i0, i1, i2]:float32 - s1[i0, i1]:float32 }}\ns3 = reduce [4, 20, {0}] "
                    "over [24] with sum:float32 {{ s2[i0, i1, r0]:float32*in2[i0, r0, i2]:float32 }}\noutput s3\n",
                    width),
        {{4, 20, width}, {4, 24, width}, {4, 24, width}}};
    const Kernel kernel = lowered(attention);
    const Schedule schedule = default_schedule(Schedule(kernel), {.vectors = kAvx512, .threads = 1});
    EXPECT_EQ(print(schedule.trace()).find("s3.sum_apart := 1") != std::string::npos, width != 32)
        << print(schedule.trace());
    expect_replays(schedule, kernel);
    expect_same_meaning(attention, schedule, kernel);
  }
}

/// A copy by what a convolution iterates over has the windows side by side, padding and all.
TEST(Primitives, ReindexedReadsAreThoseOfTheIterators) {
  const Example& example = examples()[1];
  ASSERT_EQ(example.name, "padded_convolution");
  const Kernel kernel = lowered(example);
  const Block& convolution = *place_of_block(kernel, "s0").block;
  Schedule schedule(kernel);
  const auto copy = schedule.reindex("s0", "in0");
  ASSERT_TRUE(copy.ok()) << copy.error().message();
  Shape windows;  // all iterators but the filters
  for (const auto* list : {&convolution.axes, &convolution.reduce})
    for (const Iterator& iterator : *list)
      if (list == &convolution.reduce || &iterator != &convolution.axes[1]) windows.push_back(Dim(iterator.extent));
  EXPECT_EQ(schedule.kernel().buffers[schedule.kernel().find_buffer(*copy)].shape, windows);
  expect_replays(schedule, kernel);
  expect_same_meaning(example, schedule, kernel);

  // One of its steps stays as it is where it is to.
  Schedule apart = schedule;
  ASSERT_TRUE(apart.flatten(*copy, 0).ok());
  EXPECT_EQ(place_of_block(apart.kernel(), "s0").block->reduce.size(), 2u);
  EXPECT_EQ(place_of_block(apart.kernel(), "s0").block->reduce[0].extent, convolution.reduce[0].extent);
  expect_replays(apart, kernel);
  expect_same_meaning(example, apart, kernel);
  EXPECT_FALSE(apart.flatten(*copy, -2).ok());

  // Its places become one dim, its steps another: a product of matrices.
  ASSERT_TRUE(schedule.flatten(*copy).ok());
  const Block& product = *place_of_block(schedule.kernel(), "s0").block;
  EXPECT_EQ(product.reduce.size(), 1u);
  EXPECT_EQ(product.axes.size(), convolution.axes.size() - 1);
  expect_replays(schedule, kernel);
  expect_same_meaning(example, schedule, kernel);

  const Example guarded = {
      "guarded",
      "s0 = reduce [4] over [3] with sum:float32 { select(i0 < 2, in0[2*i0, r0]:float32, 0:float32) }\noutput s0\n",
      {{3, 3}}};
  Schedule unknown(lowered(guarded));
  const auto none = unknown.reindex("s0", "in0");
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().message(), HasSubstr("an index inside of dim 0 of 'in0' at every point expected"));
}

TEST(Annotations, SayHowMemoryIsUsed) {
  const Example example = {"map", "s0 = map [64, 32] { in0[i0, i1]:float32*2 }\noutput s0\n", {{64, 32}}};
  const Kernel kernel = lowered(example);
  Schedule schedule(kernel);
  const LoopIds loops = *schedule.loops("s0");
  ASSERT_TRUE(schedule.vectorize(loops[1]).ok() && schedule.annotate(loops[1], kStream, 1).ok());
  expect_same_meaning(example, schedule, kernel);
  const auto streamed = emit_assembly(schedule.finish(), *parse_cpu_target("cpu=haswell"));
  ASSERT_TRUE(streamed.ok());
  EXPECT_THAT(*streamed, HasSubstr("vmovntps"));
  EXPECT_THAT(*streamed, HasSubstr("sfence"));

  const Example residual = {
      "residual",
      "s0 = reduce [24, 32] over [64] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\n"
      "s1 = map [24, 32] { s0[i0, i1]:float32 + in2[i0, i1]:float32 }\noutput s1\n",
      {{24, 64}, {64, 32}, {24, 32}}};
  const Kernel product = lowered(residual, {1});
  const Schedule tiles = default_schedule(Schedule(product), {});
  EXPECT_THAT(print(tiles.trace()), HasSubstr("prefetch"));
  expect_same_meaning(residual, tiles, product);
  const auto fetched = emit_assembly(tiles.finish(), *parse_cpu_target("cpu=haswell"));
  ASSERT_TRUE(fetched.ok());
  EXPECT_THAT(*fetched, HasSubstr("prefetcht0"));
}

/// Zeros of a padding are left out where what they are multiplied with is known to be finite: with an infinity the
/// product is NaN.
TEST(Paddings, AreSkippedBesideConstantsOnly) {
  const Example& example = examples()[1];
  ASSERT_EQ(example.name, "padded_convolution");
  for (const bool is_constant : {false, true})
    for (const bool is_packed : {false, true}) {
      SCOPED_TRACE(fmt::format("constant {}, packed {}", is_constant, is_packed));
      const Kernel kernel = lowered(example, is_constant ? std::set<size_t>{1} : std::set<size_t>());
      Schedule schedule(kernel);
      if (is_packed) {
        ASSERT_TRUE(schedule.cache_read("s0", "in1").ok());
      }
      ASSERT_TRUE(schedule.decompose_reduction("s0", schedule.loops("s0")->at(4)).ok());
      Schedule copied = schedule;
      EXPECT_EQ(schedule.skip_padding("s0").ok(), is_constant);
      const auto padded = copied.cache_read("s0", "in0");
      ASSERT_TRUE(padded.ok());
      const std::string copy = copied.kernel().buffers.back().name;
      if (is_packed) {
        ASSERT_TRUE(copied.transform_layout(copy, "0:3:1:2").ok());
      }
      const auto skipped = copied.skip_border("s0", copy);
      EXPECT_EQ(skipped.ok(), is_constant);
      if (!is_constant) {
        EXPECT_THAT(skipped.error().message(), HasSubstr("a finite factor"));
      }
      expect_same_meaning(example, schedule, kernel);
      expect_same_meaning(example, copied, kernel);
    }
}

/// Of 34 rows in 2 pieces of 3 tiles of 6 the last tile has 4: in the other piece it is whole, and computed so.
TEST(Bounds, AreLeftOutWhereATileIsWhole) {
  const Example example = {
      "product",
      "s0 = reduce [34, 16] over [9] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\noutput s0\n",
      {{34, 9}, {9, 16}}};
  const Kernel kernel = lowered(example);
  Schedule schedule(kernel);
  const LoopIds loops = *schedule.loops("s0");
  const LoopIds down = *schedule.split(loops[0], {2, 3, 6}), across = *schedule.split(loops[1], {-1, 8});
  ASSERT_TRUE(schedule.reorder({down[0], down[1], across[0], loops[2], down[2], across[1]}).ok());
  ASSERT_TRUE(schedule.decompose_reduction("s0", loops[2]).ok());
  ASSERT_TRUE(schedule.unroll(down[2]).ok() && schedule.vectorize(across[1]).ok());
  const std::string text = print(schedule.finish());
  EXPECT_THAT(text, HasSubstr("s0.whole: "));
  EXPECT_THAT(text, HasSubstr("if 3*k3 + k4 < 5 {"));
  expect_same_meaning(example, schedule, kernel);
}

/// Loops that would stand in the code too often count instead: the sum around a tile, and all of a map.
TEST(WrittenOut, AreLoopsOfSomeLength) {
  const Example product = {
      "product",
      "s0 = reduce [12, 16] over [4096] with sum:float32 { in0[i0, r0]:float32*in1[r0, i1]:float32 }\noutput s0\n",
      {{12, 4096}, {4096, 16}}};
  const Kernel sums = lowered(product);
  Schedule tiles(sums);
  const LoopIds loops = *tiles.loops("s0");
  const LoopIds down = *tiles.split(loops[0], {-1, 6}), across = *tiles.split(loops[1], {-1, 8});
  ASSERT_TRUE(tiles.reorder({down[0], across[0], loops[2], down[1], across[1]}).ok());
  ASSERT_TRUE(tiles.decompose_reduction("s0", loops[2]).ok());
  ASSERT_TRUE(tiles.unroll(loops[2]).ok() && tiles.unroll(down[1]).ok() && tiles.vectorize(across[1]).ok());
  expect_same_meaning(product, tiles, sums);

  const Example map = {"map", "s0 = map [64, 1024] { in0[i0, i1]:float32*2 }\noutput s0\n", {{64, 1024}}};
  const Kernel kernel = lowered(map);
  Schedule endless(kernel);
  const LoopIds all = *endless.loops("s0");
  for (const LoopId loop : all) ASSERT_TRUE(endless.unroll(loop).ok());
  expect_same_meaning(map, endless, kernel);
}

/// 8 rows from the 24th on, of which every second one is in a tile of 6: 4 of them are there, whatever the phase.
TEST(Bounds, ForgetPhases) {
  const Example example = {"phases", "s0 = map [32, 16] { in0[i0, i1]:float32*2 }\noutput s0\n", {{32, 16}}};
  const Kernel kernel = lowered(example);
  Schedule schedule(kernel);
  const LoopIds loops = *schedule.loops("s0");
  const LoopIds down = *schedule.split(loops[0], {3, 6, 2});
  ASSERT_TRUE(schedule.reorder({down[0], down[2], down[1], loops[1]}).ok());
  ASSERT_TRUE(schedule.peel(down[0], "last").ok());
  EXPECT_THAT(print(schedule.finish()), testing::ContainsRegex("if k[0-9]+ < 4 "));
  expect_same_meaning(example, schedule, kernel);
}

int64_t extent(const Schedule& schedule, LoopId loop) {
  Kernel kernel = schedule.kernel();
  return te::as_constant(find_loop(kernel, loop.variable)->loop().extent).value_or(0);
}

/// One primitive with random arguments; most don't apply.
void try_something(Schedule& schedule, Random& random) {
  const std::vector<std::string> blocks = schedule.blocks();
  const std::string block = blocks[random.below(blocks.size())];
  const auto buffer = [&] { return schedule.kernel().buffers[random.below(schedule.kernel().buffers.size())].name; };
  const auto loop_of = [&](const std::string& name) {
    const LoopIds loops = *schedule.loops(name);
    return loops.empty() ? LoopId{} : loops[random.below(loops.size())];
  };
  const LoopId loop = loop_of(block);
  LoopIds loops = *schedule.loops(block);
  switch (random.below(36)) {
    case 0: (void)schedule.split(loop, Integers{-1, random.between(1, 9)}); break;
    case 1: (void)schedule.split(loop, Integers{random.between(1, 3), -1, random.between(1, 4)}); break;
    case 2: (void)schedule.split(loop, Integers{random.between(1, 5), random.between(1, 5)}); break;
    case 3: {
      const size_t first = random.below(loops.size() + 1);
      (void)schedule.fuse({loops.begin() + static_cast<std::ptrdiff_t>(first), loops.end()});
      break;
    }
    case 4:
      for (size_t i = loops.size(); i > 1; --i) std::swap(loops[i - 1], loops[random.below(i)]);
      (void)schedule.reorder(loops);
      break;
    case 5: (void)schedule.parallel(loop); break;
    case 6: (void)schedule.vectorize(loop); break;
    case 7: (void)schedule.unroll(loop); break;
    case 8: (void)schedule.compute_inline(block); break;
    case 9: (void)schedule.reverse_compute_inline(block); break;
    case 10: (void)schedule.compute_at(block, loop_of(blocks[random.below(blocks.size())])); break;
    case 11: (void)schedule.reverse_compute_at(block, loop_of(blocks[random.below(blocks.size())])); break;
    case 12: (void)schedule.cache_read(block, buffer(), random.between(0, 1)); break;
    case 13: (void)schedule.cache_write(block); break;
    case 28:
      if (const auto copy = schedule.reindex(block, buffer(), random.between(0, 1)); copy.ok() && random.chance(0.5))
        (void)schedule.flatten(*copy);
      break;
    case 14: (void)schedule.decompose_reduction(block, loop); break;
    case 15: (void)schedule.rfactor(block, loop); break;
    case 16: (void)schedule.peel(loop, random.chance(0.5) ? "first" : "last"); break;
    case 17: (void)schedule.skip_padding(block); break;
    case 18: (void)schedule.pad(block, random.between(0, 3)); break;
    case 19: {
      const std::string name = buffer();
      std::vector<int> order(schedule.kernel().buffers[schedule.kernel().find_buffer(name)].shape.size());
      std::iota(order.begin(), order.end(), 0);
      for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
      (void)schedule.transform_layout(name, fmt::format("{}", fmt::join(order, ":")));
      break;
    }
    case 22: (void)schedule.partition(loop, random.between(1, 8)); break;
    case 25: (void)schedule.annotate(loop, kPrefetch, 1); break;
    case 26: (void)schedule.annotate(loop, kStream, 1); break;
    case 27: (void)schedule.join(loop, loop_of(blocks[random.below(blocks.size())])); break;
    case 23: (void)schedule.split_k(block, loop, random.between(1, 5)); break;
    case 29: (void)schedule.accumulate_in(block, random.chance(0.7) ? "float64" : "float32"); break;
    case 30: (void)schedule.multiply_words(block, random.between(0, 2), random.chance(0.5) ? 4 : 2); break;
    case 31: (void)schedule.tabulate(block); break;
    case 32: {
      const int64_t first = random.between(2, 6);
      const Integers sizes = random.chance(0.5) ? Integers{first} : Integers{first, random.between(1, first - 1)};
      (void)schedule.shift_inwards(loop, sizes);
      break;
    }
    case 33: (void)schedule.keep_in_registers(block, loop); break;
    case 34: (void)schedule.reduce_in_lanes(block, loop, random.between(2, 8)); break;
    case 35: (void)schedule.widen(buffer(), "float32"); break;
    case 24: {
      Integers extents;
      for (const LoopId each : loops)
        if (!extents.empty() || each.variable == loop.variable) extents.push_back(extent(schedule, each));
      (void)schedule.tensorize(loop, tile_name(kAvx512, extents));
      break;
    }
    case 20: (void)schedule.split_padding(block, buffer(), {random.between(0, 3)}); break;
    case 21: (void)schedule.skip_border(block, buffer()); break;
  }
}

TEST_P(OnExample, RandomTracesKeepTheMeaning) {
  const Kernel kernel = lowered(GetParam());
  const int count = is_long_run() ? 2'500 : 25;
  for (int seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(static_cast<uint64_t>(seed));
    Schedule schedule(kernel);
    if (random.chance(0.3)) (void)schedule.collapse();
    if (random.chance(0.3)) {
      const std::vector<std::string> blocks = schedule.blocks();
      (void)schedule.split_dims(blocks[random.below(blocks.size())], random.between(0, 3), random.between(2, 4));
    }
    const int64_t attempts = random.between(1, 30);
    for (int64_t i = 0; i < attempts; ++i) try_something(schedule, random);
    expect_replays(schedule, kernel);
    expect_same_meaning(GetParam(), schedule, kernel);
    if (HasFailure()) return;
  }
}

void expect_same_meaning(const OpenExample& example, const Schedule& schedule, const Kernel& kernel) {
  SCOPED_TRACE(fmt::format("{}\n{}", print(schedule.trace()), print(schedule.finish())));
  for (const int64_t n : {0, 1, 4, 7, 18}) {
    Random random(static_cast<uint64_t>(n));
    std::vector<Tensor> inputs;
    for (const Shape& shape : example.inputs) {
      Dims dims;
      for (const Dim& dim : shape) dims.push_back(dim.constant().value_or(n));
      std::vector<double> elements(static_cast<size_t>(element_count(dims)));
      for (double& element : elements) element = static_cast<double>(random.between(-4, 4));
      inputs.push_back(Tensor::from_doubles(DataType::kFloat32, std::move(dims), elements));
    }
    inputs.push_back(Tensor::int64s({n}));
    const auto expected = run(Schedule(kernel).finish(), inputs, host_target());
    const auto found = run(schedule.finish(), inputs, host_target());
    ASSERT_TRUE(expected.ok()) << expected.error().message();
    ASSERT_TRUE(found.ok()) << found.error().message();
    EXPECT_TRUE(expected->outputs[0].same_contents(found->outputs[0])) << "n = " << n;
  }
}

class OnOpenExample : public testing::TestWithParam<OpenExample> {};

TEST_P(OnOpenExample, RandomTracesKeepTheMeaning) {
  const Kernel kernel = lowered_open(GetParam());
  const int count = is_long_run() ? 500 : 15;
  for (int seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Random random(static_cast<uint64_t>(seed));
    Schedule schedule(kernel);
    const int64_t attempts = random.between(1, 30);
    for (int64_t i = 0; i < attempts; ++i) try_something(schedule, random);
    expect_same_meaning(GetParam(), schedule, kernel);
    if (HasFailure()) return;
  }
}

TEST_P(OnOpenExample, HasAScheduleForMachinesOfAllWidths) {
  const Kernel kernel = lowered_open(GetParam());
  for (const VectorUnit& vectors : kVectorUnits)
    for (const int threads : {1, 3}) {
      Machine machine;
      machine.vectors = vectors;
      machine.threads = threads;
      const Schedule schedule = with_open_loops(Schedule(kernel), machine);
      EXPECT_FALSE(schedule.trace().instructions.empty());
      expect_replays(schedule, kernel);
      expect_same_meaning(GetParam(), schedule, kernel);
    }
}

INSTANTIATE_TEST_SUITE_P(Examples, OnOpenExample, testing::ValuesIn(open_examples()),
                         [](const auto& info) { return std::string(info.param.name); });

INSTANTIATE_TEST_SUITE_P(Examples, OnExample, testing::ValuesIn(examples()),
                         [](const auto& info) { return info.param.name; });

TEST(Primitives, SayWhyTheyDoNotApply) {
  const Kernel kernel = lowered(examples()[0]);
  Schedule schedule(kernel);
  const LoopIds loops = *schedule.loops("s0");
  const auto says = [](const auto& result, const char* why) {
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message(), HasSubstr(why));
  };
  says(schedule.split(loops[0], Integers{2, 3}), "whose product is at least 13");
  says(schedule.split({999}, Integers{2, -1}), "there is none of this name");
  says(schedule.vectorize(loops[2]), "s0 reduces over it");
  says(schedule.parallel(loops[1]), "an outermost loop, or one of the statements");
  says(schedule.compute_inline("s0"), "a map expected");
  says(schedule.compute_inline("s1"), "no output expected");
  says(schedule.fuse({loops[1], loops[0]}), "in the order of their nest");
  says(schedule.rfactor("s0", loops[0]), "over the reduction alone");
  says(schedule.set_scope("s1", "cache"), "between blocks expected");
  says(schedule.transform_layout("s0", "0:1/0"), "each of its 2 axes once");
  EXPECT_TRUE(schedule.trace().instructions.empty());
  EXPECT_EQ(structural_hash(schedule.kernel()), structural_hash(kernel));
}

/// Paddings, of loops and of buffers, at once and by and by.
TEST(Primitives, MakeNoMoreThanAnyoneWaitsFor) {
  const Kernel kernel = lowered(examples()[0]);
  const auto says = [](const auto& result, const char* what) {
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message(), testing::ContainsRegex(fmt::format("at most [0-9]+ {}", what)));
  };
  Schedule schedule(kernel);
  for (const int64_t factor : {int64_t{1} << 40, std::numeric_limits<int64_t>::max()}) {
    says(schedule.split(schedule.loops("s0")->front(), Integers{-1, factor}), "iterations around a block expected");
    EXPECT_FALSE(schedule.transform_layout("s0", fmt::format("0/{0}:1:0%{0}", factor)).ok());
  }
  EXPECT_TRUE(schedule.trace().instructions.empty());
  ASSERT_TRUE(schedule.transform_layout("s0", "0/1000000:1:0%1000000").ok());
  says(schedule.transform_layout("s0", "0/1000000:1:2:0%1000000"), "elements of buffers expected");
  LoopId loop = schedule.loops("s0")->front();
  for (int64_t times = 0; times < 2; ++times) {
    const auto parts = schedule.split(loop, Integers{-1, 100});
    ASSERT_TRUE(parts.ok()) << parts.error().message();
    loop = parts->front();
  }
  says(schedule.split(loop, Integers{-1, 100}), "iterations around a block expected");
}

/// Channels of a group, in everything that runs over channels; what a group reads needs no quotient then.
TEST(SplitDims, MakesADimOfGroups) {
  const Example example{"",
                        "s0 = reduce [2, 6, 5] over [3] with sum:float32 { "
                        "in0[i0, i1 floordiv 2*3 + r0, i2]:float32*in1[i1, r0]:float32 }\n"
                        "s1 = map [2, 6, 5] { s0[i0, i1, i2]:float32 + in2[i1]:float32 }\noutput s1\n",
                        {{2, 9, 5}, {6, 3}, {6}}};
  const Kernel kernel = lowered(example);
  Schedule schedule(kernel);
  ASSERT_TRUE(schedule.split_dims("s0", 1, 2).ok());
  EXPECT_THAT(print(schedule.kernel()), HasSubstr("in0[i0, 3*i1 + r0, i3]:float32*in1[i1, i2, r0]:float32"));
  EXPECT_THAT(print(schedule.kernel()), HasSubstr("s1[i0, i1, i2, i3] = s0[i0, i1, i2, i3]:float32 + in2[i1, i2]"));
  expect_replays(schedule, kernel);
  expect_same_meaning(example, schedule, kernel);
  const auto refused = [&](const auto& result, const char* why) {
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message(), HasSubstr(why));
  };
  Schedule again(kernel);
  refused(again.split_dims("s0", 1, 4), "a multiple of 4 expected");
  refused(again.split_dims("s0", 3, 2), "an axis below 3 expected");
  refused(again.split_dims("s0", 1, 1), "a factor of 2 or more expected");
  ASSERT_TRUE(again.split((*again.loops("s1"))[1], Integers{-1, 2}).ok());
  refused(again.split_dims("s0", 1, 2), "alone in serial loops");
}

/// Of a loop of 1,100 iterations 2 lanes have blocks, steps and, where there is one more, a rest.
TEST(Primitives, ReductionsInLanesHaveBlocksStepsAndARest) {
  for (const int64_t count : {2, 7, 1100, 1101, 2048}) {
    const Example example = {
        "rows",
        fmt::format("s0 = reduce [3] over [2, {0}] with sum:float32 {{ in0[i0, r0, r1]:float32 }}\noutput s0\n", count),
        {{3, 2, count}}};
    const Kernel kernel = lowered(example);
    Schedule schedule(kernel);
    const auto partial = schedule.reduce_in_lanes("s0", schedule.loops("s0")->back(), 2);
    ASSERT_TRUE(partial.ok()) << partial.error().message();
    EXPECT_EQ(schedule.kernel().find_buffer("s0.block") >= 0, count > 1024);
    const std::vector<std::string> blocks = schedule.blocks();
    EXPECT_EQ(std::ranges::count(blocks, "s0.rest"), count % 2);
    // What is joined may be joined by halves.
    if (count > 2) {
      EXPECT_FALSE(schedule.reduce_in_lanes("s0", schedule.loops("s0")->back(), 4).ok());
    }
    for (const std::string& block : blocks) (void)schedule.vectorize(schedule.loops(block)->back());
    expect_replays(schedule, kernel);
    expect_same_meaning(example, schedule, kernel);
  }
}

/// A reduction whose only loops are its own stands in another one: registers are those of one nest.
TEST(Primitives, ATotalMayBeInLanes) {
  const Example total = {"total", "s0 = reduce [] over [40] with sum:float32 { in0[r0]:float32 }\noutput s0\n", {{40}}};
  const Kernel kernel = lowered(total);
  Schedule schedule(kernel);
  for (const int64_t lanes : {16, 4}) {
    const auto partial = schedule.reduce_in_lanes("s0", schedule.loops("s0")->back(), lanes);
    ASSERT_TRUE(partial.ok()) << partial.error().message();
    ASSERT_TRUE(schedule.vectorize(schedule.loops(*partial)->back()).ok());
  }
  expect_replays(schedule, kernel);
  expect_same_meaning(total, schedule, kernel);
}

/// Found by random traces: the second part of a fused loop would have started results again that the first part had
/// begun.
TEST(Primitives, APartOfAFusedLoopDoesNotInitializeApart) {
  const Kernel kernel = lowered(examples()[0]);
  Schedule schedule(kernel);
  const LoopId fused = *schedule.fuse(*schedule.loops("s0"));
  const auto rest = schedule.partition(fused, 4);
  ASSERT_TRUE(rest.ok()) << rest.error().message();
  const auto apart = schedule.decompose_reduction("s0.rest", *rest);
  ASSERT_FALSE(apart.ok());
  EXPECT_THAT(apart.error().message(), HasSubstr("the only writer of its buffer expected"));
}

/// Sums that windows share would be begun once and summed up twice.
TEST(Primitives, SumsThatAreMadeAgainBeginAgain) {
  const Example example = {"windows",
                           "s0 = reduce [9] over [3] with sum:float32 { in0[i0, r0]:float32 }\n"
                           "s1 = reduce [8] over [2] with sum:float32 { s0[i0 + r0]:float32 }\noutput s1\n",
                           {{9, 3}}};
  const Kernel kernel = lowered(example);
  Schedule schedule(kernel);
  const LoopIds tiles = *schedule.split(schedule.loops("s1")->front(), Integers{4, 2});
  ASSERT_TRUE(schedule.compute_at("s0", tiles[0]).ok());
  const LoopIds loops = *schedule.loops("s0");
  ASSERT_EQ(loops.size(), 3);
  const auto once = schedule.decompose_reduction("s0", loops[0]);
  ASSERT_FALSE(once.ok());
  EXPECT_THAT(once.error().message(), HasSubstr("whose iterations write different elements of s0"));
  ASSERT_TRUE(schedule.decompose_reduction("s0", loops[1]).ok());
  expect_same_meaning(example, schedule, kernel);
}

/// Found by random traces: what a joined map takes from the second source alone was lost.
TEST(Primitives, AMapIsNotMovedUnderOneOfItsSources) {
  const Example& joined = *std::find_if(examples().begin(), examples().end(),
                                        [](const Example& e) { return std::string(e.name) == "joined"; });
  Schedule schedule(lowered(joined));
  const auto copy = schedule.cache_read("s1", "in3");
  ASSERT_TRUE(copy.ok());
  const auto moved = schedule.reverse_compute_at("s1", schedule.loops(*copy)->front());
  ASSERT_FALSE(moved.ok());
  EXPECT_THAT(moved.error().message(), HasSubstr("an axis 0 as long as 'in3.cache' expected"));
  EXPECT_FALSE(schedule.reverse_compute_inline("s1").ok());
}

Schedule of_example(std::string_view name) {
  return Schedule(lowered(*std::find_if(examples().begin(), examples().end(),
                                        [&](const Example& e) { return std::string_view(e.name) == name; })));
}

/// Of an example that is a scan of one step: that stands in one block.
Schedule of_one_step(std::string_view name) {
  Schedule schedule = of_example(name);
  EXPECT_TRUE(schedule.compute_inline("s0.before0").ok());
  EXPECT_TRUE(schedule.compute_inline("s0.inner0").ok());
  return schedule;
}

TEST(Primitives, StepsAreWrittenWhereAMapMovesThem) {
  for (const char* name : {"running_sums", "running_sums_backwards", "turning_sums"}) {
    SCOPED_TRACE(name);
    Schedule schedule = of_one_step(name);
    const auto moved = schedule.reverse_compute_inline("s1");
    ASSERT_TRUE(moved.ok()) << moved.error().message();
    EXPECT_THAT(schedule.blocks(), testing::ElementsAre("s0"));
    EXPECT_TRUE(readers(schedule.kernel(), schedule.kernel().find_buffer("s0")).empty());
    EXPECT_THAT(readers(schedule.kernel(), schedule.kernel().find_buffer("s1")), testing::ElementsAre("s0"));
  }
  EXPECT_FALSE(of_example("running_sums").reverse_compute_inline("s1").ok()) << "another block reads the steps";
  EXPECT_FALSE(of_example("recurrence").reverse_compute_inline("s1").ok()) << "it computes something of them";
}

TEST(Primitives, AllStepsOfAPlaceComeFirstWhereNoOtherPlaceReadsThem) {
  Schedule sums = of_one_step("running_sums");
  const LoopIds loops = *sums.loops("s0");
  ASSERT_EQ(loops.size(), 3);
  ASSERT_TRUE(sums.reorder({loops[1], loops[0], loops[2]}).ok());
  ASSERT_TRUE(sums.reorder({loops[2], loops[1], loops[0]}).ok());
  EXPECT_THAT(*sums.loops("s0"), testing::ElementsAre(loops[2], loops[1], loops[0]));
  EXPECT_TRUE(sums.parallel(loops[2]).ok());
  EXPECT_FALSE(sums.unroll(loops[0]).ok());

  Schedule turning = of_one_step("turning_sums");
  const LoopIds turns = *turning.loops("s0");
  const auto apart = turning.reorder({turns[1], turns[0], turns[2]});
  ASSERT_FALSE(apart.ok());
  EXPECT_THAT(apart.error().message(), HasSubstr("whose steps read of what it writes only their own place"));
  EXPECT_FALSE(turning.reorder({turns[2], turns[1], turns[0]}).ok());
  EXPECT_FALSE(turning.reorder({turns[2], turns[0]}).ok()) << "the loop between them is passed, too";
  // Along the other axis they do.
  EXPECT_TRUE(turning.reorder({turns[2], turns[0], turns[1]}).ok());
}

TEST(Primitives, AMapIsNotMovedUnderALoopThatWritesEverySecondElement) {
  const Example example = {"phases",
                           "s0 = reduce [8] over [3] with sum:float32 { in0[i0, r0]:float32 }\n"
                           "s1 = map [8] { s0[i0]:float32*2 }\noutput s1\n",
                           {{8, 3}}};
  Schedule schedule(lowered(example));
  const LoopIds loops = *schedule.loops("s0");
  const LoopIds parts = *schedule.split(loops[0], Integers{4, 2});
  ASSERT_TRUE(schedule.reorder({parts[1], parts[0], loops[1]}).ok());
  const auto moved = schedule.reverse_compute_at("s1", parts[1]);
  ASSERT_FALSE(moved.ok());
  EXPECT_THAT(moved.error().message(), HasSubstr("some are left out"));
  // In the order of the elements each iteration writes all of its region.
  ASSERT_TRUE(schedule.reorder({parts[0], parts[1], loops[1]}).ok());
  EXPECT_TRUE(schedule.reverse_compute_at("s1", parts[0]).ok());
}

/// [8] rows that are read at i and i + `ahead`.
Schedule rows_read_ahead(int ahead) {
  const std::string text = fmt::format(
      "s0 = map [8,3] {{ in0[i0, i1]:float32*2 }}\n"
      "s1 = reduce [{0}] over [3] with sum:float32 {{ s0[i0 + {1}, r0]:float32 }}\noutput s1\n",
      8 - ahead, ahead);
  return Schedule(lowered({"rows", text.c_str(), {{8, 3}}}));
}

TEST(Primitives, LoopsJoinWhereIterationsReadWhatTheSameOneWrote) {
  Schedule schedule = rows_read_ahead(0);
  const LoopIds first = *schedule.loops("s0"), second = *schedule.loops("s1");
  ASSERT_TRUE(schedule.join(first[0], second[0]).ok());
  EXPECT_EQ(schedule.loops("s0")->front(), schedule.loops("s1")->front());
  EXPECT_TRUE(schedule.set_scope("s0", "cache").ok());
  EXPECT_TRUE(schedule.parallel(first[0]).ok());
  // The inner ones don't: a sum reads what the other loop has not written yet.
  const auto inner = schedule.join((*schedule.loops("s0"))[1], (*schedule.loops("s1"))[1]);
  EXPECT_TRUE(inner.ok()) << "s0[i0, r0] is there when r0 is read";
}

TEST(Primitives, LoopsDontJoinWhereRowsAreReadAhead) {
  Schedule schedule = rows_read_ahead(1);
  const LoopIds parts = *schedule.split(schedule.loops("s0")->front(), Integers{-1, 1});
  const LoopIds second = *schedule.loops("s1");
  const auto unequal = schedule.join(parts[0], second[0]);
  ASSERT_FALSE(unequal.ok());
  EXPECT_THAT(unequal.error().message(), HasSubstr("as many iterations as"));
  Schedule padded = rows_read_ahead(1);
  ASSERT_TRUE(padded.peel(padded.loops("s0")->front(), "last").ok());
  const auto ahead = padded.join(padded.loops("s0")->front(), padded.loops("s1")->front());
  EXPECT_FALSE(ahead.ok());
}

TEST(Primitives, LoopsDontJoinAcrossWhatChangesTheirBuffers) {
  Schedule schedule(lowered({"between",
                             "s0 = map [8] { in0[i0]:float32*2 }\n"
                             "s1 = map [8] { s0[7 - i0]:float32*3 }\n"
                             "s2 = map [8] { s0[i0]:float32 + s1[i0]:float32 }\noutput s2\n",
                             {{8}}}));
  const auto joined = schedule.join(schedule.loops("s0")->front(), schedule.loops("s2")->front());
  ASSERT_FALSE(joined.ok());
  EXPECT_THAT(joined.error().message(), HasSubstr("nothing between the loops that reads 's0' expected"));
  // Backwards, nothing is there in time.
  const auto mirrored = schedule.join(schedule.loops("s0")->front(), schedule.loops("s1")->front());
  ASSERT_FALSE(mirrored.ok());
  EXPECT_THAT(mirrored.error().message(), HasSubstr("what the same one has written expected"));
  EXPECT_TRUE(schedule.join(schedule.loops("s1")->front(), schedule.loops("s2")->front()).ok());
}

/// What a hostile trace could say: every primitive on arguments of the right kinds that nobody means.
TEST(Traces, AnyArgumentsEndInASentenceOrASchedule) {
  // l: a loop, n: a name, i: an integer, I: integers, L: loops
  const std::vector<std::pair<std::string, std::string>> primitives = {{"split", "lI"},
                                                                       {"fuse", "L"},
                                                                       {"reorder", "L"},
                                                                       {"parallel", "l"},
                                                                       {"vectorize", "l"},
                                                                       {"unroll", "l"},
                                                                       {"peel", "ln"},
                                                                       {"partition", "li"},
                                                                       {"skip_padding", "n"},
                                                                       {"split_padding", "nnI"},
                                                                       {"skip_border", "nn"},
                                                                       {"annotate", "lni"},
                                                                       {"compute_inline", "n"},
                                                                       {"reverse_compute_inline", "n"},
                                                                       {"compute_at", "nl"},
                                                                       {"reverse_compute_at", "nl"},
                                                                       {"join", "ll"},
                                                                       {"cache_read", "nni"},
                                                                       {"reindex", "nni"},
                                                                       {"cache_write", "n"},
                                                                       {"set_scope", "nn"},
                                                                       {"transform_layout", "nn"},
                                                                       {"set_layout", "nn"},
                                                                       {"widen", "nn"},
                                                                       {"pad", "ni"},
                                                                       {"collapse", ""},
                                                                       {"flatten", "ni"},
                                                                       {"split_dims", "nii"},
                                                                       {"storage_align", "ni"},
                                                                       {"swizzle", "n"},
                                                                       {"decompose_reduction", "nl"},
                                                                       {"rfactor", "nl"},
                                                                       {"split_k", "nli"},
                                                                       {"accumulate_in", "nn"},
                                                                       {"multiply_words", "nii"},
                                                                       {"tabulate", "n"},
                                                                       {"tensorize", "ln"},
                                                                       {"shift_inwards", "lI"},
                                                                       {"keep_in_registers", "nl"},
                                                                       {"reduce_in_lanes", "nli"}};
  const std::vector<std::string> names = {"s0",
                                          "s1",
                                          "in0",
                                          "in1",
                                          "first",
                                          "last",
                                          "cache",
                                          "registers",
                                          "0:1",
                                          "1/0:0:1%0",
                                          "0/9223372036854775807:1:0%9223372036854775807",
                                          "1:0",
                                          "x",
                                          "avx2.13x17",
                                          "avx512.2x8",
                                          "sse2.",
                                          "avx2.0x-1",
                                          "float64"};
  const std::vector<int64_t> integers = {-1,
                                         0,
                                         1,
                                         2,
                                         7,
                                         64,
                                         4096,
                                         1LL << 31,
                                         1LL << 62,
                                         std::numeric_limits<int64_t>::max(),
                                         std::numeric_limits<int64_t>::min()};
  Random random(11);
  const auto pick = [&](const auto& list) -> const auto& { return list[random.below(list.size())]; };
  const auto loop = [&] { return fmt::format("k{}", random.below(12)); };
  const auto list = [&](const auto& one) {
    std::string text;
    for (uint64_t left = random.below(4); left-- > 0;) text += (text.empty() ? "" : ", ") + one();
    return text;
  };
  const auto integer = [&] { return fmt::format("{}", pick(integers)); };
  int applied = 0;
  for (int run = 0; run < 2'000; ++run) {
    const Kernel kernel = lowered(pick(examples()));
    std::string text;
    for (uint64_t line = random.below(5) + 1; line-- > 0;) {
      const auto& [name, kinds] = pick(primitives);
      std::string arguments;
      for (const char kind : kinds) {
        const std::string one = kind == 'l'   ? loop()
                                : kind == 'n' ? pick(names)
                                : kind == 'i' ? integer()
                                : kind == 'I' ? "[" + list(integer) + "]"
                                              : "{" + list(loop) + "}";
        arguments += (arguments.empty() ? "" : ", ") + one;
      }
      text += fmt::format("{}({})\n", name, arguments);
    }
    SCOPED_TRACE(text);
    const auto trace = parse_trace(text);
    ASSERT_TRUE(trace.ok()) << trace.error().message();
    // As far as it applies.
    Trace prefix;
    for (const Instruction& instruction : trace->instructions) {
      prefix.instructions.push_back(instruction);
      const auto schedule = replay(prefix, kernel);
      applied += schedule.ok();
      if (schedule.ok()) (void)schedule->finish();
      if (!schedule.ok()) prefix.instructions.pop_back();
    }
  }
  EXPECT_GT(applied, 50);
}

TEST(Traces, AreReadAndRefusedByLine) {
  EXPECT_TRUE(parse_trace("# a comment\n\nk3, k4 = split(k0, [-1, 4])\n").ok());
  for (const char* broken : {"split(k0", "k1 = ", "split(k0) -> 3", "split(k0, [1, x])", "split(k0) more"})
    EXPECT_FALSE(parse_trace(broken).ok()) << broken;
  const auto unknown = replay(*parse_trace("frobnicate(k0)"), lowered(examples()[0]));
  ASSERT_FALSE(unknown.ok());
  EXPECT_THAT(unknown.error().message(), HasSubstr("line 1"));
}

}  // namespace
}  // namespace isomer::kernel::test
