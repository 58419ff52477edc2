// Cases of passes as text files: graphs before and after.
//
//   === name: property
//   passes: remove_identities, remove_dead      (or `optimize`, `canonicalize`; level, fp and `keep composites` may
//   follow: `optimize level 1`)
//   --- before
//   graph (…) -> (…) { … }
//   --- after                                   (the expected graph, up to names and order), or
//   --- unchanged                               or
//   --- operators                               "Conv 1, Relu 2": what is left
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "graph/passes/pass.h"

namespace isomer::test {

struct PassCase {
  std::string file, name;
  std::vector<std::string> passes;
  PassOptions options;
  std::string before, after, operators;
  bool unchanged = false;
};

/// For gtest's messages.
void PrintTo(const PassCase& entry, std::ostream* out);

/// "Conv 1, Relu 2": how many nodes of which operators there are.
std::string operators_of(const Graph& graph);

/// Every case of every .txt file in the folder; throws std::runtime_error where one is malformed.
std::vector<PassCase> read_cases(const std::filesystem::path& folder);

}  // namespace isomer::test
