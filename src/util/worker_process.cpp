#include "util/worker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <thread>

#include "util/clock.h"
#include "util/stop.h"

namespace isomer {
namespace {

constexpr int kPatience = 100;  ///< milliseconds between looks at the clock
constexpr double kSecondsToEnd = 1;
/// A message that claims more is no message.
constexpr uint64_t kMostBytes = uint64_t{4} << 30;
constexpr size_t kHeader = sizeof(uint64_t);

std::string message_of(std::string_view text) {
  const uint64_t size = text.size();
  std::string message(reinterpret_cast<const char*>(&size), kHeader);
  return message.append(text);
}

/// The length that a message's first bytes tell; nothing where they can't be those of one.
std::optional<size_t> length_of(std::string_view message) {
  uint64_t size = 0;
  std::memcpy(&size, message.data(), kHeader);
  return size <= kMostBytes ? std::optional(static_cast<size_t>(size)) : std::nullopt;
}

/// No message begins like this, or it is longer than it says.
bool is_nonsense(std::string_view received) {
  if (received.size() < kHeader) return false;
  const auto length = length_of(received);
  return !length || received.size() - kHeader > *length;
}

/// Exactly so many bytes; false: the other side has gone.
bool read_all(int file, char* bytes, size_t count) {
  while (count > 0) {
    const ssize_t got = read(file, bytes, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    count -= static_cast<size_t>(got);
  }
  return true;
}

}  // namespace

Result<WorkerProcess> WorkerProcess::start(const std::vector<std::string>& arguments) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return unsupported(arguments[0], "a pair of sockets expected, none given: {}", std::strerror(errno));
  FileDescriptor ours(ends[0]);
  const FileDescriptor theirs(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  TRY(ChildProcess process, ChildProcess::start(arguments, actions));
  return WorkerProcess(std::move(process), std::move(ours));
}

Result<WorkerProcess> WorkerProcess::fork(const std::function<void()>& serve) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return unsupported("", "a pair of sockets expected, none given: {}", std::strerror(errno));
  FileDescriptor ours(ends[0]);
  const FileDescriptor theirs(ends[1]);
  TRY(ChildProcess process, ChildProcess::fork([&] {
        dup2(theirs.get(), STDIN_FILENO);
        for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(open("/dev/null", O_WRONLY), stream);
        // Whoever else waits for the end of something that is open here must not wait for us.
        close_range(STDERR_FILENO + 1, ~0U, 0);
        end_with_asker();
        serve();
      }));
  return WorkerProcess(std::move(process), std::move(ours));
}

// Both directions at a time, and never longer than the socket is ready for: the other side may end at any point.
bool WorkerProcess::Reply::is_ended_from_outside() const {
  return !is_late && (is_untold || signal == SIGKILL || signal == SIGTERM || signal == SIGHUP);
}

Result<WorkerProcess::Reply> WorkerProcess::ask(std::string_view question, double seconds) {
  Reply reply;
  if (!process_.is_there()) return reply;
  const auto begin = Clock::now();
  const std::string message = message_of(question);
  size_t sent = 0;
  std::string received;
  const auto is_whole = [&] { return received.size() >= kHeader && received.size() - kHeader == length_of(received); };
  while (!is_whole()) {
    if (auto stopped = check_stop(); !stopped.ok()) {
      process_.end();
      return std::move(stopped).error();
    }
    reply.is_late = seconds_since(begin) > seconds;
    if (reply.is_late) break;
    pollfd ready{socket_.get(), static_cast<short>(POLLIN | (sent < message.size() ? POLLOUT : 0)), 0};
    if (poll(&ready, 1, kPatience) <= 0) continue;
    if (ready.revents & POLLOUT) {
      const ssize_t count =
          send(socket_.get(), message.data() + sent, message.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (count > 0) sent += static_cast<size_t>(count);
    }
    if (ready.revents & (POLLIN | POLLHUP | POLLERR)) {
      char block[4096];
      const ssize_t count = recv(socket_.get(), block, sizeof block, MSG_DONTWAIT);
      if (count < 0 && (errno == EAGAIN || errno == EINTR)) continue;
      if (count <= 0) break;
      received.append(block, static_cast<size_t>(count));
      if (is_nonsense(received)) break;
    }
  }
  if (is_whole()) {
    reply.answer = received.substr(kHeader);
    return reply;
  }
  // One that closed its end is about to end by itself: how, is what is to be told.
  const auto closed = Clock::now();
  while (!reply.is_late && !is_nonsense(received) && process_.is_there() && seconds_since(closed) < kSecondsToEnd) {
    if (const auto status = process_.status()) {
      reply.is_untold = *status == ChildProcess::kUnknownEnd;
      if (WIFSIGNALED(*status)) reply.signal = WTERMSIG(*status);
      if (WIFEXITED(*status)) reply.exits = WEXITSTATUS(*status);
    } else {
      poll(nullptr, 0, 1);
    }
  }
  process_.end();
  return reply;
}

std::optional<std::string> next_question() {
  char header[kHeader];
  if (!read_all(STDIN_FILENO, header, kHeader)) return std::nullopt;
  const auto size = length_of({header, kHeader});
  if (!size) return std::nullopt;
  std::string text(*size, '\0');
  if (!read_all(STDIN_FILENO, text.data(), text.size())) return std::nullopt;
  return text;
}

void answer(std::string_view text) {
  const std::string message = message_of(text);
  for (size_t at = 0; at < message.size();) {
    const ssize_t count = send(STDIN_FILENO, message.data() + at, message.size() - at, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    at += static_cast<size_t>(count);
  }
}

void end_with_asker() {
  std::thread([] {
    pollfd asker{STDIN_FILENO, POLLRDHUP, 0};
    while (poll(&asker, 1, -1) <= 0 || (asker.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0) {
    }
    _exit(0);
  }).detach();
}

}  // namespace isomer
