// Pictures of parts of graphs, as SVG that a page styles. Test: tests/report/drawing_test.cpp
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace isomer::report {

/// For text and attributes of HTML and XML: markup, and what shown_length (util/utf8.h) does not show, escaped; long
/// text cut.
std::string escaped(std::string_view text);

struct Drawing {
  std::string svg;
  std::string key;  ///< equal for parts that look the same but for names
};

/// Some nodes of a graph (of none: no text), each with its CSS class, and the values between them and the rest as
/// ovals. Constants are lines of their readers.
Drawing draw(const Graph& graph, const std::map<NodeId, std::string_view>& nodes);

}  // namespace isomer::report
