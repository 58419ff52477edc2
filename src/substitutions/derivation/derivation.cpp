#include "substitutions/derivation/derivation.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "graph/algorithms.h"
#include "graph/edit.h"
#include "graph/passes/pipeline.h"
#include "substitutions/derivation/normalize.h"
#include "substitutions/library/rules_file.h"
#include "util/check.h"
#include "util/stop.h"

namespace isomer::substitutions {
namespace {

/// How many times as large as what they are made of all constants together may become.
constexpr int64_t kMostGrown = 8;

/// As passes are allowed to (graph/passes/pass.h).
bool allows(const Derivation& derivation, FloatClass float_class) {
  if (derivation.level < 1) return false;
  return float_class == FloatClass::kExact || (derivation.level >= 2 && isomer::allows(derivation.fp, float_class));
}

}  // namespace

PassOptions passes_before(const Derivation& derivation, Theory& theory, const DeriveOptions& options) {
  PassOptions passes;
  passes.level = derivation.level;
  passes.fp = derivation.fp;
  passes.without = derivation.without;
  passes.keep_composites = derivation.keep_composites;
  passes.rounds_in_bodies = derivation.rounds_in_bodies;
  passes.threads = options.threads;
  passes.log = options.log;
  passes.normalize = normalization(theory);
  return passes;
}

// Steps make constants of constants, of some weights several, and of each larger ones: what was searched for counts on
// their being computed beforehand. A file for other runtimes grows by nothing else.
PassOptions passes_after(const Derivation& derivation, const Graph& before, const Graph& rewritten, Theory& theory,
                         const DeriveOptions& options) {
  PassOptions passes = passes_before(derivation, theory, options);
  const int64_t largest = std::max(passes.max_growth, kMostGrown * count_bytes(rewritten));
  if (derivation.keep_composites) {
    passes.largest_built = largest;
    passes.left_uncomputed = computed_of_constants(before);
  } else {
    passes.max_growth = passes.largest_grown = largest;
  }
  return passes;
}

Dequantized dequantized(const Derivation& derivation) { return dequantized(derivation.keep_composites); }

std::string where(const Program& program, const std::vector<int>& values) {
  constexpr size_t kMostNamed = 4;
  const Graph& graph = program.origin().graph;
  std::vector<std::string> names;
  std::vector<int> open = values;
  std::set<int> seen(open.begin(), open.end());
  for (size_t k = 0; k < open.size() && names.size() < kMostNamed; ++k) {
    if (open[k] < 0 || open[k] >= program.value_count()) continue;
    const Program::Value& value = program.value(open[k]);
    std::string name;
    if (value.producer < 0) {
      const ValueId leaf = program.origin().leaves[static_cast<size_t>(value.index)].value;
      if (leaf.valid() && names.empty() && k + 1 == open.size()) name = graph.value(leaf).name;
    } else if (const NodeId node = program.application(value.producer).node; node.valid()) {
      name = label(graph, node);
    } else {
      for (const int argument : program.arguments(value.producer))
        if (seen.insert(argument).second) open.push_back(argument);
    }
    if (!name.empty() && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

Result<Start> start_of(const Graph& model, const Derivation& derivation, Theory& theory, const DeriveOptions& options) {
  theory.commute_within(derivation.fp);
  Graph graph = model;
  TRY(OptimizeReport passes, optimize(graph, passes_before(derivation, theory, options)));
  Graph plain = graph;
  TRY(OptimizeReport spelled, canonicalize(plain, passes_before(derivation, theory, options)));
  TRY(Program program, program_of(plain, theory, dequantized(derivation)));
  return Start{std::move(graph), std::move(passes), std::move(program), std::move(spelled)};
}

Result<Derived> derived(Start start, const Derivation& derivation, const DeriveOptions& options) {
  Program program = std::move(start.program);
  Theory& theory = program.theory();
  Derived result{std::move(start.graph), std::move(start.passes), {}, {}};
  if (derivation.steps.empty()) return result;
  result.before.steps.insert(result.before.steps.end(), start.spelled.steps.begin(), start.spelled.steps.end());
  std::map<std::string_view, const Rule*> rules;
  for (const Rule& rule : derivation.rules) rules.emplace(rule.name, &rule);
  for (size_t k = 0; k < derivation.steps.size(); ++k) {
    TRY_VOID(check_stop());
    const Step& step = derivation.steps[k];
    const auto wrong = [&](std::string what) {
      return Error{ErrorKind::kMismatch, fmt::format("step {} ({})", k + 1, step.rule), std::move(what)};
    };
    const auto rule = rules.find(step.rule);
    if (rule == rules.end()) return wrong("a rule of the proof file expected, none of this name found");
    const FloatClass float_class = float_class_of(rule->second->proof, theory.axioms());
    if (!allows(derivation, float_class))
      return wrong(fmt::format("a rule that the level and the mode of rounding allow expected, one of class {} found",
                               name(float_class)));
    std::string place = where(program, step.roots);
    if (const auto taken = take_step(program, step, *rule->second); !taken.ok()) return wrong(taken.error().message());
    result.steps.push_back({step.rule, std::move(place), float_class});
  }
  TRY(Graph rewritten, graph_of(program));
  const PassOptions after = passes_after(derivation, result.graph, rewritten, theory, options);
  TRY(result.after, optimize(rewritten, after));
  result.graph = std::move(rewritten);
  return result;
}

Result<Derived> derived(const Graph& model, const Derivation& derivation, Theory& theory,
                        const DeriveOptions& options) {
  if (!derivation.steps.empty()) {
    TRY(Start start, start_of(model, derivation, theory, options));
    return derived(std::move(start), derivation, options);
  }
  Derived result{model, {}, {}, {}};
  TRY(result.before, optimize(result.graph, passes_before(derivation, theory, options)));
  return result;
}

std::vector<Rule> rules_of(std::span<const Step> steps, std::span<const Rule> rules,
                           std::span<const verify::StatedAxiom> axioms) {
  std::map<std::string_view, const Rule*> known;
  for (const Rule& rule : rules) known.emplace(rule.name, &rule);
  const LawNumbers laws = law_numbers(axioms);
  std::set<std::string_view> names;
  for (const Step& step : steps) names.insert(step.rule);
  std::vector<Rule> result;
  for (const std::string_view name : names) {
    const auto rule = known.find(name);
    const auto law = laws.find(name);
    CHECK(rule != known.end() || law != laws.end()) << "steps by rules or laws expected, found " << name;
    result.push_back(rule != known.end() ? *rule->second : rule_of(law->second, axioms));
  }
  return result;
}

}  // namespace isomer::substitutions
