#include "substitutions/tape_loops.h"

namespace isomer::substitutions {

extern const TapeKernels kNarrowAvx2, kWideAvx2;
const TapeKernels kNarrowAvx2 = {run_tape<false>, hash_elements<false>};
const TapeKernels kWideAvx2 = {run_tape<true>, hash_elements<true>};

}  // namespace isomer::substitutions
