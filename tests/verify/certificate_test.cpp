// What follows from equations by congruence, and what does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/claim_support.h"
#include "verify/proof/certificate.h"
#include "verify/prover/prove.h"

namespace isomer::verify::test {
namespace {

using testing::ElementsAre;

/// Parallel products with one left operand become one (Jia et al. 2019, figure 2).
struct MergedProducts {
  Equations equations = {
      {term("MatMul(x,Concat(v,w){axis=1})"), term("Concat(MatMul(x,v),MatMul(x,w)){axis=1}")},
      {term("Split(Concat(MatMul(x,v),MatMul(x,w)){axis=1}){axis=1,split=[v_1,w_1]}.1"), term("MatMul(x,w)")}};
  Term left = term("MatMul(x,w)"), right = term("Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[v_1,w_1]}.1");
};

TEST(Certificates, WithoutAnEquationNothingFollows) {
  const MergedProducts merged;
  EXPECT_TRUE(follows(merged.equations, merged.left, merged.right));
  for (size_t k = 0; k < merged.equations.size(); ++k) {
    Equations less = merged.equations;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(k));
    EXPECT_FALSE(follows(less, merged.left, merged.right)) << k;
  }
}

/// Terms are told apart by what they are, not by how they are written.
TEST(Certificates, NamesMeanNothing) {
  const Term seven = term("7"), operand = term("x"), shown = term("Shape(x)");
  EXPECT_FALSE(follows({}, Term::variable("7"), seven));
  EXPECT_FALSE(follows({}, Term::variable("Shape(x)"), shown));
  EXPECT_FALSE(follows({{Term::variable("x)"), operand}}, Term::variable("Shape(x)"), shown));
}

TEST(Certificates, NothingFollowsFromChangedEquations) {
  const MergedProducts merged;
  for (const char* other : {"Split(Concat(MatMul(x,v),MatMul(x,w)){axis=1}){axis=0,split=[v_1,w_1]}.1",
                            "Split(Concat(MatMul(x,v),MatMul(x,w)){axis=1}){axis=1,split=[3,w_1]}.1",
                            "Split(Concat(MatMul(x,w),MatMul(x,w)){axis=1}){axis=1,split=[v_1,w_1]}.1"}) {
    Equations changed = merged.equations;
    changed[1].first = term(other);
    EXPECT_FALSE(follows(changed, merged.left, merged.right)) << other;
  }
}

TEST(Certificates, LeaveOutWhatIsNotNeeded) {
  MergedProducts merged;
  merged.equations.insert(merged.equations.begin() + 1, {term("Add(x,w)"), term("Add(w,x)")});
  EXPECT_THAT(needed_of(merged.equations, merged.left, merged.right), ElementsAre(0U, 2U));
}

TEST(Certificates, CongruenceReachesInside) {
  const Equations equations = {{term("Relu(x)"), term("y")}, {term("Neg(y)"), term("z")}};
  EXPECT_TRUE(follows(equations, term("Add(Neg(Relu(x)),w)"), term("Add(z,w)")));
  EXPECT_FALSE(follows(equations, term("Add(Neg(Relu(w)),w)"), term("Add(z,w)")));
  EXPECT_FALSE(follows(equations, term("Concat(x,Neg(Relu(x))){axis=0}"), term("Concat(x,z){axis=1}")));
  EXPECT_TRUE(follows(equations, term("Concat(x,Neg(Relu(x))){axis=0}"), term("Concat(x,z){axis=0}")));
}

}  // namespace
}  // namespace isomer::verify::test
