#include "graph/ops/same_arithmetic.h"

#include <algorithm>
#include <map>

#include "graph/equal.h"
#include "graph/ops/pattern.h"

namespace isomer::ops {
namespace {

/// A factor of a product, or what it is divided by; an addend.
struct Operand {
  ValueId value;
  bool is_divisor = false;
};
using Operands = std::vector<Operand>;

/// What is squared again and again has more: the last ones stay products then.
constexpr size_t kMostOperands = 64;

class Comparison {
 public:
  Comparison(const Graph& first, const Graph& second) : graphs_{first, second} {}

  bool same(ValueId a, ValueId b) {
    if (!a.valid() || !b.valid()) return a.valid() == b.valid();
    const auto [known, is_new] = known_.try_emplace({a, b}, false);
    if (is_new) known_[{a, b}] = look(a, b);
    return known_.at({a, b});
  }

 private:
  const Value& value(int side, ValueId id) const { return graphs_[side].value(id); }

  /// Graphs have no cycle, and values are compared with values below those that asked.
  bool look(ValueId a, ValueId b) {
    const Value &x = value(0, a), &y = value(1, b);
    if (x.type != y.type || x.constant.has_value() != y.constant.has_value()) return false;
    if (x.constant) return x.constant->same_contents(*y.constant);
    if (is_float(x.type.dtype)) {
      const auto factors = std::pair(factors_of(0, a), factors_of(1, b));
      if (factors.first.size() > 1 || factors.second.size() > 1 || factors.first[0].is_divisor)
        return same(factors.first, factors.second);
      const auto addends = std::pair(addends_of(0, a), addends_of(1, b));
      if (addends.first.size() > 1 || addends.second.size() > 1) return same(addends.first, addends.second);
    }
    if (x.producer.valid() != y.producer.valid()) return false;
    if (!x.producer.valid()) return number(0, a) == number(1, b);
    return x.output_index == y.output_index &&
           do_the_same(graphs_[0].node(x.producer), graphs_[1].node(y.producer),
                       [&](ValueId left, ValueId right) { return same(left, right); });
  }

  bool same(const Operands& first, Operands second) {
    if (first.size() != second.size()) return false;
    for (const Operand& operand : first) {
      const auto found = std::find_if(second.begin(), second.end(), [&](const Operand& other) {
        return other.is_divisor == operand.is_divisor && same(operand.value, other.value);
      });
      if (found == second.end()) return false;
      second.erase(found);
    }
    return true;
  }

  std::ptrdiff_t number(int side, ValueId id) const {
    const auto& inputs = graphs_[side].inputs();
    return std::find(inputs.begin(), inputs.end(), id) - inputs.begin();
  }

  Operands factors_of(int side, ValueId id) const {
    Operands factors;
    collect(side, {id}, factors);
    return factors;
  }

  /// What the operand is a product of.
  void collect(int side, Operand operand, Operands& factors) const {
    const Pattern pattern(graphs_[side]);
    const auto [id, is_divisor] = operand;
    if (factors.size() >= kMostOperands) return factors.push_back(operand);
    if (const Node* product = pattern.producer(id, "Mul")) {
      for (const ValueId input : product->inputs) collect(side, {input, is_divisor}, factors);
    } else if (const Node* quotient = pattern.producer(id, "Div")) {
      const bool is_one =
          pattern.scalar(quotient->inputs[0]) == 1.0 && value(side, quotient->inputs[0]).type.shape->empty();
      if (!is_one) collect(side, {quotient->inputs[0], is_divisor}, factors);
      collect(side, {quotient->inputs[1], !is_divisor}, factors);
    } else if (const Node* reciprocal = pattern.producer(id, "Reciprocal")) {
      collect(side, {reciprocal->inputs[0], !is_divisor}, factors);
    } else if (const auto [base, times] = power_of(side, id); times > 0) {
      for (int k = 0; k < times; ++k) collect(side, {base, is_divisor}, factors);
    } else {
      factors.push_back(operand);
    }
  }

  /// The base of a square or cube, and which of them it is; 0: neither.
  std::pair<ValueId, int> power_of(int side, ValueId id) const {
    const Pattern pattern(graphs_[side]);
    const Node* power = pattern.producer(id, "Pow");
    if (!power || value(side, id).type != value(side, power->inputs[0]).type) return {};
    const auto exponent = pattern.scalar(power->inputs[1]);
    return {power->inputs[0], exponent == 2.0 ? 2 : exponent == 3.0 ? 3 : 0};
  }

  Operands addends_of(int side, ValueId id) const {
    Operands addends;
    std::vector<ValueId> pending = {id};
    while (!pending.empty()) {
      const ValueId next = pending.back();
      pending.pop_back();
      const Node* sum = Pattern(graphs_[side]).producer(next, "Add");
      if (sum && addends.size() + pending.size() < kMostOperands) {
        pending.insert(pending.end(), sum->inputs.begin(), sum->inputs.end());
      } else {
        addends.push_back({next});
      }
    }
    return addends;
  }

  const Graph graphs_[2];
  std::map<std::pair<ValueId, ValueId>, bool> known_;
};

}  // namespace

bool same_arithmetic(const Graph& first, const Graph& second) {
  if (first.outputs().size() != 1 || second.outputs().size() != 1 || first.inputs().size() != second.inputs().size())
    return false;
  for (size_t k = 0; k < first.inputs().size(); ++k)
    if (first.value(first.inputs()[k]).type != second.value(second.inputs()[k]).type) return false;
  return Comparison(first, second).same(first.outputs()[0], second.outputs()[0]);
}

}  // namespace isomer::ops
