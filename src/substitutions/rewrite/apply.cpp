#include "substitutions/rewrite/apply.h"

#include <algorithm>

#include "substitutions/rewrite/rewrite.h"
#include "util/check.h"

namespace isomer::substitutions {
namespace {

using verify::Pattern;
using verify::Term;

/// The value that a target's pattern is at the match.
int build(const Pattern& pattern, const Substitution& substitution, const Match& match, verify::Signatures& signatures,
          Rewrite& rewrite) {
  if (pattern.kind == Pattern::Kind::kVariable) return match.values.tensors[static_cast<size_t>(pattern.variable)];
  CHECK(pattern.kind == Pattern::Kind::kApplication) << "numbers are built with what stands beside them";
  std::vector<Rewrite::Operand> operands(pattern.arguments.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    if (pattern.arguments[k].kind == Pattern::Kind::kNumber)
      operands[k].number = &pattern.arguments[k].number;
    else
      operands[k].value = build(pattern.arguments[k], substitution, match, signatures, rewrite);
  }
  const auto made = rewrite.application(operation_of(pattern, match.values, substitution.integers, signatures),
                                        operands, pattern.output);
  CHECK(made) << "a target that the guard has typed expected";
  return *made;
}

/// The values of the targets, by output of the rule.
std::vector<int> build_targets(Program& program, const Match& match, const Substitutions& rules, Rewrite& rewrite) {
  const Substitution& substitution = rules[match.substitution];
  std::vector<int> targets;
  for (const Pattern& target : substitution.targets) {
    if (target.kind == Pattern::Kind::kNumber)
      targets.push_back(program.add_number(
          target.number, program.theory().signatures().type(program.value(match.roots[targets.size()]).type).dtype));
    else
      targets.push_back(build(target, substitution, match, program.theory().signatures(), rewrite));
  }
  return targets;
}

size_t required_operands(const OpDef& op) {
  return static_cast<size_t>(std::ranges::count(op.inputs, Parameter::Arity::kRequired, &Parameter::arity));
}

/// An operator with operands that its row does not ask for equals others, with itself among them on fewer operands.
bool takes_operands_out(const verify::Law& law) {
  const auto* left = law.left.as_application();
  if (!left) return false;
  const size_t required = required_operands(*left->op);
  const bool is_variadic =
      !left->op->inputs.empty() && left->op->inputs.back().arity == isomer::Parameter::Arity::kVariadic;
  if (is_variadic || left->arguments.size() <= required) return false;
  if (!std::all_of(left->arguments.begin(), left->arguments.end(),
                   [](const Term& argument) { return argument.as_variable() != nullptr; }))
    return false;
  const auto has_fewer = [&](const auto& self, const Term& term) -> bool {
    const auto* application = term.as_application();
    if (!application) return false;
    if (application->op == left->op) return application->arguments.size() < left->arguments.size();
    return std::any_of(application->arguments.begin(), application->arguments.end(),
                       [&](const Term& argument) { return self(self, argument); });
  };
  return has_fewer(has_fewer, law.right);
}

/// Whether the operands that the row does not ask for are computed beforehand.
bool has_constants_beside(const Program& program, int application) {
  const auto arguments = program.arguments(application);
  const size_t required = required_operands(*program.op(application));
  return std::ranges::all_of(arguments.subspan(std::min(required, arguments.size())),
                             [&](int argument) { return program.value(argument).is_constant; });
}

}  // namespace

std::string_view name(Refusal refusal) { return refusal == Refusal::kCycle ? "a cycle" : "no change"; }

std::variant<Rewritten, Refusal> apply(const Program& program, const Match& match, const Substitutions& rules) {
  Rewritten result{program, {}, {}};
  Program& made = result.program;
  Rewrite rewrite(made);
  const std::vector<int> targets = build_targets(made, match, rules, rewrite);
  if (targets == match.roots) return Refusal::kNoChange;
  result.built = rewrite.built();
  result.changed = rewrite.replace(match.roots, targets);
  result.targets = targets;
  if (match.roots.size() > 1 && !made.order()) return Refusal::kCycle;
  return result;
}

Added add_targets(Program& program, const Match& match, const Substitutions& rules) {
  Rewrite rewrite(program);
  std::vector<int> targets = build_targets(program, match, rules, rewrite);
  return {std::move(targets), rewrite.built()};
}

Step step_of(const Match& match, const Substitutions& rules) {
  const Substitution& substitution = rules[match.substitution];
  Step result{substitution.rule->name, substitution.is_forward, {}, {}, match.roots};
  for (size_t k = 0; k < substitution.tensors.size(); ++k)
    result.tensors.emplace_back(substitution.tensors[k], match.values.tensors[k]);
  for (size_t k = 0; k < substitution.integers.size(); ++k)
    if (!substitution.is_dim[k]) result.names.integers.emplace(substitution.integers[k], *match.values.integers[k]);
  for (size_t k = 0; k < substitution.rests.size(); ++k)
    result.names.rests.emplace(substitution.rests[k],
                               rules.theory().signatures().operation(match.values.rests[k]).parameters);
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
    if (!has_constants_beside(result.program, result.program.value(match.roots.front()).producer)) continue;
    auto done = apply(result.program, match, rules);
    auto* rewritten = std::get_if<Rewritten>(&done);
    if (!rewritten) continue;
    result.program = std::move(rewritten->program);
    result.steps.push_back(step_of(match, rules));
  }
  return result;
}

}  // namespace isomer::substitutions
