// How matches are found: by backtracking over goals. Test: tests/substitutions/match_test.cpp
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "graph/infer.h"
#include "substitutions/rewrite/match.h"
#include "util/check.h"
#include "verify/proof/law_family.h"

namespace isomer::substitutions {

/// Looks for one substitution after the other in a program: goals are patterns that values must be, met one after the
/// other.
class MatchSearch {
 public:
  MatchSearch(Substitutions& rules, const Program& program, const EqualValues* classes = nullptr,
              const std::function<bool(const Match&)>* is_wanted = nullptr)
      : rules_(rules), program_(program), classes_(classes), is_wanted_(is_wanted) {}

  /// All matches whose source of this number is rooted at a value of the application.
  void look_for(int substitution, int source, int application) {
    number_ = substitution;
    there_ = rules_.list_[static_cast<size_t>(substitution)].get();
    order_ = &there_->orders[static_cast<size_t>(source)];
    values_.tensors.assign(there_->tensors.size(), -1);
    values_.integers.assign(there_->integers.size(), std::nullopt);
    values_.rests.assign(there_->rests.size(), -1);
    roots_.assign(there_->sources.size(), -1);
    applications_.assign(static_cast<size_t>(there_->applications), -1);
    goals_.clear();
    equations_.clear();
    joined_ = 0;
    work_ = 0;
    const verify::Pattern& root = there_->sources[static_cast<size_t>(source)];
    const Program::Application& made = program_.application(application);
    if (root.output >= made.value_count) return;
    if (!classes_) return start(source, made.first_value + root.output);
    // Others of its class are roots of their own.
    roots_[static_cast<size_t>(source)] = leader(made.first_value + root.output);
    goals_.push_back({&root, made.first_value + root.output});
    meet_application(root, made.first_value + root.output, 0);
  }

  std::vector<Match> take() { return std::move(found_); }
  const Program::Uses& uses() {
    if (!uses_) uses_ = program_.uses();
    return *uses_;
  }

 private:
  struct Goal {
    const verify::Pattern* pattern = nullptr;
    int value = 0;
  };

  int leader(int value) const { return classes_ ? classes_->leaders[static_cast<size_t>(value)] : value; }

  /// The values that are known to be equal to it.
  std::span<const int> equal_to(const int& value) const {
    return classes_ ? std::span<const int>(classes_->members[static_cast<size_t>(leader(value))])
                    : std::span(&value, 1);
  }

  void start(int source, int root) {
    if (std::find(roots_.begin(), roots_.end(), root) != roots_.end()) return;
    roots_[static_cast<size_t>(source)] = root;
    goals_.push_back({&there_->sources[static_cast<size_t>(source)], root});
    meet(goals_.size() - 1);
    goals_.pop_back();
    roots_[static_cast<size_t>(source)] = -1;
  }

  void meet(size_t at) {
    if (at == goals_.size()) return next_source();
    const auto [pattern, value] = goals_[at];
    if (value < 0 || ++work_ > (classes_ ? kMostWorkOfClasses : kMostWork)) return;
    switch (pattern->kind) {
      case verify::Pattern::Kind::kVariable: {
        int& slot = values_.tensors[static_cast<size_t>(pattern->variable)];
        if (slot >= 0) {
          if (slot == value) meet(at + 1);
          return;
        }
        slot = value;
        meet(at + 1);
        slot = -1;
        return;
      }
      case verify::Pattern::Kind::kNumber:
        for (const int member : equal_to(value))
          if (const te::Number* number = program_.number(member); number && *number == pattern->number)
            return meet(at + 1);
        return;
      case verify::Pattern::Kind::kApplication:
        for (const int member : equal_to(value)) meet_application(*pattern, member, at);
        return;
    }
  }

  void meet_application(const verify::Pattern& pattern, int value, size_t at) {
    const Program::Value& there = program_.value(value);
    if (there.producer < 0 || there.index != pattern.output || program_.op(there.producer) != pattern.op) return;
    const auto arguments = program_.arguments(there.producer);
    if (arguments.size() != pattern.arguments.size()) return;
    const auto& read = rules_.extract(pattern, program_.application(there.producer).operation);
    if (!read.fits) return;
    std::array<int, kMostNames> bound;
    size_t count = 0;
    const size_t equations = equations_.size();
    bool agrees = true;
    for (const auto& [integer, number] : read.integers) {
      if (!integer->is_name()) {
        equations_.emplace_back(integer, &number);
        continue;
      }
      auto& slot = values_.integers[static_cast<size_t>(integer->terms[0].first)];
      if (slot) {
        agrees = agrees && *slot == number;
      } else if (count < kMostNames) {
        slot = number;
        bound[count++] = integer->terms[0].first;
      } else {
        agrees = false;
      }
    }
    bool bound_rest = false;
    if (pattern.rest >= 0) {
      int& rest = values_.rests[static_cast<size_t>(pattern.rest)];
      agrees = agrees && (rest < 0 || rest == read.rest);
      bound_rest = rest < 0;
      if (bound_rest) rest = read.rest;
    }
    if (agrees) {
      const auto index = static_cast<size_t>(pattern.id - there_->first_id);
      applications_[index] = there.producer;
      meet_arguments(pattern, arguments, false, at);
      if (there_->turns[index] && arguments[0] != arguments[1] &&
          program_.theory().commutes(pattern.op, program_.value(arguments[0]).type, program_.value(arguments[1]).type))
        meet_arguments(pattern, arguments, true, at);
      applications_[index] = -1;
    }
    if (bound_rest) values_.rests[static_cast<size_t>(pattern.rest)] = -1;
    for (size_t k = 0; k < count; ++k) values_.integers[static_cast<size_t>(bound[k])].reset();
    equations_.resize(equations);
  }

  void meet_arguments(const verify::Pattern& pattern, std::span<const int> arguments, bool turned, size_t at) {
    if (!numbers_fit(pattern, arguments, turned)) return;
    const size_t before = goals_.size();
    for (size_t k = 0; k < arguments.size(); ++k)
      goals_.push_back({&pattern.arguments[k], arguments[turned ? 1 - k : k]});
    meet(at + 1);
    goals_.resize(before);
  }

  /// A number has the element type of what stands beside it, as the guard's terms have.
  bool numbers_fit(const verify::Pattern& pattern, std::span<const int> arguments, bool turned) const {
    const auto is_number = [](const verify::Pattern& argument) {
      return argument.kind == verify::Pattern::Kind::kNumber;
    };
    if (std::none_of(pattern.arguments.begin(), pattern.arguments.end(), is_number)) return true;
    std::vector<int> numbers, others;
    for (size_t k = 0; k < arguments.size(); ++k)
      if (const int value = arguments[turned ? 1 - k : k]; value >= 0)
        (is_number(pattern.arguments[k]) ? numbers : others).push_back(program_.value(value).type);
    const DataType dtype = program_.theory().dtype_beside(others, condition_count(*pattern.op));
    return std::all_of(numbers.begin(), numbers.end(),
                       [&](int type) { return program_.theory().signatures().type(type).dtype == dtype; });
  }

  void next_source() {
    if (joined_ + 1 == order_->size()) return finish();
    ++joined_;
    const Substitution::Joined& joined = (*order_)[joined_];
    // Roots are found from a value that both have: up through its readers.
    std::vector<int> level = {values_.tensors[static_cast<size_t>(joined.variable)]};
    for (size_t k = 0; k < joined.path.size(); ++k) {
      const verify::Pattern& pattern = *joined.path[k];
      std::vector<int> above;
      for (const int value : level)
        for (const int reader : uses().of(value)) {
          if (program_.op(reader) != pattern.op) continue;
          const auto arguments = program_.arguments(reader);
          if (arguments.size() != pattern.arguments.size()) continue;
          if (arguments[joined.positions[k]] != value &&
              !there_->turns[static_cast<size_t>(pattern.id - there_->first_id)])
            continue;
          const Program::Application& made = program_.application(reader);
          if (pattern.output < made.value_count) above.push_back(leader(made.first_value + pattern.output));
        }
      level = std::move(above);
    }
    if (level.size() > 1) {
      std::sort(level.begin(), level.end());
      level.erase(std::unique(level.begin(), level.end()), level.end());
    }
    for (const int root : level) start(joined.source, root);
    --joined_;
  }

  void finish() {
    const std::vector<std::optional<Dim>> before = values_.integers;
    const std::vector<int> rests = values_.rests;
    bool has_open = true;
    for (int64_t times = 1; has_open && times <= 2; ++times) {
      has_open = false;
      if (complete(times, has_open)) {
        ++rules_.statistics_.structures;
        Match match{number_, values_, roots_, applications_};
        if ((!is_wanted_ || (*is_wanted_)(match)) && rules_.guard_holds(program_, match))
          found_.push_back(std::move(match));
      }
      values_.integers = before;
      values_.rests = rests;
    }
  }

  /// Dims from types, then what equations leave one unknown of, then so many times what the rule's example has: any
  /// number will do of which the guard says so.
  bool complete(int64_t times, bool& has_open) {
    for (const verify::DimSlot& dim : there_->dims) {
      const ValueType& type =
          program_.theory().signatures().type(program_.value(values_.tensors[static_cast<size_t>(dim.variable)]).type);
      if (!type.has_shape()) return false;
      auto value = verify::dim_at(*type.shape, dim.axis);
      if (!value) return false;
      auto& slot = values_.integers[static_cast<size_t>(dim.slot)];
      if (slot && *slot != *value) return false;
      slot = std::move(value);
    }
    for (;;) {
      if (!verify::solve(equations_, values_)) return false;
      size_t open = 0;
      while (open < values_.integers.size() && values_.integers[open]) ++open;
      if (open == values_.integers.size()) break;
      if (!there_->example_integers[open]) return false;
      values_.integers[open] = *there_->example_integers[open] * times;
      has_open |= !values_.integers[open]->is(0);
    }
    for (size_t k = 0; k < values_.rests.size(); ++k) {
      if (values_.rests[k] >= 0) continue;
      if (!there_->example_rests[k]) return false;
      const OpDef* op = op_of_rest(static_cast<int>(k));
      values_.rests[k] = program_.theory().signatures().operation_id(*op, *there_->example_rests[k]);
    }
    return verify::hold(equations_, values_, there_->integers);
  }

  const OpDef* op_of_rest(int rest) const {
    const std::function<const OpDef*(const verify::Pattern&)> find =
        [&](const verify::Pattern& pattern) -> const OpDef* {
      if (pattern.rest == rest) return pattern.op;
      for (const verify::Pattern& argument : pattern.arguments)
        if (const OpDef* op = find(argument)) return op;
      return nullptr;
    };
    for (const verify::Pattern& target : there_->targets)
      if (const OpDef* op = find(target)) return op;
    CHECK(false) << "a rest that stands in the target expected";
    return nullptr;
  }

  static constexpr size_t kMostNames = 16;  ///< of integers in one application of a rule
  /// Goals of one substitution at one root: operands of n operators that commute have 2^n orders.
  static constexpr int kMostWork = 1'000'000;
  static constexpr int kMostWorkOfClasses = 20'000;  ///< modulo classes, of which values have many

  Substitutions& rules_;
  const Program& program_;
  std::optional<Program::Uses> uses_;  ///< made when it is first asked for
  const EqualValues* classes_;
  const std::function<bool(const Match&)>* is_wanted_;
  int number_ = 0;
  const Substitution* there_ = nullptr;
  const std::vector<Substitution::Joined>* order_ = nullptr;
  verify::SlotValues values_;
  std::vector<int> roots_, applications_;
  std::vector<Goal> goals_;
  verify::IntegerEquations equations_;
  size_t joined_ = 0;
  int work_ = 0;
  std::vector<Match> found_;
};

}  // namespace isomer::substitutions
