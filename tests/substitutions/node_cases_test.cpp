// ONNX's backend tests as models: whatever passes make of them has a proof, and the proof holds.
#include <gtest/gtest.h>

#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "substitutions/derivation/derivation.h"
#include "substitutions/derivation/proof_recorder.h"
#include "substitutions/library/print_proof.h"
#include "substitutions/proof/verify_files.h"
#include "suite/case.h"
#include "support/files.h"
#include "support/long_run.h"

namespace isomer::substitutions::test {
namespace {

/// Empty, or what is wrong with the proof of what passes make of the model.
std::string wrong_with_proof(const std::filesystem::path& file, const std::filesystem::path& folder) {
  const auto model = import_model(file);
  if (!model.ok()) return "";
  const ModelFiles files{file, folder / "out.onnx", folder / "out.proof"};
  Theory theory;
  const Derivation derivation;
  const auto made = derived(*model, derivation, theory);
  if (!made.ok()) return made.error().message();
  if (const auto written = export_model(made->graph, files.output); !written.ok()) return written.error().message();
  const auto read = import_model(files.output);
  if (!read.ok()) return read.error().message();
  Theory anew;
  const auto proof = proof_of(*model, derivation, *read, anew);
  if (!proof.ok()) return proof.error().message();
  const auto text = print_proof(*proof, anew.axioms());
  if (!text.ok()) return text.error().message();
  isomer::test::write_file(files.proof, *text);
  const auto verified = verify_files(files, {.check = {.runs = 0}});
  return verified.ok() ? "" : verified.error().message();
}

TEST(NodeCases, AreOptimizedWithProofsThatHold) {
  constexpr size_t kEvery = 8;  // in the short run
  const isomer::test::ScratchFolder folder;
  const std::vector<suite::Case> cases = suite::find_cases(ONNX_TESTDATA);
  for (size_t k = 0; k < cases.size(); k += isomer::test::is_long_run() ? 1 : kEvery)
    EXPECT_EQ(wrong_with_proof(cases[k].folder / "model.onnx", folder.path()), "") << cases[k].name;
}

}  // namespace
}  // namespace isomer::substitutions::test
