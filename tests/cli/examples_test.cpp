// The examples of `--help`: every command has some, and they do what they say, one after another in one folder.
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "cli/command_line.h"
#include "support/long_run.h"

namespace isomer::test {
namespace {

using Command = std::vector<std::string>;

/// What lines of one kind name, below headings of one kind, in a help text.
std::vector<std::string> below(const std::string& help, const std::regex& heading, const std::regex& line) {
  std::vector<std::string> found;
  bool is_below = false;
  std::istringstream lines(help);
  for (std::string text; std::getline(lines, text);) {
    std::smatch match;
    if (!text.starts_with(' ')) is_below = std::regex_search(text, heading);
    if (is_below && std::regex_search(text, match, line)) found.push_back(match[1]);
  }
  return found;
}

class Examples : public CommandLine {
 protected:
  Outcome shell(const std::string& line) const {
    const std::string path = tool_path("isomer").parent_path().string();
    RunOptions options;
    options.working_folder = folder_.path();
    return run_program({"sh", "-c", "PATH='" + path + "':\"$PATH\"; " + line}, options);
  }

  std::string help(Command command) const {
    command.emplace_back("--help");
    const Outcome outcome = isomer(command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  }

  /// Every command with its text, those beneath it behind it.
  std::vector<std::pair<Command, std::string>> all(const Command& command = {}) const {
    std::vector<std::pair<Command, std::string>> result = {{command, help(command)}};
    static const std::regex heading("^(?!Options|Positionals|Examples?:).*:$"), name("^  ([a-z][a-z-]*)  ");
    for (const std::string& sub : below(result[0].second, heading, name)) {
      Command inner = command;
      inner.push_back(sub);
      for (auto& each : all(inner)) result.push_back(std::move(each));
    }
    return result;
  }

  static std::vector<std::string> examples(const std::string& help) {
    return below(help, std::regex("^Examples?:$"), std::regex("^  (.*)$"));
  }
};

/// What other tests here run as well.
bool is_slow(const std::string& line) { return line.find("check-axioms") != std::string::npos; }

TEST_F(Examples, OfEveryCommandDoWhatTheySay) {
  model(
      "opset 17\ngraph model(x: float32[4,16]) -> (y: float32[4,16]) {\n  w: float32[16,16] = random 1\n"
      "  a = MatMul(x, w)\n  y = Relu(a)\n}\n",
      "model.onnx");
  model(
      "opset 17\ngraph bert(x: float32[batch,16]) -> (x2: float32[batch,16]) {\n  w: float32[16,16] = random 1\n"
      "  a = MatMul(x, w)\n  x2 = Tanh(a)\n}\n",
      "bert.onnx");
  model("opset 17\ngraph inputs(a: float32[4,16]) -> (x: float32[4,16]) {\n  x = Neg(a)\n}\n", "inputs.onnx");
  ASSERT_EQ(shell("isomer run inputs.onnx --save-outputs inputs.npz").exit_code, 0);
  const auto commands = all();
  const bool has_peer = !nlohmann::json::parse(isomer({"env", "--json"}).out)["peers"]["onnxruntime"].is_null();
  std::set<std::string> done;
  EXPECT_GT(commands.size(), 20U);
  for (const auto& [command, text] : commands) {
    std::string call = "isomer";
    for (const std::string& word : command) call += " " + word;
    SCOPED_TRACE(call);
    const auto lines = examples(text);
    EXPECT_TRUE(std::ranges::any_of(lines, [&](const std::string& line) { return line.starts_with(call); }));
    for (const std::string& line : lines) {
      EXPECT_LE(line.size(), 98U);
      if (!done.insert(line).second || (is_slow(line) && !is_long_run())) continue;
      const Outcome outcome = shell(line);
      if (line.find("--against onnxruntime") != std::string::npos && !has_peer) {
        expect_error(outcome, 3, "ONNX Runtime expected, none found");
        continue;
      }
      EXPECT_EQ(outcome.exit_code, 0) << line << "\n" << outcome.err;
    }
  }
}

}  // namespace
}  // namespace isomer::test
