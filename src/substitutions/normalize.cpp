#include "substitutions/normalize.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <optional>

#include "graph/passes/contract.h"
#include "graph/passes/edit.h"
#include "substitutions/apply.h"
#include "substitutions/constant_values.h"
#include "substitutions/derivation.h"
#include "substitutions/shipped.h"
#include "util/check.h"

namespace isomer::substitutions {
namespace {

using verify::Pattern;

/// Steps in a run at most, and programs that are looked at for one.
constexpr size_t kLongestRun = 16;
constexpr size_t kMostPrograms = 64;

/// A number as large as a mask's would overflow what it is multiplied with.
constexpr double kLargestNumber = 0x1p40;

bool is_constant(const Program& program, int application) {
  const Program::Application& there = program.application(application);
  return there.operation != Program::kOpaque && there.value_count > 0 && program.value(there.first_value).is_constant;
}

/// Applications of a pattern that have to be computed for each input, where variables stand for these values.
int operators_of(const Pattern& pattern, const Program& program, const verify::SlotValues& values,
                 const std::map<const OpDef*, int>& weights, bool& is_constant) {
  if (pattern.kind != Pattern::Kind::kApplication) {
    is_constant = pattern.kind == Pattern::Kind::kNumber ||
                  program.value(values.tensors[static_cast<size_t>(pattern.variable)]).is_constant;
    return 0;
  }
  int result = 0;
  is_constant = true;
  for (const Pattern& argument : pattern.arguments) {
    bool is_constant_here = false;
    result += operators_of(argument, program, values, weights, is_constant_here);
    is_constant = is_constant && is_constant_here;
  }
  if (is_constant) return result;
  const auto weight = weights.find(pattern.op);
  return result + (weight == weights.end() ? 1 : weight->second);
}

/// The operators that an operator is written out as, of which the first variable of the rule is computed.
int spelled_out(const verify::Term& term, const std::string& variable, bool& contains) {
  contains = false;
  if (const auto* there = term.as_variable()) contains = there->name == variable;
  const auto* application = term.as_application();
  if (!application) return 0;
  int result = 0;
  for (const verify::Term& argument : application->arguments) {
    bool contains_here = false;
    result += spelled_out(argument, variable, contains_here);
    contains = contains || contains_here;
  }
  return result + (contains ? 1 : 0);
}

/// Operators that a rule writes out as several count for as many.
std::map<const OpDef*, int> weights_of(const std::vector<Rule>& rules) {
  std::map<const OpDef*, int> result;
  for (const Rule& rule : rules) {
    const auto* source = rule.outputs.front().left.as_application();
    if (!source || source->arguments.empty() ||
        !std::all_of(source->arguments.begin(), source->arguments.end(),
                     [](const verify::Term& argument) { return argument.as_variable() != nullptr; }))
      continue;
    bool contains = false;
    const int count = spelled_out(rule.outputs.front().right, source->arguments.front().as_variable()->name, contains);
    if (count > 1) result[source->op] = std::max(result[source->op], count);
  }
  return result;
}

}  // namespace

/// Looks for runs in one program after the other.
class Normalizer::Search {
 public:
  Search(Normalizer& owner, const NormalizeLimits& limits, const Program& program)
      : owner_(owner), rules_(owner.substitutions_), limits_(limits), program_(program), values_(limits.threads) {}

  Result<Normalized> run() {
    const auto order = program_.order();
    CHECK(order) << "a program without cycle expected";
    std::deque<int> open(order->begin(), order->end());
    while (!open.empty()) {
      const int application = open.front();
      open.pop_front();
      if (!program_.contains(application) || is_constant(program_, application)) continue;
      const int before = program_.application_count();
      if (!run_from(application)) continue;
      // What the run made may be taken further, and what it began with by another.
      open.push_front(application);
      for (int made = before; made < program_.application_count(); ++made) open.push_back(made);
    }
    std::map<int, Tensor> known;
    for (const int value : computed_constants(program_))
      if (made_.contains(value)) {
        TRY(const te::Array elements, values_.of(program_, value));
        known.emplace(value, te::to_tensor(elements));
      }
    TRY(Graph graph, graph_of(program_, known));
    return Normalized{std::move(program_), std::move(steps_), std::move(runs_), std::move(graph)};
  }

 private:
  /// A program on the way, and the applications that rules are tried at next.
  struct State {
    Program program;
    std::vector<Step> steps;
    std::set<int> near;
  };

  bool run_from(int application) {
    const Measure bound = owner_.measure(program_);
    std::deque<State> open;
    std::set<Hash128> seen;
    size_t programs = 0;
    const auto go_on = [&](const State& state) -> bool {
      for (const Match& match : matches(state, state.steps.empty())) {
        if (++programs > kMostPrograms) return false;
        auto done = apply(state.program, match, rules_);
        auto* rewritten = std::get_if<Rewritten>(&done);
        if (!rewritten) continue;
        const Measure measure = owner_.measure(rewritten->program);
        if (measure.sums > bound.sums || measure.operators > bound.operators) continue;
        State next{std::move(rewritten->program), state.steps, {}};
        next.steps.push_back(step_of(match, rules_));
        if (measure < bound && take(next)) return true;
        if (next.steps.size() == kLongestRun) continue;
        if (seen.empty()) seen.insert(program_.hash());
        if (!seen.insert(next.program.hash()).second) continue;
        next.near = state.near;
        next.near.insert(rewritten->built.begin(), rewritten->built.end());
        next.near.insert(match.applications.begin(), match.applications.end());
        std::erase_if(next.near,
                      [&](int each) { return !next.program.contains(each) || is_constant(next.program, each); });
        open.push_back(std::move(next));
      }
      return false;
    };
    if (go_on({program_, {}, {application}})) return true;
    while (!open.empty() && programs < kMostPrograms) {
      const State state = std::move(open.front());
      open.pop_front();
      if (go_on(state)) return true;
    }
    return false;
  }

  /// Those that may be steps: rooted at an application that is looked at, later also at one that reads it.
  std::vector<Match> matches(const State& state, bool is_first) {
    std::set<int> roots = state.near;
    if (!is_first) {
      const Program::Uses uses = state.program.uses();
      for (const int near : state.near) {
        const Program::Application& there = state.program.application(near);
        for (int k = 0; k < there.value_count; ++k)
          for (const int reader : uses.of(there.first_value + k)) roots.insert(reader);
      }
    }
    std::vector<Match> result;
    for (const int root : roots)
      for (Match& match : rules_.matches_at(state.program, root))
        if (may_be_step(state.program, match)) result.push_back(std::move(match));
    return result;
  }

  bool may_be_step(const Program& program, const Match& match) const {
    const Substitution& rule = rules_[match.substitution];
    if (!limits_.allows(rule.rule->float_class)) return false;
    bool reads_constant = false;
    for (const int tensor : match.values.tensors) {
      reads_constant = reads_constant || program.value(tensor).is_constant;
      const te::Number* number = program.number(tensor);
      const double size = number ? std::fabs(number->to_double()) : 0;
      if (size != 0 && !(size >= 1 / kLargestNumber && size <= kLargestNumber)) return false;
    }
    for (const int application : match.applications)
      if (limits_.kept.contains(program.application(application).node)) return false;
    int before = 0, after = 0;
    for (size_t k = 0; k < rule.sources.size(); ++k) {
      bool is_constant = false;
      before += operators_of(rule.sources[k], program, match.values, owner_.weights_, is_constant);
      after += operators_of(rule.targets[k], program, match.values, owner_.weights_, is_constant);
    }
    return after < before || (after == before && (reads_constant || rule.depth > 1));
  }

  /// The program becomes that of the state, if its constants keep their precision and may be as large as they are.
  bool take(State& state) {
    const std::set<int> before = computed_constants(program_), given_before = given_constants(program_),
                        given_after = given_constants(state.program);
    int64_t growth = 0;
    std::vector<int> made;
    for (const int value : computed_constants(state.program))
      if (!before.contains(value)) made.push_back(value);
    bool keeps = true;
    for (const int value : made) {
      const auto elements = values_.of(state.program, value);
      keeps = keeps && elements.ok() && keep_precision(*elements);
      if (!keeps) break;
      growth += bytes_of(state.program, value);
    }
    for (const int value : before)
      if (!computed_constants(state.program).contains(value)) growth -= bytes_of(program_, value);
    for (const int value : given_before)
      if (!given_after.contains(value)) growth -= bytes_of(program_, value);
    if (!keeps || (growth > 0 && !limits_.may_grow(growth))) {
      values_.forget_from(program_.value_count());
      return false;
    }
    program_ = std::move(state.program);
    made_.insert(made.begin(), made.end());
    steps_.insert(steps_.end(), std::make_move_iterator(state.steps.begin()),
                  std::make_move_iterator(state.steps.end()));
    runs_.push_back(steps_.size());
    return true;
  }

  static int64_t bytes_of(const Program& program, int value) {
    const ValueType& type = program.theory().signatures().type(program.value(value).type);
    const auto dims = constants(*type.shape);
    return dims ? packed_bytes(type.dtype, element_count(*dims)) : 0;
  }

  Normalizer& owner_;
  Substitutions& rules_;
  const NormalizeLimits& limits_;
  Program program_;
  ConstantValues values_;
  std::set<int> made_;  ///< constants that steps made, known by now
  std::vector<Step> steps_;
  std::vector<size_t> runs_;
};

Normalizer::Normalizer(Theory& theory) : Normalizer(normalizing_rules(theory.axioms()).rules, theory) {}

Normalizer::Normalizer(std::vector<Rule> rules, Theory& theory)
    : rules_(std::move(rules)), substitutions_(rules_, theory, Directions::kForward), weights_(weights_of(rules_)) {}

FloatClass Normalizer::float_class(std::string_view rule) const {
  const auto named = std::find_if(rules_.begin(), rules_.end(), [&](const Rule& each) { return each.name == rule; });
  CHECK(named != rules_.end()) << "a rule of normalization expected, found " << rule;
  return named->float_class;
}

bool Normalizer::sums(const Program& program, int application) {
  const int number = program.application(application).operation;
  if (number == Program::kOpaque) return false;
  const auto at = static_cast<size_t>(number);
  if (at >= sums_.size()) sums_.resize(at + 1);
  if (!sums_[at]) {
    verify::Signatures& signatures = program.theory().signatures();
    const auto& operation = signatures.operation(number);
    std::vector<ValueType> types;
    for (const int argument : program.arguments(application))
      types.push_back(signatures.type(program.value(argument).type));
    const auto there = verify::program_of({operation.op, 0, operation.parameters, "",
                                           std::vector<verify::Term>(types.size(), verify::Term::variable("x"))},
                                          types);
    sums_[at] = there.ok() &&
                std::any_of(there->program.stages.begin(), there->program.stages.end(), [](const te::Stage& stage) {
                  const auto* map = std::get_if<te::MapReduce>(&stage.body);
                  return !map || !map->reduce.empty();
                });
  }
  return *sums_[at];
}

Measure Normalizer::measure(const Program& program) {
  Measure result;
  for (int id = 0; id < program.application_count(); ++id) {
    if (!program.contains(id) || is_constant(program, id)) continue;
    const auto weight = weights_.find(program.op(id));
    result.sums += sums(program, id) ? 1 : 0;
    result.operators += weight == weights_.end() ? 1 : weight->second;
    for (const int argument : program.arguments(id))
      if (argument >= 0 && program.value(argument).producer >= 0 && !program.value(argument).is_constant)
        ++result.operands;
  }
  return result;
}

Result<Normalized> Normalizer::run(const Program& program, const NormalizeLimits& limits) {
  return Search(*this, limits, program).run();
}

Result<int> normalize(Graph& graph, PassContext& context, Normalizer& normalizer) {
  TRY(int changes, for_each_body(graph, [&](Graph& body, NodeId) {
        body.edit_info() = graph.info();
        return normalize(body, context, normalizer);
      }));
  NormalizeLimits limits;
  limits.allows = [&](FloatClass float_class) { return context.allows(float_class); };
  limits.may_grow = [&](int64_t bytes) { return context.may_grow(bytes); };
  TRY(limits.kept, kept_nodes(graph, context));
  limits.threads = context.options.threads;
  TRY(const Program program, program_of(graph, normalizer.theory()));
  TRY(Normalized made, normalizer.run(program, limits));
  if (made.steps.empty()) return changes;
  for (const Step& step : made.steps)
    context.step(step.rule, where(made.program, step.roots), normalizer.float_class(step.rule));
  graph = std::move(made.graph);
  return changes + static_cast<int>(made.runs.size());
}

}  // namespace isomer::substitutions
