// Laws are proved for all sizes if they are true, and never if they are false.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "support/files.h"
#include "support/long_run.h"
#include "verify/claim_support.h"
#include "verify/laws/prove_axioms.h"
#include "verify/proof/refute/check_instance.h"

namespace isomer::verify::test {
namespace {

constexpr int kTrials = 12, kTrialsOfFalse = 80;  ///< groups are drawn seldom

struct StatedLaw {
  const char* law;
  const char* family;
};

class LawProofs : public testing::Test {
 protected:
  LawProof proof(const StatedLaw& stated, int trials) { return proof_of(law(stated.law), stated.family, trials); }
  LawProof proof_of(const Law& of, std::string_view family, int trials) { return ask(*solver_, of, family, trials); }
  /// False ones may take Z3 as long as it is given.
  LawProof proof_of_mutant(const Law& of, std::string_view family, int trials) {
    return ask(*impatient_, of, family, trials);
  }

 private:
  static LawProof ask(ArithmeticSolver& solver, const Law& of, std::string_view family, int trials) {
    auto found = prove_law(of, family, trials, 1, solver);
    EXPECT_TRUE(found.ok()) << found.error().message();
    return found.ok() ? *std::move(found) : LawProof();
  }

  Result<ArithmeticSolver> solver_ = ArithmeticSolver::start();
  Result<ArithmeticSolver> impatient_ = ArithmeticSolver::start({.seconds = 1});
};

/// A flipped axis, a wrong permutation, another operator, a condition dropped, one too far.
constexpr StatedLaw kFalse[] = {
    {"a = b", "equal"},
    {"BitwiseNot(BitwiseOr(a,b)) = BitwiseOr(BitwiseNot(a),BitwiseNot(b))", "broadcast"},
    {"Sub(a,b) = Sub(b,a)", "broadcast"},
    {"Sub(a,Sub(b,c)) = Sub(Sub(a,b),c)", "equal"},
    {"Div(a,b) = Div(b,a)", "equal"},
    {"Add(a,1) = a", "equal"},
    {"Mul(a,a) = a", "equal"},
    {"Mul(a,0) = a", "equal"},
    {"Max(a,b) = Min(a,b)", "equal"},
    {"Max(a,b) = Add(a,b)", "equal"},
    {"Mul(a,Max(b,c)) = Max(Mul(a,b),Mul(a,c))", "equal"},
    {"Max(a,Add(b,c)) = Add(Max(a,b),Max(a,c))", "equal"},
    {"Relu(Add(a,b)) = Add(Relu(a),Relu(b))", "equal"},
    {"Relu(Neg(a)) = Neg(Relu(a))", "equal"},
    {"Exp(Mul(a,b)) = Mul(Exp(a),Exp(b))", "equal"},
    {"Exp(Add(a,b)) = Add(Exp(a),Exp(b))", "equal"},
    {"Sqrt(Mul(a,a)) = a", "equal"},
    {"Abs(Add(a,b)) = Add(Abs(a),Abs(b))", "equal"},
    {"Tanh(Neg(a)) = Tanh(a)", "equal"},
    {"Min(Sigmoid(a),Sigmoid(b)) = Sigmoid(Max(a,b))", "equal"},
    {"Tanh(a) = Sub(Mul(Sigmoid(a),2),1)", "equal"},
    {"Max(Neg(a),Neg(b)) = Neg(Max(a,b))", "equal"},
    {"Less(a,b) = Less(b,a)", "equal"},
    {"LessOrEqual(a,b) = Less(a,b)", "equal"},
    {"Not(And(a,b)) = And(Not(a),Not(b))", "equal"},
    {"Xor(a,b) = Or(a,b)", "equal"},
    {"BitwiseXor(a,b) = BitwiseOr(a,b)", "equal"},
    {"BitwiseXor(BitwiseAnd(a,b),b) = a", "equal"},
    {"BitwiseAnd(a,BitwiseXor(b,c)) = BitwiseXor(BitwiseAnd(a,b),c)", "equal"},
    {"BitwiseXor(a,1) = BitwiseNot(a)", "equal"},
    {"Equal(BitwiseOr(a,b),BitwiseOr(b,a)) = Equal(a,b)", "equal"},
    {"Sin(Mul(2,a)) = Mul(Sin(a),Cos(a))", "equal"},
    {"Mul(Cos(a),Cos(a)) = Add(1,Mul(Sin(a),Sin(a)))", "equal"},
    {"Tan(a) = Div(Cos(a),Sin(a))", "equal"},
    {"Tanh(a) = Div(Cosh(a),Sinh(a))", "equal"},
    {"Pow(a,1/3) = Sqrt(a)", "equal"},
    {"Pow(a,-3) = Reciprocal(Mul(a,a))", "equal"},
    {"Mod(a,1){fmod=1} = Mul(a,0)", "equal of floats"},
    {"Cast(Pow(a,1/2)){to=11} = Sqrt(Cast(a){to=11})", "equal"},
    {"Where(c,x,y) = Where(c,y,x)", "equal"},
    {"Transpose(Transpose(x){perm=[1,2,0]}){perm=[1,2,0]} = x", "ranked"},
    {"Transpose(x){perm=[1,0]} = x", "ranked"},
    {"Transpose(x){perm=[1,0]} = Reshape(x){shape=[x_1,x_0]}", "ranked"},
    {"Transpose(Concat(x,y){axis=0}){perm=[1,0]} = Concat(Transpose(y){perm=[1,0]},Transpose(x){perm=[1,0]}){axis=1}",
     "ranked"},
    {"Concat(x,y){axis=0} = Concat(y,x){axis=0}", "ranked"},
    {"Concat(Concat(x,y){axis=a},Concat(z,w){axis=a}){axis=b} = "
     "Concat(Concat(x,w){axis=b},Concat(y,z){axis=b}){axis=a} if 0 <= a && a < b",
     "ranked"},
    {"Split(Concat(x,y){axis=a}){axis=a,split=[s,t]}.1 = x", "ranked"},
    {"Concat(Split(x){axis=a,split=[s,t]}.1,Split(x){axis=a,split=[s,t]}){axis=a} = x", "ranked"},
    {"Slice(x){axes=[0],ends=[2],starts=[0]} = Slice(x){axes=[0],ends=[3],starts=[1]}", "ranked"},
    {"Pad(Add(x,1)){pads=[0,1]} = Add(Pad(x){pads=[0,1]},1)", "ranked"},
    {"Pad(x){pads=[0,1]} = Pad(x){pads=[1,0]}", "ranked"},
    {"Pad(Exp(x)){pads=[a,b]} = Exp(Pad(x){pads=[a,b]}) if 0 < a && 0 < b", "ranked"},
    {"ReduceSum(x){axes=[0],keepdims=1} = ReduceSum(Mul(x,2)){axes=[0],keepdims=1}", "ranked"},
    {"ReduceSum(Mul(x,y)){..p} = Mul(ReduceSum(x){..p},ReduceSum(y){..p})", "equal"},
    {"ReduceSum(Add(x,s)){axes=[0],keepdims=1} = Add(ReduceSum(x){axes=[0],keepdims=1},s) if s_rank == 0", "ranked"},
    {"ReduceSum(Relu(x)){..p} = Relu(ReduceSum(x){..p})", "ranked"},
    {"ReduceMax(x){..p} = ReduceMean(x){..p}", "ranked"},
    {"ReduceMax(Neg(x)){..p} = Neg(ReduceMax(x){..p})", "ranked"},
    {"ReduceMax(Mul(x,s)){..p} = Mul(ReduceMax(x){..p},s) if s_rank == 0", "ranked"},
    {"ReduceMax(Add(x,y)){..p} = Add(ReduceMax(x){..p},ReduceMax(y){..p})", "equal"},
    {"ReduceSum(x){axes=[0],keepdims=1} = ReduceSum(Slice(x){axes=[0],ends=[x_0],starts=[1]}){axes=[0],keepdims=1} if "
     "1 < x_0",
     "ranked"},
    {"MatMul(a,b) = MatMul(b,a)", "matrices"},
    {"Transpose(MatMul(x,y)){perm=[1,0]} = MatMul(Transpose(x){perm=[1,0]},Transpose(y){perm=[1,0]})", "matrices"},
    {"MatMul(Concat(x,y){axis=-1},Concat(z,w){axis=-2}) = Add(MatMul(x,w),MatMul(y,z))", "matrices"},
    {"MatMul(Relu(x),y) = Relu(MatMul(x,y))", "matrices"},
    {"MatMul(Mul(x,y),z) = Mul(MatMul(x,z),y)", "matrices"},
    {"Softmax(Add(x,y)){axis=-1} = Softmax(x){axis=-1}", "equal"},
    {"Softmax(x){axis=0} = Softmax(x){axis=-1}", "ranked"},
    {"Conv(x,w){pads=[1,1,0,0],..p} = Conv(x,w){pads=[0,0,1,1],..p}", "images"},
    {"Conv(Conv(x,v){group=1,pads=[1,1,1,1]},w){group=1,pads=[0,0,0,0]} = "
     "Conv(Conv(x,v){group=1,pads=[0,0,0,0]},w){group=1,pads=[1,1,1,1]}",
     "images"},
    {"Add(Conv(x,v){..p},Conv(y,w){..p}) = Conv(Concat(x,y){axis=1},Concat(v,w){axis=1}){..p}", "images"},
    {"Conv(x,Concat(v,w){axis=0}){group=1,..p} = Concat(Conv(x,w){group=1,..p},Conv(x,v){group=1,..p}){axis=1}",
     "images"},
    {"Conv(Pad(x){pads=[0,0,a,b,0,0,c,d]},w){pads=[e,f,g,h],..p} = Conv(x,w){pads=[c + e,d + f,a + g,b + h],..p}",
     "images"},
    {"MaxPool(x){..p} = AveragePool(x){..p}", "images"},
    {"MaxPool(Neg(x)){..p} = Neg(MaxPool(x){..p})", "images"},
    {"MaxPool(MaxPool(x){kernel_shape=[a,b]}){kernel_shape=[c,d]} = MaxPool(x){kernel_shape=[a + c,b + d]}", "images"},
    {"MaxPool(MaxPool(x){kernel_shape=[2,2],strides=[2,2]}){kernel_shape=[2,2]} = "
     "MaxPool(MaxPool(x){kernel_shape=[2,2]}){kernel_shape=[2,2],strides=[2,2]}",
     "images"},
    {"MaxPool(x){kernel_shape=[2,1]} = MaxPool(x){kernel_shape=[2,1],dilations=[1,1],pads=[0,0,0,0],strides=[2,1]}",
     "images"},
    {"AveragePool(Relu(x)){..p} = Relu(AveragePool(x){..p})", "images"},
    {"AveragePool(Add(x,1)){kernel_shape=[2,2],pads=[1,1,1,1],count_include_pad=1} = "
     "Add(AveragePool(x){kernel_shape=[2,2],pads=[1,1,1,1],count_include_pad=1},1)",
     "images"},
};

TEST_F(LawProofs, AreNotFoundForWhatIsFalse) {
  for (const StatedLaw& each : kFalse) {
    SCOPED_TRACE(each.law);
    EXPECT_FALSE(proof(each, kTrialsOfFalse).holds());
  }
}

/// The table would say nothing if its laws had no instances.
TEST_F(LawProofs, AreSoughtForWhatIsFalse) {
  int sought = 0;
  for (const StatedLaw& each : kFalse) sought += proof(each, kTrials).structures > 0 ? 1 : 0;
  EXPECT_GE(sought, 60) << "of " << std::size(kFalse);
}

constexpr StatedLaw kTrue[] = {
    {"Add(a,b) = Add(b,a)", "broadcast"},
    {"Mul(a,Mul(b,c)) = Mul(Mul(a,b),c)", "broadcast"},
    {"Mul(a,Add(b,c)) = Add(Mul(a,b),Mul(a,c))", "broadcast"},
    {"Add(a,Max(b,c)) = Max(Add(a,b),Add(a,c))", "broadcast"},
    {"Max(a,Min(b,c)) = Min(Max(a,b),Max(a,c))", "equal"},
    {"Mul(Abs(a),Max(b,c)) = Max(Mul(Abs(a),b),Mul(Abs(a),c))", "equal"},
    {"Relu(Neg(Relu(a))) = Mul(a,0)", "equal"},
    {"Exp(Add(a,b)) = Mul(Exp(a),Exp(b))", "broadcast"},
    {"Max(Sigmoid(a),Sigmoid(b)) = Sigmoid(Max(a,b))", "equal"},
    {"Not(And(a,b)) = Or(Not(a),Not(b))", "broadcast"},
    {"Where(Not(c),x,y) = Where(c,y,x)", "equal"},
    {"Transpose(Transpose(x){perm=[1,2,0]}){perm=[2,0,1]} = x", "ranked"},
    {"Transpose(Sub(x,y)){..p} = Sub(Transpose(x){..p},Transpose(y){..p})", "equal"},
    {"Reshape(Sub(x,y)){..p} = Sub(Reshape(x){..p},Reshape(y){..p})", "equal"},
    {"Concat(Sub(x,y),Sub(z,w)){..p} = Sub(Concat(x,z){..p},Concat(y,w){..p})", "equal"},
    {"Concat(Exp(x),Exp(y)){..p} = Exp(Concat(x,y){..p})", "ranked"},
    {"Concat(Concat(x,y){axis=a},Concat(z,w){axis=a}){axis=b} = "
     "Concat(Concat(x,z){axis=b},Concat(y,w){axis=b}){axis=a} if 0 <= a && a < b",
     "ranked"},
    {"Split(Concat(x,y){axis=a}){axis=a,split=[s,t]}.1 = y", "ranked"},
    {"Concat(Split(x){axis=a,split=[s,t]},Split(x){axis=a,split=[s,t]}.1){axis=a} = x", "ranked"},
    {"Slice(Exp(x)){axes=[0],ends=[2],starts=[0]} = Exp(Slice(x){axes=[0],ends=[2],starts=[0]})", "ranked"},
    {"Pad(Relu(x)){pads=[0,1]} = Relu(Pad(x){pads=[0,1]})", "ranked"},
    {"ReduceSum(Sub(x,y)){..p} = Sub(ReduceSum(x){..p},ReduceSum(y){..p})", "equal"},
    {"ReduceSum(Mul(x,s)){..p} = Mul(ReduceSum(x){..p},s) if s_rank == 0", "ranked"},
    {"ReduceSum(Concat(x,y){axis=a}){axes=[a],keepdims=1} = "
     "Add(ReduceSum(x){axes=[a],keepdims=1},ReduceSum(y){axes=[a],keepdims=1})",
     "ranked"},
    {"ReduceSum(Transpose(x){perm=[1,0]}){axes=[0],keepdims=1} = "
     "Transpose(ReduceSum(x){axes=[1],keepdims=1}){perm=[1,0]}",
     "ranked"},
    {"ReduceSum(ReduceSum(x){axes=[0],keepdims=1}){axes=[1],keepdims=1} = "
     "ReduceSum(ReduceSum(x){axes=[1],keepdims=1}){axes=[0],keepdims=1}",
     "ranked"},
    {"ReduceMax(Add(x,s)){..p} = Add(ReduceMax(x){..p},s) if s_rank == 0", "ranked"},
    {"ReduceMax(Relu(x)){..p} = Relu(ReduceMax(x){..p})", "ranked"},
    {"MatMul(a,MatMul(b,c)) = MatMul(MatMul(a,b),c)", "matrices"},
    {"MatMul(Sub(a,b),c) = Sub(MatMul(a,c),MatMul(b,c))", "matrices"},
    {"Transpose(MatMul(x,y)){perm=[1,0]} = MatMul(Transpose(y){perm=[1,0]},Transpose(x){perm=[1,0]})", "matrices"},
    {"MatMul(Concat(x,y){axis=-1},Concat(z,w){axis=-2}) = Add(MatMul(x,z),MatMul(y,w))", "matrices"},
    {"MatMul(x,Concat(y,z){axis=-1}) = Concat(MatMul(x,y),MatMul(x,z)){axis=-1}", "matrices"},
    {"Softmax(Add(x,s)){axis=-1} = Softmax(x){axis=-1} if s_rank == 0", "ranked"},
    {"Conv(Sub(x,y),w){..p} = Sub(Conv(x,w){..p},Conv(y,w){..p}) if x_0 == y_0 && x_1 == y_1 && x_2 == y_2 && x_3 == "
     "y_3 && x_4 == y_4",
     "images"},
    {"Add(Conv(x,v){group=1},Conv(y,w){group=1}) = Conv(Concat(x,y){axis=1},Concat(v,w){axis=1}){group=1} if v_0 == "
     "w_0 && x_0 == y_0",
     "images"},
    {"Conv(Pad(x){pads=[0,0,a,b,0,0,c,d]},w){pads=[e,f,g,h],..p} = Conv(x,w){pads=[a + e,b + f,c + g,d + h],..p}",
     "images"},
    {"MaxPool(MaxPool(x){kernel_shape=[a,b]}){kernel_shape=[c,d]} = MaxPool(x){kernel_shape=[a + c - 1,b + d - 1]}",
     "images"},
    {"GlobalAveragePool(x) = ReduceMean(x){axes=[2,3],keepdims=1}", "images"},
};

TEST_F(LawProofs, AreFoundForWhatIsTrue) {
  for (const StatedLaw& each : kTrue) {
    SCOPED_TRACE(each.law);
    const LawProof found = proof(each, kTrials);
    EXPECT_GT(found.structures, 0);
    EXPECT_TRUE(found.holds()) << found.open;
  }
}

/// Of instances, at their own sizes, without a solver.
TEST(InstanceProofs, AreFoundForWhatIsTrueAlone) {
  Random random(7);
  int drawn = 0, proved = 0;
  const auto try_all = [&](std::span<const StatedLaw> laws, bool is_true) {
    for (const StatedLaw& each : laws)
      for (int trial = 0; trial < kTrials; ++trial) {
        SCOPED_TRACE(each.law);
        const auto instance = draw_instance(law(each.law), each.family, random);
        if (!instance || !is_typed(*instance)) continue;
        const auto reason = why_not_proved({instance->law, instance->types}, nullptr);
        if (is_true) {
          ++drawn;
          proved += !reason;
        } else if (!reason) {
          // At these sizes a false law may be true.
          const auto check = check_instance(*instance, random, FloatClass::kFinite);
          EXPECT_FALSE(check && check->counterexample) << check->counterexample->text();
        }
      }
  };
  try_all(kTrue, true);
  try_all(kFalse, false);
  EXPECT_GT(drawn, 300);
  EXPECT_GT(proved, drawn * 8 / 10) << "of " << drawn;
}

struct Swap {
  const char *from, *to;
};

/// What makes another law of a law, seldom a true one.
constexpr Swap kSwaps[] = {{"Add(", "Sub("},
                           {"Sub(", "Add("},
                           {"Mul(", "Add("},
                           {"Max(", "Min("},
                           {"Min(", "Max("},
                           {"MaxPool(", "AveragePool("},
                           {"Exp(", "Tanh("},
                           {"ReduceSum(", "ReduceMax("},
                           {"ReduceMax(", "ReduceSum("},
                           {"ReduceMean(", "ReduceSum("},
                           {"Relu(", "Abs("},
                           {"Neg(", "Abs("},
                           {"And(", "Or("},
                           {"Less(", "LessOrEqual("},
                           {"(x", "(y"},
                           {"x,", "y,"},
                           {"a,b", "b,a"},
                           {"b,c", "c,b"},
                           {"c,d", "d,c"},
                           {"0", "1"},
                           {"1", "0"},
                           {"1", "2"},
                           {"2", "3"},
                           {"+", "-"},
                           {" - ", " + "},
                           {"s,t", "t,s"},
                           {"v,w", "w,v"},
                           {".1", ""},
                           {"[a", "[b"},
                           {"axis=a", "axis=0"},
                           {"MatMul(", "Mul("},
                           {"keepdims=1", "keepdims=0"},
                           {"Reciprocal(", "Neg("},
                           {"ends=[", "starts=["}};

std::vector<Law> mutants(std::string_view law) {
  std::vector<Law> result;
  for (const auto& [from, to] : kSwaps)
    for (size_t at = law.find(from); at != std::string_view::npos; at = law.find(from, at + 1)) {
      std::string text(law);
      text.replace(at, std::string_view(from).size(), to);
      if (auto parsed = parse_law(text); parsed.ok()) result.push_back(*std::move(parsed));
    }
  return result;
}

/// Instances that a proof covers, of laws true and false, whole or in part.
TEST_F(LawProofs, CoverNothingThatNumbersRefute) {
  Random random(11);
  int covered = 0, partly = 0;
  for (const StatedAxiom& axiom : all_axioms()) {
    // Which laws and mutants are tried does not depend on what other laws there are.
    const uint64_t choice = Hasher().add(axiom.axiom->law).add(uint64_t{4}).finish().low;
    if (!isomer::test::is_long_run() && choice % 10 >= 3) continue;
    std::vector<Law> laws = mutants(axiom.axiom->law);
    if (!isomer::test::is_long_run() && laws.size() > 1) laws = {laws[choice / 10 % laws.size()]};
    laws.push_back(axiom.law);
    for (const Law& each : laws) {
      SCOPED_TRACE(each.text());
      const LawProof found = proof_of_mutant(each, axiom.axiom->shapes, kTrials);
      partly += !found.proved.empty() && !found.holds() ? 1 : 0;
      for (int trial = 0; trial < 8 && !found.proved.empty(); ++trial) {
        const auto instance = draw_instance(each, axiom.axiom->shapes, random);
        if (!instance || std::none_of(found.proved.begin(), found.proved.end(),
                                      [&](const LawSizes& sizes) { return covers(sizes, *instance); }))
          continue;
        const auto check = check_instance(*instance, random, FloatClass::kReassociated);
        if (!check) continue;
        ++covered;
        EXPECT_FALSE(check->counterexample) << check->counterexample->text();
      }
    }
  }
  EXPECT_GE(covered, 250);
  EXPECT_GE(partly, 5);
}

TEST(AxiomProofs, AreTheSameOnAnyNumberOfThreads) {
  std::vector<StatedAxiom> axioms;
  Random choice(5);
  for (StatedAxiom& each : all_axioms())
    if (isomer::test::is_long_run() || choice.chance(0.3)) axioms.push_back(std::move(each));
  const auto one = prove_axioms(axioms, 2, 5, 1), two = prove_axioms(axioms, 2, 5, 2);
  int proved = 0;
  for (size_t k = 0; k < axioms.size(); ++k) {
    SCOPED_TRACE(axioms[k].axiom->law);
    EXPECT_EQ(one[k].holds(), two[k].holds());
    EXPECT_EQ(one[k].structures, two[k].structures);
    EXPECT_EQ(one[k].open, two[k].open);
    proved += one[k].holds() ? 1 : 0;
  }
  EXPECT_GE(proved, axioms.size() * 3 / 4);
}

/// docs/adding-a-law.md: what it says of laws holds.
TEST_F(LawProofs, ThePageOnLawsSaysWhichHold) {
  for (const bool is_true : {true, false}) {
    std::istringstream lines(isomer::test::blocks_of("docs/adding-a-law.md", is_true ? "laws" : "no-laws")[0]);
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count) {
      const size_t bar = line.find(" | ");
      ASSERT_NE(bar, std::string::npos) << line;
      const LawProof found =
          proof_of(law(line.substr(bar + 3).c_str()), line.substr(0, bar), is_true ? kTrials : kTrialsOfFalse);
      EXPECT_GT(found.structures, 0) << line;
      EXPECT_EQ(found.holds(), is_true) << line << ": " << found.open;
    }
    EXPECT_EQ(count, 4);
  }
}

}  // namespace
}  // namespace isomer::verify::test
