// How an optimized model was made, so that it is made again: the passes, rewrites by proved rules one after the other,
// the passes again. A step is believed for nothing: its terms must stand in the program, the rule's proof is replayed
// for the types there, the result is built anew. What others check is a proof of what came of it (proof.h). Test:
// tests/substitutions/derivation_test.cpp
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/passes/pass.h"
#include "substitutions/rewrite/program.h"
#include "substitutions/rewrite/step.h"

namespace isomer::substitutions {

struct Derivation {
  std::map<std::string, int64_t> dims;  ///< what was bound (graph/bind.h) before anything else
  std::map<std::string, Dims> shapes;
  int level = 2;
  FloatMode fp = FloatMode::kReassociate;
  std::vector<std::string> without;  ///< passes that were left out: a check failed with them
  bool keep_composites = false;      ///< PassOptions::keep_composites
  bool rounds_in_bodies = true;      ///< PassOptions::rounds_in_bodies
  std::vector<Rule> rules;           ///< that steps name, each with its proof; laws that are used as rules among them
  std::vector<Step> steps;
};

struct DeriveOptions {
  int threads = 1;
  std::function<void(std::string_view)> log = nullptr;  ///< a line a pass
};

/// Those in front of the steps, and those behind them, for what the steps made of the graph that came of the first
/// ones.
PassOptions passes_before(const Derivation& derivation, Theory& theory, const DeriveOptions& options = {});
PassOptions passes_after(const Derivation& derivation, const Graph& before, const Graph& rewritten, Theory& theory,
                         const DeriveOptions& options = {});
/// How programs of the derivation see what is dequantized.
Dequantized dequantized(const Derivation& derivation);

/// What the steps begin with. Values of the program, which steps name by number, are the same whenever it is made of
/// the same model.
struct Start {
  Graph graph;  ///< the model after the passes
  OptimizeReport passes;
  Program program;  ///< of that graph with composites written out: rules know one spelling for one meaning
  OptimizeReport spelled;
};
/// Of a model with its dims bound; of the derivation level and fp are read. The theory must outlive it.
Result<Start> start_of(const Graph& model, const Derivation& derivation, Theory& theory,
                       const DeriveOptions& options = {});

struct Derived {
  Graph graph;
  OptimizeReport before,
      after;  ///< passes, on both sides of the steps; without steps there is nothing behind the first ones
  std::vector<OptimizeStep> steps;  ///< rule, labels of the nodes that it replaced, class of the rule's proof
};
/// Checks the steps and does them. Errors are kMismatch and name the step and what does not hold: level or fp don't
/// allow it, the source does not stand there, the proof does not hold there, it changes nothing, it makes a cycle.
Result<Derived> derived(Start start, const Derivation& derivation, const DeriveOptions& options = {});
/// From start_of(model).
Result<Derived> derived(const Graph& model, const Derivation& derivation, Theory& theory,
                        const DeriveOptions& options = {});

/// The first nodes of the model at or below the values, for people; names of values where there are none.
std::string where(const Program& program, const std::vector<int>& values);

/// The rules that steps name: the first of each name among these, else the law of that name. By name. CHECKs that there
/// is one.
std::vector<Rule> rules_of(std::span<const Step> steps, std::span<const Rule> rules,
                           std::span<const verify::StatedAxiom> axioms);

}  // namespace isomer::substitutions
