// The pages of docs/ do what they say: their commands run in the order in which they stand there.
#include <algorithm>

#include "cli/command_line.h"

namespace isomer::test {
namespace {

using testing::HasSubstr;

class Pages : public CommandLine {
 protected:
  /// All commands of a page, in a folder of files that it speaks of.
  Outcome commands_of(const std::string& page) const {
    std::string script = "cd \"$0\"; isomer() { \"" + tool_path("isomer").string() + "\" \"$@\"; }\n";
    for (const std::string& block : blocks_of(page, "sh")) script += block;
    return run_program({"bash", "-e", "-c", script, folder_.path().string()});
  }
};

TEST_F(Pages, AFirstModel) {
  model(
      "graph (x: float32[1,3,8,8]) -> (y) {\n"
      " w: float32[4,3,3,3] = random 1\n"
      " c = Conv(x, w) {pads = [1,1,1,1]}\n"
      " s = Sigmoid(c)\n"
      " y = Mul(c, s)\n"
      "}\n",
      "model.onnx");
  const Outcome done = commands_of("docs/first-model.md");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr("verified"));
  EXPECT_TRUE(std::filesystem::exists(path("model.iso")));
}

TEST_F(Pages, ARule) {
  write_file(path("mine.equations"), blocks_of("docs/adding-a-rule.md", "equations")[0]);
  model(
      "graph (x: float32[2,4], v: float32[4,3], w: float32[4,5]) -> (a, b) {\n a = MatMul(x, v)\n b = MatMul(x, "
      "w)\n}\n",
      "model.onnx");
  const Outcome done = commands_of("docs/adding-a-rule.md");
  EXPECT_EQ(done.exit_code, 0) << done.err;
  for (const char* rule : {"mean-of-turned", "gates", "two-branches"}) EXPECT_THAT(done.out, HasSubstr(rule));
  EXPECT_THAT(read_file(path("mine.proofs")), HasSubstr("mean-of-turned\n\telements"));
  EXPECT_THAT(read_file(path("mine.rules")), HasSubstr("split=[v_"));
  write_file(path("wrong.equations"), blocks_of("docs/adding-a-rule.md", "wrong")[0]);
  const Outcome wrong = isomer({"library", "add", path("wrong.equations"), "-o", path("wrong")});
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_THAT(wrong.out, HasSubstr("refuted"));
  EXPECT_FALSE(std::filesystem::exists(path("wrong.rules")));
}

TEST_F(Pages, TheFirstPageNamesAllOthers) {
  const std::string first = read_file(source_path("docs/README.md"));
  int pages = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("docs"))) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".md") || name == "README.md") continue;
    EXPECT_THAT(first, HasSubstr("(" + name + ")"));
    ++pages;
  }
  EXPECT_GT(pages, 10);
}

}  // namespace
}  // namespace isomer::test
