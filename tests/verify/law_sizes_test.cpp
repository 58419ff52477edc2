// Which sizes of an instance get names, and which instances that covers.
#include <gtest/gtest.h>

#include "verify/claim_support.h"
#include "verify/laws/law_sizes.h"

namespace isomer::verify::test {
namespace {

ValueType floats(std::vector<int64_t> dims) {
  return ValueType::tensor(DataType::kFloat32, Shape(dims.begin(), dims.end()));
}

struct SizesCase {
  const char* law;
  const char* family;
  std::map<std::string, std::vector<int64_t>> dims;
  Bindings bindings;
  const char* expected;
};

LawInstance instance_of(const SizesCase& c, const Law& of) {
  LawInstance result{of, {}, c.bindings};
  for (const auto& [name, dims] : c.dims) result.types.emplace(name, floats(dims));
  result.law = {substitute(of.left, c.bindings), substitute(of.right, c.bindings), te::Expr()};
  return result;
}

TEST(LawSizes, AreEqualOnlyWhereTheTypesAskForIt) {
  const std::vector<SizesCase> cases = {
      {"Add(a,b) = Add(b,a)", "broadcast", {{"a", {2, 3}}, {"b", {3}}}, {}, "a:float32[n0,n1] b:float32[n1]"},
      {"Add(a,b) = Add(b,a)", "broadcast", {{"a", {2, 2}}, {"b", {2, 1}}}, {}, "a:float32[n1,n0] b:float32[n1,1]"},
      {"Add(a,b) = Add(b,a)", "equal", {{"a", {3, 3}}, {"b", {3, 3}}}, {}, "a:float32[n0,n1] b:float32[n0,n1]"},
      {"MatMul(a,b) = MatMul(a,b)",
       "matrices",
       {{"a", {2, 2}}, {"b", {2, 2}}},
       {},
       "a:float32[n0,n2] b:float32[n2,n1]"},
      {"Conv(x,w){group=g} = Conv(x,w){group=g}",
       "images",
       {{"x", {1, 6, 5}}, {"w", {4, 3, 2}}},
       {{}, {{"g", Dim(2)}}, {}, {}},
       "w:float32[2*n0,n4,n3] x:float32[n1,2*n4,n2]"},
      {"Split(x){axis=0,split=[s,t]} = Split(x){axis=0,split=[s,t]}",
       "ranked",
       {{"x", {5}}},
       {{}, {{"s", Dim(2)}, {"t", Dim(3)}}, {}, {}},
       "x:float32[n0 + n1]"},
  };
  for (const SizesCase& c : cases) {
    SCOPED_TRACE(c.law);
    const Law of = law(c.law);
    const LawInstance instance = instance_of(c, of);
    const LawSizes sizes = with_sizes(of, c.family, instance);
    EXPECT_TRUE(sizes.is_general) << text(sizes);
    EXPECT_NE(text(sizes).find(c.expected), std::string::npos) << text(sizes);
    EXPECT_TRUE(covers(sizes, instance)) << text(sizes);
  }
}

TEST(LawSizes, CoverWhatNumbersForThemMake) {
  const Law of = law("Add(a,b) = Add(b,a)");
  const auto instance = [&](std::vector<int64_t> a, std::vector<int64_t> b) {
    return LawInstance{of, {{"a", floats(std::move(a))}, {"b", floats(std::move(b))}}, {}};
  };
  const LawSizes sizes = with_sizes(of, "broadcast", instance({2, 3}, {3}));
  EXPECT_TRUE(covers(sizes, instance({5, 7}, {7})));
  EXPECT_TRUE(covers(sizes, instance({1, 1}, {1})));
  EXPECT_FALSE(covers(sizes, instance({5, 7}, {1})));
  EXPECT_FALSE(covers(sizes, instance({5, 7}, {5, 7})));
}

TEST(LawSizes, ThatNothingExplainsAreNotFree) {
  const Law of = law("MatMul(a,EyeLike(Expand(1){shape=[3,3]})) = a");
  EXPECT_FALSE(with_sizes(of, "matrices", {of, {{"a", floats({2, 3})}}, {}}).is_general);
}

}  // namespace
}  // namespace isomer::verify::test
