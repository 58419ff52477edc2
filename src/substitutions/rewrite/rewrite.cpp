#include "substitutions/rewrite/rewrite.h"

#include <algorithm>

#include "graph/infer.h"

namespace isomer::substitutions {

std::optional<int> Rewrite::application(int operation, std::span<const Operand> operands, int output) {
  Theory& theory = program_.theory();
  std::vector<int> arguments, types;
  for (const Operand& operand : operands)
    if (!operand.number) types.push_back(program_.value(operand.value).type);
  const DataType dtype = theory.dtype_beside(types, condition_count(*theory.signatures().operation(operation).op));
  types.clear();
  for (const Operand& operand : operands) {
    arguments.push_back(operand.number ? program_.add_number(*operand.number, dtype) : operand.value);
    types.push_back(program_.value(arguments.back()).type);
  }
  const auto& applied = theory.signatures().apply(operation, types);
  if (!applied.ok() || output >= static_cast<int>(applied->types.size())) return std::nullopt;
  int application = find(applied->operation, arguments, types);
  if (application < 0) application = program_.add_application(applied->operation, arguments, applied->types);
  built_.push_back(application);
  return program_.application(application).first_value + output;
}

bool Rewrite::are_of(int application, const std::vector<int>& arguments, bool turned) const {
  const auto there = program_.arguments(application);
  if (!turned) return std::equal(there.begin(), there.end(), arguments.begin(), arguments.end());
  return there.size() == 2 && there[0] == arguments[1] && there[1] == arguments[0];
}

int Rewrite::find(int operation, const std::vector<int>& arguments, const std::vector<int>& types) const {
  const OpDef* op = program_.theory().signatures().operation(operation).op;
  const bool turns = arguments.size() == 2 && program_.theory().commutes(op, types[0], types[1]);
  const auto is_it = [&](int id) {
    return program_.application(id).operation == operation &&
           (are_of(id, arguments, false) || (turns && are_of(id, arguments, true)));
  };
  for (int id = before_; id < program_.application_count(); ++id)
    if (is_it(id)) return id;
  // Few are of the operation: looking at each costs less than knowing who reads what.
  for (int id = 0; id < before_; ++id)
    if (is_it(id)) return id;
  return -1;
}

std::vector<int> Rewrite::replace(std::span<const int> roots, std::span<const int> targets) {
  const auto replaced = [&](int value) {
    const auto root = std::find(roots.begin(), roots.end(), value);
    return root == roots.end() ? value : targets[static_cast<size_t>(root - roots.begin())];
  };
  std::vector<int> changed;
  for (int id = before_; id < program_.application_count(); ++id) changed.push_back(id);
  for (int id = 0; id < before_; ++id) {
    const auto arguments = program_.arguments(id);
    const auto is_root = [&](int value) { return std::find(roots.begin(), roots.end(), value) != roots.end(); };
    if (!program_.contains(id) || std::none_of(arguments.begin(), arguments.end(), is_root)) continue;
    // The target may stand on the source: it keeps reading that.
    if (std::find(built_.begin(), built_.end(), id) != built_.end()) continue;
    bool is_changed = false;
    for (size_t k = 0; k < arguments.size(); ++k) {
      const int value = replaced(arguments[k]);
      if (value == arguments[k]) continue;
      program_.set_argument(id, static_cast<int>(k), value);
      is_changed = true;
    }
    if (is_changed) changed.push_back(id);
  }
  std::vector<int> outputs = program_.outputs();
  for (int& output : outputs) output = replaced(output);
  program_.set_outputs(std::move(outputs));
  const std::vector<int> removed = program_.sweep();
  changed.insert(changed.end(), removed.begin(), removed.end());
  return changed;
}

}  // namespace isomer::substitutions
