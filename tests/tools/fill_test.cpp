// The fill rule's test vector, and the files that isomer-fill writes against the digests in
// models/inputs.json.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>

#include "support/files.h"
#include "support/long_run.h"
#include "support/process.h"
#include "tools/fill_rule.h"

namespace isomer::test {
namespace {

TEST(FillRule, UniformGivesThePublishedVector) {
  const auto rule = parse_fill_rule("uniform -1 1 1");
  ASSERT_TRUE(rule.ok());
  std::array<float, 3> values;
  evaluate(*rule, 0, 1, values);
  EXPECT_THAT(values, testing::ElementsAre(0x1.10a2dep-3f, 0x1.f75c6ep-2f, 0x1.e24e8cp-1f));
}

TEST(FillRule, AnyRangeOfElementsIsTheSameAsInTheWhole) {
  for (const char* text : {"uniform -0.25 0.5 12345678901234567890", "tokens 30522 7", "arange 3", "constant 0.1"}) {
    const auto rule = parse_fill_rule(text);
    ASSERT_TRUE(rule.ok()) << text;
    std::array<double, 100> whole;
    evaluate(*rule, 0, 8, whole);
    std::array<double, 9> part;
    evaluate(*rule, 37, 8, part);
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + 37)) << text;
  }
}

TEST(FillRule, RefusesWhatIsNoRule) {
  for (const char* text : {"", "uniform", "uniform 0 1", "uniform 0 1 -1", "uniform 0 1 18446744073709551616",
                           "constant x", "constant 1 2", "tokens 0 1", "normal 0 1 2"}) {
    const auto rule = parse_fill_rule(text);
    ASSERT_FALSE(rule.ok()) << text;
    EXPECT_THAT(rule.error().message(), testing::HasSubstr("expected a fill rule")) << text;
  }
}

TEST(Fill, WritesTheFilesWhoseDigestsAreKnown) {
  const auto models = nlohmann::json::parse(read_file(source_path("models/inputs.json")))["models"];
  const int64_t most_bytes = is_long_run() ? int64_t{1} << 40 : int64_t{20} << 20;
  for (const auto& [name, facts] : models.items()) {
    if (facts["weights"]["bytes"] > most_bytes) continue;
    ScratchFolder folder;
    const auto filled =
        run_program({tool_path("isomer-fill"), source_path("models/" + name + ".onnx"), "-o", folder.path().string()});
    ASSERT_EQ(filled.exit_code, 0) << name << ": " << filled.err;
    const auto digest = run_program({"sha256sum", folder.path() / (name + ".weights")});
    EXPECT_THAT(digest.out, testing::StartsWith(facts["weights"]["sha256"].get<std::string>())) << name;
    EXPECT_EQ(read_file(folder.path() / (name + ".onnx")), read_file(source_path("models/" + name + ".onnx")));
  }
}

TEST(Fill, SaysInOneLineWhatIsWrong) {
  ScratchFolder folder;
  write_file(folder.path() / "text.onnx", "not a model");
  const auto text = run_program({tool_path("isomer-fill"), folder.path() / "text.onnx"});
  EXPECT_EQ(text.exit_code, 3);
  EXPECT_THAT(text.err, testing::MatchesRegex("isomer-fill: .*/text.onnx: expected an ONNX model.*\n"));
  std::string model = read_file(source_path("models/mlp.onnx"));
  model.replace(model.find("uniform "), 7, "unif\x1brm");
  write_file(folder.path() / "rule.onnx", model);
  const auto rule = run_program({tool_path("isomer-fill"), folder.path() / "rule.onnx"});
  EXPECT_EQ(rule.exit_code, 3);
  EXPECT_THAT(rule.err, testing::HasSubstr("expected a fill rule"));
  EXPECT_THAT(rule.err, testing::HasSubstr("unif\\x1brm"));
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "mlp.weights"));
  const auto missing = run_program({tool_path("isomer-fill"), folder.path() / "missing.onnx"});
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_THAT(missing.err, testing::HasSubstr("No such file"));
  EXPECT_EQ(run_program({tool_path("isomer-fill")}).exit_code, 2);
}

}  // namespace
}  // namespace isomer::test
