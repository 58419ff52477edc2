// Class I: names that are more than names to a terminal, a formatter, a shell, a compiler or a file system.
#include "hostile/bytes.h"
#include "hostile/case.h"
#include "hostile/notation.h"

namespace isomer::test {
namespace {

using namespace std::string_literals;

struct HostileText {
  std::string name;
  std::string text;
};

std::vector<HostileText> texts() {
  return {
      {"line_break", "x\nisomer: all is well\r\n"},
      {"escape_sequence", "\x1b[2J\x1b[31mred\x1b]0;title\x07"},
      {"c1_control",
       "\xc2\x9b"
       "31mred\xc2\x85"},
      {"bell_and_backspace", "abc\b\b\b\a\v\f\x7f"},
      {"zero_byte", "a\0b"s},
      {"format_n", "%n%n%s%s%100000d%x"},
      {"format_braces", "{}{0}{:>1000000}{{}}"},
      {"c_code", "\"; system(\"touch pwned\"); //"},
      {"cuda_code", "x); asm(\"trap;\"); __global__ void f("},
      {"shell", "$(touch pwned)`touch pwned`;|&><*?"},
      {"path", "../../../../tmp/pwned"},
      {"absolute_path", "/etc/passwd"},
      {"json", "\"},{\"a\":[1,2,"},
      {"xml", "</label><script>alert(1)</script>"},
      {"dot_language", "\"]; evil [label=\"\\l\\n"},
      {"broken_utf8", "\xff\xfe\xc3(\xe2\x82"},
      {"right_to_left",
       "abc\xe2\x80\xae"
       "cba"},
      {"emoji", "\xf0\x9f\x98\x80 \xe6\xa8\xa1\xe5\x9e\x8b"},
      {"blanks", "   \t  "},
      {"our_prefix", "n1 (Relu): : expected, found; isomer: "},
      {"4000_bytes", std::string(4000, 'a')},
  };
}

/// Everything that may be named is named so; `with_error` leaves the node's input unmade, so that the sentence shows
/// it.
std::string named(const std::string& text, bool with_error) {
  onnx_proto::ModelProto model = model_of("y = com.example.Scale(x: f32[n])");
  model.set_producer_name(text);
  model.set_producer_version(text);
  model.set_domain(text);
  model.set_doc_string(text);
  auto& entry = *model.add_metadata_props();
  entry.set_key(text);
  entry.set_value(text);
  auto& graph = *model.mutable_graph();
  graph.set_name(text);
  graph.set_doc_string(text);
  graph.mutable_input(0)->set_name(text);
  graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param(text);
  graph.mutable_output(0)->set_name(text + "y");
  auto& node = *graph.mutable_node(0);
  node.set_name(text);
  node.set_op_type(text);
  node.set_domain(text);
  model.mutable_opset_import(1)->set_domain(text);
  node.set_doc_string(text);
  node.set_input(0, with_error ? text + "?" : text);
  node.set_output(0, text + "y");
  auto& attribute = *node.add_attribute();
  attribute.set_name(text);
  attribute.set_type(3);
  attribute.set_s(text);
  return serialized(model);
}

std::string in_chain_of_operators(const std::string& text) {
  onnx_proto::ModelProto model =
      model_of("a = Relu(x: f32[n]); s = Shape(a); r = Reshape(a, s); b = Neg(r); y = Relu(b)");
  auto& graph = *model.mutable_graph();
  graph.mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param(text);
  for (auto& node : *graph.mutable_node()) {
    node.set_name(text);
    for (auto& input : *node.mutable_input()) input = text + input;
    for (auto& output : *node.mutable_output()) output = text + output;
  }
  graph.mutable_input(0)->set_name(text + "x");
  graph.mutable_output(0)->set_name(text + "y");
  return serialized(model);
}

/// The fields of a graph's Relu node with its field `number` set to `text`.
std::string node_with(uint32_t number, const std::string& text) {
  return from_notation("y = Relu(x: f32[2])") +
         bytes_field(7, bytes_field(1, bytes_field(4, "Relu") + bytes_field(1, "x") + bytes_field(2, "z") +
                                           bytes_field(number, text)));
}

std::vector<HostileCase> long_names() {
  const auto megabytes = [] { return std::string(10'000'000, '%'); };
  const std::string too_long = "of at most 4096 bytes expected";
  return {
      bytes_case("name_of_4097_bytes", too_long, node_with(3, std::string(4097, 'a'))),
      {"node_name_of_10_mb", [=] { return node_with(3, megabytes()); },
       "NodeProto.name of at most 4096 bytes expected, 10000000 found"},
      {"operator_of_10_mb", [=] { return node_with(4, megabytes()); }, too_long},
      {"input_of_10_mb", [=] { return node_with(1, megabytes()); }, too_long},
      {"domain_of_10_mb", [=] { return node_with(7, megabytes()); }, too_long},
      {"graph_name_of_10_mb",
       [=] { return from_notation("y = Relu(x: f32[2])") + bytes_field(7, bytes_field(2, megabytes())); }, too_long},
      {"dim_name_of_10_mb",
       [=] {
         const std::string shape = bytes_field(1, bytes_field(2, megabytes()));
         return from_notation("y = Relu(x: f32[2])") +
                bytes_field(
                    7, bytes_field(11, bytes_field(1, "z") +
                                           bytes_field(2, bytes_field(1, number_field(1, 1) + bytes_field(2, shape)))));
       },
       too_long},
      {"producer_of_10_mb", [=] { return from_notation("y = Relu(x: f32[2])") + bytes_field(2, megabytes()); },
       too_long},
      {"node_doc_of_10_mb", [=] { return node_with(6, megabytes()); }, ""},
      {"metadata_of_10_mb",
       [=] {
         return from_notation("y = Relu(x: f32[2])") +
                bytes_field(14, bytes_field(1, megabytes()) + bytes_field(2, megabytes()));
       },
       ""},
      {"string_attribute_of_10_mb",
       [=] { return node_with(5, bytes_field(1, "mode") + number_field(20, 3) + bytes_field(4, megabytes())); },
       "'mode' found"},
  };
}

}  // namespace

std::vector<HostileCase> text_cases() {
  std::vector<HostileCase> cases;
  for (const auto& [name, text] : texts()) {
    cases.push_back(bytes_case("accepted_" + name, "", named(text, false)));
    cases.push_back(bytes_case("in_error_" + name, "inputs that a node, an initializer or a graph input gives expected",
                               named(text, true)));
    cases.push_back(bytes_case("in_graph_" + name, "", in_chain_of_operators(text)));
  }
  for (HostileCase& hostile : long_names()) cases.push_back(std::move(hostile));
  return cases;
}

}  // namespace isomer::test
