#include "graph/ops/winograd_files.h"

#include <algorithm>
#include <array>

#include "graph/ops/pattern.h"
#include "graph/ops/winograd_matrices.h"

namespace isomer::ops {
namespace {

constexpr std::array<std::string_view, 3> kMovement = {"Reshape", "Transpose", "Slice"};

/// The shape of what a node that moves elements makes, if it is of that rank; else nullptr.
const Shape* moved_shape(const Graph& graph, NodeId root, size_t rank) {
  const Pattern pattern(graph);
  const bool moves =
      std::any_of(kMovement.begin(), kMovement.end(), [&](std::string_view op) { return pattern.node(root, op); });
  const ValueType* type = moves ? &graph.value(graph.node(root).outputs[0]).type : nullptr;
  return type && type->has_shape() && type->shape->size() == rank ? &*type->shape : nullptr;
}

/// The value whose elements this one brings into another order.
ValueId before_movement(const Pattern& pattern, ValueId value) {
  const Node* mover = nullptr;
  do {
    mover = nullptr;
    for (const std::string_view op : kMovement)
      if (!mover) mover = pattern.producer(value, op);
    if (mover) value = mover->inputs[0];
  } while (mover);
  return value;
}

/// The images of so many channels, of which the value has each channel as an image of its own.
ValueId image_before(const Pattern& pattern, const Graph& graph, ValueId apart, const Dim& channels) {
  const Shape& all = *graph.value(apart).type.shape;
  const auto has_channels = [&](ValueId value) {
    const ValueType& type = graph.value(value).type;
    return type.has_shape() && type.shape->size() == all.size() && (*type.shape)[1] == channels;
  };
  const Node* reshape = pattern.producer(apart, "Reshape");
  if (reshape && has_channels(reshape->inputs[0])) return reshape->inputs[0];
  return has_channels(apart) ? apart : ValueId();
}

std::vector<int64_t> inputs_of(const std::vector<int64_t>& tile, const std::vector<int64_t>& taps) {
  std::vector<int64_t> result;
  for (size_t k = 0; k < tile.size(); ++k) result.push_back(tile[k] + taps[k] - 1);
  return result;
}

template <class Make>
std::vector<Matrix> matrices_of(const std::vector<int64_t>& sizes, const std::vector<int64_t>& others,
                                const Make& make) {
  std::vector<Matrix> result;
  for (size_t k = 0; k < sizes.size(); ++k) result.push_back(make(sizes[k], others[k]));
  return result;
}
std::vector<Matrix> input_transforms(const std::vector<int64_t>& inputs) {
  return matrices_of(inputs, inputs, [](int64_t a, int64_t) { return input_transform(a); });
}

/// All dims, where they are known.
std::optional<Dims> sizes_of(const ValueType& type) { return type.has_shape() ? constants(*type.shape) : std::nullopt; }

}  // namespace

Result<void> expand_winograd_input(NodeForm& form) {
  const ValueType& type = form.type(0);
  if (!type.has_shape()) return form.unsupported("X of known rank expected");
  const Shape x = *type.shape;
  const size_t rank = x.size() - 2;
  TRY(const auto tile, form.take_ints("tile"));
  TRY(const auto taps, form.take_ints("taps"));
  TRY(const auto pads, form.take_ints("pads"));
  const auto sizes = constants(Shape(x.begin() + 1, x.end()));
  if (!sizes || !tile || !taps || !pads) return form.unsupported("X of known sizes expected, {} found", text(x));
  const std::vector<int64_t> inputs = inputs_of(*tile, *taps);
  const int64_t channels = sizes->front();
  std::vector<int64_t> ends, apart_dims = {-1, 1}, weight_dims = {element_count(inputs), 1};
  int64_t tiles = 1;
  for (size_t k = 0; k < rank; ++k) {
    const int64_t size = (*sizes)[k + 1], begin = (*pads)[k];
    const int64_t count = (size + begin + (*pads)[k + rank] - (*taps)[k] + (*tile)[k]) / (*tile)[k];
    ends.push_back(count * (*tile)[k] + inputs[k] - (*tile)[k] - size - begin);
    apart_dims.push_back(size);
    weight_dims.push_back(inputs[k]);
    tiles *= count;
  }
  std::vector<int64_t> all_pads(pads->begin(), pads->begin() + static_cast<std::ptrdiff_t>(rank));
  all_pads.insert(all_pads.end(), ends.begin(), ends.end());
  const ValueId weight =
      form.constant(kronecker_product(input_transforms(inputs), type.dtype, weight_dims, false), "transform");
  TRY(const ValueId apart, form.emit("Reshape", {form.input(0), form.ints(apart_dims, "channels")}));
  TRY(const ValueId convolved, form.emit("Conv", {apart, weight}, {{"pads", all_pads}, {"strides", *tile}}));
  TRY(const ValueId split,
      form.emit("Reshape", {convolved, form.ints({-1, channels, element_count(inputs), tiles}, "images")}));
  TRY(const ValueId turned, form.emit("Transpose", {split}, {{"perm", std::vector<int64_t>{2, 0, 3, 1}}}));
  return form.emit_as(0, "Reshape", {turned, form.ints({element_count(inputs), -1, channels}, "tiles")});
}

// Sizes of 1 may have left out some of what was written. Pads are what makes whole tiles.
std::optional<Node> recognize_winograd_input(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Shape* tiles = moved_shape(graph, root, 3);
  const Node* convolved =
      tiles ? pattern.producer(before_movement(pattern, graph.node(root).outputs[0]), "Conv") : nullptr;
  const Tensor* transform = convolved ? pattern.constant(convolved->inputs[1]) : nullptr;
  if (!transform || transform->dims().size() < 3 || !graph.value(convolved->inputs[0]).type.has_shape())
    return std::nullopt;
  const ValueId x = image_before(pattern, graph, convolved->inputs[0], (*tiles)[2]);
  const size_t rank = transform->dims().size() - 2;
  const auto given = [&](const char* name, const std::vector<int64_t>& otherwise) {
    const auto found = convolved->attributes.find(name);
    const auto* ints =
        found == convolved->attributes.end() ? nullptr : std::get_if<std::vector<int64_t>>(&found->second);
    return ints && !ints->empty() ? *ints : otherwise;
  };
  const std::vector<int64_t> tile = given("strides", std::vector<int64_t>(rank, 1));
  if (tile.size() != rank) return std::nullopt;
  std::vector<int64_t> taps;
  for (size_t k = 0; k < rank; ++k) taps.push_back(transform->dims()[k + 2] - tile[k] + 1);
  if (!x.valid() || std::any_of(taps.begin(), taps.end(), [](int64_t r) { return r < 1; })) return std::nullopt;
  return pattern.make("WinogradInput", {x},
                      {{"pads", given("pads", std::vector<int64_t>(2 * rank, 0))}, {"taps", taps}, {"tile", tile}});
}

Result<void> expand_winograd_kernel(NodeForm& form) {
  const ValueType& type = form.type(0);
  const auto w = sizes_of(type);
  TRY(const auto tile, form.take_ints("tile"));
  if (!w || !tile) return form.unsupported("W of known sizes expected");
  const std::vector<int64_t> taps(w->begin() + 2, w->end()), inputs = inputs_of(*tile, taps);
  const int64_t all_taps = element_count(taps), all_inputs = element_count(inputs);
  const ValueId transform = form.constant(
      kronecker_product(matrices_of(inputs, taps, kernel_transform), type.dtype, {all_taps, all_inputs}, true),
      "transform");
  TRY(const ValueId flat, form.emit("Reshape", {form.input(0), form.ints({-1, all_taps}, "taps")}));
  TRY(const ValueId product, form.emit("MatMul", {flat, transform}));
  TRY(const ValueId apart, form.emit("Reshape", {product, form.ints({(*w)[0], (*w)[1], all_inputs}, "filters")}));
  return form.emit_as(0, "Transpose", {apart}, {{"perm", std::vector<int64_t>{2, 1, 0}}});
}

Result<void> expand_winograd_output(NodeForm& form) {
  const ValueType& type = form.type(0);
  const auto y = sizes_of(type);
  TRY(const auto tile, form.take_ints("tile"));
  TRY(const auto taps, form.take_ints("taps"));
  TRY(const auto sizes, form.take_ints("sizes"));
  if (!y || !tile || !taps || !sizes) return form.unsupported("Y of known sizes expected");
  const auto rank = static_cast<int64_t>(sizes->size());
  const std::vector<int64_t> inputs = inputs_of(*tile, *taps);
  const int64_t channels = (*y)[2], results = element_count(*tile), all_inputs = element_count(inputs);
  std::vector<int64_t> tiles = *tile, perm = {rank, 2 * rank + 1}, images = {-1, channels}, starts, axes;
  tiles.push_back(-1);
  bool is_whole = true;
  for (int64_t k = 0; k < rank; ++k) {
    const int64_t m = (*tile)[static_cast<size_t>(k)], size = (*sizes)[static_cast<size_t>(k)];
    const int64_t count = (size + m - 1) / m;
    tiles.push_back(count);
    perm.insert(perm.end(), {rank + 1 + k, k});
    images.push_back(count * m);
    starts.push_back(0);
    axes.push_back(k + 2);
    is_whole = is_whole && count * m == size;
  }
  tiles.push_back(channels);
  const ValueId transform = form.constant(
      kronecker_product(matrices_of(*tile, inputs, output_transform), type.dtype, {results, all_inputs}, false),
      "transform");
  TRY(const ValueId flat, form.emit("Reshape", {form.input(0), form.ints({all_inputs, -1}, "flat")}));
  TRY(const ValueId product, form.emit("MatMul", {transform, flat}));
  TRY(const ValueId apart, form.emit("Reshape", {product, form.ints(tiles, "tiles")}));
  TRY(const ValueId turned, form.emit("Transpose", {apart}, {{"perm", perm}}));
  const ValueId shape = form.ints(images, "images");
  if (is_whole) return form.emit_as(0, "Reshape", {turned, shape});
  TRY(const ValueId whole, form.emit("Reshape", {turned, shape}));
  return form.emit_as(0, "Slice",
                      {whole, form.ints(starts, "starts"), form.ints(*sizes, "ends"), form.ints(axes, "axes")});
}

namespace {

/// Which tiles and taps along so many axes have this transform of products to results.
class OutputTilings {
 public:
  explicit OutputTilings(const Tensor& transform, size_t rank) : transform_(transform) { extend({}, {}, rank); }

  struct Tiling {
    std::vector<int64_t> tile, inputs;
  };
  const std::vector<Tiling>& all() const { return found_; }

 private:
  void extend(std::vector<int64_t> tile, std::vector<int64_t> inputs, size_t rank) {
    const Dims& dims = transform_.dims();
    if (rank == 0) {
      if (element_count(tile) == dims[0] && element_count(inputs) == dims[1] &&
          kronecker_product(matrices_of(tile, inputs, output_transform), transform_.dtype(), dims, false)
              .same_contents(transform_))
        found_.push_back({std::move(tile), std::move(inputs)});
      return;
    }
    tile.push_back(1);
    inputs.push_back(1);
    for (int64_t& a = inputs.back(); a <= kLargestTile; ++a)
      for (tile.back() = 1; tile.back() <= a; ++tile.back())
        if (dims[0] % element_count(tile) == 0 && dims[1] % element_count(inputs) == 0) extend(tile, inputs, rank - 1);
  }

  const Tensor& transform_;
  std::vector<Tiling> found_;
};

/// Where the element at `index` of a value comes from: its place, in row-major order, in the value before all that
/// moves elements. Nothing where that is not known.
std::optional<int64_t> origin(const Pattern& pattern, const Graph& graph, ValueId value, Dims index) {
  for (;;) {
    const auto dims = sizes_of(graph.value(value).type);
    if (!dims) return std::nullopt;
    if (const Node* slice = pattern.producer(value, "Slice")) {
      const auto starts = pattern.ints(slice->inputs[1]);
      // What begins elsewhere is no tile's end that is cut off.
      if (!starts || std::any_of(starts->begin(), starts->end(), [](int64_t at) { return at != 0; }))
        return std::nullopt;
      value = slice->inputs[0];
    } else if (const Node* transpose = pattern.producer(value, "Transpose")) {
      const auto perm = transpose->attributes.find("perm");
      if (perm == transpose->attributes.end()) return std::nullopt;
      Dims before(index.size());
      const auto& order = std::get<std::vector<int64_t>>(perm->second);
      for (size_t k = 0; k < order.size(); ++k) before[static_cast<size_t>(order[k])] = index[k];
      index = std::move(before);
      value = transpose->inputs[0];
    } else {
      int64_t place = 0;
      for (size_t k = 0; k < dims->size(); ++k) place = place * (*dims)[k] + index[k];
      const Node* reshape = pattern.producer(value, "Reshape");
      if (!reshape) return place;
      value = reshape->inputs[0];
      const auto before = sizes_of(graph.value(value).type);
      if (!before) return std::nullopt;
      index.assign(before->size(), 0);
      for (size_t k = before->size(); k-- > 0; place /= (*before)[k]) index[k] = place % (*before)[k];
    }
  }
}

/// Whether the first elements along each axis, and those of the next tile, lie where this tiling puts them.
bool lies_as_tiled(const Pattern& pattern, const Graph& graph, ValueId images, const Dims& sizes,
                   const OutputTilings::Tiling& tiling) {
  const size_t rank = sizes.size() - 2;
  int64_t tiles = 1;
  for (size_t k = 0; k < rank; ++k) tiles *= (sizes[k + 2] + tiling.tile[k] - 1) / tiling.tile[k];
  const int64_t columns = sizes[0] * tiles * sizes[1];
  int64_t rows_below = element_count(tiling.tile), tiles_below = tiles;
  for (size_t k = 0; k < rank; ++k) {
    const int64_t m = tiling.tile[k];
    rows_below /= m;
    tiles_below /= (sizes[k + 2] + m - 1) / m;
    for (const int64_t at : {int64_t{1}, m}) {
      if (at >= sizes[k + 2]) continue;
      Dims index(sizes.size(), 0);
      index[k + 2] = at;
      const int64_t expected = at % m * rows_below * columns + at / m * tiles_below * sizes[1];
      if (origin(pattern, graph, images, std::move(index)) != expected) return false;
    }
  }
  return true;
}

}  // namespace

std::optional<Node> recognize_winograd_output(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const ValueId images = graph.node(root).outputs.empty() ? ValueId() : graph.node(root).outputs[0];
  const auto sizes = images.valid() ? sizes_of(graph.value(images).type) : std::nullopt;
  if (!sizes || sizes->size() < 3 || !moved_shape(graph, root, sizes->size()) || element_count(*sizes) == 0)
    return std::nullopt;
  const Node* product = pattern.producer(before_movement(pattern, images), "MatMul");
  const Tensor* transform = product ? pattern.constant(product->inputs[0]) : nullptr;
  if (!transform || transform->dims().size() != 2) return std::nullopt;
  const OutputTilings tilings(*transform, sizes->size() - 2);
  const auto fitting = std::find_if(tilings.all().begin(), tilings.all().end(), [&](const auto& tiling) {
    return lies_as_tiled(pattern, graph, images, *sizes, tiling);
  });
  if (fitting == tilings.all().end()) return std::nullopt;
  const Node* flat = pattern.producer(product->inputs[1], "Reshape");
  const ValueId y = flat ? flat->inputs[0] : product->inputs[1];
  std::vector<int64_t> taps;
  for (size_t k = 0; k < fitting->tile.size(); ++k) taps.push_back(fitting->inputs[k] - fitting->tile[k] + 1);
  return pattern.make(
      "WinogradOutput", {y},
      {{"sizes", std::vector<int64_t>(sizes->begin() + 2, sizes->end())}, {"taps", taps}, {"tile", fitting->tile}});
}

Result<void> expand_winograd_product(NodeForm& form) {
  Attributes attributes = form.node().attributes;
  TRY(const ValueId tiles, form.emit("WinogradInput", {form.input(0)}, std::move(attributes)));
  return form.emit_as(0, "MatMul", {tiles, form.input(1)});
}

}  // namespace isomer::ops
