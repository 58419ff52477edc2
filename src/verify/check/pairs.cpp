#include "verify/check/pairs.h"

#include <algorithm>
#include <numeric>

namespace isomer {
namespace {

std::vector<size_t> places_of(const std::vector<std::string>& wanted, const std::vector<std::string>& there) {
  std::vector<size_t> places(there.size());
  std::iota(places.begin(), places.end(), size_t{0});
  if (!std::ranges::is_permutation(wanted, there)) return places;
  for (size_t i = 0; i < wanted.size(); ++i)
    places[i] = static_cast<size_t>(std::ranges::find(there, wanted[i]) - there.begin());
  return places;
}

}  // namespace

std::vector<std::string> names_of(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> names;
  for (const ValueId id : values) names.push_back(graph.value(id).name);
  return names;
}

Pairs put_in_order(Graph& candidate, const Graph& reference) {
  const auto places = [&](const std::vector<ValueId>& wanted, const std::vector<ValueId>& there) {
    return places_of(names_of(reference, wanted), names_of(candidate, there));
  };
  Pairs pairs{places(reference.inputs(), candidate.inputs()), places(reference.outputs(), candidate.outputs())};
  candidate.set_inputs(in_order(candidate.inputs(), pairs.inputs));
  candidate.set_outputs(in_order(candidate.outputs(), pairs.outputs));
  return pairs;
}

std::string paired_by_position(const Graph& candidate, const Graph& reference) {
  std::string sides;
  if (names_of(reference, reference.inputs()) != names_of(candidate, candidate.inputs())) sides = "inputs";
  if (names_of(reference, reference.outputs()) != names_of(candidate, candidate.outputs()))
    sides += sides.empty() ? "outputs" : " and outputs";
  return sides;
}

}  // namespace isomer
