#include "graph/dot.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "graph/diff.h"
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

std::string label_of(const Node& node) {
  std::string label = escaped(node.op_type);
  if (!node.name.empty()) label += "\\n" + escaped(node.name);
  for (const auto& [name, value] : node.attributes)
    label += fmt::format("\\n{} = {}", escaped(name), short_text(value));
  return label;
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
    std::string label = label_of(node);
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

std::string to_dot(const Graph& graph) {
  DotWriter writer;
  writer.write(graph, "");
  return writer.text + "}\n";
}

namespace {

/// Of both graphs: nodes by which they are of, and values that none of them makes, once a pair.
class DiffWriter {
 public:
  DiffWriter(const Graph& before, const Graph& after, const GraphDiff& diff)
      : before_(before), after_(after), diff_(diff) {}

  std::string run() {
    for (size_t k = 0; k < diff_.interface.size(); ++k)
      text_ += fmt::format("  p{} [label=\"{}\", shape=note, fillcolor={}, style=filled];\n", k,
                           escaped(diff_.interface[k].what), color_of(diff_.interface[k].kind));
    for (const GraphDiff::Place& place : diff_.places) {
      for (const GraphDiff::Pair& pair : place.changed) {
        add(after_, pair.after, "orange");
        // What it gave before is what it gives now.
        names_[{&before_, pair.before.index}] = names_[{&after_, pair.after.index}];
      }
      for (const NodeId id : place.removed) add(before_, id, "lightcoral");
      for (const NodeId id : place.added) add(after_, id, "palegreen");
    }
    for (const GraphDiff::Place& place : diff_.places) {
      for (const GraphDiff::Pair& pair : place.changed) read(after_, pair.after);
      for (const NodeId id : place.removed) read(before_, id);
      for (const NodeId id : place.added) read(after_, id);
    }
    return text_ + "}\n";
  }

 private:
  static std::string_view color_of(GraphDiff::InterfaceChange::Kind kind) {
    switch (kind) {
      case GraphDiff::InterfaceChange::Kind::kChanged: return "orange";
      case GraphDiff::InterfaceChange::Kind::kRemoved: return "lightcoral";
      case GraphDiff::InterfaceChange::Kind::kAdded: return "palegreen";
    }
    return "white";
  }

  void add(const Graph& graph, NodeId id, std::string_view color) {
    const Node& node = graph.node(id);
    const std::string self = fmt::format("n{}", names_.size());
    names_[{&graph, id.index}] = self;
    text_ += fmt::format("  {} [label=\"{}\", fillcolor={}, style=filled];\n", self, label_of(node), color);
  }

  void read(const Graph& graph, NodeId id) {
    for (const ValueId input : graph.node(id).inputs)
      if (input.valid() && !graph.is_constant(input))
        text_ += fmt::format("  {} -> {} [label=\"{}\"];\n", source(graph, input), names_.at({&graph, id.index}),
                             escaped(graph.value(input).type.text()));
  }

  std::string source(const Graph& graph, ValueId id) {
    const NodeId maker = graph.value(id).producer;
    const auto made = maker.valid() ? names_.find({&graph, maker.index}) : names_.end();
    if (made != names_.end()) return made->second;
    const ValueId other = &graph == &after_ ? diff_.paired[static_cast<size_t>(id.index)] : ValueId();
    const auto key = other.valid() ? std::pair(&before_, other.index) : std::pair(&graph, id.index);
    const auto [known, is_new] = borders_.try_emplace(key, fmt::format("v{}", borders_.size()));
    if (is_new)
      text_ += fmt::format("  {} [label=\"{}\", fillcolor=lightgrey, style=filled];\n", known->second,
                           escaped(graph.value(id).name));
    return known->second;
  }

  const Graph &before_, &after_;
  const GraphDiff& diff_;
  std::map<std::pair<const Graph*, int>, std::string> names_, borders_;
  std::string text_ =
      "digraph {\n  node [shape=box, fontname=\"sans-serif\"];\n  edge [fontname=\"sans-serif\", fontsize=10];\n";
};

}  // namespace

std::string to_dot(const Graph& before, const Graph& after, const GraphDiff& diff) {
  return DiffWriter(before, after, diff).run();
}

}  // namespace isomer
