#include "graph/algorithms.h"

#include <boost/graph/depth_first_search.hpp>
#include <boost/graph/graph_concepts.hpp>
#include <boost/property_map/property_map.hpp>
#include <boost/range/iterator_range.hpp>

#include <algorithm>
#include <functional>
#include <queue>

#include "graph/boost_adapter.h"

namespace isomer {
namespace {

BOOST_CONCEPT_ASSERT((boost::VertexListGraphConcept<DataflowView>));
BOOST_CONCEPT_ASSERT((boost::IncidenceGraphConcept<DataflowView>));

struct BackEdgeFinder : boost::default_dfs_visitor {
  explicit BackEdgeFinder(int& found) : found(&found) {}
  void back_edge(const DataflowView::Edge& edge, const DataflowView&) const { *found = edge.target; }
  int* found;
};

/// A vertex on a cycle of a graph that has one.
int vertex_on_cycle(const DataflowView& view) {
  int found = -1;
  std::vector<boost::default_color_type> colors(num_vertices(view));
  boost::depth_first_search(
      view, boost::visitor(BackEdgeFinder(found))
                .color_map(boost::make_iterator_property_map(colors.begin(), boost::identity_property_map())));
  return found;
}

}  // namespace

DataflowView::DataflowView(const Graph& graph) : nodes(graph.nodes()) {
  std::vector<int> vertex_of(nodes.empty() ? 0 : nodes.back().index + 1, -1);
  for (size_t v = 0; v < nodes.size(); ++v) vertex_of[nodes[v].index] = static_cast<int>(v);
  for (size_t v = 0; v < nodes.size(); ++v)
    for (const auto* list : {&graph.node(nodes[v]).inputs, &graph.node(nodes[v]).captures})
      for (const ValueId read : *list)
        if (read.valid() && graph.value(read).producer.valid())
          edges.push_back({vertex_of[graph.value(read).producer.index], static_cast<int>(v)});
  std::sort(edges.begin(), edges.end(),
            [](const Edge& a, const Edge& b) { return std::pair(a.source, a.target) < std::pair(b.source, b.target); });
  first_edge.resize(nodes.size() + 1);
  for (const Edge& edge : edges) ++first_edge[edge.source + 1];
  for (size_t v = 0; v < nodes.size(); ++v) first_edge[v + 1] += first_edge[v];
}

Result<std::vector<NodeId>> topological_order(const Graph& graph) {
  const DataflowView view(graph);
  std::vector<int> unmet(num_vertices(view));
  for (const DataflowView::Edge& edge : view.edges) ++unmet[edge.target];
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (const int v : boost::make_iterator_range(vertices(view)))
    if (unmet[v] == 0) ready.push(v);
  std::vector<NodeId> order;
  while (!ready.empty()) {
    const int v = ready.top();
    ready.pop();
    order.push_back(view.nodes[v]);
    for (const auto& edge : boost::make_iterator_range(out_edges(v, view)))
      if (--unmet[edge.target] == 0) ready.push(edge.target);
  }
  if (order.size() < num_vertices(view))
    return invalid(label(graph, view.nodes[vertex_on_cycle(view)]),
                   "a graph without cycles expected, a node that reads its own result found");
  return order;
}

std::set<ValueId> computed_of_constants(const Graph& graph) {
  std::set<ValueId> computed;
  const auto order = topological_order(graph);
  if (!order.ok()) return computed;
  for (const NodeId id : *order) {
    const Node& node = graph.node(id);
    const auto is_known = [&](ValueId input) {
      return !input.valid() || graph.is_constant(input) || computed.contains(input);
    };
    if (std::ranges::all_of(node.inputs, is_known) && std::ranges::all_of(node.captures, is_known))
      computed.insert(node.outputs.begin(), node.outputs.end());
  }
  return computed;
}

}  // namespace isomer
