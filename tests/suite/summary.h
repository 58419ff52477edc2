// Counts of verdicts, by operator and in all.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "suite/case.h"

namespace isomer::suite {

struct Counts {
  std::array<int, 4> by_verdict = {};
  int& operator[](Verdict verdict) { return by_verdict[static_cast<size_t>(verdict)]; }
  int operator[](Verdict verdict) const { return by_verdict[static_cast<size_t>(verdict)]; }
  int total() const;
};

struct Summary {
  std::map<std::string, Counts> by_operator;
  Counts all;
};

Summary summarize(const std::vector<Outcome>& outcomes);
/// A table: one line an operator, the totals last.
std::string table(const Summary& summary);

}  // namespace isomer::suite
