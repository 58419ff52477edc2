#include "substitutions/apply.h"

#include <algorithm>

#include "util/check.h"

namespace isomer::substitutions {
namespace {

using verify::Pattern;
using verify::Term;

/// Builds terms in a program; an application that is there already is used.
class TargetBuilder {
 public:
  TargetBuilder(Program& program, const Substitution& substitution, const Match& match) : program_(program), substitution_(substitution), match_(match), uses_(program.uses()), before_(program.application_count()) {}

  int build(const Pattern& pattern) {
    Theory& theory = program_.theory();
    if (pattern.kind == Pattern::Kind::kVariable) return match_.values.tensors[static_cast<size_t>(pattern.variable)];
    CHECK(pattern.kind == Pattern::Kind::kApplication) << "numbers are built with what stands beside them";
    std::vector<int> arguments(pattern.arguments.size(), -1), types;
    for (size_t k = 0; k < arguments.size(); ++k) {
      if (pattern.arguments[k].kind == Pattern::Kind::kNumber) continue;
      arguments[k] = build(pattern.arguments[k]);
      types.push_back(program_.value(arguments[k]).type);
    }
    const DataType dtype = theory.dtype_beside(types);
    types.clear();
    for (size_t k = 0; k < arguments.size(); ++k) {
      if (arguments[k] < 0) arguments[k] = program_.add_number(pattern.arguments[k].number, dtype);
      types.push_back(program_.value(arguments[k]).type);
    }
    const auto& applied = theory.signatures().apply(operation_of(pattern, match_.values, substitution_.integers, theory.signatures()), types);
    CHECK(applied.ok()) << "a target that the guard has typed expected";
    int application = find(applied->operation, arguments, types);
    if (application < 0) application = program_.add_application(applied->operation, arguments, applied->types);
    built_.push_back(application);
    return program_.application(application).first_value + pattern.output;
  }

  /// By application of the targets, arguments first: one that was found or one that was made.
  const std::vector<int>& built() const { return built_; }

 private:
  bool is(int id, int operation, const std::vector<int>& arguments, bool turned) const {
    if (program_.application(id).operation != operation) return false;
    const auto there = program_.arguments(id);
    if (!turned) return std::equal(there.begin(), there.end(), arguments.begin(), arguments.end());
    return there.size() == 2 && there[0] == arguments[1] && there[1] == arguments[0];
  }

  int find(int operation, const std::vector<int>& arguments, const std::vector<int>& types) {
    const OpDef* op = program_.theory().signatures().operation(operation).op;
    const bool turns = arguments.size() == 2 && program_.theory().commutes(op, types[0], types[1]);
    const auto is_it = [&](int id) { return is(id, operation, arguments, false) || (turns && is(id, operation, arguments, true)); };
    for (int id = before_; id < program_.application_count(); ++id)
      if (is_it(id)) return id;
    if (arguments.empty()) {
      for (int id = 0; id < before_; ++id)
        if (is_it(id)) return id;
      return -1;
    }
    if (static_cast<size_t>(arguments[0]) + 1 >= uses_.first.size()) return -1;
    const auto readers = uses_.of(arguments[0]);
    const auto found = std::find_if(readers.begin(), readers.end(), is_it);
    return found == readers.end() ? -1 : *found;
  }

  Program& program_;
  const Substitution& substitution_;
  const Match& match_;
  const Program::Uses uses_;
  const int before_;
  std::vector<int> built_;
};

/// An operator with operands that its row does not ask for equals others, with itself among them on fewer operands.
bool takes_operands_out(const verify::Law& law) {
  const auto* left = law.left.as_application();
  if (!left) return false;
  const auto required = static_cast<size_t>(std::count_if(left->op->inputs.begin(), left->op->inputs.end(), [](const isomer::Parameter& formal) { return formal.arity == isomer::Parameter::Arity::kRequired; }));
  const bool is_variadic = !left->op->inputs.empty() && left->op->inputs.back().arity == isomer::Parameter::Arity::kVariadic;
  if (is_variadic || left->arguments.size() <= required) return false;
  if (!std::all_of(left->arguments.begin(), left->arguments.end(), [](const Term& argument) { return argument.as_variable() != nullptr; })) return false;
  const auto has_fewer = [&](const auto& self, const Term& term) -> bool {
    const auto* application = term.as_application();
    if (!application) return false;
    if (application->op == left->op) return application->arguments.size() < left->arguments.size();
    return std::any_of(application->arguments.begin(), application->arguments.end(), [&](const Term& argument) { return self(self, argument); });
  };
  return has_fewer(has_fewer, law.right);
}

}  // namespace

std::string_view name(Refusal refusal) { return refusal == Refusal::kCycle ? "a cycle" : "no change"; }

std::variant<Rewritten, Refusal> apply(const Program& program, const Match& match, const Substitutions& rules) {
  const Substitution& substitution = rules[match.substitution];
  Rewritten result{program, {}, {}};
  Program& made = result.program;
  TargetBuilder builder(made, substitution, match);
  std::vector<int> targets;
  for (const Pattern& target : substitution.targets) {
    if (target.kind == Pattern::Kind::kNumber)
      targets.push_back(made.add_number(target.number, made.theory().signatures().type(made.value(match.roots[targets.size()]).type).dtype));
    else
      targets.push_back(builder.build(target));
  }
  if (targets == match.roots) return Refusal::kNoChange;
  result.built = builder.built();
  const auto replaced = [&](int value) {
    const auto root = std::find(match.roots.begin(), match.roots.end(), value);
    return root == match.roots.end() ? value : targets[static_cast<size_t>(root - match.roots.begin())];
  };
  for (int id = program.application_count(); id < made.application_count(); ++id) result.changed.push_back(id);
  for (int id = 0; id < program.application_count(); ++id) {
    // The target may stand on the source: it keeps reading that.
    if (!made.contains(id) || std::find(builder.built().begin(), builder.built().end(), id) != builder.built().end()) continue;
    const auto arguments = made.arguments(id);
    bool is_changed = false;
    for (size_t k = 0; k < arguments.size(); ++k) {
      const int value = replaced(arguments[k]);
      if (value == arguments[k]) continue;
      made.set_argument(id, static_cast<int>(k), value);
      is_changed = true;
    }
    if (is_changed) result.changed.push_back(id);
  }
  std::vector<int> outputs = made.outputs();
  for (int& output : outputs) output = replaced(output);
  made.set_outputs(std::move(outputs));
  const std::vector<int> removed = made.sweep();
  result.changed.insert(result.changed.end(), removed.begin(), removed.end());
  if (match.roots.size() > 1 && !made.order()) return Refusal::kCycle;
  return result;
}

Step step_of(const Match& match, const Substitutions& rules) {
  const Substitution& substitution = rules[match.substitution];
  Step result{substitution.rule->name, substitution.is_forward, {}, {}, match.roots};
  for (size_t k = 0; k < substitution.tensors.size(); ++k) result.tensors.emplace_back(substitution.tensors[k], match.values.tensors[k]);
  for (size_t k = 0; k < substitution.integers.size(); ++k)
    if (!substitution.is_dim[k]) result.names.integers.emplace(substitution.integers[k], *match.values.integers[k]);
  for (size_t k = 0; k < substitution.rests.size(); ++k)
    result.names.rests.emplace(substitution.rests[k], rules.theory().signatures().operation(match.values.rests[k]).parameters);
  return result;
}

Plain with_plain_operands(Program program) {
  Theory& theory = program.theory();
  std::vector<Rule> laws;
  for (size_t k = 0; k < theory.axioms().size(); ++k)
    if (takes_operands_out(theory.axioms()[k].law)) laws.push_back(rule_of(static_cast<int>(k), theory.axioms()));
  Substitutions rules(laws, theory);
  Plain result{std::move(program), {}};
  for (const Match& match : rules.matches(result.program)) {
    if (!rules[match.substitution].is_forward || !rules.is_still_there(result.program, match)) continue;
    auto done = apply(result.program, match, rules);
    auto* rewritten = std::get_if<Rewritten>(&done);
    if (!rewritten) continue;
    result.program = std::move(rewritten->program);
    result.steps.push_back(step_of(match, rules));
  }
  return result;
}

}  // namespace isomer::substitutions
