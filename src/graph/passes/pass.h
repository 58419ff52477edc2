// What every pass is: a free function over a graph that counts what it changed. It names each change in the context,
// leaves the inputs and the outputs (names, order, types, shapes) as they are, and every value that it makes inferred.
// The pipeline hands it a copy of the graph: a pass that ends in an error has changed nothing.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/op_def.h"

namespace isomer {

/// From the strictest to the weakest.
enum class FloatMode : uint8_t {
  kStrict,       ///< bit-identical results
  kReassociate,  ///< equal in the reals on finite values; rounded differently
  kFast,         ///< where overflow may lose a result, too
};

/// As users write them.
inline constexpr std::pair<FloatMode, std::string_view> kFloatModes[] = {
    {FloatMode::kStrict, "strict"}, {FloatMode::kReassociate, "reassociate"}, {FloatMode::kFast, "fast"}};
constexpr std::string_view name(FloatMode mode) {
  for (const auto& [known, name] : kFloatModes)
    if (known == mode) return name;
  return {};
}
constexpr std::optional<FloatMode> float_mode(std::string_view name) {
  for (const auto& [mode, known] : kFloatModes)
    if (known == name) return mode;
  return std::nullopt;
}

/// May a change of this class be made?
constexpr bool allows(FloatMode mode, FloatClass fp_class) {
  return fp_class == FloatClass::kExact ||
         (mode != FloatMode::kStrict && (fp_class != FloatClass::kUnsafe || mode == FloatMode::kFast));
}

class PassContext;

struct OptimizeOptions {
  /// 0 changes nothing; 1 keeps every result bit for bit; 2 folds arithmetic too; 3 is 2.
  int level = 2;
  FloatMode fp = FloatMode::kReassociate;
  int max_rounds = 24;            ///< of the whole list of passes; reached only by graphs that keep changing
  int64_t small_constant = 1024;  ///< bytes up to which a constant may be made of what is known about a value
  int64_t largest_grown = 1024;  ///< bytes up to which a constant may be folded that is larger than those that it frees
  int64_t max_growth = 64 << 10;          ///< bytes that all constants together may grow by
  std::vector<std::string> without = {};  ///< passes that change nothing, by name
  /// Nodes that are one composite together, which the model's opset lacks (Gelu before opset 20), keep their constants:
  /// other runtimes know such nodes by what they look like, and run them as one.
  bool keep_composites = false;
  int most_runs = std::numeric_limits<int>::max();  ///< of passes; the others change nothing (substitutions/blame.h)
  int threads = 1;                                  ///< for constant folding
  /// Steps by proved rules (substitutions/normalize.h), a pass of this name at level 2: made where rules are known.
  std::function<Result<int>(Graph& graph, PassContext& context)> normalize = nullptr;
  std::function<void(std::string_view)> log = nullptr;  ///< a line a pass
};

struct OptimizeStep {
  std::string rule;
  std::string where;  ///< label of the node
  FloatClass fp_class = FloatClass::kExact;
};

struct PassStatistics {
  std::string pass;
  int runs = 0;
  int changes = 0;
  int nodes_removed = 0;  ///< negative where it added some
  double seconds = 0;
};

struct OptimizeReport {
  int nodes_before = 0, nodes_after = 0;          ///< those of subgraphs included
  int64_t weights_before = 0, weights_after = 0;  ///< bytes of constants, equal ones once
  std::vector<OptimizeStep> steps;
  std::vector<PassStatistics> passes;
  std::vector<std::string> skipped;  ///< "pass: error" of passes that gave up and changed nothing
  std::string stop_reason;
  int runs = 0;           ///< of passes
  std::string last_pass;  ///< that was run
  double seconds = 0;
};

class PassContext {
 public:
  PassContext(const OptimizeOptions& options, std::vector<OptimizeStep>& steps) : options(options), steps_(steps) {}

  const OptimizeOptions& options;
  /// May a change of this class be made?
  bool allows(FloatClass fp_class) const {
    return fp_class == FloatClass::kExact || (options.level >= 2 && isomer::allows(options.fp, fp_class));
  }
  /// May all constants together become larger by so many bytes? If so they are taken from what is left to grow.
  bool may_grow(int64_t bytes) {
    if (bytes <= 0) return true;
    if (bytes > growth_left_) return false;
    growth_left_ -= bytes;
    return true;
  }
  void set_growth_left(int64_t bytes) { growth_left_ = bytes; }
  void step(std::string_view rule, std::string where, FloatClass fp_class = FloatClass::kExact) {
    steps_.push_back({std::string(rule), std::move(where), fp_class});
  }

 private:
  std::vector<OptimizeStep>& steps_;
  int64_t growth_left_ = 0;
};

/// The number of changes.
using PassFunction = Result<int> (*)(Graph& graph, PassContext& context);

}  // namespace isomer
