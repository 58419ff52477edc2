// Questions and answers between processes, and every way in which an answer may fail to come.
#include "util/worker_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

#include "util/check.h"
#include "util/clock.h"
#include "util/process_limits.h"
#include "util/sanitized.h"
#include "util/stop.h"

namespace isomer {
namespace {

/// A shell whose standard input is the socket: `echo` answers with what it is asked.
WorkerProcess shell(const std::string& command) {
  auto started = WorkerProcess::start({"/bin/sh", "-c", command});
  CHECK(started.ok()) << started.error().message();
  return std::move(*started);
}

WorkerProcess::Reply reply_of(WorkerProcess& worker, std::string_view question, double seconds = 60) {
  const auto reply = worker.ask(question, seconds);
  EXPECT_TRUE(reply.ok()) << reply.error().message();
  return reply.ok() ? *reply : WorkerProcess::Reply();
}

TEST(WorkerProcess, AnswersAsOftenAsItIsAsked) {
  WorkerProcess worker = shell("cat >&0");
  const std::string large(5'000'000, 'x');
  for (const std::string& question : {std::string("one"), std::string(), large, std::string("\0\n", 2)})
    EXPECT_EQ(reply_of(worker, question).answer, question);
}

TEST(WorkerProcess, ThatEndsGivesNoAnswer) {
  for (const auto& [command, signal] :
       std::vector<std::pair<std::string, int>>{{"exit 3", 0},
                                                {"kill -SEGV $$", SIGSEGV},
                                                {"kill -KILL $$", SIGKILL},
                                                {"head -c 1 > /dev/null; kill -ILL $$", SIGILL}}) {
    WorkerProcess worker = shell(command);
    const std::string large(5'000'000, 'x');
    const auto reply = reply_of(worker, large);
    EXPECT_FALSE(reply.answer) << command;
    EXPECT_EQ(reply.signal, signal) << command;
    EXPECT_FALSE(reply.is_late) << command;
    EXPECT_FALSE(reply_of(worker, "again").answer) << command;
  }
}

TEST(WorkerProcess, IsKilledWhenItIsLate) {
  WorkerProcess worker = shell("sleep 1000");
  const auto begin = Clock::now();
  EXPECT_TRUE(reply_of(worker, "when?", 0.2).is_late);
  EXPECT_LT(seconds_since(begin), 60);
}

TEST(WorkerProcess, MayAnswerNonsense) {
  // More bytes than there are in the world.
  WorkerProcess worker = shell("printf '\\377\\377\\377\\377\\377\\377\\377\\177more' >&0; sleep 1000");
  const auto begin = Clock::now();
  EXPECT_FALSE(reply_of(worker, "how many?").answer);
  EXPECT_LT(seconds_since(begin), 30);
}

TEST(WorkerProcess, MayAnswerMoreThanItSays) {
  WorkerProcess worker = shell("printf '\\1\\0\\0\\0\\0\\0\\0\\0more' >&0; sleep 1000");
  const auto begin = Clock::now();
  const auto reply = reply_of(worker, "how many?");
  EXPECT_FALSE(reply.answer);
  EXPECT_FALSE(reply.is_late);
  EXPECT_LT(seconds_since(begin), 30);
}

TEST(WorkerProcess, MayBeACopyOfThisOne) {
  int known = 1;
  auto copy = WorkerProcess::fork([&] {
    while (const auto question = next_question()) {
      if (*question == "end") _exit(7);
      ++known;
      answer(*question + std::to_string(known));
    }
  });
  ASSERT_TRUE(copy.ok()) << copy.error().message();
  EXPECT_EQ(reply_of(*copy, "a").answer, "a2");
  EXPECT_EQ(reply_of(*copy, "b").answer, "b3");
  EXPECT_EQ(known, 1);
  EXPECT_EQ(reply_of(*copy, "end").exits, 7);
}

TEST(WorkerProcess, MayHaveLimits) {
  const auto copy_that = [](const std::function<void()>& work) {
    auto copy = WorkerProcess::fork([&] {
      while (next_question()) {
        limit_growth(int64_t{64} << 20);
        limit_cpu(0.5);
        work();
        answer("done");
      }
    });
    CHECK(copy.ok());
    return std::move(*copy);
  };
  WorkerProcess endless = copy_that([] {
    for (;;) asm volatile("");
  });
  EXPECT_EQ(reply_of(endless, "go").signal, SIGXCPU);
  WorkerProcess modest = copy_that([] { std::vector<char>(1 << 20, '\1'); });
  EXPECT_EQ(reply_of(modest, "go").answer, "done");
  if (kSanitized) GTEST_SKIP() << "nothing limits what sanitizers map";
  WorkerProcess greedy = copy_that([] { std::vector<char>(1 << 30, '\1'); });
  EXPECT_EQ(reply_of(greedy, "go").signal, SIGABRT);
}

TEST(WorkerProcess, StopsWhereItIsAskedTo) {
  const StopsInOrder here;
  WorkerProcess worker = shell("sleep 1000");
  EXPECT_TRUE(request_stop());
  const auto reply = worker.ask("still there?", 60);
  forget_stop();
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().kind, ErrorKind::kStopped);
}

TEST(WorkerProcess, ThatCannotStartIsNamed) {
  const auto none = WorkerProcess::start({"/nowhere/program"});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("/nowhere/program"), std::string::npos);
}

}  // namespace
}  // namespace isomer
