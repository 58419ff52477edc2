// The laws that the rows state, compared on instances. Test: tests/verify/axioms_test.cpp
#pragma once

#include <cstdint>
#include <vector>

#include "verify/laws/check_law.h"
#include "verify/proof/axioms.h"

namespace isomer::verify {

struct CheckedAxiom {
  StatedAxiom stated;
  LawCheck check;
};

/// Each on `trials` instances, on several threads; the same for the same seed.
std::vector<CheckedAxiom> check_axioms(int trials, uint64_t seed, int threads);

}  // namespace isomer::verify
