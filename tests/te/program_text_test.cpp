#include "graph/te/program_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/te/algebra_floating.h"
#include "graph/te/evaluate.h"
#include "util/random.h"

namespace isomer::te {
namespace {

const std::string kPrograms[] = {
    "output \n",
    "output none\n",

    "s0 = map [n, 3] { in0[i0, i1]:float32*2 }\n"
    "s1 = reduce [n] over [3] with sum:float32 { s0[i0, r0]:float32 }\n"
    "s2 = update [n] from 0:float32 over [4] at [in1[r0]] with max:float32 { s1[r0]:float32 }\n"
    "s3 = update [n, 2] from i0 over [4] at [in1[r0], 1] { r0 }\n"
    "output s1, none, s2, s3\n",

    "s0 = scan n {\n"
    "  state [] = 0:float32\n"
    "  state [2] = i0\n"
    "  step map [] { state0[]:float32 + in0[t0]:float32 }\n"
    "  step reduce [2] over [3] with prod:int64 { state1[i0] + int64(inner0[]:float32)*r0 }\n"
    "  next 0, 1\n"
    "}\n"
    "output s0, s0.1\n",

    "s0 = reduce [] over [5] with argmax:float64 { in0[r0]:float64, r0 }\n"
    "s1 = reduce [] over [5] with argmin_last:float64 { in0[r0]:float64, r0 }\n"
    "s2 = reduce [2] over [5] with online_softmax:float32 { in1[r0, i0]:float32, 1:float32, 2:float32 }\n"
    "s3 = map [\"weird \\x0a name\" + 1] { s0.1[] }\n"
    "output s0, s0.1, s1.1, s2.2, s3\n",

    "s0 = reduce [4] over [] with monoid \"xor\" (false) (left0:bool ^ right0:bool) { 0 < i0 }\n"
    "s1 = reduce [] over [4] with ordered \"last\" (0) (select(right0 == 0, left0, right0)) { r0 }\n"
    "output s0, s1\n",

    "s0 = imperative {\n"
    "  local0: int64[]\n"
    "  local1: float32[n, 3]\n"
    "  for k0 < n {\n"
    "    if in0[k0]:float32 < 0 && !(k0 == 2) {\n"
    "      local0[] = local0[] + 1\n"
    "    } else {\n"
    "      while local0[] < 7 {\n"
    "        local0[] = local0[]*2 + 1\n"
    "      }\n"
    "    }\n"
    "  }\n"
    "  resize local1[local0[], 3]\n"
    "  local1[0, 0] = float32(-n)\n"
    "  output local1, local0\n"
    "}\n"
    "output s0.1\n",

    "s0 = imperative {\n"
    "  local0: int64[]\n"
    "  local0[] = 3\n"
    "  output local0\n"
    "}\n"
    "output s0\n",
};

TEST(ProgramText, round_trips) {
  for (const std::string& text : kPrograms) {
    const auto program = parse_program(text);
    ASSERT_TRUE(program.ok()) << text << program.error().message();
    EXPECT_EQ(print(*program), text);
  }
}

TEST(ProgramText, mistakes_are_sentences) {
  const std::pair<std::string, std::string> rows[] = {
      {"", "column 1: expected \"s0\" or \"output\", found the end"},
      {"s1 = map [] { 1 } output s1", "expected \"s0\" or \"output\", found \"s1\""},
      {"s0 = sum [] { 1 } output s0", "expected map, reduce, scan, update or imperative, found \"sum\""},
      {"s0 = map [true] { 1 } output s0", "expected an int64 index, found bool"},
      {"s0 = map [] { 1 }", "expected \"s1\" or \"output\", found the end"},
      {"s0 = map [] { 1 } output s1", "output: s1.0 does not exist"},
      {"s0 = map [] { 1 } output s0.1", "output: s0.1 does not exist"},
      {"s0 = map [] { } output s0", "stage s0: a body is missing"},
      {"s0 = map [2] { i1 } output s0", "stage s0: i1 is not defined here"},
      {"s0 = map [2] { r0 } output s0", "stage s0: r0 is not defined here"},
      {"s0 = map [2] { t0 } output s0", "stage s0: t0 is not defined here"},
      {"s0 = map [2] { left0 } output s0", "stage s0: left0 is not defined here"},
      {"s0 = map [2] { k0 } output s0", "stage s0: k0 is not defined here"},
      {"s0 = map [2] { s0[i0] } output s0", "stage s0: s0[i0] reads what is not defined here"},
      {"s0 = map [2] { 1 } s1 = map [2] { s0[] } output s1", "stage s1: s0[] reads a buffer of type int64 and rank 1"},
      {"s0 = map [2] { 1 } s1 = map [2] { s0[i0]:float32 } output s1",
       "stage s1: s0[i0]:float32 reads a buffer of type int64 and rank 1"},
      {"s0 = reduce [2] over [2] with sum:float32 { 1 } output s0",
       "stage s0: 0:float32 of type int64 expected, float32 found"},
      {"s0 = reduce [2] over [2] with argmax:int64 { 1 } output s0", "stage s0: 2 values expected by argmax, 1 found"},
      {"s0 = reduce [2] over [2] with average:float32 { 1 } output s0", "expected a monoid, found \"average\""},
      {"s0 = reduce [2] over [2] with monoid \"sum\" (0) (max(left0, right0)) { 1 } output s0",
       "expected a name that no other monoid has"},
      {"s0 = reduce [2] over [2] with sum:string { 1 } output s0", "expected a computable type, found \"string\""},
      {"s0 = scan 3 { state [] = 0 step map [] { 1:float32 } next 0 } output s0",
       "stage s0: step 0 can't be the next state 0"},
      {"s0 = scan 3 { state [] = 0 step map [] { 1 } next 0, 0 } output s0",
       "stage s0: 1 next values expected, 2 found"},
      {"s0 = update [2] from 0 over [] at [] { 1 } output s0", "stage s0: 1 indices expected, 0 found"},
      {"s0 = update [2] from 0 over [] at [0] { true } output s0", "stage s0: true of type int64 expected, bool found"},
      {"s0 = imperative { local1: int64[] output local1 } output s0",
       "expected the declaration of local0, found \":\""},
      {"s0 = imperative { output local0 } output s0", "stage s0: local0 does not exist"},
      {"s0 = imperative { local0: int64[] local1[] = 2 output local0 } output s0", "stage s0: local1 does not exist"},
      {"s0 = imperative { local0: int64[] local0[] = true output local0 } output s0",
       "stage s0: true of type int64 expected, bool found"},
      {"s0 = imperative { local0: int64[] while local0[] { } output local0 } output s0",
       "stage s0: local0[] of type bool expected, int64 found"},
      {"s0 = imperative { local0: int64[] local0[] = k0 output local0 } output s0", "stage s0: k0 is not defined here"},
      {"s0 = imperative { local0: int64[] for k99999 < 2 { } output local0 } output s0", "k99999 is none of"},
  };
  for (const auto& [text, message] : rows) {
    const auto program = parse_program(text);
    ASSERT_FALSE(program.ok()) << text;
    EXPECT_THAT(program.error().message(), testing::HasSubstr(message)) << text;
  }
  std::string nested = "s0 = imperative { local0: int64[] ";
  for (int i = 0; i < 10'000; ++i) nested += "if true { ";
  EXPECT_THAT(parse_program(nested).error().message(), testing::HasSubstr("fewer nested blocks"));
}

/// Whatever parses prints to something that parses to the same, and evaluates to values or an error.
TEST(ProgramText, scrambled_programs_neither_crash_nor_hang) {
  Random random(31);
  int accepted = 0;
  for (int i = 0; i < 2'000; ++i) {
    std::string text = kPrograms[random.below(std::size(kPrograms))];
    for (uint64_t edits = random.below(4); edits-- > 0 && text.size() > 1;) {
      const size_t at = random.below(text.size()), from = random.below(text.size());
      if (random.chance(0.4))
        text.erase(at, 1 + random.below(3));
      else
        text.insert(at, text.substr(from, 1 + random.below(6)));
    }
    const auto program = parse_program(text);
    if (!program.ok()) continue;
    ++accepted;
    const auto again = parse_program(print(*program));
    ASSERT_TRUE(again.ok()) << text << again.error().message();
    ASSERT_EQ(print(*again), print(*program)) << text;
    const Concrete<DoubleAlgebra> scalars({}, {{"n", 4}});
    const auto values = evaluate(*program, scalars, {nullptr, nullptr}, {.elements = 10'000, .steps = 10'000});
    EXPECT_TRUE(values.ok() || !values.error().message().empty());
  }
  EXPECT_GT(accepted, 200);
}

}  // namespace
}  // namespace isomer::te
