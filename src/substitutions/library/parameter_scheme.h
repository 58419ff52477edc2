// What a proof says of the parameters in it: which of them are one, which stay what they are, which are computed from
// others. Test: tests/substitutions/generalise_test.cpp
#pragma once

#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "substitutions/proof/rule.h"

namespace isomer::substitutions {

/// Classes of things that must be equal.
class UnionFind {
 public:
  int make();
  int leader(int id) const;
  void unite(int a, int b);

 private:
  std::vector<int> leaders_;
};

class ParameterScheme {
 public:
  /// A parameter as a whole: taken over as it is, or opened into numbers that are spoken of one by one.
  struct Unit {
    verify::Parameter value;
    bool is_input = false;  ///< a list that the row takes as an input: its numbers may be arithmetic
    bool pinned = false;
    bool opened = false;
    std::vector<int> numbers;  ///< once opened
  };
  /// One number of a parameter, or what a law's name stands for.
  struct Number {
    Dim value;
    bool pinned = false;
  };
  using Units = std::map<std::string, int>;
  /// By a use and a name of its law.
  using Place = std::pair<size_t, std::string>;
  /// left = right, over names of the law and numbers, in one use of it.
  struct Relation {
    Dim left, right;
    size_t use;
  };
  /// A law writes a negative number here, which counts from the back.
  struct FromBack {
    int number;
    int64_t written;
    verify::Term application;
  };

  ParameterScheme(const std::vector<Output>& outputs, const verify::VariableTypes& types,
                  const verify::Certificate& proof, std::span<const verify::StatedAxiom> axioms,
                  verify::Signatures& signatures)
      : outputs_(outputs), types_(types), proof_(proof), axioms_(axioms), signatures_(signatures) {}

  /// Errors: a term is not well typed, a use is no instance of its law.
  Result<void> read();

  const std::vector<Output>& outputs() const { return outputs_; }  ///< spelled out
  const verify::VariableTypes& types() const { return types_; }
  const verify::Certificate& proof() const { return proof_; }
  verify::Signatures& signatures() const { return signatures_; }
  const std::vector<verify::Law>& instances() const { return instances_; }  ///< of the laws, by use
  const std::vector<verify::Term>& terms() const { return terms_; }         ///< all of them, each once
  const std::vector<Relation>& relations() const { return relations_; }
  const std::vector<FromBack>& from_back() const { return from_back_; }

  /// Of an application; its outputs share them.
  const Units& units_of(const verify::Term& application) const;
  /// What a rest of a law stands for; nullptr where it is empty.
  const Units* rest(const Place& place) const;
  int unit_leader(int unit) const { return unit_classes_.leader(unit); }
  Unit& unit(int id) { return units_[static_cast<size_t>(unit_classes_.leader(id))]; }
  int unit_count() const { return static_cast<int>(units_.size()); }
  int leader(int number) const { return number_classes_.leader(number); }
  Number& number(int id) { return numbers_[static_cast<size_t>(number_classes_.leader(id))]; }
  int number_count() const { return static_cast<int>(numbers_.size()); }
  /// What a law's name, no dim, stands for; nothing where no parameter is told by it.
  std::optional<int> named(const Place& place) const;
  const verify::Term& tensor(const Place& place) const { return tensors_.at(place); }
  std::vector<std::string> variables_of(size_t use) const;
  /// Into numbers; what is no list of integers stays what it is.
  void open(int unit);

  /// A number among the symbols of arithmetic.
  static std::string symbol_name(int number);
  static Dim symbol(int number) { return Dim::symbol(symbol_name(number)); }
  static std::optional<int> number_of(const std::string& symbol);

 private:
  int node_of(const verify::Term& application);
  void add(const verify::Term& term);
  int make_unit(const verify::Parameter& value, bool is_input);
  int make_number(const Dim& value, bool pinned);
  void unite_numbers(int a, int b);
  void unite_units(int a, int b);
  void pin(int unit);
  Result<void> read_use(size_t use);
  void read(size_t use, const verify::Term& pattern, const verify::Term& term);
  void read(size_t use, const Dim& written, int there, const verify::Term& application);
  void read_condition(size_t use, const te::Expr& condition);
  void relate(size_t use, const Dim& left, const Dim& right);
  int number_named(const Place& place);
  void unite_congruent();
  std::vector<std::set<int>> groups();
  void separate_rests();

  std::vector<Output> outputs_;
  const verify::VariableTypes& types_;
  const verify::Certificate& proof_;
  std::span<const verify::StatedAxiom> axioms_;
  verify::Signatures& signatures_;

  std::vector<verify::Law> instances_;
  std::vector<verify::Term> terms_;
  std::unordered_map<verify::Term, int, verify::TermHash> term_ids_, nodes_;
  std::vector<Units> units_of_;  ///< of nodes
  std::vector<Unit> units_;
  std::vector<Number> numbers_;
  UnionFind unit_classes_, number_classes_, term_classes_;
  std::map<Place, Units> rests_;
  std::map<Place, int> named_;
  std::map<Place, verify::Term> tensors_;
  std::vector<Relation> relations_;
  std::vector<FromBack> from_back_;
};

/// The integers of a parameter, one or a list; nothing where it is something else.
std::optional<std::vector<Dim>> integers_of(const verify::Parameter& value);

}  // namespace isomer::substitutions
