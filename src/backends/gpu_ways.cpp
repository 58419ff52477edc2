#include "backends/gpu_ways.h"

namespace isomer::backends::gpu {
namespace {

class Way final : public GpuPeer {
 public:
  Way(std::string algorithm, Enqueue enqueue, Output output)
      : algorithm_(std::move(algorithm)), enqueue_(std::move(enqueue)), output_(std::move(output)) {}

  std::string algorithm() const override { return algorithm_; }
  Result<void> enqueue(runtime::cuda::Stream stream) override { return enqueue_(stream); }
  Result<std::vector<float>> result() override { return output_.elements(); }

 private:
  std::string algorithm_;
  Enqueue enqueue_;
  Output output_;
};

}  // namespace

void Ways::add(std::string algorithm, Enqueue enqueue, Output output) {
  Result<void> done = enqueue(device_.stream());
  if (done.ok()) done = device_.finish();
  if (!done.ok()) return leave_out(algorithm, done.error());
  peers_.ways.push_back(std::make_unique<Way>(std::move(algorithm), std::move(enqueue), std::move(output)));
}

void Ways::leave_out(const std::string& algorithm, const Error& error) {
  if (peers_.left_out.empty()) peers_.left_out = algorithm + ": " + error.message();
}

GpuPeers Ways::take(std::string version) && {
  peers_.version = std::move(version);
  return std::move(peers_);
}

}  // namespace isomer::backends::gpu
