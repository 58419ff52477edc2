// Are two models the same function? Both are run on seeded inputs; the yardstick for floats is what rounding does to
// the reference itself (reliability.md 3.5, P4; output_comparison.h), so that no model needs a tolerance of its own.
// Tests: tests/verify/equivalence_test.cpp
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/interpret.h"
#include "graph/te/array.h"
#include "util/clock.h"
#include "util/memory_limit.h"
#include "verify/check/inputs.h"
#include "verify/check/output_comparison.h"

namespace isomer {

struct EquivalenceOptions {
  FillOptions fill;
  int runs = 2;  ///< seeds fill.seed, fill.seed + 1, …
  int threads = 1;
};

/// What a comparison may take.
struct ComparisonEffort {
  int threads = 1;
  /// Runs of the reference with its numbers moved, at most, on inputs on which rounding alone doesn't explain what
  /// differs. They are seeded.
  int movements = 48;
  uint64_t seed = 0;
  Strictness strictness = {};
  /// Then only as many movements are made as it takes to judge at all, and no more inputs are tried where the reference
  /// runs on none.
  std::optional<Clock::time_point> until = std::nullopt;
  MemoryLimit memory = {};  ///< of runs of the interpreter; what would need more ends with kUnsupported
  /// Asked before each run but the first: where it says so, no more inputs are tried, however many runs are wanted.
  std::function<bool()> is_enough = nullptr;
  /// Runs more than wanted where of some output nothing could be compared yet.
  int more_for_uncompared = 0;
};

/// What of an output was compared, over all runs.
struct OutputCoverage {
  std::string name;
  int64_t elements = 0;
  int64_t set_aside = 0;   ///< of them: they differ, and by as much as rounding moves the reference there
  int64_t not_finite = 0;  ///< of them: of both models alike
  /// Where it has no element, data decided so: nothing tells the models apart.
  bool may_be_empty = false;
  OutputCoverage& operator+=(const OutputCoverage& other);  ///< of the same output elsewhere
  bool is_compared() const { return elements == 0 ? !may_be_empty : set_aside + not_finite < elements; }

  double share_of(int64_t part) const {
    return elements == 0 ? 0 : static_cast<double>(part) / static_cast<double>(elements);
  }
};

struct Equivalence {
  int runs = 0;
  int movements = 0;         ///< of the reference, on those inputs that took the most of them
  double max_abs_error = 0;  ///< of what was not set aside
  double max_error_over_bound = 0;
  std::vector<OutputCoverage> outputs;
  std::optional<Difference> difference;  ///< the first run's worst one beyond its bound

  bool passed() const { return !difference; }
  /// It passed, and of each output something was compared, or data decided in both that it has no element.
  bool is_equal() const;
  /// With what was compared elsewhere, of the same outputs.
  Equivalence& operator+=(const Equivalence& other);
  int64_t elements() const;
  int64_t set_aside() const;
  /// "largest difference 3.1e-07, 0.04 of what rounding allows; 12 of 40,960 elements set aside: rounding decides them
  /// (16 movements)"
  std::string text() const;
  /// "nothing of output y could be compared: there is no element, none is finite, or rounding decides them"; nothing
  /// where of each output something was, or its type says that it is empty.
  std::string uncompared() const;
  /// That, and a sentence for each other output of which more than one element in a hundred was set aside or is not
  /// finite.
  std::vector<std::string> warnings() const;
};

/// The allowed |found - expected| for every element of one output where nothing else is known of the reference: eight
/// times the largest error that rounding each value to its type makes there, plus a few units in the last place of the
/// output's largest value.
double error_bound(const te::Array& exact, const te::Array& rounded);

/// What sums that are rounded term by term may be off besides, in units of the last place of the largest value: four
/// times the root of the longest sum in the graph (P3; the interpreter itself adds in double precision).
double sum_units(const Graph& graph);
/// That many units of the output's largest value.
double sum_bound(const te::Array& exact, double units);

/// Compares one output. Integers and bools must be equal; NaN must meet NaN, infinities their like.
void compare_output(const std::string& name, const te::Array& expected, const te::Array& found, double bound,
                    Equivalence& result);

/// The same where each element may be off by so many units of the last place, of itself and of what the output's values
/// usually are.
void compare_in_units(const Value& output, const te::Array& expected, const te::Array& found, double units,
                      Equivalence& result);

/// Runs both on the same inputs (generated from `reference`'s interface; inputs and outputs are paired by position and
/// must agree in number, type and shape).
Result<Equivalence> compare_models(const Graph& reference, const Graph& candidate, const EquivalenceOptions& options);
/// Outputs for inputs in the order of a reference's.
using RunModel = std::function<Result<std::vector<te::Array>>(std::span<const te::Array> inputs)>;
/// The candidate against what the reference gave on these inputs; `units`: of the last place, for sums. Where it does
/// not run on them (kInvalid), that is the difference.
Result<void> compare_run(const Graph& reference, std::span<const te::Array> inputs, std::vector<te::Array> expected,
                         const RunModel& candidate, double units, const ComparisonEffort& effort, Equivalence& result);
/// The same for a candidate that the interpreter runs, as `run` says: where all outputs of both agree as soon as each
/// value is rounded, what differs otherwise is set aside.
Result<void> compare_run(const Graph& reference, std::span<const te::Array> inputs, std::vector<te::Array> expected,
                         const Graph& candidate, const InterpretOptions& run, const ComparisonEffort& effort,
                         Equivalence& result);
/// Runs a model in the interpreter, on the inputs of a comparison.
using RunInterpreted = std::function<Result<std::vector<te::Array>>(const InterpretOptions& options)>;
/// What a candidate found against what the reference gave, as long as need be against what that gives when it is
/// rounded and moved; and against the candidate rounded, where that can be run so.
Result<void> compare_outputs(const Graph& reference, const RunInterpreted& run, std::vector<te::Array> expected,
                             std::vector<te::Array> found, double units, const ComparisonEffort& effort,
                             Equivalence& result, const RunInterpreted& candidate = nullptr);
/// Runs the reference in the interpreter and the candidate, which adds in its values' types, on given inputs.
Result<Equivalence> compare_with(const Graph& reference, const RunModel& candidate,
                                 const std::vector<std::vector<te::Array>>& input_sets, int threads);
/// On that many of the input sets that `inputs` makes for 0, 1, …: those that the reference runs on. Where a seeded
/// divisor is zero it does not; the error is the first one's if there is none.
using InputsOf = std::function<Result<std::vector<te::Array>>(int set)>;
Result<Equivalence> compare_with(const Graph& reference, const RunModel& candidate, const InputsOf& inputs, int runs,
                                 const ComparisonEffort& effort);
/// compare_models on given inputs.
Result<Equivalence> compare_models_on(const Graph& reference, const Graph& candidate,
                                      const std::vector<std::vector<te::Array>>& input_sets, int threads);
Result<Equivalence> compare_models_on(const Graph& reference, const Graph& candidate, const InputsOf& inputs, int runs,
                                      const ComparisonEffort& effort);
/// Inputs and outputs must agree in number and type.
Result<void> check_interfaces(const Graph& reference, const Graph& candidate);
/// An error of kind kUnsupported where interpreting the reference (whose dims are known) and something like it on so
/// many sets of inputs, which are not made yet, takes more than fits; so are the outputs of `kept` more runs.
Result<void> check_memory(const Graph& reference, int sets, MemoryLimit memory, int kept = 0);

}  // namespace isomer
