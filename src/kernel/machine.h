// The machine that a schedule is for.
#pragma once

#include <string_view>
#include <vector>

#include "graph/te/dtype.h"
#include "kernel/micro_tile.h"

namespace isomer::kernel {

/// Bytes of data that a core's own levels of cache hold.
struct Caches {
  int64_t first = 32 << 10;
  int64_t second = 512 << 10;
  double cycles_of_vector = 1.6;  ///< that one of the widest registers takes from the second level
};
/// Of a CPU by LLVM's name, "znver4"; the smallest there are where it is not known.
Caches caches_of(std::string_view cpu);
/// Multiply-adds of 512 bits that a core of it starts in a cycle: 2, or 1 where those of 256 bits share their units.
int wide_multiply_adds_of(std::string_view cpu);
/// CPUs by LLVM's names of which this is known, of "Intel" or "AMD", old ones first; none of other makers.
std::vector<std::string_view> known_cpus(std::string_view maker);

struct Machine {
  VectorUnit vectors = kAvx2;
  Caches caches = {};
  int wide_multiply_adds = 2;  ///< of 512 bits, in a cycle; narrower ones: 2
  /// Integers of a word whose products an instruction adds up: 4 bytes, 2 of 16 bits; 0: none.
  int word_parts = 0;
  int threads = 1;
  bool tf32 = false;  ///< factors of products of floats may be rounded to tf32, on a GPU
  // False, to measure what they give:
  bool packing = true;      ///< operands are copied into the order in which tiles read them
  bool micro_tiles = true;  ///< results of reductions are held in registers, tiles of them

  int lanes(DataType dtype) const;
};

}  // namespace isomer::kernel
