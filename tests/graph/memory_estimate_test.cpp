// What the estimates say is what runs take.
#include "graph/memory_estimate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/interpret.h"
#include "graph/te/array.h"
#include "graph/te/integer.h"
#include "graph/text.h"
#include "util/resident.h"

namespace isomer {
namespace {

using testing::HasSubstr;

Graph graph_of(const std::string& text) {
  auto graph = parse_graph("opset 17\ngraph main" + text);
  EXPECT_TRUE(graph.ok()) << graph.error().message();
  return *std::move(graph);
}

struct Row {
  const char* name;
  const char* graph;
  int64_t arrays;  ///< of 1000 elements that live at once, the one that rounding makes included
  int64_t inputs;  ///< bytes
  bool is_complete = true;
};

class MemoryToInterpret : public testing::TestWithParam<Row> {};

TEST_P(MemoryToInterpret, IsOfTheArraysThatLiveAtOnce) {
  const auto memory = memory_to_interpret(graph_of(GetParam().graph), true);
  ASSERT_TRUE(memory.ok()) << memory.error().message();
  EXPECT_EQ(memory->inputs, GetParam().inputs);
  EXPECT_EQ(memory->peak, GetParam().inputs + GetParam().arrays * te::Array::bytes_for(1000));
  EXPECT_EQ(memory->is_complete, GetParam().is_complete);
}

INSTANTIATE_TEST_SUITE_P(
    Table, MemoryToInterpret,
    testing::Values(
        Row{"one_node", "(x: float32[1000]) -> (y: float32[1000]) {\n y = Relu(x)\n}", 2, 4000},
        Row{"a_chain_frees_what_it_read",
            "(x: float32[1000]) -> (y: float32[1000]) {\n a = Relu(x)\n b = Neg(a)\n c = Abs(b)\n y = Exp(c)\n}", 3,
            4000},
        Row{"values_that_wait",
            "(x: float32[1000]) -> (y: float32[1000]) {\n a = Relu(x)\n b = Neg(x)\n c = Abs(x)\n"
            " d = Add(a, b)\n y = Add(c, d)\n}",
            5, 4000},
        Row{"what_nobody_needs", "(x: float32[1000]) -> (y: float32[1000]) {\n a = Exp(x)\n y = Relu(x)\n}", 2, 4000},
        Row{"inputs_in_their_types",
            "(x: float16[1000], z: uint8[1000]) -> (y: float16[1000]) {\n"
            " c = Cast(z) {to = 10}\n y = Add(x, c)\n}",
            3, 3000}),
    [](const auto& info) { return info.param.name; });

TEST(MemoryToInterpret, KnowsTheStagesInsideOfOperators) {
  const auto memory =
      memory_to_interpret(graph_of("(x: float32[10,1000]) -> (y: float32[10,1000]) {\n y = Softmax(x) {axis = 1}\n}"));
  ASSERT_TRUE(memory.ok());
  EXPECT_GE(memory->peak, 40'000 + 2 * 80'000);
  EXPECT_LE(memory->peak, 40'000 + 4 * 80'000);
}

TEST(MemoryToInterpret, SaturatesWhereItOverflows) {
  std::string nodes = " a0 = Expand(x, s)\n";
  for (int k = 1; k < 300; ++k) nodes += fmt::format(" a{} = Relu(a0)\n", k);
  std::string sum = " y = Sum(a0";
  for (int k = 1; k < 300; ++k) sum += fmt::format(", a{}", k);
  const auto memory = memory_to_interpret(graph_of(
      "(x: float32[1]) -> (y: float32[1000000000000]) {\n s: int64[1] = {1000000000000}\n" + nodes + sum + ")\n}"));
  ASSERT_TRUE(memory.ok());
  EXPECT_GE(memory->peak, int64_t{300} * 8 * 1'000'000'000'000);
}

TEST(MemoryToInterpret, SaysWhereDataDecide) {
  const auto memory = memory_to_interpret(graph_of("(x: float32[1000]) -> (y) {\n y = NonZero(x)\n}"));
  ASSERT_TRUE(memory.ok());
  EXPECT_FALSE(memory->is_complete);
}

TEST(MemoryToRun, IsInTheValuesTypes) {
  const auto memory = memory_to_run(graph_of(
      "(x: float32[1000]) -> (y: float32[1000]) {\n w: float32[1000] = random 1\n a = Add(x, w)\n y = Relu(a)\n}"));
  ASSERT_TRUE(memory.ok());
  EXPECT_EQ(memory->peak, 12'000);
  EXPECT_EQ(memory->inputs, 4000);
  EXPECT_EQ(memory->outputs, 4000);
  EXPECT_EQ(memory->weights, 4000);
}

/// Data decide that too much is needed: an error comes instead of the memory.
TEST(InterpretUnderALimit, EndsBeforeItTakesTooMuch) {
  const Graph graph = graph_of(
      "(x: float32[1000]) -> (y) {\n z = NonZero(x)\n n = Shape(z)\n f: int64[2] = {1, 10000000}\n m = Mul(n, f)\n"
      " y = ConstantOfShape(m)\n}");
  const std::vector<double> ones(1000, 1.0);
  const std::vector<te::Array> inputs = {te::Array::reals(DataType::kFloat32, {1000}, ones)};
  const auto outputs = interpret(graph, inputs, {.memory = {int64_t{1} << 30}});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().kind, ErrorKind::kUnsupported);
  EXPECT_THAT(outputs.error().message(), HasSubstr("80 GB more memory for a tensor of 10000000000 elements expected"));
}

TEST(MemoryLimit, ReadsAndWritesSizes) {
  const std::pair<const char*, int64_t> sizes[] = {
      {"1GB", 1'000'000'000},  {"512MB", 512'000'000}, {"2GiB", int64_t{2} << 30},
      {"1.5g", 1'500'000'000}, {"4096", 4096},         {"7b", 7},
      {"3KiB", 3072}};
  for (const auto& [text, bytes] : sizes) EXPECT_EQ(parse_size(text), bytes) << text;
  for (const char* text : {"", "GB", "0", "-1", "1 GB", "1EB", "1GBs", "nan", "inf", "1e30"})
    EXPECT_EQ(parse_size(text), std::nullopt) << text;
  EXPECT_EQ(size_text(195), "195 bytes");
  EXPECT_EQ(size_text(8'589'934'592), "8.59 GB");
  EXPECT_EQ(size_text(999'999), "1 MB");
}

/// Pages of files come and go as the system likes: only what is written here is counted on.
TEST(MemoryLimit, CountsWhatTheProcessHas) {
  constexpr int64_t kHeld = int64_t{256} << 20, kMore = int64_t{64} << 20;
  EXPECT_TRUE(MemoryLimit().allows(std::numeric_limits<int64_t>::max()));
  const std::vector<char> held(kHeld, 'h');
  const MemoryLimit tight{kHeld + kMore - 1}, wide{peak_resident_bytes() + 2 * kMore};
  EXPECT_FALSE(tight.allows(kMore));
  EXPECT_TRUE(wide.allows(kMore));
  EXPECT_FALSE(wide.allows(wide.bytes));
  EXPECT_FALSE(wide.allows(std::numeric_limits<int64_t>::max()));
  EXPECT_EQ(held.back(), 'h');
  EXPECT_GT(machine_memory().value_or(0), int64_t{64} << 20);
  EXPECT_LT(default_memory_limit().bytes, machine_memory().value_or(0));
}

}  // namespace
}  // namespace isomer
