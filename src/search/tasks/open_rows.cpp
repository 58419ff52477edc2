#include "search/tasks/open_rows.h"

#include <algorithm>
#include <map>
#include <set>

#include "graph/algorithms.h"
#include "graph/infer.h"
#include "graph/op_context.h"
#include "graph/row_loop.h"
#include "search/tasks/task.h"

namespace isomer::search {
namespace {

using te::Expr;

/// Operations on a row from which on a loop pays: what is less moves elements, which a loop would move twice more.
constexpr double kLeastWork = 1'000;
/// Rows that are computed at a time, so that weights are read once for all of them: fewer the more work one is, since
/// some of the last ones are computed for nothing.
int64_t rows_at_once(double work) { return work < (1 << 21) ? 16 : work < (1 << 26) ? 8 : 1; }

/// The symbol that counts the rows of a value; "" where it has none, or where data decide more than their number.
std::string rows_of(const Graph& graph, ValueId value) {
  const ValueType& type = graph.value(value).type;
  if (!type.has_shape() || !is_computable(type.dtype) || type.shape->empty()) return "";
  for (size_t k = 1; k < type.shape->size(); ++k)
    if (!(*type.shape)[k].constant() || (*type.shape)[k].is(0)) return "";
  return symbol_of(type.shape->front());
}

bool has_symbol(const Expr& expr) {
  return te::any_node(expr, [](const Expr& e) { return te::as<te::Symbol>(e) != nullptr; });
}

bool is_known(const Graph& graph, ValueId value) {
  const Value& known = graph.value(value);
  if (!known.type.has_shape() || !constants(*known.type.shape)) return false;
  return !known.content || std::ranges::none_of(*known.content, [](const std::optional<Dim>& element) {
    return element && has_symbol(element->expr());
  });
}

/// A program of maps and reductions that makes each row of the rows at the same place.
class RowProgram {
 public:
  RowProgram(const te::Program& program, const std::vector<bool>& is_row) : program_(program), is_row_(is_row) {}

  /// Operations on a row; nothing where it is none.
  std::optional<double> work() {
    double sum = 0;
    for (const te::Stage& stage : program_.stages) {
      const auto* body = std::get_if<te::MapReduce>(&stage.body);
      if (!body) return std::nullopt;
      const bool has_rows = !body->axes.empty() && !symbol_of(body->axes[0]).empty();
      are_rows_.push_back(has_rows);
      double points = 1;
      for (size_t k = has_rows ? 1 : 0; k < body->axes.size(); ++k) {
        if (!body->axes[k].constant()) return std::nullopt;
        points *= static_cast<double>(body->axes[k].value());
      }
      for (const Dim& dim : body->reduce) {
        if (!dim.constant()) return std::nullopt;
        points *= static_cast<double>(dim.value());
      }
      for (const Expr& e : body->bodies)
        if (!stays_in_row(e, has_rows)) return std::nullopt;
      sum += has_rows ? points * static_cast<double>(body->bodies.size()) : 0;
      reduces_tensors_ |= has_rows && !body->reduce.empty() && body->axes.size() > 2;
    }
    return sum;
  }

  /// Of what was worked on: whether reductions give more for a row than a vector (filters of images).
  bool reduces_tensors() const { return reduces_tensors_; }

 private:
  bool has_rows(const te::BufferRef& buffer) const {
    switch (buffer.kind) {
      case te::BufferRef::Kind::kInput: return is_row_[buffer.index];
      case te::BufferRef::Kind::kStage: return are_rows_[buffer.index];
      default: return false;
    }
  }

  static bool is_row_axis(const Expr& expr) {
    const auto* variable = te::as<te::Var>(expr);
    return variable && variable->kind == te::VarKind::kSpatial && variable->index == 0;
  }

  /// Whether it asks for the row's number only to read rows there.
  bool stays_in_row(const Expr& expr, bool in_rows) const {
    if (te::as<te::Symbol>(expr) || (in_rows && is_row_axis(expr))) return false;
    const auto* load = te::as<te::Load>(expr);
    if (!load) {
      return std::ranges::all_of(te::detail::children(expr),
                                 [&](const Expr& child) { return stays_in_row(child, in_rows); });
    }
    const bool is_row = has_rows(load->buffer);
    if (is_row && !(in_rows && is_row_axis(load->index[0]))) return false;
    return std::all_of(load->index.begin() + (is_row ? 1 : 0), load->index.end(),
                       [&](const Expr& index) { return stays_in_row(index, in_rows); });
  }

  const te::Program& program_;
  const std::vector<bool>& is_row_;
  std::vector<bool> are_rows_;  ///< stages so far
  bool reduces_tensors_ = false;
};

/// Nodes that one loop may run.
struct Cluster {
  std::string rows;
  std::vector<NodeId> nodes;
  double work = 0;
  bool reduces_tensors = false;
  std::set<ValueId> made;    ///< by them
  std::set<ValueId> behind;  ///< by others, of what they made
};

class RowFinder {
 public:
  explicit RowFinder(const Graph& graph) : graph_(graph) {}

  Result<std::vector<Cluster>> find() {
    TRY(const std::vector<NodeId> order, topological_order(graph_));
    for (const NodeId id : order) add(id);
    for (auto& [rows, cluster] : open_) clusters_.push_back(std::move(cluster));
    return std::move(clusters_);
  }

 private:
  void add(NodeId id) {
    const Node& node = graph_.node(id);
    const auto reads = [&](const std::set<ValueId>& values) {
      const auto is_in = [&](ValueId value) { return value.valid() && values.contains(value); };
      return std::ranges::any_of(node.inputs, is_in) || std::ranges::any_of(node.captures, is_in);
    };
    const std::string rows = rows_of(node);
    bool reduces_tensors = false;
    const std::optional<double> work = rows.empty() ? std::nullopt : work_on_row(id, reduces_tensors);
    if (work) {
      auto [cluster, is_new] = open_.try_emplace(rows);
      if (reads(cluster->second.behind)) {
        clusters_.push_back(std::move(cluster->second));
        cluster->second = {};
      }
      cluster->second.rows = rows;
      cluster->second.nodes.push_back(id);
      cluster->second.work += *work;
      cluster->second.reduces_tensors |= reduces_tensors;
      cluster->second.made.insert(node.outputs.begin(), node.outputs.end());
    }
    for (auto& [other, cluster] : open_)
      if (!(work && other == rows) && (reads(cluster.made) || reads(cluster.behind)))
        cluster.behind.insert(node.outputs.begin(), node.outputs.end());
  }

  /// The rows of all that the node makes; "" where it is no candidate.
  std::string rows_of(const Node& node) const {
    if (node.is_opaque() || node.op->control || !node.op->compute || node.outputs.empty()) return "";
    std::string rows;
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      const std::string its = search::rows_of(graph_, output);
      if (its.empty() || (!rows.empty() && its != rows)) return "";
      rows = its;
    }
    bool reads_rows = false;
    for (const ValueId input : node.inputs) {
      if (!input.valid()) continue;
      const bool is_row = search::rows_of(graph_, input) == rows;
      if (!is_row && !is_known(graph_, input)) return "";
      reads_rows |= is_row;
    }
    return reads_rows ? rows : "";
  }

  std::optional<double> work_on_row(NodeId id, bool& reduces_tensors) const {
    const auto program = graph_.node(id).op->compute(context_of(graph_, id));
    if (!program.ok()) return std::nullopt;
    std::vector<bool> is_row;
    for (const ValueId input : graph_.node(id).inputs)
      is_row.push_back(input.valid() && !search::rows_of(graph_, input).empty());
    RowProgram rows(*program, is_row);
    const std::optional<double> work = rows.work();
    reduces_tensors = rows.reduces_tensors();
    return work;
  }

  const Graph& graph_;
  std::map<std::string, Cluster> open_;
  std::vector<Cluster> clusters_;
};

RowNodes row_nodes(const Graph& graph, const Cluster& cluster) {
  RowNodes result{cluster.nodes, {}, {}};
  std::set<ValueId> elsewhere(graph.outputs().begin(), graph.outputs().end());
  const std::set<NodeId> members(cluster.nodes.begin(), cluster.nodes.end());
  for (const NodeId id : graph.nodes()) {
    if (members.contains(id)) continue;
    for (const auto* list : {&graph.node(id).inputs, &graph.node(id).captures})
      elsewhere.insert(list->begin(), list->end());
  }
  for (const NodeId id : cluster.nodes) {
    for (const ValueId input : graph.node(id).inputs)
      if (input.valid() && !cluster.made.contains(input) && rows_of(graph, input) == cluster.rows &&
          std::ranges::find(result.rows, input) == result.rows.end())
        result.rows.push_back(input);
    for (const ValueId output : graph.node(id).outputs)
      if (output.valid() && elsewhere.contains(output)) result.outputs.push_back(output);
  }
  return result;
}

}  // namespace

Result<int> compute_some_rows_at_a_time(Graph& graph) {
  TRY(const std::vector<Cluster> clusters, RowFinder(graph).find());
  int loops = 0;
  for (const Cluster& cluster : clusters) {
    if (cluster.work < kLeastWork || !cluster.reduces_tensors) continue;
    const RowNodes rows = row_nodes(graph, cluster);
    if (rows.rows.empty() || rows.outputs.empty()) continue;
    // What can't be made so stays as it was; so does what another loop both reads and is read by.
    Graph made = graph;
    if (!loop_over_rows(made, rows, rows_at_once(cluster.work)).ok() || !topological_order(made).ok()) continue;
    graph = std::move(made);
    ++loops;
  }
  return loops;
}

}  // namespace isomer::search
