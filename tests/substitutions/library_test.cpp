// The library of two operators: every rule has a proof that replays and is found again, no numbers refute it, and
// neither threads nor the day change a byte.
#include "substitutions/library/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "substitutions/generated.h"
#include "substitutions/library/refute.h"
#include "substitutions/library/rule_names.h"
#include "substitutions/library/shipped.h"
#include "substitutions/rewrite/theory.h"
#include "support/long_run.h"
#include "util/stop.h"
#include "verify/claim_support.h"
#include "verify/prover/prove.h"

namespace isomer::substitutions::test {
namespace {

class Libraries : public testing::Test {
 protected:
  static void SetUpTestSuite() { library_ = new Library(generated("taso", 2)); }
  static void TearDownTestSuite() { delete std::exchange(library_, nullptr); }
  static const std::vector<Rule>& rules() { return library_->rules; }

  const std::vector<verify::StatedAxiom> axioms_ = verify::all_axioms();
  verify::Signatures signatures_;
  static Library* library_;
};
Library* Libraries::library_ = nullptr;

TEST_F(Libraries, AreLargeAndSaySo) {
  EXPECT_GE(rules().size(), 60U);
  const LibraryStatistics& facts = library_->statistics;
  EXPECT_EQ(facts.kept, static_cast<int>(rules().size()));
  EXPECT_EQ(facts.candidates, facts.proved + facts.unproved);
  EXPECT_EQ(facts.unproved, static_cast<int>(facts.unproved_texts.size()));
}

TEST_F(Libraries, ProofsReplay) {
  for (const Rule& rule : rules()) {
    const auto done = replayed(rule, axioms_, signatures_);
    EXPECT_TRUE(done.ok()) << rule.text() << ": " << done.error().message();
    Rule other = rule;
    other.float_class = rule.float_class == FloatClass::kExact ? FloatClass::kFinite : FloatClass::kExact;
    EXPECT_FALSE(replayed(other, axioms_, signatures_).ok());
  }
}

TEST_F(Libraries, EveryRuleIsProvedAgain) {
  verify::Prover prover = *verify::Prover::start();
  for (const Rule& rule : rules())
    for (const Output& output : equations_at(rule, rule.example)) {
      const auto proof = verify::prove({output.left, output.right, {}}, rule.example.types, prover);
      ASSERT_TRUE(proof.ok()) << proof.error().message();
      EXPECT_TRUE(proof->certificate) << rule.text();
    }
}

TEST_F(Libraries, NumbersDoNotRefuteThem) {
  const int trials = isomer::test::is_long_run() ? 1000 : 10;
  int places = 0;
  for (const Rule& rule : rules()) {
    const Refutation tried = refute(rule, trials, 1, axioms_, signatures_);
    EXPECT_GE(tried.trials, trials) << rule.text();
    EXPECT_FALSE(tried.counterexample) << tried.counterexample->text();
    places += tried.places;
  }
  EXPECT_GE(places, static_cast<int>(rules().size()) / 2) << "rules should hold at other places than their examples";
}

TEST_F(Libraries, WrongRulesAreRefuted) {
  int refuted = 0, changed = 0;
  for (Rule rule : rules()) {
    if (rule.outputs.size() != 1) continue;
    rule.outputs[0].right = *verify::parse_term("Mul(" + rule.outputs[0].right.text() + ",2)");
    ++changed;
    refuted += refute(rule, 20, 1, axioms_, signatures_).counterexample ? 1 : 0;
  }
  EXPECT_EQ(refuted, changed);
}

/// The maximum of a window of padding alone is not finite: kernels that zeros enlarge make it something else.
TEST(Refuting, SaysNothingOfWhatIsNotFinite) {
  const verify::VariableTypes types = verify::test::types_of({"x[1,1,1,2] w[1,1,1,1]", ""});
  const char* const pool = "MaxPool(x){dilations=[2,1],kernel_shape=[2,1],pads=[1,0,1,0]}";
  const verify::Law law = verify::test::law(
      fmt::format("Conv({0},w) = Conv({0},Pad(w){{pads=[0,0,1,1,0,0,1,1]}}){{pads=[1,1,1,1]}}", pool));
  const auto refuted = [&](FloatClass float_class) {
    Random random(1);
    int count = 0;
    for (int trial = 0; trial < 20; ++trial)
      if (const auto check = verify::check_instance({law, types}, random, float_class); check && check->counterexample)
        ++count;
    return count;
  };
  EXPECT_GT(refuted(FloatClass::kExact), 0);
  EXPECT_EQ(refuted(FloatClass::kFinite), 0);
}

TEST(Refuting, GoesOnWhereIntegersWereDividedByZero) {
  verify::Prover prover = *verify::Prover::start();
  const Rule rule = proved("Add(Div(x,y),Add(x,z)) = Add(Add(Div(x,y),x),z)",
                           verify::test::types_of({"x[2,4] y[2,4] z[2,4]", ""}), prover);
  const Refutation tried = refute(rule, 1000, 0, prover.laws.axioms(), prover.laws.signatures());
  EXPECT_GE(tried.trials, 1000);
  EXPECT_FALSE(tried.counterexample);
}

TEST_F(Libraries, NamesAndTextsAreUnique) {
  std::set<std::string> names, texts;
  for (const Rule& rule : rules()) {
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
    EXPECT_TRUE(texts.insert(rule.text()).second) << rule.text();
  }
}

TEST_F(Libraries, AreTheSameForAnyNumberOfThreads) {
  const auto text = [&](const Library& made) {
    return print_rules({"", made.rules}) + print_proofs({"", made.rules}, axioms_);
  };
  const std::string first = text(*library_);
  EXPECT_EQ(text(generated("taso", 2, 1)), first);
  EXPECT_EQ(text(generated("taso", 2, 3)), first);
}

/// What was not tried is not unproved: there is no library of what was.
TEST(Generating, StopsWhileItProves) {
  const StopsInOrder stops;
  LibraryOptions options;
  options.enumeration.max_operators = 2;
  options.proving = [](int64_t, int64_t) { request_stop(); };
  auto alone = Cluster::join();
  ASSERT_TRUE(alone.ok());
  const auto made = generate(*operator_set("elementwise"), options, *alone);
  forget_stop();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::kStopped);
}

/// A rule as it says itself what it is.
std::string content(const Rule& rule, std::span<const verify::StatedAxiom> axioms) {
  std::string text = rule.text();
  for (const verify::LawUse& use : rule.proof.uses) text += "\n" + print_use(use, axioms);
  return text;
}

/// Some of them say the same by other laws, which hold elsewhere.
TEST(Names, TellRulesOfAllFilesApart) {
  const auto axioms = verify::all_axioms();
  const std::vector<Rule> normalizing = normalizing_rules(axioms).rules;
  std::vector<Rule> stated;
  for (RulesFile& file : shipped_rules(axioms)) std::ranges::move(file.rules, std::back_inserter(stated));
  stated.push_back(stated.front());
  stated.back().name = normalizing.front().name;
  std::ranges::move(rules_of_laws(axioms), std::back_inserter(stated));
  std::vector<Rule> rules = stated;
  tell_apart(rules, normalizing, axioms);
  std::map<std::string, std::string> known;
  for (const Rule& rule : normalizing) known.emplace(rule.name, content(rule, axioms));
  size_t renamed = 0;
  for (size_t k = 0; k < rules.size(); ++k) {
    const std::string text = content(rules[k], axioms);
    EXPECT_EQ(known.emplace(rules[k].name, text).first->second, text) << rules[k].name;
    EXPECT_THAT(rules[k].name, testing::StartsWith(stated[k].name));
    renamed += rules[k].name == stated[k].name ? 0 : 1;
  }
  EXPECT_GE(renamed, 10U);
  EXPECT_LT(renamed, stated.size() / 10);
  std::vector<Rule> again = rules;
  tell_apart(again, normalizing, axioms);
  for (size_t k = 0; k < rules.size(); ++k) EXPECT_EQ(again[k].name, rules[k].name);
}

}  // namespace
}  // namespace isomer::substitutions::test
