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
  const auto has_channels = [&](ValueId value) {
    const ValueType& type = graph.value(value).type;
    return type.has_shape() && type.shape->size() == 4 && (*type.shape)[1] == channels;
  };
  const Node* reshape = pattern.producer(apart, "Reshape");
  if (reshape && has_channels(reshape->inputs[0])) return reshape->inputs[0];
  return has_channels(apart) ? apart : ValueId();
}

}  // namespace

Result<void> expand_winograd_input(NodeForm& form) {
  const ValueType& type = form.type(0);
  if (!type.has_shape() || type.shape->size() != 4) return form.unsupported("X of known rank expected");
  const Shape x = *type.shape;
  TRY(const auto tile, form.take_int("tile"));
  TRY(const auto taps, form.take_int("taps"));
  TRY(const auto pads, form.take_ints("pads"));
  if (!x[1].is_constant() || !x[2].is_constant() || !x[3].is_constant() || !tile || !taps)
    return form.unsupported("X of known sizes expected, {} found", text(x));
  const std::vector<int64_t> given = pads.value_or(std::vector<int64_t>(4, 0));
  const int64_t a = *tile + *taps - 1, channels = x[1].value(), height = x[2].value(), width = x[3].value();
  const auto tiles_along = [&](int64_t size, int64_t begin, int64_t end) {
    return (size + begin + end - *taps + *tile) / *tile;
  };
  const int64_t rows = tiles_along(height, given[0], given[2]), columns = tiles_along(width, given[1], given[3]);
  const auto pad_end = [&](int64_t count, int64_t size, int64_t begin) {
    return count * *tile + a - *tile - size - begin;
  };
  const ValueId weight =
      form.constant(kronecker_square(input_transform(a), type.dtype, {a * a, 1, a, a}, false), "transform");
  TRY(const ValueId apart, form.emit("Reshape", {form.input(0), form.ints({-1, 1, height, width}, "channels")}));
  TRY(const ValueId convolved,
      form.emit("Conv", {apart, weight},
                {{"pads", std::vector<int64_t>{given[0], given[1], pad_end(rows, height, given[0]),
                                               pad_end(columns, width, given[1])}},
                 {"strides", std::vector<int64_t>{*tile, *tile}}}));
  TRY(const ValueId split,
      form.emit("Reshape", {convolved, form.ints({-1, channels, a * a, rows * columns}, "images")}));
  TRY(const ValueId turned, form.emit("Transpose", {split}, {{"perm", std::vector<int64_t>{2, 0, 3, 1}}}));
  return form.emit_as(0, "Reshape", {turned, form.ints({a * a, -1, channels}, "tiles")});
}

// Sizes of 1 may have left out some of what was written. Pads are what makes whole tiles.
std::optional<Node> recognize_winograd_input(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Shape* tiles = moved_shape(graph, root, 3);
  const Node* convolved =
      tiles ? pattern.producer(before_movement(pattern, graph.node(root).outputs[0]), "Conv") : nullptr;
  const Tensor* transform = convolved ? pattern.constant(convolved->inputs[1]) : nullptr;
  if (!transform || transform->dims().size() != 4) return std::nullopt;
  const ValueId x = image_before(pattern, graph, convolved->inputs[0], (*tiles)[2]);
  const auto pads = convolved->attributes.find("pads"), strides = convolved->attributes.find("strides");
  const auto* given = pads == convolved->attributes.end() ? nullptr : std::get_if<std::vector<int64_t>>(&pads->second);
  const auto* steps =
      strides == convolved->attributes.end() ? nullptr : std::get_if<std::vector<int64_t>>(&strides->second);
  const int64_t tile = steps && !steps->empty() ? steps->front() : 1, taps = transform->dims()[2] - tile + 1;
  if (!x.valid() || tile < 1 || taps < 1) return std::nullopt;
  return pattern.make("WinogradInput", {x},
                      {{"pads", given ? *given : std::vector<int64_t>(4, 0)}, {"taps", taps}, {"tile", tile}});
}

Result<void> expand_winograd_kernel(NodeForm& form) {
  const ValueType& type = form.type(0);
  if (!type.has_shape() || type.shape->size() != 4) return form.unsupported("W of known rank expected");
  const Shape w = *type.shape;
  TRY(const auto tile, form.take_int("tile"));
  if (!w[0].is_constant() || !w[1].is_constant() || !w[2].is_constant() || !tile)
    return form.unsupported("W of known sizes expected, {} found", text(w));
  const int64_t r = w[2].value(), a = *tile + r - 1;
  const ValueId transform =
      form.constant(kronecker_square(kernel_transform(a, r), type.dtype, {r * r, a * a}, true), "transform");
  TRY(const ValueId taps, form.emit("Reshape", {form.input(0), form.ints({-1, r * r}, "taps")}));
  TRY(const ValueId product, form.emit("MatMul", {taps, transform}));
  TRY(const ValueId apart, form.emit("Reshape", {product, form.ints({w[0].value(), w[1].value(), a * a}, "filters")}));
  return form.emit_as(0, "Transpose", {apart}, {{"perm", std::vector<int64_t>{2, 1, 0}}});
}

Result<void> expand_winograd_output(NodeForm& form) {
  const ValueType& type = form.type(0);
  if (!type.has_shape() || type.shape->size() != 3) return form.unsupported("Y of known rank expected");
  const Shape y = *type.shape;
  TRY(const auto tile, form.take_int("tile"));
  TRY(const auto sizes, form.take_ints("sizes"));
  if (!y[0].is_constant() || !y[2].is_constant() || !tile || !sizes || sizes->size() != 2)
    return form.unsupported("Y of known sizes expected, {} found", text(y));
  int64_t a = 1;
  while (a * a < y[0].value()) ++a;
  const int64_t m = *tile, rows = ((*sizes)[0] + m - 1) / m, columns = ((*sizes)[1] + m - 1) / m,
                channels = y[2].value();
  const ValueId transform =
      form.constant(kronecker_square(output_transform(m, a), type.dtype, {m * m, a * a}, false), "transform");
  TRY(const ValueId flat, form.emit("Reshape", {form.input(0), form.ints({a * a, -1}, "flat")}));
  TRY(const ValueId product, form.emit("MatMul", {transform, flat}));
  TRY(const ValueId tiles, form.emit("Reshape", {product, form.ints({m, m, -1, rows, columns, channels}, "tiles")}));
  TRY(const ValueId turned, form.emit("Transpose", {tiles}, {{"perm", std::vector<int64_t>{2, 5, 3, 0, 4, 1}}}));
  const bool is_whole = rows * m == (*sizes)[0] && columns * m == (*sizes)[1];
  const ValueId shape = form.ints({-1, channels, rows * m, columns * m}, "images");
  if (is_whole) return form.emit_as(0, "Reshape", {turned, shape});
  TRY(const ValueId images, form.emit("Reshape", {turned, shape}));
  return form.emit_as(
      0, "Slice",
      {images, form.ints({0, 0}, "starts"), form.ints({(*sizes)[0], (*sizes)[1]}, "ends"), form.ints({2, 3}, "axes")});
}

std::optional<Node> recognize_winograd_output(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Shape* images = moved_shape(graph, root, 4);
  const Node* product =
      images ? pattern.producer(before_movement(pattern, graph.node(root).outputs[0]), "MatMul") : nullptr;
  const Tensor* transform = product ? pattern.constant(product->inputs[0]) : nullptr;
  if (!transform || transform->dims().size() != 2 || !(*images)[2].is_constant() || !(*images)[3].is_constant())
    return std::nullopt;
  const Node* flat = pattern.producer(product->inputs[1], "Reshape");
  const ValueId y = flat ? flat->inputs[0] : product->inputs[1];
  int64_t tile = 1;
  while (tile * tile < transform->dims()[0]) ++tile;
  return pattern.make("WinogradOutput", {y},
                      {{"sizes", std::vector<int64_t>{(*images)[2].value(), (*images)[3].value()}}, {"tile", tile}});
}

Result<void> expand_winograd_product(NodeForm& form) {
  Attributes attributes = form.node().attributes;
  TRY(const ValueId tiles, form.emit("WinogradInput", {form.input(0)}, std::move(attributes)));
  return form.emit_as(0, "MatMul", {tiles, form.input(1)});
}

}  // namespace isomer::ops
