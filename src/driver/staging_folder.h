// Files that belong together get their names together.
#pragma once

#include <filesystem>

#include "util/temporary_folder.h"

namespace isomer {

/// A folder beside the final place, so that files can be renamed into it; gone with everything left in it at the end.
class StagingFolder {
 public:
  static Result<StagingFolder> beside(const std::filesystem::path& place);
  const std::filesystem::path& path() const { return folder_.path(); }

  /// Moves every file to the folder of `place`, the one of its name last: until then the old model stands.
  Result<void> release_to(const std::filesystem::path& place) const;

 private:
  explicit StagingFolder(TemporaryFolder folder) : folder_(std::move(folder)) {}
  TemporaryFolder folder_;
};

}  // namespace isomer
