#include "backends/onnxruntime_backend.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "graph/text.h"

namespace isomer::backends {
namespace {

/// Another version may come to lie where the one was that times were taken in.
TEST(OnnxRuntimeBackend, BelievesNoTimesOfAnotherVersion) {
  const auto graph =
      parse_graph("opset 22\ngraph main(x: float32[2]) -> (y: float32[2]) {\n y: float32[2] = Neg(x)\n}");
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  auto records = kernel::Records::in_memory();
  const auto is_known = [&](const char* version, search::Effort effort) {
    setenv("ISOMER_FAKE_VERSION", version, 1);
    OnnxRuntimeBackend backend(ISOMER_FAKE_ONNXRUNTIME, "", 1, records);
    const auto cost = static_cast<search::Backend&>(backend).costs().cost(*graph, effort);
    CHECK(cost.ok()) << cost.error().message();
    return cost->is_measured;
  };
  EXPECT_FALSE(is_known("1.31.0", search::Effort::kLookUp));
  EXPECT_TRUE(is_known("1.31.0", search::Effort::kMeasure));
  EXPECT_TRUE(is_known("1.31.0", search::Effort::kLookUp));
  EXPECT_FALSE(is_known("1.32.0", search::Effort::kLookUp));
}

}  // namespace
}  // namespace isomer::backends
