#include "verify/prover/smt.h"

#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <utility>

#include "util/stop.h"

extern char** environ;  // NOLINT: POSIX has no header for it

namespace isomer::verify {
namespace {

constexpr std::string_view kReady = "ready";
constexpr int kMemoryMb = 1024;

/// Terms as SMT-LIB: each once, as a definition.
class Script {
 public:
  std::string define(const Term& term) {
    if (const auto known = names_.find(term); known != names_.end()) return known->second;
    std::string arguments, sorts;
    Term symbol = term;
    if (const auto* application = term.as_application()) {
      for (const Term& argument : application->arguments) {
        arguments += " " + define(argument);
        sorts += sorts.empty() ? "T" : " T";
      }
      Term::Application bare = *application;
      bare.arguments.clear();
      symbol = Term(std::move(bare));
    }
    const std::string signature = fmt::format("{}/{}", symbol.text(), sorts.size());
    auto function = functions_.find(signature);
    if (function == functions_.end()) {
      function = functions_.emplace(signature, fmt::format("f{}", functions_.size())).first;
      text_ += fmt::format("(declare-fun {} ({}) T)\n", function->second, sorts);
    }
    std::string name = function->second;
    if (!arguments.empty()) {
      name = fmt::format("t{}", names_.size());
      text_ += fmt::format("(define-fun {} () T ({}{}))\n", name, function->second, arguments);
    }
    return names_.emplace(term, std::move(name)).first->second;
  }

  void add(std::string_view line) { (text_ += line) += '\n'; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::unordered_map<Term, std::string, TermHash> names_;
  std::unordered_map<std::string, std::string> functions_;
};

Result<std::optional<std::vector<int>>> parse_core(std::string_view line, size_t equations) {
  const auto no_core = [&] { return invalid("z3", "the names of an unsatisfiable core expected, '{}' found", line); };
  if (line.size() < 2 || line.front() != '(' || line.back() != ')') return no_core();
  std::vector<int> core;
  for (size_t at = 1; at < line.size() - 1;) {
    const size_t end = std::min(line.find(' ', at), line.size() - 1);
    const std::string word(line.substr(at, end - at));
    at = end + 1;
    if (word == "claim") continue;
    if (word.size() < 2 || word.size() > 9 || word[0] != 'e' ||
        word.find_first_not_of("0123456789", 1) != std::string::npos)
      return no_core();
    core.push_back(std::stoi(word.substr(1)));
    if (static_cast<size_t>(core.back()) >= equations) return no_core();
  }
  std::sort(core.begin(), core.end());
  return std::optional(std::move(core));
}

}  // namespace

/// A process and our end of the socket that is its input and output. Sockets, as a write to a dead one need not raise
/// SIGPIPE.
class SolverProcess {
 public:
  static Result<std::unique_ptr<SolverProcess>> spawn(const SolverOptions& options) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return unsupported(options.program, "a socket expected, none given: {}", std::strerror(errno));
    std::string memory = fmt::format("-memory:{}", kMemoryMb), program = options.program, input = "-in",
                language = "-smt2";
    char* arguments[] = {program.data(), language.data(), memory.data(), input.data(), nullptr};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    pid_t process = -1;
    const int failed = posix_spawnp(&process, program.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (failed != 0) {
      close(ends[0]);
      return unsupported(options.program, "a program that proves expected, it cannot be started: {}",
                         std::strerror(failed));
    }
    return std::unique_ptr<SolverProcess>(new SolverProcess(process, ends[0]));
  }

  SolverProcess(const SolverProcess&) = delete;
  SolverProcess& operator=(const SolverProcess&) = delete;
  ~SolverProcess() { stop(); }

  bool is_running() const { return socket_ >= 0; }

  /// From here on it has died.
  void stop() {
    if (socket_ < 0) return;
    close(std::exchange(socket_, -1));
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

  Result<void> write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return died();
      text.remove_prefix(static_cast<size_t>(count));
    }
    return {};
  }

  using Clock = std::chrono::steady_clock;

  /// Waits for it; a child that died closes the socket. Nothing where the time has come before the line.
  Result<std::optional<std::string>> read_line_until(std::optional<Clock::time_point> end_of_time) {
    for (size_t end; (end = buffer_.find('\n')) == std::string::npos;) {
      if (end_of_time) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(*end_of_time - Clock::now()).count();
        if (left <= 0) return std::optional<std::string>();
        pollfd waited{.fd = socket_, .events = POLLIN, .revents = 0};
        if (poll(&waited, 1, static_cast<int>(std::min<int64_t>(left, INT_MAX))) <= 0) continue;
      }
      char block[4096];
      const ssize_t count = recv(socket_, block, sizeof block, 0);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return died();
      buffer_.append(block, static_cast<size_t>(count));
    }
    const size_t end = buffer_.find('\n');
    std::string line = buffer_.substr(0, end);
    buffer_.erase(0, end + 1);
    return std::optional(std::move(line));
  }
  Result<std::string> read_line() {
    TRY(auto line, read_line_until({}));
    return *std::move(line);
  }

 private:
  SolverProcess(pid_t process, int socket) : process_(process), socket_(socket) {}
  /// A terminal's Ctrl-C ends it, too.
  static Error died() {
    if (auto stopped = check_stop(); !stopped.ok()) return std::move(stopped).error();
    return invalid("z3", "an answer expected, the process has ended");
  }

  pid_t process_;
  int socket_;
  std::string buffer_;
};

Solver::Solver(std::unique_ptr<SolverProcess> child) : child_(std::move(child)) {}
Solver::Solver(Solver&&) noexcept = default;
Solver& Solver::operator=(Solver&&) noexcept = default;
Solver::~Solver() = default;

Result<Solver> Solver::start(const SolverOptions& options) {
  TRY(auto child, SolverProcess::spawn(options));
  // The limit of resources is one of each check-sat.
  TRY_VOID(
      child->write(fmt::format("(set-option :produce-unsat-cores true)\n(set-option :rlimit {})\n(set-logic "
                               "QF_UF)\n(declare-sort T 0)\n(echo \"{}\")\n",
                               options.resources, kReady)));
  TRY(const std::string answer, child->read_line());
  if (answer != kReady) return invalid(options.program, "Z3's answer expected, '{}' found", answer);
  return Solver(std::move(child));
}

Result<std::optional<std::vector<int>>> Solver::unsat_core(std::span<const std::pair<Term, Term>> equations,
                                                           const Term& left, const Term& right) {
  auto answer = ask(equations, left, right);
  // What it was told last may still be there.
  if (!answer.ok()) child_->stop();
  return answer;
}

bool Solver::is_running() const { return child_->is_running(); }

Result<std::optional<std::vector<int>>> Solver::ask(std::span<const std::pair<Term, Term>> equations, const Term& left,
                                                    const Term& right) {
  Script script;
  script.add("(push 1)");
  for (size_t k = 0; k < equations.size(); ++k) {
    const std::string one = script.define(equations[k].first), other = script.define(equations[k].second);
    script.add(fmt::format("(assert (! (= {} {}) :named e{}))", one, other, k));
  }
  const std::string from = script.define(left), to = script.define(right);
  script.add(fmt::format("(assert (! (not (= {} {})) :named claim))", from, to));
  script.add("(check-sat)");
  TRY_VOID(child_->write(script.text()));
  TRY(const std::string answer, child_->read_line());
  std::optional<std::vector<int>> result;
  if (answer == "unsat") {
    TRY_VOID(child_->write(fmt::format("(get-unsat-core)\n(echo \"{}\")\n", kReady)));
    std::string core;
    for (;;) {
      TRY(const std::string line, child_->read_line());
      if (line == kReady) break;
      core += core.empty() ? line : " " + line;
    }
    TRY(result, parse_core(core, equations.size()));
  } else if (answer != "sat" && answer != "unknown") {
    return invalid("z3", "sat, unsat or unknown expected, '{}' found", answer);
  }
  TRY_VOID(child_->write("(pop 1)\n"));
  return result;
}

ArithmeticSolver::ArithmeticSolver(std::unique_ptr<SolverProcess> child, SolverOptions options)
    : child_(std::move(child)), options_(std::move(options)) {}
ArithmeticSolver::ArithmeticSolver(ArithmeticSolver&&) noexcept = default;
ArithmeticSolver::~ArithmeticSolver() = default;

Result<ArithmeticSolver> ArithmeticSolver::start(const SolverOptions& options) {
  TRY(auto child, SolverProcess::spawn(options));
  ArithmeticSolver result(std::move(child), options);
  TRY_VOID(result.start_over());
  return result;
}

Result<void> ArithmeticSolver::start_over() {
  return child_->write(fmt::format("(reset)\n(set-option :rlimit {})\n(set-option :timeout {})\n", options_.resources,
                                   1000 * options_.seconds));
}

Result<ArithmeticSolver::Answer> ArithmeticSolver::ask(std::string_view assertions) {
  TRY_VOID(child_->write(fmt::format("(push 1)\n{}(check-sat)\n(pop 1)\n", assertions)));
  return answer();
}

// Without scopes Z3 has tactics for the whole of a question.
Result<ArithmeticSolver::Answer> ArithmeticSolver::ask_thoroughly(std::string_view assertions) {
  TRY_VOID(start_over());
  TRY_VOID(child_->write(fmt::format("{}(check-sat)\n", assertions)));
  TRY(const Answer result, answer());
  TRY_VOID(start_over());
  return result;
}

// Z3 does not look at its own limit of time everywhere: one that is late by as long again is asked no more.
Result<ArithmeticSolver::Answer> ArithmeticSolver::answer() {
  const auto limit = std::chrono::seconds(2 * options_.seconds);
  TRY(const std::optional<std::string> answer, child_->read_line_until(SolverProcess::Clock::now() + limit));
  if (!answer) {
    TRY(child_, SolverProcess::spawn(options_));
    TRY_VOID(start_over());
    return Answer::kUnknown;
  }
  if (answer == "unsat") return Answer::kContradiction;
  if (answer == "sat" || answer == "unknown") return answer == "sat" ? Answer::kConsistent : Answer::kUnknown;
  child_->stop();
  return invalid("z3", "sat, unsat or unknown expected, '{}' found", *answer);
}

}  // namespace isomer::verify
