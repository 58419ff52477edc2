#include "verify/proof/linear_facts.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <vector>

#include "graph/te/integer.h"

namespace isomer::verify {
namespace {

constexpr size_t kMostInequalities = 200;  ///< at once, when names are eliminated
constexpr int kMostCases = 64;             ///< of disjunctions, all together

using te::Expr;

/// A sum of multiples of names, by number, and a constant.
struct Sum {
  std::map<int, int64_t> terms = {};
  int64_t constant = 0;
};

/// a * x + b * y; nothing where that leaves the range.
std::optional<int64_t> combined(int64_t a, int64_t x, int64_t b, int64_t y) {
  int64_t left = 0, right = 0, sum = 0;
  if (__builtin_mul_overflow(a, x, &left) || __builtin_mul_overflow(b, y, &right) ||
      __builtin_add_overflow(left, right, &sum))
    return std::nullopt;
  return sum;
}

std::optional<Sum> combined(int64_t a, const Sum& x, int64_t b, const Sum& y) {
  const auto constant = combined(a, x.constant, b, y.constant);
  if (!constant) return std::nullopt;
  Sum result{{}, *constant};
  const auto coefficient = [](const Sum& sum, int name) {
    const auto found = sum.terms.find(name);
    return found == sum.terms.end() ? 0 : found->second;
  };
  for (const Sum* sum : {&x, &y})
    for (const auto& [name, ignored] : sum->terms) {
      const auto factor = combined(a, coefficient(x, name), b, coefficient(y, name));
      if (!factor) return std::nullopt;
      if (*factor != 0) result.terms[name] = *factor;
    }
  return result;
}

/// Sums that are at least 0.
using Inequalities = std::vector<Sum>;

/// Divides by what all coefficients have in common. False: it can't hold.
bool tighten(Sum& sum) {
  if (sum.terms.empty()) return sum.constant >= 0;
  int64_t common = 0;
  for (const auto& [name, factor] : sum.terms) common = std::gcd(common, factor);
  for (auto& [name, factor] : sum.terms) factor /= common;
  sum.constant = te::floor_div(sum.constant, common);
  return true;
}

/// The name whose elimination makes the fewest inequalities; -1 where there is none left.
int cheapest(const Inequalities& all) {
  std::map<int, std::pair<int64_t, int64_t>> signs;
  for (const Sum& sum : all)
    for (const auto& [name, factor] : sum.terms) ++(factor > 0 ? signs[name].first : signs[name].second);
  int best = -1;
  int64_t fewest = 0;
  for (const auto& [name, count] : signs) {
    const int64_t made = count.first * count.second - count.first - count.second;
    if (best < 0 || made < fewest) std::tie(best, fewest) = std::pair(name, made);
  }
  return best;
}

bool have_no_solution(Inequalities all) {
  for (Sum& sum : all)
    if (!tighten(sum)) return true;
  while (all.size() <= kMostInequalities) {
    const int name = cheapest(all);
    if (name < 0) return false;
    Inequalities rest, below, above;
    for (Sum& sum : all) {
      const auto found = sum.terms.find(name);
      (found == sum.terms.end() ? rest : found->second > 0 ? below : above).push_back(std::move(sum));
    }
    for (const Sum& low : below)
      for (const Sum& high : above) {
        auto made = combined(-high.terms.at(name), low, low.terms.at(name), high);
        if (!made) continue;  // One fact fewer.
        if (!tighten(*made)) return true;
        if (!made->terms.empty()) rest.push_back(*std::move(made));
      }
    all = std::move(rest);
  }
  return false;
}

/// What conditions say: inequalities, and disjunctions of further conditions.
class System {
 public:
  void assume(const Expr& condition, bool is_true) {
    using enum te::BinaryOp;
    if (const auto value = te::as_constant(condition)) {
      if ((*value != 0) != is_true) inequalities_.push_back({{}, -1});
      return;
    }
    if (const auto* negated = te::as<te::Unary>(condition); negated && negated->op == te::UnaryOp::kNot)
      return assume(negated->operand, !is_true);
    const auto* e = te::as<te::Binary>(condition);
    if (!e || condition.dtype() != DataType::kBool) return;
    const bool is_of_integers = e->left.dtype() == DataType::kInt64;
    if (e->op == kAnd || e->op == kOr) {
      if ((e->op == kAnd) == is_true) {
        assume(e->left, is_true);
        assume(e->right, is_true);
      } else {
        disjunctions_.push_back({{{e->left, is_true}}, {{e->right, is_true}}});
      }
    } else if (e->op == kLess && is_of_integers) {
      is_true ? add(e->right, e->left, -1) : add(e->left, e->right, 0);
    } else if (e->op == kLessEqual && is_of_integers) {
      is_true ? add(e->right, e->left, 0) : add(e->left, e->right, -1);
    } else if (e->op == kEqual && is_of_integers) {
      if (is_true) {
        add(e->left, e->right, 0);
        add(e->right, e->left, 0);
      } else {
        disjunctions_.push_back({{{e->left < e->right, true}}, {{e->right < e->left, true}}});
      }
    }
  }

  bool is_contradictory(int& cases) {
    if (have_no_solution(inequalities_)) return true;
    if (disjunctions_.empty()) return false;
    const Disjunction cut = std::move(disjunctions_.back());
    disjunctions_.pop_back();
    return std::ranges::all_of(cut, [&](const Case& each) {
      if (--cases < 0) return false;
      System under = *this;
      for (const auto& [condition, is_true] : each) under.assume(condition, is_true);
      return under.is_contradictory(cases);
    });
  }

 private:
  using Case = std::vector<std::pair<Expr, bool>>;  ///< conditions, true or false
  using Disjunction = std::vector<Case>;

  /// more - less + constant is at least 0.
  void add(const Expr& more, const Expr& less, int64_t constant) {
    const auto a = sum_of(more), b = sum_of(less);
    auto difference = a && b ? combined(1, *a, -1, *b) : std::nullopt;
    if (!difference || __builtin_add_overflow(difference->constant, constant, &difference->constant)) return;
    inequalities_.push_back(*std::move(difference));
  }

  /// Nothing where its numbers leave the range.
  std::optional<Sum> sum_of(const Expr& expr) {
    using enum te::BinaryOp;
    if (const auto value = te::as_constant(expr)) return Sum{{}, *value};
    if (const auto* e = te::as<te::Unary>(expr); e && e->op == te::UnaryOp::kNeg) {
      const auto operand = sum_of(e->operand);
      return operand ? combined(-1, *operand, 0, {}) : std::nullopt;
    }
    const auto* e = te::as<te::Binary>(expr);
    if (e && (e->op == kAdd || e->op == kSub)) {
      const auto left = sum_of(e->left), right = sum_of(e->right);
      return left && right ? combined(1, *left, e->op == kAdd ? 1 : -1, *right) : std::nullopt;
    }
    if (e && e->op == kMul) {
      const auto left = sum_of(e->left), right = sum_of(e->right);
      if (!left || !right) return std::nullopt;
      if (left->terms.empty()) return combined(left->constant, *right, 0, {});
      if (right->terms.empty()) return combined(right->constant, *left, 0, {});
    }
    if (const auto divisor = e && e->op == kFloorMod ? te::as_constant(e->right) : std::nullopt; divisor > 0) {
      const auto dividend = sum_of(e->left), quotient = sum_of(te::floor_div(e->left, e->right));
      return dividend && quotient ? combined(1, *dividend, -*divisor, *quotient) : std::nullopt;
    }
    return Sum{{{name_of(expr), 1}}, 0};
  }

  /// A name for what is not a sum of names; what is known of it is assumed where it is met first.
  int name_of(const Expr& expr) {
    using enum te::BinaryOp;
    const auto [known, is_new] = names_.emplace(expr, static_cast<int>(names_.size()));
    const int name = known->second;
    if (!is_new) return name;
    if (const auto* e = te::as<te::Binary>(expr)) {
      const auto divisor = e->op == kFloorDiv ? te::as_constant(e->right) : std::nullopt;
      if (divisor > 0) {
        // divisor * quotient <= dividend < divisor * (quotient + 1)
        add(e->left, expr * e->right, 0);
        add(expr * e->right, e->left, *divisor - 1);
      }
      if (e->op == kMin || e->op == kMax) {
        const bool is_min = e->op == kMin;
        for (const Expr& operand : {e->left, e->right}) is_min ? add(operand, expr, 0) : add(expr, operand, 0);
        disjunctions_.push_back({{{te::equal(expr, e->left), true}}, {{te::equal(expr, e->right), true}}});
      }
    }
    if (const auto* e = te::as<te::Select>(expr))
      disjunctions_.push_back({{{e->condition, true}, {te::equal(expr, e->then), true}},
                               {{e->condition, false}, {te::equal(expr, e->otherwise), true}}});
    return name;
  }

  Inequalities inequalities_;
  std::vector<Disjunction> disjunctions_;
  std::unordered_map<Expr, int> names_;
};

}  // namespace

bool are_contradictory(std::span<const te::Expr> conditions) {
  System system;
  for (const te::Expr& condition : conditions) system.assume(condition, true);
  int cases = kMostCases;
  return system.is_contradictory(cases);
}

}  // namespace isomer::verify
