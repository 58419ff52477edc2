// Substitutions: outputs that are equal, whatever their names stand for, wherever their proof holds. A rule's proof is
// a scheme: instances of axioms over the rule's own names. Where the rule is to be used, the names are replaced by what
// stands there, and the proof is replayed for these very types and parameters (verify/proof/replay.h): that is its
// guard, and nothing else is believed of it. Tests: tests/substitutions/generalise_test.cpp, rules_file_test.cpp
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/float_class.h"
#include "verify/proof/replay.h"

namespace isomer::substitutions {

struct Output {
  verify::Term left, right;
  bool operator==(const Output&) const = default;
};

/// Left, right, left, right, …
std::vector<verify::Term> sides(const std::vector<Output>& outputs);

/// One place where a rule holds: types of its variables, numbers and parameters for its names.
struct RuleInstance {
  verify::VariableTypes types;
  verify::Bindings names;  ///< integers and rests
};

struct Rule {
  std::string name;
  std::vector<Output> outputs;
  FloatClass float_class = FloatClass::kExact;
  verify::Certificate proof;  ///< over the rule's names; laws by their number among all_axioms()
  RuleInstance example;

  /// "left ; left = right ; right"
  std::string text() const;
};

/// The names of dims of variables ("x1_0", "x1_back1", "x1_rank") stand for what the types say.
verify::Bindings with_dims(const RuleInstance& instance);
/// The rule's equations at the instance, without names.
std::vector<Output> equations_at(const Rule& rule, const RuleInstance& instance);
/// Replays the proof at the instance, which says what all names of the outputs stand for. An error says what does not
/// hold there.
Result<void> holds_at(const Rule& rule, const RuleInstance& instance, std::span<const verify::StatedAxiom> axioms,
                      verify::Signatures& signatures);

/// The weakest of the laws that a proof uses; elements are equal over the reals.
FloatClass float_class_of(const verify::Certificate& proof, std::span<const verify::StatedAxiom> axioms);

}  // namespace isomer::substitutions
