// What the modules of a search space work with: a schedule in the making, questions to it, and choices.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel/schedule.h"
#include "kernel/space/decider.h"
#include "kernel/view.h"

namespace isomer::kernel {

/// A primitive that may not apply where the analysis looked at less than the primitive does: the schedule is valid
/// without.
template <class T>
bool tried(const Result<T>& result) {
  return result.ok();
}

class Builder {
 public:
  /// The machine and the decider outlive it.
  Builder(Schedule start, const Machine& machine, Decider& decider)
      : schedule(std::move(start)), view(schedule, machine), decider_(decider) {}
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  const Kernel& kernel() const { return schedule.kernel(); }
  const Machine& machine() const { return view.machine(); }

  /// What was decided of `of` (a block, mostly): one of the candidates, of which `preferred` is one. Whoever asks twice
  /// gets the same answer, or the preference as it is then if that is what it was; where this is another value, or no
  /// candidate, it is another choice, "….again".
  int64_t decide(std::string_view of, std::string_view what, std::vector<int64_t> candidates, int64_t preferred);
  int64_t decide(Choice choice);
  bool decide(std::string_view of, std::string_view what, bool preferred) {
    return decide(of, what, {0, 1}, preferred ? 1 : 0) != 0;
  }
  /// What was decided to be done can't be: it was decided against, and what was decided since is forgotten.
  void take_back(std::string_view of, std::string_view what);
  /// What was decided of a choice can't be: it is as it is preferred.
  void prefer(std::string_view name);
  struct Made {
    Choice choice;
    int64_t value = 0;
    bool is_preferred() const { return value == choice.preferred; }
  };
  /// In the order in which they were asked for first; those of what was taken back are among them.
  const std::vector<Made>& choices() const { return made_; }

  Schedule schedule;
  const View view;

 private:
  Decider& decider_;
  std::vector<Made> made_;
};

}  // namespace isomer::kernel
