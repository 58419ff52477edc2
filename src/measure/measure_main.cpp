// isomer-measure THREADS WEIGHTS: measures the kernels that the process that started it sends (worker.h).
#include <csignal>
#include <optional>
#include <string_view>

#include "measure/worker.h"
#include "util/parse_number.h"
#include "util/print_error.h"

int main(int count, char** arguments) {
  const auto threads = count == 3 ? isomer::parse_number<int>(arguments[1]) : std::nullopt;
  const auto weights = count == 3 ? isomer::parse_number<int>(arguments[2]) : std::nullopt;
  if (!threads || !weights || *threads < 1 || *weights < 0 || *weights > 1) {
    isomer::print_error("isomer-measure: THREADS (1 or more) and WEIGHTS (0: in memory, 1: in cache) expected\n");
    return 2;
  }
  for (const int request : {SIGINT, SIGTERM, SIGHUP}) std::signal(request, SIG_IGN);  // they are for whoever asks
  // Crashes are told by their signals, under sanitizers too.
  for (const int crash : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) std::signal(crash, SIG_DFL);
  isomer::end_with_asker();
  isomer::answer_jobs(*threads, static_cast<isomer::Weights>(*weights));
  return 0;
}
