// Random graphs, searched with costs that make any rewrite look worthwhile to some search.
#include <gtest/gtest.h>

#include <iostream>

#include "graph/hash.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/text.h"
#include "search/searching.h"
#include "substitutions/derivation/proof_recorder.h"
#include "substitutions/derivations.h"
#include "substitutions/library/print_proof.h"
#include "substitutions/proof/verify_files.h"
#include "support/files.h"
#include "support/long_run.h"

namespace isomer::test {
namespace {

using namespace substitutions;

/// From 1 to 256 microseconds by operator.
TableBackend random_costs(uint64_t seed) {
  Random random(seed);
  TableBackend::Table table;
  for (const char* op :
       {"Add",     "Sub",    "Mul",       "Div",        "Neg",  "Max",    "Min",   "Relu",     "Sigmoid", "Tanh",
        "Exp",     "Sqrt",   "MatMul",    "Gemm",       "Conv", "Concat", "Split", "Slice",    "Pad",     "Transpose",
        "Reshape", "Expand", "ReduceSum", "ReduceMean", "Sum",  "Mean",   "Where", "Identity", "Softmax"})
    table.emplace(op, static_cast<double>(int64_t{1} << random.between(0, 8)));
  return TableBackend(std::move(table));
}

TEST(SearchedRandomGraphs, ComputeTheSameAndAreVerifiedFromTheirFiles) {
  Theory theory;
  const std::vector<Rule> rules = substitutions::test::known_rules(theory);
  const ScratchFolder folder;
  const ModelFiles files{folder.path() / "in.onnx", folder.path() / "out.onnx", folder.path() / "out.proof"};
  const uint64_t last = is_long_run() ? 2000 : 14;
  int rewritten = 0;
  size_t steps = 0;
  for (uint64_t seed = 0; seed < last; ++seed) {
    SCOPED_TRACE(seed);
    Sample sample = seed % 2 ? sample_of(substitutions::test::dense_graph(seed), seed) : random_sample(seed);
    ASSERT_TRUE(export_model(sample.graph, files.input).ok());
    auto model = import_model(files.input);
    ASSERT_TRUE(model.ok()) << model.error().message();
    sample.graph = *std::move(model);
    TableBackend backend = random_costs(seed);
    search::SearchModelOptions options;
    constexpr std::array<search::Strategy, 3> kStrategies = {search::Strategy::kBeam, search::Strategy::kBestFirst,
                                                             search::Strategy::kEGraph};
    options.search.strategy = kStrategies[seed % kStrategies.size()];
    options.seconds = 60;
    options.search.limits.states = 200;
    options.search.limits.width = 3;
    options.search.limits.looked_at = 12;
    options.search.race =
        options.race = {.seconds = 0.002, .least_rounds = 5, .settle_seconds = 0, .clock = TableBackend::clock};
    options.least_speedup = 0;
    Derivation searched;
    searched.level = search::kSearchLevel;
    auto made = optimize_model(sample.graph, searched, rules, theory, backend, options);
    ASSERT_TRUE(made.ok()) << made.error().message();
    EXPECT_TRUE(made->left_out.empty()) << made->left_out.front();
    rewritten += !made->derivation.steps.empty();
    steps += made->derivation.steps.size();
    ASSERT_TRUE(export_model(made->derived.graph, files.output).ok());
    const auto written = import_model(files.output);
    ASSERT_TRUE(written.ok()) << written.error().message();
    Theory anew;
    const auto proof = proof_of(sample.graph, made->derivation, *written, anew);
    ASSERT_TRUE(proof.ok()) << proof.error().message() << "\n" << print_graph(sample.graph) << print_graph(*written);
    const auto text = print_proof(*proof, theory.axioms());
    ASSERT_TRUE(text.ok()) << text.error().message();
    write_file(files.proof, *text);
    const auto verified = verify_files(files, {.check = {.runs = 0}});
    ASSERT_TRUE(verified.ok()) << verified.error().message();
    auto read = import_model(files.output);
    ASSERT_TRUE(read.ok()) << read.error().message();
    ASSERT_EQ(difference(case_of(sample, seed), *read), "");
  }
  std::cout << rewritten << " of " << last << " graphs rewritten, " << steps << " steps\n";
  EXPECT_GT(rewritten, static_cast<int>(last) / 8);
}

}  // namespace
}  // namespace isomer::test
