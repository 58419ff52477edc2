// Rules and their proofs as text: a line a rule, sorted, the same for the same rules; a proof is a line for each use of
// a law. Files name the laws that they were proved from, so that proofs from others are not mistaken for these. Test:
// tests/substitutions/rules_file_test.cpp
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "substitutions/proof/rule.h"

namespace isomer::substitutions {

struct RulesFile {
  std::string made_by;  ///< the command's options, for people: "--ops taso --max-ops 3 --seed 0"
  std::vector<Rule> rules;
};

/// Differs where proofs may.
std::string laws_hash(std::span<const verify::StatedAxiom> axioms);
/// "Conv.3": the third law in the row of Conv.
std::string law_name(int law, std::span<const verify::StatedAxiom> axioms);

using LawNumbers = std::map<std::string, int, std::less<>>;
/// By their names.
LawNumbers law_numbers(std::span<const verify::StatedAxiom> axioms);

/// Integers and rests: "{a=1,b=2}", "..p={axis=1}".
std::vector<std::string> binding_parts(const verify::Bindings& bindings);
/// Whether the part is such a one, with rests of these operators; then it is added.
Result<bool> take_binding(std::string_view part, const std::map<std::string, const OpDef*>& ops,
                          verify::Bindings& bindings);

/// One line each. A rule without its proof: name TAB class TAB outputs TAB example. A use of a law: what its names
/// stand for, between " ; ".
std::string print_rule(const Rule& rule);
Result<Rule> parse_rule(std::string_view line);
std::string print_use(const verify::LawUse& use, std::span<const verify::StatedAxiom> axioms);
Result<verify::LawUse> parse_use(std::string_view text, const LawNumbers& laws,
                                 std::span<const verify::StatedAxiom> axioms);

std::string print_rules(const RulesFile& file, std::span<const verify::StatedAxiom> axioms);
std::string print_proofs(const RulesFile& file, std::span<const verify::StatedAxiom> axioms);
/// Errors name the line, what was expected there, what was found. Nothing is replayed: holds_at does.
Result<RulesFile> parse_rules(std::string_view rules, std::string_view proofs,
                              std::span<const verify::StatedAxiom> axioms);

/// STEM of STEM.rules, or a stem itself.
std::filesystem::path rules_stem(std::filesystem::path path);
/// STEM.rules and STEM.proofs, of either STEM or STEM.rules.
Result<void> write_rules(const std::filesystem::path& path, const RulesFile& file,
                         std::span<const verify::StatedAxiom> axioms);
Result<RulesFile> read_rules(const std::filesystem::path& path, std::span<const verify::StatedAxiom> axioms);

/// "left ; left = right ; right" without example or proof: what a user writes. Errors name the column.
Result<std::vector<Output>> parse_outputs(std::string_view text);

}  // namespace isomer::substitutions
