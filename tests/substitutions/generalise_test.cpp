// Proved equations become rules: what the proof leaves open has a name, what it needs stays, and the rule holds at
// other sizes, strides and ranks, all of them true.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "substitutions/generated.h"
#include "substitutions/library/draw_instances.h"
#include "verify/claim_support.h"
#include "verify/proof/refute/check_instance.h"
#include "verify/prover/bind.h"
#include "verify/prover/prove.h"

namespace isomer::substitutions {
namespace {

using verify::Term;
using verify::test::Claim;

class Generalised : public testing::Test {
 protected:
  Rule rule_of(const char* types, const char* equations) {
    return test::proved(equations, verify::test::types_of({types, equations}), prover_);
  }

  /// The place where the rule says these equations; nothing where it says others.
  static std::optional<RuleInstance> place(const Rule& rule, const char* types, const char* equations) {
    const auto outputs = parse_outputs(equations);
    CHECK(outputs.ok()) << outputs.error().message();
    RuleInstance result{verify::test::types_of({types, equations}), {}};
    verify::Signatures signatures;
    for (size_t k = 0; k < outputs->size(); ++k) {
      const auto left = verify::spelled_out((*outputs)[k].left, result.types, signatures),
                 right = verify::spelled_out((*outputs)[k].right, result.types, signatures);
      if (!left.ok() || !right.ok()) return std::nullopt;
      if (!verify::bind(rule.outputs[k].left, left->term, result.names) ||
          !verify::bind(rule.outputs[k].right, right->term, result.names))
        return std::nullopt;
    }
    result.names.tensors.clear();
    const auto said = equations_at(rule, result);
    for (size_t k = 0; k < outputs->size(); ++k)
      for (Term Output::* side : {&Output::left, &Output::right}) {
        const auto here = verify::spelled_out((*outputs)[k].*side, result.types, signatures),
                   there = verify::spelled_out(said[k].*side, result.types, signatures);
        if (!there.ok() || here->term != there->term) return std::nullopt;
      }
    return result;
  }

  bool holds(const Rule& rule, const RuleInstance& at) {
    return holds_at(rule, at, laws_.axioms(), laws_.signatures()).ok();
  }

  static std::optional<verify::InstanceCheck> checked(const Output& output, const RuleInstance& at, Random& random) {
    verify::Law law{output.left, output.right, {}};
    return verify::check_instance({std::move(law), at.types, {}}, random);
  }

  verify::Prover prover_ = *verify::Prover::start();
  verify::LawSet& laws_ = prover_.laws;
};

struct Expected {
  const char* types;
  const char* equations;
  const char* rule;
};

constexpr Expected kRules[] = {
    {"x[2,4] y[2,4]", "Add(x,y) = Add(y,x)", "Add(x,y) = Add(y,x)"},
    {"x[2,4] y[2,4] z[2,4]", "Add(Mul(x,z),Mul(y,z)) = Mul(Add(x,y),z)", "Add(Mul(x,z),Mul(y,z)) = Mul(Add(x,y),z)"},
    {"x[2,4] y[2,3]", "Relu(Concat(x,y){axis=1}) = Concat(Relu(x),Relu(y)){axis=1}",
     "Relu(Concat(x,y){..p1}) = Concat(Relu(x),Relu(y)){..p1}"},
    {"x[2,4] y[2,3] z[2,5]", "Concat(x,Concat(y,z){axis=1}){axis=1} = Concat(Concat(x,y){axis=1},z){axis=1}",
     "Concat(x,Concat(y,z){axis=a}){axis=a} = Concat(Concat(x,y){axis=a},z){axis=a}"},
    {"x[2,4] y[2,4] z[2,4] w[2,4]",
     "Concat(Concat(x,y){axis=0},Concat(z,w){axis=0}){axis=1} = "
     "Concat(Concat(x,z){axis=1},Concat(y,w){axis=1}){axis=0}",
     "Concat(Concat(x,y){axis=b},Concat(z,w){axis=b}){axis=a} = "
     "Concat(Concat(x,z){axis=a},Concat(y,w){axis=a}){axis=b}"},
    {"x[2,6] y[2,6]",
     "Add(Split(x){axis=1,split=[2,4]},Split(y){axis=1,split=[2,4]}) = Split(Add(x,y)){axis=1,split=[2,4]}",
     "Add(Split(x){axis=a,split=[b,c]},Split(y){axis=a,split=[d,e]}) = Split(Add(x,y)){axis=a,split=[d,e]}"},
    {"x[2,4] y[2,3]",
     "x ; y = Split(Concat(x,y){axis=1}){axis=1,split=[4,3]} ; Split(Concat(x,y){axis=1}){axis=1,split=[4,3]}.1",
     "x ; y = Split(Concat(x,y){axis=-1}){axis=-1,split=[x_back1,y_back1]} ; "
     "Split(Concat(x,y){axis=-1}){axis=-1,split=[x_back1,y_back1]}.1"},
    {"x[2,4]", "Relu(Transpose(x)) = Transpose(Relu(x))", "Relu(Transpose(x){..p1}) = Transpose(Relu(x)){..p1}"},
    {"x[2,4] y[4,3]", "Transpose(MatMul(x,y)) = MatMul(Transpose(y),Transpose(x))",
     "Transpose(MatMul(x,y)){perm=[1,0]} = MatMul(Transpose(y){perm=[1,0]},Transpose(x){perm=[1,0]})"},
    {"x[2,4] v[4,3] w[4,5]",
     "MatMul(x,v) ; MatMul(x,w) = Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[3,5]} ; "
     "Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[3,5]}.1",
     "MatMul(x,v) ; MatMul(x,w) = Split(MatMul(x,Concat(v,w){axis=-1})){axis=-1,split=[v_back1,w_back1]} ; "
     "Split(MatMul(x,Concat(v,w){axis=-1})){axis=-1,split=[v_back1,w_back1]}.1"},
    {"x[2,4] y[2,3] v[4,5] w[3,5]", "Add(MatMul(x,v),MatMul(y,w)) = MatMul(Concat(x,y){axis=-1},Concat(v,w){axis=-2})",
     "Add(MatMul(x,v),MatMul(y,w)) = MatMul(Concat(x,y){axis=-1},Concat(v,w){axis=-2})"},
    {"x[2,4,5,5] v[3,4,3,3] w[2,4,3,3]",
     "Conv(x,v){pads=[1,1,1,1]} = Split(Conv(x,Concat(v,w){axis=0}){pads=[1,1,1,1]}){axis=1,split=[3,2]}",
     "Conv(x,v){group=1,..p1} = Split(Conv(x,Concat(v,w){axis=0}){group=1,..p1}){axis=1,split=[v_0,w_0]}"},
    {"x[2,4,5,5] v[3,4,3,3] w[2,4,3,3]",
     "Concat(Relu(Conv(x,v)),Relu(Conv(x,w))){axis=1} = Relu(Conv(x,Concat(v,w){axis=0}))",
     "Concat(Relu(Conv(x,v){group=1,..p1}),Relu(Conv(x,w){group=1,..p1})){axis=1} = "
     "Relu(Conv(x,Concat(v,w){axis=0}){group=1,..p1})"},
    {"x[2,4,5,5] v[3,4,1,1]", "Conv(x,v) = Conv(x,Pad(v){pads=[0,0,1,1,0,0,1,1]}){pads=[1,1,1,1]}",
     "Conv(x,v){dilations=[1,1],pads=[a,b,c,d],..p1} = "
     "Conv(x,Pad(v){axes=[0,1,2,3],mode=\"constant\",pads=[0,0,e,f,0,0,g,h]}){dilations=[1,1],pads=[a + e,b + f,c + "
     "g,d + h],..p1}"},
    {"x[2,4,5,5] y[2,3,5,5] v[3,4,3,3] w[3,3,3,3]",
     "Add(Conv(x,v){pads=[1,1,1,1]},Conv(y,w){pads=[1,1,1,1]}) = "
     "Conv(Concat(x,y){axis=1},Concat(v,w){axis=1}){pads=[1,1,1,1]}",
     "Add(Conv(x,v){group=1,..p1},Conv(y,w){group=1,..p1}) = "
     "Conv(Concat(x,y){axis=1},Concat(v,w){axis=1}){group=1,..p1}"},
    {"x[2,4,5,5] w[4,2,3,3] s[]", "Mul(Conv(x,w){group=2},s) = Conv(Mul(s,x),w){group=2}",
     "Mul(Conv(x,w){..p1},s) = Conv(Mul(s,x),w){..p1}"},
    {"x[2,4,5,5] y[2,4,5,5] v[4,1,3,3] w[4,1,3,3]",
     "Concat(Conv(x,v){group=4},Conv(y,w){group=4}){axis=1} = Conv(Concat(x,y){axis=1},Concat(v,w){axis=0}){group=8}",
     "Concat(Conv(x,v){group=a,..p1},Conv(y,w){group=a,..p1}){axis=1} = "
     "Conv(Concat(x,y){axis=1},Concat(v,w){axis=0}){group=2*a,..p1}"},
    {"x[2,4,5,5] w[3,4,3,3]", "Conv(Pad(x){pads=[0,0,1,1,0,0,1,1]},w) = Conv(x,w){pads=[1,1,1,1]}",
     "Conv(Pad(x){axes=[0,1,2,3],mode=\"constant\",pads=[0,0,e,f,0,0,g,h]},w){pads=[a,b,c,d],..p1} = Conv(x,w){pads=[a "
     "+ e,b + f,c + g,d + h],..p1}"},
    {"x[2,4,5,5] y[2,3,5,5]",
     "Concat(MaxPool(x){kernel_shape=[3,3],pads=[1,1,1,1]},MaxPool(y){kernel_shape=[3,3],pads=[1,1,1,1]}){axis=1} = "
     "MaxPool(Concat(x,y){axis=1}){kernel_shape=[3,3],pads=[1,1,1,1]}",
     "Concat(MaxPool(x){..p1},MaxPool(y){..p1}){axis=1} = MaxPool(Concat(x,y){axis=1}){..p1}"},
    {"x[2,4,5,5] y[2,3,5,5]",
     "x ; y = Split(Concat(x,y){axis=1}){axis=1,split=[4,3]} ; Split(Concat(x,y){axis=1}){axis=1,split=[4,3]}.1",
     "x ; y = Split(Concat(x,y){axis=1}){axis=1,split=[x_1,y_1]} ; "
     "Split(Concat(x,y){axis=1}){axis=1,split=[x_1,y_1]}.1"},
    {"x[4,4] y[2,4]",
     "Concat(Split(x){axis=0,split=[2,2]}.1,y){axis=0} = Split(Concat(x,y){axis=0}){axis=0,split=[2,4]}.1",
     "Concat(Split(x){axis=0,split=[a,b]}.1,y){axis=0} = Split(Concat(x,y){axis=0}){axis=0,split=[a,b + y_0]}.1"},
    {"x[2,4,5,5]",
     "x = "
     "Conv(x,Pad(Reshape(EyeLike(Expand(1){shape=[4,4]})){shape=[4,4,1,1]}){pads=[0,0,1,1,0,0,1,1]}){pads=[1,1,1,1]}",
     "x = "
     "Conv(x,Pad(Reshape(EyeLike(Expand(1){shape=[x_1,x_1]}){k=0}){allowzero=0,shape=[x_1,x_1,1,1]}){axes=[0,1,2,3],"
     "mode=\"constant\",pads=[0,0,a,b,0,0,c,d]}){auto_pad=\"NOTSET\",dilations=[1,1],group=1,pads=[a,b,c,d],strides=[1,"
     "1]}"},
    {"x[2,4]", "ReduceSum(ReduceSum(x){axes=[1]}){axes=[0]} = ReduceSum(x){axes=[0,1]}",
     "ReduceSum(ReduceSum(x){axes=[b],keepdims=1,noop_with_empty_axes=0}){axes=[a],keepdims=1,noop_with_empty_axes=0} "
     "= ReduceSum(x){axes=[b,a],keepdims=1,noop_with_empty_axes=0}"},
};

TEST_F(Generalised, RulesKeepOnlyTheNumbersThatTheirProofsNeed) {
  for (const Expected& each : kRules) {
    SCOPED_TRACE(each.equations);
    EXPECT_EQ(rule_of(each.types, each.equations).text(), each.rule);
  }
}

TEST_F(Generalised, RulesHoldElsewhereAndAreTrueThere) {
  for (const Expected& each : kRules) {
    SCOPED_TRACE(each.equations);
    const Rule rule = rule_of(each.types, each.equations);
    EXPECT_TRUE(holds(rule, rule.example));
    Random random(1);
    std::set<std::string> places;
    const auto drawn = draw_instances(rule, 20, 20, laws_.axioms(), laws_.signatures(), random);
    for (const RuleInstance& at : drawn) {
      std::string types;
      for (const auto& [name, type] : at.types) types += name + type.text();
      places.insert(types);
      for (const Output& output : equations_at(rule, at)) {
        const auto check = checked(output, at, random);
        ASSERT_TRUE(check) << output.left.text() << " = " << output.right.text();
        EXPECT_FALSE(check->counterexample) << check->counterexample->text();
      }
    }
    EXPECT_GE(places.size(), 1U);
  }
}

struct Elsewhere {
  const char* types;
  const char* equations;
  bool holds;
};

/// Other strides, ranks, sizes and groups, said rather than drawn.
TEST_F(Generalised, GuardsSayWhere) {
  const auto check = [&](const Rule& rule, std::initializer_list<Elsewhere> places) {
    for (const Elsewhere& each : places) {
      SCOPED_TRACE(each.equations);
      const auto at = place(rule, each.types, each.equations);
      EXPECT_EQ(at && holds(rule, *at), each.holds);
    }
  };
  check(rule_of("x[2,4,5,5] v[3,4,3,3] w[2,4,3,3]",
                "Conv(x,v){pads=[1,1,1,1]} = Split(Conv(x,Concat(v,w){axis=0}){pads=[1,1,1,1]}){axis=1,split=[3,2]}"),
        {{"x[1,3,9,8] v[5,3,2,2] w[1,3,2,2]",
          "Conv(x,v){strides=[2,3]} = Split(Conv(x,Concat(v,w){axis=0}){strides=[2,3]}){axis=1,split=[5,1]}", true},
         {"x[1,3,9] v[5,3,2] w[1,3,2]",
          "Conv(x,v){dilations=[2]} = Split(Conv(x,Concat(v,w){axis=0}){dilations=[2]}){axis=1,split=[5,1]}", true},
         {"x[1,4,9,9] v[4,2,3,3] w[4,2,3,3]",
          "Conv(x,v){group=2} = Split(Conv(x,Concat(v,w){axis=0}){group=2}){axis=1,split=[4,4]}", false},
         {"x[1,4,9,9] v[4,1,3,3] w[4,1,3,3]",
          "Conv(x,v){group=4} = Split(Conv(x,Concat(v,w){axis=0}){group=4}){axis=1,split=[4,4]}", false},
         {"x[1,4,9,9] v[2,4,3,3] w[3,4,3,3]",
          "Conv(x,v) = Split(Conv(x,Concat(v,w){axis=0}){strides=[2,2]}){axis=1,split=[2,3]}", false},
         {"x[1,4,9,9] v[2,4,3,3] w[3,4,3,3]", "Conv(x,v) = Split(Conv(x,Concat(v,w){axis=0})){axis=0,split=[1,0]}",
          false}});
  check(rule_of("x[2,4,5,5] v[3,4,1,1]", "Conv(x,v) = Conv(x,Pad(v){pads=[0,0,1,1,0,0,1,1]}){pads=[1,1,1,1]}"),
        {{"x[1,2,7,6] v[4,2,3,1]", "Conv(x,v){pads=[1,0,1,0]} = Conv(x,Pad(v){pads=[0,0,1,2,0,0,0,1]}){pads=[2,2,1,1]}",
          true},
         {"x[1,2,7,6] v[4,1,3,1]",
          "Conv(x,v){group=2,strides=[1,2]} = "
          "Conv(x,Pad(v){pads=[0,0,0,1,0,0,0,1]}){group=2,pads=[0,1,0,1],strides=[1,2]}",
          true},
         {"x[1,2,7,7] v[4,2,3,3]",
          "Conv(x,v){dilations=[2,2]} = Conv(x,Pad(v){pads=[0,0,1,1,0,0,1,1]}){dilations=[2,2],pads=[2,2,2,2]}", false},
         {"x[1,2,7,7] v[4,2,3,3]", "Conv(x,v) = Conv(x,Pad(v){pads=[0,1,1,1,0,-1,1,1]}){pads=[1,1,1,1]}", false},
         {"x[1,2,7,7] v[4,2,3,3]", "Conv(x,v) = Conv(x,Pad(v){mode=\"edge\",pads=[0,0,1,1,0,0,1,1]}){pads=[1,1,1,1]}",
          false}});
  check(rule_of("x[2,4,5,5] y[2,4,5,5] v[4,1,3,3] w[4,1,3,3]",
                "Concat(Conv(x,v){group=4},Conv(y,w){group=4}){axis=1} = "
                "Conv(Concat(x,y){axis=1},Concat(v,w){axis=0}){group=8}"),
        {{"x[2,4,5] y[2,4,5] v[6,2,3] w[6,2,3]",
          "Concat(Conv(x,v){group=2},Conv(y,w){group=2}){axis=1} = "
          "Conv(Concat(x,y){axis=1},Concat(v,w){axis=0}){group=4}",
          true},
         {"x[2,2,5,5] y[2,2,5,5] v[1,2,3,3] w[3,2,3,3]",
          "Concat(Conv(x,v),Conv(y,w)){axis=1} = Conv(Concat(x,y){axis=1},Concat(v,w){axis=0}){group=2}", false},
         {"x[2,4,5,5] y[2,4,5,5] v[4,1,3,3] w[4,1,3,3]",
          "Concat(Conv(x,v){group=4},Conv(y,w){group=4}){axis=1} = "
          "Conv(Concat(x,y){axis=1},Concat(v,w){axis=0}){group=4}",
          false}});
  check(rule_of("x[2,4] v[4,3] w[4,5]",
                "MatMul(x,v) ; MatMul(x,w) = Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[3,5]} ; "
                "Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[3,5]}.1"),
        {{"x[2,3,4] v[4,3] w[4,5]",
          "MatMul(x,v) ; MatMul(x,w) = Split(MatMul(x,Concat(v,w){axis=1})){axis=2,split=[3,5]} ; "
          "Split(MatMul(x,Concat(v,w){axis=1})){axis=2,split=[3,5]}.1",
          true},
         {"x[2,3,4] v[2,4,3] w[2,4,1]",
          "MatMul(x,v) ; MatMul(x,w) = Split(MatMul(x,Concat(v,w){axis=2})){axis=2,split=[3,1]} ; "
          "Split(MatMul(x,Concat(v,w){axis=2})){axis=2,split=[3,1]}.1",
          true},
         {"x[3,4] v[5,2,4,3] w[5,2,4,1]",
          "MatMul(x,v) ; MatMul(x,w) = Split(MatMul(x,Concat(v,w){axis=3})){axis=3,split=[3,1]} ; "
          "Split(MatMul(x,Concat(v,w){axis=3})){axis=3,split=[3,1]}.1",
          true},
         {"x[2,4] v[4,3] w[4,5]",
          "MatMul(x,v) ; MatMul(x,w) = Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[5,3]} ; "
          "Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[5,3]}.1",
          false}});
  check(
      rule_of("x[2,4] y[4,3]", "Transpose(MatMul(x,y)) = MatMul(Transpose(y),Transpose(x))"),
      {{"x[1,7] y[7,7]", "Transpose(MatMul(x,y)) = MatMul(Transpose(y),Transpose(x))", true},
       {"x[2,3,3] y[2,3,3]",
        "Transpose(MatMul(x,y)){perm=[0,2,1]} = MatMul(Transpose(y){perm=[0,2,1]},Transpose(x){perm=[0,2,1]})", false},
       {"x[3,3] y[3,3]",
        "Transpose(MatMul(x,y)){perm=[0,1]} = MatMul(Transpose(y){perm=[0,1]},Transpose(x){perm=[0,1]})", false}});
}

TEST_F(Generalised, GuardsNeedANumberForEachName) {
  const Rule rule = rule_of("x[6,2]", "Split(Relu(x)){axis=0,split=[2,4]} = Relu(Split(x){axis=0,split=[2,4]})");
  EXPECT_GE(rule.example.names.integers.size(), 2U);
  for (const auto& [name, value] : rule.example.names.integers) {
    RuleInstance at = rule.example;
    at.names.integers.erase(name);
    EXPECT_FALSE(holds(rule, at)) << name;
  }
}

TEST_F(Generalised, FloatClassIsTheWeakestOfTheLawsUsed) {
  EXPECT_EQ(rule_of("x[2,4] y[2,4]", "Add(x,y) = Add(y,x)").float_class, FloatClass::kExact);
  EXPECT_EQ(rule_of("x[2,4] y[2,4]", "Neg(Add(x,y)) = Add(Neg(y),Neg(x))").float_class, FloatClass::kSignOfZero);
  EXPECT_EQ(rule_of("x[2,4] y[2,4] z[2,4]", "Add(x,Add(y,z)) = Add(z,Add(y,x))").float_class,
            FloatClass::kReassociated);
}

TEST_F(Generalised, NothingIsMadeWithoutAProof) {
  const auto outputs = parse_outputs("MatMul(x,y) = MatMul(y,x)");
  const auto rule = prove_rule(*outputs, verify::test::types_of({"x[2,2] y[2,2]", ""}), prover_);
  ASSERT_FALSE(rule.ok());
  EXPECT_THAT(rule.error().message(), testing::HasSubstr("a proof from the laws expected, none found"));
}

}  // namespace
}  // namespace isomer::substitutions
