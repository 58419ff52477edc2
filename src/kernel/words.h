// Words of small integers: two of 16 bits or four of 8 in 32 bits, whose products processors add up at once (x86's
// vpmaddwd, AVX-512 VNNI's vpdpbusd). In a kernel they are expressions like others, of casts, shifts and sums; code
// generators recognize them. Tests: tests/kernel/words_test.cpp
#pragma once

#include <optional>
#include <vector>

#include "kernel/loop_nest.h"

namespace isomer::kernel {

inline bool is_byte(DataType type) { return type == DataType::kInt8 || type == DataType::kUInt8; }

/// The uint32 whose lowest bits are those of parts[0], and so on: two or four integers, of which the low bits count.
Expr word_of(const std::vector<Expr>& parts);
/// Where a word is made of loads of its parts alone: those; else none.
std::vector<Expr> loads_of_word(const Expr& expr);
/// Whether it is a word of loads that lie one behind the other in memory.
bool is_word_of_memory(const Kernel& kernel, const Expr& expr);

/// The int32 sum of the products of two words' parts: of four those of `a` unsigned and of `b` signed, of two both
/// signed.
struct DotOfWords {
  Expr a, b;
  int parts = 0;
};
Expr dot_of_words(const DotOfWords& dot);
std::optional<DotOfWords> as_dot_of_words(const Expr& expr);

}  // namespace isomer::kernel
