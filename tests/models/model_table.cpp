// Prints what becomes of the models: nodes against the peers, weights, errors, seconds. Arguments: models (default:
// all).
#include <fmt/format.h>

#include "models/model_case.h"
#include "util/threads.h"

int main(int argc, char** argv) {
  using namespace isomer;
  using namespace isomer::test;
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) names = model_names();
  fmt::print("{:<30} {:>6} {:>6} {:>8} {:>8} {:>9} {:>9} {:>8} {:>8} {:>7} {:>7} {:>7}\n", "model", "nodes", "after",
             "onnxsim", "onnxslim", "MB", "MB after", "error", "after", "import", "run", "opt. s");
  int failed = 0;
  for (const std::string& name : names) {
    const auto outcome = run_model(name, available_threads());
    if (!outcome.ok()) {
      fmt::print("{:<30} {}\n", name, outcome.error().message());
      ++failed;
      continue;
    }
    const NodeCeiling peers = node_ceiling(name).value_or(NodeCeiling{});
    fmt::print("{:<30} {:>6} {:>6} {:>8} {:>8} {:>9.3f} {:>9.3f} {:>8.2g} {:>8.2g} {:>7.2f} {:>7.2f} {:>7.2f}\n", name,
               outcome->nodes_before, outcome->nodes_after, peers.onnxsim, peers.onnxslim,
               static_cast<double>(outcome->bytes_before) / 1e6, static_cast<double>(outcome->bytes_after) / 1e6,
               outcome->error, outcome->error_optimized, outcome->import_seconds, outcome->run_seconds,
               outcome->optimize_seconds);
    std::fflush(stdout);
  }
  return failed == 0 ? 0 : 1;
}
