#include "cli/tuning_ranks.h"

#include <fmt/ranges.h>

#include <random>

#include "util/clock.h"
#include "util/cluster.h"
#include "util/parse_number.h"
#include "util/split.h"

namespace isomer::cli {
namespace {

/// That others have to come; that an address has to answer.
constexpr double kSecondsToCome = 60, kSecondsToAnswer = 5;

std::string new_token() {
  std::random_device device;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", device(), device(), device(), device());
}

/// Where the first process listens, as text that goes to all others.
struct Meeting {
  std::string host, token;
  uint16_t port = 0;
  std::vector<std::string> addresses;  ///< of which the first is itself alone

  std::string text() const { return fmt::format("{} {} {} {}", host, token, port, fmt::join(addresses, " ")); }
};

Result<Meeting> parse_meeting(const std::string& text) {
  constexpr size_t kBeforeAddresses = 3;
  const std::vector<std::string_view> parts = split(text, " ");
  Meeting result;
  const auto port = parts.size() > kBeforeAddresses ? parse_number<uint16_t>(parts[2]) : std::nullopt;
  if (!port) return unsupported("MPI", "where the first process listens expected, '{}' found", text);
  result.host = parts[0];
  result.token = parts[1];
  result.port = *port;
  result.addresses.assign(parts.begin() + kBeforeAddresses, parts.end());
  return result;
}

/// To whoever listens there and knows the token.
Result<Connection> connect(const Meeting& meeting, const tune::Member& self) {
  Error last{ErrorKind::kUnsupported, self.host, "the first process expected, none found"};
  const bool is_here = self.host == meeting.host;
  for (size_t k = is_here ? 0 : 1; k < meeting.addresses.size(); ++k) {
    auto connection = Connection::open(meeting.addresses[k], meeting.port, kSecondsToAnswer);
    auto stays = connection.ok() ? tune::apply(*connection, self) : Result<void>(connection.error());
    if (stays.ok()) return connection;
    last = std::move(stays).error();
    if (last.kind == ErrorKind::kStopped) break;
  }
  return last;
}

}  // namespace

Result<TuningRanks> TuningRanks::join(const CommonOptions& options, const kernel::CpuTarget& target) {
  TuningRanks result;
  std::optional<Listener> listener;
  std::string text;
  int others = 0;
  {
    TRY(Cluster cluster, Cluster::join());
    others = cluster.size() - 1;
    if (others == 0) return result;
    result.is_first_ = cluster.is_first();
    if (result.is_first_) {
      TRY(listener, Listener::open());
      result.crew_.emplace(tune::this_member(new_token(), target, options.thread_count()));
      const tune::Member& self = result.crew_->first();
      text = Meeting{self.host, self.token, listener->port(), own_addresses()}.text();
    }
    TRY(text, cluster.broadcast(std::move(text)));
  }
  if (!result.is_first_) {
    TRY(const Meeting meeting, parse_meeting(text));
    auto connection = connect(meeting, tune::this_member(meeting.token, target, options.thread_count()));
    // The first one says why it does not take somebody; it goes on without.
    if (connection.ok()) result.first_ = *std::move(connection);
    return result;
  }
  const auto begin = Clock::now();
  for (int come = 0; come < others && seconds_since(begin) < kSecondsToCome;) {
    TRY(auto connection, listener->accept(1));
    if (!connection) continue;
    TRY(const auto why, result.crew_->add(*std::move(connection)));
    ++come;
    if (why) note(options, "isomer: a process does not measure: {}", *why);
  }
  note(options, "isomer: {} of {} other processes measure", result.crew_->size(), others);
  return result;
}

Result<ExitCode> TuningRanks::serve(const std::vector<tune::Problem>& problems, const tune::TuneOptions& options) {
  if (!first_) return kDone;
  auto done = tune::serve(*first_, problems, options);
  if (!done.ok() && done.error().kind == ErrorKind::kStopped) return kStopped;
  if (!done.ok()) return std::move(done).error();
  return kDone;
}

}  // namespace isomer::cli
