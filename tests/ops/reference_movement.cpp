// Operators that move elements.
#include <algorithm>
#include <numeric>

#include "ops/reference.h"

namespace isomer::test {
namespace {

std::vector<int64_t> integers_of(const Call& call, size_t i) { return call.instance.inputs[i].tensor.integers(); }

std::vector<Plain> transpose(const Call& call) {
  const Plain x = call.input(0);
  std::vector<int64_t> reversed(x.dims.size());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  const auto perm = call.integers("perm", reversed);
  Dims dims;
  for (const int64_t axis : perm) dims.push_back(x.dims[axis]);
  Plain y(dims);
  for (int64_t i = 0; i < x.count(); ++i) {
    const Dims from = x.index(i);
    Dims to;
    for (const int64_t axis : perm) to.push_back(from[axis]);
    y.at(to) = x.values[i];
  }
  return {y};
}

std::vector<Plain> concat(const Call& call) {
  Dims dims = call.input(0).dims;
  const int64_t axis = call.axis(0, static_cast<int64_t>(dims.size()));
  dims[axis] = 0;
  for (size_t i = 0; i < call.inputs(); ++i) dims[axis] += call.input(i).dims[axis];
  Plain y(dims);
  int64_t start = 0;
  for (size_t i = 0; i < call.inputs(); ++i) {
    const Plain x = call.input(i);
    for (int64_t k = 0; k < x.count(); ++k) {
      Dims to = x.index(k);
      to[axis] += start;
      y.at(to) = x.values[k];
    }
    start += x.dims[axis];
  }
  return {y};
}

/// As numpy's x[start:end:step] along each of the axes, but that a start before the axis means 0 for negative steps
/// too. An axis of no elements has nothing to start at.
std::vector<Plain> slice(const Call& call) {
  const Plain x = call.input(0);
  const auto starts = integers_of(call, 1), ends = integers_of(call, 2);
  std::vector<int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) axes = integers_of(call, 3);
  if (call.has(4)) steps = integers_of(call, 4);
  std::vector<std::vector<int64_t>> kept;
  for (const int64_t dim : x.dims) {
    kept.emplace_back(dim);
    std::iota(kept.back().begin(), kept.back().end(), 0);
  }
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t axis = axes[k] < 0 ? axes[k] + x.rank() : axes[k], dim = x.dims[axis];
    const auto from_front = [&](int64_t p) { return p < 0 ? p + dim : p; };
    kept[axis].clear();
    if (steps[k] > 0)
      for (int64_t p = std::max<int64_t>(from_front(starts[k]), 0); p < std::min(from_front(ends[k]), dim);
           p += steps[k])
        kept[axis].push_back(p);
    else
      for (int64_t p = std::min(std::max<int64_t>(from_front(starts[k]), 0), dim - 1);
           p > std::max<int64_t>(from_front(ends[k]), -1); p += steps[k])
        kept[axis].push_back(p);
  }
  Dims dims;
  for (const auto& positions : kept) dims.push_back(static_cast<int64_t>(positions.size()));
  Plain y(dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims from = y.index(i);
    for (size_t k = 0; k < from.size(); ++k) from[k] = kept[k][from[k]];
    y.values[i] = x.at(from);
  }
  return {y};
}

std::vector<Plain> pad(const Call& call) {
  const Plain x = call.input(0);
  const std::string mode = call.text("mode", "constant");
  const auto pads = integers_of(call, 1);
  std::vector<int64_t> axes(x.rank()), before(x.rank());
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) axes = integers_of(call, 3);
  Dims dims = x.dims;
  for (size_t k = 0; k < axes.size(); ++k) {
    const int64_t axis = axes[k] < 0 ? axes[k] + x.rank() : axes[k];
    before[axis] = pads[k];
    dims[axis] += pads[k] + pads[k + axes.size()];
  }
  const double fill = call.has(2) ? call.input(2).values[0] : 0;
  Plain y(dims, fill);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims from = y.index(i);
    bool inside = true;
    for (size_t k = 0; k < from.size(); ++k) {
      const int64_t dim = x.dims[k];
      int64_t p = from[k] - before[k];
      if (mode == "edge") p = std::clamp<int64_t>(p, 0, dim - 1);
      if (mode == "wrap") p = ((p % dim) + dim) % dim;
      if (mode == "reflect" && p < 0) p = -p;
      if (mode == "reflect" && p >= dim) p = 2 * (dim - 1) - p;
      inside = inside && p >= 0 && p < dim;
      from[k] = p;
    }
    if (inside) y.values[i] = x.at(from);
  }
  return {y};
}

std::vector<Plain> gather(const Call& call) {
  const Plain x = call.input(0);
  const int64_t axis = call.axis(0, x.rank());
  const Dims picked = call.instance.inputs[1].tensor.dims();
  const auto indices = integers_of(call, 1);
  Dims dims(x.dims.begin(), x.dims.begin() + axis);
  dims.insert(dims.end(), picked.begin(), picked.end());
  dims.insert(dims.end(), x.dims.begin() + axis + 1, x.dims.end());
  Plain y(dims);
  const Plain places(picked);
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = y.index(i);
    const Dims place(at.begin() + axis, at.begin() + axis + static_cast<int64_t>(picked.size()));
    const int64_t index = indices[places.offset(place)];
    Dims from(at.begin(), at.begin() + axis);
    from.push_back(index < 0 ? index + x.dims[axis] : index);
    from.insert(from.end(), at.begin() + axis + static_cast<int64_t>(picked.size()), at.end());
    y.values[i] = x.at(from);
  }
  return {y};
}

std::vector<Plain> gather_elements(const Call& call) {
  const Plain x = call.input(0);
  const int64_t axis = call.axis(0, x.rank());
  Plain y(call.instance.inputs[1].tensor.dims());
  const auto indices = integers_of(call, 1);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims from = y.index(i);
    from[axis] = indices[i] < 0 ? indices[i] + x.dims[axis] : indices[i];
    y.values[i] = x.at(from);
  }
  return {y};
}

std::vector<Plain> tile(const Call& call) {
  const Plain x = call.input(0);
  const auto repeats = integers_of(call, 1);
  Dims dims = x.dims;
  for (size_t k = 0; k < dims.size(); ++k) dims[k] *= repeats[k];
  Plain y(dims);
  for (int64_t i = 0; i < y.count(); ++i) {
    Dims from = y.index(i);
    for (size_t k = 0; k < from.size(); ++k) from[k] %= x.dims[k];
    y.values[i] = x.at(from);
  }
  return {y};
}

std::vector<Plain> depth_to_space(const Call& call) {
  const Plain x = call.input(0);
  const int64_t block = call.integer("blocksize", 1), channels = x.dims[1] / (block * block);
  const bool column_row_depth = call.text("mode", "DCR") == "CRD";
  Plain y({x.dims[0], channels, x.dims[2] * block, x.dims[3] * block});
  for (int64_t i = 0; i < y.count(); ++i) {
    const Dims at = y.index(i);
    const int64_t cell = (at[2] % block) * block + at[3] % block;
    const int64_t depth = column_row_depth ? at[1] * block * block + cell : cell * channels + at[1];
    y.values[i] = x.at({at[0], depth, at[2] / block, at[3] / block});
  }
  return {y};
}

}  // namespace

void add_movement_references(References& references) {
  references["Transpose"] = transpose;
  references["Concat"] = concat;
  references["Slice"] = slice;
  references["Pad"] = pad;
  references["Gather"] = gather;
  references["GatherElements"] = gather_elements;
  references["Tile"] = tile;
  references["DepthToSpace"] = depth_to_space;
}

}  // namespace isomer::test
