// Terms as nodes: what a row makes of an application's parameters, the types that it infers, graphs that compute terms.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "verify/term.h"

namespace isomer::verify {

/// The types of an application's outputs, as its row infers them from those of its arguments. Dims may be symbolic; integers of
/// attributes must be numbers. Errors: kUnsupported where they are not, else what the row says of types that don't fit.
Result<std::vector<ValueType>> infer_application(const Term::Application& application, std::span<const ValueType> arguments);

using VariableTypes = std::map<std::string, ValueType, std::less<>>;

/// A graph whose inputs are the variables, in the order of their names, and whose outputs are the terms. What stands twice is
/// computed once. `..p` must have been replaced. Errors as above, and for variables without a type.
Result<Graph> graph_of(const std::vector<Term>& outputs, const VariableTypes& variables);

}  // namespace isomer::verify
