// Others that measure: with times that are recorded a run comes to the same decisions with them as without, whether
// they stay, end, say nonsense or know nothing of what they are asked; who can't measure beside the first one is told
// why.
#include "tune/crew.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <set>
#include <thread>

#include "kernel/fingerprint.h"
#include "tune/examples.h"

namespace isomer::tune::test {
namespace {

using testing::HasSubstr;

constexpr double kLong = 60;

/// Times by schedule, whoever asks: jobs carry its hash instead of code.
class RecordedTimes : public Measurer {
 public:
  explicit RecordedTimes(const MeasuringOptions& options) : Measurer(kernel::host_target(), options) {}

  std::vector<Result<ClockJob>> compile(std::span<const Candidate> candidates) const override {
    std::vector<Result<ClockJob>> jobs;
    for (const Candidate& each : candidates) {
      ClockJob job;
      job.code.resize(sizeof each.hash.low);
      std::memcpy(job.code.data(), &each.hash.low, sizeof each.hash.low);
      jobs.emplace_back(std::move(job));
    }
    return jobs;
  }
  Result<Measured> time(const Result<ClockJob>& job, double, double) override {
    uint64_t hash = 0;
    std::memcpy(&hash, job->code.data(), sizeof hash);
    if (hash % 11 == 0) return Measured{Fault::kCrash, "recorded", 0, 0};
    return Measured{Fault::kNone, {}, 10 + static_cast<double>(hash % 1000) / 10, 3};
  }
  Result<std::optional<Measured>> check(const Candidate&, const ClockJob&, const Candidate&) override {
    return std::optional(Measured{});
  }
};

std::vector<Problem> problems() {
  std::vector<Problem> result;
  for (const char* name : {"product", "rows"}) {
    const kernel::Kernel kernel = lowered(name);
    result.push_back({kernel::Schedule(kernel), kernel::structural_hash(kernel), 1000, 0, name, types_of(kernel),
                      Weights::kInCache});
  }
  return result;
}

TuneOptions recorded_options() {
  TuneOptions options;
  options.target = kernel::host_target();
  options.machine = machine();
  options.trials = 60;
  options.round = 8;
  options.learns = false;
  options.measurer = [](const MeasuringOptions& measuring) { return std::make_unique<RecordedTimes>(measuring); };
  return options;
}

/// What was decided, in order, and what came of it.
std::vector<std::string> run_with(Crew* crew, bool compiles_beside = false) {
  const std::vector<Problem> all = problems();
  TuneOptions options = recorded_options();
  options.crew = crew;
  options.compiles_beside = compiles_beside;
  kernel::Records records = kernel::Records::in_memory();
  const auto state = tune(all, {{{1, 1}, 0}}, records, options);
  EXPECT_TRUE(state.ok()) << state.error().message();
  std::vector<std::string> told;
  for (const Problem& problem : all) {
    const auto trials = records.trials({problem.hash, {}, {}, {}}, 1000);
    for (const kernel::Trials& of : *trials)
      for (const kernel::Trial& trial : of.trials) {
        std::string& text = told.emplace_back(fmt::format("{}", trial.microseconds.value_or(-1)));
        for (const auto& [name, value] : trial.decisions) text += fmt::format(" {}={}", name, value);
      }
  }
  std::set<std::string> found;  // of one time they come by the second in which they were found
  const auto list = records.list({});
  for (const kernel::Record& record : *list)
    found.insert(fmt::format("{} {} {}", record.trace, record.microseconds.value_or(-1), record.failure));
  told.insert(told.end(), found.begin(), found.end());
  return told;
}

/// Somebody on a machine that has cores enough.
Member member(std::string host = "here") {
  Member result = this_member("token", kernel::host_target(), 1);
  result.host = std::move(host);
  result.cores = 64;
  return result;
}

/// Members that do as they are told, each on a thread of its own.
class Others {
 public:
  using Work = std::function<void(Connection& connection)>;

  Crew& crew() { return crew_; }

  void add(Work work) {
    auto listener = Listener::open();
    ASSERT_TRUE(listener.ok());
    threads_.emplace_back([port = listener->port(), work = std::move(work)] {
      auto connection = Connection::open("127.0.0.1", port, kLong);
      ASSERT_TRUE(connection.ok());
      const auto stays = apply(*connection, member());
      ASSERT_TRUE(stays.ok()) << stays.error().message();
      work(*connection);
    });
    auto come = listener->accept(kLong);
    ASSERT_TRUE(come.ok() && *come);
    EXPECT_EQ(*crew_.add(**std::move(come)), std::nullopt);
  }

  /// When nobody asks them any more.
  ~Others() {
    crew_ = Crew(member());
    for (std::thread& each : threads_) each.join();
  }

 private:
  Crew crew_{member()};
  std::vector<std::thread> threads_;
};

void serve_all(Connection& connection) {
  const auto done = serve(connection, problems(), recorded_options());
  EXPECT_TRUE(done.ok()) << done.error().message();
}

/// Made once: the test of code that is made beside makes it anew.
const std::vector<std::string>& run_alone() {
  static const std::vector<std::string> decisions = run_with(nullptr);
  return decisions;
}

TEST(Crew, DecisionsAreThoseOfOneProcess) {
  const std::vector<std::string>& alone = run_alone();
  EXPECT_GE(alone.size(), 60U);
  for (const int others : {1, 2}) {
    Others all;
    for (int k = 0; k < others; ++k) all.add(serve_all);
    EXPECT_EQ(run_with(&all.crew()), alone) << others;
    EXPECT_EQ(all.crew().size(), static_cast<size_t>(others)) << "nobody was lost";
  }
}

/// Nor does it matter when code is made.
TEST(Crew, DecisionsAreTheSameWhereCodeIsMadeBeside) {
  const std::vector<std::string> alone = run_with(nullptr);
  EXPECT_EQ(run_with(nullptr, true), alone);
  Others all;
  all.add(serve_all);
  EXPECT_EQ(run_with(&all.crew(), true), alone);
}

TEST(Crew, WhoIsAskedMeasures) {
  std::atomic<int> asked = 0;
  Others all;
  all.add([&](Connection& connection) {
    TuneOptions options = recorded_options();
    options.measurer = [&](const MeasuringOptions& measuring) {
      ++asked;
      return std::make_unique<RecordedTimes>(measuring);
    };
    EXPECT_TRUE(serve(connection, problems(), options).ok());
  });
  run_with(&all.crew());
  EXPECT_GE(asked, 1);
}

/// As a process that is killed: in the middle of a round, or between two.
TEST(Crew, OneThatEndsIsOneLess) {
  const std::vector<std::string>& alone = run_alone();
  Others all;
  all.add([](Connection& connection) {
    EXPECT_TRUE(connection.receive(kLong)->has_value());
    connection.close();
  });
  all.add([](Connection& connection) { connection.close(); });
  all.add(serve_all);
  EXPECT_EQ(run_with(&all.crew()), alone);
  EXPECT_EQ(all.crew().size(), 1U);
}

TEST(Crew, OneThatSpeaksNonsenseIsOneLess) {
  const std::vector<std::string>& alone = run_alone();
  Others all;
  all.add([](Connection& connection) {
    EXPECT_TRUE(connection.receive(kLong)->has_value());
    EXPECT_TRUE(connection.send("as fast as light", kLong).ok());
    EXPECT_EQ(*connection.receive(kLong), std::nullopt);
  });
  EXPECT_EQ(run_with(&all.crew()), alone);
  EXPECT_EQ(all.crew().size(), 0U);
}

/// Of another model, or where decisions come to something else.
TEST(Crew, WhatOneDoesNotKnowIsMeasuredByTheFirst) {
  const std::vector<std::string>& alone = run_alone();
  Others all;
  all.add([](Connection& connection) { EXPECT_TRUE(serve(connection, {}, recorded_options()).ok()); });
  all.add([](Connection& connection) {
    TuneOptions options = recorded_options();
    options.space = {};
    EXPECT_TRUE(serve(connection, problems(), options).ok());
  });
  EXPECT_EQ(run_with(&all.crew()), alone);
  EXPECT_EQ(all.crew().size(), 2U);
}

TEST(Crew, WhoCanNotMeasureIsToldWhy) {
  const auto refused = [](const Member& other, const std::string& part) {
    SCOPED_TRACE(part);
    Crew crew(member());
    auto listener = Listener::open();
    ASSERT_TRUE(listener.ok());
    std::string told;
    std::thread thread([&] {
      auto connection = Connection::open("127.0.0.1", listener->port(), kLong);
      const auto stays = apply(*connection, other);
      if (!stays.ok()) told = stays.error().message();
    });
    auto come = listener->accept(kLong);
    const auto why = crew.add(**std::move(come));
    thread.join();
    ASSERT_TRUE(why.ok() && *why);
    EXPECT_THAT(**why, HasSubstr(part));
    EXPECT_EQ(crew.size(), 0U);
    EXPECT_NE(told, "");
  };
  Member other = member();
  other.token = "guess";
  refused(other, "it is not of this run");
  other = member();
  other.generator = "older";
  refused(other, "here: it makes code by 'older'");
  other = member("there");
  other.target = "another";
  refused(other, "there: its machine is 'another'");
  other = member();
  other.cores = 1;
  refused(other, "here: 1 cores of its machine expected that nobody else of the run has, 0 found");
}

}  // namespace
}  // namespace isomer::tune::test
