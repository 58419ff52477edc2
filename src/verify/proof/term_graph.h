// Terms as nodes: what a row makes of an application's parameters, the types that it infers, graphs that compute terms.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "verify/proof/term.h"

namespace isomer::verify {

/// The value of an attribute as terms write it; nothing where they can't (tensors, graphs, -0.0).
std::optional<Parameter> parameter_of(const Attribute& attribute);

/// The element type that a number has among these operands: that of the tensors, bool where all are but `conditions`.
template <class Types>
DataType dtype_beside(const Types& operands, int conditions = 0) {
  DataType result = DataType::kFloat32;
  for (const ValueType& type : operands) {
    if (!type.is_tensor() || type.dtype == DataType::kUndefined) continue;
    if (type.dtype != DataType::kBool) return type.dtype;
    if (conditions-- <= 0) result = DataType::kBool;
  }
  return result;
}

/// The types of an application's outputs, as its row infers them from those of its arguments. Dims may be symbolic;
/// integers of attributes must be numbers. An argument of undefined element type is a number: it takes that of those
/// beside it. Errors: kUnsupported where integers are not known, else what the row says of types that don't fit.
Result<std::vector<ValueType>> infer_application(const Term::Application& application,
                                                 std::span<const ValueType> arguments);

/// What the row makes of an application: its inputs are the arguments, and integers between them where the row has
/// inputs for these. Errors as above, and kUnsupported where the row has no tensor expression.
struct ApplicationProgram {
  te::Program program;
  std::vector<std::optional<size_t>> arguments;  ///< which argument an input is; nothing: integers, or none
};
Result<ApplicationProgram> program_of(const Term::Application& application, std::span<const ValueType> arguments);

/// The same as text, with the integers of inputs that it reads: equal texts mean equal values.
Result<std::string> program_text(const Term::Application& application, std::span<const ValueType> arguments);

using VariableTypes = std::map<std::string, ValueType, std::less<>>;

/// A graph whose inputs are the variables, in the order of their names, and whose outputs are the terms. What stands
/// twice is computed once. `..p` must have been replaced. Errors as above, and for variables without a type.
Result<Graph> graph_of(const std::vector<Term>& outputs, const VariableTypes& variables);

}  // namespace isomer::verify
