#include "graph/passes/pipeline.h"

#include <algorithm>
#include <map>

#include "graph/algorithms.h"
#include "graph/edit.h"
#include "graph/passes/compose_movement.h"
#include "graph/passes/contract.h"
#include "graph/passes/drop_defaults.h"
#include "graph/passes/fold_constants.h"
#include "graph/passes/merge_casts.h"
#include "graph/passes/merge_equal.h"
#include "graph/passes/remove_dead.h"
#include "graph/passes/remove_identities.h"
#include "graph/passes/shrink_constants.h"
#include "graph/passes/simplify_shapes.h"
#include "graph/passes/spell_out.h"
#include "graph/passes/take_branches.h"
#include "util/check.h"
#include "util/clock.h"
#include "util/stop.h"

namespace isomer {
namespace {

struct Pass {
  std::string_view name;
  PassFunction run;  ///< nullptr: PassOptions::normalize, where there is one
};

/// Bit for bit.
constexpr Pass kSimplify[] = {
    {"remove dead", remove_dead},
    {"fold constants", fold_constants},
    {"take branches", take_branches},
    {"shrink constants", shrink_constants},
    {"remove identities", remove_identities},
    {"drop defaults", drop_defaults},
    {"merge casts", merge_casts},
    {"simplify shapes", simplify_shapes},
    {"compose movement", compose_movement},
    {"merge equal", merge_equal},
};

/// Equal in the reals.
constexpr Pass kFold[] = {{"normalize", nullptr}};

constexpr Pass kContract[] = {{"contract", contract}};
constexpr Pass kSpellOut[] = {{"spell out", spell_out}};

/// What no pass may change.
struct Interface {
  struct Port {
    std::string name;
    ValueType type;
    std::optional<ValueType> declared;
    bool operator==(const Port&) const = default;
  };
  std::vector<Port> inputs, outputs;

  explicit Interface(const Graph& graph) {
    const auto ports = [&](const std::vector<ValueId>& ids) {
      std::vector<Port> list;
      for (const ValueId id : ids)
        list.push_back({graph.value(id).name, graph.value(id).type, graph.value(id).declared});
      return list;
    };
    inputs = ports(graph.inputs());
    outputs = ports(graph.outputs());
  }
};

/// An output may be known better afterwards; what was known must still hold.
bool agrees(const ValueType& before, const ValueType& after) {
  if (before.kind == ValueType::Kind::kUnknown || !before.is_tensor()) return true;
  return after.is_tensor() && before.dtype == after.dtype &&
         (!before.shape || !after.shape || before.shape->size() == after.shape->size());
}

void check_interface(const Interface& before, const Graph& graph) {
  const Interface after(graph);
  CHECK(before.inputs == after.inputs) << "a pass changed the inputs";
  CHECK(before.outputs.size() == after.outputs.size()) << "a pass changed the number of outputs";
  for (size_t i = 0; i < before.outputs.size(); ++i) {
    const auto &was = before.outputs[i], &is = after.outputs[i];
    CHECK(was.name == is.name && was.declared == is.declared && agrees(was.type, is.type))
        << "a pass changed output " << was.name << " of type " << was.type.text() << " to " << is.name << " of type "
        << is.type.text();
  }
}

class Pipeline {
 public:
  Pipeline(Graph& graph, const PassOptions& options)
      : graph_(graph), options_(options), context_(options, report_.steps), interface_(graph) {
    report_.nodes_before = count_nodes(graph);
    report_.weights_before = count_bytes(graph);
  }

  /// The graph is what another pipeline has, whose options are the same: what changed nothing there is not run again.
  /// Runs are counted on.
  void go_on_from(const Pipeline& other) {
    settled_ = other.settled_;
    version_ = other.version_;
    report_.runs = other.report_.runs;
    report_.last_pass = other.report_.last_pass;
  }

  /// One list after the other, again and again until a whole round changes nothing.
  Result<void> to_fixpoint(std::initializer_list<std::span<const Pass>> lists) {
    for (int round = 0; round < options_.max_rounds; ++round) {
      int changes = 0;
      context_.set_growth_left(options_.max_growth - (count_bytes(graph_) - report_.weights_before));
      for (const auto& passes : lists)
        for (const Pass& pass : passes) {
          TRY(const int changed, run(pass));
          changes += changed;
        }
      if (changes == 0) {
        report_.stop_reason = "nothing left to change";
        return {};
      }
      // What folding made constant may fix shapes and contents further on.
      TRY_VOID(infer_all(graph_));
      ++version_;
    }
    report_.stop_reason = fmt::format("{} rounds", options_.max_rounds);
    return {};
  }

  Result<void> once(std::span<const Pass> passes) {
    for (const Pass& pass : passes) {
      const auto done = run(pass);
      if (!done.ok()) return done.error();
    }
    return {};
  }

  /// Composites are found before arithmetic is folded, which would take them apart.
  Result<void> simplify() {
    if (options_.level == 0) return {};
    TRY_VOID(infer_all(graph_));
    TRY_VOID(to_fixpoint({kSimplify}));
    if (options_.level == 1) return {};
    TRY_VOID(once(kContract));
    return to_fixpoint({kSimplify, kFold});
  }

  Result<void> spell_out() {
    if (options_.level < 2) return {};
    TRY_VOID(once(kSpellOut));
    return to_fixpoint({kSimplify});
  }

  Result<void> contract() {
    if (options_.level < 2) return {};
    TRY_VOID(once(kContract));
    return to_fixpoint({kSimplify});
  }

  int nodes() const { return count_nodes(graph_); }
  /// Whether no more passes may run.
  bool is_cut_off() const { return report_.runs == options_.most_runs; }

  OptimizeReport finish() {
    check_interface(interface_, graph_);
    report_.nodes_after = count_nodes(graph_);
    report_.weights_after = count_bytes(graph_);
    report_.seconds = seconds_since(start_);
    return std::move(report_);
  }

 private:
  Result<int> run(const Pass& pass) {
    TRY_VOID(check_stop());
    if (is_cut_off() || (!pass.run && !options_.normalize)) return 0;
    if (std::find(options_.without.begin(), options_.without.end(), pass.name) != options_.without.end()) return 0;
    if (const auto settled = settled_.find(pass.name); settled != settled_.end() && settled->second == version_)
      return 0;
    ++report_.runs;
    report_.last_pass = pass.name;
    const auto start = Clock::now();
    const int nodes = graph_.node_count();
    const size_t steps = report_.steps.size();
    Graph changed = graph_;
    context_.was_refused();
    const auto done = pass.run ? pass.run(changed, context_) : options_.normalize(changed, context_);
    if (!done.ok()) {
      report_.steps.resize(steps);
      const std::string why = fmt::format("{}: {}", pass.name, done.error().message());
      if (std::find(report_.skipped.begin(), report_.skipped.end(), why) == report_.skipped.end())
        report_.skipped.push_back(why);
      return 0;
    }
    if (*done) graph_ = std::move(changed);
    if (*done) ++version_;
    // What might not grow may do so later.
    if (!*done && !context_.was_refused()) settled_[pass.name] = version_;
    if (*done && options_.on_change) TRY_VOID(options_.on_change(pass.name, graph_));
    auto known = std::find_if(report_.passes.begin(), report_.passes.end(),
                              [&](const auto& each) { return each.pass == pass.name; });
    if (known == report_.passes.end()) known = report_.passes.insert(known, {std::string(pass.name), 0, 0, 0, 0});
    const double seconds = seconds_since(start);
    ++known->runs;
    known->changes += *done;
    known->nodes_removed += nodes - graph_.node_count();
    known->seconds += seconds;
    if (options_.log)
      options_.log(*done ? fmt::format("{}: {} changes, {} -> {} nodes, {:.1f} ms", pass.name, *done, nodes,
                                       graph_.node_count(), 1e3 * seconds)
                         : fmt::format("{} (unchanged), {:.1f} ms", pass.name, 1e3 * seconds));
    return *done;
  }

  Graph& graph_;
  const PassOptions& options_;
  OptimizeReport report_;
  PassContext context_;
  Interface interface_;
  int version_ = 0;                               ///< of the graph
  std::map<std::string_view, int> settled_ = {};  ///< passes that changed nothing, and in which version
  Clock::time_point start_ = Clock::now();
};

}  // namespace

bool is_pass(std::string_view name) {
  for (const std::span<const Pass> passes : {std::span<const Pass>(kSimplify), std::span<const Pass>(kFold),
                                             std::span<const Pass>(kContract), std::span<const Pass>(kSpellOut)})
    for (const Pass& pass : passes)
      if (pass.name == name) return true;
  return false;
}

Result<OptimizeReport> canonicalize(Graph& graph, const PassOptions& options) {
  Graph changed = graph;
  Pipeline pipeline(changed, options);
  TRY_VOID(pipeline.simplify());
  TRY_VOID(pipeline.spell_out());
  OptimizeReport report = pipeline.finish();
  graph = std::move(changed);
  return report;
}

Result<OptimizeReport> optimize(Graph& graph, const PassOptions& options) {
  Graph simplified = graph;
  Pipeline pipeline(simplified, options);
  TRY_VOID(pipeline.simplify());
  TRY_VOID(pipeline.contract());
  // What written-out composites uncover is kept only if it is worth nodes: else they stay as the model has them.
  PassOptions unseen = options;
  unseen.on_change = nullptr;
  Graph uncovered = simplified;
  Pipeline again(uncovered, unseen);
  again.go_on_from(pipeline);
  TRY_VOID(again.spell_out());
  TRY_VOID(again.contract());
  OptimizeReport report = pipeline.finish();
  // What is cut off half-way is wanted as it is then.
  if (again.nodes() < report.nodes_after || again.is_cut_off()) {
    if (options.on_change) {
      Graph seen = simplified;
      Pipeline once_more(seen, options);
      TRY_VOID(once_more.spell_out());
      TRY_VOID(once_more.contract());
    }
    const OptimizeReport more = again.finish();
    report.steps.insert(report.steps.end(), more.steps.begin(), more.steps.end());
    report.passes.insert(report.passes.end(), more.passes.begin(), more.passes.end());
    report.runs = more.runs;
    report.last_pass = more.last_pass;
    report.nodes_after = more.nodes_after;
    report.weights_after = more.weights_after;
    report.seconds += more.seconds;
    simplified = std::move(uncovered);
  }
  graph = std::move(simplified);
  return report;
}

}  // namespace isomer
