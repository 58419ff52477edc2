// Who makes a schedule asks a Decider for every choice, by name, with candidates and a preference (DESIGN.md 7): the
// default schedule takes the preferences, sampling, mutation, records and users decide otherwise. There is one program
// that makes schedules, and its choices are the search space. Tests: tests/kernel/space_test.cpp
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "util/random.h"

namespace isomer::kernel {

/// "s0.rows": of what, what of it. Names are of one schedule.
struct Choice {
  std::string name;
  std::vector<int64_t> candidates;  ///< at least one, each once
  int64_t preferred = 0;            ///< one of them
  bool has(int64_t value) const;
  bool operator==(const Choice&) const = default;
};

class Decider {
 public:
  virtual ~Decider() = default;
  /// One of the candidates.
  virtual int64_t decide(const Choice& choice) = 0;
};

/// The default schedule.
class Preferring : public Decider {
 public:
  int64_t decide(const Choice& choice) override { return choice.preferred; }
};

/// With a chance any candidate, else the preferred one; the random numbers outlive it.
class Sampling : public Decider {
 public:
  Sampling(Random& random, double chance) : random_(random), chance_(chance) {}
  int64_t decide(const Choice& choice) override {
    return random_.chance(chance_) ? choice.candidates[random_.below(choice.candidates.size())] : choice.preferred;
  }

 private:
  Random& random_;
  double chance_;
};

/// Values by name where they are candidates; what they are not is for another decider, which outlives it.
class Given : public Decider {
 public:
  Given(std::map<std::string, int64_t> values, Decider& otherwise)
      : values_(std::move(values)), otherwise_(otherwise) {}
  int64_t decide(const Choice& choice) override;
  /// Of the choices that there were a value for, how many were candidates.
  int64_t taken() const { return taken_; }
  int64_t missed() const { return missed_; }

 private:
  std::map<std::string, int64_t> values_;
  Decider& otherwise_;
  int64_t taken_ = 0, missed_ = 0;
};

}  // namespace isomer::kernel
