// The proof checker: what follows is accepted, what does not is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "verify/claim_support.h"
#include "verify/proof/certificate.h"
#include "verify/prove.h"

namespace isomer::verify::test {
namespace {

using testing::HasSubstr;

/// Parallel products with one left operand become one (Jia et al. 2019, figure 2).
struct MergedProducts {
  std::vector<Law> laws = {law("MatMul(x,Concat(y,z){axis=1}) = Concat(MatMul(x,y),MatMul(x,z)){axis=1}"),
                           law("Split(Concat(x,y){axis=a}){axis=a,split=[s,t]}.1 = y"), law("Add(a,b) = Add(b,a)")};
  Law claim = law("MatMul(x,w) = Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[v_1,w_1]}.1");
  Certificate proof;
  MergedProducts() {
    proof.uses.push_back(
        {0, {.tensors = {{"x", term("x")}, {"y", term("v")}, {"z", term("w")}}, .integers = {}, .rests = {}}});
    proof.uses.push_back({1,
                          {.tensors = {{"x", term("MatMul(x,v)")}, {"y", term("MatMul(x,w)")}},
                           .integers = {{"a", Dim(1)}, {"s", Dim::symbol("v_1")}, {"t", Dim::symbol("w_1")}},
                           .rests = {}}});
  }
};

TEST(Certificates, AProofReplays) {
  const MergedProducts merged;
  const auto replayed = replay(merged.proof, merged.laws, merged.claim);
  EXPECT_TRUE(replayed.ok()) << replayed.error().message();
}

TEST(Certificates, WithoutAUseNothingIsProved) {
  const MergedProducts merged;
  for (size_t k = 0; k < merged.proof.uses.size(); ++k) {
    Certificate less = merged.proof;
    less.uses.erase(less.uses.begin() + static_cast<std::ptrdiff_t>(k));
    EXPECT_FALSE(replay(less, merged.laws, merged.claim).ok()) << k;
  }
}

TEST(Certificates, ChangedUsesProveNothing) {
  const MergedProducts merged;
  const auto refused = [&](const std::function<void(Certificate&)>& change) {
    Certificate changed = merged.proof;
    change(changed);
    return !replay(changed, merged.laws, merged.claim).ok();
  };
  EXPECT_TRUE(refused([](Certificate& c) { c.uses[1].bindings.integers.insert_or_assign("a", Dim(0)); }));
  EXPECT_TRUE(refused([](Certificate& c) { c.uses[1].bindings.integers.insert_or_assign("s", Dim(3)); }));
  EXPECT_TRUE(refused([](Certificate& c) { c.uses[0].bindings.tensors.insert_or_assign("y", term("w")); }));
  EXPECT_TRUE(refused([](Certificate& c) { c.uses[0].law = 2; }));
  EXPECT_TRUE(refused([](Certificate& c) { c.uses[0].law = 7; }));
}

TEST(Certificates, LeaveOutWhatIsNotNeeded) {
  MergedProducts merged;
  merged.proof.uses.insert(merged.proof.uses.begin() + 1,
                           LawUse{2, {.tensors = {{"a", term("x")}, {"b", term("w")}}, .integers = {}, .rests = {}}});
  EXPECT_EQ(minimized(merged.proof, merged.laws, merged.claim).uses.size(), 2U);
}

TEST(Certificates, ConditionsOfLawsAreConditionsOfTheClaim) {
  const std::vector<Law> laws = {
      law("Conv(Add(x,y),w){..p} = Add(Conv(x,w){..p},Conv(y,w){..p}) if x_0 == y_0 && x_1 < 9")};
  const auto proved = [&](const char* claim, const Dim& x0, const Dim& y0) {
    Certificate proof;
    proof.uses.push_back({0,
                          {.tensors = {},
                           .integers = {{"x_0", x0}, {"y_0", y0}, {"x_1", Dim(4)}},
                           .rests = {{"p", {{"group", Dim(2)}}}}}});
    return replay(proof, laws, law(claim));
  };
  const char* const bare = "Conv(Add(x,y),w){group=2} = Add(Conv(x,w){group=2},Conv(y,w){group=2})";
  EXPECT_TRUE(proved(bare, Dim(3), Dim(3)).ok());
  EXPECT_THAT(proved(bare, Dim(3), Dim(1)).error().message(), HasSubstr("use 1: the condition of"));
  EXPECT_FALSE(proved(bare, Dim::symbol("n"), Dim::symbol("m")).ok());
  EXPECT_TRUE(proved("Conv(Add(x,y),w){group=2} = Add(Conv(x,w){group=2},Conv(y,w){group=2}) if n == m",
                     Dim::symbol("n"), Dim::symbol("m"))
                  .ok());
}

TEST(Certificates, CongruenceReachesInside) {
  const std::vector<std::pair<Term, Term>> equations = {{term("Relu(x)"), term("y")}, {term("Neg(y)"), term("z")}};
  EXPECT_TRUE(follows(equations, term("Add(Neg(Relu(x)),w)"), term("Add(z,w)")));
  EXPECT_FALSE(follows(equations, term("Add(Neg(Relu(w)),w)"), term("Add(z,w)")));
  EXPECT_FALSE(follows(equations, term("Concat(x,Neg(Relu(x))){axis=0}"), term("Concat(x,z){axis=1}")));
  EXPECT_TRUE(follows(equations, term("Concat(x,Neg(Relu(x))){axis=0}"), term("Concat(x,z){axis=0}")));
}

}  // namespace
}  // namespace isomer::verify::test
