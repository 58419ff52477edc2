// The laws in the rows are true, and what checks them finds what is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/long_run.h"
#include "verify/claim_support.h"
#include "verify/laws/check_axioms.h"
#include "verify/proof/axioms.h"

namespace isomer::verify::test {
namespace {

using isomer::test::is_long_run;

TEST(Axioms, Hold) {
  const std::vector<CheckedAxiom> all = check_axioms(is_long_run() ? 1000 : 12, 1, 1);
  EXPECT_GT(all.size(), 50U);
  for (const CheckedAxiom& checked : all) {
    SCOPED_TRACE(checked.stated.axiom->law);
    EXPECT_GT(checked.check.instances, 0) << "no instance";
    EXPECT_FALSE(checked.check.counterexample) << checked.check.counterexample->text();
  }
}

struct FalseLaw {
  const char* law;
  const char* family;
};

/// Each from a defect of a published system (graph_level.md, 2.4 and 7.5), or a law that somebody might believe.
constexpr FalseLaw kFalse[] = {
    {"a = b", "equal"},
    {"Sub(a,b) = Sub(b,a)", "equal"},
    {"Relu(Add(a,b)) = Add(Relu(a),Relu(b))", "equal"},
    {"Relu(Neg(a)) = Neg(Relu(a))", "equal"},
    {"Max(a,b) = Add(a,b)", "equal"},
    {"MatMul(a,b) = MatMul(b,a)", "matrices"},
    {"Mul(a,Max(b,c)) = Max(Mul(a,b),Mul(a,c))", "equal"},
    {"Conv(x,Concat(v,w){axis=0}){..p} = Concat(Conv(x,v){..p},Conv(x,w){..p}){axis=1}", "images"},
    {"Concat(Conv(x,v){group=g,..p},Conv(y,w){group=g,..p}){axis=1} = "
     "Conv(Concat(x,y){axis=1},Concat(v,w){axis=0}){group=2*g,..p}",
     "images"},
    {"Add(Conv(x,v){..p},Conv(y,w){..p}) = Conv(Concat(x,y){axis=1},Concat(v,w){axis=1}){..p}", "images"},
    {"Conv(Add(x,b),w){..p} = Add(Conv(x,w){..p},Conv(b,w){..p})", "broadcast"},
    {"Conv(x,Add(v,w)){..p} = Add(Conv(x,v){..p},Conv(x,w){..p})", "images"},
    {"AveragePool(Relu(x)){..p} = Relu(AveragePool(x){..p})", "images"},
    {"MaxPool(x){..p} = AveragePool(x){..p}", "images"},
    {"MaxPool(Neg(x)){..p} = Neg(MaxPool(x){..p})", "images"},
    {"Conv(x,w){pads=[1,1,0,0],..p} = Conv(x,w){pads=[0,0,1,1],..p}", "images"},
    {"Mul(Conv(x,w){..p},y) = Conv(x,w){..p}", "images"},
};

TEST(Axioms, WhatIsFalseIsRefuted) {
  for (const FalseLaw& each : kFalse) {
    SCOPED_TRACE(each.law);
    const LawCheck check = check_law(law(each.law), each.family, 400, 1);
    EXPECT_TRUE(check.counterexample) << "of " << check.instances << " instances none refutes it";
  }
}

/// Exact numbers have no largest one, integers of a machine do.
TEST(Axioms, WhatIntegersThatWrapRefuteIsALawOfFloatsOnly) {
  constexpr const char* kLaws[] = {
      "Abs(Mul(a,b)) = Mul(Abs(a),Abs(b))", "Mul(Abs(a),Max(b,c)) = Max(Mul(Abs(a),b),Mul(Abs(a),c))",
      "Relu(Mul(a,a)) = Mul(a,a)",          "Relu(Abs(a)) = Abs(a)",
      "Sub(Relu(a),Relu(Neg(a))) = a",      "Add(a,Max(b,c)) = Max(Add(a,b),Add(a,c))",
      "Neg(Max(a,b)) = Min(Neg(a),Neg(b))"};
  for (const char* text : kLaws) {
    SCOPED_TRACE(text);
    const LawCheck of_all = check_law(law(text), "equal", 400, 1),
                   of_floats = check_law(law(text), "equal of floats", 400, 1);
    ASSERT_TRUE(of_all.counterexample);
    EXPECT_THAT(of_all.counterexample->text(), testing::ContainsRegex(": int(32|64)\\["));
    EXPECT_TRUE(of_floats.holds());
    const std::vector<StatedAxiom> stated = all_axioms();
    const auto found =
        std::find_if(stated.begin(), stated.end(), [&](const auto& each) { return each.axiom->law == text; });
    ASSERT_NE(found, stated.end());
    EXPECT_TRUE(found->axiom->shapes.ends_with(" of floats"));
  }
  for (const char* text : {"Mul(a,Add(b,c)) = Add(Mul(a,b),Mul(a,c))", "Neg(Neg(a)) = a", "Max(a,b) = Max(b,a)"})
    EXPECT_TRUE(check_law(law(text), "equal", 400, 1).holds()) << text;
}

TEST(Axioms, WhatIsTrueUnderItsConditionHolds) {
  for (const FalseLaw& each : std::initializer_list<FalseLaw>{
           {"Conv(x,Concat(v,w){axis=0}){group=1,..p} = Concat(Conv(x,v){group=1,..p},Conv(x,w){group=1,..p}){axis=1}",
            "images"},
           {"Add(Conv(x,v){group=1,..p},Conv(y,w){group=1,..p}) = "
            "Conv(Concat(x,y){axis=1},Concat(v,w){axis=1}){group=1,..p} if v_0 == w_0",
            "images"},
           {"Conv(Add(x,y),w){..p} = Add(Conv(x,w){..p},Conv(y,w){..p}) if x_0 == y_0 && x_1 == y_1 && x_2 == y_2 && "
            "x_3 == y_3 && x_4 == y_4",
            "images"},
           {"MaxPool(Relu(x)){kernel_shape=[a,b]} = Relu(MaxPool(x){kernel_shape=[a,b]})", "images"},
           {"MatMul(x,Concat(y,z){axis=1}) = Concat(MatMul(x,y),MatMul(x,z)){axis=1} if x_rank == 2", "matrices"},
           {"MatMul(MatMul(x,y),z) = MatMul(x,MatMul(y,z))", "matrices"},
           {"Concat(Split(x){axis=0,split=[a,b]},Split(x){axis=0,split=[a,b]}.1){axis=0} = x", "ranked"}}) {
    SCOPED_TRACE(each.law);
    const LawCheck check = check_law(law(each.law), each.family, 100, 1);
    EXPECT_GE(check.instances, 50);
    EXPECT_FALSE(check.counterexample) << check.counterexample->text();
  }
}

}  // namespace
}  // namespace isomer::verify::test
