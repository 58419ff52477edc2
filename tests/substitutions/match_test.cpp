// Matching and rewriting: every trap that makes a rewrite wrong on its own graph, and then chance.
#include "substitutions/rewrite/match.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iostream>

#include "graph/hash.h"
#include "graph/infer.h"
#include "properties/same_function.h"
#include "substitutions/generated.h"
#include "substitutions/library/rules_file.h"
#include "substitutions/mutate/by_elements.h"
#include "substitutions/rewriting.h"
#include "support/long_run.h"

namespace isomer::substitutions::test {
namespace {

using testing::ElementsAre;

constexpr const char* kDistribute = "MatMul(a,Add(b,c)) = Add(MatMul(a,b),MatMul(a,c))";
constexpr const char* kConcatRelu = "Concat(Relu(x),Relu(y)){..p} = Relu(Concat(x,y){..p})";
constexpr const char* kTwice = "Relu(Relu(a)) = Relu(a)";
constexpr const char* kReluMax = "Relu(a) = Max(a,0)";
constexpr const char* kReassociate = "Add(a,Add(b,c)) = Add(Add(a,b),c)";

class Matches : public testing::Test {
 protected:
  /// Matches of the rule in one direction.
  std::vector<Match> find(const Program& program, bool is_forward) {
    std::vector<Match> result = rules_->matches(program);
    std::erase_if(result, [&](const Match& match) { return (*rules_)[match.substitution].is_forward != is_forward; });
    return result;
  }
  void use(std::vector<Rule> rules) {
    list_ = std::move(rules);
    rules_.emplace(list_, theory_);
  }
  void use_law(const char* law) { use(laws(theory_, {law})); }
  /// A rule of several outputs, proved here.
  void use_proved(const char* outputs, const verify::VariableTypes& types) {
    verify::Prover prover = *verify::Prover::start();
    use({proved(outputs, types, prover)});
  }
  Program rewritten(const Program& program, const Match& match) {
    auto done = apply(program, match, *rules_);
    CHECK(std::holds_alternative<Rewritten>(done)) << name(std::get<Refusal>(done));
    return std::get<Rewritten>(std::move(done)).program;
  }
  /// The matches, and whether each keeps the graph's function.
  std::vector<Match> find_sound(const Graph& before, bool is_forward) {
    const Program there = program(before, theory_);
    std::vector<Match> found = find(there, is_forward);
    const isomer::test::Case tried = isomer::test::case_of(isomer::test::sample_of(before, 1), 1);
    for (const Match& match : found) {
      const auto done = apply(there, match, *rules_);
      if (const auto* changed = std::get_if<Rewritten>(&done)) {
        EXPECT_EQ(difference(tried, written(changed->program)), "");
      }
    }
    return found;
  }

  Theory theory_;
  std::vector<Rule> list_;
  std::optional<Substitutions> rules_;
};

TEST_F(Matches, StandInEitherOrderOfOperandsThatCommute) {
  use_law(kDistribute);
  const auto found =
      find_sound(graph(R"(graph main(a: float32[2,3], b: float32[3,4], c: float32[3,4]) -> (y: float32[2,4]) {
    p: float32[2,4] = MatMul(a, b)
    q: float32[2,4] = MatMul(a, c)
    y: float32[2,4] = Add(q, p)
  })"),
                 false);
  EXPECT_EQ(found.size(), 1U) << "b and c may change places";
}

/// A row as a column is no matter of order; of a matrix it is.
TEST_F(Matches, ProofsArePutOffAndReplayedLater) {
  Rule rule;
  rule.outputs = *parse_outputs("Transpose(x){perm=[1,0]} = Reshape(x){shape=[x_1,x_0]}");
  rule.float_class = FloatClass::kReassociated;
  rule.proof = proof_by_elements(rule.outputs);
  rule.example.types.emplace("x", ValueType::tensor(DataType::kFloat32, {Dim(1), Dim(4)}));
  const auto of = [&](std::string_view rows) {
    return program(graph(fmt::format("graph main(x: float32[{0},4]) -> (y: float32[4,{0}]) {{ y: float32[4,{0}] = "
                                     "Transpose(x) {{perm = [1,0]}} }}",
                                     rows)),
                   theory_);
  };
  use({rule});
  EXPECT_EQ(find(of("1"), true).size(), 1U);
  EXPECT_EQ(find(of("3"), true).size(), 0U);
  use({rule});
  rules_->put_off_proofs();
  for (const bool is_row : {true, false}) {
    const Program there = of(is_row ? "1" : "3");
    const auto found = find(there, true);
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(rules_->is_proved(there, found[0]), is_row);
    EXPECT_EQ(rules_->is_match(there, found[0]), is_row);
    EXPECT_EQ(find(there, true).size(), is_row ? 1U : 0U) << "what is known is not put off";
  }
}

/// The search carries matches over to programs in which other steps were left out.
TEST_F(Matches, CarriedOverMayMeetAnotherOperator) {
  use_law(kTwice);
  const auto of = [&](std::string_view inner) {
    return program(graph(fmt::format("graph main(x: float32[4]) -> (y: float32[4]) {{\n  a: float32[4] = {}\n  y: "
                                     "float32[4] = Relu(a)\n}}",
                                     inner)),
                   theory_);
  };
  const Program twice = of("Relu(x)");
  const auto found = find(twice, true);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_TRUE(rules_->is_still_there(twice, found[0]));
  for (const char* inner : {"Add(x, x)", "Neg(x)", "Sum(x, x, x)"})
    EXPECT_FALSE(rules_->is_still_there(of(inner), found[0])) << inner;
}

TEST_F(Matches, TryBothOrdersWhereTheyDiffer) {
  use_law(kReassociate);
  const Graph before = graph(R"(graph main(a: float32[2], b: float32[2], c: float32[2]) -> (y: float32[2]) {
    p: float32[2] = Add(b, c)
    y: float32[2] = Add(p, a)
  })");
  EXPECT_EQ(find_sound(before, true).size(), 2U) << "(a + b) + c, (a + c) + b";
}

TEST_F(Matches, NeedRepeatedVariablesToBeOneValue) {
  use_law(kDistribute);
  EXPECT_TRUE(
      find_sound(
          graph(R"(graph main(a: float32[2,3], d: float32[2,3], b: float32[3,4], c: float32[3,4]) -> (y: float32[2,4]) {
    p: float32[2,4] = MatMul(a, b)
    q: float32[2,4] = MatMul(d, c)
    y: float32[2,4] = Add(p, q)
  })"),
          false)
          .empty());
}

TEST_F(Matches, LeaveWhatOthersReadAndWhatIsAnOutput) {
  use_law(kDistribute);
  const Graph before = graph(
      R"(graph main(a: float32[2,3], b: float32[3,4], c: float32[3,4]) -> (y: float32[2,4], q: float32[2,4], z: float32[2,4]) {
    p: float32[2,4] = MatMul(a, b)
    q: float32[2,4] = MatMul(a, c)
    y: float32[2,4] = Add(p, q)
    z: float32[2,4] = Relu(p)
  })");
  const auto found = find_sound(before, false);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(operators(rewritten(program(before, theory_), found[0])),
              ElementsAre("Add", "MatMul", "MatMul", "MatMul", "Relu"));
}

TEST_F(Matches, ReadNumbersExactly) {
  use_law(kReluMax);
  const auto body = [](const char* number) {
    return graph(fmt::format(R"(graph main(x: float32[3]) -> (y: float32[3]) {{
    n: float32[] = {{{}}}
    y: float32[3] = Max(x, n)
  }})",
                             number));
  };
  const auto found = find_sound(body("0"), false);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(operators(rewritten(program(body("0"), theory_), found[0])), ElementsAre("Relu"));
  EXPECT_TRUE(find_sound(body("0.5"), false).empty());
  EXPECT_EQ(find_sound(body("0"), true).size(), 0U);
}

TEST_F(Matches, ReadNumbersOnEitherSideWhereTheLawLets) {
  use_law("Add(a,0) = a");
  EXPECT_EQ(
      find_sound(
          graph("graph main(x: float32[3]) -> (y: float32[3]) {\n n: float32[] = {0}\n y: float32[3] = Add(n, x)\n}"),
          true)
          .size(),
      1U);
}

TEST_F(Matches, MakeNumbersOfTheTypeBesideThem) {
  use_law(kReluMax);
  const Graph before = graph("graph main(x: int64[3]) -> (y: int64[3]) {\n y: int64[3] = Relu(x)\n}");
  const auto found = find(program(before, theory_), true);
  ASSERT_EQ(found.size(), 1U);
  const Graph after = written(rewritten(program(before, theory_), found[0]));
  for (const ValueId id : after.values()) EXPECT_EQ(after.value(id).type.dtype, DataType::kInt64);
}

TEST_F(Matches, OfNumbersAloneAreOfTheTypeThatTheRuleMakesThem) {
  use_law("Transpose(Expand(1){shape=[a,b]}){perm=[1,0]} = Expand(1){shape=[b,a]}");
  const auto body = [](const char* dtype) {
    return graph(fmt::format(R"(graph main(x: {0}[2,3]) -> (y: {0}[3,2]) {{
    one: {0}[] = {{1}}
    dims: int64[2] = {{2, 3}}
    e: {0}[2,3] = Expand(one, dims)
    y: {0}[3,2] = Transpose(e) {{perm = [1,0]}}
  }})",
                             dtype));
  };
  EXPECT_EQ(find_sound(body("float32"), true).size(), 1U);
  EXPECT_TRUE(find_sound(body("float16"), true).empty());
  EXPECT_TRUE(find_sound(body("int64"), true).empty());
}

TEST_F(Matches, AreNotReadThroughOpaqueNodes) {
  use_law(kTwice);
  EXPECT_TRUE(find_sound(graph(R"(graph main(x: float32[3]) -> (y: float32[3]) {
    a: float32[3] = Relu(x)
    b: float32[3] = com.example::Copy(a)
    y: float32[3] = Relu(b)
  })"),
                         true)
                  .empty());
}

TEST_F(Matches, HoldForSymbolicDims) {
  use_law(kConcatRelu);
  const Graph before = graph(R"(graph main(x: float32[n,4], y: float32[m,4]) -> (z: float32[k,4]) {
    a: float32[n,4] = Relu(x)
    b: float32[m,4] = Relu(y)
    z: float32["m + n",4] = Concat(a, b) {axis = 0}
  })");
  EXPECT_EQ(find_sound(before, true).size(), 1U);
}

TEST_F(Matches, OfConvolutionsMindGroups) {
  use(laws(
      theory_,
      {"Conv(x,Concat(v,w){axis=0}){group=1,..p} = Concat(Conv(x,v){group=1,..p},Conv(x,w){group=1,..p}){axis=1}"}));
  const auto body = [](int group) {
    return graph(fmt::format(
        R"(graph main(x: float32[1,2,3,3], v: float32[2,{0},3,3], w: float32[2,{0},3,3]) -> (y: float32[1,4,3,3]) {{
    a: float32[1,2,3,3] = Conv(x, v) {{group = {1}, pads = [1,1,1,1]}}
    b: float32[1,2,3,3] = Conv(x, w) {{group = {1}, pads = [1,1,1,1]}}
    y: float32[1,4,3,3] = Concat(a, b) {{axis = 1}}
  }})",
        2 / group, group));
  };
  EXPECT_EQ(find_sound(body(1), false).size(), 1U);
  EXPECT_TRUE(find_sound(body(2), false).empty());
}

TEST_F(Matches, OfConvolutionsNeedOneSetOfTheOtherParameters) {
  use(laws(
      theory_,
      {"Conv(x,Concat(v,w){axis=0}){group=1,..p} = Concat(Conv(x,v){group=1,..p},Conv(x,w){group=1,..p}){axis=1}"}));
  EXPECT_TRUE(
      find_sound(
          graph(R"(graph main(x: float32[1,2,4,4], v: float32[2,2,3,3], w: float32[2,2,1,1]) -> (y: float32[1,4,4,4]) {
    a: float32[1,2,4,4] = Conv(x, v) {pads = [1,1,1,1]}
    b: float32[1,2,4,4] = Conv(x, w)
    y: float32[1,4,4,4] = Concat(a, b) {axis = 1}
  })"),
          false)
          .empty());
}

TEST_F(Matches, TakeTheBiasOfAConvolutionOut) {
  const Graph before = graph(R"(graph main(x: float32[1,2,4,4]) -> (y: float32[1,2,4,4]) {
    w: float32[2,2,3,3] = random 1
    b: float32[2] = {1, 2}
    y: float32[1,2,4,4] = Conv(x, w, b) {pads = [1,1,1,1]}
  })");
  const Plain plain = with_plain_operands(program(before, theory_));
  EXPECT_EQ(plain.steps.size(), 1U);
  EXPECT_THAT(operators(plain.program), ElementsAre("Add", "Conv", "Unsqueeze"));
  const isomer::test::Case tried = isomer::test::case_of(isomer::test::sample_of(before, 1), 1);
  EXPECT_EQ(difference(tried, written(plain.program)), "");
}

TEST_F(Matches, LeaveABiasThatIsComputedWhereItIs) {
  const Graph before = graph(R"(graph main(x: float32[1,2,4,4]) -> (y: float32[1,2,4,4]) {
    w: float32[2,2,3,3] = random 1
    q: int32[2] = {1, 2}
    s: float32[] = {0.5}
    b: float32[2] = DequantizeLinear(q, s)
    y: float32[1,2,4,4] = Conv(x, w, b) {pads = [1,1,1,1]}
  })");
  for (const auto& [dequantized, steps] :
       {std::pair(Dequantized::kConstant, 1U), std::pair(Dequantized::kComputed, 0U)}) {
    const auto made = program_of(before, theory_, dequantized);
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(with_plain_operands(*made).steps.size(), steps);
  }
}

const verify::VariableTypes kMatrices = {{"x", ValueType::tensor(DataType::kFloat32, {2, 4})},
                                         {"y", ValueType::tensor(DataType::kFloat32, {4, 4})},
                                         {"z", ValueType::tensor(DataType::kFloat32, {4, 4})}};
constexpr const char* kMerge =
    "MatMul(x,y) ; MatMul(x,z) = Split(MatMul(x,Concat(y,z){axis=1})){axis=1,split=[4,4]} ; "
    "Split(MatMul(x,Concat(y,z){axis=1})){axis=1,split=[4,4]}.1";

TEST_F(Matches, OfSeveralOutputsMeetInWhatTheyShare) {
  use_proved(kMerge, kMatrices);
  const Graph before =
      graph(R"(graph main(x: float32[3,5], w: float32[3,5]) -> (o: float32[3,2], p: float32[3,6], q: float32[3,2]) {
    y: float32[5,2] = random 1
    z: float32[5,6] = random 2
    o: float32[3,2] = MatMul(x, y)
    p: float32[3,6] = MatMul(x, z)
    q: float32[3,2] = MatMul(w, y)
  })");
  const auto found = find_sound(before, true);
  ASSERT_EQ(found.size(), 2U) << "o and p, p and o";
  const Program after = rewritten(program(before, theory_), found[0]);
  EXPECT_THAT(operators(after), ElementsAre("Concat", "MatMul", "MatMul", "Split"));
  const Graph graph_after = written(after);
  EXPECT_EQ(graph_after.value(graph_after.outputs()[1]).name, "p");
}

TEST_F(Matches, OfSeveralOutputsAreOfSeveralValues) {
  use_proved(kMerge, kMatrices);
  EXPECT_TRUE(find(program(graph(R"(graph main(x: float32[3,5]) -> (o: float32[3,2]) {
    y: float32[5,2] = random 1
    o: float32[3,2] = MatMul(x, y)
  })"),
                           theory_),
                   true)
                  .empty());
}

TEST_F(Matches, ThatWouldMakeACycleAreRefused) {
  use_proved(kMerge, kMatrices);
  const Program there = program(graph(R"(graph main(x: float32[4,4], y: float32[4,4]) -> (p: float32[4,4]) {
    o: float32[4,4] = MatMul(x, y)
    z: float32[4,4] = Relu(o)
    p: float32[4,4] = MatMul(x, z)
  })"),
                                theory_);
  const auto found = find(there, true);
  ASSERT_EQ(found.size(), 2U);
  for (const Match& match : found) EXPECT_EQ(std::get<Refusal>(apply(there, match, *rules_)), Refusal::kCycle);
}

TEST_F(Matches, ThatFindTheTargetThereChangeNothingElse) {
  use_law(kTwice);
  const Graph before = graph(R"(graph main(x: float32[3]) -> (y: float32[3], z: float32[3]) {
    a: float32[3] = Relu(x)
    y: float32[3] = Relu(a)
    z: float32[3] = Sigmoid(y)
  })");
  const auto found = find_sound(before, true);
  ASSERT_EQ(found.size(), 1U);
  const Program after = rewritten(program(before, theory_), found[0]);
  EXPECT_THAT(operators(after), ElementsAre("Relu", "Sigmoid"));
  EXPECT_EQ(written(after).value(written(after).outputs()[0]).name, "y");
}

TEST_F(Matches, DoNotAddToWhatStays) {
  use_law(kTwice);
  const Graph before = graph("graph main(x: float32[3]) -> (y: float32[3]) {\n y: float32[3] = Relu(x)\n}");
  EXPECT_TRUE(find_sound(before, false).empty());
  EXPECT_EQ(rules_->unusable().at(Unusable::kOnlyAdds), 1);
}

TEST_F(Matches, AreNotLookedForOfOutputsThatShareNothing) {
  const ValueType matrix = ValueType::tensor(DataType::kFloat32, {Dim(2), Dim(3)});
  use_proved("Relu(Relu(x)) ; Relu(Relu(y)) = Relu(x) ; Relu(y)", {{"x", matrix}, {"y", matrix}});
  EXPECT_EQ(rules_->size(), 0);
  EXPECT_EQ(rules_->unusable().at(Unusable::kApart), 1);
}

/// A rule of one line took minutes to prepare.
TEST_F(Matches, AreNotLookedForOfRulesOfThousandsOfOperators) {
  Rule rule;
  verify::Term sum = verify::Term::variable("x");
  for (int k = 0; k < 12; ++k) sum = *verify::parse_term(fmt::format("Add({0},{0})", sum.text()));
  rule.name = "large";
  rule.outputs = {{sum, *verify::parse_term("Mul(x,4096)")}};
  rule.proof = proof_by_elements(rule.outputs);
  rule.example.types = {{"x", ValueType::tensor(DataType::kFloat32, {Dim(2)})}};
  use({rule});
  EXPECT_EQ(rules_->size(), 0);
  EXPECT_EQ(rules_->unusable().at(Unusable::kTooLarge), 2);
}

/// Operands of 31 operators that commute have 2^31 orders.
TEST_F(Matches, AreLookedForInBoundedTimeWhereManyOperandsCommute) {
  Rule rule;
  rule.name = "sums";
  std::string inputs, nodes;
  std::vector<std::string> terms, values;
  for (int k = 0; k < 32; ++k) {
    terms.push_back(fmt::format("v{}", k));
    values.push_back(fmt::format("x{}", k));
    rule.example.types.emplace(terms.back(), ValueType::tensor(DataType::kFloat32, {Dim(2)}));
    inputs += fmt::format("{}{}: float32[2]", k == 0 ? "" : ", ", values.back());
  }
  for (size_t k = 0; k + 1 < terms.size(); k += 2) {
    terms.push_back(fmt::format("Add({},{})", terms[k], terms[k + 1]));
    values.push_back(fmt::format("s{}", k / 2));
    nodes += fmt::format("  {} = Add({}, {})\n", values.back(), values[k], values[k + 1]);
  }
  std::string differences = terms[0];
  for (size_t k = 1; k < 32; ++k) differences = fmt::format("Sub({},{})", differences, terms[k]);
  rule.outputs = {{*verify::parse_term(fmt::format("Relu({})", terms.back())),
                   *verify::parse_term(fmt::format("Relu({})", differences))}};
  use({rule});
  const Graph before =
      graph(fmt::format("graph main({}) -> (y: float32[2]) {{\n{}  y = Relu({})\n}}", inputs, nodes, values.back()));
  EXPECT_TRUE(find(program(before, theory_), true).empty()) << "it has no proof";
}

TEST_F(Matches, OfRulesThatSayTheSameAreOne) {
  std::vector<Rule> twice = laws(theory_, {kDistribute});
  twice.push_back(twice[0]);
  twice[1].outputs = {{twice[0].outputs[0].left, twice[0].outputs[0].right}};
  for (const char* name : {"a", "b", "c"})
    for (Output& output : twice[1].outputs) {
      verify::Bindings renamed;
      renamed.tensors.emplace(name, verify::Term::variable(std::string("t_") + name));
      output = {substitute(output.left, renamed), substitute(output.right, renamed)};
      for (auto& [variable, term] : twice[1].proof.uses[0].bindings.tensors) term = substitute(term, renamed);
    }
  use(twice);
  EXPECT_EQ(rules_->size(), 2) << "one in each direction";
  EXPECT_EQ(rules_->unusable().at(Unusable::kKnown), 2);
}

TEST_F(Matches, ShareWeightsWithOthers) {
  use_law("MatMul(a,MatMul(b,c)) = MatMul(MatMul(a,b),c)");
  const Graph before = graph(R"(graph main(x: float32[2,4]) -> (y: float32[2,4], z: float32[2,4]) {
    w: float32[4,4] = random 1
    a: float32[2,4] = MatMul(x, w)
    y: float32[2,4] = MatMul(a, w)
    z: float32[2,4] = Add(x, y)
  })");
  const auto found = find_sound(before, false);
  ASSERT_EQ(found.size(), 1U);
  const Program after = rewritten(program(before, theory_), found[0]);
  int constants = 0;
  for (int id = 0; id < after.application_count(); ++id)
    constants += after.contains(id) && after.value(after.application(id).first_value).is_constant ? 1 : 0;
  EXPECT_EQ(constants, 1) << "w w depends on constants alone";
}

TEST_F(Matches, ToAnInputKeepTheOutputsName) {
  use_law("Add(a,0) = a");
  const Graph before = graph(R"(graph main(x: float32[2]) -> (y: float32[2]) {
    n: float32[] = {0}
    y: float32[2] = Add(x, n)
  })");
  const auto found = find_sound(before, true);
  ASSERT_EQ(found.size(), 1U);
  const Graph after = written(rewritten(program(before, theory_), found[0]));
  EXPECT_EQ(after.value(after.outputs()[0]).name, "y");
  EXPECT_EQ(after.node_count(), 1) << "an identity";
}

/// Random walks over rewrites: each graph on the way computes what the first one did, and looking near what changed
/// finds what looking everywhere does.
class Walks : public Matches {
 protected:
  void walk(int rules_at_least);
};

void Walks::walk(int rules_at_least) {
  int rewrites = 0, graphs = 0, compared = 0, refused = 0;
  std::map<std::string, int> used;
  const uint64_t last = isomer::test::is_long_run() ? 3000 : 150;
  for (uint64_t seed = 0; seed < last; ++seed) {
    const Graph before = dense_graph(seed);
    if (before.outputs().empty()) continue;
    ++graphs;
    const isomer::test::Case tried = isomer::test::case_of(isomer::test::sample_of(before, seed), seed);
    Random random(seed);
    Program now = program(before, theory_);
    std::vector<Match> known = rules_->matches(now);
    for (int step = 0; step < 8 && !known.empty(); ++step) {
      const Match match = known[random.below(known.size())];
      auto done = apply(now, match, *rules_);
      if (std::holds_alternative<Refusal>(done)) {
        ++refused;
        continue;
      }
      Rewritten& changed = std::get<Rewritten>(done);
      ++rewrites;
      ++used[(*rules_)[match.substitution].rule->name];
      // What was there and still is, and what is new.
      std::vector<Match> kept;
      const auto touches = [&](const Match& each) {
        return std::any_of(each.applications.begin(), each.applications.end(), [&](int id) {
          return std::find(changed.changed.begin(), changed.changed.end(), id) != changed.changed.end();
        });
      };
      for (const Match& each : known)
        if (!touches(each)) {
          EXPECT_TRUE(rules_->is_still_there(changed.program, each));
          kept.push_back(each);
        }
      const std::vector<Match> near = rules_->matches_near(changed.program, changed.changed);
      kept.insert(kept.end(), near.begin(), near.end());
      std::vector<Match> all = rules_->matches(changed.program);
      EXPECT_EQ(kept.size(), all.size()) << "seed " << seed << " " << step_of(match, *rules_).text();
      for (const Match& each : all)
        EXPECT_NE(std::find(kept.begin(), kept.end(), each), kept.end()) << step_of(each, *rules_).text();
      now = std::move(changed.program);
      known = std::move(all);
      ASSERT_TRUE(now.order());
      if (step % 2 == 0 || step == 7) {
        const auto after = graph_of(now);
        ASSERT_TRUE(after.ok()) << after.error().message();
        ++compared;
        ASSERT_EQ(difference(tried, *after), "") << "seed " << seed << " " << step_of(match, *rules_).text() << "\n"
                                                 << print_graph(before) << print_graph(*after);
      }
      if (now.application_count() > 400) break;
    }
  }
  std::cout << graphs << " graphs, " << rewrites << " rewrites by " << used.size() << " rules, " << compared
            << " compared, " << refused << " refused\n";
  EXPECT_GT(rewrites, graphs);
  EXPECT_GE(static_cast<int>(used.size()), rules_at_least);
}

TEST_F(Walks, ByLawsKeepEveryRandomGraphsFunction) {
  use(rules_of_laws(theory_.axioms()));
  walk(30);
}

TEST_F(Walks, ByTheLibraryOfTwoOperatorsKeepEveryRandomGraphsFunction) {
  use(generated("taso", 2).rules);
  walk(15);
}

}  // namespace
}  // namespace isomer::substitutions::test
