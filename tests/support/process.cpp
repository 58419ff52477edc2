#include "support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string_view>

#include "support/files.h"
#include "util/check.h"

namespace isomer::test {

namespace {

using Clock = std::chrono::steady_clock;

struct Pipe {
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("can't make a pipe");
  }
  ~Pipe() {
    close_end(0);
    close_end(1);
  }
  void close_end(size_t end) {
    if (ends[end] >= 0) close(ends[end]);
    ends[end] = -1;
  }
  std::array<int, 2> ends{-1, -1};
};

/// Appends what can be read now; false at the end of the stream.
bool drain(int fd, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t count = read(fd, buffer.data(), buffer.size());
  if (count > 0) text.append(buffer.data(), static_cast<size_t>(count));
  return count > 0;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

/// A file descriptor, at its start, from which `content` can be read.
int memory_file(const std::string& content) {
  const int file = memfd_create("input", MFD_CLOEXEC);
  const ssize_t written = pwrite(file, content.data(), content.size(), 0);
  if (written != static_cast<ssize_t>(content.size())) throw std::runtime_error("can't make an input");
  return file;
}

/// This process's own, but for the place of caches: nothing that a user's runs, or another test's, left there is of use
/// to a test, and a user keeps what was measured while nothing else ran.
std::vector<std::string> environment() {
  static const ScratchFolder caches;
  std::vector<std::string> settings = {"XDG_CACHE_HOME=" + caches.path().string()};
  for (char** setting = environ; *setting != nullptr; ++setting)
    if (!std::string_view(*setting).starts_with("XDG_CACHE_HOME=")) settings.emplace_back(*setting);
  return settings;
}

}  // namespace

Outcome run_program(const std::vector<std::string>& argv, const RunOptions& options) {
  CHECK(!argv.empty());
  const int input = memory_file(options.input);
  Pipe out, err, peak;

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, 0);
  posix_spawn_file_actions_adddup2(&actions, out.ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err.ends[1], 2);
  posix_spawn_file_actions_adddup2(&actions, peak.ends[1], 3);
  if (!options.working_folder.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, options.working_folder.c_str());
  }
  std::string peak_of = tool_path("tests/peak_of").string();
  std::vector<char*> arguments = {peak_of.data()};
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  std::vector<std::string> settings = environment();
  std::vector<char*> variables;
  for (std::string& setting : settings) variables.push_back(setting.data());
  variables.push_back(nullptr);

  const auto start = Clock::now();
  pid_t child = 0;
  const int failed = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), variables.data());
  posix_spawn_file_actions_destroy(&actions);
  close(input);
  if (failed != 0) throw std::runtime_error("can't start " + argv[0]);
  out.close_end(1);
  err.close_end(1);
  peak.close_end(1);

  Outcome outcome;
  const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  while (out.ends[0] >= 0 || err.ends[0] >= 0) {
    if (!outcome.timed_out && elapsed() > options.seconds) {
      kill(child, SIGKILL);
      outcome.timed_out = true;
    }
    std::array<pollfd, 2> streams{{{out.ends[0], POLLIN, 0}, {err.ends[0], POLLIN, 0}}};
    if (poll(streams.data(), streams.size(), 100) <= 0) continue;
    if (streams[0].revents != 0 && !drain(out.ends[0], outcome.out)) out.close_end(0);
    if (streams[1].revents != 0 && !drain(err.ends[0], outcome.err)) err.close_end(0);
  }
  int status = 0;
  rusage usage{};
  const pid_t waited = wait4(child, &status, 0, &usage);
  CHECK(waited == child);
  outcome.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  outcome.seconds = elapsed();
  outcome.cpu_seconds = seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
  std::string kilobytes;
  while (drain(peak.ends[0], kilobytes)) continue;
  outcome.peak_kb = kilobytes.empty() ? 0 : std::stol(kilobytes);
  return outcome;
}

}  // namespace isomer::test
