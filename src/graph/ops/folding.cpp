// Col2Im DeformConv: windows laid back over an image, windows whose taps data move.

#include "graph/ops/common.h"
#include "graph/ops/operand.h"
#include "graph/ops/registry.h"
#include "graph/ops/window.h"

namespace isomer::ops {
namespace {

/// Row-major position among `dims`.
te::Expr flat(const Shape& dims, const std::vector<te::Expr>& index) {
  te::Expr result = te::index(0);
  for (size_t k = 0; k < dims.size(); ++k) result = result * dims[k].expr() + index[k];
  return result;
}

// Col2Im: the sum of the blocks that cover each element of the image; columns are blocks, rows their elements.

struct Fold {
  Dim channels;
  Window window;  ///< over the image
  Shape image, block;
  Shape out;
};

Result<Fold> fold_of(const OpContext& context, const std::vector<Dim>& image, const std::vector<Dim>& block) {
  if (image.size() != block.size() || image.empty())
    return context.invalid("image_shape and block_shape of one length expected, {} and {} found", text(image),
                           text(block));
  const Dim elements = element_count(block);
  const Dim& rows = context.dim(0, 1);
  if (elements.is(0) || (rows.is_constant() && elements.is_constant() && rows.value() % elements.value() != 0))
    return context.invalid("rows in multiples of a block's {} elements expected, {} found", elements.text(),
                           rows.text());
  Fold fold{.channels = floor_div(rows, elements), .window = {}, .image = image, .block = block, .out = {}};
  TRY(fold.window, window_of(context, image, block, Rounding::kFloor));
  const Dim blocks = element_count(out_dims(fold.window));
  if (!agreed(blocks, context.dim(0, 2)))
    return context.invalid("{} columns, one a block, expected, {} found", blocks.text(), context.dim(0, 2).text());
  fold.out = concatenated({context.dim(0, 0), fold.channels}, image);
  return fold;
}

Result<std::vector<ValueType>> infer_col2im(const OpContext& context) {
  if (context.dtype(0) == DataType::kBool) return context.unsupported("sums of bools");
  if (context.rank(0) != 3 || context.rank(1) != 1 || context.rank(2) != 1)
    return context.invalid("an input of rank 3 and vectors image_shape and block_shape expected, {}, {} and {} found",
                           text(context.shape(0)), text(context.shape(1)), text(context.shape(2)));
  const auto image = context.dims(1), block = context.dims(2);
  if (image && block) {
    TRY(const Fold fold, fold_of(context, *image, *block));
    return one(context.dtype(0), fold.out);
  }
  if (!context.dim(1, 0).is_constant())
    return std::vector{ValueType{ValueType::Kind::kTensor, context.dtype(0), std::nullopt, {}}};
  Shape out = {context.dim(0, 0), context.fresh(0, 1)};
  for (int64_t k = 0; k < context.dim(1, 0).value() && k < 16; ++k)
    out.push_back(image ? (*image)[k] : context.fresh(0, static_cast<int>(k) + 2));
  return one(context.dtype(0), std::move(out));
}

Result<te::Program> compute_col2im(const OpContext& context) {
  TRY_VOID(infer_col2im(context));
  const auto image = context.dims(1), block = context.dims(2);
  if (!image || !block) return context.unsupported("image_shape and block_shape are not known");
  TRY(const Fold fold, fold_of(context, *image, *block));
  std::vector<te::Expr> taps, positions;
  Shape reduce;
  te::Expr valid = te::truth(true);
  for (size_t k = 0; k < fold.window.size(); ++k) {
    const TransposedAxis axis(fold.window[k]);
    const auto source = axis.source(te::axis(static_cast<int>(k) + 2), te::reduce_axis(static_cast<int>(k)));
    valid = valid && source.valid();
    taps.push_back(source.tap);
    positions.push_back(source.position);
    reduce.push_back(axis.taps());
  }
  const te::Expr row = te::axis(1) * element_count(fold.block).expr() + flat(fold.block, taps);
  const te::Expr element = context.load(0, {te::axis(0), row, flat(out_dims(fold.window), positions)});
  te::Program program;
  program.outputs = {sum_over(program, fold.out, reduce, te::select(valid, element, te::literal(0, element.dtype())))};
  return program;
}

// DeformConv: each tap is moved by an offset of its own, and read between elements by linear interpolation; what lies
// outside is 0. An optional mask scales each tap.

enum DeformInput { kX, kW, kOffset, kBias, kMask };

struct DeformConv {
  int64_t group, offset_group;
  Dim channels;  ///< of a group
  Window window;
  Shape kernel, out;
};

Result<DeformConv> deform_of(const OpContext& context) {
  const Shape &x = context.shape(kX), &w = context.shape(kW);
  if (x.size() < 3 || x.size() > 5 || w.size() != x.size())
    return context.invalid("X and W of equal rank from 3 to 5 expected, {} and {} found", text(x), text(w));
  const int64_t group = context.get_int("group"), offset_group = context.get_int("offset_group");
  if (group < 1 || offset_group < 1)
    return context.invalid("group and offset_group of at least 1 expected, {} and {} found", group, offset_group);
  const auto channels = agreed(floor_div(x[1], group), w[1]);
  const auto divides = [](int64_t count, const Dim& dim) { return !dim.is_constant() || dim.value() % count == 0; };
  if (!channels || !divides(group, x[1]) || !divides(group, w[0]) || !divides(offset_group, x[1]))
    return context.invalid("channels in multiples of group {} and offset_group {} expected, {} and {} found", group,
                           offset_group, text(x), text(w));
  DeformConv conv{.group = group,
                  .offset_group = offset_group,
                  .channels = *channels,
                  .window = {},
                  .kernel = {w.begin() + 2, w.end()},
                  .out = {}};
  if (context.has_attribute("kernel_shape") && !context.get_ints("kernel_shape").empty()) {
    const auto& stated = context.get_ints("kernel_shape");
    if (Shape(stated.begin(), stated.end()) != conv.kernel && constants(conv.kernel))
      return context.invalid("W with kernel_shape {} expected, {} found", text(Shape(stated.begin(), stated.end())),
                             text(w));
  }
  TRY(conv.window, window_of(context, {x.begin() + 2, x.end()}, conv.kernel, Rounding::kFloor));
  const Shape spatial = out_dims(conv.window);
  const Dim taps = element_count(conv.kernel) * offset_group;
  conv.out = concatenated({x[0], w[0]}, spatial);
  TRY_VOID(expect_shape(context, kOffset, concatenated({x[0], taps * static_cast<int64_t>(spatial.size())}, spatial)));
  TRY_VOID(expect_shape(context, kBias, {w[0]}));
  TRY_VOID(expect_shape(context, kMask, concatenated({x[0], taps}, spatial)));
  return conv;
}

Result<std::vector<ValueType>> infer_deform(const OpContext& context) {
  TRY(const DeformConv conv, deform_of(context));
  return one(context.dtype(kX), conv.out);
}

/// X at real positions of its spatial axes: Σ over the corners of the cell of weight * element, both products over
/// axes.
te::Expr interpolated(const OpContext& context, const Window& window, const std::vector<te::Expr>& head,
                      const std::vector<te::Expr>& positions, DataType wide) {
  const size_t rank = positions.size();
  te::Expr sum;
  for (size_t corner = 0; corner < size_t{1} << rank; ++corner) {
    std::vector<te::Expr> index = head;
    te::Expr weight = te::literal(1, wide), inside = te::truth(true);
    for (size_t k = 0; k < rank; ++k) {
      const bool upper = (corner >> k) & 1;
      const te::Expr base = te::unary(te::UnaryOp::kFloor, positions[k]);
      const te::Expr fraction = positions[k] - base;
      const te::Expr at = te::cast(DataType::kInt64, base) + int64_t{upper};
      weight = weight * (upper ? fraction : te::Number(1) - fraction);
      inside = inside && te::index(0) <= at && at < window[k].in.expr();
      index.push_back(at);
    }
    const te::Expr term = te::select(inside, weight * te::cast(wide, context.load(kX, index)), te::literal(0, wide));
    sum = sum ? sum + term : term;
  }
  return sum;
}

Result<te::Program> compute_deform(const OpContext& context) {
  TRY(const DeformConv conv, deform_of(context));
  const DataType dtype = context.dtype(kX), wide = accumulator(dtype);
  const size_t rank = conv.window.size();
  const te::Expr n = te::axis(0), m = te::axis(1), c = te::reduce_axis(0);
  const te::Expr channel = te::floor_div(m, floor_div(conv.out[1], conv.group).expr()) * conv.channels.expr() + c;
  const te::Expr offsets = te::floor_div(channel, floor_div(context.dim(kX, 1), conv.offset_group).expr());
  std::vector<te::Expr> taps, outs, weight_index = {m, c};
  for (size_t k = 0; k < rank; ++k) {
    taps.push_back(te::reduce_axis(static_cast<int>(k) + 1));
    outs.push_back(te::axis(static_cast<int>(k) + 2));
  }
  weight_index.insert(weight_index.end(), taps.begin(), taps.end());
  const te::Expr tap = offsets * element_count(conv.kernel).expr() + flat(conv.kernel, taps);
  const auto moved = [&](int input, const te::Expr& row) {
    std::vector<te::Expr> index = {n, row};
    index.insert(index.end(), outs.begin(), outs.end());
    return te::cast(wide, context.load(input, std::move(index)));
  };
  std::vector<te::Expr> positions;
  for (size_t k = 0; k < rank; ++k)
    positions.push_back(te::cast(wide, conv.window[k].position(outs[k], taps[k])) +
                        moved(kOffset, tap * te::index(static_cast<int64_t>(rank)) + static_cast<int64_t>(k)));
  te::Expr value = interpolated(context, conv.window, {n, channel}, positions, wide) *
                   te::cast(wide, context.load(kW, weight_index));
  if (context.has_input(kMask)) value = value * moved(kMask, tap);
  te::Program program;
  const te::StageValue sum = sum_over(program, conv.out, concatenated({conv.channels}, conv.kernel), std::move(value));
  te::Expr result = program.load(sum, te::axes(static_cast<int>(conv.out.size())));
  if (context.has_input(kBias)) result = result + te::cast(wide, context.load(kBias, {m}));
  program.outputs = {program.map(conv.out, te::cast(dtype, result))};
  return program;
}

}  // namespace

std::vector<OpDef> folding() {
  return {
      {.name = "Col2Im",
       .since = 18,
       .inputs = {"input", "image_shape:int64", "block_shape:int64"},
       .outputs = {"output"},
       .types = {{"T", kPlain}},
       .attributes = {optional("dilations", AttributeKind::kInts), optional("pads", AttributeKind::kInts),
                      optional("strides", AttributeKind::kInts)},
       .infer = infer_col2im,
       .compute = compute_col2im},

      {.name = "DeformConv",
       .since = 22,
       .inputs = {"X", "W", "offset", "B?", "mask?"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = {optional("dilations", AttributeKind::kInts), with_default("group", 1),
                      optional("kernel_shape", AttributeKind::kInts), with_default("offset_group", 1),
                      optional("pads", AttributeKind::kInts), optional("strides", AttributeKind::kInts)},
       .versions = {{19}},
       .infer = infer_deform,
       .compute = compute_deform},
  };
}

}  // namespace isomer::ops
