// Where tests find and leave files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace isomer::test {

/// A path inside the source tree: source_path("models/mlp.onnx").
std::filesystem::path source_path(const std::filesystem::path& relative);

/// An executable of this build: tool_path("isomer").
std::filesystem::path tool_path(const std::string& name);

/// The whole content of a file; throws std::runtime_error when it can't be read.
std::string read_file(const std::filesystem::path& path);

/// Replaces the file's content; throws std::runtime_error when it can't be written.
void write_file(const std::filesystem::path& path, const std::string& content);

/// A new, empty folder that is removed with all its content in the end.
class ScratchFolder {
 public:
  /// In the folder for temporary files, or in `parent` where there is such a folder.
  explicit ScratchFolder(const std::filesystem::path& parent = {});
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The fenced blocks that start with ```KIND, of a page of the tree; throws std::runtime_error where there is none.
std::vector<std::string> blocks_of(const std::filesystem::path& page, const std::string& kind);

}  // namespace isomer::test
