// Operators that keep elements in order under other shapes, or make tensors of shapes and numbers.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/reference.h"

namespace isomer::test {
namespace {

std::vector<int64_t> integers_of(const Call& call, size_t i) { return call.instance.inputs[i].tensor.integers(); }

std::vector<Plain> shaped(Plain x, Dims dims) {
  x.dims = std::move(dims);
  return {x};
}

std::vector<int64_t> from_front(std::vector<int64_t> axes, int64_t rank) {
  for (int64_t& axis : axes) axis += axis < 0 ? rank : 0;
  return axes;
}

bool contains(const std::vector<int64_t>& list, int64_t value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::vector<Plain> reshape(const Call& call) {
  const Plain x = call.input(0);
  Dims dims = integers_of(call, 1);
  int64_t rest = x.count();
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] == 0 && call.integer("allowzero", 0) == 0) dims[k] = x.dims[k];
    if (dims[k] > 0) rest /= dims[k];
  }
  for (int64_t& dim : dims)
    if (dim == -1) dim = rest;
  return shaped(x, dims);
}

std::vector<Plain> flatten(const Call& call) {
  const Plain x = call.input(0);
  const int64_t axis = call.axis(1, x.rank());
  return shaped(x, {element_count(Dims(x.dims.begin(), x.dims.begin() + axis)),
                    element_count(Dims(x.dims.begin() + axis, x.dims.end()))});
}

std::vector<Plain> squeeze(const Call& call) {
  const Plain x = call.input(0);
  const auto axes = call.has(1) ? from_front(integers_of(call, 1), x.rank()) : std::vector<int64_t>();
  Dims dims;
  for (int64_t k = 0; k < x.rank(); ++k)
    if (call.has(1) ? !contains(axes, k) : x.dims[k] != 1) dims.push_back(x.dims[k]);
  return shaped(x, dims);
}

std::vector<Plain> unsqueeze(const Call& call) {
  const Plain x = call.input(0);
  const auto rank = x.rank() + static_cast<int64_t>(integers_of(call, 1).size());
  const auto axes = from_front(integers_of(call, 1), rank);
  Dims dims;
  size_t next = 0;
  for (int64_t k = 0; k < rank; ++k) dims.push_back(contains(axes, k) ? 1 : x.dims[next++]);
  return shaped(x, dims);
}

std::vector<Plain> expand(const Call& call) {
  const Plain x = call.input(0);
  Dims dims = integers_of(call, 1), own = x.dims;
  const size_t rank = std::max(dims.size(), own.size());
  dims.insert(dims.begin(), rank - dims.size(), 1);
  own.insert(own.begin(), rank - own.size(), 1);
  for (size_t k = 0; k < rank; ++k) dims[k] = own[k] == 1 ? dims[k] : own[k];
  Plain y(dims), padded = x;
  padded.dims = own;
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims at = y.index(i);
    for (size_t k = 0; k < rank; ++k) at[k] = own[k] == 1 ? 0 : at[k];
    y.values[i] = padded.at(at);
  }
  return {y};
}

std::vector<Plain> split(const Call& call) {
  const Plain x = call.input(0);
  const int64_t axis = call.axis(0, x.rank());
  const auto parts = static_cast<int64_t>(call.instance.outputs.size());
  std::vector<int64_t> sizes(parts, (x.dims[axis] + parts - 1) / parts);
  sizes.back() = x.dims[axis] - sizes[0] * (parts - 1);
  if (call.has(1)) sizes = integers_of(call, 1);
  std::vector<Plain> outputs;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    Dims dims = x.dims;
    dims[axis] = size;
    Plain& y = outputs.emplace_back(dims);
    for (int64_t i = 0; i < y.count(); ++i) {
      Dims at = y.index(i);
      at[axis] += start;
      y.values[i] = x.at(at);
    }
    start += size;
  }
  return outputs;
}

std::vector<Plain> shape(const Call& call) {
  const Dims dims = call.input(0).dims;
  const auto rank = static_cast<int64_t>(dims.size());
  const auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = clamped(call.integer("start", 0)), end = std::max(start, clamped(call.integer("end", rank)));
  Plain y({end - start});
  for (int64_t k = start; k < end; ++k) y.values[k - start] = static_cast<double>(dims[k]);
  return {y};
}

std::vector<Plain> range(const Call& call) {
  const double start = call.input(0).values[0], limit = call.input(1).values[0], delta = call.input(2).values[0];
  Plain y({std::max<int64_t>(0, static_cast<int64_t>(std::ceil((limit - start) / delta)))});
  for (int64_t i = 0; i < y.count(); ++i) y.values[i] = start + static_cast<double>(i) * delta;
  return {y};
}

std::vector<Plain> constant_of_shape(const Call& call) {
  const auto value = call.instance.attributes.find("value");
  return {Plain(integers_of(call, 0),
                value == call.instance.attributes.end() ? 0 : std::get<Tensor>(value->second).real(0))};
}

std::vector<Plain> eye_like(const Call& call) {
  Plain y(call.input(0).dims);
  for (int64_t i = 0; i < y.count(); ++i) y.values[i] = y.index(i)[1] - y.index(i)[0] == call.integer("k", 0);
  return {y};
}

std::vector<Plain> trilu(const Call& call) {
  Plain y = call.input(0);
  const int64_t k = call.has(1) ? integers_of(call, 1)[0] : 0;
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = y.index(i);
    const int64_t offset = at[at.size() - 1] - at[at.size() - 2];
    if (call.integer("upper", 1) != 0 ? offset < k : offset > k) y.values[i] = 0;
  }
  return {y};
}

/// Around the middle; what is missing is 0, and the odd element is at the end.
std::vector<Plain> center_crop_pad(const Call& call) {
  const Plain x = call.input(0);
  std::vector<int64_t> all(x.rank()), shift(x.rank());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = from_front(call.integers("axes", all), x.rank()), sizes = integers_of(call, 1);
  Dims dims = x.dims;
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t in = x.dims[axes[k]], out = sizes[k];
    dims[axes[k]] = out;
    shift[axes[k]] = in > out ? (in - out) / 2 : -((out - in) / 2);
  }
  Plain y(dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims from = y.index(i);
    bool inside = true;
    for (size_t k = 0; k < from.size(); ++k) {
      from[k] += shift[k];
      inside = inside && from[k] >= 0 && from[k] < x.dims[k];
    }
    if (inside) y.values[i] = x.at(from);
  }
  return {y};
}

std::vector<Plain> space_to_depth(const Call& call) {
  const Plain x = call.input(0);
  const int64_t block = call.integer("blocksize", 1), channels = x.dims[1];
  Plain y({x.dims[0], channels * block * block, x.dims[2] / block, x.dims[3] / block});
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = y.index(i);
    const bool crd = call.text("mode", "DCR") == "CRD";
    const int64_t cell = crd ? at[1] % (block * block) : at[1] / channels;
    const int64_t channel = crd ? at[1] / (block * block) : at[1] % channels;
    y.values[i] = x.at({at[0], channel, at[2] * block + cell / block, at[3] * block + cell % block});
  }
  return {y};
}

}  // namespace

void add_shape_references(References& references) {
  references["Reshape"] = reshape;
  references["Flatten"] = flatten;
  references["Squeeze"] = squeeze;
  references["Unsqueeze"] = unsqueeze;
  references["Expand"] = expand;
  references["Split"] = split;
  references["Shape"] = shape;
  references["Size"] = [](const Call& call) {
    return std::vector{Plain({}, static_cast<double>(call.input(0).count()))};
  };
  references["Range"] = range;
  references["ConstantOfShape"] = constant_of_shape;
  references["EyeLike"] = eye_like;
  references["Trilu"] = trilu;
  references["CenterCropPad"] = center_crop_pad;
  references["SpaceToDepth"] = space_to_depth;
}

}  // namespace isomer::test
