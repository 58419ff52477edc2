// A case of ONNX's backend tests: a folder with model.onnx and test_data_set_* folders of inputs and expected outputs.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/te/array.h"

namespace isomer::suite {

enum class Verdict {
  kPass,
  kWrong,        ///< ran, and a shape, type or value differs
  kUnsupported,  ///< typed so: well-formed, but beyond what we can do
  kError,        ///< anything else
};
std::string_view name(Verdict verdict);

struct Case {
  std::string name;  ///< "node/test_abs"
  std::filesystem::path folder;
};

struct Outcome {
  Verdict verdict = Verdict::kPass;
  std::string detail;         ///< of what did not pass: the error, or where the outputs differ
  std::string operator_type;  ///< the only kind of operator in the model, or "(several)"
};

struct RunOptions {
  /// The model is optimized, written to a file and read back before it runs.
  bool optimize = false;
  int threads = 1;
  /// What runs the model, where it is not the interpreter.
  std::function<Result<std::vector<te::Array>>(const Graph&, std::span<const te::Array> inputs)> run = nullptr;
};

/// The cases under `root`, which holds them or folders of them ("node", "simple", …), sorted by name.
std::vector<Case> find_cases(const std::filesystem::path& root);

/// Runs the model (in double precision, unless the options say how) on each data set. Values may differ by 1e-7 + 1e-3
/// |expected| or what data.json says; integers, shapes and types must be equal.
Outcome run_case(const Case& test, const RunOptions& options);

}  // namespace isomer::suite
