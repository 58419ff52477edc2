// Inputs that once broke the importer (tests/fuzz/found), and mutants of small models.
#include <google/protobuf/stubs/logging.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "fuzz/mutate.h"
#include "fuzz/target.h"
#include "support/files.h"
#include "support/long_run.h"

namespace isomer::test {
namespace {

namespace fs = std::filesystem;

void expect_answer(const std::string& bytes, const std::string& what) {
  try {
    import_and_print(std::as_bytes(std::span(bytes)));
  } catch (const std::exception& bug) {
    ADD_FAILURE() << what << ": " << bug.what();
  }
}

TEST(FoundByFuzzing, GetsAnAnswer) {
  for (const auto& entry : fs::directory_iterator(source_path("tests/fuzz/found")))
    expect_answer(read_file(entry.path()), entry.path().filename().string());
}

TEST(Mutant, OfAHostileFileGetsAnAnswer) {
  google::protobuf::SetLogHandler(nullptr);
  std::vector<std::string> seeds;
  for (const auto& entry : fs::directory_iterator(source_path("tests/hostile/files")))
    seeds.push_back(entry.path().string());
  std::sort(seeds.begin(), seeds.end());
  Random random(1);
  for (int i = 0; i < (is_long_run() ? 100'000 : 3'000); ++i) {
    const std::string& seed = seeds[random.below(seeds.size())];
    onnx_proto::ModelProto model;
    if (!model.ParseFromString(read_file(seed))) continue;
    for (uint64_t times = 1 + random.below(8); times > 0; --times) mutate(model, random);
    expect_answer(model.SerializePartialAsString(), "mutant " + std::to_string(i) + " of " + seed);
  }
}

}  // namespace
}  // namespace isomer::test
