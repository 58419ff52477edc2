// Scalar expressions: the bodies, indices, extents and conditions of tensor expressions. Immutable, shared, typed.
//
// A variable is named by its role and position (the k-th spatial or reduction iterator of the stage around it), not by
// an identity: two stages that mean the same are equal and hash equally.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/te/dtype.h"
#include "graph/te/number.h"
#include "util/hash.h"

namespace isomer::te {

enum class VarKind : uint8_t {
  kSpatial,  ///< the k-th axis of the value that a stage defines
  kReduce,   ///< the k-th iterator that a reduction sums over, or that an update runs over
  kTime,     ///< the step of the scan around an inner stage
  kLeft,     ///< k-th component of the left operand of a monoid
  kRight,    ///< k-th component of its right operand
  kLoop,     ///< the k-th loop variable of an imperative stage
};

enum class UnaryOp : uint8_t {
  kNeg,
  kAbs,
  kFloor,
  kCeil,
  kRound /* half to even */,
  kSqrt,
  kExp,
  kLog,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kNot /* bool, or bitwise on integers */,
  kIsNan,
};

enum class BinaryOp : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,       ///< exact on reals, truncating toward zero on integers (x / 0 is an error where it is evaluated)
  kFloorDiv,  ///< integers, rounds toward -inf
  kFloorMod,  ///< sign of the divisor, on reals too
  kTruncMod,  ///< C's fmod and %: sign of the dividend
  kPow,
  kMin,
  kMax,  ///< propagate NaN, as ONNX does
  kAnd,
  kOr,
  kXor,  ///< on bool, or bitwise on integers
  kShiftLeft,
  kShiftRight,
  kEqual,
  kLess,
  kLessEqual,  ///< give bool
};

constexpr bool is_comparison(BinaryOp op) {
  return op == BinaryOp::kEqual || op == BinaryOp::kLess || op == BinaryOp::kLessEqual;
}

struct ExprNode;

/// Where a load reads from.
struct BufferRef {
  enum class Kind : uint8_t {
    kInput,  ///< the operator's input `index`
    kStage,  ///< component `component` of an earlier stage `index` of the same program
    kInner,  ///< inside a scan: inner stage `index` of this step
    kState,  ///< inside a scan: state `index` after the step before (its init at step 0)
    kLocal,  ///< inside an imperative stage: local or output buffer `index`
  };
  Kind kind = Kind::kInput;
  int index = 0;
  int component = 0;
  bool operator==(const BufferRef&) const = default;
};

class Expr {
 public:
  Expr() = default;  ///< empty; only assignable
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}

  explicit operator bool() const { return node_ != nullptr; }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* operator->() const { return node_.get(); }
  const std::shared_ptr<const ExprNode>& node() const { return node_; }
  DataType dtype() const;
  /// Structural; shares the work by comparing hashes first.
  bool operator==(const Expr& other) const;

 private:
  std::shared_ptr<const ExprNode> node_;
};

struct Literal {
  Number value;
  bool operator==(const Literal&) const = default;
};
struct Var {
  VarKind kind;
  int index;
  bool operator==(const Var&) const = default;
};
/// A named dim whose value is fixed before evaluation; an integer >= 0.
struct Symbol {
  std::string name;
  bool operator==(const Symbol&) const = default;
};
struct Unary {
  UnaryOp op;
  Expr operand;
  bool operator==(const Unary&) const = default;
};
struct Binary {
  BinaryOp op;
  Expr left, right;
  bool operator==(const Binary&) const = default;
};
/// Only the chosen side is evaluated: a load behind a condition may be out of bounds where the condition is false.
struct Select {
  Expr condition, then, otherwise;
  bool operator==(const Select&) const = default;
};
/// ONNX Cast to the node's dtype: reals to integers truncate toward zero, integers wrap, to bool means != 0, to a
/// narrower float rounds to nearest even.
struct Cast {
  Expr operand;
  bool operator==(const Cast&) const = default;
};
struct Load {
  BufferRef buffer;
  std::vector<Expr> index;  ///< one int64 expression an axis
  bool operator==(const Load&) const = default;
};

struct ExprNode {
  using Body = std::variant<Literal, Var, Symbol, Unary, Binary, Select, Cast, Load>;
  DataType dtype;
  Body body;
  Hash128 hash;
};

inline DataType Expr::dtype() const { return node_->dtype; }

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

/// visit(expr, handlers…): exhaustive over the kinds of node; a missing kind does not compile.
template <class... F>
decltype(auto) visit(const Expr& expr, F&&... handlers) {
  return std::visit(Overloaded{std::forward<F>(handlers)...}, expr->body);
}

/// The node as a T, or nullptr.
template <class T>
const T* as(const Expr& expr) {
  return std::get_if<T>(&expr->body);
}

// Constructors. Operands of one binary operator have one dtype (CHECKed). Integer arithmetic on literals and the
// neutral elements is folded at once (saturating at ±2^62, so that hostile sizes cannot wrap); reals are left as
// written.
Expr literal(Number value, DataType dtype);
Expr index(int64_t value);  ///< an int64 literal
Expr truth(bool value);
Expr var(VarKind kind, int index);                      ///< an int64 iterator
Expr operand(VarKind side, int index, DataType dtype);  ///< kLeft or kRight component of a monoid
Expr axis(int k);                                       ///< spatial iterator k
Expr reduce_axis(int k);                                ///< reduction iterator k
Expr symbol(std::string name);
Expr unary(UnaryOp op, Expr operand);
Expr binary(BinaryOp op, Expr left, Expr right);
Expr select(Expr condition, Expr then, Expr otherwise);
Expr cast(DataType dtype, Expr operand);  ///< the operand itself when it has that dtype already
Expr load(BufferRef buffer, DataType dtype, std::vector<Expr> index);

inline Expr operator+(Expr a, Expr b) { return binary(BinaryOp::kAdd, std::move(a), std::move(b)); }
inline Expr operator-(Expr a, Expr b) { return binary(BinaryOp::kSub, std::move(a), std::move(b)); }
inline Expr operator*(Expr a, Expr b) { return binary(BinaryOp::kMul, std::move(a), std::move(b)); }
inline Expr operator/(Expr a, Expr b) { return binary(BinaryOp::kDiv, std::move(a), std::move(b)); }
inline Expr operator-(Expr a) { return unary(UnaryOp::kNeg, std::move(a)); }
inline Expr operator<(Expr a, Expr b) { return binary(BinaryOp::kLess, std::move(a), std::move(b)); }
inline Expr operator<=(Expr a, Expr b) { return binary(BinaryOp::kLessEqual, std::move(a), std::move(b)); }
inline Expr operator&&(Expr a, Expr b) { return binary(BinaryOp::kAnd, std::move(a), std::move(b)); }
inline Expr operator||(Expr a, Expr b) { return binary(BinaryOp::kOr, std::move(a), std::move(b)); }
inline Expr logical_not(Expr a) { return unary(UnaryOp::kNot, std::move(a)); }
inline Expr equal(Expr a, Expr b) { return binary(BinaryOp::kEqual, std::move(a), std::move(b)); }
inline Expr min(Expr a, Expr b) { return binary(BinaryOp::kMin, std::move(a), std::move(b)); }
inline Expr max(Expr a, Expr b) { return binary(BinaryOp::kMax, std::move(a), std::move(b)); }
inline Expr floor_div(Expr a, Expr b) { return binary(BinaryOp::kFloorDiv, std::move(a), std::move(b)); }
inline Expr floor_mod(Expr a, Expr b) { return binary(BinaryOp::kFloorMod, std::move(a), std::move(b)); }
inline Expr pow(Expr a, Expr b) { return binary(BinaryOp::kPow, std::move(a), std::move(b)); }
inline Expr exp(Expr a) { return unary(UnaryOp::kExp, std::move(a)); }
inline Expr log(Expr a) { return unary(UnaryOp::kLog, std::move(a)); }
inline Expr sqrt(Expr a) { return unary(UnaryOp::kSqrt, std::move(a)); }
inline Expr abs(Expr a) { return unary(UnaryOp::kAbs, std::move(a)); }
inline Expr tanh(Expr a) { return unary(UnaryOp::kTanh, std::move(a)); }
inline Expr erf(Expr a) { return unary(UnaryOp::kErf, std::move(a)); }

// A number beside an expression takes the expression's dtype: x * 0.5, i + 1.
inline Expr operator+(Expr a, Number b) { return a + literal(b, a.dtype()); }
inline Expr operator-(Expr a, Number b) { return a - literal(b, a.dtype()); }
inline Expr operator*(Expr a, Number b) { return a * literal(b, a.dtype()); }
inline Expr operator/(Expr a, Number b) { return a / literal(b, a.dtype()); }
inline Expr operator+(Number a, Expr b) { return literal(a, b.dtype()) + b; }
inline Expr operator-(Number a, Expr b) { return literal(a, b.dtype()) - b; }
inline Expr operator*(Number a, Expr b) { return literal(a, b.dtype()) * b; }
inline Expr operator/(Number a, Expr b) { return literal(a, b.dtype()) / b; }
inline Expr operator<(Expr a, Number b) { return a < literal(b, a.dtype()); }
inline Expr operator<(Number a, Expr b) { return literal(a, b.dtype()) < b; }
inline Expr operator<=(Expr a, Number b) { return a <= literal(b, a.dtype()); }
inline Expr operator<=(Number a, Expr b) { return literal(a, b.dtype()) <= b; }
inline Expr equal(Expr a, Number b) { return equal(a, literal(b, a.dtype())); }
inline Expr min(Expr a, Number b) { return min(a, literal(b, a.dtype())); }
inline Expr max(Expr a, Number b) { return max(a, literal(b, a.dtype())); }

/// The value of an integer literal.
std::optional<int64_t> as_constant(const Expr& expr);

/// Rebuilds `expr` bottom-up: `replace` is asked for each node after its children were rebuilt and returns an empty
/// Expr to keep it. What folds into a child is not asked again: replacing a Var by itself plus one ends.
template <class F>
Expr transform(const Expr& expr, F&& replace);

/// Calls `look` on every node, parents first.
template <class F>
void for_each_node(const Expr& expr, F&& look);

/// Whether some node is what `is` looks for.
template <class F>
bool any_node(const Expr& expr, F&& is);
bool has_load(const Expr& expr);

namespace detail {
/// The same node over other children; children in the order that `children` lists them.
Expr with_children(const Expr& expr, std::vector<Expr> children);
std::vector<Expr> children(const Expr& expr);
}  // namespace detail

template <class F>
Expr transform(const Expr& expr, F&& replace) {
  std::vector<Expr> children = detail::children(expr);
  bool changed = false;
  for (Expr& child : children) {
    Expr rebuilt = transform(child, replace);
    changed |= !(rebuilt == child);
    child = std::move(rebuilt);
  }
  const Expr rebuilt = changed ? detail::with_children(expr, children) : expr;
  for (const Expr& child : children)
    if (&*child == &*rebuilt) return rebuilt;
  Expr replacement = replace(rebuilt);
  return replacement ? replacement : rebuilt;
}

template <class F>
void for_each_node(const Expr& expr, F&& look) {
  look(expr);
  for (const Expr& child : detail::children(expr)) for_each_node(child, look);
}

template <class F>
bool any_node(const Expr& expr, F&& is) {
  if (is(expr)) return true;
  for (const Expr& child : detail::children(expr))
    if (any_node(child, is)) return true;
  return false;
}

inline bool has_load(const Expr& expr) {
  return any_node(expr, [](const Expr& e) { return as<Load>(e) != nullptr; });
}

}  // namespace isomer::te

template <>
struct std::hash<isomer::te::Expr> {
  size_t operator()(const isomer::te::Expr& expr) const { return std::hash<isomer::Hash128>()(expr->hash); }
};
