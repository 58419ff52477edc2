// How much of what rounding may take from a model's outputs does a model lose that was made of it? Steps that sum
// otherwise, or with larger numbers in between, lose digits. The runs of the model itself are kept: they are the same
// for everything that is made of it. Test: tests/search/rounding_loss_test.cpp
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "graph/graph.h"
#include "verify/check/equivalence.h"

namespace isomer::search {

class RoundingLoss {
 public:
  /// Runs of which outputs are kept: as it is, rounded, moved.
  static constexpr int kKept = 2 + kLeastMovements;

  /// The graph and what `inputs` refers to outlive it.
  RoundingLoss(const Graph& model, InputsOf inputs, const ComparisonEffort& effort);

  /// Run in double precision, and with every value rounded to its type: the worse of both. Nothing where the model runs
  /// on none of the inputs. An error where the other does not run.
  Result<std::optional<Equivalence>> of(const Graph& made);
  /// Whether the model's own runs are still to be made.
  bool is_new() const { return runs_.empty(); }

 private:
  using Arrays = std::vector<te::Array>;
  /// Makes inputs that the model runs on, and runs it; false where there are none.
  Result<bool> open();
  Result<Arrays> run(const InterpretOptions& options);
  Result<Equivalence> compared(Arrays found, double units);

  const Graph& model_;
  InputsOf make_inputs_;
  ComparisonEffort effort_;
  Arrays inputs_;
  std::map<std::tuple<bool, uint64_t, double, bool>, Arrays> runs_;  ///< by rounding and movement
};

}  // namespace isomer::search
