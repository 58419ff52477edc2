// What `bench` measures a model against: another implementation on the same inputs; what it computes while it is
// measured is thrown away.
#pragma once

#include <string>
#include <vector>

#include "graph/tensor.h"
#include "util/result.h"

namespace isomer::backends {

class Peer {
 public:
  virtual ~Peer() = default;
  virtual const std::string& version() const = 0;
  /// What it chose to run, in its own words; empty where it does not say.
  virtual std::string algorithm() const { return {}; }
  virtual Result<void> run() = 0;
  /// What a run gives, in the order of the model's outputs; of other than plain types no tensor. None at all where it
  /// was compared with ours when the peer was made.
  virtual Result<std::vector<Tensor>> outputs() { return std::vector<Tensor>(); }
};

}  // namespace isomer::backends
