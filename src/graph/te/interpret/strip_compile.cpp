#include "graph/te/interpret/strip_compile.h"

#include <algorithm>
#include <optional>

#include "graph/te/interpret/arithmetic.h"
#include "util/check.h"

namespace isomer::te::interpreter {
namespace {

bool is_eight_bytes(Storage storage) { return storage == Storage::kDouble || storage == Storage::kInt64; }

class Emitter {
 public:
  Emitter(const Lowered& lowered, const std::vector<Storage>& storages, int vector)
      : lowered_(lowered),
        storages_(storages),
        vector_(vector),
        variance_(variance(lowered, vector)),
        known_(lowered.nodes.size()),
        quotient_of_(lowered.nodes.size(), -1) {
    program_.vector = vector;
    program_.buffers = lowered.buffers;
    program_.factors.resize(lowered.iterators.size());
  }

  StripProgram compile(const std::vector<int>& roots, Results results) {
    const bool direct = results == Results::kToLanes || vector_ < 0 || lowered_.output.factor_of(vector_) == 1;
    program_.output_slot = slot(lowered_.output);
    size_t accumulators = 0;
    for (const Node& node : lowered_.nodes)
      if (node.kind == Node::Kind::kAccumulator)
        accumulators = std::max(accumulators, static_cast<size_t>(node.integer) + 1);
    const bool reads_accumulators = accumulators > 0;
    std::vector<int> targets(std::max(roots.size(), accumulators), -1);
    for (size_t k = 0; k < targets.size(); ++k) {
      if (!direct) continue;
      targets[k] = unowned();
      Instruction bind =
          instruction(results == Results::kToLanes ? kernels::bind_lanes() : kernels::bind_output(), targets[k]);
      bind.buffer = static_cast<int>(k);
      bind.slot = program_.output_slot;
      program_.code.push_back(bind);
    }
    accumulators_ = targets;
    if (roots.size() == 1 && direct) {
      if (!emit_multiply_add(roots[0], targets[0])) emit_to(roots[0], targets[0]);
    } else {
      // What a component reads of the others must not be overwritten before all were computed.
      std::vector<Value> values;
      for (size_t k = 0; k < roots.size(); ++k) {
        const int target = direct && !reads_accumulators ? targets[k] : -1;
        if (target >= 0)
          emit_to(roots[k], target);
        else
          values.push_back(emit(roots[k]));
      }
      for (size_t k = 0; k < values.size(); ++k)
        direct ? move(values[k], targets[k]) : store(values[k], static_cast<int>(k));
    }
    assign_scratch();
    return std::move(program_);
  }

 private:
  struct Value {
    int reg;
    bool varies;
  };

  /// A register that writes to scratch memory.
  int fresh() {
    owns_.push_back(true);
    return static_cast<int>(owns_.size()) - 1;
  }
  /// A register that refers to memory elsewhere.
  int unowned() {
    owns_.push_back(false);
    return static_cast<int>(owns_.size()) - 1;
  }
  static Form form(const Value& a, const Value& b) {
    return a.varies == b.varies ? Form::kBoth : a.varies ? Form::kLeft : Form::kRight;
  }

  Instruction instruction(Instruction::Run run, int dst, int a = -1, int b = -1, int c = -1) {
    Instruction i;
    i.run = run;
    i.dst = dst;
    i.a = a;
    i.b = b;
    i.c = c;
    return i;
  }
  /// Appends an instruction with one result, in `target` unless that is -1.
  Value result(Instruction i, bool varies, int target = -1) {
    i.dst = target >= 0 && varies == (vector_ >= 0) ? target : fresh();
    i.uniform = !varies;
    program_.code.push_back(i);
    return {i.dst, varies};
  }
  Value constant(Cell value) {
    const int reg = unowned();
    program_.constants.emplace_back(reg, value);
    return {reg, false};
  }

  // Jumps
  int jump(Instruction::Control control, Value condition = {-1, false}) {
    Instruction i;
    i.control = control;
    i.a = condition.reg;
    i.uniform = !condition.varies;
    program_.code.push_back(i);
    return static_cast<int>(program_.code.size()) - 1;
  }
  void land(int jump) { program_.code[jump].target = static_cast<int>(program_.code.size()); }

  /// Emits with what is known restored afterwards: it may not have run.
  template <class F>
  void in_scope(F&& emit) {
    const size_t known = known_order_.size();
    emit();
    for (size_t i = known; i < known_order_.size(); ++i) known_[known_order_[i]].reset();
    known_order_.resize(known);
  }

  Value emit(int id, int target = -1) {
    if (known_[id]) return *known_[id];
    const Value value = emit_new(id, target);
    known_[id] = value;
    known_order_.push_back(id);
    return value;
  }

  void move(Value value, int target) {
    if (value.reg == target) return;
    program_.code.push_back(
        instruction(value.varies || vector_ < 0 ? kernels::copy() : kernels::fill(), target, value.reg));
  }
  /// Leaves the value in all lanes of the memory that `target` owns.
  void emit_to(int id, int target) { move(emit(id, target), target); }
  void store(Value value, int component) {
    Instruction i = instruction(kernels::store(value.varies), -1, value.reg);
    i.buffer = component;
    i.slot = program_.output_slot;
    program_.code.push_back(i);
  }

  Value emit_new(int id, int target) {
    const Node& node = lowered_.nodes[id];
    switch (node.kind) {
      case Node::Kind::kReal: return constant({.real = node.real});
      case Node::Kind::kInteger: return constant({.integer = node.integer});
      case Node::Kind::kLinear: return emit_linear(node.linear, target);
      case Node::Kind::kFloorDiv: return emit_floor_div(id, target);
      case Node::Kind::kPredicate: return emit_predicate(id, target);
      case Node::Kind::kUnary: return emit_unary(node, target);
      case Node::Kind::kBinary: return emit_binary(node, target);
      case Node::Kind::kSelect: return emit_select(id, target);
      case Node::Kind::kCast: return emit_cast(node, target);
      case Node::Kind::kRetype: return emit(node.a, target);
      case Node::Kind::kWrap: return one(kernels::wrap(node.dtype), emit(node.a), target);
      case Node::Kind::kLoad: return emit_load(id, target);
      case Node::Kind::kAccumulator: return {accumulators_.at(node.integer), vector_ >= 0};
    }
    return {};
  }

  Value one(Instruction::Run run, Value a, int target) { return result(instruction(run, -1, a.reg), a.varies, target); }
  Value two(Instruction::Run run, Value a, Value b, int target) {
    return result(instruction(run, -1, a.reg, b.reg), a.varies || b.varies, target);
  }

  Value emit_unary(const Node& node, int target) {
    const Node& operand = lowered_.nodes[node.a];
    const Value a = emit(node.a);
    return one(operand.is_real() ? kernels::unary_real(node.unary)
                                 : kernels::unary_integer(node.unary, operand.dtype == DataType::kBool),
               a, target);
  }

  Value emit_binary(const Node& node, int target) {
    const Value a = emit(node.a);
    const Value b = emit(node.b);
    const DataType dtype = lowered_.nodes[node.a].dtype;
    if (is_float(dtype)) return two(kernels::binary_real(node.binary, form(a, b)), a, b, target);
    if (node.checked) {
      const bool masked = mask_ && b.varies;
      Instruction check = instruction(kernels::check_divisor(masked), -1, b.reg, -1, masked ? mask_->reg : -1);
      check.uniform = !b.varies;
      program_.code.push_back(check);
    }
    return two(kernels::binary_integer(node.binary, form(a, b), dtype == DataType::kUInt64), a, b, target);
  }

  Value emit_cast(const Node& node, int target) {
    const DataType from = lowered_.nodes[node.a].dtype;
    const Value a = emit(node.a);
    if (!node.is_real()) return one(kernels::to_integer(node.dtype), a, target);
    if (!is_float(from)) return one(kernels::to_real(node.dtype, from == DataType::kUInt64), a, target);
    return node.dtype == DataType::kFloat64 ? a : one(kernels::round(node.dtype), a, target);
  }

  // Sums
  int slot(const Linear& linear) {
    for (size_t k = 0; k < slot_sums_.size(); ++k)
      if (slot_sums_[k] == linear) return static_cast<int>(k);
    const int id = static_cast<int>(slot_sums_.size());
    slot_sums_.push_back(linear);
    program_.start.push_back(linear.constant);
    for (auto& factors : program_.factors) factors.push_back(0);
    program_.strides.push_back(vector_ >= 0 ? linear.factor_of(vector_) : 0);
    for (const Term& term : linear.terms) {
      if (is_iterator(term.atom))
        program_.factors[term.atom][id] = term.factor;
      else
        program_.corrections.push_back({Correction::Kind::kAdd, id, quotient(node_of(term.atom)), term.factor});
    }
    return id;
  }

  int quotient(int id) {
    if (quotient_of_[id] >= 0) return quotient_of_[id];
    const Node& node = lowered_.nodes[id];
    const int numerator = slot(node.linear);
    const int index = program_.quotients++;
    program_.corrections.push_back({Correction::Kind::kDivide, numerator, index, node.integer});
    return quotient_of_[id] = index;
  }

  /// The part of the sum that slots can hold, and the rest.
  std::pair<Linear, std::vector<Term>> divide(const Linear& linear) {
    std::pair<Linear, std::vector<Term>> parts{{linear.constant, {}}, {}};
    for (const Term& term : linear.terms) {
      const bool of_slots = is_iterator(term.atom) || variance_.is_quotient[node_of(term.atom)];
      (of_slots ? parts.first.terms : parts.second).push_back(term);
    }
    return parts;
  }

  Value emit_slot(const Linear& linear, int target) {
    if (linear.is_constant()) return constant({.integer = linear.constant});
    Instruction i = instruction(kernels::iota(), -1);
    i.slot = slot(linear);
    return result(i, program_.strides[i.slot] != 0, target);
  }

  Value emit_linear(const Linear& linear, int target) {
    const auto [base, rest] = divide(linear);
    if (rest.empty()) return emit_slot(base, target);
    Value sum{-1, false};
    size_t first = 0;
    if (base.is_constant() && base.constant == 0 && rest[0].factor == 1) {
      sum = emit(node_of(rest[0].atom));
      first = 1;
    } else {
      sum = emit_slot(base, -1);
    }
    for (size_t k = first; k < rest.size(); ++k) {
      const Value term = emit(node_of(rest[k].atom));
      Instruction i = instruction(kernels::add_scaled(form(sum, term)), -1, sum.reg, term.reg);
      i.immediate = rest[k].factor;
      sum = result(i, sum.varies || term.varies, k + 1 == rest.size() ? target : -1);
    }
    return sum;
  }

  Value emit_floor_div(int id, int target) {
    if (variance_.is_quotient[id]) {
      const int reg = unowned();
      program_.quotient_registers.emplace_back(reg, quotient(id));
      return {reg, false};
    }
    const Node& node = lowered_.nodes[id];
    const Value numerator = emit_linear(node.linear, -1);
    Instruction i = instruction(kernels::floor_divide(), -1, numerator.reg);
    i.immediate = node.integer;
    return result(i, numerator.varies, target);
  }

  Value emit_predicate(int id, int target) {
    const Node& node = lowered_.nodes[id];
    if (!variance_.fits_slot(node.linear)) {
      const Value sum = emit_linear(node.linear, -1);
      return one(node.equality ? kernels::is_zero() : kernels::is_negative(), sum, target);
    }
    const int sum = slot(node.linear);
    for (const UniformPredicate& p : program_.predicates)
      if (p.slot == sum && p.equality == node.equality) return {p.reg, false};
    const int reg = unowned();
    program_.predicates.push_back({sum, node.equality, reg});
    return {reg, false};
  }

  // Selects
  Value emit_select(int id, int target) {
    const Node& node = lowered_.nodes[id];
    if (variance_.varies[node.a]) return emit_lane_select(node, emit(node.a), target);
    return emit_branch(id, target);
  }

  /// All of these together are the condition.
  void emit_conjuncts(int id, std::vector<Value>& conjuncts) {
    const Node& node = lowered_.nodes[id];
    if (!known_[id] && node.kind == Node::Kind::kBinary && node.binary == BinaryOp::kAnd &&
        node.dtype == DataType::kBool) {
      emit_conjuncts(node.a, conjuncts);
      emit_conjuncts(node.b, conjuncts);
    } else {
      conjuncts.push_back(emit(id));
    }
  }

  Value emit_branch(int id, int target) {
    const Node& node = lowered_.nodes[id];
    std::vector<Value> conjuncts;
    emit_conjuncts(node.a, conjuncts);
    // What both sides need is computed before they part, so that nested selects don't repeat it at each level.
    emit_shared(node.b, node.c);
    const bool varies = variance_.varies[id];
    const int reg = target >= 0 && varies == (vector_ >= 0) ? target : fresh();
    const auto emit_side = [&](int side) {
      in_scope([&] {
        const Value value = emit(side, varies ? reg : -1);
        if (value.reg == reg) return;
        Instruction i = instruction(value.varies == varies ? kernels::copy() : kernels::fill(), reg, value.reg);
        i.uniform = !varies;
        program_.code.push_back(i);
      });
    };
    std::vector<int> tests;
    for (const Value& conjunct : conjuncts) tests.push_back(jump(Instruction::Control::kJumpIfFalse, conjunct));
    emit_side(node.b);
    const int skip = jump(Instruction::Control::kJump);
    for (const int test : tests) land(test);
    emit_side(node.c);
    land(skip);
    return {reg, varies};
  }

  Value emit_lane_select(const Node& node, Value condition, int target) {
    const auto emit_side = [&](int side, bool truth) -> Value {
      if (!lowered_.nodes[side].conditional) return emit(side);
      const std::optional<Value> outer = mask_;
      const Value mask = mask_of(condition, truth);
      const int reg = fresh();
      const int test = jump(Instruction::Control::kJumpIfNone, mask);
      in_scope([&] {
        mask_ = mask;
        const Value value = emit(side);
        program_.code.push_back(instruction(value.varies ? kernels::copy() : kernels::fill(), reg, value.reg));
      });
      mask_ = outer;
      land(test);
      return {reg, true};
    };
    const Value then = emit_side(node.b, true);
    const Value otherwise = emit_side(node.c, false);
    return result(
        instruction(kernels::blend(then.varies, otherwise.varies), -1, then.reg, otherwise.reg, condition.reg), true,
        target);
  }

  Value mask_of(Value condition, bool truth) {
    if (!mask_) return truth ? condition : one(kernels::unary_integer(UnaryOp::kNot, true), condition, -1);
    return two(truth ? kernels::binary_integer(BinaryOp::kAnd, form(*mask_, condition), false)
                     : kernels::and_not(form(*mask_, condition)),
               *mask_, condition, -1);
  }

  void reach(int id, std::vector<uint8_t>& reached, uint8_t mark) {
    if (reached[id] & mark) return;
    reached[id] |= mark;
    for_each_operand(lowered_.nodes[id], [&](int operand) { reach(operand, reached, mark); });
  }
  void emit_shared(int then, int otherwise) {
    std::vector<uint8_t> reached(std::max(then, otherwise) + 1, 0);
    reach(then, reached, 1);
    reach(otherwise, reached, 2);
    for (int id = static_cast<int>(reached.size()) - 1; id >= 0; --id) {
      const Node& node = lowered_.nodes[id];
      const bool computes = node.kind == Node::Kind::kUnary || node.kind == Node::Kind::kBinary ||
                            node.kind == Node::Kind::kSelect || node.kind == Node::Kind::kCast;
      if (reached[id] == 3 && computes && !node.conditional) emit(id);
    }
  }

  // Loads
  void emit_check(const Check& check, int buffer, bool masked) {
    Instruction i;
    i.buffer = buffer;
    i.axis = check.axis;
    i.immediate = check.extent;
    const auto [base, rest] = divide(check.index);
    if (rest.empty() && check.bounded && !masked) {
      i.run = kernels::check_slot();
      i.slot = slot(base);
      i.uniform = program_.strides[i.slot] == 0;
    } else {
      const Value index = emit_linear(check.index, -1);
      const bool under_mask = masked && index.varies;
      i.run = kernels::check_lanes(under_mask);
      i.a = index.reg;
      i.c = under_mask ? mask_->reg : -1;
      i.uniform = !index.varies;
    }
    program_.code.push_back(i);
  }

  Value emit_load(int id, int target) {
    const Node& node = lowered_.nodes[id];
    const bool masked = mask_ && node.conditional && variance_.varies[id];
    for (const Check& check : node.checks) emit_check(check, node.buffer, masked);
    const Storage storage = storages_[node.buffer];
    const auto [base, rest] = divide(node.linear);
    const bool scattered =
        std::any_of(rest.begin(), rest.end(), [&](const Term& term) { return variance_.varies[node_of(term.atom)]; });
    if (scattered || masked) {
      const Value address = emit_linear(node.linear, -1);
      Instruction i = instruction(kernels::gather(storage, masked), -1, address.reg, -1, masked ? mask_->reg : -1);
      i.buffer = node.buffer;
      return result(i, true, target);
    }
    const Value extra = rest.empty() ? Value{-1, false} : emit_linear({0, rest}, -1);
    Instruction i = instruction(kernels::load(storage), -1, extra.reg);
    i.buffer = node.buffer;
    i.slot = slot(base);
    const int64_t stride = program_.strides[i.slot];
    if (is_eight_bytes(storage) && (stride == 1 || stride == 0)) {
      i.run = kernels::point();
      i.dst = stride != 0 && target >= 0 && owns_[target] ? target : unowned();
      program_.code.push_back(i);
      return {i.dst, stride != 0};
    }
    return result(i, stride != 0, target);
  }

  /// accumulator + a * b into the accumulator in one pass.
  bool emit_multiply_add(int root, int target) {
    const Node& sum = lowered_.nodes[root];
    if (sum.kind != Node::Kind::kBinary || sum.binary != BinaryOp::kAdd || !sum.is_real()) return false;
    for (const auto& [accumulator, product] : {std::pair(sum.a, sum.b), std::pair(sum.b, sum.a)}) {
      const Node& factor = lowered_.nodes[product];
      if (lowered_.nodes[accumulator].kind != Node::Kind::kAccumulator) continue;
      if (factor.kind != Node::Kind::kBinary || factor.binary != BinaryOp::kMul) continue;
      int a = factor.a, b = factor.b;
      if (!variance_.varies[a] || (is_native_run(b) && !is_native_run(a))) std::swap(a, b);
      if (!variance_.varies[a]) return false;
      Instruction i = instruction(nullptr, target);
      const bool native = a != b && is_native_run(a);
      if (native) {
        for (const Check& check : lowered_.nodes[a].checks) emit_check(check, lowered_.nodes[a].buffer, false);
        i.buffer = lowered_.nodes[a].buffer;
        i.slot = slot(lowered_.nodes[a].linear);
      } else {
        i.a = emit(a).reg;
      }
      const Value second = emit(b);
      i.b = second.reg;
      i.run = kernels::multiply_add(native, second.varies);
      program_.code.push_back(i);
      return true;
    }
    return false;
  }
  /// A load of consecutive float32s.
  bool is_native_run(int id) {
    const Node& node = lowered_.nodes[id];
    return node.kind == Node::Kind::kLoad && storages_[node.buffer] == Storage::kFloat32 &&
           variance_.fits_slot(node.linear) && vector_ >= 0 && node.linear.factor_of(vector_) == 1;
  }

  /// Registers whose lives don't overlap share scratch memory.
  void assign_scratch() {
    const int registers = static_cast<int>(owns_.size());
    std::vector<int> first(registers, -1), last(registers, -1);
    for (int pc = 0; pc < static_cast<int>(program_.code.size()); ++pc) {
      const Instruction& i = program_.code[pc];
      for (const int reg : {i.dst, i.a, i.b, i.c}) {
        if (reg < 0) continue;
        if (first[reg] < 0) first[reg] = pc;
        last[reg] = pc;
      }
    }
    program_.scratch.assign(registers, -1);
    std::vector<int> by_first;
    for (int reg = 0; reg < registers; ++reg)
      if (owns_[reg] && first[reg] >= 0) by_first.push_back(reg);
    std::sort(by_first.begin(), by_first.end(),
              [&](int a, int b) { return std::pair(first[a], a) < std::pair(first[b], b); });
    std::vector<int> busy_until;
    for (const int reg : by_first) {
      auto area = std::find_if(busy_until.begin(), busy_until.end(), [&](int until) { return until < first[reg]; });
      if (area == busy_until.end()) area = busy_until.insert(area, 0);
      *area = last[reg];
      program_.scratch[reg] = static_cast<int>(area - busy_until.begin());
    }
    program_.scratch_areas = static_cast<int>(busy_until.size());
  }

  const Lowered& lowered_;
  const std::vector<Storage>& storages_;
  const int vector_;
  const Variance variance_;
  std::vector<std::optional<Value>> known_;  ///< by node: where its value is
  std::vector<int> known_order_;
  std::vector<int> quotient_of_;
  std::vector<Linear> slot_sums_;
  std::vector<int> accumulators_;
  std::vector<bool> owns_;
  std::optional<Value> mask_;  ///< the lanes that a select around chose
  StripProgram program_;
};

}  // namespace

StripProgram compile_strip(const Lowered& lowered, const std::vector<Storage>& storages, const std::vector<int>& roots,
                           int vector, Results results) {
  return Emitter(lowered, storages, vector).compile(roots, results);
}

bool Variance::fits_slot(const Linear& linear) const {
  return std::all_of(linear.terms.begin(), linear.terms.end(),
                     [&](const Term& term) { return is_iterator(term.atom) || is_quotient[node_of(term.atom)]; });
}

Variance variance(const Lowered& lowered, int vector) {
  const size_t count = lowered.nodes.size();
  Variance result{std::vector<bool>(count, false), std::vector<bool>(count, false)};
  for (size_t id = 0; id < count; ++id) {
    const Node& node = lowered.nodes[id];
    bool varies = vector >= 0 && node.kind == Node::Kind::kAccumulator;
    for (const int operand : {node.a, node.b, node.c}) varies |= operand >= 0 && result.varies[operand];
    const bool in_slot = result.fits_slot(node.linear);
    if (node.kind != Node::Kind::kPredicate || !in_slot)
      for (const Term& term : node.linear.terms)
        varies |= is_iterator(term.atom) ? term.atom == vector : result.varies[node_of(term.atom)];
    result.varies[id] = varies;
    result.is_quotient[id] = node.kind == Node::Kind::kFloorDiv && !varies && in_slot;
  }
  return result;
}

}  // namespace isomer::te::interpreter
