// What rows say that floating point does to their laws is so, and what checks it finds what is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "graph/movement.h"
#include "graph/rounding.h"
#include "graph/te/algebra_floating.h"
#include "support/long_run.h"
#include "verify/claim_support.h"
#include "verify/laws/check_float_class.h"
#include "verify/laws/float_values.h"
#include "verify/laws/rounding_algebra.h"
#include "verify/proof/refute/law_instances.h"

namespace isomer::verify::test {
namespace {

TEST(FloatClasses, AreWhatRowsDeclare) {
  const std::vector<StatedAxiom> stated = all_axioms();
  const std::vector<FloatClassCheck> checks = check_float_classes(stated, isomer::test::is_long_run() ? 2000 : 8, 1, 1);
  for (size_t k = 0; k < stated.size(); ++k) {
    SCOPED_TRACE(stated[k].axiom->law);
    EXPECT_TRUE(checks[k].holds()) << (checks[k].counterexample ? checks[k].counterexample->text() : "no value");
  }
}

/// Whether the body makes no number, and does not leave all where it is.
bool moves(const Pointwise& made) {
  bool computes = false, is_elsewhere = false;
  te::for_each_node(made.body, [&](const te::Expr& e) {
    const auto* load = te::as<te::Load>(e);
    is_elsewhere |= load && load->index != te::axes(static_cast<int>(made.shape.size()));
    computes |= is_float(e.dtype()) && (te::as<te::Unary>(e) || te::as<te::Binary>(e) || te::as<te::Cast>(e));
  });
  return is_elsewhere && !computes;
}

/// What other code of a runtime may change in the elements that a law computes elsewhere: of operators that stand
/// before a movement on the one side and behind it on the other, where the other side does not have the same node.
FloatClass class_of_moved(const LawInstance& instance) {
  const auto graph = graph_of({instance.law.left, instance.law.right}, instance.types);
  if (!graph.ok()) return FloatClass::kExact;
  const auto below = [&](ValueId output) {
    std::set<NodeId> nodes;
    std::vector<ValueId> open = {output};
    while (!open.empty()) {
      const NodeId node = graph->value(open.back()).producer;
      open.pop_back();
      if (node.valid() && nodes.insert(node).second)
        for (const ValueId input : graph->node(node).inputs)
          if (input.valid()) open.push_back(input);
    }
    return nodes;
  };
  const std::set<NodeId> left = below(graph->outputs()[0]), right = below(graph->outputs()[1]);
  std::map<const OpDef*, FloatClass> of_left, of_right;
  bool is_moved = false;
  for (const NodeId node : graph->nodes()) {
    if (left.contains(node) == right.contains(node)) continue;
    const auto made = pointwise_of(*graph, node, 0);
    if (!made) continue;
    is_moved |= moves(*made);
    (left.contains(node) ? of_left : of_right).emplace(graph->node(node).op, class_elsewhere(made->body));
  }
  FloatClass result = FloatClass::kExact;
  for (const auto& [op, float_class] : of_left)
    if (is_moved && of_right.contains(op)) result = std::max(result, float_class);
  return result;
}

/// A runtime's own exp, and which of two zeros it calls the greater, may be another at another place.
TEST(FloatClasses, AreNoStrongerThanWhatIsComputedElsewhere) {
  const std::vector<StatedAxiom> stated = all_axioms();
  Random random(1);
  int moved = 0;
  for (const StatedAxiom& axiom : stated) {
    SCOPED_TRACE(axiom.axiom->law);
    FloatClass float_class = FloatClass::kExact;
    for (int trial = 0; trial < 4; ++trial)
      if (const auto instance = draw_instance(axiom.law, axiom.axiom->shapes, random))
        float_class = std::max(float_class, class_of_moved(*instance));
    moved += float_class != FloatClass::kExact;
    EXPECT_GE(axiom.axiom->float_class, float_class) << name(float_class);
  }
  EXPECT_GT(moved, 10);
}

struct Declared {
  const char* law;
  const char* family;
  FloatClass float_class;
};

constexpr FloatClass kExact = FloatClass::kExact, kSignOfZero = FloatClass::kSignOfZero, kFinite = FloatClass::kFinite,
                     kReassociated = FloatClass::kReassociated, kUnsafe = FloatClass::kUnsafe;

/// Each is of the class, and of none that is stronger.
constexpr Declared kLaws[] = {
    {"Mul(a,1) = a", "equal", kExact},
    {"Sub(a,0) = a", "equal", kExact},
    {"Neg(Neg(a)) = a", "equal", kExact},
    {"Add(a,b) = Add(b,a)", "broadcast", kExact},
    {"Div(a,2) = Mul(a,1/2)", "equal", kExact},
    {"Relu(Mul(a,2)) = Mul(Relu(a),2)", "equal", kExact},
    {"Less(a,b) = Greater(b,a)", "equal", kExact},
    {"MatMul(x,Concat(y,z){axis=-1}) = Concat(MatMul(x,y),MatMul(x,z)){axis=-1}", "matrices", kExact},
    {"Add(a,0) = a", "equal", kSignOfZero},
    {"Sub(0,a) = Neg(a)", "equal", kSignOfZero},
    {"Neg(Sub(a,b)) = Sub(b,a)", "equal", kSignOfZero},
    {"Max(a,b) = Max(b,a)", "equal", kSignOfZero},
    {"ReduceSum(x){axes=[a],keepdims=1} = x", "ranked", kSignOfZero},
    {"ReduceMax(Max(x,y)){..p} = Max(ReduceMax(x){..p},ReduceMax(y){..p})", "equal", kSignOfZero},
    {"Sub(a,a) = Mul(a,0)", "equal", kSignOfZero},
    {"Sub(a,a) = Mul(b,0)", "equal", kFinite},
    {"Max(a,Min(a,b)) = a", "equal", kFinite},
    {"Add(c,Max(a,b)) = Max(Add(a,c),Add(b,c))", "equal", kFinite},
    {"MatMul(x,EyeLike(Expand(1){shape=[n,n]})) = x", "matrices", kFinite},
    {"Pad(Mul(x,s)){pads=[a,b,c,d,e,f,g,h]} = Mul(Pad(x){pads=[a,b,c,d,e,f,g,h]},s) if s_rank == 0", "broadcast",
     kFinite},
    {"Add(a,Add(b,c)) = Add(Add(a,b),c)", "broadcast", kReassociated},
    {"Mul(a,Mul(b,c)) = Mul(Mul(a,b),c)", "broadcast", kReassociated},
    {"Mul(a,Add(b,c)) = Add(Mul(a,b),Mul(a,c))", "broadcast", kReassociated},
    {"Div(a,b) = Mul(a,Reciprocal(b))", "equal", kReassociated},
    {"Sqrt(Mul(a,a)) = Abs(a)", "equal", kReassociated},
    {"MatMul(MatMul(x,y),z) = MatMul(x,MatMul(y,z))", "matrices", kReassociated},
    {"Exp(Add(a,b)) = Mul(Exp(a),Exp(b))", "equal", kUnsafe},
    {"Softmax(x){axis=a} = Div(Exp(x),ReduceSum(Exp(x)){axes=[a],keepdims=1})", "ranked", kUnsafe},
};

TEST(FloatClasses, WhatIsDeclaredTooStrongIsRefuted) {
  const int trials = isomer::test::is_long_run() ? 200 : 60;
  for (const Declared& each : kLaws)
    for (const FloatClass declared : {kExact, kSignOfZero, kFinite, kReassociated, kUnsafe}) {
      SCOPED_TRACE(each.law);
      const FloatClassCheck check = check_float_class(law(each.law), each.family, declared, trials, 1);
      EXPECT_EQ(check.holds(), declared >= each.float_class) << static_cast<int>(declared);
      EXPECT_EQ(check.counterexample.has_value(), declared < each.float_class) << static_cast<int>(declared);
      if (check.holds()) {
        EXPECT_EQ(check.seen, each.float_class);
      }
    }
}

/// Rounding does not explain a difference of a few units, nor floats a law that is false.
TEST(FloatClasses, WhatIsNotTrueIsOfNone) {
  for (const auto& [text, family] :
       std::initializer_list<std::pair<const char*, const char*>>{{"Mul(a,1000001/1000000) = a", "equal"},
                                                                  {"Add(a,1/100000) = a", "equal"},
                                                                  {"Relu(Neg(a)) = Neg(Relu(a))", "equal"},
                                                                  {"Sub(a,b) = Sub(b,a)", "equal"},
                                                                  {"Exp(Mul(a,2)) = Mul(Exp(a),2)", "equal"},
                                                                  {"Tanh(a) = Sub(Mul(Sigmoid(a),2),1)", "equal"},
                                                                  {"Less(a,b) = Less(b,a)", "equal"},
                                                                  {"MatMul(x,y) = MatMul(y,x)", "matrices"}}) {
    SCOPED_TRACE(text);
    EXPECT_TRUE(check_float_class(law(text), family, kReassociated, 200, 1).counterexample);
  }
}

TEST(FloatClasses, CounterexamplesAreSmall) {
  const auto zero = check_float_class(law("Add(a,0) = a"), "equal", kExact, 0, 1).counterexample;
  ASSERT_TRUE(zero);
  EXPECT_EQ(zero->text(), "Add(a,0) = a\n  a: float32[1] = {-0}\n  left: float32[1] = {0}\n  right: float32[1] = {-0}");
  const auto sum =
      check_float_class(law("ReduceSum(x){axes=[a],keepdims=1} = x"), "ranked", kExact, 200, 1).counterexample;
  ASSERT_TRUE(sum);
  EXPECT_THAT(sum->text(), testing::MatchesRegex("(.|\n)*  right: float32.* = \\{(1, )*-0(, 1)*\\}"));
}

TEST(FloatClasses, LossOfFiniteResultsIsSeen) {
  const auto is_unsafe = [](const char* text, const char* family) {
    return check_float_class(law(text), family, kReassociated, 200, 1).seen == FloatClass::kUnsafe;
  };
  EXPECT_TRUE(is_unsafe("Softmax(x){axis=a} = Div(Exp(x),ReduceSum(Exp(x)){axes=[a],keepdims=1})", "ranked"));
  EXPECT_TRUE(is_unsafe("Exp(Add(a,b)) = Mul(Exp(a),Exp(b))", "equal"));
  EXPECT_TRUE(is_unsafe("Div(a,a) = Sub(2,1)", "equal"));
  EXPECT_FALSE(is_unsafe("Mul(a,Add(b,c)) = Add(Mul(a,b),Mul(a,c))", "equal"));
  EXPECT_FALSE(is_unsafe("Sigmoid(a) = Reciprocal(Add(1,Exp(Neg(a))))", "equal"));
}

TEST(FloatClasses, OfLawsWithoutFloatsIsExact) {
  const FloatClassCheck check = check_float_class(law("Not(Not(a)) = a"), "equal", kExact, 20, 1);
  EXPECT_TRUE(check.holds());
  EXPECT_FALSE(check.takes_floats);
  EXPECT_FALSE(check_float_class(law("Not(Not(a)) = a"), "equal", kSignOfZero, 20, 1).holds());
  EXPECT_TRUE(check_float_class(law("Where(Not(c),x,y) = Where(c,y,x)"), "equal", kExact, 20, 1).takes_floats);
}

/// Both what float32 gives and what is nearly the real result, after a chain of random operations on random values.
TEST(RoundingAlgebra, HoldsFloatsAndReals) {
  using te::BinaryOp;
  using te::UnaryOp;
  constexpr BinaryOp kBinary[] = {BinaryOp::kAdd, BinaryOp::kSub, BinaryOp::kMul,
                                  BinaryOp::kDiv, BinaryOp::kMin, BinaryOp::kMax};
  constexpr UnaryOp kUnary[] = {UnaryOp::kNeg, UnaryOp::kAbs, UnaryOp::kSqrt, UnaryOp::kExp,  UnaryOp::kTanh,
                                UnaryOp::kErf, UnaryOp::kSin, UnaryOp::kCosh, UnaryOp::kAtan, UnaryOp::kLog};
  const te::FloatAlgebra floats;
  const te::DoubleAlgebra doubles;
  const RoundingAlgebra rounding;
  int held = 0;
  Random random(7);
  for (int chain = 0; chain < 20000; ++chain) {
    auto one = static_cast<float>(random.uniform(-4, 4));
    double real = one;
    Interval interval{real, real};
    for (int step = 0; step < 6; ++step) {
      const auto other = static_cast<float>(random.uniform(-4, 4));
      try {
        if (random.chance(0.6)) {
          const BinaryOp op = kBinary[random.below(std::size(kBinary))];
          interval = rounding.apply(op, interval, {other, other});
          one = floats.apply(op, one, other);
          real = doubles.apply(op, real, other);
        } else {
          const UnaryOp op = kUnary[random.below(std::size(kUnary))];
          interval = rounding.apply(op, interval);
          one = floats.apply(op, one);
          real = doubles.apply(op, real);
        }
      } catch (const te::Failure&) {
        break;
      }
      if (!std::isfinite(one) || !std::isfinite(real)) break;
      ASSERT_LE(interval.low, one) << chain;
      ASSERT_GE(interval.high, one) << chain;
      ASSERT_LE(interval.low, real + 1e-12 * std::abs(real)) << chain;
      ASSERT_GE(interval.high, real - 1e-12 * std::abs(real)) << chain;
      held += interval.high - interval.low < 1e-4 * std::abs(real) ? 1 : 0;
    }
  }
  EXPECT_GT(held, 20000) << "intervals that say nothing";
}

TEST(FloatValues, AreThoseWhereFloatingPointIsNotLikeTheReals) {
  const std::vector<float> special = special_values();
  const auto has = [&](auto&& is_so) { return std::any_of(special.begin(), special.end(), is_so); };
  EXPECT_TRUE(has([](float x) { return std::isnan(x); }));
  EXPECT_TRUE(has([](float x) { return std::isinf(x) && x < 0; }));
  EXPECT_TRUE(has([](float x) { return x == 0 && std::signbit(x); }));
  EXPECT_TRUE(has([](float x) { return std::fpclassify(x) == FP_SUBNORMAL; }));
  EXPECT_EQ(half_values().size(), (1U << 16) - 2 * 1023 + 1) << "all of float16, and one NaN";
}

}  // namespace
}  // namespace isomer::verify::test
