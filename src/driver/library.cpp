// include/isomer/library.h
#include "isomer/library.h"

#include "driver/public_options.h"
#include "driver/rules_of_files.h"
#include "driver/standings.h"
#include "driver/told.h"
#include "util/threads.h"

namespace isomer {
namespace {

Result<std::vector<LibraryRule>> rules_in(const std::vector<std::string>& files) {
  TRY(const auto rules, rules_of_files(files, verify::all_axioms()));
  std::vector<LibraryRule> result;
  for (const substitutions::Rule& rule : rules)
    result.push_back(
        {rule.name, rule.text(), std::string(name(rule.float_class)), static_cast<int64_t>(rule.proof.uses.size())});
  return result;
}

Result<std::vector<CheckedEquation>> checked(const std::string& text, const CheckEquationsOptions& options) {
  TRY_VOID(check_count("threads", options.threads, 0, kMostThreads));
  TRY(const auto equations, substitutions::parse_equations(text));
  StandingsOptions how;
  how.rules = options.rules;
  how.threads = options.threads > 0 ? options.threads : available_threads();
  how.seed = options.seed;
  TRY(const auto standings, standings_of(equations, how));
  std::vector<CheckedEquation> result;
  for (size_t k = 0; k < equations.size(); ++k) {
    if (!standings[k].ok()) return standings[k].error();
    const substitutions::Standing& standing = *standings[k];
    result.push_back({equations[k].line, equations[k].label, equations[k].text(),
                      std::string(substitutions::name(standing.verdict)), standing.rules, standing.laws,
                      standing.why()});
  }
  return result;
}

}  // namespace

Expected<std::vector<LibraryRule>> library_rules(const std::vector<std::string>& files) {
  return told<std::vector<LibraryRule>>(nullptr, [&] { return rules_in(files); });
}

Expected<std::vector<CheckedEquation>> check_equations(const std::string& text, const CheckEquationsOptions& options) {
  return told<std::vector<CheckedEquation>>(options.stop, [&] { return checked(text, options); });
}

}  // namespace isomer
