// Normalization: the rules are proved and oriented, each run of steps makes the measure smaller, anyone can do the
// steps again, and what comes out computes what went in. Cases: normalize/*.txt
#include "substitutions/derivation/normalize.h"

#include <gtest/gtest.h>

#include "graph/edit.h"
#include "graph/equal.h"
#include "graph/infer.h"
#include "graph/text.h"
#include "passes/case_file.h"
#include "passes/same_results.h"
#include "substitutions/derivation/constant_precision.h"
#include "substitutions/library/equations.h"
#include "substitutions/library/library.h"
#include "substitutions/library/shipped.h"
#include "substitutions/rewrite/constant_values.h"
#include "support/files.h"
#include "support/long_run.h"

namespace isomer::substitutions::test {
namespace {

using isomer::test::operators_of;
using isomer::test::PassCase;

TEST(NormalizingRules, Replay) {
  const auto axioms = verify::all_axioms();
  verify::Signatures signatures;
  const RulesFile file = normalizing_rules(axioms);
  EXPECT_GT(file.rules.size(), 80u);
  std::set<std::string> names;
  for (const Rule& rule : file.rules) {
    const auto done = replayed(rule, axioms, signatures);
    EXPECT_TRUE(done.ok()) << rule.name << ": " << done.error().message();
    EXPECT_TRUE(names.insert(rule.name).second) << rule.name;
  }
}

/// As `isomer library add` makes them.
TEST(NormalizingRules, AreWhatTheirEquationsMake) {
  constexpr size_t kSome = 8;  // of which one is proved again where time is short
  const auto equations = parse_equations(
      isomer::test::read_file(isomer::test::source_path("src/substitutions/rules/normalize.equations")));
  ASSERT_TRUE(equations.ok()) << equations.error().message();
  const RulesFile file = normalizing_rules(verify::all_axioms());
  ASSERT_EQ(equations->size(), file.rules.size());
  auto prover = verify::Prover::start();
  ASSERT_TRUE(prover.ok()) << prover.error().message();
  for (size_t k = 0; k < file.rules.size(); k += isomer::test::is_long_run() ? 1 : kSome) {
    const Rule& rule = file.rules[k];
    const auto stated = std::find_if(equations->begin(), equations->end(),
                                     [&](const StatedEquation& each) { return each.label == rule.name; });
    ASSERT_NE(stated, equations->end()) << rule.name;
    ASSERT_TRUE(stated->types) << rule.name;
    auto made = prove_rule(equations_at(*stated, *stated->types), *stated->types, *prover);
    ASSERT_TRUE(made.ok()) << rule.name << ": " << made.error().message();
    made->name = rule.name;
    EXPECT_EQ(print_rule(*made), print_rule(rule));
  }
}

TEST(KeepPrecision, AsksForWhatIsFiniteAndHasItsBits) {
  const auto keeps = [](Dims dims, std::vector<double> values) {
    return keep_precision(te::Array::reals(DataType::kFloat32, std::move(dims), values));
  };
  EXPECT_TRUE(keeps({3}, {0.1, -2e-30, 3e38}));
  EXPECT_FALSE(keeps({3}, {0.1, 1, 1e39}));
  EXPECT_FALSE(keeps({1}, {1e-40 / 3}));
  EXPECT_TRUE(keeps({1}, {0x1p-140}));
  // Beside something large along either axis it is nothing.
  EXPECT_TRUE(keeps({2, 2}, {1, 1e-40 / 3, 1, 1}));
  EXPECT_FALSE(keeps({2, 2}, {1, 1e-40 / 3, 1, 1e-40 / 7}));
}

TEST(NormalizingRules, CanAllBeUsedFromLeftToRight) {
  Theory theory;
  const RulesFile file = normalizing_rules(theory.axioms());
  const Substitutions rules(file.rules, theory, Directions::kForward);
  for (const auto& [reason, count] : rules.unusable()) ADD_FAILURE() << count << " rules: " << name(reason);
  EXPECT_EQ(static_cast<size_t>(rules.size()), file.rules.size());
}

Result<Graph> normalized(const PassCase& entry, std::vector<OptimizeStep>& steps) {
  Theory theory;
  theory.commute_within(entry.options.fp);
  Normalizer normalizer(theory);
  TRY(Graph graph, parse_graph(entry.before));
  PassContext context(entry.options, steps);
  context.set_growth_left(entry.options.max_growth);
  TRY_VOID(normalize(graph, context, normalizer));
  return graph;
}

TEST(Normalize, ReachesIntoBodies) {
  PassCase entry;
  entry.before = R"(graph (c: bool[], x: float32[5,4]) -> (y) {
  y = If(c) captures (x) {
    then_branch = graph () captures (a: float32[5,4]) -> (p) {
      w: float32[4,6] = random 1
      half: float32[] = {0.5}
      m = MatMul(a, w)
      p = Mul(m, half)
    },
    else_branch = graph () captures (a: float32[5,4]) -> (q) {
      w: float32[4,6] = random 2
      q = MatMul(a, w)
    }
  }
})";
  std::vector<OptimizeStep> steps;
  const auto graph = normalized(entry, steps);
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  EXPECT_EQ(steps.size(), 1u);
  EXPECT_EQ(count_nodes(*graph), 3) << print_graph(*graph);
  isomer::test::expect_same_results(*parse_graph(entry.before), *graph, false);
}

TEST(Normalize, FindsAgainWhatOtherLimitsForbade) {
  Theory theory;
  Normalizer normalizer(theory);
  const auto graph = parse_graph(R"(graph main(x: float32[5,4]) -> (y: float32[5,6]) {
    w: float32[4,6] = random 1
    half: float32[] = {0.5}
    m: float32[5,6] = MatMul(x, w)
    y: float32[5,6] = Mul(m, half)
  })");
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  const auto program = program_of(*graph, theory);
  ASSERT_TRUE(program.ok()) << program.error().message();
  const auto steps = [&](const NormalizeLimits& limits) {
    const auto made = normalizer.run(*program, limits);
    EXPECT_TRUE(made.ok()) << made.error().message();
    return made->steps.size();
  };
  NormalizeLimits exact, all_kept;
  exact.allows = [](FloatClass float_class) { return float_class == FloatClass::kExact; };
  for (const NodeId node : graph->nodes()) all_kept.kept.insert(node);
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(steps(exact), 0u);
    EXPECT_EQ(steps(all_kept), 0u);
    EXPECT_EQ(steps({}), 1u);
  }
}

class NormalizeCases : public testing::TestWithParam<PassCase> {};

TEST_P(NormalizeCases, DoesWhatTheFileSays) {
  const PassCase& entry = GetParam();
  const auto before = parse_graph(entry.before);
  ASSERT_TRUE(before.ok()) << before.error().message();
  std::vector<OptimizeStep> steps;
  const auto graph = normalized(entry, steps);
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  if (entry.unchanged) {
    EXPECT_TRUE(steps.empty());
    EXPECT_EQ(isomer::difference(*before, *graph), std::nullopt) << print_graph(*graph);
  } else if (!entry.operators.empty()) {
    EXPECT_EQ(operators_of(*graph), entry.operators) << print_graph(*graph);
  } else {
    const auto after = parse_graph(entry.after);
    ASSERT_TRUE(after.ok()) << after.error().message();
    EXPECT_EQ(isomer::difference(*after, *graph), std::nullopt) << print_graph(*graph);
  }
  isomer::test::expect_same_results(*before, *graph, entry.options.fp == FloatMode::kStrict);
}

void take(const NormalizeStep& taken, std::span<const Rule> rules, Program& program) {
  if (const auto* carried = std::get_if<CarriedFactor>(&taken)) {
    auto done = take_step(program, *carried);
    ASSERT_TRUE(done.ok()) << done.error().message();
    program = std::move(done->program);
    return;
  }
  const auto& step = std::get<Step>(taken);
  const auto rule = std::find_if(rules.begin(), rules.end(), [&](const Rule& each) { return each.name == step.rule; });
  ASSERT_NE(rule, rules.end()) << step.rule;
  const auto done = take_step(program, step, *rule);
  ASSERT_TRUE(done.ok()) << step.text() << ": " << done.error().message();
}

/// The steps lead from the program to the one that was made, without the search for them, and the measure falls with
/// each run.
TEST_P(NormalizeCases, TakesStepsThatOthersCanTake) {
  const PassCase& entry = GetParam();
  const auto graph = parse_graph(entry.before);
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  Theory theory;
  Normalizer normalizer(theory);
  const auto program = program_of(*graph, theory);
  ASSERT_TRUE(program.ok()) << program.error().message();
  const auto made = normalizer.run(*program);
  ASSERT_TRUE(made.ok()) << made.error().message();
  Program again = *program;
  Measure measure = normalizer.measure(again);
  size_t run = 0;
  for (size_t k = 0; k < made->steps.size(); ++k) {
    ASSERT_NO_FATAL_FAILURE(take(made->steps[k], normalizer.rules(), again));
    ASSERT_LT(run, made->runs.size());
    if (k + 1 < made->runs[run]) continue;
    ++run;
    const Measure smaller = normalizer.measure(again);
    EXPECT_LT(smaller, measure) << "run " << run;
    measure = smaller;
  }
  EXPECT_EQ(run, made->runs.size());
  EXPECT_EQ(again.hash(), made->program.hash());
}

std::string test_name(const testing::TestParamInfo<PassCase>& info) {
  std::string name = info.param.name;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Files, NormalizeCases,
    testing::ValuesIn(isomer::test::read_cases(isomer::test::source_path("tests/substitutions/normalize"))), test_name);

}  // namespace
}  // namespace isomer::substitutions::test
