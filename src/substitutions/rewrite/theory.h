// What matching and rewriting stand on: the laws, and more that rows said of applications. One for each thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "substitutions/proof/laws.h"
#include "substitutions/proof/rule.h"
#include "util/hash.h"

namespace isomer::substitutions {

class Normalizer;

class Theory : public Laws {
 public:
  using Laws::Laws;

  /// The element type that a number has among operands of these types, `conditions` of them bools of their own.
  DataType dtype_beside(std::span<const int> types, int conditions = 0);
  /// The same operation with numbers for all its integers, as a node needs them; nothing where there is none.
  std::optional<int> constant_form(int operation, std::span<const int> types);
  /// The same whatever else the theory was asked.
  Hash128 operation_hash(int operation);

  /// What normalization (derivation/normalize.h) made ready for this theory, once it ran.
  std::shared_ptr<Normalizer> normalizer;

 private:
  std::map<std::vector<int>, std::optional<int>> constant_forms_;
  std::vector<std::optional<Hash128>> hashes_;
};

/// A law as a rule, proved by itself.
Rule rule_of(int law, std::span<const verify::StatedAxiom> axioms);
/// Each of them.
std::vector<Rule> rules_of_laws(std::span<const verify::StatedAxiom> axioms);

}  // namespace isomer::substitutions
