// What was measured, as models learn it: the share of the best one's speed, a task and target each.
// Test: tests/tune/cost_model_test.cpp
#pragma once

#include <map>
#include <vector>

#include "tune/cost_model.h"

namespace isomer::tune {

class Samples {
 public:
  struct Seen {
    Origin origin;
    Row row;
    double microseconds;  ///< infinite: it failed
  };
  /// It is time to learn again when so many have come, or a fifth more.
  explicit Samples(size_t many) : many_(many) {}

  void add(const Origin& origin, Row row, double microseconds);
  const std::vector<Seen>& all() const { return seen_; }
  /// 1: the best of its task; 0: it failed.
  float speed(const Seen& seen) const;

  bool are_enough() const;
  /// More than when they were last learned.
  bool are_to_be_learned() const { return is_time(seen_.size(), learned_); }

  /// An order can be learned of the target: so many are of tasks of which more than one was seen there. Also when they
  /// were last learned.
  bool are_enough_of(size_t target) const { return count(ordered_, target) >= kLeastOfATarget; }
  bool were_enough_of(size_t target) const { return count(learned_of_, target) >= kLeastOfATarget; }
  bool are_to_be_learned_of(size_t target) const {
    return is_time(count(ordered_, target), count(learned_of_, target));
  }

  void learned() {
    learned_ = seen_.size();
    learned_of_ = ordered_;
  }

 private:
  static constexpr size_t kLeastOfATarget = 32;
  using Counts = std::map<size_t, size_t>;  ///< by target
  static size_t count(const Counts& counts, size_t target) {
    const auto found = counts.find(target);
    return found == counts.end() ? 0 : found->second;
  }
  bool is_time(size_t seen, size_t learned) const;

  const size_t many_;
  std::vector<Seen> seen_;
  std::map<Origin, double> best_;
  size_t learned_ = 0;
  std::map<Origin, size_t> of_task_;
  Counts ordered_, learned_of_;  ///< of tasks of which more than one was seen
};

}  // namespace isomer::tune
