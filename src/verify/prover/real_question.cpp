#include "verify/prover/real_question.h"

#include <fmt/format.h>

#include <algorithm>

#include "verify/proof/equal_elements.h"
#include "verify/prover/smt_facts.h"

namespace isomer::verify {
bool RealQuestion::is_zero(const Element& element) {
  const std::string total = word(element);
  if (said_.more && !has_more_) return false;  // the question that was asked without
  const auto facts = smt_facts(facts_, indices_, make_);
  return has_words_ && facts &&
         oracle_.is_contradiction(
             *facts + declarations_ + assertions_ + fmt::format("(assert (not (= {} 0.0)))\n", total), true);
}

std::string RealQuestion::word(const Element& element) {
  std::vector<std::string> words;
  for (const Product& product : element.products) words.push_back(word(product));
  return smt_joined("+", words, "0.0");
}

std::string RealQuestion::word(const Product& product) {
  std::vector<std::string> words;
  if (!(product.coefficient == te::Rational(1))) words.push_back(smt_number(product.coefficient));
  Product inner{te::Rational(1), product.bounds, product.conditions, {}};
  for (const FactorRef& factor : product.factors) {
    if (mentions(factor, product.bounds))
      inner.factors.push_back(factor);
    else
      words.push_back(word(factor));
  }
  if (inner.bounds.empty()) {
    // What is left of conditions stands where cases were not told apart: then nothing is claimed.
    has_words_ &= inner.conditions.empty();
    return smt_joined("*", words, "1.0");
  }
  const auto same = std::find_if(sums_.begin(), sums_.end(),
                                 [&](const auto& known) { return comparison_.are_same(known.first, inner, facts_); });
  if (same != sums_.end()) {
    words.push_back(same->second);
    return smt_joined("*", words, "1.0");
  }
  const bool has_summands = inner.conditions.empty() && std::ranges::all_of(inner.bounds, [&](const Bound& bound) {
                              return make_.is_at_least_one(bound.extent);
                            });
  const bool is_positive = has_summands && std::ranges::all_of(inner.factors, [](const FactorRef& factor) {
                             return is_call(factor, "exp");
                           });
  sums_.emplace_back(std::move(inner), fmt::format("sum{}", sums_.size()));
  declarations_ += fmt::format("(declare-const {} Real)\n", sums_.back().second);
  if (is_positive) assertions_ += fmt::format("(assert (> {} 0.0))\n", sums_.back().second);
  words.push_back(sums_.back().second);
  return smt_joined("*", words, "1.0");
}

std::string RealQuestion::word(const FactorRef& factor) {
  switch (factor->kind) {
    case Factor::Kind::kLoad: return load(*factor);
    case Factor::Kind::kCall: return call(*factor);
    case Factor::Kind::kGreatest: return greatest(factor);
    case Factor::Kind::kInteger: break;
  }
  const auto text = smt_text(factor->index[0]);
  has_words_ &= text.has_value();
  indices_.push_back(factor->index[0]);
  return fmt::format("(to_real {})", text.value_or("0"));
}

/// A name for a value, the same for the same words.
std::string RealQuestion::defined(const std::string& value) {
  const auto [found, is_new] = known_.emplace(value, fmt::format("value{}", known_.size()));
  if (is_new) assertions_ += fmt::format("(define-fun {} () Real {})\n", found->second, value);
  return found->second;
}

std::string RealQuestion::load(const Factor& factor) {
  std::string application = fmt::format("|data {} {}|", factor.name, factor.index.size()), sorts;
  const std::string function = application;
  for (const te::Expr& index : factor.index) {
    const auto text = smt_text(index);
    has_words_ &= text.has_value();
    indices_.push_back(index);
    application += " " + text.value_or("0");
    sorts += "Int ";
  }
  if (functions_.insert(function).second) declarations_ += fmt::format("(declare-fun {} ({}) Real)\n", function, sorts);
  const std::string value = defined(factor.index.empty() ? application : "(" + application + ")");
  if (factor.is_truth) assertions_ += fmt::format("(assert (or (= {0} 0.0) (= {0} 1.0)))\n", value);
  return value;
}

std::string RealQuestion::call(const Factor& factor) {
  if (const auto dtype = type_of_bits(factor.name)) return word(bits(single(factor), *dtype), *dtype);
  std::vector<std::string> arguments;
  for (const Element& argument : factor.arguments) arguments.push_back(defined(word(argument)));
  if (factor.name == "is_zero") return defined(fmt::format("(ite (= {} 0.0) 1.0 0.0)", arguments[0]));
  if (factor.name == "is_positive") return defined(fmt::format("(ite (> {} 0.0) 1.0 0.0)", arguments[0]));
  const std::string value = applied(factor.name, arguments);
  if (factor.is_truth) assertions_ += fmt::format("(assert (or (= {0} 0.0) (= {0} 1.0)))\n", value);
  if (arguments.size() == 1) add_facts(factor.name, arguments[0], value);
  if (const auto dtype = type_of(factor.name, {"pow"}); dtype && is_float(*dtype))
    add_facts_of_power(arguments[0], arguments[1], value);
  if (const auto dtype = type_of(factor.name, {"/", "%"}); dtype && is_int(*dtype))
    relate_division(*dtype, arguments[0], arguments[1]);
  return value;
}

std::string RealQuestion::applied(const std::string& name, const std::vector<std::string>& arguments) {
  // Z3's names in bars have none in them, and "| of int32" is a function's.
  std::string without_bars(name);
  for (size_t at; (at = without_bars.find('|')) != std::string::npos;) without_bars.replace(at, 1, "bar");
  const std::string function = fmt::format("|function {} {}|", without_bars, arguments.size());
  std::string sorts;
  for (size_t k = 0; k < arguments.size(); ++k) sorts += "Real ";
  if (functions_.insert(function).second) declarations_ += fmt::format("(declare-fun {} ({}) Real)\n", function, sorts);
  return arguments.empty() ? function : defined(fmt::format("({} {})", function, fmt::join(arguments, " ")));
}

std::string RealQuestion::greatest(const FactorRef& factor) {
  const bool is_finite =
      said_.maxima && std::all_of(factor->pieces.begin(), factor->pieces.end(),
                                  [](const Piece& piece) { return piece.bounds.empty() && piece.conditions.empty(); });
  if (is_finite) {
    std::string result;
    for (const Piece& piece : factor->pieces) {
      const std::string value = defined(word(piece.value));
      result = result.empty() ? value : defined(fmt::format("(ite (<= {0} {1}) {1} {0})", result, value));
    }
    return result;
  }
  const auto same = std::find_if(maxima_.begin(), maxima_.end(),
                                 [&](const auto& known) { return comparison_.are_same(known.first, factor, facts_); });
  if (same != maxima_.end()) return same->second;
  maxima_.emplace_back(factor, fmt::format("maximum{}", maxima_.size()));
  declarations_ += fmt::format("(declare-const {} Real)\n", maxima_.back().second);
  return maxima_.back().second;
}

}  // namespace isomer::verify
