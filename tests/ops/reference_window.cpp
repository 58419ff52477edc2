// Convolutions and pools: loops over windows, transposed ones by scattering.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/reference.h"

namespace isomer::test {
namespace {

Dims spatial(const Dims& dims) { return {dims.begin() + 2, dims.end()}; }

Dims with_head(int64_t n, int64_t c, const Dims& tail) {
  Dims result = {n, c};
  result.insert(result.end(), tail.begin(), tail.end());
  return result;
}

struct Geometry {
  std::vector<int64_t> kernel, strides, dilations, begin, end;
  Dims out;
};

Geometry geometry(const Call& call, const Dims& in, const Dims& kernel) {
  const size_t rank = in.size();
  Geometry g{kernel,
             call.integers("strides", std::vector<int64_t>(rank, 1)),
             call.integers("dilations", std::vector<int64_t>(rank, 1)),
             {},
             {},
             {}};
  const auto pads = call.integers("pads", std::vector<int64_t>(2 * rank));
  const std::string mode = call.text("auto_pad", "NOTSET");
  const bool ceil = call.integer("ceil_mode", 0) != 0;
  for (size_t k = 0; k < rank; ++k) {
    const int64_t extent = (kernel[k] - 1) * g.dilations[k] + 1;
    int64_t begin = 0, end = 0, out = 0;
    if (mode == "NOTSET") begin = pads[k], end = pads[k + rank];
    if (mode.starts_with("SAME")) {
      out = (in[k] + g.strides[k] - 1) / g.strides[k];
      const int64_t total = std::max<int64_t>(0, (out - 1) * g.strides[k] + extent - in[k]);
      begin = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      end = total - begin;
    } else {
      const double windows = static_cast<double>(in[k] + begin + end - extent) / static_cast<double>(g.strides[k]);
      out = static_cast<int64_t>(ceil && mode == "NOTSET" ? std::ceil(windows) : std::floor(windows)) + 1;
      if (ceil && mode == "NOTSET" && (out - 1) * g.strides[k] >= in[k] + begin) --out;
    }
    g.begin.push_back(begin);
    g.end.push_back(end);
    g.out.push_back(out);
  }
  return g;
}

}  // namespace

Plain convolved(const Call& call, const Plain& x, const Plain& w) {
  const Geometry g = geometry(call, spatial(x.dims), spatial(w.dims));
  const int64_t group = call.integer("group", 1), per_group = w.dims[0] / group;
  Plain y(with_head(x.dims[0], w.dims[0], g.out));
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = y.index(i);
    for (int64_t j = at[1] * w.count() / w.dims[0]; j < (at[1] + 1) * w.count() / w.dims[0]; ++j) {
      const Dims tap = w.index(j);
      Dims from = {at[0], at[1] / per_group * w.dims[1] + tap[1]};
      bool inside = true;
      for (size_t k = 0; k < g.out.size(); ++k) {
        from.push_back(at[k + 2] * g.strides[k] + tap[k + 2] * g.dilations[k] - g.begin[k]);
        inside = inside && from.back() >= 0 && from.back() < x.dims[k + 2];
      }
      if (inside) y.values[i] += x.at(from) * w.values[j];
    }
  }
  return y;
}

namespace {

std::vector<Plain> conv(const Call& call) {
  Plain y = convolved(call, call.input(0), call.input(1));
  for (int64_t i = 0; i < y.count() && call.has(2); ++i) y.values[i] += call.input(2).values[y.index(i)[1]];
  return {y};
}

/// Each element of each block goes where its block lies in the image.
std::vector<Plain> col2im(const Call& call) {
  const Plain x = call.input(0);
  const auto image = call.instance.inputs[1].tensor.integers(), block = call.instance.inputs[2].tensor.integers();
  const size_t rank = image.size();
  const Plain taps{Dims(block)};
  const Geometry g = geometry(call, image, block);
  const Plain blocks(g.out);
  const int64_t channels = x.dims[1] / taps.count();
  Plain y(with_head(x.dims[0], channels, image));
  for (int64_t i = 0; i < x.count(); ++i) {
    const Dims at = x.index(i), tap = taps.index(at[1] % taps.count()), place = blocks.index(at[2]);
    Dims to = {at[0], at[1] / taps.count()};
    bool inside = true;
    for (size_t k = 0; k < rank; ++k) {
      to.push_back(place[k] * g.strides[k] + tap[k] * g.dilations[k] - g.begin[k]);
      inside = inside && to.back() >= 0 && to.back() < image[k];
    }
    if (inside) y.at(to) += x.values[i];
  }
  return {y};
}

/// Between elements linear, 0 outside.
double interpolated(const Plain& x, const Dims& head, const std::vector<double>& position) {
  double sum = 0;
  for (uint64_t corner = 0; corner < uint64_t{1} << position.size(); ++corner) {
    Dims at = head;
    double weight = 1;
    bool inside = true;
    for (size_t k = 0; k < position.size(); ++k) {
      at.push_back(static_cast<int64_t>(std::floor(position[k])) + static_cast<int64_t>((corner >> k) & 1));
      weight *= 1 - std::fabs(position[k] - static_cast<double>(at.back()));
      inside = inside && at.back() >= 0 && at.back() < x.dims[at.size() - 1];
    }
    if (inside) sum += weight * x.at(at);
  }
  return sum;
}

std::vector<Plain> deform_conv(const Call& call) {
  const Plain x = call.input(0), w = call.input(1), offset = call.input(2);
  const Geometry g = geometry(call, spatial(x.dims), spatial(w.dims));
  const Plain taps(spatial(w.dims));
  const int64_t group = call.integer("group", 1), offset_group = call.integer("offset_group", 1);
  Plain y(with_head(x.dims[0], w.dims[0], g.out));
  const auto rank = static_cast<int64_t>(g.out.size());
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = y.index(i);
    if (call.has(3)) y.values[i] = call.input(3).values[at[1]];
    for (int64_t c = 0; c < w.dims[1]; ++c)
      for (int64_t t = 0; t < taps.count(); ++t) {
        const int64_t channel = at[1] / (w.dims[0] / group) * w.dims[1] + c;
        const int64_t part = channel / (x.dims[1] / offset_group) * taps.count() + t;
        const Dims tap = taps.index(t), place(at.begin() + 2, at.end());
        std::vector<double> position;
        for (int64_t k = 0; k < rank; ++k)
          position.push_back(static_cast<double>(place[k] * g.strides[k] + tap[k] * g.dilations[k] - g.begin[k]) +
                             offset.at(with_head(at[0], part * rank + k, place)));
        const double mask = call.has(4) ? call.input(4).at(with_head(at[0], part, place)) : 1;
        y.values[i] += mask * interpolated(x, {at[0], channel}, position) * w.at(with_head(at[1], c, tap));
      }
  }
  return {y};
}

/// Each input element is spread over the outputs that its windows cover.
std::vector<Plain> conv_transpose(const Call& call) {
  const Plain x = call.input(0), w = call.input(1);
  const size_t rank = x.dims.size() - 2;
  const int64_t group = call.integer("group", 1), channels = x.dims[1] / group, filters = w.dims[1];
  const auto strides = call.integers("strides", std::vector<int64_t>(rank, 1));
  const auto dilations = call.integers("dilations", std::vector<int64_t>(rank, 1));
  const auto extra = call.integers("output_padding", std::vector<int64_t>(rank));
  const auto pads = call.integers("pads", std::vector<int64_t>(2 * rank));
  const std::string mode = call.text("auto_pad", "NOTSET");
  Dims out = call.integers("output_shape", {});
  const bool given = !out.empty();
  std::vector<int64_t> begin(rank);
  for (size_t k = 0; k < rank; ++k) {
    const int64_t full = strides[k] * (x.dims[k + 2] - 1) + (w.dims[k + 2] - 1) * dilations[k] + 1 + extra[k];
    if (given || mode.starts_with("SAME")) {
      if (!given) out.push_back(x.dims[k + 2] * strides[k]);
      const int64_t total = std::max<int64_t>(0, full - out[k]);
      begin[k] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    } else {
      begin[k] = mode == "VALID" ? 0 : pads[k];
      out.push_back(full - begin[k] - (mode == "VALID" ? 0 : pads[k + rank]));
    }
  }
  Plain y(with_head(x.dims[0], filters * group, out));
  for (int64_t i = 0; i < y.count() && call.has(2); ++i) y.values[i] = call.input(2).values[y.index(i)[1]];
  for (int64_t i = 0; i < x.count(); ++i) {
    const Dims at = x.index(i);
    for (int64_t j = at[1] * w.count() / w.dims[0]; j < (at[1] + 1) * w.count() / w.dims[0]; ++j) {
      const Dims tap = w.index(j);
      Dims to = {at[0], at[1] / channels * filters + tap[1]};
      bool inside = true;
      for (size_t k = 0; k < rank; ++k) {
        to.push_back(at[k + 2] * strides[k] + tap[k + 2] * dilations[k] - begin[k]);
        inside = inside && to.back() >= 0 && to.back() < out[k];
      }
      if (inside) y.at(to) += x.values[i] * w.values[j];
    }
  }
  return {y};
}

/// Element and flat index of each tap inside the input, and how many taps lie in the padded input.
struct Taps {
  std::vector<double> values;
  std::vector<int64_t> positions;
  int64_t padded = 0;
};

Taps taps(const Plain& x, const Geometry& g, const Dims& at) {
  Taps result;
  const Plain kernel(g.kernel);
  for (int64_t j = 0; j < kernel.count(); ++j) {
    const Dims tap = kernel.index(j);
    Dims from = {at[0], at[1]};
    bool inside = true, padded = true;
    for (size_t k = 0; k < g.out.size(); ++k) {
      const int64_t p = at[k + 2] * g.strides[k] + tap[k] * g.dilations[k] - g.begin[k];
      inside = inside && p >= 0 && p < x.dims[k + 2];
      padded = padded && p < x.dims[k + 2] + g.end[k];
      from.push_back(p);
    }
    result.padded += padded;
    if (!inside) continue;
    result.values.push_back(x.at(from));
    result.positions.push_back(x.offset(from));
  }
  return result;
}

/// y = f(taps)
template <class F>
std::vector<Plain> pool(const Call& call, F f) {
  const Plain x = call.input(0);
  const Geometry g = geometry(call, spatial(x.dims), call.integers("kernel_shape", {}));
  Plain y(with_head(x.dims[0], x.dims[1], g.out));
  for (int64_t i = 0; i < y.count(); ++i) y.values[i] = f(taps(x, g, y.index(i)), x);
  return {y};
}

size_t largest(const Taps& taps) {
  return std::max_element(taps.values.begin(), taps.values.end()) - taps.values.begin();
}

std::vector<Plain> max_pool(const Call& call) {
  std::vector<Plain> outputs = pool(call, [](const Taps& taps, const Plain&) {
    return taps.values.empty() ? -std::numeric_limits<double>::infinity() : taps.values[largest(taps)];
  });
  outputs.push_back(pool(call, [&](const Taps& taps, const Plain& x) -> double {
    if (taps.values.empty()) return -1;
    const Dims at = x.index(taps.positions[largest(taps)]);
    if (call.integer("storage_order", 0) == 0) return static_cast<double>(x.offset(at));
    int64_t inner = 0, size = 1;
    for (size_t k = 2; k < at.size(); size *= x.dims[k++]) inner += at[k] * size;
    return static_cast<double>((at[0] * x.dims[1] + at[1]) * size + inner);
  })[0]);
  return outputs;
}

double average(const std::vector<double>& values, int64_t count) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(count);
}

double norm(const std::vector<double>& values, double p) {
  double sum = 0;
  for (const double value : values) sum += std::pow(std::fabs(value), p);
  return std::pow(sum, 1 / p);
}

/// y = f(all spatial elements of a channel)
template <class F>
std::vector<Plain> global_pool(const Call& call, F f) {
  const Plain x = call.input(0);
  Plain y(with_head(x.dims[0], x.dims[1], Dims(x.dims.size() - 2, 1)));
  const int64_t size = x.count() / std::max<int64_t>(1, y.count());
  for (int64_t i = 0; i < y.count(); ++i)
    y.values[i] = f(std::vector<double>(x.values.begin() + i * size, x.values.begin() + (i + 1) * size));
  return {y};
}

}  // namespace

void add_window_references(References& references) {
  references["Conv"] = conv;
  references["Col2Im"] = col2im;
  references["DeformConv"] = deform_conv;
  references["ConvTranspose"] = conv_transpose;
  references["MaxPool"] = max_pool;
  references["AveragePool"] = [](const Call& call) {
    return pool(call, [&](const Taps& taps, const Plain&) {
      const bool padding = call.integer("count_include_pad", 0) != 0;
      return average(taps.values, padding ? taps.padded : static_cast<int64_t>(taps.values.size()));
    });
  };
  references["com.microsoft.QLinearAveragePool"] = [](const Call& call) {
    const auto parameter = [&](size_t i) { return call.has(i) ? call.input(i).values[0] : 0; };
    std::vector<Plain> y = pool(call, [&](const Taps& taps, const Plain&) {
      const bool padding = call.integer("count_include_pad", 0) != 0;
      std::vector<double> numbers = taps.values;
      for (double& number : numbers) number = (number - parameter(2)) * parameter(1);
      return average(numbers, padding ? taps.padded : static_cast<int64_t>(numbers.size()));
    });
    const double least = call.instance.inputs[0].tensor.dtype() == DataType::kInt8 ? -128 : 0;
    for (double& value : y[0].values)
      value = std::clamp(std::nearbyint(value / parameter(3)) + parameter(4), least, least + 255);
    return y;
  };
  references["LpPool"] = [](const Call& call) {
    return pool(call, [&](const Taps& taps, const Plain&) {
      return norm(taps.values, static_cast<double>(call.integer("p", 2)));
    });
  };
  references["GlobalMaxPool"] = [](const Call& call) {
    return global_pool(call, [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); });
  };
  references["GlobalAveragePool"] = [](const Call& call) {
    return global_pool(call, [](const std::vector<double>& v) { return average(v, static_cast<int64_t>(v.size())); });
  };
  references["GlobalLpPool"] = [](const Call& call) {
    return global_pool(
        call, [&](const std::vector<double>& v) { return norm(v, static_cast<double>(call.integer("p", 2))); });
  };
}

}  // namespace isomer::test
