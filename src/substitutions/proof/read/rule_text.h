// Rules, uses of laws and their names, read from text; substitutions/library/print_rule.h writes it. Test:
// tests/substitutions/rules_file_test.cpp
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "substitutions/proof/rule.h"

namespace isomer::substitutions {

/// Between the parts of a line.
inline constexpr std::string_view kBetween = " ; ";
/// In place of a law's name, where a use is of none.
inline constexpr std::string_view kElements = "elements";

/// "Conv.3f2a1c" (verify/proof/axioms.h); "elements".
std::string law_name(int law, std::span<const verify::StatedAxiom> axioms);

using LawNumbers = std::map<std::string, int, std::less<>>;
/// By their names.
LawNumbers law_numbers(std::span<const verify::StatedAxiom> axioms);

/// Part of a line behind blanks, so that whatever reads it names columns of the line.
std::string at_its_column(std::string_view line, std::string_view part);

/// Whether the part of a line is integers or a rest of one of these operators ("{a=1,b=2}", "..p={axis=1}"); then it is
/// added.
Result<bool> take_binding(std::string_view line, std::string_view part, const std::map<std::string, const OpDef*>& ops,
                          verify::Bindings& bindings);

/// A rule without its proof: name TAB class TAB outputs TAB example.
Result<Rule> parse_rule(std::string_view line);
/// Behind a tab the law's name and what its names stand for, between " ; "; of the elements of a left and a right side.
Result<verify::LawUse> parse_use(std::string_view line, const LawNumbers& laws,
                                 std::span<const verify::StatedAxiom> axioms);
/// "left ; left = right ; right" without example or proof: what a user writes, as part of a line.
/// Errors name the column.
Result<std::vector<Output>> parse_outputs(std::string_view line, std::string_view text);
inline Result<std::vector<Output>> parse_outputs(std::string_view line) { return parse_outputs(line, line); }

}  // namespace isomer::substitutions
