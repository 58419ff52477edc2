// Runs a program and writes its largest resident set, in kB, to descriptor 3. What the kernel says of a child of a
// large test counts what that test held when it made the child; this program is small. It ends with the program's exit
// code, or 128 + the number of the signal that ended it.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

int main(int, char** arguments) {
  constexpr int kReport = 3, kCannotStart = 127;
  fcntl(kReport, F_SETFD, FD_CLOEXEC);
  const pid_t child = fork();
  if (child == 0) {
    // A test that kills this program means the other.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp(arguments[1], arguments + 1);
    _exit(kCannotStart);
  }
  int status = 0;
  rusage usage{};
  if (child < 0 || wait4(child, &status, 0, &usage) != child) return kCannotStart;
  dprintf(kReport, "%ld", usage.ru_maxrss);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
