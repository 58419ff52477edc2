// Artifacts side by side.
#pragma once

#include <string>

struct Comparison {
  double first = 0, second = 0;  ///< microseconds of a run, the least of many in turns
  bool are_equal = false;        ///< up to rounding, on the same inputs
};
/// Both run the same model, with one float32 input, on one thread.
Comparison compare(const std::string& first, const std::string& second);
