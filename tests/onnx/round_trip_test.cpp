// Import, export, import again: the same graph, the same interface, for every model that we have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "graph/hash.h"
#include "graph/onnx/export.h"
#include "onnx/messages.h"
#include "onnx/weights.h"
#include "support/files.h"
#include "support/long_run.h"
#include "util/sanitized.h"

namespace isomer::test {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(source_path("models")))
    if (entry.path().extension() == ".onnx") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

class RoundTrip : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const fs::path model = source_path("models/" + GetParam() + ".onnx");
    const int64_t most_bytes = is_long_run() ? int64_t{1} << 40 : int64_t{64} << 20;
    if (weight_bytes(model) > most_bytes) GTEST_SKIP() << "in the long run";
    model_ = place_with_numbered_weights(model, scratch_.path());
  }
  ScratchFolder scratch_;
  fs::path model_;
};

std::vector<std::string> texts(const google::protobuf::RepeatedPtrField<onnx_proto::ValueInfoProto>& infos) {
  std::vector<std::string> all;
  for (const auto& info : infos) all.push_back(info.DebugString());
  return all;
}

void expect_same_after_round_trip(const fs::path& model, const fs::path& copy) {
  const auto graph = import_model(model);
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  const auto written = export_model(*graph, copy);
  ASSERT_TRUE(written.ok()) << message_of(written);
  const auto back = import_model(copy);
  ASSERT_TRUE(back.ok()) << message_of(back);
  EXPECT_EQ(structural_hash(*back), structural_hash(*graph));
  const auto before = read_message(model), after = read_message(copy);
  EXPECT_EQ(texts(after.graph().input()), texts(before.graph().input()));
  EXPECT_EQ(texts(after.graph().output()), texts(before.graph().output()));
  EXPECT_EQ(after.opset_import(0).version(), before.opset_import(0).version());
  EXPECT_EQ(after.ir_version(), before.ir_version());
}

TEST_P(RoundTrip, GivesTheSameModel) {
  ScratchFolder out;
  expect_same_after_round_trip(model_, out.path() / "copy.onnx");
}

INSTANTIATE_TEST_SUITE_P(All, RoundTrip, testing::ValuesIn(models()), [](const auto& info) { return info.param; });

TEST(NodeSuite, ComesBackTheSame) {
  ScratchFolder out;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(ONNX_TESTDATA) / "node")) {
    SCOPED_TRACE(entry.path().filename().string());
    expect_same_after_round_trip(entry.path() / "model.onnx", out.path() / "copy.onnx");
    ++count;
  }
  EXPECT_GT(count, 900);
}

/// Anonymous memory of this process, in bytes.
int64_t anonymous_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return std::stoll(line.substr(8)) * 1024;
  return 0;
}

TEST(ImportCost, OfLargeModelsIsSmall) {
  for (const char* name : {"vgg16", "nasnet_a", "swin_tiny", "llama_small"}) {
    const fs::path model = source_path(fmt::format("models/{}.onnx", name));
    ScratchFolder scratch;
    const fs::path placed = place_with_numbered_weights(model, scratch.path());
    const int64_t before = anonymous_memory();
    const auto start = std::chrono::steady_clock::now();
    const auto graph = import_model(placed);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    const int64_t memory = anonymous_memory() - before;
    ASSERT_TRUE(graph.ok()) << message_of(graph);
    RecordProperty(fmt::format("{}_seconds", name), std::to_string(seconds.count()));
    RecordProperty(fmt::format("{}_bytes", name), std::to_string(memory));
    if (!kSanitized) {
      EXPECT_LT(memory, (int64_t{64} << 20) + (weight_bytes(model) + static_cast<int64_t>(fs::file_size(model))) / 5)
          << name;
    }
    fmt::print("{}: {:.3f} s, {:.1f} MB\n", name, seconds.count(), static_cast<double>(memory) / 1e6);
  }
}

}  // namespace
}  // namespace isomer::test
