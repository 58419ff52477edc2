// Reading a model opens the model, its folder and its weights; writing one opens files of the output's folder. Nothing
// else, whatever the model says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "graph/onnx/export.h"
#include "onnx/messages.h"
#include "onnx/traced.h"
#include "support/files.h"

namespace isomer::test {
namespace {

namespace fs = std::filesystem;

/// A model with one tensor of external data in each place that can hold one.
onnx_proto::ModelProto model_with_data_at(const std::string& location) {
  onnx_proto::ModelProto model = model_of_graph(R"(
    name: "g"
    node { input: "x" input: "w" output: "y" op_type: "Add" }
    input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 300 } } } } }
    output { name: "y" type { tensor_type { elem_type: 1 shape { dim { dim_value: 300 } } } } }
    initializer { name: "w" data_type: 1 dims: 300 data_location: 1 })");
  auto& entry = *model.mutable_graph()->mutable_initializer(0)->add_external_data();
  entry.set_key("location");
  entry.set_value(location);
  return model;
}

bool is_beneath(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

class OpenedFiles : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    write_file(folder_ / "w.data", std::string(1200, '\1'));
    write_file(scratch_.path() / "secret.data", std::string(1200, '\2'));
    fs::create_symlink("../secret.data", folder_ / "link.data");
    fs::create_hard_link(scratch_.path() / "secret.data", folder_ / "hard.data");
  }

  ScratchFolder scratch_;
  const fs::path folder_ = fs::canonical(scratch_.path()) / "model";
};

TEST_F(OpenedFiles, OfAnImportLieInTheModelsFolder) {
  for (const char* location :
       {"w.data", "link.data", "hard.data", "../secret.data", "/etc/passwd", "/proc/self/maps", "x/../w.data"}) {
    write_message(folder_ / "m.onnx", model_with_data_at(location));
    const auto opened = files_opened_by([&] { (void)import_model(folder_ / "m.onnx"); });
    if (!opened) GTEST_SKIP() << "this system lets nobody trace";
    EXPECT_THAT(*opened, testing::Contains(folder_ / "m.onnx"));
    for (const fs::path& path : *opened) EXPECT_TRUE(is_beneath(path, folder_)) << location << " opened " << path;
    EXPECT_EQ(std::count(opened->begin(), opened->end(), folder_ / "w.data"),
              std::string_view(location).ends_with("w.data"));
  }
}

TEST_F(OpenedFiles, OfAnExportLieInTheOutputsFolder) {
  write_message(folder_ / "m.onnx", model_with_data_at("w.data"));
  const auto graph = import_model(folder_ / "m.onnx");
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  const fs::path out = fs::canonical(scratch_.path()) / "out";
  fs::create_directories(out);
  const auto opened = files_opened_by([&] { (void)export_model(*graph, out / "m.onnx"); });
  if (!opened) GTEST_SKIP() << "this system lets nobody trace";
  EXPECT_FALSE(opened->empty());
  for (const fs::path& path : *opened) EXPECT_TRUE(is_beneath(path, out)) << path;
}

}  // namespace
}  // namespace isomer::test
