#include "graph/te/regroup.h"

#include <algorithm>

#include "graph/te/simplify.h"

namespace isomer::te {
namespace {

/// Nodes as a tree.
constexpr int64_t kLargest = 2000;
/// That is written as a product.
constexpr int64_t kLargestPower = 3;

/// Those that are added and taken away, or multiplied and divided by.
struct Terms {
  std::vector<Expr> with, against;
  bool are_many() const { return static_cast<int64_t>(with.size() + against.size()) >= kLargest; }
};

bool is_number(const Expr& expr, int64_t value) {
  const auto* literal = as<Literal>(expr);
  return literal && literal->value == Number(value);
}

void collect_addends(const Expr& expr, bool is_taken_away, Terms& terms) {
  const auto* two = terms.are_many() ? nullptr : as<Binary>(expr);
  const auto* one = as<Unary>(expr);
  if (two && (two->op == BinaryOp::kAdd || two->op == BinaryOp::kSub)) {
    collect_addends(two->left, is_taken_away, terms);
    collect_addends(two->right, is_taken_away != (two->op == BinaryOp::kSub), terms);
  } else if (one && one->op == UnaryOp::kNeg) {
    collect_addends(one->operand, !is_taken_away, terms);
  } else {
    if (!is_number(expr, 0)) (is_taken_away ? terms.against : terms.with).push_back(expr);
  }
}

void collect_factors(const Expr& expr, bool is_divisor, Terms& terms) {
  const auto* two = terms.are_many() ? nullptr : as<Binary>(expr);
  if (two && (two->op == BinaryOp::kMul || two->op == BinaryOp::kDiv)) {
    collect_factors(two->left, is_divisor, terms);
    collect_factors(two->right, is_divisor != (two->op == BinaryOp::kDiv), terms);
    return;
  }
  for (int64_t exponent = 2; exponent <= kLargestPower; ++exponent)
    if (two && two->op == BinaryOp::kPow && is_number(two->right, exponent)) {
      for (int64_t k = 0; k < exponent; ++k) collect_factors(two->left, is_divisor, terms);
      return;
    }
  if (!is_number(expr, 1)) (is_divisor ? terms.against : terms.with).push_back(expr);
}

/// In the order of their hashes: a collision hides that two forms are one, and does no more.
Expr joined(BinaryOp op, std::vector<Expr> terms) {
  std::sort(terms.begin(), terms.end(), [](const Expr& a, const Expr& b) { return a->hash < b->hash; });
  Expr result;
  for (Expr& term : terms) result = result ? binary(op, std::move(result), std::move(term)) : std::move(term);
  return result;
}

Expr joined(BinaryOp op, BinaryOp inverse, Terms terms, const Expr& neutral) {
  Expr with = joined(op, std::move(terms.with)), against = joined(op, std::move(terms.against));
  if (!with) with = neutral;
  return against ? binary(inverse, std::move(with), std::move(against)) : with;
}

bool is_sum(const Expr& expr) {
  const auto* two = as<Binary>(expr);
  const auto* one = as<Unary>(expr);
  return (two && (two->op == BinaryOp::kAdd || two->op == BinaryOp::kSub)) || (one && one->op == UnaryOp::kNeg);
}

bool is_product(const Expr& expr) {
  const auto* two = as<Binary>(expr);
  return two && (two->op == BinaryOp::kMul || two->op == BinaryOp::kDiv || two->op == BinaryOp::kPow);
}

}  // namespace

Expr regrouped(const Expr& expr) {
  return transform(expr, [](const Expr& node) -> Expr {
    if (!is_float(node.dtype()) || (!is_sum(node) && !is_product(node))) return {};
    Terms terms;
    if (is_sum(node))
      collect_addends(node, false, terms);
    else
      collect_factors(node, false, terms);
    const Expr result = is_sum(node)
                            ? joined(BinaryOp::kAdd, BinaryOp::kSub, std::move(terms), literal(0, node.dtype()))
                            : joined(BinaryOp::kMul, BinaryOp::kDiv, std::move(terms), literal(1, node.dtype()));
    // Cubes of cubes are large as products.
    return node_count(result, kLargest) < kLargest ? result : Expr();
  });
}

}  // namespace isomer::te
