#include "substitutions/library/print_rule.h"

#include <fmt/ranges.h>

#include "substitutions/proof/read/rule_text.h"

namespace isomer::substitutions {
namespace {

using verify::Parameters;

std::string braces(const Parameters& parameters, const std::string& rest) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : parameters) parts.push_back(fmt::format("{}={}", name, verify::text(value)));
  if (!rest.empty()) parts.push_back(".." + rest);
  return fmt::format("{{{}}}", fmt::join(parts, ","));
}

std::string example_text(const RuleInstance& example) {
  std::vector<std::string> parts;
  for (const auto& [name, type] : example.types) {
    std::vector<std::string> dims;
    for (const Dim& dim : *type.shape) dims.push_back(dim.text());
    parts.push_back(fmt::format("{}:{}[{}]", name, isomer::name(type.dtype), fmt::join(dims, ",")));
  }
  for (std::string& part : binding_parts(example.names)) parts.push_back(std::move(part));
  return fmt::format("{}", fmt::join(parts, kBetween));
}

}  // namespace

std::vector<std::string> binding_parts(const verify::Bindings& bindings) {
  std::vector<std::string> parts;
  Parameters integers;
  for (const auto& [name, value] : bindings.integers) integers.emplace(name, value);
  if (!integers.empty()) parts.push_back(braces(integers, ""));
  for (const auto& [name, parameters] : bindings.rests) {
    const auto open = bindings.open_rests.find(name);
    parts.push_back(
        fmt::format("..{}={}", name, braces(parameters, open == bindings.open_rests.end() ? "" : open->second)));
  }
  return parts;
}

std::string print_use(const verify::LawUse& use, std::span<const verify::StatedAxiom> axioms) {
  std::vector<std::string> parts = binding_parts(use.bindings);
  parts.insert(parts.begin(), law_name(use.law, axioms));
  for (const auto& [name, term] : use.bindings.tensors) parts.push_back(fmt::format("{}={}", name, term.text()));
  return fmt::format("{}", fmt::join(parts, kBetween));
}

std::string Rule::text() const {
  std::vector<std::string> lefts, rights;
  for (const Output& output : outputs) {
    lefts.push_back(output.left.text());
    rights.push_back(output.right.text());
  }
  return fmt::format("{} = {}", fmt::join(lefts, " ; "), fmt::join(rights, " ; "));
}

std::string print_rule(const Rule& rule) {
  return fmt::format("{}\t{}\t{}\t{}", rule.name, name(rule.float_class), rule.text(), example_text(rule.example));
}

}  // namespace isomer::substitutions
