#include "graph/min_cut.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/edmonds_karp_max_flow.hpp>

namespace isomer {
namespace {

// Lists of edges: descriptors, which the reverse edges are, stay valid as edges are added.
using Traits = boost::adjacency_list_traits<boost::listS, boost::vecS, boost::directedS>;
using EdgeProperties =
    boost::property<boost::edge_capacity_t, int64_t,
                    boost::property<boost::edge_residual_capacity_t, int64_t,
                                    boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>;
using Network = boost::adjacency_list<boost::listS, boost::vecS, boost::directedS, boost::no_property, EdgeProperties>;

}  // namespace

std::vector<bool> min_cut(size_t count, const std::vector<CutEdge>& edges) {
  Network network(count);
  for (const CutEdge& edge : edges) {
    const auto there = boost::add_edge(edge.from, edge.to, network).first;
    const auto back = boost::add_edge(edge.to, edge.from, network).first;
    for (const auto& [e, reverse] : {std::pair(there, back), std::pair(back, there)}) {
      boost::put(boost::edge_capacity, network, e, edge.weight);
      boost::put(boost::edge_reverse, network, e, reverse);
    }
  }
  std::vector<boost::default_color_type> colors(count);
  std::vector<Traits::edge_descriptor> predecessors(count);
  boost::edmonds_karp_max_flow(network, boost::vertex(0, network), boost::vertex(1, network),
                               boost::color_map(colors.data()).predecessor_map(predecessors.data()));
  // What the source still reaches in the residual network.
  std::vector<bool> side(count, false);
  std::vector<size_t> open = {0};
  side[0] = true;
  while (!open.empty()) {
    const size_t v = open.back();
    open.pop_back();
    for (auto [e, end] = boost::out_edges(v, network); e != end; ++e) {
      const size_t to = boost::target(*e, network);
      if (side[to] || boost::get(boost::edge_residual_capacity, network, *e) == 0) continue;
      side[to] = true;
      open.push_back(to);
    }
  }
  return side;
}

}  // namespace isomer
