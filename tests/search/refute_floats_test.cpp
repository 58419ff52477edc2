// Rules by their compiled code: those that come with the program agree with the interpreter, wrong ones don't.
#include "search/refute_floats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "substitutions/library/shipped.h"
#include "support/long_run.h"

namespace isomer::substitutions::test {
namespace {

using testing::HasSubstr;

class RefutingInFloats : public testing::Test {
 protected:
  void SetUp() override {
    for (RulesFile& file : shipped_rules(axioms_))
      std::move(file.rules.begin(), file.rules.end(), std::back_inserter(rules_));
    options_.target = kernel::host_target();
  }

  search::FloatRefutation refuted(const Rule& rule, int trials = 1) {
    return refute_in_floats(rule, trials, 1, options_, axioms_, signatures_);
  }

  Rule rule_of(std::string_view left, std::string_view right, const std::string& variable) {
    Rule rule;
    rule.outputs = {{*verify::parse_term(left), *verify::parse_term(right)}};
    rule.example.types.emplace(variable, ValueType::tensor(DataType::kFloat32, {2, 3}));
    return rule;
  }

  const std::vector<verify::StatedAxiom> axioms_ = verify::all_axioms();
  verify::Signatures signatures_;
  std::vector<Rule> rules_;
  search::CompileOptions options_;
};

TEST_F(RefutingInFloats, ShippedRulesAreNot) {
  const size_t step = isomer::test::is_long_run() ? 1 : 61;
  int places = 0;
  for (size_t k = 0; k < rules_.size(); k += step) {
    SCOPED_TRACE(rules_[k].text());
    const search::FloatRefutation tried = refuted(rules_[k], 3);
    EXPECT_EQ(tried.difference, "");
    EXPECT_EQ(tried.trials, 3) << tried.unsupported;
    places += tried.places;
  }
  EXPECT_GT(places, 0);
}

TEST_F(RefutingInFloats, WrongOnesAre) {
  int changed = 0;
  for (size_t k = 7; k < rules_.size(); k += 97) {
    Rule rule = rules_[k];
    SCOPED_TRACE(rule.text());
    rule.outputs.back().right = *verify::parse_term("Mul(" + rule.outputs.back().right.text() + ",1001/1000)");
    EXPECT_THAT(refuted(rule).difference, HasSubstr("the right side's code against the left side: "));
    ++changed;
  }
  EXPECT_GT(changed, 10);
}

/// True of reals, and of exact arithmetic: code that rounds shows what a side loses.
TEST_F(RefutingInFloats, WhatRoundingMakesOfASideIsAllowed) {
  EXPECT_EQ(refuted(rule_of("Sub(Add(x,1000),1000)", "x", "x")).difference, "");
  EXPECT_NE(refuted(rule_of("Add(x,1/1000)", "x", "x")).difference, "");
}

TEST_F(RefutingInFloats, WhatIsNotFiniteSaysNothingOfRulesOnFiniteValues) {
  Rule rule = rule_of("Sqrt(Sub(Mul(x,0),1))", "Relu(x)", "x");
  EXPECT_NE(refuted(rule).difference, "");
  rule.float_class = FloatClass::kFinite;
  const search::FloatRefutation tried = refuted(rule);
  EXPECT_EQ(tried.difference, "");
  EXPECT_EQ(tried.trials, 0);
  EXPECT_THAT(tried.unsupported, HasSubstr("finite values expected"));
}

TEST_F(RefutingInFloats, RootsAreTriedWhereTheyAreFinite) {
  Rule rule = rule_of("Mul(Sqrt(x),Sqrt(x))", "x", "x");
  rule.float_class = FloatClass::kReassociated;
  const search::FloatRefutation tried = refuted(rule);
  EXPECT_EQ(tried.difference, "");
  EXPECT_EQ(tried.trials, 1) << tried.unsupported;
}

}  // namespace
}  // namespace isomer::substitutions::test
