#include "driver/rules_of_files.h"

#include <iterator>

#include "substitutions/shipped.h"

namespace isomer {

using namespace substitutions;

Result<std::vector<Rule>> rules_of_files(const std::vector<std::string>& files,
                                         std::span<const verify::StatedAxiom> axioms) {
  std::vector<Rule> rules;
  const auto take = [&](RulesFile file) {
    rules.insert(rules.end(), std::make_move_iterator(file.rules.begin()), std::make_move_iterator(file.rules.end()));
  };
  for (const std::string& file : files) {
    auto read = read_rules(file, axioms);
    if (!read.ok()) return std::move(read).error().within(file);
    take(std::move(*read));
  }
  if (files.empty())
    for (RulesFile& file : shipped_rules(axioms)) take(std::move(file));
  return rules;
}

}  // namespace isomer
