#include "graph/te/interpret/scalar.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "graph/te/interpret/arithmetic.h"
#include "util/check.h"

namespace isomer::te::interpreter {
namespace {

using Kind = ScalarInstruction::Kind;

template <class T>
T read(const void* data, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(data) + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

bool leaves_range(BinaryOp op) {
  return is_ring_operation(op) || op == BinaryOp::kPow || op == BinaryOp::kShiftLeft || is_integer_division(op);
}

/// One element of any storage: a real as double, anything else as int64.
Cell read_element(const void* data, Storage storage, int64_t i) {
  switch (storage) {
    case Storage::kDouble: return {.real = read<double>(data, i)};
    case Storage::kFloat32: return {.real = read<float>(data, i)};
    case Storage::kFloat16: return {.real = half_to_real(read<uint16_t>(data, i))};
    case Storage::kBFloat16: return {.real = brain_to_real(read<uint16_t>(data, i))};
    case Storage::kInt64: return {.integer = read<int64_t>(data, i)};
    case Storage::kInt8: return {.integer = read<int8_t>(data, i)};
    case Storage::kUInt8: return {.integer = read<uint8_t>(data, i)};
    case Storage::kInt16: return {.integer = read<int16_t>(data, i)};
    case Storage::kUInt16: return {.integer = read<uint16_t>(data, i)};
    case Storage::kInt32: return {.integer = read<int32_t>(data, i)};
    case Storage::kUInt32: return {.integer = read<uint32_t>(data, i)};
    case Storage::kBool: return {.integer = read<uint8_t>(data, i) != 0};
  }
  return {};
}

}  // namespace

std::string describe(const BufferRef& buffer) {
  switch (buffer.kind) {
    case BufferRef::Kind::kInput: return fmt::format("input {}", buffer.index);
    case BufferRef::Kind::kStage: return fmt::format("the value of stage {}", buffer.index);
    case BufferRef::Kind::kInner: return fmt::format("the value of inner stage {}", buffer.index);
    case BufferRef::Kind::kState: return fmt::format("state {}", buffer.index);
    case BufferRef::Kind::kLocal: return fmt::format("buffer {}", buffer.index);
  }
  return "";
}

std::string out_of_range(const BufferRef& buffer, int axis, int64_t index, int64_t extent) {
  return fmt::format("index {} is out of range on axis {} of {}, which has {} elements", index, axis, describe(buffer),
                     extent);
}

int ScalarCode::variable(VarKind kind, int index) {
  for (const auto& [var, reg] : variables_)
    if (var == Var{kind, index}) return reg;
  const int reg = fresh();
  bind(kind, index, reg);
  return reg;
}

void ScalarCode::bind(VarKind kind, int index, int reg) {
  variables_.insert(variables_.begin(), {Var{kind, index}, reg});
}

Section ScalarCode::compile(const Expr& expr) { return compile(std::vector<Expr>{expr})[0]; }

std::vector<Section> ScalarCode::compile(const std::vector<Expr>& exprs) {
  memo_.clear();
  memo_order_.clear();
  if (registers_.empty()) fresh();
  std::vector<Section> sections;
  const int begin = size();
  for (const Expr& expr : exprs) sections.push_back({begin, 0, emit(expr)});
  for (Section& section : sections) section.end = size();
  return sections;
}

int ScalarCode::fresh() { return fresh(Cell{}); }
int ScalarCode::fresh(Cell value) {
  registers_.push_back(value);
  return static_cast<int>(registers_.size()) - 1;
}

int ScalarCode::emit(ScalarInstruction instruction) {
  if (instruction.dst < 0) instruction.dst = fresh();
  instructions_.push_back(instruction);
  return instruction.dst;
}

int ScalarCode::emit(const Expr& expr) {
  // The sides of nested selects are compiled for each select around them.
  constexpr int kMaxInstructions = 1 << 20;
  if (!error_ && size() > kMaxInstructions)
    error_ = unsupported("", "an expression of more than {} instructions", kMaxInstructions);
  if (error_) return 0;
  const auto known = memo_.find(expr);
  if (known != memo_.end()) return known->second;
  const DataType dtype = expr.dtype();
  const int reg = visit(
      expr,
      [&](const Literal& e) {
        if (is_float(dtype)) return fresh(Cell{.real = e.value.to_double()});
        return fresh(Cell{.integer = wrap(e.value.to_int64(), IntegerType(dtype))});
      },
      [&](const Var& e) { return variable(e.kind, e.index); },
      [&](const Symbol& e) {
        error_ = unsupported("", "the dim {} has no value", e.name);
        return fresh();
      },
      [&](const Unary& e) { return emit_unary(e, dtype); }, [&](const Binary& e) { return emit_binary(e); },
      [&](const Select& e) { return emit_select(e); }, [&](const Cast& e) { return emit_cast(e, dtype); },
      [&](const Load& e) { return emit_load(e, dtype); });
  memo_.emplace(expr, reg);
  memo_order_.push_back(expr);
  return reg;
}

int ScalarCode::wrapped(int reg, DataType dtype) {
  if (bit_width(dtype) == 64) return reg;
  return emit({.kind = Kind::kWrap, .dtype = dtype, .a = reg});
}

int ScalarCode::emit_unary(const Unary& e, DataType dtype) {
  const int a = emit(e.operand);
  const DataType from = e.operand.dtype();
  if (!is_float(from)) {
    if (e.op == UnaryOp::kAbs && !is_signed_int(from)) return a;
    const int reg =
        emit({.kind = Kind::kIntegerUnary, .unary = e.op, .dtype = from, .flag = from == DataType::kBool, .a = a});
    return e.op == UnaryOp::kIsNan ? reg : wrapped(reg, from);
  }
  const int reg = emit({.kind = Kind::kRealUnary, .unary = e.op, .dtype = from, .a = a});
  return dtype == DataType::kBool ? emit({.kind = Kind::kToInteger, .dtype = dtype, .a = reg}) : reg;
}

int ScalarCode::emit_binary(const Binary& e) {
  const int a = emit(e.left), b = emit(e.right);
  const DataType dtype = e.left.dtype();
  if (is_float(dtype))
    return emit({.kind = is_comparison(e.op) ? Kind::kRealCompare : Kind::kRealBinary,
                 .binary = e.op,
                 .dtype = dtype,
                 .a = a,
                 .b = b});
  if (is_integer_division(e.op)) emit({.kind = Kind::kCheckDivisor, .dst = 0, .a = b});
  const bool unsigned64 = IntegerType(dtype).is_unsigned64();
  const int reg =
      emit({.kind = Kind::kIntegerBinary, .binary = e.op, .dtype = dtype, .flag = unsigned64, .a = a, .b = b});
  return leaves_range(e.op) ? wrapped(reg, dtype) : reg;
}

int ScalarCode::emit_into(const Expr& expr, int reg) {
  const size_t known = memo_order_.size();
  const int value = emit(expr);
  // What a side computes is there only when that side ran.
  for (size_t i = known; i < memo_order_.size(); ++i) memo_.erase(memo_order_[i]);
  memo_order_.resize(known);
  return emit({.kind = Kind::kMove, .dst = reg, .a = value});
}

int ScalarCode::emit_select(const Select& e) {
  const int condition = emit(e.condition);
  const int reg = fresh();
  const int test = size();
  emit({.kind = Kind::kJumpIfFalse, .dst = 0, .a = condition});
  emit_into(e.then, reg);
  const int skip = size();
  emit({.kind = Kind::kJump, .dst = 0});
  instructions_[test].target = size();
  emit_into(e.otherwise, reg);
  instructions_[skip].target = size();
  return reg;
}

int ScalarCode::emit_cast(const Cast& e, DataType dtype) {
  const int a = emit(e.operand);
  const DataType from = e.operand.dtype();
  if (is_float(dtype)) {
    if (is_float(from)) return emit({.kind = Kind::kRound, .dtype = dtype, .a = a});
    return emit({.kind = Kind::kToReal, .dtype = dtype, .flag = from == DataType::kUInt64, .a = a});
  }
  if (is_float(from)) return emit({.kind = Kind::kToInteger, .dtype = dtype, .a = a});
  return wrapped(a, dtype);
}

int ScalarCode::emit_load(const Load& e, DataType dtype) {
  const std::tuple key(e.buffer.kind, e.buffer.index, e.buffer.component);
  const auto [numbered, is_new] = buffer_numbers_.emplace(key, static_cast<int>(buffers_.size()));
  if (is_new) buffers_.push_back(e.buffer);
  const int buffer = numbered->second;
  int address = -1;
  for (size_t k = 0; k < e.index.size(); ++k) {
    const int index = emit(e.index[k]);
    address = emit({.kind = Kind::kAddress, .a = address, .b = index, .buffer = buffer, .axis = static_cast<int>(k)});
  }
  return emit({.kind = Kind::kLoad, .dtype = dtype, .a = address, .buffer = buffer});
}

bool ScalarMachine::fail(std::string message) {
  failure_ = std::move(message);
  return false;
}

bool ScalarMachine::run(const Section& section) {
  const std::vector<ScalarInstruction>& code = code_->instructions();
  Cell* const r = registers_.data();
  for (int pc = section.begin; pc < section.end;) {
    const ScalarInstruction& i = code[pc++];
    switch (i.kind) {
      case Kind::kRealUnary: r[i.dst].real = apply(i.unary, r[i.a].real); break;
      case Kind::kIntegerUnary: r[i.dst].integer = apply(i.unary, r[i.a].integer, i.flag); break;
      case Kind::kRealBinary: r[i.dst].real = apply(i.binary, r[i.a].real, r[i.b].real); break;
      case Kind::kRealCompare: r[i.dst].integer = compare(i.binary, r[i.a].real, r[i.b].real); break;
      case Kind::kIntegerBinary: r[i.dst].integer = apply(i.binary, r[i.a].integer, r[i.b].integer, i.flag); break;
      case Kind::kWrap: r[i.dst].integer = wrap(r[i.a].integer, IntegerType(i.dtype)); break;
      case Kind::kToInteger: r[i.dst].integer = real_to_integer(r[i.a].real, IntegerType(i.dtype)); break;
      case Kind::kToReal: r[i.dst].real = integer_to_real(r[i.a].integer, i.flag, i.dtype); break;
      case Kind::kRound: r[i.dst].real = round_real(i.dtype, r[i.a].real); break;
      case Kind::kCheckDivisor:
        if (r[i.a].integer == 0) return fail(kDivisionByZero);
        break;
      case Kind::kMove: r[i.dst] = r[i.a]; break;
      case Kind::kJump: pc = i.target; break;
      case Kind::kJumpIfFalse:
        if (r[i.a].integer == 0) pc = i.target;
        break;
      case Kind::kAddress: {
        const int64_t index = r[i.b].integer, extent = views_[i.buffer].dims[i.axis];
        if (index < 0 || index >= extent) return fail(out_of_range(code_->buffers()[i.buffer], i.axis, index, extent));
        r[i.dst].integer = i.a < 0 ? index : r[i.a].integer * extent + index;
        break;
      }
      case Kind::kLoad:
        r[i.dst] = read_element(views_[i.buffer].data, views_[i.buffer].storage, i.a < 0 ? 0 : r[i.a].integer);
        break;
    }
  }
  return true;
}

}  // namespace isomer::te::interpreter
