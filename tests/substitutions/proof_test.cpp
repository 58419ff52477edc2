// Proofs that somebody wrote: what follows from the steps is accepted, nothing else is.
#include "substitutions/proof/proof.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/hash.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/passes/pipeline.h"
#include "graph/text.h"
#include "passes/all_passes.h"
#include "passes/case_file.h"
#include "substitutions/derivation/proof_recorder.h"
#include "substitutions/library/print_proof.h"
#include "substitutions/library/rules_file.h"
#include "substitutions/library/shipped.h"
#include "substitutions/proof/proof_steps.h"
#include "substitutions/proof/verify_files.h"
#include "substitutions/rewrite/theory.h"
#include "support/files.h"
#include "verify/proof/same_elements.h"

namespace isomer::substitutions::test {
namespace {

using testing::HasSubstr;

class Proofs : public testing::Test {
 protected:
  static Graph parsed(std::string_view text) {
    auto graph = parse_graph(text);
    CHECK(graph.ok()) << graph.error().message();
    return *std::move(graph);
  }

  /// Empty, or why the proof by these steps is refused.
  std::string refusal(std::string_view input, std::string_view output, std::vector<ProofStep> steps,
                      FloatMode fp = FloatMode::kReassociate) {
    return refusal(parsed(input), parsed(output), std::move(steps), fp);
  }
  std::string refusal(const Graph& input, const Graph& output, std::vector<ProofStep> steps,
                      FloatMode fp = FloatMode::kReassociate) {
    CHECK(export_model(input, files_.input).ok() && export_model(output, files_.output).ok());
    const auto first = import_model(files_.input), last = import_model(files_.output);
    CHECK(first.ok() && last.ok());
    ModelProof proof;
    proof.fp = fp;
    proof.input = structural_hash(*first);
    proof.output = structural_hash(*last);
    for (const ProofStep& step : steps)
      if (const auto* used = std::get_if<RuleStep>(&step)) {
        const LawNumbers laws = law_numbers(theory_.axioms());
        if (const auto law = laws.find(used->rule); law != laws.end())
          proof.rules.push_back(rule_of(law->second, theory_.axioms()));
      }
    proof.steps = std::move(steps);
    if (std::none_of(proof.steps.begin(), proof.steps.end(),
                     [](const ProofStep& step) { return std::holds_alternative<OutputStep>(step); }))
      proof.steps.push_back(OutputStep());
    const auto text = print_proof(proof, theory_.axioms());
    CHECK(text.ok()) << text.error().message();
    isomer::test::write_file(files_.proof, *text);
    const auto verified = verify_files(files_, {.fp = FloatMode::kFast, .check = {.runs = 0}});
    return verified.ok() ? "" : verified.error().message();
  }

  /// The number of a value of the input, or of the output behind an input and steps that make so many values.
  int number(std::string_view model, std::string_view name, std::string_view before = "", int made = 0) {
    const auto read = [&](std::string_view text) {
      CHECK(export_model(parsed(text), files_.input).ok());
      auto graph = import_model(files_.input);
      CHECK(graph.ok());
      return *std::move(graph);
    };
    int first = 0;
    if (!before.empty()) {
      ProofSteps steps(theory_, FloatMode::kReassociate);
      CHECK(steps.read_input(read(before)).ok());
      first = steps.count();
    }
    const Graph graph = read(model);
    std::vector<std::string> names;
    for (const ValueId id : graph.values()) names.push_back(graph.value(id).name);
    const auto found = std::find(names.begin(), names.end(), name);
    CHECK(found != names.end()) << name;
    return first + made + static_cast<int>(found - names.begin());
  }

  /// What passes make of the model, of so many nodes, has a proof that holds.
  void expect_proved(std::string_view model, int nodes);

  Theory theory_;
  isomer::test::ScratchFolder folder_;
  const ModelFiles files_{folder_.path() / "in.onnx", folder_.path() / "out.onnx", folder_.path() / "out.proof"};
};

constexpr std::string_view kDoesNotFollow = "equal by the proof's steps expected, it does not follow from them";

TEST_F(Proofs, OfTheSameModelNeedNoStep) {
  constexpr std::string_view model = R"(opset 17
graph g(x: float32[n,3]) -> (y: float32[n,3]) {
  w: float32[3] = {1, 2, 3}
  a = Mul(x, w)
  y = Relu(a)
})";
  // Names within, nodes that nobody reads, and their order mean nothing.
  EXPECT_EQ(refusal(model, R"(opset 17
graph g(x: float32[n,3]) -> (y: float32[n,3]) {
  v: float32[3] = {1, 2, 3}
  dead = Neg(x)
  b = Mul(v, x)
  y = Relu(b)
})",
                    {}),
            "");
  for (const std::string_view other : {"{1, 2, 4}", "{1, 2, -3}", "{1, 2, 3.0000002}"}) {
    std::string changed(model);
    changed.replace(changed.find("{1, 2, 3}"), 9, other);
    EXPECT_THAT(refusal(model, changed, {}), HasSubstr(kDoesNotFollow)) << other;
  }
}

TEST_F(Proofs, ByStepsThatHoldAreAccepted) {
  constexpr std::string_view input = R"(opset 17
graph g(x: float32[2,3]) -> (y: float32[2,3]) {
  a: float32[3] = {1, 2, 3}
  b: float32[3] = {2, 2, 2}
  c = Mul(a, b)
  t = Transpose(x)
  u = Transpose(t)
  y = Mul(u, c)
})";
  constexpr std::string_view output = R"(opset 17
graph g(x: float32[2,3]) -> (y: float32[2,3]) {
  c: float32[3] = {2, 4, 6}
  y = Mul(x, c)
})";
  EXPECT_THAT(refusal(input, output, {}), HasSubstr(kDoesNotFollow));
  const int x = number(input, "x"), c = number(input, "c"), u = number(input, "u");
  EXPECT_THAT(refusal(input, output, {FoldStep{c}}), HasSubstr(kDoesNotFollow));
  EXPECT_EQ(refusal(input, output, {FoldStep{c}, SameStep{u, x, {}}}), "");
  EXPECT_EQ(refusal(input, output, {SameStep{u, x, {x}}, FoldStep{c}}, FloatMode::kStrict), "");
}

TEST_F(Proofs, ByStepsThatDoNotHoldAreRefused) {
  constexpr std::string_view input = R"(opset 17
graph g(x: float32[3,3], i: int64[3]) -> (y: float32[3,3], z: int64[3]) {
  a: float32[3] = {1, 2, 3}
  t = Transpose(x)
  y = Mul(t, a)
  z = Neg(i)
})";
  const auto refused = [&](ProofStep step) { return refusal(input, input, {std::move(step)}); };
  const auto at = [&](std::string_view name) { return number(input, name); };
  EXPECT_THAT(refused(SameStep{at("x"), at("t"), {}}), HasSubstr("two values of the same elements expected"));
  EXPECT_THAT(refused(SameStep{at("x"), at("a"), {}}), HasSubstr("one type of known rank expected"));
  EXPECT_THAT(refused(SameStep{at("i"), at("z"), {}}), HasSubstr("two values of the same elements expected"));
  EXPECT_THAT(refused(FoldStep{at("x")}), HasSubstr("a value that a known operator gives expected"));
  EXPECT_THAT(refused(FoldStep{at("t")}), HasSubstr("a value that a known operator gives expected"));
  EXPECT_THAT(refused(ExpandStep{at("y")}), HasSubstr("a composite expected"));
  EXPECT_THAT(refused(InferStep{6}), HasSubstr("a value below %6 expected, %6 found"));
  EXPECT_THAT(refused(MakeStep{"graph (x: float32[3]) -> () {\n}"}), HasSubstr("named after a value such as %12"));
}

/// Elements are followed down as the named one of equal values is made: a product by a half, not a MatMul.
TEST_F(Proofs, KnowNothingOfSizesThatOtherDataDecide) {
  // Terms called the size of whatever NonZero gives as the input does here.
  constexpr std::string_view input = R"(opset 17
graph g(x: float32[3], y: float32[3]) -> (n: int64[]) {
  o0 = NonZero(x)
  n = Size(o0)
})";
  std::string output(input);
  output.replace(output.find("(x)"), 3, "(y)");
  for (int first = 0; first < 4; ++first)
    for (int second = 4; second < 8; ++second)
      EXPECT_NE(refusal(input, output, {OutputStep(), SameStep{first, second, {}}}), "") << first << " " << second;
  // A step's own value, called as one of the input is whose size it knows.
  constexpr std::string_view made = R"(opset 17
graph m(%{0}: float32[3], %{1}: float32[3]) -> (n: int64[]) {{
  o0 = NonZero(%{1})
  n = Size(o0)
}})";
  for (int known = 0; known < 4; ++known)
    for (int read = 0; read < 4; ++read)
      for (int first = 0; first < 4; ++first)
        EXPECT_NE(refusal(input, output, {MakeStep{fmt::format(made, known, read)}, SameStep{first, 5, {}}}), "")
            << known << " " << read << " " << first;
}

TEST_F(Proofs, FollowValuesThroughWhatTheyAreEqualTo) {
  CHECK(export_model(parsed(R"(opset 17
graph g(x: float32[2,3]) -> (y: float32[4,2], z: float32[4,2], v: float32[4,2]) {
  w: float32[3,4] = random 1
  half: float32[] = {0.5}
  d = Mul(x, half)
  a = MatMul(d, w)
  y = Transpose(a)
  p = MatMul(x, w)
  t = Transpose(p)
  z = Mul(t, half)
  e = Add(t, t)
  v = Mul(e, half)
})"),
                     files_.input)
            .ok());
  const auto model = import_model(files_.input);
  ASSERT_TRUE(model.ok()) << model.error().message();
  ProofSteps steps(theory_, FloatMode::kReassociate);
  const auto numbers = steps.read_input(*model);
  ASSERT_TRUE(numbers.ok()) << numbers.error().message();
  const auto at = [&](std::string_view name) {
    int number = 0;
    for (const ValueId id : model->values()) {
      if (model->value(id).name == name) return number;
      ++number;
    }
    CHECK(false) << name;
    return -1;
  };
  steps.add_rules(normalizing_rules(theory_.axioms()).rules);
  const auto used =
      steps.take(RuleStep{"factor-of-matmul-left", {{"x", at("x")}, {"y", at("w")}, {"s", at("half")}}, {}});
  ASSERT_TRUE(used.ok()) << used.error().message();
  const auto refused = [&](SameStep step) {
    const auto taken = steps.take(step);
    return taken.ok() ? "" : taken.error().message();
  };
  int product = -1;
  for (int number = 0; number < steps.count(); ++number)
    if (const auto value = steps.value(number); value.ok() &&
                                                steps.ledger().producer(*value).first == find_op("", "Mul") &&
                                                steps.ledger().equal(*value, *steps.value(at("a"))))
      product = number;
  ASSERT_GE(product, 0);
  EXPECT_THAT(refused({at("y"), at("z"), {at("p")}, {}}), HasSubstr("two values of the same elements expected"));
  EXPECT_THAT(refused({at("y"), at("v"), {at("p")}, {product}}), HasSubstr("two values of the same elements expected"));
  EXPECT_THAT(refused({at("y"), at("z"), {at("p")}, {at("d")}}), HasSubstr("two values of the same elements expected"));
  EXPECT_THAT(refused({at("y"), at("z"), {at("p")}, {steps.count()}}), HasSubstr("a value below"));
  EXPECT_EQ(refused({at("y"), at("z"), {at("p")}, {product}}), "");
}

/// Takes steps one after the other, by names of the model's values and by what they are made of.
class Attempt {
 public:
  Attempt(Theory& theory, std::string_view text) : theory_(theory), steps_(theory, FloatMode::kReassociate) {
    auto parsed = parse_graph(text);
    CHECK(parsed.ok()) << parsed.error().message();
    const auto read = steps_.read_input(*parsed);
    CHECK(read.ok()) << read.error().message();
    int number = 0;
    for (const ValueId id : parsed->values()) named_.emplace(parsed->value(id).name, number++);
    laws_ = law_numbers(theory.axioms());
  }

  int at(const std::string& name) const { return named_.at(name); }
  /// The number of a value that the operator makes of values equal to these.
  int made(std::string_view op, int left, int right) const {
    const auto& ledger = steps_.ledger();
    for (int number = 0; number < steps_.count(); ++number) {
      const int value = *steps_.value(number);
      if (!ledger.producer(value).first || ledger.producer(value).first->name != op) continue;
      const auto& arguments = ledger.arguments(value);
      if (ledger.equal(arguments[0], *steps_.value(left)) && ledger.equal(arguments[1], *steps_.value(right)))
        return number;
    }
    return 0;
  }
  void take(const ProofStep& step) {
    const auto taken = steps_.take(step);
    if (!taken.ok() && refusal_.empty()) refusal_ = taken.error().message();
  }
  void use(std::string_view law, std::vector<std::pair<std::string, int>> tensors) {
    for (const auto& [name, number] : laws_) {
      if (theory_.axioms()[static_cast<size_t>(number)].law.text() != law) continue;
      const Rule rule = rule_of(number, theory_.axioms());
      steps_.add_rules({&rule, 1});
      take(RuleStep{std::string(name), std::move(tensors), {}});
      return;
    }
    CHECK(false) << law;
  }
  bool equal(int first, int second) const { return steps_.ledger().equal(*steps_.value(first), *steps_.value(second)); }
  const te::RoundedTensor* rounded(const std::string& name) const {
    return steps_.ledger().rounded(*steps_.value(at(name)));
  }
  const std::string& refusal() const { return refusal_; }

 private:
  Theory& theory_;
  ProofSteps steps_;
  std::map<std::string, int> named_;
  LawNumbers laws_;
  std::string refusal_;
};

/// A constant is a list of numbers, and what its node says of them where that is asked for.
TEST_F(Proofs, FollowConstantsThroughTheirNodes) {
  Attempt attempt(theory_, R"(opset 17
graph g(x: float32[4]) -> (y, z, v) {
  two: float32[] = {2}
  one: float32[] = {1}
  n: int64[1] = {2}
  zero: int64[1] = {0}
  a = Expand(two, n)
  b = Expand(one, n)
  c = Concat(a, b) {axis = 0}
  p = Mul(x, c)
  y = Slice(p, zero, n)
  q = Slice(x, zero, n)
  z = Mul(q, two)
  v = Mul(q, one)
})");
  attempt.take(FoldStep{attempt.at("c")});
  ASSERT_NE(attempt.rounded("c"), nullptr) << attempt.refusal();
  const auto takes = [&](const std::string& other, const std::vector<int>& through) {
    Attempt anew = attempt;
    anew.take(SameStep{attempt.at("y"), attempt.at(other), {attempt.at("x")}, through});
    return anew.refusal().empty();
  };
  EXPECT_FALSE(takes("z", {}));
  EXPECT_FALSE(takes("v", {attempt.at("c")}));
  EXPECT_TRUE(takes("z", {attempt.at("c")}));
}

/// Arithmetic that wraps at 32 bits has the laws of that at 64; what wraps has no laws of order.
TEST_F(Proofs, ByLawsAreOfIntegersOf32BitsToo) {
  for (const std::string_view dtype : {"int32", "int64", "int16"}) {
    Attempt attempt(theory_, fmt::format(R"(opset 17
graph g(x: {0}[2], b: {0}[2], c: {0}[2]) -> (y: {0}[2], z: {0}[2]) {{
  s = Add(b, c)
  y = Add(x, s)
  m = Max(b, c)
  z = Add(x, m)
}})",
                                         dtype));
    const int x = attempt.at("x"), b = attempt.at("b"), c = attempt.at("c");
    attempt.use("Add(a,Add(b,c)) = Add(Add(a,b),c)", {{"a", x}, {"b", b}, {"c", c}});
    EXPECT_EQ(attempt.refusal().empty(), dtype != "int16") << dtype << ": " << attempt.refusal();
    if (dtype == "int16") continue;
    EXPECT_TRUE(attempt.equal(attempt.at("y"), attempt.made("Add", attempt.made("Add", x, b), c))) << dtype;
    attempt.use("Add(a,Max(b,c)) = Max(Add(a,b),Add(a,c))", {{"a", x}, {"b", b}, {"c", c}});
    EXPECT_FALSE(attempt.refusal().empty()) << dtype;
  }
}

/// If c + huge is huge, then c + (huge - huge) is huge - huge, and x + c is x.
TEST_F(Proofs, ByWhatRoundingTookFromAConstantAreRefused) {
  constexpr std::string_view kAssociates = "Add(a,Add(b,c)) = Add(Add(a,b),c)";
  struct Case {
    std::string_view name, huge, less;
  };
  for (const Case& each :
       {Case{"a constant", "huge: float32[2] = all 1e30", "less: float32[2] = all -1e30"},
        Case{"one that a fold rounds", "a: float32[2] = all 1e15\n b: float32[2] = all 3e14\n huge = Mul(a, b)",
             "less = Neg(huge)"}}) {
    Attempt attempt(theory_, fmt::format(R"(opset 17
graph g(x: float32[2]) -> (y: float32[2], t: float32[2], less: float32[2]) {{
  c: float32[2] = {{1, 2}}
  {}
  {}
  t = Add(c, huge)
  y = Add(x, c)
}})",
                                         each.huge, each.less));
    const int x = attempt.at("x"), y = attempt.at("y"), c = attempt.at("c");
    const int huge = attempt.at("huge"), less = attempt.at("less");
    attempt.take(FoldStep{huge});
    attempt.take(FoldStep{less});
    attempt.take(FoldStep{attempt.at("t")});
    attempt.use(kAssociates, {{"a", c}, {"b", huge}, {"c", less}});
    const int none = attempt.made("Add", huge, less);
    attempt.take(FoldStep{none});
    attempt.use(kAssociates, {{"a", x}, {"b", c}, {"c", none}});
    const int without = attempt.made("Add", x, none), with = attempt.made("Add", y, none);
    attempt.take(SameStep{without, x, {}});
    attempt.take(SameStep{with, y, {}});
    EXPECT_FALSE(attempt.equal(x, y)) << each.name;
  }
}

/// A sum whose terms cancel is what rounding left of them, in one step or in several; and so is what underflows.
TEST_F(Proofs, OfConstantsThatRoundingDecidesAreRefused) {
  struct Case {
    std::string_view name, makes;
    std::vector<std::string> folds;
  };
  const Case cases[] = {
      {"a difference", "t = Add(c, huge)\n u = Sub(t, huge)", {"u"}},
      {"a difference of what was rounded", "t = Add(c, huge)\n u = Sub(t, huge)", {"t", "u"}},
      {"a product in front of it",
       "a: float32[2] = all 1e15\n h = Mul(a, a)\n t = Add(c, h)\n u = Sub(t, h)",
       {"h", "t", "u"}},
      {"an underflow",
       "small: float32[2] = all 1e-30\n t = Mul(c, small)\n v = Mul(t, small)\n w = Mul(v, huge)\n u = Mul(w, huge)",
       {"v"}},
      {"a product of matrices",
       "one: float32[3,1] = all 1\n a: float32[2,3] = {1e30, 1, -1e30, 1e30, 2, -1e30}\n u = MatMul(a, one)",
       {"u"}},
      {"a reduction",
       "a: float32[2,3] = {1e30, 1, -1e30, 1e30, 2, -1e30}\n axes: int64[1] = {1}\n u = ReduceSum(a, axes)",
       {"u"}},
      {"elements that are moved",
       "t = Add(c, huge)\n v = Concat(huge, t) {axis = 0}\n first: int64[2] = {0, 1}\n last: int64[2] = {2, 3}\n"
       " a = Gather(v, first)\n b = Gather(v, last)\n u = Sub(b, a)",
       {"t", "v", "a", "b", "u"}},
      {"an integer", "t = Add(c, huge)\n v = Sub(t, huge)\n u = Cast(v) {to = 7}", {"u"}},
  };
  for (const Case& each : cases) {
    Attempt attempt(theory_, fmt::format("opset 17\ngraph g() -> (u) {{\n c: float32[2] = {{1, 2}}\n"
                                         " huge: float32[2] = all 1e30\n {}\n}}",
                                         each.makes));
    for (const std::string& name : each.folds) attempt.take(FoldStep{attempt.at(name)});
    EXPECT_THAT(attempt.refusal(), HasSubstr("a constant expected that rounding does not decide")) << each.name;
    EXPECT_EQ(attempt.rounded(each.folds.back()), nullptr) << each.name;
  }
}

TEST_F(Proofs, OfConstantsThatRoundingDoesNotDecideAreAccepted) {
  struct Case {
    std::string_view name, makes;
    bool is_exact;
  };
  const Case cases[] = {
      {"a root", "a: float32[] = {64}\n one: float32[] = {1}\n r = Sqrt(a)\n u = Div(one, r)", true},
      {"a product", "a: float32[2] = all 0.5\n b: float32[2] = {2, 6}\n u = Mul(a, b)", true},
      {"many small numbers", "a: float32[64,64] = random 1\n b: float32[] = {0.5}\n u = Mul(a, b)", true},
      {"a mask",
       "a: float32[4] = {0, 1, 1, 0}\n one: float32[] = {1}\n low: float32[] = {-1e9}\n s = Sub(one, a)\n u = Mul(s, "
       "low)",
       true},
      {"movement", "a: float32[2,3] = random 1\n t = Transpose(a)\n u = Neg(t)", true},
      {"what is taken from itself", "a: float32[3] = {0.1, 0.2, 0.3}\n s = Sin(a)\n u = Sub(s, s)", true},
      {"integers", "a: int64[3] = {1, 2, 3}\n u = Mul(a, a)", true},
      {"a root as a power", "a: float32[] = {196}\n b: float32[] = {0.5}\n p = Pow(a, b)\n u = Cast(p) {to = 7}", true},
      {"parts that make a whole",
       "a: float32[2] = {3, 320}\n b: float32[2] = {6, 640}\n r = Reciprocal(a)\n p = Mul(r, b)\n f = Floor(p)\n u = "
       "Cast(f) {to = 7}",
       true},
      {"one that float32 does not make of it", "a: float32[] = {41}\n r = Reciprocal(a)\n u = Mul(r, a)", false},
      {"a third", "a: float32[] = {3}\n r = Reciprocal(a)\n u = Neg(r)", false},
      {"nothing times what is rounded", "a: float32[4] = random 1\n s = Sin(a)\n z: float32[4] = all 0\n u = Mul(s, z)",
       true},
      {"nothing over what is rounded", "a: float32[4] = all 0.3\n s = Exp(a)\n z: float32[4] = all 0\n u = Div(z, s)",
       true},
      {"a running total of integers", "a: float32[2,3] = all 1\n k: int64[] = {1}\n u = CumSum(a, k)", true},
      {"a running total", "a: float32[2,3] = random 1\n k: int64[] = {1}\n s = Sin(a)\n u = CumSum(s, k)", false},
      {"a scale in weights", "a: float32[8,8] = random 1\n b: float32[8] = random 2\n u = Mul(a, b)", false},
      {"a statistic",
       "x: float32[1,2] = all 1\n s: float32[2] = {0.3, 0.7}\n b: float32[2] = {0.1, 0.2}\n m: float32[2] = {0.5, "
       "-0.5}\n"
       " v: float32[2] = {1.5, 2.5}\n u = BatchNormalization(x, s, b, m, v)",
       false},
      {"biases that nearly cancel",
       "a: float32[3] = {0.1, 0.7, 0.3}\n b: float32[3] = {0.1000001, 0.2, 0.3}\n u = Sub(a, b)", false},
      {"biases that cancel",
       "a: float32[3] = {0.1, 0.7, 0.3}\n b: float32[3] = {3, 3, 3}\n c: float32[3] = {0.3, 0.2, 0.1}\n p = Mul(a, "
       "b)\n u = Sub(p, c)",
       false},
      {"a branch between neighbours",
       "c: float32[] = {1}\n huge: float32[] = {1e30}\n t = Add(c, huge)\n v = Greater(t, huge)\n u = Where(v, c, "
       "huge)",
       false},
      {"a borderline integer",
       "a: float32[] = {16}\n b: float32[] = {2}\n l = Log(a)\n m = Log(b)\n d = Div(l, m)\n u = Cast(d) {to = 7}",
       false},
  };
  for (const Case& each : cases) {
    Attempt attempt(theory_, fmt::format("opset 17\ngraph g() -> (u) {{\n {}\n}}", each.makes));
    attempt.take(FoldStep{attempt.at("u")});
    EXPECT_EQ(attempt.refusal(), "") << each.name;
    ASSERT_NE(attempt.rounded("u"), nullptr) << each.name;
    EXPECT_EQ(attempt.rounded("u")->distance.is_zero(), each.is_exact) << each.name;
  }
}

/// Bits stand for what was rounded to them where the proof says so, and for the number itself elsewhere.
TEST_F(Proofs, OfBitsThatStandForAnotherNumberAreRefused) {
  constexpr std::string_view input = R"(opset 17
graph g(x: float32[2]) -> (y: float32[2]) {
  two: float32[] = {2}
  bit: float32[] = {1e-9}
  t = Add(two, bit)
  y = Mul(x, t)
})";
  constexpr std::string_view doubled = R"(opset 17
graph g(x: float32[2]) -> (y: float32[2]) {
  y = Add(x, x)
})";
  constexpr std::string_view scaled = R"(opset 17
graph g(x: float32[2]) -> (y: float32[2]) {
  s: float32[] = {2}
  y = Mul(x, s)
})";
  const int t = number(input, "t"), x = number(input, "x"), s = number(scaled, "s", input);
  const LawNumbers laws = law_numbers(theory_.axioms());
  const auto twice = std::find_if(laws.begin(), laws.end(), [&](const auto& law) {
    return theory_.axioms()[static_cast<size_t>(law.second)].law.text() == "Add(a,a) = Mul(a,2)";
  });
  ASSERT_NE(twice, laws.end());
  const RuleStep rule{std::string(twice->first), {{"a", x}}, {}};
  EXPECT_THAT(refusal(input, doubled, {FoldStep{t}, rule}), HasSubstr(kDoesNotFollow));
  EXPECT_THAT(refusal(input, doubled, {rule, FoldStep{t}}), HasSubstr(kDoesNotFollow));
  EXPECT_THAT(refusal(input, scaled, {FoldStep{t}}), HasSubstr(kDoesNotFollow));
  EXPECT_THAT(refusal(input, scaled, {OutputStep(), FoldStep{t}}), HasSubstr(kDoesNotFollow));
  EXPECT_THAT(refusal(input, scaled, {OutputStep{{s}, {t}}, FoldStep{t}}), HasSubstr("that a fold rounded"));
  EXPECT_THAT(refusal(input, scaled, {FoldStep{t}, OutputStep{{s + 1}, {t}}}), HasSubstr("that a fold rounded"));
  EXPECT_THAT(refusal(input, scaled, {FoldStep{t}, OutputStep{{s}, {x}}}), HasSubstr("that a fold rounded"));
  EXPECT_EQ(refusal(input, scaled, {FoldStep{t}, OutputStep{{s}, {t}}}), "");
}

/// As above for what bodies capture; and what they infer is not inferred of the bits: a range up to 2 + 1e-9 is longer.
TEST_F(Proofs, OfBitsThatBodiesCaptureAreOfWhatTheyStandFor) {
  const auto model = [](std::string_view constants, std::string_view body, std::string_view made) {
    return fmt::format(R"(opset 17
graph g(n: int64[], x: float32[2]) -> (y) {{
  {}
  y = Loop(n, _, x) captures (s) {{body = graph b(i: int64[], c: bool[], state: float32[2]) captures (s: float32[]) -> (d, next, more) {{
    d = Identity(c)
    {}
    next = Mul(state, s)
    {}
  }}}}
}})",
                       constants, body, made);
  };
  constexpr std::string_view kSum = "two: float32[] = {2}\n bit: float32[] = {1e-9}\n s = Add(two, bit)",
                             kBits = "s: float32[] = {2}",
                             kRange = "zero: float32[] = {0}\n one: float32[] = {1}\n r = Range(zero, s, one)";
  const std::string shape = "more = Shape(r)", said = "more: int64[1] = {2}";
  const std::string input = model(kSum, kRange, shape), same = model(kBits, kRange, shape),
                    other = model(kBits, kRange, said);
  const int t = number(input, "s"), s = number(same, "s", input);
  const std::vector<ProofStep> steps = {FoldStep{t}, OutputStep{{s}, {t}}};
  EXPECT_THAT(refusal(input, same, {}), HasSubstr(kDoesNotFollow));
  EXPECT_EQ(refusal(input, same, steps), "");
  EXPECT_THAT(refusal(input, other, steps), HasSubstr(kDoesNotFollow));
}

TEST_F(Proofs, OfWeakerClassesThanGrantedAreRefused) {
  constexpr std::string_view input = R"(opset 17
graph g(x: float32[2,3]) -> (y: float32[2,3]) {
  zero: float32[] = {0}
  y = Add(x, zero)
})";
  constexpr std::string_view output = R"(opset 17
graph g(x: float32[2,3]) -> (y: float32[2,3]) {
  y = Identity(x)
})";
  const int x = number(input, "x");
  const std::vector<ProofStep> steps = {SameStep{number(input, "y"), x, {}}, OutputStep(),
                                        SameStep{number(output, "y", input), x, {}}};
  EXPECT_EQ(refusal(input, output, steps), "");
  EXPECT_THAT(refusal(input, output, steps, FloatMode::kStrict),
              HasSubstr("a step that --fp strict allows expected, one of class sign-of-zero found"));
}

/// 0.7f * 10 is 7 as float32 and less than 7 before it is rounded.
TEST_F(Proofs, OfIntegersThatComeOfFloatsWhichAreNotRoundedAreNotStrict) {
  constexpr std::string_view input = R"(opset 17
graph g(x: int64[2]) -> (y: int64[2]) {
  a: float32[] = {0.7}
  b: float32[] = {10}
  p = Mul(a, b)
  q = Floor(p)
  r = Cast(q) {to = 7}
  y = Add(x, r)
})";
  constexpr std::string_view seven = R"(opset 17
graph g(x: int64[2]) -> (y: int64[2]) {
  r: int64[] = {7}
  y = Add(x, r)
})";
  const auto at = [&](std::string_view name) { return FoldStep{number(input, name)}; };
  EXPECT_THAT(refusal(input, seven, {at("r")}, FloatMode::kStrict),
              HasSubstr("a step that --fp strict allows expected, one of class reassociated found"));
  EXPECT_EQ(refusal(input, seven, {at("p"), at("q"), at("r")}, FloatMode::kStrict), "");
  std::string six(seven);
  six.replace(six.find("{7}"), 3, "{6}");
  EXPECT_THAT(refusal(input, six, {at("p"), at("q"), at("r")}, FloatMode::kStrict), HasSubstr(kDoesNotFollow));
}

/// What callers need not give is part of the interface.
TEST_F(Proofs, OfInputsWithOtherDefaultsAreRefused) {
  const auto with_default = [](std::optional<double> value) {
    Graph graph = parsed(R"(ir_version 8
opset 17
graph g(x: float32[2], w: float32[2]) -> (y: float32[2]) {
  y = Add(x, w)
})");
    if (value)
      graph.edit(graph.inputs()[1]).constant =
          Tensor::from_doubles(DataType::kFloat32, {2}, std::vector<double>{1, *value});
    return graph;
  };
  EXPECT_EQ(refusal(with_default(2), with_default(2), {}), "");
  EXPECT_THAT(refusal(with_default(2), with_default(3), {}), HasSubstr("expected, input w of type float32[2] by"));
  EXPECT_THAT(refusal(with_default(2), with_default(-2), {}), HasSubstr("by default"));
  EXPECT_THAT(refusal(with_default(2), with_default({}), {}), HasSubstr("by default"));
  EXPECT_THAT(refusal(with_default({}), with_default(2), {}), HasSubstr("by default"));
}

/// Sizes that data decide are called after the values that have them: in the output by whoever wrote it.
TEST_F(Proofs, OfSizesThatAreCalledAlikeAreRefused) {
  constexpr std::string_view input = R"(opset 17
graph g(x: float32[6], y: float32[6], z: float32[k]) -> (r) {
  u = NonZero(x)
  v = NonZero(y)
  su = Shape(u) {start = 1}
  sv = Shape(v) {start = 1}
  shape = Concat(su, sv) {axis = 0}
  r = Reshape(z, shape)
})";
  constexpr std::string_view output = R"(opset 17
graph g(x: float32[6], y: float32[6], z: float32[k]) -> (r) {
  v = NonZero(x)
  u = NonZero(y)
  su = Shape(u) {start = 1}
  sv = Shape(v) {start = 1}
  shape = Concat(su, sv) {axis = 0}
  r = Reshape(z, shape)
})";
  EXPECT_EQ(refusal(input, input, {}), "");
  EXPECT_THAT(refusal(input, output, {}), HasSubstr(kDoesNotFollow));
}

/// In bodies, where what is captured brings such names, too: whatever two values are said to be the same.
TEST_F(Proofs, OfCapturedSizesThatAreCalledAlikeAreRefused) {
  constexpr std::string_view kInput = R"(opset 17
graph g(c: bool[], x: float32[6], y: float32[6], z: float32[k]) -> (r) {
  u = NonZero(x)
  v = NonZero(y)
  r = If(c) captures (u, v, z) {then_branch = graph a() captures (u: int64[1,n], v: int64[1,m], z: float32[k]) -> (o) {
    su = Shape(u) {start = 1}
    sv = Shape(v) {start = 1}
    shape = Concat(su, sv) {axis = 0}
    o = Reshape(z, shape)
  }, else_branch = graph b() captures (u: int64[1,n], v: int64[1,m], z: float32[k]) -> (o) {
    o = Identity(z)
  }}
})";
  std::string output(kInput);
  output.replace(output.find("u = NonZero(x)\n  v = NonZero(y)"), 31, "v = NonZero(x)\n  u = NonZero(y)");
  EXPECT_EQ(refusal(kInput, kInput, {}), "");
  constexpr int kValues = 40;  // those of both, bodies' among them
  for (int first = 0; first < kValues; ++first)
    for (int second = first + 1; second < kValues; ++second)
      EXPECT_NE(refusal(kInput, output, {OutputStep(), SameStep{first, second, {}}}), "") << first << " " << second;
}

/// What the output says of its values is no promise.
TEST_F(Proofs, ByShapesThatTheOutputStatesAreRefused) {
  constexpr std::string_view input = R"(opset 17
graph g(x: float32[6], s: int64[2]) -> (y: float32[2,3], t: int64[2]) {
  shape: int64[2] = {2, 3}
  t = Neg(s)
  y = Reshape(x, shape)
})";
  Graph output = parsed(R"(opset 17
graph g(x: float32[6], s: int64[2]) -> (y: float32[2,3], t: int64[2]) {
  t = Neg(s)
  y = Reshape(x, t)
})");
  for (const ValueId id : output.outputs())
    if (output.value(id).name == "y") output.edit(id).type = ValueType::tensor(DataType::kFloat32, {2, 3});
  const Graph first = parsed(input);
  const auto read = [&](const std::vector<ProofStep>& steps) { return refusal(first, output, steps); };
  EXPECT_THAT(read({}), HasSubstr(kDoesNotFollow));
  // The outputs' numbers stand behind: x, s, then t and y.
  for (int second = 4; second < 10; ++second) EXPECT_NE(read({OutputStep(), SameStep{4, second, {}}}), "") << second;
}

TEST_F(Proofs, ThatTakeTwoDrawsForOneAreRefused) {
  constexpr std::string_view input = R"(opset 17
graph g() -> (a: float32[4], b: float32[4]) {
  a = RandomNormal() {shape = [4]}
  b = RandomNormal() {shape = [4]}
})";
  constexpr std::string_view output = R"(opset 17
graph g() -> (a: float32[4], b: float32[4]) {
  a = RandomNormal() {shape = [4]}
  b = Identity(a)
})";
  EXPECT_EQ(refusal(input, input, {}), "");
  EXPECT_THAT(refusal(input, output, {}), HasSubstr(kDoesNotFollow));
  for (const std::string_view name : {"a", "b"})
    EXPECT_NE(refusal(input, output, {OutputStep(), SameStep{number(output, "b", input), number(input, name), {}}}),
              "");
}

TEST_F(Proofs, GoIntoBodies) {
  constexpr std::string_view input = R"(opset 17
graph g(n: int64[], x: float32[3]) -> (y) {
  y = Loop(n, _, x) {body = graph b(i: int64[], c: bool[], s: float32[3]) -> (d, t) {
    d = Identity(c)
    a = Neg(s)
    e = Neg(a)
    t = Relu(e)
  }}
})";
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string text(input);
    return text.replace(text.find(from), from.size(), to);
  };
  const std::string twice = with("e = Neg(a)\n    t = Relu(e)", "t = Relu(a)\n    e = Neg(a)");
  EXPECT_THAT(refusal(input, twice, {}), HasSubstr(kDoesNotFollow));
  EXPECT_THAT(refusal(input, with("t = Relu(e)", "t = Sigmoid(e)"), {}), HasSubstr(kDoesNotFollow));
  EXPECT_EQ(refusal(input, with("d = Identity(c)", "other = Identity(c)\n    d = Identity(c)"), {}), "");
}

/// What matching, passes and the recorder made of one graph is no proof for another.
void Proofs::expect_proved(std::string_view text, int nodes) {
  const Graph model = parsed(text);
  ASSERT_TRUE(export_model(model, files_.input).ok());
  const auto read = import_model(files_.input);
  Derivation derivation;
  const auto made = derived(*read, derivation, theory_);
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_EQ(made->graph.node_count(), nodes);
  ASSERT_TRUE(export_model(made->graph, files_.output).ok());
  const auto written = import_model(files_.output);
  Theory anew;
  const auto proof = proof_of(*read, derivation, *written, anew);
  ASSERT_TRUE(proof.ok()) << proof.error().message();
  const auto proof_text = print_proof(*proof, anew.axioms());
  ASSERT_TRUE(proof_text.ok()) << proof_text.error().message();
  isomer::test::write_file(files_.proof, *proof_text);
  EXPECT_TRUE(verify_files(files_, {.check = {.runs = 0}}).ok());
}

TEST_F(Proofs, AreWrittenDownForWhatPassesDo) {
  expect_proved(R"(opset 17
graph g(x: float32[2,3,4]) -> (y) {
  one: float32[] = {1}
  two: float32[2,3,4] = all 2
  a = Mul(x, one)
  s = Shape(a)
  b = Reshape(a, s)
  t = Transpose(b) {perm = [1,0,2]}
  u = Transpose(t) {perm = [1,0,2]}
  c = Cast(u) {to = 11}
  d = Cast(c) {to = 1}
  y = Pow(d, two)
})",
                1);
}

/// sqrt(s) * sqrt(s) is another number than s, and rounded to its bits.
TEST_F(Proofs, AreFoundForConstantsWithTheBitsOfOthers) {
  expect_proved(R"(opset 17
graph g(q: float32[1,2,3,4], k: float32[1,2,5,4]) -> (p) {
  s: float32[] = {0.1}
  r = Sqrt(s)
  qs = Mul(q, r)
  ks = Mul(k, r)
  t = Transpose(ks) {perm = [0,1,3,2]}
  m = MatMul(qs, t)
  p = Softmax(m) {axis = 3}
})",
                4);
}

/// What rounding made alike everywhere is one number because it is made of one.
TEST_F(Proofs, AreFoundForOneElementOfMany) {
  expect_proved(R"(opset 17
graph g(x: float32[2,4,3]) -> (y, z) {
  s: float32[4,1] = all 0.3
  e = Exp(s)
  y = Mul(x, e)
  n: int64[2] = {4, 3}
  c = ConstantOfShape(n) {value = float32[1] {0.7}}
  t = Tanh(c)
  z = Add(x, t)
})",
                2);
}

/// The constant has been computed when it is seen that its node repeats a shorter one.
TEST_F(Proofs, AreFoundForConstantsThatRepeatOthers) {
  expect_proved(R"(opset 17
graph g(x: float32[2,16,20]) -> (y) {
  c: int64[1,20] = random 1
  s: int64[2] = {16, 20}
  first: int64[1] = {0}
  e = Expand(c, s)
  u = Unsqueeze(e, first)
  f = Cast(u) {to = 1}
  y = Add(x, f)
})",
                3);
}

/// Every change of a pass that the cases of passes show has a proof.
class RecordedPasses : public testing::TestWithParam<isomer::test::PassCase> {};

TEST_P(RecordedPasses, AreProved) {
  const isomer::test::PassCase& entry = GetParam();
  const auto before = parse_graph(entry.before);
  ASSERT_TRUE(before.ok()) << before.error().message();
  Theory theory;
  auto recorder = ProofRecorder::start(*before, entry.options.fp, theory);
  ASSERT_TRUE(recorder.ok()) << recorder.error().message();
  Graph graph = *before;
  for (const std::string& name : entry.passes) {
    PassOptions options = entry.options;
    options.on_change = [&](std::string_view pass, const Graph& changed) { return recorder->changed(pass, changed); };
    if (name == "optimize" || name == "canonicalize") {
      const auto done = name == "optimize" ? optimize(graph, options) : canonicalize(graph, options);
      EXPECT_TRUE(done.ok()) << done.error().message();
      continue;
    }
    std::vector<OptimizeStep> steps;
    PassContext context(options, steps);
    context.set_growth_left(options.max_growth);
    ASSERT_TRUE(isomer::test::all_passes().at(name)(graph, context).ok());
    const auto seen = recorder->changed(name, graph);
    EXPECT_TRUE(seen.ok()) << seen.error().message() << "\n" << print_graph(graph);
  }
  const auto finished = recorder->finish(graph, graph);
  ASSERT_TRUE(finished.ok()) << finished.error().message();
  // Nothing but the steps says so: another takes them.
  Laws laws;
  ProofSteps anew(laws, entry.options.fp);
  anew.add_rules(recorder->rules());
  const auto of_input = anew.read_input(*before);
  ASSERT_TRUE(of_input.ok()) << of_input.error().message();
  std::optional<verify::Ledger::Numbers> of_output;
  for (const ProofStep& step : recorder->steps()) {
    if (const auto* read = std::get_if<OutputStep>(&step)) {
      auto numbers = anew.read_output(graph, *read);
      ASSERT_TRUE(numbers.ok()) << numbers.error().message();
      of_output = *std::move(numbers);
      continue;
    }
    const auto taken = anew.take(step);
    ASSERT_TRUE(taken.ok()) << taken.error().message();
  }
  for (size_t k = 0; k < graph.outputs().size(); ++k)
    EXPECT_TRUE(anew.ledger().equal(of_input->at(before->outputs()[k]), of_output->at(graph.outputs()[k])))
        << graph.value(graph.outputs()[k]).name << "\n"
        << print_graph(graph);
}

std::string case_name(const testing::TestParamInfo<isomer::test::PassCase>& info) {
  std::string name = info.param.file.substr(0, info.param.file.size() - 4) + "_" + info.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Files, RecordedPasses,
                         testing::ValuesIn(isomer::test::read_cases(isomer::test::source_path("tests/passes"))),
                         case_name);

TEST_F(Proofs, IntegersWrapAt64Bits) {
  const std::pair<std::string_view, std::string_view> falsehoods[] = {
      {"p = Mul(a, three)\n  y = Mod(p, three)", "y = Sub(a, a)"},
      {"p = Add(a, three)\n  y = Mod(p, three)", "y = Mod(a, three)"},
      {"p = Add(a, one)\n  y = Max(a, p)", "y = Add(a, one)"},
      {"p = Sub(a, one)\n  y = Min(a, p)", "y = Sub(a, one)"},
      {"p = Abs(a)\n  y = Max(p, zero)", "y = Abs(a)"},
      {"y = Min(a, huge)", "y = Identity(a)"},
      {"p = Mul(a, four)\n  y = Div(p, four)", "y = Identity(a)"},
      {"p = Mul(a, large)\n  q = Add(p, b)\n  y = Mod(q, prime)", "y = Mod(b, prime)"},
  };
  const auto model = [](std::string_view body) {
    return fmt::format(R"(opset 20
graph g(a: int64[4], b: int64[4]) -> (y: int64[4]) {{
  zero: int64[] = {{0}}
  one: int64[] = {{1}}
  three: int64[] = {{3}}
  four: int64[] = {{4}}
  huge: int64[] = {{4611686018427387909}}
  prime: int64[] = {{1009}}
  large: int64[] = {{1009003027}}
  {}
}})",
                       body);
  };
  for (const auto& [left, right] : falsehoods) {
    const std::string input = model(left), output = model(right);
    for (const FloatMode fp : {FloatMode::kStrict, FloatMode::kFast}) {
      const SameStep step{number(input, "y"), number(output, "y", input), {number(input, "a"), number(input, "b")}, {}};
      EXPECT_NE(refusal(input, output, {OutputStep(), step}, fp), "") << left;
    }
  }
  // A ring they are all the same.
  const std::string input = model("p = Add(a, b)\n  y = Sub(p, b)"), output = model("y = Identity(a)");
  const SameStep step{number(input, "y"), number(output, "y", input), {number(input, "a"), number(input, "b")}, {}};
  EXPECT_EQ(refusal(input, output, {OutputStep(), step}, FloatMode::kStrict), "");
}

/// Of -1 and 0 there are as many numbers below 5.
TEST_F(Proofs, OfRangesThatStartElsewhereAreRefused) {
  constexpr std::string_view input = R"(opset 20
graph g(x: int64[3]) -> (y: int64[3], z: int64[3]) {
  first: int64[] = {-1}
  zero: int64[] = {0}
  limit: int64[] = {5}
  delta: int64[] = {2}
  r = Range(first, limit, delta)
  q = Range(zero, limit, delta)
  y = Mul(r, x)
  z = Mul(q, x)
})";
  std::string output(input);
  output.replace(output.find("Mul(r, x)"), 9, "Mul(q, x)");
  EXPECT_EQ(refusal(input, input, {}, FloatMode::kStrict), "");
  EXPECT_THAT(refusal(input, output, {}, FloatMode::kStrict), HasSubstr(kDoesNotFollow));
  const SameStep step{number(input, "r"), number(input, "q"), {}};
  EXPECT_THAT(refusal(input, output, {step}, FloatMode::kStrict), HasSubstr("the same elements expected"));
}

/// The integers of a parameter are no values, and are told apart all the same.
TEST_F(Proofs, OfOtherIntegersInParametersAreRefused) {
  Theory theory;
  ProofSteps steps(theory, FloatMode::kStrict);
  const Graph model = parsed("graph g(x: int64[2]) -> (y: int64[2]) {\n  y = Neg(x)\n}");
  ASSERT_TRUE(steps.read_input(model).ok());
  const auto added = [&](std::string_view text) {
    const verify::Term term = *verify::parse_term(text);
    const auto& application = *term.as_application();
    return steps.ledger()
        .apply(theory.signatures().operation_id(*application.op, application.parameters), std::vector<int>{0})
        ->front();
  };
  const int first = added("Add(x){B=[1,2]}"), second = added("Add(x){B=[3,4]}");
  EXPECT_FALSE(steps.ledger().equal(first, second));
  EXPECT_FALSE(verify::same_elements(steps.ledger(), first, second, {}, {}).ok());
  EXPECT_TRUE(verify::same_elements(steps.ledger(), first, added("Add(x){B=[1,2]}"), {}, {}).ok());
}

/// A size that data decide is no other that a step captures under the same name.
TEST_F(Proofs, OfFormalsWhoseSizesAreCalledAlikeAreRefused) {
  constexpr std::string_view input = R"(opset 20
graph g(a: float32[4], b: float32[4]) -> (o: int64[2]) {
  y = NonZero(a)
  o = Shape(y)
})";
  std::string output(input);
  output.replace(output.find("(a)\n"), 3, "(b)");
  constexpr std::string_view kLoop = R"(
  m: int64[] = {{3}}
  w = Loop(m, _, {0}) captures ({0}) {{body = graph b(i: int64[], c: bool[], s: int64[1,"y.1?"])
      captures (q: int64[1,"y.1?"]) -> (d: bool[], t: int64[1,"y.1?"]) {{
    d: bool[] = Identity(c)
    t: int64[1,"y.1?"] = Add(s, q)
  }}}}
)";
  const std::string y = fmt::format("%{}", number(input, "y")), b = fmt::format("%{}", number(input, "b"));
  const MakeStep first{fmt::format("graph ({}: int64[1,\"y.1?\"]) -> (w) {{{}}}", y, fmt::format(kLoop, y))};
  const MakeStep second{fmt::format("graph ({0}: float32[4]) -> (w, o2) {{\n  y = NonZero({0}){1}  o2 = Shape(y)\n}}",
                                    b, fmt::format(kLoop, "y"))};
  const int shape = number(input, "o");
  EXPECT_THAT(refusal(input, output, {first, second, OutputStep()}), HasSubstr(kDoesNotFollow));
  for (int made = 4; made < 24; ++made)
    EXPECT_NE(refusal(input, output, {first, second, SameStep{shape, made, {}}}), "") << made;
}

/// A loop that a step reads inside of a body has inputs of its own: what it captures is not among them.
TEST_F(Proofs, OfLoopsInLoopsTellTheirInputsApart) {
  constexpr std::string_view input = R"(opset 20
graph g(x: float32[3], x0: float32[3], e: float32[2]) -> (o) {
  m: int64[] = {3}
  o = Loop(m, _, x) captures (x0, e) {body = graph b(i: int64[], c: bool[], s) captures (p: float32[3], q: float32[2])
      -> (d, t) {
    d = Identity(c)
    r = Scan(p, q) captures (s) {num_scan_inputs = 1, body = graph f(a, h: float32[]) captures (u: float32[3]) -> (v) {
      v = Add(a, u)
    }}
    t = Identity(r)
  }}
})";
  constexpr std::string_view output = R"(opset 20
graph g(x: float32[3], x0: float32[3], e: float32[2]) -> (o) {
  two: int64[] = {2}
  m: int64[] = {3}
  l = Loop(two, _, x0) {body = graph f(i: int64[], c: bool[], a) -> (d, v) {
    d = Identity(c)
    v = Add(a, a)
  }}
  o = Loop(m, _, x) captures (l) {body = graph b(i: int64[], c: bool[], s) captures (k: float32[3]) -> (d, t) {
    d = Identity(c)
    t = Identity(k)
  }}
})";
  EXPECT_EQ(refusal(input, input, {}), "");
  int expanded = 0;
  for (int number = 0; number < 24; ++number) {
    const std::string why = refusal(input, output, {ExpandStep{number}});
    EXPECT_NE(why, "") << number;
    expanded += why.find(kDoesNotFollow) != std::string::npos;
  }
  EXPECT_GE(expanded, 1);
}

/// Both models' bodies are given what follows without what is stated of nodes without a row: OUT may state nothing.
TEST_F(Proofs, OfLoopsOverWhatNodesWithoutARowGive) {
  constexpr std::string_view kModel = R"(opset 20
graph g(x: float32[n], t: int64[]) -> (w) {{
  z{0} = of.nobody.Own(x)
  w = Loop(t, _, z) captures (z) {{body = graph b(i: int64[], c: bool[], s) captures (u) -> (d, r) {{
    d = Identity(c)
    r = Max(s, u)
  }}}}
}})";
  for (const char* stated : {"", ": float32[q]", ": float32[4]", ": float32[\"s.step.0?\"]"}) {
    SCOPED_TRACE(stated);
    const std::string model = fmt::format(kModel, stated);
    EXPECT_EQ(refusal(model, model, {}), "");
  }
}

/// What IN states of a value says nothing of what its node reads.
TEST_F(Proofs, OverWhatNodesWithoutARowGiveAreRefused) {
  constexpr std::string_view kModel = R"(opset 20
graph g(x: float32[4]) -> (y: float32[2,2]) {{
  shape: int64[2] = {{2, 2}}
  {}
}})";
  const std::string input = fmt::format(kModel, "z = of.nobody.Own(x)\n  y = Reshape(z, shape)"),
                    output = fmt::format(kModel, "y = Reshape(x, shape)");
  const SameStep same{number(input, "y"), number(output, "y", input), {}};
  EXPECT_THAT(refusal(input, output, {OutputStep(), same}), HasSubstr("two values of the same elements expected"));
}

/// What bodies are given is of the types that loops give, whatever is stated of it.
TEST_F(Proofs, WhatIsStatedOfFormalsIsNotBelieved) {
  constexpr std::string_view kLoop = R"(opset 20
graph g(x: float32[n], z: float32[m]) -> (o: int64[2,1]) {{
  trips: int64[] = {{2}}
  w, o = Loop(trips, _, z) captures (z, x) {{body = graph b(i: int64[], c: bool[], {0})
      captures (v: float32[m], u: float32[n]) -> (d, t, k) {{
    d = Identity(c)
    t = Relu(v)
    k = Shape({1})
  }}}}
}})";
  constexpr std::string_view kScan = R"(opset 20
graph g(x: float32[n], z: float32[m], e: float32[2]) -> (o: int64[2,1]) {{
  w, o = Scan(z, e) captures (x) {{num_scan_inputs = 1, body = graph b({0}, a: float32[]) captures (u: float32[n])
      -> (t, k) {{
    t = Relu(s)
    k = Shape({1})
  }}}}
}})";
  for (const std::string_view text : {kLoop, kScan}) {
    const auto model = [&](std::string_view formal, std::string_view read) {
      return fmt::format(fmt::runtime(text), formal, read);
    };
    const std::string input = model("s", "u");
    // Types are inferred, not stated: it does not matter whether they are.
    EXPECT_EQ(refusal(input, model("s: float32[m]", "u"), {}, FloatMode::kStrict), "");
    EXPECT_EQ(refusal(model("s", "s"), model("s: float32[m]", "s"), {}, FloatMode::kStrict), "");
    const std::string lie = model("s: float32[n]", "s");
    EXPECT_THAT(refusal(input, lie, {}, FloatMode::kStrict), HasSubstr(kDoesNotFollow));
    const SameStep same{number(input, "o"), number(lie, "o", input), {}};
    EXPECT_NE(refusal(input, lie, {OutputStep(), same}), "");
  }
}

/// Nor in steps.
TEST_F(Proofs, WhatStepsStateOfFormalsIsNotBelieved) {
  constexpr std::string_view kLoop = R"(
graph (%0: float32[n], %1: float32[n]) -> (k) {{
  trips: int64[] = {{2}}
  w, k = Loop(trips, _, %1) captures (%0) {{body = graph b(i: int64[], c: bool[], s: float32[n])
      captures (u: float32[n]) -> (d, t, r) {{
    d = Identity(c)
    t = Relu(s)
    r = Shape({})
  }}}}
}})";
  ProofSteps steps(theory_, FloatMode::kStrict);
  ASSERT_TRUE(steps.read_input(parsed("graph g(x: float32[n], z: float32[m]) -> (y) {\n  y = Neg(x)\n}")).ok());
  const auto stacked = [&](std::string_view read) {
    const auto taken = steps.take(MakeStep{fmt::format(kLoop, read)});
    CHECK(taken.ok()) << taken.error().message();
    const auto found =
        std::ranges::find_if(taken->made, [&](int value) { return steps.ledger().type(value).text() == "int64[2,1]"; });
    CHECK(found != taken->made.end());
    return *found;
  };
  const int outside = stacked("u"), state = stacked("s");
  EXPECT_FALSE(steps.ledger().equal(outside, state));
  EXPECT_TRUE(steps.ledger().equal(state, stacked("s")));
}

/// States that grow have sizes of their own, whatever they are called, in loops within loops, too.
TEST_F(Proofs, OfLoopsWhoseStatesGrowAreAccepted) {
  constexpr std::string_view kGrowing = R"(opset 20
graph g(n: int64[], x: float32[a,3], e: float32[1,3]) -> (y) {{
  y = Loop(n, _, x) captures (e, n) {{body = graph b(i: int64[], c: bool[], {0}) captures (f: float32[1,3], k: int64[])
      -> (d, t) {{
    d = Identity(c)
    r = Neg(s)
    q = Neg(r)
    u = Loop(k, _, q) captures (f) {{body = graph e(j: int64[], l: bool[], {1}) captures (h: float32[1,3]) -> (v, w) {{
      v = Identity(l)
      p = Concat(s2, h) {{axis = 0}}
      o = Neg(p)
      w = Neg(o)
    }}}}
    t = Concat(u, f) {{axis = 0}}
  }}}}
}})";
  const std::string model = fmt::format(kGrowing, "s", "s2");
  EXPECT_EQ(refusal(model, fmt::format(kGrowing, "s: float32[b,3]", "s2: float32[b,3]"), {}), "");
  EXPECT_EQ(refusal(model, fmt::format(kGrowing, "s: float32[a,3]", "s2: float32[1,3]"), {}), "");
  std::string other = model;
  for (const auto& [from, to] : {std::pair("s2", "s3"), {"Neg(s)", "Neg(z)"}, {", s)", ", z)"}})
    for (size_t at = other.find(from); at != std::string::npos; at = other.find(from))
      other.replace(at, std::string(from).size(), to);
  EXPECT_EQ(refusal(model, other, {}), "");
  expect_proved(model, 1);
}

TEST_F(Proofs, WhatAStepStatesOfTypesIsNotBelieved) {
  constexpr std::string_view input = R"(opset 20
graph g(x: float32[n]) -> (z) {
  r = RandomNormalLike(x) {seed = 1.0}
  z = Shape(r)
})";
  constexpr std::string_view output = R"(opset 20
graph g(x: float32[n]) -> (z) {
  z: int64[1] = {3}
})";
  const int x = number(input, "x"), z = number(input, "z"), made = static_cast<int>(parsed(input).values().size());
  const std::string lie = fmt::format(
      "graph (%{0}: float32[n]) -> (%{1}) {{\n  %{1}: float32[3] = RandomNormalLike(%{0}) {{seed=1.0}}\n}}", x, made);
  EXPECT_NE(refusal(input, output, {MakeStep{lie}, InferStep{z}}), "");
}

TEST_F(Proofs, WhatBodiesDrawIsDrawnEachTime) {
  const auto loop = [](std::string_view outside, std::string_view inside, std::string_view made) {
    return fmt::format(R"(opset 20
graph g(x: float32[4]) -> (y) {{
  trips: int64[] = {{5}}
  {}
  y = Loop(trips, _, x) captures (x{}) {{
    body = graph b(i: int64[], go: bool[], s: float32[4]) captures (c: float32[4]{}) -> (go, t) {{
      {}
      t = Add(s, {})
    }}
  }}
}})",
                       outside, outside.empty() ? "" : ", r", outside.empty() ? "" : ", d: float32[4]", inside, made);
  };
  const std::string drawn = "RandomNormalLike(x) {seed = 1.0}", in_body = "RandomNormalLike(c) {seed = 1.0}";
  const std::string input = loop("", "d = " + in_body, "d"), output = loop("r = " + drawn, "", "d");
  EXPECT_EQ(refusal(input, input, {}), "");
  EXPECT_NE(refusal(input, output, {}), "");
  EXPECT_NE(refusal(output, input, {}), "");
}

/// Of two nodes whose bodies do the same each draws its own, whatever is inferred of them and written out.
TEST_F(Proofs, ThatTakeTwoDrawsInBodiesForOneAreRefused) {
  const auto model = [](std::string_view condition, std::string_view made) {
    constexpr std::string_view kDrawn =
        R"(If(c) captures (x) {{then_branch = graph t() captures (x: float32[4]) -> (r) {{
    r = RandomNormalLike(x) {{seed = 1.0}}
  }}, else_branch = graph e() captures (x: float32[4]) -> (r) {{
    r = RandomNormalLike(x) {{seed = 2.0}}
  }}}})";
    const std::string drawn = fmt::format(kDrawn);
    return fmt::format("opset 20\ngraph g(x: float32[4], p: bool[]) -> (y) {{\n  {}\n  a = {}\n  b = {}\n  {}\n}}",
                       condition, drawn, drawn, made);
  };
  constexpr std::string_view kOnce = R"(opset 20
graph g(x: float32[4], p: bool[]) -> (y) {
  r = RandomNormalLike(x) {seed = 1.0}
  y = Sub(r, r)
})";
  constexpr std::string_view kTwice = R"(opset 20
graph g(x: float32[4], p: bool[]) -> (y) {
  r = RandomNormalLike(x) {seed = 1.0}
  s = RandomNormalLike(x) {seed = 1.0}
  y = Sub(r, s)
})";
  for (const std::string_view condition : {"c: bool[] = {1}", "c = Identity(p)"}) {
    const std::string input = model(condition, "y = Sub(a, b)"), output = model(condition, "y = Sub(a, a)");
    const int a = number(input, "a"), b = number(input, "b");
    EXPECT_EQ(refusal(input, input, {}), "");
    EXPECT_EQ(refusal(input, input, {InferStep{a}, InferStep{b}}), "");
    const std::vector<ProofStep> looks[] = {
        {InferStep{b}}, {InferStep{a}, InferStep{b}}, {ExpandStep{a}, ExpandStep{b}}};
    for (const std::vector<ProofStep>& steps : looks) {
      EXPECT_NE(refusal(input, output, steps), "") << condition;
      EXPECT_NE(refusal(input, kOnce, steps), "") << condition;
    }
    if (condition.ends_with('}')) {
      EXPECT_EQ(refusal(input, kTwice, {ExpandStep{a}, ExpandStep{b}}), "");
    }
  }
}

/// What a branch in a body draws is drawn in each run of the body, and not once outside of it.
TEST_F(Proofs, WhatBranchesInBodiesDrawIsDrawnEachTime) {
  constexpr std::string_view input = R"(opset 20
graph g(x: float32[4]) -> (y) {
  trips: int64[] = {5}
  yes: bool[] = {1}
  y = Loop(trips, _, x) captures (x, yes) {
    body = graph b(i: int64[], go: bool[], s: float32[4]) captures (c: float32[4], q: bool[]) -> (go, t) {
      r = If(q) captures (c) {then_branch = graph t() captures (c: float32[4]) -> (d) {
        d = RandomNormalLike(c) {seed = 1.0}
      }, else_branch = graph e() captures (c: float32[4]) -> (c) {
      }}
      t = Add(s, r)
    }
  }
})";
  constexpr std::string_view output = R"(opset 20
graph g(x: float32[4]) -> (y) {
  trips: int64[] = {5}
  d = RandomNormalLike(x) {seed = 1.0}
  y = Loop(trips, _, x) captures (d) {
    body = graph b(i: int64[], go: bool[], s: float32[4]) captures (d: float32[4]) -> (go, t) {
      t = Add(s, d)
    }
  }
})";
  EXPECT_EQ(refusal(input, input, {}), "");
  constexpr int kValues = 16;
  for (int value = 0; value < kValues; ++value) {
    EXPECT_NE(refusal(input, output, {ExpandStep{value}}), "") << value;
    EXPECT_NE(refusal(input, output, {InferStep{value}, ExpandStep{value}}), "") << value;
  }
}

/// Sizes of the output, and of steps, whatever the input's sizes and values are called.
TEST_F(Proofs, OfNamesThatTheInputHasForOthersSizesAreRefused) {
  constexpr std::string_view kOutput = R"(opset 20
graph g(x: float32[n], z: float32[{0}]) -> (y: bool[1]) {{
  k: int64[1] = {{777}}
  nz = NonZero(x)
  s = Shape(nz) {{start = 1}}
  y = Equal(s, k)
}})";
  constexpr std::string_view kSize = R"(opset 20
graph g(x: float32[n], z: float32["0#nz.1?"]) -> (y: bool[1]) {
  k: int64[1] = {777}
  s = Shape(z)
  y = Equal(s, k)
})";
  constexpr std::string_view kValue = R"(opset 20
graph g(x: float32[n], z: float32[m]) -> (y: bool[1]) {
  k: int64[1] = {777}
  "0#nz" = NonZero(z)
  s = Shape("0#nz") {start = 1}
  y = Equal(s, k)
})";
  constexpr std::string_view kMade = "graph g(%{0}: int64[1,q]) -> (t) {{\n  t = Cast(%{0}) {{to = 1}}\n}}";
  for (const auto& [input, size] : {std::pair(kSize, "\"0#nz.1?\""), {kValue, "m"}}) {
    Graph model = parsed(input);
    const std::string output = fmt::format(kOutput, size);
    std::vector<std::string> names;
    for (const ValueId id : model.values()) names.push_back(model.value(id).name);
    const int shape = static_cast<int>(std::find(names.begin(), names.end(), "s") - names.begin());
    const int count = static_cast<int>(names.size());
    EXPECT_EQ(refusal(model, model, {}), "");
    for (int nz = count; nz < count + 6; ++nz) {
      const MakeStep made{fmt::format(kMade, nz)};
      for (int found = count; found < count + 6; ++found) {
        const SameStep same{shape, found, {}};
        EXPECT_NE(refusal(model, parsed(output), {OutputStep(), same}, FloatMode::kStrict), "") << found;
        for (const int inferred : {found, count + 6})
          EXPECT_NE(refusal(model, parsed(output), {OutputStep(), made, InferStep{inferred}, same}, FloatMode::kStrict),
                    "")
              << nz << " " << found;
      }
    }
  }
}

/// A value that is there for one size only tells nothing of sizes elsewhere.
TEST_F(Proofs, ByValuesThatOneSizeHasAreRefused) {
  constexpr std::string_view input = R"(opset 18
graph g(x: float32[3,n]) -> (y: float32[3,n]) {
  one: int64[] = {1}
  k: int64[] = {300}
  shape = Shape(x)
  size = Gather(shape, one) {axis = 0}
  c = Equal(size, k)
  xx = Add(x, x)
  y = Where(c, xx, x)
})";
  constexpr std::string_view output = R"(opset 18
graph g(x: float32[3,n]) -> (y: float32[3,n]) {
  y = Identity(x)
})";
  const int x = number(input, "x"), shape = number(input, "shape"), size = number(input, "size");
  const int c = number(input, "c"), y = number(input, "y"), made = static_cast<int>(parsed(input).values().size());
  const MakeStep gemm{
      fmt::format("graph g(%{0}: float32[3,n]) -> (t) {{\n  a: float32[1,3] = all 1\n"
                  "  b: float32[5000] = all 0\n  t = Gemm(a, %{0}, b)\n}}",
                  x)};
  const OutputStep read;
  for (int value = made; value < made + 3; ++value) {
    const SameStep last{number(output, "y", input, 12), x, {x}};
    EXPECT_NE(refusal(input, output,
                      {gemm, ExpandStep{value}, InferStep{shape}, FoldStep{size}, FoldStep{c}, SameStep{y, x, {x}},
                       read, last}),
              "")
        << value;
    EXPECT_NE(refusal(input, output, {gemm, ExpandStep{value}, InferStep{shape}, InferStep{size}}), "");
  }
  Attempt attempt(theory_, input);
  attempt.take(gemm);
  for (int value = made; value < made + 3; ++value) attempt.take(ExpandStep{value});
  attempt.take(InferStep{shape});
  attempt.take(FoldStep{size});
  EXPECT_THAT(attempt.refusal(), HasSubstr("expected"));
  EXPECT_EQ(attempt.rounded("size"), nullptr);
}

/// What two branches make is of two sizes, whatever their values are called.
TEST_F(Proofs, OfSizesThatBranchesCallAlikeAreRefused) {
  constexpr std::string_view input = R"(opset 20
graph g(p: bool[], x: float32[6], z: float32[6]) -> (s, t) {
  a = If(p) captures (x) {then_branch = graph t() captures (v: float32[6]) -> (o) {
    o = NonZero(v)
  }, else_branch = graph e() captures (v: float32[6]) -> (o) {
    o = NonZero(v)
  }}
  b = If(p) captures (z) {then_branch = graph t() captures (v: float32[6]) -> (o) {
    o = NonZero(v)
  }, else_branch = graph e() captures (v: float32[6]) -> (o) {
    o = NonZero(v)
  }}
  s = Shape(a)
  t = Shape(b)
})";
  std::string output(input);
  output.replace(output.find("t = Shape(b)"), 12, "t = Identity(s)");
  EXPECT_EQ(refusal(input, input, {}), "");
  const SameStep same{number(input, "s"), number(input, "t"), {}};
  const SameStep passed{number(output, "s", input), number(output, "t", input), {}};
  EXPECT_NE(refusal(input, output, {same, OutputStep(), passed}), "");
}

/// What a LeakyRelu makes of -1 then is -0 and 0.
TEST_F(Proofs, TellZerosOfAttributesApart) {
  const auto with_alpha = [](float alpha) {
    Graph model = parsed("opset 17\ngraph g(x: float32[3]) -> (y: float32[3]) {\n  y = LeakyRelu(x)\n}");
    model.edit(model.nodes().front()).attributes.insert_or_assign("alpha", alpha);
    return model;
  };
  const Graph input = with_alpha(0.0F), output = with_alpha(-0.0F);
  EXPECT_EQ(refusal(output, output, {}, FloatMode::kStrict), "");
  constexpr int kValues = 8;  // those of both, terms among them
  for (int first = 0; first < kValues; ++first)
    for (int second = first + 1; second < kValues; ++second)
      EXPECT_NE(refusal(input, output, {OutputStep(), SameStep{first, second, {}}}, FloatMode::kStrict), "")
          << first << " " << second;
  EXPECT_THAT(refusal(input, output, {}, FloatMode::kStrict), HasSubstr(kDoesNotFollow));
}

TEST_F(Proofs, SizesThatDataDecideHaveNoNameThatAFileGives) {
  constexpr std::string_view input = R"(opset 20
graph g(x: float32["0#y.1?"], v: float32[1]) -> (e) {
  y = NonZero(x)
  s = Shape(x)
  e = Expand(v, s)
})";
  constexpr std::string_view output = R"(opset 20
graph g(x: float32["0#y.1?"], v: float32[1]) -> (e) {
  one: int64[1] = {1}
  two: int64[1] = {2}
  y = NonZero(x)
  s = Shape(y)
  t = Slice(s, one, two)
  e = Expand(v, t)
})";
  const SameStep step{number(input, "e"), number(output, "e", input), {number(input, "v")}, {}};
  EXPECT_NE(refusal(input, output, {OutputStep(), step}), "");
}

}  // namespace
}  // namespace isomer::substitutions::test
