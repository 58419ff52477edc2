// The checked-in list of cases that don't pass: a line each, "node/test_adam unsupported: why". It may only shrink.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "suite/case.h"

namespace isomer::suite {

struct Expectation {
  Verdict verdict;
  std::string reason;
};
using Expectations = std::map<std::string, Expectation>;

/// Lines that start with '#' are comments. Throws std::runtime_error for a line that says something else.
Expectations read_expectations(const std::filesystem::path& file);
void write_expectations(const std::filesystem::path& file, const std::vector<Case>& cases,
                        const std::vector<Outcome>& outcomes);

/// A sentence for each case that does not end as the list says: "node/test_abs: pass expected, wrong found (…)".
std::vector<std::string> surprises(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes,
                                   const Expectations& expectations);

}  // namespace isomer::suite
