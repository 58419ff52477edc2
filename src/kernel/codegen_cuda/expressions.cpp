#include "kernel/codegen_cuda/expressions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "graph/te/integer.h"
#include "kernel/codegen_cuda/types.h"
#include "kernel/narrow_floats.h"
#include "kernel/unsupported.h"
#include "util/check.h"

namespace isomer::kernel::cuda {
namespace {

using te::BinaryOp;
using te::UnaryOp;

std::string_view name(UnaryOp op) {
  switch (op) {
    case UnaryOp::kNeg: return "neg";
    case UnaryOp::kAbs: return "abs";
    case UnaryOp::kFloor: return "floor";
    case UnaryOp::kCeil: return "ceil";
    case UnaryOp::kRound: return "round";
    case UnaryOp::kSqrt: return "sqrt";
    case UnaryOp::kExp: return "exp";
    case UnaryOp::kLog: return "log";
    case UnaryOp::kSin: return "sin";
    case UnaryOp::kCos: return "cos";
    case UnaryOp::kTan: return "tan";
    case UnaryOp::kAsin: return "asin";
    case UnaryOp::kAcos: return "acos";
    case UnaryOp::kAtan: return "atan";
    case UnaryOp::kSinh: return "sinh";
    case UnaryOp::kCosh: return "cosh";
    case UnaryOp::kTanh: return "tanh";
    case UnaryOp::kAsinh: return "asinh";
    case UnaryOp::kAcosh: return "acosh";
    case UnaryOp::kAtanh: return "atanh";
    case UnaryOp::kErf: return "erf";
    case UnaryOp::kNot: return "bit_not";
    case UnaryOp::kIsNan: return "is_nan";
  }
  return "";
}

std::string_view exp_of_half(DataType dtype) { return dtype == DataType::kFloat16 ? "exp_of_f16" : "exp_of_bf16"; }

/// An operator, or a function of the prelude.
std::string_view name(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return "add";
    case BinaryOp::kSub: return "sub";
    case BinaryOp::kMul: return "mul";
    case BinaryOp::kDiv: return "div";
    case BinaryOp::kFloorDiv: return "floor_div";
    case BinaryOp::kFloorMod: return "floor_mod";
    case BinaryOp::kTruncMod: return "trunc_mod";
    case BinaryOp::kPow: return "power";
    case BinaryOp::kMin: return "min";
    case BinaryOp::kMax: return "max";
    case BinaryOp::kAnd: return "&";
    case BinaryOp::kOr: return "|";
    case BinaryOp::kXor: return "^";
    case BinaryOp::kShiftLeft: return "shift_left";
    case BinaryOp::kShiftRight: return "shift_right";
    case BinaryOp::kEqual: return "==";
    case BinaryOp::kLess: return "<";
    case BinaryOp::kLessEqual: return "<=";
  }
  return "";
}

std::string_view operator_of_reals(BinaryOp op) {
  switch (op) {
    case BinaryOp::kAdd: return "+";
    case BinaryOp::kSub: return "-";
    case BinaryOp::kMul: return "*";
    case BinaryOp::kDiv: return "/";
    default: return "";
  }
}

/// Whether the first operand decides which of the others are evaluated.
bool decides_alone(const Expr& expr) {
  const auto* e = te::as<te::Binary>(expr);
  const bool is_logical = e && expr.dtype() == DataType::kBool && (e->op == BinaryOp::kAnd || e->op == BinaryOp::kOr);
  return is_logical || te::as<te::Select>(expr);
}

/// Divisions, functions, and roundings to halves.
bool is_dear(const Expr& expr) {
  if (const auto* e = te::as<te::Binary>(expr))
    return is_float(expr.dtype()) && (e->op == BinaryOp::kDiv || e->op == BinaryOp::kPow);
  if (const auto* e = te::as<te::Unary>(expr))
    return is_float(expr.dtype()) && e->op != UnaryOp::kNeg && e->op != UnaryOp::kAbs;
  return te::as<te::Cast>(expr) && is_narrow_float(expr.dtype());
}

bool is_rounding(UnaryOp op) { return op == UnaryOp::kFloor || op == UnaryOp::kCeil || op == UnaryOp::kRound; }

void check_function_of_integers(const te::Unary& e) {
  const bool is_of_integers = e.op == UnaryOp::kNeg || e.op == UnaryOp::kAbs || e.op == UnaryOp::kNot;
  if (!is_float(e.operand.dtype()) && !is_of_integers)
    fail_unsupported("a transcendental function of {} has no meaning", name(e.operand.dtype()));
}

/// "(i * 4)" for more than a name or a literal.
std::string in_parentheses(std::string text) {
  const bool is_word = std::all_of(text.begin(), text.end(), [](char c) { return std::isalnum(c) || c == '_'; });
  return is_word ? text : "(" + text + ")";
}

}  // namespace

void Expressions::operands(std::vector<std::string> left, std::vector<std::string> right) {
  left_ = std::move(left);
  right_ = std::move(right);
}

void Expressions::begin(const std::vector<Expr>& together, const std::vector<Expr>& inside) {
  uses_.clear();
  always_.clear();
  faults_.clear();
  for (const Expr& load : inside) faults_[load->hash] = false;
  known_ = hoisted_;
  const std::function<void(const Expr&)> count = [&](const Expr& expr) {
    if (uses_[expr->hash]++ > 0) return;
    for (const Expr& child : te::detail::children(expr)) count(child);
  };
  for (const Expr& expr : together) {
    count(expr);
    mark(expr);
  }
}

void Expressions::mark(const Expr& expr) {
  if (!always_.insert(expr->hash).second) return;
  const std::vector<Expr> children = te::detail::children(expr);
  for (size_t k = 0; k < (decides_alone(expr) ? 1 : children.size()); ++k) mark(children[k]);
}

std::string Expressions::side_of_select(const Expr& expr) {
  std::unordered_set<Hash128> seen;
  const std::function<bool(const Expr&)> repeats = [&](const Expr& e) {
    return may_fault(e) && (!seen.insert(e->hash).second || std::ranges::any_of(te::detail::children(e), repeats));
  };
  if (!repeats(expr)) return value(expr);
  // The names of what may fault stand behind the condition, too.
  std::vector<std::string> lines;
  auto write = std::exchange(write_, [&](std::string line) { lines.push_back(std::move(line)); });
  const auto known = known_;
  const auto always = always_;
  mark(expr);
  const std::string result = value(expr);
  known_ = known;
  always_ = always;
  write_ = std::move(write);
  return fmt::format("[&]() -> {} {{ {} return {}; }}()", register_type(expr.dtype()), fmt::join(lines, " "), result);
}

bool Expressions::may_fault(const Expr& expr) {
  if (const auto known = faults_.find(expr->hash); known != faults_.end()) return known->second;
  const std::vector<Expr> children = te::detail::children(expr);
  const auto* e = te::as<te::Binary>(expr);
  bool result = te::as<te::Load>(expr) && !plans_.of_load(expr).is_proved;
  result |= e && divides(e->op) && !is_float(e->left.dtype()) && te::as_constant(e->right).value_or(0) == 0;
  for (const Expr& child : children) result = result || may_fault(child);
  return faults_[expr->hash] = result;
}

void Expressions::hoist(const std::vector<Expr>& bodies, const std::function<bool(const Expr&)>& is_same) {
  begin(bodies);
  const std::function<void(const Expr&)> look = [&](const Expr& expr) {
    if (hoisted_.contains(expr->hash)) return;
    if (!te::any_node(expr, is_dear) || !always_.contains(expr->hash)) return;
    if (!is_same(expr)) {
      for (const Expr& child : te::detail::children(expr)) look(child);
      return;
    }
    const std::string name = fresh("same");
    write_(fmt::format("const {} {} = {};", register_type(expr.dtype()), name, text(expr)));
    hoisted_[expr->hash] = name;
  };
  for (const Expr& body : bodies) look(body);
}

std::string Expressions::value(const Expr& expr) {
  if (const auto found = known_.find(expr->hash); found != known_.end()) return found->second;
  std::string result = text(expr);
  const auto uses = uses_.find(expr->hash);
  const bool is_plain = te::as<te::Literal>(expr) || te::as<te::Var>(expr);
  if (is_plain || uses == uses_.end() || uses->second < 2) return result;
  if (!always_.contains(expr->hash) && may_fault(expr)) return result;
  const std::string name = fresh("t");
  write_(fmt::format("const {} {} = {};", register_type(expr.dtype()), name, result));
  return known_[expr->hash] = name;
}

std::string Expressions::rounded_value(const Expr& expr) {
  const bool is_done = !is_unrounded(expr, [](int) { return false; });
  return is_done ? value(expr) : rounded(expr.dtype(), value(expr));
}

std::string Expressions::text(const Expr& expr) {
  if (is_index(expr)) return is_narrow(expr) ? fmt::format("i64({})", integer(expr, false)) : integer(expr, true);
  return te::visit(
      expr, [&](const te::Literal& e) { return literal_text(e.value, expr.dtype()); },
      [&](const te::Var& e) {
        const auto& side = e.kind == te::VarKind::kLeft ? left_ : right_;
        CHECK(e.kind == te::VarKind::kLeft || e.kind == te::VarKind::kRight) << "an iterator that is not bound";
        return side.at(static_cast<size_t>(e.index));
      },
      [&](const te::Symbol& e) -> std::string { fail_unsupported("the size '{}' is not known", e.name); },
      [&](const te::Unary& e) {
        const DataType dtype = e.operand.dtype();
        if (!is_float(dtype) && is_rounding(e.op)) return value(e.operand);
        if (!is_float(dtype) && e.op == UnaryOp::kIsNan) return std::string("false");
        check_function_of_integers(e);
        const bool is_of_half = e.op == UnaryOp::kExp && bit_width(dtype) == 16;
        return fmt::format("op::{}({})", is_of_half ? exp_of_half(dtype) : name(e.op), value(e.operand));
      },
      [&](const te::Binary& e) { return binary(e); },
      [&](const te::Select& e) {
        const std::string condition = value(e.condition);
        return fmt::format("({} ? {} : {})", condition, side_of_select(e.then), side_of_select(e.otherwise));
      },
      [&](const te::Cast& e) {
        const bool is_rounded = te::as<te::Load>(e.operand) || te::as<te::Cast>(e.operand);
        return converted(e.operand.dtype(), expr.dtype(), value(e.operand), is_rounded);
      },
      [&](const te::Load& e) {
        if (const Loaded* known = loaded(expr)) return known->value;
        return from_element(kernel_.buffers[static_cast<size_t>(e.buffer.index)], element(plans_.of_load(expr)));
      });
}

std::string Expressions::binary(const te::Binary& e) {
  const DataType dtype = e.left.dtype();
  const bool is_real = is_float(dtype);
  const bool is_rounded = compares_rounded(e);
  std::string a = is_rounded ? rounded_value(e.left) : value(e.left);
  std::string b = is_rounded ? rounded_value(e.right) : value(e.right);
  if (is_comparison(e.op)) {
    if (is_index(e.left) && is_index(e.right) && is_narrow(e.left) && is_narrow(e.right)) {
      a = integer(e.left, false);
      b = integer(e.right, false);
    }
    return fmt::format("({} {} {})", a, name(e.op), b);
  }
  // Both sides of && are evaluated nowhere else: the right one may hold only where the left one does.
  if (dtype == DataType::kBool && e.op == BinaryOp::kAnd) return fmt::format("({} && {})", a, b);
  if (dtype == DataType::kBool && e.op == BinaryOp::kOr) return fmt::format("({} || {})", a, b);
  if (e.op == BinaryOp::kAnd || e.op == BinaryOp::kOr || e.op == BinaryOp::kXor)
    return fmt::format("{}({} {} {})", register_type(dtype), a, name(e.op), b);
  if (is_real && !operator_of_reals(e.op).empty()) return fmt::format("({} {} {})", a, operator_of_reals(e.op), b);
  const bool may_be_zero = divides(e.op) && !is_real && te::as_constant(e.right).value_or(0) == 0;
  if (may_be_zero) b = fmt::format("op::divisor({}, outcome)", b);
  if (dtype == DataType::kBool && divides(e.op)) fail_unsupported("a division of bools has no code");
  return fmt::format("op::{}({}, {})", name(e.op), a, b);
}

// Indices

bool Expressions::is_index(const Expr& expr) const {
  return expr.dtype() == DataType::kInt64 && !te::any_node(expr, [](const Expr& e) {
           const auto* variable = te::as<te::Var>(e);
           const bool is_loop = variable && variable->kind == te::VarKind::kLoop;
           return te::as<te::Load>(e) || te::as<te::Cast>(e) || te::as<te::Symbol>(e) || (variable && !is_loop);
         });
}

bool Expressions::is_narrow(const Expr& expr) const {
  constexpr int64_t kLimit = int64_t{1} << 31;
  return !te::any_node(expr, [&](const Expr& e) {
    if (e.dtype() != DataType::kInt64) return false;
    const te::Interval range = te::bounds(e, ranges_.ranges());
    return !range.low || !range.high || *range.low <= -kLimit || *range.high >= kLimit;
  });
}

std::string Expressions::index(const Expr& expr) {
  if (!is_index(expr)) return value(expr);
  return integer(expr, !is_narrow(expr));
}

/// Arithmetic of loop variables. Operators of C++ stand for what stays in 64 bits, functions for what may wrap.
std::string Expressions::integer(const Expr& expr, bool is_wide) {
  const auto operand = [&](const Expr& e) { return in_parentheses(integer(e, is_wide)); };
  const bool is_bool = expr.dtype() == DataType::kBool;
  const auto is_inside = [&](const Expr& e) {
    const te::Interval range = te::bounds(e, ranges_.ranges());
    return range.low && range.high;
  };
  return te::visit(
      expr,
      [&](const te::Literal& e) {
        const int64_t value = e.value.to_int64();
        if (is_bool || value == INT64_MIN) return literal_text(e.value, expr.dtype());
        return fmt::format("{}{}", value, is_wide ? "ll" : "");
      },
      [&](const te::Var& e) { return is_wide ? fmt::format("i64(k{})", e.index) : fmt::format("k{}", e.index); },
      [&](const te::Unary& e) {
        if (e.op == UnaryOp::kIsNan) return std::string("false");
        if (is_rounding(e.op)) return integer(e.operand, is_wide);
        if (e.op == UnaryOp::kNot) return fmt::format("{}{}", is_bool ? "!" : "~", operand(e.operand));
        if (e.op == UnaryOp::kNeg && !is_bool && is_inside(e.operand)) return fmt::format("-{}", operand(e.operand));
        check_function_of_integers(e);
        return fmt::format("op::{}({})", name(e.op), integer(e.operand, is_wide));
      },
      [&](const te::Binary& e) {
        const auto is_positive = [&] {
          return !is_bool && te::bounds(e.left, ranges_.ranges()).low.value_or(-1) >= 0 &&
                 te::as_constant(e.right).value_or(0) > 0;
        };
        const auto infix = [&](std::string_view op) {
          return fmt::format("{} {} {}", operand(e.left), op, operand(e.right));
        };
        switch (e.op) {
          case BinaryOp::kAdd:
          case BinaryOp::kSub:
          case BinaryOp::kMul:
            if (!is_bool && is_inside(expr) && is_inside(e.left) && is_inside(e.right))
              return infix(operator_of_reals(e.op));
            break;
          case BinaryOp::kEqual:
          case BinaryOp::kLess:
          case BinaryOp::kLessEqual: return infix(name(e.op));
          case BinaryOp::kAnd: return infix(is_bool ? "&&" : "&");
          case BinaryOp::kOr: return infix(is_bool ? "||" : "|");
          case BinaryOp::kXor: return infix(is_bool ? "!=" : "^");
          case BinaryOp::kFloorDiv:
          case BinaryOp::kDiv:
            if (is_positive()) return infix("/");
            break;
          case BinaryOp::kFloorMod:
          case BinaryOp::kTruncMod:
            if (is_positive()) return infix("%");
            break;
          case BinaryOp::kPow:
          case BinaryOp::kMin:
          case BinaryOp::kMax:
          case BinaryOp::kShiftLeft:
          case BinaryOp::kShiftRight: break;
        }
        if (is_bool && divides(e.op)) fail_unsupported("a division of bools has no code");
        std::string divisor = integer(e.right, is_wide);
        if (divides(e.op) && te::as_constant(e.right).value_or(0) == 0)
          divisor = fmt::format("op::divisor({}, outcome)", divisor);
        return fmt::format("op::{}({}, {})", name(e.op), integer(e.left, is_wide), divisor);
      },
      [&](const te::Select& e) {
        return fmt::format("({} ? {} : {})", operand(e.condition), operand(e.then), operand(e.otherwise));
      },
      [&](const auto&) -> std::string {
        CHECK(false) << "an index of loop variables alone";
        return {};
      });
}

int64_t Expressions::elements_of_piece(const Buffer& buffer) { return kBytesOfPiece * 8 / bit_width(buffer.dtype); }

int64_t Expressions::turn_of(int buffer) const {
  const Buffer& b = kernel_.buffers[static_cast<size_t>(buffer)];
  if (!b.is_swizzled || b.shape.empty()) return 1;
  const int64_t row = b.shape.back().constant().value_or(0), piece = elements_of_piece(b), line = kPiecesOfLine * piece;
  return row < 2 * piece || row > line || line % row != 0 ? 1 : line * (row / piece);
}

std::string Expressions::element(const AccessPlan& access) {
  const std::string name = name_of_buffer_(access.buffer);
  const int64_t turn = turn_of(access.buffer);
  if (turn == 1) return fmt::format("{}[{}]", name, position(access));
  AccessPlan inside = access;
  te::Polynomial whole(access.offset.constant - te::floor_mod(access.offset.constant, turn));
  inside.offset = te::Polynomial(access.offset.constant - whole.constant);
  for (const te::Term& term : access.offset.terms)
    (term.coefficient % turn == 0 ? whole : inside.offset).terms.push_back(term);
  const int64_t piece = elements_of_piece(kernel_.buffers[static_cast<size_t>(access.buffer)]);
  const std::string place = fmt::format("op::swizzled<{}, {}>({})", turn / (kPiecesOfLine * piece) - 1,
                                        std::countr_zero(static_cast<uint64_t>(piece)), position(inside));
  return whole.is(0) ? fmt::format("{}[{}]", name, place)
                     : fmt::format("{}[{} + {}]", name, place, index(te::to_expr(whole)));
}

const Expressions::Loaded* Expressions::loaded(const Expr& load) const {
  const auto known = std::ranges::find_if(loaded_, [&](const Loaded& each) { return each.load == load; });
  return known != loaded_.end() ? &*known : nullptr;
}

std::string Expressions::stored(const Expr& load) {
  const Loaded* known = loaded(load);
  return known ? known->stored : element(plans_.of_load(load));
}

std::string Expressions::position(const AccessPlan& access) {
  std::string result = index(te::to_expr(access.offset));
  if (access.axes.empty()) return result;
  result = "(" + result + ")";  // it may end in an operator that binds less than +
  const Shape& shape = kernel_.buffers[static_cast<size_t>(access.buffer)].shape;
  for (const AccessPlan::Axis& axis : access.axes) {
    int64_t pitch = 1;
    for (size_t k = shape.size(); k-- > static_cast<size_t>(axis.axis) + 1;) pitch *= shape[k].value();
    const std::string number = value(te::to_expr(axis.index));
    const int64_t extent = shape[static_cast<size_t>(axis.axis)].value();
    result += fmt::format(" + op::checked({}, {}, outcome) * {}", number, extent, pitch);
  }
  return result;
}

}  // namespace isomer::kernel::cuda
