// Folders for files on their way, gone in the end however that came. Tests: tests/util/temporary_folder_test.cpp
#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "util/file.h"
#include "util/result.h"

namespace isomer {

/// A new folder `.isomer-XXXXXX`, removed by its owner with all that is in it. A process that is killed leaves it; the
/// next one that makes such a folder at the same place removes it. It is told from that of a process that lives by a
/// lock on the file `.isomer-lock` in it, which ends with its process. A process that was forked may make some,
/// whatever its parent's threads were doing.
class TemporaryFolder {
 public:
  /// `parent` empty: the current folder. Errors are of kind kUnsupported and don't name the place.
  static Result<TemporaryFolder> in(const std::filesystem::path& parent);
  /// In the system's folder for temporary files.
  static Result<TemporaryFolder> in_system_folder();

  TemporaryFolder(TemporaryFolder&& other) noexcept = default;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const { return *path_; }

  /// What has been put there.
  std::vector<std::filesystem::path> content() const;

 private:
  TemporaryFolder(const std::filesystem::path& path, FileDescriptor lock);
  std::unique_ptr<const std::filesystem::path> path_;  ///< nothing once moved from
  FileDescriptor lock_;
};

/// Removes those that this process has made, whatever its threads do with them: for a signal handler or another that
/// ends it. No thread makes or removes one afterwards: who tries waits for the end, as a second signal's handler does.
void remove_temporary_folders();

}  // namespace isomer
