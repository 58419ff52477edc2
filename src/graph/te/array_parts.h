// Pieces of tensors along an axis, and of sequences.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/te/array.h"

namespace isomer::te {

/// Positions [begin, begin + count) of an axis.
Result<Array> slice(const Array& array, int64_t axis, int64_t begin, int64_t count);

/// One after the other along an axis; at least one, of one type, their other dims equal.
Result<Array> concatenate(std::span<const Array> arrays, int64_t axis);

/// The same elements with an axis of one position put in, or with the axis, which has one, taken out.
Array with_axis(const Array& array, int64_t axis);
Array without_axis(const Array& array, int64_t axis);

/// The tensor of that name, or those of a sequence, called "name.0", "name.1", …; none where there is no value.
std::vector<std::pair<std::string, Array>> named_tensors(const std::string& name, const Array& value);

}  // namespace isomer::te
