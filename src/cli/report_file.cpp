#include "cli/report_file.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "report/page.h"

namespace isomer::cli {

Result<std::optional<OutputFile>> file_for(const std::string& path) {
  if (path.empty()) return std::optional<OutputFile>();
  TRY(OutputFile file, OutputFile::create(path));
  return std::optional(std::move(file));
}

Result<void> write(std::string_view text, std::optional<OutputFile>& file) {
  if (!file) return {};
  TRY_VOID(file->write(text));
  return file->sync();
}

bool is_page(const std::string& path) { return path.ends_with(".html"); }

Result<void> write_measured(const std::string& path, const std::vector<std::string>& models,
                            const nlohmann::json& facts, std::optional<OutputFile>& file) {
  if (!file) return {};
  std::string title;
  for (const std::string& model : models)
    title += (title.empty() ? "" : ", ") + std::filesystem::path(model).filename().string();
  return write(is_page(path) ? report::page({title, nullptr, nullptr, {}}, facts) : json_text(facts, 2) + "\n", file);
}

}  // namespace isomer::cli
