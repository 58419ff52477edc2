// Opening an artifact for a command.
#pragma once

#include "cli/options.h"
#include "driver/load_artifact.h"

namespace isomer::cli {

/// As isomer::load_artifact, with the settings of the options and the shapes of `inputs` that are given.
Result<LoadedArtifact> load_artifact(const std::string& file, const CommonOptions& options,
                                     runtime::SessionOptions session = {}, const CompileChoices& choices = {},
                                     const InputOptions& inputs = {});

}  // namespace isomer::cli
