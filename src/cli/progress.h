// What a long command is doing, on standard error: on a terminal one line that is drawn again and again, elsewhere a
// plain line every few seconds.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "cli/options.h"
#include "util/clock.h"

namespace isomer::cli {

/// Whether standard error is a terminal that what was drawn can be replaced on.
bool can_draw();

class ProgressLine {
 public:
  /// Says nothing under --quiet.
  explicit ProgressLine(const CommonOptions& options);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  /// The line is gone then.
  ~ProgressLine();

  /// From now on this is being done; so many seconds are left, where that is known. With -vv it is a line that stays.
  void tell(std::string_view what, std::optional<double> seconds_left = std::nullopt);
  /// A line that stays.
  void note(std::string_view line);

 private:
  void show_until_the_end();
  void show();
  void clear();
  std::string text(Clock::time_point now) const;

  const bool is_quiet_, is_terminal_, tells_all_;
  const Clock::time_point begin_ = Clock::now();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string what_;
  std::optional<Clock::time_point> end_;
  Clock::time_point shown_ = Clock::now();  ///< when the last plain line was
  bool is_drawn_ = false, is_over_ = false;
  std::thread thread_;
};

}  // namespace isomer::cli
