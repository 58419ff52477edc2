// A process that was started, for whoever owns it. Tests: tests/util/subprocess_test.cpp,
// tests/util/worker_process_test.cpp
#pragma once

#include <spawn.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "util/result.h"

namespace isomer {

/// It is killed with its owner, unless its end was seen.
class ChildProcess {
 public:
  /// `arguments[0]` is looked for on $PATH where it is no path; `actions` are destroyed. Errors (kUnsupported): it
  /// can't be started.
  static Result<ChildProcess> start(const std::vector<std::string>& arguments, posix_spawn_file_actions_t& actions);
  /// A copy of this process, with the calling thread alone, that does this and ends. Errors: there can't be one.
  static Result<ChildProcess> fork(const std::function<void()>& work);
  ChildProcess(ChildProcess&& other) noexcept : process_(std::exchange(other.process_, -1)) {}
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    std::swap(process_, other.process_);
    return *this;
  }
  ~ChildProcess() { end(); }

  bool is_there() const { return process_ >= 0; }
  /// Neither an exit nor a signal: where SIGCHLD is ignored, or somebody else waits for all children, nobody tells.
  static constexpr int kUnknownEnd = -1;
  /// As waitpid gives it, or kUnknownEnd, once it has ended; it is no longer there then.
  std::optional<int> status();
  void end();

 private:
  explicit ChildProcess(pid_t process) : process_(process) {}

  pid_t process_ = -1;
};

}  // namespace isomer
