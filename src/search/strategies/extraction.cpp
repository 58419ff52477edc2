#include "search/strategies/extraction.h"
#include "util/stable_sort.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

namespace isomer::search {
namespace {

using substitutions::Program;
using substitutions::SaturatedProgram;

/// Of each application, so that of two ways that cost the same the shorter one is cheaper.
constexpr double kLeast = 0.01;
/// Of what the program costs, for each rewrite on the way to an application.
constexpr double kRewritePrice = 0.0005;
constexpr int kMostAlike = 2;  ///< changes that add the same to the cost
constexpr double kNever = std::numeric_limits<double>::infinity();

/// Values that are chosen together, each for its class.
using Change = std::vector<int>;

class Extractor {
 public:
  Extractor(const SaturatedProgram& all, const Program& program, const std::function<bool()>& is_late)
      : all_(all), program_(program), is_late_(is_late) {
    const auto values = static_cast<size_t>(all.program().value_count());
    members_.resize(values);
    leaders_.resize(values);
    for (int id = 0; id < all.program().value_count(); ++id) {
      leaders_[static_cast<size_t>(id)] = all.leader(id);
      if (all.leader(id) == id) members_[static_cast<size_t>(id)] = all.equal_to(id);
    }
    Estimates estimates;
    double whole = 0;
    for (int id = 0; id < program.application_count(); ++id) whole += estimates.application(program, id);
    for (int id = 0; id < all.program().application_count(); ++id)
      costs_.push_back(kLeast + estimates.application(all.program(), id) + kRewritePrice * whole * all.generation(id));
    marks_.resize(costs_.size());
    find_changes();
  }

  std::vector<Extraction> run(const ExtractionLimits& limits) {
    const std::vector<int> cheapest = cheapest_alone();
    std::vector<int> first = as_written(cheapest);
    const std::optional<Extraction> itself = extraction(first);
    for (std::vector<int> chosen : {cheapest, first}) {
      descend(chosen, {});
      keep(std::move(chosen));
    }
    if (found_.empty()) return {};
    stable_sort(found_, is_cheaper);
    // What is dearer at first may lead to what is cheaper.
    const std::vector<int> best = found_.front().chosen;
    for (const size_t change : promising(best, static_cast<size_t>(limits.tried))) {
      std::vector<int> chosen = best;
      make(changes_[change], chosen);
      descend(chosen, changes_[change]);
      keep(std::move(chosen));
    }
    if (itself)
      std::erase_if(found_, [&](const Extraction& found) { return found.applications == itself->applications; });
    stable_sort(found_, is_cheaper);
    if (found_.size() > static_cast<size_t>(limits.most)) found_.resize(static_cast<size_t>(limits.most));
    return std::move(found_);
  }

  std::vector<Extraction> near(const std::vector<int>* chosen, const ExtractionLimits& limits) {
    const std::vector<int> base = chosen ? *chosen : as_written(cheapest_alone());
    for (const size_t change : promising(base, static_cast<size_t>(limits.tried))) {
      std::vector<int> changed = base;
      make(changes_[change], changed);
      keep(std::move(changed));
    }
    return std::move(found_);
  }

 private:
  static bool is_cheaper(const Extraction& a, const Extraction& b) { return a.cost < b.cost; }
  int leader(int value) const { return leaders_[static_cast<size_t>(value)]; }
  int producer(int value) const { return all_.program().value(value).producer; }

  void find_changes() {
    for (const std::vector<int>& members : members_)
      if (members.size() > 1)
        for (const int value : members) changes_.push_back({value});
    for (int id = 0; id < all_.program().application_count(); ++id) {
      const Program::Application& there = all_.program().application(id);
      Change change;
      for (int k = 0; k < there.value_count; ++k)
        if (all_.same(there.first_value + k) == there.first_value + k) change.push_back(there.first_value + k);
      if (change.size() > 1) changes_.push_back(std::move(change));
    }
    for (const SaturatedProgram::Use& use : all_.uses()) {
      if (use.added.targets.size() < 2) continue;
      for (Change change : {all_.roots(use), use.added.targets}) {
        for (int& value : change) value = all_.same(value);
        changes_.push_back(std::move(change));
      }
    }
  }

  void make(const Change& change, std::vector<int>& chosen) const {
    for (const int value : change) chosen[static_cast<size_t>(leader(value))] = value;
  }

  /// Each class as if nobody else read what it needs.
  std::vector<int> cheapest_alone() const {
    std::vector<int> chosen(leaders_.size(), -1);
    std::vector<double> cost(leaders_.size(), kNever);
    for (bool is_changed = true; is_changed;) {
      is_changed = false;
      for (size_t id = 0; id < members_.size(); ++id)
        for (const int value : members_[id]) {
          double sum = 0;
          if (const int made_by = producer(value); made_by >= 0) {
            sum = costs_[static_cast<size_t>(made_by)];
            for (const int argument : all_.program().arguments(made_by))
              sum += cost[static_cast<size_t>(leader(argument))];
          }
          if (!(sum < cost[id])) continue;
          cost[id] = sum;
          chosen[id] = value;
          is_changed = true;
        }
    }
    return chosen;
  }

  /// What the program has is computed as it says.
  std::vector<int> as_written(std::vector<int> chosen) const {
    for (int id = program_.value_count() - 1; id >= 0; --id)
      if (const int made_by = program_.value(id).producer; made_by < 0 || program_.contains(made_by))
        chosen[static_cast<size_t>(leader(id))] = all_.same(id);
    return chosen;
  }

  enum Mark : uint8_t { kUnseen, kOpen, kDone };

  /// False where it would be computed from itself.
  bool visit(int value, const std::vector<int>& chosen, double most) {
    const int made_by = producer(chosen[static_cast<size_t>(leader(value))]);
    if (made_by < 0) return true;
    Mark& mark = marks_[static_cast<size_t>(made_by)];
    if (mark != kUnseen) return mark == kDone;
    mark = kOpen;
    visited_.push_back(made_by);
    cost_ += costs_[static_cast<size_t>(made_by)];
    if (cost_ >= most) return false;
    for (const int argument : all_.program().arguments(made_by))
      if (!visit(argument, chosen, most)) return false;
    mark = kDone;
    return true;
  }

  /// Of all that the outputs need; kNever where that is `most` or more, or can't be computed.
  double cost(const std::vector<int>& chosen, double most = kNever) {
    for (const int id : visited_) marks_[static_cast<size_t>(id)] = kUnseen;
    visited_.clear();
    cost_ = 0;
    for (const int output : program_.outputs())
      if (!visit(output, chosen, most)) return kNever;
    return cost_;
  }

  std::optional<Extraction> extraction(std::vector<int> chosen) {
    const double sum = cost(chosen);
    if (sum == kNever) return std::nullopt;
    std::sort(visited_.begin(), visited_.end());
    return Extraction{std::move(chosen), visited_, sum};
  }

  void keep(std::vector<int> chosen) {
    auto made = extraction(std::move(chosen));
    if (made && std::none_of(found_.begin(), found_.end(),
                             [&](const Extraction& found) { return found.applications == made->applications; }))
      found_.push_back(*std::move(made));
  }

  /// The classes whose values the outputs need.
  std::vector<bool> reached(const std::vector<int>& chosen) {
    std::vector<bool> result(leaders_.size());
    cost(chosen);
    for (const int id : visited_) {
      const Program::Application& there = all_.program().application(id);
      for (int k = 0; k < there.value_count; ++k) result[static_cast<size_t>(leader(there.first_value + k))] = true;
    }
    return result;
  }

  /// It says something of a class that is needed and no constant, and something else than what is chosen.
  bool concerns(const Change& change, const std::vector<bool>& is_reached, const std::vector<int>& chosen) const {
    const auto at = [&](int value) { return static_cast<size_t>(leader(value)); };
    return std::any_of(change.begin(), change.end(), [&](int value) {
      return is_reached[at(value)] && chosen[at(value)] != value && !all_.program().value(value).is_constant;
    });
  }

  /// Changes as long as that makes the whole cheaper; what `kept` says stays.
  void descend(std::vector<int>& chosen, const Change& kept) {
    std::vector<bool> is_kept(leaders_.size());
    for (const int value : kept) is_kept[static_cast<size_t>(leader(value))] = true;
    double best = cost(chosen);
    std::vector<bool> is_reached = reached(chosen);
    for (bool is_changed = true; is_changed && !is_late_();) {
      is_changed = false;
      for (const Change& change : changes_) {
        if (!concerns(change, is_reached, chosen) || std::any_of(change.begin(), change.end(), [&](int value) {
              return is_kept[static_cast<size_t>(leader(value))];
            }))
          continue;
        const Change before = changed(change, chosen);
        const double now = cost(chosen, best);
        if (now < best - kLeast / 2) {
          best = now;
          is_reached = reached(chosen);
          is_changed = true;
        } else {
          undo(change, before, chosen);
        }
      }
    }
  }

  /// Makes a change and says what was chosen before.
  Change changed(const Change& change, std::vector<int>& chosen) const {
    Change before;
    for (const int value : change) before.push_back(chosen[static_cast<size_t>(leader(value))]);
    make(change, chosen);
    return before;
  }

  void undo(const Change& change, const Change& before, std::vector<int>& chosen) const {
    for (size_t k = change.size(); k-- > 0;) chosen[static_cast<size_t>(leader(change[k]))] = before[k];
  }

  /// Numbers of those that add least to the cost.
  std::vector<size_t> promising(std::vector<int> chosen, size_t count) {
    const std::vector<bool> is_reached = reached(chosen);
    std::vector<std::pair<double, size_t>> ranked;
    for (size_t k = 0; k < changes_.size(); ++k) {
      if (!concerns(changes_[k], is_reached, chosen)) continue;
      const Change before = changed(changes_[k], chosen);
      if (const double now = cost(chosen); now != kNever) ranked.emplace_back(now, k);
      undo(changes_[k], before, chosen);
    }
    std::sort(ranked.begin(), ranked.end());
    // Small changes are many: what changes several values at once is tried as often.
    std::vector<size_t> result;
    for (const bool is_joint : {false, true}) {
      size_t left = count / 2;
      std::map<double, int> alike;  // what costs the same is the same elsewhere, or the same by another way
      for (const auto& [cost, number] : ranked)
        if ((changes_[number].size() > 1) == is_joint && left > 0 && alike[cost]++ < kMostAlike) {
          result.push_back(number);
          --left;
        }
    }
    return result;
  }

  const SaturatedProgram& all_;
  const Program& program_;
  const std::function<bool()>& is_late_;
  std::vector<int> leaders_;
  std::vector<std::vector<int>> members_;  ///< by leader
  std::vector<double> costs_;              ///< by application
  std::vector<Change> changes_;
  std::vector<Mark> marks_;  ///< by application, for the cost that is being computed
  std::vector<int> visited_;
  double cost_ = 0;
  std::vector<Extraction> found_;
};

}  // namespace

std::vector<Extraction> extractions(const SaturatedProgram& all, const Program& program, const ExtractionLimits& limits,
                                    const std::function<bool()>& is_late) {
  return Extractor(all, program, is_late).run(limits);
}

std::vector<Extraction> extractions_near(const SaturatedProgram& all, const Program& program,
                                         const std::vector<int>* chosen, const ExtractionLimits& limits,
                                         const std::function<bool()>& is_late) {
  return Extractor(all, program, is_late).near(chosen, limits);
}

}  // namespace isomer::search
