// Class D: bodies in bodies, functions that call functions, and loops without end.
#include "hostile/bytes.h"
#include "hostile/case.h"
#include "hostile/notation.h"

namespace isomer::test {
namespace {

using onnx_proto::FunctionProto;
using onnx_proto::GraphProto;
using onnx_proto::ModelProto;
using onnx_proto::NodeProto;

std::vector<HostileCase> conditions() {
  return in_notation({
      {"if", "",
       "y = If<then_branch={-> t | t = Relu(x)}, else_branch={-> e | e = Neg(x)}>(c: bool[]); z = Neg(x: f32[2])"},
      {"if_without_else", "attribute 'else_branch' expected, none found",
       "y = If<then_branch={-> t | t = Relu(x)}>(c: bool[]); z = Neg(x: f32[2])"},
      {"if_branch_is_number", "attribute 'else_branch' of type graph expected, 3 found",
       "y = If<then_branch={-> t | t = Relu(x)}, else_branch=3>(c: bool[]); z = Neg(x: f32[2])"},
      {"if_branches_of_different_counts", "(If)",
       "y = If<then_branch={-> t, x | t = Relu(x)}, else_branch={-> e | e = Neg(x)}>(c: bool[]); z = Neg(x: f32[2])"},
      {"if_more_outputs_than_branches", "(If)",
       "y, w = If<then_branch={-> t | t = Relu(x)}, else_branch={-> e | e = Neg(x)}>(c: bool[]); z = Neg(x: f32[2])"},
      {"if_branch_with_inputs", "(If)",
       "y = If<then_branch={i: f32[2] -> t | t = Relu(i)}, else_branch={-> e | e = Neg(x)}>(c: bool[]); z = Neg(x: "
       "f32[2])"},
      {"if_branches_of_different_types", "(If)",
       "y = If<then_branch={-> t | t = Relu(x)}, else_branch={-> e | e = Shape(x)}>(c: bool[]); z = Neg(x: f32[2])"},
      {"if_branches_of_different_ranks", "",
       "y = If<then_branch={-> t | t = Relu(x)}, else_branch={-> e | e = ReduceMax<keepdims=0>(x)}>(c: bool[]); z = "
       "Neg(x: f32[2])"},
      {"if_condition_float", "has type float32",
       "y = If<then_branch={-> t | t = Relu(x)}, else_branch={-> e | e = Neg(x)}>(c: f32[]); z = Neg(x: f32[2])"},
      {"if_condition_of_many", "(If)",
       "y = If<then_branch={-> t | t = Relu(x)}, else_branch={-> e | e = Neg(x)}>(c: bool[3]); z = Neg(x: f32[2])"},
      {"if_without_outputs", "",
       "_ = If<then_branch={-> | t = Relu(x)}, else_branch={-> | e = Neg(x)}>(c: bool[]); z = Neg(x: f32[2])"},
      {"if_branch_empty", "(If)", "y = If<then_branch={-> | }, else_branch={-> | }>(c: bool[]); z = Neg(x: f32[2])"},
      {"if_branch_invalid_inside", "(Add)",
       "y = If<then_branch={-> t | t = Add(x, w)}, else_branch={-> e | e = Neg(x)}>(c: bool[]); z = Add(x: f32[2], w: "
       "f32[3]{1,2,3})"},
      {"if_with_unknown_body_attribute", "'extra' found",
       "y = If<then_branch={-> t | t = Relu(x)}, else_branch={-> e | e = Neg(x)}, extra={-> u | u = Neg(x)}>(c: "
       "bool[]); z = Neg(x: f32[2])"},
  });
}

std::vector<HostileCase> loops() {
  const std::string count = "{i: i64[], c: bool[], v: f32[2] -> d, w | d = Identity(c); w = Relu(v)}";
  return in_notation({
      {"loop_2_62_trips", "", "y = Loop<body=" + count + ">(m: i64[]{2^62}, k: bool[]{1}, x: f32[2])"},
      {"loop_without_limits", "", "y = Loop<body=" + count + ">(_, _, x: f32[2])"},
      {"loop_negative_trips", "", "y = Loop<body=" + count + ">(m: i64[]{-2^63}, k: bool[]{1}, x: f32[2])"},
      {"loop_0_trips", "", "y = Loop<body=" + count + ">(m: i64[]{0}, k: bool[]{1}, x: f32[2])"},
      {"loop_scans_2_40_trips", "",
       "y, s = Loop<body={i: i64[], c: bool[], v: f32[2] -> d, w, u | d = Identity(c); w = Relu(v); u = Neg(v)}>(m: "
       "i64[]{1099511627776}, k: bool[]{1}, x: f32[2])"},
      {"loop_scans_2_62_trips", "output 1 with dims in [0, 2^40] expected",
       "y, s = Loop<body={i: i64[], c: bool[], v: f32[2] -> d, w, u | d = Identity(c); w = Relu(v); u = Neg(v)}>(m: "
       "i64[]{2^62}, k: bool[]{1}, x: f32[2])"},
      {"loop_grows_its_state", "",
       "y = Loop<body={i: i64[], c: bool[], v: f32[?] -> d, w | d = Identity(c); w = Concat<axis=0>(v, v)}>(m: "
       "i64[]{100}, k: bool[]{1}, x: f32[2])"},
      {"loop_changes_rank_of_its_state", "",
       "y = Loop<body={i: i64[], c: bool[], v -> d, w | d = Identity(c); w = Unsqueeze(v, a: i64[1]{0})}>(m: "
       "i64[]{100}, k: bool[]{1}, x: f32[2]); "
       "z = Identity(a: i64[1]{0}) -> y"},
      {"loop_trips_float", "has type float32", "y = Loop<body=" + count + ">(m: f32[], k: bool[]{1}, x: f32[2])"},
      {"loop_condition_int", "has type int64", "y = Loop<body=" + count + ">(m: i64[]{3}, k: i64[], x: f32[2])"},
      {"loop_trips_of_many", "(Loop)", "y = Loop<body=" + count + ">(m: i64[3]{1,2,3}, k: bool[]{1}, x: f32[2])"},
      {"loop_without_body", "attribute 'body' expected, none found", "y = Loop(m: i64[]{3}, k: bool[]{1}, x: f32[2])"},
      {"loop_body_without_inputs", "(Loop)",
       "y = Loop<body={-> d | d = Constant<value_int=1>()}>(m: i64[]{3}, k: bool[]{1}, x: f32[2])"},
      {"loop_body_with_too_few_inputs", "(Loop)",
       "y = Loop<body={i: i64[], c: bool[] -> d, w | d = Identity(c); w = Relu(x)}>(m: i64[]{3}, k: bool[]{1}, x: "
       "f32[2])"},
      {"loop_body_with_too_few_outputs", "(Loop)",
       "y = Loop<body={i: i64[], c: bool[], v: f32[2] -> d | d = Identity(c)}>(m: i64[]{3}, k: bool[]{1}, x: f32[2])"},
      {"loop_body_without_outputs", "(Loop)",
       "y = Loop<body={i: i64[], c: bool[], v: f32[2] -> | d = Identity(c)}>(m: i64[]{3}, k: bool[]{1}, x: f32[2])"},
      {"loop_body_condition_float", "(Loop)",
       "y = Loop<body={i: i64[], c: bool[], v: f32[2] -> w, w2 | w = Relu(v); w2 = Neg(v)}>(m: i64[]{3}, k: bool[]{1}, "
       "x: f32[2])"},
      {"loop_state_changes_type", "(Loop)",
       "y = Loop<body={i: i64[], c: bool[], v: f32[2] -> d, w | d = Identity(c); w = Shape(v)}>(m: i64[]{3}, k: "
       "bool[]{1}, x: f32[2])"},
      {"loop_too_few_states", "(Loop)", "y = Loop<body=" + count + ">(m: i64[]{3}, k: bool[]{1}); z = Neg(x: f32[2])"},
      {"loop_too_many_outputs", "(Loop)", "y, z, w = Loop<body=" + count + ">(m: i64[]{3}, k: bool[]{1}, x: f32[2])"},
      {"loop_state_omitted", "(Loop)",
       "y = Loop<body=" + count + ">(m: i64[]{3}, k: bool[]{1}, _); z = Neg(x: f32[2])"},
  });
}

std::vector<HostileCase> scans() {
  const std::string sum = "body={s: f32[?], e: f32[?] -> t, o | t = Add(s, e); o = Relu(t)}";
  const auto scan = [&](const std::string& attributes) {
    return "y, z = Scan<" + sum + attributes + ">(s0: f32[2], x: f32[5,2])";
  };
  return in_notation({
      {"scan", "", scan(", num_scan_inputs=1")},
      {"scan_inputs_missing", "attribute 'num_scan_inputs' expected, none found", scan("")},
      {"scan_inputs_0", "num_scan_inputs", scan(", num_scan_inputs=0")},
      {"scan_inputs_negative", "num_scan_inputs", scan(", num_scan_inputs=-1")},
      {"scan_inputs_3", "num_scan_inputs", scan(", num_scan_inputs=3")},
      {"scan_inputs_2_62", "num_scan_inputs", scan(", num_scan_inputs=2^62")},
      {"scan_axis_99", "axis", scan(", num_scan_inputs=1, scan_input_axes=[99]")},
      {"scan_axis_min", "axis", scan(", num_scan_inputs=1, scan_input_axes=[-2^63]")},
      {"scan_axes_too_many", "scan_input_axes", scan(", num_scan_inputs=1, scan_input_axes=[0,0,0]")},
      {"scan_output_axis_99", "axis", scan(", num_scan_inputs=1, scan_output_axes=[99]")},
      {"scan_direction_7", "direction", scan(", num_scan_inputs=1, scan_input_directions=[7]")},
      {"scan_directions_too_many", "scan_input_directions", scan(", num_scan_inputs=1, scan_input_directions=[0,0,0]")},
      {"scan_lengths_differ", "(Scan)",
       "y, z = Scan<body={s: f32[2], e: f32[2], f: f32[2] -> t, o | t = Add(s, e); o = Relu(f)}, "
       "num_scan_inputs=2>(s0: f32[2], x: f32[5,2], u: f32[4,2])"},
      {"scan_of_scalar", "(Scan)", "y, z = Scan<" + sum + ", num_scan_inputs=1>(s0: f32[2], x: f32[])"},
      {"scan_of_2_40", "", "y, z = Scan<" + sum + ", num_scan_inputs=1>(s0: f32[2], x: f32[1099511627776,2])"},
      {"scan_of_2_40_nothings", "", "y, z = Scan<" + sum + ", num_scan_inputs=1>(s0: f32[0], x: f32[1099511627776,0])"},
      {"scan_length_0", "", "y, z = Scan<" + sum + ", num_scan_inputs=1>(s0: f32[2], x: f32[0,2])"},
      {"scan_body_with_wrong_arity", "(Scan)",
       "y, z = Scan<body={s: f32[2] -> t | t = Relu(s)}, num_scan_inputs=1>(s0: f32[2], x: f32[5,2])"},
      {"scan_opset_8", "", "@8 y, z = Scan<" + sum + ", num_scan_inputs=1>(_, s0: f32[1,2], x: f32[1,5,2])"},
  });
}

/// An If whose branches hold an If whose branches …, `depth` bodies deep.
std::string nested_ifs(int depth) {
  GraphProto body;
  NodeProto& leaf = *body.add_node();
  leaf.set_op_type("Relu");
  leaf.add_input("x");
  leaf.add_output("b0");
  body.add_output()->set_name("b0");
  for (int i = 1; i <= depth; ++i) {
    GraphProto outer;
    NodeProto& node = *outer.add_node();
    node.set_op_type("If");
    node.add_input("c");
    node.add_output("b" + std::to_string(i));
    for (const char* name : {"then_branch", "else_branch"}) {
      auto& attribute = *node.add_attribute();
      attribute.set_name(name);
      attribute.set_type(5);
      if (name[0] == 't') {
        attribute.mutable_g()->Swap(&body);
      } else {
        NodeProto& other = *attribute.mutable_g()->add_node();
        other.set_op_type("Neg");
        other.add_input("x");
        other.add_output("e" + std::to_string(i));
        attribute.mutable_g()->add_output()->set_name("e" + std::to_string(i));
      }
    }
    outer.add_output()->set_name(node.output(0));
    body.Swap(&outer);
  }
  return from_notation("first = Relu(x: f32[2]); second = Not(c: bool[])") + bytes_field(7, body.SerializeAsString());
}

/// Each level doubles: both branches hold the same If.
std::string doubling_ifs(int depth) {
  std::string body = "{-> r0 | r0 = Relu(x)}";
  for (int i = 1; i <= depth; ++i) {
    const std::string name = "r" + std::to_string(i);
    body = "{-> " + name + " | " + name + " = If<then_branch=" + body + ", else_branch=" + body + ">(c)}";
  }
  return from_notation("y = If<then_branch=" + body + ", else_branch=" + body + ">(c: bool[]); z = Neg(x: f32[2])");
}

/// Loops in loops: what each level infers more than once is inferred 2^depth times at the bottom.
std::string nested_loops(int depth) {
  std::string body = "{i: i64[], c: bool[], v: f32[?] -> d, w | d = Identity(c); w = Relu(v)}";
  for (int i = 1; i < depth; ++i)
    body = "{i: i64[], c: bool[], v: f32[?] -> d, w | d = Identity(c); w = Loop<body=" + body + ">(m, c, v)}";
  return from_notation("y = Loop<body=" + body + ">(m: i64[]{1048576}, k: bool[]{1}, x: f32[2])");
}

/// A node with bodies each of which reads a value of its own.
std::string reading_apart(int bodies) {
  std::string values, attribute = bytes_field(1, "bodies") + number_field(20, 10);
  for (int k = 0; k < bodies; ++k) {
    const std::string value = "v" + std::to_string(k), result = "r" + std::to_string(k);
    values += bytes_field(1, bytes_field(1, "x") + bytes_field(2, value) + bytes_field(4, "Neg"));
    attribute +=
        bytes_field(11, bytes_field(1, bytes_field(1, value) + bytes_field(2, result) + bytes_field(4, "Neg")) +
                            bytes_field(12, bytes_field(1, result)));
  }
  const std::string node = bytes_field(4, "Choose") + bytes_field(7, "f") + bytes_field(1, "x") + bytes_field(2, "y") +
                           bytes_field(5, attribute);
  return from_notation("first = f.Own(x: f32[2])") +
         bytes_field(7, values + bytes_field(1, node) + bytes_field(12, bytes_field(1, "y")));
}

std::vector<HostileCase> depths() {
  return {
      {"ifs_32_deep", [] { return nested_ifs(32); }, ""},
      {"ifs_33_deep", [] { return nested_ifs(33); }, "bodies nested at most 32 deep"},
      {"ifs_34_deep", [] { return nested_ifs(34); }, "bodies nested at most 32 deep"},
      {"ifs_1000_deep", [] { return nested_ifs(1000); }, "nested at most"},
      {"ifs_doubling_10_times", [] { return doubling_ifs(10); }, ""},
      {"loops_3_deep_2_60_trips", [] { return nested_loops(3); }, ""},
      {"loops_30_deep", [] { return nested_loops(30); }, ""},
      {"bodies_100_that_read_apart", [] { return reading_apart(100); }, ""},
      {"bodies_1000_that_read_apart", [] { return reading_apart(1000); },
       "bodies that read about the same values of the graph around expected"},
  };
}

/// A function of the domain "f" with one node.
FunctionProto function(const std::string& name, const NodeProto& node) {
  FunctionProto function;
  function.set_domain("f");
  function.set_name(name);
  function.add_input("a");
  function.add_output("b");
  *function.add_node() = node;
  auto& standard = *function.add_opset_import();
  standard.set_domain("");
  standard.set_version(17);
  function.add_opset_import()->set_domain("f");
  function.mutable_opset_import(1)->set_version(1);
  return function;
}

NodeProto node_of(const std::string& text) { return model_of(text).graph().node(0); }

/// y = f.F0(x) with these functions.
ModelProto calling(const std::vector<FunctionProto>& functions, const std::string& call = "y = f.F0(x: f32[2])") {
  ModelProto model = model_of(call);
  for (const FunctionProto& function : functions) *model.add_functions() = function;
  return model;
}

/// F0 calls F1 `times` times, F1 calls F2, …, the last one is a Relu.
ModelProto call_chain(int depth, int times) {
  std::vector<FunctionProto> functions;
  for (int i = 0; i < depth; ++i) {
    const bool last = i + 1 == depth;
    const std::string callee = last ? "Relu" : "f.F" + std::to_string(i + 1);
    FunctionProto calls = function("F" + std::to_string(i), node_of("b = " + callee + "(a)"));
    for (int k = 1; k < times && !last; ++k) {
      NodeProto& again = *calls.add_node();
      again = node_of("b = " + callee + "(a)");
      again.set_output(0, "c" + std::to_string(k));
    }
    functions.push_back(calls);
  }
  return calling(functions);
}

/// Of the domain "f", with `times` nodes that refer to the call's attribute `value`: ours or calls of F1.
FunctionProto referring(const std::string& name, const std::string& op, int times) {
  FunctionProto result = function(name, node_of("b = Relu(a)"));
  for (int k = 0; k < times; ++k) {
    NodeProto& node = *result.add_node();
    node = node_of("c = " + op + "(a)");
    node.set_output(0, "c" + std::to_string(k));
    auto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_ref_attr_name("value");
  }
  return result;
}

/// y = f.F0(x) with 1000 numbers, or a body of 1000 nodes.
NodeProto call_with_ints(int count) {
  NodeProto call = node_of("y = f.F0<value=[1]>(x)");
  for (int k = 1; k < count; ++k) call.mutable_attribute(0)->add_ints(1);
  return call;
}
NodeProto call_with_body(int nodes) {
  NodeProto call = node_of("y = f.F0<value={-> v0 | v0 = Relu(x)}>(x)");
  auto& body = *call.mutable_attribute(0)->mutable_g();
  for (int k = 1; k < nodes; ++k) {
    NodeProto& node = *body.add_node();
    node = body.node(0);
    node.set_output(0, "v" + std::to_string(k));
  }
  return call;
}

std::string calling_with(const NodeProto& call, const std::vector<FunctionProto>& functions) {
  ModelProto model = calling(functions);
  *model.mutable_graph()->mutable_node(0) = call;
  return serialized(model);
}

/// A call of a function of so many inputs that it gives on, and calls of it that give one.
std::string with_formals(int formals, int calls) {
  FunctionProto many = function("F0", node_of("b = Relu(a)"));
  std::string call = bytes_field(4, "F0") + bytes_field(7, "f") + bytes_field(1, "x") + bytes_field(2, "y");
  for (int k = 0; k < formals; ++k) {
    many.add_input("i" + std::to_string(k));
    many.add_output("i" + std::to_string(k));
    call += bytes_field(1, "x") + bytes_field(2, "w" + std::to_string(k));
  }
  std::string graph = bytes_field(1, call);
  for (int i = 0; i < calls; ++i)
    graph += bytes_field(
        1, bytes_field(1, "x") + bytes_field(2, "v" + std::to_string(i)) + bytes_field(4, "F0") + bytes_field(7, "f"));
  return serialized(calling({many}, "first = Neg(x: f32[2])")) + bytes_field(7, graph);
}

HostileCase model_case(std::string name, std::string sentence, const ModelProto& model) {
  return {std::move(name), [bytes = serialized(model)] { return bytes; }, std::move(sentence)};
}

FunctionProto with_two_outputs_of(const std::string& name) {
  FunctionProto result = function("F0", node_of("b = Relu(a)"));
  result.add_output(name);
  return result;
}

FunctionProto with_reference(const std::string& attribute) {
  NodeProto node = node_of("b = LeakyRelu<alpha=0.5>(a)");
  node.mutable_attribute(0)->clear_f();
  node.mutable_attribute(0)->set_ref_attr_name("slope");
  FunctionProto result = function("F0", node);
  if (!attribute.empty()) result.add_attribute(attribute);
  return result;
}

FunctionProto importing(int64_t version) {
  FunctionProto result = function("F0", node_of("b = Relu(a)"));
  result.mutable_opset_import(0)->set_version(version);
  return result;
}

FunctionProto named(FunctionProto function, const std::string& domain, const std::string& name) {
  function.set_domain(domain);
  function.set_name(name);
  return function;
}

std::vector<HostileCase> functions() {
  const FunctionProto relu = function("F0", node_of("b = Relu(a)"));
  const std::string call_in_body = "b = If<then_branch={-> t | t = f.F0(a)}, else_branch={-> e | e = Neg(a)}>(a)";
  FunctionProto two_calls = function("F0", node_of("b = f.F0(a)"));
  FunctionProto cyclic = function("F0", node_of("b = Add(a, c)"));
  *cyclic.add_node() = node_of("c = Relu(b)");
  FunctionProto capturing = function("F0", node_of("b = Add(a, x)"));
  FunctionProto nameless = relu;
  nameless.clear_name();
  FunctionProto doubled_input = relu;
  doubled_input.add_input("a");
  FunctionProto bodiless = relu;
  bodiless.clear_node();
  FunctionProto passing = bodiless;
  passing.set_output(0, "a");
  return {
      model_case("function", "", calling({relu})),
      model_case("function_unused", "", calling({relu}, "y = Relu(x: f32[2])")),
      model_case("function_calls_itself", "a function that does not call itself expected", calling({two_calls})),
      model_case("functions_call_each_other", "a function that does not call itself expected",
                 calling({function("F0", node_of("b = f.F1(a)")), function("F1", node_of("b = f.F0(a)"))})),
      model_case("function_calls_itself_unused", "", calling({two_calls}, "y = Relu(x: f32[2])")),
      model_case("function_calls_itself_in_body", "a function that does not call itself expected",
                 calling({function("F0", node_of(call_in_body))})),
      model_case("function_twice", "one definition expected, two found", calling({relu, relu})),
      model_case("function_without_name", "functions with names expected", calling({nameless})),
      model_case("function_input_twice", "function f.F0: inputs of different names expected", calling({doubled_input})),
      model_case("function_without_nodes", "y: an output that a node makes expected", calling({bodiless})),
      model_case("function_passes_through", "", calling({passing})),
      model_case("function_with_cycle", "a graph without cycles expected", calling({cyclic})),
      model_case("function_reads_callers_value", "'", calling({capturing})),
      model_case("function_output_unmade", "", calling({with_two_outputs_of("nothing")})),
      model_case("function_output_twice", "", calling({with_two_outputs_of("b")})),
      model_case("function_with_too_many_inputs", "at most 1 inputs and 1 outputs expected, 2 and 1 found",
                 calling({relu}, "y = f.F0(x: f32[2], x)")),
      model_case("function_with_too_many_outputs", "at most 1 inputs and 1 outputs expected, 1 and 2 found",
                 calling({relu}, "y, z = f.F0(x: f32[2])")),
      model_case("function_with_omitted_input", "input 0 (X) expected, none found",
                 calling({relu}, "y = f.F0(_); z = Neg(x: f32[2])")),
      model_case("function_without_attribute", "", calling({with_reference("slope")})),
      model_case("function_attribute_of_wrong_type", "attribute 'alpha' of type float expected, 'steep' found",
                 calling({with_reference("slope")}, "y = f.F0<slope=\"steep\">(x: f32[2])")),
      model_case("function_refers_to_undeclared_attribute", "", calling({with_reference("")})),
      model_case("function_opset_9999", "opset of ai.onnx: 1 to", calling({importing(9999)})),
      model_case("function_opset_0", "opset of ai.onnx: 1 to", calling({importing(0)})),
      // Which of the two a call means is each runtime's to say.
      model_case("function_named_like_operator", "function .Neg: a name that no operator may have expected",
                 calling({named(relu, "", "Neg")}, "y = Neg(x: f32[2])")),
      model_case("function_named_like_its_operator", "function .Relu: a name that no operator may have expected",
                 calling({named(relu, "", "Relu")}, "y = Relu(x: f32[2])")),
      model_case("function_named_like_operator_by_other_name", "function ai.onnx.Neg: a name that no operator may have",
                 calling({named(relu, "ai.onnx", "Neg")}, "y = Neg(x: f32[2])")),
      model_case("function_named_like_operator_in_function", "function .Neg: a name that no operator may have expected",
                 calling({named(relu, "", "Neg"), function("F0", node_of("b = Neg(a)"))})),
      model_case("function_named_like_operator_unused", "", calling({named(relu, "", "Neg")}, "y = Relu(x: f32[2])")),
      model_case("function_named_like_contrib_operator",
                 "function com.microsoft.Gelu: a name that no operator may have",
                 calling({named(relu, "com.microsoft", "Gelu")}, "y = com.microsoft.Gelu(x: f32[2])")),
      model_case("function_of_contrib_domain", "",
                 calling({named(relu, "com.microsoft", "OfOurOwn")}, "y = com.microsoft.OfOurOwn(x: f32[2])")),
      model_case("calls_32_deep", "", call_chain(32, 1)),
      model_case("calls_34_deep", "calls nested at most 32 deep", call_chain(34, 1)),
      {"calls_1000_deep", [] { return serialized(call_chain(1000, 1)); }, "calls nested at most 32 deep"},
      model_case("calls_double_22_times", "nodes after expansion expected", call_chain(23, 2)),
      model_case("calls_double_31_times", "nodes after expansion expected", call_chain(32, 2)),
      {"calls_times_1000", [] { return serialized(call_chain(12, 1000)); }, "nodes after expansion expected"},
      // What a call gives is copied wherever the function refers to it.
      {"call_gives_numbers_to_1000_nodes",
       [] { return calling_with(call_with_ints(100'000), {referring("F0", "f.Own", 1000)}); },
       "bytes after expansion expected"},
      {"call_gives_body_to_1100_nodes",
       [] { return calling_with(call_with_body(1000), {referring("F0", "f.Own", 1100)}); },
       "nodes after expansion expected"},
      {"call_gives_body_on",
       [] { return calling_with(call_with_body(1000), {referring("F0", "f.F1", 40), referring("F1", "f.Own", 40)}); },
       "nodes after expansion expected"},
      {"call_gives_numbers_to_few_nodes",
       [] { return calling_with(call_with_ints(1000), {referring("F0", "f.F1", 4), referring("F1", "f.Own", 4)}); },
       ""},
      {"function_of_30000_formals", [] { return with_formals(30'000, 1); }, ""},
      {"calls_of_function_of_30000_formals", [] { return with_formals(30'000, 30'000); },
       "bytes after expansion expected"},
      {"calls_50000_times",
       [] {
         std::string graph;
         for (int i = 0; i < 50'000; ++i)
           graph += bytes_field(1, bytes_field(1, "x") + bytes_field(2, "v" + std::to_string(i)) +
                                       bytes_field(4, "F0") + bytes_field(7, "f"));
         return serialized(calling({function("F0", node_of("b = Relu(a)"))})) + bytes_field(7, graph);
       },
       ""},
  };
}

}  // namespace

std::vector<HostileCase> control_cases() {
  std::vector<HostileCase> cases;
  for (const auto& part : {conditions(), loops(), scans(), depths(), functions()})
    cases.insert(cases.end(), part.begin(), part.end());
  return cases;
}

}  // namespace isomer::test
