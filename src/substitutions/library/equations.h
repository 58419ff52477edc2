// Equations that people state: proved from the laws, or refuted by numbers as small as were found. A file of them is
// text, a line each, `#` before a comment:
//
//   label | x[2,4] v[4,3] w[4,5] | MatMul(x,v) = Split(MatMul(x,Concat(v,w){axis=1})){axis=1,split=[v_1,w_1]}
//
// Types are float32 unless said (`x:int64[2]`). Label and types may be missing; `x_1` in a parameter is dim 1 of x.
// Numbers are fractions or decimals (`1/2`, `0.5`, `1e-3`), of the type of what they stand beside.
// Test: tests/substitutions/equations_test.cpp
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "substitutions/proof/rule.h"
#include "verify/proof/refute/check_instance.h"
#include "verify/prover/prove.h"

namespace isomer::substitutions {

struct StatedEquation {
  int line = 0;
  std::string label;
  std::optional<verify::VariableTypes> types;
  std::vector<Output> outputs;

  std::string text() const;
};

/// Of a text, the lines that are equations, and of others what is wrong with each.
struct ParsedEquations {
  std::vector<StatedEquation> equations;
  std::map<int, Error> faults;  ///< by line
};

/// Errors name the line, and the column in it or what was expected there.
ParsedEquations parse_lines(std::string_view text);
/// The equations where all lines are; else the first fault.
Result<std::vector<StatedEquation>> parse_equations(std::string_view text);

/// The outputs for variables of these types, the names of dims replaced.
std::vector<Output> equations_at(const StatedEquation& equation, const verify::VariableTypes& types);

struct Judgement {
  enum class Verdict { kProved, kRefuted, kUnknown };
  Verdict verdict = Verdict::kUnknown;
  verify::Certificate proof;  ///< of all outputs together
  bool by_elements = false;   ///< some outputs are equal by their elements, for reasons that no certificate says
  std::optional<verify::Counterexample> counterexample;  ///< to the first output that has one
  verify::Saturated stop = verify::Saturated::kClosed;   ///< why there is no proof

  std::string_view name() const;
};

/// Inputs that refute an equation with types as one of that class, as small as they were found; nothing where none
/// were. What refutes a law of the weakest class refutes one of any.
std::optional<verify::Counterexample> counterexample_of(const StatedEquation& equation, FloatClass float_class,
                                                        Random& random);

/// Of an equation with types. The same for the same seed. Errors: a side is not well typed, Z3 fails.
Result<Judgement> judge(const StatedEquation& equation, verify::Prover& prover, uint64_t seed);
/// Of one that counterexample_of did not refute as one of the weakest class.
Result<Judgement> judge_unrefuted(const StatedEquation& equation, verify::Prover& prover, Random& random);

/// Places where an equation without types is well typed, the largest first.
std::vector<StatedEquation> with_drawn_types(const StatedEquation& equation, int draws, uint64_t seed);

}  // namespace isomer::substitutions
