// A small register machine that evaluates expressions one value at a time: for tiny stages, reference programs, sizes
// that data decide. Only the chosen side of a select runs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "graph/te/array.h"
#include "graph/te/expr.h"
#include "util/result.h"

namespace isomer::te::interpreter {

union Cell {
  double real;
  int64_t integer = 0;
};

struct ScalarInstruction {
  enum class Kind : uint8_t {
    kRealUnary,
    kIntegerUnary,
    kRealBinary,
    kRealCompare,
    kIntegerBinary,
    kWrap,  ///< into the range of dtype
    kToInteger,
    kToReal,
    kRound,
    kCheckDivisor,  ///< fails where a == 0
    kMove,
    kJump,
    kJumpIfFalse,  ///< to instruction `target`
    kAddress,      ///< dst = a * dims[axis] + b; b must be within the axis; a < 0 for the first axis
    kLoad,         ///< dst = element a of `buffer`; a < 0: its first
  };
  Kind kind;
  UnaryOp unary{};
  BinaryOp binary{};
  DataType dtype{};   ///< of the operands; of the result for conversions
  bool flag = false;  ///< the integers are unsigned 64-bit; kIntegerUnary: they are bools
  int dst = -1, a = -1, b = -1;
  int buffer = -1, axis = -1;
  int target = -1;
};

/// A buffer as a load sees it; the array must outlive it.
struct View {
  const void* data = nullptr;
  Storage storage{};
  const int64_t* dims = nullptr;
  static View of(const Array& array) { return {array.data(), array.storage(), array.dims().data()}; }
};

/// An expression's instructions and where they leave its value.
struct Section {
  int begin = 0, end = 0;
  int result = 0;
};

/// Compiles expressions into one list of instructions over one set of registers.
class ScalarCode {
 public:
  /// A register of its own for a variable.
  int variable(VarKind kind, int index);
  /// Reads of a variable take another register's value from now on.
  void bind(VarKind kind, int index, int reg);
  /// Each section computes all that it needs.
  Section compile(const Expr& expr);
  std::vector<Section> compile(const std::vector<Expr>& exprs);
  const std::optional<Error>& error() const { return error_; }

  const std::vector<BufferRef>& buffers() const { return buffers_; }
  const std::vector<ScalarInstruction>& instructions() const { return instructions_; }
  /// Registers as they must be before anything runs.
  const std::vector<Cell>& registers() const { return registers_; }

 private:
  int emit(const Expr& expr);
  int emit(ScalarInstruction instruction);
  int emit_unary(const Unary& e, DataType dtype);
  int emit_binary(const Binary& e);
  int emit_select(const Select& e);
  int emit_cast(const Cast& e, DataType dtype);
  int emit_load(const Load& e, DataType dtype);
  int wrapped(int reg, DataType dtype);
  int fresh();
  int fresh(Cell value);
  int emit_into(const Expr& expr, int reg);
  int size() const { return static_cast<int>(instructions_.size()); }

  std::vector<ScalarInstruction> instructions_;
  std::vector<Cell> registers_;
  std::vector<BufferRef> buffers_;
  std::map<std::tuple<BufferRef::Kind, int, int>, int> buffer_numbers_;  ///< where a buffer stands in buffers_
  std::vector<std::pair<Var, int>> variables_;
  std::unordered_map<Expr, int> memo_;
  std::vector<Expr> memo_order_;
  std::optional<Error> error_;
};

/// Runs sections of a code. After a failure nothing more runs until the failure was taken.
class ScalarMachine {
 public:
  explicit ScalarMachine(const ScalarCode& code)
      : code_(&code), registers_(code.registers()), views_(code.buffers().size()) {}
  std::vector<View>& views() { return views_; }
  Cell& operator[](int reg) { return registers_[reg]; }
  /// False after a failure.
  bool run(const Section& section);
  const std::string& failure() const { return failure_; }

 private:
  bool fail(std::string message);
  const ScalarCode* code_;
  std::vector<Cell> registers_;
  std::vector<View> views_;
  std::string failure_;
};

/// "input 1", "the value of stage 2", … in error sentences.
std::string describe(const BufferRef& buffer);
/// The sentence for an index that is out of range.
std::string out_of_range(const BufferRef& buffer, int axis, int64_t index, int64_t extent);
/// The sentence for an integer division by zero.
inline constexpr const char* kDivisionByZero = "an integer is divided by zero";

}  // namespace isomer::te::interpreter
