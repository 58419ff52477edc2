// Rows let pass what some sizes behind names may make fit: a MatMul of [1,n] by [k,1]. Where n is not k that is no
// tensor, and nothing follows of it. Test: tests/substitutions/forged_proofs_test.cpp
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"

namespace isomer {

/// Whether what fits as far as the row tells does so whatever the names in its sizes stand for, these being as large as
/// windows and parts ask: sizes that must agree are the same expression, or all that is made has exactly the elements
/// of the one operand. `told`: all sizes and integers that the row is told, each of which `infer` reads where it is.
/// They are others while it is asked.
bool fit_all_sizes(const OpDef& op, std::span<const ValueType> operands, const std::vector<Dim*>& told,
                   const std::function<Result<std::vector<ValueType>>()>& infer);

/// The same of a node that has a row, of what the graph says of its inputs. True also where all that it does with sizes
/// is to broadcast: its tensor expressions say where they hang on that.
bool fits_all_sizes(const Graph& graph, NodeId id);

/// Whether two sizes differ for some numbers that their names may stand for, small ones or of ten digits.
bool differ_somewhere(const Dim& a, const Dim& b);

}  // namespace isomer
