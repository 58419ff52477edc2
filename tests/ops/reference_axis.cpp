// Reductions, softmax and normalizations.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/reference.h"

namespace isomer::test {
namespace {

/// The elements of x whose index agrees with `at` but on `axes`.
std::vector<double> line(const Plain& x, const Dims& at, const std::vector<int64_t>& axes) {
  std::vector<double> values;
  for (int64_t i = 0; i < x.count(); ++i) {
    const Dims index = x.index(i);
    bool same = true;
    for (int64_t k = 0; k < x.rank(); ++k)
      same = same && (index[k] == at[k] || std::find(axes.begin(), axes.end(), k) != axes.end());
    if (same) values.push_back(x.values[i]);
  }
  return values;
}

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }
double mean_of(const std::vector<double>& values) { return sum_of(values) / static_cast<double>(values.size()); }
double variance_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return sum / static_cast<double>(values.size());
}

using Fold = double (*)(const std::vector<double>&);

Reference reduce(Fold fold) {
  return [fold](const Call& call) {
    const Plain x = call.input(0);
    std::vector<int64_t> axes;
    if (call.has(1)) axes = call.instance.inputs[1].tensor.integers();
    for (int64_t& axis : axes) axis += axis < 0 ? x.rank() : 0;
    if (axes.empty() && call.integer("noop_with_empty_axes", 0) == 0) {
      axes.resize(x.rank());
      std::iota(axes.begin(), axes.end(), 0);
    }
    Dims kept = x.dims, dims;
    for (int64_t k = 0; k < x.rank(); ++k) {
      const bool reduced = std::find(axes.begin(), axes.end(), k) != axes.end();
      if (reduced) kept[k] = 1;
      if (!reduced || call.integer("keepdims", 1) != 0) dims.push_back(kept[k]);
    }
    Plain y(kept);
    for (int64_t i = 0; i < y.count(); ++i) y.values[i] = fold(line(x, y.index(i), axes));
    y.dims = dims;
    return std::vector{y};
  };
}

/// y = f(element, its line along the axis)
template <class F>
Reference along_axis(F f) {
  return [f](const Call& call) {
    const Plain x = call.input(0);
    Plain y(x.dims);
    for (int64_t i = 0; i < x.count(); ++i)
      y.values[i] = f(x.values[i], line(x, x.index(i), {call.axis(-1, x.rank())}), call);
    return std::vector{y};
  };
}

std::vector<int64_t> from_axis(int64_t first, int64_t rank) {
  std::vector<int64_t> axes;
  for (int64_t k = first; k < rank; ++k) axes.push_back(k);
  return axes;
}

std::vector<Plain> batch_normalization(const Call& call) {
  const Plain x = call.input(0);
  Plain y(x.dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    const int64_t c = x.rank() > 1 ? x.index(i)[1] : 0;
    const auto parameter = [&](size_t k) { return call.input(k).values[c]; };
    y.values[i] = (x.values[i] - parameter(3)) / std::sqrt(parameter(4) + call.real("epsilon", 1e-5)) * parameter(1) +
                  parameter(2);
  }
  return {y};
}

std::vector<Plain> instance_normalization(const Call& call) {
  const Plain x = call.input(0);
  Plain y(x.dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    const Dims at = x.index(i);
    const auto values = line(x, at, from_axis(2, x.rank()));
    y.values[i] = (x.values[i] - mean_of(values)) / std::sqrt(variance_of(values) + call.real("epsilon", 1e-5)) *
                      call.input(1).values[at[1]] +
                  call.input(2).values[at[1]];
  }
  return {y};
}

std::vector<Plain> group_normalization(const Call& call) {
  const Plain x = call.input(0);
  const int64_t groups = call.integer("num_groups", 1);
  Plain grouped = x;
  grouped.dims = {x.dims[0], groups, groups == 0 || x.dims[0] == 0 ? 0 : x.count() / (x.dims[0] * groups)};
  Plain y(x.dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    const auto values = line(grouped, grouped.index(i), {2});
    const int64_t c = x.index(i)[1];
    y.values[i] = (x.values[i] - mean_of(values)) / std::sqrt(variance_of(values) + call.real("epsilon", 1e-5)) *
                      call.input(1).values[c] +
                  call.input(2).values[c];
  }
  return {y};
}

std::vector<Plain> layer_normalization(const Call& call) {
  const Plain x = call.input(0);
  const int64_t axis = call.axis(-1, x.rank());
  Dims kept = x.dims;
  std::fill(kept.begin() + axis, kept.end(), 1);
  Plain y(x.dims), means(kept), inverses(kept);
  const auto normal = [&](const Dims& at) {
    const auto values = line(x, at, from_axis(axis, x.rank()));
    return std::pair(mean_of(values), 1 / std::sqrt(variance_of(values) + call.real("epsilon", 1e-5)));
  };
  for (int64_t i = 0; i < means.count(); ++i) std::tie(means.values[i], inverses.values[i]) = normal(means.index(i));
  const int64_t width = call.input(1).count();
  for (int64_t i = 0; i < x.count(); ++i) {
    const auto [mean, inverse] = normal(x.index(i));
    y.values[i] = (x.values[i] - mean) * inverse * call.input(1).values[i % width];
    if (call.has(2)) y.values[i] += call.input(2).values[i % width];
  }
  return {y, means, inverses};
}

std::vector<Plain> root_mean_square(const Call& call) {
  const Plain x = call.input(0);
  const int64_t axis = call.axis(-1, x.rank()), width = call.input(1).count();
  Plain y(x.dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    auto values = line(x, x.index(i), from_axis(axis, x.rank()));
    for (double& value : values) value *= value;
    y.values[i] =
        x.values[i] / std::sqrt(mean_of(values) + call.real("epsilon", 1e-5)) * call.input(1).values[i % width];
  }
  return {y};
}

std::vector<Plain> mean_variance(const Call& call) {
  const Plain x = call.input(0);
  Plain y(x.dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    const auto values = line(x, x.index(i), call.integers("axes", {0, 2, 3}));
    y.values[i] = (x.values[i] - mean_of(values)) / (std::sqrt(variance_of(values)) + 1e-9);
  }
  return {y};
}

std::vector<Plain> lrn(const Call& call) {
  const Plain x = call.input(0);
  const int64_t size = call.integer("size", 1);
  Plain y(x.dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    Dims at = x.index(i);
    const int64_t c = at[1];
    double sum = 0;
    for (at[1] = std::max<int64_t>(0, c - (size - 1) / 2); at[1] <= std::min(x.dims[1] - 1, c + size / 2); ++at[1])
      sum += x.at(at) * x.at(at);
    y.values[i] =
        x.values[i] / std::pow(call.real("bias", 1) + call.real("alpha", 1e-4) / static_cast<double>(size) * sum,
                               call.real("beta", 0.75));
  }
  return {y};
}

Reference arg_extreme(bool greatest) {
  return [greatest](const Call& call) {
    const Plain x = call.input(0);
    const int64_t axis = call.axis(0, x.rank());
    Dims kept = x.dims;
    kept[axis] = 1;
    Plain y(kept);
    for (int64_t i = 0; i < y.count(); ++i) {
      const auto values = line(x, y.index(i), {axis});
      size_t best = 0;
      for (size_t k = 1; k < values.size(); ++k) {
        const bool better = greatest ? values[k] > values[best] : values[k] < values[best];
        if (better || (values[k] == values[best] && call.integer("select_last_index", 0) != 0)) best = k;
      }
      y.values[i] = static_cast<double>(best);
    }
    if (call.integer("keepdims", 1) == 0) y.dims.erase(y.dims.begin() + axis);
    return std::vector{y};
  };
}

Reference cumulative(double neutral, double (*combine)(double, double)) {
  return [neutral, combine](const Call& call) {
    const Plain x = call.input(0);
    int64_t axis = call.instance.inputs[1].tensor.integer(0);
    axis += axis < 0 ? x.rank() : 0;
    const bool exclusive = call.integer("exclusive", 0) != 0, reverse = call.integer("reverse", 0) != 0;
    Plain y(x.dims, neutral);
    for (int64_t i = 0; i < x.count(); ++i) {
      Dims at = x.index(i);
      const int64_t own = at[axis];
      for (at[axis] = 0; at[axis] < x.dims[axis]; ++at[axis])
        if ((reverse ? at[axis] > own : at[axis] < own) || (!exclusive && at[axis] == own))
          y.values[i] = combine(y.values[i], x.at(at));
    }
    return std::vector{y};
  };
}

}  // namespace

void add_axis_references(References& references) {
  references["ReduceSum"] = reduce(sum_of);
  references["ReduceMean"] = reduce(mean_of);
  references["ReduceMax"] = reduce(
      [](const std::vector<double>& v) { return v.empty() ? -HUGE_VAL : *std::max_element(v.begin(), v.end()); });
  references["ReduceMin"] =
      reduce([](const std::vector<double>& v) { return v.empty() ? INFINITY : *std::min_element(v.begin(), v.end()); });
  references["ReduceProd"] = reduce(
      [](const std::vector<double>& v) { return std::accumulate(v.begin(), v.end(), 1.0, std::multiplies<>()); });
  references["ReduceL1"] = reduce([](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.0, [](double a, double b) { return a + std::fabs(b); });
  });
  references["ReduceL2"] = reduce(
      [](const std::vector<double>& v) { return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0)); });
  references["ReduceSumSquare"] =
      reduce([](const std::vector<double>& v) { return std::inner_product(v.begin(), v.end(), v.begin(), 0.0); });
  references["ReduceLogSum"] = reduce([](const std::vector<double>& v) { return std::log(sum_of(v)); });
  references["ReduceLogSumExp"] = reduce([](const std::vector<double>& v) {
    return std::log(std::accumulate(v.begin(), v.end(), 0.0, [](double a, double b) { return a + std::exp(b); }));
  });
  references["ArgMax"] = arg_extreme(true);
  references["ArgMin"] = arg_extreme(false);
  references["CumSum"] = cumulative(0, [](double a, double b) { return a + b; });
  references["CumProd"] = cumulative(1, [](double a, double b) { return a * b; });
  const auto exponentials = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += std::exp(value);
    return sum;
  };
  references["Softmax"] = along_axis([exponentials](double x, const std::vector<double>& values, const Call&) {
    return std::exp(x) / exponentials(values);
  });
  references["LogSoftmax"] = along_axis([exponentials](double x, const std::vector<double>& values, const Call&) {
    return x - std::log(exponentials(values));
  });
  references["LpNormalization"] = along_axis([](double x, const std::vector<double>& values, const Call& call) {
    double norm = 0;
    for (const double value : values) norm += call.integer("p", 2) == 1 ? std::fabs(value) : value * value;
    return x / (call.integer("p", 2) == 1 ? norm : std::sqrt(norm));
  });
  references["BatchNormalization"] = batch_normalization;
  references["InstanceNormalization"] = instance_normalization;
  references["GroupNormalization"] = group_normalization;
  references["LayerNormalization"] = layer_normalization;
  references["RMSNormalization"] = root_mean_square;
  references["MeanVarianceNormalization"] = mean_variance;
  references["LRN"] = lrn;
}

}  // namespace isomer::test
