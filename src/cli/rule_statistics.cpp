#include "cli/rule_statistics.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "driver/rules_of_files.h"
#include "util/parse_number.h"
#include "verify/proof/axioms.h"

namespace isomer::cli {
namespace {

using nlohmann::json;
using namespace substitutions;

/// "--ops taso --max-ops 3 --seed 0", as file_of says it; nothing where rules were made otherwise.
std::optional<std::string> option_in(const std::string& made_by, const std::string& option) {
  const size_t at = (" " + made_by).find(" " + option + " ");
  if (at == std::string::npos) return std::nullopt;
  const size_t begin = at + option.size() + 1;
  return made_by.substr(begin, made_by.find(' ', begin) - begin);
}

/// Of all files: the sets of operators, and the most of them on a side. Null where none of the files says it.
json generation_of(const std::vector<RulesFile>& files) {
  json ops = nullptr, most = nullptr;
  for (const RulesFile& file : files) {
    if (const auto set = option_in(file.made_by, "--ops"))
      ops = ops.is_null() ? *set : ops.get<std::string>() + "," + *set;
    const std::string text = option_in(file.made_by, "--max-ops").value_or("");
    if (const auto count = parse_number<int>(text)) most = most.is_null() ? *count : std::max(most.get<int>(), *count);
  }
  return {{"ops", ops}, {"max_ops", most}};
}

}  // namespace

Result<void> print_rule_statistics(const std::vector<std::string>& names, const CommonOptions& options) {
  TRY(const std::vector<RulesFile> files, read_rules_files(names, verify::all_axioms()));
  std::map<std::string, int> by_class;
  std::map<size_t, int> by_length;
  std::set<std::string> texts;  // a set may have a rule of another one, too
  int rules = 0, several = 0;
  json made = json::array();
  for (const RulesFile& file : files) {
    made.push_back(file.made_by);
    for (const Rule& rule : file.rules) {
      ++rules;
      texts.insert(rule.text());
      ++by_class[std::string(name(rule.float_class))];
      ++by_length[rule.proof.uses.size()];
      several += rule.outputs.size() > 1 ? 1 : 0;
    }
  }
  if (options.json) {
    json lengths = json::object();
    for (const auto& [length, count] : by_length) lengths[std::to_string(length)] = count;
    // What enumerating took, and checking the axioms, is not in the files.
    json facts = {
        {"rules", rules},
        {"different", texts.size()},
        {"generated", made},
        {"several_outputs", several},
        {"graphs", nullptr},
        {"fingerprints", nullptr},
        {"seconds", nullptr},
        {"peak_memory_mb", nullptr},
        {"by_class", by_class},
        {"by_proof_length", lengths},
        {"axioms", {{"total", verify::all_axioms().size()}, {"proved_all_sizes", nullptr}, {"bounded", nullptr}}}};
    facts.update(generation_of(files));
    fmt::print("{}\n", json_text(facts));
    return {};
  }
  fmt::print("{} rules, {} of them different, {} of several outputs\n", rules, texts.size(), several);
  for (const auto& [floating, count] : by_class) fmt::print("{:6}  {}\n", count, floating);
  fmt::print("laws in a proof:\n");
  for (const auto& [length, count] : by_length) fmt::print("{:6}  {}\n", count, length);
  return {};
}

}  // namespace isomer::cli
