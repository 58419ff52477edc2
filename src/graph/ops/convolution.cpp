// Conv ConvTranspose ConvInteger QLinearConv: sums of products over sliding windows.
#include <fmt/ranges.h>

#include <functional>

#include "graph/ops/common.h"
#include "graph/ops/operand.h"
#include "graph/ops/quantized.h"
#include "graph/ops/registry.h"
#include "graph/ops/window.h"

namespace isomer::ops {
namespace {

constexpr TypeSet kBytes = DataType::kInt8 | DataType::kUInt8;
using Load = std::function<te::Expr(std::vector<te::Expr> index)>;

Shape spatial_dims(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

Result<int64_t> group_of(const OpContext& context) {
  const int64_t group = context.get_int("group");
  if (group < 1) return context.invalid("group of at least 1 expected, {} found", group);
  return group;
}

/// The kernel's dims: W's, which kernel_shape must agree with.
Result<Shape> kernel_of(const OpContext& context, const Shape& w) {
  Shape kernel = spatial_dims(w);
  if (!context.has_attribute("kernel_shape")) return kernel;
  const auto& stated = context.get_ints("kernel_shape");
  bool fits = stated.size() == kernel.size();
  for (size_t k = 0; fits && k < kernel.size(); ++k) {
    const auto dim = agreed(kernel[k], stated[k]);
    fits = dim.has_value();
    if (fits) kernel[k] = *dim;
  }
  if (!fits) return context.invalid("W with kernel_shape {} expected, {} found", stated, text(w));
  return kernel;
}

// Convolution: y[n, m, o] = Σ x[n, c, position(o, k)] * w[m, c, k] over the channels c of m's group and the taps k.

struct Convolution {
  int x, w;
  int64_t group;
  Dim channels;  ///< of a group
  Window window;
  Shape out;
};

Result<Convolution> convolution_of(const OpContext& context, int x_input, int w_input) {
  const Shape &x = context.shape(x_input), &w = context.shape(w_input);
  if (x.size() < 3 || w.size() != x.size())
    return context.invalid("X and W of equal rank, at least 3, expected, {} and {} found", text(x), text(w));
  TRY(const int64_t group, group_of(context));
  const auto channels = agreed(floor_div(x[1], group), w[1]);
  if (!channels || (x[1].is_constant() && x[1].value() % group != 0))
    return context.invalid("W has {} input channels, X has {} / group {}", w[1].text(), x[1].text(), group);
  if (w[0].is_constant() && w[0].value() % group != 0)
    return context.invalid("W with a multiple of group {} output channels expected, {} found", group, w[0].text());
  TRY(const Shape kernel, kernel_of(context, w));
  TRY(Window window, window_of(context, spatial_dims(x), kernel, Rounding::kFloor));
  Shape out = concatenated({x[0], w[0]}, out_dims(window));
  return Convolution{x_input, w_input, group, *channels, std::move(window), std::move(out)};
}

te::StageValue convolve(te::Program& program, const Convolution& conv, const Load& x, const Load& w) {
  const te::Expr m = te::axis(1), c = te::reduce_axis(0);
  const te::Expr per_group = floor_div(conv.out[1], conv.group).expr();
  std::vector<te::Expr> x_index = {te::axis(0), te::floor_div(m, per_group) * conv.channels.expr() + c};
  if (conv.group == 1) x_index[1] = c;
  std::vector<te::Expr> w_index = {m, c};
  te::Expr inside = te::truth(true);
  for (size_t k = 0; k < conv.window.size(); ++k) {
    const te::Expr o = te::axis(static_cast<int>(k) + 2), tap = te::reduce_axis(static_cast<int>(k) + 1);
    inside = inside && conv.window[k].inside(o, tap);
    x_index.push_back(conv.window[k].position(o, tap));
    w_index.push_back(tap);
  }
  const te::Expr value = x(std::move(x_index));
  const te::Expr padded = te::select(inside, value, te::literal(0, value.dtype()));
  return sum_over(program, conv.out, concatenated({conv.channels}, kernel_dims(conv.window)),
                  padded * w(std::move(w_index)));
}

Result<void> check_bias(const OpContext& context, int bias, const Dim& channels) {
  return expect_shape(context, bias, {channels});
}

/// acc + b[channel], where the node has input `bias`.
te::StageValue add_bias(const OpContext& context, te::Program& program, te::StageValue sum, int bias) {
  if (!context.has_input(bias)) return sum;
  const Shape shape = program.shape(sum);
  return program.map(shape,
                     program.load(sum, te::axes(static_cast<int>(shape.size()))) + context.load(bias, {te::axis(1)}));
}

Result<std::vector<ValueType>> infer_conv(const OpContext& context) {
  TRY(const Convolution conv, convolution_of(context, 0, 1));
  TRY_VOID(check_bias(context, 2, conv.out[1]));
  return one(context.dtype(0), conv.out);
}

Result<te::Program> compute_conv(const OpContext& context) {
  TRY(const Convolution conv, convolution_of(context, 0, 1));
  te::Program program;
  const te::StageValue sum = convolve(
      program, conv, [&](std::vector<te::Expr> index) { return context.load(0, std::move(index)); },
      [&](std::vector<te::Expr> index) { return context.load(1, std::move(index)); });
  program.outputs = {add_bias(context, program, sum, 2)};
  return program;
}

// Quantized forms: zero points are subtracted first, so padding is the zero point of x. w may have one a filter.

Result<void> check_filter_parameter(const OpContext& context, int i, const Dim& filters) {
  if (!context.has_input(i) || context.rank(i) == 0 || (context.rank(i) == 1 && context.dim(i, 0).is(1))) return {};
  return expect_shape(context, i, {filters});
}

/// Σ (x - x_zero) * (w - w_zero) in int32; an absent zero point is 0.
te::StageValue convolve_integers(const OpContext& context, te::Program& program, const Convolution& conv, int x_zero,
                                 int w_zero) {
  const auto centered = [&](int i, int zero, te::Expr channel, const Dim& channels) {
    return [&context, i, zero, channel, channels](std::vector<te::Expr> index) {
      const te::Expr value = te::cast(DataType::kInt32, context.load(i, std::move(index)));
      if (!context.has_input(zero)) return value;
      return value - te::cast(DataType::kInt32, load_scalar_or_vector(context, zero, channel, channels));
    };
  };
  return convolve(program, conv, centered(conv.x, x_zero, te::index(0), 1),
                  centered(conv.w, w_zero, te::axis(1), conv.out[1]));
}

Result<Convolution> conv_integer_of(const OpContext& context) {
  TRY(Convolution conv, convolution_of(context, 0, 1));
  TRY_VOID(check_filter_parameter(context, 2, 1));
  TRY_VOID(check_filter_parameter(context, 3, conv.out[1]));
  return conv;
}

Result<std::vector<ValueType>> infer_conv_integer(const OpContext& context) {
  TRY(const Convolution conv, conv_integer_of(context));
  return one(DataType::kInt32, conv.out);
}

Result<te::Program> compute_conv_integer(const OpContext& context) {
  TRY(const Convolution conv, conv_integer_of(context));
  te::Program program;
  program.outputs = {convolve_integers(context, program, conv, 2, 3)};
  return program;
}

enum QLinear { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias };

Result<Convolution> qlinear_conv_of(const OpContext& context) {
  TRY(Convolution conv, convolution_of(context, kX, kW));
  for (const int scalar : {kXScale, kXZero, kYScale, kYZero}) TRY_VOID(check_filter_parameter(context, scalar, 1));
  for (const int parameter : {kWScale, kWZero}) TRY_VOID(check_filter_parameter(context, parameter, conv.out[1]));
  TRY_VOID(check_bias(context, kBias, conv.out[1]));
  return conv;
}

Result<std::vector<ValueType>> infer_qlinear_conv(const OpContext& context) {
  TRY(const Convolution conv, qlinear_conv_of(context));
  return one(context.dtype(kYZero), conv.out);
}

Result<te::Program> compute_qlinear_conv(const OpContext& context) {
  TRY(const Convolution conv, qlinear_conv_of(context));
  te::Program program;
  const te::StageValue product = convolve_integers(context, program, conv, kXZero, kWZero);
  const te::StageValue sum = add_bias(context, program, product, kBias);
  const auto parameter = [&](int i) { return load_scalar_or_vector(context, i, te::axis(1), conv.out[1]); };
  const auto scale = [&](int i) { return te::cast(DataType::kFloat64, parameter(i)); };
  const te::Expr value = te::cast(DataType::kFloat32, program.load(sum, te::axes(static_cast<int>(conv.out.size()))));
  const te::Expr factor = te::cast(DataType::kFloat32, scale(kXScale) * scale(kWScale) / scale(kYScale));
  program.outputs = {program.map(conv.out, requantize(value * factor, parameter(kYZero), context.dtype(kYZero)))};
  return program;
}

// Transposed convolution: a gather over the windows that reach an output (window.h).

struct TransposedConvolution {
  int64_t group;
  Dim channels, filters;  ///< of a group: of x, of y
  std::vector<TransposedAxis> axes;
  Shape out;
};

Result<std::vector<int64_t>> ints_of_rank(const OpContext& context, std::string_view name, size_t rank) {
  if (!context.has_attribute(name) || context.get_ints(name).empty()) return std::vector<int64_t>();
  const auto& values = context.get_ints(name);
  TRY_VOID(check_values(context, name, values, rank, 0));
  return values;
}

/// The axes' geometry; `out` (the size of our output) is that of the attributes, or output_shape.
Result<std::vector<TransposedAxis>> transposed_axes(const OpContext& context, const Shape& in, const Shape& kernel) {
  const size_t rank = in.size();
  TRY(const WindowAttributes attributes, window_attributes(context, static_cast<int>(rank)));
  TRY(const auto extra, ints_of_rank(context, "output_padding", rank));
  std::vector<int64_t> sizes;
  if (context.has_attribute("output_shape")) sizes = context.get_ints("output_shape");
  if (sizes.size() == rank + 2) sizes.erase(sizes.begin(), sizes.begin() + 2);
  if (!sizes.empty()) TRY_VOID(check_values(context, "output_shape", sizes, rank, 0));
  std::vector<TransposedAxis> axes;
  for (size_t k = 0; k < rank; ++k) {
    WindowAxis axis{.in = 0,
                    .kernel = kernel[k],
                    .stride = attributes.strides[k],
                    .dilation = attributes.dilations[k],
                    .pad_begin = attributes.pads[k],
                    .pad_end = attributes.pads[rank + k],
                    .out = in[k]};
    const Dim full = (in[k] - 1) * axis.stride + axis.extent() + (extra.empty() ? 0 : extra[k]);
    if (!sizes.empty() || attributes.is_same()) {
      axis.in = sizes.empty() ? in[k] * axis.stride : Dim(sizes[k]);
      const Dim total = max(full - axis.in, 0);
      const Dim half = floor_div(total, 2);
      axis.pad_begin = attributes.auto_pad == "SAME_UPPER" ? half : total - half;
      axis.pad_end = total - axis.pad_begin;
    } else {
      axis.in = full - axis.pad_begin - axis.pad_end;
    }
    if (axis.in.is_constant() && axis.in.value() < 0)
      return context.invalid("pads of at most {} along spatial axis {} expected, {} and {} found", full.text(), k,
                             axis.pad_begin.text(), axis.pad_end.text());
    axes.emplace_back(std::move(axis));
  }
  return axes;
}

Result<TransposedConvolution> transposed_of(const OpContext& context) {
  const Shape &x = context.shape(0), &w = context.shape(1);
  if (x.size() < 3 || w.size() != x.size())
    return context.invalid("X and W of equal rank, at least 3, expected, {} and {} found", text(x), text(w));
  TRY(const int64_t group, group_of(context));
  const auto channels = agreed(x[1], w[0]);
  if (!channels) return context.invalid("W has {} input channels, X has {}", w[0].text(), x[1].text());
  if (channels->is_constant() && channels->value() % group != 0)
    return context.invalid("a multiple of group {} input channels expected, {} found", group, channels->text());
  TRY(const Shape kernel, kernel_of(context, w));
  TransposedConvolution conv{.group = group,
                             .channels = floor_div(*channels, group),
                             .filters = w[1],
                             .axes = {},
                             .out = {x[0], w[1] * group}};
  TRY(conv.axes, transposed_axes(context, spatial_dims(x), kernel));
  for (const TransposedAxis& axis : conv.axes) conv.out.push_back(axis.window().in);
  TRY_VOID(check_bias(context, 2, conv.out[1]));
  return conv;
}

Result<std::vector<ValueType>> infer_conv_transpose(const OpContext& context) {
  TRY(const TransposedConvolution conv, transposed_of(context));
  return one(context.dtype(0), conv.out);
}

Result<te::Program> compute_conv_transpose(const OpContext& context) {
  TRY(const TransposedConvolution conv, transposed_of(context));
  const te::Expr filters = conv.filters.expr();
  const te::Expr m = te::axis(1);
  te::Expr channel = te::reduce_axis(0), filter = m;
  if (conv.group > 1) {
    channel = te::floor_div(m, filters) * conv.channels.expr() + channel;
    filter = te::floor_mod(m, filters);
  }
  std::vector<te::Expr> x_index = {te::axis(0), channel}, w_index = {channel, filter};
  Shape reduce = {conv.channels};
  te::Expr has_tap = te::truth(true), has_position = te::truth(true);
  for (size_t k = 0; k < conv.axes.size(); ++k) {
    const auto source =
        conv.axes[k].source(te::axis(static_cast<int>(k) + 2), te::reduce_axis(static_cast<int>(k) + 1));
    has_tap = has_tap && source.has_tap;
    has_position = has_position && source.has_position;
    x_index.push_back(source.position);
    w_index.push_back(source.tap);
    reduce.push_back(conv.axes[k].taps());
  }
  te::Program program;
  const te::Expr x = context.load(0, x_index), w = context.load(1, w_index), zero = te::literal(0, x.dtype());
  const te::StageValue sum =
      sum_over(program, conv.out, reduce, te::select(has_position, x, zero) * te::select(has_tap, w, zero));
  program.outputs = {add_bias(context, program, sum, 2)};
  return program;
}

std::vector<AttributeDef> window_attribute_defs(std::vector<AttributeDef> further) {
  std::vector<AttributeDef> defs = {
      with_default("auto_pad", "NOTSET"),          with_default("group", 1),
      optional("dilations", AttributeKind::kInts), optional("kernel_shape", AttributeKind::kInts),
      optional("pads", AttributeKind::kInts),      optional("strides", AttributeKind::kInts)};
  defs.insert(defs.end(), further.begin(), further.end());
  return defs;
}

}  // namespace

std::vector<OpDef> convolution() {
  return {
      {.name = "Conv",
       .since = 22,
       .inputs = {"X", "W", "B?"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = window_attribute_defs({}),
       .versions = {{11}, {1}},
       .infer = infer_conv,
       .compute = compute_conv,
       .axioms =
           {{"Conv(Add(x,y),w){..p} = Add(Conv(x,w){..p},Conv(y,w){..p}) if x_0 == y_0 && x_1 == y_1 && x_2 == y_2 && "
             "x_3 == y_3 && x_4 == y_4",
             "images", FloatClass::kReassociated},
            {"Conv(x,Add(v,w)){..p} = Add(Conv(x,v){..p},Conv(x,w){..p}) if v_0 == w_0 && v_1 == w_1 && v_2 == w_2 && "
             "v_3 == w_3 && v_4 == w_4",
             "images", FloatClass::kReassociated},
            {"Mul(Conv(x,w){..p},s) = Conv(Mul(x,s),w){..p} if s_rank == 0", "images", FloatClass::kReassociated},
            {"Mul(Conv(x,w){..p},s) = Conv(x,Mul(w,s)){..p} if s_rank == 0", "images", FloatClass::kReassociated},
            {"Conv(Concat(x,y){axis=0},w){..p} = Concat(Conv(x,w){..p},Conv(y,w){..p}){axis=0}", "images",
             FloatClass::kReassociated},
            {"Conv(x,Concat(v,w){axis=0}){group=1,..p} = Concat(Conv(x,v){group=1,..p},Conv(x,w){group=1,..p}){axis=1}",
             "images", FloatClass::kReassociated},
            {"Add(Conv(x,v){group=1,..p},Conv(y,w){group=1,..p}) = "
             "Conv(Concat(x,y){axis=1},Concat(v,w){axis=1}){group=1,..p} if v_0 == w_0 && x_0 == y_0",
             "images", FloatClass::kReassociated},
            {"Concat(Conv(x,v){group=g,..p},Conv(y,w){group=g,..p}){axis=1} = "
             "Conv(Concat(x,y){axis=1},Concat(v,w){axis=0}){group=2*g,..p} if v_0 == w_0 && x_1 == y_1",
             "images", FloatClass::kReassociated},
            {"Conv(x,w){dilations=[1,1],pads=[a,b,c,d],..p} = "
             "Conv(x,Pad(w){pads=[0,0,e,f,0,0,g,h]}){dilations=[1,1],pads=[a + e,b + f,c + g,d + h],..p}",
             "images", FloatClass::kFinite},
            {"Conv(Pad(x){pads=[0,0,a,b,0,0,c,d]},w){pads=[e,f,g,h],..p} = Conv(x,w){pads=[a + e,b + f,c + g,d + "
             "h],..p}",
             "images", FloatClass::kReassociated},
            {"Conv(x,w,b){dilations=[a],..p} = Add(Conv(x,w){dilations=[a],..p},Unsqueeze(b){axes=[1]}) if b_rank == 1",
             "images", FloatClass::kReassociated},
            {"Conv(x,w,b){dilations=[a,c],..p} = Add(Conv(x,w){dilations=[a,c],..p},Unsqueeze(b){axes=[1,2]}) if "
             "b_rank == 1",
             "images", FloatClass::kReassociated},
            {"Conv(x,w,b){dilations=[a,c,d],..p} = Add(Conv(x,w){dilations=[a,c,d],..p},Unsqueeze(b){axes=[1,2,3]}) if "
             "b_rank == 1",
             "images", FloatClass::kReassociated},
            {"Conv(Transpose(x){perm=[0,1,3,2]},Transpose(w){perm=[0,1,3,2]}){dilations=[a,b],group=g,pads=[c,d,e,f],"
             "strides=[h,i]} = "
             "Transpose(Conv(x,w){dilations=[b,a],group=g,pads=[d,c,f,e],strides=[i,h]}){perm=[0,1,3,2]}",
             "images", FloatClass::kReassociated},
            {"Conv(x,w){dilations=[1,1],group=1,pads=[0,0,0,0],strides=[1,1]} = "
             "Reshape(MatMul(Reshape(w){shape=[w_0,w_1]},Reshape(x){shape=[x_0,x_1,x_2*x_3]})){shape=[x_0,w_0,x_2,x_3]}"
             " if w_2 == 1 && w_3 == 1",
             "images", FloatClass::kReassociated},
            {"Conv(Conv(x,v){group=1,..p},w){dilations=[1,1],group=1,pads=[0,0,0,0],strides=[1,1]} = "
             "Conv(x,Reshape(MatMul(Reshape(w){shape=[w_0,w_1]},Reshape(v){shape=[v_0,v_1*v_2*v_3]})){shape=[w_0,v_1,v_"
             "2,v_3]}){group=1,..p} if w_2 == 1 && w_3 == 1",
             "images", FloatClass::kReassociated},
            {"Conv(x,w){dilations=[1,1],pads=[0,0,0,0],strides=[s,t],..p} = "
             "Conv(Slice(x){axes=[2,3],ends=[x_2,x_3],starts=[0,0],steps=[s,t]},w){dilations=[1,1],pads=[0,0,0,0],"
             "strides=[1,1],..p} if w_2 == 1 && w_3 == 1",
             "images", FloatClass::kReassociated},
            {"Conv(Concat(x,y){axis=1},Pad(w){pads=[0,0,0,0,0,c,0,0]}){group=1,..p} = Conv(x,w){group=1,..p} if y_1 == "
             "c",
             "images", FloatClass::kFinite},
            {"Conv(Concat(x,y){axis=1},Pad(w){pads=[0,c,0,0,0,0,0,0]}){group=1,..p} = Conv(y,w){group=1,..p} if x_1 == "
             "c",
             "images", FloatClass::kFinite},
            {"Conv(Concat(x,x){axis=1},w){group=2,..p} = Conv(x,w){group=1,..p}", "images", FloatClass::kReassociated},
            // Groups by twos: weights that are 0 between them.
            {"Conv(x,w){group=h,..p} = "
             "Conv(x,Mul(Concat(w,w){axis=1},Reshape(Expand(Reshape(EyeLike(Expand(1){shape=[2,2]})){shape=[1,2,1,2,1]}"
             "){shape=[g,2,w_0 floordiv h,2,w_1]}){shape=[w_0,2*w_1,1,1]})){group=g,..p} if x_rank == 4 && w_rank == 4 "
             "&& h == 2*g",
             "images", FloatClass::kFinite},
            {"Mul(Conv(x,w){..p},s) = Conv(x,Mul(w,Transpose(s){perm=[1,0,2,3]})){..p} if s_0 == 1 && s_1 == w_0 && "
             "s_2 == 1 && s_3 == 1",
             "images", FloatClass::kReassociated},
            {"Mul(Conv(x,w){..p},s) = Conv(x,Mul(w,Unsqueeze(s){axes=[3]})){..p} if x_rank == 4 && s_rank == 3 && s_0 "
             "== w_0 && s_1 == 1 && s_2 == 1",
             "images", FloatClass::kReassociated},
            {"Conv(Mul(x,s),w){group=1,..p} = Conv(x,Mul(w,s)){group=1,..p} if x_rank == 4 && s_rank == 3 && s_0 == "
             "x_1 && s_1 == 1 && s_2 == 1",
             "images", FloatClass::kReassociated},
            {"Conv(x,Pad(w){pads=[0,0,0,0,e,0,0,0]}){group=1,..p} = "
             "Pad(Conv(x,w){group=1,..p}){pads=[0,0,0,0,0,e,0,0]}",
             "images", FloatClass::kFinite},
            {"Conv(Conv(x,v){group=x_1,..p},w){dilations=[1,1],group=1,pads=[0,0,0,0],strides=[1,1]} = "
             "Conv(x,Mul(w,Transpose(v){perm=[1,0,2,3]})){group=1,..p} if v_0 == x_1 && w_2 == 1 && w_3 == 1",
             "images", FloatClass::kReassociated},
            {"Conv(Conv(x,v){dilations=[1,1],group=x_1,pads=[a,0,c,0],strides=[1,1]},w){dilations=[1,1],group=x_1,pads="
             "[0,b,0,d],strides=[1,1]} = Conv(x,Mul(v,w)){dilations=[1,1],group=x_1,pads=[a,b,c,d],strides=[1,1]} if "
             "v_0 == x_1 && w_0 == x_1 && v_3 == 1 && w_2 == 1",
             "images", FloatClass::kReassociated},
            {"Conv(x,w){dilations=[1,1],group=1,pads=[0,0,0,0],strides=[b,b]} = "
             "Conv(SpaceToDepth(x){blocksize=b},SpaceToDepth(w){blocksize=b}){dilations=[1,1],group=1,pads=[0,0,0,0],"
             "strides=[1,1]}",
             "images", FloatClass::kReassociated},
            {"Conv(x,w){dilations=[1,1],pads=[a,b,c,d],strides=[1,1],..p} = "
             "Slice(Conv(x,w){dilations=[1,1],pads=[a,b,c + e,d + f],strides=[1,1],..p}){axes=[2,3],ends=[x_2 + a + c "
             "- w_2 + 1,x_3 + b + d - w_3 + 1],starts=[0,0]}",
             "images", FloatClass::kReassociated},
            // Winograd's algorithm: squares and cubes of taps, or taps along one axis.
            {"Conv(x,w){dilations=[1,1],group=1,pads=[a,b,c,d],strides=[1,1]} = "
             "WinogradOutput(WinogradProduct(x,WinogradKernel(w){tile=[m,m]}){pads=[a,b,c,d],taps=[w_2,w_3],tile=[m,m]}"
             "){sizes=[x_2 + a + c - w_2 + 1,x_3 + b + d - w_3 + 1],taps=[w_2,w_3],tile=[m,m]} if x_rank == 4 && w_3 "
             "== "
             "w_2",
             "images", FloatClass::kReassociated},
            {"Conv(Pad(x){pads=[0,0,a,0,0,b]},w){pads=[c,d],..p} = Conv(x,w){pads=[a + c,b + d],..p}", "images",
             FloatClass::kReassociated},
            {"Mul(Conv(x,w){..p},s) = Conv(x,Mul(w,Unsqueeze(s){axes=[2]})){..p} if x_rank == 3 && s_rank == 2 && s_0 "
             "== w_0 && s_1 == 1",
             "images", FloatClass::kReassociated},
            {"Mul(Conv(x,w){..p},Unsqueeze(s){axes=[1,2,3]}) = Conv(x,Mul(w,Unsqueeze(s){axes=[1,2,3,4]})){..p} if "
             "x_rank == 5 && s_rank == 1 && s_0 == w_0",
             "images", FloatClass::kReassociated},
            // Of groups: each reads the factors of its own channels.
            {"Conv(Mul(x,s),w){group=g,..p} = "
             "Conv(x,Mul(w,Reshape(Expand(Reshape(s){shape=[g,1,w_1]}){shape=[g,w_0 floordiv g,w_1]}){shape=[w_0,w_1,1,"
             "1]})){group=g,..p} if x_rank == 4 && s_rank == 3 && s_0 == x_1 && s_1 == 1 && s_2 == 1",
             "images", FloatClass::kReassociated},
            // Where nothing is padded, a shift of the channels is one of the results: what the window makes of it.
            {"Conv(Add(x,t),w){dilations=[1,1],pads=[0,0,0,0],..p} = "
             "Add(Conv(x,w){dilations=[1,1],pads=[0,0,0,0],..p},Conv(Expand(t){shape=[1,x_1,w_2,w_3]},w){dilations=[1,"
             "1],pads=[0,0,0,0],..p}) if x_rank == 4 && t_rank == 3 && t_0 == x_1 && t_1 == 1 && t_2 == 1",
             "images", FloatClass::kReassociated},
            {"Conv(x,w){dilations=[1,1],group=1,pads=[a,b,c,d],strides=[1,1]} = "
             "WinogradOutput(WinogradProduct(x,WinogradKernel(w){tile=[1,m]}){pads=[a,b,c,d],taps=[1,w_3],tile=[1,m]})"
             "{sizes=[x_2 + a + c,x_3 + b + d - w_3 + 1],taps=[1,w_3],tile=[1,m]} if x_rank == 4 && w_2 == 1",
             "images", FloatClass::kReassociated},
            {"Conv(x,w){dilations=[1,1],group=1,pads=[a,b,c,d],strides=[1,1]} = "
             "WinogradOutput(WinogradProduct(x,WinogradKernel(w){tile=[m,1]}){pads=[a,b,c,d],taps=[w_2,1],tile=[m,1]})"
             "{sizes=[x_2 + a + c - w_2 + 1,x_3 + b + d],taps=[w_2,1],tile=[m,1]} if x_rank == 4 && w_3 == 1",
             "images", FloatClass::kReassociated},
            {"Conv(x,w){dilations=[1],group=1,pads=[a,b],strides=[1]} = "
             "WinogradOutput(WinogradProduct(x,WinogradKernel(w){tile=[m]}){pads=[a,b],taps=[w_2],tile=[m]}){sizes=[x_"
             "2 "
             "+ a + b - w_2 + 1],taps=[w_2],tile=[m]} if x_rank == 3",
             "images", FloatClass::kReassociated},
            {"Conv(x,w){dilations=[1,1,1],group=1,pads=[a,b,c,d,e,f],strides=[1,1,1]} = "
             "WinogradOutput(WinogradProduct(x,WinogradKernel(w){tile=[m,m,m]}){pads=[a,b,c,d,e,f],taps=[w_2,w_3,w_4],"
             "tile=[m,m,m]}){sizes=[x_2 + a + d - w_2 + 1,x_3 + b + e - w_3 + 1,x_4 + c + f - w_4 + "
             "1],taps=[w_2,w_3,w_4"
             "],tile=[m,m,m]} if x_rank == 5 && w_3 == w_2 && w_4 == w_2",
             "images", FloatClass::kReassociated},
            {"Conv(x,w){dilations=[1,1,1],group=1,pads=[a,b,c,d,e,f],strides=[1,1,1]} = "
             "WinogradOutput(WinogradProduct(x,WinogradKernel(w){tile=[1,m,m]}){pads=[a,b,c,d,e,f],taps=[1,w_3,w_4],"
             "tile=[1,m,m]}){sizes=[x_2 + a + d,x_3 + b + e - w_3 + 1,x_4 + c + f - w_4 + "
             "1],taps=[1,w_3,w_4],tile=[1,m,"
             "m]} if x_rank == 5 && w_2 == 1 && w_4 == w_3",
             "images", FloatClass::kReassociated},
            {"Conv(x,w){dilations=[1,1,1],group=1,pads=[a,b,c,d,e,f],strides=[1,1,1]} = "
             "WinogradOutput(WinogradProduct(x,WinogradKernel(w){tile=[m,1,1]}){pads=[a,b,c,d,e,f],taps=[w_2,1,1],tile="
             "[m,1,1]}){sizes=[x_2 + a + d - w_2 + 1,x_3 + b + e,x_4 + c + f],taps=[w_2,1,1],tile=[m,1,1]} if x_rank "
             "== "
             "5 && w_3 == 1 && w_4 == 1",
             "images", FloatClass::kReassociated}}},

      {.name = "ConvTranspose",
       .since = 22,
       .inputs = {"X", "W", "B?"},
       .outputs = {"Y"},
       .types = {{"T", kFloats}},
       .attributes = window_attribute_defs(
           {optional("output_padding", AttributeKind::kInts), optional("output_shape", AttributeKind::kInts)}),
       .versions = {{11}, {1}},
       .infer = infer_conv_transpose,
       .compute = compute_conv_transpose,
       .axioms =
           {{"Mul(ConvTranspose(x,w){output_padding=[a,b],..p},s) = "
             "ConvTranspose(x,Mul(w,s)){output_padding=[a,b],..p} "
             "if s_rank == 0",
             "images", FloatClass::kReassociated},
            {"Mul(ConvTranspose(x,w){group=g,output_padding=[a,b],..p},s) = "
             "ConvTranspose(x,Mul(w,Reshape(Expand(Reshape(s){shape=[g,1,w_1]}){shape=[g,w_0 floordiv g,w_1]}){shape=["
             "w_0,w_1,1,1]})){group=g,output_padding=[a,b],..p} if x_rank == 4 && s_rank == 3 && s_0 == g*w_1 && s_1 "
             "== "
             "1 && s_2 == 1",
             "images", FloatClass::kReassociated},
            {"ConvTranspose(x,w,c){output_padding=[a,b],..p} = "
             "Add(ConvTranspose(x,w){output_padding=[a,b],..p},Unsqueeze(c){axes=[1,2]}) if c_rank == 1",
             "images", FloatClass::kReassociated},
            {"Mul(ConvTranspose(x,w){output_padding=[a],..p},s) = ConvTranspose(x,Mul(w,s)){output_padding=[a],..p} "
             "if s_rank == 0",
             "images", FloatClass::kReassociated},
            {"Mul(ConvTranspose(x,w){group=g,output_padding=[a],..p},s) = "
             "ConvTranspose(x,Mul(w,Reshape(Expand(Reshape(s){shape=[g,1,w_1]}){shape=[g,w_0 floordiv g,w_1]}){shape=["
             "w_0,w_1,1]})){group=g,output_padding=[a],..p} if x_rank == 3 && s_rank == 2 && s_0 == g*w_1 && s_1 == 1",
             "images", FloatClass::kReassociated},
            {"ConvTranspose(x,w,c){output_padding=[a],..p} = "
             "Add(ConvTranspose(x,w){output_padding=[a],..p},Unsqueeze(c){axes=[1]}) if c_rank == 1",
             "images", FloatClass::kReassociated}}},

      {.name = "ConvInteger",
       .since = 10,
       .inputs = {"x:T1", "w:T2", "x_zero_point?:T1", "w_zero_point?:T2"},
       .outputs = {"y:int32"},
       .types = {{"T1", kBytes}, {"T2", kBytes}},
       .attributes = window_attribute_defs({}),
       .infer = infer_conv_integer,
       .compute = compute_conv_integer},

      {.name = "QLinearConv",
       .since = 10,
       .inputs = {"x:T1", "x_scale:float32", "x_zero_point:T1", "w:T2", "w_scale:float32", "w_zero_point:T2",
                  "y_scale:float32", "y_zero_point:T3", "B?:int32"},
       .outputs = {"y:T3"},
       .types = {{"T1", kBytes}, {"T2", kBytes}, {"T3", kBytes}},
       .attributes = window_attribute_defs({}),
       .infer = infer_qlinear_conv,
       .compute = compute_qlinear_conv},
  };
}

}  // namespace isomer::ops
