#include "interpreter/compare.h"

#include <cmath>

#include "graph/te/algebra_floating.h"
#include "graph/te/evaluate.h"
#include "graph/te/interpret.h"

namespace isomer::te::test {
namespace {

using testing::AssertionFailure;
using testing::AssertionResult;
using testing::AssertionSuccess;
using Reference = ValuesOver<DoubleAlgebra>;

Array working(const Tensor& tensor) {
  if (is_float(tensor.dtype())) {
    std::vector<double> values(tensor.count());
    for (size_t i = 0; i < values.size(); ++i) values[i] = tensor.real(static_cast<int64_t>(i));
    return Array::reals(tensor.dtype(), tensor.dims(), values);
  }
  return Array::integers(tensor.dtype(), tensor.dims(), tensor.integers());
}

bool is_near(double expected, double found, double scale) {
  if (std::isnan(expected) || std::isnan(found)) return std::isnan(expected) && std::isnan(found);
  if (std::isinf(expected) || std::isinf(found)) return expected == found;
  return std::fabs(expected - found) <= 1e-11 * scale;
}

AssertionResult same(const Reference& expected, const Array& found) {
  if (expected.dtype == DataType::kUndefined)
    return found.empty() ? AssertionSuccess() : AssertionFailure() << "an output that is absent";
  if (found.dtype() != expected.dtype)
    return AssertionFailure() << name(found.dtype()) << " instead of " << name(expected.dtype);
  if (found.dims() != expected.dims)
    return AssertionFailure() << "dims " << testing::PrintToString(found.dims()) << " instead of "
                              << testing::PrintToString(expected.dims);
  double scale = 1;
  for (const auto& element : expected.elements)
    if (const double* real = std::get_if<double>(&element); real && std::isfinite(*real))
      scale = std::max(scale, std::fabs(*real));
  for (int64_t i = 0; i < found.count(); ++i) {
    const auto& element = expected.elements[i];
    if (is_float(found.dtype())) {
      if (!is_near(std::get<double>(element), found.real(i), scale))
        return AssertionFailure() << "element " << i << " of " << testing::PrintToString(found.dims()) << " is "
                                  << found.real(i) << " instead of " << std::get<double>(element);
    } else if (std::get<int64_t>(element) != found.integer(i)) {
      return AssertionFailure() << "element " << i << " of " << testing::PrintToString(found.dims()) << " is "
                                << found.integer(i) << " instead of " << std::get<int64_t>(element);
    }
  }
  return AssertionSuccess();
}

}  // namespace

AssertionResult agrees(const Program& program, const std::vector<Tensor>& inputs) {
  const Concrete<DoubleAlgebra> scalars;
  std::vector<Reference> values;
  std::vector<const Reference*> given;
  std::vector<Array> native, wide;
  for (const Tensor& input : inputs) {
    auto value = import_tensor(scalars, input);
    if (!value.ok()) return AssertionFailure() << value.error().message();
    values.push_back(*std::move(value));
    native.push_back(Array::from(input));
    wide.push_back(working(input));
  }
  for (const Reference& value : values) given.push_back(&value);
  const auto expected = evaluate(program, scalars, given);
  for (const int threads : {1, 3})
    for (const auto* arrays : {&native, &wide}) {
      const auto found = interpret(program, *arrays, {.threads = threads});
      if (found.ok() != expected.ok())
        return AssertionFailure() << "the evaluator says: " << (expected.ok() ? "fine" : expected.error().message())
                                  << "; the interpreter: " << (found.ok() ? "fine" : found.error().message());
      if (!found.ok()) continue;
      for (size_t k = 0; k < expected->size(); ++k)
        if (const AssertionResult result = same((*expected)[k], (*found)[k]); !result)
          return AssertionFailure() << "output " << k << " with " << threads << " threads from "
                                    << (arrays == &native ? "native" : "working") << " storage: " << result.message();
    }
  return AssertionSuccess();
}

}  // namespace isomer::te::test
