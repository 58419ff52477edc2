// Sequences of tokens: the same for the same candidate, others for others, whatever loops and blocks are called.
#include "tune/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tune/examples.h"

namespace isomer::tune::test {
namespace {

TEST(Tokens, AreOfBoundedLengthAndFinite) {
  for (const kernel::test::Example& example : kernel::test::examples()) {
    const Candidates candidates(kernel::Schedule(kernel_of(example)), kernel::default_space(), machine(), 0);
    Random random(1);
    for (int k = 0; k < 6; ++k) {
      const Candidate candidate = candidates.sampled(random, 0.5);
      const std::vector<Token> tokens = tokens_of(candidate);
      EXPECT_FALSE(tokens.empty());
      EXPECT_LE(tokens.size(), kMostTokens);
      for (const Token& token : tokens) {
        EXPECT_LT(token.word, kWords);
        for (const float number : token.numbers) ASSERT_TRUE(std::isfinite(number));
      }
      EXPECT_EQ(tokens, tokens_of(candidates.with(candidate.decisions())));
    }
  }
}

TEST(Tokens, TellNearlyAllSchedulesApart) {
  const Candidates candidates = candidates_of("padded_convolution");
  Random random(2);
  std::set<Hash128> schedules;
  std::vector<std::vector<Token>> different;
  for (int k = 0; k < 200; ++k) {
    const Candidate candidate = candidates.sampled(random, 0.7);
    if (!schedules.insert(candidate.hash).second) continue;
    if (auto tokens = tokens_of(candidate); std::find(different.begin(), different.end(), tokens) == different.end())
      different.push_back(std::move(tokens));
  }
  EXPECT_GE(schedules.size(), 30U);
  EXPECT_GE(static_cast<double>(different.size()), 0.95 * static_cast<double>(schedules.size()));
}

Candidate made_of(std::vector<kernel::Instruction> instructions) {
  static const kernel::Space nothing = {};
  Candidate candidate = Candidates(kernel::Schedule(lowered("product")), nothing, machine(), 0).preferred();
  candidate.made.trace.instructions = std::move(instructions);
  return candidate;
}

TEST(Tokens, CallNamesByTheirOrder) {
  const auto split = [](int loop, const std::string& block, int64_t factor) {
    return std::vector<kernel::Instruction>{
        {"split", {kernel::LoopId{loop}, kernel::Integers{-1, factor}}, {}},
        {"cache_write", {block}, {}},
        {"vectorize", {kernel::LoopId{loop + 1}}, {}},
        {"vectorize", {kernel::LoopId{loop}}, {}},
    };
  };
  const std::vector<Token> tokens = tokens_of(made_of(split(4, "a", 8)));
  EXPECT_EQ(tokens_of(made_of(split(17, "b", 8))), tokens);
  EXPECT_NE(tokens_of(made_of(split(4, "a", 16))), tokens);
  ASSERT_GE(tokens.size(), 4U);
  const Token &last = tokens.back(), &before = tokens[tokens.size() - 2];
  EXPECT_EQ(last.word, before.word);
  EXPECT_NE(last.numbers, before.numbers);
  EXPECT_EQ(last.numbers[0], tokens[tokens.size() - 4].numbers[0]) << "the loop that was split";
}

/// Tiles and layouts are names that say something.
TEST(Tokens, ReadTheIntegersInNames) {
  const auto tile = [](const std::string& name) {
    return tokens_of(made_of({{"tensorize", {kernel::LoopId{1}, name}, {}}})).back();
  };
  const Token small = tile("avx2.4x2x8"), large = tile("avx2.6x2x8");
  EXPECT_EQ(small.word, large.word);
  EXPECT_NE(small, large);
  EXPECT_EQ(small.numbers[4], large.numbers[4]);
  EXPECT_LT(small.numbers[3], large.numbers[3]);
  EXPECT_EQ(tile("overlong.99999999999999999999").numbers[2], 0) << "no integer";
}

}  // namespace
}  // namespace isomer::tune::test
