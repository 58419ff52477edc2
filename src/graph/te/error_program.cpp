#include "graph/te/error_program.h"

#include <algorithm>
#include <unordered_map>

#include "graph/rounding.h"

namespace isomer::te {
namespace {

constexpr DataType kWide = DataType::kFloat64;
/// What an operation in doubles may lose of its result, whoever's library computes it, and what of the least numbers.
constexpr double kUnit = 0x1p-48, kLeast = 0x1p-1000;
/// Of what would be exact if rounding did not choose between two integers or branches: no distance that is ever seen,
/// and none.
constexpr double kChosen = 0x1p-700;
/// Places of the type that a number is at most away from the border where rounding may choose.
constexpr double kNear = 64;

Expr real(double value) { return literal(Number(value), kWide); }
Expr infinity() { return literal(Number::infinity(), kWide); }
/// What is computed of it is no real number, and the same in doubles as by IEEE's rules.
Expr is_infinite(const Expr& x) { return equal(abs(x), infinity()); }
/// The sum of two bounds, of which an empty one is zero.
Expr plus(const Expr& a, const Expr& b) { return !a ? b : !b ? a : a + b; }
/// Zero where the condition holds, else the bound.
Expr unless(const Expr& condition, const Expr& bound) { return select(condition, real(0), bound); }
Expr lost(const Expr& result) { return abs(result) * real(kUnit) + real(kLeast); }
/// Has no more bits than a float32: two of them have a product that a double holds.
Expr is_short(const Expr& x) { return equal(cast(kWide, cast(DataType::kFloat32, x)), x); }

/// What is added to a double without loss: the sum's error is a double (Knuth 1969, 4.2.2).
Expr lost_by_sum(const Expr& a, const Expr& b) {
  const Expr sum = a + b, rest = sum - a;
  const Expr error = (a - (sum - rest)) + (b - rest);
  return unless(equal(error, 0) || is_infinite(a) || is_infinite(b), lost(sum));
}
Expr lost_by_product(const Expr& a, const Expr& b) {
  return unless(equal(a, 0) || equal(b, 0) || (is_short(a) && is_short(b)), lost(a * b));
}
Expr lost_by_quotient(const Expr& a, const Expr& b) {
  const Expr quotient = a / b;
  return unless(equal(a, 0) || (is_short(quotient) && is_short(b) && equal(quotient * b, a)), lost(quotient));
}
Expr lost_by_power(const Expr& a, const Expr& b) {
  const Expr is_plain = equal(a, 0) || equal(a, 1) || equal(b, 0) || equal(b, 1);
  const Expr power = pow(a, b), is_root = equal(b, 0.5) && is_short(power) && equal(power * power, a);
  return unless(is_plain || is_root || (equal(b, 2) && is_short(a)), lost(power));
}
Expr lost_by_function(UnaryOp op, const Expr& x) {
  const Expr result = unary(op, x);
  if (op == UnaryOp::kSqrt) return unless(is_short(result) && equal(result * result, x), lost(result));
  // At 0 and 1 they are irrational, or the integer that every library gives (exact_points.h).
  return unless((equal(x, 0) || equal(x, 1)) && equal(unary(UnaryOp::kRound, result), result), lost(result));
}

/// The bound of a choice between numbers of this size: infinite unless they are as near as roundings of a runtime are.
Expr chosen(const Expr& off, const Expr& size, DataType dtype) {
  const double near = kNear * std::max(spacing_at_one(dtype), spacing_at_one(DataType::kFloat32));
  return select(off <= size * real(near) + real(kNegligible), real(kChosen), infinity());
}
/// Of integers, of which none is nearer than one.
Expr chosen_integer(const Expr& off, const Expr& x, DataType dtype) { return chosen(off, max(abs(x), real(1)), dtype); }

/// Of a function without extremes inside, or an even convex one: at the ends of what the argument may be.
Expr farthest(UnaryOp op, const Expr& x, const Expr& off) {
  const Expr here = unary(op, x);
  const Expr most = max(abs(unary(op, x + off) - here), abs(unary(op, x - off) - here));
  return unless(equal(off, 0), most + lost(here));
}

/// An expression in doubles, and how far it may be from the real one: empty where it is that one.
struct Part {
  Expr value, off;
};

class ErrorProgram {
 public:
  ErrorProgram(const Program& program, std::span<const Distance> inputs)
      : program_(program), inputs_(inputs), result_{program.stages, {}} {}

  Result<std::optional<Program>> of(StageValue output) {
    for (const Stage& stage : program_.stages) {
      const int index = static_cast<int>(offs_.size());
      if (index > output.stage) break;
      offs_.emplace_back(stage.components());
      parts_.clear();
      if (!std::visit([&](const auto& body) { return add(body, offs_.back()); }, stage.body))
        return unsupported("", "an operator expected of which it is known how far rounding takes it");
    }
    const auto& off = offs_[static_cast<size_t>(output.stage)][static_cast<size_t>(output.component)];
    if (!off) return std::optional<Program>();
    result_.outputs = {*off};
    return std::optional(std::move(result_));
  }

 private:
  /// By component; nothing where it is exact.
  using Offs = std::vector<std::optional<StageValue>>;

  /// How far components of a stage may be off, each as a stage of its own; nothing where it is exact.
  using OffStages = std::vector<std::optional<MapReduce>>;

  /// False: it is not known.
  bool off_stages(const MapReduce& stage, OffStages& offs) {
    const bool is_sum = stage.combine.name == "sum",
               is_extreme = stage.combine.name == "max" || stage.combine.name == "min";
    double terms = 1;
    for (const Dim& dim : stage.reduce) {
      if (!dim.is_constant()) return false;
      terms *= static_cast<double>(dim.value());
    }
    offs.resize(stage.bodies.size());
    for (size_t k = 0; k < stage.bodies.size(); ++k) {
      Part part = of(stage.bodies[k]);
      if (is_sum && terms > 1 && is_float(stage.bodies[k].dtype()))
        part.off = plus(part.off, abs(part.value) * real(terms * kUnit));
      if (!part.off) continue;
      if (stage.combine.combine.empty())
        offs[k] = MapReduce{stage.axes, {}, {}, {part.off}};
      else if (is_sum || is_extreme)
        offs[k] = MapReduce{stage.axes, stage.reduce, is_sum ? sum(kWide) : maximum(kWide), {part.off}};
      else
        return false;
    }
    return is_sum || rounds_nothing(stage.combine.combine);
  }

  bool add(const MapReduce& stage, Offs& offs) {
    OffStages stages;
    if (!off_stages(stage, stages)) return false;
    for (size_t k = 0; k < stages.size(); ++k) {
      if (!stages[k]) continue;
      result_.stages.push_back({*std::move(stages[k])});
      offs[k] = StageValue{static_cast<int>(result_.stages.size()) - 1, 0};
    }
    return true;
  }

  /// A scan whose states are followed by their distances, each with a step that follows it.
  bool add(const Scan& scan, Offs& offs) {
    // Most only move numbers, or count.
    scan_ = {};
    if (std::ranges::all_of(scan.states, [&](const Scan::State& state) { return !of(state.init).off; }) &&
        std::ranges::all_of(scan.steps, [&](const MapReduce& step) { return is_exact(step); }))
      return true;
    parts_.clear();
    Scan with_offs = scan;
    for (const Scan::State& state : scan.states) {
      const Expr off = of(state.init).off;
      with_offs.states.push_back({state.shape, off ? off : real(0)});
    }
    scan_.states = static_cast<int>(scan.states.size());
    for (const MapReduce& step : scan.steps) {
      OffStages stages;
      if (!off_stages(step, stages)) return false;
      scan_.offs.emplace_back(stages.size());
      for (size_t k = 0; k < stages.size(); ++k) {
        if (!stages[k]) continue;
        scan_.offs.back()[k] = static_cast<int>(with_offs.steps.size());
        with_offs.steps.push_back(*std::move(stages[k]));
      }
    }
    for (size_t k = 0; k < scan.states.size(); ++k) {
      const auto step = static_cast<size_t>(scan.next[k]);
      std::optional<int> off = scan_.offs[step].front();
      if (!off) {
        off = static_cast<int>(with_offs.steps.size());
        with_offs.steps.push_back({scan.steps[step].axes, {}, {}, {real(0)}});
      }
      with_offs.next.push_back(*off);
    }
    result_.stages.push_back({std::move(with_offs)});
    for (size_t k = 0; k < scan.states.size(); ++k)
      offs[k] = StageValue{static_cast<int>(result_.stages.size()) - 1, static_cast<int>(scan.states.size() + k)};
    return true;
  }
  bool is_exact(const MapReduce& stage) {
    OffStages offs;
    return off_stages(stage, offs) && std::ranges::none_of(offs, [](const auto& off) { return off.has_value(); });
  }
  bool add(const Update& update, Offs&) {
    return rounds_nothing({update.init, update.value}) && rounds_nothing(update.index) &&
           rounds_nothing(update.combine.combine);
  }
  bool add(const Imperative& stage, Offs&) { return rounds_nothing(stage.body.block); }

  bool rounds_nothing(const std::vector<Expr>& exprs) {
    return std::ranges::all_of(exprs, [&](const Expr& expr) { return !of(expr).off; });
  }
  bool rounds_nothing(const Block& block) {
    return std::ranges::all_of(block, [&](const Statement& statement) {
      return std::visit(
          Overloaded{[&](const For& s) { return rounds_nothing({s.extent}) && rounds_nothing(*s.body); },
                     [&](const While& s) { return rounds_nothing({s.condition}) && rounds_nothing(*s.body); },
                     [&](const If& s) {
                       return rounds_nothing({s.condition}) && rounds_nothing(*s.then) &&
                              (!s.otherwise || rounds_nothing(*s.otherwise));
                     },
                     [&](const Store& s) { return rounds_nothing(s.index) && rounds_nothing({s.value}); },
                     [&](const Resize& s) { return rounds_nothing(s.extents); }},
          statement.body);
    });
  }

  Part of(const Expr& expr) {
    if (const auto known = parts_.find(expr); known != parts_.end()) return known->second;
    Part part = visit(
        expr, [&](const Literal& e) { return of_literal(expr, e); }, [&](const Var&) { return wide(expr); },
        [&](const Symbol&) { return wide(expr); }, [&](const Unary& e) { return of_unary(expr, e); },
        [&](const Binary& e) {
          return is_float(e.left.dtype()) ? of_binary(e, of(e.left), of(e.right)) : of_integers(expr);
        },
        [&](const Select& e) { return of_select(e); }, [&](const Cast& e) { return of_cast(expr, e); },
        [&](const Load& e) { return of_load(expr, e); });
    return parts_.emplace(expr, std::move(part)).first->second;
  }

  static Part wide(const Expr& expr, Expr off = {}) {
    return {is_float(expr.dtype()) ? cast(kWide, expr) : expr, std::move(off)};
  }

  static Part of_literal(const Expr& expr, const Literal& e) {
    if (!is_float(expr.dtype())) return {expr, {}};
    const Expr value = literal(e.value, kWide);
    return {value, Number(e.value.to_double()) == e.value ? Expr() : lost(value)};
  }

  /// Where one of them may be another, the result may be.
  Part of_integers(const Expr& expr) {
    std::vector<Expr> children = detail::children(expr);
    Expr off;
    for (Expr& child : children) {
      Part part = of(child);
      off = plus(off, part.off);
      child = std::move(part.value);
    }
    return {children.empty() ? expr : detail::with_children(expr, std::move(children)), off};
  }

  Part of_unary(const Expr& expr, const Unary& e) {
    if (!is_float(e.operand.dtype())) return of_integers(expr);
    const auto [x, off] = of(e.operand);
    const Expr value = unary(e.op, x);
    switch (e.op) {
      case UnaryOp::kNeg:
      case UnaryOp::kAbs: return {value, off};
      case UnaryOp::kNot:
      case UnaryOp::kIsNan: return {value, {}};
      case UnaryOp::kFloor:
      case UnaryOp::kCeil:
      case UnaryOp::kRound:
        if (!off) return {value, off};
        return {value, unless(equal(unary(e.op, x - off), unary(e.op, x + off)), chosen_integer(off, x, expr.dtype()))};
      case UnaryOp::kSqrt: {
        const Expr taken = off ? unless(equal(off, 0), select(off < x, off / value, infinity())) : off;
        return {value, plus(taken, lost_by_function(e.op, x))};
      }
      case UnaryOp::kSin:
      case UnaryOp::kCos: return {value, plus(off, lost_by_function(e.op, x))};
      case UnaryOp::kTan:
        return {value, plus(off ? unless(equal(off, 0), infinity()) : off, lost_by_function(e.op, x))};
      case UnaryOp::kExp:
      case UnaryOp::kLog:
      case UnaryOp::kAsin:
      case UnaryOp::kAcos:
      case UnaryOp::kAtan:
      case UnaryOp::kSinh:
      case UnaryOp::kCosh:
      case UnaryOp::kTanh:
      case UnaryOp::kAsinh:
      case UnaryOp::kAcosh:
      case UnaryOp::kAtanh:
      case UnaryOp::kErf: return {value, plus(off ? farthest(e.op, x, off) : off, lost_by_function(e.op, x))};
    }
    return {value, infinity()};
  }

  /// Where one of them is infinite, nothing but the other's sign counts.
  static Expr of_factors(const Part& a, const Part& b, const Expr& taken, const Expr& lost) {
    Expr is_certain = is_infinite(a.value) || is_infinite(b.value);
    for (const Part* each : {&a, &b})
      if (each->off) is_certain = is_certain && each->off < abs(each->value);
    return unless(is_certain, plus(taken, lost));
  }

  static Part of_binary(const Binary& e, const Part& a, const Part& b) {
    const Expr &x = a.value, &y = b.value;
    const Expr value = binary(e.op, x, y), both = plus(a.off, b.off);
    // Of expressions, && is an expression.
    const bool both_off = a.off ? static_cast<bool>(b.off) : false;
    const auto by = [](const Expr& factor, const Expr& off) { return off ? abs(factor) * off : off; };
    switch (e.op) {
      case BinaryOp::kAdd: return {value, plus(both, lost_by_sum(x, y))};
      case BinaryOp::kSub: return {value, x == y ? Expr() : plus(both, lost_by_sum(x, -y))};
      case BinaryOp::kMul: {
        const Expr product = both_off ? a.off * b.off : Expr();
        return {value, of_factors(a, b, plus(plus(by(x, b.off), by(y, a.off)), product), lost_by_product(x, y))};
      }
      case BinaryOp::kDiv: {
        const Expr above = plus(a.off, by(value, b.off));
        const Expr below = b.off ? abs(y) - b.off : abs(y);
        const Expr taken = above ? select(real(0) < below, above / below, infinity()) : above;
        return {value, of_factors(a, b, taken, lost_by_quotient(x, y))};
      }
      case BinaryOp::kPow: {
        if (!both) return {value, lost_by_power(x, y)};
        const Expr p = a.off ? a.off : real(0), q = b.off ? b.off : real(0);
        Expr most = lost(value);
        for (const Expr& base : {x - p, x + p})
          for (const Expr& exponent : {y - q, y + q}) most = max(most, abs(pow(base, exponent) - value) + lost(value));
        // Squares are known on both sides of zero.
        const Expr square = p * (real(2) * abs(x) + p) + lost(value);
        const Expr taken = select(equal(y, 2) && equal(q, 0), square, select(p < x, most, infinity()));
        return {value, unless(equal(both, 0), taken) + lost_by_power(x, y)};
      }
      case BinaryOp::kMin:
      case BinaryOp::kMax: {
        if (!both) return {value, both};
        const Expr p = a.off ? a.off : real(0), q = b.off ? b.off : real(0);
        return {value, select(both < abs(x - y), select(equal(value, x), p, q), max(p, q))};
      }
      case BinaryOp::kTruncMod: return {value, both ? unless(equal(both, 0), infinity()) : both};
      case BinaryOp::kEqual:
      case BinaryOp::kLess:
      case BinaryOp::kLessEqual:
        if (!both) return {value, both};
        return {value, unless(equal(both, 0) || both < abs(x - y), chosen(both, max(abs(x), abs(y)), e.left.dtype()))};
      case BinaryOp::kFloorDiv:
      case BinaryOp::kFloorMod:
      case BinaryOp::kAnd:
      case BinaryOp::kOr:
      case BinaryOp::kXor:
      case BinaryOp::kShiftLeft:
      case BinaryOp::kShiftRight: break;
    }
    return {value, infinity()};
  }

  Part of_select(const Select& e) {
    const Part condition = of(e.condition), then = of(e.then), otherwise = of(e.otherwise);
    const auto or_zero = [](const Expr& off) { return off ? off : real(0); };
    const Expr off =
        plus(then.off, otherwise.off) ? select(condition.value, or_zero(then.off), or_zero(otherwise.off)) : Expr();
    return {select(condition.value, then.value, otherwise.value), plus(off, condition.off)};
  }

  /// Integers of floats: the interpreter rounds these to their own type first, a real number is not rounded.
  Part of_cast(const Expr& expr, const Cast& e) {
    const auto [x, off] = of(e.operand);
    const DataType from = e.operand.dtype(), to = expr.dtype();
    if (!is_float(from)) return wide(cast(to, x), off);
    const auto rounded = [&](const Expr& value) { return cast(kWide, cast(to, value)); };
    if (is_float(to)) {
      const bool keeps_all = bit_width(to) >= bit_width(from) && (bit_width(to) > 16 || from == to);
      if (keeps_all || !off) return {keeps_all ? x : rounded(x), off};
      return {rounded(x), unless(equal(off, 0), rounded(x + off) - rounded(x - off))};
    }
    const Expr value = cast(to, cast(from, x));
    const Expr least = off ? x - off : x, most = off ? x + off : x;
    return {value, unless(equal(cast(to, least), value) && equal(cast(to, most), value),
                          chosen_integer(off ? off : real(0), x, from))};
  }

  static Expr distance_of(const Expr& x, const Distance& distance) {
    return unless(is_infinite(x), abs(x) * real(distance.relative) + real(distance.absolute));
  }

  Part of_load(const Expr& expr, const Load& e) {
    Part part = of_integers(expr);
    const Expr value = part.value;
    part = wide(value, part.off);
    const auto index = static_cast<size_t>(e.buffer.index);
    if (e.buffer.kind == BufferRef::Kind::kInput && !inputs_[index].is_zero())
      part.off = plus(part.off, is_float(expr.dtype()) ? distance_of(part.value, inputs_[index]) : real(kChosen));
    if (e.buffer.kind == BufferRef::Kind::kState && scan_.states > 0)
      part.off = plus(part.off, load({e.buffer.kind, scan_.states + e.buffer.index, 0}, kWide, as<Load>(value)->index));
    if (e.buffer.kind == BufferRef::Kind::kInner && index < scan_.offs.size())
      if (const auto off = scan_.offs[index][static_cast<size_t>(e.buffer.component)])
        part.off = plus(part.off, load({e.buffer.kind, *off, 0}, kWide, as<Load>(value)->index));
    if (e.buffer.kind == BufferRef::Kind::kStage)
      if (const auto& off = offs_[index][static_cast<size_t>(e.buffer.component)])
        part.off =
            plus(part.off, load({BufferRef::Kind::kStage, off->stage, off->component}, kWide, as<Load>(value)->index));
    return part;
  }

  const Program& program_;
  std::span<const Distance> inputs_;
  Program result_;
  std::vector<Offs> offs_;  ///< by stage of the program
  /// What follows the distances of the scan whose steps are read.
  struct ScanOffs {
    int states = 0;  ///< the distance of state k is state `states` + k; 0: exact ones
    std::vector<std::vector<std::optional<int>>> offs;  ///< by step and component: the step that gives its distance
  };
  ScanOffs scan_;
  std::unordered_map<Expr, Part> parts_;
};

}  // namespace

Result<std::optional<Program>> error_program(const Program& program, StageValue output,
                                             std::span<const Distance> inputs) {
  return ErrorProgram(program, inputs).of(output);
}

}  // namespace isomer::te
