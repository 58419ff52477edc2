#include "substitutions/library/solve_scheme.h"

#include <algorithm>
#include <tuple>

#include "graph/te/expr.h"
#include "graph/te/symbols.h"
#include "verify/proof/law_family.h"

namespace isomer::substitutions {
namespace {

using verify::Term;

/// x where difference = 0, if it is a multiple of x and what x is not in: what is left over then no guard lets pass.
std::optional<Dim> solved_for(const Dim& difference, const std::string& x) {
  const auto at = [&](int64_t value) {
    verify::Bindings bindings;
    bindings.integers.emplace(x, value);
    return substitute(difference, bindings);
  };
  const Dim zero = at(0), step = at(1) - zero;
  if (!step.is_constant() || step.is(0) || at(2) - at(1) != step) return std::nullopt;
  return step.value() < 0 ? floor_div(zero, -step.value()) : floor_div(Dim(0) - zero, step.value());
}

class Solver {
 public:
  Solver(ParameterScheme& scheme, RankReader& ranks, SizeReader& sizes)
      : scheme_(scheme), ranks_(ranks), sizes_(sizes) {}

  Solution run(Reading reading) {
    find_sides();
    count_from_back();
    std::vector<SizeEquation> laws = law_equations();
    solve(laws, false);
    if (reading == Reading::kSizesTell) {
      if (has_unknown()) solve(type_equations(), true);
      if (has_unknown()) solve(needs(), true);
    }
    free_some(laws);
    keep_what_sizes_depend_on();
    return std::move(solution_);
  }

 private:
  ParameterScheme::Number& number(int id) { return scheme_.number(id); }

  // Sides

  void find_sides() {
    std::set<int> left_units, right_units;
    for (const Output& output : scheme_.outputs()) {
      mark(output.left, left_units);
      mark(output.right, right_units);
    }
    // A whole parameter that the other side does not have is what it was, or what its numbers need to be.
    for (int id = 0; id < scheme_.unit_count(); ++id) {
      const int leader = scheme_.unit_leader(id);
      if (leader != id || scheme_.unit(id).opened || scheme_.unit(id).pinned ||
          (left_units.contains(leader) && right_units.contains(leader)))
        continue;
      if (!scheme_.unit(id).is_input) {
        scheme_.unit(id).pinned = true;
        continue;
      }
      scheme_.open(id);
      whole_.insert(scheme_.unit(id).numbers.begin(), scheme_.unit(id).numbers.end());
    }
    for (const Output& output : scheme_.outputs()) {
      mark_numbers(output.left, left_numbers_);
      mark_numbers(output.right, right_numbers_);
    }
  }

  void mark(const Term& term, std::set<int>& units) {
    if (!term.as_application()) return;
    for (const auto& [name, id] : scheme_.units_of(term)) units.insert(scheme_.unit_leader(id));
    for (const Term& argument : term.as_application()->arguments) mark(argument, units);
  }

  void mark_numbers(const Term& term, std::set<int>& numbers) {
    if (!term.as_application()) return;
    for (const auto& [name, id] : scheme_.units_of(term))
      for (const int each : scheme_.unit(id).numbers) numbers.insert(scheme_.leader(each));
    for (const Term& argument : term.as_application()->arguments) mark_numbers(argument, numbers);
  }

  // Axes from the back

  void count_from_back() {
    for (const ParameterScheme::FromBack& place : scheme_.from_back()) {
      if (number(place.number).pinned) continue;
      const Term& first = place.application.as_application()->arguments[0];
      const auto rank = [&](const Term& term) {
        return static_cast<int64_t>(sizes_.sizes_of(term).value_or(Sizes()).size());
      };
      const bool of_first = number(place.number).value.is(rank(first) + place.written);
      count_from_back(place.number, ranks_.rank_of(of_first ? first : place.application) + place.written);
    }
  }

  void count_from_back(int id, const Dim& expression) {
    solution_.from_back.insert(scheme_.leader(id));
    solution_.expressions.emplace(scheme_.leader(id), expression);
  }

  // Equations

  /// A law's arithmetic over the rule's names; nothing where it is about sizes that rows don't say.
  std::optional<Dim> in_rule(const Dim& integer, size_t use) {
    verify::Bindings names;
    for (const std::string& name : isomer::names(integer)) {
      const auto dim = verify::dim_name(name, scheme_.variables_of(use));
      if (!dim) {
        const auto number = ParameterScheme::number_of(name);
        names.integers.emplace(name,
                               ParameterScheme::symbol(scheme_.leader(number ? *number : *scheme_.named({use, name}))));
        continue;
      }
      const Term& term = scheme_.tensor({use, dim->variable});
      if (const auto* variable = term.as_variable()) {
        names.integers.emplace(name, Dim::symbol(verify::text(verify::DimName{variable->name, dim->axis})));
      } else if (!dim->axis) {
        names.integers.emplace(name, ranks_.rank_of(term));
      } else {
        const auto& sizes = sizes_.sizes_of(term);
        if (!sizes) return std::nullopt;
        Shape shape;
        for (const Size& size : *sizes) shape.push_back(size.value);
        names.integers.emplace(name, verify::dim_or_none(shape, dim->axis));
      }
    }
    return substitute(integer, names);
  }

  std::vector<SizeEquation> law_equations() {
    std::vector<SizeEquation> result;
    for (const ParameterScheme::Relation& relation : scheme_.relations()) {
      const auto left = in_rule(relation.left, relation.use), right = in_rule(relation.right, relation.use);
      if (left && right) result.push_back({*left - *right, {}});
    }
    return result;
  }

  std::vector<SizeEquation> type_equations() {
    std::vector<SizeEquation> result;
    for (const verify::Law& instance : scheme_.instances())
      for (SizeEquation& equation : sizes_.equal(instance.left, instance.right)) result.push_back(std::move(equation));
    return result;
  }

  std::vector<SizeEquation> needs() {
    std::vector<SizeEquation> result;
    for (const Term& term : scheme_.terms()) {
      if (!term.as_application()) continue;
      for (SizeEquation& equation : sizes_.needs_of(term)) result.push_back(std::move(equation));
    }
    return result;
  }

  // Solving

  /// The left side's numbers are bound by what it stands for; the others must be computed.
  bool is_known(int id) {
    const int leader = scheme_.leader(id);
    return number(id).pinned || solution_.expressions.contains(leader) || free_.contains(leader) ||
           left_numbers_.contains(leader);
  }

  std::vector<int> unknown() {
    std::vector<int> result;
    for (int id = 0; id < scheme_.number_count(); ++id)
      if (scheme_.leader(id) == id && !is_known(id)) result.push_back(id);
    return result;
  }
  bool has_unknown() { return !unknown().empty(); }

  std::vector<int> unknown_of(const SizeEquation& equation) {
    std::vector<int> result;
    for (const std::string& name : isomer::names(equation.difference))
      if (const auto id = ParameterScheme::number_of(name); id && !is_known(*id)) result.push_back(*id);
    return result;
  }

  struct Found {
    int number = -1;
    Dim value;
    std::set<int> depends;
    /// What little is said of comes first.
    auto order() const { return std::tuple(depends.size(), isomer::names(value).size(), value.text().size()); }
  };

  std::optional<Found> found_in(const SizeEquation& equation) {
    const std::vector<int> open = unknown_of(equation);
    if (open.size() != 1 || !sizes_.is_over_symbols(equation.difference)) return std::nullopt;
    const auto value = solved_for(equation.difference, ParameterScheme::symbol_name(open[0]));
    if (!value) return std::nullopt;
    Found found{scheme_.leader(open[0]), with_expressions(*value), equation.depends};
    // Numbers alone are so at any axis.
    const auto names = isomer::names(found.value);
    if (std::all_of(names.begin(), names.end(),
                    [](const std::string& name) { return ParameterScheme::number_of(name).has_value(); }))
      found.depends.clear();
    return found;
  }

  void solve(const std::vector<SizeEquation>& equations, bool by_sizes) {
    for (;;) {
      std::optional<Found> best;
      for (const SizeEquation& equation : equations)
        if (auto found = found_in(equation); found && (!best || found->order() < best->order()))
          best = std::move(found);
      if (!best) return;
      solution_.expressions.emplace(best->number, best->value);
      if (by_sizes) by_sizes_.insert(best->number);
      depends_.insert(best->depends.begin(), best->depends.end());
    }
  }

  /// Over dims and numbers that have no expressions.
  Dim with_expressions(const Dim& value) {
    verify::Bindings names;
    for (const std::string& name : isomer::names(value)) {
      const auto id = ParameterScheme::number_of(name);
      if (!id) continue;
      const auto found = solution_.expressions.find(scheme_.leader(*id));
      if (number(*id).pinned || found != solution_.expressions.end())
        names.integers.emplace(name, number(*id).pinned ? number(*id).value : found->second);
    }
    return substitute(value, names);
  }

  /// Arithmetic of laws over several numbers: all but one of them are free. What nothing speaks of stays.
  void free_some(const std::vector<SizeEquation>& laws) {
    for (bool changed = true; changed;) {
      changed = false;
      for (const SizeEquation& equation : laws) {
        const std::vector<int> open = unknown_of(equation);
        if (open.size() < 2) continue;
        free_.insert(scheme_.leader(open.back()));
        changed = true;
        break;
      }
      if (changed) solve(laws, false);
    }
    for (const int id : unknown())
      if (!right_numbers_.contains(id) || whole_.contains(id)) number(id).pinned = true;
  }

  // What sizes were read at

  /// Sizes that were read at an axis are so at that axis only: it is counted from the back if it is the last, else it
  /// stays.
  void keep_what_sizes_depend_on() {
    for (const int id : depends_) {
      if (number(id).pinned || solution_.expressions.contains(scheme_.leader(id))) continue;
      if (const auto last = last_axis(id))
        count_from_back(id, *last);
      else
        number(id).pinned = true;
    }
    if (solution_.from_back.empty()) return;
    for (const int id : by_sizes_) solution_.expressions[id] = dims_from_back(solution_.expressions[id]);
  }

  /// The last axis of what an application is of, wherever the number stands; nothing where it is another.
  std::optional<Dim> last_axis(int id) {
    for (const Term& term : scheme_.terms()) {
      if (!term.as_application()) continue;
      for (const auto& [name, unit] : scheme_.units_of(term)) {
        const std::vector<int>& numbers = scheme_.unit(unit).numbers;
        for (size_t k = 0; k < numbers.size(); ++k) {
          if (scheme_.leader(numbers[k]) != id) continue;
          const auto rank = ranks_.counted_from(term, name, k);
          if (!rank || number(id).value.is(0) || !number(id).value.is(*rank - 1)) return std::nullopt;
          return ranks_.rank_of(term.as_application()->arguments[0]) - 1;
        }
      }
    }
    return std::nullopt;
  }

  Dim dims_from_back(const Dim& size) const {
    verify::Bindings names;
    for (const auto& [variable, type] : scheme_.types())
      for (const std::string& name : isomer::names(size))
        if (const auto dim = verify::dim_name(name, {variable}); dim && dim->axis && *dim->axis >= 0)
          names.integers.emplace(
              name,
              Dim::symbol(verify::text(verify::DimName{variable, *dim->axis - static_cast<int>(type.shape->size())})));
    return substitute(size, names);
  }

  ParameterScheme& scheme_;
  RankReader& ranks_;
  SizeReader& sizes_;
  Solution solution_;
  std::set<int> left_numbers_, right_numbers_;
  std::set<int> whole_;  ///< of parameters that no law looks into
  std::set<int> free_;   ///< nothing on the left decides them
  std::set<int> by_sizes_, depends_;
};

}  // namespace

Solution solve(ParameterScheme& scheme, RankReader& ranks, SizeReader& sizes, Reading reading) {
  return Solver(scheme, ranks, sizes).run(reading);
}

}  // namespace isomer::substitutions
