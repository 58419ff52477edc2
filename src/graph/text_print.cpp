#include <fmt/ranges.h>

#include <cmath>
#include <set>

#include "graph/algorithms.h"
#include "graph/op_def.h"
#include "graph/te/syntax.h"
#include "graph/text.h"

namespace isomer {
namespace {

using te::quoted;

bool is_bare(std::string_view name) {
  if (name.empty() || name == "_") return false;
  return name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./%") ==
         std::string_view::npos;
}

std::string word(std::string_view name) { return is_bare(name) ? std::string(name) : quoted(name); }

std::string hex(std::span<const std::byte> bytes) {
  std::string text = "\"";
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  return text + '"';
}
std::string hex(std::string_view bytes) { return hex(std::as_bytes(std::span(bytes))); }

template <class Float>
std::string float_text(Float value) {
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

std::string element(const Tensor& tensor, int64_t i) {
  if (tensor.dtype() == DataType::kString) return quoted(tensor.strings()[i]);
  if (tensor.dtype() == DataType::kBool) return tensor.integer(i) ? "true" : "false";
  if (tensor.dtype() == DataType::kUInt64) return fmt::format("{}", static_cast<uint64_t>(tensor.integer(i)));
  if (tensor.dtype() == DataType::kFloat32) return fmt::format("{}", static_cast<float>(tensor.real(i)));
  if (is_float(tensor.dtype())) return fmt::format("{}", tensor.real(i));
  return fmt::format("{}", tensor.integer(i));
}

/// Elements as numbers would lose which NaN it is.
bool has_nan(const Tensor& tensor) {
  for (int64_t i = 0; is_float(tensor.dtype()) && i < tensor.count(); ++i)
    if (std::isnan(tensor.real(i))) return true;
  return false;
}

bool is_long(const Tensor& tensor, const TextOptions& options) { return tensor.count() > options.inline_elements; }

std::string payload(const Tensor& tensor, const TextOptions& options) {
  if (is_long(tensor, options)) return '@' + tensor.content_hash().hex();
  const bool readable = tensor.dtype() == DataType::kString || (kPlain.contains(tensor.dtype()) && !has_nan(tensor)) ||
                        kSmallInts.contains(tensor.dtype());
  if (!readable) return "hex " + hex(tensor.bytes());
  std::vector<std::string> elements;
  for (int64_t i = 0; i < tensor.count(); ++i) elements.push_back(element(tensor, i));
  if (elements.size() > 4 && std::set(elements.begin(), elements.end()).size() == 1) return "all " + elements[0];
  return fmt::format("{{{}}}", fmt::join(elements, ", "));
}

std::string type_text(const ValueType& type) {
  return type.kind == ValueType::Kind::kOther ? "other " + hex(type.opaque) : type.text();
}

class Printer {
 public:
  Printer(const Graph& graph, const TextOptions& options, int depth) : graph_(graph), options_(options), depth_(depth) {
    const std::vector<ValueId> values = graph.values();
    names_.resize(values.empty() ? 0 : values.back().index + 1);
    std::set<std::string> taken;
    for (const ValueId id : values) taken.insert(graph.value(id).name);
    std::set<std::string> used;
    for (const ValueId id : values) {
      std::string name = graph.value(id).name;
      // Unnamed values, and those that share a name, are called by their number.
      if (name.empty() || used.contains(name)) name = fmt::format("%{}", id.index);
      while (name != graph.value(id).name && taken.contains(name)) name += '%';
      used.insert(name);
      names_[id.index] = word(name);
    }
  }

  std::string header() const {
    const ModelInfo& info = graph_.info();
    std::string text;
    if (info.ir_version) text += fmt::format("ir_version {}\n", info.ir_version);
    for (const auto& [domain, version] : info.opsets)
      text +=
          domain.empty() ? fmt::format("opset {}\n", version) : fmt::format("opset {} {}\n", quoted(domain), version);
    const auto field = [&](std::string_view key, const std::string& value) {
      if (!value.empty()) text += fmt::format("{} {}\n", key, quoted(value));
    };
    field("producer_name", info.producer_name);
    field("producer_version", info.producer_version);
    field("domain", info.domain);
    field("doc_string", info.doc_string);
    if (info.model_version) text += fmt::format("model_version {}\n", info.model_version);
    if (info.has_early) text += "early\n";
    for (const auto& [key, value] : info.metadata) text += fmt::format("metadata {} {}\n", quoted(key), quoted(value));
    return text;
  }

  std::string graph() const {
    std::string text = fmt::format("graph {}({})", graph_.name.empty() ? "" : word(graph_.name), inputs());
    if (!graph_.captures().empty()) text += fmt::format(" captures ({})", typed(graph_.captures()));
    text += fmt::format(" -> ({}) {{\n", outputs());
    const std::set<ValueId> formal(graph_.inputs().begin(), graph_.inputs().end());
    for (const ValueId id : graph_.values()) {
      const Value& value = graph_.value(id);
      if (value.constant && !formal.contains(id))
        text += line(
            fmt::format("{}: {} = {}", name(id), constant_type(*value.constant), payload(*value.constant, options_)));
    }
    const auto order = topological_order(graph_);
    for (const NodeId id : order.ok() ? *order : graph_.nodes()) text += line(node(graph_.node(id)));
    return text + std::string(2 * depth_, ' ') + "}";
  }

 private:
  std::string line(const std::string& text) const {
    return fmt::format("{}{}\n", std::string(2 * depth_ + 2, ' '), text);
  }
  const std::string& name(ValueId id) const { return names_[id.index]; }

  static std::string constant_type(const Tensor& tensor) {
    return fmt::format("{}[{}]", isomer::name(tensor.dtype()), fmt::join(tensor.dims(), ","));
  }

  std::string typed(const std::vector<ValueId>& ids) const {
    std::vector<std::string> items;
    for (const ValueId id : ids) items.push_back(with_type(id, graph_.value(id).type));
    return fmt::format("{}", fmt::join(items, ", "));
  }

  std::string with_type(ValueId id, const ValueType& type) const {
    return type.kind == ValueType::Kind::kUnknown ? name(id) : fmt::format("{}: {}", name(id), type_text(type));
  }

  std::string inputs() const {
    std::vector<std::string> items;
    for (const ValueId id : graph_.inputs()) {
      const Value& value = graph_.value(id);
      items.push_back(with_type(id, value.type));
      if (value.constant) items.back() += " = " + payload(*value.constant, options_);
    }
    return fmt::format("{}", fmt::join(items, ", "));
  }

  std::string outputs() const {
    std::vector<std::string> items;
    for (const ValueId id : graph_.outputs())
      items.push_back(with_type(id, graph_.value(id).declared.value_or(ValueType())));
    return fmt::format("{}", fmt::join(items, ", "));
  }

  std::string list(const std::vector<ValueId>& ids) const {
    std::vector<std::string> items;
    for (const ValueId id : ids) items.push_back(id.valid() ? name(id) : "_");
    return fmt::format("{}", fmt::join(items, ", "));
  }

  std::string node(const Node& node) const {
    std::vector<std::string> results;
    for (const ValueId id : node.outputs) results.push_back(id.valid() ? with_type(id, graph_.value(id).type) : "_");
    std::string text = node.outputs.empty() ? "()" : fmt::format("{}", fmt::join(results, ", "));
    text += " = ";
    if (!node.domain.empty()) text += word(node.domain) + "::";
    text += fmt::format("{}({})", word(node.op_type), list(node.inputs));
    if (!node.captures.empty()) text += fmt::format(" captures ({})", list(node.captures));
    std::vector<std::string> attributes;
    for (const auto& [key, value] : node.attributes)
      attributes.push_back(fmt::format("{} = {}", word(key), attribute(value)));
    if (!attributes.empty()) text += fmt::format(" {{{}}}", fmt::join(attributes, ", "));
    if (!node.name.empty()) text += " as " + quoted(node.name);
    if (node.is_opaque()) text += " opaque " + quoted(node.opaque_reason);
    return text;
  }

  std::string attribute(const Attribute& attribute) const {
    const auto item = te::Overloaded{
        [](int64_t value) { return fmt::format("{}", value); },
        [](float value) { return float_text(value); },
        [](const std::string& value) { return quoted(value); },
        [&](const Tensor& value) { return constant_type(value) + " " + payload(value, options_); },
        [&](const GraphPtr& value) { return Printer(*value, options_, depth_ + 2).graph(); },
        [](const RawAttribute& value) { return "raw " + hex(value.bytes); },
    };
    return std::visit(te::Overloaded{item,
                                     [&]<class T>(const std::vector<T>& list) {
                                       if (list.empty()) return std::string(empty_list(list));
                                       std::vector<std::string> items;
                                       for (const T& each : list) items.push_back(item(each));
                                       return fmt::format("[{}]", fmt::join(items, ","));
                                     }},
                      attribute);
  }

  static std::string_view empty_list(const std::vector<int64_t>&) { return "ints[]"; }
  static std::string_view empty_list(const std::vector<float>&) { return "floats[]"; }
  static std::string_view empty_list(const std::vector<std::string>&) { return "strings[]"; }
  static std::string_view empty_list(const std::vector<Tensor>&) { return "tensors[]"; }
  static std::string_view empty_list(const std::vector<GraphPtr>&) { return "graphs[]"; }

  const Graph& graph_;
  const TextOptions& options_;
  int depth_;
  std::vector<std::string> names_;
};

void collect(const Graph& graph, const TextOptions& options, ConstantTable& table) {
  const auto add = te::Overloaded{
      [&](const Tensor& tensor) {
        if (is_long(tensor, options)) table.emplace(tensor.content_hash().hex(), tensor);
      },
      [&](const GraphPtr& body) { collect(*body, options, table); },
      [](const auto&) {},
  };
  for (const ValueId id : graph.values())
    if (graph.value(id).constant) add(*graph.value(id).constant);
  for (const NodeId id : graph.nodes())
    for (const auto& [name, attribute] : graph.node(id).attributes)
      std::visit(te::Overloaded{add,
                                [&]<class T>(const std::vector<T>& list) {
                                  for (const T& item : list) add(item);
                                }},
                 attribute);
}

}  // namespace

std::string print_graph(const Graph& graph, const TextOptions& options) {
  const Printer printer(graph, options, 0);
  return printer.header() + printer.graph() + "\n";
}

ConstantTable long_constants(const Graph& graph, const TextOptions& options) {
  ConstantTable table;
  collect(graph, options, table);
  return table;
}

}  // namespace isomer
