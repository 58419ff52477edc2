#include "graph/move_values.h"

#include <bit>
#include <cmath>
#include <limits>
#include <map>

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

class Rounder {
 public:
  explicit Rounder(DataType dtype) : dtype_(dtype), unit_(uint64_t{1} << spare_bits(dtype)) {}

  bool has(double value) const {
    if (!std::isfinite(value)) return true;
    if (dtype_ == DataType::kFloat32) return static_cast<double>(static_cast<float>(value)) == value;
    return (std::bit_cast<uint64_t>(value) & (unit_ - 1)) == 0 &&
           (dtype_ == DataType::kFloat64 || round_to(dtype_, value) == value);
  }

  /// The number of the type nearest to what is `places` last places from the value.
  double moved(double value, double places) const {
    const auto distance = static_cast<int64_t>(places * static_cast<double>(unit_));
    const uint64_t bits = std::bit_cast<uint64_t>(value) + static_cast<uint64_t>(distance) + unit_ / 2;
    const double rounded = std::bit_cast<double>(bits & ~(unit_ - 1));
    // Close to zero the step to the left would change the sign, close to the largest number the type ends.
    if (std::isnan(rounded) || std::signbit(rounded) != std::signbit(value)) return value;
    return dtype_ == DataType::kFloat64 ? rounded : round_to(dtype_, rounded);
  }

 private:
  DataType dtype_;
  uint64_t unit_;
};

double draw(const RandomRounding& movement, double most, Random& random) {
  const double places = random.uniform(-most, most);
  return movement.opposite ? -places : places;
}

/// All elements as doubles, for writing.
te::Array copied(const te::Array& array) {
  auto result = te::Array::allocate(array.dtype(), array.dims());
  if (!result.ok()) return array;
  for (int64_t i = 0; i < array.count(); ++i) result->mutable_reals()[i] = array.real(i);
  return *std::move(result);
}

bool is_writable_copy(const te::Array& made, const te::Array& of) { return made.data() != of.data(); }

/// Wraps what is inside of the bodies of one program.
class InsideMover {
 public:
  InsideMover(const RandomRounding& movement, Random& random) : movement_(movement), random_(random) {}

  te::Expr body(const te::Expr& expr) { return with_moved_children(expr).expr; }

 private:
  struct Moved {
    te::Expr expr;
    bool is_inexact = false;  ///< a function that is rounded stands in it
  };

  Moved inside(const te::Expr& expr) {
    if (!is_float(expr.dtype())) return {expr, false};
    if (const auto known = known_.find(expr->hash); known != known_.end()) return known->second;
    Moved moved = with_moved_children(expr);
    const te::Binary* binary = te::as<te::Binary>(expr);
    const bool is_arithmetic = binary && (binary->op == te::BinaryOp::kAdd || binary->op == te::BinaryOp::kSub ||
                                          binary->op == te::BinaryOp::kMul || binary->op == te::BinaryOp::kDiv);
    if (moved.is_inexact && (is_arithmetic || te::as<te::Unary>(expr))) moved.expr = rounded_otherwise(moved.expr);
    return known_[expr->hash] = moved;
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

  static bool is_inexact(te::UnaryOp op) { return op >= te::UnaryOp::kSqrt && op <= te::UnaryOp::kErf; }

  /// Numbers that the type has stay, as in move_elements.
  te::Expr rounded_otherwise(const te::Expr& expr) {
    const DataType dtype = expr.dtype();
    if (dtype == DataType::kFloat64) return expr;
    const auto rounded = [&](const te::Expr& wide) { return te::cast(dtype, te::cast(DataType::kFloat64, wide)); };
    // Half a last place of a number between 1 and 2, or less.
    const double most = movement_.half_ulps * std::ldexp(1.0, spare_bits(dtype) - kDoubleBits - 1);
    const te::Expr factor = te::literal(te::Number(1 + draw(movement_, most, random_)), DataType::kFloat64);
    const te::Expr moved = te::cast(dtype, te::cast(DataType::kFloat64, expr) * factor);
    return te::select(te::binary(te::BinaryOp::kEqual, rounded(expr), expr), expr, moved);
  }

  const RandomRounding& movement_;
  Random& random_;
  std::map<Hash128, Moved> known_;
};

bool is_round(double value) { return value * 4 == std::floor(value * 4) && std::fabs(value) < 0x1p24; }

}  // namespace

void move_elements(te::Array& array, const RandomRounding& movement, Random& random) {
  if (array.empty() || !is_float(array.dtype()) || array.storage() != te::Storage::kDouble) return;
  const Rounder rounder(array.dtype());
  const auto values = array.reals();
  int64_t first = 0;
  while (first < array.count() && rounder.has(values[first])) ++first;
  if (first == array.count()) return;
  te::Array result = copied(array);
  if (!is_writable_copy(result, array)) return;
  double* elements = result.mutable_reals();
  for (int64_t i = first; i < array.count(); ++i) {
    // Drawn in any case, so that runs the one and the other way stay in step.
    const double places = draw(movement, movement.half_ulps / 2, random);
    if (!rounder.has(elements[i])) elements[i] = rounder.moved(elements[i], places);
  }
  array = std::move(result);
}

void move_inside(te::Program& program, const RandomRounding& movement, Random& random) {
  InsideMover mover(movement, random);
  for (te::Stage& stage : program.stages)
    if (auto* map = std::get_if<te::MapReduce>(&stage.body))
      for (te::Expr& body : map->bodies) body = mover.body(body);
}

te::Array moved_input(const te::Array& array, const RandomRounding& movement, Random& random) {
  if (array.empty() || !is_float(array.dtype())) return array;
  te::Array result = copied(array);
  if (!is_writable_copy(result, array)) return array;
  const Rounder rounder(array.dtype());
  double* elements = result.mutable_reals();
  // Half a place would be rounded away.
  const double most = std::max(1.0, movement.half_ulps / 2);
  for (int64_t i = 0; i < array.count(); ++i) {
    const double places = draw(movement, most, random);
    if (std::isfinite(elements[i]) && !is_round(elements[i])) elements[i] = rounder.moved(elements[i], places);
  }
  return result;
}

}  // namespace isomer
