// ONNX Runtime as a peer: its C API, opened at run time; nothing of it is needed to build.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "util/result.h"

namespace isomer::cli {

/// Where its shared library is: `given`, where that is not empty, else what the loader knows, else in an installed Python
/// package; empty where there is none.
std::string find_onnxruntime(const std::string& given);

/// A session of a model on given inputs; outputs are thrown away.
class OnnxRuntime {
 public:
  /// Errors are of kind kUnsupported, with what the library said.
  static Result<std::unique_ptr<OnnxRuntime>> open(const std::string& library, const std::string& model, const Graph& interface, const std::vector<Tensor>& inputs,
                                                   int threads);
  virtual ~OnnxRuntime() = default;
  virtual const std::string& version() const = 0;
  virtual Result<void> run() = 0;
};

}  // namespace isomer::cli
