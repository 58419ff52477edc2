// The network's derivatives against differences, and what its scores depend on.
#include "tune/attention_net.h"

#include <gtest/gtest.h>

#include <cmath>

#include "util/random.h"

namespace isomer::tune::test {
namespace {

std::vector<Token> random_tokens(Random& random) {
  std::vector<Token> tokens(static_cast<size_t>(random.between(1, 20)));
  for (Token& token : tokens) {
    token.word = static_cast<uint32_t>(random.below(kWords));
    for (float& number : token.numbers) number = static_cast<float>(random.uniform(-2, 2));
  }
  return tokens;
}

/// The sum of squares.
double loss_of(const AttentionNet& net, const Sequences& sequences, size_t target) {
  double loss = 0;
  for (const float score : net.scores(sequences, target)) loss += static_cast<double>(score) * score;
  return loss;
}

TEST(AttentionNet, HasTheDerivativesThatDifferencesSay) {
  Random random(3);
  AttentionNet net(2, 7);
  Sequences sequences;
  for (int k = 0; k < 6; ++k) sequences.add(random_tokens(random));
  const auto by_scores = [](std::span<const float> scores) {
    std::vector<float> by;
    for (const float score : scores) by.push_back(2 * score);
    return by;
  };
  std::vector<float> gradient(net.parameters().size());
  net.add_gradient(sequences, 1, by_scores, gradient);
  // Pieces of some hundred parameters, so that each layer is among them and none hides behind the others.
  const std::vector<float> before = net.parameters();
  constexpr size_t kPiece = 256;
  constexpr float kStep = 3e-3F;
  size_t touched = 0;
  for (size_t begin = 0; begin < before.size(); begin += kPiece) {
    const size_t end = std::min(begin + kPiece, before.size());
    double length = 0;
    for (size_t k = begin; k < end; ++k) length += static_cast<double>(gradient[k]) * gradient[k];
    length = std::sqrt(length);
    // Along the gradient a loss grows as fast as the gradient is long.
    if (length < 1e-3) continue;
    ++touched;
    const auto moved = [&](float by) {
      net.parameters() = before;
      for (size_t k = begin; k < end; ++k) net.parameters()[k] += by * gradient[k] / static_cast<float>(length);
      return loss_of(net, sequences, 1);
    };
    const double slope = (moved(kStep) - moved(-kStep)) / (2 * kStep);
    EXPECT_NEAR(slope / length, 1, 0.05) << begin << " of " << before.size();
  }
  EXPECT_GE(touched, before.size() / kPiece / 3);
  // The other target's head is none of its business.
  net.parameters() = before;
  const double other = loss_of(net, sequences, 0);
  for (size_t k = 0; k < gradient.size(); ++k) net.parameters()[k] = gradient[k] == 0 ? before[k] : 0;
  EXPECT_NE(loss_of(net, sequences, 0), other);
  std::vector<float> of_other(gradient.size());
  net.parameters() = before;
  net.add_gradient(sequences, 0, by_scores, of_other);
  size_t apart = 0;
  for (size_t k = 0; k < gradient.size(); ++k) apart += (gradient[k] != 0) != (of_other[k] != 0);
  EXPECT_GT(apart, 64U);
}

TEST(AttentionNet, ScoresEachSequenceAlone) {
  Random random(5);
  const AttentionNet net(1, 1);
  Sequences together;
  std::vector<float> alone;
  for (int k = 0; k < 9; ++k) {
    const std::vector<Token> tokens = random_tokens(random);
    together.add(tokens);
    Sequences one;
    one.add(tokens);
    alone.push_back(net.scores(one, 0).at(0));
  }
  const std::vector<float> scores = net.scores(together, 0);
  ASSERT_EQ(scores.size(), alone.size());
  for (size_t k = 0; k < scores.size(); ++k) EXPECT_NEAR(scores[k], alone[k], 1e-4F * (1 + std::fabs(alone[k])));
  EXPECT_EQ(AttentionNet(1, 1).scores(together, 0), scores) << "of a seed";
  EXPECT_NE(AttentionNet(1, 2).scores(together, 0), scores);
  EXPECT_TRUE(net.scores({}, 0).empty());
}

}  // namespace
}  // namespace isomer::tune::test
