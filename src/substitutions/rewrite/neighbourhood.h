// What stands around an application: models repeat their layers, and what a search from one place finds it finds from
// all that look alike. Test: tests/substitutions/neighbourhood_test.cpp
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "substitutions/rewrite/program.h"
#include "util/hash.h"

namespace isomer::substitutions {

/// Applications in the order of their distance from one, counted in steps to those that make an argument and to those
/// that read a value which is no constant. Program, uses and what says which nodes are kept must outlive it.
class Neighbourhood {
 public:
  Neighbourhood(const Program& program, const Program::Uses& uses, const std::function<bool(NodeId)>& is_kept,
                int application);

  /// -1: no way leads there.
  int distance(int application);
  /// Equal for those that are the same up to this distance, the order of their applications too: operations, types,
  /// numbers, what is read twice, what is an output, what is kept. Of other constants only the types. Nothing where so
  /// many stand there that hardly any other place has the same around it.
  std::optional<Hash128> hash(int radius);

 private:
  bool grow();
  void add(int application, int distance);
  void hash_argument(int value, int radius, std::vector<int>& outside, Hasher& hasher) const;

  const Program& program_;
  const Program::Uses& uses_;
  const std::function<bool(NodeId)>& is_kept_;
  std::vector<int> distances_, places_;  ///< by application; -1: not reached yet
  std::vector<int> order_;
  std::vector<size_t> ends_;  ///< by distance, in the order
};

}  // namespace isomer::substitutions
