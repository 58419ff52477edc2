// Programs over strips: every instruction runs over the lanes of a strip, consecutive values of one iterator, the
// vector axis. What does not change along it is computed once a strip.
//
// Sums of iterators live in slots, which the loops around keep up to date: offsets of loads, bounds of conditions. A
// condition on such a sum changes at most twice along a strip, so the strip is run in parts within which it is uniform,
// and only the chosen side of a select runs. Conditions on data select lane by lane, under masks where loads depend on
// them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/te/expr.h"
#include "graph/te/interpret/scalar.h"

namespace isomer::te::interpreter {

struct Frame;

struct Instruction {
  using Run = void (*)(const Instruction&, Frame&);
  enum class Control : uint8_t { kRun, kJump, kJumpIfFalse, kJumpIfNone };

  Run run = nullptr;
  Control control = Control::kRun;
  bool uniform = false;  ///< one lane; kJumpIfNone: the mask has one lane
  int dst = -1, a = -1, b = -1, c = -1;
  int slot = -1;
  int buffer = -1;
  int axis = -1;    ///< of a check
  int target = -1;  ///< of a jump
  int64_t immediate = 0;
};

/// Slot values are start + Σ factor * iterator, then corrected by what floor divisions of other slots contribute.
struct Correction {
  enum class Kind : uint8_t {
    kDivide,  ///< quotient[index] = floor(slot / factor)
    kAdd,     ///< slot += factor * quotient[index]
  };
  Kind kind;
  int slot;
  int index;
  int64_t factor;
};

/// slot < 0, or slot == 0 if `equality`.
struct UniformPredicate {
  int slot;
  bool equality;
  int reg;
};

struct StripProgram {
  int vector = -1;  ///< the iterator along the lanes; -1: there is one lane
  std::vector<BufferRef> buffers;
  std::vector<int64_t> start;                 ///< of each slot
  std::vector<std::vector<int64_t>> factors;  ///< by iterator, then slot
  std::vector<int64_t> strides;               ///< of each slot, from lane to lane
  std::vector<Correction> corrections;
  int quotients = 0;
  std::vector<std::pair<int, int>> quotient_registers;  ///< (register, quotient)
  std::vector<UniformPredicate> predicates;
  std::vector<std::pair<int, Cell>> constants;  ///< (register, value)
  std::vector<Instruction> code;
  std::vector<int> scratch;  ///< by register: which scratch area it writes to, or -1
  int scratch_areas = 0;
  int output_slot = -1;

  int registers() const { return static_cast<int>(scratch.size()); }
  int slots() const { return static_cast<int>(start.size()); }
};

/// The state of one thread in one strip program.
struct Frame {
  int64_t lanes = 0;           ///< of the part that runs
  int64_t lane = 0;            ///< its first one, counted in the strip
  std::vector<void*> at;       ///< by register: its lanes
  std::vector<void*> own;      ///< by register: the memory that it writes to
  std::vector<int64_t> slots;  ///< at the part's first lane, corrected
  std::vector<int64_t> base;   ///< at the strip's first lane, as the loops keep them
  std::vector<int64_t> quotients;
  std::vector<int64_t> truths;  ///< of the predicates, for this part
  std::vector<Cell> constants;
  std::vector<const void*> buffers;
  std::vector<void*> sinks;  ///< by component: where results go, or what accumulates
  std::vector<std::byte> memory;
  const StripProgram* program = nullptr;
  std::string failure;

  /// Makes room for strips of up to `max_lanes` lanes.
  Frame(const StripProgram& program, int64_t max_lanes);
  Frame(Frame&&) = default;
  Frame& operator=(Frame&&) = default;

  /// Sets all slots for iterators at zero.
  void reset();
  /// Moves an iterator on by `steps`.
  void advance(int iterator, int64_t steps);
  /// Runs the program for `count` lanes from where the slots stand; false after a failure.
  bool run(int64_t count);

 private:
  bool run_part();
};

/// How an instruction's operands vary: along the lanes, or not.
enum class Form : uint8_t { kBoth, kLeft, kRight };  // lanes on both sides, only left, only right

namespace kernels {

using Run = Instruction::Run;

Run unary_real(UnaryOp op);
Run unary_integer(UnaryOp op, bool is_bool);
Run binary_real(BinaryOp op, Form form);
Run binary_integer(BinaryOp op, Form form, bool unsigned64);
/// dst = dst + a * b of reals, in one rounding where the machine can. `native`: a is float32, read from `buffer` at
/// `slot` one after the other.
Run multiply_add(bool native, bool b_varies);
/// dst = c ? a : b
Run blend(bool a_varies, bool b_varies);
Run fill();
Run copy();
/// Out of the register a to component `buffer` at `slot`, with the slot's stride.
Run store(bool varies);
Run to_integer(DataType to);
Run to_real(DataType to, bool unsigned64);
Run round(DataType to);
Run wrap(DataType to);
/// dst = slot + stride * lane
Run iota();
/// dst = a + immediate * b
Run add_scaled(Form form);
/// dst = floor(a / immediate)
Run floor_divide();
Run is_negative();
Run is_zero();
/// dst = a and not b, of bools
Run and_not(Form form);

/// dst refers to consecutive elements of 8 bytes (or one), without copying: element slot (+ register a).
Run point();
/// dst = elements slot (+ register a), from lane to lane the slot's stride apart.
Run load(Storage storage);
/// dst = elements a[lane]; where c >= 0 only in lanes with c.
Run gather(Storage storage, bool masked);

/// Fails unless slot is in [0, immediate) for all lanes.
Run check_slot();
/// Fails unless a is in [0, immediate) in all lanes (with c).
Run check_lanes(bool masked);
/// Fails where a is 0 (in lanes with c).
Run check_divisor(bool masked);

/// values[0] = the combination of all `count` values (at least one), halving them; of operations without unsigned
/// variants.
void fold_real(BinaryOp op, double* values, int64_t count);
void fold_integer(BinaryOp op, int64_t* values, int64_t count);

/// dst is the memory of component `buffer`: at its lane; at `slot`.
Run bind_lanes();
Run bind_output();

}  // namespace kernels

}  // namespace isomer::te::interpreter
