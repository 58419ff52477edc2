// A file that appears whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "util/file.h"
#include "util/result.h"
#include "util/temporary_folder.h"

namespace isomer {

/// Where a file of this name is written: symbolic links are followed, one to a place where nothing is too. An error
/// unless a file can be made there or replaces a regular one: not a folder, a device or a pipe.
Result<std::filesystem::path> output_place(const std::filesystem::path& path);
/// Moves a file to such a place; it gets the permissions of the one that it replaces.
Result<void> move_to(const std::filesystem::path& file, const std::filesystem::path& place);
/// What files are called there is on the disk, where the system lets us see to it.
void sync_folder(const std::filesystem::path& folder);
/// Whether two names are of one file, whatever links lead to it and whether it is there yet.
bool is_same_file(const std::filesystem::path& one, const std::filesystem::path& other);

/// Written in a TemporaryFolder beside its place and moved there by `commit`; without that nothing stays. Errors are of
/// kind kUnsupported and name the path.
class OutputFile {
 public:
  /// At its output_place; an existing file's permissions stay.
  static Result<OutputFile> create(const std::filesystem::path& path);

  OutputFile(OutputFile&& other) noexcept = default;
  OutputFile& operator=(OutputFile&&) = delete;

  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  /// Zeros up to the next multiple of `alignment`.
  Result<void> align(uint64_t alignment);
  uint64_t size() const { return size_; }

  /// All bytes on the disk, still in the temporary folder.
  Result<void> sync();
  /// `sync` if that has not been done, and the final name.
  Result<void> commit();

 private:
  OutputFile() = default;
  Result<void> flush();
  Error failure(std::string_view action) const;

  std::filesystem::path path_;
  std::optional<TemporaryFolder> folder_;  ///< until it is committed; holds a file of the final name
  FileDescriptor fd_;
  std::string buffer_;
  uint64_t size_ = 0;
  bool synced_ = false;
};

}  // namespace isomer
