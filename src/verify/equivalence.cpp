#include "verify/equivalence.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "graph/infer.h"
#include "graph/interpret.h"

namespace isomer {
namespace {

/// How far rounding may have moved a value beyond the reference's own rounding error (P4: max-norm ratio).
constexpr double kErrorRatio = 8;
/// Units in the last place of the largest value that are always allowed.
constexpr double kFloorUnits = 8;
/// Of the root of a sum's length (P3: no false alarms among sequential, blocked and BLAS orders).
constexpr double kSumRatio = 4;

/// Half the distance between 1 and the next value of a float type.
double unit_roundoff(DataType dtype) {
  switch (dtype) {
    case DataType::kFloat16: return 0x1p-11;
    case DataType::kBFloat16: return 0x1p-8;
    case DataType::kFloat64: return 0x1p-44;  // double is also what we evaluate in: leave room for reordered sums
    default: return 0x1p-24;
  }
}

double largest(const te::Array& array) {
  double result = 0;
  for (int64_t i = 0; i < array.count(); ++i)
    if (const double magnitude = std::fabs(array.as_double(i)); std::isfinite(magnitude))
      result = std::max(result, magnitude);
  return result;
}

Dims unflatten(int64_t flat, const Dims& dims) {
  Dims index(dims.size());
  for (size_t k = dims.size(); k-- > 0;) {
    index[k] = flat % dims[k];
    flat /= dims[k];
  }
  return index;
}

/// |found - expected|, infinite where only one of them is a number.
double distance(double expected, double found) {
  if (std::isnan(expected) || std::isnan(found)) return std::isnan(expected) && std::isnan(found) ? 0 : INFINITY;
  return expected == found ? 0 : std::fabs(expected - found);
}

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

}  // namespace

std::string Difference::text() const {
  return fmt::format("{}[{}]: {:.9g} expected, {:.9g} found (allowed difference {:.3g})", output, fmt::join(index, ","),
                     expected, found, bound);
}

double error_bound(const te::Array& exact, const te::Array& rounded) {
  double error = 0;
  // Where data decide sizes, rounding may change them: then only the floor is known.
  const int64_t comparable = exact.dims() == rounded.dims() ? exact.count() : 0;
  for (int64_t i = 0; i < comparable; ++i)
    if (const double e = distance(exact.as_double(i), rounded.as_double(i)); std::isfinite(e))
      error = std::max(error, e);
  return kErrorRatio * error + kFloorUnits * unit_roundoff(exact.dtype()) * largest(exact);
}

double sum_units(const Graph& graph) {
  double longest = 0;
  const auto look = [&](const te::MapReduce& stage) {
    double terms = stage.combine.arity() > 0 ? 1 : 0;
    for (const Dim& dim : stage.reduce) terms *= static_cast<double>(dim.constant().value_or(1));
    longest = std::max(longest, terms);
  };
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    if (node.is_opaque() || !node.op->compute) continue;
    const OpContext context = context_of(graph, id);
    bool known = true;
    for (int i = 0; i < context.input_count(); ++i) known &= !context.has_input(i) || context.type(i).has_shape();
    if (!known) continue;
    const auto program = node.op->compute(context);
    if (!program.ok()) continue;
    for (const te::Stage& stage : program->stages) {
      if (const auto* body = std::get_if<te::MapReduce>(&stage.body)) look(*body);
      if (const auto* scan = std::get_if<te::Scan>(&stage.body))
        std::for_each(scan->steps.begin(), scan->steps.end(), look);
    }
  }
  return kSumRatio * std::sqrt(longest);
}

double sum_bound(const te::Array& exact, double units) { return units * unit_roundoff(exact.dtype()) * largest(exact); }

namespace {

Result<Equivalence> compare_runs(const Graph& reference, const RunModel& candidate,
                                 const std::vector<std::vector<te::Array>>& input_sets, int threads, double units) {
  Equivalence result;
  std::vector<double> bounds;
  for (const auto& inputs : input_sets) {
    TRY(const auto expected, interpret(reference, inputs, {.threads = threads}));
    if (bounds.empty()) {
      TRY(const auto rounded, interpret(reference, inputs, {.threads = threads, .round_values = true}));
      for (size_t i = 0; i < expected.size(); ++i)
        bounds.push_back(error_bound(expected[i], rounded[i]) + sum_bound(expected[i], units));
    }
    TRY(const auto found, candidate(inputs));
    for (size_t i = 0; i < expected.size(); ++i)
      compare_output(reference.value(reference.outputs()[i]).name, expected[i], found[i], bounds[i], result);
    ++result.runs;
    if (result.difference) break;
  }
  return result;
}

}  // namespace

void compare_output(const std::string& name, const te::Array& expected, const te::Array& found, double bound,
                    Equivalence& result) {
  const bool same_kind = expected.dtype() == found.dtype() && expected.dims() == found.dims();
  if (!same_kind) {
    if (!result.difference)
      result.difference = {name, {}, static_cast<double>(expected.count()), static_cast<double>(found.count()), 0};
    result.max_error_over_bound = INFINITY;
    return;
  }
  const double allowed = is_float(expected.dtype()) ? bound : 0;
  double worst = 0;
  int64_t worst_at = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double there = found.as_double(i);
    double wanted = expected.as_double(i);
    // What the type has no number for, in either direction, is infinite.
    if (std::isinf(there) && is_float(expected.dtype())) wanted = round_to(expected.dtype(), wanted);
    const double e = distance(wanted, there);
    if (e > worst) worst = e, worst_at = i;
  }
  result.max_abs_error = std::max(result.max_abs_error, worst);
  if (worst == 0) return;
  result.max_error_over_bound = std::max(result.max_error_over_bound, allowed > 0 ? worst / allowed : INFINITY);
  if (worst > allowed && !result.difference)
    result.difference = {name, unflatten(worst_at, expected.dims()), expected.as_double(worst_at),
                         found.as_double(worst_at), allowed};
}

Result<Equivalence> compare_models_on(const Graph& reference, const Graph& candidate,
                                      const std::vector<std::vector<te::Array>>& input_sets, int threads) {
  TRY_VOID(check_interfaces(reference, candidate));
  const auto run = [&](std::span<const te::Array> inputs) {
    return interpret(candidate, inputs, {.threads = threads});
  };
  return compare_runs(reference, run, input_sets, threads, 0);
}

Result<Equivalence> compare_with(const Graph& reference, const RunModel& candidate,
                                 const std::vector<std::vector<te::Array>>& input_sets, int threads) {
  return compare_runs(reference, candidate, input_sets, threads, sum_units(reference));
}

Result<Equivalence> compare_models(const Graph& reference, const Graph& candidate, const EquivalenceOptions& options) {
  std::vector<std::vector<te::Array>> input_sets;
  for (int run = 0; run < options.runs; ++run) {
    FillOptions fill = options.fill;
    fill.seed += run;
    TRY(const std::vector<Tensor> tensors, generate_inputs(reference, fill));
    auto& inputs = input_sets.emplace_back();
    for (const Tensor& tensor : tensors) inputs.push_back(te::Array::from(tensor));
  }
  return compare_models_on(reference, candidate, input_sets, options.threads);
}

}  // namespace isomer
