#include "report/drawing.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/dot.h"
#include "graph/op_def.h"
#include "report/layout.h"
#include "util/utf8.h"

namespace isomer::report {
namespace {

constexpr double kCharacter = 6.7, kLine = 15, kMargin = 12;
constexpr size_t kLongestLine = 34, kMostLines = 7;

std::string cut(std::string text) {
  if (text.size() > kLongestLine) text = text.substr(0, kLongestLine - 3) + "...";
  return text;
}

/// A box or an oval.
struct Shape {
  std::string style;               ///< CSS classes
  std::vector<std::string> lines;  ///< the first is a title
  std::string name;                ///< of the node, or of the value
  bool is_oval = false;

  Size size() const {
    size_t longest = 0;
    for (const std::string& line : lines) longest = std::max(longest, line.size());
    return {static_cast<double>(longest) * kCharacter + 2 * kMargin,
            static_cast<double>(lines.size()) * kLine + kMargin};
  }
};

std::vector<std::string> lines_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::vector<std::string> lines = {cut(node.op_type)};
  for (const auto& [name, value] : node.attributes)
    lines.push_back(cut(fmt::format("{} = {}", name, short_text(value))));
  for (const ValueId input : node.inputs)
    if (input.valid() && graph.is_constant(input)) lines.push_back(cut("const " + graph.value(input).type.text()));
  if (lines.size() > kMostLines) {
    lines.resize(kMostLines - 1);
    lines.emplace_back("...");
  }
  return lines;
}

class Picture {
 public:
  Picture(const Graph& graph, const std::map<NodeId, std::string_view>& nodes)
      : graph_(graph), uses_(graph.use_counts()) {
    for (const auto& [id, style] : nodes) {
      node_shapes_[id] = shapes_.size();
      shapes_.push_back({std::string(style), lines_of(graph, id), graph.node(id).name});
      for (const auto* list : {&graph.node(id).inputs, &graph.node(id).captures})
        for (const ValueId input : *list)
          if (input.valid()) ++read_inside_[input];
    }
    for (const auto& [id, style] : nodes) add_edges(id);
  }

  Drawing drawing() const {
    if (shapes_.empty()) return {};
    std::vector<Size> sizes;
    for (const Shape& shape : shapes_) sizes.push_back(shape.size());
    const Layout layout = layered(sizes, edges_);
    Drawing result;
    result.svg =
        fmt::format("<svg viewBox=\"-4 -4 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" height=\"{1:.0f}\" role=\"img\">",
                    layout.size.width + 8, layout.size.height + 8);
    for (size_t k = 0; k < edges_.size(); ++k) result.svg += path(layout.routes[k], labels_[k]);
    for (size_t k = 0; k < shapes_.size(); ++k) result.svg += box(shapes_[k], sizes[k], layout.centers[k]);
    result.svg += "</svg>";
    for (const Shape& shape : shapes_) {
      result.key += shape.style;
      for (const std::string& line : shape.lines) result.key += '\n' + (shape.is_oval ? "" : line);
      result.key += '\0';
    }
    for (size_t k = 0; k < edges_.size(); ++k)
      result.key += fmt::format("{}>{}:{};", edges_[k].from, edges_[k].to, labels_[k]);
    return result;
  }

 private:
  /// From what makes the values that it reads, and to what others read of it.
  void add_edges(NodeId id) {
    const Node& node = graph_.node(id);
    for (const auto* list : {&node.inputs, &node.captures})
      for (const ValueId input : *list)
        if (input.valid() && !graph_.is_constant(input)) add_edge(shape_that_makes(input), node_shapes_.at(id), input);
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      const auto inside = read_inside_.find(output);
      if ((inside == read_inside_.end() ? 0 : inside->second) < uses_[output.index])
        add_edge(node_shapes_.at(id), oval(output), output);
    }
  }

  size_t shape_that_makes(ValueId value) {
    const auto made = node_shapes_.find(graph_.value(value).producer);
    return made != node_shapes_.end() ? made->second : oval(value);
  }

  size_t oval(ValueId value) {
    const auto [known, is_new] = ovals_.emplace(value, shapes_.size());
    if (is_new) shapes_.push_back({"value", {cut(graph_.value(value).name)}, graph_.value(value).name, true});
    return known->second;
  }

  void add_edge(size_t from, size_t to, ValueId value) {
    edges_.push_back({from, to});
    labels_.push_back(graph_.value(value).type.text());
  }

  static std::string path(const std::vector<Point>& route, const std::string& label) {
    if (route.empty()) return {};
    std::string d = fmt::format("M{:.1f} {:.1f}", route[0].x, route[0].y);
    for (size_t k = 1; k < route.size(); ++k) {
      const double between = (route[k - 1].y + route[k].y) / 2;
      d += fmt::format("C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", route[k - 1].x, between, route[k].x, between,
                       route[k].x, route[k].y);
    }
    return fmt::format("<path class=\"edge\" d=\"{}\"><title>{}</title></path>", d, escaped(label));
  }

  static std::string box(const Shape& shape, const Size& size, const Point& at) {
    std::string result = fmt::format("<g class=\"node {}\"><title>{}</title>", shape.style, escaped(shape.name));
    result += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"{:.0f}\"/>",
                          at.x - size.width / 2, at.y - size.height / 2, size.width, size.height,
                          shape.is_oval ? size.height / 2 : 5);
    for (size_t k = 0; k < shape.lines.size(); ++k)
      result += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\"{}>{}</text>", at.x,
                            at.y - size.height / 2 + kMargin / 2 + (static_cast<double>(k) + 0.78) * kLine,
                            k == 0 && !shape.is_oval ? " class=\"title\"" : "", escaped(shape.lines[k]));
    return result + "</g>";
  }

  const Graph& graph_;
  const std::vector<int> uses_;
  std::vector<Shape> shapes_;
  std::map<NodeId, size_t> node_shapes_;
  std::map<ValueId, int> read_inside_;  ///< how often
  std::map<ValueId, size_t> ovals_;
  std::vector<Edge> edges_;
  std::vector<std::string> labels_;  ///< by edge
};

}  // namespace

std::string escaped(std::string_view text) {
  constexpr size_t kLongest = 2000;
  std::string result;
  for (size_t at = 0; at < std::min(text.size(), kLongest);) {
    const size_t length = shown_length(text.substr(at));
    switch (const char c = text[at]) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      case '\'': result += "&#39;"; break;
      default:
        if (length == 0)
          result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        else
          result += text.substr(at, length);
    }
    at += std::max<size_t>(length, 1);
  }
  return text.size() > kLongest ? result + "..." : result;
}

Drawing draw(const Graph& graph, const std::map<NodeId, std::string_view>& nodes) {
  return Picture(graph, nodes).drawing();
}

}  // namespace isomer::report
