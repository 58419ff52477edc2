// Running `isomer` on files that mean harm: with limits, so that what goes wrong hurts the test only.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/process.h"

namespace isomer::test {

/// `isomer ARGUMENTS…`, killed after a time that no command needs, with bounded memory.
Outcome run_isomer(const std::vector<std::string>& arguments);

/// Starting the program takes longer than what it does with most of the files: one gets some of `count` ways to be
/// looked at, all of them in a long run.
bool is_turn(std::string_view file, size_t way, size_t count);

/// What a hostile file may cost at most: four times the second that it may take on an idle machine, as tests run on
/// slow and busy ones too; more in a build with sanitizers.
double allowed_seconds();
long allowed_peak_kb();
/// What a command under --memory 1GB may take: that, but for what sanitizers add.
long peak_kb_of_1gb();

/// No byte of the text is a control character or part of broken UTF-8; line ends are allowed.
bool is_clean_text(std::string_view text);

/// Empty where `outcome` is what every refused file gets: exit code 3, nothing on standard output and one line
/// `isomer: FILE: …` of bounded length that holds `sentence` on standard error. Else what is wrong.
std::string wrong_with_refusal(const Outcome& outcome, std::string_view file, std::string_view sentence);

}  // namespace isomer::test
