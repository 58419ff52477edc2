// What `bench` measures a model against: another implementation on the same inputs; what it computes is thrown away.
#pragma once

#include <string>

#include "util/result.h"

namespace isomer::backends {

class Peer {
 public:
  virtual ~Peer() = default;
  virtual const std::string& version() const = 0;
  /// What it chose to run, in its own words; empty where it does not say.
  virtual std::string algorithm() const { return {}; }
  virtual Result<void> run() = 0;
};

}  // namespace isomer::backends
