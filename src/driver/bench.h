// How long code takes, as a whole and task by task, and libraries of others beside it.
#pragma once

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "driver/bench_session.h"
#include "driver/settings.h"

namespace isomer {

struct BenchChoices {
  double seconds = 3;                            ///< of each turn
  std::vector<std::string> against;              ///< peers: onnxruntime, onednn; for code of a GPU cudnn, cublaslt
  std::string model;                             ///< that peers run
  std::map<std::string, std::string> libraries;  ///< of peers, by name; those that are not there are searched for
  bool tf32 = false;                             ///< peers on a GPU may round products of float32
};

/// Opens what is measured; `timed`: each of its steps is.
using OpenBench = std::function<Result<BenchSession>(bool timed)>;

/// What `bench --json` prints: "threads", "times_ms", "min_ms", "median_ms", "p90_ms", "p99_ms", "peak_memory_mb",
/// "gflop", "gflops", "fma_peak_gflops" (of the CPU: null on a GPU), "tasks", "against", and of code of a GPU what
/// measure_on_gpu says. "threads" are the CPU's: those of peers where the code is a GPU's.
Result<nlohmann::json> measured(const OpenBench& open, const BenchChoices& choices, const Settings& settings);

/// A peer's library, where it is named; else empty.
std::string library_of(const BenchChoices& choices, const std::string& peer);

/// Of this process, so far.
double peak_memory_mb();

}  // namespace isomer
