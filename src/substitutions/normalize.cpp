#include "substitutions/normalize.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>

#include "graph/edit.h"
#include "graph/passes/contract.h"
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

/// What a program is that comes from another by changing some applications: equal for programs that come from the same
/// one and compute the same, however what is new in them is numbered.
class Difference {
 public:
  Difference(const Program& program, const std::set<int>& changed) : program_(program), changed_(changed) {}

  Hash128 hash() {
    enum : uint64_t { kGone, kThere, kOutputs };
    std::set<Hash128> parts;
    for (const int application : changed_)
      parts.insert(program_.contains(application)
                       ? Hasher().add(uint64_t{kThere}).add(of(application)).finish()
                       : Hasher().add(uint64_t{kGone}).add(static_cast<uint64_t>(application)).finish());
    Hasher hasher;
    for (const Hash128& part : parts) hasher.add(part);
    hasher.add(uint64_t{kOutputs});
    for (const int output : program_.outputs()) hasher.add(of_value(output));
    return hasher.finish();
  }

 private:
  Hash128 of_value(int value) {
    if (value < 0) return Hash128();
    const Program::Value& there = program_.value(value);
    if (there.producer < 0) return Hasher().add(uint64_t{0}).add(static_cast<uint64_t>(there.index)).finish();
    if (!changed_.contains(there.producer)) return Hasher().add(uint64_t{1}).add(static_cast<uint64_t>(value)).finish();
    return Hasher().add(uint64_t{2}).add(of(there.producer)).add(static_cast<uint64_t>(there.index)).finish();
  }

  Hash128 of(int application) {
    if (const auto known = hashes_.find(application); known != hashes_.end()) return known->second;
    std::vector<Hash128> arguments;
    for (const int argument : program_.arguments(application)) arguments.push_back(of_value(argument));
    if (arguments.size() == 2 && program_.theory().may_commute(program_.op(application)))
      std::sort(arguments.begin(), arguments.end());
    const Program::Application& there = program_.application(application);
    Hasher hasher;
    hasher.add(static_cast<uint64_t>(there.operation));
    if (there.operation == Program::kOpaque) hasher.add(static_cast<uint64_t>(there.node.index));
    for (const Hash128& argument : arguments) hasher.add(argument);
    return hashes_[application] = hasher.finish();
  }

  const Program& program_;
  const std::set<int>& changed_;
  std::map<int, Hash128> hashes_;
};

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
    TRY(Graph graph, graph_of(program_, known_));
    return Normalized{std::move(program_), std::move(steps_), std::move(runs_), std::move(known_), std::move(graph)};
  }

 private:
  /// A program on the way, the applications that rules are tried at next, and those that are other than before the run.
  struct State {
    Program program;
    std::vector<Step> steps;
    std::set<int> near, changed;
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
        State next{std::move(rewritten->program), state.steps, {}, state.changed};
        next.steps.push_back(step_of(match, rules_));
        if (measure < bound && take(next)) return true;
        if (next.steps.size() == kLongestRun) continue;
        next.changed.insert(rewritten->changed.begin(), rewritten->changed.end());
        if (!seen.insert(Difference(next.program, next.changed).hash()).second) continue;
        next.near = state.near;
        next.near.insert(rewritten->built.begin(), rewritten->built.end());
        next.near.insert(match.applications.begin(), match.applications.end());
        std::erase_if(next.near,
                      [&](int each) { return !next.program.contains(each) || is_constant(next.program, each); });
        open.push_back(std::move(next));
      }
      return false;
    };
    if (go_on({program_, {}, {application}, {}})) return true;
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
    for (int id = 0; !is_first && id < state.program.application_count(); ++id) {
      if (!state.program.contains(id)) continue;
      for (const int argument : state.program.arguments(id))
        if (argument >= 0 && state.near.contains(state.program.value(argument).producer)) roots.insert(id);
    }
    std::vector<Match> result;
    for (const int root : roots)
      for (Match& match :
           rules_.matches_at(state.program, root, [&](const Match& each) { return may_be_step(state.program, each); }))
        result.push_back(std::move(match));
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
    // What only changes places needs a constant to carry, or has nothing else to read.
    return after < before || (after == before && (reads_constant || match.values.tensors.size() == 1));
  }

  /// The program becomes that of the state, if its constants keep their precision and may be as large as they are.
  bool take(State& state) {
    const std::set<int> before = computed_constants(program_), after = computed_constants(state.program),
                        given_before = given_constants(program_), given_after = given_constants(state.program);
    int64_t growth = 0;
    for (const int value : after)
      if (!before.contains(value)) growth += bytes_of(state.program, value);
    for (const int value : before)
      if (!after.contains(value)) growth -= bytes_of(program_, value);
    for (const int value : given_before)
      if (!given_after.contains(value)) growth -= bytes_of(program_, value);
    if (growth > 0 && !limits_.may_grow(growth)) return false;
    std::map<int, Tensor> made;
    bool keeps = true;
    for (const int value : after) {
      if (before.contains(value)) continue;
      const auto elements = values_.of(state.program, value);
      keeps = elements.ok() && keep_precision(*elements);
      if (!keeps) break;
      made.emplace(value, te::to_tensor(*elements));
    }
    values_.forget();
    if (!keeps) return false;
    std::erase_if(known_, [&](const auto& known) { return !after.contains(known.first); });
    known_.merge(made);
    program_ = std::move(state.program);
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
  std::map<int, Tensor> known_;  ///< constants that steps made, rounded once
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

const Normalizer::Cost& Normalizer::cost(const Program& program, int application) {
  const auto at = static_cast<size_t>(program.application(application).operation);
  if (at >= costs_.size()) costs_.resize(at + 1);
  if (costs_[at].operators > 0) return costs_[at];
  verify::Signatures& signatures = program.theory().signatures();
  const auto& operation = signatures.operation(program.application(application).operation);
  std::vector<ValueType> types;
  for (const int argument : program.arguments(application))
    types.push_back(signatures.type(program.value(argument).type));
  const auto there = verify::program_of(
      {operation.op, 0, operation.parameters, "", std::vector<verify::Term>(types.size(), verify::Term::variable("x"))},
      types);
  const auto weight = weights_.find(operation.op);
  costs_[at].operators = weight == weights_.end() ? 1 : weight->second;
  costs_[at].sums =
      there.ok() && std::any_of(there->program.stages.begin(), there->program.stages.end(), [](const te::Stage& stage) {
        const auto* map = std::get_if<te::MapReduce>(&stage.body);
        return !map || !map->reduce.empty();
      });
  return costs_[at];
}

Measure Normalizer::measure(const Program& program) {
  Measure result;
  for (int id = 0; id < program.application_count(); ++id) {
    if (!program.contains(id) || is_constant(program, id)) continue;
    const Cost here = program.application(id).operation == Program::kOpaque ? Cost{1, false} : cost(program, id);
    result.sums += here.sums ? 1 : 0;
    result.operators += here.operators;
    for (const int argument : program.arguments(id))
      if (argument >= 0 && program.value(argument).producer >= 0 && !program.value(argument).is_constant)
        ++result.operands;
  }
  return result;
}

Result<Normalized> Normalizer::run(const Program& program, const NormalizeLimits& limits) {
  return Search(*this, limits, program).run();
}

Result<int> normalize(Graph& graph, PassContext& context, Normalizer& normalizer, const SeeNormalized& see,
                      const BodyPlace& place) {
  std::map<NodeId, int> seen;
  TRY(int changes, for_each_body(graph, [&](Graph& body, NodeId node) {
        BodyPlace inner = place;
        inner.emplace_back(node, seen[node]++);
        return normalize(body, context, normalizer, see, inner);
      }));
  NormalizeLimits limits;
  limits.allows = [&](FloatClass float_class) { return context.allows(float_class); };
  limits.may_grow = [&](int64_t bytes) { return context.may_grow(bytes); };
  TRY(limits.kept, kept_nodes(graph, context));
  limits.threads = context.options.threads;
  TRY(const Program program, program_of(graph, normalizer.theory()));
  TRY(Normalized made, normalizer.run(program, limits));
  if (made.steps.empty()) return changes;
  if (see) TRY_VOID(see(place, program, made, normalizer));
  for (const Step& step : made.steps)
    context.step(step.rule, where(made.program, step.roots), normalizer.float_class(step.rule));
  graph = std::move(made.graph);
  return changes + static_cast<int>(made.runs.size());
}

std::function<Result<int>(Graph&, PassContext&)> normalization(Theory& theory, SeeNormalized see) {
  return [&theory, see = std::move(see)](Graph& graph, PassContext& context) {
    if (!theory.normalizer) theory.normalizer = std::make_shared<Normalizer>(theory);
    return normalize(graph, context, *theory.normalizer, see);
  };
}

}  // namespace isomer::substitutions
