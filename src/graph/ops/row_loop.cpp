#include "graph/row_loop.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "graph/edit.h"
#include "graph/infer.h"
#include "graph/op_def.h"

namespace isomer {
namespace {

class RowLoop {
 public:
  RowLoop(Graph& graph, const RowNodes& rows, int64_t at_once) : graph_(graph), rows_(rows), at_once_(at_once) {}

  Result<void> make() {
    const std::string name = graph_.value(rows_.outputs[0]).name + "_rows";
    TRY(count_, emit(graph_, "Shape", {rows_.rows[0]}, {{"start", int64_t{0}}, {"end", int64_t{1}}}, name));
    TRY(const ValueId count, emit(graph_, "Gather", {count_, number(graph_, 0)}, {}, name));
    TRY(const ValueId more, emit(graph_, "Add", {count, number(graph_, at_once_ - 1)}, {}, name));
    TRY(const ValueId trips, emit(graph_, "Div", {more, number(graph_, at_once_)}, {}, name));
    TRY(const ValueId last, emit(graph_, "Sub", {count, number(graph_, 1)}, {}, name));
    TRY_VOID(make_body(last));
    Node loop;
    loop.op_type = "Loop";
    loop.op = find_op("", loop.op_type);
    loop.name = name;
    loop.inputs = {trips, ValueId()};
    loop.captures = captured_;
    loop.attributes["body"] = std::make_shared<const Graph>(std::move(body_));
    for (size_t k = 0; k < rows_.outputs.size(); ++k) loop.outputs.push_back(fresh(graph_, name));
    const std::vector<ValueId> stacks = loop.outputs;
    TRY_VOID(infer_node(graph_, graph_.add_node(std::move(loop))));
    for (const NodeId id : rows_.nodes) graph_.remove_node(id);
    for (size_t k = 0; k < stacks.size(); ++k) TRY_VOID(cut_off(stacks[k], rows_.outputs[k]));
    return {};
  }

 private:
  static ValueId number(Graph& graph, int64_t value) {
    return emit_constant(graph, Tensor::scalar(DataType::kInt64, static_cast<double>(value)), "number");
  }
  static ValueId fresh(Graph& graph, const std::string& hint, ValueType type = {}) {
    Value value;
    value.name = graph.fresh_name(hint);
    value.type = std::move(type);
    return graph.add_value(std::move(value));
  }

  Result<void> make_body(ValueId last) {
    body_.name = "rows";
    body_.share_info(graph_);
    const ValueId iteration = fresh(body_, "iteration", ValueType::tensor(DataType::kInt64, {})),
                  condition = fresh(body_, "condition", ValueType::tensor(DataType::kBool, {}));
    TRY(const ValueId first, emit(body_, "Mul", {iteration, number(body_, at_once_)}, {}, "first"));
    std::vector<int64_t> places(static_cast<size_t>(at_once_));
    std::iota(places.begin(), places.end(), 0);
    TRY(const ValueId all, emit(body_, "Add", {first, emit_ints(body_, std::move(places), "places")}, {}, "all"));
    TRY(const ValueId there, emit(body_, "Min", {all, inside(last)}, {}, "there"));
    for (const ValueId row : rows_.rows) {
      TRY(const ValueId some, emit(body_, "Gather", {inside(row), there}, {{"axis", int64_t{0}}}, "some"));
      inside_[row] = some;
    }
    for (const NodeId id : rows_.nodes) TRY_VOID(add(id));
    std::vector<ValueId> outputs = {condition};
    for (const ValueId output : rows_.outputs) outputs.push_back(inside_.at(output));
    body_.set_inputs({iteration, condition});
    body_.set_captures(captures_);
    body_.set_outputs(std::move(outputs));
    return {};
  }

  /// What stands in the body for a value of the graph: a constant of its own, or a capture.
  ValueId inside(ValueId value) {
    if (!value.valid()) return value;
    const auto [known, is_new] = inside_.try_emplace(value);
    if (!is_new) return known->second;
    const Value& outside = graph_.value(value);
    if (graph_.is_constant(value)) return known->second = emit_constant(body_, *outside.constant, outside.name);
    captured_.push_back(value);
    const ValueId made = fresh(body_, outside.name, outside.type);
    body_.edit(made).content = outside.content;
    captures_.push_back(made);
    return inside_[value] = made;
  }

  Result<void> add(NodeId id) {
    Node node = graph_.node(id);
    for (ValueId& input : node.inputs) input = inside(input);
    for (ValueId& output : node.outputs)
      if (output.valid()) output = inside_[output] = fresh(body_, graph_.value(output).name);
    const std::vector<ValueId> outputs = node.outputs;
    TRY_VOID(infer_node(body_, body_.add_node(std::move(node))));
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (!outputs[k].valid()) continue;
      const ValueType& found = body_.value(outputs[k]).type;
      Shape expected = *graph_.value(graph_.node(id).outputs[k]).type.shape;
      expected[0] = at_once_;
      if (!found.has_shape() || *found.shape != expected)
        return unsupported(label(graph_, id), "{} of {} rows expected, {} found", text(expected), at_once_,
                           found.text());
    }
    return {};
  }

  /// The output is the first rows of what the loop stacked.
  Result<void> cut_off(ValueId stack, ValueId output) {
    const ValueType type = graph_.value(output).type;
    std::vector<int64_t> dims = {-1};
    for (size_t k = 1; k < type.shape->size(); ++k) dims.push_back((*type.shape)[k].value());
    const std::string name = graph_.value(output).name;
    TRY(const ValueId all, emit(graph_, "Reshape", {stack, emit_ints(graph_, std::move(dims), "dims")}, {}, name));
    Node slice;
    slice.op_type = "Slice";
    slice.op = find_op("", slice.op_type);
    slice.inputs = {all, emit_ints(graph_, {0}, "first"), count_, emit_ints(graph_, {0}, "axes")};
    slice.outputs = {output};
    graph_.add_node(std::move(slice));
    return {};
  }

  Graph& graph_;
  const RowNodes& rows_;
  const int64_t at_once_;
  ValueId count_;  ///< of rows, as a vector of one element
  Graph body_;
  std::map<ValueId, ValueId> inside_;
  std::vector<ValueId> captured_, captures_;  ///< in the graph, and in the body
};

}  // namespace

Result<void> loop_over_rows(Graph& graph, const RowNodes& rows, int64_t at_once) {
  return RowLoop(graph, rows, at_once).make();
}

}  // namespace isomer
