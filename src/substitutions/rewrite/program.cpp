#include "substitutions/rewrite/program.h"

#include <algorithm>

#include "graph/edit.h"
#include "util/check.h"

namespace isomer::substitutions {

const OpDef* Program::op(int application) const {
  const int operation = applications_[static_cast<size_t>(application)].operation;
  return operation < 0 ? nullptr : theory().signatures().operation(operation).op;
}

std::span<const int> Program::arguments(int application) const {
  const Application& there = applications_[static_cast<size_t>(application)];
  return std::span(arguments_)
      .subspan(static_cast<size_t>(there.first_argument), static_cast<size_t>(there.argument_count));
}

const te::Number* Program::number(int value) const {
  const Value& there = values_[static_cast<size_t>(value)];
  if (there.producer >= 0) return nullptr;
  const auto& number = origin_->leaves[static_cast<size_t>(there.index)].number;
  return number ? &*number : nullptr;
}

std::span<const int> Program::Uses::of(int value) const {
  const auto from = static_cast<size_t>(first[static_cast<size_t>(value)]),
             to = static_cast<size_t>(first[static_cast<size_t>(value) + 1]);
  return std::span(readers).subspan(from, to - from);
}

Program::Uses Program::uses() const {
  Uses result;
  result.first.assign(values_.size() + 1, 0);
  const auto for_each = [&](const auto& visit) {
    for (int id = 0; id < application_count(); ++id) {
      if (!contains(id)) continue;
      const auto list = arguments(id);
      for (size_t k = 0; k < list.size(); ++k)
        if (list[k] >= 0 && std::find(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(k), list[k]) ==
                                list.begin() + static_cast<std::ptrdiff_t>(k))
          visit(id, list[k]);
    }
  };
  for_each([&](int, int value) { ++result.first[static_cast<size_t>(value) + 1]; });
  for (size_t k = 1; k < result.first.size(); ++k) result.first[k] += result.first[k - 1];
  result.readers.resize(static_cast<size_t>(result.first.back()));
  std::vector<int> next(result.first.begin(), result.first.end() - 1);
  for_each(
      [&](int reader, int value) { result.readers[static_cast<size_t>(next[static_cast<size_t>(value)]++)] = reader; });
  return result;
}

std::optional<std::vector<int>> Program::order() const {
  enum : uint8_t { kUnseen, kOpen, kDone };
  std::vector<uint8_t> state(applications_.size(), kUnseen);
  std::vector<int> result;
  result.reserve(applications_.size());
  std::vector<std::pair<int, int>> path;  // an application and how many of its arguments were followed
  for (int start = 0; start < application_count(); ++start) {
    if (!contains(start) || state[static_cast<size_t>(start)] != kUnseen) continue;
    path.emplace_back(start, 0);
    while (!path.empty()) {
      const int id = path.back().first;
      const auto list = arguments(id);
      state[static_cast<size_t>(id)] = kOpen;
      if (path.back().second == static_cast<int>(list.size())) {
        state[static_cast<size_t>(id)] = kDone;
        result.push_back(id);
        path.pop_back();
        continue;
      }
      const int argument = list[static_cast<size_t>(path.back().second++)];
      const int producer = argument < 0 ? -1 : value(argument).producer;
      if (producer < 0 || state[static_cast<size_t>(producer)] == kDone) continue;
      if (state[static_cast<size_t>(producer)] == kOpen) return std::nullopt;
      path.emplace_back(producer, 0);
    }
  }
  return result;
}

Hash128 Program::hash() const {
  enum : uint64_t { kOmitted, kLeaf, kNumber, kOpaqueNode, kApplied };
  std::vector<Hash128> hashes(values_.size());
  for (size_t k = 0; k < values_.size(); ++k) {
    if (values_[k].producer >= 0) continue;
    const auto index = static_cast<size_t>(values_[k].index);
    const Leaf& leaf = origin_->leaves[index];
    Hasher hasher;
    if (leaf.number) {
      hasher.add(kNumber).add(static_cast<uint64_t>(theory().signatures().type(leaf.type).dtype));
      leaf.number->hash_into(hasher);
    } else {
      hasher.add(kLeaf).add(index);
    }
    hashes[k] = hasher.finish();
  }
  const auto sequence = order();
  CHECK(sequence) << "a program without cycle expected";
  for (const int id : *sequence) {
    const Application& there = application(id);
    Hasher hasher;
    if (there.operation == kOpaque)
      hasher.add(kOpaqueNode).add(static_cast<uint64_t>(there.node.index));
    else
      hasher.add(kApplied).add(theory().operation_hash(there.operation));
    const auto list = arguments(id);
    const auto of = [&](int argument) { return argument < 0 ? Hash128() : hashes[static_cast<size_t>(argument)]; };
    const bool turned = list.size() == 2 && of(list[1]) < of(list[0]) && theory().may_commute(op(id)) &&
                        theory().commutes(op(id), value(list[0]).type, value(list[1]).type);
    for (size_t k = 0; k < list.size(); ++k) hasher.add(of(list[turned ? 1 - k : k]));
    for (int k = 0; k < there.value_count; ++k)
      hashes[static_cast<size_t>(there.first_value + k)] = Hasher(hasher).add(static_cast<uint64_t>(k)).finish();
  }
  Hasher hasher;
  for (const int output : outputs_) hasher.add(hashes[static_cast<size_t>(output)]);
  return hasher.finish();
}

int Program::add_leaf(int leaf) {
  const Leaf& added = origin_->leaves[static_cast<size_t>(leaf)];
  values_.push_back({-1, leaf, added.type, added.is_constant});
  return value_count() - 1;
}

int Program::add_number(const te::Number& number, DataType dtype) {
  const int type = theory().signatures().type_id(ValueType::tensor(dtype, {}));
  for (int id = 0; id < value_count(); ++id)
    if (value(id).producer < 0 && value(id).type == type && this->number(id) && *this->number(id) == number) return id;
  auto& leaves = origin_->leaves;
  const auto same = std::find_if(leaves.begin(), leaves.end(),
                                 [&](const Leaf& leaf) { return leaf.type == type && leaf.number == number; });
  const auto leaf = static_cast<int>(same - leaves.begin());
  if (same == leaves.end()) leaves.push_back({ValueId(), number, type, true});
  return add_leaf(leaf);
}

int Program::add_application(int operation, std::span<const int> arguments, std::span<const int> types, NodeId node) {
  const int id = application_count();
  bool is_constant = operation != kOpaque && (origin_->dequantized == Dequantized::kConstant ||
                                              !dequantizes(*theory().signatures().operation(operation).op));
  for (const int argument : arguments) is_constant = is_constant && value(argument).is_constant;
  applications_.push_back({operation, static_cast<int>(arguments_.size()), static_cast<int>(arguments.size()),
                           value_count(), static_cast<int>(types.size()), node});
  arguments_.insert(arguments_.end(), arguments.begin(), arguments.end());
  for (size_t k = 0; k < types.size(); ++k) values_.push_back({id, static_cast<int>(k), types[k], is_constant});
  return id;
}

void Program::set_argument(int application, int position, int value) {
  arguments_[static_cast<size_t>(applications_[static_cast<size_t>(application)].first_argument + position)] = value;
}

std::vector<int> Program::sweep() {
  std::vector<bool> needed(applications_.size());
  std::vector<int> open;
  const auto need = [&](int value_id) {
    const int producer = value_id < 0 ? -1 : value(value_id).producer;
    if (producer < 0 || needed[static_cast<size_t>(producer)]) return;
    needed[static_cast<size_t>(producer)] = true;
    open.push_back(producer);
  };
  for (const int output : outputs_) need(output);
  while (!open.empty()) {
    const int id = open.back();
    open.pop_back();
    for (const int argument : arguments(id)) need(argument);
  }
  std::vector<int> removed;
  for (int id = 0; id < application_count(); ++id) {
    if (needed[static_cast<size_t>(id)] || !contains(id)) continue;
    applications_[static_cast<size_t>(id)].operation = kRemoved;
    removed.push_back(id);
  }
  return removed;
}

}  // namespace isomer::substitutions
