// Operators on sequences and optionals of ONNX. They have no rows, since their values are no tensors: a graph passes
// them through, and only the interpreter runs them. Test: tests/onnx/sequences_test.cpp
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "graph/te/array.h"

namespace isomer {

/// Whether sizes of pieces, none of them below 0, are so much together.
bool add_up_to(std::span<const int64_t> sizes, int64_t whole);

/// Identity among them, which has a row for tensors.
bool is_sequence_op(const Node& node);

/// Outputs of such a node, which errors call `place`; an omitted input is an empty array. `bodies` runs what
/// SequenceMap does with each element. Errors: a tensor where a sequence is expected or the other way, a position
/// outside of a sequence, elements that don't fit together, no value in an optional.
Result<std::vector<te::Array>> run_sequence_op(const Node& node, const std::string& place,
                                               std::span<const te::Array> inputs, BodyRunner& bodies);

}  // namespace isomer
