// Models of text, as files.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "graph/onnx/export.h"
#include "graph/text.h"

namespace isomer::test {

/// Writes the model that the text (graph/text.h) describes; gives its place.
inline std::string write_model(std::string_view text, const std::string& place) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().message();
  graph->edit_info().ir_version = 8;
  const auto written = export_model(*graph, place);
  EXPECT_TRUE(written.ok()) << written.error().message();
  return place;
}

}  // namespace isomer::test
