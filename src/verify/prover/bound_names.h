// Which names of a law or rule are known once some of its patterns are found. Tests: tests/verify/egraph_test.cpp,
// tests/substitutions/consequence_test.cpp
#pragma once

#include <span>

#include "verify/prover/pattern.h"

namespace isomer::verify {

/// Whether patterns that are found bind every name: tensors and rests by standing in them, integers where equations can
/// be solved; but for integers and rests that are known beforehand, by slot (empty: none).
bool bind_all(std::span<const Pattern* const> found, const Slots& slots, std::vector<bool> integers = {},
              std::vector<bool> rests = {});

/// The parts of a pattern that are applications; itself among them where `with_itself`.
std::vector<const Pattern*> applications_of(const Pattern& pattern, bool with_itself);

}  // namespace isomer::verify
