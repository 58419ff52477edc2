#include "substitutions/mutate/shaped_term.h"

#include <fmt/format.h>

#include <numeric>

#include "graph/op_def.h"

namespace isomer::substitutions {
namespace {

using verify::Parameters;
using verify::Term;

std::vector<Dim> dims_of(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

ShapedTerm applied(std::string_view domain, std::string_view op, const std::vector<ShapedTerm>& operands,
                   Parameters parameters, Shape shape) {
  std::vector<Term> arguments;
  Dim products = 0;
  for (const ShapedTerm& operand : operands) {
    arguments.push_back(operand.term);
    products = products + operand.products;
  }
  return {Term(Term::Application{find_op(domain, op), 0, std::move(parameters), {}, std::move(arguments)}),
          std::move(shape), std::move(products)};
}

ShapedTerm folded(const Move& move, const ShapedTerm& operand) {
  Shape shape = operand.shape;
  std::vector<Dim> sizes;
  for (size_t k = 0; k < move.axes.size(); ++k) {
    Dim& size = shape[static_cast<size_t>(move.axes[k])];
    size = move.sizes.empty() ? ceil_div(size + move.before[k] + move.behind[k], move.by[k]) : move.sizes[k];
    sizes.push_back(size);
    Dim& whole = shape[static_cast<size_t>(move.whole)];
    whole = whole * move.by[k];
  }
  return applied(kOwnDomain, "Fold", {operand},
                 {{"axes", dims_of(move.axes)},
                  {"by", move.by},
                  {"into", Dim(move.whole)},
                  {"pads", move.before},
                  {"sizes", sizes}},
                 std::move(shape));
}

ShapedTerm windowed(const Move& move, const ShapedTerm& operand) {
  Shape shape = operand.shape;
  for (size_t k = 0; k < move.axes.size(); ++k) {
    shape[static_cast<size_t>(move.axes[k])] = move.sizes[k];
    Dim& whole = shape[static_cast<size_t>(move.whole)];
    whole = whole * move.by[k];
  }
  return applied(kOwnDomain, "Windows", {operand},
                 {{"apart", move.apart},
                  {"axes", dims_of(move.axes)},
                  {"counts", move.by},
                  {"into", Dim(move.whole)},
                  {"pads", move.before},
                  {"sizes", move.sizes},
                  {"steps", move.steps}},
                 std::move(shape));
}

ShapedTerm padded(const Move& move, const ShapedTerm& operand) {
  const size_t rank = operand.shape.size();
  std::vector<Dim> pads(2 * rank, Dim(0));
  std::vector<int64_t> all_axes(rank);
  std::iota(all_axes.begin(), all_axes.end(), 0);
  Shape shape = operand.shape;
  for (size_t k = 0; k < move.axes.size(); ++k) {
    const auto axis = static_cast<size_t>(move.axes[k]);
    pads[axis] = move.before[k];
    pads[rank + axis] = move.behind[k];
    shape[axis] = shape[axis] + move.before[k] + move.behind[k];
  }
  return applied("", "Pad", {operand}, {{"axes", dims_of(all_axes)}, {"mode", "constant"}, {"pads", std::move(pads)}},
                 std::move(shape));
}

ShapedTerm tiled(const Move& move, const ShapedTerm& operand) {
  std::vector<Dim> repeats(operand.shape.size(), Dim(1));
  Shape shape = operand.shape;
  for (size_t k = 0; k < move.axes.size(); ++k) {
    const auto axis = static_cast<size_t>(move.axes[k]);
    repeats[axis] = move.by[k];
    shape[axis] = shape[axis] * move.by[k];
  }
  return applied("", "Tile", {operand}, {{"repeats", std::move(repeats)}}, std::move(shape));
}

}  // namespace

ShapedTerm variable(const std::string& name, int rank) {
  ShapedTerm result{Term::variable(name), {}, 0};
  for (int axis = 0; axis < rank; ++axis) result.shape.push_back(Dim::symbol(fmt::format("{}_{}", name, axis)));
  return result;
}

ShapedTerm moved(const Move& move, const ShapedTerm& operand) {
  switch (move.kind) {
    case Move::Kind::kFold: return folded(move, operand);
    case Move::Kind::kWindows: return windowed(move, operand);
    case Move::Kind::kTranspose: {
      Shape shape;
      for (const int64_t axis : move.axes) shape.push_back(operand.shape[static_cast<size_t>(axis)]);
      return applied("", "Transpose", {operand}, {{"perm", dims_of(move.axes)}}, std::move(shape));
    }
    case Move::Kind::kReverse: {
      std::vector<Dim> starts, ends;
      for (const int64_t axis : move.axes) {
        const Dim& size = operand.shape[static_cast<size_t>(axis)];
        starts.push_back(size - Dim(1));
        ends.push_back(Dim(-1) - size);
      }
      return applied("", "Slice", {operand},
                     {{"axes", dims_of(move.axes)},
                      {"ends", ends},
                      {"starts", starts},
                      {"steps", std::vector<Dim>(move.axes.size(), Dim(-1))}},
                     operand.shape);
    }
    case Move::Kind::kPad: return padded(move, operand);
    case Move::Kind::kTile: return tiled(move, operand);
    case Move::Kind::kSqueeze: {
      Shape shape = operand.shape;
      for (size_t k = move.axes.size(); k-- > 0;) shape.erase(shape.begin() + move.axes[k]);
      return applied("", "Squeeze", {operand}, {{"axes", dims_of(move.axes)}}, std::move(shape));
    }
  }
  return operand;
}

ShapedTerm unfolded(const Move& fold, const ShapedTerm& operand, const std::vector<Dim>& sizes,
                    const std::vector<Dim>& starts, const Dim& whole) {
  Shape shape = operand.shape;
  for (size_t k = 0; k < fold.axes.size(); ++k) shape[static_cast<size_t>(fold.axes[k])] = sizes[k];
  shape[static_cast<size_t>(fold.whole)] = whole;
  return applied(
      kOwnDomain, "Unfold", {operand},
      {{"axes", dims_of(fold.axes)}, {"by", fold.by}, {"from", Dim(fold.whole)}, {"sizes", sizes}, {"starts", starts}},
      std::move(shape));
}

ShapedTerm unwindowed(const Move& windows, const ShapedTerm& operand, const std::vector<Dim>& sizes,
                      const std::vector<Dim>& tile, const Dim& whole) {
  Shape shape = operand.shape;
  for (size_t k = 0; k < windows.axes.size(); ++k) shape[static_cast<size_t>(windows.axes[k])] = sizes[k];
  shape[static_cast<size_t>(windows.whole)] = whole;
  return applied(kOwnDomain, "Unwindow", {operand},
                 {{"axes", dims_of(windows.axes)},
                  {"counts", windows.by},
                  {"from", Dim(windows.whole)},
                  {"sizes", sizes},
                  {"tile", tile}},
                 std::move(shape));
}

ShapedTerm unsqueezed(const Move& squeeze, const ShapedTerm& operand) {
  Shape shape = operand.shape;
  for (const int64_t axis : squeeze.axes) shape.insert(shape.begin() + axis, Dim(1));
  return applied("", "Unsqueeze", {operand}, {{"axes", dims_of(squeeze.axes)}}, std::move(shape));
}

ShapedTerm cut(const ShapedTerm& operand, const Shape& shape, const std::vector<Dim>& starts) {
  std::vector<int64_t> axes;
  std::vector<Dim> from, to;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (operand.shape[axis] == shape[axis]) continue;
    axes.push_back(static_cast<int64_t>(axis));
    from.push_back(starts[axis]);
    to.push_back(starts[axis] + shape[axis]);
  }
  if (axes.empty()) return operand;
  return applied(
      "", "Slice", {operand},
      {{"axes", dims_of(axes)}, {"ends", to}, {"starts", from}, {"steps", std::vector<Dim>(axes.size(), Dim(1))}},
      shape);
}

ShapedTerm joined(const ShapedTerm& a, const ShapedTerm& b, size_t axis) {
  Shape shape = a.shape;
  shape[axis] = shape[axis] + b.shape[axis];
  return applied("", "Concat", {a, b}, {{"axis", Dim(static_cast<int64_t>(axis))}}, std::move(shape));
}

ShapedTerm convolved(const Convolution& convolution, const ShapedTerm& images, const ShapedTerm& weights) {
  const bool is_transposed = convolution.is_transposed;
  Shape shape = {images.shape[0], is_transposed ? weights.shape[1] * convolution.group : weights.shape[0]};
  std::vector<Dim> pads = convolution.before;
  pads.insert(pads.end(), convolution.behind.begin(), convolution.behind.end());
  for (size_t k = 0; k < convolution.strides.size(); ++k) {
    const Dim reach = convolution.dilations[k] * (weights.shape[2 + k] - Dim(1)),
              around = convolution.before[k] + convolution.behind[k], &stride = convolution.strides[k];
    const Dim& size = images.shape[2 + k];
    shape.push_back(is_transposed ? stride * (size - Dim(1)) + reach + Dim(1) - around
                                  : floor_div(size + around - reach - Dim(1), stride) + Dim(1));
  }
  Parameters parameters = {{"auto_pad", "NOTSET"},
                           {"dilations", convolution.dilations},
                           {"group", convolution.group},
                           {"pads", std::move(pads)},
                           {"strides", convolution.strides}};
  if (is_transposed) parameters.emplace("output_padding", std::vector<Dim>(convolution.strides.size(), Dim(0)));
  Dim products = weights.shape[1];
  for (const Dim& size : shape) products = products * size;
  for (size_t k = 0; k < convolution.strides.size(); ++k) products = products * weights.shape[2 + k];
  ShapedTerm result =
      applied("", is_transposed ? "ConvTranspose" : "Conv", {images, weights}, std::move(parameters), std::move(shape));
  result.products = result.products + products;
  return result;
}

}  // namespace isomer::substitutions
