// Opening an artifact for a command.
#pragma once

#include <memory>

#include "cli/options.h"
#include "driver/code_of_model.h"
#include "graph/graph.h"
#include "runtime/session.h"
#include "verify/check/inputs.h"

namespace isomer::cli {

/// By its first bytes.
bool is_artifact(const std::string& file);

struct LoadedArtifact {
  std::shared_ptr<const runtime::Model> model;
  std::unique_ptr<runtime::Session> session;
  Graph interface;                        ///< its inputs and outputs, without nodes
  std::map<std::string, Demand> demands;  ///< on its inputs (FillOptions)
};

/// A session of an artifact in memory that has one variant, with --threads.
Result<std::unique_ptr<runtime::Session>> open_session(runtime::Artifact artifact, const CommonOptions& options);

/// A session of the variant that --dim names, or that takes the shapes of --input-shapes and `inputs`; a model is
/// compiled in memory, as `choices` say, for the shapes of `inputs` that are given. `session`: what else is asked of
/// it. Errors carry the file's name.
Result<LoadedArtifact> load_artifact(const std::string& file, const CommonOptions& options,
                                     runtime::SessionOptions session = {}, const CompileChoices& choices = {},
                                     const InputOptions& inputs = {});

}  // namespace isomer::cli
