#include "graph/te/interpret/strip.h"

#include <algorithm>

#include "graph/te/integer.h"
#include "graph/te/interpret/arithmetic.h"

namespace isomer::te::interpreter {
namespace {

/// How many lanes from this one on have the predicate's present truth, given the sum and its stride.
int64_t lanes_of_same_truth(int64_t sum, int64_t stride, bool equality, int64_t lanes) {
  if (stride == 0) return lanes;
  if (!equality && stride == 1) return sum < 0 ? std::min(lanes, -sum) : lanes;
  if (!equality && stride == -1) return sum >= 0 ? std::min(lanes, sum + 1) : lanes;
  if (equality) {
    if (sum == 0) return 1;
    if (sum % stride != 0 || (sum < 0) == (stride < 0)) return lanes;
    return std::min(lanes, -(sum / stride));
  }
  if (stride > 0) return sum < 0 ? std::min(lanes, -floor_div(sum, stride)) : lanes;
  return sum >= 0 ? std::min(lanes, sum / -stride + 1) : lanes;
}

}  // namespace

Frame::Frame(const StripProgram& p, int64_t max_lanes)
    : at(p.registers()),
      own(p.registers()),
      slots(p.slots()),
      base(p.slots()),
      quotients(p.quotients),
      truths(p.predicates.size()),
      constants(p.constants.size()),
      buffers(p.buffers.size()),
      memory(p.scratch_areas * (max_lanes + 8) * 8),
      program(&p) {
  for (int reg = 0; reg < p.registers(); ++reg)
    if (p.scratch[reg] >= 0) own[reg] = at[reg] = memory.data() + p.scratch[reg] * (max_lanes + 8) * 8;
  for (size_t k = 0; k < constants.size(); ++k) {
    constants[k] = p.constants[k].second;
    at[p.constants[k].first] = &constants[k];
  }
  for (size_t k = 0; k < truths.size(); ++k) at[p.predicates[k].reg] = &truths[k];
  for (const auto& [reg, quotient] : p.quotient_registers) at[reg] = &quotients[quotient];
  reset();
}

void Frame::reset() { base = program->start; }

void Frame::advance(int iterator, int64_t steps) {
  const int64_t* factors = program->factors[iterator].data();
  for (size_t k = 0; k < base.size(); ++k) base[k] = wrapping::add(base[k], wrapping::mul(steps, factors[k]));
}

bool Frame::run(int64_t count) {
  slots = base;
  for (const Correction& c : program->corrections) {
    if (c.kind == Correction::Kind::kDivide)
      quotients[c.index] = floor_div(slots[c.slot], c.factor);
    else
      slots[c.slot] = wrapping::add(slots[c.slot], wrapping::mul(c.factor, quotients[c.index]));
  }
  for (lane = 0; lane < count;) {
    lanes = count - lane;
    for (size_t k = 0; k < truths.size(); ++k) {
      const UniformPredicate& p = program->predicates[k];
      const int64_t sum = slots[p.slot];
      truths[k] = p.equality ? sum == 0 : sum < 0;
      lanes = lanes_of_same_truth(sum, program->strides[p.slot], p.equality, lanes);
    }
    if (!run_part()) return false;
    lane += lanes;
    if (lane < count)
      for (size_t k = 0; k < slots.size(); ++k)
        slots[k] = wrapping::add(slots[k], wrapping::mul(lanes, program->strides[k]));
  }
  return true;
}

bool Frame::run_part() {
  const Instruction* const code = program->code.data();
  const int size = static_cast<int>(program->code.size());
  for (int pc = 0; pc < size;) {
    const Instruction& i = code[pc++];
    switch (i.control) {
      case Instruction::Control::kRun: i.run(i, *this); break;
      case Instruction::Control::kJump: pc = i.target; break;
      case Instruction::Control::kJumpIfFalse:
        if (*static_cast<const int64_t*>(at[i.a]) == 0) pc = i.target;
        break;
      case Instruction::Control::kJumpIfNone: {
        const auto* mask = static_cast<const int64_t*>(at[i.a]);
        if (std::all_of(mask, mask + (i.uniform ? 1 : lanes), [](int64_t lane) { return lane == 0; })) pc = i.target;
        break;
      }
    }
    if (!failure.empty()) return false;
  }
  return true;
}

}  // namespace isomer::te::interpreter
