#include "util/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace isomer {
namespace {

namespace fs = std::filesystem;

constexpr size_t kBufferSize = size_t{1} << 20;

int write_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(fd, data, std::min<size_t>(size, size_t{1} << 30));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return 0;
}

Result<void> check_output_place(const fs::path& path) {
  if (path.native().find('\0') != std::string::npos) return unsupported(path.c_str(), "a path without NUL expected");
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  if (fs::is_directory(status)) return unsupported(path.string(), "a regular file to replace expected, a folder found");
  if (!path.has_filename()) return unsupported(path.string(), "the name of a file expected, that of a folder found");
  if (fs::exists(status) && !fs::is_regular_file(status))
    return unsupported(path.string(), "a regular file to replace expected, something else found");
  return {};
}

/// weakly_canonical does not follow a link to a file that is yet to be made.
Result<fs::path> follow_links(const fs::path& path) {
  constexpr int kMostLinks = 40;
  fs::path place = path;
  std::error_code failed;
  for (int links = 0; fs::is_symlink(fs::symlink_status(place, failed)); ++links) {
    const fs::path target = fs::read_symlink(place, failed);
    if (!failed && links == kMostLinks) failed = std::make_error_code(std::errc::too_many_symbolic_link_levels);
    if (failed) return unsupported(path.string(), "can't follow the link: {}", failed.message());
    place = place.parent_path() / target;
  }
  return place;
}

}  // namespace

Result<fs::path> output_place(const fs::path& path) {
  TRY_VOID(check_output_place(path));
  TRY(const fs::path place, follow_links(path));
  TRY_VOID(check_output_place(place));
  return place;
}

Result<void> move_to(const fs::path& file, const fs::path& place) {
  std::error_code failed;
  if (const fs::file_status status = fs::status(place, failed); fs::exists(status))
    fs::permissions(file, status.permissions(), failed);
  failed.clear();
  fs::rename(file, place, failed);
  if (failed)
    return unsupported(place.string(), "a place that can be written to expected, found: {}", failed.message());
  return {};
}

void sync_folder(const fs::path& folder) {
  const FileDescriptor fd(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.valid()) fsync(fd.get());
}

bool is_same_file(const fs::path& one, const fs::path& other) {
  std::error_code failed;
  if (fs::equivalent(one, other, failed) && !failed) return true;
  const auto first = follow_links(one), second = follow_links(other);
  if (!first.ok() || !second.ok()) return false;
  const fs::path a = fs::weakly_canonical(fs::absolute(*first, failed), failed);
  const fs::path b = fs::weakly_canonical(fs::absolute(*second, failed), failed);
  return !failed && a == b;
}

Result<OutputFile> OutputFile::create(const fs::path& path) {
  OutputFile file;
  TRY(file.path_, output_place(path));
  auto folder = TemporaryFolder::in(file.path_.parent_path());
  if (!folder.ok()) return std::move(folder).error().within(file.path_.string());
  file.folder_.emplace(*std::move(folder));
  const fs::path name = file.folder_->path() / file.path_.filename();
  file.fd_ = FileDescriptor(open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.fd_.valid()) return file.failure("create");
  std::error_code failed;
  if (const fs::file_status status = fs::status(file.path_, failed); fs::exists(status))
    fchmod(file.fd_.get(), static_cast<mode_t>(status.permissions()));
  return file;
}

Error OutputFile::failure(std::string_view action) const {
  const int number = errno;
  return of_system(number, unsupported(path_.string(), "can't {} the file: {}", action, std::strerror(number)));
}

Result<void> OutputFile::flush() {
  errno = write_all(fd_.get(), buffer_.data(), buffer_.size());
  buffer_.clear();
  if (errno != 0) return failure("write");
  return {};
}

Result<void> OutputFile::write(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const char*>(bytes.data());
  size_ += bytes.size();
  if (buffer_.size() + bytes.size() > kBufferSize) TRY_VOID(flush());
  if (bytes.size() <= kBufferSize) {
    buffer_.append(data, bytes.size());
    return {};
  }
  errno = write_all(fd_.get(), data, bytes.size());
  if (errno != 0) return failure("write");
  return {};
}

Result<void> OutputFile::align(uint64_t alignment) {
  const uint64_t rest = size_ % alignment;
  return rest == 0 ? Result<void>() : write(std::string(alignment - rest, '\0'));
}

Result<void> OutputFile::sync() {
  TRY_VOID(flush());
  if (fsync(fd_.get()) != 0 && errno != EINVAL) return failure("write");
  synced_ = true;
  return {};
}

Result<void> OutputFile::commit() {
  if (!synced_) TRY_VOID(sync());
  if (rename((folder_->path() / path_.filename()).c_str(), path_.c_str()) != 0) return failure("rename");
  folder_.reset();
  sync_folder(path_.parent_path());
  return {};
}

}  // namespace isomer
