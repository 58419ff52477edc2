// What `bench` measures: a session with inputs to run it on, where its code reads them as they lie.
#pragma once

#include <string>
#include <vector>

#include "cli/load_artifact.h"
#include "cli/options.h"
#include "runtime/memory.h"
#include "util/quantile.h"

namespace isomer::cli {

struct BenchOptions : CommonOptions {
  InputOptions inputs;
  CompileChoices choices;
  std::string file, report;
  double duration = 3;
  bool serve = false;
  std::vector<std::string> against;
  std::string model;                                 ///< that peers run; empty: `file`
  std::string onnxruntime, onednn, cudnn, cublaslt;  ///< their shared libraries
  bool tf32 = false;                                 ///< peers on a GPU may round products of float32
};

double milliseconds(std::chrono::steady_clock::duration duration);

/// Its outputs stay in the session.
class BenchSession {
 public:
  /// `timed`: each step is.
  static Result<BenchSession> open(const BenchOptions& options, bool timed);

  runtime::Session& session() { return *artifact_.session; }
  bool is_on_gpu() { return session().variant().target.device == runtime::DeviceKind::kCuda; }
  const Graph& interface() const { return artifact_.interface; }
  const std::vector<Tensor>& inputs() const { return inputs_; }

  /// In milliseconds, from the call to its return.
  Result<double> run();
  Result<std::vector<double>> run_for(double seconds);
  /// On the GPU alone, in milliseconds.
  Result<double> run_on_gpu();

  /// Elements of the first output, after a run; none where they are no floats.
  Result<std::vector<float>> first_output();

 private:
  BenchSession(LoadedArtifact artifact, std::vector<Tensor> inputs)
      : artifact_(std::move(artifact)),
        inputs_(std::move(inputs)),
        outputs_(artifact_.session->variant().outputs.size()) {}
  Result<void> give_inputs();

  LoadedArtifact artifact_;
  std::vector<Tensor> inputs_;
  std::vector<runtime::DeviceMemory> on_gpu_;  ///< what is given there
  std::vector<runtime::Tensor> given_, outputs_;
};

}  // namespace isomer::cli
