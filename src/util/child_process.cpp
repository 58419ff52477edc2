#include "util/child_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

namespace isomer {

Result<ChildProcess> ChildProcess::start(const std::vector<std::string>& arguments,
                                         posix_spawn_file_actions_t& actions) {
  std::vector<std::string> copies = arguments;
  std::vector<char*> pointers;
  for (std::string& copy : copies) pointers.push_back(copy.data());
  pointers.push_back(nullptr);
  pid_t process = -1;
  const int failed = posix_spawnp(&process, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return unsupported(arguments[0], "a program that starts expected, found: {}", std::strerror(failed));
  return ChildProcess(process);
}

std::optional<int> ChildProcess::status() {
  int status = 0;
  if (process_ < 0 || waitpid(process_, &status, WNOHANG) != process_) return std::nullopt;
  process_ = -1;
  return status;
}

void ChildProcess::end() {
  if (process_ < 0) return;
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

}  // namespace isomer
