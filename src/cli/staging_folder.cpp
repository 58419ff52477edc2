#include "cli/staging_folder.h"

#include <unistd.h>

#include "util/output_file.h"

namespace isomer::cli {

namespace fs = std::filesystem;

Result<StagingFolder> StagingFolder::beside(const fs::path& place) {
  TRY_VOID(check_output_place(place));
  const fs::path parent = place.has_parent_path() ? place.parent_path() : fs::path(".");
  std::string pattern = (parent / ".isomer-XXXXXX").string();
  if (!mkdtemp(pattern.data())) return unsupported(place.string(), "a folder that can be written to expected");
  return StagingFolder(pattern);
}

StagingFolder::~StagingFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

Result<void> StagingFolder::release_to(const fs::path& place) const {
  std::error_code error;
  const fs::path target = place.has_parent_path() ? place.parent_path() : fs::path(".");
  for (const auto& entry : fs::directory_iterator(path_))
    if (entry.path().filename() != place.filename()) fs::rename(entry.path(), target / entry.path().filename(), error);
  if (!error) fs::rename(path_ / place.filename(), place, error);
  if (error) return unsupported(place.string(), "a place that can be written to expected, found: {}", error.message());
  return {};
}

}  // namespace isomer::cli
