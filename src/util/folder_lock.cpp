#include "util/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "util/stop.h"

namespace isomer {

Result<FolderLock> FolderLock::take(const std::filesystem::path& folder) {
  constexpr auto kPatience = std::chrono::milliseconds(10);  // between looks
  FileDescriptor opened(open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (opened.valid() && flock(opened.get(), LOCK_EX | LOCK_NB) != 0 && (errno == EWOULDBLOCK || errno == EINTR)) {
    TRY_VOID(check_stop());
    std::this_thread::sleep_for(kPatience);
  }
  return FolderLock(std::move(opened));
}

}  // namespace isomer
