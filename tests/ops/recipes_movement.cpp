// Reshapes, transposes, slices, gathers, scatters: operators that move elements.
#include <algorithm>
#include <numeric>

#include "ops/recipes.h"

namespace isomer::test {
namespace {

int64_t rank_of(const Dims& dims) { return static_cast<int64_t>(dims.size()); }
int64_t any_axis(Maker& m, const Dims& dims) { return m.pick(-rank_of(dims), rank_of(dims) - 1); }
int64_t normal(int64_t axis, const Dims& dims) { return axis < 0 ? axis + rank_of(dims) : axis; }

std::vector<int64_t> permutation(Maker& m, int64_t count) {
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t k = count; k > 1; --k) std::swap(order[k - 1], order[m.random.below(k)]);
  return order;
}

void reshape(Maker& m) {
  const Dims shape = m.dims(0, 4, 1);
  m.add(shape);
  std::vector<int64_t> target;
  int64_t pending = 1;
  for (const int64_t dim : shape) {
    pending *= dim;
    if (m.flip()) target.push_back(std::exchange(pending, 1));
  }
  if (pending > 1 || m.flip()) target.push_back(pending);
  const bool allow_zero = m.flip(0.3);
  if (!target.empty() && m.flip()) target[m.random.below(target.size())] = -1;
  for (size_t k = 0; k < target.size() && k < shape.size() && !allow_zero; ++k)
    if (target[k] == shape[k] && m.flip(0.3)) target[k] = 0;
  if (allow_zero) m.set("allowzero", int64_t{1});
  m.decide(target);
}

void flatten(Maker& m) {
  const Dims shape = m.dims(0, 4);
  m.add(shape);
  m.maybe("axis", m.pick(-rank_of(shape), rank_of(shape)));
}

void squeeze(Maker& m) {
  Dims shape = m.dims(0, 4);
  std::vector<int64_t> axes;
  for (int64_t k = 0; k < rank_of(shape); ++k)
    if (m.flip()) shape[k] = 1, axes.push_back(m.flip() ? k : k - rank_of(shape));
  m.add(shape);
  if (m.flip(0.7))
    m.decide(axes);
  else
    m.fix_dims();
}

void unsqueeze(Maker& m) {
  const Dims shape = m.dims(0, 3);
  const int64_t added = m.pick(0, 3), rank = rank_of(shape) + added;
  std::vector<int64_t> axes = permutation(m, rank);
  axes.resize(added);
  for (int64_t& axis : axes)
    if (m.flip()) axis -= rank;
  m.add(shape);
  m.decide(axes);
}

void transpose(Maker& m) {
  const Dims shape = m.dims(0, 5);
  m.add(shape);
  m.maybe("perm", permutation(m, rank_of(shape)));
}

void depth_to_space(Maker& m) {
  const int64_t block = m.pick(1, 3);
  m.set("blocksize", block);
  m.maybe("mode", m.word({"DCR", "CRD"}));
  m.add({m.pick(0, 2), m.pick(1, 2) * block * block, m.pick(1, 3), m.pick(1, 3)});
}

void space_to_depth(Maker& m) {
  const int64_t block = m.pick(1, 3);
  m.set("blocksize", block);
  m.maybe("mode", m.word({"DCR", "CRD"}));
  m.add({m.pick(0, 2), m.pick(1, 3), m.pick(1, 2) * block, m.pick(1, 2) * block});
}

void concat(Maker& m) {
  Dims shape = m.dims(1, 4);
  const int64_t axis = any_axis(m, shape);
  m.set("axis", axis);
  for (int64_t k = m.pick(1, 4); k > 0; --k) {
    shape[normal(axis, shape)] = m.pick(0, 3);
    m.add(shape);
  }
}

void split(Maker& m) {
  Dims shape = m.dims(1, 4);
  const int64_t axis = any_axis(m, shape), parts = m.pick(1, 3);
  if (axis != 0 || m.flip()) m.set("axis", axis);
  m.outputs(parts);
  std::vector<int64_t> sizes;
  for (int64_t k = 0; k < parts; ++k) sizes.push_back(m.pick(0, 3));
  const bool given = m.flip();
  shape[normal(axis, shape)] = given ? std::accumulate(sizes.begin(), sizes.end(), int64_t{0}) : parts * m.pick(1, 2);
  m.add(shape);
  if (given)
    m.decide(sizes);
  else
    m.set("num_outputs", parts);
}

void slice(Maker& m) {
  const Dims shape = m.dims(1, 4);
  std::vector<int64_t> axes = permutation(m, rank_of(shape));
  const bool all = m.flip(0.3);
  if (all) std::iota(axes.begin(), axes.end(), 0);
  if (!all) axes.resize(m.pick(1, rank_of(shape)));
  std::vector<int64_t> starts, ends, steps;
  for (size_t k = 0; k < axes.size(); ++k) {
    starts.push_back(m.pick(-4, 4));
    ends.push_back(m.flip(0.2) ? std::numeric_limits<int32_t>::max() : m.pick(-4, 4));
    steps.push_back(m.one_of<int64_t>({1, 1, 2, -1, -2}));
    if (m.flip()) axes[k] -= all ? 0 : rank_of(shape);
  }
  m.add(shape);
  m.decide(starts);
  m.decide(ends);
  all ? m.omit() : m.decide(axes);
  if (m.flip(0.7)) m.decide(steps);
}

void pad(Maker& m) {
  const Dims shape = m.dims(1, 4, 1);
  const std::string mode = m.word({"constant", "constant", "reflect", "edge", "wrap"});
  if (mode != "constant" || m.flip()) m.set("mode", mode);
  std::vector<int64_t> axes = permutation(m, rank_of(shape));
  const bool some = m.flip(0.3);
  if (!some) std::iota(axes.begin(), axes.end(), 0);
  if (some) axes.resize(m.pick(1, rank_of(shape)));
  std::vector<int64_t> pads(2 * axes.size());
  for (size_t k = 0; k < pads.size(); ++k) {
    const int64_t dim = shape[axes[k % axes.size()]];
    pads[k] = mode == "reflect" ? m.pick(0, dim - 1) : mode == "wrap" ? m.pick(0, dim) : m.pick(0, 2);
  }
  if (mode == "constant" && m.flip(0.2)) pads[0] = -1;
  m.add(shape);
  m.decide(pads);
  m.flip() ? m.add({}) : m.omit();
  if (some) m.decide(axes);
}

void center_crop_pad(Maker& m) {
  const Dims shape = m.dims(1, 4);
  std::vector<int64_t> axes = permutation(m, rank_of(shape)), sizes;
  const bool some = m.flip();
  if (some) axes.resize(m.pick(1, rank_of(shape)));
  for (int64_t& axis : axes) {
    sizes.push_back(m.pick(0, 5));
    if (m.flip()) axis -= rank_of(shape);
  }
  if (some) m.set("axes", axes);
  m.add(shape);
  m.decide(sizes);
}

void tile(Maker& m) {
  const Dims shape = m.dims(1, 4);
  std::vector<int64_t> repeats;
  for (size_t k = 0; k < shape.size(); ++k) repeats.push_back(m.pick(0, 3));
  m.add(shape);
  m.decide(repeats);
}

void expand(Maker& m) {
  const Dims target = m.dims(0, 4);
  m.add(broadcastable(m, target));
  std::vector<int64_t> shape(target.begin(), target.end());
  for (int64_t& dim : shape)
    if (m.flip(0.2)) dim = 1;
  m.decide(shape);
}

/// Indices into an axis of `dim` elements, from either end.
void indices(Maker& m, Dims dims, int64_t dim) {
  m.add(std::move(dims), static_cast<double>(-dim), static_cast<double>(dim - 1));
}

void gather(Maker& m) {
  const Dims shape = m.dims(1, 4, 1);
  const int64_t axis = any_axis(m, shape);
  if (axis != 0 || m.flip()) m.set("axis", axis);
  m.add(shape);
  indices(m, m.dims(0, 3), shape[normal(axis, shape)]);
}

void gather_elements(Maker& m) {
  const Dims shape = m.dims(1, 4, 1);
  const int64_t axis = any_axis(m, shape);
  if (axis != 0 || m.flip()) m.set("axis", axis);
  Dims picked = shape;
  for (int64_t& dim : picked) dim = m.pick(0, dim);
  m.add(shape);
  indices(m, picked, shape[normal(axis, shape)]);
}

void gather_nd(Maker& m) {
  const Dims shape = m.dims(1, 4, 1, 2);
  const int64_t batch = m.pick(0, std::min<int64_t>(1, rank_of(shape) - 1));
  if (batch > 0 || m.flip()) m.set("batch_dims", batch);
  Dims picked(shape.begin(), shape.begin() + batch);
  if (m.flip() || batch == 0) picked.push_back(m.pick(0, 3));
  picked.push_back(m.pick(1, rank_of(shape) - batch));
  m.add(shape);
  indices(m, picked, 1);
  m.fix_dims();
}

void scatter_elements(Maker& m) {
  const Dims shape = m.dims(1, 3, 1);
  const int64_t axis = any_axis(m, shape);
  if (axis != 0 || m.flip()) m.set("axis", axis);
  if (m.instance.op->name == "ScatterElements" && m.type(0) != DataType::kBool)
    m.maybe("reduction", m.word({"none", "add", "mul", "max", "min"}));
  Dims picked = shape;
  for (int64_t& dim : picked) dim = m.pick(0, dim);
  m.add(shape);
  indices(m, picked, shape[normal(axis, shape)]);
  m.add(picked);
}

void scatter_nd(Maker& m) {
  const Dims shape = m.dims(1, 3, 1);
  const int64_t depth = m.pick(1, rank_of(shape));
  Dims picked = m.dims(0, 2), updates = picked;
  picked.push_back(depth);
  updates.insert(updates.end(), shape.begin() + depth, shape.end());
  if (m.type(0) != DataType::kBool) m.maybe("reduction", m.word({"none", "add", "mul", "max", "min"}));
  m.add(shape);
  indices(m, picked, *std::min_element(shape.begin(), shape.begin() + depth));
  m.fix_dims();
  m.add(updates);
}

void reverse_sequence(Maker& m) {
  const Dims shape = m.dims(2, 4, 1);
  const int64_t time = m.pick(0, 1);
  m.set("time_axis", time);
  m.set("batch_axis", 1 - time);
  m.add(shape);
  m.add({shape[1 - time]}, 1, static_cast<double>(shape[time]));
}

void shape_of(Maker& m) {
  m.add(m.dims(0, 4));
  m.maybe("start", m.pick(-4, 4));
  m.maybe("end", m.pick(-4, 4));
}

void range(Maker& m) {
  const bool down = m.flip();
  m.add({}, 0, 3);
  m.add({}, down ? -4 : 3, down ? 0 : 8);
  m.give(m.values(m.type(0), {}, down ? -2 : 1, down ? -1 : 2));
  for (auto& input : m.instance.inputs) input.constant = m.flip();
  if (m.flip(0.3)) m.set("stash_type", int64_t{1});
}

void constant_of_shape(Maker& m) {
  const Dims shape = m.dims(0, 3);
  m.decide(shape);
  if (m.flip(0.8)) m.set("value", m.values(m.type_of("T2"), {1}, 0, 5));
}

void constant(Maker& m) {
  switch (m.pick(0, 4)) {
    case 0: m.set("value", m.values(m.type_of("T"), m.dims(0, 3), 0, 5)); break;
    case 1: m.set("value_int", m.pick(-5, 5)); break;
    case 2: m.set("value_ints", std::vector<int64_t>{1, m.pick(-5, 5)}); break;
    case 3: m.set("value_float", 1.5f); break;
    default: m.set("value_floats", std::vector<float>{1.5f, 2}); break;
  }
}

void eye_like(Maker& m) {
  m.add(m.dims(2, 2));
  m.maybe("k", m.pick(-3, 3));
  if (m.flip()) m.set("dtype", static_cast<int64_t>(m.type_of("T2")));
}

void one_hot(Maker& m) {
  const Dims shape = m.dims(0, 3);
  m.maybe("axis", m.pick(-rank_of(shape) - 1, rank_of(shape)));
  m.add(shape, 0, 4);
  m.give(m.values(m.type(1), m.flip() ? Dims{} : Dims{1}, 3, 4), m.flip(0.75));
  m.add({2});
}

void trilu(Maker& m) {
  m.add(m.dims(2, 4));
  if (m.flip()) m.decide_scalar(m.pick(-3, 3));
  m.maybe("upper", m.pick(0, 1));
}

void window(Maker& m) {
  m.give(m.values(m.type(0), {}, 1, 9), m.flip(0.75));
  m.set("output_datatype", static_cast<int64_t>(m.type_of("T2")));
  m.maybe("periodic", m.pick(0, 1));
}

}  // namespace

void add_movement_recipes(Recipes& recipes) {
  recipes["Reshape"] = reshape;
  recipes["Flatten"] = flatten;
  recipes["Squeeze"] = squeeze;
  recipes["Unsqueeze"] = unsqueeze;
  recipes["Transpose"] = transpose;
  recipes["DepthToSpace"] = depth_to_space;
  recipes["SpaceToDepth"] = space_to_depth;
  recipes["Concat"] = concat;
  recipes["Split"] = split;
  recipes["Slice"] = slice;
  recipes["Pad"] = pad;
  recipes["CenterCropPad"] = center_crop_pad;
  recipes["Tile"] = tile;
  recipes["Expand"] = expand;
  recipes["Gather"] = gather;
  recipes["GatherElements"] = gather_elements;
  recipes["GatherND"] = gather_nd;
  recipes["ScatterElements"] = scatter_elements;
  recipes["Scatter"] = scatter_elements;
  recipes["ScatterND"] = scatter_nd;
  recipes["ReverseSequence"] = reverse_sequence;
  recipes["Shape"] = shape_of;
  recipes["Range"] = range;
  recipes["ConstantOfShape"] = constant_of_shape;
  recipes["Constant"] = constant;
  recipes["EyeLike"] = eye_like;
  recipes["OneHot"] = one_hot;
  recipes["Trilu"] = trilu;
  for (const std::string_view name : {"HannWindow", "HammingWindow", "BlackmanWindow"}) recipes[name] = window;
}

}  // namespace isomer::test
