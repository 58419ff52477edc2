#include "substitutions/rules_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "util/file.h"
#include "util/hash.h"
#include "util/output_file.h"

namespace isomer::substitutions {
namespace {

using verify::Parameters;
using verify::Term;

constexpr std::string_view kBetween = " ; ";

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

std::vector<std::string_view> split(std::string_view text, std::string_view between) {
  std::vector<std::string_view> result;
  for (size_t at; (at = text.find(between)) != std::string_view::npos; text.remove_prefix(at + between.size()))
    result.push_back(text.substr(0, at));
  result.push_back(text);
  return result;
}

Result<void> parse_integers(std::string_view text, std::map<std::string, Dim, std::less<>>& integers) {
  TRY(const verify::OpenParameters parsed, verify::parse_parameters(text, nullptr));
  for (const auto& [name, value] : parsed.named) {
    const auto* integer = std::get_if<Dim>(&value);
    if (!integer) return invalid(name, "an integer expected, {} found", verify::text(value));
    integers.emplace(name, *integer);
  }
  return {};
}

/// "..p={axis=1}": what p stands for, where p is the rest of one of these operators.
Result<void> parse_rest(std::string_view text, const std::map<std::string, const OpDef*>& ops,
                        verify::Bindings& bindings) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return invalid("", "..name={{…}} expected, '{}' found", text);
  const std::string name(text.substr(2, equals - 2));
  const auto op = ops.find(name);
  if (op == ops.end()) return invalid("", "a rest of the terms expected, '{}' found", name);
  TRY(verify::OpenParameters parsed, verify::parse_parameters(text.substr(equals + 1), op->second));
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

Result<RuleInstance> parse_example(std::string_view text, const std::vector<Output>& outputs) {
  const auto ops = verify::rest_names(sides(outputs));
  RuleInstance result;
  for (const std::string_view part : text.empty() ? std::vector<std::string_view>() : split(text, kBetween)) {
    TRY(const bool is_taken, take_binding(part, ops, result.names));
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

std::string laws_hash(std::span<const verify::StatedAxiom> axioms) {
  Hasher hasher;
  for (const verify::StatedAxiom& axiom : axioms)
    hasher.add(axiom.axiom->law).add(axiom.axiom->shapes).add(static_cast<uint64_t>(axiom.axiom->float_class));
  return hasher.finish().hex();
}

std::string law_name(int law, std::span<const verify::StatedAxiom> axioms) {
  const auto at = static_cast<size_t>(law);
  size_t first = at;
  while (first > 0 && axioms[first - 1].op == axioms[at].op) --first;
  return fmt::format("{}.{}", axioms[at].op->name, at - first + 1);
}

LawNumbers law_numbers(std::span<const verify::StatedAxiom> axioms) {
  LawNumbers result;
  for (size_t k = 0; k < axioms.size(); ++k) result.emplace(law_name(static_cast<int>(k), axioms), static_cast<int>(k));
  return result;
}

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

Result<bool> take_binding(std::string_view part, const std::map<std::string, const OpDef*>& ops,
                          verify::Bindings& bindings) {
  if (part.starts_with('{')) {
    TRY_VOID(parse_integers(part, bindings.integers));
    return true;
  }
  if (!part.starts_with("..")) return false;
  TRY_VOID(parse_rest(part, ops, bindings));
  return true;
}

std::string print_use(const verify::LawUse& use, std::span<const verify::StatedAxiom> axioms) {
  std::vector<std::string> parts = binding_parts(use.bindings);
  parts.insert(parts.begin(), law_name(use.law, axioms));
  for (const auto& [name, term] : use.bindings.tensors) parts.push_back(fmt::format("{}={}", name, term.text()));
  return fmt::format("{}", fmt::join(parts, kBetween));
}

Result<verify::LawUse> parse_use(std::string_view text, const LawNumbers& laws,
                                 std::span<const verify::StatedAxiom> axioms) {
  const std::vector<std::string_view> parts = split(text, kBetween);
  const auto known = laws.find(parts[0]);
  if (known == laws.end()) return invalid("", "a law such as Conv.1 expected, '{}' found", parts[0]);
  const verify::Law& law = axioms[static_cast<size_t>(known->second)].law;
  const auto ops = verify::rest_names({law.left, law.right});
  verify::LawUse result{known->second, {}};
  for (size_t k = 1; k < parts.size(); ++k) {
    TRY(const bool is_taken, take_binding(parts[k], ops, result.bindings));
    if (is_taken) continue;
    const size_t equals = parts[k].find('=');
    if (equals == std::string_view::npos) return invalid("", "name=… expected, '{}' found", parts[k]);
    TRY(Term term, verify::parse_term(parts[k].substr(equals + 1)));
    result.bindings.tensors.emplace(parts[k].substr(0, equals), std::move(term));
  }
  return result;
}

std::string print_rule(const Rule& rule) {
  return fmt::format("{}\t{}\t{}\t{}", rule.name, name(rule.float_class), rule.text(), example_text(rule.example));
}

Result<Rule> parse_rule(std::string_view line) {
  const std::vector<std::string_view> fields = split(line, "\t");
  if (fields.size() != 4)
    return invalid("", "name, class, outputs, example between tabs expected, {} fields found", fields.size());
  Rule rule;
  rule.name = fields[0];
  TRY(rule.float_class, parse_class(fields[1]));
  TRY(rule.outputs, parse_outputs(fields[2]));
  TRY(rule.example, parse_example(fields[3], rule.outputs));
  return rule;
}

std::string print_rules(const RulesFile& file, std::span<const verify::StatedAxiom> axioms) {
  std::string result = fmt::format("# isomer library generate {}\n# laws {}\n", file.made_by, laws_hash(axioms));
  for (const Rule& rule : file.rules) result += print_rule(rule) + "\n";
  return result;
}

std::string print_proofs(const RulesFile& file, std::span<const verify::StatedAxiom> axioms) {
  std::string result = fmt::format("# isomer library generate {}\n# laws {}\n", file.made_by, laws_hash(axioms));
  for (const Rule& rule : file.rules) {
    result += rule.name + "\n";
    for (const verify::LawUse& use : rule.proof.uses) result += fmt::format("\t{}\n", print_use(use, axioms));
  }
  return result;
}

Result<std::vector<Output>> parse_outputs(std::string_view text) {
  // The equation of all sides at once: none of them holds an '=' between spaces.
  const std::vector<std::string_view> sides = split(text, " = ");
  if (sides.size() != 2) return invalid("", "left ; … = right ; … expected, '{}' found", text);
  const std::vector<std::string_view> lefts = split(sides[0], kBetween), rights = split(sides[1], kBetween);
  if (lefts.size() != rights.size())
    return invalid("", "as many outputs on both sides expected, {} and {} found", lefts.size(), rights.size());
  std::vector<Output> result;
  for (size_t k = 0; k < lefts.size(); ++k) {
    TRY(Term left, verify::parse_term(lefts[k]));
    TRY(Term right, verify::parse_term(rights[k]));
    result.push_back({std::move(left), std::move(right)});
  }
  return result;
}

Result<RulesFile> parse_rules(std::string_view rules, std::string_view proofs,
                              std::span<const verify::StatedAxiom> axioms) {
  RulesFile result;
  const LawNumbers laws = law_numbers(axioms);
  const std::string expected = "# laws " + laws_hash(axioms);
  std::map<std::string, size_t, std::less<>> places;
  constexpr std::string_view kMadeBy = "# isomer library generate ";
  int number = 0;
  const auto read = [&](std::string_view text, const auto& line_read) -> Result<void> {
    number = 0;
    bool has_laws = false;
    for (const std::string_view line : split(text, "\n")) {
      ++number;
      const std::string place = fmt::format("line {}", number);
      if (line.empty()) continue;
      if (line.starts_with("# laws ")) {
        if (line != expected)
          return invalid(
              place, "rules proved from the laws of this version expected, those of others found; generate them again");
        has_laws = true;
      } else if (line.starts_with(kMadeBy)) {
        result.made_by = line.substr(kMadeBy.size());
      } else if (!line.starts_with('#')) {
        if (auto done = line_read(line); !done.ok()) return std::move(done).error().within(place);
      }
    }
    if (!has_laws) return invalid("", "a line '# laws …' expected, none found");
    return {};
  };
  TRY_VOID(read(rules, [&](std::string_view line) -> Result<void> {
    TRY(Rule rule, parse_rule(line));
    if (!places.emplace(rule.name, result.rules.size()).second)
      return invalid("", "a name of its own expected, a second rule '{}' found", rule.name);
    result.rules.push_back(std::move(rule));
    return {};
  }));
  Rule* of = nullptr;
  TRY_VOID(read(proofs, [&](std::string_view line) -> Result<void> {
    if (!line.starts_with('\t')) {
      const auto place = places.find(line);
      if (place == places.end()) return invalid("", "the name of a rule expected, '{}' found", line);
      of = &result.rules[place->second];
      return {};
    }
    if (!of) return invalid("", "the name of a rule expected, a use of a law found");
    TRY(verify::LawUse use, parse_use(line.substr(1), laws, axioms));
    of->proof.uses.push_back(std::move(use));
    return {};
  }));
  return result;
}

namespace {

std::filesystem::path with_ending(const std::filesystem::path& path, std::string_view ending) {
  return rules_stem(path) += ending;
}

Result<void> write(const std::filesystem::path& path, std::string_view text) {
  TRY(OutputFile file, OutputFile::create(path));
  TRY_VOID(file.write(text));
  return file.commit();
}

Result<std::string> read(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return std::move(file).error().within(path.string());
  const std::span<const std::byte> bytes = (*file)->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

std::filesystem::path rules_stem(std::filesystem::path path) {
  return path.extension() == ".rules" ? path.replace_extension() : path;
}

Result<void> write_rules(const std::filesystem::path& path, const RulesFile& file,
                         std::span<const verify::StatedAxiom> axioms) {
  TRY_VOID(write(with_ending(path, ".proofs"), print_proofs(file, axioms)));
  return write(with_ending(path, ".rules"), print_rules(file, axioms));
}

Result<RulesFile> read_rules(const std::filesystem::path& path, std::span<const verify::StatedAxiom> axioms) {
  TRY(const std::string rules, read(with_ending(path, ".rules")));
  TRY(const std::string proofs, read(with_ending(path, ".proofs")));
  return parse_rules(rules, proofs, axioms);
}

}  // namespace isomer::substitutions
