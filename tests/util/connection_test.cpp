// Messages over TCP: whole, in order, of any size; what ends, is late or is no message is told as such.
#include "util/connection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

namespace isomer {
namespace {

constexpr double kLong = 60;

/// Both ends of one.
std::pair<Connection, Connection> connected() {
  auto listener = Listener::open();
  EXPECT_TRUE(listener.ok()) << listener.error().message();
  auto ours = Connection::open("127.0.0.1", listener->port(), kLong);
  EXPECT_TRUE(ours.ok()) << ours.error().message();
  auto theirs = listener->accept(kLong);
  EXPECT_TRUE(theirs.ok() && *theirs);
  return {*std::move(ours), **std::move(theirs)};
}

TEST(Connection, MessagesComeWholeAndInOrder) {
  auto [ours, theirs] = connected();
  const std::string large(5'000'000, 'x');
  std::thread sends([&, &ours = ours] {
    for (const std::string& each : {std::string("first"), std::string(), large})
      EXPECT_TRUE(ours.send(each, kLong).ok());
  });
  EXPECT_EQ(*theirs.receive(kLong), "first");
  EXPECT_EQ(*theirs.receive(kLong), "");
  EXPECT_EQ(*theirs.receive(kLong), large);
  sends.join();
  EXPECT_TRUE(theirs.send("back", kLong).ok());
  EXPECT_EQ(*ours.receive(kLong), "back");
}

TEST(Connection, OneThatEndsIsSeen) {
  auto [ours, theirs] = connected();
  ASSERT_TRUE(ours.send("last", kLong).ok());
  ours.close();
  EXPECT_EQ(*theirs.receive(kLong), "last");
  EXPECT_EQ(*theirs.receive(kLong), std::nullopt);
  EXPECT_FALSE(theirs.is_open());
  EXPECT_TRUE(theirs.send("nobody", kLong).ok());
  EXPECT_EQ(*theirs.receive(kLong), std::nullopt);
}

TEST(Connection, AKilledProcessEndsIt) {
  auto listener = Listener::open();
  ASSERT_TRUE(listener.ok());
  const pid_t child = fork();
  if (child == 0) {
    const auto mine = Connection::open("127.0.0.1", listener->port(), kLong);
    for (;;) pause();
  }
  auto theirs = listener->accept(kLong);
  ASSERT_TRUE(theirs.ok() && *theirs);
  kill(child, SIGKILL);
  EXPECT_EQ(*(*theirs)->receive(kLong), std::nullopt);
  waitpid(child, nullptr, 0);
}

TEST(Connection, WhatIsLateOrNoMessageEndsIt) {
  auto [ours, theirs] = connected();
  EXPECT_EQ(*theirs.receive(0.01), std::nullopt);
  EXPECT_FALSE(theirs.is_open());

  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Connection reader{FileDescriptor(ends[0])};
  const FileDescriptor writer(ends[1]);
  ASSERT_EQ(write(writer.get(), "GET / HTTP/1.1\r\n", 16), 16);
  EXPECT_EQ(*reader.receive(kLong), std::nullopt);
  EXPECT_FALSE(reader.is_open());
}

TEST(Connection, WhereNobodyListensThatIsSaid) {
  uint16_t port = 0;
  {
    auto listener = Listener::open();
    ASSERT_TRUE(listener.ok());
    port = listener->port();
    EXPECT_EQ((*listener->accept(0.01)).has_value(), false);
  }
  const auto refused = Connection::open("127.0.0.1", port, kLong);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message(), testing::HasSubstr("somebody who listens expected"));
  EXPECT_THAT(own_addresses(), testing::Contains("127.0.0.1"));
}

}  // namespace
}  // namespace isomer
