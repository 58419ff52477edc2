#include "substitutions/mutate/originals.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "graph/infer.h"

namespace isomer::substitutions {
namespace {

Dim name(char letter) { return Dim::symbol(std::string(1, letter)); }

/// Names one after the other, with the values of the example.
std::vector<Dim> named(char& letter, const std::vector<int64_t>& values, Original& of) {
  std::vector<Dim> result;
  for (const int64_t value : values) {
    of.numbers.emplace(std::string(1, letter), value);
    result.push_back(name(letter++));
  }
  return result;
}

/// A size that leaves the same remainders by the step, from `least` on, or the size itself where that is as small.
int64_t small_size(int64_t size, int64_t least, int64_t step) {
  return size <= least ? size : least + (size - least) % step;
}

/// What a convolution is told; nothing where that is not known, or where zeros are put behind what it transposes.
std::optional<Original> original_of(const Graph& model, NodeId id) {
  const OpContext context = context_of(model, id);
  const bool is_transposed = context.op().name == "ConvTranspose";
  const auto dims_of_input = [&](size_t k) {
    const ValueType& type = model.value(model.node(id).inputs[k]).type;
    return type.has_shape() ? constants(*type.shape) : std::nullopt;
  };
  const std::optional<Dims> image = dims_of_input(0), kernel = dims_of_input(1);
  if (!image || !kernel || context.get_string("auto_pad") != "NOTSET" || image->size() != kernel->size() ||
      context.has_attribute("output_shape"))
    return std::nullopt;
  const size_t axes = image->size() - 2;
  const auto told = [&](const char* name, int64_t otherwise, size_t count) {
    return context.has_attribute(name) && !context.get_ints(name).empty() ? Dims(context.get_ints(name))
                                                                          : Dims(count, otherwise);
  };
  const Dims strides = told("strides", 1, axes), dilations = told("dilations", 1, axes),
             pads = told("pads", 0, 2 * axes);
  if (is_transposed && told("output_padding", 0, axes) != Dims(axes, 0)) return std::nullopt;
  constexpr int64_t kMostTaps = 128;
  const int64_t all_taps = element_count(Dims(kernel->begin() + 2, kernel->end()));
  if (axes < 1 || axes > 3 || all_taps > kMostTaps || element_count(*image) == 0 || element_count(*kernel) == 0 ||
      std::ranges::any_of(pads, [](int64_t pad) { return pad < 0; }))
    return std::nullopt;
  Original result;
  Convolution& convolution = result.convolution;
  convolution.is_transposed = is_transposed;
  char letter = 'a';
  const int64_t groups = context.get_int("group"), group = std::min<int64_t>(groups, 2);
  convolution.group = groups == 1 ? Dim(1) : named(letter, {group}, result)[0];
  // Two channels of a group stand for more.
  const int64_t first = std::min<int64_t>((*kernel)[0] / groups, 2), second = std::min<int64_t>((*kernel)[1], 2);
  result.kernel = {group * first, second};
  result.image = {small_size((*image)[0], 2, 2), group * (is_transposed ? first : second)};
  for (size_t k = 0; k < axes; ++k) {
    const int64_t taps = (*kernel)[2 + k], reach = dilations[k] * (taps - 1) + 1;
    result.kernel.push_back(taps);
    result.image.push_back(
        small_size((*image)[2 + k], std::max<int64_t>(reach, 6), std::lcm(4, std::lcm(strides[k], dilations[k]))));
    convolution.before.emplace_back(pads[k]);
    convolution.behind.emplace_back(pads[axes + k]);
    convolution.strides.emplace_back(strides[k]);
    convolution.dilations.emplace_back(dilations[k]);
  }
  return result;
}

}  // namespace

ShapedTerm Original::built() const {
  const auto rank = static_cast<int>(image.size());
  return convolved(convolution, variable("x", rank), variable("w", rank));
}

verify::Bindings Original::example() const {
  verify::Bindings result;
  for (const auto& [name, number] : numbers) result.integers.emplace(name, Dim(number));
  for (const auto& [variable, dims] : {std::pair("x", &image), std::pair("w", &kernel)})
    for (size_t k = 0; k < dims->size(); ++k)
      result.integers.emplace(fmt::format("{}_{}", variable, k), Dim((*dims)[k]));
  return result;
}

std::vector<Original> originals() {
  struct Kind {
    bool is_transposed;
    int64_t stride, dilation;
    bool is_same;  ///< the result is as large as the image
  };
  std::vector<Original> result;
  for (const size_t axes : {2, 1, 3})
    for (const Kind& kind : {Kind{false, 1, 1, false}, Kind{false, 1, 1, true}, Kind{false, 1, 3, false},
                             Kind{false, 3, 1, false}, Kind{true, 3, 1, false}}) {
      Original original;
      // With strides, channels of all groups meet.
      const bool has_groups = kind.stride == 1;
      original.image = {kind.stride * kind.dilation == 1 ? 4 : 2, has_groups ? 4 : 2};
      original.kernel = kind.is_transposed ? Dims{2, 3} : has_groups ? Dims{4, 2} : Dims{3, 2};
      std::vector<int64_t> before, behind;
      for (size_t k = 0; k < axes; ++k) {
        const int64_t taps = k == 0 ? 4 : k == 1 ? 3 : 2, reach = kind.dilation * (taps - 1);
        original.image.push_back(axes == 3 ? 5 : 7 - static_cast<int64_t>(k));
        original.kernel.push_back(taps);
        before.push_back(reach / 2);
        behind.push_back(reach - reach / 2);
      }
      char letter = 'a';
      Convolution& convolution = original.convolution;
      convolution.is_transposed = kind.is_transposed;
      convolution.before = named(letter, before, original);
      if (!kind.is_same) convolution.behind = named(letter, behind, original);
      for (size_t k = 0; k < axes && kind.is_same; ++k)
        convolution.behind.push_back(Dim::symbol(fmt::format("w_{}", 2 + k)) - Dim(1) - convolution.before[k]);
      const std::vector<Dim> ones(axes, Dim(1));
      convolution.strides = kind.stride > 1 ? named(letter, Dims(axes, kind.stride), original) : ones;
      convolution.dilations = kind.dilation > 1 ? named(letter, Dims(axes, kind.dilation), original) : ones;
      if (has_groups) convolution.group = named(letter, {2}, original)[0];
      result.push_back(std::move(original));
    }
  return result;
}

std::vector<Original> originals_of(const Graph& model) {
  std::vector<Original> result;
  std::set<std::pair<std::string, std::pair<Dims, Dims>>> known;
  for (const NodeId id : model.nodes()) {
    const Node& node = model.node(id);
    if (node.is_opaque() || !node.op->domain.empty() || (node.op->name != "Conv" && node.op->name != "ConvTranspose"))
      continue;
    auto original = original_of(model, id);
    if (original && known.emplace(original->built().term.text(), std::pair(original->image, original->kernel)).second)
      result.push_back(*std::move(original));
  }
  return result;
}

}  // namespace isomer::substitutions
