// What `compile` makes code of, for the programs of this folder.
#pragma once

#include <map>
#include <string>

#include "graph/bind.h"
#include "graph/onnx/import.h"
#include "search/code/prepare.h"
#include "substitutions/derivation/derivation.h"

namespace isomer {

/// The model of a file, simplified and prepared; dims that are not bound are 1.
inline Result<Graph> prepared_model(const std::string& file, const std::map<std::string, int64_t>& dims, int threads) {
  TRY(Graph model, import_model(file));
  TRY_VOID(bind_inputs(model, dims, {}));
  std::map<std::string, int64_t> left_open;
  for (const std::string& dim : free_dims(model)) left_open.emplace(dim, 1);
  TRY_VOID(bind_inputs(model, left_open, {}));
  substitutions::Theory theory;
  TRY(substitutions::Derived derived, substitutions::derived(model, substitutions::Derivation(), theory));
  TRY_VOID(search::prepare_for_code(derived.graph, {.level = 2, .without = {}, .threads = threads}));
  return std::move(derived.graph);
}

}  // namespace isomer
