#include "util/subprocess.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "util/child_process.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/stop.h"

namespace isomer {
namespace {

constexpr size_t kMostOutput = size_t{1} << 20;
constexpr int kPollMilliseconds = 100;

}  // namespace

Result<Finished> run_program(const std::vector<std::string>& arguments, double seconds) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return unsupported(arguments[0], "a pipe expected, none given: {}", std::strerror(errno));
  const FileDescriptor reading(ends[0]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  auto started = ChildProcess::start(arguments, actions);
  close(ends[1]);
  TRY(ChildProcess child, std::move(started));
  Finished finished;
  const auto begin = Clock::now();
  bool is_open = true;
  while (true) {
    TRY_VOID(check_stop());
    if (seconds_since(begin) > seconds)
      return unsupported(arguments[0], "at most {} s of time expected, it took longer", seconds);
    // Streams that are closed are those of a program that ends, as a rule at once.
    pollfd ready{is_open ? reading.get() : -1, POLLIN, 0};
    if (poll(&ready, 1, is_open ? kPollMilliseconds : 1) > 0) {
      char block[4096];
      const ssize_t count = read(reading.get(), block, sizeof block);
      is_open = count > 0 || (count < 0 && errno == EINTR);
      if (count > 0 && finished.output.size() < kMostOutput) finished.output.append(block, static_cast<size_t>(count));
    }
    if (is_open) continue;
    if (const auto status = child.status()) {
      if (*status == ChildProcess::kUnknownEnd)
        return unsupported(arguments[0],
                           "a program whose end is told expected, found that this process has SIGCHLD "
                           "ignored or waits for all children elsewhere");
      finished.exit_code = WIFSIGNALED(*status) ? 128 + WTERMSIG(*status) : WEXITSTATUS(*status);
      return finished;
    }
  }
}

std::filesystem::path own_program(const std::string& name) {
  std::error_code error;
  const auto here = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  std::vector<std::filesystem::path> folders = {here, here.parent_path()};
  // Of a library in somebody else's program: beside the library.
  if (Dl_info own = {}; dladdr(reinterpret_cast<const void*>(&own_program), &own) != 0 && own.dli_fname)
    folders.push_back(std::filesystem::path(own.dli_fname).parent_path());
  for (const auto& folder : folders)
    if (!folder.empty() && std::filesystem::exists(folder / name, error)) return folder / name;
  return {};
}

std::filesystem::path cache_folder() {
  namespace fs = std::filesystem;
  // A relative XDG_CACHE_HOME says nothing, as its specification has it.
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache && fs::path(cache).is_absolute()) return fs::path(cache) / "isomer";
  const char* const home = std::getenv("HOME");
  return home && fs::path(home).is_absolute() ? fs::path(home) / ".cache" / "isomer" : fs::path();
}

}  // namespace isomer
