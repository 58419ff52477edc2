// The rules that come with the program are what `isomer library generate` makes today, byte for byte, and all of them
// replay.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "substitutions/generated.h"
#include "substitutions/library/shipped.h"
#include "substitutions/mutate/mutants.h"
#include "support/long_run.h"
#include "verify/prover/prove.h"

namespace isomer::substitutions::test {
namespace {

TEST(Shipped, EveryRuleReplays) {
  const auto axioms = verify::all_axioms();
  verify::Signatures signatures;
  int rules = 0;
  for (const RulesFile& file : shipped_rules(axioms))
    for (const Rule& rule : file.rules) {
      const auto done = replayed(rule, axioms, signatures);
      EXPECT_TRUE(done.ok()) << rule.name << ": " << done.error().message();
      ++rules;
    }
  EXPECT_GT(rules, 1000);
}

/// Of "--ops taso --max-ops 3 --seed 0".
void regenerate(const RulesFile& file) {
  std::istringstream words(file.made_by);
  std::string word, set;
  EnumerationOptions options;
  options.threads = 2;
  while (words >> word) {
    if (word == "--ops") words >> set;
    if (word == "--max-ops") words >> options.max_operators;
    if (word == "--seed") words >> options.seed;
  }
  SCOPED_TRACE(file.made_by);
  const auto axioms = verify::all_axioms();
  MutantOptions of_mutants;
  of_mutants.max_operators = options.max_operators;
  of_mutants.threads = options.threads;
  of_mutants.seed = options.seed;
  const RulesFile made{file.made_by,
                       set == "mutants" ? mutants(originals(), of_mutants)->rules : generated(set, options).rules};
  EXPECT_EQ(print_rules(made), print_rules(file));
  EXPECT_EQ(print_proofs(made, axioms), print_proofs(file, axioms));
}

TEST(Shipped, AreWhatGenerateMakes) {
  const std::vector<RulesFile> files = shipped_rules(verify::all_axioms());
  constexpr size_t kFewRules = 400;
  for (const RulesFile& file : files)
    if (isomer::test::is_long_run() || (file.rules.size() < kFewRules && !file.made_by.starts_with("--ops mutants")))
      regenerate(file);
}

}  // namespace
}  // namespace isomer::substitutions::test
