#include "verify/check/fitting_sizes.h"

#include <algorithm>
#include <set>

#include "graph/bind.h"

namespace isomer {
namespace {

constexpr int64_t kMostSize = 4096;
/// Sizes that are tried for one dim: each is an inference of the whole graph.
constexpr size_t kMostTries = 48;

void collect(const Graph& graph, std::set<int64_t>& sizes) {
  const auto add = [&](int64_t size) {
    if (size >= 1 && size <= kMostSize) sizes.insert(size);
  };
  for (const ValueId id : graph.values()) {
    const Value& value = graph.value(id);
    if (value.type.has_shape())
      for (const Dim& dim : *value.type.shape) add(dim.constant().value_or(0));
    // Parts of a Split, the target of a Reshape.
    if (value.content)
      for (const auto& element : *value.content)
        if (element) add(element->constant().value_or(0));
  }
}

/// Those to try for dim k, the likeliest first.
std::vector<int64_t> tries(const std::set<int64_t>& known, int64_t k) {
  std::vector<int64_t> sizes = {2 + k, 5 + 3 * k};
  const auto add = [&](int64_t size) {
    if (sizes.size() < kMostTries && std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
  };
  for (const int64_t size : known) add(size);
  for (int64_t size = 1; size <= 8; ++size) add(size);
  return sizes;
}

}  // namespace

std::optional<std::map<std::string, int64_t>> fitting_sizes(const Graph& graph) {
  std::set<int64_t> known;
  collect(graph, known);
  Graph bound = graph;
  std::map<std::string, int64_t> sizes;
  // One after the other: what has a size already tells what the next may have.
  for (const std::string& dim : free_dims(graph)) {
    bool fits = false;
    for (const int64_t size : tries(known, static_cast<int64_t>(sizes.size()))) {
      Graph tried = bound;
      fits = bind_inputs(tried, {{dim, size}}, {}).ok();
      if (!fits) continue;
      bound = std::move(tried);
      sizes.emplace(dim, size);
      break;
    }
    if (!fits) return std::nullopt;
  }
  return sizes;
}

}  // namespace isomer
