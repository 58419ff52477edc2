// isomer tune --evaluate-cost-model: how well cost models choose among trials that the records have.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "search/code/tuning.h"
#include "tune/evaluate.h"

namespace isomer::cli {

struct ModelEvaluation {
  std::vector<std::string> files;
  std::string records;           ///< as open_known_records takes it
  bool models_held_out = false;  ///< one at a time; else a fifth of the tasks
  double labels = 1;             ///< the share of the target's trials that is learned
  bool other_targets = false;    ///< are learned from as well
  std::optional<tune::CostModelOptions> only;
};

/// Prints a line a model, those whose library is not here left out with a note. Errors: those of the records and of the
/// last model, where none could be judged.
Result<ExitCode> evaluate_models(const ModelEvaluation& evaluation, const search::TuningProblems& all,
                                 const tune::TuneOptions& tuning, const CommonOptions& options);

}  // namespace isomer::cli
