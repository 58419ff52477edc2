#include "graph/equal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/hash.h"
#include "graph/sample_graphs.h"
#include "graph/shuffle.h"
#include "graph/text.h"
#include "support/collision.h"

namespace isomer {
namespace {

using test::parsed;

using testing::HasSubstr;

std::string difference_of(std::string_view first, std::string_view second) {
  return difference(parsed(first), parsed(second)).value_or("none");
}

TEST(EqualGraphs, HaveOtherNamesIdsAndOrders) {
  for (const char* text : test::kNoTwoAlike)
    for (uint64_t seed = 0; seed < 5; ++seed)
      EXPECT_EQ(difference(parsed(text), test::shuffled(parsed(text), seed)), std::nullopt) << text;
  const Graph everything = parsed(test::kEverything);
  for (uint64_t seed = 0; seed < 50; ++seed)
    EXPECT_EQ(difference(test::shuffled(everything, seed), everything), std::nullopt) << seed;
}

TEST(EqualGraphs, AreNoOthers) {
  for (const char* first : test::kNoTwoAlike)
    for (const char* second : test::kNoTwoAlike)
      EXPECT_EQ(first == second, difference_of(first, second) == "none") << first << "\n" << second;
}

TEST(EqualGraphs, ShareAlike) {
  constexpr const char* kShared =
      "graph (x) -> (p, q, r) { a = A::N(x)\n b = A::N(x)\n p = A::P(a)\n q = A::Q(a)\n r = A::R(b) }";
  EXPECT_NE(difference_of(kShared,
                          "graph (x) -> (p, q, r) { a = A::N(x)\n b = A::N(x)\n p = A::P(a)\n q = A::Q(b)\n "
                          "r = A::R(b) }"),
            "none");
  EXPECT_NE(difference_of(kShared, "graph (x) -> (p, q, r) { a = A::N(x)\n p = A::P(a)\n q = A::Q(a)\n r = A::R(a) }"),
            "none");
}

TEST(EqualGraphs, SpellDefaultsOutOrNot) {
  constexpr const char* kForm = "graph (x: float32[2,2], w: float32[2,2]) -> (y) {{ y = Gemm(x, w){} }}";
  EXPECT_EQ(difference_of(fmt::format(kForm, " {alpha = 1.0}"), fmt::format(kForm, "")), "none");
  EXPECT_NE(difference_of(fmt::format(kForm, " {alpha = 2.0}"), fmt::format(kForm, "")), "none");
}

TEST(EqualGraphs, HaveTheSameZerosAndNoNumbersThatAreNone) {
  constexpr const char* kZero = "graph (x: float32[1]) -> (y) {{ z: float32[1] = {{{}}}\n y = Add(x, z) }}";
  EXPECT_NE(difference_of(fmt::format(kZero, "0"), fmt::format(kZero, "-0")), "none");
  constexpr const char* kNone = "graph (x: float32[1]) -> (y) {{ z: float32[1] = hex \"{}c07f\"\n y = Add(x, z) }}";
  EXPECT_EQ(difference_of(fmt::format(kNone, "0100"), fmt::format(kNone, "0100")), "none");
  EXPECT_NE(difference_of(fmt::format(kNone, "0100"), fmt::format(kNone, "0200")), "none");
}

TEST(EqualGraphs, KeepNodesThatNobodyReads) {
  constexpr const char* kForm = "graph (x: float32[2]) -> (y) {{ y = Neg(x){} }}";
  const std::string dead = fmt::format(kForm, "\n a = Exp(x)\n b = Neg(a)\n c = Log(x)");
  EXPECT_EQ(difference(parsed(dead), test::shuffled(parsed(dead), 3)), std::nullopt);
  EXPECT_NE(difference_of(dead, fmt::format(kForm, "")), "none");
  EXPECT_NE(difference_of(dead, fmt::format(kForm, "\n a = Exp(x)\n b = Neg(a)\n c = Exp(x)")), "none");
}

TEST(EqualGraphs, SayWhereTheyAreNot) {
  constexpr const char* kForm =
      "graph (x: float32[2]) -> (y) {{ c: float32[] = {{{}}}\n a = {}(x) as \"first\"\n y = Add(a, c) }}";
  const std::string model = fmt::format(kForm, 1, "Exp");
  EXPECT_THAT(difference_of(model, fmt::format(kForm, 2, "Exp")), HasSubstr("'c': other elements"));
  EXPECT_THAT(difference_of(model, fmt::format(kForm, 1, "Log")), HasSubstr("Exp expected"));
  EXPECT_THAT(difference_of(model, "graph (x: float32[3]) -> (y) { y = Exp(x) }"), HasSubstr("input x"));
}

/// A table of weights, and another one that the hash does not tell from it.
TEST(EqualGraphs, HaveTheSameBytesAndNotTheSameHash) {
  Graph model = parsed("graph (x: float32[64]) -> (y) { w: float32[64] = random 5\n y = Mul(x, w) }");
  Graph other = model;
  for (const ValueId id : other.values()) {
    const auto& weights = other.value(id).constant;
    if (!weights) continue;
    const std::vector<std::byte> bytes(weights->bytes().begin(), weights->bytes().end());
    other.edit(id).constant = Tensor(DataType::kFloat32, {64}, test::with_the_same_hash(bytes, 2, 0x40000));
  }
  EXPECT_EQ(structural_hash(model), structural_hash(other));
  EXPECT_THAT(difference(model, other).value_or("none"), HasSubstr("other elements"));
}

}  // namespace
}  // namespace isomer
