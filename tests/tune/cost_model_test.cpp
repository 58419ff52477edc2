// Models that learn from times: XGBoost's trees, and what a tuner asks.
#include "tune/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "backends/find_library.h"
#include "kernel/tree.h"
#include "tune/draft.h"
#include "tune/examples.h"

namespace isomer::tune::test {
namespace {

class Models : public testing::Test {
 protected:
  void SetUp() override {
    if (backends::find(backends::xgboost_library()).empty()) GTEST_SKIP() << "XGBoost's library is not here";
  }
  static Trees trees() {
    auto opened = Trees::open(0);
    CHECK(opened.ok()) << opened.error().message();
    return *std::move(opened);
  }
};

/// What it gives is no sum of its columns.
Sample made_up(Random& random) {
  Sample sample;
  for (int k = 0; k < 20; ++k) sample.row.push_back(static_cast<float>(random.uniform(0, 4)));
  sample.target = sample.row[3] > 2 ? sample.row[7] : 1 + sample.row[11];
  return sample;
}

/// Of pairs that are clearly apart, those in the right order.
double share_in_order(const std::vector<double>& found, const std::vector<double>& expected) {
  int pairs = 0, right = 0;
  for (size_t a = 0; a < found.size(); ++a)
    for (size_t b = 0; b < a; ++b) {
      if (std::fabs(expected[a] - expected[b]) < 0.05 * std::max(expected[a], expected[b])) continue;
      ++pairs;
      right += (found[a] < found[b]) == (expected[a] < expected[b]);
    }
  return static_cast<double>(right) / std::max(pairs, 1);
}

TEST_F(Models, TreesLearnWhatColumnsSay) {
  Random random(1);
  std::vector<Sample> samples;
  for (int k = 0; k < 1500; ++k) samples.push_back(made_up(random));
  Trees model = trees();
  ASSERT_TRUE(model.train(samples).ok());
  std::vector<Row> rows;
  std::vector<double> expected;
  for (int k = 0; k < 200; ++k) {
    Sample sample = made_up(random);
    expected.push_back(sample.target);
    rows.push_back(std::move(sample.row));
  }
  const auto found = model.predict(rows);
  ASSERT_TRUE(found.ok()) << found.error().message();
  EXPECT_GE(share_in_order(*found, expected), 0.9);
  // The same again, trained on the same.
  Trees again = trees();
  ASSERT_TRUE(again.train(samples).ok());
  EXPECT_EQ(*again.predict(rows), *found);
}

/// What has no weight is not learned.
TEST_F(Models, TreesLearnByWeight) {
  Random random(5);
  std::vector<Sample> samples;
  for (int k = 0; k < 400; ++k) {
    Sample sample = made_up(random);
    sample.target = k % 4 == 0 ? 1 : 0;
    sample.weight = k % 4 == 0 ? 1 : 0.001F;
    samples.push_back(std::move(sample));
  }
  Trees model = trees();
  ASSERT_TRUE(model.train(samples).ok());
  const auto found = model.predict(std::vector<Row>{made_up(random).row});
  ASSERT_TRUE(found.ok());
  EXPECT_GT((*found)[0], 0.8);
}

/// As if what has many loops were fast, and what has few failed; of two targets what is fast on one fails on the other.
double speed_of(const Candidate& candidate) {
  size_t most = 0;
  kernel::for_each_block(candidate.made.kernel.body,
                         [&](const kernel::Block&, const auto& loops) { most = std::max(most, loops.size()); });
  return most < 5 ? 0 : static_cast<double>(most);
}

void expect_to_learn(CostModel& model) {
  const Candidates candidates = candidates_of("product");
  Random random(2);
  const auto draw = [&] { return candidates.sampled(random, 0.7); };
  EXPECT_FALSE(*model.score(std::vector<Row>{model.look(draw(), machine())}, 0));
  std::vector<Row> rows;
  std::vector<double> speeds;
  for (int k = 0; k < 200; ++k) {
    const Candidate candidate = draw();
    const double fast = speed_of(candidate);
    Row row = model.look(candidate, machine());
    if (k < 120) {
      model.add({0, 0}, std::move(row), fast > 0 ? 100 / fast : std::numeric_limits<double>::infinity());
    } else {
      rows.push_back(std::move(row));
      speeds.push_back(fast);
    }
  }
  const auto scores = model.score(rows, 0);
  ASSERT_TRUE(scores.ok() && *scores);
  EXPECT_GE(share_in_order(**scores, speeds), 0.8);
}

TEST_F(Models, KnowNothingAtFirstAndFailuresAreSlow) { expect_to_learn(*trees_model(trees(), FeatureKind::kNest)); }

TEST_F(Models, OfLoopsAreLearnedByTheOtherKindsThatSeeThem) {
  expect_to_learn(*trees_model(trees(), FeatureKind::kItervar));
}

TEST_F(Models, AreOpenedByWhatIsAskedFor) {
  for (const auto kind : {CostModelKind::kTrees, CostModelKind::kTraces}) {
    const auto model = open_model({.kind = kind});
    ASSERT_TRUE(model.ok()) << model.error().message();
    expect_to_learn(**model);
  }
}

TEST(DraftModel, SaysAtOnceWhatItSays) {
  const Candidates candidates = candidates_of("product");
  Random random(3);
  const auto model = open_model({.kind = CostModelKind::kDraft});
  ASSERT_TRUE(model.ok()) << model.error().message();
  std::vector<Row> rows;
  std::vector<double> cycles;
  for (int k = 0; k < 10; ++k) {
    const Candidate candidate = candidates.sampled(random, 0.5);
    rows.push_back((*model)->look(candidate, machine()));
    cycles.push_back(drafted_cycles(features_of(candidate.made.kernel, machine()), machine()));
  }
  const auto scores = (*model)->score(rows, 0);
  ASSERT_TRUE(scores.ok() && *scores);
  for (size_t k = 1; k < rows.size(); ++k)
    EXPECT_EQ((**scores)[k] > (**scores)[0], cycles[k] < cycles[0]) << cycles[k] << " and " << cycles[0];
}

}  // namespace
}  // namespace isomer::tune::test
