#include "kernel/machine.h"

#include <algorithm>
#include <array>

namespace isomer::kernel {
namespace {

struct Known {
  std::string_view cpu;
  int64_t first, second;  ///< KiB
};

/// As their makers say.
constexpr std::array kKnown = {
    Known{"haswell", 32, 256},         Known{"broadwell", 32, 256},       Known{"skylake", 32, 256},
    Known{"skylake-avx512", 32, 1024}, Known{"cascadelake", 32, 1024},    Known{"cooperlake", 32, 1024},
    Known{"icelake-client", 48, 512},  Known{"icelake-server", 48, 1280}, Known{"rocketlake", 48, 512},
    Known{"tigerlake", 48, 1280},      Known{"alderlake", 48, 1280},      Known{"raptorlake", 48, 2048},
    Known{"meteorlake", 48, 2048},     Known{"sapphirerapids", 48, 2048}, Known{"emeraldrapids", 48, 2048},
    Known{"graniterapids", 48, 2048},  Known{"znver1", 32, 512},          Known{"znver2", 32, 512},
    Known{"znver3", 32, 512},          Known{"znver4", 32, 1024},         Known{"znver5", 48, 1024},
};

}  // namespace

Caches caches_of(std::string_view cpu) {
  const auto* const known =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& each) { return each.cpu == cpu; });
  if (known == kKnown.end()) return {32 << 10, 256 << 10};
  return {known->first << 10, known->second << 10};
}

int Machine::lanes(DataType dtype) const { return std::max(1, vectors.bits / std::max(bit_width(dtype), 32)); }

}  // namespace isomer::kernel
