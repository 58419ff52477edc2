// The model of traces: it learns an order that it is shown, the same from the same; a target of few trials learns from
// another one.
#include "tune/trace_model.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tune/examples.h"
#include "tune/tokens.h"

namespace isomer::tune::test {
namespace {

TEST(RankGradient, MovesTheBetterUpAndTheWorseDown) {
  const std::vector<float> gradient = rank_gradient(std::vector{0.5F, 0.0F, 1.0F}, std::vector{1.0F, 0.2F, 0.2F});
  EXPECT_LT(gradient[0], 0);
  EXPECT_GT(gradient[1], 0);
  EXPECT_GT(gradient[2], gradient[1]) << "it stands in front";
  EXPECT_NEAR(gradient[0] + gradient[1] + gradient[2], 0, 1e-6F);
  for (const float each : rank_gradient(std::vector{3.0F, 1.0F}, std::vector{0.4F, 0.4F})) EXPECT_EQ(each, 0);
  for (const float each : rank_gradient(std::vector{3.0F, 1.0F}, std::vector{0.0F, 0.0F})) EXPECT_EQ(each, 0);
}

/// Where no two change places the loss is a function of scores.
TEST(RankGradient, IsTheDerivativeOfWhatItSays) {
  const std::vector<float> speeds = {0.3F, 1.0F, 0.7F};
  const auto loss = [&](const std::vector<double>& scores) {
    // Scores are in the order 0, 2, 1.
    const double discounts[] = {1, 1 / std::log2(4.0), 1 / std::log2(3.0)};
    const auto gain = [&](size_t k) { return std::exp2(speeds[k]) - 1; };
    const double most = gain(1) + gain(2) / std::log2(3.0) + gain(0) / std::log2(4.0);
    double sum = 0;
    for (size_t a = 0; a < 3; ++a)
      for (size_t b = 0; b < 3; ++b)
        if (speeds[a] > speeds[b])
          sum += (gain(a) - gain(b)) * std::fabs(discounts[a] - discounts[b]) / most *
                 std::log1p(std::exp(scores[b] - scores[a]));
    return sum;
  };
  const std::vector<double> scores = {2, -1, 0.5};
  const std::vector<float> gradient = rank_gradient(std::vector{2.0F, -1.0F, 0.5F}, speeds);
  for (size_t k = 0; k < 3; ++k) {
    std::vector<double> more = scores, less = scores;
    more[k] += 1e-4;
    less[k] -= 1e-4;
    EXPECT_NEAR(gradient[k], (loss(more) - loss(less)) / 2e-4, 1e-4);
  }
}

struct Shown {
  Row row;
  double microseconds;
};

/// Candidates of a convolution, as fast as their rows of registers say; `turned`: as slow.
std::vector<Shown> candidates(const CostModel& model, uint64_t seed, bool turned, int count) {
  const Candidates of = candidates_of("padded_convolution");
  Random random(seed);
  std::vector<Shown> result;
  for (int k = 0; k < count; ++k) {
    const Candidate candidate = of.sampled(random, 0.6);
    double sum = 1;
    for (const auto& [name, value] : candidate.decisions())
      if (name.ends_with(".rows") || name.ends_with(".steps")) sum += static_cast<double>(value);
    result.push_back({model.look(candidate, machine()), turned ? sum : 100 / sum});
  }
  return result;
}

/// The share of pairs in their order.
double share_in_order(CostModel& model, const std::vector<Shown>& shown, size_t target) {
  std::vector<Row> rows;
  for (const Shown& each : shown) rows.push_back(each.row);
  const auto scores = model.score(rows, target);
  CHECK(scores.ok() && *scores);
  int pairs = 0, right = 0;
  for (size_t a = 0; a < shown.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      if (shown[a].microseconds == shown[b].microseconds) continue;
      ++pairs;
      right += ((**scores)[a] > (**scores)[b]) == (shown[a].microseconds < shown[b].microseconds);
    }
  return static_cast<double>(right) / std::max(pairs, 1);
}

TEST(TraceModel, LearnsAnOrderAndTheSameFromTheSame) {
  std::vector<std::vector<double>> scores;
  for (int round = 0; round < 2; ++round) {
    const auto model = trace_model(4);
    for (const Shown& each : candidates(*model, 1, false, 300)) model->add({0, 0}, each.row, each.microseconds);
    const std::vector<Shown> others = candidates(*model, 2, false, 60);
    EXPECT_GE(share_in_order(*model, others, 0), 0.85);
    scores.push_back(**model->score(std::vector<Row>{others[0].row, others[1].row}, 0));
  }
  EXPECT_EQ(scores[0], scores[1]);
}

TEST(TraceModel, TellsTargetsApart) {
  const auto model = trace_model(0);
  for (const size_t target : {0, 1})
    for (const Shown& each : candidates(*model, 1, target == 1, 200))
      model->add({target, target}, each.row, each.microseconds);
  EXPECT_GE(share_in_order(*model, candidates(*model, 2, false, 60), 0), 0.8);
  EXPECT_GE(share_in_order(*model, candidates(*model, 2, true, 60), 1), 0.8);
  EXPECT_FALSE(*model->score(std::vector<Row>{candidates(*model, 2, true, 1)[0].row}, 2))
      << "of which nothing is known";
}

/// A head that has seen nothing of its target, or one candidate a task, says less than chance.
TEST(TraceModel, SaysNothingOfATargetThatItsHeadHasNotLearned) {
  const auto model = trace_model(0);
  for (const Shown& each : candidates(*model, 1, false, 300)) model->add({1, 1}, each.row, each.microseconds);
  const std::vector<Shown> mine = candidates(*model, 2, false, 120);
  size_t task = 2;
  for (size_t k = 0; k < 60; ++k) model->add({task++, 0}, mine[k].row, mine[k].microseconds);
  EXPECT_FALSE(*model->score(std::vector<Row>{mine[0].row}, 0));
  EXPECT_TRUE(model->score(std::vector<Row>{mine[0].row}, 1)->has_value());
  for (size_t k = 60; k < 120; ++k) model->add({0, 0}, mine[k].row, mine[k].microseconds);
  EXPECT_GE(share_in_order(*model, candidates(*model, 3, false, 60), 0), 0.7) << "learned, though few are new of all";
}

TEST(TraceModel, LearnsOfATargetFromAnother) {
  const auto learned = [](bool from_other) {
    const auto model = trace_model(0);
    if (from_other)
      for (const Shown& each : candidates(*model, 1, false, 300)) model->add({1, 1}, each.row, each.microseconds);
    for (const Shown& each : candidates(*model, 3, false, 48)) model->add({0, 0}, each.row, each.microseconds);
    return share_in_order(*model, candidates(*model, 2, false, 80), 0);
  };
  EXPECT_GT(learned(true), learned(false));
}

}  // namespace
}  // namespace isomer::tune::test
