// What every pass is: a free function over a graph that counts what it changed. It names each change in the context,
// leaves the inputs and the outputs (names, order, types, shapes) as they are, and every value that it makes inferred.
// The pipeline hands it a copy of the graph: a pass that ends in an error has changed nothing.
#pragma once

#include <algorithm>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/float_class.h"
#include "graph/graph.h"
#include "util/result.h"

namespace isomer {

class PassContext;

struct PassOptions {
  /// 0 changes nothing; 1 keeps every result bit for bit; 2 folds arithmetic too; 3 is 2.
  int level = 2;
  FloatMode fp = FloatMode::kReassociate;
  int max_rounds = 24;            ///< of the whole list of passes; reached only by graphs that keep changing
  int64_t small_constant = 1024;  ///< bytes up to which a constant may be made of what is known about a value
  int64_t largest_grown = 1024;  ///< bytes up to which a constant may be folded that is larger than those that it frees
  int64_t max_growth = 64 << 10;  ///< bytes that all constants together may grow by
  /// Constants may grow that have no more elements than those that they free, or than those that are dequantized for
  /// them (a quantized weight becomes its numbers, an embedding's those of the product that shares it), or that are
  /// picked out of others: a table of biases by relative positions.
  bool decodes = false;
  std::vector<std::string> without = {};  ///< passes that change nothing, by name
  /// Nodes that are one composite together, which the model's opset lacks (Gelu before opset 20), keep their constants,
  /// and quantized numbers stay quantized, with their zero points: other runtimes know such nodes by what they look
  /// like, and run them as one.
  bool keep_composites = false;
  /// Bytes up to which a constant of the graph may be folded, whatever it frees, that is none of those that are left
  /// uncomputed: behind steps (substitutions/derivation/derivation.h) they built it.
  int64_t largest_built = 0;
  std::set<ValueId> left_uncomputed = {};
  /// Bodies may hold, and read, constants that were computed and rounded: proofs know only those outside of them for
  /// other numbers than their bits (OutputStep).
  bool rounds_in_bodies = true;
  int most_runs =
      std::numeric_limits<int>::max();  ///< of passes; the others change nothing (substitutions/derivation/blame.h)
  int threads = 1;                      ///< for constant folding
  /// Steps by proved rules (substitutions/derivation/normalize.h), a pass of this name at level 2: made where rules are
  /// known.
  std::function<Result<int>(Graph& graph, PassContext& context)> normalize = nullptr;
  std::function<void(std::string_view)> log = nullptr;  ///< a line a pass
  /// Sees the graph after each pass that changed something, in the order in which the result came to be. Errors end it.
  std::function<Result<void>(std::string_view pass, const Graph& graph)> on_change = nullptr;
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
  int runs = 0;           ///< of passes, of which `most_runs` counts as many
  std::string last_pass;  ///< that was run
  double seconds = 0;
};

class PassContext {
 public:
  PassContext(const PassOptions& options, std::vector<OptimizeStep>& steps) : options(options), steps_(steps) {}

  const PassOptions& options;
  /// May a change of this class be made?
  bool allows(FloatClass fp_class) const {
    return fp_class == FloatClass::kExact || (options.level >= 2 && isomer::allows(options.fp, fp_class));
  }
  /// May all constants together become larger by so many bytes? If so they are taken from what is left to grow.
  bool may_grow(int64_t bytes) {
    if (bytes <= 0) return true;
    was_refused_ |= bytes > growth_left_;
    if (bytes > growth_left_) return false;
    growth_left_ -= bytes;
    return true;
  }
  /// They did not grow by it after all.
  void give_back(int64_t bytes) { growth_left_ += std::max<int64_t>(bytes, 0); }
  void set_growth_left(int64_t bytes) { growth_left_ = bytes; }
  /// Whether something might not grow since this was last asked.
  bool was_refused() { return std::exchange(was_refused_, false); }
  void step(std::string_view rule, std::string where, FloatClass fp_class = FloatClass::kExact) {
    steps_.push_back({std::string(rule), std::move(where), fp_class});
  }

 private:
  std::vector<OptimizeStep>& steps_;
  int64_t growth_left_ = 0;
  bool was_refused_ = false;
};

/// The number of changes.
using PassFunction = Result<int> (*)(Graph& graph, PassContext& context);

}  // namespace isomer
