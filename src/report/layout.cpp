#include "report/layout.h"

#include <algorithm>
#include <numeric>

#include "util/stable_sort.h"

namespace isomer::report {
namespace {

constexpr double kBetweenNodes = 18, kBetweenRanks = 34, kBesideEdges = 10;
constexpr int kSweeps = 6;

/// Nodes, and a point for each rank that an edge passes.
class Layers {
 public:
  Layers(const std::vector<Size>& nodes, const std::vector<Edge>& edges)
      : nodes_(nodes), sizes_(nodes), points_of_(edges.size()) {
    rank(edges);
    for (size_t k = 0; k < edges.size(); ++k) add_points(edges[k], k);
    above_.resize(sizes_.size());
    below_.resize(sizes_.size());
    order();
    place();
  }

  Layout layout(const std::vector<Edge>& edges) const {
    Layout result;
    result.size = {0, bottoms_.empty() ? 0 : bottoms_.back()};
    for (size_t v = 0; v < sizes_.size(); ++v) result.size.width = std::max(result.size.width, x_[v] + half(v));
    for (size_t v = 0; v < nodes_.size(); ++v) result.centers.push_back({x_[v], middle(v)});
    for (size_t k = 0; k < edges.size(); ++k) {
      std::vector<Point> route;
      if (is_drawn(edges[k])) {
        route.push_back({x_[edges[k].from], middle(edges[k].from) + nodes_[edges[k].from].height / 2});
        for (const size_t point : points_of_[k]) route.push_back({x_[point], middle(point)});
        route.push_back({x_[edges[k].to], middle(edges[k].to) - nodes_[edges[k].to].height / 2});
      }
      result.routes.push_back(std::move(route));
    }
    return result;
  }

 private:
  bool is_drawn(const Edge& edge) const { return ranks_[edge.from] < ranks_[edge.to]; }
  double half(size_t v) const { return sizes_[v].width / 2; }
  double middle(size_t v) const { return middles_[ranks_[v]]; }

  /// By the longest path from above; what reads nothing stands right above its first reader.
  void rank(const std::vector<Edge>& edges) {
    ranks_.assign(nodes_.size(), 0);
    std::vector<std::vector<size_t>> readers(nodes_.size());
    std::vector<size_t> waits(nodes_.size(), 0), ready;
    for (const Edge& edge : edges) {
      if (edge.from == edge.to) continue;
      readers[edge.from].push_back(edge.to);
      ++waits[edge.to];
    }
    for (size_t v = 0; v < nodes_.size(); ++v)
      if (waits[v] == 0) ready.push_back(v);
    const std::vector<size_t> sources = ready;
    for (size_t next = 0; next < ready.size(); ++next)
      for (const size_t reader : readers[ready[next]]) {
        ranks_[reader] = std::max(ranks_[reader], ranks_[ready[next]] + 1);
        if (--waits[reader] == 0) ready.push_back(reader);
      }
    for (const size_t v : sources) {
      size_t above = nodes_.size();
      for (const size_t reader : readers[v]) above = std::min(above, ranks_[reader] - 1);
      if (!readers[v].empty()) ranks_[v] = above;
    }
    const size_t count = nodes_.empty() ? 0 : *std::max_element(ranks_.begin(), ranks_.end()) + 1;
    rows_.resize(count);
    for (size_t v = 0; v < nodes_.size(); ++v) rows_[ranks_[v]].push_back(v);
  }

  void add_points(const Edge& edge, size_t number) {
    if (!is_drawn(edge)) return;
    size_t last = edge.from;
    for (size_t between = ranks_[edge.from] + 1; between < ranks_[edge.to]; ++between) {
      const size_t point = sizes_.size();
      sizes_.push_back({kBesideEdges, 0});
      ranks_.push_back(between);
      rows_[between].push_back(point);
      link(last, point);
      points_of_[number].push_back(last = point);
    }
    link(last, edge.to);
  }
  /// Of neighbouring ranks.
  void link(size_t upper, size_t lower) {
    below_.resize(sizes_.size());
    above_.resize(sizes_.size());
    below_[upper].push_back(lower);
    above_[lower].push_back(upper);
  }

  /// Where a node's neighbours in a rank stand, on average; nothing where it has none.
  template <class Position>
  std::vector<double> means(size_t row, bool from_above, const Position& position) const {
    std::vector<double> result;
    for (const size_t v : rows_[row]) {
      const std::vector<size_t>& neighbours = (from_above ? above_ : below_)[v];
      double sum = 0;
      for (const size_t neighbour : neighbours) sum += position(neighbour);
      result.push_back(neighbours.empty() ? position(v) : sum / static_cast<double>(neighbours.size()));
    }
    return result;
  }

  void order() {
    std::vector<double> places(sizes_.size());
    const auto number = [&](size_t row) {
      for (size_t k = 0; k < rows_[row].size(); ++k) places[rows_[row][k]] = static_cast<double>(k);
    };
    for (size_t row = 0; row < rows_.size(); ++row) number(row);
    for (int sweep = 0; sweep < kSweeps; ++sweep)
      for (size_t k = 0; k < rows_.size(); ++k) {
        const bool is_down = sweep % 2 == 0;
        const size_t row = is_down ? k : rows_.size() - 1 - k;
        const std::vector<double> wanted = means(row, is_down, [&](size_t v) { return places[v]; });
        std::vector<size_t> order(wanted.size());
        std::iota(order.begin(), order.end(), size_t{0});
        stable_sort(order, [&](size_t a, size_t b) { return wanted[a] < wanted[b]; });
        std::vector<size_t> sorted;
        for (const size_t each : order) sorted.push_back(rows_[row][each]);
        rows_[row] = std::move(sorted);
        number(row);
      }
  }

  void place() {
    x_.assign(sizes_.size(), 0);
    for (const std::vector<size_t>& row : rows_) spread(row, std::vector<double>(row.size(), 0));
    for (int sweep = 0; sweep < kSweeps; ++sweep)
      for (size_t k = 0; k < rows_.size(); ++k) {
        const bool is_down = sweep % 2 == 0;
        const size_t row = is_down ? k : rows_.size() - 1 - k;
        spread(rows_[row], means(row, is_down, [&](size_t v) { return x_[v]; }));
      }
    double left = 0;
    for (size_t v = 0; v < sizes_.size(); ++v) left = v == 0 ? x_[v] - half(v) : std::min(left, x_[v] - half(v));
    for (double& x : x_) x -= left;
    double top = 0;
    for (const std::vector<size_t>& row : rows_) {
      double height = 0;
      for (const size_t v : row) height = std::max(height, sizes_[v].height);
      middles_.push_back(top + height / 2);
      bottoms_.push_back(top + height);
      top += height + kBetweenRanks;
    }
  }

  /// As near to where they are wanted as their order and widths allow.
  void spread(const std::vector<size_t>& row, const std::vector<double>& wanted) {
    double shift = 0;
    for (size_t k = 0; k < row.size(); ++k) {
      const double least = k == 0 ? wanted[k] : x_[row[k - 1]] + half(row[k - 1]) + kBetweenNodes + half(row[k]);
      x_[row[k]] = k == 0 ? wanted[k] : std::max(least, wanted[k]);
      shift += x_[row[k]] - wanted[k];
    }
    for (const size_t v : row) x_[v] -= shift / static_cast<double>(row.size());
  }

  const std::vector<Size>& nodes_;
  std::vector<Size> sizes_;
  std::vector<size_t> ranks_;
  std::vector<std::vector<size_t>> rows_;
  std::vector<std::vector<size_t>> above_, below_;  ///< neighbours in the next ranks
  std::vector<std::vector<size_t>> points_of_;
  std::vector<double> x_, middles_, bottoms_;
};

}  // namespace

Layout layered(const std::vector<Size>& nodes, const std::vector<Edge>& edges) {
  return Layers(nodes, edges).layout(edges);
}

}  // namespace isomer::report
