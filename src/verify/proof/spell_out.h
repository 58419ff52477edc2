// One form for one application: what it leaves to defaults is spelled out, axes count from the front, lists whose order
// means nothing are sorted. Read off the row: a spelling is a proposal that stands when the row makes the same tensor
// expressions of it. Parameters that only repeat dims of an argument (the kernel_shape of a convolution) are left out.
// Test: tests/verify/spell_out_test.cpp
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "verify/proof/term_graph.h"

namespace isomer::verify {

/// What rows said of applications, remembered. Operations (an operator and parameters) and types go by numbers that are
/// equal where they are; only equality of the numbers means anything: they depend on what was asked before.
class Signatures {
 public:
  struct Operation {
    const OpDef* op = nullptr;
    Parameters parameters;
    bool operator==(const Operation&) const = default;
  };
  struct Applied {
    int operation = 0;       ///< spelled out
    std::vector<int> types;  ///< of the outputs
  };

  Signatures();
  Signatures(Signatures&&) noexcept;
  Signatures& operator=(Signatures&&) noexcept;
  ~Signatures();

  int type_id(const ValueType& type);
  const ValueType& type(int id) const;
  int operation_id(const OpDef& op, Parameters parameters);
  const Operation& operation(int id) const;
  /// An operation on arguments of these types; the errors of infer_application. Valid until the object dies.
  const Result<Applied>& apply(int operation, std::span<const int> types);
  /// What `find` says of the text, asked once.
  bool remembered(const std::string& text, const std::function<bool()>& find);

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

/// An application's operation, spelled out, and the type of its output.
struct TypedOperation {
  int operation = 0, type = 0;
};
/// Of a term that is one, on arguments of these types. Errors: `..p`, what infer_application says, no such output.
Result<TypedOperation> typed_operation(const Term& term, std::span<const int> types, Signatures& signatures);

struct TypedTerm {
  Term term;
  ValueType type;
};

/// The term with all its parameters spelled out, and its type. Idempotent. A number alone has no element type. Errors:
/// a variable without a type, `..p`, what infer_application says.
Result<TypedTerm> spelled_out(const Term& term, const VariableTypes& variables, Signatures& signatures);

}  // namespace isomer::verify
