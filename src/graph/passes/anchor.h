// Convolutions and products with constant weights, as the passes see them that fold factors and shifts into the
// weights.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/passes/pass.h"

namespace isomer {

/// A Conv, ConvTranspose, Gemm or MatMul whose weights (input 1) are a float constant and whose bias, if it has one, is
/// too.
struct Anchor {
  enum class Kind : uint8_t { kConv, kConvTranspose, kGemm, kMatMul };
  Kind kind;
  NodeId node;
  ValueId weights, bias;
  int rank;      ///< of the result
  int out_axis;  ///< the result's axis of output channels; the data's axis of input channels is `in_axis`
  int in_axis;
  int64_t out_channels, in_channels;
  bool takes_bias() const { return kind != Kind::kMatMul; }
};
std::optional<Anchor> anchor_at(const Graph& graph, NodeId id);

/// Result channel c becomes itself * scale[c] + shift[c]. False, with nothing changed, where the weights have other
/// readers and a copy would cost too much, where they would lose precision, or where there is a shift and nowhere to
/// put it. Computed in double, rounded once.
bool fold_into_outputs(Graph& graph, PassContext& context, const Anchor& anchor, std::span<const double> scale,
                       std::span<const double> shift);

/// The data's channel c becomes itself * scale[c] + shift[c] before the anchor reads it. A shift needs a bias, and no
/// padding (of a convolution) that would have to be shifted too.
bool fold_into_inputs(Graph& graph, PassContext& context, const Anchor& anchor, std::span<const double> scale,
                      std::span<const double> shift);

/// May this constant be replaced by another of the same size: nobody else reads it, or a copy is affordable?
bool may_replace(const Graph& graph, PassContext& context, ValueId constant, const std::vector<int>& uses);

/// A finite number that became another is held by the type as precisely as it was: neither infinite nor, but for one
/// that had few bits itself, rounded to where there are fewer.
bool keeps_precision(DataType dtype, double before, double after);

/// All elements equal to `value`.
bool all_equal(std::span<const double> values, double value);

}  // namespace isomer
