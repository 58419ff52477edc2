#include "tune/feature_kinds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tune/draft.h"
#include "tune/features.h"
#include "tune/nest.h"
#include "util/check.h"
#include "util/hash.h"

namespace isomer::tune {
namespace {

using kernel::Block;
using kernel::Kernel;
using kernel::Loop;
using kernel::LoopKind;

constexpr size_t kKnobs = 512, kLoops = 14, kAccesses = 4, kSamples = 20;
constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

/// Names of two decisions of a task share a column once in some tasks.
Row knobs(const Candidate& candidate) {
  Row row(kKnobs, kNone);
  for (const auto& [name, value] : candidate.decisions())
    row[Hasher().add(std::string_view(name)).finish().low % kKnobs] = static_cast<float>(value);
  return row;
}

/// The block of most points, the first of several.
struct MainBlock {
  const Block* block = nullptr;
  Nest nest{{}};
  std::vector<AccessPattern> accesses;  ///< at most kAccesses

  explicit MainBlock(const Kernel& kernel) {
    kernel::for_each_block(kernel.body, [&](const Block& each, const std::vector<const Loop*>& loops) {
      Nest around(loops);
      if (block && around.points() <= nest.points()) return;
      block = &each;
      nest = std::move(around);
    });
    if (!block) return;
    accesses = accesses_of(kernel, *block, nest);
    put_in_order(accesses, nest);
    if (accesses.size() > kAccesses) accesses.resize(kAccesses);
  }
};

/// The innermost loop first: places then mean the same in nests of all depths.
Row itervars(const MainBlock& main) {
  constexpr std::array kKinds = {LoopKind::kSerial, LoopKind::kParallel, LoopKind::kVectorized, LoopKind::kUnrolled};
  constexpr size_t kOfALoop = 4 + kKinds.size() + 3 * kAccesses;
  Row row;
  const Nest& nest = main.nest;
  const size_t depth = nest.loops.size();
  for (size_t k = 0; k < std::min(depth, kLoops); ++k) {
    const size_t loop = depth - 1 - k;
    row.push_back(logarithm(nest.extents[loop]));
    row.push_back(static_cast<float>(loop));
    row.push_back(logarithm(nest.iterations(0, loop + 1)));
    const double within = nest.iterations(loop, depth);
    row.push_back(logarithm(within));
    for (const LoopKind kind : kKinds) row.push_back(nest.loops[loop]->kind == kind ? 1 : 0);
    for (const AccessPattern& access : main.accesses) {
      const double elements = access.elements(nest, loop);
      row.push_back(logarithm(std::fabs(access.strides[loop])));
      row.push_back(logarithm(elements));
      row.push_back(logarithm(within / elements));
    }
    row.resize((k + 1) * kOfALoop, kNone);
  }
  row.resize(kLoops * kOfALoop, kNone);
  if (main.block)
    for (const double count : operations_of(*main.block)) row.push_back(static_cast<float>(count));
  else
    row.resize(row.size() + operations_of({}).size(), kNone);
  return row;
}

/// At each power of two: the y of the loop with the largest x up to there, and how far beyond that x it is; in
/// logarithms.
void sample(const std::vector<float>& x, const std::vector<float>& y, size_t samples, Row& row) {
  for (size_t k = 0; k < samples; ++k) {
    const auto at = static_cast<float>(k);
    std::optional<size_t> largest;
    for (size_t loop = 0; loop < x.size(); ++loop)
      if (x[loop] <= at && (!largest || x[loop] > x[*largest])) largest = loop;
    row.push_back(largest ? y[*largest] : kNone);
    row.push_back(largest ? at - x[*largest] : kNone);
  }
}

Row curves(const MainBlock& main, size_t samples) {
  Row row;
  const size_t depth = main.nest.loops.size();
  for (const AccessPattern& access : main.accesses) {
    std::vector<float> count, reuse, around;
    for (size_t loop = 0; loop < depth; ++loop) {
      const double elements = access.elements(main.nest, loop);
      count.push_back(static_cast<float>(std::log2(elements)));
      reuse.push_back(static_cast<float>(std::log2(std::max(main.nest.iterations(loop, depth) / elements, 1.0))));
      around.push_back(static_cast<float>(std::log2(std::max(main.nest.iterations(0, loop + 1), 1.0))));
    }
    sample(count, reuse, samples, row);
    sample(reuse, count, samples, row);
    sample(count, around, samples, row);
    sample(around, count, samples, row);
  }
  row.resize(kAccesses * 4 * 2 * samples, kNone);
  return row;
}

/// With cycles of a point of the largest block, as the draft has them.
Row nests(const Features& features, const kernel::Machine& machine) {
  constexpr double kMostCycles = 1e15;
  Row row = row_of(features);
  row.push_back(static_cast<float>(std::log2(std::min(drafted_cycles(features, machine), kMostCycles))) - row[kPoints]);
  return row;
}

constexpr std::array<std::string_view, kFeatureKinds.size()> kNames = {"nest", "knob", "itervar", "curve", "curve-all"};

}  // namespace

std::string_view name(FeatureKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::optional<FeatureKind> feature_kind_of(std::string_view name) {
  for (const FeatureKind kind : kFeatureKinds)
    if (kNames[static_cast<size_t>(kind)] == name) return kind;
  return std::nullopt;
}

Row row_of(FeatureKind kind, const Candidate& candidate, const kernel::Machine& machine) {
  const Kernel& kernel = candidate.made.kernel;
  switch (kind) {
    case FeatureKind::kNest: return nests(features_of(kernel, machine), machine);
    case FeatureKind::kKnob: return knobs(candidate);
    case FeatureKind::kItervar: return itervars(MainBlock(kernel));
    case FeatureKind::kCurve: return curves(MainBlock(kernel), 1);
    case FeatureKind::kCurveAll: return curves(MainBlock(kernel), kSamples);
  }
  CHECK(false);
  return {};
}

}  // namespace isomer::tune
