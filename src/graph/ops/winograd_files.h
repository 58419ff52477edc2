// Winograd's operators as files hold them: in standard operators, and found again in those.
#pragma once

#include <optional>

#include "graph/node_form.h"

namespace isomer::ops {

/// As a convolution of each channel alone with the transform's elements.
Result<void> expand_winograd_input(NodeForm& form);
/// As products of the taps with the transform.
Result<void> expand_winograd_kernel(NodeForm& form);
/// As a product of the transform with the tiles.
Result<void> expand_winograd_output(NodeForm& form);
/// As the transform of its input and a product.
Result<void> expand_winograd_product(NodeForm& form);

std::optional<Node> recognize_winograd_input(const Graph& graph, NodeId root);
std::optional<Node> recognize_winograd_output(const Graph& graph, NodeId root);

}  // namespace isomer::ops
