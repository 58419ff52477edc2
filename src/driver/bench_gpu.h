// `bench` on a GPU: device times, caches cold, ours and those of NVIDIA's libraries in turns.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "driver/bench.h"

namespace isomer {

/// Whether it is a library of a GPU.
bool is_gpu_peer(const std::string& name);

/// The largest difference over the largest number; infinite where one is NaN or infinite and the other is not the same.
double difference_of(const std::vector<float>& found, const std::vector<float>& expected);

/// {"device", "copy_gbs" (read and written), "device_times_ms", "control", "against": {"cudnn": {"version",
/// "algorithm", "ways", "on_device", "times_ms", "ratio", "ratio_p25", "ratio_p75"}}}. "control": our own second turn
/// in each round over our first. Peers run the model `choices.model`; of a library's ways the fastest is the peer, and
/// its result is compared with ours.
Result<nlohmann::json> measure_on_gpu(BenchSession& bench, const BenchChoices& choices, const Settings& settings);

}  // namespace isomer
