#include "driver/staging_folder.h"

#include "util/output_file.h"

namespace isomer {

namespace fs = std::filesystem;

Result<StagingFolder> StagingFolder::beside(const fs::path& place) {
  TRY_VOID(check_output_place(place));
  auto folder = TemporaryFolder::in(place.parent_path());
  if (!folder.ok()) return std::move(folder).error().within(place.string());
  return StagingFolder(*std::move(folder));
}

Result<void> StagingFolder::release_to(const fs::path& place) const {
  std::error_code error;
  for (const fs::path& file : folder_.content())
    if (file.filename() != place.filename() && !error) fs::rename(file, place.parent_path() / file.filename(), error);
  if (!error) fs::rename(path() / place.filename(), place, error);
  if (error) return unsupported(place.string(), "a place that can be written to expected, found: {}", error.message());
  return {};
}

}  // namespace isomer
