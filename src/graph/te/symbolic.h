// Programs over symbolic integers: what shape inference knows of the contents of small integer tensors.
#pragma once

#include <optional>
#include <vector>

#include "graph/te/program.h"

namespace isomer::te {

/// The elements of one output, row-major, each where it is known; nothing when none is known, or when the output's
/// shape (or that of a stage on the way) is not constant or has more than 1024 elements. An input's elements are
/// nullptr when unknown; its shape must be constant otherwise. Elements of float tensors are kept while they are
/// integers. An element is the value that evaluation gives wherever it gives one; int32 and int64 are taken not to
/// overflow.
std::optional<std::vector<std::optional<Dim>>> symbolic_contents(
    const Program& program, int output, const std::vector<const std::vector<std::optional<Dim>>*>& inputs,
    const std::vector<Shape>& input_shapes);

}  // namespace isomer::te
