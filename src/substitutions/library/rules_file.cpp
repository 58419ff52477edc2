#include "substitutions/library/rules_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "substitutions/library/rule_names.h"
#include "util/file.h"
#include "util/output_file.h"
#include "util/split.h"

namespace isomer::substitutions {
namespace {

/// Begins the first line of both files.
constexpr std::string_view kMadeBy = "# isomer library generate ";

}  // namespace

std::string print_rules(const RulesFile& file) {
  std::string result = fmt::format("{}{}\n", kMadeBy, file.made_by);
  for (const Rule& rule : file.rules) result += print_rule(rule) + "\n";
  return result;
}

std::string print_proofs(const RulesFile& file, std::span<const verify::StatedAxiom> axioms) {
  std::string result = fmt::format("{}{}\n", kMadeBy, file.made_by);
  for (const Rule& rule : file.rules) {
    result += rule.name + "\n";
    for (const verify::LawUse& use : rule.proof.uses) result += fmt::format("\t{}\n", print_use(use, axioms));
  }
  return result;
}

namespace {

/// What stands behind the title, line by line with its place, and who made the file.
template <class LineRead>
Result<std::string> read_lines(std::string_view text, const LineRead& line_read) {
  std::optional<std::string> made_by;
  int number = 0;
  for (std::string_view line : split(text, "\n")) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::string place = fmt::format("line {}", ++number);
    if (line.empty()) continue;
    if (line.starts_with("# laws ")) {
      return invalid(place, "laws by their names expected, a file of an older version found; generate it again");
    } else if (line.starts_with(kMadeBy)) {
      made_by = line.substr(kMadeBy.size());
    } else if (!line.starts_with('#')) {
      if (auto done = line_read(line, place); !done.ok()) return std::move(done).error().within(place);
    }
  }
  if (!made_by) return invalid("", "a line '{}…' expected, none found", kMadeBy);
  return *std::move(made_by);
}

Result<RulesFile> parse_statements(std::string_view rules) {
  RulesFile result;
  std::set<std::string, std::less<>> names;
  TRY(result.made_by, read_lines(rules, [&](std::string_view line, const std::string&) -> Result<void> {
        TRY(Rule rule, parse_rule(line));
        if (!is_rule_name(rule.name))
          return invalid("", "a name without quotes and control characters expected, '{}' found", rule.name);
        if (!names.insert(rule.name).second)
          return invalid("", "a name of its own expected, a second rule '{}' found", rule.name);
        result.rules.push_back(std::move(rule));
        return {};
      }));
  return result;
}

Result<void> parse_proofs(std::string_view proofs, std::span<const verify::StatedAxiom> axioms, RulesFile& file) {
  const LawNumbers laws = law_numbers(axioms);
  std::map<std::string, Rule*, std::less<>> places;
  for (Rule& rule : file.rules) places.emplace(rule.name, &rule);
  Rule unknown;  // of proofs that wait for their rules: write_rules puts them there first
  std::optional<Error> why_unknown;
  std::set<const Rule*> proved;
  Rule* of = nullptr;
  auto made_by = read_lines(proofs, [&](std::string_view line, const std::string& place) -> Result<void> {
    if (!line.starts_with('\t')) {
      const auto rule = places.find(line);
      of = rule == places.end() ? &unknown : rule->second;
      if (of == &unknown && !why_unknown) why_unknown = invalid(place, "the name of a rule expected, '{}' found", line);
      proved.insert(of);
      return {};
    }
    if (!of) return invalid("", "the name of a rule expected, a use of a law found");
    TRY(verify::LawUse use, parse_use(line, laws, axioms));
    of->proof.uses.push_back(std::move(use));
    return {};
  });
  proved.erase(&unknown);
  if (why_unknown && (made_by.ok() ? proved.size() < file.rules.size() : proved.empty())) return *why_unknown;
  TRY(file.made_by, std::move(made_by));
  return {};
}

}  // namespace

Result<RulesFile> parse_rules(std::string_view rules, std::string_view proofs,
                              std::span<const verify::StatedAxiom> axioms) {
  TRY(RulesFile result, parse_statements(rules));
  TRY_VOID(parse_proofs(proofs, axioms, result));
  return result;
}

namespace {

std::filesystem::path with_ending(const std::filesystem::path& path, std::string_view ending) {
  return rules_stem(path) += ending;
}

/// On the disk, without its name.
Result<OutputFile> written(const std::filesystem::path& path, std::string_view text) {
  TRY(OutputFile file, OutputFile::create(path));
  TRY_VOID(file.write(text));
  TRY_VOID(file.sync());
  return file;
}

Result<std::string> read(const std::filesystem::path& path) {
  auto file = MappedFile::open(path);
  if (!file.ok()) return std::move(file).error().within(path.string());
  const std::span<const std::byte> bytes = (*file)->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace

Result<void> replayed(const Rule& rule, std::span<const verify::StatedAxiom> axioms, verify::Signatures& signatures) {
  TRY_VOID(holds_at(rule, rule.example, axioms, signatures));
  const FloatClass float_class = float_class_of(rule.proof, axioms);
  if (rule.float_class != float_class)
    return invalid("", "the class {} of its laws expected, {} found", name(float_class), name(rule.float_class));
  return {};
}

std::filesystem::path rules_stem(std::filesystem::path path) {
  return path.extension() == ".rules" ? path.replace_extension() : path;
}

Result<void> write_rules(const std::filesystem::path& path, const RulesFile& file,
                         std::span<const verify::StatedAxiom> axioms, const std::function<Result<void>()>& tell) {
  TRY(OutputFile proofs, written(with_ending(path, ".proofs"), print_proofs(file, axioms)));
  TRY(OutputFile rules, written(with_ending(path, ".rules"), print_rules(file)));
  if (tell) TRY_VOID(tell());
  TRY_VOID(proofs.commit());
  return rules.commit();
}

Result<RulesFile> read_rules(const std::filesystem::path& path, std::span<const verify::StatedAxiom> axioms) {
  const std::filesystem::path of_rules = with_ending(path, ".rules"), of_proofs = with_ending(path, ".proofs");
  TRY(const std::string rules, read(of_rules));
  TRY(const std::string proofs, read(of_proofs));
  auto result = parse_statements(rules);
  if (!result.ok()) return std::move(result).error().within(of_rules.string());
  if (auto done = parse_proofs(proofs, axioms, *result); !done.ok())
    return std::move(done).error().within(of_proofs.string());
  return result;
}

}  // namespace isomer::substitutions
