#include "tools/fill_rule.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "util/hash.h"

namespace isomer {

namespace {

uint64_t draw(uint64_t seed, uint64_t i) { return mix64(seed + (i + 1) * 0x9E3779B97F4A7C15ULL); }

double value_of(const UniformRule& rule, uint64_t i, uint64_t) {
  const double unit = static_cast<double>(draw(rule.seed, i) >> 11) * 0x1p-53;
  return rule.low + (rule.high - rule.low) * unit;
}
double value_of(const ConstantRule& rule, uint64_t, uint64_t) { return rule.value; }
double value_of(const TokensRule& rule, uint64_t i, uint64_t) {
  return static_cast<double>(draw(rule.seed, i) % rule.bound);
}
double value_of(const ArangeRule& rule, uint64_t i, uint64_t row_length) {
  return rule.start + static_cast<double>(i % row_length);
}

template <class Float>
void evaluate_as(const FillRule& rule, uint64_t first, uint64_t row_length, std::span<Float> values) {
  std::visit(
      [&](const auto& known) {
        for (size_t i = 0; i < values.size(); ++i) {
          values[i] = static_cast<Float>(value_of(known, first + i, row_length));
        }
      },
      rule);
}

template <class Number>
bool parse_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> found;
  for (size_t at = text.find_first_not_of(' '); at != text.npos;) {
    const size_t end = std::min(text.find(' ', at), text.size());
    found.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(' ', end);
  }
  return found;
}

std::optional<FillRule> parse(const std::vector<std::string_view>& word) {
  const auto is = [&](std::string_view name, size_t arguments) {
    return word.size() == arguments + 1 && word[0] == name;
  };
  if (UniformRule rule; is("uniform", 3) && parse_number(word[1], rule.low) && parse_number(word[2], rule.high) &&
                        parse_number(word[3], rule.seed)) {
    return rule;
  }
  if (ConstantRule rule; is("constant", 1) && parse_number(word[1], rule.value)) return rule;
  if (TokensRule rule;
      is("tokens", 2) && parse_number(word[1], rule.bound) && rule.bound > 0 && parse_number(word[2], rule.seed)) {
    return rule;
  }
  if (ArangeRule rule; is("arange", 1) && parse_number(word[1], rule.start)) return rule;
  return std::nullopt;
}

}  // namespace

Result<FillRule> parse_fill_rule(std::string_view text) {
  if (std::optional<FillRule> rule = parse(words(text))) return *rule;
  return invalid("", "expected a fill rule (uniform LO HI SEED, constant V, tokens V SEED, arange S), found {:?}",
                 text);
}

void evaluate(const FillRule& rule, uint64_t first, uint64_t row_length, std::span<double> values) {
  evaluate_as(rule, first, row_length, values);
}

void evaluate(const FillRule& rule, uint64_t first, uint64_t row_length, std::span<float> values) {
  evaluate_as(rule, first, row_length, values);
}

}  // namespace isomer
