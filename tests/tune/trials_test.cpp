// What records have of a task gives its candidates back.
#include "tune/trials.h"

#include <gtest/gtest.h>

#include <mutex>

#include "tune/trial_examples.h"

namespace isomer::tune::test {
namespace {

TEST(Replay, GivesCandidatesBack) {
  const auto by_number = [](size_t k) { return std::optional(static_cast<double>(k)); };
  const kernel::test::Example& example = kernel::test::examples()[1];
  const kernel::Trials trials = trials_of(example, 20, 1, [&](const Candidate&, size_t k) { return by_number(k); });
  const Candidates candidates(kernel::Schedule(kernel_of(example)), kernel::default_space(), machine(), 0);
  std::mutex mutex;
  std::set<size_t> shown;
  const auto done =
      replay(trials, kernel::default_space(), [&](size_t k, const Candidate& candidate, const kernel::Machine& of) {
        const std::lock_guard lock(mutex);
        shown.insert(k);
        EXPECT_EQ(candidate.hash, candidates.with(trials.trials[k].decisions).hash);
        EXPECT_EQ(of.threads, machine().threads);
      });
  ASSERT_TRUE(done.ok()) << done.error().message();
  EXPECT_EQ(shown.size(), trials.trials.size());
}

TEST(Replay, LeavesOutWhatIsNoCandidateAnyMore) {
  kernel::Trials trials =
      trials_of(kernel::test::examples()[0], 5, 1, [](const Candidate&, size_t) { return std::optional(1.0); });
  trials.trials[2].decisions["s0.rows"] = 1 << 20;
  trials.trials[3].decisions["nobody.asks"] = 1;
  std::mutex mutex;
  std::set<size_t> shown;
  ASSERT_TRUE(replay(trials, kernel::default_space(), [&](size_t k, const auto&, const auto&) {
                const std::lock_guard lock(mutex);
                shown.insert(k);
              }).ok());
  EXPECT_EQ(shown, (std::set<size_t>{0, 1, 4}));
  trials.text.pop_back();
  EXPECT_FALSE(replay(trials, kernel::default_space(), [](size_t, const auto&, const auto&) { FAIL(); }).ok());
}

}  // namespace
}  // namespace isomer::tune::test
