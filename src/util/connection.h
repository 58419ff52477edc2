// Messages between processes of one machine or of several, over TCP: a message is its length (8 bytes) and its bytes.
// What comes too late, or is no message, ends the connection: whoever is on the other side may end at any point. Tests:
// tests/util/connection_test.cpp
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "util/file.h"
#include "util/result.h"

namespace isomer {

class Connection {
 public:
  /// Errors (kUnsupported): nobody listens there.
  static Result<Connection> open(const std::string& address, uint16_t port, double seconds);
  explicit Connection(FileDescriptor socket) : socket_(std::move(socket)) {}

  bool is_open() const { return socket_.valid(); }
  void close() { socket_ = FileDescriptor(); }

  /// Where the other side does not take it in these seconds, or has gone, the connection ends. Errors (kStopped):
  /// stop.h.
  Result<void> send(std::string_view message, double seconds);
  /// Nothing where the connection ends. Errors: the same.
  Result<std::optional<std::string>> receive(double seconds);

 private:
  FileDescriptor socket_;
  std::string received_;
};

class Listener {
 public:
  /// At any free port of all of this machine's addresses. Errors (kUnsupported): there is none.
  static Result<Listener> open();

  uint16_t port() const { return port_; }
  /// Nothing where nobody comes. Errors (kStopped): stop.h.
  Result<std::optional<Connection>> accept(double seconds);

 private:
  Listener(FileDescriptor socket, uint16_t port) : socket_(std::move(socket)), port_(port) {}

  FileDescriptor socket_;
  uint16_t port_;
};

/// What this machine may be reached at, IPv4, that which is itself alone first.
std::vector<std::string> own_addresses();

}  // namespace isomer
