// What programs of tasks look like, as fusion and layouts ask: what they are made of, and how they read an input. Never
// which operators they came from. Tests: tests/search/row_fusion_test.cpp,
// tests/search/compile_test.cpp
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/te/program.h"
#include "kernel/lower.h"

namespace isomer::search {

/// What a program is made of.
enum class Form : uint8_t {
  kMovement,  ///< maps that compute nothing: each element is one of an input, or a constant
  kMap,       ///< maps only
  kRows,      ///< reductions that use each element that they read a few times
  kAnchor,    ///< sums of products that use what they read many times
  kOther,     ///< scans, updates, imperative stages
};

Form form_of(const te::Program& program, const Graph& graph, const std::vector<ValueId>& inputs);

/// Whether each element is one of an input, found by sums of indices: readers take it from there at no cost.
bool renames(const te::Program& program);

/// Whether a program only brings the axes of its one input into another order.
bool permutes_axes(const te::Program& program);

/// Nodes of its expressions.
double term_count(const te::Program& program);

// The rest is asked of programs of maps and reductions.

/// Looks at every load of an input, with its stage.
void for_each_input(const te::Program& program, const std::function<void(const te::Load&, const te::MapReduce&)>& look);

/// Whether every load of input `number` takes the element at the point of the stage, of a stage of the input's shape.
bool reads_in_place(const te::Program& program, int number, const Shape& shape);

/// Whether stages read input `number` at more points than it has elements.
bool reads_again(const te::Program& program, int number, const Shape& shape);

/// Whether input `number` is read at one place, once an element.
bool reads_once(const te::Program& program, int number, const Shape& shape);

/// The dim along which every load of input `number` is one of whole rows: the stages reduce it, always the same, or
/// read it at their point, all others are their axes. Nothing where there is none.
std::optional<size_t> row_dim(const te::Program& program, int number, const Shape& shape);

/// How many iterators find input `number` where maps read one element of it for a whole row of theirs (x[i, j] / sum[i]
/// and x[i, j] / sum[i, 0]: one); their first. 0: it is not read so.
size_t row_axes(const te::Program& program, int number);

/// Whether each stage makes its row `i` of such rows alone, of other stages and of these inputs. Rows are what the
/// first dims count.
bool stays_in_rows(const te::Program& program, const Shape& rows, const std::vector<int>& inputs);

/// Where a program only renames the elements of one input, in the order in which they lie in memory: that input; else
/// -1.
int viewed_input(const te::Program& program, const std::vector<kernel::TaskType>& inputs);
/// The same for a kernel whose layouts have been set.
int viewed_input(const kernel::Kernel& kernel);

}  // namespace isomer::search
