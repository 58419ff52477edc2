#include "driver/rules_of_files.h"

#include <iterator>

#include "substitutions/library/shipped.h"

namespace isomer {

using namespace substitutions;

Result<std::vector<RulesFile>> read_rules_files(const std::vector<std::string>& files,
                                                std::span<const verify::StatedAxiom> axioms) {
  if (files.empty()) return shipped_rules(axioms);
  std::vector<RulesFile> result;
  for (const std::string& file : files) {
    TRY(RulesFile rules, read_rules(file, axioms));
    result.push_back(std::move(rules));
  }
  return result;
}

Result<std::vector<Rule>> rules_of_files(const std::vector<std::string>& files,
                                         std::span<const verify::StatedAxiom> axioms) {
  TRY(auto all, read_rules_files(files, axioms));
  std::vector<Rule> rules;
  for (RulesFile& file : all)
    rules.insert(rules.end(), std::make_move_iterator(file.rules.begin()), std::make_move_iterator(file.rules.end()));
  return rules;
}

}  // namespace isomer
