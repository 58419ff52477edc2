// Terms, laws: the text form, what their operators' rows infer, the graphs that compute them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/interpret.h"
#include "verify/claim_support.h"
#include "verify/prover/operator_count.h"

namespace isomer::verify::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Terms, ParseAndPrintTheSame) {
  for (const char* text :
       {"x", "Add(x,y)", "Conv(x,w){group=1,pads=[0,1,0,1],..p}",
        "Split(Concat(x,y){axis=1}){axis=1,split=[x_1,y_1]}.1", "Slice(x){axes=[2],ends=[a + b],starts=[a]}",
        "Mul(x,2)", "Pad(x){mode=\"constant\",pads=[0,0,1,1]}", "Reshape(x){shape=[a*b,-1]}", "Elu(x){alpha=1/2}",
        "ReduceSum(x){axes=[1],keepdims=1}", "Concat(x,y,z){axis=-1}"}) {
    const auto parsed = parse_term(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.error().message();
    const auto again = parse_term(parsed->text());
    ASSERT_TRUE(again.ok()) << parsed->text() << ": " << again.error().message();
    EXPECT_EQ(*again, *parsed);
    EXPECT_EQ(again->text(), parsed->text());
    EXPECT_EQ(again->hash(), parsed->hash());
  }
}

TEST(Terms, LawsParseAndPrintTheSame) {
  for (const char* text :
       {"Add(a,b) = Add(b,a)", "MatMul(x,Concat(y,z){axis=1}) = Concat(MatMul(x,y),MatMul(x,z)){axis=1} if x_rank == 2",
        "Conv(x,w){group=1,..p} = Conv(x,w){group=1,..p} if x_1 == w_1 && x_2 < 5"}) {
    const auto law = parse_law(text);
    ASSERT_TRUE(law.ok()) << text << ": " << law.error().message();
    const auto again = parse_law(law->text());
    ASSERT_TRUE(again.ok()) << law->text();
    EXPECT_EQ(*again, *law);
  }
}

TEST(Terms, EveryLawOfTheRowsParses) {
  int laws = 0;
  for (const OpDef* op : all_ops())
    for (const Axiom& axiom : op->axioms) {
      const auto law = parse_law(axiom.law);
      EXPECT_TRUE(law.ok()) << op->name << ": " << axiom.law << ": " << law.error().message();
      ++laws;
    }
  EXPECT_GT(laws, 10);
}

TEST(Terms, MistakesAreNamed) {
  const auto says = [](const char* text, const char* why) {
    const auto parsed = parse_law(text);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_THAT(parsed.error().message(), HasSubstr(why)) << text;
  };
  says("", "expected a word");
  says("Add(a,b)", "expected \"=\"");
  says("Add(a b) = a", "expected \",\"");
  says("Ad(a,b) = a", "an operator expected before '(', 'Ad' found");
  says("Concat(a,b){axle=1} = a", "a parameter of Concat expected, 'axle' found");
  says("Concat(a,b){axis=1,axis=1} = a", "each parameter once");
  says("Concat(a,b){axis=(} = a", "expected");
  says("a = b c", "expected nothing more");
  says("a = b if c", "a condition");
  std::string deep(5000, '(');
  for (size_t k = 0; k < 300; ++k) deep.replace(k * 4, 4, "Neg(");
  says(deep.c_str(), "not so deep");
}

TEST(Terms, CountOperatorsAndVariables) {
  const Term shared = term("Add(MatMul(x,y),Relu(MatMul(x,y)))");
  EXPECT_EQ(operator_count({shared}), 3);
  EXPECT_THAT(variables({shared}), ElementsAre("x", "y"));
  EXPECT_EQ(operator_count({term("Split(x){axis=0,split=[1,2]}"), term("Split(x){axis=0,split=[1,2]}.1")}), 1);
}

ValueType float32(std::vector<Dim> dims) { return ValueType::tensor(DataType::kFloat32, std::move(dims)); }

TEST(Terms, RowsInferTheTypesOfApplications) {
  const Dim n = Dim::symbol("n"), a = Dim::symbol("a");
  const auto of = [](const char* text, std::vector<ValueType> arguments) -> std::string {
    const Term parsed = term(text);
    const auto types = infer_application(*parsed.as_application(), arguments);
    if (!types.ok()) return types.error().message();
    std::string result;
    for (const ValueType& type : *types) result += (result.empty() ? "" : " ") + type.text();
    return result;
  };
  EXPECT_EQ(of("MatMul(x,y)", {float32({n, 3}), float32({3, a})}), "float32[n,a]");
  EXPECT_EQ(of("Concat(x,y){axis=0}", {float32({n, 3}), float32({a, 3})}), "float32[a + n,3]");
  EXPECT_EQ(of("Slice(x){axes=[0],ends=[5],starts=[2]}", {float32({7, 3})}), "float32[3,3]");
  EXPECT_EQ(of("Split(x){axis=1,split=[2,1]}", {float32({7, 3})}), "float32[7,2] float32[7,1]");
  EXPECT_EQ(of("Reshape(x){shape=[a,3]}", {float32({a, 1, 3})}), "float32[a,3]");
  EXPECT_EQ(of("Conv(x,w){pads=[1,1,1,1]}", {float32({n, 4, 5, 5}), float32({8, 4, 3, 3})}), "float32[n,8,5,5]");
  EXPECT_THAT(of("Conv(x,w)", {float32({n, 4, 5, 5}), float32({8, 3, 3, 3})}),
              HasSubstr("W has 3 input channels, X has 4"));
  EXPECT_THAT(of("Conv(x,w){..p}", {float32({n, 4, 5, 5}), float32({8, 4, 3, 3})}),
              HasSubstr("all parameters expected"));
  EXPECT_THAT(of("Concat(x,y){axis=a}", {float32({n, 3}), float32({a, 3})}),
              HasSubstr("a number for 'axis' expected, a found"));
  EXPECT_THAT(of("Neg(x,y)", {float32({n}), float32({n})}), HasSubstr("at most 1 arguments expected, 2 found"));
}

TEST(Terms, BecomeGraphs) {
  const auto graph = graph_of({term("Add(Mul(x,2),Slice(y){axes=[0],ends=[3],starts=[1]})"),
                               term("Split(y){axis=0,split=[1,2]}.1"), term("Mul(x,2)")},
                              {{"x", float32({2})}, {"y", float32({3})}});
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  EXPECT_EQ(graph->node_count(), 4);
  const te::Array x = te::Array::from(Tensor::from_doubles(DataType::kFloat32, {2}, std::vector<double>{1, 2})),
                  y = te::Array::from(Tensor::from_doubles(DataType::kFloat32, {3}, std::vector<double>{10, 20, 30}));
  const auto values = interpret(*graph, std::vector<te::Array>{x, y}, InterpretOptions{});
  ASSERT_TRUE(values.ok()) << values.error().message();
  EXPECT_EQ((*values)[0].as_double(1), 34);
  EXPECT_EQ((*values)[1].as_double(0), 20);
  EXPECT_EQ((*values)[2].as_double(1), 4);
}

}  // namespace
}  // namespace isomer::verify::test
