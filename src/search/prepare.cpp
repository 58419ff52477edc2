#include "search/prepare.h"

#include "graph/onnx/versions.h"
#include "graph/passes/pipeline.h"
#include "graph/passes/specialize_bodies.h"
#include "search/integer_products.h"

namespace isomer {
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
  if (options.integer_products && options.level >= 2) {
    // What some row does not take stays as it was.
    Graph made = graph;
    if (use_integer_products(made).ok()) graph = std::move(made);
  }
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
  if (options.integer_products && options.level >= 2) {
    Graph made = graph;
    if (dequantize_apart(made).ok()) graph = std::move(made);
  }
  return {};
}

}  // namespace isomer
