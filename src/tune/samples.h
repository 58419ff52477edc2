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
  bool are_to_be_learned() const;
  void learned() { learned_ = seen_.size(); }

 private:
  const size_t many_;
  std::vector<Seen> seen_;
  std::map<Origin, double> best_;
  size_t learned_ = 0;
};

}  // namespace isomer::tune
