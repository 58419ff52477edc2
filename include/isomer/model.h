// Isomer's C++ interface to ONNX models as they are: what they take and give, and whether two of them compute the same.
#ifndef ISOMER_MODEL_H
#define ISOMER_MODEL_H

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "isomer/expected.h"
#include "isomer/operator.h"
#include "isomer/work.h"

namespace isomer {

/// A size, or what it is called where it varies: "batch", as the file has it and as `dims` take it; "2*seq + 1" for one
/// that follows from others; "" for one that has no name.
using ModelDim = std::variant<int64_t, std::string>;

struct ModelPort {
  std::string name;
  std::string type;  ///< "float32"; "" where it is no tensor
  bool has_shape = true;
  std::vector<ModelDim> shape;
};

struct ModelDescription {
  std::vector<ModelPort> inputs, outputs;  ///< inputs without initializers
  std::vector<ModelPort> overridable;      ///< inputs with initializers
  std::vector<std::string> free_dims;      ///< names that sizes can be bound by
  std::map<std::string, int64_t> operators;
  int64_t nodes = 0;  ///< as the file has them, bodies included
  int64_t weight_bytes = 0;
  std::vector<std::string> external_files;  ///< of weights, in the model's folder
  std::string graph_name, producer_name, producer_version, domain, doc_string, graph_doc_string;
  int64_t model_version = 0, ir_version = 0;
  std::map<std::string, int64_t> opsets;  ///< by domain; "" is ai.onnx
  std::vector<std::pair<std::string, std::string>> metadata;
};

/// Reads a model and infers its types and shapes. Failures name the file, the place and what was expected there.
/// `operators`: of yours, in the model.
Expected<ModelDescription> describe_model(const std::string& model, const std::vector<Operator>& operators = {});

/// Reads a model and writes it elsewhere; what lies in files beside it is then in one file beside the new one, which
/// has its name.
Expected<void> save_model(const std::string& model, const std::string& place);

struct CompareModelsOptions {
  std::map<std::string, int64_t> dims;                 ///< of symbolic dims
  std::map<std::string, std::vector<int64_t>> shapes;  ///< of inputs
  std::vector<Operator> operators;                     ///< of yours, in the models
  int runs = 2;                                        ///< input sets
  int threads = 0;                                     ///< 0: as many as this process may use
  uint64_t seed = 0;
  const Stop* stop = nullptr;  ///< outlives the call
};

struct ModelComparison {
  bool are_equal = false;           ///< within what rounding allows
  double max_abs_error = 0;         ///< of all elements
  double max_error_over_bound = 0;  ///< in units of what rounding allows
  int runs = 0;
  std::string text;  ///< a sentence: the first difference, or how near they are
};

/// Runs two models on the same seeded inputs in double precision; free dims take small sizes.
Expected<ModelComparison> compare_models(const std::string& reference, const std::string& candidate,
                                         const CompareModelsOptions& options = {});

}  // namespace isomer

#endif
