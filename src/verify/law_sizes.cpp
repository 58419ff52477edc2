#include "verify/law_sizes.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <set>

#include "graph/te/simplify.h"
#include "util/stable_sort.h"

namespace isomer::verify {
namespace {

/// Sizes are moved to these, each to two of its own; no law has constants like these. What may be large stays so, to leave room for
/// what must be smaller.
constexpr std::array<int64_t, 27> kPrimes = {11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103, 107, 109, 113, 127};
constexpr std::array<int64_t, 20> kLargePrimes = {311, 313, 317, 331, 337, 347, 349, 353, 359, 367, 373, 379, 383, 389, 397, 401, 409, 419, 421, 431};
constexpr size_t kMostNames = 20, kSecond = 4, kMostTogether = 6;
constexpr size_t kMostPlaces = 16;  ///< for sets of three to be tried

std::optional<ValueType> type_of(const Term& term, const VariableTypes& variables) {
  if (const auto* variable = term.as_variable()) return variables.find(variable->name)->second;
  const auto* application = term.as_application();
  if (!application) return ValueType::tensor(DataType::kUndefined, {});
  std::vector<ValueType> types;
  for (const Term& argument : application->arguments) {
    auto type = type_of(argument, variables);
    if (!type) return std::nullopt;
    types.push_back(*std::move(type));
  }
  auto outputs = infer_application(*application, types);
  if (!outputs.ok() || static_cast<size_t>(application->output) >= outputs->size()) return std::nullopt;
  return std::move((*outputs)[static_cast<size_t>(application->output)]);
}

/// A number takes the element type of the other side.
bool have_one_type(const Law& law, const VariableTypes& variables) {
  const auto left = type_of(law.left, variables), right = left ? type_of(law.right, variables) : std::nullopt;
  if (!left || !right) return false;
  const bool is_open = left->dtype == DataType::kUndefined || right->dtype == DataType::kUndefined;
  return *left->shape == *right->shape && (is_open || left->dtype == right->dtype);
}

/// Integers that attributes state, which must be numbers.
void add_attribute_names(const Term& term, std::set<std::string>& result) {
  const auto* application = term.as_application();
  if (!application) return;
  for (const Term& argument : application->arguments) add_attribute_names(argument, result);
  for (const AttributeDef& def : application->op->attributes) {
    const auto found = application->parameters.find(def.name);
    if (found == application->parameters.end()) continue;
    if (const auto* integer = std::get_if<Dim>(&found->second)) result.merge(names(*integer));
    if (const auto* integers = std::get_if<std::vector<Dim>>(&found->second))
      for (const Dim& each : *integers) result.merge(names(each));
  }
}

/// A number of the instance that may be a size: a dim of a variable, or an integer that the law leaves open.
struct Place {
  std::string variable;  ///< whose dim it is; empty: an integer
  std::string name;      ///< of the integer, or of the parameter behind `rest`
  std::string rest = {};
  size_t index = 0;  ///< of the dim, or of the element of the parameter
  bool is_fixed = false;
};

class Mover {
 public:
  Mover(const Law& law, std::string_view family, const LawInstance& instance) : law_(law), family_(family), instance_(instance), said_(ranks_said(law)) {
    std::set<std::string> stated;
    add_attribute_names(law.left, stated);
    add_attribute_names(law.right, stated);
    for (const auto& [name, type] : instance.types)
      for (size_t k = 0; k < type.shape->size(); ++k) add({name, {}, {}, k}, (*type.shape)[k].value(), stated);
    dims_ = places_.size();
    for (const auto& [name, value] : instance.bindings.integers)
      if (!dim_named(name, instance.types)) add({{}, name}, value.value(), stated);
    const auto ops = rest_names({law.left, law.right});
    for (const auto& [rest, parameters] : instance.bindings.rests)
      for (const auto& [name, parameter] : parameters) {
        const auto* integers = std::get_if<std::vector<Dim>>(&parameter);
        const auto& attributes = ops.at(rest)->attributes;
        if (!integers || std::any_of(attributes.begin(), attributes.end(), [&](const AttributeDef& def) { return def.name == name; })) continue;
        for (size_t k = 0; k < integers->size(); ++k) add({{}, name, rest, k}, (*integers)[k].value(), stated);
      }
  }

  LawSizes run() {
    move_all(1);
    add_up();
    move_all(kMostTogether);
    fix_stated();
    // A size that adds up to another is fixed, and has a name.
    LawSizes result = made(forms_);
    for (size_t k = 0; k < dims_; ++k) result.is_general &= is_named(k) || places_[k].is_fixed || values_[k] <= 1;
    add_facts(result);
    result.is_general = result.is_general && !is_too_special(result);
    return result;
  }

 private:
  void add(Place place, int64_t value, const std::set<std::string>& stated) {
    const std::string& name = place.variable.empty() ? place.name : place.variable;
    if (place.variable.empty())
      place.is_fixed = place.rest.empty() && stated.contains(name);
    else
      place.is_fixed = std::any_of(stated.begin(), stated.end(), [&](const std::string& each) {
        const auto dim = dim_name(each, {place.variable});
        if (!dim || !dim->axis) return false;
        const int rank = static_cast<int>(instance_.types.find(place.variable)->second.shape->size());
        return static_cast<size_t>(*dim->axis < 0 ? *dim->axis + rank : *dim->axis) == place.index;
      });
    is_stated_.push_back(place.is_fixed);
    places_.push_back(std::move(place));
    values_.push_back(value);
    forms_.emplace_back(value);
  }

  bool is_named(size_t k) const { return !forms_[k].is_constant(); }

  /// The instance with other sizes.
  LawSizes made(const std::vector<Dim>& sizes) const {
    VariableTypes types = instance_.types;
    Bindings bindings = instance_.bindings;
    for (size_t k = 0; k < places_.size(); ++k) {
      const Place& place = places_[k];
      if (!place.variable.empty())
        (*types.find(place.variable)->second.shape)[place.index] = sizes[k];
      else if (place.rest.empty())
        bindings.integers.insert_or_assign(place.name, sizes[k]);
      else
        std::get<std::vector<Dim>>(bindings.rests.find(place.rest)->second.find(place.name)->second)[place.index] = sizes[k];
    }
    for (auto& [name, value] : bindings.integers)
      if (auto dim = dim_named(name, types)) value = *std::move(dim);
    const te::Expr condition = law_.condition ? substitute(law_.condition, bindings) : te::Expr();
    return {{substitute(law_.left, bindings), substitute(law_.right, bindings), condition}, std::move(types)};
  }

  bool is_typed(const std::vector<int64_t>& values) const {
    const LawSizes sizes = made(std::vector<Dim>(values.begin(), values.end()));
    if (sizes.law.condition && !(sizes.law.condition == te::truth(true))) return false;
    std::vector<ValueType> bound;
    for (const auto& [name, type] : sizes.types)
      if (!said_.contains(name)) bound.push_back(type);
    if (!is_of_family(family_, bound)) return false;
    return have_one_type(sizes.law, sizes.types);
  }

  /// What has moved makes room for others: a kernel is not larger than its image. So what moves alone, or with few, goes first.
  void move_all(size_t most) {
    for (size_t together = 1; together <= most; ++together) {
      bool moved = false;
      for (size_t k = 0; k < dims_ && count_ < kMostNames; ++k)
        if (!is_named(k) && !places_[k].is_fixed) moved |= move(k, together);
      if (moved) together = 0;
    }
  }

  /// Dims that move only with those that attributes state are stated by these.
  void fix_stated() {
    for (size_t k = 0; k < dims_; ++k) {
      if (is_named(k) || places_[k].is_fixed || values_[k] <= 1) continue;
      std::vector<size_t> set;
      bool has_stated = false;
      for (size_t other = 0; other < places_.size(); ++other) {
        if (is_named(other) || values_[other] != values_[k] || (other >= dims_ && !is_stated_[other])) continue;
        has_stated = has_stated || is_stated_[other];
        set.push_back(other);
      }
      if (!has_stated || !is_typed(multiplied(set, values_[k], kPrimes[count_]))) continue;
      for (const size_t each : set) places_[each].is_fixed = is_stated_[each] = true;
    }
  }

  /// Whether sizes may change in a way that the names don't: a dim alone, or two places together that can't alone. Integers that change
  /// alone are parameters, as ones and zeros are what they are.
  bool is_too_special(const LawSizes& sizes) const {
    const auto is_typed_with = [&](const std::vector<size_t>& set) { return is_typed(increased(set, 1)); };
    const auto is_covered = [&](const std::vector<size_t>& set) {
      const std::vector<int64_t> values = increased(set, 1);
      const LawSizes moved = made(std::vector<Dim>(values.begin(), values.end()));
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
        if (const std::vector<size_t> both = {bound[a], bound[b]}; is_typed_with(both) && !is_covered(both)) return true;
    return false;
  }

  /// The largest number that the sizes of the set are multiples of and need not be, all growing alike; 0 where they can't.
  int64_t common_factor(const std::vector<size_t>& set) const {
    int64_t common = 0;
    for (const size_t k : set) {
      if (places_[k].is_fixed || values_[k] < 1) return 0;
      // What is a product of names already may lose its number only.
      common = std::gcd(common, is_named(k) ? numbers_.at(k) : values_[k]);
    }
    for (int64_t divisor = common; divisor >= 1; --divisor)
      if (common % divisor == 0 && is_typed(multiplied(set, divisor, kPrimes[count_])) && is_typed(multiplied(set, divisor, kPrimes[count_ + kSecond]))) return divisor;
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
      values_ = is_typed(large) ? large : multiplied(set, divisor, kPrimes[count_]);
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
    const auto rank = [&](size_t k) { return instance_.types.find(places_[k].variable)->second.shape->size(); };
    const std::array<std::function<bool(size_t)>, 3> alike = {[&](size_t k) { return places_[k].index == places_[size].index; },
                                                              [&](size_t k) { return rank(k) - places_[k].index == rank(size) - places_[size].index; }, [](size_t) { return true; }};
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
      if (!places_[k].is_fixed && !is_named(k) && values_[k] >= 1) places.push_back(k);
    // Parts are not larger than their sum.
    stable_sort(places, [&](size_t a, size_t b) { return values_[a] < values_[b]; });
    std::map<size_t, std::pair<Dim, int64_t>> sums;
    for (const size_t k : places) {
      if (sums.contains(k) || count_ >= kMostNames) continue;
      for (const std::vector<size_t>& set : sums_with(k)) {
        if (!is_typed(increased(set, kPrimes[count_])) || !is_typed(increased(set, kPrimes[count_ + kSecond]))) continue;
        // What is equal grows in one ratio too.
        const bool is_sum = std::any_of(set.begin(), set.end(), [&](size_t each) { return values_[each] != values_[k]; });
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
    if (!std::all_of(sums.begin(), sums.end(), [&](const auto& each) { return each.second.second == values_[each.first]; })) return;
    for (const auto& [k, sum] : sums) {
      forms_[k] = sum.first;
      // It moves no more.
      places_[k].is_fixed = true;
    }
  }

  /// Whether none of them may stay as it is.
  bool needs_all(const std::vector<size_t>& set) const {
    return std::none_of(set.begin(), set.end(), [&](size_t each) {
      std::vector<size_t> others = set;
      std::erase(others, each);
      return is_typed(increased(others, kPrimes[count_]));
    });
  }

  /// Sets that may grow with a place by as much: dims that are equal, perhaps one place more.
  std::vector<std::vector<size_t>> sums_with(size_t place) const {
    const auto is_open = [&](size_t k) { return k != place && !is_named(k) && !places_[k].is_fixed && values_[k] >= values_[place]; };
    std::vector<std::vector<size_t>> result, sets;
    for (size_t k = 0; k < places_.size(); ++k)
      if (is_open(k)) result.push_back({place, k});
    for (size_t k = 0; k < dims_; ++k) {
      if (!is_open(k)) continue;
      sets.push_back({place, k});
      std::vector<size_t> alike = {place};
      for (size_t other = 0; other < dims_; ++other)
        if (is_open(other) && values_[other] == values_[k] && places_[other].index == places_[k].index) alike.push_back(other);
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

  /// What is computed on the way has elements.
  static void add_facts(LawSizes& sizes) {
    for (const Term* side : {&sizes.law.left, &sizes.law.right}) add_facts(*side, sizes);
  }
  static void add_facts(const Term& term, LawSizes& sizes) {
    const auto* application = term.as_application();
    if (!application) return;
    for (const Term& argument : application->arguments) add_facts(argument, sizes);
    const auto type = type_of(term, sizes.types);
    if (!type) return;
    for (const Dim& dim : *type->shape)
      if (!dim.is_constant() && !te::as<te::Symbol>(dim.expr())) sizes.facts.push_back(te::index(1) <= dim.expr());
  }

  const Law& law_;
  std::string_view family_;
  const LawInstance& instance_;
  std::map<std::string, SaidRank> said_;
  std::vector<Place> places_;  ///< dims first
  size_t dims_ = 0;
  std::vector<bool> is_stated_;  ///< by attributes
  std::vector<int64_t> values_;
  std::vector<Dim> forms_;
  std::map<size_t, int64_t> numbers_;  ///< a form that is a product: its number,
  std::map<size_t, Dim> factors_;      ///< and its names
  size_t count_ = 0;  ///< of names
};

}  // namespace

std::string LawSizes::text() const {
  std::string result = law.text();
  for (const auto& [name, type] : types) result += fmt::format(" {}:{}{}", name, isomer::name(type.dtype), isomer::text(*type.shape));
  return result;
}

bool is_typed(const LawInstance& instance) {
  return have_one_type(instance.law, instance.types);
}

LawSizes with_sizes(const Law& law, std::string_view family, const LawInstance& instance) { return Mover(law, family, instance).run(); }

bool covers(const LawSizes& sizes, const LawInstance& instance) {
  Bindings bindings;
  for (const auto& [name, type] : sizes.types) {
    const ValueType& other = instance.types.find(name)->second;
    if (type.dtype != other.dtype || type.shape->size() != other.shape->size()) return false;
    for (size_t k = 0; k < type.shape->size(); ++k) {
      const std::set<std::string> free = names((*type.shape)[k]);
      if (free.size() != 1 || bindings.integers.contains(*free.begin())) continue;
      const Dim one = substitute((*type.shape)[k], Bindings{{}, {{*free.begin(), Dim(1)}}, {}});
      const Dim rest = substitute((*type.shape)[k], Bindings{{}, {{*free.begin(), Dim(0)}}, {}});
      const int64_t value = ((*other.shape)[k].value() - rest.value()) / std::max<int64_t>((one - rest).value(), 1);
      if (value < 1) return false;
      bindings.integers.emplace(*free.begin(), Dim(value));
    }
  }
  // Integers of the law may be parts of sums.
  if (!bind(sizes.law.left, instance.law.left, bindings) || !bind(sizes.law.right, instance.law.right, bindings)) return false;
  for (const auto& [name, type] : sizes.types) {
    const ValueType& other = instance.types.find(name)->second;
    for (size_t k = 0; k < type.shape->size(); ++k)
      if (substitute((*type.shape)[k], bindings) != (*other.shape)[k]) return false;
  }
  if (!std::all_of(sizes.facts.begin(), sizes.facts.end(), [&](const te::Expr& fact) { return substitute(fact, bindings) == te::truth(true); })) return false;
  return substitute(sizes.law.left, bindings) == instance.law.left && substitute(sizes.law.right, bindings) == instance.law.right;
}

}  // namespace isomer::verify
