// Class C: graphs whose names don't make a graph, and graphs that are valid but of a shape nobody draws.
#include "hostile/bytes.h"
#include "hostile/case.h"

namespace isomer::test {
namespace {

/// `model` of each row is what stands in the graph.
std::vector<HostileCase> in_graph(std::vector<NotationRow> rows) {
  for (NotationRow& row : rows) row.model = "ir_version: 8 opset_import { version: 17 } graph { " + row.model + " }";
  return in_text(rows);
}

const std::string kX = "input { name: 'x' type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } } } } ";
const std::string kY = "output { name: 'y' } ";
const std::string kRelu = "node { op_type: 'Relu' input: 'x' output: 'y' } ";

std::vector<HostileCase> names() {
  return in_notation({
      {"cycle_of_2", "a graph without cycles expected", "a = Add(x: f32[2], b); b = Relu(a)"},
      {"cycle_of_1", "a graph without cycles expected", "a = Add(x: f32[2], a)"},
      {"cycle_through_body", "a graph without cycles expected",
       "a = If<then_branch={-> t | t = Relu(b)}, else_branch={-> e | e = Neg(x)}>(c: bool[]); b = Relu(a); y = Neg(x: "
       "f32[2])"},
      {"unsorted", "", "z = Neg(y); y = Relu(x: f32[2]) -> z"},
      {"dangling_input", "'q' found", "y = Relu(q)"},
      {"dangling_input_of_body", "'q' found",
       "y = If<then_branch={-> t | t = Relu(q)}, else_branch={-> e | e = Neg(x)}>(c: bool[]); z = Neg(x: f32[2])"},
      {"output_made_twice", "outputs that nothing else makes expected, 'y' found", "y = Relu(x: f32[2]); y = Neg(x)"},
      {"output_made_twice_by_one_node", "outputs that nothing else makes expected, 'y' found",
       "y, y = TopK(x: f32[2], k: i64[1]{1})"},
      {"constant_made_twice", "outputs that nothing else makes expected, 'y' found",
       "y = Constant<value_int=1>(); y = Constant<value_int=2>()"},
      {"output_named_like_its_input", "a graph without cycles expected", "x = Relu(x: f32[2])"},
      {"output_named_like_input", "x: a name that nothing else has expected",
       "x = Relu(z: f32[2]); y = Neg(x: f32[2])"},
      {"output_named_like_initializer", "w: a name that nothing else has expected",
       "w = Relu(x: f32[2]); y = Add(x, w: f32[2]{1,2})"},
      {"graph_output_unmade", "an output that a node makes expected", "y = Relu(x: f32[2]) -> z"},
      {"graph_output_twice", "", "y = Relu(x: f32[2]) -> y, y"},
      {"graph_output_is_input", "", "y = Relu(x: f32[2]) -> x, y"},
      {"graph_output_is_initializer", "", "y = Add(x: f32[2], w: f32[2]{1,2}) -> w, y"},
      {"graph_output_of_other_type", "an output of type int64 expected, float32 found",
       "y = Relu(x: f32[2]) -> y: i64[2]"},
      {"graph_output_of_other_rank", "", "y = Relu(x: f32[2]) -> y: f32[2,2,2]"},
      {"graph_output_of_other_dim", "", "y = Relu(x: f32[2]) -> y: f32[3]"},
      {"body_output_unmade", "an output that a node makes expected",
       "y = If<then_branch={-> q | t = Relu(x)}, else_branch={-> e | e = Neg(x)}>(c: bool[]); z = Neg(x: f32[2])"},
      {"body_output_from_outside", "",
       "y = If<then_branch={-> x | t = Relu(x)}, else_branch={-> e | e = Neg(x)}>(c: bool[]); z = Neg(x: f32[2])"},
      {"body_shadows_outer_name", "",
       "y = If<then_branch={-> x | x = Relu(z)}, else_branch={-> e | e = Neg(z)}>(c: bool[]); z = Neg(x: f32[2])"},
      {"body_unused_capture", "",
       "y = If<then_branch={-> t | t = Relu(x); u = Neg(w)}, else_branch={-> e | e = Neg(x)}>(c: bool[]); z = Add(x: "
       "f32[2], w: f32[2])"},
      {"omitted_required_input", "input 1 (B) expected, none found", "y = Add(x: f32[2], _)"},
      {"all_inputs_omitted", "input 0 (X) expected, none found", "y = Relu(_); z = Neg(x: f32[2])"},
      {"no_inputs_at_all", "input 0 (X) expected, none found", "y = Relu(); z = Neg(x: f32[2])"},
      {"too_many_inputs", "at most 1 inputs expected, 2 found", "y = Relu(x: f32[2], x)"},
      {"too_many_outputs", "at most 1 outputs expected, 2 found", "y, z = Relu(x: f32[2])"},
      {"no_outputs_of_node", "", "y = Relu(x: f32[2]); _ = Neg(x) -> y"},
      {"output_omitted_in_the_middle", "", "_, i = TopK(x: f32[2], k: i64[1]{1})"},
      {"mixed_types", "float32 expected, int64 found", "y = Add(x: f32[2], z: i64[2])"},
      {"type_not_taken", "has type bool", "y = Add(x: bool[2], x)"},
      {"strings_where_numbers", "", "y = Add(x: string[2], x)"},
      {"unknown_attribute", "an attribute that the operator has expected, 'beta' found",
       "y = Relu<beta=1.0>(x: f32[2])"},
  });
}

std::vector<HostileCase> lists() {
  return in_graph({
      {"nothing", "", ""},
      {"no_nodes", "", kX + "output { name: 'x' }"},
      {"no_graph_outputs", "", kX + kRelu},
      {"empty_node", "op_type", kX + kY + kRelu + "node { }"},
      {"input_without_name", "graph input: a name expected", kX + kY + kRelu + "input { }"},
      {"output_without_name", "graph output: a name expected", kX + kRelu + "output { }"},
      {"initializer_without_name", "initializer: a name expected",
       kX + kY + kRelu + "initializer { data_type: 1 float_data: 1 }"},
      {"input_twice", "inputs of different names expected", kX + kX + kY + kRelu},
      {"initializer_twice", "w: a name that nothing else has expected",
       kX + kY + kRelu +
           "initializer { name: 'w' data_type: 1 float_data: 1 } initializer { name: 'w' data_type: 1 float_data: 2 }"},
      {"initializer_dense_and_sparse", "w: a name that nothing else has expected",
       kX + kY + kRelu +
           "initializer { name: 'w' data_type: 1 float_data: 1 } sparse_initializer { values { name: 'w' data_type: 1 "
           "dims: 1 "
           "float_data: 1 } indices { data_type: 7 dims: 1 int64_data: 0 } dims: 1 }"},
      {"initializer_is_default_of_input", "",
       kX + kY + kRelu + "initializer { name: 'x' data_type: 1 dims: 2 float_data: [1,2] }"},
      {"initializer_of_other_type_than_input", "an initializer of type float32 expected, int64 found",
       kX + kY + kRelu + "initializer { name: 'x' data_type: 7 dims: 2 int64_data: [1,2] }"},
      {"initializer_of_other_shape_than_input", "an initializer of shape [2] expected, [3] found",
       kX + kY + kRelu + "initializer { name: 'x' data_type: 1 dims: 3 float_data: [1,2,3] }"},
      {"value_info_twice", "", kX + kY + kRelu + "value_info { name: 'y' } value_info { name: 'y' }"},
      {"value_info_of_nothing", "",
       kX + kY + kRelu + "value_info { name: 'ghost' type { tensor_type { elem_type: 1 } } }"},
      {"value_info_without_name", "",
       kX + kY +
           "node { op_type: 'Dropout' input: 'x' output: '' output: 'm' } node { op_type: 'Relu' input: 'x' output: "
           "'y' } "
           "value_info { type { tensor_type { elem_type: 7 shape { dim { dim_value: 2 } } } } }"},
      {"value_info_of_other_type", "int64 expected, as its value_info says, float32 found",
       kX + "output { name: 'z' } node { op_type: 'Neg' input: 'y' output: 'z' } " + kRelu +
           "value_info { name: 'y' type { tensor_type { elem_type: 7 shape { dim { dim_value: 2 } } } } }"},
      {"value_info_of_other_rank", "",
       kX + "output { name: 'z' } node { op_type: 'Neg' input: 'y' output: 'z' } " + kRelu +
           "value_info { name: 'y' type { tensor_type { elem_type: 1 shape { dim { dim_value: 5 } dim { dim_value: 5 } "
           "} } } }"},
      {"value_info_with_negative_dim", "",
       kX + "output { name: 'z' } node { op_type: 'Neg' input: 'y' output: 'z' } " + kRelu +
           "value_info { name: 'y' type { tensor_type { elem_type: 1 shape { dim { dim_value: -3 } } } } }"},
      {"constant_with_two_values", "one attribute expected, 2 found",
       "node { op_type: 'Constant' output: 'y' attribute { name: 'value_int' type: 2 i: 1 } attribute { name: "
       "'value_float' type: 1 f: 1 } } " +
           kY},
      {"constant_without_value", "one attribute expected, 0 found", "node { op_type: 'Constant' output: 'y' } " + kY},
      {"constant_of_unknown_kind", "a value, value_int",
       "node { op_type: 'Constant' output: 'y' attribute { name: 'v' type: 2 i: 1 } } " + kY},
      {"constant_of_wrong_kind", "a value of type TENSOR expected, one of type INT found",
       "node { op_type: 'Constant' output: 'y' attribute { name: 'value' type: 2 i: 1 } } " + kY},
      {"constant_of_zero_not_written", "",
       "node { op_type: 'Constant' output: 'y' attribute { name: 'value_int' type: 2 } } " + kY},
      {"constant_of_reference", "outside of a function found",
       "node { op_type: 'Constant' output: 'y' attribute { name: 'value_int' type: 2 ref_attr_name: 'a' } } " + kY},
      {"constant_with_input", "no inputs expected, 1 found",
       kX + "node { op_type: 'Constant' input: 'x' output: 'y' attribute { name: 'value_int' type: 2 i: 1 } } " + kY},
      {"constant_with_two_outputs", "one output expected, 2 found",
       "node { op_type: 'Constant' output: 'y' output: 'z' attribute { name: 'value_int' type: 2 i: 1 } } " + kY},
      {"constant_short", "raw_data of 8 bytes",
       "node { op_type: 'Constant' output: 'y' attribute { name: 'value' type: 4 t { data_type: 1 dims: 2 raw_data: "
       "'abc' } } } " +
           kY},
      {"attribute_twice", "attributes of different names expected, 'axis' found twice",
       kX +
           "node { op_type: 'Softmax' input: 'x' output: 'y' attribute { name: 'axis' type: 2 i: 0 } attribute { name: "
           "'axis' type: 2 i: 0 } } " +
           kY},
      {"attribute_without_name", "attributes with names expected",
       kX + "node { op_type: 'Softmax' input: 'x' output: 'y' attribute { type: 2 i: 0 } } " + kY},
      {"attribute_of_type_99", "a type that ONNX has expected, 99 found",
       kX + "node { op_type: 'Softmax' input: 'x' output: 'y' attribute { name: 'axis' type: 99 i: 0 } } " + kY},
      {"attribute_refers_outside_function", "outside of a function found",
       kX +
           "node { op_type: 'Softmax' input: 'x' output: 'y' attribute { name: 'axis' type: 2 ref_attr_name: 'a' } } " +
           kY},
      {"attribute_type_differs_from_value", "a value of type INT expected, one of type FLOAT found",
       kX + "node { op_type: 'Softmax' input: 'x' output: 'y' attribute { name: 'axis' type: 2 f: 0.5 } } " + kY},
      {"attribute_of_two_values", "a value of type INT expected, one of type INTS found",
       kX + "node { op_type: 'Softmax' input: 'x' output: 'y' attribute { name: 'axis' type: 2 i: 0 ints: 0 } } " + kY},
      {"attribute_of_wrong_kind", "attribute 'axis' of type int expected, 0.5 found",
       kX + "node { op_type: 'Softmax' input: 'x' output: 'y' attribute { name: 'axis' type: 1 f: 0.5 } } " + kY},
      {"attributes_257", "at most 256 attributes",
       kX + "node { op_type: 'Softmax' input: 'x' output: 'y' " + repeated("attribute { } ", 257) + "} " + kY},
      {"training_info", "",
       kX + kY + kRelu + "} training_info { algorithm { node { op_type: 'Nothing' input: 'q' } } "},
  });
}

onnx_proto::ModelProto empty_model() {
  onnx_proto::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  return model;
}

std::string node(std::string_view op, std::initializer_list<std::string_view> inputs, std::string_view output) {
  std::string fields = bytes_field(4, op) + bytes_field(2, output);
  for (const std::string_view input : inputs) fields += bytes_field(1, input);
  return bytes_field(1, fields);
}

std::string name(std::string_view prefix, int number) { return std::string(prefix) + std::to_string(number); }

/// A model with the input x: float32[2] and these nodes.
std::string with_nodes(const std::string& nodes, std::string_view output) {
  std::string graph = nodes + bytes_field(12, bytes_field(1, output));
  return from_notation("first = Relu(x: f32[2])") + bytes_field(7, graph);
}

std::string chain(int length) {
  std::string nodes;
  for (int i = 0; i < length; ++i) nodes += node("Relu", {i == 0 ? "x" : name("v", i - 1)}, name("v", i));
  return with_nodes(nodes, name("v", length - 1));
}

/// v0 = op(x, x), v1 = op(v0, v0), …: 2^length paths from x.
std::string diamonds(std::string_view op, int length) {
  std::string nodes;
  for (int i = 0; i < length; ++i) {
    const std::string read = i == 0 ? "x" : name("v", i - 1);
    nodes += node(op, {read, read}, name("v", i));
  }
  return with_nodes(nodes, name("v", length - 1));
}

std::string of_many_inputs(std::string_view op, int count) {
  std::string fields =
      bytes_field(4, op) + bytes_field(2, "y") + repeated(bytes_field(1, "x"), static_cast<size_t>(count));
  if (op == "Concat") fields += bytes_field(5, bytes_field(1, "axis") + number_field(20, 2) + number_field(3, 0));
  return with_nodes(bytes_field(1, fields), "y");
}

std::vector<HostileCase> large() {
  return {
      {"chain_of_10000", [] { return chain(10'000); }, ""},
      {"chain_of_10000_backwards",
       [] {
         std::string nodes;
         for (int i = 10'000; i-- > 0;) nodes += node("Relu", {i == 0 ? "x" : name("v", i - 1)}, name("v", i));
         return with_nodes(nodes, "v9999");
       },
       ""},
      {"diamonds_of_1000", [] { return diamonds("Add", 1000); }, ""},
      {"nodes_of_nothing",
       [] { return serialized(empty_model()) + bytes_field(7, repeated(bytes_field(1, ""), 5'000'000)); },
       "at most 1000000 nodes expected"},
      {"nodes_a_million_and_one",
       [] {
         return with_nodes(
             repeated(bytes_field(
                          1, bytes_field(
                                 2, "a name that takes its part of the file, like that of a real node, and some more")),
                      1'000'001),
             "y");
       },
       "expected"},
      {"sum_of_100000", [] { return of_many_inputs("Sum", 100'000); }, ""},
      {"concat_of_100000", [] { return of_many_inputs("Concat", 100'000); }, ""},
      {"concat_of_1000001", [] { return of_many_inputs("Concat", 1'000'001); }, "lists of at most 1000000 elements"},
      {"outputs_100000",
       [] {
         std::string fields = bytes_field(4, "Split") + bytes_field(1, "x");
         for (int i = 0; i < 100'000; ++i) fields += bytes_field(2, name("y", i));
         return with_nodes(bytes_field(1, fields), "y0");
       },
       "Split"},
      {"graph_inputs_100000",
       [] {
         std::string graph;
         for (int i = 0; i < 100'000; ++i)
           graph += bytes_field(11, bytes_field(1, name("in", i)) + bytes_field(2, bytes_field(1, number_field(1, 1))));
         return from_notation("y = Relu(x: f32[2])") + bytes_field(7, graph);
       },
       ""},
  };
}

/// Sizes and contents that grow with every node while the model stays small.
std::vector<HostileCase> growing() {
  const auto grown = [](std::string text, const std::string& step, int times) {
    for (int i = 0; i < times; ++i) {
      std::string one = step;
      for (const auto& [mark, number] : {std::pair('#', i), std::pair('$', i + 1)})
        for (size_t at; (at = one.find(mark)) != std::string::npos;) one.replace(at, 1, std::to_string(number));
      text += "; " + one;
    }
    return text;
  };
  return in_notation({
      {"concat_doubles", "dims in [0, 2^40] expected",
       grown("v0 = Relu(x: f32[2])", "v$ = Concat<axis=0>(v#, v#)", 60)},
      {"matrix_product_of_huge_zeros", "", "y = MatMul(x: f32[1099511627776,0], w: f32[0,16])"},
      {"broadcast_of_2_40_by_2_40", "at most 2^46 bytes", "y = Add(x: f32[1,1099511627776], z: f32[1099511627776,1])"},
      {"symbol_squared_40_times", "", grown("v0 = Shape(x: f32[n])", "v$ = Mul(v#, v#)", 40) + "; y = Expand(x, v40)"},
      {"symbol_doubled_70_times", "",
       grown("v0 = Shape(x: f32[n])", "v$ = Add(v#, v#)", 70) + "; y = ConstantOfShape(v70)"},
      {"sum_of_symbols_to_the_1024th", "",
       grown("s = Shape(x: f32[a,b,c,d,e,f,g,h]); v0 = ReduceSum(s)", "v$ = Mul(v#, v#)", 10) +
           "; y = ConstantOfShape(v10)"},
      {"product_of_sums_of_symbols", "",
       grown("s = Shape(x: f32[a,b,c,d,e,f,g,h]); r = ReduceSum(s); v0 = Add(r, one: i64[1]{1})",
             "w$ = Add(v#, one); v$ = Mul(v#, w$)", 8) +
           "; y = ConstantOfShape(v8)"},
      {"division_of_symbols_40_times", "",
       grown("s = Shape(x: f32[n,m]); v0 = Gather(s, i: i64[]{0}); m = Gather(s, j: i64[]{1})",
             "w$ = Add(v#, m); v$ = Div(w$, m)", 40) +
           "; d = Unsqueeze(v40, axes: i64[1]{0}); y = ConstantOfShape(d)"},
      {"max_of_symbols_30_times", "",
       grown("s = Shape(x: f32[n,m]); v0 = Gather(s, i: i64[1]{0}); m = Gather(s, j: i64[1]{1})",
             "w$ = Mul(v#, m); v$ = Max(v#, w$)", 30) +
           "; y = ConstantOfShape(v30)"},
      {"slices_40_times", "", grown("v0 = Slice(x: f32[n], b: i64[1]{1}, e: i64[1]{-1})", "v$ = Slice(v#, b, e)", 40)},
      {"concat_of_symbols_20_times", "", grown("v0 = Shape(x: f32[n])", "v$ = Concat<axis=0>(v#, v#)", 20)},
      {"where_of_symbols_40_times", "",
       grown("v0 = Shape(x: f32[n]); t0 = Shape(z: f32[m])",
             "c$ = Less(v#, t#); v$ = Where(c$, v#, t#); t$ = Add(v$, t#)", 40) +
           "; y = ConstantOfShape(v40)"},
      {"reshape_by_its_own_size", "",
       grown("v0 = Relu(x: f32[n,m])", "s$ = Shape(v#); p$ = ReduceProd(s$); v$ = Reshape(v#, p$)", 10)},
  });
}

}  // namespace

std::vector<HostileCase> graph_cases() {
  std::vector<HostileCase> cases;
  for (const auto& part : {names(), lists(), large(), growing()}) cases.insert(cases.end(), part.begin(), part.end());
  return cases;
}

}  // namespace isomer::test
