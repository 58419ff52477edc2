#include "graph/dot.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "graph/op_def.h"

namespace isomer {
namespace {

/// Inside a quoted DOT string; other bytes than printable ASCII as \\xHH, long text cut.
std::string escaped(std::string_view text) {
  constexpr size_t kLongest = 80;
  std::string result;
  for (const char c : text.substr(0, kLongest)) {
    if (c == '"' || c == '\\')
      result += {'\\', c};
    else if (c >= ' ' && c <= '~')
      result += c;
    else
      result += fmt::format("\\\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text.size() > kLongest ? result + "…" : result;
}

std::string short_text(const Attribute& attribute) {
  constexpr size_t kFew = 8;
  const auto item = te::Overloaded{
      [](int64_t value) { return fmt::format("{}", value); },
      [](float value) { return fmt::format("{}", value); },
      [](const std::string& value) { return escaped(value); },
      [](const Tensor& value) { return fmt::format("{}[{}]", name(value.dtype()), fmt::join(value.dims(), ",")); },
      [](const GraphPtr& value) { return fmt::format("{} nodes", value->node_count()); },
      [](const RawAttribute&) { return std::string("…"); },
  };
  return std::visit(te::Overloaded{item,
                                   [&]<class T>(const std::vector<T>& list) {
                                     std::vector<std::string> items;
                                     for (size_t i = 0; i < std::min(list.size(), kFew); ++i)
                                       items.push_back(item(list[i]));
                                     if (list.size() > kFew) items.push_back("…");
                                     return fmt::format("[{}]", fmt::join(items, ","));
                                   }},
                    attribute);
}

class DotWriter {
 public:
  std::string text =
      "digraph {\n  node [shape=box, style=rounded, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", "
      "fontsize=10];\n";

  /// `scope` makes the names of one graph's nodes distinct from those of the others.
  void write(const Graph& graph, const std::string& scope) {
    for (const ValueId id : graph.inputs()) terminal(graph, id, scope, "lightblue");
    for (const ValueId id : graph.captures()) terminal(graph, id, scope, "lightgrey");
    for (const NodeId id : graph.nodes()) write_node(graph, id, scope);
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const ValueId id = graph.outputs()[i];
      const std::string sink = fmt::format("{}o{}", scope, i);
      text += fmt::format("  {} [label=\"{}\", fillcolor=lightyellow, style=filled];\n", sink,
                          escaped(graph.value(id).name));
      edge(graph, id, sink, scope);
    }
  }

 private:
  void terminal(const Graph& graph, ValueId id, const std::string& scope, std::string_view color) {
    const Value& value = graph.value(id);
    text += fmt::format("  {}v{} [label=\"{}\\n{}\", fillcolor={}, style=filled];\n", scope, id.index,
                        escaped(value.name), escaped(value.type.text()), color);
  }

  void edge(const Graph& graph, ValueId id, const std::string& to, const std::string& scope) {
    const Value& value = graph.value(id);
    const std::string from = value.producer.valid() ? fmt::format("{}n{}", scope, value.producer.index)
                                                    : fmt::format("{}v{}", scope, id.index);
    text += fmt::format("  {} -> {} [label=\"{}\"];\n", from, to, escaped(value.type.text()));
  }

  void write_node(const Graph& graph, NodeId id, const std::string& scope) {
    const Node& node = graph.node(id);
    const std::string self = fmt::format("{}n{}", scope, id.index);
    std::string label = escaped(node.op_type);
    if (!node.name.empty()) label += "\\n" + escaped(node.name);
    for (const auto& [name, value] : node.attributes)
      label += fmt::format("\\n{} = {}", escaped(name), short_text(value));
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (node.inputs[i].valid() && graph.is_constant(node.inputs[i]))
        label += fmt::format("\\n{}: {}", i, escaped(graph.value(node.inputs[i]).type.text()));
    text += fmt::format("  {} [label=\"{}\"{}];\n", self, label, node.is_opaque() ? ", color=red" : "");
    for (const auto* list : {&node.inputs, &node.captures})
      for (const ValueId input : *list)
        if (input.valid() && !graph.is_constant(input)) edge(graph, input, self, scope);
    for (const auto& [name, value] : node.attributes) {
      if (const auto* body = std::get_if<GraphPtr>(&value))
        cluster(**body, fmt::format("{}_{}", self, bodies_++), name);
      if (const auto* bodies = std::get_if<std::vector<GraphPtr>>(&value))
        for (const GraphPtr& body : *bodies) cluster(*body, fmt::format("{}_{}", self, bodies_++), name);
    }
  }

  void cluster(const Graph& body, const std::string& scope, std::string_view name) {
    text += fmt::format("  subgraph cluster_{} {{\n  label=\"{}\";\n", scope, escaped(name));
    write(body, scope);
    text += "  }\n";
  }

  int bodies_ = 0;
};

}  // namespace

std::string to_dot(const Graph& graph) {
  DotWriter writer;
  writer.write(graph, "");
  return writer.text + "}\n";
}

}  // namespace isomer
