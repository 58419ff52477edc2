#include <fmt/format.h>

#include "graph/te/named_monoid.h"
#include "graph/te/print.h"
#include "graph/te/program_text.h"
#include "graph/te/syntax.h"

namespace isomer::te {
namespace {

std::string join(const std::vector<std::string>& parts) {
  std::string result;
  for (const std::string& part : parts) result += (result.empty() ? "" : ", ") + part;
  return result;
}
std::string list(const std::vector<Expr>& expressions) {
  std::vector<std::string> parts;
  for (const Expr& e : expressions) parts.push_back(print(e));
  return join(parts);
}
std::string bracketed(const Shape& shape) {
  std::vector<std::string> parts;
  for (const Dim& dim : shape) parts.push_back(dim.text());
  return fmt::format("[{}]", join(parts));
}

std::string with_monoid(const Monoid& monoid) {
  if (monoid.combine.empty()) return "";
  for (const NamedMonoid& named : kNamedMonoids) {
    const DataType dtype = monoid.identity[0].dtype();
    const Monoid candidate = is_computable(dtype) ? named.make(dtype) : Monoid();
    if (candidate.name == monoid.name && candidate.identity == monoid.identity && candidate.combine == monoid.combine &&
        candidate.commutative == monoid.commutative)
      return fmt::format(" with {}:{}", named.name, name(dtype));
  }
  return fmt::format(" with {} {} ({}) ({})", monoid.commutative ? "monoid" : "ordered", quoted(monoid.name),
                     list(monoid.identity), list(monoid.combine));
}

std::string text(const MapReduce& s) {
  if (s.combine.combine.empty()) return fmt::format("map {} {{ {} }}", bracketed(s.axes), list(s.bodies));
  return fmt::format("reduce {} over {}{} {{ {} }}", bracketed(s.axes), bracketed(s.reduce), with_monoid(s.combine),
                     list(s.bodies));
}

std::string text(const Update& s) {
  return fmt::format("update {} from {} over {} at [{}]{} {{ {} }}", bracketed(s.shape), print(s.init),
                     bracketed(s.updates), list(s.index), with_monoid(s.combine), print(s.value));
}

std::string text(const Scan& s) {
  std::string result = fmt::format("scan {} {{\n", s.trip.text());
  for (const Scan::State& state : s.states)
    result += fmt::format("  state {} = {}\n", bracketed(state.shape), print(state.init));
  for (const MapReduce& step : s.steps) result += fmt::format("  step {}\n", text(step));
  std::vector<std::string> next;
  for (const int inner : s.next) next.push_back(std::to_string(inner));
  return result + fmt::format("  next {}\n}}", join(next));
}

std::string text(const Block& block, const std::string& indent);

std::string text(const Statement& statement, const std::string& indent) {
  const auto nested = [&](const Block& block) { return fmt::format("{{\n{}{}}}", text(block, indent + "  "), indent); };
  return std::visit(
      Overloaded{
          [&](const For& s) { return fmt::format("for k{} < {} {}", s.loop, print(s.extent), nested(*s.body)); },
          [&](const While& s) { return fmt::format("while {} {}", print(s.condition), nested(*s.body)); },
          [&](const If& s) {
            const bool has_else = s.otherwise && !s.otherwise->empty();
            return fmt::format("if {} {}{}", print(s.condition), nested(*s.then),
                               has_else ? fmt::format(" else {}", nested(*s.otherwise)) : "");
          },
          [&](const Store& s) { return fmt::format("local{}[{}] = {}", s.local, list(s.index), print(s.value)); },
          [&](const Resize& s) { return fmt::format("resize local{}[{}]", s.local, list(s.extents)); }},
      statement.body);
}

std::string text(const Block& block, const std::string& indent) {
  std::string result;
  for (const Statement& statement : block) result += indent + text(statement, indent) + "\n";
  return result;
}

std::string text(const Imperative& s) {
  std::string result = "imperative {\n";
  for (size_t i = 0; i < s.body.locals.size(); ++i)
    result += fmt::format("  local{}: {}{}\n", i, name(s.body.locals[i].dtype), bracketed(s.body.locals[i].shape));
  result += text(s.body.block, "  ");
  std::vector<std::string> outputs;
  for (const int local : s.outputs) outputs.push_back(fmt::format("local{}", local));
  return result + fmt::format("  output {}\n}}", join(outputs));
}

}  // namespace

std::string print(const Program& program) {
  std::string result;
  for (size_t i = 0; i < program.stages.size(); ++i)
    result +=
        fmt::format("s{} = {}\n", i, std::visit([](const auto& body) { return text(body); }, program.stages[i].body));
  std::vector<std::string> outputs;
  for (const StageValue& output : program.outputs) {
    if (output.stage < 0)
      outputs.emplace_back("none");
    else
      outputs.push_back(
          fmt::format("s{}{}", output.stage, output.component ? fmt::format(".{}", output.component) : ""));
  }
  return result + fmt::format("output {}\n", join(outputs));
}

}  // namespace isomer::te
