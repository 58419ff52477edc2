#include "substitutions/discover/naming.h"

#include <gtest/gtest.h>

#include <set>

namespace isomer::substitutions {
namespace {

OperatorSet families() {
  OperatorSet set;
  set.families = {{"a", {2}, 3, false}, {"b", {3}, 2, false}, {"c", {}, 1, false}};
  return set;
}

TEST(Names, NumberEveryNamingOnce) {
  const Names names(families());
  const Leaves canonical = {4, {0, 1, 3, 5}};  // two of a, one of b and of c
  ASSERT_EQ(names.count(canonical), 3u * 2 * 2);
  std::set<std::vector<Variable>> seen;
  for (uint32_t number = 0; number < names.count(canonical); ++number) {
    const Leaves leaves = names.renamed(canonical, names.renaming(canonical, number));
    EXPECT_EQ(names.number(leaves), number);
    seen.emplace(leaves.begin(), leaves.end());
  }
  EXPECT_EQ(seen.size(), names.count(canonical));
  EXPECT_TRUE(names.renamed(canonical, names.renaming(canonical, 0)) == canonical);
}

TEST(Names, NewVariablesComeInOrder) {
  const Names names(families());
  const Leaves a = {1, {0}};
  EXPECT_TRUE(names.continues(a, {2, {0, 1}}));
  EXPECT_TRUE(names.continues(a, {2, {1, 0}}));
  EXPECT_TRUE(names.continues(a, {2, {1, 3}}));
  EXPECT_FALSE(names.continues(a, {1, {2}}));
  EXPECT_FALSE(names.continues(a, {2, {1, 4}}));
  EXPECT_TRUE(names.joined(a, {3, {1, 3, 5}}) == (Leaves{4, {0, 1, 3, 5}}));
}

TEST(Names, PermutationsAreAGroup) {
  const Names names(families());
  const Leaves leaves = {5, {0, 1, 2, 3, 4}};
  const auto all = names.permutations(leaves);
  ASSERT_EQ(all.size(), 12u);
  EXPECT_EQ(all[0], names.identity());
  for (const Renaming& a : all) {
    EXPECT_EQ(composed(a, inverse(a)), names.identity());
    for (const Renaming& b : all) EXPECT_NE(std::find(all.begin(), all.end(), composed(a, b)), all.end());
  }
}

}  // namespace
}  // namespace isomer::substitutions
