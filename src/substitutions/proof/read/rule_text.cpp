#include "substitutions/proof/read/rule_text.h"

#include <fmt/format.h>

#include "util/hash.h"
#include "util/split.h"

namespace isomer::substitutions {
namespace {

using verify::Term;

Result<void> parse_integers(const std::string& text, std::map<std::string, Dim, std::less<>>& integers) {
  TRY(const verify::OpenParameters parsed, verify::parse_parameters(text, nullptr));
  for (const auto& [name, value] : parsed.named) {
    const auto* integer = std::get_if<Dim>(&value);
    if (!integer) return invalid(name, "an integer expected, {} found", verify::text(value));
    integers.emplace(name, *integer);
  }
  return {};
}

/// "..p={axis=1}": what p stands for, where p is the rest of one of these operators.
Result<void> parse_rest(std::string_view line, std::string_view text, const std::map<std::string, const OpDef*>& ops,
                        verify::Bindings& bindings) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return invalid("", "..name={{…}} expected, '{}' found", text);
  const std::string name(text.substr(2, equals - 2));
  const auto op = ops.find(name);
  if (op == ops.end()) return invalid("", "a rest of the terms expected, '{}' found", name);
  TRY(verify::OpenParameters parsed,
      verify::parse_parameters(at_its_column(line, text.substr(equals + 1)), op->second));
  bindings.rests.emplace(name, std::move(parsed.named));
  if (!parsed.rest.empty()) bindings.open_rests.emplace(name, std::move(parsed.rest));
  return {};
}

Result<ValueType> parse_type(std::string_view text) {
  const size_t bracket = text.find('[');
  const DataType dtype = bracket == std::string_view::npos || !text.ends_with(']')
                             ? DataType::kUndefined
                             : parse_data_type(text.substr(0, bracket));
  if (dtype == DataType::kUndefined) return invalid("", "a type such as float32[2,3] expected, '{}' found", text);
  Shape shape;
  const std::string_view dims = text.substr(bracket + 1, text.size() - bracket - 2);
  for (const std::string_view dim : dims.empty() ? std::vector<std::string_view>() : split(dims, ",")) {
    if (dim.empty() || dim.size() > 9 || dim.find_first_not_of("0123456789") != std::string_view::npos)
      return invalid("", "a size expected, '{}' found", dim);
    shape.emplace_back(int64_t{std::stoi(std::string(dim))});
  }
  return ValueType::tensor(dtype, std::move(shape));
}

Result<RuleInstance> parse_example(std::string_view line, std::string_view text, const std::vector<Output>& outputs) {
  const auto ops = verify::rest_names(sides(outputs));
  RuleInstance result;
  for (const std::string_view part : text.empty() ? std::vector<std::string_view>() : split(text, kBetween)) {
    TRY(const bool is_taken, take_binding(line, part, ops, result.names));
    if (!is_taken) {
      const size_t colon = part.find(':');
      if (colon == std::string_view::npos) return invalid("", "name:type expected, '{}' found", part);
      TRY(ValueType type, parse_type(part.substr(colon + 1)));
      result.types.emplace(part.substr(0, colon), std::move(type));
    }
  }
  return result;
}

Result<FloatClass> parse_class(std::string_view text) {
  for (const FloatClass each : {FloatClass::kExact, FloatClass::kSignOfZero, FloatClass::kFinite,
                                FloatClass::kReassociated, FloatClass::kUnsafe})
    if (name(each) == text) return each;
  return invalid("", "a class of floating point such as exact expected, '{}' found", text);
}

}  // namespace

std::string law_name(int law, std::span<const verify::StatedAxiom> axioms) {
  return law == verify::kByElements ? std::string(kElements) : axioms[static_cast<size_t>(law)].name;
}

LawNumbers law_numbers(std::span<const verify::StatedAxiom> axioms) {
  LawNumbers result;
  for (size_t k = 0; k < axioms.size(); ++k) result.emplace(law_name(static_cast<int>(k), axioms), static_cast<int>(k));
  return result;
}

std::string at_its_column(std::string_view line, std::string_view part) {
  return std::string(static_cast<size_t>(part.data() - line.data()), ' ').append(part);
}

Result<bool> take_binding(std::string_view line, std::string_view part, const std::map<std::string, const OpDef*>& ops,
                          verify::Bindings& bindings) {
  if (part.starts_with('{')) {
    TRY_VOID(parse_integers(at_its_column(line, part), bindings.integers));
    return true;
  }
  if (!part.starts_with("..")) return false;
  TRY_VOID(parse_rest(line, part, ops, bindings));
  return true;
}

Result<verify::LawUse> parse_use(std::string_view line, const LawNumbers& laws,
                                 std::span<const verify::StatedAxiom> axioms) {
  const std::vector<std::string_view> parts = split(line.substr(1), kBetween);
  verify::LawUse result{verify::kByElements, {}};
  std::map<std::string, const OpDef*> ops;
  if (parts[0] != kElements) {
    const auto known = laws.find(parts[0]);
    if (known == laws.end())
      return invalid("", "a law of this version, or '{}', expected, '{}' found", kElements, parts[0]);
    const verify::Law& law = axioms[static_cast<size_t>(known->second)].law;
    result.law = known->second;
    ops = verify::rest_names({law.left, law.right});
  }
  for (size_t k = 1; k < parts.size(); ++k) {
    TRY(const bool is_taken, take_binding(line, parts[k], ops, result.bindings));
    if (is_taken) continue;
    const size_t equals = parts[k].find('=');
    if (equals == std::string_view::npos) return invalid("", "name=… expected, '{}' found", parts[k]);
    TRY(Term term, verify::parse_term(at_its_column(line, parts[k].substr(equals + 1))));
    result.bindings.tensors.emplace(parts[k].substr(0, equals), std::move(term));
  }
  return result;
}

Result<Rule> parse_rule(std::string_view line) {
  const std::vector<std::string_view> fields = split(line, "\t");
  if (fields.size() != 4)
    return invalid("", "name, class, outputs, example between tabs expected, {} fields found", fields.size());
  Rule rule;
  rule.name = fields[0];
  TRY(rule.float_class, parse_class(fields[1]));
  TRY(rule.outputs, parse_outputs(line, fields[2]));
  TRY(rule.example, parse_example(line, fields[3], rule.outputs));
  return rule;
}

Result<std::vector<Output>> parse_outputs(std::string_view line, std::string_view text) {
  // The equation of all sides at once: none of them holds an '=' between spaces.
  const std::vector<std::string_view> sides = split(text, " = ");
  if (sides.size() != 2) return invalid("", "left ; … = right ; … expected, '{}' found", text);
  const std::vector<std::string_view> lefts = split(sides[0], kBetween), rights = split(sides[1], kBetween);
  if (lefts.size() != rights.size())
    return invalid("", "as many outputs on both sides expected, {} and {} found", lefts.size(), rights.size());
  std::vector<Output> result;
  for (size_t k = 0; k < lefts.size(); ++k) {
    TRY(Term left, verify::parse_term(at_its_column(line, lefts[k])));
    TRY(Term right, verify::parse_term(at_its_column(line, rights[k])));
    result.push_back({std::move(left), std::move(right)});
  }
  return result;
}

}  // namespace isomer::substitutions
