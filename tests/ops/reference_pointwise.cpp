// Pointwise operators by the functions of <cmath>.
#include <algorithm>
#include <cmath>

#include "ops/reference.h"

namespace isomer::test {
namespace {

Reference unary(double (*f)(double)) {
  return [f](const Call& call) {
    Plain y = call.input(0);
    for (double& value : y.values) value = f(value);
    return std::vector{y};
  };
}

/// f also reads attributes.
Reference unary_with(double (*f)(double, const Call&)) {
  return [f](const Call& call) {
    Plain y = call.input(0);
    for (double& value : y.values) value = f(value, call);
    return std::vector{y};
  };
}

Dims broadcast_dims(const Call& call) {
  Dims out;
  for (size_t i = 0; i < call.inputs(); ++i) {
    Dims dims = call.input(i).dims;
    const size_t rank = std::max(dims.size(), out.size());
    dims.insert(dims.begin(), rank - dims.size(), 1);
    out.insert(out.begin(), rank - out.size(), 1);
    for (size_t k = 0; k < rank; ++k)
      if (out[k] == 1) out[k] = dims[k];
  }
  return out;
}

/// Folds all inputs from the left with broadcasting; `finish` sees the number of inputs.
Reference broadcast(double (*f)(double, double), double (*finish)(double, double) = nullptr) {
  return [f, finish](const Call& call) {
    Plain y(broadcast_dims(call));
    for (int64_t i = 0; i < y.count(); ++i) {
      y.values[i] = broadcast_element(call.input(0), y.index(i));
      for (size_t k = 1; k < call.inputs(); ++k)
        y.values[i] = f(y.values[i], broadcast_element(call.input(k), y.index(i)));
      if (finish) y.values[i] = finish(y.values[i], static_cast<double>(call.inputs()));
    }
    return std::vector{y};
  };
}

bool takes_reals(const Call& call) { return is_float(call.instance.inputs[0].tensor.dtype()); }

/// As `broadcast`; f also sees the call.
Reference broadcast_with(double (*f)(double, double, const Call&)) {
  return [f](const Call& call) {
    Plain y(broadcast_dims(call));
    for (int64_t i = 0; i < y.count(); ++i)
      y.values[i] = f(broadcast_element(call.input(0), y.index(i)), broadcast_element(call.input(1), y.index(i)), call);
    return std::vector{y};
  };
}

/// On integers, by their bits.
template <class F>
Reference bitwise(F f) {
  return [f](const Call& call) {
    Plain y(broadcast_dims(call));
    for (int64_t i = 0; i < y.count(); ++i)
      y.values[i] = static_cast<double>(f(static_cast<int64_t>(broadcast_element(call.input(0), y.index(i))),
                                          static_cast<int64_t>(broadcast_element(call.input(1), y.index(i)))));
    return std::vector{y};
  };
}

std::vector<Plain> cast_to(const Call& call, DataType dtype) {
  Plain y = call.input(0);
  for (double& value : y.values)
    if (dtype == DataType::kBool)
      value = value != 0;
    else if (is_minifloat(dtype))
      value = as_minifloat(dtype, value, call.integer("saturate", 1) != 0, call.text("round_mode", "up"));
    else if (kSmallInts.contains(dtype))
      value = std::nearbyint(value);
    else if (!is_float(dtype))
      value = std::trunc(value);
  return {y};
}

double normal_cdf(double x) { return 0.5 * (1 + std::erf(x / std::sqrt(2.0))); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

void add_pointwise_references(References& references) {
  references["Abs"] = unary(std::fabs);
  references["Neg"] = unary([](double x) { return -x; });
  references["Sqrt"] = unary(std::sqrt);
  references["Exp"] = unary(std::exp);
  references["Log"] = unary(std::log);
  references["Floor"] = unary(std::floor);
  references["Ceil"] = unary(std::ceil);
  references["Round"] = unary(std::nearbyint);
  references["Erf"] = unary(std::erf);
  references["Reciprocal"] = unary([](double x) { return 1 / x; });
  references["Sign"] = unary([](double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x == 0 ? 0.0 : x; });
  references["Sin"] = unary(std::sin);
  references["Cos"] = unary(std::cos);
  references["Tan"] = unary(std::tan);
  references["Asin"] = unary(std::asin);
  references["Acos"] = unary(std::acos);
  references["Atan"] = unary(std::atan);
  references["Sinh"] = unary(std::sinh);
  references["Cosh"] = unary(std::cosh);
  references["Asinh"] = unary(std::asinh);
  references["Acosh"] = unary(std::acosh);
  references["Atanh"] = unary(std::atanh);
  references["Tanh"] = unary(std::tanh);
  references["Sigmoid"] = unary(sigmoid);
  references["Softplus"] = unary([](double x) { return std::log1p(std::exp(x)); });
  references["Softsign"] = unary([](double x) { return x / (1 + std::fabs(x)); });
  references["Mish"] = unary([](double x) { return x * std::tanh(std::log1p(std::exp(x))); });
  references["HardSwish"] = unary([](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); });
  references["Relu"] = unary([](double x) { return std::max(x, 0.0); });
  references["Not"] = unary([](double x) { return x == 0 ? 1.0 : 0.0; });
  references["Identity"] = unary([](double x) { return x; });

  references["LeakyRelu"] = unary_with([](double x, const Call& c) { return x < 0 ? x * c.real("alpha", 0.01) : x; });
  references["Elu"] =
      unary_with([](double x, const Call& c) { return x < 0 ? c.real("alpha", 1) * (std::exp(x) - 1) : x; });
  references["Selu"] = unary_with([](double x, const Call& c) {
    const double alpha = c.real("alpha", 1.67326319217681884765625), gamma = c.real("gamma", 1.05070102214813232421875);
    return gamma * (x > 0 ? x : alpha * (std::exp(x) - 1));
  });
  references["Celu"] = unary_with([](double x, const Call& c) {
    const double alpha = c.real("alpha", 1);
    return std::max(0.0, x) + std::min(0.0, alpha * (std::exp(x / alpha) - 1));
  });
  references["ThresholdedRelu"] = unary_with([](double x, const Call& c) { return x > c.real("alpha", 1) ? x : 0; });
  references["HardSigmoid"] = unary_with(
      [](double x, const Call& c) { return std::clamp(c.real("alpha", 0.2) * x + c.real("beta", 0.5), 0.0, 1.0); });
  references["Gelu"] = unary_with([](double x, const Call& c) {
    if (c.text("approximate", "none") == "none") return x * normal_cdf(x);
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  });

  references["Add"] = broadcast([](double a, double b) { return a + b; });
  references["Sub"] = broadcast([](double a, double b) { return a - b; });
  references["Mul"] = broadcast([](double a, double b) { return a * b; });
  references["Pow"] = broadcast([](double a, double b) { return std::pow(a, b); });
  references["Max"] = broadcast([](double a, double b) { return std::max(a, b); });
  references["Min"] = broadcast([](double a, double b) { return std::min(a, b); });
  references["Sum"] = broadcast([](double a, double b) { return a + b; });
  references["Mean"] =
      broadcast([](double a, double b) { return a + b; }, [](double sum, double count) { return sum / count; });
  references["Equal"] = broadcast([](double a, double b) { return a == b ? 1.0 : 0.0; });
  references["Less"] = broadcast([](double a, double b) { return a < b ? 1.0 : 0.0; });
  references["LessOrEqual"] = broadcast([](double a, double b) { return a <= b ? 1.0 : 0.0; });
  references["Greater"] = broadcast([](double a, double b) { return a > b ? 1.0 : 0.0; });
  references["GreaterOrEqual"] = broadcast([](double a, double b) { return a >= b ? 1.0 : 0.0; });
  references["And"] = broadcast([](double a, double b) { return a != 0 && b != 0 ? 1.0 : 0.0; });
  references["Or"] = broadcast([](double a, double b) { return a != 0 || b != 0 ? 1.0 : 0.0; });
  references["Xor"] = broadcast([](double a, double b) { return (a != 0) != (b != 0) ? 1.0 : 0.0; });
  references["Div"] =
      broadcast_with([](double a, double b, const Call& c) { return takes_reals(c) ? a / b : std::trunc(a / b); });
  references["Mod"] = broadcast_with([](double a, double b, const Call& c) {
    return c.integer("fmod", 0) != 0 ? std::fmod(a, b) : a - b * std::floor(a / b);
  });
  references["BitShift"] = broadcast_with([](double a, double b, const Call& c) {
    const bool left = c.text("direction", "") == "LEFT";
    if (b < 0 || b >= bit_width(c.instance.inputs[0].tensor.dtype())) return !left && a < 0 ? -1.0 : 0.0;
    return left ? a * std::exp2(b) : std::floor(a / std::exp2(b));
  });
  references["BitwiseAnd"] = bitwise([](int64_t a, int64_t b) { return a & b; });
  references["BitwiseOr"] = bitwise([](int64_t a, int64_t b) { return a | b; });
  references["BitwiseXor"] = bitwise([](int64_t a, int64_t b) { return a ^ b; });
  references["BitwiseNot"] = unary([](double x) { return -x - 1; });
  references["IsNaN"] = unary([](double x) { return std::isnan(x) ? 1.0 : 0.0; });
  references["IsInf"] = unary_with([](double x, const Call& c) {
    return std::isinf(x) && c.integer(x < 0 ? "detect_negative" : "detect_positive", 1) != 0 ? 1.0 : 0.0;
  });
  references["Shrink"] = unary_with([](double x, const Call& c) {
    const double limit = c.real("lambd", 0.5), bias = c.real("bias", 0);
    return x < -limit ? x + bias : x > limit ? x - bias : 0;
  });
  references["Swish"] = unary_with([](double x, const Call& c) { return x * sigmoid(c.real("alpha", 1) * x); });
  references["Cast"] = [](const Call& call) { return cast_to(call, static_cast<DataType>(call.integer("to", 1))); };
  references["CastLike"] = [](const Call& call) { return cast_to(call, call.instance.inputs[1].tensor.dtype()); };
  references["Dropout"] = [](const Call& call) { return std::vector{call.input(0), Plain(call.input(0).dims, 1)}; };
  references["PRelu"] = broadcast([](double x, double slope) { return x < 0 ? slope * x : x; });
  references["Where"] = [](const Call& call) {
    Plain y(broadcast_dims(call));
    for (int64_t i = 0; i < y.count(); ++i)
      y.values[i] =
          broadcast_element(call.input(broadcast_element(call.input(0), y.index(i)) != 0 ? 1 : 2), y.index(i));
    return std::vector{y};
  };
  references["Clip"] = [](const Call& call) {
    Plain y = call.input(0);
    for (double& value : y.values) {
      if (call.has(1)) value = std::max(value, call.input(1).values[0]);
      if (call.has(2)) value = std::min(value, call.input(2).values[0]);
    }
    return std::vector{y};
  };
}

}  // namespace isomer::test
