// A task: what becomes one kernel, the meaning of one or several nodes as one program; or a node that runs bodies.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/te/program.h"
#include "kernel/lower.h"

namespace isomer::search {

struct Task {
  std::vector<NodeId> nodes;     ///< in the order in which they run; none for a change of layout
  std::vector<ValueId> inputs;   ///< the program's inputs
  std::vector<ValueId> outputs;  ///< its outputs
  te::Program program;
  /// Values whose dims are further inputs, int64 each, behind `inputs`: data decide them, and symbols stand for them in
  /// the program and the shapes.
  std::vector<ValueId> sizes_of;
  /// Its node is control flow and has no program; `inputs` are the node's, then what its bodies capture.
  bool runs_bodies = false;
  /// By input and output, as transform_layout takes them ("0:2:3:1"); empty, or none at all: row-major.
  std::vector<std::string> input_layouts;
  std::vector<std::string> output_layouts;

  std::string input_layout(size_t k) const { return k < input_layouts.size() ? input_layouts[k] : std::string(); }
  std::string output_layout(size_t k) const { return k < output_layouts.size() ? output_layouts[k] : std::string(); }
  bool is_laid_out() const;  ///< whether any is not row-major
  Task row_major() const;    ///< the same without layouts
  /// "Conv+Relu": the operators, for people; "Relayout" for a task that only changes a value's layout.
  std::string name(const Graph& graph) const;
  /// What errors call it: its first node.
  std::string place(const Graph& graph) const;
};

/// Types and shapes of the inputs of a task with a program. Errors: a value without a shape.
Result<std::vector<kernel::TaskType>> input_types(const Graph& graph, const Task& task);

/// Of a dim that is one symbol; else "".
std::string symbol_of(const Dim& dim);

/// What the dims of `sizes_of` are called.
std::vector<kernel::SizeNames> size_names(const Graph& graph, const Task& task);

}  // namespace isomer::search
