// Words of small integers, and tables of bytes: their expressions are recognized, sums over them are those of their
// bytes, in code for any target.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/te/program_text.h"
#include "kernel/default_schedule.h"
#include "kernel/examples.h"
#include "kernel/run_kernel.h"
#include "kernel/words.h"
#include "support/long_run.h"

namespace isomer::kernel::test {
namespace {

using isomer::test::is_long_run;
using testing::HasSubstr;

Expr element(int buffer, DataType type, const Expr& index) {
  return te::load({te::BufferRef::Kind::kLocal, buffer, 0}, type, {index});
}

TEST(Words, AreRecognized) {
  for (const int parts : {2, 4}) {
    const DataType narrow = parts == 4 ? DataType::kInt8 : DataType::kInt16;
    std::vector<Expr> loads;
    for (int k = 0; k < parts; ++k) loads.push_back(element(0, narrow, te::axis(0) * parts + k));
    EXPECT_EQ(loads_of_word(word_of(loads)), loads);
    std::swap(loads[0], loads[1]);
    EXPECT_EQ(loads_of_word(word_of(loads)), loads);
    loads[0] = te::cast(narrow, te::cast(DataType::kInt32, loads[0]) + 1);
    EXPECT_TRUE(loads_of_word(word_of(loads)).empty());

    const Expr a = element(0, DataType::kUInt32, te::axis(0)), b = element(1, DataType::kUInt32, te::axis(1));
    const Expr sum = dot_of_words({a, b, parts});
    const auto dot = as_dot_of_words(sum);
    ASSERT_TRUE(dot);
    EXPECT_EQ(dot->a, a);
    EXPECT_EQ(dot->b, b);
    EXPECT_EQ(dot->parts, parts);
    EXPECT_FALSE(as_dot_of_words(sum + sum));
    EXPECT_FALSE(as_dot_of_words(te::as<te::Binary>(sum)->right));
  }
}

TEST(Words, LieInMemoryOneBehindTheOther) {
  Kernel kernel;
  kernel.buffers.push_back({"x", DataType::kUInt8, {8, 4}});
  const auto word = [&](const auto& index_of) {
    std::vector<Expr> loads;
    for (int k = 0; k < 4; ++k) loads.push_back(load_buffer(kernel, 0, index_of(k)));
    return word_of(loads);
  };
  EXPECT_TRUE(is_word_of_memory(kernel, word([](int k) { return std::vector{te::axis(0), te::index(k)}; })));
  EXPECT_FALSE(is_word_of_memory(kernel, word([](int k) { return std::vector{te::index(k), te::axis(0)}; })));
  EXPECT_FALSE(is_word_of_memory(kernel, word([](int k) { return std::vector{te::axis(0), te::index(3 - k)}; })));
}

/// Every target that runs here; the machine has its words, or those that it lacks instructions for.
TEST(MultiplyWords, KeepsTheMeaningOnEveryTarget) {
  std::vector<CpuTarget> targets = {host_target()};
  for (const char* cpu : {"cpu=x86-64", "cpu=haswell", "cpu=skylake-avx512", "cpu=icelake-server", "cpu=alderlake"})
    if (const auto target = parse_cpu_target(cpu); target.ok() && runs_here(*target)) targets.push_back(*target);
  const int count = is_long_run() ? 2'000 : 60;
  for (int seed = 0; seed < count; ++seed) {
    Random random(static_cast<uint64_t>(seed));
    const Example example = random_byte_sum(random);
    const CpuTarget& target = targets[random.below(targets.size())];
    const Kernel kernel = lowered(example, random.chance(0.7) ? std::set<size_t>{1} : std::set<size_t>());
    Machine machine;
    machine.vectors = target.vectors();
    machine.word_parts = random.chance(0.5) ? 4 : 2;
    const Schedule schedule = default_schedule(Schedule(kernel), machine);
    SCOPED_TRACE(fmt::format("seed {} for {}\n{}{}{}", seed, target.cpu, example.program, print(schedule.trace()),
                             print(schedule.finish())));
    const std::vector<Tensor> inputs = integers(example, random);
    const auto expected = run(Schedule(kernel).finish(), inputs, host_target());
    const auto found = run(schedule.finish(), inputs, target);
    ASSERT_TRUE(expected.ok()) << expected.error().message();
    ASSERT_TRUE(found.ok()) << found.error().message();
    for (size_t k = 0; k < expected->outputs.size(); ++k)
      ASSERT_TRUE(expected->outputs[k].same_contents(found->outputs[k].reshaped(expected->outputs[k].dims())));
  }
}

TEST(MultiplyWords, AreInstructions) {
  const std::pair<const char*, const char*> expected[] = {{"cpu=x86-64", "pmaddwd"},
                                                          {"cpu=haswell", "vpmaddwd"},
                                                          {"cpu=icelake-server", "vpdpbusd"},
                                                          {"cpu=alderlake", "vpdpbusd"}};
  const Kernel kernel = lowered(example_of("bytes"), {1, 3});
  for (const auto& [cpu, instruction] : expected) {
    const CpuTarget target = *parse_cpu_target(cpu);
    Machine machine;
    machine.vectors = target.vectors();
    machine.word_parts = target.word_parts();
    const auto code = emit_assembly(default_schedule(Schedule(kernel), machine).finish(), target);
    ASSERT_TRUE(code.ok()) << code.error().message();
    EXPECT_THAT(*code, HasSubstr(instruction)) << cpu;
  }
}

TEST(MultiplyWords, SayWhyTheyDoNotApply) {
  const auto refusal = [](const std::string& body, int64_t iterator, int64_t count) {
    const auto program =
        te::parse_program(fmt::format("s0 = reduce [8, 24] over [32] with sum:int32 {{ {} }}\noutput s0\n", body));
    CHECK(program.ok()) << program.error().message();
    Schedule schedule(*lower(*program, {{DataType::kUInt8, {8, 32}}, {DataType::kInt8, {32, 24}}}));
    const auto done = schedule.multiply_words("s0", iterator, count);
    return done.ok() ? "" : done.error().message();
  };
  const std::string left = "int32(in0[i0, r0]:uint8)", right = "int32(in1[r0, i1]:int8)", product = left + "*" + right;
  EXPECT_EQ(refusal(product, 0, 4), "");
  EXPECT_EQ(refusal(product, 0, 2), "");
  EXPECT_THAT(refusal(product, 0, 3), HasSubstr("words of 2 or 4 integers expected"));
  EXPECT_THAT(refusal(product, 1, 4), HasSubstr("an iterator of the reduction expected"));
  EXPECT_THAT(refusal(left, 0, 4), HasSubstr("products of bytes"));
  EXPECT_THAT(refusal(left + "*(" + right + " - int32(in1[r0, 0]:int8))", 0, 4), HasSubstr("products of bytes"));
  EXPECT_THAT(refusal("int32(in0[i0, r0 floordiv 2]:uint8)*" + right, 0, 4),
              HasSubstr("an iterator that a dim of each factor runs along"));
  // The padding would be no byte.
  const std::string padded = "select(0 <= i0 - 1, int32(in0[i0 - 1, r0]:uint8) - 300, 0:int32)*" + right;
  EXPECT_THAT(refusal(padded, 0, 4), HasSubstr("a padding that is a byte expected"));
  EXPECT_EQ(refusal(padded, 0, 2), "");
}

TEST(Tabulate, MakesTablesOfBytes) {
  for (const char* name : {"table", "table_of_results"}) {
    SCOPED_TRACE(name);
    const Example& example = example_of(name);
    const Kernel kernel = lowered(example, {1});
    Schedule schedule(kernel);
    const auto table = schedule.tabulate(schedule.blocks().back());
    ASSERT_TRUE(table.ok()) << table.error().message();
    expect_replays(schedule, kernel);
    expect_same_meaning(example, schedule, kernel);
    const Schedule by_default = default_schedule(Schedule(kernel), Machine());
    EXPECT_EQ(print(by_default.trace()).find("tabulate") != std::string::npos, std::string_view(name) == "table");
  }
}

TEST(Tabulate, SaysWhatItExpects) {
  const auto refusal = [](const std::string& body) {
    const auto program = te::parse_program(fmt::format("s0 = map [64] {{ {} }}\noutput s0\n", body));
    CHECK(program.ok()) << program.error().message();
    Schedule schedule(*lower(*program, {{DataType::kUInt8, {64}}, {DataType::kFloat32, {64}}}));
    const auto done = schedule.tabulate("s0");
    return done.ok() ? "" : done.error().message();
  };
  const std::string x = "float32(in0[i0]:uint8)";
  EXPECT_EQ(refusal(fmt::format("floor(sqrt(exp({})))", x)), "");
  EXPECT_EQ(refusal(fmt::format("floor(sqrt(exp({})))*in1[i0]:float32", x)), "");
  EXPECT_THAT(refusal(fmt::format("floor({})", x)), HasSubstr("24 operations at least"));
  EXPECT_THAT(refusal("floor(sqrt(exp(in1[i0]:float32)))"), HasSubstr("24 operations at least")) << "no byte";
  EXPECT_THAT(refusal(fmt::format("floor(sqrt(exp({} + in1[i0]:float32)))", x)), HasSubstr("24 operations at least"));
  EXPECT_THAT(refusal(fmt::format("floor(sqrt(exp({} + float32(i0))))", x)), HasSubstr("24 operations at least"));
  EXPECT_THAT(refusal("floor(sqrt(exp(float32(7 / int32(in0[i0]:uint8)))))"), HasSubstr("24 operations at least"))
      << "it has no value for 0, which may not be among the elements";
}

}  // namespace
}  // namespace isomer::kernel::test
