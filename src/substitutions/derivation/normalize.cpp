#include "substitutions/derivation/normalize.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <optional>

#include "graph/edit.h"
#include "graph/passes/contract.h"
#include "substitutions/derivation/derivation.h"
#include "substitutions/library/shipped.h"
#include "substitutions/rewrite/apply.h"
#include "substitutions/rewrite/constant_values.h"
#include "substitutions/rewrite/neighbourhood.h"
#include "util/check.h"
#include "util/stop.h"

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
      : owner_(owner),
        rules_(owner.substitutions_),
        limits_(limits),
        program_(program),
        measure_(owner.measure(program)),
        values_(limits.threads) {}

  Result<Normalized> run() {
    const auto order = program_.order();
    CHECK(order) << "a program without cycle expected";
    std::deque<int> open(order->begin(), order->end());
    while (!open.empty()) {
      TRY_VOID(check_stop());
      const int application = open.front();
      open.pop_front();
      if (!program_.contains(application) || is_constant(program_, application)) continue;
      const int before = program_.application_count();
      if (!run_from(application)) continue;
      // What the run made may be taken further, and what it began with by another.
      open.push_front(application);
      for (int made = before; made < program_.application_count(); ++made) open.push_back(made);
    }
    Graph graph = program_.origin().graph;
    if (!steps_.empty()) {
      TRY(graph, graph_of(program_, known_));
    }
    return Normalized{std::move(program_), std::move(steps_), std::move(runs_), std::move(known_), std::move(graph)};
  }

 private:
  /// Where a run stands: what rules are tried at next, what is other than before the run, and how it came here.
  struct Place {
    std::set<int> near, changed;
    int last = -1;  ///< step of the trail
    size_t length = 0;
    Measure measure;
  };
  struct State {
    Program program;
    Place place;
  };
  /// A step of a run, and the one before it.
  using Taken = std::variant<Match, CarriedFactor>;
  struct Trail {
    Taken step;
    int before = -1;
  };

  bool run_from(int application) {
    const Place start{{application}, {}, -1, 0, measure_};
    const std::vector<Match> first = matches(program_, start.near);
    if (first.empty() && !may_carry(program_, application)) return false;
    if (!uses_) uses_ = program_.uses();
    const std::function<bool(NodeId)> is_kept = [&](NodeId node) { return limits_.kept.contains(node); };
    Neighbourhood around(program_, *uses_, is_kept, application);
    auto& barren = owner_.barren_[kind_of(first)];
    for (const auto& [radius, hashes] : barren)
      if (const auto hash = around.hash(radius); hash && hashes.contains(*hash)) return false;
    Reach reach{around, program_.application_count()};
    if (run_from(start, first, reach)) return true;
    if (const auto hash = reach.is_known ? around.hash(reach.farthest + 1) : std::nullopt)
      barren[reach.farthest + 1].insert(*hash);
    return false;
  }

  /// What may be done, and by which rules it would begin.
  Hash128 kind_of(std::span<const Match> first) const {
    Hasher hasher;
    hasher.add(uint64_t{limits_.carries});
    for (const FloatClass each : {FloatClass::kExact, FloatClass::kSignOfZero, FloatClass::kFinite,
                                  FloatClass::kReassociated, FloatClass::kUnsafe})
      hasher.add(uint64_t{limits_.allows(each)});
    for (const Match& match : first) hasher.add(static_cast<uint64_t>(match.substitution));
    return hasher.finish();
  }

  /// How far from where it starts a run looks.
  struct Reach {
    Neighbourhood& around;
    int applications = 0;  ///< before the run
    int farthest = 0;
    bool is_known = true;  ///< false: something else decided, too
  };

  /// Rules that are tried at an application look at those below it, and where they have several sources, at those that
  /// read these.
  void look(const Program& program, int root, Reach& reach) const {
    int beyond = 0;
    for (int k = 0; k < rules_.size(); ++k)
      if (rules_[k].sources.size() > 1 && rules_[k].sources.front().op == program.op(root)) beyond = 2 * rules_.depth();
    std::vector<std::pair<int, int>> open = {{root, rules_.depth()}};
    while (!open.empty()) {
      const auto [application, depth] = open.back();
      open.pop_back();
      if (application < reach.applications) {
        const int distance = reach.around.distance(application);
        reach.is_known = reach.is_known && distance >= 0;
        reach.farthest = std::max(reach.farthest, distance + beyond);
      }
      if (depth == 0) continue;
      for (const int argument : program.arguments(application))
        if (const int producer = argument < 0 ? -1 : program.value(argument).producer; producer >= 0)
          open.emplace_back(producer, depth - 1);
    }
  }

  /// A run that is looked for, the shortest ways first.
  struct Run {
    Reach& reach;
    std::deque<State> open = {};
    std::set<Hash128> seen = {};
    std::vector<Trail> trail = {};
    size_t programs = 0;
  };

  bool run_from(const Place& start, std::span<const Match> first, Reach& reach) {
    Run run{reach};
    for (const int root : start.near) look(program_, root, reach);
    if (go_on(run, program_, start, first)) return true;
    while (!run.open.empty() && run.programs < kMostPrograms) {
      const State state = std::move(run.open.front());
      run.open.pop_front();
      const std::set<int> roots = roots_of(state);
      for (const int root : roots) look(state.program, root, reach);
      if (go_on(run, state.program, state.place, matches(state.program, roots))) return true;
    }
    return false;
  }

  /// By each step that may be next; true: the run is taken.
  bool go_on(Run& run, const Program& program, const Place& place, std::span<const Match> matches) {
    for (const Match& match : matches) {
      if (++run.programs > kMostPrograms) return false;
      auto done = apply(program, match, rules_);
      auto* rewritten = std::get_if<Rewritten>(&done);
      if (!rewritten || !goes_on(program, match, *rewritten)) continue;
      std::set<int> near = place.near;
      near.insert(match.applications.begin(), match.applications.end());
      if (extend(run, program, *rewritten, match, place, std::move(near))) return true;
    }
    for (const int product : place.near) {
      if (!may_carry(program, product)) continue;
      // It looks as far as anything is moved.
      run.reach.is_known = false;
      auto carried = carrier_.find(program, product,
                                   [&](int each) { return !limits_.kept.contains(program.application(each).node); });
      if (!carried) continue;
      if (++run.programs > kMostPrograms) return false;
      auto rewritten = take_step(program, *carried);
      if (rewritten.ok() && extend(run, program, *rewritten, *std::move(carried), place, {})) return true;
    }
    return false;
  }

  /// By a step, if it does not make too much: the run is taken (true) or goes on from there later.
  bool extend(Run& run, const Program& program, Rewritten& rewritten, Taken step, const Place& place,
              std::set<int> near) {
    const Measure measure = after(place.measure, program, rewritten);
    if (measure.sums > measure_.sums || measure.operators > measure_.operators) return false;
    run.trail.push_back({std::move(step), place.last});
    Place next{std::move(near), place.changed, static_cast<int>(run.trail.size()) - 1, place.length + 1, measure};
    if (measure < measure_) {
      if (take(rewritten.program, next, run.trail)) return true;
      // What constants hold was not to be lost.
      run.reach.is_known = false;
    }
    if (next.length == kLongestRun) return false;
    next.changed.insert(rewritten.changed.begin(), rewritten.changed.end());
    if (!run.seen.insert(Difference(rewritten.program, next.changed).hash()).second) return false;
    next.near.insert(rewritten.built.begin(), rewritten.built.end());
    std::erase_if(next.near,
                  [&](int each) { return !rewritten.program.contains(each) || is_constant(rewritten.program, each); });
    run.open.push_back({std::move(rewritten.program), std::move(next)});
    return false;
  }

  /// Applications that are looked at, and those that read them.
  static std::set<int> roots_of(const State& state) {
    const Program& program = state.program;
    std::set<int> roots = state.place.near;
    std::vector<bool> is_near(static_cast<size_t>(program.application_count()));
    for (const int application : state.place.near) is_near[static_cast<size_t>(application)] = true;
    for (int id = 0; id < program.application_count(); ++id) {
      if (!program.contains(id)) continue;
      for (const int argument : program.arguments(id))
        if (const int producer = argument < 0 ? -1 : program.value(argument).producer;
            producer >= 0 && is_near[static_cast<size_t>(producer)])
          roots.insert(id);
    }
    return roots;
  }

  std::vector<Match> matches(const Program& program, const std::set<int>& roots) {
    std::vector<Match> result;
    for (const int root : roots)
      for (Match& match :
           rules_.matches_at(program, root, [&](const Match& each) { return may_be_step(program, each); }))
        result.push_back(std::move(match));
    return result;
  }

  static bool is_usual(const Program& program, int tensor) {
    const te::Number* number = program.number(tensor);
    const double size = number ? std::fabs(number->to_double()) : 0;
    return size == 0 || (size >= 1 / kLargestNumber && size <= kLargestNumber);
  }

  bool may_carry(const Program& program, int product) const {
    if (!limits_.carries || !FactorCarrier::is_product(program, product)) return false;
    const auto operands = program.arguments(product);
    return std::all_of(operands.begin(), operands.end(), [&](int operand) { return is_usual(program, operand); });
  }

  NormalizeStep step_for(const Match& match) const { return step_of(match, rules_); }
  static NormalizeStep step_for(const CarriedFactor& carried) { return carried; }

  bool may_be_step(const Program& program, const Match& match) const {
    const Substitution& rule = rules_[match.substitution];
    if (!limits_.allows(rule.rule->float_class)) return false;
    bool reads_constant = false;
    for (const int tensor : match.values.tensors) {
      reads_constant = reads_constant || program.value(tensor).is_constant;
      if (!is_usual(program, tensor)) return false;
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

  /// The measure where only some applications are other than before.
  Measure after(Measure measure, const Program& before, const Rewritten& done) const {
    for (const int id : std::set<int>(done.changed.begin(), done.changed.end())) {
      if (id < before.application_count()) measure -= owner_.measure(before, id);
      measure += owner_.measure(done.program, id);
    }
    return measure;
  }

  /// What only makes other constants of the same types takes a run nowhere.
  static bool goes_on(const Program& before, const Match& match, const Rewritten& after) {
    if (match.roots.size() > 1 || after.built.empty()) return true;
    const int replaced = before.value(match.roots.front()).producer, made = after.built.back();
    const auto is_like = [&](int was, int is) {
      const Program::Value &old = before.value(was), &value = after.program.value(is);
      return was == is || (old.is_constant && value.is_constant && old.type == value.type);
    };
    const auto were = before.arguments(replaced), are = after.program.arguments(made);
    return before.application(replaced).operation != after.program.application(made).operation ||
           !std::equal(were.begin(), were.end(), are.begin(), are.end(), is_like);
  }

  /// The run is taken, if the program's constants keep their precision and may be as large as they are.
  bool take(Program& program, const Place& place, const std::vector<Trail>& trail) {
    if (!computed_) computed_ = computed_constants(program_);
    if (!given_) given_ = given_constants(program_);
    std::vector<int> after = computed_constants(program), given_after = given_constants(program), added, gone;
    std::ranges::set_difference(after, *computed_, std::back_inserter(added));
    std::ranges::set_difference(*given_, given_after, std::back_inserter(gone));
    int64_t growth = 0;
    for (const int value : added) growth += bytes_of(program, value);
    // What the graph computes as it runs takes no room in it.
    const auto is_lost = [&](const auto& known) { return !std::ranges::binary_search(after, known.first); };
    for (const auto& known : known_)
      if (is_lost(known)) growth -= bytes_of(program_, known.first);
    for (const int value : gone) growth -= bytes_of(program_, value);
    if (growth > 0 && !limits_.may_grow(growth)) return false;
    std::map<int, Tensor> made;
    bool keeps = true;
    for (const int value : added) {
      const auto kept = owner_.keeps_precision(program, value, values_);
      keeps = kept.ok() && *kept;
      if (!keeps) break;
      made.emplace(value, te::to_tensor(*values_.of(program, value)));
    }
    values_.forget();
    if (!keeps) {
      limits_.give_back(growth);
      return false;
    }
    std::erase_if(known_, is_lost);
    known_.merge(made);
    program_ = std::move(program);
    uses_.reset();
    computed_ = std::move(after);
    given_ = std::move(given_after);
    measure_ = place.measure;
    const size_t first = steps_.size();
    for (int step = place.last; step >= 0; step = trail[static_cast<size_t>(step)].before)
      steps_.push_back(
          std::visit([&](const auto& taken) { return step_for(taken); }, trail[static_cast<size_t>(step)].step));
    std::reverse(steps_.begin() + static_cast<std::ptrdiff_t>(first), steps_.end());
    runs_.push_back(steps_.size());
    return true;
  }

  static int64_t bytes_of(const Program& program, int value) {
    const ValueType& type = program.theory().signatures().type(program.value(value).type);
    const auto dims = constants(*type.shape);
    return dims ? byte_size(type.dtype, element_count(*dims)) : 0;
  }

  Normalizer& owner_;
  Substitutions& rules_;
  const NormalizeLimits& limits_;
  Program program_;
  Measure measure_;                                   ///< of the program
  std::optional<Program::Uses> uses_;                 ///< of the program, once they are asked for
  std::optional<std::vector<int>> computed_, given_;  ///< its constants, too
  ConstantValues values_;
  std::map<int, Tensor> known_;  ///< constants that steps made, rounded once
  std::vector<NormalizeStep> steps_;
  std::vector<size_t> runs_;
  FactorCarrier carrier_;
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
  std::vector<int> key = {program.application(application).operation};
  for (const int argument : program.arguments(application)) key.push_back(program.value(argument).type);
  const auto [known, is_new] = costs_.try_emplace(std::move(key));
  Cost& result = known->second;
  if (!is_new) return result;
  verify::Signatures& signatures = program.theory().signatures();
  const auto& operation = signatures.operation(program.application(application).operation);
  std::vector<ValueType> types;
  for (const int argument : program.arguments(application))
    types.push_back(signatures.type(program.value(argument).type));
  const auto there = verify::program_of(
      {operation.op, 0, operation.parameters, "", std::vector<verify::Term>(types.size(), verify::Term::variable("x"))},
      types);
  const auto weight = weights_.find(operation.op);
  result.operators = weight == weights_.end() ? 1 : weight->second;
  if (!there.ok()) return result;
  const std::vector<te::Stage>& stages = there->program.stages;
  result.sums = std::any_of(stages.begin(), stages.end(), [](const te::Stage& stage) {
    const auto* map = std::get_if<te::MapReduce>(&stage.body);
    return !map || !map->reduce.empty();
  });
  if (!result.sums) return result;
  result.summed.resize(types.size());
  for (size_t k = 0; k < there->arguments.size(); ++k) {
    const auto argument = there->arguments[k];
    if (!argument) continue;
    result.summed[*argument] = summed_axes(there->program, static_cast<int>(k));
    if (is_addend(there->program, static_cast<int>(k))) result.addend = argument;
  }
  return result;
}

Result<bool> Normalizer::keeps_precision(const Program& program, int value, ConstantValues& values) {
  TRY(const te::Array elements, values.of(program, value));
  const std::vector<int>& outputs = program.outputs();
  if (std::find(outputs.begin(), outputs.end(), value) != outputs.end()) return keep_precision(elements);
  for (int id = 0; id < program.application_count(); ++id) {
    if (!program.contains(id) || is_constant(program, id)) continue;
    const auto arguments = program.arguments(id);
    for (size_t k = 0; k < arguments.size(); ++k) {
      if (arguments[k] != value) continue;
      const Cost* there = program.application(id).operation == Program::kOpaque ? nullptr : &cost(program, id);
      bool keeps = false;
      if (there && there->addend == k) {
        keeps = stay_finite(elements);
      } else if (there && there->sums && there->summed[k]) {
        const int added = there->addend ? arguments[*there->addend] : -1;
        std::optional<te::Array> addend;
        std::optional<Summed> beside;
        if (added >= 0 && program.value(added).is_constant && there->summed[*there->addend]) {
          TRY(addend, values.of(program, added));
          beside = Summed{&*addend, *there->summed[*there->addend]};
        }
        keeps = keep_precision({&elements, *there->summed[k]}, beside);
      } else {
        keeps = keep_precision(elements);
      }
      if (!keeps) return false;
    }
  }
  return true;
}

Measure Normalizer::measure(const Program& program, int application) {
  if (!program.contains(application) || is_constant(program, application)) return {};
  const bool is_opaque = program.application(application).operation == Program::kOpaque;
  const Cost* here = is_opaque ? nullptr : &cost(program, application);
  Measure result{here && here->sums ? 1 : 0, here ? here->operators : 1, 0};
  for (const int argument : program.arguments(application))
    if (argument >= 0 && program.value(argument).producer >= 0 && !program.value(argument).is_constant)
      ++result.operands;
  return result;
}

Measure Normalizer::measure(const Program& program) {
  Measure result;
  for (int id = 0; id < program.application_count(); ++id) result += measure(program, id);
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
  if (!place.empty() && !context.options.rounds_in_bodies) return changes;
  NormalizeLimits limits;
  limits.allows = [&](FloatClass float_class) { return context.allows(float_class); };
  limits.may_grow = [&](int64_t bytes) { return context.may_grow(bytes); };
  TRY(limits.kept, kept_nodes(graph, context));
  limits.give_back = [&](int64_t bytes) { context.give_back(bytes); };
  limits.carries = place.empty();
  limits.threads = context.options.threads;
  TRY(const Program program, program_of(graph, normalizer.theory(), dequantized(context.options.keep_composites)));
  TRY(Normalized made, normalizer.run(program, limits));
  if (made.steps.empty()) return changes;
  if (see) TRY_VOID(see(place, program, made, normalizer));
  for (const NormalizeStep& taken : made.steps) {
    if (const auto* step = std::get_if<Step>(&taken))
      context.step(step->rule, where(made.program, step->roots), normalizer.float_class(step->rule));
    else
      context.step("factor-over-movement", where(made.program, {std::get<CarriedFactor>(taken).product}),
                   FloatClass::kExact);
  }
  graph = std::move(made.graph);
  return changes + static_cast<int>(made.runs.size());
}

std::function<Result<int>(Graph&, PassContext&)> normalization(Theory& theory, SeeNormalized see) {
  return [&theory, see = std::move(see)](Graph& graph, PassContext& context) {
    if (!theory.normalizer) theory.normalizer = std::make_shared<Normalizer>(theory);
    // Who does not see what passes change is not to see the steps of one.
    return normalize(graph, context, *theory.normalizer, context.options.on_change ? see : SeeNormalized());
  };
}

}  // namespace isomer::substitutions
