// Opening what runs: an artifact, or a model that is compiled in memory.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "driver/code_of_model.h"
#include "driver/settings.h"
#include "graph/graph.h"
#include "runtime/session.h"
#include "verify/check/inputs.h"

namespace isomer {

/// By its first bytes.
bool is_artifact(const std::string& file);

struct LoadedArtifact {
  std::shared_ptr<const runtime::Model> model;
  std::unique_ptr<runtime::Session> session;
  Graph interface;                        ///< its inputs and outputs, without nodes
  std::map<std::string, Demand> demands;  ///< on its inputs (FillOptions)
};

/// A session of an artifact in memory that has one variant.
Result<std::unique_ptr<runtime::Session>> open_session(runtime::Artifact artifact, int threads, MemoryLimit memory);

/// Binds dims of a graph's inputs to shapes of tensors that are there; an error where they don't fit.
using BindShapes = std::function<Result<void>(Graph& graph)>;

/// A session of the variant that the settings' dims name, or that takes their shapes and those of `bind`; of several
/// that do, the one whose other dims are 1, with a note. A model is compiled in memory, as `choices` say, for these.
/// `session`: what else is asked of it. Errors carry the file's name.
Result<LoadedArtifact> load_artifact(const std::string& file, const Settings& settings,
                                     runtime::SessionOptions session = {}, const CompileChoices& choices = {},
                                     const BindShapes& bind = nullptr);

}  // namespace isomer
