#include "substitutions/derivation/blame.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/passes/pipeline.h"
#include "graph/passes/remove_dead.h"

namespace isomer::substitutions {
namespace {

/// Values of both graphs whose nodes read one of the second graph alone.
std::vector<std::string> first_readers(const Graph& before, const Graph& after) {
  std::set<std::string_view> known;
  for (const ValueId id : before.values()) known.insert(before.value(id).name);
  std::vector<std::string> result;
  for (const NodeId id : after.nodes()) {
    const Node& node = after.node(id);
    const auto is_known = [&](ValueId value) {
      return !value.valid() || after.is_constant(value) || known.contains(after.value(value).name);
    };
    if (std::all_of(node.inputs.begin(), node.inputs.end(), is_known)) continue;
    for (const ValueId output : node.outputs)
      if (output.valid() && known.contains(after.value(output).name)) result.push_back(after.value(output).name);
  }
  return result;
}

/// What computes the values of these names.
Result<Graph> with_outputs(Graph graph, const std::vector<std::string>& names) {
  std::vector<ValueId> outputs;
  for (const std::string& name : names)
    for (const ValueId id : graph.values())
      if (graph.value(id).name == name) outputs.push_back(id);
  graph.set_outputs(std::move(outputs));
  const PassOptions options;
  std::vector<OptimizeStep> steps;
  PassContext context(options, steps);
  TRY_VOID(remove_dead(graph, context));
  return graph;
}

class Bisection {
 public:
  Bisection(const Graph& model, const Derivation& derivation, Theory& theory, const Differ& differ)
      : model_(model), derivation_(derivation), theory_(theory), differ_(differ) {
    for (const Rule& rule : derivation.rules) rules_.emplace(rule.name, &rule);
  }

  Result<std::optional<Blame>> run() {
    TRY(const Start start, start_of(model_, derivation_, theory_));
    TRY(const bool passes_differ, differ_(model_, start.graph));
    if (passes_differ) return in_passes(model_, passes_before(derivation_, theory_), "before the steps");
    if (derivation_.steps.empty()) return std::optional<Blame>();
    TRY(const Graph spelled, graph_of(start.program));
    TRY(const bool spelling_differs, differ_(model_, spelled));
    if (spelling_differs) return std::optional(Blame{"writing composites out", {}, {}, start.graph, spelled});
    TRY(const Program rewritten, after_steps(start.program, derivation_.steps.size()));
    TRY(const Graph graph, graph_of(rewritten));
    TRY(const bool steps_differ, differ_(model_, graph));
    if (steps_differ) return in_steps(start.program);
    TRY(const Derived whole, derived(start, derivation_));
    TRY(const bool end_differs, differ_(model_, whole.graph));
    if (!end_differs) return std::optional<Blame>();
    return in_passes(graph, passes_after(derivation_, start.graph, graph, theory_), "after the steps");
  }

 private:
  /// The least count up to `most` of what is done with which the model differs; with nothing it does not, with all it
  /// does.
  template <class Make>
  Result<int> first_to_differ(int most, const Make& make) const {
    int same = 0, other = most;
    while (other - same > 1) {
      const int middle = same + (other - same) / 2;
      TRY(const Graph graph, make(middle));
      TRY(const bool differs, differ_(model_, graph));
      (differs ? other : same) = middle;
    }
    return other;
  }

  static Result<Graph> after_passes(const Graph& graph, PassOptions options, int runs, OptimizeReport& report) {
    Graph result = graph;
    options.most_runs = runs;
    TRY(report, optimize(result, options));
    return result;
  }

  Result<std::optional<Blame>> in_passes(const Graph& graph, const PassOptions& options, std::string_view place) const {
    OptimizeReport report;
    TRY_VOID(after_passes(graph, options, options.most_runs, report));
    TRY(const int runs,
        first_to_differ(report.runs, [&](int count) { return after_passes(graph, options, count, report); }));
    TRY(Graph before, after_passes(graph, options, runs - 1, report));
    TRY(Graph after, after_passes(graph, options, runs, report));
    const std::string last_pass = report.last_pass;
    return std::optional(Blame{fmt::format("run {} of the passes {} ({})", runs, place, last_pass),
                               {},
                               last_pass,
                               std::move(before),
                               std::move(after)});
  }

  Result<void> take(Program& program, size_t step) const {
    const Step& taken = derivation_.steps[step];
    const auto rule = rules_.find(taken.rule);
    if (rule == rules_.end())
      return Error{ErrorKind::kMismatch, fmt::format("step {}", step + 1),
                   "a rule of the derivation expected, none of this name found"};
    return take_step(program, taken, *rule->second);
  }

  Result<Program> after_steps(Program program, size_t count) const {
    for (size_t k = 0; k < count; ++k) TRY_VOID(take(program, k));
    return program;
  }

  Result<std::optional<Blame>> in_steps(const Program& start) const {
    const auto graph_after = [&](int count) -> Result<Graph> {
      TRY(const Program program, after_steps(start, static_cast<size_t>(count)));
      return graph_of(program);
    };
    TRY(const int count, first_to_differ(static_cast<int>(derivation_.steps.size()), graph_after));
    const auto step = static_cast<size_t>(count) - 1;
    TRY(const Program program, after_steps(start, step));
    const Step& taken = derivation_.steps[step];
    Program rewritten = program;
    TRY_VOID(take(rewritten, step));
    TRY(Graph before, graph_of(program));
    TRY(Graph after, graph_of(rewritten));
    const std::vector<std::string> readers = first_readers(before, after);
    if (!readers.empty()) {
      TRY(Graph cut_before, with_outputs(before, readers));
      TRY(Graph cut_after, with_outputs(after, readers));
      TRY(const bool differs, differ_(cut_before, cut_after));
      if (differs) before = std::move(cut_before), after = std::move(cut_after);
    }
    return std::optional(Blame{fmt::format("step {} ({} {}) at {}", count, taken.rule, taken.is_forward ? "->" : "<-",
                                           where(program, taken.roots)),
                               step,
                               {},
                               std::move(before),
                               std::move(after)});
  }

  const Graph& model_;
  const Derivation& derivation_;
  Theory& theory_;
  const Differ& differ_;
  std::map<std::string_view, const Rule*> rules_;
};

}  // namespace

Result<std::optional<Blame>> blame(const Graph& model, const Derivation& derivation, Theory& theory,
                                   const Differ& differ) {
  return Bisection(model, derivation, theory, differ).run();
}

}  // namespace isomer::substitutions
