#include "driver/staging_folder.h"

#include <algorithm>

#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "util/output_file.h"

namespace isomer {

namespace fs = std::filesystem;

namespace {

/// Weights of the model that is there, if it is one, by their names.
std::vector<std::string> files_of_model(const fs::path& model) {
  ImportReport report;
  ImportOptions options;
  options.report = &report;
  return import_model(model, options).ok() ? report.external_files : std::vector<std::string>();
}

Result<TemporaryFolder> folder_in(const fs::path& parent, const fs::path& place) {
  auto folder = TemporaryFolder::in(parent);
  if (!folder.ok()) return std::move(folder).error().within(place.string());
  return folder;
}

}  // namespace

Result<StagingFolder> StagingFolder::beside(const fs::path& place, std::vector<fs::path> others) {
  TRY(fs::path resolved, output_place(place));
  TRY(TemporaryFolder folder, folder_in(resolved.parent_path(), place));
  return StagingFolder(std::move(folder), std::move(resolved), std::move(others));
}

Result<StagingFolder> StagingFolder::in(const fs::path& place) {
  TRY(TemporaryFolder folder, folder_in(place, place));
  return StagingFolder(std::move(folder), place / "", {});
}

std::vector<fs::path> StagingFolder::places() const {
  std::vector<fs::path> result = {place_};
  result.insert(result.end(), others_.begin(), others_.end());
  return result;
}

bool StagingFolder::is_taken(const fs::path& name) const {
  const fs::path place = place_.parent_path() / name;
  if (std::ranges::any_of(others_, [&](const fs::path& other) { return is_same_file(other, place); })) return true;
  if (std::error_code failed; !fs::exists(fs::symlink_status(place, failed))) return false;
  const std::vector<std::string> replaced = files_of_model(place_);
  return std::ranges::find(replaced, name.string()) == replaced.end();
}

void StagingFolder::clear() const {
  std::error_code failed;
  for (const fs::path& file : folder_.content()) fs::remove(file, failed);
}

Result<void> StagingFolder::write_model(const Graph& graph) const {
  for (int number = 1;; ++number) {
    clear();
    fs::path name = file();
    if (number > 1)
      name.replace_filename(fmt::format("{}-{}{}", place_.stem().string(), number, place_.extension().string()));
    TRY_VOID(export_model(graph, name));
    const auto is_in_the_way = [&](const fs::path& file) { return file != name && is_taken(file.filename()); };
    if (std::ranges::any_of(folder_.content(), is_in_the_way)) continue;
    // A model says what its weights are called, not what it is called itself.
    return name == file() ? Result<void>() : move_to(name, file());
  }
}

Result<void> StagingFolder::release() const {
  for (const fs::path& file : folder_.content()) {
    if (file.filename() == place_.filename()) continue;
    TRY(const fs::path place, output_place(place_.parent_path() / file.filename()));
    TRY_VOID(move_to(file, place));
  }
  return place_.has_filename() ? move_to(file(), place_) : Result<void>();
}

}  // namespace isomer
