// Rules and their proofs as text: a line a rule, sorted, the same for the same rules; a proof is a line for each use of
// a law. Files name the laws that they were proved from, so that proofs from others are not mistaken for these. Test:
// tests/substitutions/rules_file_test.cpp
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "substitutions/library/print_rule.h"
#include "substitutions/proof/read/rule_text.h"

namespace isomer::substitutions {

struct RulesFile {
  std::string made_by;  ///< the command's options, for people: "--ops taso --max-ops 3 --seed 0"
  std::vector<Rule> rules;
};

std::string print_rules(const RulesFile& file);
std::string print_proofs(const RulesFile& file, std::span<const verify::StatedAxiom> axioms);
/// Errors name the line, expected, found. Proofs of other rules are skipped if each rule has one; none is replayed.
Result<RulesFile> parse_rules(std::string_view rules, std::string_view proofs,
                              std::span<const verify::StatedAxiom> axioms);

/// What a file says of a rule: that holds at its example, and is of the class of the laws that its proof uses.
Result<void> replayed(const Rule& rule, std::span<const verify::StatedAxiom> axioms, verify::Signatures& signatures);

/// STEM of STEM.rules, or a stem itself.
std::filesystem::path rules_stem(std::filesystem::path path);
/// STEM.rules and, before it, STEM.proofs, of either STEM or STEM.rules: rules that were there stay with their proofs.
/// `tell` is called once both are on the disk; after an error of it neither gets its name.
Result<void> write_rules(const std::filesystem::path& path, const RulesFile& file,
                         std::span<const verify::StatedAxiom> axioms, const std::function<Result<void>()>& tell = {});
/// Errors name the file of the two.
Result<RulesFile> read_rules(const std::filesystem::path& path, std::span<const verify::StatedAxiom> axioms);
}  // namespace isomer::substitutions
