#include "verify/proof/term.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_set>

#include "graph/te/expr.h"
#include "graph/te/print.h"

namespace isomer::verify {
namespace {

size_t combined(size_t seed, size_t value) { return seed ^ (value + 0x9e3779b97f4a7c15 + (seed << 6) + (seed >> 2)); }
size_t hash_of(const std::string& text) { return std::hash<std::string>()(text); }

size_t hash_of(const Term::Form& form) {
  return std::visit(te::Overloaded{[](const Term::Variable& v) { return combined(1, hash_of(v.name)); },
                                   [](const Term::Number& n) { return combined(2, hash_of(n.value.text())); },
                                   [](const Term::Application& a) {
                                     size_t result = combined(combined(3, std::hash<const void*>()(a.op)),
                                                              static_cast<size_t>(a.output));
                                     for (const auto& [name, value] : a.parameters)
                                       result = combined(combined(result, hash_of(name)), hash_of(text(value)));
                                     result = combined(result, hash_of(a.rest));
                                     for (const Term& argument : a.arguments)
                                       result = combined(result, argument.hash());
                                     return result;
                                   }},
                    form);
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

template <class Visit>
void for_each_term(const Term& term, std::unordered_set<Term, TermHash>& seen, const Visit& visit) {
  if (!seen.insert(term).second) return;
  if (const auto* application = term.as_application())
    for (const Term& argument : application->arguments) for_each_term(argument, seen, visit);
  visit(term);
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
                                   [](const std::string& string) { return fmt::format("\"{}\"", string); }},
                    parameter);
}

bool Law::operator==(const Law& other) const {
  const auto same = [](const te::Expr& a, const te::Expr& b) { return !a || !b ? !a && !b : a == b; };
  return left == other.left && right == other.right && same(condition, other.condition);
}

std::string Law::text() const {
  const std::string equation = fmt::format("{} = {}", left.text(), right.text());
  return condition ? fmt::format("{} if {}", equation, te::print(condition)) : equation;
}

std::vector<std::string> variables(const std::vector<Term>& terms) {
  std::vector<std::string> result;
  std::unordered_set<Term, TermHash> seen;
  for (const Term& term : terms)
    for_each_term(term, seen, [&](const Term& t) {
      if (const auto* variable = t.as_variable()) result.push_back(variable->name);
    });
  return result;
}

std::set<std::string> names(const te::Expr& expr) {
  std::set<std::string> result;
  te::for_each_node(expr, [&](const te::Expr& e) {
    if (const auto* symbol = te::as<te::Symbol>(e)) result.insert(symbol->name);
  });
  return result;
}

std::set<std::string> names(const Dim& integer) { return names(integer.expr()); }

}  // namespace isomer::verify
