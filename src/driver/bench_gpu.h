// `bench` on a GPU: device times, caches cold, ours and those of NVIDIA's libraries in turns.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "driver/bench.h"

namespace isomer {

/// Whether it is a library of a GPU.
bool is_gpu_peer(const std::string& name);

/// {"device", "copy_gbs" (read and written), "device_times_ms", "control", "against": {"cudnn": {"version",
/// "algorithm", "ways", "on_device", "times_ms", "ratio", "ratio_p25", "ratio_p75"}}}. "control": our own second turn
/// in each round over our first. Peers run the model `choices.model`; of a library's ways the fastest is the peer, and
/// its result is compared with ours.
Result<nlohmann::json> measure_on_gpu(BenchSession& bench, const BenchChoices& choices, const Settings& settings);

}  // namespace isomer
