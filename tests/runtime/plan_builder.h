// Artifacts for tests, written as their values and steps.
#pragma once

#include <string>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/machine_code.h"

namespace isomer::runtime::test {

/// Builds an artifact of one variant; its arena has a place of its own for each value.
class PlanBuilder {
 public:
  PlanBuilder();

  int32_t input(const std::string& name, ElementType type, std::vector<int64_t> dims);
  int32_t output(const std::string& name, ElementType type, std::vector<int64_t> dims);
  int32_t dynamic(const std::string& name, ElementType type, std::vector<int64_t> dims);
  int32_t dynamic_output(const std::string& name, ElementType type, std::vector<int64_t> dims);
  int32_t arena(const std::string& name, ElementType type, std::vector<int64_t> dims);
  int32_t view(int32_t of, int64_t offset, std::vector<int64_t> dims);
  template <class T>
  int32_t weight(ElementType type, std::vector<int64_t> dims, const std::vector<T>& content) {
    auto kept = std::make_shared<const std::vector<T>>(content);
    artifact_.weights.push_back(std::as_bytes(std::span(*kept)));
    artifact_.owners.push_back(std::move(kept));
    return value("w", type, std::move(dims), InWeights{static_cast<int32_t>(artifact_.weights.size()) - 1});
  }

  /// A step of one part.
  Step kernel(uint64_t entry, std::vector<int32_t> arguments, int64_t iterations = 1, int64_t scratch_bytes = 0);
  /// A step of one launch of a function "f" that takes all its arguments; the variant is one for a GPU then.
  Step launch(std::vector<int32_t> arguments);
  static Step copy(int32_t from, int32_t to) { return {"copy", {"Identity"}, 0, CopyStep{{from, to}}}; }
  static Step shape(int32_t of, int32_t to) { return {"shape", {"Shape"}, 0, ShapeStep{of, to}}; }
  static Step branch(BranchStep step) { return {"branch", {"If"}, 0, std::move(step)}; }
  static Step loop(LoopStep step) { return {"loop", {"Loop"}, 0, std::move(step)}; }

  Artifact build(std::vector<Step> steps);

 private:
  int32_t value(std::string name, ElementType type, std::vector<int64_t> dims, Place place);
  Artifact artifact_;
  Variant variant_;
};

/// y = x + 1 + w for float x of [n], w = 0, 1, … as a variant for each n, bound to the symbolic dim "n".
Artifact sums(const std::vector<int64_t>& sizes);

}  // namespace isomer::runtime::test
