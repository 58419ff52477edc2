#include "util/subprocess.h"

#include <gtest/gtest.h>

#include <csignal>

#include "util/clock.h"

namespace isomer {
namespace {

TEST(Subprocess, GivesWhatAProgramSaysAndHowItEnds) {
  const auto said = run_program({"sh", "-c", "echo one; echo two >&2; exit 3"}, 60);
  ASSERT_TRUE(said.ok()) << said.error().message();
  EXPECT_EQ(said->output, "one\ntwo\n");
  EXPECT_EQ(said->exit_code, 3);
  const auto killed = run_program({"sh", "-c", "kill -9 $$"}, 60);
  ASSERT_TRUE(killed.ok());
  EXPECT_EQ(killed->exit_code, 128 + 9);
}

TEST(Subprocess, KillsWhatTakesTooLong) {
  EXPECT_FALSE(run_program({"sleep", "1000"}, 0.2).ok());
  // The streams are closed, the program goes on.
  EXPECT_FALSE(run_program({"sh", "-c", "exec >&- 2>&-; sleep 1000"}, 0.2).ok());
}

TEST(Subprocess, WaitsForNothingWhereNobodyTellsOfEnds) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const auto begin = Clock::now();
  const auto said = run_program({"true"}, 60);
  std::signal(SIGCHLD, before);
  EXPECT_LT(seconds_since(begin), 30);
  ASSERT_FALSE(said.ok());
  EXPECT_NE(said.error().message().find("true: a program whose end is told expected"), std::string::npos)
      << said.error().message();
}

TEST(Subprocess, NamesAProgramThatThereIsNot) {
  const auto none = run_program({"/nowhere/program"}, 60);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("/nowhere/program"), std::string::npos);
}

}  // namespace
}  // namespace isomer
