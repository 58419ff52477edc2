// What people state: TASO's substitutions are proved, its wrong ones refuted by the counterexamples on file, the
// classics proved.
#include "substitutions/library/equations.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "substitutions/library/library.h"
#include "support/files.h"
#include "support/long_run.h"
#include "verify/prover/prove.h"
#include "verify/prover/prove_elements.h"

namespace isomer::substitutions {
namespace {

using testing::HasSubstr;
using testing::StartsWith;
using Verdict = Judgement::Verdict;

class Equations : public testing::Test {
 protected:
  static std::string text_of(const std::string& name) {
    return isomer::test::read_file(isomer::test::source_path("tests/substitutions/data/" + name));
  }

  static std::vector<StatedEquation> equations_of(const std::string& text) {
    auto equations = parse_equations(text);
    CHECK(equations.ok()) << equations.error().message();
    return *std::move(equations);
  }

  Judgement judged(const StatedEquation& equation) {
    auto judgement = judge(equation, prover_, 0);
    CHECK(judgement.ok()) << equation.text() << ": " << judgement.error().message();
    return *std::move(judgement);
  }
  Judgement judged(const std::string& line) { return judged(equations_of(line).at(0)); }

  void expect_proved(const std::string& file) {
    for (const StatedEquation& equation : equations_of(text_of(file))) {
      const Judgement judgement = judged(equation);
      EXPECT_EQ(judgement.verdict, Verdict::kProved) << "line " << equation.line << ": " << equation.text();
      for (const Output& output : equations_at(equation, *equation.types)) {
        const auto replayed =
            verify::replay(judgement.proof, laws_.axioms(), {output.left, output.right, {}}, *equation.types, fresh_);
        EXPECT_TRUE(replayed.ok()) << equation.text() << ": " << replayed.error().message();
      }
    }
  }

  verify::Prover prover_ = *verify::Prover::start();
  verify::LawSet& laws_ = prover_.laws;
  verify::Signatures fresh_;
};

TEST_F(Equations, OfTasoThatHoldAreProved) { expect_proved("taso_valid.equations"); }

TEST_F(Equations, ThatGiveAVariableBackAreRefutedByASmallCounterexample) {
  for (const char* line : {"x:float32[2,3] | Sqrt(Mul(x,x)) = x", "x:float32[2,3] | Mul(x,Sign(x)) = x",
                           "x:float32[2,3] | Abs(x) = x", "x:int64[2,3] | Abs(x) = x"}) {
    const Judgement judgement = judged(line);
    EXPECT_EQ(judgement.verdict, Verdict::kRefuted) << line;
    ASSERT_TRUE(judgement.counterexample) << line;
    EXPECT_THAT(judgement.counterexample->text(), HasSubstr("-1")) << line;
  }
}

TEST_F(Equations, OfUnsignedAndNarrowIntegersAreNotRefutedByNumbersBeyondTheirTypes) {
  for (const char* line : {"x:uint8[4] | Max(x,0) = x", "x:uint8[4] | Min(x,255) = x", "x:uint32[4] | Max(x,0) = x",
                           "x:uint64[4] | Max(x,0) = x", "x:int8[4] | Min(x,127) = x", "x:uint8[4] | Clip(x,0,255) = x",
                           "x:uint8[4] | GreaterOrEqual(x,0) = Equal(x,x)", "x:uint16[4] | Abs(x) = x"})
    EXPECT_NE(judged(line).verdict, Verdict::kRefuted) << line;
  const Judgement judgement = judged("x:uint64[8] | Max(x,1) = Add(x,1)");
  ASSERT_EQ(judgement.verdict, Verdict::kRefuted);
  EXPECT_THAT(judgement.counterexample->text(), Not(HasSubstr("-")));
}

/// Floats hold no more than the first 24 bits of an integer, or 53.
TEST_F(Equations, OfRoundedIntegersThatAreComparedAreRefuted) {
  for (const char* line : {"a:int64[4] b:int64[4] | Equal(Cast(a){to=1},Cast(b){to=1}) = Equal(a,b)",
                           "a:int64[4] b:int64[4] | Less(Cast(a){to=1},Cast(b){to=1}) = Less(a,b)",
                           "a:int32[4] b:int32[4] | Less(Cast(a){to=1},Cast(b){to=1}) = Less(a,b)",
                           "a:int64[4] b:int64[4] | Less(Cast(a){to=11},Cast(b){to=11}) = Less(a,b)"})
    EXPECT_EQ(judged(line).verdict, Verdict::kRefuted) << line;
  for (const char* line : {"a:int32[4] b:int32[4] | Less(Cast(a){to=11},Cast(b){to=11}) = Less(a,b)",
                           "a:int16[4] b:int16[4] | Equal(Cast(a){to=1},Cast(b){to=1}) = Equal(a,b)",
                           "a:uint8[4] b:uint8[4] | Less(Cast(a){to=1},Cast(b){to=1}) = Less(a,b)",
                           "a:int32[4] | Cast(Cast(a){to=7}){to=1} = Cast(a){to=1}",
                           "a:int32[2,4] | Cast(Transpose(a)){to=1} = Transpose(Cast(a){to=1})"})
    EXPECT_EQ(judged(line).verdict, Verdict::kProved) << line;
}

/// Whatever inputs are drawn, none refutes it and it is not proved.
TEST_F(Equations, OfRoundedIntegersHaveNoProofByElements) {
  const StatedEquation equation =
      equations_of("a:int64[4] b:int64[4] | Equal(Cast(a){to=1},Cast(b){to=1}) = Equal(a,b)")[0];
  const Output output = equation.outputs.at(0);
  auto arithmetic = verify::ArithmeticSolver::start();
  ASSERT_TRUE(arithmetic.ok());
  const auto found = verify::compare_elements({output.left, output.right, {}}, *equation.types, fresh_, *arithmetic);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, verify::ByElements::kNot);
}

TEST_F(Equations, OfIntegersBesideFloatsAreRefutedWhereIntegersWrap) {
  for (const char* line : {"a:int32[4] | Cast(Neg(a)){to=1} = Neg(Cast(a){to=1})",
                           "a:int64[4] | Cast(Neg(a)){to=11} = Neg(Cast(a){to=11})",
                           "a:int32[2,3] | Cast(ReduceSum(a){axes=[1]}){to=1} = ReduceSum(Cast(a){to=1}){axes=[1]}",
                           "a:int32[2,3] b:int32[3,2] | Cast(MatMul(a,b)){to=1} = MatMul(Cast(a){to=1},Cast(b){to=1})",
                           "a:int32[4] x[4] | Add(x,Cast(Abs(a)){to=1}) = Add(x,Abs(Cast(a){to=1}))"})
    EXPECT_EQ(judged(line).verdict, Verdict::kRefuted) << line;
  EXPECT_NE(judged("a:int32[4] b:int32[4] | Cast(Sub(Cast(a){to=7},Cast(b){to=7})){to=1} = "
                   "Sub(Cast(a){to=1},Cast(b){to=1})")
                .verdict,
            Verdict::kRefuted);
}

/// Modulo 2^n as if they had no limits.
TEST_F(Equations, OfIntegersThatAreAddedAndMultipliedAreProved) {
  for (const char* line :
       {"a:int32[4] b:int32[4] | Mul(Sub(a,b),Add(a,b)) = Sub(Mul(a,a),Mul(b,b))",
        "a:int32[4] b:int32[4] | Sub(Sub(a,b),a) = Neg(b)",
        "a:int64[4] b:int64[4] | Mul(Add(a,b),Add(a,b)) = Add(Mul(a,a),Add(Mul(2,Mul(a,b)),Mul(b,b)))",
        "a:int64[2,3] b:int64[3,2] | Sub(MatMul(a,b),MatMul(Neg(a),b)) = Mul(2,MatMul(a,b))"})
    EXPECT_EQ(judged(line).verdict, Verdict::kProved) << line;
  for (const char* line : {"a:int32[4] b:int32[4] | Max(Add(a,b),Add(a,a)) = Add(a,Max(b,a))",
                           "a:int32[4] | Div(Mul(a,2),2) = a", "a:int32[4] | Abs(Mul(a,2)) = Mul(2,Abs(a))",
                           "a:int32[4] b:int32[4] | Mul(Sub(a,b),Add(a,b)) = Sub(Mul(a,b),Mul(b,b))"})
    EXPECT_EQ(judged(line).verdict, Verdict::kRefuted) << line;
}

TEST_F(Equations, ThatFailBetweenHalvesAreRefuted) {
  for (const char* line :
       {"a[4] | Neg(Floor(Neg(Add(a,1/2)))) = Add(Floor(a),1)", "a[4] | Round(Mul(Round(a),1/2)) = Round(Mul(a,1/2))"})
    EXPECT_EQ(judged(line).verdict, Verdict::kRefuted) << line;
}

TEST_F(Equations, ThatFailFarFromZeroAreRefuted) {
  for (const char* line : {"a[4] | Clip(Exp(a),0,10) = Exp(a)", "a[4] | Min(Sigmoid(a),0.9) = Sigmoid(a)",
                           "a[4] | Tanh(Relu(Add(a,3))) = Tanh(Add(a,3))", "a[4] | Sin(Clip(a,-5,5)) = Sin(a)",
                           "a[4] | Softplus(Max(a,-3)) = Softplus(a)", "a[4] | Clip(a,-1000,1000) = a",
                           "a[4] | Min(a,500) = a", "a[4] | Cast(Cast(a){to=10}){to=1} = a"})
    EXPECT_EQ(judged(line).verdict, Verdict::kRefuted) << line;
}

/// Of numbers that cancel, doubles say what rounding left.
TEST_F(Equations, AreNotRefutedByRoundingFarFromZero) {
  for (const char* line : {"a[4] | Sub(Mul(Cosh(a),Cosh(a)),Mul(Sinh(a),Sinh(a))) = Expand(1){shape=[4]}",
                           "a[4] b[4] | Sub(Exp(Mul(a,b)),Mul(2,Exp(Mul(a,b)))) = Neg(Exp(Mul(b,a)))",
                           "a[4] | Log(Exp(Mul(a,a))) = Mul(a,a)", "a[4] | Atanh(Tanh(a)) = a",
                           "a[4] | Floor(Log(Exp(a))) = Floor(a)", "a[4] | Sign(Sub(Log(Exp(a)),a)) = Mul(0,Exp(a))"})
    EXPECT_NE(judged(line).verdict, Verdict::kRefuted) << line;
}

TEST_F(Equations, NumbersAreOfTheTypeOfNumbersBesideThem) {
  EXPECT_EQ(judged("c:bool[4] x[4] | Where(c,x,0) = Mul(x,Cast(c){to=1})").verdict, Verdict::kProved);
  EXPECT_EQ(judged("c:bool[4] x[4] y[4] | Where(c,Mul(x,y),Mul(x,2)) = Mul(x,Where(c,y,2))").verdict, Verdict::kProved);
  EXPECT_EQ(judged("c:bool[4] x:int64[4] | Where(c,0,x) = Where(Not(c),x,0)").verdict, Verdict::kProved);
  // Beside a condition alone they are floats, beside a bool that may be chosen bools.
  EXPECT_EQ(judged("c:bool[4] | Where(c,1,0) = Cast(c){to=1}").verdict, Verdict::kProved);
  EXPECT_EQ(judged("c:bool[4] x[4] | Add(x,Where(c,1,2)) = Where(c,Add(x,1),Add(x,2))").verdict, Verdict::kProved);
  EXPECT_EQ(judged("x[4] | Sign(x) = Where(Greater(x,0),1,Where(Less(x,0),-1,0))").verdict, Verdict::kProved);
  EXPECT_EQ(judged("c:bool[4] d:bool[4] | Where(c,d,0) = And(c,d)").verdict, Verdict::kProved);
  EXPECT_EQ(judged("c:bool[4] | Where(c,1,0) = c").verdict, Verdict::kRefuted);
}

TEST_F(Equations, NumbersMayBeDecimals) {
  EXPECT_EQ(equations_of("x[4] | Mul(x,0.5) = Mul(x,5e-1)")[0].text(), "Mul(x,1/2) = Mul(x,1/2)");
  EXPECT_EQ(judged("x[4] | Mul(x,-0.75) = Mul(x,-3/4)").verdict, Verdict::kProved);
  EXPECT_EQ(equations_of("x[4] | Elu(x){alpha=1.5} = x")[0].text(), "Elu(x){alpha=3/2} = x");
}

TEST_F(Equations, ThatAreClassicsAreProved) { expect_proved("classics.equations"); }

/// Some by laws, some by elements, of which a solver knows more than a replay.
TEST_F(Equations, OfFunctionsAndBitsAreProved) {
  for (const StatedEquation& equation : equations_of(text_of("functions_and_bits.equations")))
    EXPECT_EQ(judged(equation).verdict, Verdict::kProved) << "line " << equation.line << ": " << equation.text();
}

TEST_F(Equations, OfAlgebraAreProvedAndTheirNearMissesRefuted) {
  const size_t step = isomer::test::is_long_run() ? 1 : 14;
  for (const auto& [file, verdict] :
       {std::pair("algebra.equations", Verdict::kProved), std::pair("algebra_wrong.equations", Verdict::kRefuted)}) {
    const std::vector<StatedEquation> equations = equations_of(text_of(file));
    for (size_t k = 0; k < equations.size(); k += step)
      EXPECT_EQ(judged(equations[k]).verdict, verdict) << equations[k].text();
  }
}

/// What a certificate says of elements is that sums are grouped otherwise: functions of data may overflow on one side.
TEST_F(Equations, CertificatesByElementsAreOfSumsAndMaxima) {
  const auto replayed = [&](const std::string& line) {
    const StatedEquation equation = equations_of(line).at(0);
    const Output output = equations_at(equation, *equation.types).at(0);
    const verify::Certificate certificate{{verify::use_by_elements(output.left, output.right)}};
    return verify::replay(certificate, laws_.axioms(), {output.left, output.right, {}}, *equation.types, fresh_).ok();
  };
  EXPECT_TRUE(replayed("a[2,3] | ReduceMean(a){axes=[1],keepdims=0} = Div(ReduceSum(a){axes=[1],keepdims=0},3)"));
  EXPECT_TRUE(replayed("a[3,4] b[4,5] | Einsum(a,b){equation=\"ij,jk->ik\"} = MatMul(a,b)"));
  EXPECT_TRUE(replayed("a[2,3] | ReduceMax(Neg(a)){axes=[1]} = Neg(ReduceMin(a){axes=[1]})"));
  EXPECT_FALSE(replayed("a[2,5] | Softmax(a){axis=1} = Div(Exp(a),ReduceSum(Exp(a)){axes=[1],keepdims=1})"));
  EXPECT_FALSE(replayed("a[4] b[4] | Exp(Add(a,b)) = Mul(Exp(a),Exp(b))"));
  EXPECT_FALSE(replayed("a[4] b[4] | Mul(Exp(a),Exp(Neg(a))) = Mul(Exp(b),Exp(Neg(b)))"));
  EXPECT_FALSE(replayed("a[4] | Div(a,Div(3,a)) = Div(Mul(a,a),3)"));
}

/// Made by `isomer library check-equations taso_wrong.equations --wrong > taso_wrong.counterexamples`.
TEST_F(Equations, OfTasoThatAreWrongAreRefuted) {
  const std::string on_file = text_of("taso_wrong.counterexamples");
  for (const StatedEquation& equation : equations_of(text_of("taso_wrong.equations"))) {
    const Judgement judgement = judged(equation);
    ASSERT_EQ(judgement.verdict, Verdict::kRefuted) << "line " << equation.line << ": " << equation.text();
    EXPECT_THAT(on_file, HasSubstr("\n  " + judgement.counterexample->text() + "\n"));
  }
}

TEST_F(Equations, CounterexamplesAreSmall) {
  EXPECT_EQ(judged("x[4,4] y[4,4] | MatMul(x,y) = MatMul(y,x)").counterexample->text(),
            "MatMul(x,y) = MatMul(y,x)\n"
            "  x: float32[2,2] = {{0, 0}, {0, 1}}\n"
            "  y: float32[2,2] = {{0, 0}, {1, 0}}\n"
            "  left: float32[2,2] = {{0, 0}, {1, 0}}\n"
            "  right: float32[2,2] = {{0, 0}, {0, 0}}");
  EXPECT_EQ(judged("x[3,4] y[3,4] | Relu(Add(x,y)) = Add(Relu(x),Relu(y))").counterexample->inputs.size(), 2U);
  EXPECT_THAT(judged("x[3,4] y[3,4] | Relu(Add(x,y)) = Add(Relu(x),Relu(y))").counterexample->text(),
              HasSubstr("x: float32[1,1] = {{"));
  EXPECT_THAT(judged("x[3,4] | Exp(x) = Add(x,1)").counterexample->text(), HasSubstr("x: float32[1,1] = {{"));
}

TEST_F(Equations, OfTwoElementTypesAreRefuted) {
  for (const std::string line :
       {"x[2,3] | Relu(x) = Greater(x,0)", "x[2,3] | Exp(x) = Less(x,0)", "x[4] | Less(x,0) = x"})
    EXPECT_EQ(judged(line).verdict, Verdict::kRefuted) << line;
}

TEST_F(Equations, OfSeveralOutputsFailByOne) {
  const Judgement judgement =
      judged("x[2,4] v[4,3] w[4,5] | MatMul(x,v) ; MatMul(x,v) = MatMul(x,v) ; Neg(MatMul(x,v))");
  ASSERT_EQ(judgement.verdict, Verdict::kRefuted);
  EXPECT_THAT(judgement.counterexample->text(), HasSubstr("MatMul(x,v) = Neg(MatMul(x,v))"));
}

TEST_F(Equations, BrokenLinesGetASentence) {
  for (const auto& [line, what] : std::initializer_list<std::pair<const char*, const char*>>{
           {"x[2] | x", "left ; … = right ; … expected"},
           {"a | x[2] | b | x = x", "label | types | equation expected, 4 fields found"},
           {"x[2,a] | x = x", "a size expected, 'a' found"},
           {"x[2] x[3] | x = x", "a second for 'x' found"},
           {"x:floaty[2] | x = x", "an element type such as float32 expected"},
           {"a | 2] | x = x", "types such as x[2,4] expected"},
           {"a\tb | x[2] | x = x", "a label without tabs, quotes and control characters expected, 'a\tb' found"},
           {"a\xc2\x9b"
            "b | x[2] | x = x",
            "a label without tabs, quotes and control characters expected"},
           {"my \"rule | x[2] | x = x", "a label without tabs, quotes"},
           {"x[2] | Mul(x,0.5.) = x", "line 3: column 17: expected \",\", found \".\""},
           {"x[2] | Rela(x) = x", "Rela"}}) {
    const auto parsed = parse_equations(std::string("# comment\n\n") + line);
    ASSERT_FALSE(parsed.ok()) << line;
    EXPECT_THAT(parsed.error().message(), StartsWith("line 3"));
    EXPECT_THAT(parsed.error().message(), HasSubstr(what));
  }
}

TEST_F(Equations, LabelsAndTypesMayBeMissing) {
  const auto equations = equations_of("x = x\nname | x = x\nx[2,3] n:int64[] | x = x\nname | x[] | x = x\r\n");
  ASSERT_EQ(equations.size(), 4U);
  EXPECT_FALSE(equations[0].types || equations[1].types);
  EXPECT_EQ(equations[1].label, "name");
  EXPECT_EQ(equations[2].types->size(), 2U);
  EXPECT_EQ(equations[2].label, "");
  EXPECT_EQ(equations[3].label, "name");
  EXPECT_TRUE(equations[3].types->at("x").shape->empty());
}

TEST_F(Equations, TypesAreDrawnWhereNoneAreGiven) {
  const auto drawn =
      with_drawn_types(equations_of("Concat(Relu(x),Relu(y)){axis=1} = Relu(Concat(x,y){axis=1})")[0], 4, 1);
  ASSERT_GE(drawn.size(), 4U);
  for (const StatedEquation& equation : drawn) EXPECT_EQ(judged(equation).verdict, Verdict::kProved);
  bool is_refuted = false;
  for (const StatedEquation& equation : with_drawn_types(
           equations_of("Conv(x,Concat(v,w){axis=0}){..p} = Concat(Conv(x,v){..p},Conv(x,w){..p}){axis=1}")[0], 40, 1))
    is_refuted |= judged(equation).verdict == Verdict::kRefuted;
  EXPECT_TRUE(is_refuted);
}

}  // namespace
}  // namespace isomer::substitutions
