#include "support/files.h"

#include <stdlib.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace isomer::test {

namespace fs = std::filesystem;

fs::path source_path(const fs::path& relative) { return fs::path(ISOMER_SOURCE_DIR) / relative; }

fs::path tool_path(const std::string& name) {
  return fs::read_symlink("/proc/self/exe").parent_path().parent_path() / name;
}

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("can't read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const fs::path& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!out.flush()) throw std::runtime_error("can't write " + path.string());
}

ScratchFolder::ScratchFolder(const fs::path& parent) {
  const bool is_given = !parent.empty() && fs::is_directory(parent);
  std::string name = ((is_given ? parent : fs::temp_directory_path()) / "isomer-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("can't create " + name);
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::string> blocks_of(const fs::path& page, const std::string& kind) {
  const std::string text = read_file(source_path(page)), fence = "\n```" + kind + "\n";
  std::vector<std::string> blocks;
  for (size_t at = text.find(fence); at != std::string::npos; at = text.find(fence, at)) {
    at += fence.size();
    blocks.push_back(text.substr(at, text.find("```", at) - at));
  }
  if (blocks.empty()) throw std::runtime_error(page.string() + ": no block " + kind);
  return blocks;
}

}  // namespace isomer::test
