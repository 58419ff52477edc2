#include "onnx/traced.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>

namespace isomer::test {
namespace {

bool opens_files(uint64_t call) {
  switch (call) {
#ifdef SYS_open
    case SYS_open:
#endif
#ifdef SYS_creat
    case SYS_creat:
#endif
    case SYS_openat:
    case SYS_openat2: return true;
    default: return false;
  }
}

}  // namespace

std::optional<std::vector<std::filesystem::path>> files_opened_by(const std::function<void()>& act) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(77);
    raise(SIGSTOP);
    act();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return std::nullopt;
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
  std::vector<std::filesystem::path> opened;
  uint64_t call = 0;
  int signal = 0;
  while (ptrace(PTRACE_SYSCALL, child, nullptr, signal) == 0 && waitpid(child, &status, 0) == child &&
         WIFSTOPPED(status)) {
    signal = WSTOPSIG(status) == (SIGTRAP | 0x80) || WSTOPSIG(status) == SIGSTOP ? 0 : WSTOPSIG(status);
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) continue;
    __ptrace_syscall_info info = {};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0) continue;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) call = info.entry.nr;
    if (info.op != PTRACE_SYSCALL_INFO_EXIT || info.exit.is_error || !opens_files(call)) continue;
    std::error_code gone;
    const std::string link = "/proc/" + std::to_string(child) + "/fd/" + std::to_string(info.exit.rval);
    opened.push_back(std::filesystem::read_symlink(link, gone));
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? std::optional(opened) : std::nullopt;
}

}  // namespace isomer::test
