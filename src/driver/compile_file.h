// A model made an artifact: a variant for each target and for each way to bind its sizes, each of them optimized,
// searched, tuned and checked as the choices say.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>

#include "driver/check_code.h"
#include "driver/code_of_model.h"

namespace isomer {

struct CompileFileChoices {
  CompileChoices code;  ///< its target may name several: "cuda=sm_90a,cpu", the preferred one first
  /// Of symbolic dims, besides those of the settings: a variant each.
  std::vector<std::map<std::string, int64_t>> bindings = {{}};
  bool has_check = true;
  /// That the artifact is written to: none of them may be that of the model's weights.
  std::vector<std::filesystem::path> places = {};
};

struct CompiledFile {
  runtime::Artifact artifact;
  std::vector<search::OptimizedModel> made;                ///< by variant
  std::vector<std::optional<search::ChosenTasks>> chosen;  ///< the same
  std::vector<std::optional<TunedTasks>> tunings;          ///< the same
  std::vector<std::string> names;                          ///< the same: what tells it from the others
  std::vector<std::optional<Equivalence>> checks;          ///< the same; nothing where it was not checked
  search::Coverage coverage;                               ///< of all that were checked
  bool is_of_plain_loops = false;                          ///< one of the checks
  std::map<std::string, double> seconds;                   ///< by phase, and of all
  size_t tasks = 0;
  int tuned = 0;  ///< kernels

  bool is_interrupted() const;
  /// Of all variants that were checked, as if it were one; nothing where none was.
  std::optional<Equivalence> check() const;
  /// "largest difference …", "not checked"; of each of several variants: "seq=64: largest difference …".
  std::vector<std::string> check_lines() const;
  /// What the checks could not compare, likewise.
  std::vector<std::string> warnings() const;
};

/// Errors carry the file's name.
Result<CompiledFile> compile_file(const std::string& model, const CompileFileChoices& choices,
                                  const Settings& settings);

/// The report of CLI.md.
nlohmann::json compile_json(const std::string& model, const Settings& settings, const CompiledFile& compiled);

}  // namespace isomer
