// Running a program from a test and keeping what it said.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace isomer::test {

struct Outcome {
  int exit_code = 0;       ///< 128 + the signal's number when a signal ended it
  bool timed_out = false;  ///< RunOptions::seconds were over
  std::string out;         ///< standard output
  std::string err;         ///< standard error
  double seconds = 0;
  double cpu_seconds = 0;  ///< its own, whatever else the machine does
  long peak_kb = 0;        ///< largest resident set
};

struct RunOptions {
  std::filesystem::path working_folder;  ///< empty: the caller's
  std::string input;                     ///< standard input
  double seconds = 600;                  ///< then it gets SIGKILL
};

/// Runs argv[0] (looked up in PATH) to its end; exit code 127 where there is no such program.
Outcome run_program(const std::vector<std::string>& argv, const RunOptions& options = {});

}  // namespace isomer::test
