// The workings of simplify_index, for the rules and their tests: simplify.cpp reads an expression bottom-up into
// polynomials, asks the rules (simplify_rules.cpp) at every division, remainder, minimum and maximum, and at every sum;
// bounds.cpp is the interval arithmetic that they lean on.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/te/integer.h"
#include "graph/te/polynomial.h"
#include "graph/te/simplify.h"

namespace isomer::te {

/// Inclusive bounds; ±kSaturated stands for none.
struct Range {
  int64_t low = -kSaturated;
  int64_t high = kSaturated;
  bool has_low() const { return low > -kSaturated; }
  bool has_high() const { return high < kSaturated; }
  bool is_finite() const { return has_low() && has_high(); }
  bool operator==(const Range&) const = default;
};

/// How many minima, maxima, selects and divisions a range looks into at once.
inline constexpr int kMaxCases = 3;

class Simplifier {
 public:
  /// What an expression says: where something lies, which is less than 2^62 in all that is added up for it, or data,
  /// whose arithmetic is that of 64 bits. Indices of loads in data say places.
  enum class Of : uint8_t { kPlaces, kData };
  explicit Simplifier(Ranges ranges, Of of = Of::kPlaces) : ranges_(std::move(ranges)), of_(of) {}

  /// The normal form of an expression of any type.
  Expr simplify(const Expr& expr);
  /// The normal form of an int64 expression.
  Polynomial polynomial(const Expr& expr);
  /// The normal form of an operation on two normal forms.
  Polynomial combine(BinaryOp op, const Polynomial& a, const Polynomial& b);

  Range range(const Polynomial& polynomial);
  /// Of an int64 expression in normal form.
  Range range(const Expr& expr);
  bool is_nonnegative(const Polynomial& p) { return range(p).low >= 0; }
  bool is_positive(const Polynomial& p) { return range(p).low > 0; }
  bool is_nonzero(const Polynomial& p);
  /// Whether it is of data that may be any number of 64 bits; what rules say of order and division needs to know
  /// better.
  bool is_wild(const Polynomial& p);
  /// … and computed with: nothing is known of a sum that may begin anew at -2^63.
  bool may_wrap(const Polynomial& p) { return !p.is_constant() && !p.single_atom() && is_wild(p); }

  /// Called with the name of each rule that was used, when set.
  std::function<void(std::string_view)> on_rule;

 private:
  Polynomial read(const Expr& expr);
  Polynomial read_binary(const Binary& e);
  Polynomial rewrite_sum(Polynomial sum);
  Expr condition(const Expr& expr);
  Expr comparison(BinaryOp op, const Polynomial& difference);
  std::optional<Polynomial> deciding_quotient(const Polynomial& difference);
  Expr connective(BinaryOp op, const Expr& left, const Expr& right);
  Expr negation(const Expr& simplified);
  std::optional<Polynomial> margin(const Expr& part);
  Expr selection(const Select& e);
  Expr rebuilt(const Expr& expr);
  Expr wild_comparison(BinaryOp op, const Polynomial& a, const Polynomial& b);
  bool is_wild(const Expr& atom);

  Range range_of_terms(const Polynomial& polynomial);
  Range range_by_cases(const Polynomial& polynomial);
  Range range_of_binary(const Binary& e);
  Range range_of_leaf(const Expr& leaf);
  Range known(const Range& range) const;

  Ranges ranges_;
  Of of_;
  std::unique_ptr<Simplifier> places_;  ///< of what says places inside of data
  std::unordered_map<const ExprNode*, std::pair<Expr, bool>> wild_;
  /// By node; the expressions are kept alive with their results.
  std::unordered_map<const ExprNode*, std::pair<Expr, Polynomial>> polynomials_;
  std::unordered_map<const ExprNode*, std::pair<Expr, Expr>> others_;
  /// How many cases deep a range is being looked for; what was found at each depth.
  int case_depth_ = 0;
  std::array<std::unordered_map<const ExprNode*, std::pair<Expr, Range>>, kMaxCases + 1> ranges_of_atoms_;
};

/// A rewriting of `op` applied to two normal forms; nothing when it does not apply. Division by a literal is by a
/// positive one.
struct OperationRule {
  std::string_view name;
  BinaryOp op;
  std::optional<Polynomial> (*apply)(Simplifier&, const Polynomial& a, const Polynomial& b);
};
/// A rewriting of a whole sum.
struct SumRule {
  std::string_view name;
  std::optional<Polynomial> (*apply)(Simplifier&, const Polynomial& sum);
};

/// Tried in order, again and again until none applies.
const std::vector<OperationRule>& operation_rules();
const std::vector<SumRule>& sum_rules();

}  // namespace isomer::te
