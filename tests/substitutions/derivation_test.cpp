// Derivations: what matching did is accepted and done again to the same graph; what was changed in any way is not.
#include "substitutions/derivation/derivation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

#include "substitutions/derivations.h"
#include "support/long_run.h"

namespace isomer::substitutions::test {
namespace {

using testing::HasSubstr;

/// By a theory that was asked nothing before.
Result<Derived> derived_anew(const Graph& model, const Derivation& derivation) {
  Theory theory;
  return derived(model, derivation, theory);
}

/// Empty, or how they differ by more than rounding explains in either: what is nothing in one (x * 0) may cancel in the
/// other (x - x).
std::string difference(const isomer::test::Sample& before, const Graph& after) {
  const std::string forward = isomer::test::difference(isomer::test::case_of(before, 0), after);
  if (forward.empty()) return forward;
  return isomer::test::difference(isomer::test::case_of({after, before.inputs, before.free}, 0), before.graph).empty()
             ? ""
             : forward;
}

/// Something in it is other than it was.
void change(Derivation& derivation, Random& random) {
  Step& step = derivation.steps[random.below(derivation.steps.size())];
  Rule& rule = derivation.rules[random.below(derivation.rules.size())];
  Output& output = rule.outputs[random.below(rule.outputs.size())];
  const auto other = [&](int value) {
    return static_cast<int>(random.chance(0.5) ? value + random.between(-3, 3) : random.between(0, 40));
  };
  switch (random.below(11)) {
    case 0: step.roots[random.below(step.roots.size())] = other(step.roots[0]); return;
    case 1:
      if (!step.tensors.empty()) {
        int& value = step.tensors[random.below(step.tensors.size())].second;
        value = other(value);
      }
      return;
    case 2: step.is_forward = !step.is_forward; return;
    case 3: step.rule = rule.name; return;
    case 4:
      derivation.steps.erase(derivation.steps.begin() +
                             static_cast<std::ptrdiff_t>(random.below(derivation.steps.size())));
      return;
    case 5: derivation.steps.push_back(step); return;
    case 6: std::swap(step, derivation.steps[random.below(derivation.steps.size())]); return;
    case 7:
      if (!rule.proof.uses.empty())
        rule.proof.uses.erase(rule.proof.uses.begin() +
                              static_cast<std::ptrdiff_t>(random.below(rule.proof.uses.size())));
      return;
    case 8: std::swap(output.left, output.right); return;
    case 9: output.right = derivation.rules[random.below(derivation.rules.size())].outputs[0].right; return;
    case 10:
      for (auto& [name, integer] : step.names.integers) integer = integer + random.between(-1, 2);
      return;
  }
}

TEST(Derivations, OfRandomWalksAreAcceptedAndWhatIsChangedKeepsTheFunctionOrIsNot) {
  Walker walker;
  int walks = 0, steps = 0, changed = 0, accepted = 0;
  std::set<std::string> rules;
  const uint64_t last = isomer::test::is_long_run() ? 3000 : 30;
  for (uint64_t seed = 0; seed < last; ++seed) {
    const Graph model = dense_graph(seed);
    if (model.outputs().empty()) continue;
    const Walk walk = walker.walk(model, seed, 8);
    const Derivation& derivation = walk.derivation;
    const auto again = derived_anew(model, derivation);
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.error().message();
    ASSERT_EQ(structural_hash(again->graph), structural_hash(walk.result)) << "seed " << seed;
    ASSERT_EQ(print_graph(again->graph), print_graph(walk.result)) << "seed " << seed;
    ++walks;
    steps += static_cast<int>(derivation.steps.size());
    for (const Step& step : derivation.steps) rules.insert(step.rule);
    if (derivation.steps.empty()) continue;
    const isomer::test::Sample sample = isomer::test::sample_of(model, seed);
    ASSERT_EQ(difference(sample, again->graph), "") << "seed " << seed;
    Random random(seed);
    for (int k = 0; k < 10; ++k) {
      Derivation other = derivation;
      change(other, random);
      const auto made = derived_anew(model, other);
      ++changed;
      if (!made.ok()) {
        EXPECT_EQ(made.error().kind, ErrorKind::kMismatch) << made.error().message();
        continue;
      }
      ++accepted;
      ASSERT_EQ(difference(sample, made->graph), "") << "seed " << seed << ", change " << k;
    }
  }
  std::cout << walks << " walks, " << steps << " steps by " << rules.size() << " rules; " << changed << " changed, "
            << accepted << " accepted\n";
  EXPECT_GT(steps, 3 * walks);
  EXPECT_GT(rules.size(), 60U);
  EXPECT_LT(accepted, changed / 3);
}

constexpr const char* kDistribute = "MatMul(a,Add(b,c)) = Add(MatMul(a,b),MatMul(a,c))";
constexpr const char* kAssociate = "MatMul(a,MatMul(b,c)) = MatMul(MatMul(a,b),c)";

/// Two steps, the second on what the first makes.
class ChangedDerivations : public testing::Test {
 protected:
  ChangedDerivations()
      : walk_(Walker().walk(
            graph(
                R"(graph main(a: float32[1,2,3], b: float32[1,3,4], c: float32[1,3,4], d: float32[1,5,2]) -> (y: float32[1,5,4], r: float32[1,2,4]) {
    p: float32[1,2,4] = MatMul(a, b) as "first"
    q: float32[1,2,4] = MatMul(a, c)
    s: float32[1,2,4] = Add(p, q) as "sum"
    y: float32[1,5,4] = MatMul(d, s) as "last"
    r: float32[1,2,4] = Relu(s)
  })"),
            {{kDistribute, false}, {kAssociate, true}})),
        derivation_(walk_.derivation) {}

  Rule& rule(size_t step) {
    return *std::find_if(derivation_.rules.begin(), derivation_.rules.end(),
                         [&](const Rule& each) { return each.name == derivation_.steps[step].rule; });
  }
  std::string refusal() const { return refusal(walk_.model); }
  std::string refusal(const Graph& model) const {
    const auto made = derived_anew(model, derivation_);
    if (made.ok()) return "";
    EXPECT_EQ(made.error().kind, ErrorKind::kMismatch);
    return made.error().message();
  }

  /// For what this step is.
  bool is_refused(size_t step) const { return refusal().starts_with(fmt::format("step {} ", step + 1)); }

  const Walk walk_;
  Derivation derivation_;
};

TEST_F(ChangedDerivations, AreAcceptedAsTheyWere) {
  const auto made = derived_anew(walk_.model, derivation_);
  ASSERT_TRUE(made.ok()) << made.error().message();
  ASSERT_EQ(made->steps.size(), 2U);
  EXPECT_EQ(made->steps[0].rule, derivation_.steps[0].rule);
  EXPECT_EQ(made->steps[0].where, "sum (Add)");
  EXPECT_EQ(made->steps[0].fp_class, FloatClass::kReassociated);
  EXPECT_EQ(made->steps[1].where, "last (MatMul)");
  EXPECT_EQ(structural_hash(made->graph), structural_hash(walk_.result));
}

TEST_F(ChangedDerivations, ByAnyOtherRootAreRefused) {
  for (size_t k = 0; k < 2; ++k) {
    const int right = derivation_.steps[k].roots[0];
    for (int value = -2; value < walk_.program.value_count() + 2; ++value) {
      derivation_.steps[k].roots[0] = value;
      EXPECT_TRUE(is_refused(k) != (value == right)) << value;
    }
    derivation_.steps[k].roots[0] = right;
  }
  derivation_.steps[0].roots.push_back(derivation_.steps[0].roots[0]);
  EXPECT_THAT(refusal(), HasSubstr("1 roots expected"));
  derivation_.steps[0].roots.clear();
  EXPECT_THAT(refusal(), HasSubstr("1 roots expected"));
}

TEST_F(ChangedDerivations, ByAnyOtherTensorAreRefused) {
  for (size_t k = 0; k < 2; ++k)
    for (auto& [name, value] : derivation_.steps[k].tensors) {
      const int right = value;
      for (value = -2; value < walk_.program.value_count() + 2; ++value)
        EXPECT_TRUE(is_refused(k) != (value == right)) << name << " = " << value;
      value = right;
    }
  EXPECT_EQ(refusal(), "");
  derivation_.steps[0].tensors.push_back(derivation_.steps[0].tensors[0]);
  EXPECT_THAT(refusal(), HasSubstr("each variable once"));
  derivation_.steps[0].tensors.clear();
  EXPECT_THAT(refusal(), HasSubstr("type of each variable"));
}

TEST_F(ChangedDerivations, InTheOtherDirectionAreRefused) {
  derivation_.steps[0].is_forward = true;
  EXPECT_THAT(refusal(), HasSubstr("step 1"));
}

TEST_F(ChangedDerivations, WithoutAUseInAProofAreRefused) {
  for (size_t k = 0; k < 2; ++k) {
    const verify::Certificate proof = rule(k).proof;
    ASSERT_FALSE(proof.uses.empty());
    for (size_t use = 0; use < proof.uses.size(); ++use) {
      rule(k).proof.uses.erase(rule(k).proof.uses.begin() + static_cast<std::ptrdiff_t>(use));
      EXPECT_THAT(refusal(), HasSubstr("its proof does not hold here"));
      rule(k).proof = proof;
    }
  }
}

TEST_F(ChangedDerivations, WithAnotherSideOfARuleAreRefused) {
  for (const char* side : {"Add(MatMul(a,b),MatMul(a,b))", "MatMul(a,Mul(b,c))", "MatMul(a,b)"}) {
    const Output right = rule(0).outputs[0];
    rule(0).outputs[0].left = *verify::parse_term(side);
    EXPECT_THAT(refusal(), HasSubstr("its proof does not hold here")) << side;
    rule(0).outputs[0] = right;
  }
  rule(0).outputs.push_back(rule(0).outputs[0]);
  EXPECT_THAT(refusal(), HasSubstr("2 roots expected"));
}

TEST_F(ChangedDerivations, OfOtherStepsAreRefused) {
  const std::vector<Step> right = derivation_.steps;
  for (const std::vector<Step>& steps : {std::vector<Step>{right[1]},
                                         {right[1], right[0]},
                                         {right[0], right[0], right[1]},
                                         {right[0], right[1], right[1]}}) {
    derivation_.steps = steps;
    EXPECT_THAT(refusal(), HasSubstr("step")) << steps.size();
  }
  derivation_.steps = right;
  derivation_.steps[0].rule = "nothing";
  EXPECT_THAT(refusal(), HasSubstr("none of this name"));
}

TEST_F(ChangedDerivations, ThatRoundMoreThanTheyMayAreRefused) {
  derivation_.fp = FloatMode::kStrict;
  EXPECT_THAT(refusal(), HasSubstr("one of class reassociated"));
  derivation_.fp = FloatMode::kReassociate;
  derivation_.level = 1;
  EXPECT_THAT(refusal(), HasSubstr("one of class reassociated"));
  // The class is the proof's, whatever the rule says.
  rule(0).float_class = FloatClass::kExact;
  EXPECT_THAT(refusal(), HasSubstr("one of class reassociated"));
}

TEST_F(ChangedDerivations, OfOtherModelsAreRefused) {
  EXPECT_THAT(
      refusal(graph(
          R"(graph main(a: float32[1,2,3], b: float32[1,3,4], c: float32[1,3,4], d: float32[1,5,2]) -> (y: float32[1,5,4], r: float32[1,2,4]) {
    p: float32[1,2,4] = MatMul(a, b)
    q: float32[1,2,4] = MatMul(a, c)
    s: float32[1,2,4] = Sub(p, q)
    y: float32[1,5,4] = MatMul(d, s)
    r: float32[1,2,4] = Relu(s)
  })")),
      HasSubstr("step 1"));
}

TEST(DerivationSteps, OfOtherIntegersAreRefused) {
  const Graph model = graph(R"(graph main(x: float32[2,3], y: float32[2,3]) -> (z: float32[2,6]) {
    p: float32[2,3] = Relu(x)
    q: float32[2,3] = Relu(y)
    z: float32[2,6] = Concat(p, q) {axis = 1}
  })");
  Walk walk = Walker().walk(model, {{"Concat(Relu(x),Relu(y)){..p} = Relu(Concat(x,y){..p})", true}});
  verify::Parameters& rest = walk.derivation.steps[0].names.rests.at("p");
  for (const int64_t axis : {-2, 0, 2, 1 << 30}) {
    rest.insert_or_assign("axis", Dim(axis));
    const auto made = derived_anew(model, walk.derivation);
    ASSERT_FALSE(made.ok()) << axis;
    EXPECT_THAT(made.error().message(), HasSubstr("step 1"));
  }
  rest.clear();
  EXPECT_FALSE(derived_anew(model, walk.derivation).ok());
}

TEST(DerivationSteps, WhoseTermsFitForSomeSizesOnlyAreRefused) {
  const Theory theory;
  const Graph model = graph(R"(graph main(x: float32[n,6]) -> (y: float32[n,2,3]) {
    s: int64[3] = {0, 2, 3}
    y: float32[n,2,3] = Reshape(x, s)
  })");
  Derivation derivation;
  derivation.rules = laws(theory, {"Reshape(Reshape(x){..p}){..q} = Reshape(x){..q}"});
  const Dim n = Dim::symbol("n");
  const auto between = [&](const Shape& shape) {
    constexpr int kX = 0, kY = 1;
    Step step{derivation.rules[0].name, false, {{"x", kX}}, {}, {kY}};
    step.names.rests = {{"p", {{"allowzero", Dim(0)}, {"shape", shape}}},
                        {"q", {{"allowzero", Dim(0)}, {"shape", Shape{n, Dim(2), Dim(3)}}}}};
    derivation.steps = {step};
    return derived_anew(model, derivation);
  };
  const auto right = between({Dim(6), n});
  EXPECT_TRUE(right.ok()) << right.error().message();
  EXPECT_FALSE(between({Dim(4), n}).ok());
  EXPECT_FALSE(between({Dim(12), floor_div(n, Dim(2))}).ok());
}

TEST(DerivationSteps, ThatMakeACycleAreRefused) {
  const Theory theory;
  const Graph model = graph(R"(graph main(x: float32[3,3], w: float32[3,3]) -> (r: float32[3,3], s: float32[3,3]) {
    o: float32[3,3] = MatMul(x, x)
    r: float32[3,3] = Relu(o)
    s: float32[3,3] = Relu(w)
  })");
  constexpr int kProduct = 2, kAbove = 3, kBeside = 4;
  Derivation derivation;
  derivation.rules = laws(theory, {"Split(Concat(x,y){axis=a}){axis=a,split=[s,t]} = x"});
  Step step{derivation.rules[0].name, false, {{"x", kProduct}, {"y", kBeside}}, {}, {kProduct}};
  step.names.integers = {{"a", Dim(0)}, {"s", Dim(3)}, {"t", Dim(3)}};
  derivation.steps = {step};
  const auto beside = derived_anew(model, derivation);
  ASSERT_TRUE(beside.ok()) << beside.error().message();
  derivation.steps[0].tensors[1].second = kAbove;
  const auto above = derived_anew(model, derivation);
  ASSERT_FALSE(above.ok());
  EXPECT_THAT(above.error().message(), HasSubstr("no cycle expected"));
}

}  // namespace
}  // namespace isomer::substitutions::test
