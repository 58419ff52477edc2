// Isomer's C++ interface to optimization: an ONNX model made faster, with a proof of every step (verify.h) and a
// report. C++20 and its library alone.
//
// Nothing here is global but the user's cache of measured times, a file that several processes share, and a handler of
// SIGBUS, for files of weights that become shorter while they are read. Several calls may run at once; what they
// measure is then slower. docs/embedding.md goes through an example.
#ifndef ISOMER_OPTIMIZE_H
#define ISOMER_OPTIMIZE_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "isomer/expected.h"
#include "isomer/operator.h"
#include "isomer/work.h"

namespace isomer {

struct OptimizeOptions {
  /// 0: nothing but what reading writes out (functions, some operators that old opsets had); 1: bit-exact changes;
  /// 2: arithmetic folded, too; 3: searched over proved rules and measured, too.
  int level = 3;
  /// What may happen to rounding. "strict": nothing, every bit as a runtime has it that runs one node after the other;
  /// "reassociate": what is equal in the reals on finite values; "fast": overflow may lose results, too.
  std::string fp = "reassociate";
  /// What the model is to be fast in. "any": only what is no more work wherever it runs; "onnxruntime"; "isomer":
  /// Isomer's own kernels, and it may be slower elsewhere.
  std::string runtime = "any";
  std::optional<double> seconds;  ///< of the whole call; nothing: 2 to 60, more for a model that takes longer to run
  std::map<std::string, int64_t> dims;                 ///< of symbolic dims
  std::map<std::string, std::vector<int64_t>> shapes;  ///< of inputs
  std::string strategy = "beam";                       ///< of the search; or "best-first", "e-graph"
  /// Files (STEM.rules beside STEM.proofs) to search over instead of the rules that come with Isomer.
  std::vector<std::string> rules;
  std::vector<Operator> operators;  ///< of yours, in the model
  bool mutate = false;              ///< looks for mutants of the model's own convolutions, too
  bool check = true;                ///< runs old and new side by side
  int check_runs = 2;               ///< input sets of the check
  bool proof = true;                ///< writes one
  std::string records;              ///< file of measured times; empty: in the user's cache, none for any runtime
  std::string onnxruntime;          ///< its shared library; empty: searched for
  int threads = 0;                  ///< 0: as many as this process may use
  uint64_t seed = 0;
  int64_t memory = 0;          ///< bytes that all of it may take; 0: three quarters of what there is
  Progress progress;           ///< what it tells
  const Stop* stop = nullptr;  ///< outlives the call
};

/// A step from the model to the optimized one, in the order in which they were made.
struct OptimizedStep {
  std::string rule;                ///< or pass
  std::string where;               ///< a node
  std::optional<double> saved_us;  ///< where the search chose it
  std::string fp_class;            ///< "exact", "sign-of-zero", "finite", "reassociated", "unsafe"
};

struct Optimized {
  std::vector<OptimizedStep> steps;
  int64_t nodes_before = 0, nodes_after = 0;
  /// How many times as fast it is, raced end to end in what it is for; nothing: it was not raced.
  std::optional<double> speedup;
  bool is_interrupted = false;  ///< by `stop`: there may be more to find
  std::string proof;            ///< the text of the proof's file; empty: none was asked for
  std::string report;           ///< as JSON (docs/report.md)
  std::string page;             ///< the same as an HTML page
};

/// Reads `model`, writes `optimized` (and a file of weights beside it, where they are larger than ONNX files may be);
/// they may be the same file. Nothing is written where there is an error.
Expected<Optimized> optimize_model(const std::string& model, const std::string& optimized,
                                   const OptimizeOptions& options = {});

}  // namespace isomer

#endif
