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

Result<void> StagingFolder::write_model(const Graph& graph) {
  std::error_code failed;
  for (const fs::path& file : folder_.content()) fs::remove(file, failed);
  ExportOptions options;
  options.weights_name = [&](const std::string& original) { return weights_.free_name(original, others_); };
  return export_model(graph, file(), options);
}

Result<void> StagingFolder::release() const {
  const fs::path folder = place_.parent_path();
  std::vector<fs::path> moved;
  for (const fs::path& file : folder_.content()) {
    if (file.filename() == place_.filename()) continue;
    TRY(moved.emplace_back(), output_place(folder / file.filename()));
    TRY_VOID(move_to(file, moved.back()));
  }
  sync_folder(folder);
  if (!place_.has_filename()) return {};
  if (auto done = move_to(file(), place_); !done.ok()) {
    std::error_code failed;
    for (const fs::path& file : moved) fs::remove(file, failed);
    return done;
  }
  sync_folder(folder);
  weights_.remove_replaced();
  return {};
}

}  // namespace isomer
