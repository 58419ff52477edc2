// How the ranks of a scheme's terms grow with those of its variables, and which numbers are axes, read off the rows by
// trying. Test: tests/substitutions/generalise_test.cpp
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "substitutions/library/parameter_scheme.h"

namespace isomer::substitutions {

class RankReader {
 public:
  explicit RankReader(const ParameterScheme& scheme) : scheme_(scheme) {}

  const ValueType& type_of(const verify::Term& term);
  std::vector<ValueType> operand_types(const verify::Term& application);
  /// The rank over "x_rank": how it grows with those of the variables.
  Dim rank_of(const verify::Term& term);
  /// The rank that a number of the application may be counted back from: less this much, it says the same. Nothing
  /// where it is no axis.
  std::optional<int64_t> counted_from(const verify::Term& application, const std::string& parameter, size_t index);

 private:
  Dim rank_made(const verify::Term& application);
  const verify::Parameters& axes_from_back(const verify::Term& application);

  const ParameterScheme& scheme_;
  std::unordered_map<verify::Term, ValueType, verify::TermHash> types_;
  std::unordered_map<verify::Term, Dim, verify::TermHash> ranks_;
  std::unordered_map<verify::Term, verify::Parameters, verify::TermHash> from_back_;
};

bool is_number(const verify::Term& term);
/// One of a parameter's integers.
Dim& integer_at(verify::Parameters& parameters, const std::string& name, size_t index);
/// Of the output that the term is, with other parameters; nothing where the row refuses the operands.
std::optional<ValueType> inferred(const verify::Term& term, const verify::Parameters& parameters,
                                  std::span<const ValueType> types);

}  // namespace isomer::substitutions
