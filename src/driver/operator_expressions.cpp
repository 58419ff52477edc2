// The scalars of include/isomer/operator.h.
#include <cmath>

#include "driver/operator_access.h"

namespace isomer {
namespace {

using detail::OperatorAccess;

/// What an operation takes.
enum class Operands { kNumbers, kFloats, kIntegers, kBools, kAll };

bool fits(DataType type, Operands operands) {
  switch (operands) {
    case Operands::kNumbers: return kNumeric.contains(type);
    case Operands::kFloats: return kFloats.contains(type);
    case Operands::kIntegers: return kInts.contains(type);
    case Operands::kBools: return type == DataType::kBool;
    case Operands::kAll: return kPlain.contains(type);
  }
  return false;
}

std::string_view text(Operands operands) {
  switch (operands) {
    case Operands::kNumbers: return "a number";
    case Operands::kFloats: return "a float";
    case Operands::kIntegers: return "an integer";
    case Operands::kBools: return "a bool";
    case Operands::kAll: return "a number or bool";
  }
  return "";
}

template <class... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw NoValue(fmt::format(format, std::forward<Args>(args)...));
}

te::Expr operand(const Expression& given, Operands operands) {
  te::Expr expr = OperatorAccess::expr(given);
  if (!fits(expr.dtype(), operands)) refuse("{} expected, {} found", text(operands), name(expr.dtype()));
  return expr;
}

void check_same(const te::Expr& a, const te::Expr& b) {
  if (a.dtype() != b.dtype())
    refuse("operands of one type expected, {} and {} found", name(a.dtype()), name(b.dtype()));
}

Expression unary(te::UnaryOp op, const Expression& a, Operands operands) {
  return OperatorAccess::expression(te::unary(op, operand(a, operands)));
}

Expression binary(te::BinaryOp op, const Expression& a, const Expression& b, Operands operands) {
  const te::Expr left = operand(a, operands), right = operand(b, operands);
  check_same(left, right);
  return OperatorAccess::expression(te::binary(op, left, right));
}

DataType computed_type(const std::string& type) {
  const DataType dtype = parse_data_type(type);
  if (!is_computable(dtype)) refuse("an element type such as float32 expected, '{}' found", type);
  return dtype;
}

/// The number in the type of what it stands beside.
Expression beside(double value, const Expression& other) { return number(value, other.type()); }

}  // namespace

std::string Expression::type() const { return std::string(name(OperatorAccess::expr(*this).dtype())); }

Expression axis(int k) {
  if (k < 0) refuse("an axis from 0 expected, {} found", k);
  return OperatorAccess::expression(te::axis(k));
}

Expression reduced_axis(int k) {
  if (k < 0) refuse("an axis from 0 expected, {} found", k);
  return OperatorAccess::expression(te::reduce_axis(k));
}

Expression number(double value, const std::string& type) {
  const DataType dtype = computed_type(type);
  if (!kFloats.contains(dtype) && std::trunc(value) != value)
    refuse("a whole number beside {} expected, {} found", type, value);
  return OperatorAccess::expression(te::literal(te::Number(value), dtype));
}

Expression integer(int64_t value, const std::string& type) {
  return OperatorAccess::expression(te::literal(te::Number(value), computed_type(type)));
}

Expression size(const Size& size) { return OperatorAccess::expression(OperatorAccess::dim(size).expr()); }

Expression operator+(const Expression& a, const Expression& b) {
  return binary(te::BinaryOp::kAdd, a, b, Operands::kNumbers);
}
Expression operator-(const Expression& a, const Expression& b) {
  return binary(te::BinaryOp::kSub, a, b, Operands::kNumbers);
}
Expression operator*(const Expression& a, const Expression& b) {
  return binary(te::BinaryOp::kMul, a, b, Operands::kNumbers);
}
Expression operator/(const Expression& a, const Expression& b) {
  return binary(te::BinaryOp::kDiv, a, b, Operands::kNumbers);
}
Expression operator+(const Expression& a, double b) { return a + beside(b, a); }
Expression operator-(const Expression& a, double b) { return a - beside(b, a); }
Expression operator*(const Expression& a, double b) { return a * beside(b, a); }
Expression operator/(const Expression& a, double b) { return a / beside(b, a); }
Expression operator+(double a, const Expression& b) { return beside(a, b) + b; }
Expression operator-(double a, const Expression& b) { return beside(a, b) - b; }
Expression operator*(double a, const Expression& b) { return beside(a, b) * b; }
Expression operator/(double a, const Expression& b) { return beside(a, b) / b; }
Expression operator-(const Expression& a) { return unary(te::UnaryOp::kNeg, a, Operands::kNumbers); }

Expression operator<(const Expression& a, const Expression& b) {
  return binary(te::BinaryOp::kLess, a, b, Operands::kNumbers);
}
Expression operator<=(const Expression& a, const Expression& b) {
  return binary(te::BinaryOp::kLessEqual, a, b, Operands::kNumbers);
}
Expression operator>(const Expression& a, const Expression& b) { return b < a; }
Expression operator>=(const Expression& a, const Expression& b) { return b <= a; }
Expression operator==(const Expression& a, const Expression& b) {
  return binary(te::BinaryOp::kEqual, a, b, Operands::kAll);
}
Expression operator<(const Expression& a, double b) { return a < beside(b, a); }
Expression operator<=(const Expression& a, double b) { return a <= beside(b, a); }
Expression operator>(const Expression& a, double b) { return beside(b, a) < a; }
Expression operator>=(const Expression& a, double b) { return beside(b, a) <= a; }
Expression operator==(const Expression& a, double b) { return a == beside(b, a); }
Expression operator&&(const Expression& a, const Expression& b) {
  return binary(te::BinaryOp::kAnd, a, b, Operands::kBools);
}
Expression operator||(const Expression& a, const Expression& b) {
  return binary(te::BinaryOp::kOr, a, b, Operands::kBools);
}
Expression operator!(const Expression& a) { return unary(te::UnaryOp::kNot, a, Operands::kBools); }

Expression select(const Expression& condition, const Expression& then, const Expression& otherwise) {
  const te::Expr left = operand(then, Operands::kAll), right = operand(otherwise, Operands::kAll);
  check_same(left, right);
  return OperatorAccess::expression(te::select(operand(condition, Operands::kBools), left, right));
}

Expression cast(const std::string& type, const Expression& a) {
  return OperatorAccess::expression(te::cast(computed_type(type), OperatorAccess::expr(a)));
}

Expression min(const Expression& a, const Expression& b) {
  return binary(te::BinaryOp::kMin, a, b, Operands::kNumbers);
}
Expression max(const Expression& a, const Expression& b) {
  return binary(te::BinaryOp::kMax, a, b, Operands::kNumbers);
}
Expression min(const Expression& a, double b) { return min(a, beside(b, a)); }
Expression max(const Expression& a, double b) { return max(a, beside(b, a)); }
Expression pow(const Expression& a, const Expression& b) { return binary(te::BinaryOp::kPow, a, b, Operands::kFloats); }
Expression pow(const Expression& a, double b) { return pow(a, beside(b, a)); }
Expression floor_divide(const Expression& a, const Expression& b) {
  return binary(te::BinaryOp::kFloorDiv, a, b, Operands::kIntegers);
}
Expression floor_remainder(const Expression& a, const Expression& b) {
  return binary(te::BinaryOp::kFloorMod, a, b, Operands::kIntegers);
}
Expression abs(const Expression& a) { return unary(te::UnaryOp::kAbs, a, Operands::kNumbers); }
Expression exp(const Expression& a) { return unary(te::UnaryOp::kExp, a, Operands::kFloats); }
Expression log(const Expression& a) { return unary(te::UnaryOp::kLog, a, Operands::kFloats); }
Expression sqrt(const Expression& a) { return unary(te::UnaryOp::kSqrt, a, Operands::kFloats); }
Expression sin(const Expression& a) { return unary(te::UnaryOp::kSin, a, Operands::kFloats); }
Expression cos(const Expression& a) { return unary(te::UnaryOp::kCos, a, Operands::kFloats); }
Expression tanh(const Expression& a) { return unary(te::UnaryOp::kTanh, a, Operands::kFloats); }
Expression erf(const Expression& a) { return unary(te::UnaryOp::kErf, a, Operands::kFloats); }
Expression floor(const Expression& a) { return unary(te::UnaryOp::kFloor, a, Operands::kFloats); }
Expression ceil(const Expression& a) { return unary(te::UnaryOp::kCeil, a, Operands::kFloats); }
Expression round(const Expression& a) { return unary(te::UnaryOp::kRound, a, Operands::kFloats); }
Expression is_nan(const Expression& a) { return unary(te::UnaryOp::kIsNan, a, Operands::kFloats); }

Size::Size(int64_t value) : node_(te::index(value).node()) {}
std::optional<int64_t> Size::value() const { return OperatorAccess::dim(*this).constant(); }
std::string Size::text() const { return OperatorAccess::dim(*this).text(); }
bool Size::operator==(const Size& other) const { return OperatorAccess::dim(*this) == OperatorAccess::dim(other); }
Size operator+(const Size& a, const Size& b) {
  return OperatorAccess::size(OperatorAccess::dim(a) + OperatorAccess::dim(b));
}
Size operator-(const Size& a, const Size& b) {
  return OperatorAccess::size(OperatorAccess::dim(a) - OperatorAccess::dim(b));
}
Size operator*(const Size& a, const Size& b) {
  return OperatorAccess::size(OperatorAccess::dim(a) * OperatorAccess::dim(b));
}
Size operator/(const Size& a, const Size& b) {
  const Dim divisor = OperatorAccess::dim(b);
  if (divisor.is(0)) refuse("a divisor other than 0 expected, 0 found");
  return OperatorAccess::size(floor_div(OperatorAccess::dim(a), divisor));
}

}  // namespace isomer
