#include "search/cost/choose_tasks.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "util/clock.h"
#include "util/stop.h"
#include "verify/check/inputs.h"

namespace isomer::search {
namespace {

/// Tasks that are measured before the clock is looked at, so that several are compiled at a time.
constexpr int kAtOnce = 4;
/// Of the time of the tasks that differ, and of the time of all: less is not worth another choice.
constexpr double kLeastOfDiffering = 0.02, kLeastOfAll = 0.001;

/// A graph as tasks, with what they take.
struct Cut {
  TaskPlan preferences;
  std::vector<Task> tasks;
  std::vector<std::optional<TaskKey>> keys;     ///< by task; nothing: it runs bodies
  std::map<TaskKey, std::vector<size_t>> same;  ///< tasks by key, views aside
};

/// Choices that are alike: the same kind of one between equal tasks.
struct Alike {
  std::vector<TaskChoice> choices;
  std::string what;
  double microseconds = 0;  ///< of the tasks around it, in all places
};

class Chooser {
 public:
  Chooser(const Graph& graph, const CompileOptions& compile, TaskTimer& timer, const ChooseTasksOptions& options)
      : graph_(graph),
        compile_(compile),
        timer_(timer),
        options_(options),
        end_(Clock::now() +
             std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds))) {}

  Result<ChosenTasks> run() {
    const auto done = choose();
    if (!done.ok() && done.error().kind != ErrorKind::kStopped) return Error(done.error());
    if (!done.ok()) {
      forget_stop();
      result_.is_interrupted = true;
    }
    return std::move(result_);
  }

 private:
  Result<void> choose() {
    TRY(cut_, cut(plan_));
    TRY_VOID(measure(cut_));
    for (;;) {
      TRY_VOID(check_stop());
      const auto kinds = untried();
      result_.open = 0;
      for (const auto& [signature, kind] : kinds) result_.open += static_cast<int>(kind.choices.size());
      if (kinds.empty() || Clock::now() >= end_) break;
      const auto dearest = std::max_element(kinds.begin(), kinds.end(), [](const auto& a, const auto& b) {
        return a.second.microseconds < b.second.microseconds;
      });
      tried_.insert(dearest->first);
      TRY_VOID(try_other(dearest->second));
    }
    if (!plan_.empty()) TRY_VOID(race_whole());
    return {};
  }

  Result<Cut> cut(const TaskPlan& plan) {
    Cut made;
    TaskDecider decider(plan);
    TRY(made.tasks, tasks_of(graph_, compile_, Surroundings::kWhole, decider, timer_.table()));
    made.preferences = decider.preferences();
    for (size_t t = 0; t < made.tasks.size(); ++t) {
      made.keys.emplace_back();
      if (made.tasks[t].runs_bodies) continue;
      TRY(const LoweredTask* const lowered, timer_.table().lowered(graph_, made.tasks[t]));
      if (lowered->is_open) continue;
      TRY(made.keys.back(), timer_.key(graph_, made.tasks[t]));
      if (!made.keys.back()->is_view) made.same[*made.keys.back()].push_back(t);
    }
    return made;
  }

  /// All of its tasks that can be, as long as there is time: others stay as they are.
  Result<void> measure(const Cut& cut) {
    std::vector<TaskOf> tasks;
    for (const auto& [key, same] : cut.same) tasks.push_back({&graph_, &cut.tasks[same.front()]});
    const auto at_once = static_cast<size_t>(std::max(kAtOnce, 2 * compile_.threads));
    for (std::span<const TaskOf> rest = tasks; !rest.empty() && Clock::now() < end_;) {
      const auto part = rest.first(std::min(rest.size(), at_once));
      for (const auto& time : timer_.measure(part))
        if (!time.ok() && time.error().kind == ErrorKind::kStopped) return Error(time.error());
      rest = rest.subspan(part.size());
    }
    return {};
  }

  double time(const TaskKey& key) { return timer_.known(key).value_or(0); }

  double total(const Cut& cut) {
    double sum = 0;
    for (const auto& [key, same] : cut.same) sum += static_cast<double>(same.size()) * time(key);
    return sum;
  }

  bool current(const TaskChoice& choice) const {
    const auto planned = plan_.find(choice);
    return planned != plan_.end() ? planned->second : cut_.preferences.at(choice);
  }

  /// By signature.
  std::map<std::string, Alike> untried() {
    std::map<ValueId, std::set<size_t>> around;  // tasks, by value that they read or write, or hold
    std::set<ValueId> moved;                     // values that change their layout
    for (size_t t = 0; t < cut_.tasks.size(); ++t) {
      const Task& task = cut_.tasks[t];
      for (const auto* list : {&task.inputs, &task.outputs})
        for (const ValueId value : *list)
          if (value.valid()) around[value].insert(t);
      for (const NodeId id : task.nodes)
        for (const ValueId value : graph_.node(id).outputs)
          if (value.valid()) around[value].insert(t);
      if (task.nodes.empty()) moved.insert(task.outputs[0]);
    }
    std::map<std::string, Alike> kinds;
    for (const auto& [choice, preferred] : cut_.preferences) {
      // Layouts are a matter of where they change.
      if (choice.kind == TaskChoice::Kind::kChannelsLast && !touches(moved, around[choice.value])) continue;
      if (taken_.contains(choice)) continue;
      std::string signature = fmt::format("{}{}", static_cast<int>(choice.kind), current(choice) ? "+" : "-");
      double microseconds = 0;
      for (const size_t t : around[choice.value]) {
        const auto& key = cut_.keys[t];
        if (!key) continue;
        signature += " " + (key->is_view ? cut_.tasks[t].name(graph_) : key->hash.hex());
        microseconds += key->is_view ? 0 : time(*key);
      }
      if (tried_.contains(signature)) continue;
      Alike& kind = kinds[signature];
      kind.choices.push_back(choice);
      kind.microseconds += microseconds;
      if (kind.what.empty()) kind.what = describe(choice);
    }
    return kinds;
  }

  bool touches(const std::set<ValueId>& moved, const std::set<size_t>& tasks) const {
    return std::any_of(tasks.begin(), tasks.end(), [&](size_t t) {
      const Task& task = cut_.tasks[t];
      const auto is_moved = [&](ValueId value) { return moved.contains(value); };
      return std::any_of(task.inputs.begin(), task.inputs.end(), is_moved) ||
             std::any_of(task.outputs.begin(), task.outputs.end(), is_moved);
    });
  }

  std::string describe(const TaskChoice& choice) const {
    std::string maker, readers;
    for (const Task& task : cut_.tasks) {
      if (std::count(task.outputs.begin(), task.outputs.end(), choice.value) > 0 && !task.nodes.empty())
        maker = task.name(graph_);
      if (std::count(task.inputs.begin(), task.inputs.end(), choice.value) > 0 && !task.nodes.empty())
        readers += (readers.empty() ? "" : ", ") + task.name(graph_);
    }
    if (choice.kind == TaskChoice::Kind::kChannelsLast)
      return fmt::format("{} {}", maker, current(choice) ? "row-major" : "channels last");
    if (!current(choice)) return fmt::format("{} together with {}", maker, readers);
    for (const Task& task : cut_.tasks)
      for (const NodeId id : task.nodes)
        for (const ValueId output : graph_.node(id).outputs)
          if (output == choice.value)
            return fmt::format("{} cut behind {}", task.name(graph_), graph_.node(id).op_type);
    return "";
  }

  Result<void> try_other(const Alike& kind) {
    TaskPlan plan = plan_;
    TaskAlternative& told = result_.alternatives.emplace_back();
    told.what = kind.what;
    told.places = static_cast<int>(kind.choices.size());
    for (const TaskChoice& choice : kind.choices) {
      const bool other = !current(choice);
      told.answers.push_back(graph_.value(choice.value).name + "=" + std::string(answer(choice.kind, other)));
      if (cut_.preferences.at(choice) == other)
        plan.erase(choice);
      else
        plan[choice] = other;
    }
    const auto done = compare(plan, kind.choices, told);
    if (!done.ok() && done.error().kind == ErrorKind::kStopped) return done;
    if (!done.ok()) told.why_not = done.error().message();
    if (options_.log)
      options_.log(told.why_not.empty()
                       ? fmt::format("{} ({} times): {:.1f} us before, {:.1f} us after{}", told.what, told.places,
                                     told.before, told.after, told.is_taken ? ", taken" : "")
                       : fmt::format("{} ({} times): {}", told.what, told.places, told.why_not));
    return {};
  }

  /// Takes the plan, in which these were made otherwise, where it is better.
  Result<void> compare(const TaskPlan& plan, const std::vector<TaskChoice>& choices, TaskAlternative& told) {
    TRY(Cut other, cut(plan));
    std::vector<TaskOf> differing;
    for (const auto* side : {&cut_, &other}) {
      const Cut& opposite = side == &cut_ ? other : cut_;
      for (const auto& [key, same] : side->same) {
        const auto there = opposite.same.find(key);
        if (there == opposite.same.end() || there->second.size() != same.size())
          differing.push_back({&graph_, &side->tasks[same.front()]});
      }
    }
    for (const auto& time : timer_.measure(differing)) TRY_VOID(time);
    const auto is_better = [&] {
      const double all = total(cut_), gain = all - total(other);
      sum_up(other, told);
      return gain > std::max(kLeastOfDiffering * told.before, kLeastOfAll * all);
    };
    if (!is_better()) return {};
    // A measurement that was disturbed was too long.
    for (const auto& time : timer_.measure_again(differing)) TRY_VOID(time);
    if (!is_better()) return {};
    told.is_taken = true;
    for (const TaskChoice& choice : choices) taken_.insert(choice);
    plan_ = plan;
    cut_ = std::move(other);
    return {};
  }

  /// What differs, before and after.
  void sum_up(const Cut& other, TaskAlternative& told) {
    const auto sum = [&](const Cut& side, const Cut& opposite) {
      double microseconds = 0;
      for (const auto& [key, same] : side.same) {
        const auto there = opposite.same.find(key);
        const size_t both = there == opposite.same.end() ? 0 : std::min(there->second.size(), same.size());
        microseconds += static_cast<double>(same.size() - both) * time(key);
      }
      return microseconds;
    };
    told.before = sum(cut_, other);
    told.after = sum(other, cut_);
  }

  Result<void> race_whole() {
    CompileOptions preferred = compile_, chosen = compile_;
    preferred.plan = {};
    chosen.plan = plan_;
    TRY(result_.raced, race_code(graph_, preferred, chosen, options_.race));
    if (result_.raced->ratio > 1 && result_.raced->is_told_apart()) result_.plan = plan_;
    return {};
  }

  const Graph& graph_;
  const CompileOptions& compile_;
  TaskTimer& timer_;
  const ChooseTasksOptions& options_;
  const Clock::time_point end_;
  TaskPlan plan_;
  Cut cut_;  ///< by the plan
  std::set<std::string> tried_;
  std::set<TaskChoice> taken_;
  ChosenTasks result_;
};

}  // namespace

Result<Raced> race_code(const Graph& graph, const CompileOptions& first, const CompileOptions& second,
                        RaceOptions options) {
  TRY(const std::vector<Tensor> inputs, generate_inputs(graph, {.seed = first.seed, .memory = first.memory}));
  const auto made = [&](const CompileOptions& with) -> Result<std::unique_ptr<Runner>> {
    TRY(Compilation compiled, compile(graph, with));
    return runner_of(std::move(compiled), inputs, with.threads, with.memory);
  };
  TRY(const auto one, made(first));
  TRY(const auto other, made(second));
  options.threads = first.threads;
  return race(*one, *other, options);
}

Result<ChosenTasks> choose_tasks(const Graph& graph, const CompileOptions& compile, TaskTimer& timer,
                                 const ChooseTasksOptions& options) {
  return Chooser(graph, compile, timer, options).run();
}

}  // namespace isomer::search
