// Rules tried on floats: both sides compiled as they stand, run on seeded inputs, and compared with what the
// interpreter gives in double precision, within the bounds that models are compared with (verify/check/equivalence.h).
// Exact arithmetic (substitutions/library/refute.h) asks whether a rule is true; this, whether its two programs give
// that on this machine too. Test: tests/search/refute_floats_test.cpp
#pragma once

#include "search/code/compile.h"
#include "substitutions/proof/rule.h"

namespace isomer::search {

struct FloatRefutation {
  int trials = 0;           ///< inputs on which all outputs of both sides were compared
  int places = 0;           ///< of other types and parameters than the example's
  std::string difference;   ///< what differs where; empty where nothing does
  std::string unsupported;  ///< why there was no trial on the last inputs, or at the last place, that had none
};

/// At the example, then at places that are drawn: as many as there are trials, inputs of their own at each. The same
/// for the same seed. What is not finite in double precision says nothing of rules that hold on finite values alone.
FloatRefutation refute_in_floats(const substitutions::Rule& rule, int trials, uint64_t seed,
                                 const CompileOptions& options, std::span<const verify::StatedAxiom> axioms,
                                 verify::Signatures& signatures);

}  // namespace isomer::search
