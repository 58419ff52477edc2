// A candidate as a sequence of tokens: its blocks, what was decided, the primitives that followed (TLP: Zhai et al.
// 2023, section 4.1). No loop nest is looked at but for how many points its blocks have.
// Test: tests/tune/tokens_test.cpp
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tune/candidates.h"

namespace isomer::tune {

inline constexpr size_t kWords = 128, kNumbers = 12, kMostTokens = 64;

struct Token {
  /// Which primitive, what was decided: a digest of its name below kWords.
  uint32_t word = 0;
  /// Integers as logarithms; loops and names by the order in which they appear; layouts and tiles by the integers in
  /// them. What is left is 0.
  std::array<float, kNumbers> numbers = {};
  bool operator==(const Token&) const = default;
};

/// At most kMostTokens; what comes later is cut off (the paper's sequences are cut to 25).
std::vector<Token> tokens_of(const Candidate& candidate);

}  // namespace isomer::tune
