// An element put to Z3: is it zero? Data are unknown functions of integers, sums unknown numbers, functions unknown but
// for a few facts.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "verify/prover/solver_oracle.h"

namespace isomer::verify {

class ElementComparison;

class RealQuestion {
 public:
  struct Said {
    bool maxima = true;  ///< that they are one of their values
    bool more = false;   ///< of functions: between what they are, their inverses, integers that numbers are rounded to
  };

  RealQuestion(ElementMaker& make, SolverOracle& oracle, ElementComparison& comparison, const Facts& facts, Said said)
      : make_(make), oracle_(oracle), comparison_(comparison), facts_(facts), said_(said) {}

  /// False where that was not found.
  bool is_zero(const Element& element);

 private:
  using Call = std::pair<std::string, std::string>;  ///< argument and value
  /// A function of integers that is the same at each bit: a sum of products of their bits, where no factor is 1.
  /// Written of the integers themselves it is the function's value: a | b = a + b - (a & b).
  using Bits = std::map<std::set<std::string>, te::Rational>;

  std::string word(const Element& element);
  std::string word(const Product& product);
  std::string word(const FactorRef& factor);
  std::string load(const Factor& factor);
  std::string call(const Factor& factor);
  std::string greatest(const FactorRef& factor);
  std::string defined(const std::string& value);
  std::string applied(const std::string& name, const std::vector<std::string>& arguments);
  void add_facts(const std::string& name, const std::string& argument, const std::string& value);
  void add_more_facts(const std::string& name, const std::string& argument, const std::string& value);
  void relate_powers(const Call& a, const Call& b);
  void relate_tanh(const std::string& argument, const std::string& value, const std::string& exponent,
                   const std::string& power);
  void relate_circular(const std::string& argument);
  void relate_angles(const std::string& whole, const std::string& part, const std::string& other);
  void relate_hyperbolic(const std::string& argument);
  void relate_division(DataType dtype, const std::string& dividend, const std::string& divisor);
  void add_facts_of_power(const std::string& base, const std::string& exponent, const std::string& value);
  /// Of what a function is one of these operations ("& of int32"); nothing where it is another.
  static std::optional<DataType> type_of(std::string_view function, std::initializer_list<std::string_view> operations);
  static std::optional<DataType> type_of_bits(std::string_view function) {
    return type_of(function, {"&", "|", "^", "not"});
  }
  Bits bits(const Element& element, DataType dtype);
  std::string word(const Bits& bits, DataType dtype);

  ElementMaker& make_;
  SolverOracle& oracle_;
  ElementComparison& comparison_;
  const Facts& facts_;
  const Said said_;
  std::string declarations_, assertions_;
  std::vector<te::Expr> indices_;
  std::set<std::string> functions_;           ///< declared
  std::map<std::string, std::string> known_;  ///< names of values, by their words
  std::vector<std::pair<Product, std::string>> sums_;
  std::vector<std::pair<FactorRef, std::string>> maxima_;
  std::map<std::string, std::vector<Call>> calls_;  ///< by function
  bool has_words_ = true;
  bool has_more_ = false;  ///< said
};

}  // namespace isomer::verify
