// Another program run to its end, with a limit of time. Tests: tests/util/subprocess_test.cpp
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "util/result.h"

namespace isomer {

struct Finished {
  int exit_code = 0;   ///< 128 + the signal's number where one ended it
  std::string output;  ///< of both its streams, at most the first MB
};

/// `arguments[0]` is looked for on $PATH; standard input is empty. Errors (kUnsupported): it can't be started, or ran
/// longer than `seconds` and was killed; kStopped: stop.h.
Result<Finished> run_program(const std::vector<std::string>& arguments, double seconds);

/// A program of Isomer's own: in the folder of the running program, in the one above that, or beside
/// the shared library that asks; empty: in none.
std::filesystem::path own_program(const std::string& name);

/// This user's folder for what can be made again ($XDG_CACHE_HOME/isomer, ~/.cache/isomer); empty: there is no place.
std::filesystem::path cache_folder();

}  // namespace isomer
