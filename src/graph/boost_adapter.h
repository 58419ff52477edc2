// A Graph as Boost.Graph sees it (VertexListGraph and IncidenceGraph): a vertex for every living node, in order of
// creation, an edge for every read of another node's output, captures included. Only algorithms.cpp includes this.
#pragma once

#include <boost/graph/graph_traits.hpp>
#include <boost/iterator/counting_iterator.hpp>

#include <utility>
#include <vector>

#include "graph/graph.h"

namespace isomer {

/// A snapshot of who reads whom; the graph may change afterwards without changing it.
struct DataflowView {
  struct Edge {
    int source = -1, target = -1;
    bool operator==(const Edge&) const = default;
  };
  explicit DataflowView(const Graph& graph);

  std::vector<NodeId> nodes;       ///< of each vertex
  std::vector<Edge> edges;         ///< by source
  std::vector<size_t> first_edge;  ///< of each vertex, and one past the last
};

}  // namespace isomer

template <>
struct boost::graph_traits<isomer::DataflowView> {
  struct traversal_category : vertex_list_graph_tag, incidence_graph_tag {};
  using directed_category = directed_tag;
  using edge_parallel_category = allow_parallel_edge_tag;
  using vertex_descriptor = int;
  using edge_descriptor = isomer::DataflowView::Edge;
  using vertices_size_type = size_t;
  using edges_size_type = size_t;
  using degree_size_type = size_t;
  using vertex_iterator = boost::counting_iterator<int>;
  using out_edge_iterator = std::vector<isomer::DataflowView::Edge>::const_iterator;
  static int null_vertex() { return -1; }
};

namespace isomer {

using DataflowTraits = boost::graph_traits<DataflowView>;

inline size_t num_vertices(const DataflowView& view) { return view.nodes.size(); }
inline std::pair<DataflowTraits::vertex_iterator, DataflowTraits::vertex_iterator> vertices(const DataflowView& view) {
  return {DataflowTraits::vertex_iterator(0), DataflowTraits::vertex_iterator(static_cast<int>(view.nodes.size()))};
}
inline std::pair<DataflowTraits::out_edge_iterator, DataflowTraits::out_edge_iterator> out_edges(
    int v, const DataflowView& view) {
  return {view.edges.begin() + view.first_edge[v], view.edges.begin() + view.first_edge[v + 1]};
}
inline size_t out_degree(int v, const DataflowView& view) { return view.first_edge[v + 1] - view.first_edge[v]; }
inline int source(const DataflowView::Edge& edge, const DataflowView&) { return edge.source; }
inline int target(const DataflowView::Edge& edge, const DataflowView&) { return edge.target; }

}  // namespace isomer
