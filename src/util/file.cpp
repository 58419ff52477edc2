#include "util/file.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>

#include "util/mapped_bytes.h"
#include "util/mapping_guard.h"

namespace isomer {
namespace {

constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

Error opening_error(int error) {
  switch (error) {
    case ELOOP: return invalid("", "a path without symbolic links expected, one found");
    case EXDEV: return invalid("", "a path that stays in the model's folder expected, one that leaves it found");
    default: return of_system(error, invalid("", "a readable file expected, found: {}", std::strerror(error)));
  }
}

std::string_view kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFDIR: return "a folder";
    case S_IFIFO: return "a pipe";
    case S_IFSOCK: return "a socket";
    case S_IFCHR:
    case S_IFBLK: return "a device";
    case S_IFLNK: return "a symbolic link";
    default: return "something else";
  }
}

Result<struct stat> facts_of(const FileDescriptor& fd) {
  struct stat facts = {};
  if (fstat(fd.get(), &facts) != 0) return opening_error(errno);
  if (!S_ISREG(facts.st_mode)) return invalid("", "a regular file expected, {} found", kind_of(facts.st_mode));
  return facts;
}

/// Kernels before 5.6 and some sandboxes have no openat2: part by part, none of which may be a link. A folder of the
/// path that is moved away meanwhile stays the folder that was opened.
Result<FileDescriptor> open_part_by_part(int folder, const std::string& relative) {
  FileDescriptor current;
  size_t start = 0;
  while (true) {
    const size_t slash = relative.find('/', start);
    const std::string part = relative.substr(start, slash - start);
    const bool last = slash == std::string::npos;
    const int flags = last ? kReadFlags | O_NOFOLLOW : O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
    if (!part.empty() && part != ".") {
      FileDescriptor next(openat(current.valid() ? current.get() : folder, part.c_str(), flags));
      if (!next.valid()) return opening_error(errno == ENOTDIR && !last ? ELOOP : errno);
      current = std::move(next);
    }
    if (last) return current;
    start = slash + 1;
  }
}

/// All mapped files by where they start.
struct Mappings {
  std::mutex mutex;
  std::map<const std::byte*, const MappedFile*> files;
};
Mappings& mappings() {
  static Mappings instance;
  return instance;
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) close(fd_);
}

Result<std::shared_ptr<const MappedFile>> MappedFile::map(FileDescriptor fd, const struct stat& facts) {
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->modified_ = facts.st_mtim;
  const auto size = static_cast<size_t>(facts.st_size);
  if (size > 0) {
    void* start = mmap(nullptr, size, PROT_READ, MAP_PRIVATE | MAP_NORESERVE, fd.get(), 0);
    if (start == MAP_FAILED)
      return of_system(errno, invalid("", "a file that can be mapped expected, found: {}", std::strerror(errno)));
    file->bytes_ = {static_cast<const std::byte*>(start), size};
    guard_mapping(start, size);
    const std::lock_guard lock(mappings().mutex);
    mappings().files.emplace(file->bytes_.data(), file.get());
  }
  file->fd_ = std::move(fd);
  return std::shared_ptr<const MappedFile>(std::move(file));
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  FileDescriptor fd(::open(path.c_str(), kReadFlags));
  if (!fd.valid()) return opening_error(errno);
  TRY(const struct stat facts, facts_of(fd));
  return map(std::move(fd), facts);
}

MappedFile::~MappedFile() {
  if (bytes_.empty()) return;
  {
    const std::lock_guard lock(mappings().mutex);
    mappings().files.erase(bytes_.data());
  }
  void* start = const_cast<std::byte*>(bytes_.data());
  release_mapping(start);
  munmap(start, bytes_.size());
}

bool MappedFile::unchanged() const {
  struct stat now = {};
  return fstat(fd_.get(), &now) == 0 && static_cast<size_t>(now.st_size) == bytes_.size() &&
         now.st_mtim.tv_sec == modified_.tv_sec && now.st_mtim.tv_nsec == modified_.tv_nsec;
}

const MappedFile* mapped_file_of(std::span<const std::byte> bytes) {
  const std::lock_guard lock(mappings().mutex);
  auto after = mappings().files.upper_bound(bytes.data());
  if (after == mappings().files.begin()) return nullptr;
  const MappedFile* file = std::prev(after)->second;
  return bytes.data() < file->bytes().data() + file->bytes().size() ? file : nullptr;
}

Result<void> check_unchanged(const MappedFile& file) {
  if (file.unchanged()) return {};
  return invalid("", "weights that stay as they are expected, a file that changed while it was in use found");
}

Result<void> check_unchanged(std::span<const std::byte> bytes) {
  const MappedFile* file = mapped_file_of(bytes);
  return file == nullptr ? Result<void>() : check_unchanged(*file);
}

Result<Folder> Folder::open(const std::filesystem::path& path) {
  Folder folder;
  folder.path_ = path.empty() ? "." : path;
  folder.fd_ = FileDescriptor(::open(path.empty() ? "." : path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.fd_.valid()) return opening_error(errno);
  return folder;
}

Result<void> check_relative_path(std::string_view relative) {
  const auto refuse = [](std::string_view found) {
    return invalid("", "a relative path of a file beneath the model's folder expected, {} found", found);
  };
  if (relative.empty()) return refuse("an empty one");
  if (relative.size() > 4096) return refuse("one of more than 4096 bytes");
  if (relative.find('\0') != std::string_view::npos) return refuse("one with a zero byte");
  if (relative.find('\\') != std::string_view::npos) return refuse("one with a backslash");
  if (relative.front() == '/') return refuse("an absolute one");
  int depth = 0;
  for (size_t start = 0; start <= relative.size();) {
    const size_t end = std::min(relative.find('/', start), relative.size());
    const std::string_view part = relative.substr(start, end - start);
    const bool is_up = part == "..", is_same = part.empty() || part == ".";
    if (!is_same) depth += is_up ? -1 : 1;
    if (depth < 0) return refuse("one that leaves it");
    if (end == relative.size() && (is_up || is_same)) return refuse("that of a folder");
    start = end + 1;
  }
  return {};
}

Result<FileDescriptor> Folder::open_beneath(const std::string& relative) const {
  open_how how = {};
  how.flags = kReadFlags | O_NOFOLLOW;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  FileDescriptor fd(static_cast<int>(syscall(SYS_openat2, fd_.get(), relative.c_str(), &how, sizeof how)));
  if (fd.valid()) return fd;
  if (errno == ENOSYS || errno == EPERM || errno == EINVAL) return open_part_by_part(fd_.get(), relative);
  return opening_error(errno);
}

/// Where links lead is looked up, and then opened as a path without any: whoever swaps them meanwhile gains nothing.
Result<FileDescriptor> Folder::open_through_links(const std::string& relative, const Folder* beside) const {
  std::error_code failed;
  const std::filesystem::path target = std::filesystem::canonical(path_ / relative, failed);
  if (failed) return open_beneath(relative);
  for (const Folder* folder : {this, beside}) {
    if (!folder) continue;
    const std::filesystem::path inside = target.lexically_relative(std::filesystem::canonical(folder->path_, failed));
    if (!failed && !inside.empty() && *inside.begin() != "..") return folder->open_beneath(inside.string());
  }
  return opening_error(EXDEV);
}

Result<std::shared_ptr<const MappedFile>> Folder::map_file(std::string_view relative, const Folder* beside) const {
  TRY_VOID(check_relative_path(relative));
  // As a text: a link before '..' leads nowhere.
  const std::string place = std::filesystem::path(relative).lexically_normal().string();
  auto opened = open_beneath(place);
  if (!opened.ok()) opened = open_through_links(place, beside);
  TRY(FileDescriptor fd, std::move(opened));
  TRY(const struct stat facts, facts_of(fd));
  if (facts.st_nlink != 1)
    return invalid("", "a file with one name expected, one with {} hard links found", facts.st_nlink);
  return MappedFile::map(std::move(fd), facts);
}

}  // namespace isomer
