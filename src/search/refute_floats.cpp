#include "search/refute_floats.h"

#include <cmath>

#include "graph/interpret.h"
#include "runtime/session.h"
#include "search/code/run_artifact.h"
#include "substitutions/library/draw_instances.h"
#include "verify/check/equivalence.h"
#include "verify/proof/term_graph.h"

namespace isomer::search {
namespace {

using Arrays = std::vector<te::Array>;

constexpr int kAttempts = 20;

bool all_finite(const Arrays& arrays) {
  for (const te::Array& array : arrays)
    for (int64_t k = 0; k < array.count(); ++k)
      if (!std::isfinite(array.as_double(k))) return false;
  return true;
}

/// One side of a rule as a program.
class Side {
 public:
  static Result<Side> create(const std::vector<verify::Term>& terms, const verify::VariableTypes& types,
                             const CompileOptions& options) {
    TRY(Graph graph, verify::graph_of(terms, types));
    TRY(Compilation compiled, compile(graph, options));
    TRY(auto model, runtime::Model::load(std::move(compiled.artifact)));
    TRY(auto session, runtime::Session::create(std::move(model), {.threads = options.threads, .bindings = {}}));
    return Side(std::move(graph), std::move(session));
  }

  const Graph& graph() const { return graph_; }

  struct Outcome {
    Arrays exact, found;
    std::vector<double> bounds;
  };
  Result<Outcome> run(const Arrays& inputs) const {
    Outcome result;
    TRY(result.exact, interpret(graph_, inputs, {}));
    TRY(const Arrays rounded, interpret(graph_, inputs, {.threads = 1, .round_values = true}));
    for (size_t k = 0; k < rounded.size(); ++k)
      result.bounds.push_back(error_bound(result.exact[k], rounded[k]) + sum_bound(result.exact[k], units_));
    TRY(result.found, run_artifact(*session_, inputs));
    return result;
  }

 private:
  Side(Graph graph, std::unique_ptr<runtime::Session> session)
      : graph_(std::move(graph)), session_(std::move(session)), units_(sum_units(graph_)) {}

  Graph graph_;
  std::unique_ptr<runtime::Session> session_;
  double units_;  ///< for sums, of the last place
};

/// Both at one place.
class Pair {
 public:
  static Result<Pair> create(const substitutions::Rule& rule, const substitutions::RuleInstance& place,
                             const CompileOptions& options) {
    std::vector<verify::Term> lefts, rights;
    std::string text;
    for (const substitutions::Output& output : equations_at(rule, place)) {
      text += fmt::format("{}{} = {}", text.empty() ? "" : " ; ", output.left.text(), output.right.text());
      lefts.push_back(output.left);
      rights.push_back(output.right);
    }
    for (const auto& [name, type] : place.types) text += fmt::format("\n  {}: {}", name, type.text());
    TRY(Side left, Side::create(lefts, place.types, options));
    TRY(Side right, Side::create(rights, place.types, options));
    return Pair(std::move(text), std::move(left), std::move(right));
  }

  /// What differs, or nothing; an error where the sides have no values there.
  Result<std::string> difference(const Arrays& inputs, bool on_finite_alone) const {
    TRY(const Side::Outcome left, left_.run(inputs));
    TRY(const Side::Outcome right, right_.run(inputs));
    if (on_finite_alone && !(all_finite(left.exact) && all_finite(right.exact)))
      return unsupported("", "finite values expected");
    for (size_t k = 0; k < left.exact.size(); ++k) {
      const std::string output = left_.graph().value(left_.graph().outputs()[k]).name;
      for (const auto& [what, expected, found, bound] :
           {std::tuple("the left side's code", &left.exact[k], &left.found[k], left.bounds[k]),
            std::tuple("the right side's code", &right.exact[k], &right.found[k], right.bounds[k]),
            std::tuple("the right side's code against the left side", &left.exact[k], &right.found[k],
                       left.bounds[k] + right.bounds[k])}) {
        Equivalence same;
        compare_output(output, *expected, *found, bound, same);
        if (same.difference) return fmt::format("{}\n  {}: {}", text_, what, same.difference->text());
      }
    }
    return std::string();
  }

  /// Normal ones; positive ones, where roots and logarithms are finite.
  Result<Arrays> inputs(uint64_t seed, bool are_positive) const {
    FillOptions fill;
    fill.seed = seed;
    if (are_positive) fill.ranges = {{"", {0.5, 2}}};
    TRY(const std::vector<Tensor> tensors, generate_inputs(left_.graph(), fill));
    return te::to_arrays(tensors);
  }

 private:
  Pair(std::string text, Side left, Side right)
      : text_(std::move(text)), left_(std::move(left)), right_(std::move(right)) {}

  std::string text_;
  Side left_, right_;
};

/// What differs on one draw of inputs.
Result<std::string> tried(const Pair& pair, uint64_t seed, bool on_finite_alone) {
  TRY(const Arrays normal, pair.inputs(seed, false));
  auto difference = pair.difference(normal, on_finite_alone);
  if (difference.ok()) return difference;
  TRY(const Arrays positive, pair.inputs(seed, true));
  return pair.difference(positive, on_finite_alone);
}

}  // namespace

FloatRefutation refute_in_floats(const substitutions::Rule& rule, int trials, uint64_t seed,
                                 const CompileOptions& options, std::span<const verify::StatedAxiom> axioms,
                                 verify::Signatures& signatures) {
  FloatRefutation result;
  Random random(seed);
  std::vector<substitutions::RuleInstance> places;
  if (trials > 1) places = draw_instances(rule, trials - 1, kAttempts, axioms, signatures, random);
  result.places = static_cast<int>(places.size());
  places.insert(places.begin(), rule.example);
  for (size_t k = 0; k < places.size() && result.difference.empty(); ++k) {
    const auto pair = Pair::create(rule, places[k], options);
    if (!pair.ok()) result.unsupported = pair.error().message();
    // Where there are fewer places than trials, some get several.
    for (size_t trial = k; pair.ok() && trial < static_cast<size_t>(trials) && result.difference.empty();
         trial += places.size()) {
      auto difference = tried(*pair, random.next(), rule.float_class >= FloatClass::kFinite);
      if (!difference.ok()) result.unsupported = difference.error().message();
      if (!difference.ok()) continue;
      ++result.trials;
      result.difference = *std::move(difference);
    }
  }
  return result;
}

}  // namespace isomer::search
