// A model made faster: read, optimized, searched, written, read again and checked, with its proof and its report.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "driver/search_choices.h"
#include "driver/staging_folder.h"
#include "verify/check/check.h"

namespace isomer {

struct OptimizeChoices {
  int level = search::kSearchLevel;
  FloatMode fp = FloatMode::kReassociate;
  bool has_check = true;  ///< old and new run side by side
  int runs = 2;           ///< input sets of the check
  bool has_proof = false;
  SearchChoices search;
};

struct OptimizedFile {
  LoadedModel before, after;  ///< `after` as it was read again
  search::OptimizedModel made;
  std::optional<CheckReport> check;
  std::map<std::string, double> seconds;  ///< by phase
  std::string proof;                      ///< as its file has it
  bool lost_training = false;             ///< the file is without training_info, as it has no more what that names

  bool is_interrupted() const { return made.is_interrupted; }
};

/// Of the file `model`, written to a folder, whose files are not to replace the model's own weights but with the model.
/// Where a pass made a change of which no proof is found, all is done again without it. Errors carry the file's name.
Result<OptimizedFile> optimize_file(const std::string& model, StagingFolder& written, const OptimizeChoices& choices,
                                    const Settings& settings);

/// The report of CLI.md.
nlohmann::json optimize_json(const std::string& model, const OptimizeChoices& choices, const Settings& settings,
                             const OptimizedFile& outcome);

/// The same as a page to look at (docs/report.md), of the model's name.
std::string optimize_page(const std::string& name, const OptimizedFile& outcome, const nlohmann::json& report);

}  // namespace isomer
