// Convolutions, pools, resampling: operators over spatial axes.
#include <algorithm>
#include <numeric>

#include "ops/recipes.h"

namespace isomer::test {
namespace {

/// strides, dilations, pads and auto_pad for a kernel, and a size of each axis that such windows fit in.
struct Windows {
  Dims kernel, in;
};

Windows windows(Maker& m, bool dilated) {
  const int64_t rank = m.pick(1, 3);
  std::vector<int64_t> strides(rank), dilations(rank), pads(2 * rank);
  Windows result{Dims(rank), Dims(rank)};
  const std::string auto_pad = m.word({"NOTSET", "NOTSET", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"});
  const bool padded = auto_pad == "NOTSET" && m.flip();
  for (int64_t k = 0; k < rank; ++k) {
    result.kernel[k] = m.pick(1, 3);
    strides[k] = m.pick(1, 3);
    dilations[k] = dilated ? m.pick(1, 3) : 1;
    const int64_t extent = (result.kernel[k] - 1) * dilations[k] + 1;
    for (const int64_t side : {k, k + rank})
      pads[side] = padded ? m.pick(0, std::min<int64_t>(result.kernel[k] - 1, 2)) : 0;
    result.in[k] = std::max<int64_t>(1, extent - pads[k] - pads[k + rank]) + m.pick(0, 4);
  }
  if (m.flip(0.7)) m.set("strides", strides);
  if (dilated) m.set("dilations", dilations);
  if (padded) m.set("pads", pads);
  if (auto_pad != "NOTSET" || m.flip()) m.set("auto_pad", auto_pad);
  return result;
}

Dims joined(Dims head, const Dims& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

struct Channels {
  int64_t group, in, out;  ///< in and out of a group
};
Channels channels(Maker& m) {
  const Channels result{m.flip() ? 1 : m.pick(1, 3), m.pick(1, 3), m.pick(1, 2)};
  if (result.group > 1 || m.flip()) m.set("group", result.group);
  return result;
}

void conv(Maker& m) {
  const Windows w = windows(m, m.flip(0.3));
  const Channels c = channels(m);
  if (m.flip()) m.set("kernel_shape", w.kernel);
  m.add(joined({m.pick(0, 2), c.group * c.in}, w.in));
  m.add(joined({c.group * c.out, c.in}, w.kernel));
  if (m.instance.op->name == "Conv") {
    m.flip() ? m.add({c.group * c.out}) : m.omit();
  } else {
    m.flip() ? m.add({}, 0, 5) : m.omit();
    m.flip() ? m.add(m.flip() ? Dims{} : Dims{c.group * c.out}, 0, 5) : m.omit();
  }
}

void conv_transpose(Maker& m) {
  const Windows w = windows(m, m.flip(0.4));
  const Channels c = channels(m);
  if (m.flip()) m.set("kernel_shape", w.kernel);
  const bool explicit_size = m.flip(0.3);
  Dims extra;
  for (size_t k = 0; k < w.in.size(); ++k) extra.push_back(explicit_size ? m.pick(1, 9) : m.pick(0, 1));
  if (explicit_size)
    m.set("output_shape", extra);
  else if (m.flip())
    m.set("output_padding", extra);
  m.add(joined({m.pick(0, 2), c.group * c.in}, w.in));
  m.add(joined({c.group * c.in, c.out}, w.kernel));
  m.flip() ? m.add({c.group * c.out}) : m.omit();
}

void qlinear_conv(Maker& m) {
  const Windows w = windows(m, m.flip(0.3));
  const Channels c = channels(m);
  if (m.flip()) m.set("kernel_shape", w.kernel);
  const Dims filters = m.flip() ? Dims{} : Dims{c.group * c.out};
  m.add(joined({m.pick(1, 2), c.group * c.in}, w.in));
  m.add({}, 0.01, 0.1);
  m.add({}, 0, 5);
  m.add(joined({c.group * c.out, c.in}, w.kernel));
  m.add(filters, 0.01, 0.1);
  m.add(filters, 0, 5);
  m.add({}, 0.01, 0.1);
  m.add({}, 0, 5);
  m.flip() ? m.add({c.group * c.out}, -50, 50) : m.omit();
}

void pool(Maker& m) {
  const std::string_view op = m.instance.op->name;
  const Windows w = windows(m, m.flip(0.3));
  m.set("kernel_shape", w.kernel);
  const bool is_quantized = op == "QLinearAveragePool";
  m.add(joined({m.pick(0, 2), m.pick(1, 2)}, w.in));
  if (is_quantized) {
    m.add({}, 0.2, 0.7);
    m.flip() ? m.add({}, 0, 5) : m.omit();
    m.add({}, 0.3, 0.9);
    if (m.flip()) m.add({}, 0, 5);
    m.maybe("channels_last", int64_t{0});
  }
  m.maybe("ceil_mode", m.pick(0, 1));
  if (op == "AveragePool" || is_quantized) m.maybe("count_include_pad", m.pick(0, 1));
  if (op == "LpPool") m.maybe("p", m.pick(1, 3));
  if (op == "MaxPool") {
    m.maybe("storage_order", m.pick(0, 1));
    m.outputs(m.pick(1, 2));
  }
}

int64_t blocks(int64_t in, int64_t kernel, int64_t stride, int64_t dilation, int64_t pads) {
  return (in + pads - (kernel - 1) * dilation - 1) / stride + 1;
}

void col2im(Maker& m) {
  const int64_t rank = m.pick(1, 3), channels = m.pick(1, 2);
  std::vector<int64_t> image(rank), block(rank), strides(rank), dilations(rank), pads(2 * rank);
  int64_t elements = 1, columns = 1;
  for (int64_t k = 0; k < rank; ++k) {
    block[k] = m.pick(1, 3);
    strides[k] = m.pick(1, 2);
    dilations[k] = m.pick(1, 2);
    pads[k] = m.pick(0, 1);
    image[k] = (block[k] - 1) * dilations[k] + m.pick(1, 3);
    elements *= block[k];
    columns *= blocks(image[k], block[k], strides[k], dilations[k], pads[k]);
  }
  m.set("strides", strides);
  m.set("dilations", dilations);
  m.set("pads", pads);
  m.add({m.pick(0, 2), channels * elements, columns});
  m.decide(image);
  m.decide(block);
}

void deform_conv(Maker& m) {
  Windows w = windows(m, m.flip(0.3));
  m.instance.attributes.erase("auto_pad");
  const Channels c = channels(m);
  if (m.flip()) m.set("kernel_shape", w.kernel);
  const int64_t groups = m.flip() ? 1 : c.in * c.group;
  if (groups > 1 || m.flip()) m.set("offset_group", groups);
  const auto ints = [&](const char* name, int64_t fallback, size_t count) {
    const auto found = m.instance.attributes.find(name);
    return found == m.instance.attributes.end() ? std::vector<int64_t>(count, fallback)
                                                : std::get<std::vector<int64_t>>(found->second);
  };
  const size_t rank = w.in.size();
  const auto strides = ints("strides", 1, rank), dilations = ints("dilations", 1, rank),
             pads = ints("pads", 0, 2 * rank);
  Dims out;
  int64_t taps = groups;
  for (size_t k = 0; k < rank; ++k) {
    out.push_back(blocks(w.in[k], w.kernel[k], strides[k], dilations[k], pads[k] + pads[k + rank]));
    taps *= w.kernel[k];
  }
  const int64_t batch = m.pick(0, 2);
  m.add(joined({batch, c.group * c.in}, w.in));
  m.add(joined({c.group * c.out, c.in}, w.kernel));
  m.add(joined({batch, taps * static_cast<int64_t>(rank)}, out));
  m.flip() ? m.add({c.group * c.out}) : m.omit();
  m.flip() ? m.add(joined({batch, taps}, out)) : m.omit();
}

void global_pool(Maker& m) {
  m.add(m.dims(3, 5, 1));
  if (m.instance.op->name == "GlobalLpPool") m.maybe("p", m.pick(1, 3));
}

void max_unpool(Maker& m) {
  const int64_t size = m.pick(1, 3);
  const Dims shape = {1, m.pick(1, 2), size, size};
  m.set("kernel_shape", std::vector<int64_t>{2, 2});
  m.set("strides", std::vector<int64_t>{2, 2});
  if (m.flip(0.3)) m.set("pads", std::vector<int64_t>(4));
  m.add(shape);
  m.add(shape, 0, static_cast<double>(4 * size * size - 1));
  if (m.flip()) m.decide({shape[0], shape[1], 2 * size + m.pick(0, 1), 2 * size});
}

void resize(Maker& m) {
  const Dims shape = m.dims(1, 4, 1);
  const auto rank = static_cast<int64_t>(shape.size());
  std::string mode = m.word({"nearest", "linear", "cubic"});
  const bool plain = m.flip(0.15);  // such as the first version was
  if (plain) mode = "linear";
  std::string transform = plain ? "asymmetric"
                                : m.word({"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                                          "tf_crop_and_resize", "half_pixel_symmetric"});
  m.set("mode", mode);
  plain ? m.set("coordinate_transformation_mode", transform) : m.maybe("coordinate_transformation_mode", transform);
  if (!m.instance.attributes.contains("coordinate_transformation_mode")) transform = "half_pixel";
  if (mode == "nearest") m.maybe("nearest_mode", m.word({"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  if (mode == "cubic") m.maybe("cubic_coeff_a", -0.5f);
  if (mode != "nearest" && !plain) m.maybe("exclude_outside", m.pick(0, 1));
  if (mode != "nearest" && !plain && transform != "tf_crop_and_resize") m.maybe("antialias", m.pick(0, 1));
  if (!plain) m.maybe("extrapolation_value", 1.0f);
  m.maybe("keep_aspect_ratio_policy", m.word({"stretch", "not_larger", "not_smaller"}));
  std::vector<int64_t> axes;
  for (int64_t k = 0; k < rank; ++k)
    if (k >= rank - 2) axes.push_back(k);
  const bool some = !plain && m.flip();
  if (some) m.set("axes", axes);
  const size_t first = some ? 0 : shape.size() - axes.size(), count = some ? axes.size() : shape.size();
  m.add(shape);
  transform == "tf_crop_and_resize" ? m.give(m.values(m.type(1), {static_cast<int64_t>(2 * count)}, 0, 1), true)
                                    : m.omit();
  std::vector<double> scales(count, 1);
  std::vector<int64_t> sizes(shape.end() - static_cast<int64_t>(count), shape.end());
  for (size_t k = first; k < count; ++k) {
    scales[k] = m.one_of<double>({0.5, 1, 1.5, 2, 2.5});
    sizes[k] = m.pick(1, 5);
  }
  if (plain || m.flip()) {
    m.give(Tensor::from_doubles(DataType::kFloat32, {static_cast<int64_t>(count)}, scales), plain || m.flip(0.8));
    m.instance.attributes.erase("keep_aspect_ratio_policy");
  } else {
    m.omit();
    m.decide(sizes);
    // One ratio for all axes is a fraction of dims: sizes that are known when they are.
    if (m.instance.attributes.contains("keep_aspect_ratio_policy")) m.instance.inputs[0].fixed = true;
  }
}

void upsample(Maker& m) {
  const Dims shape = m.dims(2, 4, 1);
  m.maybe("mode", m.word({"nearest", "linear"}));
  m.add(shape);
  std::vector<double> scales(shape.size(), 1);
  for (size_t k = shape.size() - 2; k < scales.size(); ++k) scales[k] = m.one_of<double>({1, 1.5, 2, 3});
  m.give(Tensor::from_doubles(DataType::kFloat32, {static_cast<int64_t>(scales.size())}, scales), m.flip(0.8));
}

void grid_sample(Maker& m) {
  const int64_t batch = m.pick(1, 2), rank = m.pick(2, 3);
  Dims in = {batch, m.pick(1, 2)}, grid = {batch};
  for (int64_t k = 0; k < rank; ++k) in.push_back(m.pick(1, 3)), grid.push_back(m.pick(0, 3));
  grid.push_back(rank);
  m.maybe("mode", rank == 2 ? m.word({"linear", "nearest", "cubic"}) : m.word({"linear", "nearest"}));
  m.maybe("padding_mode", m.word({"zeros", "border", "reflection"}));
  m.maybe("align_corners", m.pick(0, 1));
  m.add(in);
  m.add(grid, -1.2, 1.2);
}

void roi_align(Maker& m) {
  const int64_t batch = m.pick(1, 2), rois = m.pick(0, 2);
  m.maybe("mode", m.word({"avg", "max"}));
  m.maybe("coordinate_transformation_mode", m.word({"half_pixel", "output_half_pixel"}));
  m.maybe("output_height", m.pick(1, 3));
  m.maybe("output_width", m.pick(1, 3));
  m.maybe("sampling_ratio", m.pick(0, 2));
  m.maybe("spatial_scale", 0.5f);
  m.add({batch, m.pick(1, 2), m.pick(2, 4), m.pick(2, 4)});
  m.add({rois, 4}, 0, 4);
  m.add({rois}, 0, static_cast<double>(batch - 1));
}

void affine_grid(Maker& m) {
  const int64_t batch = m.pick(1, 2), rank = m.pick(2, 3);
  m.maybe("align_corners", m.pick(0, 1));
  m.add({batch, rank, rank + 1});
  std::vector<int64_t> size = {batch, m.pick(1, 2)};
  for (int64_t k = 0; k < rank; ++k) size.push_back(m.pick(1, 3));
  m.decide(size);
}

// Winograd's transforms: m results and r taps of a tile along an axis, m + r - 1 in [1, 8].

struct WinogradTile {
  std::vector<int64_t> results, taps;
  int64_t inputs() const {
    int64_t all = 1;
    for (size_t k = 0; k < results.size(); ++k) all *= results[k] + taps[k] - 1;
    return all;
  }
};

WinogradTile winograd_tile(Maker& m) {
  WinogradTile tile;
  const int64_t rank = m.pick(1, 3);
  for (int64_t k = 0; k < rank; ++k) {
    tile.results.push_back(m.pick(1, rank == 3 ? 2 : 4));
    tile.taps.push_back(m.pick(1, rank == 1 ? 5 : 3));
  }
  m.set("tile", tile.results);
  return tile;
}

void winograd_input(Maker& m) {
  const WinogradTile tile = winograd_tile(m);
  const size_t rank = tile.taps.size();
  m.set("taps", tile.taps);
  std::vector<int64_t> pads(2 * rank, 0);
  if (m.flip(0.7))
    for (int64_t& pad : pads) pad = m.pick(0, 2);
  m.set("pads", pads);
  Dims x = {m.pick(0, 2), m.pick(1, 3)};
  for (size_t k = 0; k < rank; ++k)
    x.push_back(std::max<int64_t>(1, tile.taps[k] - pads[k] - pads[k + rank]) + m.pick(0, rank == 3 ? 3 : 6));
  m.add(x);
  if (m.instance.op->name == "WinogradProduct") m.add({tile.inputs(), x[1], m.pick(1, 3)});
}

void winograd_kernel(Maker& m) {
  const WinogradTile tile = winograd_tile(m);
  Dims w = {m.pick(1, 3), m.pick(1, 3)};
  w.insert(w.end(), tile.taps.begin(), tile.taps.end());
  m.add(w);
  m.instance.inputs.back().fixed = true;
}

void winograd_output(Maker& m) {
  const WinogradTile tile = winograd_tile(m);
  std::vector<int64_t> sizes;
  int64_t tiles = m.pick(0, 2);
  for (const int64_t results : tile.results) {
    sizes.push_back(m.pick(1, tile.results.size() == 3 ? 4 : 7));
    tiles *= (sizes.back() + results - 1) / results;
  }
  m.set("sizes", sizes);
  m.set("taps", tile.taps);
  m.add({tile.inputs(), tiles, m.pick(1, 3)});
  m.instance.inputs.back().fixed = true;
}

// Parts of one or two axes into another.

struct PartAxes {
  std::vector<int64_t> axes, counts;
  int64_t whole = 0, rank = 0;
};

PartAxes part_axes(Maker& m, const char* whole, const char* counts = "by") {
  PartAxes result;
  result.rank = m.pick(2, 4);
  std::vector<int64_t> all(static_cast<size_t>(result.rank));
  std::iota(all.begin(), all.end(), 0);
  const auto take = [&] {
    const int64_t at = m.pick(0, static_cast<int64_t>(all.size()) - 1);
    const int64_t axis = all[static_cast<size_t>(at)];
    all.erase(all.begin() + at);
    return axis;
  };
  result.whole = take();
  const int64_t count = m.pick(1, std::min<int64_t>(2, result.rank - 1));
  for (int64_t k = 0; k < count; ++k) {
    result.axes.push_back(take());
    result.counts.push_back(m.pick(1, 3));
  }
  m.set("axes", result.axes);
  m.set(counts, result.counts);
  m.set(whole, result.whole);
  return result;
}

void fold(Maker& m) {
  const PartAxes axes = part_axes(m, "into");
  Dims x;
  for (int64_t k = 0; k < axes.rank; ++k) x.push_back(m.pick(1, 5));
  std::vector<int64_t> pads, sizes;
  for (size_t k = 0; k < axes.axes.size(); ++k) {
    pads.push_back(m.pick(0, 2));
    // Something of it is left, and something may be cut.
    sizes.push_back(pads.back() / axes.counts[k] + 1 + m.pick(0, 3));
  }
  m.set("pads", pads);
  m.set("sizes", sizes);
  m.add(x);
}

void unfold(Maker& m) {
  const PartAxes axes = part_axes(m, "from");
  Dims x;
  for (int64_t k = 0; k < axes.rank; ++k) x.push_back(m.pick(1, 4));
  std::vector<int64_t> starts, sizes;
  for (size_t k = 0; k < axes.axes.size(); ++k) {
    const int64_t all = x[static_cast<size_t>(axes.axes[k])] * axes.counts[k];
    starts.push_back(m.pick(0, all - 1));
    sizes.push_back(m.pick(1, all - starts.back()));
    x[static_cast<size_t>(axes.whole)] *= axes.counts[k];
  }
  m.set("sizes", sizes);
  m.set("starts", starts);
  m.add(x);
  m.instance.inputs.back().fixed = true;
}

void windows(Maker& m) {
  const PartAxes axes = part_axes(m, "into", "counts");
  Dims x;
  for (int64_t k = 0; k < axes.rank; ++k) x.push_back(m.pick(1, 6));
  std::vector<int64_t> pads, sizes, apart, steps;
  for (size_t k = 0; k < axes.axes.size(); ++k) {
    pads.push_back(m.pick(0, 2));
    sizes.push_back(m.pick(1, 4));
    apart.push_back(m.pick(1, 4));
    steps.push_back(m.pick(1, 3));
  }
  m.set("apart", apart);
  m.set("pads", pads);
  m.set("sizes", sizes);
  m.set("steps", steps);
  m.add(x);
}

void unwindow(Maker& m) {
  const PartAxes axes = part_axes(m, "from", "counts");
  Dims x;
  for (int64_t k = 0; k < axes.rank; ++k) x.push_back(m.pick(1, 4));
  std::vector<int64_t> sizes, tile;
  for (size_t k = 0; k < axes.axes.size(); ++k) {
    tile.push_back(m.pick(1, x[static_cast<size_t>(axes.axes[k])]));
    sizes.push_back(m.pick(1, tile.back() * axes.counts[k]));
    x[static_cast<size_t>(axes.whole)] *= axes.counts[k];
  }
  m.set("sizes", sizes);
  m.set("tile", tile);
  m.add(x);
  m.instance.inputs.back().fixed = true;
}

}  // namespace

void add_window_recipes(Recipes& recipes) {
  recipes["Conv"] = conv;
  recipes["ConvInteger"] = conv;
  recipes["ConvTranspose"] = conv_transpose;
  recipes["QLinearConv"] = qlinear_conv;
  recipes["Col2Im"] = col2im;
  recipes["DeformConv"] = deform_conv;
  for (const std::string_view name : {"MaxPool", "AveragePool", "LpPool", "com.microsoft.QLinearAveragePool"})
    recipes[name] = pool;
  for (const std::string_view name : {"GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"})
    recipes[name] = global_pool;
  recipes["MaxUnpool"] = max_unpool;
  recipes["Resize"] = resize;
  recipes["Upsample"] = upsample;
  recipes["GridSample"] = grid_sample;
  recipes["RoiAlign"] = roi_align;
  recipes["AffineGrid"] = affine_grid;
  recipes["WinogradInput"] = recipes["WinogradProduct"] = winograd_input;
  recipes["WinogradKernel"] = winograd_kernel;
  recipes["WinogradOutput"] = winograd_output;
  recipes["Fold"] = fold;
  recipes["Unfold"] = unfold;
  recipes["Windows"] = windows;
  recipes["Unwindow"] = unwindow;
}

}  // namespace isomer::test
