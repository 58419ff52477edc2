#include "kernel/machine.h"

#include <algorithm>
#include <array>

namespace isomer::kernel {
namespace {

struct Known {
  std::string_view cpu;
  int64_t first, second;  ///< KiB
  int wide_multiply_adds = 2;
  double cycles_of_vector = Caches().cycles_of_vector;
};

/// Golden Cove's second level gives 48 bytes a cycle at most, and 34 to what else runs.
constexpr double kGoldenCove = 2.2;

/// As their makers say.
constexpr std::array kKnown = {
    Known{"haswell", 32, 256},
    Known{"broadwell", 32, 256},
    Known{"skylake", 32, 256},
    Known{"skylake-avx512", 32, 1024},
    Known{"cascadelake", 32, 1024},
    Known{"cooperlake", 32, 1024},
    Known{"icelake-client", 48, 512, 1},
    Known{"icelake-server", 48, 1280},
    Known{"rocketlake", 48, 512, 1},
    Known{"tigerlake", 48, 1280, 1},
    Known{"alderlake", 48, 1280},
    Known{"raptorlake", 48, 2048},
    Known{"meteorlake", 48, 2048},
    Known{"sapphirerapids", 48, 2048, 2, kGoldenCove},
    Known{"emeraldrapids", 48, 2048, 2, kGoldenCove},
    Known{"graniterapids", 48, 2048, 2, kGoldenCove},
    Known{"znver1", 32, 512},
    Known{"znver2", 32, 512},
    Known{"znver3", 32, 512},
    Known{"znver4", 32, 1024, 1},
    Known{"znver5", 48, 1024},
};

const Known& known_of(std::string_view cpu) {
  static constexpr Known kUnknown = {"", 32, 256};
  const auto* const known =
      std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& each) { return each.cpu == cpu; });
  return known == kKnown.end() ? kUnknown : *known;
}

}  // namespace

Caches caches_of(std::string_view cpu) {
  const Known& known = known_of(cpu);
  return {known.first << 10, known.second << 10, known.cycles_of_vector};
}

int wide_multiply_adds_of(std::string_view cpu) { return known_of(cpu).wide_multiply_adds; }

std::vector<std::string_view> known_cpus(std::string_view maker) {
  std::vector<std::string_view> result;
  for (const Known& known : kKnown)
    if (maker == (known.cpu.starts_with("znver") ? "AMD" : "Intel")) result.push_back(known.cpu);
  return result;
}

int Machine::lanes(DataType dtype) const { return std::max(1, vectors.bits / std::max(bit_width(dtype), 32)); }

}  // namespace isomer::kernel
