#include "substitutions/library/rule_names.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>

#include "substitutions/library/print_rule.h"
#include "util/hash.h"
#include "util/utf8.h"

namespace isomer::substitutions {
namespace {

using verify::Term;

constexpr size_t kNameDigits = 6;

/// "matmul_add-concat_matmul": the operators of both sides.
std::string stem_of(const Rule& rule) {
  const auto side = [&](Term Output::* which) {
    std::vector<std::string> names;
    const std::function<void(const Term&)> walk = [&](const Term& term) {
      const auto* application = term.as_application();
      if (!application) return;
      for (const Term& argument : application->arguments) walk(argument);
      std::string name(application->op->name);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      names.push_back(std::move(name));
    };
    for (const Output& output : rule.outputs) walk(output.*which);
    constexpr size_t kMostNamed = 4;
    if (names.size() > kMostNamed) names.resize(kMostNamed);
    return names.empty() ? std::string("same") : fmt::format("{}", fmt::join(names, "_"));
  };
  return side(&Output::left) + "-" + side(&Output::right);
}

}  // namespace

void name_rules(std::vector<Rule>& rules) {
  std::map<std::string, uint64_t> texts;
  for (Rule& rule : rules) {
    const std::string text = rule.text();
    Hasher hasher;
    hasher.add(text);
    if (const uint64_t before = texts[text]++; before > 0) hasher.add(before);
    rule.name = fmt::format("{}-{}", stem_of(rule), hasher.finish().hex().substr(0, kNameDigits));
  }
}

bool is_rule_name(std::string_view name) {
  while (!name.empty()) {
    const size_t length = shown_length(name);
    if (length == 0 || name.starts_with('"')) return false;
    name.remove_prefix(length);
  }
  return true;
}

void tell_apart(std::vector<Rule>& rules, std::span<const Rule> beside, std::span<const verify::StatedAxiom> axioms) {
  const auto text_of = [&](const Rule& rule) {
    std::string text = rule.text();
    for (const verify::LawUse& use : rule.proof.uses) text += "\n" + print_use(use, axioms);
    return text;
  };
  std::map<std::string, const Rule*> known;
  for (const Rule& rule : beside) known.emplace(rule.name, &rule);
  for (Rule& rule : rules)
    for (auto there = known.emplace(rule.name, &rule); !there.second; there = known.emplace(rule.name, &rule)) {
      const std::string text = text_of(rule);
      if (text_of(*there.first->second) == text) break;
      rule.name += "-" + Hasher().add(rule.name).add(text).finish().hex().substr(0, kNameDigits);
    }
}

}  // namespace isomer::substitutions
