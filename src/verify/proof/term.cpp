#include "verify/proof/term.h"

#include <fmt/ranges.h>

#include <unordered_set>

#include "graph/te/print.h"
#include "graph/te/syntax.h"
#include "util/hash.h"

namespace isomer::verify {
namespace {

size_t hash_of(const Term::Form& form) {
  Hasher hasher;
  hasher.add(form.index());
  if (const auto* variable = std::get_if<Term::Variable>(&form)) hasher.add(variable->name);
  if (const auto* number = std::get_if<Term::Number>(&form)) hasher.add(number->value.text());
  if (const auto* application = std::get_if<Term::Application>(&form)) {
    hasher.add(reinterpret_cast<uintptr_t>(application->op)).add(static_cast<uint64_t>(application->output));
    for (const auto& [name, value] : application->parameters) hasher.add(name).add(text(value));
    hasher.add(application->rest);
    for (const Term& argument : application->arguments) hasher.add(argument.hash());
  }
  return hasher.finish().low;
}

std::string texts(const std::vector<Dim>& integers) {
  std::vector<std::string> result;
  for (const Dim& integer : integers) result.push_back(integer.text());
  return fmt::format("[{}]", fmt::join(result, ","));
}

std::string text_of(const Term::Application& application) {
  std::vector<std::string> arguments, parameters;
  for (const Term& argument : application.arguments) arguments.push_back(argument.text());
  for (const auto& [name, value] : application.parameters)
    parameters.push_back(fmt::format("{}={}", name, text(value)));
  if (!application.rest.empty()) parameters.push_back(".." + application.rest);
  std::string result = fmt::format("{}({})", application.op->name, fmt::join(arguments, ","));
  if (!parameters.empty()) result += fmt::format("{{{}}}", fmt::join(parameters, ","));
  if (application.output > 0) result += fmt::format(".{}", application.output);
  return result;
}

void add_variables(const Term& term, std::unordered_set<Term, TermHash>& seen, std::vector<std::string>& names) {
  if (!seen.insert(term).second) return;
  if (const auto* variable = term.as_variable()) names.push_back(variable->name);
  if (const auto* application = term.as_application())
    for (const Term& argument : application->arguments) add_variables(argument, seen, names);
}

}  // namespace

Term::Term(Form form) {
  const size_t hash = hash_of(form);
  node_ = std::make_shared<const Node>(Node{std::move(form), hash});
}

bool Term::operator==(const Term& other) const {
  return node_ == other.node_ || (node_->hash == other.node_->hash && node_->form == other.node_->form);
}

std::string Term::text() const {
  return std::visit(
      te::Overloaded{[](const Variable& v) { return v.name; }, [](const Number& n) { return n.value.text(); },
                     [](const Application& a) { return text_of(a); }},
      form());
}

std::string text(const Parameter& parameter) {
  return std::visit(te::Overloaded{[](const Dim& integer) { return integer.text(); },
                                   [](const std::vector<Dim>& integers) { return texts(integers); },
                                   [](float number) { return te::Number(double{number}).text(); },
                                   [](const std::string& string) { return te::quoted(string); }},
                    parameter);
}

std::string Law::text() const {
  const std::string equation = fmt::format("{} = {}", left.text(), right.text());
  return condition ? fmt::format("{} if {}", equation, te::print(condition)) : equation;
}

std::vector<std::string> variables(const std::vector<Term>& terms) {
  std::vector<std::string> result;
  std::unordered_set<Term, TermHash> seen;
  for (const Term& term : terms) add_variables(term, seen, result);
  return result;
}

}  // namespace isomer::verify
