// Which iterators the loops of a stage run over, and along which one strips are taken.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/te/array.h"
#include "graph/te/interpret/lowered.h"

namespace isomer::te::interpreter {

/// By node: whether one of the roots needs it.
std::vector<bool> reachable(const Lowered& lowered, const std::vector<int>& roots);

/// Iterators in the order in which a group of loops runs over them, outer first.
using Group = std::vector<int>;

/// The live iterators of a role.
Group iterators_of(const Lowered& lowered, Role role);

/// Joins neighbours in a group that every sum steps through like one long iterator. The inner one takes over the extent
/// of the outer, whose own becomes 1. With `output`, the output counts among the sums.
void coalesce(Lowered& lowered, const std::vector<int>& roots, bool output, const std::vector<Group>& groups);

/// Nanoseconds a value that strips along `vector` are expected to take, without what is the same along all iterators.
/// `reduces`: results are combined over the reduction iterators.
double strip_cost(const Lowered& lowered, const std::vector<Storage>& storages, const std::vector<int>& roots,
                  int vector, bool reduces);

/// The spatial iterator among the loops around strips along `vector` that should be the innermost one: where loads or
/// stores jump from lane to lane, the one that steps to the neighbouring element. -1: none in particular.
int neighbouring_iterator(const Lowered& lowered, const std::vector<int>& roots, int vector);

}  // namespace isomer::te::interpreter
