#include "verify/check/equivalence.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "graph/memory_estimate.h"
#include "graph/te/array_parts.h"
#include "graph/te/integer.h"
#include "util/append.h"
#include "verify/check/places.h"
#include "verify/check/stage_sizes.h"

namespace isomer {
namespace {

/// Units in the last place of the largest value that are always allowed.
constexpr double kFloorUnits = 8;
/// Of the root of a sum's length (P3: no false alarms among sequential, blocked and BLAS orders).
constexpr double kSumRatio = 4;
/// Half places that sums are moved by at most: of float32, some millionths.
constexpr double kMostOfSums = 1024;
/// Input sets that the reference doesn't run on, before it is taken for a model that runs on none.
constexpr int kMostFailures = 8;
/// Share of an output that may be set aside, or not finite, without a word.
constexpr double kFewUncompared = 0.01;

std::string with_commas(int64_t count) {
  const std::string digits = fmt::format("{}", count);
  std::string result;
  for (size_t k = 0; k < digits.size(); ++k) {
    if (k > 0 && (digits.size() - k) % 3 == 0) result += ',';
    result += digits[k];
  }
  return result;
}

double largest(const te::Array& array) {
  double result = 0;
  for (int64_t i = 0; i < array.count(); ++i)
    if (const double magnitude = std::fabs(array.as_double(i)); std::isfinite(magnitude))
      result = std::max(result, magnitude);
  return result;
}

OutputCoverage& coverage_of(const std::string& name, Equivalence& result) {
  const auto known = std::ranges::find(result.outputs, name, &OutputCoverage::name);
  return known == result.outputs.end() ? result.outputs.emplace_back(OutputCoverage{.name = name}) : *known;
}

}  // namespace

Result<void> check_interfaces(const Graph& reference, const Graph& candidate) {
  const auto mismatch = [](std::string where, std::string what) {
    return Error{ErrorKind::kMismatch, std::move(where), std::move(what)};
  };
  if (reference.inputs().size() != candidate.inputs().size())
    return mismatch("inputs",
                    fmt::format("{} expected, {} found", reference.inputs().size(), candidate.inputs().size()));
  if (reference.outputs().size() != candidate.outputs().size())
    return mismatch("outputs",
                    fmt::format("{} expected, {} found", reference.outputs().size(), candidate.outputs().size()));
  for (size_t i = 0; i < reference.inputs().size(); ++i) {
    const ValueType& expected = reference.value(reference.inputs()[i]).type;
    const ValueType& found = candidate.value(candidate.inputs()[i]).type;
    if (expected.dtype != found.dtype)
      return mismatch(reference.value(reference.inputs()[i]).name,
                      fmt::format("{} expected, {} found", expected.text(), found.text()));
  }
  return {};
}

double error_bound(const te::Array& exact, const te::Array& rounded) {
  double error = 0;
  // Where data decide sizes, rounding may change them: then only the floor is known.
  const int64_t comparable = exact.dims() == rounded.dims() ? exact.count() : 0;
  for (int64_t i = 0; i < comparable; ++i)
    if (const double e = std::fabs(exact.as_double(i) - rounded.as_double(i)); std::isfinite(e))
      error = std::max(error, e);
  return kErrorRatio * error + kFloorUnits * unit_roundoff(exact.dtype()) * largest(exact) +
         underflow_threshold(exact.dtype());
}

double sum_units(const Graph& graph) { return kSumRatio * std::sqrt(stage_sizes(graph).longest_sum); }

double sum_bound(const te::Array& exact, double units) { return units * unit_roundoff(exact.dtype()) * largest(exact); }

OutputCoverage& OutputCoverage::operator+=(const OutputCoverage& other) {
  elements += other.elements;
  set_aside += other.set_aside;
  not_finite += other.not_finite;
  may_be_empty |= other.may_be_empty;
  return *this;
}

Equivalence& Equivalence::operator+=(const Equivalence& other) {
  runs += other.runs;
  movements = std::max(movements, other.movements);
  max_abs_error = std::max(max_abs_error, other.max_abs_error);
  max_error_over_bound = std::max(max_error_over_bound, other.max_error_over_bound);
  for (const OutputCoverage& output : other.outputs) coverage_of(output.name, *this) += output;
  if (!difference) difference = other.difference;
  return *this;
}

int64_t Equivalence::elements() const {
  int64_t sum = 0;
  for (const OutputCoverage& output : outputs) sum += output.elements;
  return sum;
}

int64_t Equivalence::set_aside() const {
  int64_t sum = 0;
  for (const OutputCoverage& output : outputs) sum += output.set_aside;
  return sum;
}

std::string Equivalence::text() const {
  std::string result =
      fmt::format("largest difference {:.3g}, {:.2g} of what rounding allows", max_abs_error, max_error_over_bound);
  if (const int64_t aside = set_aside(); aside > 0)
    result += fmt::format("; {} of {} elements set aside: rounding decides them ({} movements)", with_commas(aside),
                          with_commas(elements()), movements);
  if (const std::string nothing = uncompared(); !nothing.empty()) result += "; " + nothing;
  return result;
}

std::string Equivalence::uncompared() const {
  std::vector<std::string> names;
  for (const OutputCoverage& output : outputs)
    if (!output.is_compared()) names.push_back(output.name);
  if (names.empty()) return "";
  return fmt::format(
      "nothing of output{} {} could be compared: there is no element, none is finite, or rounding decides them",
      names.size() == 1 ? "" : "s", fmt::join(names, ", "));
}

bool Equivalence::is_equal() const {
  return passed() && std::ranges::all_of(outputs, [](const OutputCoverage& output) {
           return output.elements == 0 || output.is_compared();
         });
}

std::vector<std::string> Equivalence::warnings() const {
  std::vector<std::string> result;
  if (std::string nothing = uncompared(); !nothing.empty()) result.push_back(std::move(nothing));
  const auto percent = [](double share) {
    return share < 0.1 ? fmt::format("{:.2g} %", 100 * share) : fmt::format("{:.0f} %", std::floor(100 * share));
  };
  for (const OutputCoverage& output : outputs) {
    if (!output.is_compared()) continue;
    if (const double share = output.share_of(output.set_aside); share > kFewUncompared)
      result.push_back(
          fmt::format("output {}: {} of the elements differ where rounding decides them, in the "
                      "model itself too: they were not compared",
                      output.name, percent(share)));
    if (const double share = output.share_of(output.not_finite); share > kFewUncompared)
      result.push_back(
          fmt::format("output {}: {} of the elements are infinite or no numbers, in both models: they say "
                      "little of whether these are the same",
                      output.name, percent(share)));
  }
  return result;
}

namespace {

using NamedTensors = std::vector<std::pair<std::string, te::Array>>;

NamedTensors tensors_of(const Graph& graph, const std::vector<te::Array>& outputs) {
  NamedTensors tensors;
  for (size_t i = 0; i < outputs.size(); ++i)
    append(tensors, te::named_tensors(graph.value(graph.outputs()[i]).name, outputs[i]));
  return tensors;
}

/// Of each of these tensors what is known of the output that it is or is an element of.
struct OutputFacts {
  bool are_places = false;
  bool may_be_empty = false;  ///< where its type doesn't say so already
};

bool may_be_empty(const ValueType& type) { return !type.has_shape() || !element_count(*type.shape).is(0); }

std::vector<OutputFacts> facts_of(const Graph& graph, const std::vector<te::Array>& outputs) {
  const std::vector<bool> places = outputs_of_places(graph);
  std::vector<OutputFacts> facts;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const OutputFacts same = {places[i], may_be_empty(graph.value(graph.outputs()[i]).type)};
    facts.resize(facts.size() + te::named_tensors("", outputs[i]).size(), same);
  }
  return facts;
}

/// Both tensors, both without a value, or sequences of as many elements that are alike.
bool are_alike(const te::Array& a, const te::Array& b) {
  const auto *left = a.sequence_elements(), *right = b.sequence_elements();
  if (!left || !right) return a.is_tensor() == b.is_tensor() && a.is_none() == b.is_none();
  return std::ranges::equal(*left, *right, are_alike);
}

void add(const OutputComparison& output, bool may_be_empty, Equivalence& result) {
  coverage_of(output.name(), result) +=
      {output.name(), output.elements(), output.set_aside(), output.not_finite(), may_be_empty};
  result.max_abs_error = std::max(result.max_abs_error, output.max_abs_error());
  result.max_error_over_bound = std::max(result.max_error_over_bound, output.max_error_over_bound());
  if (!result.difference) result.difference = output.difference();
}

/// One run's outputs, and the reference moved until it is known which of them rounding decides.
class RunComparison {
 public:
  RunComparison(const RunInterpreted& run_reference, const RunInterpreted& run_candidate,
                const ComparisonEffort& effort)
      : run_reference_(run_reference), run_candidate_(run_candidate), effort_(effort) {}

  Result<void> run(NamedTensors expected, NamedTensors found, std::vector<OutputFacts> facts, double units) {
    facts_ = std::move(facts);
    sums_ = std::min(units, kMostOfSums);
    for (size_t i = 0; i < expected.size(); ++i)
      outputs_.emplace_back(std::move(expected[i].first), std::move(expected[i].second), std::move(found[i].second),
                            kFloorUnits + units, effort_.strictness, facts_[i].are_places);
    if (is_settled()) return {};
    const InterpretOptions round{
        .threads = effort_.threads, .round_values = true, .round_inside = true, .memory = effort_.memory};
    const auto rounded = run_reference_(round);
    if (!rounded.ok() && rounded.error().kind == ErrorKind::kStopped) return rounded.error();
    for (size_t i = 0; rounded.ok() && i < outputs_.size(); ++i) outputs_[i].use_rounded((*rounded)[i]);
    const int least = moves_sums() ? kLeastWithSums : kLeastMovements;
    const auto is_hopeless = [](const OutputComparison& output) { return output.is_hopeless(); };
    while (!is_settled() && movements_ < effort_.movements) {
      if (movements_ >= least && std::any_of(outputs_.begin(), outputs_.end(), is_hopeless)) break;
      if (movements_ >= least && effort_.until && Clock::now() >= *effort_.until) break;
      TRY_VOID(move());
    }
    if (is_settled() || !run_candidate_ || !rounded.ok()) return {};
    const auto candidate_rounded = run_candidate_(round);
    if (!candidate_rounded.ok() && candidate_rounded.error().kind == ErrorKind::kStopped)
      return candidate_rounded.error();
    if (!candidate_rounded.ok()) return {};
    for (size_t i = 0; i < outputs_.size(); ++i)
      if (!outputs_[i].agrees_rounded((*rounded)[i], (*candidate_rounded)[i])) return {};
    for (OutputComparison& output : outputs_) output.set_rest_aside();
    return {};
  }

  void add_to(Equivalence& result) const {
    for (size_t i = 0; i < outputs_.size(); ++i) add(outputs_[i], facts_[i].may_be_empty, result);
    result.movements = std::max(result.movements, movements_);
    ++result.runs;
  }

 private:
  bool is_settled() const {
    return std::all_of(outputs_.begin(), outputs_.end(), [](const auto& output) { return output.is_settled(); });
  }

  bool moves_sums() const { return sums_ > kWide; }

  /// The next movement; every other one is the one before, the other way.
  Result<void> move() {
    const int way = movements_ / 2 % (moves_sums() ? 4 : 3);
    const double half_ulps = way == 1 ? kNarrow : way == 3 ? sums_ : kWide;
    const RandomRounding movement{effort_.seed * 0x100000001b3ULL + movements_ / 2, half_ulps, movements_ % 2 == 1};
    ++movements_;
    const auto moved = run_reference_({.threads = effort_.threads, .movement = movement, .memory = effort_.memory});
    if (!moved.ok()) {
      // One that leads out of the model's domain says nothing about the others.
      if (moved.error().kind == ErrorKind::kStopped) return moved.error();
      return {};
    }
    for (size_t i = 0; i < outputs_.size(); ++i)
      way == 3 ? outputs_[i].use_moved_as_sums((*moved)[i], half_ulps) : outputs_[i].use_moved((*moved)[i], half_ulps);
    return {};
  }

  const RunInterpreted& run_reference_;
  const RunInterpreted& run_candidate_;
  const ComparisonEffort& effort_;
  std::vector<OutputComparison> outputs_;
  std::vector<OutputFacts> facts_;  ///< of the same
  double sums_ = 0;                 ///< half places that the candidate's sums may be off
  int movements_ = 0;
};

InputsOf listed(const std::vector<std::vector<te::Array>>& input_sets) {
  return [&](int set) -> Result<std::vector<te::Array>> { return input_sets[set]; };
}

/// Compares one candidate on inputs with what the reference gave on them.
using CompareRun = std::function<Result<void>(std::span<const te::Array> inputs, std::vector<te::Array> expected,
                                              const ComparisonEffort& effort, Equivalence& result)>;

Result<Equivalence> compare_runs(const Graph& reference, const CompareRun& compare, const InputsOf& inputs, int runs,
                                 int sets, const ComparisonEffort& effort) {
  Equivalence result;
  std::optional<Error> refusal;
  const auto is_wanted = [&] {
    const int others = result.uncompared().empty() ? 0 : effort.more_for_uncompared;
    return result.passed() && result.runs < runs + others;
  };
  for (int set = 0; set < sets && is_wanted(); ++set) {
    if (refusal && result.runs == 0 && effort.until && Clock::now() >= *effort.until) break;
    if (result.runs > 0 && result.uncompared().empty() && effort.is_enough && effort.is_enough()) break;
    if (result.runs > 0 && effort.is_enough && effort.until && Clock::now() >= *effort.until) break;
    TRY(const std::vector<te::Array> given, inputs(set));
    auto expected = interpret(reference, given, {.threads = effort.threads, .memory = effort.memory});
    if (!expected.ok()) {
      if (expected.error().kind == ErrorKind::kStopped) return std::move(expected).error();
      if (!refusal) refusal = expected.error();
      continue;
    }
    ComparisonEffort its_own = effort;
    its_own.seed += static_cast<uint64_t>(set);
    TRY_VOID(compare(given, *std::move(expected), its_own, result));
  }
  if (result.runs == 0 && refusal) return *refusal;
  return result;
}

CompareRun with_model(const Graph& reference, const RunModel& candidate) {
  return [&, units = sum_units(reference)](auto inputs, auto expected, const auto& effort, Equivalence& result) {
    return compare_run(reference, inputs, std::move(expected), candidate, units, effort, result);
  };
}

CompareRun with_graph(const Graph& reference, const Graph& candidate) {
  return [&](auto inputs, auto expected, const ComparisonEffort& effort, Equivalence& result) {
    const InterpretOptions run{.threads = effort.threads, .memory = effort.memory};
    return compare_run(reference, inputs, std::move(expected), candidate, run, effort, result);
  };
}

RunInterpreted interpreted(const Graph& graph, std::span<const te::Array> inputs) {
  return [&graph, inputs](const InterpretOptions& options) { return interpret(graph, inputs, options); };
}

/// A candidate that doesn't run on inputs that the reference runs on is another function.
Result<void> refused(const Error& error, Equivalence& result) {
  if (error.kind != ErrorKind::kInvalid) return error;
  result.difference = Difference{.refusal = error.message()};
  ++result.runs;
  return {};
}

}  // namespace

Result<void> compare_run(const Graph& reference, std::span<const te::Array> inputs, std::vector<te::Array> expected,
                         const RunModel& candidate, double units, const ComparisonEffort& effort, Equivalence& result) {
  auto found = candidate(inputs);
  if (!found.ok()) return refused(found.error(), result);
  return compare_outputs(reference, interpreted(reference, inputs), std::move(expected), *std::move(found), units,
                         effort, result);
}

Result<void> compare_run(const Graph& reference, std::span<const te::Array> inputs, std::vector<te::Array> expected,
                         const Graph& candidate, const InterpretOptions& run, const ComparisonEffort& effort,
                         Equivalence& result) {
  auto found = interpret(candidate, inputs, run);
  if (!found.ok()) return refused(found.error(), result);
  return compare_outputs(reference, interpreted(reference, inputs), std::move(expected), *std::move(found), 0, effort,
                         result, interpreted(candidate, inputs));
}

Result<void> compare_outputs(const Graph& reference, const RunInterpreted& run, std::vector<te::Array> expected,
                             std::vector<te::Array> found, double units, const ComparisonEffort& effort,
                             Equivalence& result, const RunInterpreted& candidate) {
  if (found.size() != expected.size())
    return Error{ErrorKind::kMismatch, "outputs", fmt::format("{} expected, {} found", expected.size(), found.size())};
  for (size_t i = 0; i < expected.size(); ++i)
    if (!are_alike(expected[i], found[i]))
      return Error{ErrorKind::kMismatch, reference.value(reference.outputs()[i]).name,
                   "a value of the same kind, and sequences of the same length, expected"};
  NamedTensors expected_tensors = tensors_of(reference, expected);
  // What rounding or movements make longer or shorter tells nothing.
  const auto tensors_only = [&, count = expected_tensors.size()](const RunInterpreted& whole) -> RunInterpreted {
    if (!whole) return nullptr;
    return [&reference, &whole, count](const InterpretOptions& options) -> Result<std::vector<te::Array>> {
      TRY(const std::vector<te::Array> outputs, whole(options));
      std::vector<te::Array> tensors;
      for (auto& [name, tensor] : tensors_of(reference, outputs)) tensors.push_back(std::move(tensor));
      if (tensors.size() != count) return invalid("outputs", "{} tensors expected, {} found", count, tensors.size());
      return tensors;
    };
  };
  const RunInterpreted run_tensors = tensors_only(run), candidate_tensors = tensors_only(candidate);
  RunComparison comparison(run_tensors, candidate_tensors, effort);
  TRY_VOID(
      comparison.run(std::move(expected_tensors), tensors_of(reference, found), facts_of(reference, expected), units));
  comparison.add_to(result);
  return {};
}

void compare_in_units(const Value& output, const te::Array& expected, const te::Array& found, double units,
                      Equivalence& result) {
  add(OutputComparison(output.name, expected, found, units), may_be_empty(output.type), result);
}

void compare_output(const std::string& name, const te::Array& expected, const te::Array& found, double bound,
                    Equivalence& result) {
  const bool same_kind = expected.dtype() == found.dtype() && expected.dims() == found.dims();
  if (!same_kind) {
    if (!result.difference) result.difference = difference_of_types(name, expected, found);
    result.max_error_over_bound = INFINITY;
    return;
  }
  OutputCoverage& coverage = coverage_of(name, result);
  coverage.elements += expected.count();
  coverage.not_finite += count_not_finite(expected, found);
  const double allowed = is_float(expected.dtype()) ? bound : 0;
  double worst = 0;
  int64_t worst_at = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double e = difference_of(expected, found, i);
    if (e > worst) worst = e, worst_at = i;
  }
  result.max_abs_error = std::max(result.max_abs_error, worst);
  if (worst == 0) return;
  result.max_error_over_bound = std::max(result.max_error_over_bound, allowed > 0 ? worst / allowed : INFINITY);
  if (worst > allowed && !result.difference)
    result.difference = difference_at(name, expected, found, worst_at, allowed);
}

Result<Equivalence> compare_with(const Graph& reference, const RunModel& candidate,
                                 const std::vector<std::vector<te::Array>>& input_sets, int threads) {
  const int runs = static_cast<int>(input_sets.size());
  return compare_runs(reference, with_model(reference, candidate), listed(input_sets), runs, runs,
                      {.threads = threads});
}

Result<Equivalence> compare_with(const Graph& reference, const RunModel& candidate, const InputsOf& inputs, int runs,
                                 const ComparisonEffort& effort) {
  return compare_runs(reference, with_model(reference, candidate), inputs, runs, runs + kMostFailures, effort);
}

Result<Equivalence> compare_models_on(const Graph& reference, const Graph& candidate,
                                      const std::vector<std::vector<te::Array>>& input_sets, int threads) {
  TRY_VOID(check_interfaces(reference, candidate));
  const int runs = static_cast<int>(input_sets.size());
  return compare_runs(reference, with_graph(reference, candidate), listed(input_sets), runs, runs,
                      {.threads = threads});
}

Result<Equivalence> compare_models_on(const Graph& reference, const Graph& candidate, const InputsOf& inputs, int runs,
                                      const ComparisonEffort& effort) {
  TRY_VOID(check_interfaces(reference, candidate));
  return compare_runs(reference, with_graph(reference, candidate), inputs, runs, runs + kMostFailures, effort);
}

Result<void> check_memory(const Graph& reference, int sets, MemoryLimit memory, int kept) {
  if (memory.is_none()) return {};
  TRY(GraphMemory needed, memory_to_interpret(reference, true));
  // The reference's and the candidate's outputs wait for those of its runs with rounding and movements.
  needed.peak = te::saturating_add(needed.peak, te::saturating_mul(needed.outputs, 2 + kept));
  needed.peak = te::saturating_add(needed.peak, te::saturating_mul(needed.inputs, sets - 1));
  return check_fits(needed, memory, "interpreting it");
}

Result<Equivalence> compare_models(const Graph& reference, const Graph& candidate, const EquivalenceOptions& options) {
  std::vector<std::vector<te::Array>> input_sets;
  for (int run = 0; run < options.runs; ++run) {
    FillOptions fill = options.fill;
    fill.seed += run;
    TRY(const std::vector<Tensor> tensors, generate_inputs(reference, fill));
    input_sets.push_back(te::to_arrays(tensors));
  }
  return compare_models_on(reference, candidate, input_sets, options.threads);
}

}  // namespace isomer
