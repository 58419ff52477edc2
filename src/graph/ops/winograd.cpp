// WinogradInput WinogradKernel WinogradProduct WinogradOutput: convolutions of stride 1 with fewer products. Along an
// axis, a tile of m results of a kernel of r taps is the inverse transform of as many products as it has inputs, a = m
// + r - 1, where direct summation takes m r:
//     Y = A^T [(G g) * (B^T d)], summed over the channels before A (Lavin, Gray 2016; matrices after Toom and Cook),
// and along several axes one transform after the other. One that has a tile of 1 and one tap is left alone.
// Of our own domain: files hold what they expand to.
#include <algorithm>
#include <functional>

#include "graph/ops/common.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"
#include "graph/ops/winograd_files.h"
#include "graph/ops/winograd_matrices.h"

namespace isomer::ops {
namespace {

using te::Expr;
using te::Number;

/// How results are cut into tiles.
struct Tiling {
  struct Axis {
    int64_t m = 0, r = 0;  ///< results of a tile, taps
    Dim size = 0;          ///< results in all
    int64_t a() const { return m + r - 1; }
    Dim count() const { return ceil_div(size, m); }
  };
  std::vector<Axis> axes;

  size_t rank() const { return axes.size(); }
  /// Of a tile.
  int64_t inputs() const { return element_count(inputs_along()); }
  Dims inputs_along() const {
    Dims result;
    for (const Axis& axis : axes) result.push_back(axis.a());
    return result;
  }
  Dim tiles() const { return tiles_from(0); }
  Expr image(const Expr& tile) const { return te::floor_div(tile, tiles().expr()); }
  /// Where tile `tile` of a batch lies along an axis, in tiles.
  Expr place(const Expr& tile, size_t axis) const {
    const Expr here = te::floor_mod(tile, tiles_from(axis).expr());
    return axis + 1 == rank() ? here : te::floor_div(here, tiles_from(axis + 1).expr());
  }

 private:
  Dim tiles_from(size_t axis) const {
    Dim result = 1;
    for (; axis < rank(); ++axis) result = result * axes[axis].count();
    return result;
  }
};

/// Of as many axes as `rank`; their sizes are not set.
Result<Tiling> tiling_of(const OpContext& context, const std::vector<int64_t>& taps, size_t rank) {
  const auto& tile = context.get_ints("tile");
  TRY_VOID(check_values(context, "tile", tile, rank, 1));
  Tiling tiling;
  for (size_t k = 0; k < rank; ++k) {
    tiling.axes.push_back({.m = tile[k], .r = taps[k]});
    if (tile[k] > kLargestTile || taps[k] < 1 || taps[k] > kLargestTile || tiling.axes[k].a() > kLargestTile)
      return context.invalid(
          "tiles of m results and r taps with m + r - 1 of at most {} expected, m = {} and r = {} found", kLargestTile,
          tile[k], taps[k]);
  }
  return tiling;
}

Result<std::vector<int64_t>> given_taps(const OpContext& context, size_t rank) {
  TRY_VOID(check_values(context, "taps", context.get_ints("taps"), rank, 1));
  return context.get_ints("taps");
}

/// An element of a tile: of its first axes, by tile and channel.
using Place = std::vector<Expr>;
using ElementAt = std::function<Expr(const Place&)>;

/// The elements at `index` along the tile's axes, of a tile that lies before or behind others in this order.
Expr flat(const Place& index, const std::vector<int64_t>& extents) {
  Expr result = te::index(0);
  for (size_t k = 0; k < extents.size(); ++k) result = result * extents[k] + index[k];
  return result;
}
/// The other way round.
Place apart(const Expr& position, const std::vector<int64_t>& extents) {
  Place result(extents.size());
  int64_t below = 1;
  for (size_t k = extents.size(); k-- > 0; below *= extents[k]) {
    const Expr rest = below == 1 ? position : te::floor_div(position, te::index(below));
    result[k] = k == 0 ? rest : te::floor_mod(rest, te::index(extents[k]));
  }
  return result;
}

/// One transform after the other, each a stage: elements at [tile's axes, then `outer`]. The last one that transforms
/// is left to whoever makes a stage of its elements.
ElementAt transforms(te::Program& program, const std::vector<Matrix>& matrices, ElementAt element,
                     const std::vector<Dim>& outer) {
  std::vector<Dim> shape;
  for (const Matrix& matrix : matrices) shape.emplace_back(static_cast<int64_t>(matrix[0].size()));
  shape.insert(shape.end(), outer.begin(), outer.end());
  bool is_first = true;
  for (size_t k = 0; k < matrices.size(); ++k) {
    const Matrix& matrix = matrices[k];
    if (matrix.size() == 1 && matrix[0].size() == 1) continue;
    if (!std::exchange(is_first, false)) {
      const te::StageValue made = program.map(shape, element(te::axes(static_cast<int>(shape.size()))));
      element = [&program, made](const Place& at) { return program.load(made, at); };
    }
    shape[k] = static_cast<int64_t>(matrix.size());
    element = [matrix, k, before = std::move(element)](const Place& at) {
      return transformed(matrix, at[k], [&](int64_t tap) {
        Place there = at;
        there[k] = te::index(tap);
        return before(there);
      });
    };
  }
  return element;
}

Place joined(Place first, const Place& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

// Input: [N, C, d...] -> [a..., tiles, C]

Result<Tiling> input_tiling(const OpContext& context) {
  const Shape& x = context.shape(0);
  if (x.size() < 3 || x.size() > 5) return context.invalid("X of rank 3 to 5 expected, {} found", text(x));
  const size_t rank = x.size() - 2;
  TRY(const std::vector<int64_t> taps, given_taps(context, rank));
  TRY(Tiling tiling, tiling_of(context, taps, rank));
  const auto& pads = context.get_ints("pads");
  TRY_VOID(check_values(context, "pads", pads, 2 * rank, 0));
  for (size_t k = 0; k < rank; ++k) {
    Tiling::Axis& axis = tiling.axes[k];
    axis.size = x[k + 2] + (pads[k] + pads[k + rank] - axis.r + 1);
    if (axis.size.is_constant() && axis.size.value() < 1)
      return context.invalid("X and pads of at least {} taps expected, {} found", axis.r, text(x));
  }
  return tiling;
}

Result<std::vector<ValueType>> infer_input(const OpContext& context) {
  TRY(const Tiling tiling, input_tiling(context));
  return one(context.dtype(0), {tiling.inputs(), context.dim(0, 0) * tiling.tiles(), context.dim(0, 1)});
}

Result<te::Program> compute_input(const OpContext& context) {
  TRY(const Tiling tiling, input_tiling(context));
  const Shape& x = context.shape(0);
  const auto& pads = context.get_ints("pads");
  const Dims inputs = tiling.inputs_along();
  const std::vector<Dim> outer = {x[0] * tiling.tiles(), x[1]};
  const Expr t = te::axis(static_cast<int>(tiling.rank())), c = te::axis(static_cast<int>(tiling.rank()) + 1);
  std::vector<Dim> shape(inputs.begin(), inputs.end());
  shape.insert(shape.end(), outer.begin(), outer.end());
  std::vector<Expr> index = {tiling.image(t), c};
  Expr inside;
  std::vector<Matrix> matrices;
  for (size_t k = 0; k < tiling.rank(); ++k) {
    const Expr at = tiling.place(t, k) * tiling.axes[k].m + te::axis(static_cast<int>(k)) - pads[k];
    const Expr is_in = Number(0) <= at && at < x[k + 2].expr();
    inside = inside ? inside && is_in : is_in;
    index.push_back(at);
    matrices.push_back(input_transform(inputs[k]));
  }
  te::Program program;
  const Expr element = context.load(0, index);
  const te::StageValue patch = program.map(shape, te::select(inside, element, te::literal(0, element.dtype())));
  const ElementAt made = transforms(program, matrices, [&](const Place& at) { return program.load(patch, at); }, outer);
  program.outputs = {program.map({tiling.inputs(), outer[0], outer[1]},
                                 made(joined(apart(te::axis(0), inputs), {te::axis(1), te::axis(2)})))};
  return program;
}

// Kernel: [M, C, r...] -> [a..., C, M]

Result<Tiling> kernel_tiling(const OpContext& context) {
  const Shape& w = context.shape(0);
  if (w.size() < 3 || w.size() > 5) return context.invalid("W of rank 3 to 5 expected, {} found", text(w));
  std::vector<int64_t> taps;
  for (size_t k = 2; k < w.size(); ++k) {
    if (!w[k].is_constant()) return context.unsupported("W of known taps expected, {} found", text(w));
    taps.push_back(w[k].value());
  }
  return tiling_of(context, taps, taps.size());
}

Result<std::vector<ValueType>> infer_kernel(const OpContext& context) {
  TRY(const Tiling tiling, kernel_tiling(context));
  return one(context.dtype(0), {tiling.inputs(), context.dim(0, 1), context.dim(0, 0)});
}

Result<te::Program> compute_kernel(const OpContext& context) {
  TRY(const Tiling tiling, kernel_tiling(context));
  const Shape& w = context.shape(0);
  std::vector<Matrix> matrices;
  for (const Tiling::Axis& axis : tiling.axes) matrices.push_back(kernel_transform(axis.a(), axis.r));
  te::Program program;
  const auto rank = static_cast<std::ptrdiff_t>(tiling.rank());
  const ElementAt tap = [&](const Place& at) {
    return context.load(0, joined({at[tiling.rank() + 1], at[tiling.rank()]}, {at.begin(), at.begin() + rank}));
  };
  const ElementAt made = transforms(program, matrices, tap, {w[1], w[0]});
  program.outputs = {program.map({tiling.inputs(), w[1], w[0]},
                                 made(joined(apart(te::axis(0), tiling.inputs_along()), {te::axis(1), te::axis(2)})))};
  return program;
}

// Output: [a..., tiles, M] -> [N, M, sizes...]

Result<Tiling> output_tiling(const OpContext& context) {
  const Shape& y = context.shape(0);
  const auto& sizes = context.get_ints("sizes");
  if (y.size() != 3) return context.invalid("Y [a..., tiles, M] expected, {} found", text(y));
  if (sizes.empty() || sizes.size() > 3) return context.invalid("1 to 3 sizes expected, {} found", sizes.size());
  TRY_VOID(check_values(context, "sizes", sizes, sizes.size(), 1));
  TRY(const std::vector<int64_t> taps, given_taps(context, sizes.size()));
  TRY(Tiling tiling, tiling_of(context, taps, sizes.size()));
  for (size_t k = 0; k < sizes.size(); ++k) tiling.axes[k].size = sizes[k];
  if (!agreed(y[0], tiling.inputs()))
    return context.invalid("Y [{}, tiles, M] expected, {} found", tiling.inputs(), text(y));
  if (y[1].is_constant() && y[1].value() % tiling.tiles().value() != 0)
    return context.invalid("a multiple of {} tiles expected, {} found", tiling.tiles().text(), y[1].text());
  return tiling;
}

Shape output_shape(const OpContext& context, const Tiling& tiling) {
  Shape result = {floor_div(context.dim(0, 1), tiling.tiles()), context.dim(0, 2)};
  for (const Tiling::Axis& axis : tiling.axes) result.push_back(axis.size);
  return result;
}

Result<std::vector<ValueType>> infer_output(const OpContext& context) {
  TRY(const Tiling tiling, output_tiling(context));
  return one(context.dtype(0), output_shape(context, tiling));
}

Result<te::Program> compute_output(const OpContext& context) {
  TRY(const Tiling tiling, output_tiling(context));
  const Shape& y = context.shape(0);
  const Dims inputs = tiling.inputs_along();
  std::vector<Matrix> matrices;
  std::vector<Dim> results;
  for (const Tiling::Axis& axis : tiling.axes) {
    matrices.push_back(output_transform(axis.m, axis.a()));
    results.emplace_back(axis.m);
  }
  results.insert(results.end(), {y[1], y[2]});
  te::Program program;
  const ElementAt product = [&](const Place& at) {
    return context.load(0, {flat(at, inputs), at[tiling.rank()], at[tiling.rank() + 1]});
  };
  const ElementAt made = transforms(program, matrices, product, {y[1], y[2]});
  const te::StageValue tiles = program.map(results, made(te::axes(static_cast<int>(results.size()))));
  Place index;
  Expr tile = te::axis(0);
  for (size_t k = 0; k < tiling.rank(); ++k) {
    const Expr at = te::axis(static_cast<int>(k) + 2), m = te::index(tiling.axes[k].m);
    index.push_back(te::floor_mod(at, m));
    tile = tile * tiling.axes[k].count().expr() + te::floor_div(at, m);
  }
  program.outputs = {
      program.map(output_shape(context, tiling), program.load(tiles, joined(std::move(index), {tile, te::axis(1)})))};
  return program;
}

// Product: a convolution but for the transform of its results, [N, C, d...] and [a..., C, M] -> [a..., tiles, M]

Result<Tiling> product_tiling(const OpContext& context) {
  TRY(Tiling tiling, input_tiling(context));
  const Shape &x = context.shape(0), &u = context.shape(1);
  if (u.size() != 3 || !agreed(u[0], tiling.inputs()) || !agreed(u[1], x[1]))
    return context.invalid("U [{}, {}, M] expected, {} found", tiling.inputs(), x[1].text(), text(u));
  return tiling;
}

Result<std::vector<ValueType>> infer_product(const OpContext& context) {
  TRY(const Tiling tiling, product_tiling(context));
  return one(context.dtype(0), {tiling.inputs(), context.dim(0, 0) * tiling.tiles(), context.dim(1, 2)});
}

Result<te::Program> compute_product(const OpContext& context) {
  TRY(const Tiling tiling, product_tiling(context));
  TRY(te::Program program, compute_input(context));
  const Expr p = te::axis(0), channel = te::reduce_axis(0);
  const Expr product =
      program.load(program.outputs[0], {p, te::axis(1), channel}) * context.load(1, {p, channel, te::axis(2)});
  program.outputs = {sum_over(program, {tiling.inputs(), context.dim(0, 0) * tiling.tiles(), context.dim(1, 2)},
                              {context.dim(0, 1)}, product)};
  return program;
}

}  // namespace

std::vector<OpDef> winograd() {
  return {
      {.domain = kOwnDomain,
       .name = "WinogradInput",
       .since = 1,
       .inputs = {"X"},
       .outputs = {"V"},
       .types = {{"T", kFloats}},
       .attributes = {required("pads", AttributeKind::kInts), required("taps", AttributeKind::kInts),
                      required("tile", AttributeKind::kInts)},
       .infer = infer_input,
       .compute = compute_input,
       .expand = expand_winograd_input,
       .recognize = recognize_winograd_input},

      {.domain = kOwnDomain,
       .name = "WinogradKernel",
       .since = 1,
       .inputs = {"W"},
       .outputs = {"U"},
       .types = {{"T", kFloats}},
       .attributes = {required("tile", AttributeKind::kInts)},
       .infer = infer_kernel,
       .compute = compute_kernel,
       .expand = expand_winograd_kernel},

      {.domain = kOwnDomain,
       .name = "WinogradProduct",
       .since = 1,
       .inputs = {"X", "U"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {required("pads", AttributeKind::kInts), required("taps", AttributeKind::kInts),
                      required("tile", AttributeKind::kInts)},
       .infer = infer_product,
       .compute = compute_product,
       .expand = expand_winograd_product,
       .axioms =
           {{"WinogradProduct(x,WinogradKernel(w){tile=[m,n]}){pads=[a,b,c,d],taps=[w_2,w_3],tile=[m,n]} = "
             "MatMul(WinogradInput(x){pads=[a,b,c,d],taps=[w_2,w_3],tile=[m,n]},WinogradKernel(w){tile=[m,n]}) if "
             "x_rank == 4",
             "images", FloatClass::kReassociated},
            {"WinogradProduct(x,WinogradKernel(w){tile=[m]}){pads=[a,b],taps=[w_2],tile=[m]} = "
             "MatMul(WinogradInput(x){pads=[a,b],taps=[w_2],tile=[m]},WinogradKernel(w){tile=[m]}) if x_rank == 3",
             "images", FloatClass::kReassociated},
            {"WinogradProduct(x,WinogradKernel(w){tile=[m,n,o]}){pads=[a,b,c,d,e,f],taps=[w_2,w_3,w_4],tile=[m,n,"
             "o]} = MatMul(WinogradInput(x){pads=[a,b,c,d,e,f],taps=[w_2,w_3,w_4],tile=[m,n,o]},WinogradKernel(w){"
             "tile=[m,n,o]}) if x_rank == 5",
             "images", FloatClass::kReassociated}}},

      {.domain = kOwnDomain,
       .name = "WinogradOutput",
       .since = 1,
       .inputs = {"Y"},
       .outputs = {"Z"},
       .types = {{"T", kFloats}},
       .attributes = {required("sizes", AttributeKind::kInts), required("taps", AttributeKind::kInts),
                      required("tile", AttributeKind::kInts)},
       .infer = infer_output,
       .compute = compute_output,
       .expand = expand_winograd_output,
       .recognize = recognize_winograd_output},
  };
}

}  // namespace isomer::ops
