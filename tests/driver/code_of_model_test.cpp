// Code of a model behind a search, and what stops do to it.
#include "driver/code_of_model.h"

#include <gtest/gtest.h>

#include "support/files.h"
#include "support/model_file.h"
#include "util/resident.h"
#include "util/stop.h"

namespace isomer::test {
namespace {

/// What comes of code whose first compilation `interrupts`; and how often it was begun.
std::pair<Result<CompiledModel>, int> made_with(const std::function<void()>& interrupts) {
  ScratchFolder folder;
  const std::string file = (folder.path() / "model.onnx").string();
  write_model("opset 17\ngraph g(x: float32[4,8]) -> (y: float32[4,8]) {\n  y = Relu(x)\n}\n", file);
  CompileChoices choices;
  choices.level = search::kSearchLevel;
  choices.without = {"alternatives"};
  choices.search.seconds = 1;
  choices.search.records = (folder.path() / "records.sqlite").string();
  int begun = 0;
  Settings settings;
  settings.messages.doing = [&](std::string_view what, std::optional<double>) {
    if (what == "compiling the result" && begun++ == 0) interrupts();
  };
  auto model = load_model(file, settings);
  if (!model.ok()) return {std::move(model).error(), begun};
  auto made = code_of_model(*model, file, settings, choices, {}, nullptr);
  forget_stop();
  return {std::move(made), begun};
}

TEST(CodeOfModel, IsMadeAgainWhereItIsInterrupted) {
  const auto [made, begun] = made_with([] { request_stop(); });
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_TRUE(made->made.is_interrupted);
  EXPECT_EQ(begun, 2);
}

/// The first time a part of the work dealt with it, and went on.
TEST(CodeOfModel, IsNotMadeWhereItIsInterruptedAgain) {
  const auto [made, begun] = made_with([] {
    request_stop();
    forget_stop();
    request_stop();
  });
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().kind, ErrorKind::kStopped);
  EXPECT_EQ(begun, 1);
}

/// For as long as it has.
TEST(CodeOfModel, IsNotTunedOnceItIsInterrupted) {
  ScratchFolder folder;
  const std::string file = (folder.path() / "model.onnx").string();
  write_model("opset 17\ngraph g(x: float32[4,8]) -> (y: float32[4,8]) {\n  y = Relu(x)\n}\n", file);
  CompileChoices choices;
  choices.level = search::kSearchLevel;
  choices.tunes = true;
  choices.search.seconds = 30;
  choices.search.records = (folder.path() / "records.sqlite").string();
  Settings settings;
  bool is_asked = false;
  settings.messages.doing = [&](std::string_view what, std::optional<double>) {
    if (what.starts_with("searching") && !std::exchange(is_asked, true)) request_stop();
  };
  SearchSetting setting;
  setting.differ = [](const Graph&, const Graph&) -> Result<bool> { return false; };
  const auto model = load_model(file, settings);
  ASSERT_TRUE(model.ok()) << model.error().message();
  const auto made = code_of_model(
      *model, file, settings, choices, setting,
      [](const search::Compilation&) -> Result<std::optional<std::string>> { return std::optional<std::string>(); });
  forget_stop();
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_TRUE(is_asked && made->made.is_interrupted);
  EXPECT_FALSE(made->tuned);
  ASSERT_TRUE(made->chosen);
  EXPECT_TRUE(made->chosen->alternatives.empty());
}

/// As with little memory: what would need more is left out.
TEST(CodeOfModel, IsMadeWithoutTuningWhereNothingCanBeMeasured) {
  ScratchFolder folder;
  const std::string file = (folder.path() / "model.onnx").string();
  write_model("opset 17\ngraph g(x: float32[67108864]) -> (y: float32[67108864]) {\n  y = Relu(x)\n}\n", file);
  CompileChoices choices;
  choices.level = 2;
  choices.tunes = true;
  choices.search.seconds = 1;
  choices.search.records = (folder.path() / "records.sqlite").string();
  Settings settings;
  settings.memory = MemoryLimit{peak_resident_bytes() + (int64_t{256} << 20)};
  std::string said;
  settings.messages.note = [&](std::string_view line) { said += line; };
  const auto model = load_model(file, settings);
  ASSERT_TRUE(model.ok()) << model.error().message();
  const auto made = code_of_model(*model, file, settings, choices, {}, nullptr);
  ASSERT_TRUE(made.ok()) << made.error().message();
  EXPECT_TRUE(made->tuned && made->tuned->is_left_out());
  EXPECT_NE(said.find("tuning: left out: Relu"), std::string::npos) << said;
}

}  // namespace
}  // namespace isomer::test
