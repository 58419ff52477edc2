#include "util/connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "util/clock.h"
#include "util/stop.h"

namespace isomer {
namespace {

constexpr int kLookEvery = 100;  ///< milliseconds between looks at the clock
constexpr uint64_t kMostOfAMessage = uint64_t{256} << 20;
constexpr size_t kLengthBytes = sizeof(uint64_t);

FileDescriptor new_socket() { return FileDescriptor(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)); }

/// False once the time is over.
Result<bool> wait_for(int file, short events, Clock::time_point begin, double seconds) {
  for (;;) {
    TRY_VOID(check_stop());
    pollfd ready{file, events, 0};
    if (poll(&ready, 1, kLookEvery) > 0) return true;
    if (seconds_since(begin) > seconds) return false;
  }
}

bool may_come_later() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

Result<Connection> Connection::open(const std::string& address, uint16_t port, double seconds) {
  const std::string place = fmt::format("{}:{}", address, port);
  FileDescriptor file = new_socket();
  sockaddr_in there = {};
  there.sin_family = AF_INET;
  there.sin_port = htons(port);
  if (!file.valid() || inet_pton(AF_INET, address.c_str(), &there.sin_addr) != 1)
    return unsupported(place, "an address of IPv4 expected");
  if (connect(file.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0 && errno != EINPROGRESS)
    return unsupported(place, "somebody who listens expected: {}", std::strerror(errno));
  TRY(const bool is_ready, wait_for(file.get(), POLLOUT, Clock::now(), seconds));
  int failure = 0;
  socklen_t size = sizeof failure;
  getsockopt(file.get(), SOL_SOCKET, SO_ERROR, &failure, &size);
  if (!is_ready || failure != 0)
    return unsupported(place, "somebody who listens expected: {}", is_ready ? std::strerror(failure) : "no answer");
  const int on = 1;
  setsockopt(file.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return Connection(std::move(file));
}

Result<void> Connection::send(std::string_view text, double seconds) {
  const auto begin = Clock::now();
  const uint64_t size = text.size();
  std::string message(reinterpret_cast<const char*>(&size), kLengthBytes);
  message.append(text);
  for (size_t sent = 0; is_open() && sent < message.size();) {
    TRY(const bool is_ready, wait_for(socket_.get(), POLLOUT, begin, seconds));
    const ssize_t count =
        is_ready ? ::send(socket_.get(), message.data() + sent, message.size() - sent, MSG_NOSIGNAL) : 0;
    if (count > 0)
      sent += static_cast<size_t>(count);
    else if (!is_ready || !may_come_later())
      close();
  }
  return {};
}

Result<std::optional<std::string>> Connection::receive(double seconds) {
  const auto begin = Clock::now();
  while (is_open()) {
    uint64_t size = 0;
    if (received_.size() >= kLengthBytes) {
      std::memcpy(&size, received_.data(), kLengthBytes);
      if (size > kMostOfAMessage) break;
      if (received_.size() - kLengthBytes >= size) {
        std::string message = received_.substr(kLengthBytes, size);
        received_.erase(0, kLengthBytes + size);
        return std::optional(std::move(message));
      }
    }
    TRY(const bool is_ready, wait_for(socket_.get(), POLLIN, begin, seconds));
    if (!is_ready) break;
    char block[65536];
    const ssize_t count = recv(socket_.get(), block, sizeof block, 0);
    if (count < 0 && may_come_later()) continue;
    if (count <= 0) break;
    received_.append(block, static_cast<size_t>(count));
  }
  close();
  return std::optional<std::string>();
}

Result<Listener> Listener::open() {
  FileDescriptor file = new_socket();
  sockaddr_in here = {};
  here.sin_family = AF_INET;
  socklen_t size = sizeof here;
  auto* const address = reinterpret_cast<sockaddr*>(&here);
  if (!file.valid() || bind(file.get(), address, size) != 0 || listen(file.get(), SOMAXCONN) != 0 ||
      getsockname(file.get(), address, &size) != 0)
    return unsupported("", "a port to listen at expected, none given: {}", std::strerror(errno));
  return Listener(std::move(file), ntohs(here.sin_port));
}

Result<std::optional<Connection>> Listener::accept(double seconds) {
  TRY(const bool is_ready, wait_for(socket_.get(), POLLIN, Clock::now(), seconds));
  if (!is_ready) return std::optional<Connection>();
  FileDescriptor file(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!file.valid()) return std::optional<Connection>();
  const int on = 1;
  setsockopt(file.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return std::optional<Connection>(std::in_place, std::move(file));
}

std::vector<std::string> own_addresses() {
  std::vector<std::string> result;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return result;
  for (const ifaddrs* each = all; each; each = each->ifa_next) {
    if (!each->ifa_addr || each->ifa_addr->sa_family != AF_INET || !(each->ifa_flags & IFF_UP)) continue;
    char text[INET_ADDRSTRLEN];
    const auto* const address = reinterpret_cast<const sockaddr_in*>(each->ifa_addr);
    if (!inet_ntop(AF_INET, &address->sin_addr, text, sizeof text)) continue;
    result.insert(each->ifa_flags & IFF_LOOPBACK ? result.begin() : result.end(), text);
  }
  freeifaddrs(all);
  return result;
}

}  // namespace isomer
