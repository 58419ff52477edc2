#include "hostile/notation.h"

#include <cctype>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

namespace isomer::test {
namespace {

using onnx_proto::AttributeProto;
using onnx_proto::GraphProto;
using onnx_proto::ModelProto;
using onnx_proto::NodeProto;
using onnx_proto::TensorProto;
using onnx_proto::TypeProto;

struct ElementType {
  TensorProto::DataType code;
  size_t bytes;
  bool floating;
};

const std::map<std::string, ElementType, std::less<>> kTypes = {
    {"f32", {TensorProto::FLOAT, 4, true}},    {"f64", {TensorProto::DOUBLE, 8, true}},
    {"f16", {TensorProto::FLOAT16, 2, false}}, {"bf16", {TensorProto::BFLOAT16, 2, false}},
    {"i8", {TensorProto::INT8, 1, false}},     {"i16", {TensorProto::INT16, 2, false}},
    {"i32", {TensorProto::INT32, 4, false}},   {"i64", {TensorProto::INT64, 8, false}},
    {"u8", {TensorProto::UINT8, 1, false}},    {"u16", {TensorProto::UINT16, 2, false}},
    {"u32", {TensorProto::UINT32, 4, false}},  {"u64", {TensorProto::UINT64, 8, false}},
    {"bool", {TensorProto::BOOL, 1, false}},   {"string", {TensorProto::STRING, 0, false}},
};

/// 12, -3, 2^62, -2^63, 2^63-1.
int64_t integer_of(const std::string& text) {
  const size_t power = text.find('^');
  if (power == std::string::npos) return static_cast<int64_t>(std::stoll(text));
  const bool negative = text[0] == '-';
  const bool minus_one = text.ends_with("-1");
  const auto magnitude = uint64_t{1} << std::stoi(text.substr(power + 1));
  return static_cast<int64_t>((negative ? 0 - magnitude : magnitude) - (minus_one ? 1 : 0));
}

bool is_float(const std::string& text) { return text.find_first_of(".enf") != std::string::npos; }

class Parser {
 public:
  explicit Parser(std::string_view text) : rest_(text) {}

  ModelProto model() {
    ModelProto model;
    model.set_ir_version(8);
    auto& opset = *model.add_opset_import();
    opset.set_domain("");
    opset.set_version(take('@') ? integer_of(word()) : 17);
    statements(*model.mutable_graph());
    finish_outputs(*model.mutable_graph());
    expect_end();
    model.mutable_graph()->set_name("g");
    for (const std::string& domain : domains_) {
      auto& import = *model.add_opset_import();
      import.set_domain(domain);
      import.set_version(1);
    }
    return model;
  }

 private:
  void fail(std::string_view expected) const {
    throw std::runtime_error("notation: " + std::string(expected) + " expected before '" + std::string(rest_) + "'");
  }

  void skip_blanks() {
    while (!rest_.empty() && std::isspace(static_cast<unsigned char>(rest_[0]))) rest_.remove_prefix(1);
  }

  bool take(std::string_view token) {
    skip_blanks();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  bool take(char token) { return take(std::string_view(&token, 1)); }

  void expect(char token) {
    if (!take(token)) fail(std::string_view(&token, 1));
  }

  void expect_end() {
    skip_blanks();
    if (!rest_.empty()) fail("the end");
  }

  bool next_is(std::string_view any_of) {
    skip_blanks();
    return !rest_.empty() && any_of.find(rest_[0]) != std::string_view::npos;
  }

  /// A name, a number or a type: what no punctuation ends.
  std::string word() {
    skip_blanks();
    const size_t end = std::min(rest_.find_first_of(" \n,;:()[]{}<>=|\"*"), rest_.size());
    if (end == 0) fail("a word");
    const std::string result(rest_.substr(0, end));
    rest_.remove_prefix(end);
    return result;
  }

  std::string quoted() {
    expect('"');
    const size_t end = rest_.find('"');
    if (end == std::string_view::npos) fail("a quote");
    const std::string result(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return result;
  }

  template <class Item>
  void list(char open, char close, Item item) {
    expect(open);
    if (take(close)) return;
    do item();
    while (take(','));
    expect(close);
  }

  void statements(GraphProto& graph) {
    do {
      skip_blanks();
      if (rest_.empty() || next_is("}-")) return;
      statement(graph);
    } while (take(';'));
  }

  void statement(GraphProto& graph) {
    NodeProto& node = *graph.add_node();
    do {
      const std::string name = word();
      node.add_output(name == "_" ? "" : name);
    } while (take(','));
    expect('=');
    const std::string op = word();
    const size_t dot = op.rfind('.');
    node.set_op_type(op.substr(dot + 1));
    if (dot != std::string::npos) domains_.insert(*node.mutable_domain() = op.substr(0, dot));
    node.set_name("n" + std::to_string(graph.node_size()));
    if (next_is("<")) list('<', '>', [&] { attribute(*node.add_attribute()); });
    list('(', ')', [&] { node.add_input(operand(graph)); });
  }

  std::string operand(GraphProto& graph) {
    const std::string name = word();
    if (name == "_") return "";
    if (!take(':')) return name;
    TypeProto type = value_type();
    if (next_is("{")) {
      elements(type.tensor_type(), *graph.add_initializer());
      graph.mutable_initializer(graph.initializer_size() - 1)->set_name(name);
    } else {
      auto& input = *graph.add_input();
      input.set_name(name);
      *input.mutable_type() = std::move(type);
    }
    return name;
  }

  TypeProto value_type() {
    const std::string name = word();
    const auto known = kTypes.find(name);
    if (known == kTypes.end()) fail("an element type instead of " + name);
    TypeProto type;
    auto& tensor = *type.mutable_tensor_type();
    tensor.set_elem_type(known->second.code);
    if (!next_is("[")) return type;
    auto& shape = *tensor.mutable_shape();
    list('[', ']', [&] {
      auto& dim = *shape.add_dim();
      const std::string size = word();
      if (std::isdigit(static_cast<unsigned char>(size[0])) || size[0] == '-')
        dim.set_dim_value(integer_of(size));
      else if (size != "?")
        dim.set_dim_param(size);
    });
    return type;
  }

  const ElementType& element_type(int32_t code) const {
    for (const auto& [name, type] : kTypes)
      if (type.code == code) return type;
    throw std::runtime_error("notation: an element type without a name");
  }

  void elements(const TypeProto::Tensor& type, TensorProto& tensor) {
    tensor.set_data_type(type.elem_type());
    int64_t count = 1;
    for (const auto& dim : type.shape().dim()) {
      tensor.add_dims(dim.dim_value());
      count *= dim.dim_value();
    }
    if (type.elem_type() == TensorProto::STRING) return list('{', '}', [&] { tensor.add_string_data(quoted()); });
    const ElementType& element = element_type(type.elem_type());
    std::string data;
    list('{', '}', [&] {
      const int64_t repeats = take('*') ? count : 1;
      const std::string one = encoded(element, word());
      for (int64_t i = 0; i < repeats; ++i) data += one;
    });
    tensor.set_raw_data(data);
  }

  static std::string encoded(const ElementType& type, const std::string& text) {
    std::string bytes(type.bytes, '\0');
    if (type.floating && type.bytes == 4) {
      const float value = std::strtof(text.c_str(), nullptr);  // denormal ones too, which stof refuses
      std::memcpy(bytes.data(), &value, 4);
    } else if (type.floating) {
      const double value = std::strtod(text.c_str(), nullptr);
      std::memcpy(bytes.data(), &value, 8);
    } else {
      const int64_t value = integer_of(text);
      std::memcpy(bytes.data(), &value, type.bytes);
    }
    return bytes;
  }

  void attribute(AttributeProto& attribute) {
    attribute.set_name(word());
    expect('=');
    if (next_is("\"")) {
      attribute.set_type(AttributeProto::STRING);
      attribute.set_s(quoted());
    } else if (next_is("[")) {
      list_attribute(attribute);
    } else if (next_is("{")) {
      attribute.set_type(AttributeProto::GRAPH);
      body(*attribute.mutable_g());
    } else {
      word_attribute(attribute);
    }
  }

  void word_attribute(AttributeProto& attribute) {
    const std::string_view start = rest_;
    const std::string text = word();
    if (kTypes.contains(text)) {
      rest_ = start;
      attribute.set_type(AttributeProto::TENSOR);
      const TypeProto type = value_type();
      elements(type.tensor_type(), *attribute.mutable_t());
    } else if (is_float(text)) {
      attribute.set_type(AttributeProto::FLOAT);
      attribute.set_f(std::strtof(text.c_str(), nullptr));
    } else {
      attribute.set_type(AttributeProto::INT);
      attribute.set_i(integer_of(text));
    }
  }

  void list_attribute(AttributeProto& attribute) {
    attribute.set_type(AttributeProto::INTS);
    list('[', ']', [&] {
      if (next_is("\"")) {
        attribute.set_type(AttributeProto::STRINGS);
        attribute.add_strings(quoted());
        return;
      }
      const std::string text = word();
      if (is_float(text)) {
        attribute.set_type(AttributeProto::FLOATS);
        attribute.add_floats(std::strtof(text.c_str(), nullptr));
      } else {
        attribute.add_ints(integer_of(text));
      }
    });
  }

  /// {inputs -> outputs | statements}; each input and output may have a type.
  void body(GraphProto& graph) {
    graph.set_name("body");
    expect('{');
    while (!take("->")) {
      typed_value(*graph.add_input());
      take(',');
    }
    while (!take('|')) {
      typed_value(*graph.add_output());
      take(',');
    }
    statements(graph);
    expect('}');
  }

  void typed_value(onnx_proto::ValueInfoProto& value) {
    value.set_name(word());
    if (take(':')) *value.mutable_type() = value_type();
  }

  void finish_outputs(GraphProto& graph) {
    if (take("->")) {
      do typed_value(*graph.add_output());
      while (take(','));
      return;
    }
    if (graph.node_size() == 0) return;
    for (const std::string& name : graph.node(graph.node_size() - 1).output())
      if (!name.empty()) graph.add_output()->set_name(name);
  }

  std::string_view rest_;
  std::set<std::string> domains_;
};

}  // namespace

ModelProto model_of(std::string_view text) { return Parser(text).model(); }

}  // namespace isomer::test
