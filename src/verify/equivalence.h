// Are two models the same function? Both are run on seeded inputs; the yardstick for floats is what rounding does to
// the reference itself (reliability.md 3.5, P4), so that no model needs a tolerance of its own.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/te/array.h"
#include "verify/inputs.h"

namespace isomer {

struct EquivalenceOptions {
  FillOptions fill;
  int runs = 2;  ///< seeds fill.seed, fill.seed + 1, …
  int threads = 1;
};

/// Where two outputs differ most, relative to what they may.
struct Difference {
  std::string output;
  Dims index;
  double expected = 0;
  double found = 0;
  double bound = 0;
  std::string text() const;  ///< "y[0,3]: 1.5 expected, 1.25 found (bound 1e-06)"
};

struct Equivalence {
  int runs = 0;
  double max_abs_error = 0;
  double max_error_over_bound = 0;
  std::optional<Difference> difference;  ///< the first run's worst one beyond its bound
  bool passed() const { return !difference; }
};

/// The allowed |found - expected| for every element of one output: eight times the largest error that rounding each
/// value of the reference to its type makes there, plus a few units in the last place of the output's largest value.
double error_bound(const te::Array& exact, const te::Array& rounded);

/// What sums that are rounded term by term may be off besides, in units of the last place of the largest value: four
/// times the root of the longest sum in the graph (P3; the interpreter itself adds in double precision).
double sum_units(const Graph& graph);
/// That many units of the output's largest value.
double sum_bound(const te::Array& exact, double units);

/// Compares one output. Integers and bools must be equal; NaN must meet NaN, infinities their like.
void compare_output(const std::string& name, const te::Array& expected, const te::Array& found, double bound,
                    Equivalence& result);

/// Runs both on the same inputs (generated from `reference`'s interface; inputs and outputs are paired by position and
/// must agree in number, type and shape).
Result<Equivalence> compare_models(const Graph& reference, const Graph& candidate, const EquivalenceOptions& options);
/// Outputs for inputs in the order of a reference's.
using RunModel = std::function<Result<std::vector<te::Array>>(std::span<const te::Array> inputs)>;
/// Runs the reference in the interpreter and the candidate, which adds in its values' types, on given inputs.
Result<Equivalence> compare_with(const Graph& reference, const RunModel& candidate,
                                 const std::vector<std::vector<te::Array>>& input_sets, int threads);
/// compare_models on given inputs.
Result<Equivalence> compare_models_on(const Graph& reference, const Graph& candidate,
                                      const std::vector<std::vector<te::Array>>& input_sets, int threads);

}  // namespace isomer
