// What is found among all rewrites side by side, with costs from a table.
#include "search/strategies/saturation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "search/searching.h"
#include "search/strategies/extraction.h"
#include "substitutions/proof/read/rule_text.h"
#include "substitutions/rewrite/saturated_program.h"
#include "substitutions/rewriting.h"
#include "verify/check/equivalence.h"
#include "verify/prover/prove_elements.h"

namespace isomer {
namespace {

using namespace substitutions;
using isomer::test::TableBackend;
using testing::ElementsAre;

const std::set<std::string> kFactoring = {"Sub(a,b) = Add(a,Neg(b))", "Neg(Mul(a,b)) = Mul(Neg(a),b)",
                                          "Mul(a,Add(b,c)) = Add(Mul(a,b),Mul(a,c))"};

/// x y - x w, which is x (y - w) behind a sum with a negated product.
constexpr const char* kDifference = R"(graph main(x: float32[8], y: float32[8], w: float32[8]) -> (z: float32[8]) {
  a: float32[8] = Mul(x, y)
  b: float32[8] = Mul(x, w)
  z: float32[8] = Sub(a, b)
})";

TableBackend dear_negation() { return TableBackend({{"Mul", 100}, {"Add", 100}, {"Sub", 100}, {"Neg", 1000}}); }

class Saturating : public testing::Test {
 protected:
  using Search = Result<search::Searched>(Program, search::Expander&);

  search::Searched searched(Search& search, const char* text, const std::set<std::string>& laws,
                            const search::SearchLimits& limits = {}) {
    const std::vector<Rule> rules = substitutions::test::laws(theory_, laws);
    Substitutions substitutions(rules, theory_);
    return searched(search, text, substitutions, dear_negation(), limits);
  }

  search::Searched searched(Search& search, const char* text, Substitutions& substitutions, TableBackend backend,
                            const search::SearchLimits& limits = {}) {
    graph_ = substitutions::test::graph(text);
    const Program program = substitutions::test::program(graph_, theory_);
    search::CostChanges changes(backend.costs());
    search::Expander expander(substitutions, changes, limits);
    auto found = search(program, expander);
    CHECK(found.ok()) << found.error().message();
    end_ = program;
    for (const Match& match : found->steps) {
      EXPECT_TRUE(substitutions.is_still_there(*end_, match));
      auto done = apply(*end_, match, substitutions);
      end_ = std::get<Rewritten>(std::move(done)).program;
    }
    return *std::move(found);
  }

  Theory theory_;
  Graph graph_;
  std::optional<Program> end_;  ///< behind the steps
};

TEST_F(Saturating, FindsWhatLiesBehindRewritesThatCostMore) {
  EXPECT_TRUE(searched(search::beam_search, kDifference, kFactoring).steps.empty());
  const search::Searched found = searched(search::saturation_search, kDifference, kFactoring);
  EXPECT_GE(found.steps.size(), 3u);
  EXPECT_THAT(substitutions::test::operators(*end_), ElementsAre("Mul", "Sub"));
  EXPECT_NEAR(found.saved, 100, 1);
  const auto same = compare_models(graph_, substitutions::test::written(*end_), {});
  ASSERT_TRUE(same.ok());
  EXPECT_TRUE(same->passed());
}

/// Each of two sums of products is one less by itself; one step of a beam takes both, and what they add becomes one.
TEST_F(Saturating, BeamsTakeStepsTogetherThatSaveTimeByThemselves) {
  constexpr const char* kTwo =
      R"(graph main(x: float32[8], y: float32[8], v: float32[8], w: float32[8]) -> (z: float32[8]) {
  a: float32[8] = Mul(x, y)
  b: float32[8] = Mul(x, w)
  c: float32[8] = Add(a, b)
  d: float32[8] = Mul(v, y)
  e: float32[8] = Mul(v, w)
  f: float32[8] = Add(d, e)
  z: float32[8] = Sub(c, f)
})";
  const std::set<std::string> laws = {"Mul(a,Add(b,c)) = Add(Mul(a,b),Mul(a,c))"};
  const search::Searched found = searched(search::beam_search, kTwo, laws, {.steps = 1});
  EXPECT_EQ(found.steps.size(), 2u);
  EXPECT_NEAR(found.saved, 300, 1);
}

/// x y as (x y + x y) - x y saves nothing, whatever is made of it.
TEST_F(Saturating, BeamsDoNotAddWorkAlone) {
  const std::set<std::string> laws = {"Sub(a,b) = Add(a,Neg(b))"};
  EXPECT_EQ(searched(search::beam_search, kDifference, laws).statistics.costed, 0);
  EXPECT_GT(searched(search::saturation_search, kDifference, laws).statistics.applied, 0);
}

/// Transpose is Reshape of a row only. Proofs that were put off are replayed before a step is taken, be it known or not
/// what its tasks take.
TEST_F(Saturating, StepsAreTakenWhoseProofHoldsHere) {
  std::vector<Rule> rules(1);
  Rule& rule = rules.front();
  rule.outputs = *parse_outputs("Transpose(x){perm=[1,0]} = Reshape(x){shape=[x_1,x_0]}");
  rule.float_class = FloatClass::kReassociated;
  rule.proof.uses = {verify::use_by_elements(rule.outputs[0].left, rule.outputs[0].right)};
  rule.example.types.emplace("x", ValueType::tensor(DataType::kFloat32, {Dim(1), Dim(4)}));
  const std::pair<const char*, size_t> cases[] = {
      {"graph main(x: float32[1,4]) -> (y: float32[4,1]) { y: float32[4,1] = Transpose(x) {perm = [1,0]} }", 1},
      {"graph main(x: float32[3,4]) -> (y: float32[4,3]) { y: float32[4,3] = Transpose(x) {perm = [1,0]} }", 0}};
  for (Search* search : {search::beam_search, search::best_first_search})
    for (const auto& [text, steps] : cases) {
      Substitutions substitutions(rules, theory_);
      substitutions.put_off_proofs();
      const TableBackend backend({{"Transpose", 100}, {"Reshape", 1}});
      EXPECT_EQ(searched(*search, text, substitutions, backend).steps.size(), steps) << text;
    }
}

TEST_F(Saturating, EndsAtItsLimitsWithWhatThereIsByThen) {
  const std::pair<search::SearchLimits, search::StopReason> cases[] = {
      {{.rounds = 1}, search::StopReason::kRounds},
      {{.applications = 4}, search::StopReason::kApplications},
      {{.seconds = 0}, search::StopReason::kTime},
      {{.measurements = 0}, search::StopReason::kMeasurements}};
  for (const auto& [limits, stop] : cases) {
    const search::Searched found = searched(search::saturation_search, kDifference, kFactoring, limits);
    EXPECT_EQ(found.stop, stop) << name(stop);
    EXPECT_TRUE(found.steps.empty());
  }
  EXPECT_EQ(searched(search::saturation_search, kDifference, {"Sub(a,b) = Add(a,Neg(b))"}).stop,
            search::StopReason::kExhausted);
}

TEST_F(Saturating, TakesNoStepThatIsNotMeasuredFaster) {
  const char* factored =
      "graph main(x: float32[8], y: float32[8], w: float32[8]) -> (z: float32[8]) {\n  a: float32[8] = Sub(y, w)\n  z: "
      "float32[8] = Mul(x, a)\n}";
  EXPECT_TRUE(searched(search::saturation_search, factored, kFactoring).steps.empty());
}

TEST_F(Saturating, PaysOnceForWhatSeveralRead) {
  // Both products are needed anyway: beside them the factored difference costs more, not less.
  const char* shared =
      R"(graph main(x: float32[8], y: float32[8], w: float32[8]) -> (z: float32[8], a: float32[8], b: float32[8]) {
  a: float32[8] = Mul(x, y)
  b: float32[8] = Mul(x, w)
  z: float32[8] = Sub(a, b)
})";
  EXPECT_TRUE(searched(search::saturation_search, shared, kFactoring).steps.empty());
  EXPECT_THAT(substitutions::test::operators(*end_), ElementsAre("Mul", "Mul", "Sub"));
}

TEST_F(Saturating, FindsTheSameAgain) {
  const search::Searched one = searched(search::saturation_search, kDifference, kFactoring),
                         other = searched(search::saturation_search, kDifference, kFactoring);
  EXPECT_EQ(one.steps, other.steps);
}

}  // namespace
}  // namespace isomer
