// A model file becomes a Graph. Everything that could go wrong with the file is an error of one sentence that names the
// node or value, what was expected and what was found; nothing in a file makes us crash, hang or read outside its
// folder.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "graph/graph.h"
#include "graph/onnx/limits.h"
#include "util/result.h"

namespace isomer {

/// What stood in the file before functions were expanded, older forms lifted and Constant nodes became constants.
struct ImportReport {
  std::map<std::string, int64_t> operators;  ///< "Conv", "com.example.Scale" to the number of nodes, bodies included
  int64_t nodes = 0;
  int64_t functions = 0;
  std::vector<std::string> external_files;  ///< of weights, in the model's folder
  std::string graph_doc;
};

struct ImportOptions {
  ImportLimits limits;
  std::filesystem::path folder;  ///< of external data; empty: the model's own (from bytes: none is read)
  /// Where links in it may also lead; with the model's own folder that of the file to which a link of its name leads.
  std::filesystem::path beside = {};
  ImportReport* report = nullptr;                      ///< filled where given
  std::shared_ptr<const OpTable> operators = nullptr;  ///< rows that do not come with the program
};

/// Nodes are in the newest form of their rows, types and contents inferred. Weights stay in the mapped file. Errors
/// don't name the file.
Result<Graph> import_model(const std::filesystem::path& path, const ImportOptions& options = {});

/// The same from memory, which `owner` keeps alive for as long as the graph's weights need it.
Result<Graph> import_model(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                           const ImportOptions& options = {});

/// A sentence for each output of the graph whose shape the file declares wrongly. It is written back as it was
/// declared.
std::vector<std::string> wrong_declarations(const Graph& graph);

}  // namespace isomer
