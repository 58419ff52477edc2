#include "util/child_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
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

Result<ChildProcess> ChildProcess::fork(const std::function<void()>& work) {
  const pid_t process = ::fork();
  if (process < 0) return unsupported("", "a copy of this process expected, none made: {}", std::strerror(errno));
  if (process > 0) return ChildProcess(process);
  for (const int request : {SIGINT, SIGHUP}) std::signal(request, SIG_IGN);  // what a terminal sends is for who waits
  for (const int end : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM}) std::signal(end, SIG_DFL);
  // Nothing unwinds into what the parent goes on with.
  try {
    work();
  } catch (...) {
    std::abort();
  }
  _exit(0);
}

std::optional<int> ChildProcess::status() {
  int status = 0;
  if (process_ < 0) return std::nullopt;
  const pid_t ended = waitpid(process_, &status, WNOHANG);
  if (ended < 0 && errno == ECHILD)
    status = kUnknownEnd;
  else if (ended != process_)
    return std::nullopt;
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
