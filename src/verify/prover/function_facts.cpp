// What is known of functions, said of the calls that there are.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "graph/te/integer_algebra.h"
#include "verify/prover/real_question.h"
#include "verify/prover/smt_facts.h"

namespace isomer::verify {
namespace {

constexpr size_t kMostRelated = 6;  ///< calls of a function that are related to each other
constexpr int kLeastExponent = -4;
/// g(f(x)) = x for all x
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kInverse = {
    {{"sinh", "asinh"}, {"asinh", "sinh"}, {"tanh", "atanh"}, {"atan", "tan"}}};

/// The integer whose bits are all set.
te::Rational all_bits(DataType dtype) { return te::Rational(te::unwrap(dtype, te::wrap(dtype, -1))); }

}  // namespace

void RealQuestion::add_facts(const std::string& name, const std::string& argument, const std::string& value) {
  auto& others = calls_[name];
  const auto call = std::pair(argument, value);
  if (std::find(others.begin(), others.end(), call) != others.end()) return;
  const bool grows = name == "exp" || name == "tanh" || name == "erf";
  if (grows && others.size() < kMostRelated)
    for (const auto& [other, its] : others)
      assertions_ += fmt::format("(assert (and (=> (< {0} {1}) (< {2} {3})) (=> (< {1} {0}) (< {3} {2}))))\n", argument,
                                 other, value, its);
  if (name == "exp")
    for (size_t k = 0; k < others.size() && k < kMostRelated; ++k) relate_powers(others[k], call);
  others.push_back(call);
  // tanh x = (exp 2x - 1) / (exp 2x + 1)
  for (const auto& [x, y] : name == "exp" ? calls_["tanh"] : std::vector<std::pair<std::string, std::string>>())
    relate_tanh(x, y, argument, value);
  for (const auto& [x, y] : name == "tanh" ? calls_["exp"] : std::vector<std::pair<std::string, std::string>>())
    relate_tanh(argument, value, x, y);
  if (name == "reciprocal")
    assertions_ += fmt::format("(assert (=> (not (= {0} 0.0)) (= (* {0} {1}) 1.0)))\n", argument, value);
  if (name == "exp")
    assertions_ += fmt::format("(assert (and (> {1} 0.0) (=> (= {0} 0.0) (= {1} 1.0))))\n", argument, value);
  if (name == "log") {
    const std::string power = applied("exp", {value});
    assertions_ += fmt::format("(assert (=> (> {0} 0.0) (= {1} {0})))\n", argument, power);
    add_facts("exp", value, power);
  }
  if (name == "sin" || name == "cos" || name == "tan") relate_circular(argument);
  if (name == "sinh" || name == "cosh") relate_hyperbolic(argument);
  if (name == "sqrt")
    assertions_ += fmt::format("(assert (=> (>= {0} 0.0) (and (>= {1} 0.0) (= (* {1} {1}) {0}))))\n", argument, value);
  if (!said_.more) return;
  const size_t length = assertions_.size();
  add_more_facts(name, argument, value);
  has_more_ |= assertions_.size() != length;
}

void RealQuestion::add_more_facts(const std::string& name, const std::string& argument, const std::string& value) {
  const bool is_below_one = name == "tanh" || name == "erf";
  if (is_below_one || name == "sinh" || name == "asinh" || name == "atan")
    assertions_ += fmt::format(
        "(assert (and (=> (< {0} 0.0) (< {1} 0.0)) (=> (= {0} 0.0) (= {1} 0.0)) (=> (> {0} 0.0) (> {1} "
        "0.0))))\n",
        argument, value);
  if (is_below_one) assertions_ += fmt::format("(assert (< (- 1.0) {} 1.0))\n", value);
  if (name == "exp")
    assertions_ += fmt::format("(assert (and (>= {1} (+ 1.0 {0})) (=> (< {0} 0.0) (< {1} 1.0))))\n", argument, value);
  for (const auto& [function, inverse] : kInverse)
    if (name == function)
      assertions_ += fmt::format("(assert (= {} {}))\n", applied(std::string(inverse), {value}), argument);
  if (name == "cosh")
    assertions_ += fmt::format("(assert (= {0} (ite (< {1} 0.0) (- {1}) {1})))\n", applied("acosh", {value}), argument);
  if (name == "floor") assertions_ += fmt::format("(assert (= {1} (to_real (to_int {0}))))\n", argument, value);
  if (name == "round")
    assertions_ += fmt::format(
        "(assert (let ((below (to_int {0}))) (let ((rest (- {0} (to_real below)))) (= {1} (to_real (ite (or (< rest "
        "0.5) (and (= rest 0.5) (= (mod below 2) 0))) below (+ below 1)))))))\n",
        argument, value);
}

/// exp -x = 1 / exp x, exp 2x = (exp x)^2
void RealQuestion::relate_powers(const Call& a, const Call& b) {
  assertions_ +=
      fmt::format("(assert (=> (= {0} (- {2})) (= (* {1} {3}) 1.0)))\n", a.first, a.second, b.first, b.second);
  for (const auto& [once, twice] : {std::pair(a, b), std::pair(b, a)})
    assertions_ += fmt::format("(assert (=> (= {2} (* 2.0 {0})) (= {3} (* {1} {1}))))\n", once.first, once.second,
                               twice.first, twice.second);
}

void RealQuestion::relate_tanh(const std::string& argument, const std::string& value, const std::string& exponent,
                               const std::string& power) {
  assertions_ += fmt::format(
      "(assert (and (=> (= {2} (* 2.0 {0})) (= (* {1} (+ {3} 1.0)) (- {3} 1.0))) (=> (= {2} (* (- 2.0) {0})) (= (* {1} "
      "(+ 1.0 {3})) (- 1.0 {3})))))\n",
      argument, value, exponent, power);
}

/// tan = sin / cos, sin^2 + cos^2 = 1, and sums of two equal angles.
void RealQuestion::relate_circular(const std::string& argument) {
  auto& others = calls_["circle"];
  const std::string sine = applied("sin", {argument}), cosine = applied("cos", {argument});
  if (std::ranges::find(others, argument, &Call::first) != others.end()) return;
  assertions_ += fmt::format("(assert (= (+ (* {0} {0}) (* {1} {1})) 1.0))\n", sine, cosine);
  assertions_ +=
      fmt::format("(assert (= {} (* {} {})))\n", applied("tan", {argument}), sine, applied("reciprocal", {cosine}));
  for (const auto& [other, its] : others)
    for (const auto& [once, twice] : {std::pair(argument, other), std::pair(other, argument)})
      assertions_ += fmt::format(
          "(assert (=> (= {0} (* 2.0 {1})) (and (= {2} (* 2.0 {3} {4})) (= {5} (- (* {4} {4}) (* {3} {3}))))))\n",
          twice, once, applied("sin", {twice}), applied("sin", {once}), applied("cos", {once}),
          applied("cos", {twice}));
  if (said_.more && others.size() < kMostRelated)
    for (size_t k = 0; k < others.size(); ++k)
      for (size_t other = 0; other < others.size(); ++other) {
        if (k < other) relate_angles(argument, others[k].first, others[other].first);
        if (k != other) relate_angles(others[k].first, argument, others[other].first);
      }
  others.emplace_back(argument, sine);
}

/// Of the sum of two angles.
void RealQuestion::relate_angles(const std::string& whole, const std::string& part, const std::string& other) {
  const auto sine = [&](const std::string& angle) { return applied("sin", {angle}); };
  const auto cosine = [&](const std::string& angle) { return applied("cos", {angle}); };
  assertions_ += fmt::format(
      "(assert (=> (= {0} (+ {1} {2})) (and (= {3} (+ (* {4} {7}) (* {6} {5}))) (= {8} (- (* {6} {7}) (* {4} "
      "{5}))))))\n",
      whole, part, other, sine(whole), sine(part), sine(other), cosine(part), cosine(other), cosine(whole));
  has_more_ = true;
}

/// 2 sinh x = exp x - exp -x, 2 cosh x = exp x + exp -x, tanh = sinh / cosh.
void RealQuestion::relate_hyperbolic(const std::string& argument) {
  const std::string power = applied("exp", {argument});
  const std::string inverse = applied("exp", {defined(fmt::format("(* (- 1.0) {})", argument))});
  assertions_ += fmt::format(
      "(assert (and (= (* 2.0 {0}) (- {2} {3})) (= (* 2.0 {1}) (+ {2} {3})) (= (* {2} {3}) 1.0) (> {2} 0.0) (> {3} "
      "0.0) "
      "(= (* {4} {1}) {0})))\n",
      applied("sinh", {argument}), applied("cosh", {argument}), power, inverse, applied("tanh", {argument}));
}

/// Of integers: a = b * (a / b) + a % b, where no quotient is beyond the type; a / 1 = a.
void RealQuestion::relate_division(DataType dtype, const std::string& dividend, const std::string& divisor) {
  const auto of = [&](std::string_view operation) {
    return applied(fmt::format("{} of {}", operation, name(dtype)), {dividend, divisor});
  };
  assertions_ += fmt::format(
      "(assert (and (=> (= {1} 1.0) (= {2} {0})) (=> (and (not (= {1} 0.0)) (not (= {1} (- 1.0)))) (= {0} (+ (* {1} "
      "{2}) {3})))))\n",
      dividend, divisor, of("/"), of("%"));
}

/// Of floats: x^(1/2), x^(-1/2) and x^-n.
void RealQuestion::add_facts_of_power(const std::string& base, const std::string& exponent, const std::string& value) {
  const std::string root = applied("sqrt", {base}), reciprocal = applied("reciprocal", {base});
  const auto say = [&](const std::string& known, const std::string& power) {
    assertions_ += fmt::format("(assert (=> (= {} {}) (= {} {})))\n", exponent, known, value, power);
  };
  say("0.5", root);
  say("(- 0.5)", applied("reciprocal", {root}));
  std::string power = reciprocal;
  for (int n = -1; n >= kLeastExponent; --n, power = fmt::format("(* {} {})", power, reciprocal))
    say(fmt::format("(- {}.0)", -n), power);
}

std::optional<DataType> RealQuestion::type_of(std::string_view function,
                                              std::initializer_list<std::string_view> operations) {
  for (const std::string_view operation : operations)
    if (const std::string named = fmt::format("{} of ", operation); function.starts_with(named))
      return parse_data_type(function.substr(named.size()));
  return std::nullopt;
}

RealQuestion::Bits RealQuestion::bits(const Element& element, DataType dtype) {
  if (element.products.empty()) return {};
  if (make_.difference(element, make_.number(all_bits(dtype))).products.empty()) return {{{}, te::Rational(1)}};
  const FactorRef factor = only_factor(element);
  if (!factor || factor->kind != Factor::Kind::kCall || type_of_bits(factor->name) != dtype)
    return {{{defined(word(element))}, te::Rational(1)}};
  Bits sum;
  const auto add = [&](const Bits& bits, int64_t times) {
    for (const auto& [atoms, coefficient] : bits) sum[atoms] = sum[atoms] + coefficient * te::Rational(times);
  };
  const Bits left = bits(factor->arguments[0], dtype);
  if (factor->name.starts_with("not")) {
    add({{{}, te::Rational(1)}}, 1);
    add(left, -1);
    return sum;
  }
  const Bits right = bits(factor->arguments[1], dtype);
  Bits both;
  for (const auto& [atoms, coefficient] : left)
    for (const auto& [others, its] : right) {
      std::set<std::string> all = atoms;
      all.insert(others.begin(), others.end());
      both[all] = both[all] + coefficient * its;
    }
  if (factor->name.starts_with("&")) return both;
  add(left, 1);
  add(right, 1);
  add(both, factor->name.starts_with("|") ? -1 : -2);
  return sum;
}

std::string RealQuestion::word(const Bits& bits, DataType dtype) {
  std::vector<std::string> words;
  for (const auto& [atoms, coefficient] : bits) {
    if (coefficient.sign() == 0) continue;
    const std::vector<std::string> arguments(atoms.begin(), atoms.end());
    const std::string product = arguments.empty()       ? smt_number(all_bits(dtype))
                                : arguments.size() == 1 ? arguments[0]
                                                        : applied("& of " + std::string(name(dtype)), arguments);
    words.push_back(fmt::format("(* {} {})", smt_number(coefficient), product));
  }
  return smt_joined("+", words, "0.0");
}

}  // namespace isomer::verify
