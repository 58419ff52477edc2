// What `bench` measures: a session with inputs to run it on, where its code reads them as they lie.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "driver/load_artifact.h"
#include "runtime/memory.h"

namespace isomer {

double milliseconds(std::chrono::steady_clock::duration duration);

/// Of a session that is measured: on a device by its own clock, or each step by itself.
inline runtime::SessionOptions timed_session(bool by_step) {
  runtime::SessionOptions options;
  options.timed = by_step;
  options.device_timed = !by_step;
  return options;
}

/// The elements of a tensor of a type that can be computed with; of another one none.
std::vector<float> elements_of(const Tensor& tensor);

/// Its outputs stay in the session.
class BenchSession {
 public:
  /// `inputs`: in the order of the artifact's, and of their types and shapes.
  static Result<BenchSession> make(LoadedArtifact artifact, std::vector<Tensor> inputs);

  runtime::Session& session() { return *artifact_.session; }
  bool is_on_gpu() { return session().variant().target.device == runtime::DeviceKind::kCuda; }
  const Graph& interface() const { return artifact_.interface; }
  const std::vector<Tensor>& inputs() const { return inputs_; }

  /// In milliseconds, from the call to its return.
  Result<double> run();
  Result<std::vector<double>> run_for(double seconds);
  /// On the GPU alone, in milliseconds.
  Result<double> run_on_gpu();

  /// After a run, each a view of memory of the session's, which the next run may overwrite.
  Result<std::vector<Tensor>> outputs();
  /// Elements of the first one; none where they are no floats.
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

}  // namespace isomer
