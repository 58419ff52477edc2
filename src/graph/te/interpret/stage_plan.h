// A map/reduce stage planned for given extents, dims and storages; runs any number of times on arrays of these.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "graph/te/interpret/lower.h"
#include "graph/te/interpret/scalar.h"
#include "util/parallel.h"
#include "util/result.h"

namespace isomer::te::interpreter {

struct RunContext {
  const Buffers* buffers;  ///< with the dims and storages that were planned for
  ThreadPool* pool;        ///< may be null
  int64_t time = 0;        ///< step of the scan around
  const std::function<Result<void>()>* poll = nullptr;
  MemoryLimit memory = {};

  Result<void> ask_to_go_on() const { return poll ? (*poll)() : Result<void>(); }
};

class StagePlan {
 public:
  virtual ~StagePlan() = default;
  /// Buffers whose dims and storages the plan depends on.
  virtual const std::vector<BufferRef>& buffers() const = 0;
  /// Component k of the stage's value goes to outputs[k]: 8 bytes an element, doubles or int64s.
  virtual Result<void> run(const RunContext& context, std::span<void* const> outputs) = 0;
};

/// The elements of dims; an error where there are too many to count.
Result<int64_t> checked_count(const Dims& dims);

/// Plans the stage by the cheapest of the ways below.
Result<std::unique_ptr<StagePlan>> plan_stage(const MapReduce& stage, const Domain& domain, const Buffers& buffers);

/// One value at a time: for what is too small to be worth a plan.
Result<std::unique_ptr<StagePlan>> plan_scalar(const MapReduce& stage, const Domain& domain);

/// Strips along the best iterator. The nodes are taken over.
Result<std::unique_ptr<StagePlan>> plan_strips(Lowered lowered, const MapReduce& stage, const Buffers& buffers);

/// A matrix product for a sum of products, where it is expected to be faster than strips; else null. Nodes may be
/// added.
std::unique_ptr<StagePlan> plan_contraction(Lowered& lowered, const MapReduce& stage, const Buffers& buffers);

/// The values of a monoid's identity.
std::vector<Cell> identity_of(const Monoid& monoid);

}  // namespace isomer::te::interpreter
