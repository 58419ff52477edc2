// WinogradInput WinogradKernel WinogradProduct WinogradOutput: convolutions of stride 1 with fewer products. A tile of
// m x m results of a kernel of r x r taps is the inverse transform of as many products as its a x a inputs, a = m + r -
// 1, where direct summation takes (m r)^2:
//     Y = A^T [(G g G^T) * (B^T d B)] A, summed over the channels before A (Lavin, Gray 2016; matrices after Toom and
//     Cook).
// Of our own domain: files hold what they expand to.
#include "graph/ops/common.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"
#include "graph/ops/winograd_files.h"
#include "graph/ops/winograd_matrices.h"

namespace isomer::ops {
namespace {

using te::Expr;
using te::Number;

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
  if (tile < 1 || taps < 1 || tile > kLargestTile || taps > kLargestTile || tile + taps - 1 < 2 ||
      tile + taps - 1 > kLargestTile)
    return context.invalid("tiles of m results and r taps with m + r - 1 in [2, {}] expected, m = {} and r = {} found",
                           kLargestTile, tile, taps);
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
    if (size.is_constant() && size.value() < 1)
      return context.invalid("X and pads of at least {} taps expected, {} found", tiling.r, text(x));
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
  const te::StageValue patch =
      program.map({tiling.a, tiling.a, tiles, x[1]}, te::select(inside, element, te::literal(0, element.dtype())));
  const te::StageValue down =
      program.map({tiling.a, tiling.a, tiles, x[1]},
                  transformed(matrix, i, [&](int64_t k) { return program.load(patch, {te::index(k), j, t, c}); }));
  const Expr p = te::axis(0);
  program.outputs = {program.map(
      {tiling.a * tiling.a, tiles, x[1]}, transformed(matrix, te::floor_mod(p, te::index(tiling.a)), [&](int64_t k) {
        return program.load(down, {te::floor_div(p, te::index(tiling.a)), te::index(k), te::axis(1), te::axis(2)});
      }))};
  return program;
}

// Kernel: [M, C, r, r] -> [a a, C, M]

Result<int64_t> tile_of_kernel(const OpContext& context) {
  const Shape& w = context.shape(0);
  if (w.size() == 4 && !(w[2].is_constant() && w[3].is_constant()))
    return context.unsupported("W of known taps expected, {} found", text(w));
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
  const te::StageValue down =
      program.map({a, w[3], w[1], w[0]}, transformed(matrix, te::axis(0), [&](int64_t k) {
                    return context.load(0, {te::axis(3), te::axis(2), te::index(k), te::axis(1)});
                  }));
  const Expr p = te::axis(0);
  program.outputs = {
      program.map({a * a, w[1], w[0]}, transformed(matrix, te::floor_mod(p, te::index(a)), [&](int64_t k) {
                    return program.load(down, {te::floor_div(p, te::index(a)), te::index(k), te::axis(1), te::axis(2)});
                  }))};
  return program;
}

// Output: [a a, tiles, M] -> [N, M, height, width]

Result<Tiling> output_tiling(const OpContext& context) {
  const Shape& y = context.shape(0);
  if (y.size() != 3) return context.invalid("Y [a a, tiles, M] expected, {} found", text(y));
  if (!y[0].is_constant()) return context.unsupported("Y of a known first dim expected, {} found", text(y));
  Tiling tiling{.m = context.get_int("tile")};
  while (tiling.a * tiling.a < y[0].value() && tiling.a < kLargestTile) ++tiling.a;
  if (tiling.a * tiling.a != y[0].value())
    return context.invalid("a square of at most {} elements of tiles expected, {} found", kLargestTile * kLargestTile,
                           y[0].value());
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

Shape output_shape(const OpContext& context, const Tiling& tiling) {
  return {floor_div(context.dim(0, 1), tiling.tiles()), context.dim(0, 2), tiling.height, tiling.width};
}

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
  const te::StageValue down = program.map(
      {tiling.m, tiling.a, y[1], y[2]},
      transformed(matrix, te::axis(0), [&](int64_t k) { return context.load(0, {te::axis(1) + k * tiling.a, t, c}); }));
  const te::StageValue results =
      program.map({tiling.m, tiling.m, y[1], y[2]}, transformed(matrix, te::axis(1), [&](int64_t k) {
                    return program.load(down, {te::axis(0), te::index(k), t, c});
                  }));
  const Expr h = te::axis(2), w = te::axis(3), m = te::index(tiling.m);
  const Expr tile =
      te::axis(0) * tiling.tiles().expr() + te::floor_div(h, m) * tiling.columns().expr() + te::floor_div(w, m);
  program.outputs = {program.map(output_shape(context, tiling),
                                 program.load(results, {te::floor_mod(h, m), te::floor_mod(w, m), tile, te::axis(1)}))};
  return program;
}

// Product: a convolution but for the transform of its results, [N, C, H, W] and [a a, C, M] -> [a a, tiles, M]

Result<Tiling> product_tiling(const OpContext& context) {
  TRY(Tiling tiling, input_tiling(context));
  const Shape &x = context.shape(0), &u = context.shape(1);
  if (u.size() != 3 || !agreed(u[0], tiling.a * tiling.a) || !agreed(u[1], x[1]))
    return context.invalid("U [{}, {}, M] expected, {} found", tiling.a * tiling.a, x[1].text(), text(u));
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
  const Expr product =
      program.load(program.outputs[0], {p, te::axis(1), channel}) * context.load(1, {p, channel, te::axis(2)});
  program.outputs = {sum_over(program, {tiling.a * tiling.a, context.dim(0, 0) * tiling.tiles(), context.dim(1, 2)},
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
       .attributes = {with_default("pads", std::vector<int64_t>{0, 0, 0, 0}), with_default("taps", 3),
                      required("tile", AttributeKind::kInt)},
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
       .attributes = {required("tile", AttributeKind::kInt)},
       .infer = infer_kernel,
       .compute = compute_kernel,
       .expand = expand_winograd_kernel},

      {.domain = kOwnDomain,
       .name = "WinogradProduct",
       .since = 1,
       .inputs = {"X", "U"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {with_default("pads", std::vector<int64_t>{0, 0, 0, 0}), with_default("taps", 3),
                      required("tile", AttributeKind::kInt)},
       .infer = infer_product,
       .compute = compute_product,
       .expand = expand_winograd_product,
       .axioms = {{"WinogradProduct(x,WinogradKernel(w){tile=m}){tile=m,..p} = "
                   "MatMul(WinogradInput(x){tile=m,..p},WinogradKernel(w){tile=m}) if x_rank == 4 && w_rank == 4",
                   "images", FloatClass::kReassociated}}},

      {.domain = kOwnDomain,
       .name = "WinogradOutput",
       .since = 1,
       .inputs = {"Y"},
       .outputs = {"Z"},
       .types = {{"T", kFloats}},
       .attributes = {required("sizes", AttributeKind::kInts), required("tile", AttributeKind::kInt)},
       .infer = infer_output,
       .compute = compute_output,
       .expand = expand_winograd_output,
       .recognize = recognize_winograd_output},
  };
}

}  // namespace isomer::ops
