#include "search/code/prepare.h"

#include "graph/onnx/versions.h"
#include "graph/passes/pipeline.h"
#include "graph/passes/specialize_bodies.h"
#include "search/tasks/integer_products.h"
#include "search/tasks/open_rows.h"

namespace isomer::search {
namespace {

/// Of optimizing: bodies in bodies learn what they read one level a round.
constexpr int kMostRounds = 4;

}  // namespace

PrepareOptions prepare_options(const CompileOptions& options, int level, std::vector<std::string> without) {
  return {level, std::move(without), options.threads, options.words};
}

Result<void> prepare_for_code(Graph& graph, const PrepareOptions& options) {
  // Composites of every opset have their row: what the file's opset would not let a file say, a kernel may be.
  graph.edit_info().opsets[""] = kNewestRowOpset;
  // What some row does not take stays as it was.
  const auto try_on = [&](Result<int> (*change)(Graph&)) {
    if (!options.integer_products || options.level < 2) return;
    Graph made = graph;
    if (change(made).ok()) graph = std::move(made);
  };
  try_on(use_integer_products);
  // What becomes constant around a body is so inside of it.
  for (int round = 0; round < kMostRounds; ++round) {
    TRY(const int specialized, specialize_bodies(graph));
    if (round > 0 && specialized == 0) break;
    PassOptions passes;
    passes.level = options.level;
    passes.without = options.without;
    passes.threads = options.threads;
    passes.decodes = true;
    if (auto report = optimize(graph, passes); !report.ok()) return std::move(report).error();
  }
  try_on(dequantize_apart);
  TRY_VOID(compute_some_rows_at_a_time(graph));
  return {};
}

}  // namespace isomer::search
