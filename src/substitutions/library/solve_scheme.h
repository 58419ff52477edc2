// The numbers of a scheme as arithmetic over those that a match binds: those of the left side, and dims.
#pragma once

#include <map>
#include <set>

#include "substitutions/library/size_reader.h"

namespace isomer::substitutions {

struct Solution {
  std::map<int, Dim> expressions;  ///< of numbers that are not bound, by leader; over dims and symbols of numbers
  std::set<int> from_back;         ///< axes among them that are counted from the back
};

enum class Reading {
  kSizesTell,  ///< what no law computes is what the types of the proof's terms need
  kLawsTell    ///< it stays what it is
};

/// Pins what must stay what it is.
Solution solve(ParameterScheme& scheme, RankReader& ranks, SizeReader& sizes, Reading reading);

}  // namespace isomer::substitutions
