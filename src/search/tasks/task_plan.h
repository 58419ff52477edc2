// What is open when a graph becomes tasks: what one task computes together, and how its values lie. Whoever makes tasks
// asks for every choice and prefers one answer, as schedules are made (DESIGN.md 7); a plan holds other answers.
// Tests: tests/search/choose_tasks_test.cpp
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "graph/graph.h"

namespace isomer::search {

struct TaskChoice {
  enum class Kind : uint8_t {
    kTogether,      ///< what makes the value and what reads it are one task
    kChannelsLast,  ///< the task that makes the value reads and writes channels last, else row-major
  };
  Kind kind = Kind::kTogether;
  ValueId value;
  auto operator<=>(const TaskChoice&) const = default;
};

/// "together", "apart", "channels-last" or "row-major".
inline std::string_view answer(TaskChoice::Kind kind, bool is_so) {
  if (kind == TaskChoice::Kind::kTogether) return is_so ? "together" : "apart";
  return is_so ? "channels-last" : "row-major";
}

/// Answers, by choice.
using TaskPlan = std::map<TaskChoice, bool>;

class TaskDecider {
 public:
  TaskDecider() = default;
  explicit TaskDecider(TaskPlan plan) : plan_(std::move(plan)) {}

  bool decide(const TaskChoice& choice, bool preferred) {
    tell(choice, preferred);
    return planned(choice).value_or(preferred);
  }
  /// What the plan says: where the preference is known only later, `tell` takes what was done.
  std::optional<bool> planned(const TaskChoice& choice) const {
    const auto found = plan_.find(choice);
    return found == plan_.end() ? std::nullopt : std::optional(found->second);
  }
  void tell(const TaskChoice& choice, bool preferred) { preferences_[choice] = preferred; }

  /// Of all that was asked for.
  const TaskPlan& preferences() const { return preferences_; }

 private:
  TaskPlan plan_;
  TaskPlan preferences_;
};

}  // namespace isomer::search
