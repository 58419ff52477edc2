// Tests that call the command line as a user does.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "graph/onnx/export.h"
#include "graph/text.h"
#include "support/files.h"
#include "support/model_file.h"
#include "support/process.h"

namespace isomer::test {

class CommandLine : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  std::string model(std::string_view text, const std::string& name) const { return write_model(text, path(name)); }

  static Outcome isomer(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), tool_path("isomer").string());
    return run_program(arguments);
  }

  /// Gives a command that stops after some time ("2s") more of it until it has come far enough: machines are busy.
  static Outcome with_time_enough(const std::function<Outcome(const std::string& time)>& run,
                                  const std::function<bool(const Outcome&)>& is_enough) {
    Outcome outcome;
    for (const char* time : {"2s", "8s", "32s", "2min", "8min"}) {
      outcome = run(time);
      if (outcome.exit_code != 0 || is_enough(outcome)) break;
    }
    return outcome;
  }

  /// One line on standard error that begins as all errors do.
  static void expect_error(const Outcome& outcome, int exit_code, const std::string& part) {
    EXPECT_EQ(outcome.exit_code, exit_code) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_THAT(outcome.err, testing::StartsWith("isomer: "));
    EXPECT_THAT(outcome.err, testing::HasSubstr(part));
    EXPECT_EQ(outcome.out, "");
  }

  ScratchFolder folder_;
};

}  // namespace isomer::test
