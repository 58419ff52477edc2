// Random nodes of any row: typed inputs with values, attributes, outputs. The table of recipes (recipes.h) says what is
// sensible for an operator; what has no recipe gets inputs that broadcast and attributes near their defaults.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"
#include "util/random.h"

namespace isomer::test {

/// The name, behind its domain where that is neither the standard's nor ours.
std::string full_name(const OpDef& op);
/// The same as tests are named.
std::string test_name(const OpDef& op);

struct Instance {
  struct Input {
    bool present = false;
    Tensor tensor;
    bool constant = false;  ///< an initializer, else an input of the graph
    bool fixed = false;     ///< its dims decide a rank: they are never symbolic
    bool free = false;      ///< any values will do
  };
  const OpDef* op = nullptr;
  Attributes attributes;
  std::vector<Input> inputs;
  std::vector<bool> outputs;     ///< which are asked for
  std::vector<Tensor> captures;  ///< read by the bodies, as constants

  std::string text() const;  ///< for messages
};

/// The node alone, or with what surrounds it: `dim` says what becomes of each axis of an input that is not constant.
using DimOf = std::function<Dim(size_t input, size_t axis)>;
Graph graph_of(const Instance& instance, const DimOf& dim = nullptr);

/// A type and shape that an instance may choose so that it fits to what is there.
struct Suggestion {
  DataType dtype;
  Dims dims;
};

class Maker {
 public:
  /// Types are taken in turn, so that `turn` = 0, 1, … reaches all of them; some from the suggestions, if there are
  /// any.
  Maker(const OpDef& op, Random& random, int turn, const std::vector<Suggestion>& suggestions = {});

  Random& random;
  Instance instance;

  int64_t pick(int64_t low, int64_t high) { return random.between(low, high); }
  bool flip(double probability = 0.5) { return random.chance(probability); }
  template <class T>
  T one_of(std::vector<T> values) {
    return values[random.below(values.size())];
  }
  /// A name that attributes take as a string.
  std::string word(std::vector<std::string> values) { return one_of(std::move(values)); }
  Dims dims(int least_rank, int most_rank, int64_t least = 0, int64_t most = 3);
  /// The type of formal input i.
  DataType type(int i) const;
  DataType type_of(std::string_view variable) const;

  // Inputs, in order.
  void add(Dims dims);
  void add(Dims dims, double low, double high);
  void give(Tensor tensor, bool constant = false);
  /// Integers that decide shapes: constant three times of four.
  void decide(std::vector<int64_t> values);
  void decide_scalar(int64_t value);
  void omit();
  /// The dims of the last input decide a rank.
  void fix_dims() { instance.inputs.back().fixed = true; }
  Tensor values(DataType dtype, Dims dims, double low, double high);
  int next_input() const { return static_cast<int>(instance.inputs.size()); }

  void set(std::string_view name, Attribute value) {
    instance.attributes.insert_or_assign(std::string(name), std::move(value));
  }
  /// Sets it mostly.
  void maybe(std::string_view name, Attribute value) {
    if (flip(0.7)) set(name, std::move(value));
  }
  void outputs(size_t count) { instance.outputs.assign(count, true); }

 private:
  std::map<std::string_view, DataType> types_;
  std::vector<Suggestion> suggestions_;
};

/// An instance that may be invalid still.
Instance make_instance(const OpDef& op, Random& random, int turn, const std::vector<Suggestion>& suggestions = {});

}  // namespace isomer::test
