// Patterns: names get slots, integers are solved for where they can be, operations are read as laws or as rules read
// them.
#include "verify/prover/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/claim_support.h"

namespace isomer::verify::test {
namespace {

using testing::ElementsAre;

const Dim kA = Dim::symbol("a"), kB = Dim::symbol("b");

/// Solves integers for numbers; "a=1 b=?" of the slots, or that there is no solution.
std::string solved(const std::vector<std::pair<Dim, int64_t>>& equations) {
  Slots slots;
  std::vector<Integer> integers;
  std::vector<Dim> numbers;
  for (const auto& [integer, number] : equations) {
    integers.push_back(integer_of(integer, slots));
    numbers.emplace_back(number);
  }
  IntegerEquations all;
  for (size_t k = 0; k < integers.size(); ++k) all.emplace_back(&integers[k], &numbers[k]);
  SlotValues values = slots.unbound();
  if (!solve(all, values)) return "none";
  std::string result;
  for (size_t k = 0; k < slots.integers.size(); ++k)
    result += slots.integers[k] + "=" + (values.integers[k] ? values.integers[k]->text() : "?") + " ";
  return result + (hold(all, values, slots.integers) ? "hold" : "don't hold");
}

TEST(Patterns, SolveIntegersThatAreTheOnlyOneUnknown) {
  EXPECT_EQ(solved({{kA, 3}}), "a=3 hold");
  EXPECT_EQ(solved({{kA * Dim(2) + Dim(1), 7}}), "a=3 hold");
  EXPECT_EQ(solved({{kA * Dim(2) + Dim(1), 8}}), "none");
  EXPECT_EQ(solved({{kA + kB, 5}}), "a=? b=? don't hold");
  EXPECT_EQ(solved({{kA + kB, 5}, {kB, 2}}), "a=3 b=2 hold");
  EXPECT_EQ(solved({{kA, 3}, {kA + Dim(1), 5}}), "a=3 don't hold");
  EXPECT_EQ(solved({{kA * kB, 6}, {kA, 2}}), "a=2 b=? don't hold") << "products are compared, not solved";
  EXPECT_EQ(solved({{kA * kB, 6}, {kA, 2}, {kB, 3}}), "a=2 b=3 hold");
}

TEST(Patterns, GiveNamesSlots) {
  Slots slots;
  int id = 5;
  const Pattern pattern = pattern_of(term("Conv(x,Concat(x,w){axis=0}){group=w_0 + g,..p}"), slots, id);
  slots.find_dims();
  EXPECT_EQ(id, 7);
  EXPECT_EQ(pattern.operators, 2);
  EXPECT_THAT(slots.tensors, ElementsAre("x", "w"));
  EXPECT_THAT(slots.integers, ElementsAre("g", "w_0"));
  EXPECT_THAT(slots.rests, ElementsAre("p"));
  EXPECT_THAT(slots.is_dim, ElementsAre(false, true));
  ASSERT_EQ(slots.dims.size(), 1U);
  EXPECT_EQ(slots.tensors[static_cast<size_t>(slots.dims[0].variable)], "w");
}

TEST(Patterns, ReadOperationsAsLawsOrAsRulesDo) {
  struct Case {
    const char* pattern;
    const char* there;
    bool of_law, of_rule;
  };
  constexpr Case kCases[] = {
      {"Concat(x,y){axis=1}", "Concat(x,y){axis=1}", true, true},
      {"Concat(x,y){axis=1}", "Concat(x,y){axis=0}", false, false},
      {"Concat(x,y){axis=-1}", "Concat(x,y){axis=0}", true,
       true},  // counted from the back: compared when all is spelled out
      {"Concat(x,y){..p}", "Concat(x,y){axis=0}", true, true},
      {"Conv(x,w){kernel_shape=[3,3],..p}", "Conv(x,w){group=1}", false, true},
      {"Conv(x,w){group=1,..p}", "Conv(x,w){auto_pad=\"VALID\",group=1}", false, true},
      {"Conv(x,w){pads=[a,b],..p}", "Conv(x,w){pads=[1,1,1,1]}", false, false},
      {"Pad(x){mode=\"edge\",..p}", "Pad(x){mode=\"constant\"}", false, false},
  };
  Signatures signatures;
  for (const Case& each : kCases) {
    SCOPED_TRACE(each.pattern);
    Slots slots;
    int id = 0;
    const Pattern pattern = pattern_of(term(each.pattern), slots, id);
    const Term there = term(each.there);
    const int operation = signatures.operation_id(*there.as_application()->op, there.as_application()->parameters);
    EXPECT_EQ(Extractions(Extractions::Reading::kAsDrawn).of(pattern, operation, signatures).fits, each.of_law);
    EXPECT_EQ(Extractions(Extractions::Reading::kAsSpelled).of(pattern, operation, signatures).fits, each.of_rule);
  }
}

TEST(Patterns, AreTheOperationThatTheyRead) {
  Signatures signatures;
  Slots slots;
  int id = 0;
  const Pattern pattern = pattern_of(term("Split(x){axis=a,split=[b,c],..p}"), slots, id);
  const Term there = term("Split(x){axis=1,split=[2,4]}");
  const int operation = signatures.operation_id(*there.as_application()->op, there.as_application()->parameters);
  Extractions extractions(Extractions::Reading::kAsDrawn);
  const Extraction& read = extractions.of(pattern, operation, signatures);
  ASSERT_TRUE(read.fits);
  SlotValues values = slots.unbound();
  for (const auto& [integer, number] : read.integers) {
    ASSERT_TRUE(integer->is_name());
    values.integers[static_cast<size_t>(integer->slots[0])] = number;
  }
  values.rests[0] = read.rest;
  EXPECT_EQ(operation_of(pattern, values, slots.integers, signatures), operation);
}

}  // namespace
}  // namespace isomer::verify::test
