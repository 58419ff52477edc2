// Candidates: what is preferred is the default schedule, changes are small and keep the rest, and all keep the meaning.
#include "tune/candidates.h"

#include <gtest/gtest.h>

#include <atomic>

#include <set>

#include "kernel/default_schedule.h"
#include "tune/examples.h"

namespace isomer::tune::test {
namespace {

/// How many of the choices that both came to were decided otherwise.
int different(const Candidate& one, const Candidate& other) {
  int count = 0;
  const Decisions theirs = other.decisions();
  for (const auto& [name, value] : one.decisions())
    if (const auto found = theirs.find(name); found != theirs.end()) count += found->second != value;
  return count;
}

TEST(Candidates, PreferredAreTheDefaultSchedule) {
  for (const char* name : {"product", "few_filters", "rows"}) {
    const Candidate preferred = candidates_of(name).preferred();
    EXPECT_EQ(preferred.hash,
              kernel::hash(kernel::default_schedule(kernel::Schedule(lowered(name)), machine()).trace()));
    EXPECT_TRUE(preferred.unpreferred().empty());
  }
}

TEST(Candidates, KeepWhatIsFixed) {
  const int64_t rows = 3;
  const Candidates candidates = candidates_of("product", {{"s0.rows", rows}});
  Random random(5);
  EXPECT_NE(candidates.preferred().decisions().at("s0.rows"), rows);
  const Candidate parent = candidates.with({{"s0.rows", rows + 1}});
  EXPECT_EQ(parent.decisions().at("s0.rows"), rows);
  std::set<Hash128> different;
  for (int k = 0; k < 50; ++k)
    for (const Candidate& each :
         {candidates.sampled(random, 0.3), candidates.with(Candidates::mutated(parent, random))}) {
      EXPECT_EQ(each.decisions().at("s0.rows"), rows);
      different.insert(each.hash);
    }
  EXPECT_GT(different.size(), 25);
  for (const Decisions& each : Candidates::neighbours(parent))
    EXPECT_EQ(each.at("s0.rows"), rows) << "what is fixed is no choice";
}

TEST(Candidates, AreMadeAgainOfTheirDecisions) {
  const Candidates candidates = candidates_of("product");
  Random random(1);
  for (int k = 0; k < 50; ++k) {
    const Candidate one = candidates.sampled(random, random.uniform());
    EXPECT_EQ(candidates.with(one.decisions()).hash, one.hash);
  }
}

TEST(Candidates, AreTheSameOnAnyNumberOfThreads) {
  const Candidates candidates = candidates_of("product");
  Random random(4);
  const Candidate parent = candidates.sampled(random, 0.3);
  std::vector<Decisions> all;
  for (int k = 0; k < 200; ++k) all.push_back(Candidates::mutated(parent, random));
  const std::vector<Candidate> together = candidates.with_each(all);
  ASSERT_EQ(together.size(), all.size());
  for (size_t k = 0; k < all.size(); ++k) EXPECT_EQ(together[k].hash, candidates.with(all[k]).hash);
}

TEST(Candidates, AreNoMoreOnceItIsOver) {
  const Candidates candidates = candidates_of("product");
  const std::vector<Decisions> all(50);
  EXPECT_TRUE(candidates.with_each(all, [] { return true; }).empty());
  std::atomic<int> asked = 0;
  EXPECT_EQ(candidates.with_each(all, [&] { return ++asked > 8; }).size(), 8U);
}

TEST(Candidates, ChangedKeepMostOfTheirParent) {
  const Candidates candidates = candidates_of("product");
  Random random(2);
  const Candidate parent = candidates.sampled(random, 0.3);
  int changed = 0;
  for (int k = 0; k < 50; ++k) {
    const Candidate child = candidates.with(Candidates::mutated(parent, random));
    changed += child.hash != parent.hash;
    EXPECT_LE(different(child, parent), 6);
  }
  EXPECT_GE(changed, 25);
}

TEST(Candidates, NeighboursDifferInOneDecisionThatIsGiven) {
  const Candidates candidates = candidates_of("product");
  const Candidate parent = candidates.preferred();
  const std::vector<Decisions> neighbours = Candidates::neighbours(parent);
  EXPECT_GE(neighbours.size(), 10U);
  for (const Decisions& decisions : neighbours) {
    ASSERT_EQ(decisions.size(), 1U);
    const auto& [name, value] = *decisions.begin();
    EXPECT_NE(parent.decisions().at(name), value);
  }
}

TEST(Candidates, KeepTheMeaning) {
  for (const kernel::test::Example& example : kernel::test::examples()) {
    const kernel::Kernel kernel = kernel_of(example);
    const Candidates candidates(kernel::Schedule(kernel), kernel::default_space(), machine(), 0);
    Random random(3);
    const Candidate one = candidates.sampled(random, 0.5), other = candidates.with(Candidates::mutated(one, random));
    for (const Candidate& each : {one, other, candidates.with(Candidates::crossed(one, other, random))})
      kernel::test::expect_same_meaning(example, each.schedule, kernel);
    if (testing::Test::HasFailure()) FAIL() << example.name;
  }
}

}  // namespace
}  // namespace isomer::tune::test
