// WinogradInput WinogradKernel WinogradProduct WinogradOutput: convolutions of stride 1 with fewer products. A tile of m x m results of a kernel of
// r x r taps is the inverse transform of as many products as its a x a inputs, a = m + r - 1, where direct summation takes (m r)^2:
//     Y = A^T [(G g G^T) * (B^T d B)] A, summed over the channels before A (Lavin, Gray 2016; matrices after Toom and Cook).
// Of our own domain: files hold what they expand to.
#include <algorithm>
#include <array>
#include <functional>

#include "graph/ops/common.h"
#include "graph/ops/operand.h"
#include "graph/ops/pattern.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

using te::Expr;
using te::Number;

/// Where polynomials are evaluated, the point at infinity last; more points lose too many digits (reliability.md 3.6).
constexpr std::array<int64_t, 5> kPoints = {0, 1, -1, 2, -2};
constexpr int64_t kLargestTile = static_cast<int64_t>(kPoints.size()) + 1;

/// Rows of rationals.
using Matrix = std::vector<std::vector<Number>>;

/// The coefficients of the product of (x - p) over the first `count` points but `left_out`, the constant one first.
std::vector<int64_t> product_of_points(int64_t count, int64_t left_out) {
  std::vector<int64_t> result = {1};
  for (int64_t k = 0; k < count; ++k) {
    if (k == left_out) continue;
    std::vector<int64_t> next(result.size() + 1, 0);
    for (size_t i = 0; i < result.size(); ++i) {
      next[i + 1] += result[i];
      next[i] -= kPoints[static_cast<size_t>(k)] * result[i];
    }
    result = std::move(next);
  }
  return result;
}

int64_t power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (; exponent > 0; --exponent) result *= base;
  return result;
}

/// B^T, [a, a].
Matrix input_transform(int64_t a) {
  Matrix rows;
  for (int64_t j = 0; j < a; ++j) {
    std::vector<Number> row;
    for (const int64_t coefficient : product_of_points(a - 1, j)) row.emplace_back(coefficient);
    row.resize(static_cast<size_t>(a), Number(0));
    rows.push_back(std::move(row));
  }
  return rows;
}

/// G, [a, r].
Matrix kernel_transform(int64_t a, int64_t r) {
  Matrix rows;
  for (int64_t j = 0; j < a; ++j) {
    const bool is_infinity = j == a - 1;
    int64_t norm = 1;
    for (int64_t k = 0; k < a - 1 && !is_infinity; ++k) norm *= k == j ? 1 : kPoints[static_cast<size_t>(j)] - kPoints[static_cast<size_t>(k)];
    std::vector<Number> row;
    for (int64_t k = 0; k < r; ++k) row.push_back(is_infinity ? Number(k == r - 1 ? 1 : 0) : Number::fraction(power(kPoints[static_cast<size_t>(j)], k), norm));
    rows.push_back(std::move(row));
  }
  return rows;
}

/// A^T, [m, a].
Matrix output_transform(int64_t m, int64_t a) {
  Matrix rows;
  for (int64_t i = 0; i < m; ++i) {
    std::vector<Number> row;
    for (int64_t j = 0; j < a; ++j) row.emplace_back(j == a - 1 ? int64_t{i == m - 1} : power(kPoints[static_cast<size_t>(j)], i));
    rows.push_back(std::move(row));
  }
  return rows;
}

/// Row `which` of the matrix times the vector of `element`s: each row is a sum of its own, without its zeros.
Expr transformed(const Matrix& matrix, const Expr& which, const std::function<Expr(int64_t)>& element) {
  Expr result;
  for (auto row = static_cast<int64_t>(matrix.size()) - 1; row >= 0; --row) {
    Expr sum;
    const std::vector<Number>& factors = matrix[static_cast<size_t>(row)];
    for (size_t k = 0; k < factors.size(); ++k) {
      if (factors[k].equals(0)) continue;
      const Expr x = element(static_cast<int64_t>(k));
      if (!sum) {
        sum = factors[k].equals(1) ? x : x * factors[k];
      } else if (factors[k].equals(1) || factors[k].equals(-1)) {
        sum = factors[k].equals(1) ? sum + x : sum - x;
      } else {
        sum = sum + x * factors[k];
      }
    }
    result = result ? te::select(te::equal(which, te::index(row)), sum, result) : sum;
  }
  return result;
}

/// The elements of matrix x matrix as a tensor [rows^2, columns^2], transposed if asked for.
Tensor kronecker_square(const Matrix& matrix, DataType dtype, Dims shape, bool transposed) {
  const size_t rows = matrix.size(), columns = matrix[0].size();
  std::vector<double> values(rows * rows * columns * columns);
  for (size_t i = 0; i < rows * rows; ++i)
    for (size_t k = 0; k < columns * columns; ++k)
      values[transposed ? k * rows * rows + i : i * columns * columns + k] = matrix[i / rows][k / columns].to_double() * matrix[i % rows][k % columns].to_double();
  return Tensor::from_doubles(dtype, std::move(shape), values);
}

constexpr std::array<std::string_view, 3> kMovement = {"Reshape", "Transpose", "Slice"};

/// The shape of what a node that moves elements makes, if it is of that rank; else nullptr.
const Shape* moved_shape(const Graph& graph, NodeId root, size_t rank) {
  const Pattern pattern(graph);
  const bool moves = std::any_of(kMovement.begin(), kMovement.end(), [&](std::string_view op) { return pattern.node(root, op); });
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

/// How a task is cut into tiles: m x m results, r x r taps, a x a inputs.
struct Tiling {
  int64_t m = 0, r = 0, a = 0;
  Dim height = 0, width = 0;  ///< of the results
  Dim rows() const { return ceil_div(height, m); }
  Dim columns() const { return ceil_div(width, m); }
  Dim tiles() const { return rows() * columns(); }
  /// Of tile t of a batch: image, row, column.
  Expr image(const Expr& t) const { return te::floor_div(t, tiles().expr()); }
  Expr row(const Expr& t) const { return te::floor_div(te::floor_mod(t, tiles().expr()), columns().expr()); }
  Expr column(const Expr& t) const { return te::floor_mod(t, columns().expr()); }
};

Result<void> check_sizes(const OpContext& context, int64_t tile, int64_t taps) {
  if (tile < 1 || taps < 1 || tile > kLargestTile || taps > kLargestTile || tile + taps - 1 < 2 || tile + taps - 1 > kLargestTile)
    return context.invalid("tiles of m results and r taps with m + r - 1 in [2, {}] expected, m = {} and r = {} found", kLargestTile, tile, taps);
  return {};
}

// Input: [N, C, H, W] -> [a a, tiles, C]

Result<Tiling> input_tiling(const OpContext& context) {
  const Shape& x = context.shape(0);
  if (x.size() != 4) return context.invalid("X of rank 4 expected, {} found", text(x));
  Tiling tiling{.m = context.get_int("tile"), .r = context.get_int("taps")};
  TRY_VOID(check_sizes(context, tiling.m, tiling.r));
  const auto& pads = context.get_ints("pads");
  TRY_VOID(check_values(context, "pads", pads, 4, 0));
  tiling.a = tiling.m + tiling.r - 1;
  tiling.height = x[2] + (pads[0] + pads[2] - tiling.r + 1);
  tiling.width = x[3] + (pads[1] + pads[3] - tiling.r + 1);
  for (const Dim& size : {tiling.height, tiling.width})
    if (size.is_constant() && size.value() < 1) return context.invalid("X and pads of at least {} taps expected, {} found", tiling.r, text(x));
  return tiling;
}

Result<std::vector<ValueType>> infer_input(const OpContext& context) {
  TRY(const Tiling tiling, input_tiling(context));
  return one(context.dtype(0), {tiling.a * tiling.a, context.dim(0, 0) * tiling.tiles(), context.dim(0, 1)});
}

Result<te::Program> compute_input(const OpContext& context) {
  TRY(const Tiling tiling, input_tiling(context));
  const Shape& x = context.shape(0);
  const auto& pads = context.get_ints("pads");
  const Dim tiles = x[0] * tiling.tiles();
  const Matrix matrix = input_transform(tiling.a);
  te::Program program;
  const Expr i = te::axis(0), j = te::axis(1), t = te::axis(2), c = te::axis(3);
  const Expr h = tiling.row(t) * tiling.m + i - pads[0], w = tiling.column(t) * tiling.m + j - pads[1];
  const Expr inside = Number(0) <= h && h < x[2].expr() && Number(0) <= w && w < x[3].expr();
  const Expr element = context.load(0, {tiling.image(t), c, h, w});
  const te::StageValue patch = program.map({tiling.a, tiling.a, tiles, x[1]}, te::select(inside, element, te::literal(0, element.dtype())));
  const te::StageValue down = program.map({tiling.a, tiling.a, tiles, x[1]}, transformed(matrix, i, [&](int64_t k) { return program.load(patch, {te::index(k), j, t, c}); }));
  const Expr p = te::axis(0);
  program.outputs = {program.map({tiling.a * tiling.a, tiles, x[1]}, transformed(matrix, te::floor_mod(p, te::index(tiling.a)), [&](int64_t k) {
                                   return program.load(down, {te::floor_div(p, te::index(tiling.a)), te::index(k), te::axis(1), te::axis(2)});
                                 }))};
  return program;
}

/// As a convolution of each channel alone with the transform's elements.
Result<void> expand_input(NodeForm& form) {
  const ValueType& type = form.type(0);
  if (!type.has_shape() || type.shape->size() != 4) return form.unsupported("X of known rank expected");
  const Shape x = *type.shape;
  TRY(const auto tile, form.take_int("tile"));
  TRY(const auto taps, form.take_int("taps"));
  TRY(const auto pads, form.take_ints("pads"));
  if (!x[1].is_constant() || !x[2].is_constant() || !x[3].is_constant() || !tile || !taps) return form.unsupported("X of known sizes expected, {} found", text(x));
  const std::vector<int64_t> given = pads.value_or(std::vector<int64_t>(4, 0));
  const int64_t a = *tile + *taps - 1, channels = x[1].value(), height = x[2].value(), width = x[3].value();
  const auto tiles_along = [&](int64_t size, int64_t begin, int64_t end) { return (size + begin + end - *taps + *tile) / *tile; };
  const int64_t rows = tiles_along(height, given[0], given[2]), columns = tiles_along(width, given[1], given[3]);
  const auto pad_end = [&](int64_t count, int64_t size, int64_t begin) { return count * *tile + a - *tile - size - begin; };
  const ValueId weight = form.constant(kronecker_square(input_transform(a), type.dtype, {a * a, 1, a, a}, false), "transform");
  TRY(const ValueId apart, form.emit("Reshape", {form.input(0), form.ints({-1, 1, height, width}, "channels")}));
  TRY(const ValueId convolved, form.emit("Conv", {apart, weight}, {{"pads", std::vector<int64_t>{given[0], given[1], pad_end(rows, height, given[0]), pad_end(columns, width, given[1])}},
                                                                  {"strides", std::vector<int64_t>{*tile, *tile}}}));
  TRY(const ValueId split, form.emit("Reshape", {convolved, form.ints({-1, channels, a * a, rows * columns}, "images")}));
  TRY(const ValueId turned, form.emit("Transpose", {split}, {{"perm", std::vector<int64_t>{2, 0, 3, 1}}}));
  return form.emit_as(0, "Reshape", {turned, form.ints({a * a, -1, channels}, "tiles")});
}

/// The last of those, of which sizes of 1 may have left out some: pads are what makes whole tiles, the least that mean the same.
std::optional<Node> recognize_input(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Shape* tiles = moved_shape(graph, root, 3);
  const Node* convolved = tiles ? pattern.producer(before_movement(pattern, graph.node(root).outputs[0]), "Conv") : nullptr;
  const Tensor* transform = convolved ? pattern.constant(convolved->inputs[1]) : nullptr;
  if (!transform || transform->dims().size() != 4) return std::nullopt;
  const ValueId x = image_before(pattern, graph, convolved->inputs[0], (*tiles)[2]);
  const auto pads = convolved->attributes.find("pads"), strides = convolved->attributes.find("strides");
  const auto* given = pads == convolved->attributes.end() ? nullptr : std::get_if<std::vector<int64_t>>(&pads->second);
  const auto* steps = strides == convolved->attributes.end() ? nullptr : std::get_if<std::vector<int64_t>>(&strides->second);
  const int64_t tile = steps && !steps->empty() ? steps->front() : 1, taps = transform->dims()[2] - tile + 1;
  if (!x.valid() || tile < 1 || taps < 1) return std::nullopt;
  return pattern.make("WinogradInput", {x}, {{"pads", given ? *given : std::vector<int64_t>(4, 0)}, {"taps", taps}, {"tile", tile}});
}

// Kernel: [M, C, r, r] -> [a a, C, M]

Result<int64_t> tile_of_kernel(const OpContext& context) {
  const Shape& w = context.shape(0);
  if (w.size() == 4 && !(w[2].is_constant() && w[3].is_constant())) return context.unsupported("W of known taps expected, {} found", text(w));
  if (w.size() != 4 || !(w[2] == w[3])) return context.invalid("W [M, C, r, r] expected, {} found", text(w));
  const int64_t tile = context.get_int("tile");
  TRY_VOID(check_sizes(context, tile, w[2].value()));
  return tile + w[2].value() - 1;
}

Result<std::vector<ValueType>> infer_kernel(const OpContext& context) {
  TRY(const int64_t a, tile_of_kernel(context));
  return one(context.dtype(0), {a * a, context.dim(0, 1), context.dim(0, 0)});
}

Result<te::Program> compute_kernel(const OpContext& context) {
  TRY(const int64_t a, tile_of_kernel(context));
  const Shape& w = context.shape(0);
  const Matrix matrix = kernel_transform(a, w[2].value());
  te::Program program;
  const te::StageValue down = program.map({a, w[3], w[1], w[0]}, transformed(matrix, te::axis(0), [&](int64_t k) { return context.load(0, {te::axis(3), te::axis(2), te::index(k), te::axis(1)}); }));
  const Expr p = te::axis(0);
  program.outputs = {program.map({a * a, w[1], w[0]}, transformed(matrix, te::floor_mod(p, te::index(a)), [&](int64_t k) {
                                   return program.load(down, {te::floor_div(p, te::index(a)), te::index(k), te::axis(1), te::axis(2)});
                                 }))};
  return program;
}

Result<void> expand_kernel(NodeForm& form) {
  const ValueType& type = form.type(0);
  if (!type.has_shape() || type.shape->size() != 4) return form.unsupported("W of known rank expected");
  const Shape w = *type.shape;
  TRY(const auto tile, form.take_int("tile"));
  if (!w[0].is_constant() || !w[1].is_constant() || !w[2].is_constant() || !tile) return form.unsupported("W of known sizes expected, {} found", text(w));
  const int64_t r = w[2].value(), a = *tile + r - 1;
  const ValueId transform = form.constant(kronecker_square(kernel_transform(a, r), type.dtype, {r * r, a * a}, true), "transform");
  TRY(const ValueId taps, form.emit("Reshape", {form.input(0), form.ints({-1, r * r}, "taps")}));
  TRY(const ValueId product, form.emit("MatMul", {taps, transform}));
  TRY(const ValueId apart, form.emit("Reshape", {product, form.ints({w[0].value(), w[1].value(), a * a}, "filters")}));
  return form.emit_as(0, "Transpose", {apart}, {{"perm", std::vector<int64_t>{2, 1, 0}}});
}

// Output: [a a, tiles, M] -> [N, M, height, width]

Result<Tiling> output_tiling(const OpContext& context) {
  const Shape& y = context.shape(0);
  if (y.size() != 3) return context.invalid("Y [a a, tiles, M] expected, {} found", text(y));
  if (!y[0].is_constant()) return context.unsupported("Y of a known first dim expected, {} found", text(y));
  Tiling tiling{.m = context.get_int("tile")};
  while (tiling.a * tiling.a < y[0].value() && tiling.a < kLargestTile) ++tiling.a;
  if (tiling.a * tiling.a != y[0].value()) return context.invalid("a square of at most {} elements of tiles expected, {} found", kLargestTile * kLargestTile, y[0].value());
  tiling.r = tiling.a - tiling.m + 1;
  TRY_VOID(check_sizes(context, tiling.m, tiling.r));
  const auto& sizes = context.get_ints("sizes");
  TRY_VOID(check_values(context, "sizes", sizes, 2, 1));
  tiling.height = sizes[0];
  tiling.width = sizes[1];
  if (y[1].is_constant() && y[1].value() % tiling.tiles().value() != 0)
    return context.invalid("a multiple of {} tiles expected, {} found", tiling.tiles().text(), y[1].text());
  return tiling;
}

Shape output_shape(const OpContext& context, const Tiling& tiling) { return {floor_div(context.dim(0, 1), tiling.tiles()), context.dim(0, 2), tiling.height, tiling.width}; }

Result<std::vector<ValueType>> infer_output(const OpContext& context) {
  TRY(const Tiling tiling, output_tiling(context));
  return one(context.dtype(0), output_shape(context, tiling));
}

Result<te::Program> compute_output(const OpContext& context) {
  TRY(const Tiling tiling, output_tiling(context));
  const Shape& y = context.shape(0);
  const Matrix matrix = output_transform(tiling.m, tiling.a);
  te::Program program;
  const Expr t = te::axis(2), c = te::axis(3);
  const te::StageValue down = program.map({tiling.m, tiling.a, y[1], y[2]}, transformed(matrix, te::axis(0), [&](int64_t k) { return context.load(0, {te::axis(1) + k * tiling.a, t, c}); }));
  const te::StageValue results = program.map({tiling.m, tiling.m, y[1], y[2]}, transformed(matrix, te::axis(1), [&](int64_t k) { return program.load(down, {te::axis(0), te::index(k), t, c}); }));
  const Expr h = te::axis(2), w = te::axis(3), m = te::index(tiling.m);
  const Expr tile = te::axis(0) * tiling.tiles().expr() + te::floor_div(h, m) * tiling.columns().expr() + te::floor_div(w, m);
  program.outputs = {program.map(output_shape(context, tiling), program.load(results, {te::floor_mod(h, m), te::floor_mod(w, m), tile, te::axis(1)}))};
  return program;
}

Result<void> expand_output(NodeForm& form) {
  const ValueType& type = form.type(0);
  if (!type.has_shape() || type.shape->size() != 3) return form.unsupported("Y of known rank expected");
  const Shape y = *type.shape;
  TRY(const auto tile, form.take_int("tile"));
  TRY(const auto sizes, form.take_ints("sizes"));
  if (!y[0].is_constant() || !y[2].is_constant() || !tile || !sizes || sizes->size() != 2) return form.unsupported("Y of known sizes expected, {} found", text(y));
  int64_t a = 1;
  while (a * a < y[0].value()) ++a;
  const int64_t m = *tile, rows = ((*sizes)[0] + m - 1) / m, columns = ((*sizes)[1] + m - 1) / m, channels = y[2].value();
  const ValueId transform = form.constant(kronecker_square(output_transform(m, a), type.dtype, {m * m, a * a}, false), "transform");
  TRY(const ValueId flat, form.emit("Reshape", {form.input(0), form.ints({a * a, -1}, "flat")}));
  TRY(const ValueId product, form.emit("MatMul", {transform, flat}));
  TRY(const ValueId tiles, form.emit("Reshape", {product, form.ints({m, m, -1, rows, columns, channels}, "tiles")}));
  TRY(const ValueId turned, form.emit("Transpose", {tiles}, {{"perm", std::vector<int64_t>{2, 5, 3, 0, 4, 1}}}));
  const bool is_whole = rows * m == (*sizes)[0] && columns * m == (*sizes)[1];
  const ValueId shape = form.ints({-1, channels, rows * m, columns * m}, "images");
  if (is_whole) return form.emit_as(0, "Reshape", {turned, shape});
  TRY(const ValueId images, form.emit("Reshape", {turned, shape}));
  return form.emit_as(0, "Slice", {images, form.ints({0, 0}, "starts"), form.ints({(*sizes)[0], (*sizes)[1]}, "ends"), form.ints({2, 3}, "axes")});
}

std::optional<Node> recognize_output(const Graph& graph, NodeId root) {
  const Pattern pattern(graph);
  const Shape* images = moved_shape(graph, root, 4);
  const Node* product = images ? pattern.producer(before_movement(pattern, graph.node(root).outputs[0]), "MatMul") : nullptr;
  const Tensor* transform = product ? pattern.constant(product->inputs[0]) : nullptr;
  if (!transform || transform->dims().size() != 2 || !(*images)[2].is_constant() || !(*images)[3].is_constant()) return std::nullopt;
  const Node* flat = pattern.producer(product->inputs[1], "Reshape");
  const ValueId y = flat ? flat->inputs[0] : product->inputs[1];
  int64_t tile = 1;
  while (tile * tile < transform->dims()[0]) ++tile;
  return pattern.make("WinogradOutput", {y}, {{"sizes", std::vector<int64_t>{(*images)[2].value(), (*images)[3].value()}}, {"tile", tile}});
}

// Product: a convolution but for the transform of its results, [N, C, H, W] and [a a, C, M] -> [a a, tiles, M]

Result<Tiling> product_tiling(const OpContext& context) {
  TRY(Tiling tiling, input_tiling(context));
  const Shape &x = context.shape(0), &u = context.shape(1);
  if (u.size() != 3 || !agreed(u[0], tiling.a * tiling.a) || !agreed(u[1], x[1])) return context.invalid("U [{}, {}, M] expected, {} found", tiling.a * tiling.a, x[1].text(), text(u));
  return tiling;
}

Result<std::vector<ValueType>> infer_product(const OpContext& context) {
  TRY(const Tiling tiling, product_tiling(context));
  return one(context.dtype(0), {tiling.a * tiling.a, context.dim(0, 0) * tiling.tiles(), context.dim(1, 2)});
}

Result<te::Program> compute_product(const OpContext& context) {
  TRY(const Tiling tiling, product_tiling(context));
  TRY(te::Program program, compute_input(context));
  const Expr p = te::axis(0), channel = te::reduce_axis(0);
  const Expr product = program.load(program.outputs[0], {p, te::axis(1), channel}) * context.load(1, {p, channel, te::axis(2)});
  program.outputs = {sum_over(program, {tiling.a * tiling.a, context.dim(0, 0) * tiling.tiles(), context.dim(1, 2)}, {context.dim(0, 1)}, product)};
  return program;
}

Result<void> expand_product(NodeForm& form) {
  Attributes attributes = form.node().attributes;
  TRY(const ValueId tiles, form.emit("WinogradInput", {form.input(0)}, std::move(attributes)));
  return form.emit_as(0, "MatMul", {tiles, form.input(1)});
}

}  // namespace

std::vector<OpDef> winograd() {
  return {
      {.domain = kOwnDomain, .name = "WinogradInput", .since = 1, .inputs = {"X"}, .outputs = {"V"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("pads", std::vector<int64_t>{0, 0, 0, 0}), with_default("taps", 3), required("tile", AttributeKind::kInt)},
       .infer = infer_input,
       .compute = compute_input,
       .expand = expand_input,
       .recognize = recognize_input},

      {.domain = kOwnDomain, .name = "WinogradKernel", .since = 1, .inputs = {"W"}, .outputs = {"U"},
       .types = {{"T", kFloats}},
       .attributes = {required("tile", AttributeKind::kInt)},
       .infer = infer_kernel,
       .compute = compute_kernel,
       .expand = expand_kernel},

      {.domain = kOwnDomain, .name = "WinogradProduct", .since = 1, .inputs = {"X", "U"}, .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("pads", std::vector<int64_t>{0, 0, 0, 0}), with_default("taps", 3), required("tile", AttributeKind::kInt)},
       .infer = infer_product,
       .compute = compute_product,
       .expand = expand_product,
       .axioms = {{"WinogradProduct(x,WinogradKernel(w){tile=m}){tile=m,..p} = MatMul(WinogradInput(x){tile=m,..p},WinogradKernel(w){tile=m}) if x_rank == 4 && w_rank == 4", "images", FloatClass::kReassociated}}},

      {.domain = kOwnDomain, .name = "WinogradOutput", .since = 1, .inputs = {"Y"}, .outputs = {"Z"},
       .types = {{"T", kFloats}},
       .attributes = {required("sizes", AttributeKind::kInts), required("tile", AttributeKind::kInt)},
       .infer = infer_output,
       .compute = compute_output,
       .expand = expand_output,
       .recognize = recognize_output},
  };
}

}  // namespace isomer::ops
