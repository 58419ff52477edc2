// Models through import and export, for the tests of what an exported file holds.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "graph/hash.h"
#include "graph/onnx/export.h"
#include "onnx/messages.h"
#include "support/files.h"

namespace isomer::test {

inline const char* const kFloat2 = "type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } }";

inline std::string with_types(std::string text) {
  for (size_t at; (at = text.find("FLOAT2")) != std::string::npos;) text.replace(at, 6, kFloat2);
  return text;
}

inline onnx_proto::ModelProto graph_model(const std::string& text) { return model_of_graph(with_types(text)); }

class Export : public testing::Test {
 protected:
  onnx_proto::ModelProto round_trip(const onnx_proto::ModelProto& model) {
    const auto graph = import_message(model);
    EXPECT_TRUE(graph.ok()) << message_of(graph);
    if (!graph.ok()) return {};
    const auto written = export_model(*graph, path());
    EXPECT_TRUE(written.ok()) << message_of(written);
    const auto back = import_model(path());
    EXPECT_TRUE(back.ok()) << message_of(back);
    if (!back.ok()) return {};
    EXPECT_EQ(structural_hash(*back), structural_hash(*graph));
    return read_message(path());
  }
  std::filesystem::path path() const { return scratch_.path() / "out.onnx"; }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(scratch_.path()))
      names.push_back(entry.path().filename().string());
    return names;
  }
  ScratchFolder scratch_;
};

}  // namespace isomer::test
