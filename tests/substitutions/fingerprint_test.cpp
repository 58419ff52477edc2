#include "substitutions/discover/fingerprint.h"

#include <gtest/gtest.h>

namespace isomer::substitutions {
namespace {

struct Pair {
  const char *left, *right;
  bool equal;
};

const std::map<std::string, Dims> kVariables = {{"x", {2, 4}},       {"y", {2, 4}},       {"w", {4, 4}},
                                                {"v", {4, 4}},       {"s", {}},           {"i", {2, 4, 5, 5}},
                                                {"j", {2, 4, 5, 5}}, {"k", {4, 4, 3, 3}}, {"l", {4, 4, 3, 3}},
                                                {"g", {4, 2, 3, 3}}, {"h", {4, 2, 3, 3}}, {"d", {4, 1, 3, 3}}};

const Pair kPairs[] = {
    {"Add(x,x)", "Mul(x,Expand(2){shape=[2,4]})", true},
    {"Add(x,y)", "Add(y,x)", true},
    {"Sub(x,y)", "Sub(y,x)", false},
    {"MatMul(MatMul(x,w),v)", "MatMul(x,MatMul(w,v))", true},
    {"MatMul(MatMul(x,w),v)", "MatMul(MatMul(x,v),w)", false},
    {"Relu(Relu(x))", "Relu(x)", true},
    {"Relu(x)", "x", false},
    {"Relu(Neg(x))", "Neg(Relu(x))", false},
    {"Sub(Relu(x),Relu(Neg(x)))", "x", true},
    {"Neg(Max(x,y))", "Min(Neg(x),Neg(y))", true},
    {"Max(x,Min(x,y))", "x", true},
    {"Add(Max(x,y),Min(x,y))", "Add(x,y)", true},
    {"Abs(x)", "Max(x,Neg(x))", true},
    {"Relu(Expand(1){shape=[2,4]})", "Expand(1){shape=[2,4]}", true},
    {"Mul(Exp(x),Exp(y))", "Exp(Add(x,y))", true},
    {"Add(Exp(x),Exp(y))", "Exp(Add(x,y))", false},
    {"Div(Exp(x),Exp(y))", "Exp(Sub(x,y))", true},
    {"Mul(Sqrt(x),Sqrt(y))", "Sqrt(Mul(x,y))", false},
    {"Div(Mul(x,y),y)", "x", true},
    {"Sigmoid(x)", "Reciprocal(Add(Exp(Neg(x)),Expand(1){shape=[2,4]}))", true},
    {"Tanh(x)", "Sigmoid(x)", false},
    {"AveragePool(Add(i,j)){count_include_pad=1,kernel_shape=[3,3],pads=[1,1,1,1]}",
     "Add(AveragePool(i){count_include_pad=1,kernel_shape=[3,3],pads=[1,1,1,1]},AveragePool(j){count_include_pad=1,"
     "kernel_shape=[3,3],pads=[1,1,1,1]})",
     true},
    {"AveragePool(i){count_include_pad=1,kernel_shape=[3,3],pads=[1,1,1,1]}",
     "AveragePool(i){kernel_shape=[3,3],pads=[1,1,1,1]}", false},
    {"AveragePool(i){count_include_pad=1,kernel_shape=[3,3],pads=[1,1,1,1]}",
     "MaxPool(i){kernel_shape=[3,3],pads=[1,1,1,1]}", false},
    {"AveragePool(i){count_include_pad=1,kernel_shape=[3,3],pads=[1,1,1,1]}",
     "Conv(i,Div(Expand(1){shape=[4,1,3,3]},9)){group=4,kernel_shape=[3,3],pads=[1,1,1,1]}", true},
    {"MaxPool(Relu(i)){kernel_shape=[3,3],pads=[1,1,1,1]}", "Relu(MaxPool(i){kernel_shape=[3,3],pads=[1,1,1,1]})",
     true},
    {"MaxPool(MaxPool(i){kernel_shape=[1,3],pads=[0,1,0,1]}){kernel_shape=[3,1],pads=[1,0,1,0]}",
     "MaxPool(i){kernel_shape=[3,3],pads=[1,1,1,1]}", true},
    // Padding is no zero: it is never the maximum.
    {"MaxPool(i){kernel_shape=[3,3],pads=[1,1,1,1]}", "MaxPool(Pad(i){pads=[0,0,1,1,0,0,1,1]}){kernel_shape=[3,3]}",
     false},
    {"Conv(i,k){kernel_shape=[3,3],pads=[1,1,1,1]}", "Conv(Pad(i){pads=[0,0,1,1,0,0,1,1]},k){kernel_shape=[3,3]}",
     true},
    {"Conv(Concat(i,j){axis=1},Concat(k,l){axis=1}){group=1,kernel_shape=[3,3],pads=[1,1,1,1]}",
     "Add(Conv(i,k){group=1,kernel_shape=[3,3],pads=[1,1,1,1]},Conv(j,l){group=1,kernel_shape=[3,3],pads=[1,1,1,1]})",
     true},
    {"Conv(Concat(i,j){axis=1},Concat(g,h){axis=1}){group=2,kernel_shape=[3,3],pads=[1,1,1,1]}",
     "Add(Conv(i,g){group=2,kernel_shape=[3,3],pads=[1,1,1,1]},Conv(j,h){group=2,kernel_shape=[3,3],pads=[1,1,1,1]})",
     false},
    {"Conv(i,Concat(k,l){axis=0}){group=1,kernel_shape=[3,3],pads=[1,1,1,1]}",
     "Concat(Conv(i,k){group=1,kernel_shape=[3,3],pads=[1,1,1,1]},Conv(i,l){group=1,kernel_shape=[3,3],pads=[1,1,1,1]})"
     "{axis=1}",
     true},
    {"Conv(i,Concat(g,h){axis=0}){group=2,kernel_shape=[3,3],pads=[1,1,1,1]}",
     "Concat(Conv(i,g){group=2,kernel_shape=[3,3],pads=[1,1,1,1]},Conv(i,h){group=2,kernel_shape=[3,3],pads=[1,1,1,1]})"
     "{axis=1}",
     false},
    {"Split(Concat(x,y){axis=0}){axis=0,split=[2,2]}.1", "y", true},
    {"Transpose(MatMul(x,w)){perm=[1,0]}", "MatMul(Transpose(w){perm=[1,0]},Transpose(x){perm=[1,0]})", true},
    {"Transpose(Transpose(x){perm=[1,0]}){perm=[1,0]}", "x", true},
    {"Reshape(x){shape=[4,2]}", "Transpose(x){perm=[1,0]}", false},
};

class EveryPair : public testing::TestWithParam<Pair> {};

/// Equal terms have equal fingerprints; terms that are not equal differ.
TEST_P(EveryPair, IsToldApart) {
  const Universe universe(7, true);
  const auto of = [&](const char* text) {
    const auto term = verify::parse_term(text);
    EXPECT_TRUE(term.ok()) << text;
    const auto result = fingerprint(*term, kVariables, universe, true);
    EXPECT_TRUE(result.ok()) << text << ": " << result.error().message();
    return *result;
  };
  EXPECT_EQ(of(GetParam().left) == of(GetParam().right), GetParam().equal)
      << GetParam().left << " = " << GetParam().right;
}
INSTANTIATE_TEST_SUITE_P(Fingerprint, EveryPair, testing::ValuesIn(kPairs));

TEST(Fingerprint, DependsOnTheDimsAndTheUniverse) {
  const Universe first(1, false), second(2, false);
  const Elements x = first.variable("x", 6), y = second.variable("x", 6);
  EXPECT_NE(fingerprint({2, 3}, x.data(), false), fingerprint({3, 2}, x.data(), false));
  EXPECT_NE(fingerprint({2, 3}, x.data(), false), fingerprint({2, 3}, y.data(), false));
  EXPECT_EQ(fingerprint({2, 3}, x.data(), false), fingerprint({2, 3}, first.variable("x", 6).data(), false));
}

}  // namespace
}  // namespace isomer::substitutions
