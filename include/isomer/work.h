// What long work of Isomer's C++ interface tells, and how it is asked to end.
#ifndef ISOMER_WORK_H
#define ISOMER_WORK_H

#include <atomic>
#include <functional>
#include <optional>
#include <string>

namespace isomer {

/// Asks long work to end in good order, from any thread. A search that is asked gives the best that it has, which is
/// then checked and written; asked once more, the call ends with a Failure of kind `stopped`, and nothing is written.
class Stop {
 public:
  void request() noexcept { requests_.fetch_add(1, std::memory_order_relaxed); }
  const std::atomic<int>& requests() const noexcept { return requests_; }

 private:
  std::atomic<int> requests_ = 0;
};

/// Called by the thread that works, while it waits. Text from a model is as the model has it: whatever bytes.
struct Progress {
  /// What is being done from now on, and the seconds that are left, where that is known.
  std::function<void(const std::string& what, std::optional<double> seconds_left)> doing = nullptr;
  /// What users should know: "the dims of x are taken as 1".
  std::function<void(const std::string& line)> note = nullptr;
};

}  // namespace isomer

#endif
