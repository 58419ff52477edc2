// Libraries and rules that tests make for themselves.
#pragma once

#include <string>

#include "substitutions/library/library.h"
#include "verify/prover/prove.h"

namespace isomer::substitutions::test {

/// By this process alone.
inline Library generated(const std::string& set, const EnumerationOptions& enumeration) {
  const auto operators = operator_set(set);
  CHECK(operators.ok()) << operators.error().message();
  LibraryOptions options;
  options.enumeration = enumeration;
  auto alone = Cluster::join();
  CHECK(alone.ok()) << alone.error().message();
  auto result = generate(*operators, options, *alone);
  CHECK(result.ok()) << result.error().message();
  return *std::move(result);
}

inline Library generated(const std::string& set, int max_operators, int threads = 2) {
  EnumerationOptions options;
  options.max_operators = max_operators;
  options.threads = threads;
  return generated(set, options);
}

inline Rule proved(std::string_view equations, const verify::VariableTypes& types, verify::Prover& prover) {
  const auto outputs = parse_outputs(equations);
  CHECK(outputs.ok()) << outputs.error().message();
  auto rule = prove_rule(*outputs, types, prover);
  CHECK(rule.ok()) << rule.error().message();
  return *std::move(rule);
}

}  // namespace isomer::substitutions::test
