// The prover: true equations are proved and their proofs replay, false ones are not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/te/symbols.h"
#include "verify/claim_support.h"
#include "verify/claims.h"
#include "verify/proof/equal_sides.h"
#include "verify/prover/prove.h"

namespace isomer::verify::test {
namespace {

using testing::HasSubstr;

class Proofs : public testing::Test {
 protected:
  Result<Proof> prove(const Claim& claim, const ProveLimits& limits = {}) {
    return verify::prove(law_of(claim), types_of(claim), prover_, limits);
  }

  Prover prover_ = *Prover::start();
  LawSet& laws_ = prover_.laws;
};

std::string text(const Certificate& certificate) {
  std::string result;
  for (const LawUse& use : certificate.uses) {
    result += std::to_string(use.law);
    for (const auto& [name, term] : use.bindings.tensors) result += " " + name + "=" + term.text();
    for (const auto& [name, integer] : use.bindings.integers) result += " " + name + "=" + integer.text();
    result += "\n";
  }
  return result;
}

TEST_F(Proofs, AreFoundForTrueEquations) {
  Signatures fresh;
  for (const Claim& claim : kTrue) {
    SCOPED_TRACE(claim.equation);
    EXPECT_TRUE(agree(law_of(claim), types_of(claim)));
    const auto proof = prove(claim);
    ASSERT_TRUE(proof.ok()) << proof.error().message();
    ASSERT_TRUE(proof->certificate) << name(proof->stop) << " after " << proof->nodes << " nodes";
    const auto replayed = replay(*proof->certificate, laws_.axioms(), law_of(claim), types_of(claim), fresh);
    EXPECT_TRUE(replayed.ok()) << replayed.error().message();
    for (size_t k = 0; k < proof->certificate->uses.size(); ++k) {
      Certificate less = *proof->certificate;
      less.uses.erase(less.uses.begin() + static_cast<std::ptrdiff_t>(k));
      EXPECT_FALSE(replay(less, laws_.axioms(), law_of(claim), types_of(claim), fresh).ok()) << "without use " << k + 1;
    }
  }
}

TEST_F(Proofs, AreNotFoundForFalseEquations) {
  for (const Claim& claim : kFalse) {
    SCOPED_TRACE(claim.equation);
    EXPECT_FALSE(agree(law_of(claim), types_of(claim)));
    const auto proof = prove(claim);
    ASSERT_TRUE(proof.ok()) << proof.error().message();
    EXPECT_FALSE(proof->certificate) << text(*proof->certificate);
  }
}

/// Whatever terms laws meet, what they say of them is true.
TEST_F(Proofs, OnlyTrueInstancesAreUsed) {
  int instances = 0;
  for (const auto& claims : {std::span<const Claim>(kTrue), std::span<const Claim>(kFalse)})
    for (const Claim& claim : claims) {
      const VariableTypes types = types_of(claim);
      EGraph graph(types, laws_.signatures());
      const int left = *graph.add(law_of(claim).left), right = *graph.add(law_of(claim).right);
      Saturation saturation(graph, laws_);
      saturation.run(left, right, {.rounds = 4, .nodes = 300});
      for (size_t i = 0; i < saturation.instances().size(); ++i) {
        const LawUse use = saturation.use(static_cast<int>(i));
        const auto instance =
            instance_of(laws_.axioms()[static_cast<size_t>(use.law)], use.bindings, types, laws_.signatures());
        ASSERT_TRUE(instance.ok()) << instance.error().message();
        EXPECT_TRUE(agree(*instance, types)) << instance->text();
        ++instances;
      }
    }
  EXPECT_GT(instances, 500);
}

TEST_F(Proofs, DoNotDependOnWhatWasAskedBefore) {
  std::vector<std::string> first;
  for (const Claim& claim : kTrue) first.push_back(text(*prove(claim)->certificate));
  for (size_t k = std::size(kTrue); k-- > 0;) EXPECT_EQ(text(*prove(kTrue[k])->certificate), first[k]);
  for (size_t k = 0; k < std::size(kTrue); k += 10) {
    Prover fresh = *Prover::start();
    const auto proof = verify::prove(law_of(kTrue[k]), types_of(kTrue[k]), fresh);
    EXPECT_EQ(text(*proof->certificate), first[k]);
  }
}

TEST_F(Proofs, NothingIsProvedWithoutZ3) {
  Prover weak = *Prover::start({.resources = 100});
  const Claim claim = {"a[2,2] b[2,2] c[2,2]", "Add(a,Add(b,c)) = Add(c,Add(b,a))"};
  const auto proof = verify::prove(law_of(claim), types_of(claim), weak);
  ASSERT_TRUE(proof.ok());
  EXPECT_EQ(proof->stop, Saturated::kProved);
  EXPECT_FALSE(proof->certificate);
}

TEST_F(Proofs, IllTypedClaimsAreErrors) {
  const auto says = [&](const Claim& claim, const char* why) {
    const auto proof = prove(claim);
    ASSERT_FALSE(proof.ok()) << claim.equation;
    EXPECT_THAT(proof.error().message(), HasSubstr(why));
  };
  says({"x[2,4]", "Relu(x) = Relu(y)"}, "a type of each variable expected");
  says({"x[2,4] y[3,4]", "Add(x,y) = Add(y,x)"}, "shapes that broadcast expected");
  says({"x[2,4] y[3,4]", "x = y"}, "sides of one type expected");
  says({"x[2,4] y[2,4]", "Concat(x,y){..p} = x"}, "all parameters expected");
  says({"x[2,4] y[2,4]", "x = y if x_0 == y_0"}, "a claim without condition expected");
}

/// A law that was checked with few numbers is used with others where it holds there.
class LawUses : public testing::Test {
 protected:
  bool may_use(const char* text, const Claim& types, const char* rest) {
    const Axiom axiom{text, "images"};
    const StatedAxiom stated{"stated", find_op("", "Conv"), &axiom, law(text)};
    Bindings bindings;
    for (const auto& [name, type] : types_of(types)) bindings.tensors.emplace(name, Term::variable(name));
    bindings.rests.emplace("p", parse_parameters(rest, find_op("", "Conv"))->named);
    return instance_of(stated, bindings, types_of(types), signatures_).ok();
  }
  Signatures signatures_;
};

TEST_F(LawUses, StandOnTheNumbersThere) {
  constexpr const char* kTrueLaw = "Mul(Conv(x,w){..p},s) = Conv(x,Mul(w,s)){..p} if s_rank == 0";
  const Claim conv = {"s[] x[1,3,40,40] w[4,3,3,3]", "s = s"};
  for (const char* rest : {"{}", "{strides=[5,5]}", "{dilations=[12,12],pads=[12,12,12,12]}", "{pads=[7,0,9,1]}"})
    EXPECT_TRUE(may_use(kTrueLaw, conv, rest)) << rest;
  // A window of which all is padding: its maximum is that of nothing.
  constexpr const char* kFalseLaw =
      "MaxPool(Relu(x)){kernel_shape=[2,2],pads=[1,1,1,1],..p} = "
      "Relu(MaxPool(x){kernel_shape=[2,2],pads=[1,1,1,1],..p})";
  EXPECT_FALSE(may_use(kFalseLaw, {"x[1,1,1,1]", "x = x"}, "{dilations=[2,2]}"));
  EXPECT_FALSE(may_use(kFalseLaw, {"x[1,2,6,6]", "x = x"}, "{dilations=[7,7]}"));
  EXPECT_TRUE(may_use(kFalseLaw, {"x[1,2,9,6]", "x = x"}, "{dilations=[1,1]}"));
  EXPECT_TRUE(may_use(kFalseLaw, {"x[1,2,9,9]", "x = x"}, "{dilations=[2,2]}"));
}

/// Sizes that data decide may be 0, as may what a Slice leaves; free ones are at least 1.
TEST_F(LawUses, AskWhatHoldsWhereASizeIsZero) {
  const Dim n = Dim::symbol("n"), decided = Dim::symbol(size_by_data("y", 1)), left = n - min(Dim(3), n);
  const auto holds = [&](const char* text, const Shape& shape) {
    const Axiom axiom{text, "ranked"};
    const StatedAxiom stated{"stated", find_op("", "Relu"), &axiom, law(text)};
    const VariableTypes types = {{"x", ValueType::tensor(DataType::kFloat32, shape)}};
    const bool by_law = instance_of(stated, {{{"x", Term::variable("x")}}, {}, {}}, types, signatures_).ok();
    EXPECT_EQ(by_law, !why_not_proved({law(text), types}, nullptr)) << text << isomer::text(shape);
    return by_law;
  };
  constexpr const char* kMaximum =
      "ReduceMax(Relu(x)){axes=[0,1],keepdims=0} = Relu(ReduceMax(x){axes=[0,1],keepdims=0})";
  EXPECT_TRUE(holds(kMaximum, {1, n}));
  for (const Dim& size : {decided, left, decided + n - 1}) EXPECT_FALSE(holds(kMaximum, {1, size})) << size.text();
  EXPECT_TRUE(holds(kMaximum, {1, decided + n}));
  // Nothing but the sum of none is 0, and what has no elements is equal whatever it is.
  constexpr const char* kAlways[] = {
      "Relu(Relu(x)) = Relu(x)", "Transpose(Relu(x)){perm=[1,0]} = Relu(Transpose(x){perm=[1,0]})",
      "ReduceSum(Neg(x)){axes=[0,1],keepdims=0} = Neg(ReduceSum(x){axes=[0,1],keepdims=0})",
      "ReduceMax(Relu(x)){axes=[1],keepdims=0} = Relu(ReduceMax(x){axes=[1],keepdims=0})"};
  for (const char* always : kAlways)
    for (const Dim& size : {n, decided, left}) EXPECT_TRUE(holds(always, {size, 2})) << always << size.text();
}

TEST_F(Proofs, CertificatesThatWereChangedDoNotReplay) {
  const Claim claim = {"x[2,4,5,5] v[3,4,3,3]",
                       "Conv(x,v){pads=[1,1,1,1]} = Conv(x,Pad(v){pads=[0,0,1,1,0,0,1,1]}){pads=[2,2,2,2]}"};
  const auto proof = prove(claim);
  ASSERT_TRUE(proof.ok() && proof->certificate);
  ASSERT_EQ(proof->certificate->uses.size(), 1U);
  const auto refused = [&](const char* why, const std::function<void(LawUse&)>& change) {
    Certificate changed = *proof->certificate;
    change(changed.uses[0]);
    const auto replayed = replay(changed, laws_.axioms(), law_of(claim), types_of(claim), laws_.signatures());
    ASSERT_FALSE(replayed.ok()) << why;
    EXPECT_THAT(replayed.error().message(), HasSubstr(why));
  };
  refused("e of at least 0 expected, -1 found",
          [](LawUse& use) { use.bindings.integers.insert_or_assign("e", Dim(-1)); });
  refused("parameters for ..p that the law is checked with",
          [](LawUse& use) { use.bindings.rests["p"].insert_or_assign("auto_pad", std::string("VALID")); });
  refused("a term for w expected", [](LawUse& use) { use.bindings.tensors.erase("w"); });
  refused("types of the family 'images' expected",
          [](LawUse& use) { use.bindings.tensors.insert_or_assign("w", term("ReduceSum(v){axes=[0],keepdims=0}")); });
  refused("an equation that follows",
          [](LawUse& use) { use.bindings.rests["p"].insert_or_assign("strides", std::vector<Dim>{2, 2}); });
  refused("one of", [](LawUse& use) { use.law = 100000; });
}

TEST_F(Proofs, OfFloatsDoNotReplayForIntegers) {
  const Claim claim = {"x[2,4] y[2,4]", "Abs(Mul(x,y)) = Mul(Abs(y),Abs(x))"};
  const auto proof = prove(claim);
  ASSERT_TRUE(proof.ok() && proof->certificate);
  VariableTypes types = types_of(claim);
  EXPECT_TRUE(replay(*proof->certificate, laws_.axioms(), law_of(claim), types, laws_.signatures()).ok());
  for (auto& [name, type] : types) type.dtype = DataType::kInt64;
  const auto replayed = replay(*proof->certificate, laws_.axioms(), law_of(claim), types, laws_.signatures());
  ASSERT_FALSE(replayed.ok());
  EXPECT_THAT(replayed.error().message(), HasSubstr("'broadcast of floats'"));
  const auto of_integers = verify::prove(law_of(claim), types, prover_, {});
  ASSERT_TRUE(of_integers.ok()) << of_integers.error().message();
  EXPECT_FALSE(of_integers->certificate);
}

}  // namespace
}  // namespace isomer::verify::test
