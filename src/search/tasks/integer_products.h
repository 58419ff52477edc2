// Products of dequantized numbers, as quantization tools write them (DequantizeLinear before each operand: QDQ), become
// products of the integers themselves, which processors add up several at a time (kernel/words.h):
//
//     Conv(DequantizeLinear(x, s, y), DequantizeLinear(w, t, z), b) = ConvInteger(x, w, y, z)*(s*t) + b
//
// and MatMul and Gemm likewise. Both sides are equal in the reals: sum s(x - y) t(w - z) = s t sum (x - y)(w - z),
// where s is one number and t one a column. The integers' sum is exact: it has at most 2^15 terms of less than 2^16.
// What they are quantized to again is multiplied by the reciprocal of its scale, where that is known: a division takes
// as long as the rest of it, and the factor becomes one with those before it, of a normalization too. What is moved
// between two equal scales moves as bytes.
//
// Where code is made alone: files keep what their runtimes look for. Tests: tests/search/integer_products_test.cpp
#pragma once

#include "graph/graph.h"

namespace isomer::search {

/// How many of these there were. Errors: a row does not accept what was made.
Result<int> use_integer_products(Graph& graph);

/// Bytes that several maps read dequantized (x and the sigmoid of x, say) are dequantized by each: what lies in memory
/// between their task and that before it are bytes then. How many more nodes there are. After all passes: equal nodes
/// become one there.
Result<int> dequantize_apart(Graph& graph);

}  // namespace isomer::search
