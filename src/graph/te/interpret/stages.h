// Stages of each kind with their plans.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "graph/te/interpret/stage_plan.h"
#include "graph/te/program.h"

namespace isomer::te::interpreter {

class PlannedStage {
 public:
  virtual ~PlannedStage() = default;
  /// The stage's components; plans what was not planned for such buffers yet.
  virtual Result<std::vector<Array>> run(const RunContext& context) = 0;
};

/// The stage outlives what is made of it.
std::unique_ptr<PlannedStage> make_stage(const Stage& stage);
std::unique_ptr<PlannedStage> make_stage(const Scan& scan);
std::unique_ptr<PlannedStage> make_stage(const Update& update);
std::unique_ptr<PlannedStage> make_stage(const Imperative& imperative);

/// A map/reduce stage; also as a step of a scan, which knows where the values go.
class PlannedMapReduce : public PlannedStage {
 public:
  explicit PlannedMapReduce(const MapReduce& stage) : stage_(stage) {}
  /// Evaluates the extents and makes a plan, unless the present one fits.
  Result<void> prepare(const RunContext& context, int64_t trip = 1);
  const Dims& axes() const { return domain_.axes; }
  Result<void> run_into(const RunContext& context, std::span<void* const> outputs);
  Result<std::vector<Array>> run(const RunContext& context) override;

 private:
  struct Signature {
    Dims dims;
    Storage storage;
    bool operator==(const Signature&) const = default;
  };
  std::vector<Signature> signatures(const RunContext& context) const;

  const MapReduce& stage_;
  Domain domain_;
  std::unique_ptr<StagePlan> plan_;
  std::vector<Signature> planned_for_;
};

/// Dims with their expressions evaluated; an error for negative ones.
Result<Dims> evaluate_dims(const Shape& shape, const RunContext& context);

}  // namespace isomer::te::interpreter
