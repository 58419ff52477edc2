#include "runtime/kernel_runner.h"

namespace isomer::runtime {

Error failure(Outcome outcome) {
  switch (outcome) {
    case Outcome::kIndexOutOfRange: return invalid("", "an index inside of its axis expected, one outside found");
    case Outcome::kDivisionByZero: return invalid("", "an integer divisor other than 0 expected, 0 found");
    case Outcome::kOutOfMemory: return unsupported("", "memory expected, none found");
    case Outcome::kDone: break;
  }
  return invalid("", "a kernel that ends as kernels do expected, code {} found", static_cast<int>(outcome));
}

}  // namespace isomer::runtime
