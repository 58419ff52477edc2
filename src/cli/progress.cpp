#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace isomer::cli {
namespace {

constexpr auto kFrame = std::chrono::milliseconds(200);
constexpr double kSecondsBetweenLines = 5;
constexpr int kUsualColumns = 80;

int columns() {
  winsize size = {};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsualColumns;
}

}  // namespace

bool can_draw() {
  const char* const terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && terminal && std::string_view(terminal) != "dumb";
}

ProgressLine::ProgressLine(const CommonOptions& options)
    : is_quiet_(options.quiet), is_terminal_(can_draw()), tells_all_(!options.quiet && options.verbosity > 1) {
  if (!is_quiet_) thread_ = std::thread([this] { show_until_the_end(); });
}

ProgressLine::~ProgressLine() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
    clear();
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void ProgressLine::tell(std::string_view what, std::optional<double> seconds_left) {
  const std::lock_guard lock(mutex_);
  const bool is_new = what_ != printable(what);
  what_ = printable(what);
  end_.reset();
  if (seconds_left)
    end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds_left));
  if (!tells_all_ || !is_new) return;
  clear();
  print_error("isomer: {}\n", text(Clock::now()));
}

void ProgressLine::note(std::string_view line) {
  const std::lock_guard lock(mutex_);
  if (is_quiet_) return;
  clear();
  print_error("{}\n", printable(line, kMostOfLine));
}

void ProgressLine::show_until_the_end() {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kFrame, [&] { return is_over_; }))
    if (!what_.empty()) show();
}

void ProgressLine::show() {
  const auto now = Clock::now();
  if (!is_terminal_) {
    if (seconds_since(shown_) < kSecondsBetweenLines) return;
    shown_ = now;
    print_error("isomer: {}\n", text(now));
    return;
  }
  // The last column stays free: a terminal may break the line behind it.
  print_error("\r\x1b[K{}", text(now).substr(0, static_cast<size_t>(columns()) - 1));
  is_drawn_ = true;
}

void ProgressLine::clear() {
  if (!is_drawn_) return;
  print_error("\r\x1b[K");
  is_drawn_ = false;
}

std::string ProgressLine::text(Clock::time_point now) const {
  const auto seconds = [](Clock::duration duration) {
    return std::max(0.0, std::chrono::duration<double>(duration).count());
  };
  const std::string left = end_ ? fmt::format(", {:.0f} s left", seconds(*end_ - now)) : "";
  return fmt::format("{:.0f} s{}: {}", seconds(now - begin_), left, what_);
}

}  // namespace isomer::cli
