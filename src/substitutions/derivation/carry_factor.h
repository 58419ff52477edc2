// A factor goes over movement. Where one of the values that a source is moved to (a Split's part, a slice, what is
// picked and transposed …) is multiplied by a number, the source is multiplied instead, by a constant that is the
// number where that value reads it and one elsewhere: Mul(Split(x).0, 2) is Split(Mul(x, [2,2,1,1])).0. Which elements
// are read is seen from the rows' tensor expressions, so that it holds of whatever moves. Test:
// tests/substitutions/normalize_test.cpp
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "graph/te/expr.h"
#include "substitutions/rewrite/apply.h"

namespace isomer::substitutions {

/// The step, as others can take it again: no rule says of all ways to move that it may be taken; a proof compares
/// elements (SameStep).
struct CarriedFactor {
  int product = -1;             ///< the value that is no longer computed
  int factor = -1, moved = -1;  ///< of which
  int source = -1;              ///< that is multiplied instead
  std::optional<size_t> axis;   ///< along which a part of it is; nothing: all of it
  int64_t first = 0, last = 0;  ///< positions of the part
  std::vector<int> moving;      ///< applications that read the multiplied source, each behind what it reads
  std::vector<int> ends;        ///< values that they make for others
};

/// Errors: what a row does not accept.
Result<Rewritten> take_step(const Program& program, const CarriedFactor& step);

/// Finds such steps in programs that come from one graph.
class FactorCarrier {
 public:
  /// Of a value and one number that is constant.
  static bool is_product(const Program& program, int application);
  /// For a product, an application, with all movement above its other operand. Nothing where it is no product of a
  /// moved value and one number, where others read the same elements, or those that are read are no interval along an
  /// axis. What may not be touched moves nothing.
  std::optional<CarriedFactor> find(const Program& program, int product, const std::function<bool(int)>& may_touch);

 private:
  /// out[i] = in[index(i)], `in` the argument.
  struct Map {
    size_t argument = 0;
    std::vector<te::Expr> index;
  };
  class Search;
  const std::optional<Map>& map_of(const Program& program, int value);
  static std::optional<Map> find_map(const Program& program, int value);

  /// By operation, output, and types and numbers of what it reads.
  std::map<std::vector<int>, std::optional<Map>> maps_;
};

}  // namespace isomer::substitutions
