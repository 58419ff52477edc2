#include "verify/prover/smt_facts.h"

#include <fmt/format.h>

#include <set>

#include "graph/te/symbols.h"
#include "verify/proof/term.h"

namespace isomer::verify {
namespace {

using Text = std::optional<std::string>;

Text quotient(te::BinaryOp op, const std::string& a, const std::string& b) {
  // SMT-LIB's div rounds so that the remainder is not negative: down where the divisor is positive.
  const std::string down = fmt::format("(ite (> {1} 0) (div {0} {1}) (div (- {0}) (- {1})))", a, b);
  if (op == te::BinaryOp::kFloorDiv) return down;
  if (op == te::BinaryOp::kFloorMod) return fmt::format("(- {} (* {} {}))", a, b, down);
  const std::string toward_zero = fmt::format(
      "(ite (>= {0} 0) (ite (> {1} 0) (div {0} {1}) (- (div {0} (- {1})))) (ite (> {1} 0) (- (div (- {0}) {1})) (div "
      "(- {0}) (- {1}))))",
      a, b);
  if (op == te::BinaryOp::kDiv) return toward_zero;
  return fmt::format("(- {} (* {} {}))", a, b, toward_zero);
}

Text binary(const te::Binary& e) {
  using enum te::BinaryOp;
  const Text left = smt_text(e.left), right = smt_text(e.right);
  if (!left || !right) return std::nullopt;
  const std::string &a = *left, &b = *right;
  const auto plain = [&](std::string_view word) { return fmt::format("({} {} {})", word, a, b); };
  switch (e.op) {
    case kAdd: return plain("+");
    case kSub: return plain("-");
    case kMul: return plain("*");
    case kMin: return fmt::format("(ite (<= {0} {1}) {0} {1})", a, b);
    case kMax: return fmt::format("(ite (<= {0} {1}) {1} {0})", a, b);
    case kEqual: return plain("=");
    case kLess: return plain("<");
    case kLessEqual: return plain("<=");
    case kDiv:
    case kFloorDiv:
    case kFloorMod:
    case kTruncMod: return quotient(e.op, a, b);
    case kAnd:
    case kOr:
    case kXor:
      if (e.left.dtype() != DataType::kBool) return std::nullopt;
      return plain(e.op == kAnd ? "and" : e.op == kOr ? "or" : "xor");
    case kPow:
    case kShiftLeft:
    case kShiftRight: return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

std::string smt_number(const te::Rational& value) {
  std::string text = value.text();
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.erase(0, 1);
  const size_t slash = text.find('/');
  text = slash == std::string::npos ? text + ".0"
                                    : fmt::format("(/ {}.0 {}.0)", text.substr(0, slash), text.substr(slash + 1));
  return is_negative ? "(- " + text + ")" : text;
}

std::string smt_joined(std::string_view operation, const std::vector<std::string>& words, std::string_view none) {
  if (words.empty()) return std::string(none);
  if (words.size() == 1) return words[0];
  return fmt::format("({} {})", operation, fmt::join(words, " "));
}

std::optional<std::string> smt_text(const te::Expr& expr) {
  if (expr.dtype() != DataType::kInt64 && expr.dtype() != DataType::kBool) return std::nullopt;
  const auto none = [](const auto&) { return Text(); };
  return te::visit(
      expr,
      [&](const te::Literal&) -> Text {
        const int64_t value = te::as_constant(expr).value_or(0);
        if (expr.dtype() == DataType::kBool) return value != 0 ? "true" : "false";
        return value < 0 ? fmt::format("(- {})", -value) : fmt::format("{}", value);
      },
      [&](const te::Symbol& e) -> Text {
        // What SMT-LIB has no quotes for would be read as something else.
        return e.name.find_first_of("|\\") == std::string::npos ? Text("|" + e.name + "|") : std::nullopt;
      },
      [&](const te::Binary& e) { return binary(e); },
      [&](const te::Unary& e) -> Text {
        const Text operand = smt_text(e.operand);
        if (!operand) return std::nullopt;
        if (e.op == te::UnaryOp::kNeg) return "(- " + *operand + ")";
        if (e.op == te::UnaryOp::kNot && e.operand.dtype() == DataType::kBool) return "(not " + *operand + ")";
        return std::nullopt;
      },
      [&](const te::Select& e) -> Text {
        const Text condition = smt_text(e.condition), then = smt_text(e.then), otherwise = smt_text(e.otherwise);
        if (!condition || !then || !otherwise) return std::nullopt;
        return fmt::format("(ite {} {} {})", *condition, *then, *otherwise);
      },
      [&](const te::Var& e) { return none(e); }, [&](const te::Cast& e) { return none(e); },
      [&](const te::Load& e) { return none(e); });
}

std::optional<std::string> smt_facts(std::span<const te::Expr> facts, std::span<const te::Expr> others,
                                     const ElementMaker& make) {
  std::set<std::string> all;
  for (const std::span<const te::Expr> exprs : {facts, others})
    for (const te::Expr& expr : exprs) all.merge(names(expr));
  std::string result;
  for (const std::string& name : all) {
    const Text symbol = smt_text(te::symbol(name));
    if (!symbol) return std::nullopt;
    result += fmt::format("(declare-const {} Int)\n", *symbol);
    if (!make.is_bounded(name)) result += fmt::format("(assert (>= {} {}))\n", *symbol, make.least(name));
  }
  for (const te::Expr& fact : facts) {
    const Text text = smt_text(fact);
    if (!text) return std::nullopt;
    result += "(assert " + *text + ")\n";
  }
  return result;
}

}  // namespace isomer::verify
