// Isomer's C++ interface to measurement: how long a model or artifact takes, and libraries of others beside it. C++20
// and its library alone.
#ifndef ISOMER_BACKEND_H
#define ISOMER_BACKEND_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "isomer/expected.h"
#include "isomer/operator.h"
#include "isomer/work.h"

namespace isomer {

/// A library of others that runs models or layers.
struct FoundBackend {
  std::string name;     ///< "onnxruntime", "onednn" (models of one operator); of code of a GPU "cudnn", "cublaslt"
  std::string library;  ///< what is opened: a file, or a name that the loader knows
};

/// Those that this machine has, where the environment, the loader and Python's packages say.
std::vector<FoundBackend> found_backends();

struct BenchModelOptions {
  double seconds = 3;                                  ///< of each turn
  std::vector<std::string> against;                    ///< backends to measure in turns with it, by name
  std::map<std::string, std::string> libraries;        ///< of backends, by name; others are searched for
  std::string model;                                   ///< that backends run, where an artifact is measured
  std::string target = "cpu";                          ///< of a model: "cpu", "cpu=NAME", "cuda", "cuda=sm_90a"
  std::map<std::string, int64_t> dims;                 ///< of symbolic dims; of a model those that nothing binds are 1
  std::map<std::string, std::vector<int64_t>> shapes;  ///< of inputs
  std::vector<Operator> operators;                     ///< of yours, in the model
  int threads = 0;                                     ///< 0: as many as this process may use
  uint64_t seed = 0;                                   ///< of the inputs
  Progress progress;                                   ///< what it tells
  const Stop* stop = nullptr;                          ///< outlives the call
};

struct BackendTimes {
  std::string name, version;
  double median_ms = 0;
  /// Its time over ours: the median of the turns, and the quartiles.
  double ratio = 0, ratio_p25 = 0, ratio_p75 = 0;
};

struct ModelTimes {
  int64_t runs = 0;
  double min_ms = 0, median_ms = 0, p90_ms = 0, p99_ms = 0;
  std::vector<BackendTimes> against;  ///< those that could run it
  std::string report;                 ///< as JSON: all times, and those of its tasks
};

/// Measures an artifact, or a model that is optimized at level 2 and compiled in memory for it.
Expected<ModelTimes> bench_model(const std::string& file, const BenchModelOptions& options = {});

}  // namespace isomer

#endif
