// Parts of graphs as SVG.
#include "report/drawing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/text.h"

namespace isomer::report {
namespace {

using testing::HasSubstr;
using testing::Not;

Graph two_layers() {
  auto graph = parse_graph(R"(opset 17
graph g(x: float32[1,2,8,8]) -> (y: float32[1,2,6,6]) {
  w: float32[2,2,3,3] = random 1
  v: float32[2,2,1,1] = random 2
  a = Conv(x, w)
  b = Relu(a)
  c = Conv(b, v)
  y = Relu(c)
}
)");
  CHECK(graph.ok()) << graph.error().message();
  return *std::move(graph);
}

std::map<NodeId, std::string_view> nodes(const Graph& graph, size_t first, size_t count) {
  std::map<NodeId, std::string_view> result;
  for (size_t k = 0; k < count; ++k) result.emplace(graph.nodes()[first + k], "new");
  return result;
}

TEST(Drawing, HasNodesTheirConstantsAndTheValuesAround) {
  const Graph graph = two_layers();
  const std::string svg = draw(graph, nodes(graph, 0, 2)).svg;
  EXPECT_THAT(svg, HasSubstr("class=\"node new\""));
  EXPECT_THAT(svg, HasSubstr(">Conv</text>"));
  EXPECT_THAT(svg, HasSubstr(">const float32[2,2,3,3]</text>"));
  EXPECT_THAT(svg, HasSubstr("class=\"node value\""));
  EXPECT_THAT(svg, HasSubstr(">x</text>"));
  EXPECT_THAT(svg, HasSubstr(">b</text>")) << "others read it";
  EXPECT_THAT(svg, Not(HasSubstr(">a</text>"))) << "it stands inside";
}

TEST(Drawing, HasAKeyForWhatItLooksLike) {
  const Graph graph = two_layers();
  const std::string first = draw(graph, nodes(graph, 0, 2)).key;
  EXPECT_NE(first, draw(graph, nodes(graph, 2, 2)).key) << "another kernel";
  EXPECT_EQ(draw(graph, nodes(graph, 1, 1)).key.substr(0, 8), draw(graph, nodes(graph, 3, 1)).key.substr(0, 8));
  EXPECT_EQ(first, draw(two_layers(), nodes(graph, 0, 2)).key);
}

TEST(Escaped, LeavesNoMarkupAndNoOtherBytes) {
  EXPECT_EQ(escaped("<b>&\"'"), "&lt;b&gt;&amp;&quot;&#39;");
  EXPECT_EQ(escaped("a\nb\x01\x7f"), "a\\x0ab\\x01\\x7f");
  EXPECT_EQ(escaped("é漢🙂"), "é漢🙂");
  EXPECT_EQ(escaped("\xff\xc0\xaf\xed\xa0\x80\xe2\x82"), "\\xff\\xc0\\xaf\\xed\\xa0\\x80\\xe2\\x82");
  EXPECT_EQ(escaped("a\u202eb\u0085"), "a\\xe2\\x80\\xaeb\\xc2\\x85") << "marks that turn text around, controls";
  EXPECT_EQ(escaped(std::string(3000, 'a')).size(), 2003U);
}

}  // namespace
}  // namespace isomer::report
