#include "runtime/artifact.h"

namespace isomer::runtime {

bool Body::operator==(const Body&) const = default;

}  // namespace isomer::runtime
