#include "measure/fault.h"

namespace isomer {

std::string_view name(Fault fault) {
  constexpr std::string_view kNames[kFaults] = {"none", "code", "crash", "time", "value", "bounds", "impossible"};
  return kNames[static_cast<size_t>(fault)];
}

}  // namespace isomer
