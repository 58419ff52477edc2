// An element of a tensor as a sum of products, for sizes that are names: what both sides of a law are brought to
// (DESIGN.md, section 2, "linear, split, reindex, swap"). Real arithmetic; every function is total and, but for what is
// said here, any function at all.
//
//   element = Σ products      product = coefficient * Σ over bounds of [conditions] * Π factors
//
// A condition is arithmetic over indices and sizes; a comparison of data is a factor that is 0 or 1. No condition
// stands in the argument of a function: f([c]*x + [not c]*y) is [c]*f(x) + [not c]*f(y).
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/te/expr.h"
#include "graph/te/rational.h"
#include "graph/te/simplify.h"
#include "graph/te/symbols.h"

namespace isomer::verify {

struct Factor;
using FactorRef = std::shared_ptr<const Factor>;

/// An integer, te::symbol(name), from 0 to below the extent.
struct Bound {
  std::string name;
  te::Expr extent;
};

struct Product {
  te::Rational coefficient;
  std::vector<Bound> bounds;
  std::vector<te::Expr> conditions;
  std::vector<FactorRef> factors;
};

struct Element {
  std::vector<Product> products;
};

/// The values that a maximum is taken of: of each choice of bounds that the conditions allow.
struct Piece {
  std::vector<Bound> bounds;
  std::vector<te::Expr> conditions;
  Element value;
};

struct Factor {
  enum class Kind : uint8_t {
    kLoad,      ///< of the variable `name` at `index`
    kInteger,   ///< index[0]
    kCall,      ///< the function `name` of `arguments`
    kGreatest,  ///< the maximum of `pieces`
  };
  Kind kind = Kind::kLoad;
  std::string name = {};
  bool is_truth = false;  ///< 0 or 1
  std::vector<te::Expr> index = {};
  std::vector<Element> arguments = {};
  std::vector<Piece> pieces = {};
};

/// The same text: the same but for the names of bounds.
std::string text(const Product& product);
std::string text_without_coefficient(const Product& product);
std::string text(const FactorRef& factor);
std::string text(const Element& element);

using te::Replacement;

/// Makes elements, in normal form. Beyond kMostProducts it gives up: is_exhausted, and what it makes means nothing.
class ElementMaker {
 public:
  static constexpr size_t kMostProducts = 160;

  bool is_exhausted() const { return exhausted_; }
  bool has_called() const { return called_; }  ///< a function, of what is no number
  /// A name that no other has, of an integer from 0 to below the extent.
  Bound fresh(std::string_view prefix, te::Expr extent);
  /// What a size is at least: 0 where data decide it, unless it was said to be of something that has elements.
  int64_t least(const std::string& size) const { return may_be_zero(size) && !filled_.contains(size) ? 0 : 1; }
  void fill(const std::string& size) { filled_.insert(size); }
  /// Its normal form. Sizes are what they are at least or more, indices and bounds within their extents.
  te::Expr simplified(const te::Expr& expr) const;
  /// Whether it is an index or a bound, not a size.
  bool is_bounded(const std::string& name) const { return extents_.contains(name); }
  /// Of an index or a bound.
  const te::Expr& extent(const std::string& name) const { return extents_.find(name)->second; }
  /// By how much it grows with the name; nothing where it does not have the name, or is no line.
  std::optional<int64_t> slope(const te::Expr& expr, const std::string& name) const;
  bool is_at_least_one(const te::Expr& expr) const { return te::bounds(expr, ranges()).low.value_or(0) >= 1; }

  /// In normal form, one for each part of a conjunction; false where they can't all hold then.
  bool add_condition(std::vector<te::Expr>& conditions, const te::Expr& condition) const;

  Element number(te::Rational value) const;
  Element integer(const te::Expr& value) const;
  Element truth(const te::Expr& condition) const;
  Element load(std::string name, bool is_truth, std::vector<te::Expr> index) const;
  /// exp of a sum is a product of exps, a reciprocal of a product is one of reciprocals.
  Element call(const std::string& name, std::vector<Element> arguments, bool is_truth = false);
  Element greatest(std::vector<Piece> pieces);
  std::optional<Element> with_exponentials(const Element& element);

  Element sum(const Element& a, const Element& b);
  Element scaled(const Element& a, const te::Rational& by) const;
  Element negated(const Element& a) const { return scaled(a, te::Rational(-1)); }
  Element difference(const Element& a, const Element& b) { return sum(a, negated(b)); }
  /// 1 - a
  Element opposite(const Element& a) { return difference(number(te::Rational(1)), a); }
  Element product(const Element& a, const Element& b);
  /// [condition] * a
  Element restricted(const Element& a, const te::Expr& condition) const;
  Element sum_over(const std::vector<Bound>& bounds, const Element& body);
  /// Where the condition is known: products of the opposite are dropped.
  Element assumed(const Element& a, const te::Expr& condition) const;
  /// With bounds of other names than all others.
  Product renamed(const Product& product);
  Element replaced(const Element& element, const Replacement& names);
  Element replaced(const Product& product, const Replacement& names);
  Element replaced(const FactorRef& factor, const Replacement& names);

 private:
  te::Ranges ranges() const;
  te::Expr simplified_anew(const te::Expr& expr) const;
  std::optional<Product> joined(const Product& a, const Product& b) const;
  Element collected(std::vector<Product> products);
  Element settled(Product product);
  std::optional<Element> without_bound(const Product& product, size_t bound);
  void cancel(std::vector<FactorRef>& factors, Element& exponents) const;
  Element exponential(const Element& argument);
  Element reciprocal(const Element& argument);
  Element logarithm(const Element& argument);
  const Element* absolute(const Element& element);
  Element greatest_of_some(std::vector<Piece> pieces);
  std::optional<Element> through_function(const std::vector<Piece>& pieces);
  bool flatten(std::vector<Piece>& pieces);
  bool is_always_there(const Piece& piece) const;

  bool exhausted_ = false, called_ = false;
  int count_ = 0;
  std::map<std::string, te::Expr, std::less<>> extents_;
  std::set<std::string> filled_;
  mutable std::unordered_map<te::Expr, te::Expr> simplified_;
};

/// Whether the expression, or anything in it, has one of these names.
bool mentions(const te::Expr& expr, const std::vector<Bound>& bounds);
bool mentions(const Bound& bound, const std::vector<Bound>& bounds);
bool mentions(const FactorRef& factor, const std::vector<Bound>& bounds);
bool mentions(const Product& product, const std::vector<Bound>& bounds);
bool mentions(const Element& element, const std::vector<Bound>& bounds);
template <class T>
bool mentions(const std::vector<T>& list, const std::vector<Bound>& bounds) {
  return std::ranges::any_of(list, [&](const T& each) { return mentions(each, bounds); });
}

/// Of one kind and name, with as many indices and arguments.
bool are_alike(const FactorRef& a, const FactorRef& b);
/// The element that is one factor.
Element single(FactorRef factor);
Element single(Factor factor);
/// That factor; nullptr where the element is none.
FactorRef only_factor(const Element& element);
/// Whether there is a factor, and it is a call of this function.
bool is_call(const FactorRef& factor, std::string_view name);
/// A condition of a product that does not depend on what the product is summed over.
const te::Expr* free_condition(const Element& element);

}  // namespace isomer::verify
