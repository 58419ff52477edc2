#include "graph/rounding.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace isomer {
namespace {

using te::BinaryOp;
using te::Expr;
using te::UnaryOp;

/// A function that each runtime has its own of.
bool is_free(const Expr& expr) {
  if (!is_float(expr.dtype())) return false;
  if (const auto* e = te::as<te::Binary>(expr)) return e->op == BinaryOp::kPow;
  const auto* e = te::as<te::Unary>(expr);
  return e && e->op != UnaryOp::kNeg && e->op != UnaryOp::kAbs && e->op != UnaryOp::kFloor && e->op != UnaryOp::kCeil &&
         e->op != UnaryOp::kRound && e->op != UnaryOp::kSqrt;
}

bool chooses_a_zero(const Expr& expr) {
  const auto* e = te::as<te::Binary>(expr);
  return e && is_float(expr.dtype()) && (e->op == BinaryOp::kMax || e->op == BinaryOp::kMin);
}

bool rounds(const Expr& expr) {
  if (!is_float(expr.dtype())) return false;
  if (const auto* e = te::as<te::Binary>(expr))
    return e->op == BinaryOp::kAdd || e->op == BinaryOp::kSub || e->op == BinaryOp::kMul || e->op == BinaryOp::kDiv ||
           e->op == BinaryOp::kFloorMod;
  if (const auto* e = te::as<te::Unary>(expr)) return e->op == UnaryOp::kSqrt;
  return te::as<te::Cast>(expr) != nullptr;
}

bool has_load_of(const Expr& expr, auto&& is_such) {
  return te::any_node(expr, [&](const Expr& e) { return te::as<te::Load>(e) && is_such(e.dtype()); });
}

bool is_beyond_float32(DataType dtype) { return is_int(dtype) && value_bits(dtype) > 24; }

/// Runtimes cast to types shorter than float32 by way of it, and round twice what it does not hold: doubles, integers
/// of many bits. Those that float16 has, and minifloats but for powers of two, are too small for that.
bool is_rounded_twice(const Expr& body) {
  if (is_minifloat(body.dtype()))
    return has_load_of(body, [&](DataType from) {
      return from == DataType::kFloat64 || (body.dtype() == DataType::kFloat8E8M0 && is_beyond_float32(from));
    });
  return te::any_node(body, [](const Expr& expr) {
    const auto* cast = te::as<te::Cast>(expr);
    const bool is_short = expr.dtype() == DataType::kFloat16 || expr.dtype() == DataType::kBFloat16;
    if (!cast || !is_short) return false;
    const DataType from = cast->operand.dtype();
    return from == DataType::kFloat64 || (expr.dtype() == DataType::kBFloat16 && is_beyond_float32(from));
  });
}

/// Roundings one after the other on the way to the value, those of the stages that it loads from included.
int roundings(const Expr& expr, const std::vector<int>& stages) {
  int before = 0;
  for (const Expr& child : te::detail::children(expr)) before = std::max(before, roundings(child, stages));
  if (const auto* load = te::as<te::Load>(expr); load && load->buffer.kind == te::BufferRef::Kind::kStage)
    before = std::max(before, stages[static_cast<size_t>(load->buffer.index)]);
  return before + rounds(expr);
}

}  // namespace

FloatClass class_elsewhere(const Expr& body) {
  if (te::any_node(body, is_free)) return FloatClass::kReassociated;
  return te::any_node(body, chooses_a_zero) ? FloatClass::kSignOfZero : FloatClass::kExact;
}

FloatClass class_in_doubles(const te::Program& program) {
  FloatClass result = FloatClass::kExact;
  std::vector<int> stages;
  for (const te::Stage& stage : program.stages) {
    stages.push_back(0);
    const auto* map = std::get_if<te::MapReduce>(&stage.body);
    if (!map) {
      // Scans, updates and loop nests: by what they produce.
      if (is_float(stage.dtype(0))) return FloatClass::kReassociated;
      continue;
    }
    for (const Expr& body : map->bodies) {
      const bool sums = !map->reduce.empty() && is_float(body.dtype());
      const int here = roundings(body, stages);
      if (sums || here > 1 || is_rounded_twice(body)) return FloatClass::kReassociated;
      stages.back() = std::max(stages.back(), here);
      result = std::max(result, class_elsewhere(body));
    }
  }
  return result;
}

double distance(const Tensor& one, const Tensor& other) {
  if (one.same_contents(other)) return 0;
  if (!is_float(one.dtype()) || one.dims() != other.dims() || one.dtype() != other.dtype())
    return std::numeric_limits<double>::infinity();
  double result = 0;
  for (int64_t i = 0; i < one.count(); ++i) {
    const double x = one.real(i), y = other.real(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    const double apart = std::fabs(x - y) / std::max(std::fabs(x), std::fabs(y));
    result = std::max(result, std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart);
  }
  return std::max(result, std::numeric_limits<double>::denorm_min());
}

double spacing_at_one(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16: return 0x1p-10;
    case DataType::kBFloat16: return 0x1p-7;
    case DataType::kFloat64: return 0x1p-52;
    default: return 0x1p-23;
  }
}

double most_apart(DataType dtype) { return 32 * spacing_at_one(dtype); }

}  // namespace isomer
