// The proof that one model is the same function as another: equations between values of the two, and of values that
// steps make on the way, until congruence (verify/proof/ledger.h) says that the outputs are equal. A step is believed
// for nothing: a rule's proof is replayed for the types there, a constant is computed again, two expressions are
// compared. Where a step was found, and in which order models were changed, does not matter. Tests:
// tests/substitutions/proof_test.cpp, tests/cli/verify_test.cpp
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "substitutions/proof/rule.h"

namespace isomer::substitutions {

// Values go by their number in the proof: those of the input model first, as `ProofSteps::read` counts them, then what
// each step makes, those of the output model where it is read.

/// Nodes on values that are there, in the text form of graphs (graph/text.h): inputs are called "%12" after the values
/// that they stand for. Makes all other values of the graph. Nothing is claimed: what is equal by congruence is.
struct MakeStep {
  std::string graph;
};
/// The sides of a rule's equations are equal, with these values for its variables. Makes all values of its terms.
struct RuleStep {
  std::string rule;
  std::vector<std::pair<std::string, int>> tensors;
  verify::Bindings names;  ///< integers that are no dims, and rests
};
/// A value that is computed of constants is what the interpreter computes of them, rounded to its type: of the
/// constants that are known to be some, whatever lies between is not rounded.
struct FoldStep {
  int value = 0;
};
/// What rows infer of the value's node, of what is known by now of what it reads, is so of the value.
struct InferStep {
  int value = 0;
};
/// Two values have the same elements: expressions over those of values that both are made of, the same in normal form.
/// What is made pointwise is followed down, but not below the values of `over`; where a value is known to be equal to
/// one of `through`, as that one is made. Or both are made by nodes of the same tensor expressions.
struct SameStep {
  int first = 0, second = 0;
  std::vector<int> over, through = {};
};
/// What a composite's node gives is what its row writes it out as. Makes the values of that.
struct ExpandStep {
  int value = 0;
};
/// From here on values of the output model are there, too. Its constants are what they are, but that these, by the
/// numbers that they get, are what a fold rounded the values to.
struct OutputStep {
  std::vector<int> constants = {}, values = {};
};

using ProofStep = std::variant<MakeStep, RuleStep, FoldStep, InferStep, SameStep, ExpandStep, OutputStep>;
/// As files call it: "make", "rule", …
std::string_view kind(const ProofStep& step);

struct ModelProof {
  std::map<std::string, int64_t> dims;  ///< what was bound (graph/bind.h) before anything else
  std::map<std::string, Dims> shapes;
  FloatMode fp = FloatMode::kReassociate;  ///< the weakest class of rounding that a step needs
  Hash128 input, output;    ///< structural_hash, of the model with its dims bound and of what was written
  std::vector<Rule> rules;  ///< that steps name, each with its proof; laws that are used as rules among them
  std::vector<ProofStep> steps;
};

}  // namespace isomer::substitutions
