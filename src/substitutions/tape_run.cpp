#include "substitutions/tape_run.h"

#include "substitutions/tape_loops.h"
#include "util/random.h"

namespace isomer::substitutions {

#if defined(__x86_64__)
extern const TapeKernels kNarrowAvx2, kWideAvx2;
#endif

namespace {
constexpr TapeKernels kNarrow = {run_tape<false>, hash_elements<false>}, kWide = {run_tape<true>, hash_elements<true>};
}

Arithmetic::Arithmetic(uint64_t seed) {
  Random random(seed);
  for (auto& multipliers : order)
    for (uint32_t& multiplier : multipliers) multiplier = static_cast<uint32_t>(random.next()) | 1;
  for (auto& keys : functions)
    for (uint32_t& key : keys) key = static_cast<uint32_t>(random.next());
}

const TapeKernels& portable_tape_kernels(bool wide) { return wide ? kWide : kNarrow; }

const TapeKernels& tape_kernels(bool wide) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return wide ? kWideAvx2 : kNarrowAvx2;
#endif
  return portable_tape_kernels(wide);
}

}  // namespace isomer::substitutions
