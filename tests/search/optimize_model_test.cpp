// Searching with costs from a table: what is found is known beforehand.
#include "search/optimize_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/bind.h"
#include "graph/hash.h"
#include "search/searching.h"
#include "substitutions/generated.h"
#include "substitutions/rewriting.h"
#include "util/stop.h"
#include "verify/check/check.h"

namespace isomer {
namespace {

using namespace substitutions;
using isomer::test::TableBackend;

/// Layers that multiply what they read with three matrices each.
Graph three_products(int layers) {
  std::string body = fmt::format("graph main(x0: float32[2,3,4]) -> (x{}: float32[2,3,4]) {{\n", layers);
  for (int k = 0; k < layers; ++k) {
    for (const char* name : {"q", "k", "v"}) {
      body += fmt::format("w{0}{1}: float32[4,4] = {{", name, k);
      for (int i = 0; i < 16; ++i)
        body += fmt::format("{}{}", i ? ", " : "", 0.03125 * ((i * 9 + 7 * k + *name * 11) % 61 - 30));
      body += fmt::format("}}\n{0}{1}: float32[2,3,4] = MatMul(x{1}, w{0}{1})\n", name, k);
    }
    body += fmt::format(
        "r{0}: float32[2,3,4] = Relu(q{0})\ns{0}: float32[2,3,4] = Sigmoid(k{0})\nt{0}: float32[2,3,4] = Tanh(v{0})\n"
        "a{0}: float32[2,3,4] = Mul(r{0}, s{0})\nx{1}: float32[2,3,4] = Add(a{0}, t{0})\n",
        k, k + 1);
  }
  return substitutions::test::graph(body + "}");
}

/// A product dear, everything else cheap: they pay to be one.
TableBackend dear_products() {
  return TableBackend({{"MatMul", 300},
                       {"Split", 10},
                       {"Concat", 10},
                       {"Relu", 20},
                       {"Sigmoid", 20},
                       {"Tanh", 20},
                       {"Mul", 20},
                       {"Add", 20}});
}

/// Nothing is raced: costs are all there is.
class Unmeasured final : public search::Backend {
 public:
  explicit Unmeasured(TableBackend::Table table) : table_(std::move(table)) {}
  std::string name() const override { return "no runtime"; }
  search::GraphCost& costs() override { return table_.costs(); }
  bool can_run() const override { return false; }
  Result<std::unique_ptr<search::Runner>> runner(const Graph& graph, std::span<const Tensor> inputs) override {
    return table_.runner(graph, inputs);
  }

 private:
  TableBackend table_;
};

class Optimizing : public testing::Test {
 protected:
  Optimizing() {
    verify::Prover prover = *verify::Prover::start();
    const ValueType matrix = ValueType::tensor(DataType::kFloat32, {4, 4});
    rules_ = {substitutions::test::proved(
        "MatMul(x,v) ; MatMul(x,w) = Split(MatMul(x,Concat(v,w){axis=1})){axis=2,split=[4,4]} ; "
        "Split(MatMul(x,Concat(v,w){axis=1})){axis=2,split=[4,4]}.1",
        {{"x", ValueType::tensor(DataType::kFloat32, {2, 3, 4})}, {"v", matrix}, {"w", matrix}}, prover)};
    rules_[0].name = "merge";
    options_.search.regions = {.least = 4, .most = 12};
    options_.seconds = 60;
    options_.search.race =
        options_.race = {.seconds = 0.01, .least_rounds = 5, .settle_seconds = 0, .clock = TableBackend::clock};
  }

  search::OptimizedModel optimized(const Graph& model, search::Backend& backend) {
    auto made = optimize_model(model, searched(), rules_, theory_, backend, options_);
    CHECK(made.ok()) << made.error().message();
    const auto check = check_same(model, made->derived.graph, {});
    CHECK(check.ok()) << check.error().message();
    EXPECT_TRUE(check->equivalence.passed()) << check->equivalence.difference->text();
    return *std::move(made);
  }
  static Derivation searched() {
    Derivation derivation;
    derivation.level = search::kSearchLevel;
    return derivation;
  }
  static int count(const Graph& graph, std::string_view op) {
    const std::vector<NodeId> nodes = graph.nodes();
    return static_cast<int>(
        std::count_if(nodes.begin(), nodes.end(), [&](NodeId id) { return graph.node(id).op_type == op; }));
  }

  Theory theory_;
  std::vector<Rule> rules_;
  search::SearchModelOptions options_;
};

TEST_F(Optimizing, MergesProductsOfOneOperandByAnyStrategy) {
  const Graph model = three_products(1);
  for (const search::Strategy strategy :
       {search::Strategy::kBeam, search::Strategy::kBestFirst, search::Strategy::kEGraph}) {
    options_.search.strategy = strategy;
    TableBackend backend = dear_products();
    const search::OptimizedModel made = optimized(model, backend);
    EXPECT_EQ(made.outcome, search::SearchOutcome::kFaster);
    EXPECT_EQ(count(made.derived.graph, "MatMul"), 1);
    ASSERT_TRUE(made.raced);
    EXPECT_GT(made.raced->ratio, 1.1);
    EXPECT_EQ(made.gains.size(), made.derivation.steps.size());
  }
}

/// Takes, of each region, the program that is the cheapest by a table of its own.
class TableJudge final : public search::ProgramJudge {
 public:
  explicit TableJudge(TableBackend::Table table) : backend_(std::move(table)) {}

  Result<void> first(const search::OptimizedModel& made) override {
    cost_ = *time_of(made.derived.graph);
    return {};
  }
  Result<bool> other(size_t region, const Graph& graph) override {
    choices_.resize(region + 1);
    ++others[region];
    const double saved = cost_ - *time_of(graph);
    if (saved > choices_[region].saved) choices_[region] = {others[region], saved};
    return true;
  }
  Result<std::vector<Choice>> choices() override { return choices_; }
  Result<std::unique_ptr<search::Runner>> runner(const Graph& graph, std::span<const Tensor> inputs) override {
    return backend_.runner(graph, inputs);
  }

  std::map<size_t, size_t> others;  ///< programs, by region

 private:
  Result<double> time_of(const Graph& graph) {
    TRY(const auto runner, backend_.runner(graph, {}));
    const double before = TableBackend::clock();
    TRY_VOID(runner->run());
    return 1e6 * (TableBackend::clock() - before);
  }

  TableBackend backend_;
  double cost_ = 0;
  std::vector<Choice> choices_;
};

/// Costs by default schedules say that products stay apart; tuned they pay to be one.
TEST_F(Optimizing, TakesTheProgramsThatAJudgeTakes) {
  for (const search::Strategy strategy : {search::Strategy::kBeam, search::Strategy::kBestFirst}) {
    options_.search.strategy = strategy;
    TableBackend backend({{"MatMul", 100}, {"Split", 120}, {"Concat", 100}, {"Relu", 20}});
    EXPECT_EQ(optimized(three_products(3), backend).outcome, search::SearchOutcome::kNothingFound);
    TableJudge judge({{"MatMul", 100}, {"Split", 10}, {"Concat", 10}, {"Relu", 20}});
    options_.judge = &judge;
    options_.search.limits.alternatives = 2;
    const search::OptimizedModel made = optimized(three_products(3), backend);
    options_.judge = nullptr;
    options_.search.limits.alternatives = 0;
    EXPECT_EQ(count(made.derived.graph, "MatMul"), 6) << "two of each layer's, in one step";
    ASSERT_TRUE(made.judged);
    ASSERT_FALSE(made.judged->regions.empty());
    EXPECT_GT(made.judged->raced->ratio, 1.2);
    for (const auto& [region, programs] : judge.others) EXPECT_LE(programs, 2U);
    for (const search::Judged::Region& region : made.judged->regions) EXPECT_EQ(region.programs.front(), "as it was");
    Theory other;
    const auto again = derived(three_products(3), made.derivation, other);
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(structural_hash(again->graph), structural_hash(made.derived.graph));
  }
}

/// What a search gained is given up again where a judge says so, region by region.
TEST_F(Optimizing, GivesUpWhatAJudgeFindsSlower) {
  TableBackend backend = dear_products();
  TableJudge judge({{"MatMul", 10}, {"Split", 100}, {"Concat", 10}, {"Relu", 20}});
  options_.judge = &judge;
  options_.search.limits.alternatives = 1;
  const search::OptimizedModel made = optimized(three_products(3), backend);
  EXPECT_EQ(count(made.derived.graph, "MatMul"), 9);
  ASSERT_TRUE(made.judged);
  for (const search::Judged::Region& region : made.judged->regions) EXPECT_TRUE(region.is_taken);
}

TEST_F(Optimizing, KeepsWhatTheJudgesChoiceDoesNotBeat) {
  TableBackend backend = dear_products();
  class Wrong final : public search::ProgramJudge {
   public:
    explicit Wrong(search::Backend& backend) : backend_(backend) {}
    Result<void> first(const search::OptimizedModel&) override { return {}; }
    Result<bool> other(size_t region, const Graph&) override {
      choices_.resize(region + 1, {1, 100});
      return true;
    }
    Result<std::vector<Choice>> choices() override { return choices_; }
    Result<std::unique_ptr<search::Runner>> runner(const Graph& graph, std::span<const Tensor> inputs) override {
      return backend_.runner(graph, inputs);
    }

   private:
    search::Backend& backend_;
    std::vector<Choice> choices_;
  } judge(backend);
  options_.judge = &judge;
  options_.search.limits.alternatives = 1;
  const search::OptimizedModel made = optimized(three_products(3), backend);
  EXPECT_EQ(count(made.derived.graph, "MatMul"), 3);
  ASSERT_TRUE(made.judged);
  EXPECT_THAT(made.judged->why_not_taken, testing::HasSubstr("in a race"));
}

/// What weights may grow by goes to those that save the most a byte; what needs none is always taken.
TEST(Improving, TakesTheGainsThatWeightsMayGrowFor) {
  const std::vector<search::Gain> gains = {{10, {}, 100}, {30, {}, 200}, {5, {}, 0}, {1, {}, -50}};
  const auto taken = [&](int64_t most) { return within_growth(gains, {0, 1, 2, 3}, most); };
  using testing::ElementsAre;
  EXPECT_THAT(taken(300), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(taken(299), ElementsAre(1, 2, 3));
  EXPECT_THAT(taken(150), ElementsAre(0, 2, 3));
  EXPECT_THAT(taken(0), ElementsAre(2, 3));
}

/// Two products with one weight become one with that weight twice.
TEST_F(Optimizing, TakesOfARegionWhatWeightsMayGrowFor) {
  verify::Prover prover = *verify::Prover::start();
  const ValueType rows = ValueType::tensor(DataType::kFloat32, {3, 160});
  rules_ = {substitutions::test::proved(
      "Add(MatMul(x,w),MatMul(z,w)) = MatMul(Concat(x,z){axis=1},Concat(w,w){axis=0})",
      {{"x", rows}, {"z", rows}, {"w", ValueType::tensor(DataType::kFloat32, {160, 160})}}, prover)};
  const Graph model =
      substitutions::test::graph(R"(graph main(a: float32[3,160], b: float32[3,160]) -> (r: float32[3,160]) {
    v: float32[160,160] = random 1
    w: float32[160,160] = random 2
    p: float32[3,160] = MatMul(a, v)
    q: float32[3,160] = MatMul(b, v)
    x: float32[3,160] = Add(p, q)
    s: float32[3,160] = MatMul(x, w)
    t: float32[3,160] = MatMul(b, w)
    r: float32[3,160] = Add(s, t)
  })");
  options_.search.most_growth = 0;
  constexpr int64_t kWeight = 160 * 160 * 4;
  for (const int steps : {0, 1, 2}) {
    options_.search.small_growth = steps * kWeight + kWeight / 2;
    Unmeasured backend({{"MatMul", 50}, {"Add", 100}});
    EXPECT_EQ(std::ssize(optimized(model, backend).derivation.steps), steps);
  }
}

TEST_F(Optimizing, SearchesEqualBlocksOnceAndRewritesAll) {
  TableBackend one = dear_products(), six = dear_products();
  const search::OptimizedModel small = optimized(three_products(1), one), large = optimized(three_products(6), six);
  EXPECT_LE(large.found->regions_searched, small.found->regions_searched + 3)
      << "the first, those between and the last, and what lies across seams";
  EXPECT_EQ(count(large.derived.graph, "MatMul"), 6 * count(small.derived.graph, "MatMul"));
}

TEST_F(Optimizing, TakesModelsWhoseSizesDataDecide) {
  const Graph model = substitutions::test::graph(R"(graph main(x: float32[3,4]) -> (y: int64[1,"m"]) {
    n: int64[2,"k"] = NonZero(x)
    y: int64[1,"m"] = Flatten(n){axis=0}
  })");
  TableBackend backend = dear_products();
  const auto made = optimize_model(model, searched(), rules_, theory_, backend, options_);
  ASSERT_TRUE(made.ok()) << made.error().message();
}

TEST_F(Optimizing, StepsAreDoneAgainWithoutTheSearch) {
  const Graph model = three_products(3);
  TableBackend backend = dear_products();
  const search::OptimizedModel made = optimized(model, backend);
  Theory other;
  const auto again = derived(model, made.derivation, other);
  ASSERT_TRUE(again.ok()) << again.error().message();
  EXPECT_EQ(structural_hash(again->graph), structural_hash(made.derived.graph));
}

TEST_F(Optimizing, FindsTheSameAgain) {
  const Graph model = three_products(4);
  TableBackend first = dear_products(), second = dear_products();
  const search::OptimizedModel one = optimized(model, first), other = optimized(model, second);
  ASSERT_FALSE(one.found->steps.empty());
  ASSERT_EQ(one.found->steps.size(), other.found->steps.size());
  for (size_t k = 0; k < one.found->steps.size(); ++k)
    EXPECT_EQ(one.found->steps[k].match, other.found->steps[k].match);
  EXPECT_EQ(first.asked, second.asked);
}

/// Of each kind of region: what its best rewrites were, and why they were refused.
TEST_F(Optimizing, TellsWhatBecameOfEachRegion) {
  TableBackend backend = dear_products();
  const search::OptimizedModel made = optimized(three_products(3), backend);
  ASSERT_FALSE(made.found->searched.empty());
  int taken = 0;
  for (const search::SearchedRegion& region : made.found->searched) {
    EXPECT_NE(region.where, "");
    EXPECT_GT(region.applications, 0);
    taken += region.is_taken;
    EXPECT_EQ(region.why_not.empty(), region.is_taken || region.rules.empty()) << region.why_not;
    EXPECT_THAT(region.rules, testing::Each("merge ->"));
  }
  EXPECT_EQ(static_cast<size_t>(taken), made.found->gains.size());
  // Races find no gain where costs do.
  TableBackend lost({{"MatMul", 300}, {"Split", 10}, {"Concat", 10}},
                    TableBackend::Table{{"MatMul", 10}, {"Split", 100}, {"Concat", 10}});
  const search::OptimizedModel refused = optimized(three_products(3), lost);
  int told = 0;
  for (const search::SearchedRegion& region : refused.found->searched)
    told += region.why_not.find("in turns with what it was 0.") != std::string::npos;
  EXPECT_GT(told, 0);
}

TEST_F(Optimizing, LeavesWhatCostsNoLess) {
  TableBackend backend({{"MatMul", 20}, {"Split", 100}, {"Concat", 100}, {"Relu", 20}});
  const search::OptimizedModel made = optimized(three_products(2), backend);
  EXPECT_EQ(made.outcome, search::SearchOutcome::kNothingFound);
  EXPECT_TRUE(made.derivation.steps.empty());
  EXPECT_EQ(count(made.derived.graph, "MatMul"), 6);
}

TEST_F(Optimizing, LeavesWhatLosesTheRace) {
  const TableBackend::Table costs = {{"MatMul", 300}, {"Split", 10}};
  TableBackend backend(costs, TableBackend::Table{{"MatMul", 100}, {"Split", 400}});
  const search::OptimizedModel made = optimized(three_products(2), backend);
  EXPECT_EQ(made.outcome, search::SearchOutcome::kNothingFound);
  EXPECT_TRUE(made.derivation.steps.empty());
  EXPECT_EQ(count(made.derived.graph, "Split"), 0);
}

TEST_F(Optimizing, SaysWhyWhatPaysInPartsIsNotTaken) {
  /// Splits are dear in models that are more than a region.
  class DearAsAWhole final : public search::Backend {
   public:
    std::string name() const override { return "a whole"; }
    search::GraphCost& costs() override { return parts_.costs(); }
    bool simplifies() const override { return true; }
    double settle_seconds() const override { return 0; }
    Result<std::unique_ptr<search::Runner>> runner(const Graph& model, std::span<const Tensor> inputs) override {
      return (model.node_count() > 20 ? whole_ : parts_).runner(model, inputs);
    }

   private:
    TableBackend parts_{{{"MatMul", 300}, {"Split", 10}}}, whole_{{{"MatMul", 100}, {"Split", 4000}}};
  };
  DearAsAWhole backend;
  const search::OptimizedModel made = optimized(three_products(8), backend);
  EXPECT_EQ(made.outcome, search::SearchOutcome::kRefused);
  EXPECT_THAT(made.why_not_taken, testing::HasSubstr("times as fast in a race"));
  EXPECT_TRUE(made.derivation.steps.empty());
  EXPECT_EQ(count(made.derived.graph, "MatMul"), 24);
  for (const search::SearchedRegion& region : made.found->searched) {
    EXPECT_FALSE(region.is_taken);
    EXPECT_EQ(region.why_not.empty(), region.rules.empty()) << "it says why";
  }
}

/// What saves the most in its region may be what makes the whole slow.
TEST_F(Optimizing, TakesOtherGainsWhereTheLargestIsRefused) {
  const Graph model = substitutions::test::graph(
      R"(graph main(x: float32[2,3,4], u: float32[2,3,4]) -> (y: float32[2,3,4], z: float32[2,3,4]) {
    w0: float32[4,4] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
    w1: float32[4,4] = {2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
    w2: float32[4,4] = {3, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
    w3: float32[4,4] = {4, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
    w4: float32[4,4] = {5, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
    q: float32[2,3,4] = MatMul(x, w0)
    k: float32[2,3,4] = MatMul(x, w1)
    v: float32[2,3,4] = MatMul(x, w2)
    r: float32[2,3,4] = Relu(q)
    s: float32[2,3,4] = Sigmoid(k)
    t: float32[2,3,4] = Tanh(v)
    a: float32[2,3,4] = Mul(r, s)
    y: float32[2,3,4] = Add(a, t)
    b: float32[2,3,4] = MatMul(u, w3)
    c: float32[2,3,4] = MatMul(u, w4)
    d: float32[2,3,4] = Relu(b)
    e: float32[2,3,4] = Sigmoid(c)
    z: float32[2,3,4] = Add(d, e)
  })");
  /// The whole model gets slow where the three products become fewer.
  class DislikesTheLargest final : public search::Backend {
   public:
    std::string name() const override { return "a whole"; }
    search::GraphCost& costs() override { return parts_.costs(); }
    bool simplifies() const override { return true; }
    double settle_seconds() const override { return 0; }
    Result<std::unique_ptr<search::Runner>> runner(const Graph& model, std::span<const Tensor> inputs) override {
      if (model.inputs().size() < 2) return parts_.runner(model, inputs);
      return TableBackend({{"MatMul", count(model, "MatMul") < 4 ? 900 : 300}}).runner(model, inputs);
    }

   private:
    TableBackend parts_ = dear_products();
  };
  DislikesTheLargest backend;
  const search::OptimizedModel made = optimized(model, backend);
  ASSERT_EQ(made.found->gains.size(), 2U);
  EXPECT_EQ(made.outcome, search::SearchOutcome::kFaster);
  EXPECT_EQ(count(made.derived.graph, "MatMul"), 4);
  int taken = 0;
  for (const search::SearchedRegion& region : made.found->searched) {
    taken += region.is_taken;
    EXPECT_EQ(region.why_not.empty(), region.is_taken || region.rules.empty());
  }
  EXPECT_EQ(taken, 1);
}

TEST_F(Optimizing, UsesNoRuleThatTheModeOfRoundingForbids) {
  for (const auto& [float_class, mode] : {std::pair(FloatClass::kReassociated, FloatMode::kStrict),
                                          std::pair(FloatClass::kUnsafe, FloatMode::kReassociate)}) {
    rules_[0].float_class = float_class;
    Derivation derivation = searched();
    derivation.fp = mode;
    TableBackend backend = dear_products();
    const auto made = optimize_model(three_products(1), derivation, rules_, theory_, backend, options_);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made->outcome, search::SearchOutcome::kNothingFound);
  }
}

TEST_F(Optimizing, TakesNothingThatIsMoreWorkWhereItMustNotBe) {
  // Two products become one and a Split: as many nodes, x is read once, and what Split reads and writes is more than
  // that.
  TableBackend backend = dear_products();
  const Graph model = three_products(1);
  const search::OptimizedModel anything = optimized(model, backend);
  EXPECT_EQ(anything.outcome, search::SearchOutcome::kFaster);
  const search::Work before = *search::work_of(model), after = *search::work_of(anything.derived.graph);
  EXPECT_EQ(after.operations, before.operations);
  EXPECT_EQ(after.weight_bytes, before.weight_bytes);
  EXPECT_LE(after.nodes, before.nodes);
  EXPECT_GT(after.bytes, before.bytes);
  EXPECT_FALSE(is_no_more(after, before));
  options_.search.least_work = true;
  const search::OptimizedModel less = optimized(model, backend);
  EXPECT_NE(less.outcome, search::SearchOutcome::kFaster);
  EXPECT_TRUE(is_no_more(*search::work_of(less.derived.graph), before));
}

/// A composite is written out while steps are searched: what takes it apart is less work there, and more in the model
/// that is written.
TEST_F(Optimizing, CountsCompositesAsTheyAreWritten) {
  verify::Prover prover = *verify::Prover::start();
  rules_ = {substitutions::test::proved("MatMul(Mul(n,s),w) = MatMul(n,Mul(Unsqueeze(s){axes=[1]},w))",
                                        {{"n", ValueType::tensor(DataType::kFloat32, {3, 4})},
                                         {"s", ValueType::tensor(DataType::kFloat32, {4})},
                                         {"w", ValueType::tensor(DataType::kFloat32, {4, 4})}},
                                        prover)};
  const Graph model = substitutions::test::graph(R"(graph main(x: float32[3,4]) -> (y: float32[3,4]) {
    s: float32[4] = {1, 2, 3, 4}
    w: float32[4,4] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
    n: float32[3,4] = LayerNormalization(x, s)
    y: float32[3,4] = MatMul(n, w)
  })");
  for (const bool least_work : {false, true}) {
    options_.search.least_work = least_work;
    Unmeasured backend({{"Mul", 100}, {"MatMul", 50}});
    const search::OptimizedModel made = optimized(model, backend);
    EXPECT_EQ(made.outcome, least_work ? search::SearchOutcome::kNothingFound : search::SearchOutcome::kFaster);
    EXPECT_EQ(count(made.derived.graph, "LayerNormalization"), least_work ? 1 : 0);
    EXPECT_EQ(made.found->gains.empty(), least_work);
  }
}

TEST_F(Optimizing, SaysWhichLimitEndedIt) {
  const Graph model = three_products(2);
  for (const search::Strategy strategy : {search::Strategy::kBeam, search::Strategy::kBestFirst}) {
    options_.search.strategy = strategy;
    options_.search.limits = {};
    const auto stop = [&] {
      TableBackend backend = dear_products();
      return optimized(model, backend).found->stop;
    };
    EXPECT_EQ(stop(), search::StopReason::kExhausted);
    options_.search.limits.steps = 1;
    EXPECT_EQ(stop(), search::StopReason::kSteps);
    options_.search.limits.states = 2;
    EXPECT_EQ(stop(), search::StopReason::kStates);
  }
}

TEST(Racing, TakesFewerRoundsWhereRunsAreLong) {
  search::RaceOptions options{.seconds = 2, .least_rounds = 9};
  EXPECT_EQ(least_rounds(options, 0.01), 9);
  EXPECT_EQ(least_rounds(options, 0.3), 6);
  EXPECT_EQ(least_rounds(options, 2), 5);
  options.most_seconds = 8;
  EXPECT_EQ(least_rounds(options, 2), 4);
}

/// A race between regions that the time is too short for does not begin.
TEST_F(Optimizing, RacesNoRegionThatRunsForTooLong) {
  for (const double product : {1e4, 2e7}) {
    TableBackend backend({{"MatMul", 300}, {"Split", 10}, {"Concat", 10}}, TableBackend::Table{{"MatMul", product}});
    const search::OptimizedModel made = optimized(three_products(1), backend);
    const bool is_long = product > 1e6;
    EXPECT_EQ(made.found->gains.empty(), is_long);
    for (const search::SearchedRegion& region : made.found->searched) {
      const bool is_told = region.why_not.find("3 rounds of a race") != std::string::npos;
      EXPECT_EQ(is_told, is_long && !region.rules.empty()) << region.why_not;
    }
  }
}

/// Two narrow products of one operand, which take less as one.
class NarrowProducts : public Optimizing {
 protected:
  NarrowProducts() {
    verify::Prover prover = *verify::Prover::start();
    const ValueType column = ValueType::tensor(DataType::kFloat32, {64, 1});
    rules_ = {substitutions::test::proved(
        "MatMul(x,v) ; MatMul(x,w) = Split(MatMul(x,Concat(v,w){axis=1})){axis=2,split=[1,1]} ; "
        "Split(MatMul(x,Concat(v,w){axis=1})){axis=2,split=[1,1]}.1",
        {{"x", ValueType::tensor(DataType::kFloat32, {2, 300, 64})}, {"v", column}, {"w", column}}, prover)};
    rules_[0].name = "merge";
    options_.search.least_work = true;
  }
  /// For a runtime that we know nothing of, or for our own code.
  search::OptimizedModel made_of(const Graph& model, bool for_any) {
    Derivation derivation = searched();
    derivation.keep_composites = for_any;
    search::AnyBackend backend(nullptr);
    auto made = optimize_model(model, derivation, rules_, theory_, backend, options_);
    CHECK(made.ok()) << made.error().message();
    return *std::move(made);
  }
};

TEST_F(NarrowProducts, StayTwoWhereWhatIsDequantizedWouldBeJoinedInEachRun) {
  const auto model = [](const std::string& weights) {
    return substitutions::test::graph(
        "graph main(x: float32[2,300,64]) -> (y: float32[2,300,1], z: float32[2,300,1]) {" + weights +
        "  y: float32[2,300,1] = MatMul(x, v)\n  z: float32[2,300,1] = MatMul(x, w)\n}");
  };
  const search::OptimizedModel of_floats = made_of(model(R"(
  v: float32[64,1] = random 1
  w: float32[64,1] = random 2
)"),
                                                   true);
  EXPECT_EQ(of_floats.outcome, search::SearchOutcome::kFaster);
  EXPECT_EQ(count(of_floats.derived.graph, "MatMul"), 1);
  const search::OptimizedModel of_bytes = made_of(model(R"(
  p: int8[64,1] = all 1
  q: int8[64,1] = all 2
  half: float32[] = {0.5}
  v: float32[64,1] = DequantizeLinear(p, half)
  w: float32[64,1] = DequantizeLinear(q, half)
)"),
                                                  true);
  EXPECT_EQ(of_bytes.outcome, search::SearchOutcome::kNothingFound);
  EXPECT_EQ(count(of_bytes.derived.graph, "MatMul"), 2);
  EXPECT_EQ(count(of_bytes.derived.graph, "DequantizeLinear"), 2);
}

TEST_F(NarrowProducts, StayThoseOfWhatIsDequantized) {
  verify::Prover prover = *verify::Prover::start();
  rules_ = {substitutions::test::proved("Mul(MatMul(x,w),f) = MatMul(x,Mul(w,f))",
                                        {{"x", ValueType::tensor(DataType::kFloat32, {2, 300, 64})},
                                         {"w", ValueType::tensor(DataType::kFloat32, {64, 1})},
                                         {"f", ValueType::tensor(DataType::kFloat32, {1})}},
                                        prover)};
  rules_[0].name = "scale the weight";
  const auto model = [](const std::string& weight) {
    return substitutions::test::graph("graph main(x: float32[2,300,64], v: float32[64,1], f: float32[1]) -> " +
                                      ("(z: float32[2,300,1]) {" + weight) +
                                      "  y: float32[2,300,1] = MatMul(x, w)\n  z: float32[2,300,1] = Mul(y, f)\n}");
  };
  EXPECT_EQ(made_of(model("\n  w: float32[64,1] = Exp(v)\n"), true).outcome, search::SearchOutcome::kFaster);
  EXPECT_EQ(made_of(model(R"(
  q: int8[64,1] = all 1
  half: float32[] = {0.5}
  w: float32[64,1] = DequantizeLinear(q, half)
)"),
                    true)
                .outcome,
            search::SearchOutcome::kNothingFound);
}

TEST_F(NarrowProducts, MakeNoOtherConstantsGrow) {
  const Graph model = substitutions::test::graph(R"(
  graph main(x: float32[2,300,64], s: float32[100,100])
      -> (y: float32[2,300,1], z: float32[2,300,1], t: float32[100,100]) {
    v: float32[64,1] = random 1
    w: float32[64,1] = random 2
    y: float32[2,300,1] = MatMul(x, v)
    z: float32[2,300,1] = MatMul(x, w)
    sizes: int64[2] = {100, 100}
    ones: float32[100,100] = ConstantOfShape(sizes) {value = float32[1] {1}}
    mask: float32[100,100] = Trilu(ones)
    t: float32[100,100] = Mul(s, mask)
  })");
  // Our own code has the mask computed beforehand: a file with it has more weights.
  for (const bool for_any : {false, true}) {
    const search::OptimizedModel made = made_of(model, for_any);
    EXPECT_EQ(made.outcome, for_any ? search::SearchOutcome::kFaster : search::SearchOutcome::kRefused);
    EXPECT_EQ(count(made.derived.graph, "Trilu"), 1);
    EXPECT_EQ(count(made.derived.graph, "Concat"), 0);
  }
}

TEST_F(Optimizing, LeavesOutTheStepThatACheckFailsBy) {
  const auto has_split = [](const Graph& graph) { return count(graph, "Split") > 0; };
  options_.check = [&](const search::OptimizedModel& made) -> Result<std::optional<std::string>> {
    return has_split(made.derived.graph) ? std::optional<std::string>("a Split") : std::nullopt;
  };
  options_.differ = [&](const Graph& before, const Graph& after) -> Result<bool> {
    return has_split(after) && !has_split(before);
  };
  TableBackend backend = dear_products();
  const search::OptimizedModel made = optimized(three_products(2), backend);
  EXPECT_FALSE(has_split(made.derived.graph));
  ASSERT_FALSE(made.left_out.empty());
  EXPECT_THAT(made.left_out[0], testing::HasSubstr("merge"));
  EXPECT_THAT(made.left_out[0], testing::HasSubstr("a Split"));
}

TEST_F(Optimizing, LeavesOutThePassThatACheckFailsBy) {
  const Graph model = substitutions::test::graph(R"(graph main(x: float32[3,4]) -> (y: float32[3,4]) {
    a: float32[3,4] = Identity(x)
    b: float32[3,4] = Relu(a)
    y: float32[3,4] = Tanh(b)
  })");
  // A node that nobody reads is another pass's work.
  const auto has_identity = [](const Graph& graph) {
    for (const NodeId id : graph.nodes())
      for (const ValueId input : graph.node(id).inputs)
        if (const NodeId maker = graph.value(input).producer; maker.valid() && graph.node(maker).op_type == "Identity")
          return true;
    return false;
  };
  options_.check = [&](const search::OptimizedModel& made) -> Result<std::optional<std::string>> {
    return has_identity(made.derived.graph) ? std::nullopt : std::optional<std::string>("no Identity");
  };
  options_.differ = [&](const Graph& before, const Graph& after) -> Result<bool> {
    return has_identity(before) && !has_identity(after);
  };
  TableBackend backend = dear_products();
  for (const int level : {1, search::kSearchLevel}) {
    Derivation derivation;
    derivation.level = level;
    const auto made = optimize_model(model, derivation, rules_, theory_, backend, options_);
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(count(made->derived.graph, "Identity"), 1);
    EXPECT_THAT(made->derivation.without, testing::ElementsAre("remove identities"));
  }
  // A search that was interrupted is not begun again.
  int searches = 0;
  options_.progress = [&](std::string_view what, std::optional<double>) {
    if (what.starts_with("searching") && ++searches == 1) request_stop();
  };
  const auto made = optimize_model(model, searched(), rules_, theory_, backend, options_);
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_TRUE(made->is_interrupted);
  EXPECT_THAT(made->derivation.without, testing::ElementsAre("remove identities"));
  EXPECT_EQ(searches, 1);
}

/// As the code of what a search found may be off where the interpreter shows nothing.
TEST_F(Optimizing, LeavesOutTheSearchWhereNoStepIsToBlame) {
  options_.check = [&](const search::OptimizedModel& made) -> Result<std::optional<std::string>> {
    return count(made.derived.graph, "Split") > 0 ? std::optional<std::string>("its code rounds otherwise")
                                                  : std::nullopt;
  };
  options_.differ = [](const Graph&, const Graph&) -> Result<bool> { return false; };
  TableBackend backend = dear_products();
  const search::OptimizedModel made = optimized(three_products(2), backend);
  EXPECT_EQ(count(made.derived.graph, "MatMul"), 6);
  EXPECT_EQ(made.derivation.level, search::kSearchLevel);
  EXPECT_EQ(made.outcome, search::SearchOutcome::kRefused);
  EXPECT_THAT(made.left_out, testing::ElementsAre("all rewrites: its code rounds otherwise"));
}

/// Which is done for the sake of rewrites alone.
TEST_F(Optimizing, LeavesOutTheSearchWhereWritingCompositesOutIsToBlame) {
  const Graph model = substitutions::test::graph(R"(graph main(x: float32[2,3,4]) -> (y: float32[2,3,4]) {
    s: float32[4] = {1, 2, 3, 4}
    v: float32[4,4] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
    w: float32[4,4] = {2, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
    n: float32[2,3,4] = LayerNormalization(x, s)
    a: float32[2,3,4] = MatMul(n, v)
    b: float32[2,3,4] = MatMul(n, w)
    y: float32[2,3,4] = Mul(a, b)
  })");
  options_.check = [&](const search::OptimizedModel& made) -> Result<std::optional<std::string>> {
    return made.derivation.steps.empty() ? std::nullopt : std::optional<std::string>("it rounds otherwise");
  };
  options_.differ = [](const Graph&, const Graph& after) -> Result<bool> {
    return count(after, "LayerNormalization") == 0;
  };
  TableBackend backend = dear_products();
  const search::OptimizedModel made = optimized(model, backend);
  EXPECT_FALSE(made.found->gains.empty());
  EXPECT_TRUE(made.derivation.steps.empty());
  EXPECT_EQ(made.derivation.level, search::kSearchLevel);
  EXPECT_THAT(made.left_out, testing::ElementsAre("all rewrites: it rounds otherwise"));
}

TEST_F(Optimizing, LeavesOutAllPassesWhereNoneIsToBlame) {
  const Graph model = substitutions::test::graph(R"(graph main(x: float32[3,4]) -> (y: float32[3,4]) {
    a: float32[3,4] = Identity(x)
    b: float32[3,4] = Relu(a)
    y: float32[3,4] = Tanh(b)
  })");
  options_.check = [&](const search::OptimizedModel& made) -> Result<std::optional<std::string>> {
    return count(made.derived.graph, "Identity") > 0 ? std::nullopt : std::optional<std::string>("its code differs");
  };
  options_.differ = [](const Graph&, const Graph&) -> Result<bool> { return false; };
  TableBackend backend = dear_products();
  for (const int level : {2, search::kSearchLevel}) {
    Derivation derivation;
    derivation.level = level;
    const auto made = optimize_model(model, derivation, rules_, theory_, backend, options_);
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(count(made->derived.graph, "Identity"), 1);
    EXPECT_THAT(made->left_out, testing::ElementsAre(testing::HasSubstr("passes of level")));
  }
}

TEST_F(Optimizing, GivesAModelUpThatNoStepIsToBlameFor) {
  options_.check = [](const search::OptimizedModel&) -> Result<std::optional<std::string>> {
    return std::optional<std::string>("all wrong");
  };
  options_.differ = [](const Graph&, const Graph&) -> Result<bool> { return false; };
  TableBackend backend = dear_products();
  const auto made = optimize_model(three_products(1), searched(), rules_, theory_, backend, options_);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::kMismatch);
  EXPECT_THAT(made.error().message(), testing::HasSubstr("all wrong"));
}

TEST_F(Optimizing, KeepsWhatItHadWhenItIsInterrupted) {
  const Graph model = three_products(6);
  bool has_found = false;
  options_.progress = [&](std::string_view what, std::optional<double>) {
    has_found = what.starts_with("searching") && !what.ends_with("1.00 times as fast so far");
    if (has_found) request_stop();
  };
  TableBackend backend = dear_products();
  const search::OptimizedModel made = optimized(model, backend);
  EXPECT_TRUE(made.is_interrupted);
  EXPECT_EQ(made.found->stop, search::StopReason::kInterrupted);
  EXPECT_EQ(made.outcome, search::SearchOutcome::kFaster);
  EXPECT_TRUE(check_stop().ok()) << "the rest goes on";
}

/// The judge would measure for long, and whoever checks may, too.
TEST_F(Optimizing, AsksNoJudgeOnceItIsInterrupted) {
  bool is_asked = false, is_known = false;
  options_.progress = [&](std::string_view what, std::optional<double>) {
    if (what.starts_with("searching") && !std::exchange(is_asked, true)) request_stop();
  };
  TableJudge judge({{"MatMul", 10}, {"Split", 100}, {"Concat", 10}, {"Relu", 20}});
  options_.judge = &judge;
  options_.search.limits.alternatives = 1;
  options_.differ = [](const Graph&, const Graph&) -> Result<bool> { return false; };
  options_.check = [&](const search::OptimizedModel& made) -> Result<std::optional<std::string>> {
    is_known = made.is_interrupted;
    return std::optional<std::string>();
  };
  TableBackend backend = dear_products();
  const search::OptimizedModel made = optimized(three_products(3), backend);
  EXPECT_TRUE(made.is_interrupted);
  EXPECT_TRUE(is_known);
  EXPECT_FALSE(made.judged);
}

/// Wherever behind the search: in a race, in a look at rounding, in the check.
TEST_F(Optimizing, KeepsWhatItHadWhenItIsInterruptedLater) {
  const Graph model = three_products(1);
  for (const char* where : {"racing what was found", "looking at what rounding loses", "checking"}) {
    SCOPED_TRACE(where);
    bool is_asked = false;
    options_.progress = [&](std::string_view what, std::optional<double>) {
      if (is_asked || !what.starts_with(where)) return;
      is_asked = true;
      request_stop();
    };
    options_.differ = [](const Graph&, const Graph&) -> Result<bool> { return false; };
    options_.check = [&](const search::OptimizedModel&) -> Result<std::optional<std::string>> {
      options_.progress("checking", std::nullopt);
      TRY_VOID(check_stop());
      return std::optional<std::string>();
    };
    TableBackend backend = dear_products();
    const search::OptimizedModel made = optimized(model, backend);
    EXPECT_TRUE(is_asked);
    EXPECT_TRUE(made.is_interrupted);
    EXPECT_EQ(made.found->stop, search::StopReason::kInterrupted);
    EXPECT_EQ(made.outcome, search::SearchOutcome::kFaster);
    EXPECT_TRUE(check_stop().ok()) << "the rest goes on";
  }
}

TEST_F(Optimizing, EndsWhereItIsInterruptedAgain) {
  options_.progress = [&](std::string_view what, std::optional<double>) {
    if (what.starts_with("racing what was found")) request_stop();
  };
  TableBackend backend = dear_products();
  const auto made = optimize_model(three_products(1), searched(), rules_, theory_, backend, options_);
  forget_stop();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::kStopped);
}

/// The first one was dealt with by the check, which went on.
TEST_F(Optimizing, EndsWhereTheCheckIsInterruptedAgain) {
  int checks = 0;
  options_.differ = [](const Graph&, const Graph&) -> Result<bool> { return false; };
  options_.check = [&](const search::OptimizedModel&) -> Result<std::optional<std::string>> {
    ++checks;
    request_stop();
    forget_stop();
    request_stop();
    TRY_VOID(check_stop());
    return std::optional<std::string>();
  };
  TableBackend backend = dear_products();
  const auto made = optimize_model(three_products(1), searched(), rules_, theory_, backend, options_);
  forget_stop();
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::kStopped);
  EXPECT_EQ(checks, 1);
}

/// Passes were done already.
TEST_F(Optimizing, KeepsWhatPassesDidWhenItIsInterruptedBeforeAnythingWasFound) {
  const Graph model = substitutions::test::graph(R"(graph main(x: float32[3,4]) -> (y: float32[3,4]) {
    a: float32[3,4] = Identity(x)
    b: float32[3,4] = Relu(a)
    y: float32[3,4] = Tanh(b)
  })");
  options_.progress = [&](std::string_view what, std::optional<double>) {
    if (what.starts_with("searching region 1 ")) request_stop();
  };
  TableBackend backend = dear_products();
  const search::OptimizedModel made = optimized(model, backend);
  EXPECT_TRUE(made.is_interrupted);
  EXPECT_EQ(made.found->stop, search::StopReason::kInterrupted);
  EXPECT_EQ(made.outcome, search::SearchOutcome::kNothingFound);
  EXPECT_EQ(count(made.derived.graph, "Identity"), 0);
  EXPECT_TRUE(check_stop().ok()) << "the rest goes on";
}

TEST_F(Optimizing, TakesTheTimeThatItIsGiven) {
  options_.seconds = 0.5;
  options_.least_afterwards = 0;
  options_.begin = Clock::now();
  TableBackend backend = dear_products();
  const search::OptimizedModel made = optimized(three_products(6), backend);
  EXPECT_EQ(made.seconds, 0.5);
  EXPECT_LE(search::default_seconds(10), 2);
  EXPECT_GT(search::default_seconds(1e5), search::default_seconds(1e4));
  EXPECT_LE(search::default_seconds(1e9), 60);
}

/// ONNX Runtime, say: it runs the model as it was given, whose time the result must not exceed.
class Elsewhere final : public search::Backend {
 public:
  explicit Elsewhere(TableBackend table) : table_(std::move(table)) {}
  std::string name() const override { return "elsewhere"; }
  search::GraphCost& costs() override { return table_.costs(); }
  Result<std::unique_ptr<search::Runner>> runner(const Graph& model, std::span<const Tensor> inputs) override {
    return table_.runner(model, inputs);
  }

 private:
  TableBackend table_;
};

TEST_F(Optimizing, WritesTheModelAsItWasWhereAllElseIsSlower) {
  const Graph model = substitutions::test::graph(R"(graph main(x: float32[3,4]) -> (y: float32[3,4]) {
    c: float32[3,4] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
    a: float32[3,4] = Identity(x)
    y: float32[3,4] = Tanh(a)
  })");
  Elsewhere cheap(TableBackend({{"Identity", 200}, {"Tanh", 200}}));
  const search::OptimizedModel faster = optimized(model, cheap);
  EXPECT_EQ(count(faster.derived.graph, "Identity"), 0);
  ASSERT_TRUE(faster.raced);
  EXPECT_GT(faster.raced->ratio, 1.2);
  // A runtime that takes longer for less.
  class Odd final : public search::Backend {
   public:
    std::string name() const override { return "odd"; }
    search::GraphCost& costs() override { return table_.costs(); }
    Result<std::unique_ptr<search::Runner>> runner(const Graph& model, std::span<const Tensor> inputs) override {
      TableBackend slow({{"Tanh", count(model, "Identity") > 0 ? 100 : 300}});
      return slow.runner(model, inputs);
    }

   private:
    TableBackend table_ = dear_products();
  } odd;
  const search::OptimizedModel same = optimized(model, odd);
  EXPECT_EQ(same.derivation.level, 0);
  EXPECT_EQ(count(same.derived.graph, "Identity"), 1);
  EXPECT_FALSE(same.left_out.empty());
  // Sizes that were asked for stay fixed.
  Derivation bound;
  bound.level = search::kSearchLevel;
  bound.shapes["x"] = {3, 4};
  const auto fixed = optimize_model(model, bound, rules_, theory_, odd, options_);
  ASSERT_TRUE(fixed.ok()) << fixed.error().message();
  EXPECT_EQ(fixed->derivation.shapes, bound.shapes);
  EXPECT_EQ(count(fixed->derived.graph, "Identity"), 1);
  ASSERT_TRUE(fixed->raced);
}

/// A runtime whose runners have luck: the first one of a model is lucky, those made later run as they do.
class Lucky final : public search::Backend {
 public:
  /// Microseconds that its runs take in turns.
  struct Runs {
    std::vector<double> first, later;
  };
  Lucky(Runs given, Runs passes) : given_(std::move(given)), passes_(std::move(passes)) {}
  std::string name() const override { return "a runtime"; }
  search::GraphCost& costs() override { return table_.costs(); }
  Result<std::unique_ptr<search::Runner>> runner(const Graph&, std::span<const Tensor>) override {
    return made(passes_, passes_made++);
  }
  Result<std::unique_ptr<search::Runner>> runner_as_given(const Graph&, std::span<const Tensor>) override {
    return made(given_, given_made++);
  }
  static double clock() { return passed_ * 1e-6; }
  int given_made = 0, passes_made = 0;

 private:
  class InTurns final : public search::Runner {
   public:
    explicit InTurns(std::vector<double> runs) : runs_(std::move(runs)) {}
    Result<void> run() override {
      passed_ += runs_[next_++ % runs_.size()];
      return {};
    }

   private:
    std::vector<double> runs_;
    size_t next_ = 0;
  };
  static Result<std::unique_ptr<search::Runner>> made(const Runs& runs, int before) {
    return std::unique_ptr<search::Runner>(std::make_unique<InTurns>(before == 0 ? runs.first : runs.later));
  }

  static inline double passed_ = 0;
  Runs given_, passes_;
  TableBackend table_ = dear_products();
};

/// A first race that leaves it open whether the passes are slower does not decide: the middle one of three or more
/// does, all but the first between runners that are made anew.
TEST_F(Optimizing, RacesAgainWhereAModelMayBeSlower) {
  const Graph model = substitutions::test::graph(R"(graph main(x: float32[3,4]) -> (y: float32[3,4]) {
    a: float32[3,4] = Identity(x)
    y: float32[3,4] = Tanh(a)
  })");
  options_.race.clock = Lucky::clock;
  options_.race.seconds = 0;  // the least rounds
  const double usual = 20'000;
  const std::vector<double> steady = {usual}, noisy = {0.9 * usual, usual, 1.1 * usual}, slow = {1.1 * usual};
  const std::vector<double> unsure = {0.8 * usual, 1.03 * usual, 1.3 * usual};
  struct Case {
    Lucky::Runs given, passes;
    bool is_taken;
    int given_made;
  };
  const Case cases[] = {
      {{steady, {usual}}, {steady, {2 * usual}}, true, 1},     // nothing is open
      {{steady, {usual}}, {noisy, {1.04 * usual}}, false, 5},  // the luck of the passes' runner, at both levels
      {{noisy, {0.96 * usual}}, {steady, {usual}}, false, 5},  // that of the one of the model as it was given
      {{steady, {usual}}, {noisy, {usual}}, true, 3},          // as fast
      {{steady, {usual}}, {slow, {usual}}, true, 4},           // bad luck, that of one of four
      {{steady, {usual}}, {slow, {1.1 * usual}}, false, 5},    // slower
      {{steady, {usual}}, {noisy, unsure}, false, 5},          // so much that nobody hopes
  };
  for (const auto& [given, passes, is_taken, given_made] : cases) {
    SCOPED_TRACE(&passes - &cases[0].passes);
    Lucky backend(given, passes);
    const search::OptimizedModel made = optimized(model, backend);
    EXPECT_EQ(count(made.derived.graph, "Identity"), is_taken ? 0 : 1);
    EXPECT_EQ(backend.given_made, given_made);
  }
  // Without time for another race the first one has to do.
  options_.seconds = 0;
  Lucky backend({steady, {usual}}, {noisy, {1.04 * usual}});
  EXPECT_EQ(count(optimized(model, backend).derived.graph, "Identity"), 0);
  EXPECT_EQ(backend.given_made, 1);
}

/// Sessions of one model differ by more than the rounds of a race tell: three of them may leave open what seven tell.
TEST(Races, TheMiddleOneOfMoreTellsMore) {
  std::vector<search::Raced> races;
  const auto with = [&](double ratio) {
    races.push_back({.first = 100, .second = 100 / ratio, .ratio = ratio, .low = ratio, .high = ratio, .rounds = 20});
    return search::middle_of(races);
  };
  with(1.02);
  with(0.97);
  const search::Raced three = with(0.988);
  EXPECT_EQ(three.ratio, 0.988);
  EXPECT_DOUBLE_EQ(three.second, 100 / 0.988);
  EXPECT_EQ(three.low, 0.97);
  EXPECT_EQ(three.high, 1.02);
  EXPECT_EQ(three.rounds, 3);
  EXPECT_FALSE(three.is_slower() || three.is_surely_not_slower());
  with(0.985);
  with(0.982);
  with(0.986);
  EXPECT_TRUE(with(0.981).is_slower());
}

/// A runtime that knows better what to do with a model whose sizes are open.
class LikesOpenSizes final : public search::Backend {
 public:
  std::string name() const override { return "a runtime"; }
  search::GraphCost& costs() override { return table_.costs(); }
  Result<std::unique_ptr<search::Runner>> runner(const Graph& model, std::span<const Tensor> inputs) override {
    return TableBackend({{"Tanh", 300}, {"Identity", 100}}).runner(model, inputs);
  }
  Result<std::unique_ptr<search::Runner>> runner_as_given(const Graph& model, std::span<const Tensor> inputs) override {
    return TableBackend({{"Tanh", 100}, {"Identity", 100}}).runner(model, inputs);
  }

 private:
  TableBackend table_ = dear_products();
};

TEST_F(Optimizing, RacesTheModelAsItWasGiven) {
  const Graph model = substitutions::test::graph(R"(graph main(x: float32[3,4]) -> (y: float32[3,4]) {
    a: float32[3,4] = Identity(x)
    y: float32[3,4] = Tanh(a)
  })");
  LikesOpenSizes runtime;
  EXPECT_EQ(optimized(model, runtime).derivation.level, 0);
  Derivation bound;
  bound.level = search::kSearchLevel;
  bound.shapes["x"] = {3, 4};
  const auto fixed = optimize_model(model, bound, rules_, theory_, runtime, options_);
  ASSERT_TRUE(fixed.ok()) << fixed.error().message();
  EXPECT_EQ(count(fixed->derived.graph, "Identity"), 0);
  ASSERT_TRUE(fixed->raced);
  EXPECT_LT(fixed->raced->ratio, 0.9);
  EXPECT_THAT(fixed->why_not_taken, testing::HasSubstr("fixed sizes"));
}

TEST_F(Optimizing, RacesOpenSizesWhereTheyAreMoreThanOne) {
  class Choosy final : public search::Backend {
   public:
    explicit Choosy(int64_t most) : most_(most) {}
    std::string name() const override { return "choosy"; }
    search::GraphCost& costs() override { return table_.costs(); }
    Result<std::unique_ptr<search::Runner>> runner(const Graph& model, std::span<const Tensor> inputs) override {
      if (inputs[0].dims()[0] > most_) return invalid("x", "at most {} expected", most_);
      return table_.runner(model, inputs);
    }

   private:
    int64_t most_;
    TableBackend table_{{{"Identity", 200}, {"Tanh", 200}}};
  };
  const Graph model = substitutions::test::graph(R"(graph main(x: float32[n,4]) -> (y: float32[n,4]) {
    a: float32[n,4] = Identity(x)
    y: float32[n,4] = Tanh(a)
  })");
  using testing::ElementsAre, testing::Pair;
  Choosy any(100), small(5), none(0);
  EXPECT_THAT(optimized(model, any).raced_with, ElementsAre(Pair("n", 32)));
  EXPECT_THAT(optimized(model, small).raced_with, ElementsAre(Pair("n", 2)));
  EXPECT_TRUE(optimized(model, small).raced);
  const search::OptimizedModel unmeasured = optimized(model, none);
  EXPECT_FALSE(unmeasured.raced);
  EXPECT_THAT(unmeasured.why_not_raced, testing::HasSubstr("at most 0 expected"));
}

/// What makes code of a model that leaves sizes open is given the sizes of races.
TEST_F(Optimizing, BindsOpenSizesWhereTheBackendSimplifies) {
  class NeedsSizes final : public search::Backend {
   public:
    std::string name() const override { return "code"; }
    search::GraphCost& costs() override { return table_.costs(); }
    bool simplifies() const override { return true; }
    Result<std::unique_ptr<search::Runner>> runner(const Graph& model, std::span<const Tensor> inputs) override {
      if (!free_dims(model).empty()) return invalid("x", "sizes expected");
      return table_.runner(model, inputs);
    }

   private:
    TableBackend table_ = dear_products();
  };
  const Graph model = substitutions::test::graph(R"(graph main(x: float32[n,4]) -> (y: float32[n,4]) {
    a: float32[n,4] = Identity(x)
    y: float32[n,4] = Tanh(a)
  })");
  NeedsSizes backend;
  const search::OptimizedModel made = optimized(model, backend);
  EXPECT_EQ(made.why_not_raced, "");
  EXPECT_GT(made.run_microseconds, 0);
  EXPECT_THAT(made.raced_with, testing::ElementsAre(testing::Pair("n", 32)));
  EXPECT_THAT(free_dims(made.derived.graph), testing::ElementsAre("n"));
}

TEST_F(Optimizing, KeepsWhatRuntimesKnowByItsLooks) {
  const Graph model = substitutions::test::graph(R"(opset 17
  graph main(x: float32[3,4]) -> (y: float32[3,4]) {
    v: float32[4,4] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
    half: float32[] = {0.5}
    one: float32[] = {1}
    root: float32[] = {1.4142135}
    d: float32[3,4] = Div(x, root)
    e: float32[3,4] = Erf(d)
    a: float32[3,4] = Add(e, one)
    m: float32[3,4] = Mul(x, a)
    h: float32[3,4] = Mul(m, half)
    y: float32[3,4] = MatMul(h, v)
  })");
  TableBackend backend = dear_products();
  for (const bool keep : {false, true}) {
    Derivation derivation;
    derivation.keep_composites = keep;
    const auto made = optimize_model(model, derivation, rules_, theory_, backend, options_);
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_EQ(count(made->derived.graph, "Mul"), keep ? 2 : 1);
  }
}

}  // namespace
}  // namespace isomer
