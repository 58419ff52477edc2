// Files that belong together get their names together.
#pragma once

#include <filesystem>

#include "util/result.h"

namespace isomer::cli {

/// A folder beside the final place, so that files can be renamed into it; gone with everything left in it at the end.
class StagingFolder {
 public:
  static Result<StagingFolder> beside(const std::filesystem::path& place);
  StagingFolder(StagingFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  StagingFolder& operator=(StagingFolder&&) = delete;
  ~StagingFolder();
  const std::filesystem::path& path() const { return path_; }

  /// Moves every file to the folder of `place`, the one of its name last: until then the old model stands.
  Result<void> release_to(const std::filesystem::path& place) const;

 private:
  explicit StagingFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

}  // namespace isomer::cli
