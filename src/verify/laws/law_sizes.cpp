#include "verify/laws/law_sizes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

#include "util/stable_sort.h"
#include "verify/laws/instance_places.h"

namespace isomer::verify {
namespace {

/// Sizes are moved to these, each to two of its own; no law has constants like these. What may be large stays so, to
/// leave room for what must be smaller.
constexpr std::array<int64_t, 27> kPrimes = {11, 13, 17, 19, 23, 29, 31, 37,  41,  43,  47,  53,  59, 61,
                                             67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127};
constexpr std::array<int64_t, 20> kLargePrimes = {311, 313, 317, 331, 337, 347, 349, 353, 359, 367,
                                                  373, 379, 383, 389, 397, 401, 409, 419, 421, 431};
constexpr size_t kMostNames = 20, kSecond = 4, kMostTogether = 6;
constexpr size_t kMostPlaces = 16;  ///< for sets of three to be tried

class Mover {
 public:
  Mover(const Law& law, std::string_view family, const LawInstance& instance)
      : instance_(law, family, instance), places_(instance_.places()), dims_(instance_.dims()) {
    for (const Place& place : places_) {
      is_stated_.push_back(place.is_stated);
      values_.push_back(place.value);
      forms_.emplace_back(place.value);
    }
    is_fixed_ = is_stated_;
  }

  LawSizes run() {
    move_all(1);
    add_up();
    move_all(kMostTogether);
    fix_stated();
    // A size that adds up to another is fixed, and has a name.
    LawSizes result = instance_.with(forms_);
    for (size_t k = 0; k < dims_; ++k) result.is_general &= is_named(k) || is_fixed_[k] || values_[k] <= 1;
    result.is_general = result.is_general && !is_too_special(result);
    return result;
  }

 private:
  bool is_named(size_t k) const { return !forms_[k].is_constant(); }

  /// What has moved makes room for others: a kernel is not larger than its image. So what moves alone, or with few,
  /// goes first.
  void move_all(size_t most) {
    for (size_t together = 1; together <= most; ++together) {
      bool moved = false;
      for (size_t k = 0; k < dims_ && count_ < kMostNames; ++k)
        if (!is_named(k) && !is_fixed_[k]) moved |= move(k, together);
      if (moved) together = 0;
    }
  }

  /// Dims that move only with those that attributes state are stated by these.
  void fix_stated() {
    for (size_t k = 0; k < dims_; ++k) {
      if (is_named(k) || is_fixed_[k] || values_[k] <= 1) continue;
      std::vector<size_t> set;
      bool has_stated = false;
      for (size_t other = 0; other < places_.size(); ++other) {
        if (is_named(other) || values_[other] != values_[k] || (other >= dims_ && !is_stated_[other])) continue;
        has_stated = has_stated || is_stated_[other];
        set.push_back(other);
      }
      if (!has_stated || !instance_.is_instance(multiplied(set, values_[k], kPrimes[count_]))) continue;
      for (const size_t each : set) is_fixed_[each] = is_stated_[each] = true;
    }
  }

  /// Whether sizes may change in a way that the names don't: a dim alone, or two places together that can't alone.
  /// Integers that change alone are parameters, as ones and zeros are what they are.
  bool is_too_special(const LawSizes& sizes) const {
    const auto is_typed_with = [&](const std::vector<size_t>& set) { return instance_.is_instance(increased(set, 1)); };
    const auto is_covered = [&](const std::vector<size_t>& set) {
      const std::vector<int64_t> values = increased(set, 1);
      const LawSizes moved = instance_.with(values);
      return covers(sizes, {moved.law, moved.types});
    };
    std::vector<size_t> bound;
    for (size_t k = 0; k < places_.size(); ++k) {
      if (is_stated_[k] || (!is_named(k) && values_[k] <= 1)) continue;
      if (!is_typed_with({k}))
        bound.push_back(k);
      else if (k < dims_ && !is_covered({k}))
        return true;
    }
    for (size_t a = 0; a < bound.size(); ++a)
      for (size_t b = a + 1; b < bound.size() && bound[a] < dims_; ++b)
        if (const std::vector<size_t> both = {bound[a], bound[b]}; is_typed_with(both) && !is_covered(both))
          return true;
    return false;
  }

  /// The largest number that the sizes of the set are multiples of and need not be, all growing alike; 0 where they
  /// can't.
  int64_t common_factor(const std::vector<size_t>& set) const {
    int64_t common = 0;
    for (const size_t k : set) {
      if (is_fixed_[k] || values_[k] < 1) return 0;
      // What is a product of names already may lose its number only.
      common = std::gcd(common, is_named(k) ? numbers_.at(k) : values_[k]);
    }
    for (int64_t divisor = common; divisor >= 1; --divisor)
      if (common % divisor == 0 && instance_.is_instance(multiplied(set, divisor, kPrimes[count_])) &&
          instance_.is_instance(multiplied(set, divisor, kPrimes[count_ + kSecond])))
        return divisor;
    return 0;
  }

  std::vector<int64_t> multiplied(const std::vector<size_t>& set, int64_t divisor, int64_t by) const {
    std::vector<int64_t> values = values_;
    for (const size_t k : set) values[k] = values[k] / divisor * by;
    return values;
  }

  /// Finds what must grow with a size, not more than so many, and gives it a name.
  bool move(size_t size, size_t most) {
    for (const std::vector<size_t>& candidates : most > 1 ? sets(size) : std::vector<std::vector<size_t>>{{size}}) {
      std::vector<size_t> set = candidates;
      if (common_factor(set) == 0) continue;
      for (size_t k = set.size(); k-- > 0;) {
        std::vector<size_t> fewer = set;
        fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
        if (set[k] != size && common_factor(fewer) != 0) set = std::move(fewer);
      }
      if (set.size() > most) continue;
      const int64_t divisor = common_factor(set);
      const std::vector<int64_t> large = multiplied(set, divisor, kLargePrimes[count_]);
      values_ = instance_.is_instance(large) ? large : multiplied(set, divisor, kPrimes[count_]);
      const Dim name = Dim::symbol(fmt::format("n{}", count_++));
      for (const size_t k : set) {
        const int64_t number = (is_named(k) ? numbers_.at(k) : forms_[k].value()) / divisor;
        Dim product = name;
        if (is_named(k)) product = product * factors_.at(k);
        factors_.insert_or_assign(k, product);
        numbers_.insert_or_assign(k, number);
        forms_[k] = product * Dim(number);
      }
      return true;
    }
    return false;
  }

  /// Sets that may grow together: alone, with one more, all of one axis, all as large; with one integer more.
  std::vector<std::vector<size_t>> sets(size_t size) const {
    std::vector<std::vector<size_t>> result = {{size}};
    for (size_t k = 0; k < places_.size(); ++k)
      if (k != size) result.push_back({size, k});
    const auto rank = [&](size_t k) { return instance_.rank(places_[k]); };
    const std::array<std::function<bool(size_t)>, 3> alike = {
        [&](size_t k) { return places_[k].index == places_[size].index; },
        [&](size_t k) { return rank(k) - places_[k].index == rank(size) - places_[size].index; },
        [](size_t) { return true; }};
    for (const auto& is_alike : alike) {
      std::vector<size_t> set;
      for (size_t k = 0; k < dims_; ++k)
        if (values_[k] == values_[size] && is_alike(k)) set.push_back(k);
      result.push_back(set);
      for (size_t k = dims_; k < places_.size(); ++k) {
        result.push_back(set);
        result.back().push_back(k);
      }
      for (size_t k = dims_; k < places_.size(); ++k)
        if (values_[k] == values_[size]) set.push_back(k);
      result.push_back(set);
    }
    for (size_t k = 0; k < places_.size() && places_.size() <= kMostPlaces; ++k)
      for (size_t other = k + 1; other < places_.size(); ++other)
        if (k != size && other != size) result.push_back({size, k, other});
    return result;
  }

  /// Sizes that are sums of others: those of a split, or of what is put together.
  void add_up() {
    std::vector<size_t> places;
    for (size_t k = 0; k < places_.size(); ++k)
      if (!is_fixed_[k] && !is_named(k) && values_[k] >= 1) places.push_back(k);
    // Parts are not larger than their sum.
    stable_sort(places, [&](size_t a, size_t b) { return values_[a] < values_[b]; });
    std::map<size_t, std::pair<Dim, int64_t>> sums;
    for (const size_t k : places) {
      if (sums.contains(k) || count_ >= kMostNames) continue;
      for (const std::vector<size_t>& set : sums_with(k)) {
        if (!instance_.is_instance(increased(set, kPrimes[count_])) ||
            !instance_.is_instance(increased(set, kPrimes[count_ + kSecond])))
          continue;
        // What is equal grows in one ratio too.
        const bool is_sum =
            std::any_of(set.begin(), set.end(), [&](size_t each) { return values_[each] != values_[k]; });
        if (!is_sum || !needs_all(set)) break;
        const Dim name = Dim::symbol(fmt::format("n{}", count_++));
        for (const size_t each : set) {
          auto& [sum, total] = sums.emplace(each, std::pair(Dim(0), int64_t{0})).first->second;
          sum = sum + name;
          total += values_[k];
        }
        break;
      }
    }
    if (!std::all_of(sums.begin(), sums.end(),
                     [&](const auto& each) { return each.second.second == values_[each.first]; }))
      return;
    for (const auto& [k, sum] : sums) {
      forms_[k] = sum.first;
      // It moves no more.
      is_fixed_[k] = true;
    }
  }

  /// Whether none of them may stay as it is.
  bool needs_all(const std::vector<size_t>& set) const {
    return std::none_of(set.begin(), set.end(), [&](size_t each) {
      std::vector<size_t> others = set;
      std::erase(others, each);
      return instance_.is_instance(increased(others, kPrimes[count_]));
    });
  }

  /// Sets that may grow with a place by as much: dims that are equal, perhaps one place more.
  std::vector<std::vector<size_t>> sums_with(size_t place) const {
    const auto is_open = [&](size_t k) {
      return k != place && !is_named(k) && !is_fixed_[k] && values_[k] >= values_[place];
    };
    std::vector<std::vector<size_t>> result, sets;
    for (size_t k = 0; k < places_.size(); ++k)
      if (is_open(k)) result.push_back({place, k});
    for (size_t k = 0; k < dims_; ++k) {
      if (!is_open(k)) continue;
      sets.push_back({place, k});
      std::vector<size_t> alike = {place};
      for (size_t other = 0; other < dims_; ++other)
        if (is_open(other) && values_[other] == values_[k] && places_[other].index == places_[k].index)
          alike.push_back(other);
      if (alike.size() > 2) result.push_back(alike);
      if (alike.size() > 2) sets.push_back(std::move(alike));
    }
    for (const std::vector<size_t>& set : sets)
      for (size_t k = dims_; k < places_.size(); ++k) {
        if (!is_open(k)) continue;
        result.push_back(set);
        result.back().push_back(k);
      }
    return result;
  }

  std::vector<int64_t> increased(const std::vector<size_t>& set, int64_t by) const {
    std::vector<int64_t> values = values_;
    for (const size_t k : set) values[k] += by;
    return values;
  }

  InstancePlaces instance_;
  const std::vector<Place>& places_;
  size_t dims_;
  std::vector<bool> is_stated_;  ///< by attributes
  std::vector<bool> is_fixed_;   ///< it has moved, or may not
  std::vector<int64_t> values_;
  std::vector<Dim> forms_;
  std::map<size_t, int64_t> numbers_;  ///< a form that is a product: its number,
  std::map<size_t, Dim> factors_;      ///< and its names
  size_t count_ = 0;                   ///< of names
};

}  // namespace

LawSizes with_sizes(const Law& law, std::string_view family, const LawInstance& instance) {
  return Mover(law, family, instance).run();
}

}  // namespace isomer::verify
