// Loops that are vectorized, unrolled, parallel, over registers and caches, with tails; what is checked at run time;
// the code of a register tile.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>

#include "kernel/hand_made.h"
#include "kernel/run_kernel.h"
#include "util/random.h"

namespace isomer::kernel::test {
namespace {

using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;

Tensor numbers(DataType dtype, Dims dims, uint64_t seed = 1) {
  Random random(seed);
  std::vector<double> values(element_count(dims));
  for (double& value : values) value = static_cast<double>(random.between(-8, 8)) * (is_float(dtype) ? 0.25 : 1);
  if (is_float(dtype)) return Tensor::from_doubles(dtype, std::move(dims), values);
  const std::vector<int64_t> integers(values.begin(), values.end());
  return Tensor::from_ints(dtype, std::move(dims), integers);
}

std::vector<double> values_of(const Tensor& tensor) {
  std::vector<double> values;
  for (int64_t i = 0; i < tensor.count(); ++i) values.push_back(tensor.real(i));
  return values;
}

/// All loops serial: what the kernel means.
void serialize(Statements& statements) {
  for (Statement& statement : statements)
    if (auto* loop = std::get_if<Loop>(&statement.node)) {
      loop->kind = LoopKind::kSerial;
      serialize(loop->body);
    }
}

/// The outputs are those of the kernel with serial loops, on all targets that run here.
void expect_same_as_serial(const Kernel& kernel, const std::vector<Tensor>& inputs) {
  Kernel serial = kernel;
  serialize(serial.body);
  const auto expected = run(serial, inputs, host_target());
  ASSERT_TRUE(expected.ok()) << expected.error().message();
  for (const char* cpu : {"cpu=x86-64", "cpu=haswell", "cpu=skylake-avx512", "cpu=host"}) {
    SCOPED_TRACE(cpu);
    const CpuTarget target = *parse_cpu_target(cpu);
    ASSERT_TRUE(compile(kernel, target).ok());
    if (!runs_here(target)) continue;
    const auto found = run(kernel, inputs, target);
    ASSERT_TRUE(found.ok()) << found.error().message();
    for (size_t i = 0; i < expected->outputs.size(); ++i)
      ASSERT_THAT(values_of(found->outputs[i]), ElementsAreArray(values_of(expected->outputs[i]))) << print(kernel);
  }
}

Kernel kernel_of(std::vector<Buffer> buffers, std::vector<int> inputs, std::vector<int> outputs) {
  Kernel kernel;
  kernel.buffers = std::move(buffers);
  kernel.inputs = std::move(inputs);
  kernel.outputs = std::move(outputs);
  kernel.next_variable = 100;
  return kernel;
}

class MapOfType : public testing::TestWithParam<DataType> {};

TEST_P(MapOfType, WithATail) {
  const DataType dtype = GetParam();
  for (const int64_t lanes : {3, 4, 8, 16, 32}) {
    Kernel kernel = kernel_of({{"in", dtype, {37}}, {"out", dtype, {37}}}, {0}, {1});
    const Expr i = k(0) * lanes + k(1);
    const Expr x = load_buffer(kernel, 0, {i});
    Block block = assign("map", 1, {i}, dtype == DataType::kBool ? te::logical_not(x) : te::max(x + x, x));
    block.predicate = i < te::index(37);
    kernel.body = {loop(0, (36 + lanes) / lanes, LoopKind::kParallel,
                        {loop(1, lanes, LoopKind::kVectorized, {Statement{block}})})};
    expect_same_as_serial(kernel, {numbers(dtype, {37})});
  }
}

INSTANTIATE_TEST_SUITE_P(Types, MapOfType,
                         testing::Values(DataType::kFloat32, DataType::kFloat64, DataType::kFloat16,
                                         DataType::kBFloat16, DataType::kInt8, DataType::kUInt8, DataType::kInt16,
                                         DataType::kInt32, DataType::kInt64, DataType::kUInt64, DataType::kBool),
                         [](const auto& info) { return std::string(name(info.param)); });

TEST(Vectorized, Transposes) {
  Kernel kernel = kernel_of({{"in", DataType::kFloat32, {16, 9}}, {"out", DataType::kFloat32, {9, 16}}}, {0}, {1});
  const Block block = assign("t", 1, {k(0), k(1)}, load_buffer(kernel, 0, {k(1), k(0)}));
  kernel.body = {loop(0, 9, LoopKind::kSerial, {loop(1, 16, LoopKind::kVectorized, {Statement{block}})})};
  expect_same_as_serial(kernel, {numbers(DataType::kFloat32, {16, 9})});
  kernel.body = {loop(1, 16, LoopKind::kSerial, {loop(0, 9, LoopKind::kVectorized, {Statement{block}})})};
  expect_same_as_serial(kernel, {numbers(DataType::kFloat32, {16, 9})});
}

TEST(Vectorized, TransposesTilesInRegisters) {
  for (const DataType dtype :
       {DataType::kFloat32, DataType::kFloat64, DataType::kInt8, DataType::kFloat16, DataType::kBool}) {
    for (const int64_t width : {4, 8, 16}) {
      Kernel kernel =
          kernel_of({{"in", dtype, {3 * width, 2 * width}}, {"out", dtype, {2 * width, 3 * width}}}, {0}, {1});
      const Expr down = k(0) * width + k(2), across = k(1) * width + k(3);
      const Expr twice = load_buffer(kernel, 0, {across, down});
      const Block move =
          assign("move", 1, {down, across},
                 dtype == DataType::kFloat32 ? twice + twice * load_buffer(kernel, 0, {k(0), k(3)}) : twice);
      kernel.body = {loop(
          0, 2, LoopKind::kParallel,
          {loop(1, 3, LoopKind::kSerial,
                {loop(2, width, LoopKind::kVectorized, {loop(3, width, LoopKind::kVectorized, {Statement{move}})})})})};
      expect_same_as_serial(kernel, {numbers(dtype, {3 * width, 2 * width})});
    }
  }
}

TEST(Vectorized, TilesWithATail) {
  Kernel kernel = kernel_of({{"in", DataType::kFloat32, {13, 11}}, {"out", DataType::kFloat32, {11, 13}}}, {0}, {1});
  const Expr down = k(0) * 8 + k(2), across = k(1) * 8 + k(3);
  Block move = assign("move", 1, {down, across}, load_buffer(kernel, 0, {across, down}));
  move.predicate = down < te::index(11) && across < te::index(13);
  const auto tile = [](Block block) {
    return loop(2, 8, LoopKind::kVectorized, {loop(3, 8, LoopKind::kVectorized, {Statement{std::move(block)}})});
  };
  kernel.body = {loop(0, 2, LoopKind::kSerial, {loop(1, 2, LoopKind::kSerial, {tile(move)})})};
  expect_same_as_serial(kernel, {numbers(DataType::kFloat32, {13, 11})});
  // What bounds the rows alone holds for the first of them.
  kernel.buffers[1].shape = {5, 8};
  Block few = assign("few", 1, {k(2), k(3)}, load_buffer(kernel, 0, {k(3), k(2)}));
  few.predicate = k(2) < te::index(5);
  kernel.body = {tile(few)};
  expect_same_as_serial(kernel, {numbers(DataType::kFloat32, {13, 11})});
}

/// Lanes whose places are known are shuffled out of a few vectors, which read nothing beyond first and last.
TEST(Vectorized, ReadsInAnyKnownOrder) {
  constexpr int64_t kCount = 96;
  const auto over = [](const Expr& i, int64_t d) { return te::floor_div(i, te::index(d)); };
  const auto mod = [](const Expr& i, int64_t d) { return te::floor_mod(i, te::index(d)); };
  const std::vector<std::pair<int64_t, std::function<Expr(const Expr&)>>> orders = {
      {kCount, [&](const Expr& i) { return kCount - 1 - i; }},
      {2 * kCount - 1, [&](const Expr& i) { return 2 * i; }},
      {3 * kCount, [&](const Expr& i) { return 3 * i + 2; }},
      {4 * kCount - 3, [&](const Expr& i) { return 4 * i; }},
      {7 * kCount, [&](const Expr& i) { return 7 * i + 6; }},
      {kCount / 2, [&](const Expr& i) { return over(i, 2); }},
      {kCount / 3, [&](const Expr& i) { return over(i, 3); }},
      {kCount, [&](const Expr& i) { return over(i, 2) + mod(i, 2) * (kCount / 2); }},
      {3 * kCount, [&](const Expr& i) { return 9 * over(i, 3) + mod(i, 3); }},
      {kCount, [&](const Expr& i) { return over(i, 12) * 12 + mod(i, 3) * 4 + over(mod(i, 12), 3); }},
      {4, [&](const Expr& i) { return mod(i, 4); }},
      {6, [&](const Expr& i) { return 5 - mod(i, 6); }},
  };
  const auto expect_right = [&](DataType dtype, int64_t lanes) {
    SCOPED_TRACE(fmt::format("{} lanes of {}", lanes, name(dtype)));
    Kernel kernel = kernel_of({}, {}, {});
    std::vector<Tensor> inputs;
    const Expr i = k(0) * (3 * lanes) + k(1) * lanes + k(2);
    for (const auto& [length, place] : orders) {
      const auto in = static_cast<int>(kernel.buffers.size());
      kernel.buffers.push_back({fmt::format("in{}", in), dtype, {length}});
      kernel.buffers.push_back({fmt::format("all{}", in), dtype, {kCount}});
      kernel.buffers.push_back({fmt::format("even{}", in), dtype, {kCount}});
      kernel.inputs.push_back(in);
      kernel.outputs.insert(kernel.outputs.end(), {in + 1, in + 2});
      inputs.push_back(numbers(dtype, {length}));
      const Expr read = load_buffer(kernel, in, {place(i)});
      // Whatever the numbers are, odd lanes are not read.
      const Expr even = te::select(mod(i, 2) < te::index(1), read, te::cast(dtype, te::index(1)));
      for (const auto& [out, body] : {std::pair(in + 1, read), std::pair(in + 2, even)})
        kernel.body.push_back(loop(0, kCount / (3 * lanes), LoopKind::kSerial,
                                   {loop(1, 3, LoopKind::kUnrolled,
                                         {loop(2, lanes, LoopKind::kVectorized,
                                               {Statement{assign(fmt::format("b{}", out), out, {i}, body)}})})}));
    }
    expect_same_as_serial(kernel, inputs);
  };
  for (const int64_t lanes : {4, 8, 16, 32}) expect_right(DataType::kFloat32, lanes);
  for (const DataType dtype : {DataType::kFloat64, DataType::kInt8, DataType::kFloat16, DataType::kBool})
    expect_right(dtype, 16);
}

TEST(Vectorized, ReadsPaddingUnderAMask) {
  Kernel kernel = kernel_of({{"in", DataType::kFloat32, {30}}, {"out", DataType::kFloat32, {32}}}, {0}, {1});
  const Expr i = k(0) * 8 + k(1);
  const Expr inside = te::index(1) <= i && i < te::index(31);
  const Block block =
      assign("pad", 1, {i}, te::select(inside, load_buffer(kernel, 0, {i - 1}), te::literal(7, DataType::kFloat32)));
  kernel.body = {loop(0, 4, LoopKind::kSerial, {loop(1, 8, LoopKind::kVectorized, {Statement{block}})})};
  expect_same_as_serial(kernel, {numbers(DataType::kFloat32, {30})});
}

TEST(Vectorized, ReducesInOrder) {
  for (const bool has_tail : {false, true}) {
    Kernel kernel = kernel_of({{"in", DataType::kFloat32, {5, 24}}, {"out", DataType::kFloat32, {5}}}, {0}, {1});
    Block block = accumulate("sum", 1, {k(0)}, load_buffer(kernel, 0, {k(0), k(1) * 8 + k(2)}));
    block.initialize = true;
    block.reduce = {{te::index(24), k(1) * 8 + k(2)}};
    if (has_tail) block.predicate = k(1) * 8 + k(2) < te::index(21);
    kernel.body = {loop(0, 5, LoopKind::kSerial,
                        {loop(1, 3, LoopKind::kSerial, {loop(2, 8, LoopKind::kVectorized, {Statement{block}})})})};
    expect_same_as_serial(kernel, {numbers(DataType::kFloat32, {5, 24})});
  }
}

TEST(Vectorized, AddsLanesThatShareAnElement) {
  Kernel kernel = kernel_of({{"in", DataType::kFloat32, {24}}, {"out", DataType::kFloat32, {8}}}, {0}, {1});
  const Block zero = assign("zero", 1, {k(0)}, te::literal(0, DataType::kFloat32));
  const Block block = accumulate("bins", 1, {te::floor_div(k(1), te::index(3))}, load_buffer(kernel, 0, {k(1)}));
  kernel.body = {loop(0, 8, LoopKind::kVectorized, {Statement{zero}}),
                 loop(1, 24, LoopKind::kVectorized, {Statement{block}})};
  expect_same_as_serial(kernel, {numbers(DataType::kFloat32, {24})});
}

TEST(Vectorized, KeepsWhatEachIterationHasOfItsOwn) {
  Kernel kernel = kernel_of({{"in", DataType::kFloat32, {16}},
                             {"own", DataType::kFloat32, {1}, Scope::kRegister},
                             {"out", DataType::kFloat32, {16}}},
                            {0}, {2});
  const Block first = assign("first", 1, {te::index(0)}, load_buffer(kernel, 0, {k(0)}) * 2);
  const Block second = assign("second", 2, {k(0)}, load_buffer(kernel, 1, {te::index(0)}) + 1);
  kernel.body = {loop(0, 16, LoopKind::kVectorized, {Statement{first}, Statement{second}})};
  expect_same_as_serial(kernel, {numbers(DataType::kFloat32, {16})});
}

TEST(Vectorized, HoldsSerialLoopsAndBranches) {
  Kernel kernel = kernel_of({{"in", DataType::kFloat32, {7, 16}},
                             {"sum", DataType::kFloat32, {16}, Scope::kRegister},
                             {"out", DataType::kFloat32, {3, 16}}},
                            {0}, {2});
  const Block zero = assign("zero", 1, {k(1)}, te::literal(0, DataType::kFloat32));
  const Block add = accumulate("add", 1, {k(1)}, load_buffer(kernel, 0, {k(2), k(1)}));
  const Block write = assign("write", 2, {k(0), k(1)}, load_buffer(kernel, 1, {k(1)}));
  const Block other = assign("other", 2, {k(0), k(1)}, te::literal(3, DataType::kFloat32));
  Branch branch{k(0) < te::index(2), {Statement{write}}, {Statement{other}}};
  kernel.body = {loop(0, 3, LoopKind::kSerial,
                      {loop(1, 16, LoopKind::kVectorized,
                            {Statement{zero}, loop(2, 7, LoopKind::kSerial, {Statement{add}}), Statement{branch}})})};
  expect_same_as_serial(kernel, {numbers(DataType::kFloat32, {7, 16})});
}

TEST(Vectorized, RunsOneByOneWhereLanesPartWays) {
  Kernel kernel = kernel_of({{"in", DataType::kFloat32, {16}}, {"out", DataType::kFloat32, {16}}}, {0}, {1});
  const Block zero = assign("zero", 1, {k(0)}, te::literal(0, DataType::kFloat32));
  const Block add = accumulate("add", 1, {k(0)}, load_buffer(kernel, 0, {k(1)}));
  Statement inner = loop(1, 0, LoopKind::kSerial, {Statement{add}});
  std::get<Loop>(inner.node).extent = k(0) + 1;
  Branch branch{te::equal(te::floor_mod(k(0), te::index(2)), 0), {inner}, {}};
  kernel.body = {loop(0, 16, LoopKind::kVectorized, {Statement{zero}, Statement{branch}})};
  expect_same_as_serial(kernel, {numbers(DataType::kFloat32, {16})});
}

TEST(Ordered, StatementsTakeTurns) {
  Kernel kernel = kernel_of(
      {{"in", DataType::kFloat32, {10}}, {"turned", DataType::kFloat32, {10}}, {"out", DataType::kFloat32, {4, 10}}},
      {0}, {2});
  const Expr before = te::select(te::equal(k(0), 0), load_buffer(kernel, 0, {k(1)}),
                                 load_buffer(kernel, 2, {k(0) - 1, te::index(9) - k(1)}));
  const Block turn = assign("turn", 1, {k(1)}, before);
  const Block add = assign("add", 2, {k(0), k(2)}, load_buffer(kernel, 1, {k(2)}) + te::cast(DataType::kFloat32, k(0)));
  Statement steps =
      loop(0, 4, LoopKind::kSerial,
           {loop(1, 10, LoopKind::kParallel, {Statement{turn}}), loop(2, 10, LoopKind::kVectorized, {Statement{add}})});
  std::get<Loop>(steps.node).ordered = true;
  kernel.body = {steps};
  expect_same_as_serial(kernel, {numbers(DataType::kFloat32, {10})});
  const auto code = compile(kernel, host_target());
  ASSERT_TRUE(code.ok());
  ASSERT_EQ(code->kernels[0].size(), 2);
  EXPECT_EQ(code->kernels[0][0].turns, 4);
  EXPECT_EQ(code->kernels[0][0].followers, 1);
  EXPECT_EQ(code->kernels[0][0].iterations, 10);
}

TEST(Cache, IsEachThreadsOwn) {
  Kernel kernel = kernel_of({{"in", DataType::kFloat32, {6, 16}},
                             {"row", DataType::kFloat32, {16}, Scope::kCache},
                             {"flag", DataType::kInt8, {3}, Scope::kCache},
                             {"out", DataType::kFloat32, {6, 16}}},
                            {0}, {3});
  const Block copy = assign("copy", 1, {k(1)}, load_buffer(kernel, 0, {k(0), k(1)}));
  const Block mark = assign("mark", 2, {te::index(2)}, te::literal(1, DataType::kInt8));
  const Block reverse = assign("reverse", 3, {k(0), k(2)},
                               load_buffer(kernel, 1, {te::index(15) - k(2)}) +
                                   te::cast(DataType::kFloat32, load_buffer(kernel, 2, {te::index(2)})));
  kernel.body = {loop(0, 6, LoopKind::kParallel,
                      {loop(1, 16, LoopKind::kVectorized, {Statement{copy}}), Statement{mark},
                       loop(2, 16, LoopKind::kVectorized, {Statement{reverse}})})};
  expect_same_as_serial(kernel, {numbers(DataType::kFloat32, {6, 16})});
  const auto code = compile(kernel, host_target());
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(code->kernels[0][0].iterations, 6);
  EXPECT_EQ(code->kernels[0][0].scratch_bytes, 128);
}

TEST(Cache, OfTwoPartsIsRefused) {
  Kernel kernel =
      kernel_of({{"own", DataType::kFloat32, {1}, Scope::kCache}, {"out", DataType::kFloat32, {1}}}, {}, {1});
  kernel.body = {Statement{assign("a", 0, {te::index(0)}, te::literal(1, DataType::kFloat32))},
                 Statement{assign("b", 1, {te::index(0)}, load_buffer(kernel, 0, {te::index(0)}))}};
  const auto code = compile(kernel, host_target());
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.error().kind, ErrorKind::kUnsupported);
}

// What is checked at run time

Kernel gather(LoopKind kind) {
  Kernel kernel = kernel_of(
      {{"table", DataType::kFloat32, {10}}, {"at", DataType::kInt64, {16}}, {"out", DataType::kFloat32, {16}}}, {0, 1},
      {2});
  const Expr at = load_buffer(kernel, 1, {k(0)});
  const Expr wrapped = te::select(at < te::index(0), at + 10, at);
  const Expr skips = te::equal(at, 100);
  kernel.body = {loop(
      0, 16, kind,
      {Statement{assign("gather", 2, {k(0)},
                        te::select(skips, te::literal(-1, DataType::kFloat32), load_buffer(kernel, 0, {wrapped})))}})};
  return kernel;
}

TEST(Checks, IndicesFromDataAreInRange) {
  std::vector<int64_t> at = {0, -1, 9, -10, 3, 3, 100, 5, 1, 2, 100, 4, 6, 7, 8, 9};
  const Tensor table = numbers(DataType::kFloat32, {10});
  expect_same_as_serial(gather(LoopKind::kVectorized), {table, Tensor::int64s(at)});
  for (const int64_t wrong : {int64_t{10}, int64_t{-11}, INT64_MAX, INT64_MIN})
    for (const LoopKind kind : {LoopKind::kSerial, LoopKind::kVectorized, LoopKind::kUnrolled}) {
      at[11] = wrong;
      const auto found = run(gather(kind), {table, Tensor::int64s(at)}, host_target());
      ASSERT_FALSE(found.ok());
      EXPECT_EQ(found.error().message(), "outcome: 1") << wrong;
    }
}

TEST(Checks, DivisionByZeroIsReportedWhereItHappens) {
  for (const LoopKind kind : {LoopKind::kSerial, LoopKind::kVectorized}) {
    Kernel kernel = kernel_of(
        {{"a", DataType::kInt32, {8}}, {"b", DataType::kInt32, {8}}, {"out", DataType::kInt32, {8}}}, {0, 1}, {2});
    const Expr a = load_buffer(kernel, 0, {k(0)}), b = load_buffer(kernel, 1, {k(0)});
    const Expr zero = te::literal(0, DataType::kInt32);
    const auto with = [&](const Expr& body) {
      kernel.body = {loop(0, 8, kind, {Statement{assign("divide", 2, {k(0)}, body)}})};
      return run(kernel,
                 {Tensor::from_ints(DataType::kInt32, {8}, std::vector<int64_t>{7, -7, 0, 1, INT32_MIN, 5, 6, 9}),
                  Tensor::from_ints(DataType::kInt32, {8}, std::vector<int64_t>{2, 2, 0, 3, -1, 0, -4, 3})},
                 host_target());
    };
    const auto bare = with(a / b);
    ASSERT_FALSE(bare.ok());
    EXPECT_EQ(bare.error().message(), "outcome: 2");
    const auto guarded = with(te::select(te::equal(b, zero), zero, a / b));
    ASSERT_TRUE(guarded.ok()) << guarded.error().message();
    EXPECT_THAT(guarded->outputs[0].integers(), ElementsAreArray({3, -3, 0, 0, INT32_MIN, 0, -1, 3}));
  }
}

// Conversions

std::vector<double> special_numbers() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> result = {0,
                                -0.0,
                                0.5,
                                -0.5,
                                1.5,
                                254.5,
                                255.5,
                                256,
                                -129,
                                32767.5,
                                65536,
                                0x1p31,
                                -0x1p31,
                                0x1p31 - 128,
                                -0x1p31 - 256,
                                0x1p63,
                                -0x1p63,
                                0x1p64,
                                1e30,
                                -1e30,
                                kInfinity,
                                -kInfinity,
                                0x1p-149,
                                0x1p-126,
                                -0x1p-140,
                                0x1.8p-148,
                                3.4e38,
                                1.0 / 3,
                                1e-3,
                                7,
                                std::nan(""),
                                -7};
  for (double& each : result) each = static_cast<float>(each);
  return result;
}

/// What an integer can't hold comes out the same by whole vectors as one by one.
TEST(Conversions, OfWhatLiesOutsideAreTheSameByVectors) {
  const std::vector<double> values = special_numbers();
  const auto count = static_cast<int64_t>(values.size());
  for (const DataType dtype : {DataType::kInt8, DataType::kUInt8, DataType::kInt16, DataType::kUInt16, DataType::kInt32,
                               DataType::kUInt32, DataType::kInt64, DataType::kUInt64}) {
    Kernel kernel = kernel_of({{"a", DataType::kFloat32, {count}}, {"out", dtype, {count}}}, {0}, {1});
    const Block convert = assign("convert", 1, {k(0)}, te::cast(dtype, load_buffer(kernel, 0, {k(0)})));
    kernel.body = {loop(0, count, LoopKind::kVectorized, {Statement{convert}})};
    expect_same_as_serial(kernel, {Tensor::from_doubles(DataType::kFloat32, {count}, values)});
  }
}

/// Operations of float32 numbers in float64, rounded to float32, are computed in float32: no bit is another one.
TEST(Conversions, AreLeftOutWhereNobodySeesThem) {
  const std::vector<double> values = special_numbers();
  const auto count = static_cast<int64_t>(values.size());
  for (const te::BinaryOp op : {te::BinaryOp::kAdd, te::BinaryOp::kSub, te::BinaryOp::kMul, te::BinaryOp::kDiv}) {
    Kernel kernel =
        kernel_of({{"a", DataType::kFloat32, {count}}, {"out", DataType::kFloat32, {count, count}}}, {0}, {1});
    const auto wide = [&](int loop) { return te::cast(DataType::kFloat64, load_buffer(kernel, 0, {k(loop)})); };
    const Block compute =
        assign("compute", 1, {k(0), k(1)}, te::cast(DataType::kFloat32, te::binary(op, wide(0), wide(1))));
    kernel.body = {loop(0, count, LoopKind::kSerial, {loop(1, count, LoopKind::kVectorized, {Statement{compute}})})};
    const auto found = run(kernel, {Tensor::from_doubles(DataType::kFloat32, {count}, values)}, host_target());
    ASSERT_TRUE(found.ok()) << found.error().message();
    for (int64_t i = 0; i < count; ++i)
      for (int64_t j = 0; j < count; ++j) {
        const double a = values[static_cast<size_t>(i)], b = values[static_cast<size_t>(j)];
        const double exact = op == te::BinaryOp::kAdd   ? a + b
                             : op == te::BinaryOp::kSub ? a - b
                             : op == te::BinaryOp::kMul ? a * b
                                                        : a / b;
        const double computed = found->outputs[0].real(i * count + j);
        if (std::isnan(exact) && std::isnan(computed)) continue;
        // What is too small is 0 here: kernels flush it.
        const auto is_small = [](double x) { return std::fabs(x) < std::numeric_limits<float>::min(); };
        if (is_small(exact) || (is_small(a) && a != 0) || (is_small(b) && b != 0)) continue;
        ASSERT_EQ(computed, static_cast<float>(exact)) << a << " and " << b << ", " << static_cast<int>(op);
      }
    const auto assembly = emit_assembly(kernel, *parse_cpu_target("cpu=skylake-avx512"));
    ASSERT_TRUE(assembly.ok());
    EXPECT_THAT(*assembly, Not(HasSubstr("ps2pd")));
  }
}

// Register tiles

/// C[m, n] = sum over k of A[k, m] B[k, n], accumulators in registers: rows of vectors of lanes.
Kernel tile(int64_t rows, int64_t vectors, int64_t lanes, int64_t depth) {
  const int64_t columns = vectors * lanes;
  Kernel kernel = kernel_of({{"A", DataType::kFloat32, {depth, rows}},
                             {"B", DataType::kFloat32, {depth, columns}},
                             {"sum", DataType::kFloat32, {rows, columns}, Scope::kRegister},
                             {"C", DataType::kFloat32, {rows, columns}}},
                            {0, 1}, {3});
  const auto nest = [&](int variable, Block block) {
    return loop(variable, rows, LoopKind::kUnrolled,
                {loop(variable + 1, vectors, LoopKind::kUnrolled,
                      {loop(variable + 2, lanes, LoopKind::kVectorized, {Statement{std::move(block)}})})});
  };
  const auto column = [&](int variable) { return k(variable) * te::index(lanes) + k(variable + 1); };
  const Block zero = assign("zero", 2, {k(1), column(2)}, te::literal(0, DataType::kFloat32));
  const Block add = accumulate("add", 2, {k(5), column(6)},
                               load_buffer(kernel, 0, {k(4), k(5)}) * load_buffer(kernel, 1, {k(4), column(6)}));
  const Block write = assign("write", 3, {k(8), column(9)}, load_buffer(kernel, 2, {k(8), column(9)}));
  kernel.body = {loop(0, 1, LoopKind::kSerial,
                      {nest(1, zero), loop(4, depth, LoopKind::kSerial, {nest(5, add)}), nest(8, write)})};
  return kernel;
}

/// Around both ends of the buffer, of which vectors may have none, some or all lanes.
TEST(MaskedLoads, OfNarrowNumbersTakeTheLanesThatAreThere) {
  constexpr int64_t kLanes = 16;
  for (const DataType dtype : {DataType::kInt8, DataType::kBool, DataType::kFloat16, DataType::kBFloat16})
    for (const int64_t count : {5, 40})
      for (const int64_t before : {0, 7, 33}) {
        SCOPED_TRACE(fmt::format("{} of {}, {} before", count, name(dtype), before));
        const int64_t vectors = (count + before) / kLanes + 3;
        Kernel kernel = kernel_of({{"in", dtype, {count}}, {"out", dtype, {vectors * kLanes}}}, {0}, {1});
        const Expr at = k(0) * kLanes + k(1), from = at - before;
        const Expr read = load_buffer(kernel, 0, {from});
        const Block copy =
            assign("copy", 1, {at}, te::select(te::index(0) <= from && from < count, read, te::literal(0, dtype)));
        kernel.body = {
            loop(0, vectors, LoopKind::kSerial, {loop(1, kLanes, LoopKind::kVectorized, {Statement{copy}})})};
        expect_same_as_serial(kernel, {numbers(dtype, {count})});
      }
}

/// Integers of a type: its ends, what lies around 0, any.
Tensor any_integers(DataType dtype, int64_t count, bool has_zero, Random& random) {
  const int bits = bit_width(dtype);
  const int64_t low = is_signed_int(dtype) ? -(int64_t{1} << (bits - 1)) : 0,
                high = is_signed_int(dtype) ? -(low + 1) : (int64_t{1} << bits) - 1;
  std::vector<int64_t> values;
  while (static_cast<int64_t>(values.size()) < count) {
    const int64_t small = random.between(is_signed_int(dtype) ? -3 : 0, 3);
    const int64_t value = random.chance(0.2)   ? small
                          : random.chance(0.2) ? high - std::abs(small)
                          : random.chance(0.2) ? low + std::abs(small)
                                               : random.between(low, high);
    if (value != 0 || has_zero) values.push_back(value);
  }
  return Tensor::from_ints(dtype, {count}, values);
}

TEST(Divisions, OfVectorsAreThoseOfIntegers) {
  constexpr int64_t kCount = 2048, kLanes = 16;
  Random random(5);
  for (const DataType dtype : {DataType::kInt8, DataType::kUInt8, DataType::kInt16, DataType::kUInt16, DataType::kInt32,
                               DataType::kUInt32, DataType::kInt64})
    for (const te::BinaryOp op :
         {te::BinaryOp::kDiv, te::BinaryOp::kFloorDiv, te::BinaryOp::kFloorMod, te::BinaryOp::kTruncMod}) {
      SCOPED_TRACE(fmt::format("{} of {}", static_cast<int>(op), name(dtype)));
      Kernel kernel =
          kernel_of({{"a", dtype, {kCount}}, {"b", dtype, {kCount}}, {"out", dtype, {kCount}}}, {0, 1}, {2});
      const Expr at = k(0) * kLanes + k(1);
      const Block divide =
          assign("divide", 2, {at}, te::binary(op, load_buffer(kernel, 0, {at}), load_buffer(kernel, 1, {at})));
      kernel.body = {
          loop(0, kCount / kLanes, LoopKind::kSerial, {loop(1, kLanes, LoopKind::kVectorized, {Statement{divide}})})};
      expect_same_as_serial(kernel,
                            {any_integers(dtype, kCount, true, random), any_integers(dtype, kCount, false, random)});
    }
}

int count(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  return static_cast<int>(std::distance(std::sregex_iterator(text.begin(), text.end(), regex), std::sregex_iterator()));
}

class RegisterTiles : public testing::TestWithParam<std::pair<const char*, VectorUnit>> {};

/// The whole table of the instruction set: accumulators and operands stay in registers.
TEST_P(RegisterTiles, DoNotSpill) {
  const auto& [cpu, unit] = GetParam();
  const CpuTarget target = *parse_cpu_target(cpu);
  EXPECT_EQ(target.vectors().name, unit.name);
  for (const MicroTile& micro : micro_tiles(unit)) {
    const auto assembly = emit_assembly(tile(micro.rows, micro.vectors, unit.bits / 32, 256), target);
    ASSERT_TRUE(assembly.ok()) << assembly.error().message();
    SCOPED_TRACE(fmt::format("{} rows of {}\n{}", micro.rows, micro.vectors, *assembly));
    EXPECT_EQ(count(*assembly, unit.fused ? "vfmadd" : "mulps"), micro.rows * micro.vectors);
    EXPECT_EQ(count(*assembly, "\\(%rsp\\)"), 0) << "spills";
    EXPECT_EQ(count(*assembly, "call"), 0);
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Units, RegisterTiles,
                         testing::Values(std::pair("cpu=x86-64", kBaseline), std::pair("cpu=sandybridge", kAvx),
                                         std::pair("cpu=haswell", kAvx2), std::pair("cpu=skylake-avx512", kAvx512)),
                         [](const auto& info) { return std::string(info.param.second.name); });

TEST(RegisterTile, IsRight) {
  expect_same_as_serial(tile(6, 2, 8, 256),
                        {numbers(DataType::kFloat32, {256, 6}), numbers(DataType::kFloat32, {256, 16}, 2)});
}

// Targets

TEST(Targets, AreParsed) {
  EXPECT_EQ(parse_cpu_target("cpu")->cpu, host_target().cpu);
  EXPECT_TRUE(runs_here(host_target()));
  EXPECT_EQ(parse_cpu_target("cpu=haswell")->vector_bits, 256);
  EXPECT_EQ(parse_cpu_target("cpu=skylake-avx512")->vector_bits, 512);
  EXPECT_EQ(parse_cpu_target("cpu=x86-64")->vector_bits, 128);
  EXPECT_TRUE(parse_cpu_target("cpu=haswell")->has("fma"));
  EXPECT_FALSE(parse_cpu_target("cpu=x86-64")->has("avx"));
  for (const char* text : {"", "gpu", "cpu=", "cpu=pentium", "cpu=toaster", "haswell"}) {
    const auto target = parse_cpu_target(text);
    ASSERT_FALSE(target.ok()) << text;
    EXPECT_EQ(target.error().kind, ErrorKind::kUsage);
  }
}

}  // namespace
}  // namespace isomer::kernel::test
