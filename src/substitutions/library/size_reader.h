// Sizes of a scheme's terms as arithmetic over the dims of its variables and over its numbers, read off the rows: what
// must be equal for the terms to be well typed tells numbers that no law computes. Test:
// tests/substitutions/generalise_test.cpp
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "substitutions/library/rank_reader.h"

namespace isomer::substitutions {

/// A dim of a term, over symbols "x_0" and those of numbers.
struct Size {
  Dim value;
  std::set<int> depends;  ///< numbers, by leaders, that it would not be without: what reads it must keep them
};
using Sizes = std::vector<Size>;

/// Σ terms = 0
struct SizeEquation {
  Dim difference;
  std::set<int> depends;
};

class SizeReader {
 public:
  SizeReader(ParameterScheme& scheme, RankReader& ranks) : scheme_(scheme), ranks_(ranks) {}

  /// Nothing where the row can't say.
  const std::optional<Sizes>& sizes_of(const verify::Term& term);
  /// Both terms have one type.
  std::vector<SizeEquation> equal(const verify::Term& left, const verify::Term& right);
  /// What an application's row needs of its operands and numbers.
  std::vector<SizeEquation> needs_of(const verify::Term& application);

  /// No name that a row made.
  bool is_over_symbols(const Dim& size) const;

 private:
  struct Operands {
    std::vector<ValueType> types;
    std::vector<Sizes> sizes;
  };

  std::optional<Operands> operands_of(const verify::Term& application);
  std::optional<Sizes> made(const verify::Term& application);
  verify::Parameters symbolic_parameters(const verify::Term& application, const Operands& operands,
                                         std::set<std::string>& plain);
  void add_dependences(const verify::Term& application, const Operands& operands, const std::set<std::string>& plain,
                       Sizes& sizes);
  std::vector<verify::Parameters> neighbours(const verify::Parameters& parameters, const std::string& name,
                                             size_t index) const;
  Dim without_maximum(const Dim& size);
  int64_t at_example(const Dim& size);
  /// Numbers of the application, by leaders, that are axes.
  std::set<int> axes_of(const verify::Term& application);

  ParameterScheme& scheme_;
  RankReader& ranks_;
  std::unordered_map<verify::Term, std::optional<Sizes>, verify::TermHash> sizes_;
};

}  // namespace isomer::substitutions
