#include "graph/ops/window.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "graph/te/integer.h"

namespace isomer::ops {
namespace {

/// Keeps positions within int64, whatever a file says.
constexpr int64_t kMaxStep = int64_t{1} << 31;

Result<std::vector<int64_t>> ints_or(const OpContext& context, std::string_view name, size_t count, int64_t fallback) {
  if (!context.has_attribute(name) || context.get_ints(name).empty()) return std::vector(count, fallback);
  const auto& values = context.get_ints(name);
  const auto fits = [&](int64_t value) { return value >= fallback && value <= kMaxStep; };
  if (values.size() != count || !std::all_of(values.begin(), values.end(), fits))
    return context.invalid("{} of {} values in [{}, 2^31] expected, {} found", name, count, fallback, values);
  return values;
}

bool is_positive(const Dim& dim) { return dim.is_constant() && dim.value() > 0; }

/// Sets pads of auto_pad SAME: as many outputs as the stride leaves, the padding that this takes on both sides.
void pad_to_same(WindowAxis& axis, bool extra_at_begin) {
  axis.out = ceil_div(axis.in, axis.stride);
  const Dim total = max((axis.out - 1) * axis.stride + axis.extent() - axis.in, 0);
  const Dim half = floor_div(total, 2);
  axis.pad_begin = extra_at_begin ? total - half : half;
  axis.pad_end = total - axis.pad_begin;
}

void count_windows(WindowAxis& axis, Rounding rounding) {
  const Dim free = axis.padded() - axis.extent();
  if (rounding == Rounding::kFloor) {
    axis.out = floor_div(free, axis.stride) + 1;
    return;
  }
  const Dim starts_before_end_padding = ceil_div(axis.in + axis.pad_begin, axis.stride);
  axis.out = min(ceil_div(free, axis.stride) + 1, starts_before_end_padding);
  const Dim left_over = free - (axis.out - 1) * axis.stride;
  axis.overhangs = !left_over.is_constant() || left_over.value() < 0;
}

/// Of `value` modulo `modulus`, which have no common divisor; by Euclid's algorithm.
int64_t inverse_modulo(int64_t value, int64_t modulus) {
  int64_t a = value % modulus, m = modulus, x = 0, next = 1;
  while (a != 0) {
    const int64_t quotient = m / a;
    m = std::exchange(a, m - quotient * a);
    x = std::exchange(next, x - quotient * next);
  }
  return te::floor_mod(x, modulus);
}

}  // namespace

te::Expr WindowAxis::position(te::Expr out, te::Expr tap) const {
  return out * te::index(stride) + tap * te::index(dilation) - pad_begin.expr();
}

te::Expr WindowAxis::inside(const te::Expr& out, const te::Expr& tap) const {
  const Dim last = (this->out - 1) * stride + (kernel - 1) * dilation - pad_begin;
  const bool may_pass_end = !is_positive(in - last) && (overhangs || !pad_end.is(0));
  const te::Expr at = position(out, tap);
  const te::Expr after_begin = pad_begin.is(0) ? te::truth(true) : te::index(0) <= at;
  return may_pass_end ? after_begin && at < in.expr() : after_begin;
}

TransposedAxis::TransposedAxis(WindowAxis window)
    : window_(std::move(window)),
      common_(std::gcd(window_.stride, window_.dilation)),
      step_(window_.stride / common_),
      inverse_(inverse_modulo(window_.dilation / common_, step_)) {}

TransposedAxis::Source TransposedAxis::source(const te::Expr& out, const te::Expr& j) const {
  const te::Expr stride = te::index(window_.stride), step = te::index(step_), common = te::index(common_);
  const te::Expr p = out + window_.pad_begin.expr();
  const te::Expr residue = te::floor_mod(te::floor_div(p, common), step);
  const te::Expr first = inverse_ == 1 ? residue : te::floor_mod(residue * te::index(inverse_), step);
  // With dilation 1, p - first is the multiple of the stride below p.
  const te::Expr base = te::floor_div(window_.dilation == 1 ? p : p - first * te::index(window_.dilation), stride);
  const te::Expr tap = first + j * step;
  const te::Expr position = base - j * te::index(window_.dilation / common_);
  te::Expr has_position = te::index(0) <= position && position < window_.out.expr();
  if (common_ > 1) has_position = te::equal(te::floor_mod(p, common), 0) && has_position;
  const te::Expr has_tap = floor_mod(window_.kernel, step_).is(0) ? te::truth(true) : tap < window_.kernel.expr();
  return {tap, position, has_tap, has_position};
}

Result<WindowAttributes> window_attributes(const OpContext& context, int rank) {
  WindowAttributes result;
  const auto count = static_cast<size_t>(rank);
  TRY(result.strides, ints_or(context, "strides", count, 1));
  TRY(result.dilations, ints_or(context, "dilations", count, 1));
  TRY(result.pads, ints_or(context, "pads", 2 * count, 0));
  if (context.has_attribute("auto_pad")) result.auto_pad = context.get_string("auto_pad");
  if (result.auto_pad.empty()) result.auto_pad = "NOTSET";
  if (result.auto_pad != "NOTSET" && result.auto_pad != "VALID" && !result.is_same())
    return context.invalid("auto_pad NOTSET, VALID, SAME_UPPER or SAME_LOWER expected, '{}' found", result.auto_pad);
  if (result.auto_pad != "NOTSET") result.pads.assign(2 * count, 0);
  return result;
}

Result<Window> window_of(const OpContext& context, const Shape& in, const Shape& kernel, Rounding rounding) {
  TRY(const WindowAttributes attributes, window_attributes(context, static_cast<int>(in.size())));
  Window window;
  for (size_t k = 0; k < in.size(); ++k) {
    WindowAxis axis{.in = in[k],
                    .kernel = kernel[k],
                    .stride = attributes.strides[k],
                    .dilation = attributes.dilations[k],
                    .pad_begin = attributes.pads[k],
                    .pad_end = attributes.pads[in.size() + k]};
    if (axis.kernel.is_constant() && axis.kernel.value() < 1)
      return context.invalid("kernel of at least 1 along spatial axis {} expected, {} found", k, axis.kernel.text());
    if (attributes.is_same()) {
      pad_to_same(axis, attributes.extra_at_begin());
    } else {
      const Rounding rounds = attributes.auto_pad == "VALID" ? Rounding::kFloor : rounding;
      const Dim free = axis.padded() - axis.extent();
      // Rounded up, the only window may reach beyond the end.
      if (free.is_constant() && free.value() < (rounds == Rounding::kCeil ? 1 - axis.stride : 0))
        return context.invalid("padded input of at least {} along spatial axis {} expected, {} found",
                               axis.extent().text(), k, axis.padded().text());
      count_windows(axis, rounds);
    }
    window.push_back(std::move(axis));
  }
  return window;
}

Shape out_dims(const Window& window) {
  Shape dims;
  for (const WindowAxis& axis : window) dims.push_back(axis.out);
  return dims;
}

Shape kernel_dims(const Window& window) {
  Shape dims;
  for (const WindowAxis& axis : window) dims.push_back(axis.kernel);
  return dims;
}

}  // namespace isomer::ops
