// Files that come from somebody else: mapped read-only, opened so that a hostile path or a file that changes under our
// feet gives an error instead of somebody's secrets or a crash.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "util/result.h"

namespace isomer {

/// An open file descriptor, closed by its owner.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// A regular file mapped into memory. Bytes that disappear while mapped (another process truncates the file) read as
/// zeros; `unchanged` tells.
class MappedFile {
 public:
  /// Errors name what was found (a directory, a pipe, …), not the path.
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);

  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }
  /// Size and time of modification are still those of the moment when it was opened.
  bool unchanged() const;

 private:
  friend class Folder;
  MappedFile() = default;
  static Result<std::shared_ptr<const MappedFile>> map(FileDescriptor fd, const struct stat& facts);
  FileDescriptor fd_;
  struct timespec modified_ = {};
  std::span<const std::byte> bytes_;
};

/// An error when the bytes lie in a MappedFile that has changed since it was opened.
Result<void> check_unchanged(std::span<const std::byte> bytes);

/// A folder that files are opened beneath (reliability.md, S4): no path leads out of it.
class Folder {
 public:
  /// Symbolic links on the way to the folder are followed.
  static Result<Folder> open(const std::filesystem::path& path);

  /// Maps `relative`, a path beneath the folder: no absolute path, no `..`, no backslash, a regular file with one name
  /// only (no hard links). Symbolic links may lead to what is beneath the folder or `beside`, as ONNX Runtime has it.
  /// Checked on the descriptor that is then mapped. The error says what was found, not the path.
  Result<std::shared_ptr<const MappedFile>> map_file(std::string_view relative, const Folder* beside = nullptr) const;

 private:
  Result<FileDescriptor> open_beneath(const std::string& relative) const;
  Result<FileDescriptor> open_through_links(const std::string& relative, const Folder* beside) const;
  std::filesystem::path path_;
  FileDescriptor fd_;
};

/// The rules for `Folder::map_file` that the text of a path alone can break.
Result<void> check_relative_path(std::string_view relative);

}  // namespace isomer
