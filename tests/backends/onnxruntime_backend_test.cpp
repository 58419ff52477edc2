#include "backends/onnxruntime_backend.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "backends/onnxruntime.h"
#include "graph/text.h"
#include "util/check.h"
#include "util/stop.h"

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

/// A Loop of as many iterations as an int64 counts, say.
TEST(OnnxRuntimeBackend, EndsRunsThatDoNotEnd) {
  const auto graph =
      parse_graph("opset 22\ngraph main(x: float32[2]) -> (y: float32[2]) {\n y: float32[2] = Neg(x)\n}");
  setenv("ISOMER_FAKE_VERSION", "1.32.0", 1);
  const auto opened = [&](double most_seconds) {
    auto peer =
        open_onnxruntime(ISOMER_FAKE_ONNXRUNTIME, "", *graph,
                         {Tensor::from_doubles(DataType::kFloat32, {2}, std::vector<double>{1, 2})}, 1, most_seconds);
    CHECK(peer.ok()) << peer.error().message();
    return *std::move(peer);
  };
  const auto hasty = opened(0.1), patient = opened(INFINITY);
  EXPECT_TRUE(hasty->run().ok());
  setenv("ISOMER_FAKE_ENDLESS", "1", 1);
  EXPECT_EQ(hasty->run().error().kind, ErrorKind::kUnsupported);
  std::atomic<int> requests = 0;
  const StopsBy stops(requests);
  std::thread asking([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    requests = 1;
  });
  EXPECT_EQ(patient->run().error().kind, ErrorKind::kStopped);
  asking.join();
  requests = 0;
  unsetenv("ISOMER_FAKE_ENDLESS");
  EXPECT_TRUE(hasty->run().ok());
  EXPECT_TRUE(patient->run().ok());
}

}  // namespace
}  // namespace isomer::backends
