#include "tune/strategy.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <set>
#include <utility>

#include "util/stable_sort.h"

namespace isomer::tune {
namespace {

/// Candidates that are drawn for one that is new.
constexpr int kMostDrawn = 64;

/// What all of them need: each schedule is given once.
class Once : public Strategy {
 public:
  explicit Once(const Candidates& candidates, uint64_t seed) : candidates_(candidates), random_(seed) {}

  std::vector<Candidate> next(int count) override {
    std::vector<Candidate> result;
    int known = 0;
    for (int64_t drawn = 0; static_cast<int>(result.size()) < count && drawn < most_drawn_ * count && !is_over();
         ++drawn) {
      std::optional<Candidate> candidate = draw(known);
      if (!candidate) break;
      known = is_taken(*candidate) ? 0 : known + 1;
      if (known == 0) result.push_back(*std::move(candidate));
    }
    return result;
  }
  void tell(const Candidate& candidate, double) override { seen_.insert(candidate.hash); }
  void leave_out(std::set<Decisions> decisions) override { left_out_ = std::move(decisions); }

 protected:
  bool is_new(const Candidate& candidate) {
    if (!left_out_.empty() && left_out_.contains(candidate.unpreferred())) seen_.insert(candidate.hash);
    return !seen_.contains(candidate.hash);
  }
  /// Whether it is new; from now on it is not.
  bool is_taken(const Candidate& candidate) { return is_new(candidate) && seen_.insert(candidate.hash).second; }

  /// Nothing where there are no more. The last `known` that were drawn had been given before.
  virtual std::optional<Candidate> draw(int known) = 0;

  const Candidates& candidates_;
  Random random_;
  std::set<Hash128> seen_;
  std::set<Decisions> left_out_;
  int64_t most_drawn_ = kMostDrawn;
};

class RandomSearch : public Once {
 public:
  using Once::Once;

 private:
  std::optional<Candidate> draw(int) override { return candidates_.sampled(random_, random_.uniform(0.1, 1)); }
};

class Exhaustive : public Once {
 public:
  explicit Exhaustive(const Candidates& candidates) : Once(candidates, 0) {
    open_.push_back({});
    most_drawn_ = int64_t{1} << 32;  // it ends by itself
  }

 private:
  std::optional<Candidate> draw(int) override {
    while (next_.empty()) {
      if (open_.empty() || is_over()) return std::nullopt;
      const Candidate parent = candidates_.with(open_.front());
      open_.pop_front();
      // What comes to no other schedule is not gone on from.
      if (!known_.insert(parent.hash).second) continue;
      for (Decisions& decisions : Candidates::neighbours(parent)) {
        next_.push_back(decisions);
        open_.push_back(std::move(decisions));
      }
      next_.push_front(parent.unpreferred());
    }
    Candidate candidate = candidates_.with(next_.front());
    next_.pop_front();
    return candidate;
  }

  std::deque<Decisions> open_, next_;
  std::set<Hash128> known_;
};

class Annealing : public Once {
 public:
  using Once::Once;

  std::vector<Candidate> next(int count) override {
    std::vector<Candidate> given = Once::next(count);
    temperature_ *= std::pow(kCooling, static_cast<double>(given.size()));
    return given;
  }

  void tell(const Candidate& candidate, double microseconds) override {
    Once::tell(candidate, microseconds);
    if (!std::isfinite(microseconds)) {
      if (at_ && at_->hash == candidate.hash) at_.reset();
      return;
    }
    if (at_ && at_->hash == candidate.hash) {
      time_ = microseconds;
      return;
    }
    const double slower = std::log(microseconds / time_);
    if (at_ && slower > 0 && !random_.chance(std::exp(-slower / temperature_))) return;
    at_ = candidate;
    time_ = microseconds;
  }

 private:
  static constexpr double kCooling = 0.98;
  static constexpr int kNear = 8;

  /// The further away the more of what is near is known.
  std::optional<Candidate> draw(int known) override {
    Candidate result = candidates_.with(Candidates::mutated(at_ ? *at_ : candidates_.preferred(), random_));
    for (int step = 0; step < known / kNear; ++step) result = candidates_.with(Candidates::mutated(result, random_));
    return result;
  }

  std::optional<Candidate> at_;
  double time_ = std::numeric_limits<double>::infinity();
  double temperature_ = 0.1;  ///< of logarithms of times
};

class Evolution : public Once {
 public:
  Evolution(const Candidates& candidates, uint64_t seed, Score score)
      : Once(candidates, seed), score_(std::move(score)) {}

  std::vector<Candidate> next(int count) override {
    const bool found_nothing = parents_.empty() || parents_[0].hash == best_before_;
    stale_ = found_nothing ? stale_ + 1 : 0;
    best_before_ = parents_.empty() ? Hash128{} : parents_[0].hash;
    std::vector<Candidate> result = beside_best(stale_ >= kStale ? count / 2 : 0);
    if (std::exchange(is_first_, false) && score_)
      for (Candidate& each : best_scored(drawn_at_random(first_pool(count)), count / 2))
        result.push_back(std::move(each));
    const auto at_random = static_cast<int>(kAtRandom * count);
    const int wanted = count - at_random - static_cast<int>(result.size());
    for (Candidate& each :
         best_scored(children(static_cast<size_t>(std::max(wanted, 0)) * (score_ ? kScored : 1)), wanted))
      result.push_back(std::move(each));
    for (Candidate& each : Once::next(count - static_cast<int>(result.size()))) result.push_back(std::move(each));
    return result;
  }

  void tell(const Candidate& candidate, double microseconds) override {
    Once::tell(candidate, microseconds);
    for (size_t k = 0; k < parents_.size(); ++k)
      if (parents_[k].hash == candidate.hash) {
        parents_.erase(parents_.begin() + static_cast<std::ptrdiff_t>(k));
        times_.erase(times_.begin() + static_cast<std::ptrdiff_t>(k));
      }
    if (!std::isfinite(microseconds)) return;
    const auto place = std::upper_bound(times_.begin(), times_.end(), microseconds) - times_.begin();
    parents_.insert(parents_.begin() + place, candidate);
    times_.insert(times_.begin() + place, microseconds);
    if (parents_.size() > kParents) {
      parents_.pop_back();
      times_.pop_back();
    }
  }

 private:
  static constexpr size_t kParents = 24;
  static constexpr double kAtRandom = 0.1, kCrossed = 0.15;
  static constexpr int kStale = 2;        ///< rounds without a faster one
  static constexpr size_t kScored = 6;    ///< candidates that are looked at for one that is measured
  static constexpr int kFirstPool = 128;  ///< drawn at random once, of which the best are half of the first round;
  static constexpr int kFirstScored = 8;  ///< or, for few trials, so many for each
  static constexpr int kTries = 8;        ///< to come by new ones

  static size_t first_pool(int count) { return static_cast<size_t>(std::min(kFirstPool, kFirstScored * count)); }

  std::optional<Candidate> draw(int) override {
    return candidates_.sampled(random_, random_.chance(0.5) ? random_.uniform(0.05, 0.3) : random_.uniform(0.3, 1));
  }

  /// The faster the likelier.
  const Candidate& parent() {
    const double u = random_.uniform();
    return parents_[static_cast<size_t>(u * u * static_cast<double>(parents_.size()))];
  }

  Decisions child() {
    if (!random_.chance(kCrossed)) return Candidates::mutated(parent(), random_);
    return Candidates::crossed(parent(), parent(), random_);
  }

  /// So many that are new, of what `some` makes where it is asked for a number; fewer where it makes hardly any.
  template <class Some>
  std::vector<Candidate> fresh(size_t count, const Some& some) {
    std::vector<Candidate> result;
    std::set<Hash128> among;
    for (int tries = 0; result.size() < count && tries < kTries && !is_over(); ++tries)
      for (Candidate& each : some(count - result.size()))
        if (is_new(each) && among.insert(each.hash).second) result.push_back(std::move(each));
    return result;
  }

  std::vector<Candidate> drawn_at_random(size_t count) {
    return fresh(count, [&](size_t missing) {
      std::vector<Candidate> some;
      for (size_t k = 0; k < missing && !is_over(); ++k) some.push_back(*draw(0));
      return some;
    });
  }

  /// Of parents, where there are any.
  std::vector<Candidate> children(size_t count) {
    if (parents_.empty()) return drawn_at_random(count);
    return fresh(count, [&](size_t missing) {
      std::set<Decisions> different;
      for (size_t k = 0; k < 2 * missing && different.size() < missing; ++k) different.insert(child());
      return candidates_.with_each({different.begin(), different.end()}, [&] { return is_over(); });
    });
  }

  std::vector<Candidate> best_scored(std::vector<Candidate> drawn, int count) {
    if (const auto scores = score_ ? score_(drawn) : std::nullopt) {
      std::vector<size_t> order(drawn.size());
      for (size_t k = 0; k < order.size(); ++k) order[k] = k;
      stable_sort(order, [&](size_t a, size_t b) { return (*scores)[a] > (*scores)[b]; });
      std::vector<Candidate> best;
      for (const size_t k : order) best.push_back(std::move(drawn[k]));
      drawn = std::move(best);
    }
    if (drawn.size() > static_cast<size_t>(std::max(count, 0)))
      drawn.erase(drawn.begin() + std::max(count, 0), drawn.end());
    for (const Candidate& each : drawn) seen_.insert(each.hash);
    return drawn;
  }

  /// The best one with a decision changed.
  std::vector<Candidate> beside_best(int count) {
    std::vector<Candidate> result;
    if (parents_.empty() || count == 0) return result;
    if (beside_ != parents_[0].hash) {
      beside_ = parents_[0].hash;
      const std::vector<Decisions> all = Candidates::neighbours(parents_[0]);
      neighbours_.assign(all.begin(), all.end());
    }
    while (!neighbours_.empty() && static_cast<int>(result.size()) < count && !is_over()) {
      Candidate candidate = candidates_.with(neighbours_.front());
      neighbours_.pop_front();
      if (is_taken(candidate)) result.push_back(std::move(candidate));
    }
    return result;
  }

  Score score_;
  std::vector<Candidate> parents_;  ///< the fastest first
  std::vector<double> times_;
  Hash128 best_before_ = {}, beside_ = {};
  int stale_ = 0;
  bool is_first_ = true;
  std::deque<Decisions> neighbours_;
};

}  // namespace

std::unique_ptr<Strategy> evolution(const Candidates& candidates, uint64_t seed, Score score) {
  return std::make_unique<Evolution>(candidates, seed, std::move(score));
}
std::unique_ptr<Strategy> random_search(const Candidates& candidates, uint64_t seed) {
  return std::make_unique<RandomSearch>(candidates, seed);
}
std::unique_ptr<Strategy> annealing(const Candidates& candidates, uint64_t seed) {
  return std::make_unique<Annealing>(candidates, seed);
}
std::unique_ptr<Strategy> exhaustive(const Candidates& candidates) { return std::make_unique<Exhaustive>(candidates); }

std::unique_ptr<Strategy> strategy_of(std::string_view name, const Candidates& candidates, uint64_t seed, Score score) {
  if (name == "evolution") return evolution(candidates, seed, std::move(score));
  if (name == "random") return random_search(candidates, seed);
  if (name == "annealing") return annealing(candidates, seed);
  if (name == "exhaustive") return exhaustive(candidates);
  return nullptr;
}

}  // namespace isomer::tune
