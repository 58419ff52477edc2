// include/isomer/rule.h: rules of equations.
#include "isomer/rule.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

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

TEST_F(RulesOfUsers, AreAllThereWhereSeveralAreAddedAtATime) {
  std::vector<std::thread> threads;
  for (const char* op : {"Relu", "Abs", "Ceil"})
    threads.emplace_back([this, op] {
      const auto made = rules_of_equations(fmt::format("{0}-twice | x[2,3] | {0}({0}(x)) = {0}(x)\n", op), stem());
      EXPECT_TRUE(made.has_value()) << made.error().sentence;
    });
  for (std::thread& thread : threads) thread.join();
  const auto rules = library_rules({stem()});
  ASSERT_TRUE(rules.has_value()) << rules.error().sentence;
  EXPECT_EQ(rules.value().size(), 3u);
}

/// One of the two files has its place, the other can't get it: what was there is read as before.
TEST_F(RulesOfUsers, AreThoseFromBeforeWhereWritingFails) {
  const std::string relu = "relu-twice | x[2,3] | Relu(Relu(x)) = Relu(x)\n";
  const std::string abs = "abs-twice | x[2,3] | Abs(Abs(x)) = Abs(x)\n";
  ASSERT_TRUE(rules_of_equations(relu, stem()).has_value());
  const std::string before = read_file(stem() + ".rules");
  ASSERT_TRUE(rules_of_equations(abs, stem()).has_value());
  write_file(stem() + ".rules", before);  // as where its new one was not moved there
  const auto rules = library_rules({stem()});
  ASSERT_TRUE(rules.has_value()) << rules.error().sentence;
  ASSERT_EQ(rules.value().size(), 1u);
  EXPECT_EQ(rules.value()[0].name, "relu-twice");
  const auto again = rules_of_equations(abs, stem());
  ASSERT_TRUE(again.has_value()) << again.error().sentence;
  EXPECT_EQ(again.value()[0].name, "abs-twice");
  EXPECT_EQ(library_rules({stem()}).value().size(), 2u);
}

TEST_F(RulesOfUsers, HaveNoPlaceThatCannotBeLookedAt) {
  const std::string place = (folder_.path() / std::string(300, 'r')).string();
  const auto made = rules_of_equations("Relu(Relu(x)) = Relu(x)\n", place);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().kind, FailureKind::unsupported);
  EXPECT_EQ(made.error().sentence,
            place + ".rules: a file of rules, or a place for one expected, found: File name too long");
}

TEST_F(RulesOfUsers, WhatDoesNotHoldIsNone) {
  expect_refused("x[2,3] | Relu(Relu(x)) = Relu(x)\nx[2,3] | Relu(x) = x\n", FailureKind::mismatch,
                 "line 2: an equation that holds expected, one that numbers refute found");
  expect_refused("Relu(x) =\n", FailureKind::invalid, "line 1");
  EXPECT_FALSE(std::filesystem::exists(stem() + ".rules"));
}

}  // namespace
}  // namespace isomer::test
