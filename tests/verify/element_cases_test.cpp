// What is equal only case by case: taps of a window one by one, residues of an index, halves of a sum.
#include "verify/proof/element_cases.h"

#include <gtest/gtest.h>

#include "verify/claim_support.h"
#include "verify/proof/equal_sides.h"

namespace isomer::verify::test {
namespace {

constexpr Claim kTrueByCases[] = {
    // even and odd taps
    {"x[1,2,9] w[3,2,4]",
     "Conv(x,w) = Add(Conv(Slice(x){axes=[2],starts=[0],ends=[8]},Slice(w){axes=[2],starts=[0],ends=[4],steps=[2]})"
     "{dilations=[2]},Conv(Slice(x){axes=[2],starts=[1],ends=[9]},Slice(w){axes=[2],starts=[1],ends=[4],steps=[2]})"
     "{dilations=[2]})"},
    // a stride as channels
    {"x[1,3,8] w[4,3,2]",
     "Conv(x,w){strides=[2]} = Conv(Reshape(Transpose(Reshape(x){shape=[1,3,4,2]}){perm=[0,1,3,2]}){shape=[1,6,4]},"
     "Reshape(w){shape=[4,6,1]})"},
    // halves of a sum
    {"x[3,8]", "ReduceSum(x){axes=[1],keepdims=0} = ReduceSum(Reshape(x){shape=[3,2,4]}){axes=[1,2],keepdims=0}"},
    // taps that see padding alone
    {"x[1,2,3] w[2,2,3]", "Conv(x,w){dilations=[4],pads=[4,4]} = Conv(x,Slice(w){axes=[2],starts=[1],ends=[2]})"},
};

constexpr Claim kFalseByCases[] = {
    {"x[1,2,9] w[3,2,4]",
     "Conv(x,w) = Add(Conv(Slice(x){axes=[2],starts=[1],ends=[9]},Slice(w){axes=[2],starts=[0],ends=[4],steps=[2]})"
     "{dilations=[2]},Conv(Slice(x){axes=[2],starts=[0],ends=[8]},Slice(w){axes=[2],starts=[1],ends=[4],steps=[2]})"
     "{dilations=[2]})"},
    {"x[1,3,8] w[4,3,2]",
     "Conv(x,w){strides=[2]} = Conv(Reshape(Transpose(Reshape(x){shape=[1,3,4,2]}){perm=[0,3,1,2]}){shape=[1,6,4]},"
     "Reshape(w){shape=[4,6,1]})"},
    {"x[3,8] y[8,5]",
     "MatMul(x,y) = ReduceSum(MatMul(Transpose(Reshape(x){shape=[3,4,2]}){perm=[2,0,1]},Reshape(y){shape=[2,4,5]}))"
     "{axes=[0],keepdims=0}"},
    // a sum that has no summand where the rest of it does not say so
    {"x[1,1,2] w[1,1,3]",
     "Slice(Conv(x,Add(Mul(w,0),1)){pads=[4,4]}){axes=[2],starts=[0],ends=[3]} = "
     "Expand(Slice(x){axes=[2],starts=[0],ends=[1]}){shape=[1,1,3]}"},
    {"x[1,2,3] w[2,2,3]", "Conv(x,w){dilations=[2],pads=[2,2]} = Conv(x,Slice(w){axes=[2],starts=[1],ends=[2]})"},
};

TEST(ElementCases, ProveWhatIsTrueWithoutASolver) {
  for (const Claim& claim : kTrueByCases) {
    ASSERT_TRUE(agree(law_of(claim), types_of(claim))) << claim.equation;
    const auto reason = why_not_proved({law_of(claim), types_of(claim)}, nullptr);
    EXPECT_FALSE(reason) << claim.equation << ": " << *reason;
  }
}

TEST(ElementCases, ProveNothingFalse) {
  for (const Claim& claim : kFalseByCases) {
    ASSERT_FALSE(agree(law_of(claim), types_of(claim))) << claim.equation;
    EXPECT_TRUE(why_not_proved({law_of(claim), types_of(claim)}, nullptr)) << claim.equation;
  }
}

TEST(ElementCases, AnInfinityIsNoNumber) {
  constexpr Claim kClaim = {"x[3]", "Add(x,Sub(-inf,-inf)) = x"};
  EXPECT_TRUE(why_not_proved({law_of(kClaim), types_of(kClaim)}, nullptr));
}

TEST(ElementCases, ASumIsNotCancelledByItsSummand) {
  ElementMaker make;
  const Bound k = make.fresh("k", te::symbol("n"));
  const Element sum = make.sum_over({k}, make.integer(te::max(te::symbol(k.name), te::index(1))));
  const Element one = make.product(sum, make.call("reciprocal", {sum}));
  ASSERT_EQ(one.products.size(), 1U);
  EXPECT_EQ(one.products[0].factors.size(), 2U) << text(one);
}

TEST(ElementCases, SumsThatAMaximumBecomesTwiceAreTwoSums) {
  ElementMaker make;
  const Bound i = make.fresh("i", te::index(9)), k = make.fresh("k", te::index(3)),
              c = make.fresh("c", te::symbol("n"));
  const te::Expr at = te::symbol(k.name);
  const Element sum = make.sum_over({c}, make.load("y", false, {te::symbol(c.name)}));
  const Element most =
      make.greatest({{{}, {}, sum}, {{k}, {at < te::symbol(i.name) - 5}, make.load("z", false, {at})}});
  const Element square = make.replaced(make.product(most, most), {{i.name, te::index(0)}});
  EXPECT_EQ(text(square), text(make.product(sum, sum)));
}

TEST(ElementCases, AOneThatMayNotBeThereIsNoExponential) {
  ElementMaker make;
  const Bound i = make.fresh("i", te::index(9)), k = make.fresh("k", te::index(3));
  const te::Expr at = te::symbol(k.name);
  const Element power = make.call("exp", {make.load("x", false, {te::symbol(i.name)})});
  const Piece one{{k}, {at < te::symbol(i.name) - 5}, make.number(te::Rational(1))};
  const FactorRef most = only_factor(make.greatest({{{}, {}, power}, one}));
  ASSERT_TRUE(most);
  EXPECT_EQ(most->kind, Factor::Kind::kGreatest) << text(most);
}

}  // namespace
}  // namespace isomer::verify::test
