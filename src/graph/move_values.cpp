#include "graph/move_values.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <unordered_map>
#include <vector>

namespace isomer {
namespace {

constexpr int kDoubleBits = 52;

/// Bits of a double's mantissa that the type doesn't have.
int spare_bits(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16: return kDoubleBits - 10;
    case DataType::kBFloat16: return kDoubleBits - 7;
    case DataType::kFloat64: return 8;
    default: return kDoubleBits - 23;
  }
}

/// Nearly all values are float32, and there are many: decided once, not for each element.
template <bool is_float32>
class Rounder {
 public:
  explicit Rounder(DataType dtype)
      : dtype_(is_float32 ? DataType::kFloat32 : dtype), unit_(uint64_t{1} << spare_bits(dtype_)) {}

  bool has(double value) const {
    if (is_float32) return static_cast<double>(static_cast<float>(value)) == value || std::isnan(value);
    return !std::isfinite(value) || ((std::bit_cast<uint64_t>(value) & (unit_ - 1)) == 0 && nearest(value) == value);
  }

  /// The number of the type nearest to what is `places` last places from the value.
  double moved(double value, double places) const {
    const auto distance = static_cast<int64_t>(places * static_cast<double>(unit_));
    const uint64_t bits = std::bit_cast<uint64_t>(value) + static_cast<uint64_t>(distance) + unit_ / 2;
    const double rounded = std::bit_cast<double>(bits & ~(unit_ - 1));
    // Close to zero the step to the left would change the sign, close to the largest number the type ends.
    if (std::isnan(rounded) || std::signbit(rounded) != std::signbit(value)) return value;
    return nearest(rounded);
  }

 private:
  double nearest(double value) const {
    if (is_float32) return static_cast<float>(value);
    return dtype_ == DataType::kFloat64 ? value : round_to(dtype_, value);
  }

  DataType dtype_;
  uint64_t unit_;
};

double draw(const RandomRounding& movement, double most, Random& random) {
  const double end = movement.opposite ? -most : most;
  return random.uniform(-end, end);
}

/// The elements as doubles: where they lie, or in `copy`.
std::span<const double> doubles(const te::Array& array, std::vector<double>& copy) {
  if (array.storage() == te::Storage::kDouble) return array.reals();
  copy.resize(static_cast<size_t>(array.count()));
  for (size_t i = 0; i < copy.size(); ++i) copy[i] = array.real(static_cast<int64_t>(i));
  return copy;
}

/// Each element that `stays(rounder, value)` does not hold of goes up to `most` last places away, the others stay. No
/// memory, no change.
template <class Stays>
te::Array moved_elements(const te::Array& array, const RandomRounding& movement, double most, Random& random,
                         const Stays& stays) {
  std::vector<double> copy;
  const std::span<const double> values = doubles(array, copy);
  const auto move_all = [&](const auto& rounder) {
    // What only moves elements gives what was moved before.
    if (std::ranges::all_of(values, [&](double value) { return stays(rounder, value); })) return array;
    auto result = te::Array::allocate(array.dtype(), array.dims());
    if (!result.ok()) return array;
    double* const elements = result->mutable_reals();
    for (size_t i = 0; i < values.size(); ++i) {
      // Drawn in any case, so that runs the one and the other way stay in step.
      const double places = draw(movement, most, random);
      elements[i] = stays(rounder, values[i]) ? values[i] : rounder.moved(values[i], places);
    }
    return *std::move(result);
  };
  return array.dtype() == DataType::kFloat32 ? move_all(Rounder<true>(array.dtype()))
                                             : move_all(Rounder<false>(array.dtype()));
}

/// Wraps what is inside of the bodies of one program.
class InsideMover {
 public:
  InsideMover(const te::Program& program, const RandomRounding& movement, Random& random)
      : program_(program), movement_(movement), random_(random) {}

  te::Expr body(const te::Expr& expr) {
    return narrowed_otherwise(with_moved_children(quantized_otherwise(expr)).expr);
  }

 private:
  struct Moved {
    te::Expr expr;
    bool is_inexact = false;  ///< a function that is rounded stands in it
  };

  Moved inside(const te::Expr& expr) {
    if (!is_float(expr.dtype())) return {expr, false};
    if (const auto known = known_.find(expr); known != known_.end()) return known->second;
    Moved moved = with_moved_children(expr);
    const te::Binary* binary = te::as<te::Binary>(expr);
    const bool is_arithmetic = binary && (binary->op == te::BinaryOp::kAdd || binary->op == te::BinaryOp::kSub ||
                                          binary->op == te::BinaryOp::kMul || binary->op == te::BinaryOp::kDiv);
    if (moved.is_inexact && (is_arithmetic || te::as<te::Unary>(expr))) moved.expr = rounded_otherwise(moved.expr);
    return known_[expr] = moved;
  }

  Moved with_moved_children(const te::Expr& expr) {
    std::vector<te::Expr> children = te::detail::children(expr);
    // Indices and conditions are not moved.
    if (te::as<te::Load>(expr) || children.empty()) return {expr, false};
    const te::Unary* unary = te::as<te::Unary>(expr);
    Moved result{expr, unary && is_inexact(unary->op)};
    for (te::Expr& child : children) {
      Moved moved = inside(child);
      result.is_inexact |= moved.is_inexact;
      child = std::move(moved.expr);
    }
    if (result.is_inexact) result.expr = te::detail::with_children(expr, std::move(children));
    return result;
  }

  /// Where numbers are made of integers, such as quantized ones, and rounded to integers again, what is rounded goes a
  /// little way even if its type has it: in other orders of the same products a tie is none.
  te::Expr quantized_otherwise(const te::Expr& expr) {
    if (te::as<te::Load>(expr)) return expr;
    if (const auto known = quantized_.find(expr); known != quantized_.end()) return known->second;
    std::vector<te::Expr> children = te::detail::children(expr);
    if (children.empty()) return expr;
    const te::Unary* unary = te::as<te::Unary>(expr);
    if (unary && unary->op == te::UnaryOp::kRound && is_of_integers(unary->operand))
      children[0] = scaled(products_otherwise(unary->operand));
    else
      for (te::Expr& child : children) child = quantized_otherwise(child);
    return quantized_[expr] = te::detail::with_children(expr, std::move(children));
  }

  te::Expr products_otherwise(const te::Expr& expr) {
    std::vector<te::Expr> children = te::detail::children(expr);
    if (!is_float(expr.dtype()) || te::as<te::Load>(expr) || te::as<te::Cast>(expr) || children.empty()) return expr;
    if (const auto known = products_.find(expr); known != products_.end()) return known->second;
    for (te::Expr& child : children) child = products_otherwise(child);
    const te::Expr other = te::detail::with_children(expr, std::move(children));
    return products_[expr] = te::as<te::Binary>(expr) ? rounded_otherwise(other) : other;
  }

  bool is_of_integers(const te::Expr& expr) const {
    return te::any_node(expr, [&](const te::Expr& e) {
      const te::Cast* cast = te::as<te::Cast>(e);
      if (cast && is_float(e.dtype()) && is_int(cast->operand.dtype())) return te::has_load(cast->operand);
      const te::Load* load = te::as<te::Load>(e);
      if (!load || load->buffer.kind != te::BufferRef::Kind::kStage || !is_float(e.dtype())) return false;
      const auto* map = std::get_if<te::MapReduce>(&program_.stages[load->buffer.index].body);
      return map && is_of_integers(map->bodies[load->buffer.component]);
    });
  }

  /// A narrow number that a wider one was computed for is what its rounding may give, as in move_elements, which finds
  /// it rounded.
  te::Expr narrowed_otherwise(const te::Expr& expr) {
    const te::Cast* cast = te::as<te::Cast>(expr);
    if (!cast || !is_float(expr.dtype()) || !is_float(cast->operand.dtype()) ||
        bit_width(cast->operand.dtype()) <= bit_width(expr.dtype()))
      return expr;
    const te::Load* load = te::as<te::Load>(cast->operand);
    if (load && load->buffer.kind == te::BufferRef::Kind::kInput) return expr;
    const auto wide = [](const te::Expr& e) { return te::cast(DataType::kFloat64, e); };
    return te::select(te::binary(te::BinaryOp::kEqual, wide(expr), wide(cast->operand)), expr,
                      scaled(cast->operand, expr.dtype()));
  }

  static bool is_inexact(te::UnaryOp op) { return op >= te::UnaryOp::kSqrt && op <= te::UnaryOp::kErf; }

  /// Numbers that the type has stay, as in move_elements.
  te::Expr rounded_otherwise(const te::Expr& expr) {
    const DataType dtype = expr.dtype();
    if (dtype == DataType::kFloat64) return expr;
    const auto rounded = [&](const te::Expr& wide) { return te::cast(dtype, te::cast(DataType::kFloat64, wide)); };
    return te::select(te::binary(te::BinaryOp::kEqual, rounded(expr), expr), expr, scaled(expr));
  }

  te::Expr scaled(const te::Expr& expr) { return scaled(expr, expr.dtype()); }

  /// By half a last place of a number of the type between 1 and 2, or less.
  te::Expr scaled(const te::Expr& expr, DataType dtype) {
    const double most = movement_.half_ulps * std::ldexp(1.0, spare_bits(dtype) - kDoubleBits - 1);
    const te::Expr factor = te::literal(te::Number(1 + draw(movement_, most, random_)), DataType::kFloat64);
    return te::cast(dtype, te::cast(DataType::kFloat64, expr) * factor);
  }

  const te::Program& program_;
  const RandomRounding& movement_;
  Random& random_;
  std::unordered_map<te::Expr, Moved> known_;
  std::unordered_map<te::Expr, te::Expr> quantized_, products_;
};

te::Expr rounded(const te::Expr& expr) {
  if (!is_float(expr.dtype())) return expr;
  return te::cast(expr.dtype(), te::cast(DataType::kFloat64, expr));
}

bool is_round(double value) { return value * 4 == std::floor(value * 4) && std::fabs(value) < 0x1p24; }

}  // namespace

void move_elements(te::Array& array, const RandomRounding& movement, Random& random) {
  if (array.empty() || !is_float(array.dtype()) || array.storage() != te::Storage::kDouble) return;
  const auto is_there = [](const auto& rounder, double value) { return rounder.has(value); };
  array = moved_elements(array, movement, movement.half_ulps / 2, random, is_there);
}

void move_inside(te::Program& program, const RandomRounding& movement, Random& random) {
  const te::Program given = program;
  InsideMover mover(given, movement, random);
  for (te::Stage& stage : program.stages)
    if (auto* map = std::get_if<te::MapReduce>(&stage.body))
      for (te::Expr& body : map->bodies) body = mover.body(body);
}

void round_inside(te::Program& program) {
  for (te::Stage& stage : program.stages) {
    if (auto* scan = std::get_if<te::Scan>(&stage.body))
      for (const int next : scan->next)
        if (te::MapReduce& step = scan->steps[next]; step.combine.arity() == 0)
          step.bodies[0] = rounded(step.bodies[0]);
    if (auto* update = std::get_if<te::Update>(&stage.body))
      for (te::Expr& combined : update->combine.combine) combined = rounded(combined);
  }
}

te::Array moved_input(const te::Array& array, const RandomRounding& movement, Random& random) {
  if (array.empty() || !is_float(array.dtype())) return array;
  // Half a place would be rounded away.
  const double most = std::max(1.0, movement.half_ulps / 2);
  return moved_elements(array, movement, most, random,
                        [](const auto&, double value) { return !std::isfinite(value) || is_round(value); });
}

}  // namespace isomer
