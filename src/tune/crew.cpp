#include "tune/crew.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <map>
#include <memory>
#include <thread>

#include "kernel/fingerprint.h"
#include "runtime/plan_bytes.h"
#include "util/hash.h"
#include "util/stop.h"

namespace isomer::tune {

template <class Archive>
void fields(Archive& archive, Member& member) {
  archive(member.token, member.host, member.target, member.generator, member.threads, member.cores);
}

namespace {

/// That a message takes at most; that a candidate takes besides its runs; that a member waits for the next round, in
/// which others may be confirmed, measured alone or loaded.
constexpr double kSecondsToSend = 30, kSecondsToCompile = 30, kSecondsOfARound = 3600;
/// What a member is told when it may stay.
constexpr std::string_view kWelcome = "welcome";

/// A candidate on its way: what is decided, and what that must come to.
struct Sent {
  Decisions decisions;
  uint64_t low = 0, high = 0;
  Hash128 hash() const { return {low, high}; }
};

struct Question {
  int64_t round = 0;
  uint64_t task_low = 0, task_high = 0;
  Weights weights = Weights::kInMemory;
  Sent best;
  std::vector<Sent> candidates;
  uint64_t hopeless = 0, seconds = 0;  ///< the bits of doubles
};

struct Answer {
  bool is_measured = false;
  Fault fault = Fault::kNone;
  std::string why;
  uint64_t microseconds = 0;  ///< the bits of a double
  int64_t runs = 0;
  uint64_t now_us = 0;  ///< of the best one beside it, the bits of a double
};

struct Answers {
  int64_t round = 0;
  std::vector<Answer> answers;
};

template <class Archive>
void fields(Archive& archive, Sent& sent) {
  archive(sent.decisions, sent.low, sent.high);
}
template <class Archive>
void fields(Archive& archive, Question& question) {
  archive(question.round, question.task_low, question.task_high, question.weights, question.best, question.candidates,
          question.hopeless, question.seconds);
}
template <class Archive>
void fields(Archive& archive, Answer& answer) {
  archive(answer.is_measured, answer.fault, answer.why, answer.microseconds, answer.runs, answer.now_us);
}
template <class Archive>
void fields(Archive& archive, Answers& answers) {
  archive(answers.round, answers.answers);
}

Sent sent(const Candidate& candidate) { return {candidate.decisions(), candidate.hash.low, candidate.hash.high}; }

/// As a kernel's time.
bool is_possible(double us) { return us > 0 && us < 1e12; }

/// Why somebody can't measure beside these; empty: it can.
std::string why_not(const Member& other, const std::vector<Member>& members) {
  const Member& first = members.front();
  if (other.generator != first.generator)
    return fmt::format("it makes code by '{}', the first process by '{}'", other.generator, first.generator);
  if (other.target != first.target)
    return fmt::format("its machine is '{}', that of the first process '{}': times are not the same there",
                       other.target, first.target);
  const auto there =
      std::count_if(members.begin(), members.end(), [&](const Member& each) { return each.host == other.host; });
  const int64_t free = other.cores - there * other.threads;
  if (free < other.threads)
    return fmt::format("{} cores of its machine expected that nobody else of the run has, {} found", other.threads,
                       std::max<int64_t>(free, 0));
  return {};
}

/// What is said of the round; nothing where the connection ends, or has something else to say.
Result<std::optional<Answers>> answers_of(Connection& connection, int64_t round, size_t share, double seconds) {
  for (;;) {
    TRY(const auto message, connection.receive(seconds));
    auto answers = message ? runtime::from_bytes<Answers>(*message) : std::nullopt;
    if (answers && answers->round < round) continue;  // of a round that was given up
    if (answers && answers->round == round && answers->answers.size() == share) return answers;
    connection.close();
    return std::optional<Answers>();
  }
}

std::optional<Crew::Finding> finding_of(const Answer& answer) {
  const double us = std::bit_cast<double>(answer.microseconds), now_us = std::bit_cast<double>(answer.now_us);
  const bool is_fault = answer.fault > Fault::kNone && static_cast<size_t>(answer.fault) < kFaults;
  const bool is_time = answer.fault == Fault::kNone && is_possible(us);
  if (!answer.is_measured || !is_possible(now_us) || (!is_fault && !is_time)) return std::nullopt;
  return Crew::Finding{{answer.fault, answer.why, us, answer.runs}, now_us};
}

/// Makes, compiles and times what is asked.
class Server {
 public:
  Server(const std::vector<Problem>& problems, const TuneOptions& options) : problems_(problems), options_(options) {}

  Result<Answers> answers(const Question& question) {
    Answers result;
    result.round = question.round;
    result.answers.resize(question.candidates.size());
    const Hash128 task{question.task_low, question.task_high};
    const auto problem = std::find_if(problems_.begin(), problems_.end(), [&](const Problem& each) {
      return each.hash == task && each.weights == question.weights;
    });
    if (problem == problems_.end()) return result;
    const Candidates space = candidates_of(*problem, options_);
    std::vector<Candidate> candidates;
    std::vector<size_t> places;  // of them, in the question; that of the best one is behind all
    const auto take = [&](const Sent& each, size_t place) {
      if (auto made = made_of(space, each)) {
        candidates.push_back(*std::move(made));
        places.push_back(place);
      }
    };
    take(question.best, question.candidates.size());
    if (candidates.empty()) return result;
    for (size_t k = 0; k < question.candidates.size(); ++k) take(question.candidates[k], k);
    Measurer& measurer = measurer_of(question);
    const std::vector<Result<ClockJob>> jobs = measurer.compile(candidates);
    std::vector<double> best_us;
    const auto time = [&](size_t number, double now_us) -> Result<void> {
      const auto timed = measurer.time(jobs[number + 1], std::bit_cast<double>(question.hopeless) * now_us);
      if (!timed.ok() && timed.error().kind == ErrorKind::kStopped) return Error(timed.error());
      if (timed.ok())
        result.answers[places[number + 1]] = {true, timed->fault, timed->why,
                                              std::bit_cast<uint64_t>(timed->microseconds), timed->runs};
      return {};
    };
    const auto best = time_beside_best(measurer, jobs[0], candidates.size() - 1, best_us, time);
    if (!best.ok() && best.error().kind == ErrorKind::kStopped) return Error(best.error());
    for (size_t k = 0; k < best_us.size(); ++k)
      result.answers[places[k + 1]].now_us = std::bit_cast<uint64_t>(best_us[k]);
    return result;
  }

 private:
  /// Nothing where the decisions come to something else here.
  static std::optional<Candidate> made_of(const Candidates& space, const Sent& wanted) {
    Candidate made = space.with(wanted.decisions);
    if (made.hash != wanted.hash()) made = space.preferred();
    return made.hash == wanted.hash() ? std::optional(std::move(made)) : std::nullopt;
  }

  Measurer& measurer_of(const Question& question) {
    const double seconds = std::bit_cast<double>(question.seconds);
    if (seconds != seconds_) measurers_.clear();
    seconds_ = seconds;
    auto& measurer = measurers_[question.weights];
    if (!measurer) measurer = new_measurer(options_, question.weights, seconds);
    return *measurer;
  }

  const std::vector<Problem>& problems_;
  const TuneOptions& options_;
  double seconds_ = 0;
  std::map<Weights, std::unique_ptr<Measurer>> measurers_;
};

}  // namespace

Member this_member(std::string token, const kernel::CpuTarget& target, int threads) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return {std::move(token),
          host,
          kernel::fingerprint(target, threads),
          kernel::generator_version(),
          threads,
          std::max<int64_t>(std::thread::hardware_concurrency(), 1)};
}

Result<std::optional<std::string>> Crew::add(Connection connection) {
  TRY(const auto hello, connection.receive(kSecondsToSend));
  const auto member = hello ? runtime::from_bytes<Member>(*hello) : std::nullopt;
  if (!member || member->token != members_.front().token) return std::optional<std::string>("it is not of this run");
  const std::string why = why_not(*member, members_);
  TRY_VOID(connection.send(why.empty() ? kWelcome : std::string_view(why), kSecondsToSend));
  if (!why.empty()) return std::optional(fmt::format("{}: {}", member->host, why));
  members_.push_back(*member);
  hired_.push_back({std::move(connection)});
  return std::optional<std::string>();
}

size_t Crew::size() const {
  return static_cast<size_t>(
      std::count_if(hired_.begin(), hired_.end(), [](const Hired& each) { return each.connection.is_open(); }));
}

Result<size_t> Crew::give(const Work& work) {
  std::erase_if(hired_, [](const Hired& each) { return !each.connection.is_open(); });
  ++round_;
  seconds_ = work.seconds;
  const size_t all = work.candidates.size(), hands = hired_.size() + 1;
  size_t given = all / hands;
  const size_t own = given;
  for (size_t h = 1; h < hands; ++h) {
    Hired& hired = hired_[h - 1];
    hired.share = all * (h + 1) / hands - given;
    Question question{round_,
                      work.problem.hash.low,
                      work.problem.hash.high,
                      work.problem.weights,
                      sent(work.best),
                      {},
                      std::bit_cast<uint64_t>(work.hopeless),
                      std::bit_cast<uint64_t>(work.seconds)};
    for (const Candidate& each : work.candidates.subspan(given, hired.share)) question.candidates.push_back(sent(each));
    given += hired.share;
    TRY_VOID(hired.connection.send(runtime::to_bytes(question), kSecondsToSend));
  }
  return own;
}

Result<std::vector<std::optional<Crew::Finding>>> Crew::take() {
  std::vector<std::optional<Finding>> result;
  for (Hired& hired : hired_) {
    std::vector<std::optional<Finding>> findings(hired.share);
    const double patience = kSecondsToSend + static_cast<double>(hired.share + 1) * (kSecondsToCompile + seconds_);
    TRY(const auto answers, answers_of(hired.connection, round_, hired.share, patience));
    for (size_t k = 0; answers && k < hired.share; ++k) findings[k] = finding_of(answers->answers[k]);
    result.insert(result.end(), std::make_move_iterator(findings.begin()), std::make_move_iterator(findings.end()));
  }
  return result;
}

Result<void> apply(Connection& connection, const Member& self) {
  TRY_VOID(connection.send(runtime::to_bytes(self), kSecondsToSend));
  TRY(const auto reply, connection.receive(kSecondsToSend));
  if (!reply) return unsupported(self.host, "a first process that tunes expected, it has gone");
  if (*reply != kWelcome) return unsupported(self.host, "a process that measures expected: {}", *reply);
  return {};
}

Result<void> serve(Connection& connection, const std::vector<Problem>& problems, const TuneOptions& options) {
  Server server(problems, options);
  for (;;) {
    TRY(const auto message, connection.receive(kSecondsOfARound));
    if (!message) return {};
    const auto question = runtime::from_bytes<Question>(*message);
    if (!question) return unsupported("", "candidates to measure expected, other bytes found");
    TRY(const Answers answers, server.answers(*question));
    TRY_VOID(connection.send(runtime::to_bytes(answers), kSecondsToSend));
  }
}

}  // namespace isomer::tune
