// Operators whose output sizes data decide, and control flow.
#include "graph/infer.h"
#include "ops/recipes.h"
#include "util/check.h"

namespace isomer::test {
namespace {

int64_t counted_from_first(int64_t axis, const Dims& dims) {
  return axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis;
}

void top_k(Maker& m) {
  Dims shape = m.dims(1, 3, 1);
  const auto rank = static_cast<int64_t>(shape.size());
  const int64_t axis = m.pick(-rank, rank - 1);
  if (axis != -1 || m.flip()) m.set("axis", axis);
  m.maybe("largest", m.pick(0, 1));
  m.maybe("sorted", m.pick(0, 1));
  int64_t& length = shape[counted_from_first(axis, shape)];
  if (m.flip(0.1)) length = m.pick(128, 150);  // rows of which blocks are skipped
  m.add(shape);
  m.decide({m.pick(0, m.flip() ? length / 4 : length)});
  m.outputs(2);
}

void unique(Maker& m) {
  const Dims shape = m.dims(1, 3);
  const auto rank = static_cast<int64_t>(shape.size());
  if (m.flip()) m.set("axis", m.pick(-rank, rank - 1));
  m.maybe("sorted", m.pick(0, 1));
  m.give(m.values(m.type(0), shape, 0, 2));
  m.outputs(m.pick(1, 4));
}

void compress(Maker& m) {
  const Dims shape = m.dims(1, 3, 1);
  const auto rank = static_cast<int64_t>(shape.size());
  const bool flat = m.flip();
  const int64_t axis = m.pick(-rank, rank - 1);
  if (!flat) m.set("axis", axis);
  m.add(shape);
  m.add({m.pick(0, flat ? element_count(shape) : shape[counted_from_first(axis, shape)])});
}

void suppression(Maker& m) {
  const int64_t batch = m.pick(1, 2), boxes = m.pick(1, 4);
  m.maybe("center_point_box", m.pick(0, 1));
  m.add({batch, boxes, 4}, 0, 1);
  m.add({batch, m.pick(1, 2), boxes}, 0, 1);
  if (m.flip(0.8))
    m.give(m.values(DataType::kInt64, {1}, 0, 3));
  else
    m.omit();
  m.flip() ? m.add({1}, 0.2, 0.8) : m.omit();
  m.flip() ? m.add({1}, 0.1, 0.5) : m.omit();
}

// Bodies: small graphs of Add and Less over values of one type.

struct Body {
  Graph graph;
  ValueId value(const std::string& name, ValueType type) {
    Value made;
    made.name = name;
    made.type = std::move(type);
    return graph.add_value(std::move(made));
  }
  ValueId add(std::string_view op_type, std::vector<ValueId> inputs, const std::string& name) {
    Node node;
    node.op = find_op("", op_type);
    CHECK(node.op != nullptr) << op_type;
    node.op_type = op_type;
    node.inputs = std::move(inputs);
    node.outputs = {value(name, {})};
    const ValueId output = node.outputs[0];
    const NodeId id = graph.add_node(std::move(node));
    CHECK(infer_node(graph, id).ok()) << op_type;
    return output;
  }
};

ValueType typed(DataType dtype, const Dims& dims) { return ValueType::tensor(dtype, Shape(dims.begin(), dims.end())); }

void if_else(Maker& m) {
  const DataType dtype = m.type_of("V");
  const Dims shape = m.dims(0, 3);
  m.add({});
  m.instance.captures = {m.values(dtype, shape, 0, 3)};
  for (const char* name : {"then_branch", "else_branch"}) {
    Body body;
    const ValueId captured = body.value("captured", typed(dtype, shape));
    body.graph.set_captures({captured});
    body.graph.set_outputs({body.add(m.flip() ? "Identity" : "Transpose", {captured}, "out")});
    m.set(name, std::make_shared<const Graph>(std::move(body.graph)));
  }
}

/// A body that keeps or doubles its state and gives it as a scan output too.
void loop(Maker& m) {
  const DataType dtype = m.type_of("V");
  const Dims shape = m.dims(0, 2);
  Body body;
  const ValueId step = body.value("step", typed(DataType::kInt64, {}));
  const ValueId go = body.value("go", typed(DataType::kBool, {}));
  const ValueId state = body.value("state", typed(dtype, shape));
  const ValueId next =
      dtype == DataType::kBool ? body.add("Not", {state}, "next") : body.add("Identity", {state}, "next");
  const ValueId limit =
      body.graph.add_constant(Tensor::scalar(DataType::kInt64, static_cast<double>(m.pick(0, 2))), "limit");
  const bool counted = m.flip(0.7);  // else the condition alone ends it
  const ValueId more =
      counted && m.flip() ? body.add("Identity", {go}, "more") : body.add("Less", {step, limit}, "more");
  const ValueId seen = body.add("Identity", {state}, "seen");
  body.graph.set_inputs({step, go, state});
  body.graph.set_outputs({more, next, seen});
  m.set("body", std::make_shared<const Graph>(std::move(body.graph)));
  counted ? m.decide_scalar(m.pick(0, 3)) : m.omit();
  !counted || m.flip() ? m.give(m.values(DataType::kBool, {}, 0, 1), m.flip()) : m.omit();
  m.give(m.values(dtype, shape, 0, 3));
  m.outputs(2);
}

/// A running fold with one state and one scanned input.
void scan(Maker& m) {
  const DataType dtype = m.type_of("V");
  const Dims shape = m.dims(0, 2, 1);
  Body body;
  const ValueId state = body.value("state", typed(dtype, shape));
  const ValueId slice = body.value("slice", typed(dtype, shape));
  const bool adds = dtype == DataType::kFloat32 || dtype == DataType::kInt64;
  const ValueId next = adds ? body.add("Add", {state, slice}, "next") : body.add("Identity", {slice}, "next");
  const ValueId seen = body.add("Identity", {state}, "seen");
  body.graph.set_inputs({state, slice});
  body.graph.set_outputs({next, seen});
  m.set("body", std::make_shared<const Graph>(std::move(body.graph)));
  m.set("num_scan_inputs", int64_t{1});
  const int64_t axis = m.pick(0, static_cast<int64_t>(shape.size()));
  if (axis > 0 || m.flip()) m.set("scan_input_axes", std::vector<int64_t>{axis});
  m.maybe("scan_input_directions", std::vector<int64_t>{m.pick(0, 1)});
  m.maybe("scan_output_directions", std::vector<int64_t>{m.pick(0, 1)});
  m.maybe("scan_output_axes", std::vector<int64_t>{m.pick(0, static_cast<int64_t>(shape.size()))});
  Dims scanned = shape;
  scanned.insert(scanned.begin() + axis, m.pick(1, 3));
  m.give(m.values(dtype, shape, 0, 3));
  m.give(m.values(dtype, scanned, 0, 3));
  m.outputs(2);
}

}  // namespace

void add_selection_recipes(Recipes& recipes) {
  recipes["TopK"] = top_k;
  recipes["Unique"] = unique;
  recipes["Compress"] = compress;
  recipes["NonMaxSuppression"] = suppression;
}

void add_control_recipes(Recipes& recipes) {
  recipes["If"] = if_else;
  recipes["Loop"] = loop;
  recipes["Scan"] = scan;
}

}  // namespace isomer::test
