#include "substitutions/discover/bytecode_loops.h"

namespace isomer::substitutions {

extern const ElementLoops kNarrowAvx2, kWideAvx2;
const ElementLoops kNarrowAvx2 = {run_bytecode<false>, hash_elements<false>};
const ElementLoops kWideAvx2 = {run_bytecode<true>, hash_elements<true>};

}  // namespace isomer::substitutions
