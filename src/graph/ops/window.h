// The geometry of sliding windows: what strides, dilations, pads, auto_pad and ceil_mode mean for convolutions and
// pools.
#pragma once

#include <vector>

#include "graph/op_context.h"

namespace isomer::ops {

/// One spatial axis. Output o and tap k read input position o * stride + k * dilation - pad_begin.
struct WindowAxis {
  Dim in;
  Dim kernel;
  int64_t stride = 1;
  int64_t dilation = 1;
  Dim pad_begin = 0;
  Dim pad_end = 0;
  Dim out = 0;
  bool overhangs = false;  ///< the last window may end behind the padded input (ceil_mode)

  Dim extent() const { return (kernel - 1) * dilation + 1; }  ///< input positions from the first tap to the last
  Dim padded() const { return in + pad_begin + pad_end; }
  te::Expr position(te::Expr out, te::Expr tap) const;
  /// Whether position(out, tap) lies in the input; a literal where the geometry decides it.
  te::Expr inside(const te::Expr& out, const te::Expr& tap) const;
};
using Window = std::vector<WindowAxis>;

/// The transpose of a window as a gather. Output o of a transposed convolution (a position of the window's input) takes
/// from its input i (an output of the window) through tap k where i * stride + k * dilation = p, with p = o +
/// pad_begin. With g = gcd(stride, dilation) these are, where g divides p, the taps k = first(p) + step * j with step =
/// stride / g; then i = (p - first * dilation) / stride - j * dilation / g. Once o is split by the stride, all of it is
/// affine.
class TransposedAxis {
 public:
  explicit TransposedAxis(WindowAxis window);

  const WindowAxis& window() const { return window_; }
  /// How many values j takes.
  Dim taps() const { return ceil_div(window_.kernel, step_); }

  struct Source {
    te::Expr tap, position;
    te::Expr has_tap, has_position;  ///< whether there is such a tap, and such a position
    te::Expr valid() const { return has_tap && has_position; }
  };
  Source source(const te::Expr& out, const te::Expr& j) const;

 private:
  WindowAxis window_;
  int64_t common_, step_;
  int64_t inverse_;  ///< of dilation / common modulo step
};

/// strides, dilations, pads and auto_pad of a node, checked, one value an axis (pads two), defaults filled in.
struct WindowAttributes {
  std::vector<int64_t> strides, dilations, pads;
  std::string auto_pad;
  bool is_same() const { return auto_pad == "SAME_UPPER" || auto_pad == "SAME_LOWER"; }
  /// How the padding of one axis is split: the odd element goes to the end but for SAME_LOWER.
  bool extra_at_begin() const { return auto_pad == "SAME_LOWER"; }
};
Result<WindowAttributes> window_attributes(const OpContext& context, int rank);

enum class Rounding { kFloor, kCeil };

/// The windows of a convolution or pool over `in`; an error where no window fits. With kCeil a last window that reaches
/// over the padded input is kept, unless it would start in the padding at the end.
Result<Window> window_of(const OpContext& context, const Shape& in, const Shape& kernel, Rounding rounding);

/// The dims `out` of each axis.
Shape out_dims(const Window& window);
Shape kernel_dims(const Window& window);

}  // namespace isomer::ops
