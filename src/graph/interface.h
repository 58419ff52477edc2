// What callers of a model see of it besides its values. Test: tests/cli/verify_test.cpp
#pragma once

#include "graph/graph.h"

namespace isomer {

/// Names, order, stated types and defaults of inputs and outputs, the operator sets; where nothing is stated of an
/// output, `found` may state what is inferred of it. An error, kMismatch, says what of `found` is another than
/// expected.
Result<void> check_interface(const Graph& expected, const Graph& found, const std::string& file);

/// Of inputs and outputs: sequences, optionals and what else there is can be neither given nor saved. The error,
/// kUnsupported, names the first that is something else.
Result<void> expect_tensors(const Graph& graph);

}  // namespace isomer
