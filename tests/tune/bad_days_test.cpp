// Tuners that are killed, that share a file, that find no room on the disk: what they said is in the records stays
// there, and the next one goes on.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>

#include "kernel/fingerprint.h"
#include "support/long_run.h"
#include "tune/planted.h"
#include "util/child_process.h"
#include "util/clock.h"
#include "util/temporary_folder.h"

namespace isomer::tune::test {
namespace {

using isomer::test::Plant;

/// A pipe's two ends.
struct Pipe {
  Pipe() {
    int ends[2];
    CHECK(pipe2(ends, O_CLOEXEC) == 0);
    reading = FileDescriptor(ends[0]);
    writing = FileDescriptor(ends[1]);
  }
  FileDescriptor reading, writing;
};

/// The next number that is written there in so many milliseconds.
std::optional<int64_t> next_told(const Pipe& pipe, int milliseconds) {
  int64_t told = 0;
  pollfd ready{pipe.reading.get(), POLLIN, 0};
  if (poll(&ready, 1, milliseconds) <= 0 || read(pipe.reading.get(), &told, sizeof told) != sizeof told)
    return std::nullopt;
  return told;
}
/// The last one that was written there until now.
int64_t last_told(const Pipe& pipe) {
  int64_t last = 0;
  while (const auto told = next_told(pipe, 0)) last = *told;
  return last;
}

/// How a process ended, as waitpid gives it.
int end_of(ChildProcess& process) {
  for (;;) {
    if (const auto status = process.status()) return *status;
    poll(nullptr, 0, 1);
  }
}

constexpr int64_t kSchedules = 10'000;

class BadDays : public testing::Test {
 protected:
  /// Of schedules that are all right; the number of trials is told when they are in the records.
  Result<TuneState> tuned(int64_t trials, uint64_t seed, const Pipe& pipe) const {
    TRY(kernel::Records records, kernel::Records::open(file_));
    TuneOptions options = planted_options(trials);
    options.space = numbered_space(kSchedules);
    options.strategy = "random";
    options.learns = false;
    options.continues = true;
    options.seed = seed;
    options.compiler.make = [](const kernel::Kernel& kernel, const kernel::CpuTarget&) {
      static const Plant right = {"right", Fault::kNone, {}};
      return copy_with(kernel, number_of(kernel) == 0 ? nullptr : &right);
    };
    options.tell = [&](const TuneState& state) {
      CHECK(write(pipe.writing.get(), &state.trials, sizeof state.trials) == sizeof state.trials);
    };
    return tune({copy_problem()}, {{{1}, 0}}, records, options);
  }

  /// Of all runs, in a file that opens.
  int64_t recorded() const {
    const auto records = kernel::Records::open(file_);
    CHECK(records.ok()) << records.error().message();
    CHECK(records->list({}).ok());
    const auto all = records->trials({}, std::numeric_limits<int64_t>::max());
    CHECK(all.ok()) << all.error().message();
    int64_t count = 0;
    for (const kernel::Trials& of : *all) count += std::ssize(of.trials);
    return count;
  }

  const TemporaryFolder folder_ = *TemporaryFolder::in_system_folder();
  const std::filesystem::path file_ = folder_.path() / "records";
};

TEST_F(BadDays, KilledATunerHasKeptWhatItTold) {
  const int times = isomer::test::is_long_run() ? 200 : 4;
  Random random(1);
  int64_t before = 0, all_acknowledged = 0;
  for (int k = 0; k < times; ++k) {
    const Pipe pipe;
    auto process = ChildProcess::fork([&] { static_cast<void>(tuned(1'000'000, static_cast<uint64_t>(k), pipe)); });
    ASSERT_TRUE(process.ok());
    constexpr int kPatience = 60'000;
    int64_t acknowledged = 0;
    for (int64_t rounds = random.between(0, 4); rounds > 0; --rounds) {
      const auto told = next_told(pipe, kPatience);
      ASSERT_TRUE(told) << "the tuner has ended, or says nothing";
      acknowledged = *told;
    }
    poll(nullptr, 0, static_cast<int>(random.between(0, 100)));
    process->end();
    acknowledged = std::max(acknowledged, last_told(pipe));
    const int64_t now = std::filesystem::exists(file_) ? recorded() : 0;
    EXPECT_GE(now, before + acknowledged) << "killed " << k + 1 << " times";
    before = now;
    all_acknowledged += acknowledged;
  }
  EXPECT_GT(all_acknowledged, 0);
  const Pipe pipe;
  const auto last = tuned(6, 0, pipe);
  ASSERT_TRUE(last.ok()) << last.error().message();
  EXPECT_TRUE(last->tasks[0].is_found);
  EXPECT_GT(recorded(), before);
}

TEST_F(BadDays, TwoTunersShareAFile) {
  constexpr int64_t kTrials = 30;
  const Pipe pipe;
  std::vector<ChildProcess> both;
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    auto process = ChildProcess::fork([&] {
      if (const auto state = tuned(kTrials, seed, pipe); !state.ok() || state->trials != kTrials) _exit(1);
    });
    ASSERT_TRUE(process.ok());
    both.push_back(*std::move(process));
  }
  for (ChildProcess& each : both) EXPECT_EQ(end_of(each), 0);
  EXPECT_EQ(recorded(), 2 * (kTrials + 1));  // and the default schedule, of each
  const auto records = kernel::Records::open(file_);
  ASSERT_TRUE(records.ok());
  const Problem problem = copy_problem();
  const TunedSchedules tuned(*records, kernel::fingerprint(kernel::host_target(), 1), problem.weights);
  EXPECT_TRUE(*tuned.find(problem.hash, problem.start, numbered_space(kSchedules), machine()));
}

/// No file grows beyond a size in this process: as on a disk that is full.
TEST_F(BadDays, AFullDiskIsToldInASentence) {
  const Pipe pipe, sentence;
  auto process = ChildProcess::fork([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit most{100'000, 100'000};
    setrlimit(RLIMIT_FSIZE, &most);
    const auto state = tuned(1'000'000, 0, pipe);
    const std::string text = state.ok() ? "" : state.error().message();
    CHECK(write(sentence.writing.get(), text.data(), text.size()) == std::ssize(text));
  });
  ASSERT_TRUE(process.ok());
  EXPECT_EQ(end_of(*process), 0);
  char text[1000] = {};
  pollfd ready{sentence.reading.get(), POLLIN, 0};
  ASSERT_EQ(poll(&ready, 1, 0), 1);
  ASSERT_GT(read(sentence.reading.get(), text, sizeof text - 1), 0);
  EXPECT_THAT(std::string(text), testing::Not(testing::HasSubstr("\n")));
  const int64_t acknowledged = last_told(pipe);
  EXPECT_GT(acknowledged, 0) << text;
  EXPECT_GE(recorded(), acknowledged);
  const Pipe again;
  const auto state = tuned(3, 1, again);
  EXPECT_TRUE(state.ok()) << state.error().message();
}

/// The process that measures one of the questions, by number, is ended from outside, and again.
class EndedOnce : public PlantedClock {
 public:
  EndedOnce(const MeasuringOptions& options, int64_t& left)
      : PlantedClock(options, [](int64_t number) { return 1000 / static_cast<double>(1 + number); }), left_(left) {}

  Result<Measured> time(const Result<ClockJob>& job, double hopeless_us, double possible_us) override {
    if (left_-- == 0) return ended();
    return PlantedClock::time(job, hopeless_us, possible_us);
  }
  Result<std::optional<Measured>> check(const Candidate& candidate, const ClockJob& job,
                                        const Candidate& reference) override {
    if (left_-- == 0) return ended();
    return PlantedClock::check(candidate, job, reference);
  }

 private:
  static Error ended() { return unsupported("", "a process that measures expected, it was ended from outside"); }
  int64_t& left_;
};

TEST_F(BadDays, AMeasuringProcessThatIsEndedCostsNoTrials) {
  constexpr int64_t kTrials = 6;
  for (int64_t question = 1;; ++question) {
    SCOPED_TRACE(question);
    kernel::Records records = kernel::Records::in_memory();
    TuneOptions options = planted_options(kTrials);
    int64_t left = question;
    options.measurer = [&](const MeasuringOptions& measuring) { return std::make_unique<EndedOnce>(measuring, left); };
    const auto state = tune({copy_problem()}, {{{1}, 0}}, records, options);
    ASSERT_TRUE(state.ok()) << state.error().message();
    int64_t kept = 0;
    for (const kernel::Trials& of : *records.trials({}, 1000)) kept += std::ssize(of.trials);
    // The default schedule's too; where nobody knows of a trial it is not kept.
    EXPECT_GE(kept, state->trials);
    if (left >= 0) {
      EXPECT_EQ(state->trials, kTrials);
      EXPECT_TRUE(state->tasks[0].is_found);
      EXPECT_GT(question, 2 * kTrials) << "contests and checks too";
      break;
    }
    EXPECT_TRUE(state->trials == kTrials || !state->tasks[0].why_not.empty());
  }
}

/// What ends a run that nothing can help: what was measured until then is kept.
TEST_F(BadDays, ARunThatEndsInAnErrorKeepsItsTrials) {
  kernel::Records records = kernel::Records::in_memory();
  TuneOptions options = planted_options(6);
  int64_t left = 0;
  class Broken : public EndedOnce {
   public:
    using EndedOnce::EndedOnce;
    Result<std::optional<Measured>> check(const Candidate&, const ClockJob&, const Candidate&) override {
      return invalid("", "broken");
    }
  };
  options.measurer = [&](const MeasuringOptions& measuring) { return std::make_unique<Broken>(measuring, left = -1); };
  EXPECT_FALSE(tune({copy_problem()}, {{{1}, 0}}, records, options).ok());
  int64_t kept = 0;
  for (const kernel::Trials& of : *records.trials({}, 1000)) kept += std::ssize(of.trials);
  EXPECT_EQ(kept, 1 + options.round);
}

}  // namespace
}  // namespace isomer::tune::test
