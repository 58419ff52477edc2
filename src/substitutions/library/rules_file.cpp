#include "substitutions/library/rules_file.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

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

Result<RulesFile> parse_rules(std::string_view rules, std::string_view proofs,
                              std::span<const verify::StatedAxiom> axioms) {
  RulesFile result;
  const LawNumbers laws = law_numbers(axioms);
  std::map<std::string, size_t, std::less<>> places;
  int number = 0;
  const auto read = [&](std::string_view text, const auto& line_read) -> Result<void> {
    number = 0;
    bool has_title = false;
    for (const std::string_view line : split(text, "\n")) {
      ++number;
      const std::string place = fmt::format("line {}", number);
      if (line.empty()) continue;
      if (line.starts_with("# laws ")) {
        return invalid(place, "laws by their names expected, a file of an older version found; generate it again");
      } else if (line.starts_with(kMadeBy)) {
        result.made_by = line.substr(kMadeBy.size());
        has_title = true;
      } else if (!line.starts_with('#')) {
        if (auto done = line_read(line); !done.ok()) return std::move(done).error().within(place);
      }
    }
    if (!has_title) return invalid("", "a line '{}…' expected, none found", kMadeBy);
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
                         std::span<const verify::StatedAxiom> axioms) {
  TRY_VOID(write(with_ending(path, ".proofs"), print_proofs(file, axioms)));
  return write(with_ending(path, ".rules"), print_rules(file));
}

Result<RulesFile> read_rules(const std::filesystem::path& path, std::span<const verify::StatedAxiom> axioms) {
  TRY(const std::string rules, read(with_ending(path, ".rules")));
  TRY(const std::string proofs, read(with_ending(path, ".proofs")));
  return parse_rules(rules, proofs, axioms);
}

}  // namespace isomer::substitutions
