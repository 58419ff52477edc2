#include "search/interpreting_time.h"

#include "graph/interpret.h"
#include "graph/text.h"
#include "util/check.h"
#include "util/clock.h"

namespace isomer::search {

double interpreted_per_second(int threads) {
  constexpr double kOperations = 2.0 * 64 * 64 * 9 * 56 * 56;
  const auto graph = parse_graph(
      "opset 17\n"
      "graph g(x: float32[1,64,56,56], w: float32[64,64,3,3]) -> (y: float32[1,64,56,56]) {\n"
      "  y = Conv(x, w) {pads = [1,1,1,1]}\n"
      "}\n");
  CHECK(graph.ok()) << graph.error().message();
  std::vector<te::Array> inputs;
  for (const ValueId input : graph->inputs()) {
    const ValueType& type = graph->value(input).type;
    const Dims dims = *constants(*type.shape);
    inputs.push_back(
        te::Array::reals(type.dtype, dims, std::vector<double>(static_cast<size_t>(element_count(dims)), 1)));
  }
  double seconds = 0;
  // Code is made in the first run.
  for (int time = 0; time < 2; ++time) {
    const auto begin = Clock::now();
    if (!interpret(*graph, inputs, {.threads = threads}).ok()) return 0;
    seconds = seconds_since(begin);
  }
  return kOperations / seconds;
}

double interpreting_seconds(const Work& work, double operations_per_second) {
  constexpr double kBytesPerSecond = 4e9;
  return work.operations / operations_per_second + work.bytes / kBytesPerSecond;
}

}  // namespace isomer::search
