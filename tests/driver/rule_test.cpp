// include/isomer/rule.h: rules of equations.
#include "isomer/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "isomer/library.h"
#include "support/files.h"

namespace isomer::test {
namespace {

using testing::HasSubstr;

class RulesOfUsers : public testing::Test {
 protected:
  std::string stem() const { return (folder_.path() / "mine").string(); }
  void expect_refused(const std::string& equations, FailureKind kind, const std::string& part) const {
    const auto made = rules_of_equations(equations, stem());
    ASSERT_FALSE(made.has_value()) << equations;
    EXPECT_EQ(made.error().kind, kind);
    EXPECT_THAT(made.error().sentence, HasSubstr(part));
    EXPECT_EQ(made.error().sentence.find('\n'), std::string::npos);
  }

  ScratchFolder folder_;
};

TEST_F(RulesOfUsers, AreProvedAndAdded) {
  const auto made = rules_of_equations("relu-twice | x[2,3] | Relu(Relu(x)) = Relu(x)\n", stem());
  ASSERT_TRUE(made.has_value()) << made.error().sentence;
  ASSERT_EQ(made.value().size(), 1u);
  EXPECT_EQ(made.value()[0].name, "relu-twice");
  // With or without the ending, to what is there.
  const auto more = rules_of_equations("x[2,3] | Relu(Relu(x)) = Relu(x)\nabs-twice | x[2,3] | Abs(Abs(x)) = Abs(x)\n",
                                       stem() + ".rules");
  ASSERT_TRUE(more.has_value()) << more.error().sentence;
  EXPECT_EQ(more.value()[0].name, "") << "there is such a rule";
  EXPECT_EQ(more.value()[1].name, "abs-twice");
  const auto rules = library_rules({stem() + ".rules"});
  ASSERT_TRUE(rules.has_value()) << rules.error().sentence;
  ASSERT_EQ(rules.value().size(), 2u);
  EXPECT_EQ(rules.value()[1].statement, more.value()[1].statement);
  expect_refused("abs-twice | x[2,3] | Neg(Neg(x)) = x\n", FailureKind::invalid,
                 "line 1: a name of its own expected, there is a rule 'abs-twice'");
}

TEST_F(RulesOfUsers, WhatDoesNotHoldIsNone) {
  expect_refused("x[2,3] | Relu(Relu(x)) = Relu(x)\nx[2,3] | Relu(x) = x\n", FailureKind::mismatch,
                 "line 2: an equation that holds expected, one that numbers refute found");
  expect_refused("Relu(x) =\n", FailureKind::invalid, "line 1");
  EXPECT_FALSE(std::filesystem::exists(stem() + ".rules"));
}

}  // namespace
}  // namespace isomer::test
