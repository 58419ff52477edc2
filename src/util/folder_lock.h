// One process or thread at a time that reads files of a folder, changes them and writes them back. Test:
// tests/util/folder_lock_test.cpp
#pragma once

#include <filesystem>

#include "util/file.h"
#include "util/result.h"

namespace isomer {

/// Held as long as it lives. It leaves nothing in the folder, and keeps out only who takes one.
class FolderLock {
 public:
  /// Waits for whoever has it. Where the file system has no locks of folders nobody is kept out. Errors (kStopped):
  /// stop.h.
  static Result<FolderLock> take(const std::filesystem::path& folder);

 private:
  explicit FolderLock(FileDescriptor folder) : folder_(std::move(folder)) {}
  FileDescriptor folder_;
};

}  // namespace isomer
