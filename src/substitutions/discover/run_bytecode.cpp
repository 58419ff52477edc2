#include "substitutions/discover/run_bytecode.h"

#include "substitutions/discover/bytecode_loops.h"
#include "util/random.h"

namespace isomer::substitutions {

#if defined(__x86_64__)
extern const ElementLoops kNarrowAvx2, kWideAvx2;
#endif

namespace {
constexpr ElementLoops kNarrow = {run_bytecode<false>, hash_elements<false>},
                       kWide = {run_bytecode<true>, hash_elements<true>};
}

Arithmetic::Arithmetic(uint64_t seed) {
  Random random(seed);
  for (auto& multipliers : order)
    for (uint32_t& multiplier : multipliers) multiplier = static_cast<uint32_t>(random.next()) | 1;
  for (auto& keys : functions)
    for (uint32_t& key : keys) key = static_cast<uint32_t>(random.next());
}

const ElementLoops& portable_element_loops(bool wide) { return wide ? kWide : kNarrow; }

const ElementLoops& element_loops(bool wide) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return wide ? kWideAvx2 : kNarrowAvx2;
#endif
  return portable_element_loops(wide);
}

}  // namespace isomer::substitutions
