#include "util/temporary_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <utility>

namespace isomer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = ".isomer-", kPattern = ".isomer-XXXXXX";
constexpr const char* kLock = ".isomer-lock";

Error failure() {
  const int number = errno;
  return of_system(number,
                   unsupported("", "a folder that can be written to expected, found: {}", std::strerror(number)));
}

/// No symbolic link is followed here.
FileDescriptor open_folder(int parent, const char* name) {
  return FileDescriptor(openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

/// Calls no allocator, as signal handlers may not.
template <class Visit>
void for_each_name(int folder, const Visit& visit) {
  const FileDescriptor stream(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!stream.valid()) return;
  alignas(dirent64) std::array<char, 4096> entries;
  for (ssize_t size; (size = getdents64(stream.get(), entries.data(), entries.size())) > 0;)
    for (ssize_t at = 0; at < size;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") visit(entry->d_name);
      at += entry->d_reclen;
    }
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  for_each_name(folder, [&](const char* name) { names.emplace_back(name); });
  return names;
}

/// Everything in a folder but its lock: who is killed within this leaves a folder that is known for what it is.
void remove_content(int folder) {
  // Reading a folder that changes may pass names over.
  for (bool has_removed = true; has_removed;) {
    has_removed = false;
    for_each_name(folder, [&](const char* name) {
      if (name == std::string_view(kLock)) return;
      if (unlinkat(folder, name, 0) != 0) {
        const FileDescriptor inner = open_folder(folder, name);
        if (!inner.valid()) return;
        remove_content(inner.get());
        unlinkat(inner.get(), kLock, 0);
        if (unlinkat(folder, name, AT_REMOVEDIR) != 0) return;
      }
      has_removed = true;
    });
  }
}

void remove_folder(int parent, const char* name) {
  const FileDescriptor folder = open_folder(parent, name);
  if (!folder.valid()) return;
  // Another thread may write there once more before it waits, or the process is gone.
  constexpr int kTries = 100;
  for (int tries = 0; tries < kTries; ++tries) {
    remove_content(folder.get());
    unlinkat(folder.get(), kLock, 0);
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || (errno != ENOTEMPTY && errno != EEXIST)) return;
  }
}

bool has_pattern(std::string_view name) {
  return name.size() == kPattern.size() && name.starts_with(kPrefix) &&
         std::ranges::all_of(name.substr(kPrefix.size()), [](unsigned char c) { return std::isalnum(c) != 0; });
}

/// The lock under which folders are made and removed, by a signal handler too. Whoever holds it gets no signal: a
/// handler waits for other threads only.
std::atomic_flag is_held;

/// Takes the lock; the signals that were blocked before.
sigset_t take_lock() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  while (is_held.test_and_set(std::memory_order_acquire)) poll(nullptr, 0, 1);
  return before;
}

class Hold {
 public:
  Hold() = default;
  Hold(const Hold&) = delete;
  ~Hold() {
    is_held.clear(std::memory_order_release);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  const sigset_t before_ = take_lock();
};

/// The paths of this process's folders, read and changed under the lock. Those that find no place stay where a signal
/// ends the process: the next one removes them.
std::array<const char*, 64> living = {};

/// In a process that is forked from here nobody holds the lock, and all folders are the parent's.
void leave_to_parent() {
  is_held.clear();
  living.fill(nullptr);
}

/// Of this kind and these permissions, as it was made.
bool is_mine(const FileDescriptor& file, mode_t mode) {
  constexpr mode_t kCompared = S_IFMT | S_IRWXU | S_IRWXG | S_IRWXO;
  struct stat facts = {};
  return file.valid() && fstat(file.get(), &facts) == 0 && (facts.st_mode & kCompared) == mode &&
         facts.st_uid == geteuid();
}

/// Of this user's folders of this kind, those whose makers live no more.
void remove_stale(int parent) {
  for (const std::string& name : names_in(parent)) {
    if (!has_pattern(name)) continue;
    // One that another thread is making has no lock yet; and what is begun to be removed is removed.
    const Hold hold;
    const FileDescriptor folder = open_folder(parent, name.c_str());
    if (!is_mine(folder, S_IFDIR | S_IRWXU)) continue;
    const FileDescriptor lock(openat(folder.get(), kLock, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!lock.valid())
      // One that is just being made, if it is empty: its maker takes another. Else it is none of ours and stays.
      unlinkat(parent, name.c_str(), AT_REMOVEDIR);
    else if (is_mine(lock, S_IFREG | S_IRUSR | S_IWUSR) && flock(lock.get(), LOCK_EX | LOCK_NB) == 0)
      remove_folder(parent, name.c_str());
  }
}

/// The lock of a new folder, held; nothing where somebody took the folder for a stale one meanwhile.
Result<std::optional<FileDescriptor>> lock_of(const fs::path& folder) {
  FileDescriptor lock(open((folder / kLock).c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock.valid() && errno != ENOENT) return failure();
  // A file system without locks has none for those who look for stale folders either.
  const bool is_lost = !lock.valid() || (flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK);
  struct stat facts = {};
  if (is_lost || fstat(lock.get(), &facts) != 0 || facts.st_nlink == 0) return std::optional<FileDescriptor>();
  return std::optional(std::move(lock));
}

}  // namespace

Result<TemporaryFolder> TemporaryFolder::in(const fs::path& parent) {
  [[maybe_unused]] static const int failed = pthread_atfork(nullptr, nullptr, leave_to_parent);
  const fs::path place = parent.empty() ? fs::path(".") : parent;
  if (const FileDescriptor folder(open(place.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)); folder.valid())
    remove_stale(folder.get());
  for (;;) {
    std::string name = (place / kPattern).string();
    const Hold hold;
    if (!mkdtemp(name.data())) return failure();
    auto lock = lock_of(name);
    if (lock.ok() && *lock) return TemporaryFolder(name, **std::move(lock));
    rmdir(name.c_str());
    if (!lock.ok()) return std::move(lock).error();
  }
}

Result<TemporaryFolder> TemporaryFolder::in_system_folder() {
  std::error_code failure;
  const fs::path place = fs::temp_directory_path(failure);
  if (failure) return unsupported("temporary files", "a folder for them expected, found: {}", failure.message());
  auto made = in(place);
  if (!made.ok()) return std::move(made).error().within(place.string());
  return made;
}

TemporaryFolder::TemporaryFolder(const fs::path& path, FileDescriptor lock)
    : path_(std::make_unique<const fs::path>(path)), lock_(std::move(lock)) {
  const auto free = std::ranges::find(living, nullptr);
  if (free != living.end()) *free = path_->c_str();
}

TemporaryFolder::~TemporaryFolder() {
  if (!path_) return;
  const Hold hold;
  std::ranges::replace(living, path_->c_str(), nullptr);
  remove_folder(AT_FDCWD, path_->c_str());
}

std::vector<fs::path> TemporaryFolder::content() const {
  std::vector<fs::path> result;
  const FileDescriptor folder = open_folder(AT_FDCWD, path_->c_str());
  if (!folder.valid()) return result;
  for (const std::string& name : names_in(folder.get()))
    if (name != kLock) result.push_back(*path_ / name);
  return result;
}

void remove_temporary_folders() {
  take_lock();
  for (const char*& path : living)
    if (const char* const mine = std::exchange(path, nullptr)) remove_folder(AT_FDCWD, mine);
}

}  // namespace isomer
