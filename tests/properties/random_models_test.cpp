// Seeded random graphs, optimized in all modes, before and after in the interpreter on the values that floating point
// is known for: bit for bit where a mode promises that, else as far as rounding explains it where all on the way is
// finite. A failure is made smaller before it is printed, with the seed; ISOMER_TEST_SEED runs that one alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <exception>

#include "graph/interpret.h"
#include "graph/passes/pipeline.h"
#include "graph/text.h"
#include "properties/linear_graph.h"
#include "properties/mutate.h"
#include "properties/same_function.h"
#include "properties/shrink.h"
#include "support/long_run.h"
#include "verify/check/equivalence.h"

namespace isomer::test {
namespace {

constexpr uint64_t kBlocks = 4;

struct Mode {
  int level;
  FloatMode fp;
  bool is_exact() const { return level < 2 || fp == FloatMode::kStrict; }
  std::string text() const { return fmt::format("level {}, {}", level, name(fp)); }
};
constexpr Mode kModes[] = {
    {2, FloatMode::kReassociate}, {2, FloatMode::kStrict}, {2, FloatMode::kFast}, {1, FloatMode::kReassociate}};

/// What the elements of free inputs are drawn from.
struct Values {
  std::string_view name;
  double normal;                 ///< this times N(0,1), where it is not 0; else
  std::vector<double> elements;  ///< these, of floats
  /// By so much of the largest magnitude on the way may outputs differ: beside constants of usual size, inputs that
  /// vanish leave nothing for a movement to show what cancels there.
  double slack = 0x1p-18;
};
const std::vector<Values>& kinds_of_values() {
  constexpr double kNaN = NAN, kInf = INFINITY;
  static const std::vector<Values> kinds = {
      {"N(0,1)", 1, {}, 0},
      {"N(0,1) x100", 100, {}, 0},
      {"N(0,1) x1e-30", 1e-30, {}},
      {"special", 0, {0, -0.0, 1, -1, 0.5, 1.5, 2.5, -2.5, 1e10, -1e10, 100, -100}},
      {"large, denormal", 0, {1e30, -1e30, 1e20, -1e20, 1e-30, -1e-30, 1e-42, -1e-42, 0, -0.0, 1, -1}},
      {"largest", 0, {3e38, -3e38, 1e30, -1e30, 1e-30, -1e-30, 1e-42, -1e-42, 0, -0.0, 1, -1}},
      {"NaN, inf", 0, {kNaN, kInf, -kInf, 3e38, -3e38, 1e-42, 0, -0.0, 1, -1, 2.5, 100}},
  };
  return kinds;
}
constexpr std::array<int64_t, 12> kIntegers = {INT64_MIN,
                                               INT64_MAX,
                                               -(INT64_C(1) << 62),
                                               INT64_C(1) << 62,
                                               3037000500,
                                               -4000000000,
                                               INT64_C(1) << 31,
                                               -(INT64_C(1) << 31) - 1,
                                               255,
                                               -1,
                                               0,
                                               7};

Tensor drawn(const Tensor& old, const Values& values, Random& random) {
  std::vector<double> reals(old.count());
  std::vector<int64_t> integers(old.count());
  const bool is_extreme = values.normal == 0;
  for (int64_t k = 0; k < old.count(); ++k) {
    const double normal = random.normal();
    reals[k] = is_extreme ? values.elements[random.below(values.elements.size())] : values.normal * normal;
    integers[k] = is_extreme ? kIntegers[random.below(kIntegers.size())] : static_cast<int64_t>(3 * normal);
    if (old.dtype() == DataType::kBool) integers[k] &= 1;
  }
  return is_float(old.dtype()) ? Tensor::from_doubles(old.dtype(), old.dims(), reals)
                               : Tensor::from_ints(old.dtype(), old.dims(), integers);
}

/// The sample on other values of its free inputs.
Sample on(const Sample& sample, const Values& values, Random& random) {
  Sample result = sample;
  for (size_t i = 0; i < sample.inputs.size(); ++i)
    if (sample.free[i]) result.inputs[i] = drawn(sample.inputs[i], values, random);
  return result;
}

/// What the graph gives in its own precision, and the largest magnitude on the way; infinite where a number is none.
struct OwnPrecision {
  std::vector<te::Array> outputs;
  double largest = 0;
};
Result<OwnPrecision> run_rounded(const Graph& graph, const Inputs& inputs) {
  OwnPrecision result;
  const auto look_at = [&](const te::Array& array) {
    if (!is_float(array.dtype())) return;
    for (int64_t i = 0; i < array.count(); ++i)
      result.largest = std::isnan(array.real(i)) ? INFINITY : std::max(result.largest, std::fabs(array.real(i)));
  };
  for (const te::Array& input : inputs) look_at(input);
  TRY(result.outputs, interpret(graph, inputs, {.round_values = true, .observe = [&](ValueId, const te::Array& array) {
                                                  look_at(array);
                                                }}));
  return result;
}

struct Counts {
  int graphs = 0, nodes_before = 0, nodes_after = 0, compared_in_bits = 0, compared = 0;
};

/// Whether the floats of the outputs differ by no more than `allowed`, and nothing else does.
bool agree_within(const Graph& before, const Graph& after, const Inputs& inputs, double allowed) {
  const auto expected = interpret(before, inputs, {}), found = interpret(after, inputs, {});
  Equivalence result;
  for (size_t i = 0; expected.ok() && found.ok() && i < expected->size(); ++i)
    compare_output("", (*expected)[i], (*found)[i], allowed, result);
  return expected.ok() && found.ok() && result.passed();
}

/// Empty, or how the optimized graph differs on the sample's inputs. Nothing is asked where the graph does not run.
std::string difference_on(const Sample& sample, const Graph& after, const Mode& mode, double slack, Counts& counts) {
  constexpr double kFarFromOverflow = 1e36;
  Inputs inputs;
  for (const Tensor& input : sample.inputs) inputs.push_back(te::Array::from(input));
  const auto expected = run_rounded(sample.graph, inputs);
  if (!expected.ok()) return "";
  if (mode.is_exact()) {
    const auto found = interpret(after, inputs, {.round_values = true});
    if (!found.ok()) return "does not run any more: " + found.error().message();
    ++counts.compared_in_bits;
    return difference_in_bits(sample.graph, expected->outputs, *found);
  }
  if (expected->largest > kFarFromOverflow || !interpret(sample.graph, inputs, {}).ok()) return "";
  ++counts.compared;
  const auto compared = compare_models_on(sample.graph, after, {inputs}, 1);
  if (!compared.ok()) return "does not run any more: " + compared.error().message();
  if (compared->passed() || agree_within(sample.graph, after, inputs, slack * expected->largest)) return "";
  return compared->difference->text();
}

Result<Graph> optimized(const Graph& graph, const Mode& mode) {
  Graph after = graph;
  TRY(const OptimizeReport report, optimize(after, {.level = mode.level, .fp = mode.fp}));
  if (!report.skipped.empty()) return invalid("optimize", "{}", report.skipped.front());
  return after;
}

/// On the sample's own inputs; failed checks of ours are violations too.
std::string violation(const Sample& sample, const Mode& mode, double slack) {
  Counts uncounted;
  try {
    const auto after = optimized(sample.graph, mode);
    if (!after.ok()) return after.error().message();
    return difference_on(sample, *after, mode, slack, uncounted);
  } catch (const std::exception& exception) {
    return exception.what();
  }
}

struct Failing {
  Sample sample;
  double slack = 0;
};

/// Of one graph on all kinds of values: nothing, or the sample that fails.
std::optional<Failing> failing(const Sample& sample, uint64_t seed, const Mode& mode, Counts& counts) {
  try {
    const auto after = optimized(sample.graph, mode);
    if (!after.ok()) return Failing{sample};
    counts.nodes_before += sample.graph.node_count();
    counts.nodes_after += after->node_count();
    Random random(seed);
    for (const Values& values : kinds_of_values()) {
      Sample other = on(sample, values, random);
      if (!difference_on(other, *after, mode, values.slack, counts).empty()) return Failing{other, values.slack};
    }
  } catch (const std::exception&) {
    return Failing{sample};
  }
  return std::nullopt;
}

std::string report(const Failing& failed, uint64_t seed, const Mode& mode) {
  const auto fails = [&](const Sample& each) { return !violation(each, mode, failed.slack).empty(); };
  const Sample smaller = shrunk(failed.sample, fails);
  const auto after = optimized(smaller.graph, mode);
  return fmt::format("{}: {}\nthe graph was\n{}it became\n{}again: ISOMER_TEST_SEED={} bin/tests/random_models\n",
                     mode.text(), violation(smaller, mode, failed.slack), text_of(smaller),
                     after.ok() ? print_graph(*after) : after.error().message(), seed);
}

class RandomGraphsOptimized : public testing::TestWithParam<uint64_t> {};

TEST_P(RandomGraphsOptimized, AreTheSameFunction) {
  constexpr int kMostFailures = 3;
  const char* only = std::getenv("ISOMER_TEST_SEED");
  const uint64_t count = is_long_run() ? 1'000'000 : 6'000;
  const uint64_t first = only ? std::strtoull(only, nullptr, 10) : GetParam() * count / kBlocks;
  const uint64_t last = only ? first + 1 : (GetParam() + 1) * count / kBlocks;
  Counts counts;
  int failures = 0;
  for (uint64_t seed = first; seed < last && failures < kMostFailures; ++seed) {
    // Rows of all kinds in one of four.
    const Sample sample = seed % 4 == 3 ? random_sample(seed) : linear_sample(seed);
    if (sample.graph.outputs().empty()) continue;
    const Mode& mode = kModes[seed / 4 % std::size(kModes)];
    ++counts.graphs;
    if (const auto failed = failing(sample, seed, mode, counts)) {
      ADD_FAILURE() << report(*failed, seed, mode);
      ++failures;
    }
  }
  fmt::print("{} graphs with {} nodes, {} when optimized; {} comparisons in bits, {} of finite values\n", counts.graphs,
             counts.nodes_before, counts.nodes_after, counts.compared_in_bits, counts.compared);
  if (only || failures > 0) return;
  EXPECT_LT(counts.nodes_after, counts.nodes_before);
  EXPECT_GT(counts.compared_in_bits, 2 * counts.graphs);
  EXPECT_GT(counts.compared, counts.graphs);
}

/// What a pass might get wrong is seen: most small changes of a graph are, and the others change nothing that counts.
TEST(RandomGraphsChanged, DifferWhereSomethingIsPlanted) {
  int planted = 0, found = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const Sample sample = linear_sample(seed);
    Random random(seed);
    if (sample.graph.outputs().empty()) continue;
    const auto mutant = mutated(sample.graph, random);
    if (!mutant) continue;
    ++planted;
    Counts counts;
    bool differs = false;
    for (const Values& values : kinds_of_values())
      differs =
          differs ||
          !difference_on(on(sample, values, random), mutant->graph, kModes[seed % 2], values.slack, counts).empty();
    found += differs;
  }
  EXPECT_GT(planted, 100);
  EXPECT_GT(found, planted / 2);
}

INSTANTIATE_TEST_SUITE_P(Blocks, RandomGraphsOptimized, testing::Range<uint64_t>(0, kBlocks));

}  // namespace
}  // namespace isomer::test
