#include "driver/staging_folder.h"

#include "graph/onnx/export.h"
#include "util/output_file.h"

namespace isomer {

namespace fs = std::filesystem;

namespace {

Result<TemporaryFolder> folder_in(const fs::path& parent, const fs::path& place) {
  auto folder = TemporaryFolder::in(parent);
  if (!folder.ok()) return std::move(folder).error().within(place.string());
  return folder;
}

Result<void> make_folders(const fs::path& place) {
  std::error_code failed;
  fs::create_directories(place, failed);
  if (failed) return unsupported(place.string(), "a folder that can be made expected, found: {}", failed.message());
  return {};
}

}  // namespace

Result<StagingFolder> StagingFolder::beside(const fs::path& place, std::vector<fs::path> others) {
  TRY(fs::path resolved, output_place(place));
  TRY(TemporaryFolder folder, folder_in(resolved.parent_path(), place));
  return StagingFolder(std::move(folder), std::move(resolved), std::move(others));
}

Result<StagingFolder> StagingFolder::in(const fs::path& place) {
  std::error_code failed;
  fs::path there = fs::absolute(place, failed);
  while (!fs::exists(fs::symlink_status(there, failed)) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, failed))
    return unsupported(place.string(), "a folder expected, '{}' is none", there.string());
  TRY(TemporaryFolder folder, folder_in(there, place));
  return StagingFolder(std::move(folder), place / "", {});
}

std::vector<fs::path> StagingFolder::places() const {
  std::vector<fs::path> result = {place_};
  result.insert(result.end(), others_.begin(), others_.end());
  return result;
}

Result<void> StagingFolder::write_model(const Graph& graph) {
  std::error_code failed;
  for (const fs::path& file : folder_.content()) fs::remove(file, failed);
  ExportOptions options;
  options.weights_name = [&](const std::string& original) { return weights_.free_name(original, others_); };
  if (auto done = export_model(graph, file(), options); !done.ok()) return at_place(std::move(done).error());
  return {};
}

Error StagingFolder::at_place(Error error) const {
  const std::string here = (path() / "").string();
  if (error.where.starts_with(here)) error.where.replace(0, here.size(), (place_.parent_path() / "").string());
  return error;
}

Result<void> StagingFolder::release() const {
  const fs::path folder = place_.parent_path();
  std::vector<std::pair<fs::path, fs::path>> others;
  for (const fs::path& file : folder_.content()) {
    if (file.filename() == place_.filename()) continue;
    TRY(fs::path place, output_place(folder / file.filename()));
    others.emplace_back(file, std::move(place));
  }
  if (!place_.has_filename()) TRY_VOID(make_folders(folder));
  for (const auto& [file, place] : others) TRY_VOID(move_to(file, place));
  sync_folder(folder);
  if (!place_.has_filename()) return {};
  if (auto done = move_to(file(), place_); !done.ok()) {
    std::error_code failed;
    for (const auto& [file, place] : others) fs::remove(place, failed);
    return done;
  }
  sync_folder(folder);
  weights_.remove_replaced();
  return {};
}

}  // namespace isomer
