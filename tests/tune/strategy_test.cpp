// Ways to search, on times that are made up: nothing twice, the same again with the same seed, and the better ways find
// more.
#include "tune/strategy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tune/examples.h"

namespace isomer::tune::test {
namespace {

/// As if each decision cost something of its own, more the further it is from a place that nobody knows.
double made_up_time(const Candidate& candidate) {
  double time = 100;
  for (const kernel::Builder::Made& made : candidate.made.choices) {
    std::vector<int64_t> values = made.choice.candidates;
    std::sort(values.begin(), values.end());
    const auto at = std::find(values.begin(), values.end(), made.value) - values.begin();
    const auto best = static_cast<int64_t>(std::hash<std::string>()(made.choice.name) % values.size());
    time += 10 * std::fabs(static_cast<double>(at - best)) / static_cast<double>(values.size());
  }
  return time;
}

/// The shortest time after so many trials.
double best_of(Strategy& strategy, int trials) {
  double best = std::numeric_limits<double>::infinity();
  for (int done = 0; done < trials;) {
    const std::vector<Candidate> some = strategy.next(std::min(16, trials - done));
    if (some.empty()) break;
    for (const Candidate& each : some) {
      const double time = made_up_time(each);
      best = std::min(best, time);
      strategy.tell(each, time);
    }
    done += static_cast<int>(some.size());
  }
  return best;
}

TEST(Strategies, GiveNothingTwiceAndTheSameWithTheSameSeed) {
  const Candidates candidates = candidates_of("product");
  for (const char* name : {"evolution", "random", "annealing", "exhaustive"}) {
    std::vector<Hash128> runs[2];
    for (std::vector<Hash128>& given : runs) {
      const auto strategy = strategy_of(name, candidates, 7);
      for (int round = 0; round < 5; ++round)
        for (const Candidate& each : strategy->next(16)) {
          given.push_back(each.hash);
          strategy->tell(each, made_up_time(each));
        }
    }
    EXPECT_EQ(runs[0], runs[1]) << name;
    EXPECT_EQ(std::set<Hash128>(runs[0].begin(), runs[0].end()).size(), runs[0].size()) << name;
    EXPECT_EQ(runs[0].size(), 80U) << name;
  }
  EXPECT_EQ(strategy_of("luck", candidates, 7), nullptr);
}

TEST(Strategies, WhatFailedOrWasToldIsNotGivenAgain) {
  const Candidates candidates = candidates_of("product");
  for (const char* name : {"evolution", "random", "annealing", "exhaustive"}) {
    const auto strategy = strategy_of(name, candidates, 1);
    const Candidate known = candidates.preferred();
    strategy->tell(known, std::numeric_limits<double>::infinity());
    for (int round = 0; round < 4; ++round)
      for (const Candidate& each : strategy->next(16)) {
        EXPECT_NE(each.hash, known.hash) << name;
        strategy->tell(each, std::numeric_limits<double>::infinity());
      }
  }
}

TEST(Strategies, WhatIsLeftOutIsNotGiven) {
  const Candidates candidates = candidates_of("product");
  for (const char* name : {"evolution", "random", "annealing", "exhaustive"}) {
    std::set<Decisions> decisions;
    std::set<Hash128> hashes;
    for (const Candidate& each : strategy_of(name, candidates, 1)->next(24)) {
      decisions.insert(each.unpreferred());
      hashes.insert(each.hash);
    }
    const auto strategy = strategy_of(name, candidates, 1);
    strategy->leave_out(decisions);
    const std::vector<Candidate> others = strategy->next(24);
    EXPECT_EQ(others.size(), 24U) << name;
    for (const Candidate& each : others) {
      EXPECT_FALSE(decisions.contains(each.unpreferred())) << name;
      // Others may come to what was left out before it is met again, but in the same order.
      EXPECT_TRUE(name != std::string("exhaustive") || !hashes.contains(each.hash));
    }
  }
}

TEST(Strategies, EndBetweenTwoCandidates) {
  const Candidates candidates = candidates_of("product");
  for (const char* name : {"evolution", "random", "annealing", "exhaustive"}) {
    const auto strategy = strategy_of(name, candidates, 1, [](const auto&) { return std::nullopt; });
    int asked = 0;
    strategy->end_where([&] { return ++asked > 3; });
    EXPECT_LE(strategy->next(16).size(), 3U) << name;
    EXPECT_LE(asked, 40) << name;
    strategy->end_where({});
    EXPECT_EQ(strategy->next(16).size(), 16U) << name;
  }
}

TEST(Strategies, DrawFewCandidatesForFewTrials) {
  const Candidates candidates = candidates_of("product");
  size_t drawn = 0;
  const auto strategy = evolution(candidates, 1, [&](const std::vector<Candidate>& some) {
    drawn += some.size();
    return std::optional<std::vector<double>>();
  });
  strategy->next(2);
  EXPECT_LE(drawn, 32U);
}

/// A kernel that was fast, and wrong as it turned out.
TEST(Strategies, WhatFailedAfterAllIsNothingToGoOnFrom) {
  const Candidates candidates = candidates_of("product");
  const Candidate first = candidates.preferred();
  Random random(9);
  Candidate wrong = candidates.sampled(random, 1);
  while (wrong.hash == first.hash) wrong = candidates.sampled(random, 1);
  for (const char* name : {"evolution", "annealing"}) {
    const auto misled = strategy_of(name, candidates, 3), plain = strategy_of(name, candidates, 3);
    for (const auto& strategy : {misled.get(), plain.get()}) strategy->tell(first, 100);
    misled->tell(wrong, 1);
    misled->tell(wrong, std::numeric_limits<double>::infinity());
    plain->tell(wrong, std::numeric_limits<double>::infinity());
    std::vector<Hash128> of_misled, of_plain;
    for (const Candidate& each : misled->next(16)) of_misled.push_back(each.hash);
    for (const Candidate& each : plain->next(16)) of_plain.push_back(each.hash);
    EXPECT_EQ(of_misled, of_plain) << name;
    EXPECT_EQ(of_misled.size(), 16U) << name;
  }
}

TEST(Strategies, ThatLearnFindMoreThanChance) {
  const Candidates candidates = candidates_of("product");
  int evolved = 0, annealed = 0;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const double by_chance = best_of(*random_search(candidates, seed), 96);
    evolved += best_of(*evolution(candidates, seed), 96) <= by_chance;
    annealed += best_of(*annealing(candidates, seed), 96) <= by_chance;
  }
  EXPECT_EQ(evolved, 4);
  EXPECT_GE(annealed, 3);
}

TEST(Strategies, ThatAreToldWhatIsGoodNeedFewerTrials) {
  const Candidates candidates = candidates_of("product");
  const Score knows = [](const std::vector<Candidate>& all) {
    std::vector<double> scores;
    for (const Candidate& each : all) scores.push_back(-made_up_time(each));
    return std::optional(scores);
  };
  for (uint64_t seed = 0; seed < 2; ++seed)
    EXPECT_LE(best_of(*evolution(candidates, seed, knows), 32), best_of(*evolution(candidates, seed), 32));
}

/// Not only beside what is there already: children of the default schedule differ from it in a few decisions.
TEST(Strategies, BeginWithTheBestOfManyDraws) {
  const Candidates candidates = candidates_of("product");
  const Score far_is_good = [](const std::vector<Candidate>& all) {
    std::vector<double> scores;
    for (const Candidate& each : all) scores.push_back(static_cast<double>(each.unpreferred().size()));
    return std::optional(scores);
  };
  const auto strategy = evolution(candidates, 5, far_is_good);
  strategy->tell(candidates.preferred(), 100);
  size_t farthest = 0;
  for (const Candidate& each : strategy->next(16)) farthest = std::max(farthest, each.unpreferred().size());
  EXPECT_GE(farthest, 8U);
}

TEST(Strategies, ExhaustiveEndsWithTheSpace) {
  kernel::Module module;
  module.name = "tiles";
  module.applies = [](const kernel::View&, const std::string&) { return true; };
  module.apply = [](kernel::Builder& builder, const std::string& block) {
    const int64_t inner = builder.decide(block, "inner", {1, 2, 4, 8}, 1);
    const int64_t outer = builder.decide(block, "outer", {1, 3, 5}, 3);
    const kernel::LoopIds loops = *builder.schedule.loops(block);
    EXPECT_TRUE(builder.schedule.split(loops[1], {-1, inner}).ok());
    EXPECT_TRUE(builder.schedule.split(loops[0], {-1, outer}).ok());
  };
  const kernel::Space space = {{false, {module}}};
  const kernel::test::Example example = {
      "elements", "s0 = map [16, 40] { in0[i0, i1]:float32 }\noutput s0\n", {{16, 40}}};
  const Candidates candidates(kernel::Schedule(kernel_of(example)), space, machine(), 0);
  const auto strategy = exhaustive(candidates);
  EXPECT_EQ(strategy->next(100).size(), 12U);
  EXPECT_TRUE(strategy->next(100).empty());
}

}  // namespace
}  // namespace isomer::tune::test
