// isomer-measure THREADS WEIGHTS: measures the kernels that the process that started it sends (worker.h).
#include <charconv>
#include <csignal>
#include <optional>
#include <string_view>

#include "measure/worker.h"
#include "util/print_error.h"

namespace {

std::optional<int> number(std::string_view text) {
  int value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

int main(int count, char** arguments) {
  const auto threads = count == 3 ? number(arguments[1]) : std::nullopt;
  const auto weights = count == 3 ? number(arguments[2]) : std::nullopt;
  if (!threads || !weights || *threads < 1 || *weights < 0 || *weights > 1) {
    isomer::print_error("isomer-measure: THREADS (1 or more) and WEIGHTS (0: in memory, 1: in cache) expected\n");
    return 2;
  }
  for (const int request : {SIGINT, SIGTERM}) std::signal(request, SIG_IGN);  // they are for whoever asks
  // Crashes are told by their signals, under sanitizers too.
  for (const int crash : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) std::signal(crash, SIG_DFL);
  isomer::end_with_asker();
  isomer::answer_jobs(*threads, static_cast<isomer::Weights>(*weights));
  return 0;
}
