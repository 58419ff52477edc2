// Quantization and products of quantized operands.
#include <algorithm>
#include <cmath>

#include "ops/reference.h"

namespace isomer::test {
namespace {

/// A scale or zero point at an element of a tensor: of all, or one along the axis.
double parameter(const Call& call, size_t i, double fallback, const Dims& at, int64_t axis) {
  if (!call.has(i)) return fallback;
  const Plain x = call.input(i);
  return x.rank() == 0 ? x.values[0] : x.values[x.count() == 1 ? 0 : at[axis]];
}

double saturated(double value, DataType dtype) {
  if (is_float(dtype)) return value;
  const int width = value_bits(dtype);
  return is_unsigned_int(dtype) ? std::clamp(value, 0.0, std::exp2(width) - 1)
                                : std::clamp(value, -std::exp2(width - 1), std::exp2(width - 1) - 1);
}

std::vector<Plain> quantize(const Call& call) {
  const Plain x = call.input(0);
  const int64_t given = call.integer("axis", 1), axis = given < 0 ? given + x.rank() : given;
  const auto stated = static_cast<DataType>(call.integer("output_dtype", 0));
  const DataType dtype = call.has(2)                      ? call.instance.inputs[2].tensor.dtype()
                         : stated != DataType::kUndefined ? stated
                                                          : DataType::kUInt8;
  Plain y(x.dims);
  const DataType scale = call.instance.inputs[1].tensor.dtype();
  DataType type = call.instance.inputs[0].tensor.dtype();
  bool is_rounded = is_float(type) && (type == scale || is_minifloat(scale));  // which may make a tie
  if (const int64_t precision = call.integer("precision", 0); precision != 0) {
    type = static_cast<DataType>(precision);
    is_rounded = true;
  }
  for (int64_t i = 0; i < x.count(); ++i) {
    const auto in_type = [&](double value) { return is_rounded ? round_to(type, value) : value; };
    const double exact = in_type(x.values[i]) / in_type(parameter(call, 1, 1, x.index(i), axis));
    const double quotient = in_type(exact), zero = parameter(call, 2, 0, x.index(i), axis);
    y.values[i] = is_minifloat(dtype) ? as_minifloat(dtype, quotient + zero, call.integer("saturate", 1) != 0, "")
                                      : saturated(std::nearbyint(quotient) + zero, dtype);
  }
  return {y};
}

std::vector<Plain> dequantize(const Call& call) {
  const Plain x = call.input(0);
  const int64_t given = call.integer("axis", 1), axis = given < 0 ? given + x.rank() : given;
  Plain y(x.dims);
  for (int64_t i = 0; i < x.count(); ++i)
    y.values[i] = (x.values[i] - parameter(call, 2, 0, x.index(i), axis)) * parameter(call, 1, 1, x.index(i), axis);
  return {y};
}

/// Operand i less its zero point, times its scale (-1: none), both along the axis where they are vectors.
Plain real_operand(const Call& call, size_t i, int64_t scale, size_t zero, int64_t axis) {
  Plain x = call.input(i);
  for (int64_t k = 0; k < x.count(); ++k) {
    const Dims at = x.index(k);
    x.values[k] -= parameter(call, zero, 0, at, axis);
    if (scale >= 0) x.values[k] *= parameter(call, scale, 1, at, axis);
  }
  return x;
}

int64_t rows_axis(const Call& call, size_t i) { return std::max<int64_t>(call.input(i).rank() - 2, 0); }
int64_t columns_axis(const Call& call, size_t i) { return call.input(i).rank() - 1; }

Plain requantized(const Call& call, Plain y, size_t scale, size_t zero) {
  for (double& value : y.values)
    value = saturated(std::nearbyint(value / call.input(scale).values[0]) + call.input(zero).values[0],
                      call.instance.inputs[zero].tensor.dtype());
  return y;
}

/// The numbers of a tensor that has its scale and its zero point behind it.
Plain numbers(const Call& call, size_t i) { return real_operand(call, i, static_cast<int64_t>(i) + 1, i + 2, 0); }

/// Numbers as elements of a type, by a scale and the zero point behind it.
Plain quantized(const Call& call, Plain y, size_t scale, DataType dtype) {
  for (double& value : y.values)
    value =
        saturated(std::nearbyint(value / call.input(scale).values[0]) + parameter(call, scale + 1, 0, {}, 0), dtype);
  return y;
}

template <class Operation>
Reference quantized_pair(const Operation& operation) {
  return [operation](const Call& call) {
    const Plain a = numbers(call, 0), b = numbers(call, 3);
    Dims dims = a.dims;  // the second one broadcasts to it
    Plain y(dims);
    for (int64_t i = 0; i < y.count(); ++i) y.values[i] = operation(a.values[i], broadcast_element(b, y.index(i)));
    return std::vector{quantized(call, y, 6, call.instance.inputs[0].tensor.dtype())};
  };
}

template <class Operation>
Reference quantized_single(const Operation& operation) {
  return [operation](const Call& call) {
    Plain y = numbers(call, 0);
    for (double& value : y.values) value = operation(call, value);
    return std::vector{quantized(call, y, 3, call.instance.inputs[0].tensor.dtype())};
  };
}

std::vector<Plain> quantized_mean(const Call& call) {
  const Plain x = numbers(call, 0);
  const int64_t channels = call.integer("channels_last", 0) != 0 ? x.rank() - 1 : 1;
  Dims dims(x.rank(), 1);
  dims[0] = x.dims[0];
  dims[channels] = x.dims[channels];
  Plain y(dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    Dims at(x.rank(), 0);
    at[0] = x.index(i)[0];
    at[channels] = x.index(i)[channels];
    y.values[y.offset(at)] += x.values[i] * static_cast<double>(y.count()) / static_cast<double>(x.count());
  }
  return {quantized(call, y, 3, call.instance.inputs[0].tensor.dtype())};
}

std::vector<Plain> quantized_where(const Call& call) {
  const Plain x = numbers(call, 1), y = numbers(call, 4);
  Plain z(x.dims);  // the others broadcast to it
  for (int64_t i = 0; i < z.count(); ++i)
    z.values[i] = broadcast_element(call.input(0), z.index(i)) != 0 ? x.values[i] : broadcast_element(y, z.index(i));
  return {quantized(call, z, 7, call.instance.inputs[1].tensor.dtype())};
}

std::vector<Plain> quantized_softmax(const Call& call) {
  Plain x = numbers(call, 0);
  const int64_t axis = call.axis(-1, x.rank());
  const bool is_single = call.integer("opset", 13) >= 13;
  int64_t inner = 1;
  for (int64_t k = axis + 1; k < x.rank() && is_single; ++k) inner *= x.dims[k];
  int64_t length = 1;
  for (int64_t k = axis; k < (is_single ? axis + 1 : x.rank()); ++k) length *= x.dims[k];
  for (int64_t row = 0; row < x.count() / length; ++row) {
    const int64_t first = row / inner * inner * length + row % inner;
    double total = 0;
    for (int64_t k = 0; k < length; ++k) total += std::exp(x.values[first + k * inner]);
    for (int64_t k = 0; k < length; ++k) {
      double& value = x.values[first + k * inner];
      value = std::exp(value) / total;
    }
  }
  return {quantized(call, x, 3, call.instance.inputs[0].tensor.dtype())};
}

std::vector<Plain> quantized_reduce_mean(const Call& call) {
  const Plain x = numbers(call, 0);
  std::vector<bool> is_reduced(static_cast<size_t>(x.rank()));
  for (const int64_t axis : call.integers("axes", {})) is_reduced[axis < 0 ? axis + x.rank() : axis] = true;
  Dims dims;
  double count = 1;
  for (int64_t k = 0; k < x.rank(); ++k) {
    if (!is_reduced[k] || call.integer("keepdims", 1) != 0) dims.push_back(is_reduced[k] ? 1 : x.dims[k]);
    if (is_reduced[k]) count *= static_cast<double>(x.dims[k]);
  }
  Plain y(dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    Dims at;
    for (int64_t k = 0; k < x.rank(); ++k)
      if (!is_reduced[k] || call.integer("keepdims", 1) != 0) at.push_back(is_reduced[k] ? 0 : x.index(i)[k]);
    y.at(at) += x.values[i] / count;
  }
  return {quantized(call, y, 3, call.instance.inputs[0].tensor.dtype())};
}

std::vector<Plain> quantized_concat(const Call& call) {
  const int64_t rank = call.input(2).rank(), given = call.integer("axis", 0), axis = given < 0 ? given + rank : given;
  Dims dims = call.input(2).dims;
  for (size_t i = 5; i < call.instance.inputs.size(); i += 3) dims[axis] += call.input(i).dims[axis];
  Plain y(dims);
  int64_t begin = 0;
  for (size_t i = 2; i < call.instance.inputs.size(); i += 3) {
    const Plain piece = quantized(call, numbers(call, i), 0, call.instance.inputs[1].tensor.dtype());
    for (int64_t k = 0; k < piece.count(); ++k) {
      Dims at = piece.index(k);
      at[axis] += begin;
      y.values[y.offset(at)] = piece.values[k];
    }
    begin += piece.dims[axis];
  }
  return {y};
}

std::vector<Plain> quantized_gemm(const Call& call) {
  const auto operand = [&](size_t i, const char* flag, int64_t axis) {
    const bool is_transposed = call.integer(flag, 0) != 0;
    const Plain x = call.input(i);
    Plain y(is_transposed ? Dims{x.dims[1], x.dims[0]} : x.dims);
    for (int64_t k = 0; k < y.count(); ++k) {
      const Dims at = y.index(k);
      y.values[k] = x.values[x.offset(is_transposed ? Dims{at[1], at[0]} : at)] - parameter(call, i + 2, 0, at, axis);
    }
    return y;
  };
  Plain y = multiplied(operand(0, "transA", 0), operand(3, "transB", 1));
  for (int64_t k = 0; k < y.count(); ++k) {
    const Dims at = y.index(k);
    if (call.has(6)) y.values[k] += broadcast_element(call.input(6), at);
    y.values[k] *= call.real("alpha", 1) * call.input(1).values[0] * parameter(call, 4, 1, at, 1);
  }
  return {call.has(7) ? quantized(call, y, 7, call.instance.inputs[8].tensor.dtype()) : y};
}

}  // namespace

void add_quantized_references(References& references) {
  references["QuantizeLinear"] = quantize;
  references["DequantizeLinear"] = dequantize;
  references["MatMulInteger"] = [](const Call& call) {
    return std::vector{multiplied(real_operand(call, 0, -1, 2, rows_axis(call, 0)),
                                  real_operand(call, 1, -1, 3, columns_axis(call, 1)))};
  };
  references["ConvInteger"] = [](const Call& call) {
    return std::vector{convolved(call, real_operand(call, 0, -1, 2, 0), real_operand(call, 1, -1, 3, 0))};
  };
  references["com.microsoft.QLinearAdd"] = quantized_pair([](double a, double b) { return a + b; });
  references["com.microsoft.QLinearMul"] = quantized_pair([](double a, double b) { return a * b; });
  references["com.microsoft.QLinearSigmoid"] =
      quantized_single([](const Call&, double x) { return 1 / (1 + std::exp(-x)); });
  references["com.microsoft.QLinearLeakyRelu"] =
      quantized_single([](const Call& call, double x) { return x < 0 ? call.real("alpha", 0.01) * x : x; });
  references["com.microsoft.QLinearGlobalAveragePool"] = quantized_mean;
  references["com.microsoft.QLinearWhere"] = quantized_where;
  references["com.microsoft.QLinearSoftmax"] = quantized_softmax;
  references["com.microsoft.QLinearReduceMean"] = quantized_reduce_mean;
  references["com.microsoft.QuantizeLinear"] = quantize;
  references["com.microsoft.DequantizeLinear"] = dequantize;
  references["com.microsoft.QLinearConcat"] = quantized_concat;
  references["com.microsoft.QGemm"] = quantized_gemm;
  references["QLinearMatMul"] = [](const Call& call) {
    const Plain y =
        multiplied(real_operand(call, 0, 1, 2, rows_axis(call, 0)), real_operand(call, 3, 4, 5, columns_axis(call, 3)));
    return std::vector{requantized(call, y, 6, 7)};
  };
  references["QLinearConv"] = [](const Call& call) {
    Plain y = convolved(call, real_operand(call, 0, 1, 2, 0), real_operand(call, 3, 4, 5, 0));
    for (int64_t i = 0; i < y.count() && call.has(8); ++i) {
      const Dims filter = {y.index(i)[1]};
      y.values[i] += call.input(8).values[filter[0]] * call.input(1).values[0] * parameter(call, 4, 1, filter, 0);
    }
    return std::vector{requantized(call, y, 6, 7)};
  };
}

}  // namespace isomer::test
