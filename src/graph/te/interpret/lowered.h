// A map/reduce stage made ready for planning: typed nodes over iterators of known extents, loads at element offsets
// that are sums over the iterators wherever they can be.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/te/expr.h"
#include "graph/te/interpret/linear.h"
#include "graph/te/interpret/range.h"

namespace isomer::te::interpreter {

enum class Role : uint8_t { kSpatial, kReduce, kTime };

/// Contributes stride * i to an axis of the stage. Extents are above 1, but for kTime's: steps are run one by one.
struct Iterator {
  Role role;
  int axis;
  int64_t extent;
  int64_t stride;
};

/// An index that could not be shown to lie within its axis.
struct Check {
  Linear index;
  int64_t extent;
  int axis;
  bool bounded;  ///< the index cannot overflow: the ends of a strip decide for all of it
};

struct Node {
  enum class Kind : uint8_t {
    kReal,       ///< a literal
    kInteger,    ///< a literal
    kLinear,     ///< the value of `linear`
    kFloorDiv,   ///< floor(linear / integer)
    kPredicate,  ///< linear < 0, or == 0 if `equality`
    kUnary,
    kBinary,
    kSelect,
    kCast,         ///< to a real, or from one
    kRetype,       ///< the integer `a` under another type
    kWrap,         ///< an integer brought into the range of dtype
    kLoad,         ///< element `linear` of a buffer
    kAccumulator,  ///< component `integer` of what was combined so far
  };
  Kind kind;
  DataType dtype = DataType::kInt64;
  bool equality = false;
  bool unwrapped = false;    ///< right only modulo 2^bits of dtype
  bool conditional = false;  ///< it, or something that it needs, may fail or reach out of bounds where not asked for
  bool checked = false;      ///< kBinary: an integer division whose divisor may be 0
  UnaryOp unary{};
  BinaryOp binary{};
  int a = -1, b = -1, c = -1;
  int buffer = -1;
  double real = 0;
  int64_t integer = 0;
  Linear linear = {};
  std::vector<Check> checks = {};
  Range range = {};      ///< of integers
  uint64_t depends = 0;  ///< the iterators that the value depends on, a bit each

  bool is_real() const { return is_float(dtype); }
};

/// Calls look(node) for each node that the value of `node` is directly computed from.
template <class F>
void for_each_operand(const Node& node, F&& look) {
  for (const int operand : {node.a, node.b, node.c})
    if (operand >= 0) look(operand);
  const auto look_at = [&](const Linear& linear) {
    for (const Term& term : linear.terms)
      if (!is_iterator(term.atom)) look(node_of(term.atom));
  };
  look_at(node.linear);
  for (const Check& check : node.checks) look_at(check.index);
}

struct Lowered {
  std::vector<Iterator> iterators;  ///< spatial by axis, then reduction, then time; outer before inner
  std::vector<BufferRef> buffers;
  std::vector<Node> nodes;  ///< operands before their users
  std::vector<int> bodies;  ///< what is combined, one a component
  /// Over kAccumulator nodes and the bodies; the bodies themselves for a map.
  std::vector<int> results;
  Linear output;  ///< the element of the stage's value that the spatial iterators name
};

}  // namespace isomer::te::interpreter
