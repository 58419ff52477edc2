#include "substitutions/rewrite/step.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "graph/infer.h"
#include "substitutions/rewrite/rewrite.h"

namespace isomer::substitutions {
namespace {

using verify::Term;

class StepChecker {
 public:
  StepChecker(Program& program, const Step& step, const Rule& rule)
      : program_(program), theory_(program.theory()), step_(step), rule_(rule) {}

  Result<void> run() {
    TRY_VOID(bind());
    if (auto holds = holds_at(rule_, instance_, theory_.axioms(), theory_.signatures()); !holds.ok())
      return std::move(holds).error().within("its proof does not hold here");
    const std::vector<Output> outputs = equations_at(rule_, instance_);
    if (step_.roots.size() != outputs.size())
      return invalid("", "{} roots expected, as the rule has outputs, {} found", outputs.size(), step_.roots.size());
    for (size_t k = 0; k < outputs.size(); ++k) {
      const Term& source = step_.is_forward ? outputs[k].left : outputs[k].right;
      TRY_VOID(is_value(step_.roots[k]));
      if (!stands(source, step_.roots[k]))
        return invalid("", "{} expected at %{}, something else found", source.text(), step_.roots[k]);
    }
    Rewrite rewrite(program_);
    std::vector<int> targets;
    for (size_t k = 0; k < outputs.size(); ++k) {
      TRY(const int target, build(step_.is_forward ? outputs[k].right : outputs[k].left, step_.roots[k], rewrite));
      if (program_.value(target).type != program_.value(step_.roots[k]).type)
        return invalid("", "a target of the type of %{} expected, one of another found", step_.roots[k]);
      targets.push_back(target);
    }
    if (targets == step_.roots) return invalid("", "a change expected, what the step makes stands there already");
    rewrite.replace(step_.roots, targets);
    if (!program_.order()) return invalid("", "no cycle expected, one found behind %{}", fmt::join(step_.roots, ",%"));
    return {};
  }

 private:
  Result<void> is_value(int value) const {
    if (value < 0 || value >= program_.value_count())
      return invalid("", "a value below {} expected, %{} found", program_.value_count(), value);
    if (const int producer = program_.value(value).producer; producer >= 0 && !program_.contains(producer))
      return invalid("", "a value expected that is still there, %{} found", value);
    return {};
  }

  Result<void> bind() {
    for (const auto& [name, value] : step_.tensors) {
      TRY_VOID(is_value(value));
      const ValueType& type = theory_.signatures().type(program_.value(value).type);
      if (!type.has_shape()) return invalid(name, "a tensor of known rank expected, {} found", type.text());
      if (!tensors_.emplace(name, value).second)
        return invalid(name, "each variable once expected, another value found");
      instance_.types.emplace(name, type);
    }
    instance_.names = step_.names;
    return {};
  }

  /// Whether the term, whose names are bound, is what the value is computed by.
  bool stands(const Term& term, int value) {
    if (value < 0) return false;
    if (const auto* variable = term.as_variable()) {
      const auto bound = tensors_.find(variable->name);
      return bound != tensors_.end() && bound->second == value;
    }
    const auto* application = term.as_application();
    if (!application) {
      const te::Number* number = program_.number(value);
      return number && *number == std::get<Term::Number>(term.form()).value;
    }
    const Program::Value& there = program_.value(value);
    if (there.producer < 0 || there.index != application->output || program_.op(there.producer) != application->op)
      return false;
    // Operands may stand in either order, in many places: each is looked at once.
    if (const auto known = stands_.find({&term, value}); known != stands_.end()) return known->second;
    std::vector<int> operands(program_.arguments(there.producer).begin(), program_.arguments(there.producer).end());
    bool result = stand(*application, there.producer, operands);
    if (!result && operands.size() == 2 &&
        theory_.commutes(application->op, program_.value(operands[0]).type, program_.value(operands[1]).type)) {
      std::swap(operands[0], operands[1]);
      result = stand(*application, there.producer, operands);
    }
    return stands_[{&term, value}] = result;
  }

  bool stand(const Term::Application& application, int there, const std::vector<int>& operands) {
    if (operands.size() != application.arguments.size()) return false;
    std::vector<int> types, of_tensors;
    for (size_t k = 0; k < operands.size(); ++k) {
      types.push_back(program_.value(operands[k]).type);
      if (!is_number(application.arguments[k])) of_tensors.push_back(types.back());
    }
    const int number_type = theory_.signatures().type_id(
        ValueType::tensor(theory_.dtype_beside(of_tensors, condition_count(*application.op)), {}));
    for (size_t k = 0; k < operands.size(); ++k)
      if (!stands(application.arguments[k], operands[k]) ||
          (is_number(application.arguments[k]) && types[k] != number_type))
        return false;
    const auto& applied =
        theory_.signatures().apply(theory_.signatures().operation_id(*application.op, application.parameters), types);
    return applied.ok() && applied->operation == program_.application(there).operation;
  }

  static bool is_number(const Term& term) { return std::holds_alternative<Term::Number>(term.form()); }

  /// The value of the target's term; a number alone takes its type from the root.
  Result<int> build(const Term& term, int root, Rewrite& rewrite) {
    if (const auto* variable = term.as_variable()) return tensors_.find(variable->name)->second;
    if (is_number(term))
      return program_.add_number(std::get<Term::Number>(term.form()).value,
                                 theory_.signatures().type(program_.value(root).type).dtype);
    const auto& application = *term.as_application();
    std::vector<Rewrite::Operand> operands(application.arguments.size());
    std::vector<int> types;
    for (size_t k = 0; k < operands.size(); ++k) {
      if (is_number(application.arguments[k])) {
        operands[k].number = &std::get<Term::Number>(application.arguments[k].form()).value;
      } else {
        TRY(operands[k].value, build(application.arguments[k], root, rewrite));
      }
    }
    const auto made = rewrite.application(theory_.signatures().operation_id(*application.op, application.parameters),
                                          operands, application.output);
    if (!made) return invalid("", "a target that can be built expected, {} can't on these types", term.text());
    const int built = rewrite.built().back();
    for (const int argument : program_.arguments(built)) types.push_back(program_.value(argument).type);
    if (!theory_.constant_form(program_.application(built).operation, types))
      return invalid("", "numbers for the parameters of {} expected, sizes that are not known found", term.text());
    return *made;
  }

  Program& program_;
  Theory& theory_;
  const Step& step_;
  const Rule& rule_;
  RuleInstance instance_;
  std::map<std::string, int, std::less<>> tensors_;
  std::map<std::pair<const Term*, int>, bool> stands_;
};

}  // namespace

std::string Step::text() const {
  std::vector<std::string> parts;
  for (const auto& [name, value] : tensors) parts.push_back(fmt::format("{}=%{}", name, value));
  for (const auto& [name, integer] : names.integers) parts.push_back(fmt::format("{}={}", name, integer.text()));
  for (const auto& [name, parameters] : names.rests)
    for (const auto& [parameter, value] : parameters)
      parts.push_back(fmt::format("..{}.{}={}", name, parameter, verify::text(value)));
  return fmt::format("{} {} {} at %{}", rule, is_forward ? "->" : "<-", fmt::join(parts, ","), fmt::join(roots, ",%"));
}

Result<void> take_step(Program& program, const Step& step, const Rule& rule) {
  return StepChecker(program, step, rule).run();
}

}  // namespace isomer::substitutions
