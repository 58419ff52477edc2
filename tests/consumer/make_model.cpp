// make_model TEXT.graph MODEL.onnx: the models that the consumer is run on, from the text form of graphs.
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "graph/onnx/export.h"
#include "graph/text.h"

int main(int argc, char** argv) {
  if (argc != 3) return fmt::print(stderr, "usage: make_model TEXT.graph MODEL.onnx\n"), 2;
  std::stringstream text;
  text << std::ifstream(argv[1]).rdbuf();
  auto graph = isomer::parse_graph(text.str());
  if (!graph.ok()) return fmt::print(stderr, "{}: {}\n", argv[1], graph.error().message()), 1;
  graph->edit_info().ir_version = 8;
  const auto written = isomer::export_model(*graph, argv[2]);
  if (!written.ok()) return fmt::print(stderr, "{}: {}\n", argv[2], written.error().message()), 1;
  return 0;
}
