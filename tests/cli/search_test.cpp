// isomer optimize and compile with the search: what is found depends on the machine, what is written must be right on
// all.
#include <nlohmann/json.hpp>

#include "cli/command_line.h"

namespace isomer::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Two rows times the same weights, and one row times two: products that could be one.
std::string products() {
  std::string text = "opset 17\ngraph products(x: float32[1,64], y: float32[1,64]) -> (z: float32[1,64]) {\n";
  for (const char* name : {"v", "w"}) {
    text += fmt::format("  {}: float32[64,64] = {{", name);
    for (int k = 0; k < 64 * 64; ++k) text += fmt::format("{}{}", k ? ", " : "", ((k * 37 + *name) % 101 - 50) / 128.0);
    text += "}\n";
  }
  return text + R"(  a = MatMul(x, v)
  b = MatMul(y, v)
  c = MatMul(x, w)
  d = Relu(a)
  e = Tanh(b)
  f = Add(d, e)
  z = Mul(f, c)
}
)";
}

class SearchCommand : public CommandLine {
 protected:
  SearchCommand() : input_(model(products(), "in.onnx")) {}

  Outcome optimize(std::vector<std::string> options = {}) const {
    std::vector<std::string> arguments = {"optimize", input_, "-o", path("out.onnx"), "--threads", "1"};
    for (const auto& [option, value] :
         {std::pair("--records", path("records.sqlite")), std::pair("--time", std::string("5s"))})
      if (std::find(options.begin(), options.end(), option) == options.end())
        arguments.insert(arguments.end(), {option, value});
    arguments.insert(arguments.end(), options.begin(), options.end());
    return isomer(arguments);
  }

  const std::string input_;
};

TEST_F(SearchCommand, WritesWhatVerifiesWhateverItFound) {
  for (const char* strategy : {"beam", "best-first", "e-graph"}) {
    const Outcome outcome = optimize(
        {"--strategy", strategy, "--min-speedup", "0", "--proof", path("proof"), "--report", path("report"), "-q"});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(isomer({"verify", input_, path("out.onnx"), path("proof")}).exit_code, 0) << strategy;
    EXPECT_EQ(isomer({"compare", input_, path("out.onnx")}).exit_code, 0) << strategy;
    const json report = json::parse(read_file(path("report")));
    const json& search = report["search"];
    EXPECT_GT(search["costed"], 0);
    EXPECT_LE(search["best_single_steps"].size(), 10U);
    EXPECT_FALSE(search["best_single_steps"].empty());
    for (const json& step : report["steps"]) EXPECT_TRUE(step["gain_us"].is_number() || step["gain_us"].is_null());
    EXPECT_EQ(report["check"]["passed"], true);
  }
}

TEST_F(SearchCommand, TellsNoGainWhereItDoesNotSearch) {
  ASSERT_EQ(optimize({"--level", "2", "--report", path("report"), "-q"}).exit_code, 0);
  const json report = json::parse(read_file(path("report")));
  EXPECT_EQ(report["search"], json({{"outcome", "not searched"}}));
  EXPECT_EQ(report["cost_before_us"], nullptr);
}

TEST_F(SearchCommand, LeavesSizesThatNobodyBound) {
  const std::string open = model(
      "opset 17\ngraph open(x: float32[n,4]) -> (y: float32[n,4]) {\n  a = Relu(x)\n  y = Tanh(a)\n}\n", "open.onnx");
  ASSERT_EQ(isomer({"optimize", open, "-o", path("out.onnx"), "--report", path("report"), "-q"}).exit_code, 0);
  EXPECT_EQ(json::parse(read_file(path("report")))["search"]["outcome"], "not searched");
}

TEST_F(SearchCommand, CompilesWhatItFinds) {
  const Outcome outcome = isomer({"compile", input_, "-o", path("out.iso"), "--level", "3", "--records",
                                  path("records.sqlite"), "--min-speedup", "0", "--threads", "1"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(isomer({"compare", input_, path("out.iso")}).exit_code, 0);
}

TEST_F(SearchCommand, RefusesWhatItCannotUse) {
  expect_error(optimize({"--time", "soon"}), 2, "a time such as 90, 60s, 10min or 1h expected");
  EXPECT_EQ(optimize({"--strategy", "luck"}).exit_code, 2);
  write_file(path("mine.rules"), "no rules\n");
  EXPECT_EQ(optimize({"--rules", path("mine.rules")}).exit_code, 3);
  write_file(path("other"), "no records");
  expect_error(optimize({"--records", path("other")}), 3, "other");
}

}  // namespace
}  // namespace isomer::test
