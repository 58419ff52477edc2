// What terms do to the elements of their operands, recorded from the rows' tensor expressions as a graph of exact
// operations, each once; only for the elements that are asked for.
#pragma once

#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "graph/te/expr.h"
#include "graph/tensor.h"
#include "verify/proof/term.h"

namespace isomer::substitutions {

struct Operation {
  enum class Kind : uint8_t { kLiteral, kElement, kAdd, kMultiply, kMax, kMin, kDivide, kUnary, kBinary };
  Kind kind;
  uint8_t function = 0;   ///< of kUnary and kBinary: the operator's number; of kElement: the operand's
  uint32_t a = 0, b = 0;  ///< operations; of kElement a is the element, of kLiteral the literal
  bool operator==(const Operation&) const = default;
};

/// Operations that are folded where an operand is 0, 1 or infinite. Throw Failure where there is no exact meaning.
class Recording {
 public:
  const std::vector<Operation>& operations() const { return operations_; }
  const std::vector<te::Number>& literals() const { return literals_; }

  uint32_t element(int operand, uint32_t index) {
    return add({Operation::Kind::kElement, static_cast<uint8_t>(operand), index, 0});
  }
  uint32_t number(const te::Number& value);
  uint32_t unary(te::UnaryOp op, uint32_t x);
  uint32_t binary(te::BinaryOp op, uint32_t a, uint32_t b);

 private:
  uint32_t add(Operation operation);
  void grow();
  uint32_t commutative(Operation::Kind kind, uint32_t a, uint32_t b);
  const te::Number* constant(uint32_t operation) const;
  uint32_t sum(uint32_t a, uint32_t b);
  uint32_t product(uint32_t a, uint32_t b);
  uint32_t quotient(uint32_t a, uint32_t b);
  uint32_t extreme(Operation::Kind kind, uint32_t a, uint32_t b);
  uint32_t power(te::BinaryOp op, uint32_t a, uint32_t b);

  std::vector<Operation> operations_;
  std::vector<te::Number> literals_;
  std::vector<uint32_t> known_ =
      std::vector<uint32_t>(1 << 10, ~uint32_t{0});  ///< operations by their hash, open addressing
  std::vector<uint32_t> numbers_;                    ///< operations of the literals
};

/// Terms over float32 variables a and b, of given dims.
class TermRecorder {
 public:
  /// At most two operands. Errors: types that don't fit.
  static Result<TermRecorder> make(std::span<const verify::Term> terms, std::span<const Dims> operands);
  TermRecorder(TermRecorder&&) noexcept;
  ~TermRecorder();

  const Dims& dims(size_t term) const;
  Recording& recording();
  /// The operation that gives an element of a term. Throws Failure: comparisons of data, loops over steps, ...
  uint32_t element(size_t term, uint32_t position);

 private:
  class Values;
  explicit TermRecorder(std::unique_ptr<Values> values);
  std::unique_ptr<Values> values_;
};

}  // namespace isomer::substitutions
