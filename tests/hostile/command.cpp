#include "hostile/command.h"

#include <fmt/format.h>

#include <csignal>
#include <functional>

#include "support/files.h"
#include "support/long_run.h"
#include "util/sanitized.h"

namespace isomer::test {
namespace {

constexpr size_t kLongestLine = 700;

/// Bytes of the UTF-8 sequence that `text` starts with; 0: it is none, or a control character.
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  if (byte(0) < 0x80) return byte(0) < 0x20 || byte(0) == 0x7f ? 0 : 1;
  if (byte(0) < 0xc2) return 0;
  if (byte(0) < 0xe0) return follows(1) && !(byte(0) == 0xc2 && byte(1) < 0xa0) ? 2 : 0;
  if (byte(0) < 0xf0)
    return follows(1) && follows(2) && !(byte(0) == 0xe0 && byte(1) < 0xa0) && !(byte(0) == 0xed && byte(1) >= 0xa0)
               ? 3
               : 0;
  return byte(0) < 0xf5 && follows(1) && follows(2) && follows(3) ? 4 : 0;
}

}  // namespace

Outcome run_isomer(const std::vector<std::string>& arguments) {
  constexpr int kLimit = kSanitized ? 120 : 60;
  std::vector<std::string> command = {"prlimit", "--core=0", fmt::format("--cpu={}", kLimit)};
  if (!kSanitized) command.push_back("--data=4000000000");
  command.push_back(tool_path("isomer").string());
  command.insert(command.end(), arguments.begin(), arguments.end());
  // Seconds of the clock are no measure on a busy machine: they end only what waits.
  RunOptions limits;
  limits.seconds = 10 * kLimit;
  Outcome outcome = run_program(command, limits);
  // The limit's own clock is not quite the one that the time is told by.
  outcome.timed_out |= outcome.exit_code == 128 + SIGKILL && outcome.cpu_seconds > 0.9 * kLimit;
  return outcome;
}

bool is_turn(std::string_view file, size_t way, size_t count) {
  return is_long_run() || std::hash<std::string_view>()(file) % count == way;
}

double allowed_seconds() { return kSanitized ? 60 : 4; }

long peak_kb_of_1gb() { return kSanitized ? 4'000'000 : 1'000'000'000 / 1024; }

long allowed_peak_kb() { return kSanitized ? 4'000'000 : 500'000; }

bool is_clean_text(std::string_view text) {
  while (!text.empty()) {
    const size_t length = text[0] == '\n' ? 1 : sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string wrong_with_refusal(const Outcome& outcome, std::string_view file, std::string_view sentence) {
  const std::string& line = outcome.err;
  if (outcome.exit_code != 3) return fmt::format("exit code 3 expected, {} found: {}", outcome.exit_code, line);
  if (!outcome.out.empty()) return "nothing on standard output expected, found: " + outcome.out;
  if (line.empty() || line.find('\n') != line.size() - 1) return "one line expected, found: " + line;
  if (!line.starts_with(fmt::format("isomer: {}: ", file)))
    return "a line that starts with the file expected, found: " + line;
  if (line.size() > kLongestLine)
    return fmt::format("a line of at most {} bytes expected, {} found", kLongestLine, line.size());
  if (!is_clean_text(line)) return "text without control characters expected, found: " + line;
  if (line.find("internal error") != std::string::npos) return "a sentence expected, found: " + line;
  if (line.find(sentence) == std::string::npos) return fmt::format("'{}' expected in: {}", sentence, line);
  return "";
}

}  // namespace isomer::test
