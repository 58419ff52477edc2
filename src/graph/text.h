// Graphs as text, and back: what tests are written in and what `inspect --text` shows.
//
//   opset 17
//   graph main(x: float32[batch,4]) -> (y: float32[batch,2]) {
//     w: float32[4,2] = {1, 0, 0, 1, 0.5, 0.5, -1, 2}
//     h: float32[batch,2] = MatMul(x, w) as "dense/MatMul"
//     y = com.example::Scale(h, _) {alpha = 0.5, axes = [0,1]}      # _ is an omitted input
//   }
//
// Names of other characters than letters, digits and _./% are quoted. A constant is `{elements}`, `all element`,
// `hex "bytes"`, or `@hash` where it is long: the elements then come from a table. A parsed one may also be
// `random seed` (uniform in [-1, 1), integers in [-8, 8)). Bodies are attributes: `{body = graph b(i: int64[]) captures
// (v) -> (o) {…}}` beside `captures (outer)` of their node. Not in the text: doc strings and fields that we don't read.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace isomer {

struct TextOptions {
  int64_t inline_elements = 64;  ///< constants of more elements are named by their hash
};

/// Constants by the hash that stands for them in the text (Hash128::hex of their content).
using ConstantTable = std::map<std::string, Tensor, std::less<>>;

std::string print_graph(const Graph& graph, const TextOptions& options = {});

/// What print_graph leaves out of the text.
ConstantTable long_constants(const Graph& graph, const TextOptions& options = {});

/// The graph that the text describes, inferred. `operators`: rows that do not come with the program. Errors name line
/// and column.
Result<Graph> parse_graph(std::string_view text, const ConstantTable& constants = {},
                          std::shared_ptr<const OpTable> operators = nullptr);

}  // namespace isomer
