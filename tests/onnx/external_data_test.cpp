// Weights beside the model: which paths are opened, and what else may be wrong with them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "graph/onnx/tensor_reader.h"
#include "onnx/messages.h"
#include "support/files.h"

namespace isomer::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// model/ with weights.bin (16 bytes) and what paths could abuse; outside/ beside it.
class ExternalData : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(model_ / "sub");
    fs::create_directories(scratch_.path() / "outside");
    write_file(model_ / "weights.bin", "0123456789abcdef");
    write_file(model_ / "sub/weights.bin", "0123456789abcdef");
    write_file(scratch_.path() / "outside/secret.bin", "0123456789abcdef");
    fs::create_symlink("weights.bin", model_ / "link.bin");
    fs::create_symlink("../outside/secret.bin", model_ / "out.bin");
    fs::create_directory_symlink("../outside", model_ / "linked");
    fs::create_directory_symlink("sub", model_ / "linked_sub");
    fs::create_symlink("nowhere.bin", model_ / "nowhere.bin");
    fs::create_hard_link(scratch_.path() / "outside/secret.bin", model_ / "hard.bin");
    ASSERT_EQ(mkfifo((model_ / "pipe").c_str(), 0600), 0);
  }

  Result<Tensor> read(const std::string& location, const std::string& entries = "") {
    onnx_proto::TensorProto proto = tensor_message("data_type: 2 dims: 4 data_location: 1 " + entries);
    auto& entry = *proto.add_external_data();
    entry.set_key("location");
    entry.set_value(location);
    return TensorReader({}, nullptr, {}, model_).read(proto);
  }

  ScratchFolder scratch_;
  const fs::path model_ = scratch_.path() / "model";
};

TEST_F(ExternalData, IsReadAtItsOffset) {
  for (const char* location : {"weights.bin", "./weights.bin", "sub/weights.bin", "sub//weights.bin",
                               "sub/../weights.bin", "linked/../weights.bin", "missing/./..//sub/weights.bin"}) {
    const auto tensor =
        read(location, "external_data { key: 'offset' value: '10' } external_data { key: 'length' value: '4' }");
    ASSERT_TRUE(tensor.ok()) << location << ": " << tensor.error().message();
    EXPECT_EQ(tensor->integer(0), 'a');
  }
  EXPECT_TRUE(
      read("weights.bin", "external_data { key: 'checksum' value: 'x' } external_data { key: 'later' value: 'y' }")
          .ok());
}

TEST_F(ExternalData, IsFoundInAFolderThatALinkLeadsTo) {
  fs::create_directory_symlink("model", scratch_.path() / "alias");
  onnx_proto::TensorProto proto =
      tensor_message("data_type: 2 dims: 4 data_location: 1 external_data { key: 'location' value: 'weights.bin' }");
  EXPECT_TRUE(TensorReader({}, nullptr, {}, scratch_.path() / "alias").read(proto).ok());
}

/// As ONNX Runtime 1.32 has it, absolute links and those that leave the folder on the way among them.
TEST_F(ExternalData, IsReadThroughLinksThatEndInTheFolder) {
  fs::create_symlink("link.bin", model_ / "twice.bin");
  fs::create_symlink(fs::canonical(model_) / "weights.bin", model_ / "absolute.bin");
  fs::create_symlink("../model/weights.bin", scratch_.path() / "outside/back.bin");
  fs::create_symlink("../outside/back.bin", model_ / "back.bin");
  for (const char* location : {"link.bin", "linked_sub/weights.bin", "twice.bin", "absolute.bin", "back.bin"})
    EXPECT_EQ(message_of(read(location)), "") << location;
}

/// The layout of Hugging Face's cache: both are links to blobs. What the folder of blobs has, a location cannot name.
TEST_F(ExternalData, IsReadWhereTheModelsFileLies) {
  const fs::path blobs = scratch_.path() / "blobs", snapshot = scratch_.path() / "snapshots/revision";
  fs::create_directories(blobs);
  fs::create_directories(snapshot);
  onnx_proto::ModelProto model = model_of_graph(R"(
    name: "g" output { name: "w" type { tensor_type { elem_type: 2 shape { dim { dim_value: 4 } } } } }
    initializer { name: "w" data_type: 2 dims: 4 data_location: 1 external_data { key: "location" value: "w" } })");
  write_message(blobs / "model", model);
  write_file(blobs / "w", "wwww");
  write_file(blobs / "weights", "1234");
  fs::create_symlink("../../blobs/model", snapshot / "model.onnx");
  EXPECT_THAT(message_of(import_model(snapshot / "model.onnx")), HasSubstr("No such file"));
  fs::create_symlink("../../blobs/weights", snapshot / "w");
  const auto graph = import_model(snapshot / "model.onnx");
  ASSERT_TRUE(graph.ok()) << message_of(graph);
  EXPECT_EQ(graph->value(graph->outputs()[0]).constant->integer(0), '1');
  fs::remove(snapshot / "w");
  fs::create_symlink("../../outside/secret.bin", snapshot / "w");
  EXPECT_THAT(message_of(import_model(snapshot / "model.onnx")), HasSubstr("one that leaves it found"));
}

TEST_F(ExternalData, IsNotReadElsewhere) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "an empty one found"},
      {".", "that of a folder found"},
      {"..", "one that leaves it found"},
      {"../outside/secret.bin", "one that leaves it found"},
      {"../model/weights.bin", "one that leaves it found"},
      {"sub/../../outside/secret.bin", "one that leaves it found"},
      {"sub/./../..//model/weights.bin", "one that leaves it found"},
      {"sub/..", "that of a folder found"},
      {"linked/../outside/secret.bin", "No such file"},
      {"sub/../linked/secret.bin", "one that leaves it found"},
      {"sub/../out.bin", "one that leaves it found"},
      {"/etc/passwd", "an absolute one found"},
      {"/dev/zero", "an absolute one found"},
      {"/proc/self/mem", "an absolute one found"},
      {(model_ / "weights.bin").string(), "an absolute one found"},
      {std::string("weights.bin\0.txt", 16), "one with a zero byte found"},
      {"weights.bin/", "that of a folder found"},
      {"sub/.", "that of a folder found"},
      {"sub\\weights.bin", "one with a backslash found"},
      {"..\\outside\\secret.bin", "one with a backslash found"},
      {"C:\\weights.bin", "one with a backslash found"},
      {std::string(5000, 'x'), "one of more than 4096 bytes found"},
      {"out.bin", "that stays in the model's folder expected, one that leaves it found"},
      {"linked/secret.bin", "that stays in the model's folder expected, one that leaves it found"},
      {"nowhere.bin", "without symbolic links expected"},
      {"hard.bin", "one with 2 hard links found"},
      {"pipe", "a regular file expected, a pipe found"},
      {"sub", "a regular file expected, a folder found"},
      {"missing.bin", "No such file"},
      {"weights.bin/x", "a readable file expected"},
  };
  for (const auto& [location, sentence] : cases)
    EXPECT_THAT(message_of(read(location)), HasSubstr(sentence)) << location;
}

TEST_F(ExternalData, MustLieInTheFile) {
  const auto with = [&](const std::string& key, const std::string& value) {
    return message_of(read("weights.bin", fmt::format("external_data {{ key: '{}' value: '{}' }}", key, value)));
  };
  EXPECT_EQ(with("offset", "12"), "");
  EXPECT_THAT(with("offset", "13"),
              HasSubstr("4 bytes from offset 13 of external data 'weights.bin' expected, a file of 16 bytes found"));
  EXPECT_THAT(with("offset", "18446744073709551615"), HasSubstr("a file of 16 bytes found"));
  EXPECT_THAT(with("offset", "18446744073709551617"), HasSubstr("an offset in decimal expected"));
  for (const char* text : {"-1", "", "x", "0x4", " 4", "4 ", "+4", "1e3", "4.0"})
    EXPECT_THAT(with("offset", text), HasSubstr("an offset in decimal expected")) << text;
  EXPECT_THAT(with("length", "x"), HasSubstr("external data with a length in decimal expected, 'x' found"));
  EXPECT_EQ(with("length", "4"), "");
  EXPECT_EQ(with("length", "0"), "") << "all, as others read it";
  EXPECT_THAT(with("length", "5"), HasSubstr("external data of 4 bytes expected, 5 found"));
  EXPECT_THAT(with("length", "18446744073709551615"), HasSubstr("external data of 4 bytes expected"));
  EXPECT_THAT(with("location", "weights.bin"), HasSubstr("'location' found twice"));
}

TEST_F(ExternalData, IsNotMixedWithDataInTheModel) {
  EXPECT_THAT(message_of(read("weights.bin", "raw_data: 'abcd'")), HasSubstr("data in one field expected"));
  EXPECT_THAT(message_of(read("weights.bin", "int32_data: 1")), HasSubstr("data in one field expected"));
}

TEST_F(ExternalData, NeedsAModelThatIsAFile) {
  onnx_proto::TensorProto proto =
      tensor_message("data_type: 2 dims: 4 data_location: 1 external_data { key: 'location' value: 'weights.bin' }");
  EXPECT_THAT(message_of(TensorReader().read(proto)), HasSubstr("a model that is read from a file"));
}

/// Whoever swaps a file for a link while it is opened gets an error, or the file: never what the link leads to.
TEST_F(ExternalData, DoesNotLoseARaceAgainstALink) {
  write_file(scratch_.path() / "outside/secret.bin", "SECRETSECRETSECR");
  fs::remove(model_ / "hard.bin");
  std::atomic<bool> stop = false;
  std::jthread swapper([&] {
    fs::create_symlink("../outside/secret.bin", model_ / "swap.link");
    write_file(model_ / "swap.file", "0123456789abcdef");
    while (!stop) {
      fs::rename(model_ / "swap.link", model_ / "swap");
      fs::create_symlink("../outside/secret.bin", model_ / "swap.link");
      fs::rename(model_ / "swap.file", model_ / "swap");
      write_file(model_ / "swap.file", "0123456789abcdef");
    }
  });
  for (int i = 0; i < 5000; ++i) {
    const auto tensor = read("swap");
    EXPECT_TRUE(!tensor.ok() || tensor->integer(0) == '0');
  }
  stop = true;
}

TEST(MappedFiles, ReadAsZerosWhatIsTruncatedAway) {
  ScratchFolder folder;
  const auto path = folder.path() / "file";
  write_file(path, std::string(100'000, 'x'));
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->unchanged());
  fs::resize_file(path, 10);
  EXPECT_EQ((*file)->bytes()[50'000], std::byte{0});
  EXPECT_FALSE((*file)->unchanged());
  EXPECT_THAT(message_of(check_unchanged((*file)->bytes().subspan(5, 1))), HasSubstr("a file that changed"));
}

TEST(MappedFiles, AreRegularFiles) {
  ScratchFolder folder;
  ASSERT_EQ(mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(message_of(MappedFile::open(folder.path() / "pipe")), HasSubstr("a regular file expected, a pipe found"));
  EXPECT_THAT(message_of(MappedFile::open(folder.path())), HasSubstr("a regular file expected, a folder found"));
  EXPECT_THAT(message_of(MappedFile::open("/dev/zero")), HasSubstr("a regular file expected, a device found"));
  EXPECT_THAT(message_of(MappedFile::open(folder.path() / "missing")), HasSubstr("No such file"));
}

}  // namespace
}  // namespace isomer::test
