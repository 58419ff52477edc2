// Terms under construction, with dims as arithmetic over names: sizes x_0, x_1, … of variables, pads, strides and
// dilations of the operator that mutants are looked for of. What is built so is a side of a rule for all sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/proof/substitute.h"

namespace isomer::substitutions {

struct ShapedTerm {
  verify::Term term;
  Shape shape;
  Dim products = 0;  ///< of convolutions
};

/// x with dims x_0, x_1, …
ShapedTerm variable(const std::string& name, int rank);

/// Elements moved by factors, zeros put between them or around.
struct Move {
  enum class Kind : uint8_t {
    kFold,       ///< parts of `axes` into axis `whole`, by residues; `before` and `behind` zeros around each
    kWindows,    ///< `by` pieces of each of `axes` into axis `whole`, of `sizes` elements `steps` from each other, the
                 ///< pieces `apart`, the first with `before` zeros in front
    kTranspose,  ///< of the axes in the order `axes`
    kReverse,    ///< along `axes`
    kPad,        ///< `before` and `behind` zeros around each of `axes`
    kSqueeze,    ///< without `axes`, which have one element
    kTile,       ///< `by` times behind each other along each of `axes`
  };
  Kind kind = Kind::kFold;
  std::vector<int64_t> axes;
  std::vector<Dim> by = {};
  int64_t whole = 0;
  std::vector<Dim> before = {}, behind = {};
  std::vector<Dim> sizes = {};  ///< of a fold: of its axes, where not all is folded
  std::vector<Dim> apart = {}, steps = {};
  bool operator==(const Move&) const = default;
};

ShapedTerm moved(const Move& move, const ShapedTerm& operand);
/// What undoes a fold, giving `sizes` elements along each of its axes from `starts` on, `whole` along the axis that had
/// them.
ShapedTerm unfolded(const Move& fold, const ShapedTerm& operand, const std::vector<Dim>& sizes,
                    const std::vector<Dim>& starts, const Dim& whole);
/// What undoes windows: `tile` elements of each piece, `sizes` along each of their axes, `whole` along the one that had
/// the pieces.
ShapedTerm unwindowed(const Move& windows, const ShapedTerm& operand, const std::vector<Dim>& sizes,
                      const std::vector<Dim>& tile, const Dim& whole);
/// What undoes a squeeze.
ShapedTerm unsqueezed(const Move& squeeze, const ShapedTerm& operand);
/// The elements from `starts` on that make the shape; the operand where that is all there is.
ShapedTerm cut(const ShapedTerm& operand, const Shape& shape, const std::vector<Dim>& starts);

/// One behind the other along an axis.
ShapedTerm joined(const ShapedTerm& a, const ShapedTerm& b, size_t axis);

/// A convolution of images, of some kind.
struct Convolution {
  bool is_transposed = false;
  std::vector<Dim> before, behind, dilations, strides;  ///< by spatial axis
  Dim group = 1;
};
ShapedTerm convolved(const Convolution& convolution, const ShapedTerm& images, const ShapedTerm& weights);

}  // namespace isomer::substitutions
