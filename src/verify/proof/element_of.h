// The element of a term at an index, as its rows' tensor expressions say it: stages read one into the other, for sizes
// that are names.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "verify/proof/element.h"
#include "verify/proof/term_graph.h"

namespace isomer::verify {

/// What elements are read of has some, or nothing is said.
bool has_no_elements(const ValueType& type);

class ElementReader {
 public:
  ElementReader(const VariableTypes& variables, ElementMaker& make, bool computes_integers)
      : variables_(variables), make_(make), computes_integers_(computes_integers) {}

  /// Dims may be arithmetic over sizes. A number has no element type of its own. Errors: what the row says.
  Result<ValueType> type_of(const Term& term);
  /// kUnsupported where a row has no map or reduction (sums, maxima, minima) for it, indices depend on other data than
  /// integers, or integers are computed that may not be.
  Result<Element> element(const Term& term, const std::vector<te::Expr>& index);

 private:
  struct Read {
    ApplicationProgram made;
    std::vector<ValueType> outputs;
  };
  Result<const Read*> read(const Term& term);
  Result<te::Expr> integer(const Term& term, DataType dtype, const std::vector<te::Expr>& index);
  class Stages;

  const VariableTypes& variables_;
  ElementMaker& make_;
  bool computes_integers_;
  std::unordered_map<Term, Read, TermHash> reads_;
};

}  // namespace isomer::verify
