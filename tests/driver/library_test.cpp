// include/isomer/library.h: the rules, and equations against them.
#include "isomer/library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace isomer::test {
namespace {

using testing::HasSubstr;

TEST(Library, SaysItsRules) {
  const auto rules = library_rules();
  ASSERT_TRUE(rules) << rules.error().sentence;
  EXPECT_GT(rules.value().size(), 100U);
  for (const LibraryRule& rule : rules.value()) {
    EXPECT_FALSE(rule.name.empty());
    EXPECT_THAT(rule.statement, HasSubstr(" = "));
    EXPECT_FALSE(rule.fp_class.empty());
  }
  const auto none = library_rules({"no such file"});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().sentence, HasSubstr("no such file"));
}

TEST(Library, SaysWhereEquationsStand) {
  CheckEquationsOptions options;
  options.threads = 2;
  const auto checked = check_equations(
      "sum | x[2,3] y[2,3] | Add(x, y) = Add(y, x)\n"
      "# a comment\n"
      "x[2,3] w[3,4] | Relu(MatMul(x, w)) = MatMul(Relu(x), w)\n"
      "x[2,3] | Relu(Relu(Relu(x))) = Relu(x)\n",
      options);
  ASSERT_TRUE(checked) << checked.error().sentence;
  ASSERT_EQ(checked.value().size(), 3U);
  const CheckedEquation &sum = checked.value()[0], &wrong = checked.value()[1], &thrice = checked.value()[2];
  EXPECT_EQ(sum.label, "sum");
  EXPECT_EQ(sum.line, 1);
  EXPECT_THAT(sum.verdict, testing::AnyOf("is law", "is rule"));
  EXPECT_EQ(wrong.line, 3);
  EXPECT_EQ(wrong.verdict, "refuted");
  EXPECT_THAT(wrong.why, HasSubstr("right: float32[1,1]"));
  EXPECT_THAT(thrice.verdict, testing::AnyOf("follows", "follows with laws"));
  EXPECT_FALSE(thrice.rules.empty() && thrice.laws.empty());
}

TEST(Library, HasBoundsForThreads) {
  for (const int threads : {-1, 1025}) {
    CheckEquationsOptions options;
    options.threads = threads;
    const auto checked = check_equations("x[2,3] | Relu(Relu(x)) = Relu(x)\n", options);
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().sentence, HasSubstr("threads: a number from 0 to 1024 expected"));
  }
  CheckEquationsOptions options;
  options.threads = 1000;  // solvers are started for one
  EXPECT_TRUE(check_equations("x[2,3] | Relu(Relu(x)) = Relu(x)\n", options));
}

TEST(Library, RefusesWhatIsNoEquation) {
  for (const auto& [text, part] : {std::pair("Add(x, y", "line 1"), std::pair("\nAdd(x, y) = Add(y, x)", "line 2")}) {
    const auto checked = check_equations(text);
    ASSERT_FALSE(checked) << text;
    EXPECT_THAT(checked.error().sentence, HasSubstr(part));
  }
}

TEST(Library, StopsWhenItIsAsked) {
  Stop stop;
  stop.request();
  CheckEquationsOptions options;
  options.stop = &stop;
  const auto checked = check_equations("x[2,3] | Relu(Relu(x)) = Relu(x)\n", options);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, FailureKind::stopped);
}

}  // namespace
}  // namespace isomer::test
