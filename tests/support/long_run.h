// Whether this is the long run (`make test-long`): tests with a seeded sample of something large
// then take all of it.
#pragma once

#include <cstdlib>

namespace isomer::test {

inline bool is_long_run() { return std::getenv("ISOMER_TEST_LONG") != nullptr; }

}  // namespace isomer::test
