// Which part of a buffer the iterations of some loops touch.
#pragma once

#include <optional>
#include <vector>

#include "kernel/loop_nest.h"

namespace isomer::kernel {

/// minimum … minimum + extent - 1, the minimum over variables of loops outside those that the region sums up.
struct Span {
  Expr minimum;
  Expr extent;
};
using Region = std::vector<Span>;

/// What holds the values of an index expression over all iterations of `inner`: no more than that where it is affine in
/// their variables, else bounds that interval arithmetic knows; nothing where there are none, or data decide.
std::optional<Span> span_of(const Expr& index, const std::vector<const Loop*>& inner);
/// The smallest span that holds both, where their minima differ by a constant.
std::optional<Span> united(const Span& a, const Span& b);

/// The part of `buffer` that the statements read (or write), over all iterations of loops `around` them too. A dim that
/// no span describes is taken whole. Empty where nothing is touched.
enum class Access : uint8_t { kRead, kWrite, kEither };
Region region_of(const Kernel& kernel, const Statements& statements, int buffer, Access access,
                 const std::vector<const Loop*>& around = {});

/// Whether the statements write every element of the region that they write of `buffer`, and not only one in two: each
/// of its writers has as many iterations as its own region has elements, and these regions touch.
bool writes_whole_region(const Kernel& kernel, const Statements& statements, int buffer);

/// The conditions under which `value` lies in [0, extent), as far as the ranges don't prove them; empty: it always
/// does.
Expr in_range(const Expr& value, const Expr& extent, const te::Ranges& ranges);
/// A conjunction without the parts that say no more than that the iterator's binding is below its extent; may be empty.
Expr without_bound(const Expr& condition, const Iterator& iterator);
/// a && b, where an empty one is true.
Expr both(const Expr& a, const Expr& b);

}  // namespace isomer::kernel
