// The rules that stand for the values of a tensor (models/README.md): a line of text instead of
// megabytes of numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "util/result.h"

namespace isomer {

/// `uniform LO HI SEED`
struct UniformRule {
  double low = 0;
  double high = 0;
  uint64_t seed = 0;
};
/// `constant V`
struct ConstantRule {
  double value = 0;
};
/// `tokens V SEED`: integers in [0, V)
struct TokensRule {
  uint64_t bound = 1;
  uint64_t seed = 0;
};
/// `arange S`: S, S + 1, ... along the last axis
struct ArangeRule {
  double start = 0;
};

using FillRule = std::variant<UniformRule, ConstantRule, TokensRule, ArangeRule>;

Result<FillRule> parse_fill_rule(std::string_view text);

/// Values first, first + 1, ... of the row-major tensor whose last axis has `row_length` elements
/// (only `arange` asks). In double they are exact; float elements are these, rounded once.
void evaluate(const FillRule& rule, uint64_t first, uint64_t row_length, std::span<double> values);
void evaluate(const FillRule& rule, uint64_t first, uint64_t row_length, std::span<float> values);

}  // namespace isomer
