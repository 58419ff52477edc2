#include "substitutions/proof/verify_files.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "graph/bind.h"
#include "graph/hash.h"
#include "graph/interface.h"
#include "graph/onnx/import.h"
#include "substitutions/proof/proof_steps.h"
#include "substitutions/proof/read/proof_file.h"
#include "util/stop.h"

namespace isomer::substitutions {
namespace {

namespace fs = std::filesystem;

template <class... Args>
Error mismatch(std::string where, fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kMismatch, std::move(where), fmt::format(format, std::forward<Args>(args)...)};
}

Result<Graph> read_model(const fs::path& file, const VerifyOptions& options) {
  ImportOptions import;
  import.operators = options.operators;
  auto graph = import_model(file, import);
  if (!graph.ok()) return std::move(graph).error().within(file.string());
  return graph;
}

std::string size_text(int64_t size) { return fmt::format("{}", size); }
std::string size_text(const Dims& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

/// What is granted without what the proof needs of it; an error where it needs more. `form`: how a command grants it.
template <class Named>
Result<Named> left_open(Named granted, const Named& needed, std::string_view form, const std::string& proof) {
  for (const auto& [name, size] : needed) {
    const auto found = granted.find(name);
    if (found == granted.end() || found->second != size) {
      const std::string expected = found == granted.end() ? "of any size" : size_text(found->second);
      return mismatch(proof, "a proof for '{}' {} expected, one for {} found ({} grants it)", name, expected,
                      size_text(size), fmt::format(fmt::runtime(form), name, size_text(size)));
    }
    granted.erase(found);
  }
  return granted;
}

/// The input with the dims bound that the proof names.
Result<Graph> bound_input(const ModelFiles& files, const ModelProof& made, const VerifyOptions& options) {
  TRY(Graph graph, read_model(files.input, options));
  const std::string proof = files.proof.string(), input = files.input.string();
  if (const auto bound = bind_inputs(graph, made.dims, made.shapes); !bound.ok())
    return mismatch(proof, "a proof of {} expected, one of a model with other dims found: {}", input,
                    bound.error().message());
  if (structural_hash(graph) != made.input)
    return mismatch(proof, "a proof of {} expected, one of another model found", input);
  return graph;
}

/// Does the steps; the outputs must be equal then.
Result<void> replay(const Graph& input, const Graph& output, Laws& laws, Verified& result) {
  ProofSteps steps(laws, result.proof.fp);
  steps.add_rules(result.proof.rules);
  TRY(const verify::Ledger::Numbers before, steps.read_input(input));
  std::optional<verify::Ledger::Numbers> after;
  for (size_t k = 0; k < result.proof.steps.size(); ++k) {
    TRY_VOID(check_stop());
    const ProofStep& step = result.proof.steps[k];
    if (const auto* read = std::get_if<OutputStep>(&step); read && !after) {
      TRY(after, steps.read_output(output, *read));
      continue;
    }
    auto taken = steps.take(step);
    if (!taken.ok()) {
      Error error = std::move(taken).error().within(fmt::format("step {}", k + 1));
      error.kind = ErrorKind::kMismatch;
      return error;
    }
    result.float_class = std::max(result.float_class, taken->float_class);
  }
  if (!after) return mismatch(std::string(), "a step 'output' expected, none found");
  for (size_t k = 0; k < input.outputs().size(); ++k)
    if (!steps.ledger().equal(before.at(input.outputs()[k]), after->at(output.outputs()[k])))
      return mismatch(std::string(), "output '{}' equal by the proof's steps expected, it does not follow from them",
                      input.value(input.outputs()[k]).name);
  return {};
}

}  // namespace

Result<Verified> verify_files(const ModelFiles& files, const VerifyOptions& options) {
  Laws laws;
  Verified result;
  const std::string proof = files.proof.string(), output = files.output.string();
  TRY(result.proof, read_proof(files.proof, laws.axioms()));
  if (result.proof.fp > options.fp)
    return mismatch(proof, "a proof of --fp {} expected, one of --fp {} found", name(options.fp),
                    name(result.proof.fp));
  TRY(const auto dims, left_open(options.dims, result.proof.dims, "--dim {}={}", proof));
  TRY(const auto shapes, left_open(options.shapes, result.proof.shapes, "--input-shapes {}:{}", proof));
  TRY(Graph input, bound_input(files, result.proof, options));
  result.has_free_sizes = !free_dims(input).empty();
  TRY(Graph found, read_model(files.output, options));
  TRY_VOID(check_interface(input, found, output));
  if (structural_hash(found) != result.proof.output)
    return mismatch(output, "the model that the proof was written for expected, another found");
  if (auto replayed = replay(input, found, laws, result); !replayed.ok())
    return std::move(replayed).error().within(proof);
  if (options.check.runs == 0) return result;
  for (Graph* graph : {&input, &found}) TRY_VOID(bind_inputs(*graph, dims, shapes));
  TRY(result.check, check_same(input, found, options.check));
  if (const auto& difference = result.check->equivalence.difference) return mismatch(output, "{}", difference->text());
  return result;
}

}  // namespace isomer::substitutions
