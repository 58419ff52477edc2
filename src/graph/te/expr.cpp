#include "graph/te/expr.h"

#include <algorithm>

#include "graph/te/integer.h"
#include "util/check.h"

namespace isomer::te {
namespace {

void hash_ref(Hasher& hasher, const BufferRef& buffer) {
  hasher.add(static_cast<uint64_t>(buffer.kind)).add(static_cast<uint64_t>(buffer.index));
  hasher.add(static_cast<uint64_t>(buffer.component));
}

Expr make(DataType dtype, ExprNode::Body body) {
  Hasher hasher;
  hasher.add(static_cast<uint64_t>(dtype)).add(static_cast<uint64_t>(body.index()));
  std::visit(
      Overloaded{[&](const Literal& e) { e.value.hash_into(hasher); },
                 [&](const Var& e) { hasher.add(static_cast<uint64_t>(e.kind)).add(static_cast<uint64_t>(e.index)); },
                 [&](const Symbol& e) { hasher.add(e.name); },
                 [&](const Unary& e) { hasher.add(static_cast<uint64_t>(e.op)).add(e.operand->hash); },
                 [&](const Binary& e) { hasher.add(static_cast<uint64_t>(e.op)).add(e.left->hash).add(e.right->hash); },
                 [&](const Select& e) { hasher.add(e.condition->hash).add(e.then->hash).add(e.otherwise->hash); },
                 [&](const Cast& e) { hasher.add(e.operand->hash); },
                 [&](const Load& e) {
                   hash_ref(hasher, e.buffer);
                   for (const Expr& i : e.index) hasher.add(i->hash);
                 }},
      body);
  return Expr(std::make_shared<const ExprNode>(ExprNode{dtype, std::move(body), hasher.finish()}));
}

/// The folded value of an int64 operation on two literals; nothing where it has none (division by zero), or where it is
/// none of 64 bits: elements wrap there, places don't come there.
std::optional<int64_t> fold(BinaryOp op, int64_t a, int64_t b) {
  const auto fitting = [](__int128 value) {
    const auto narrow = static_cast<int64_t>(value);
    return narrow == value ? std::optional(narrow) : std::nullopt;
  };
  const auto wide = static_cast<__int128>(a);
  switch (op) {
    case BinaryOp::kAdd: return fitting(wide + b);
    case BinaryOp::kSub: return fitting(wide - b);
    case BinaryOp::kMul: return fitting(wide * b);
    case BinaryOp::kDiv: return b == 0 ? std::nullopt : fitting(wide / b);
    case BinaryOp::kFloorDiv: return b == 0 ? std::nullopt : b == -1 ? fitting(-wide) : std::optional(floor_div(a, b));
    case BinaryOp::kFloorMod: return b == 0 ? std::nullopt : std::optional(floor_mod(a, b));
    case BinaryOp::kTruncMod: return b == 0 ? std::nullopt : std::optional(b == -1 ? 0 : a % b);
    case BinaryOp::kMin: return std::min(a, b);
    case BinaryOp::kMax: return std::max(a, b);
    case BinaryOp::kEqual: return a == b;
    case BinaryOp::kLess: return a < b;
    case BinaryOp::kLessEqual: return a <= b;
    case BinaryOp::kPow:
    case BinaryOp::kAnd:
    case BinaryOp::kOr:
    case BinaryOp::kXor:
    case BinaryOp::kShiftLeft:
    case BinaryOp::kShiftRight: return std::nullopt;
  }
  return std::nullopt;
}

/// Neutral and absorbing elements of int64 arithmetic; empty when none applies.
Expr fold_neutral(BinaryOp op, const Expr& left, const Expr& right) {
  const auto a = as_constant(left);
  const auto b = as_constant(right);
  switch (op) {
    case BinaryOp::kAdd: return a == 0 ? right : b == 0 ? left : Expr();
    case BinaryOp::kSub: return b == 0 ? left : Expr();
    case BinaryOp::kMul: return a == 1 ? right : b == 1 ? left : a == 0 ? left : b == 0 ? right : Expr();
    case BinaryOp::kDiv:
    case BinaryOp::kFloorDiv: return b == 1 ? left : Expr();
    case BinaryOp::kFloorMod: return b == 1 ? index(0) : Expr();
    default: return Expr();
  }
}

/// And, Or on bools where one side is a literal.
Expr fold_logic(BinaryOp op, const Expr& left, const Expr& right) {
  const auto a = as_constant(left);
  const auto b = as_constant(right);
  if (op == BinaryOp::kAnd) return a ? (*a ? right : left) : b ? (*b ? left : right) : Expr();
  if (op == BinaryOp::kOr) return a ? (*a ? left : right) : b ? (*b ? right : left) : Expr();
  return Expr();
}

}  // namespace

bool Expr::operator==(const Expr& other) const {
  if (node_ == other.node_) return true;
  if (!node_ || !other.node_) return false;
  return node_->hash == other.node_->hash && node_->dtype == other.node_->dtype && node_->body == other.node_->body;
}

std::optional<int64_t> as_constant(const Expr& expr) {
  const Literal* literal = as<Literal>(expr);
  if (!literal || !literal->value.is_integer()) return std::nullopt;
  return literal->value.to_int64();
}

Expr literal(Number value, DataType dtype) { return make(dtype, Literal{value}); }
Expr index(int64_t value) { return literal(Number(value), DataType::kInt64); }
Expr truth(bool value) { return literal(Number(static_cast<int64_t>(value)), DataType::kBool); }
Expr var(VarKind kind, int index) { return make(DataType::kInt64, Var{kind, index}); }
Expr operand(VarKind side, int index, DataType dtype) { return make(dtype, Var{side, index}); }
Expr axis(int k) { return var(VarKind::kSpatial, k); }
Expr reduce_axis(int k) { return var(VarKind::kReduce, k); }
Expr symbol(std::string name) { return make(DataType::kInt64, Symbol{std::move(name)}); }

Expr unary(UnaryOp op, Expr operand) {
  if (operand.dtype() == DataType::kBool && op == UnaryOp::kNot)
    if (const auto value = as_constant(operand)) return truth(!*value);
  const DataType dtype = op == UnaryOp::kIsNan ? DataType::kBool : operand.dtype();
  return make(dtype, Unary{op, std::move(operand)});
}

Expr binary(BinaryOp op, Expr left, Expr right) {
  CHECK(left.dtype() == right.dtype()) << "binary " << static_cast<int>(op) << " of " << name(left.dtype()) << " and "
                                       << name(right.dtype());
  const DataType dtype = is_comparison(op) ? DataType::kBool : left.dtype();
  if (left.dtype() == DataType::kInt64) {
    if (const auto a = as_constant(left), b = as_constant(right); a && b)
      if (const auto folded = fold(op, *a, *b)) return literal(Number(*folded), dtype);
    if (Expr folded = fold_neutral(op, left, right)) return folded;
  } else if (left.dtype() == DataType::kBool) {
    if (Expr folded = fold_logic(op, left, right)) return folded;
  }
  return make(dtype, Binary{op, std::move(left), std::move(right)});
}

Expr select(Expr condition, Expr then, Expr otherwise) {
  CHECK(condition.dtype() == DataType::kBool);
  CHECK(then.dtype() == otherwise.dtype()) << "select of " << name(then.dtype()) << " and " << name(otherwise.dtype());
  if (const auto value = as_constant(condition)) return *value ? then : otherwise;
  const DataType dtype = then.dtype();
  return make(dtype, Select{std::move(condition), std::move(then), std::move(otherwise)});
}

Expr cast(DataType dtype, Expr operand) {
  if (operand.dtype() == dtype) return operand;
  return make(dtype, Cast{std::move(operand)});
}

Expr load(BufferRef buffer, DataType dtype, std::vector<Expr> index) {
  for (const Expr& i : index) CHECK(i.dtype() == DataType::kInt64);
  return make(dtype, Load{buffer, std::move(index)});
}

namespace detail {

std::vector<Expr> children(const Expr& expr) {
  return visit(
      expr, [](const Literal&) { return std::vector<Expr>(); }, [](const Var&) { return std::vector<Expr>(); },
      [](const Symbol&) { return std::vector<Expr>(); }, [](const Unary& e) { return std::vector{e.operand}; },
      [](const Binary& e) { return std::vector{e.left, e.right}; },
      [](const Select& e) { return std::vector{e.condition, e.then, e.otherwise}; },
      [](const Cast& e) { return std::vector{e.operand}; }, [](const Load& e) { return e.index; });
}

Expr with_children(const Expr& expr, std::vector<Expr> children) {
  return visit(
      expr, [&](const Literal&) { return expr; }, [&](const Var&) { return expr; }, [&](const Symbol&) { return expr; },
      [&](const Unary& e) { return unary(e.op, children[0]); },
      [&](const Binary& e) { return binary(e.op, children[0], children[1]); },
      [&](const Select&) { return select(children[0], children[1], children[2]); },
      [&](const Cast&) { return cast(expr.dtype(), children[0]); },
      [&](const Load& e) { return load(e.buffer, expr.dtype(), std::move(children)); });
}

}  // namespace detail
}  // namespace isomer::te
