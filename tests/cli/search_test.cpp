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
         {std::pair("--records", path("records.sqlite")), std::pair("--time", std::string("60s"))})
      if (std::find(options.begin(), options.end(), option) == options.end())
        arguments.insert(arguments.end(), {option, value});
    arguments.insert(arguments.end(), options.begin(), options.end());
    return isomer(arguments);
  }

  const std::string input_;
};

TEST_F(SearchCommand, WritesWhatVerifiesWhateverItFound) {
  for (const char* strategy : {"beam", "best-first", "e-graph"}) {
    const Outcome outcome = with_time_enough(
        [&](const std::string& time) {
          return optimize({"--strategy", strategy, "--for", "isomer", "--min-speedup", "0", "--time", time, "--proof",
                           path("proof"), "--report", path("report"), "-q"});
        },
        [&](const Outcome&) {
          const json search = json::parse(read_file(path("report")))["search"];
          return search["costed"] > 0 && !search["best_single_steps"].empty();
        });
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

/// Whatever is taken: a convolution of strides and dilations, which no rule mutates.
TEST_F(SearchCommand, WritesProofsOfMutantsOfTheModelsOwn) {
  std::string text = "opset 17\ngraph g(x: float32[1,8,20,20]) -> (y: float32[1,8,8,8]) {\n  w: float32[8,8,3,3] = {";
  for (int k = 0; k < 8 * 8 * 9; ++k) text += fmt::format("{}{}", k ? ", " : "", ((k * 37) % 101 - 50) / 128.0);
  const std::string strided =
      model(text + "}\n  y = Conv(x, w) {strides = [2,2], dilations = [2,2]}\n}\n", "strided.onnx");
  const std::string out = path("out.onnx"), proof = path("proof");
  const auto has_mutants = [](const Outcome& outcome) {
    return outcome.err.find(" mutants that no rule says, of ") != std::string::npos &&
           outcome.err.find("--mutate: 0 mutants") == std::string::npos &&
           outcome.err.find("\n0 mutants") == std::string::npos;
  };
  const Outcome outcome = with_time_enough(
      [&](const std::string& time) {
        return isomer({"optimize", strided, "-o", out, "--for", "isomer", "--mutate", "--min-speedup", "0", "--time",
                       time, "--records", path("records.sqlite"), "--proof", proof, "-v"});
      },
      has_mutants);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(has_mutants(outcome)) << outcome.err;
  EXPECT_EQ(isomer({"verify", strided, out, proof}).exit_code, 0);
}

/// Rules are known by their names: those of two files may have one, which may be one of normalization's, too.
TEST_F(SearchCommand, TakesRulesOfOneNameForWhatTheyAre) {
  for (const auto& [stem, equation] :
       {std::pair("first", "factors | x[4] | Abs(Abs(x)) = Abs(x)"),
        std::pair("second", "factors | x[4] y[4] z[4] | Add(Mul(x,y),Mul(x,z)) = Mul(x,Add(y,z))")}) {
    write_file(path("stated.equations"), fmt::format("{}\n", equation));
    const Outcome added = isomer({"library", "add", path("stated.equations"), "-o", path(stem)});
    ASSERT_EQ(added.exit_code, 0) << added.err;
  }
  const std::string factors = model(R"(opset 17
graph factors(w: float32[64,128], x: float32[64,128], y: float32[64,128], z: float32[64,128]) -> (s, o) {
  c: float32[128] = random 1
  d: float32[128] = random 2
  t = Tanh(w)
  p = Mul(t, c)
  q = Mul(p, d)
  s = Sigmoid(q)
  a = Mul(x, y)
  b = Mul(x, z)
  o = Add(a, b)
}
)",
                                    "factors.onnx");
  const Outcome outcome = isomer({"optimize", factors, "-o", path("out.onnx"), "--level", "3", "--time", "10s",
                                  "--rules", path("first.rules"), "--rules", path("second.rules"), "--proof",
                                  path("proof"), "--report", path("report")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  int normalizing = 0, searched = 0;
  const json report = json::parse(read_file(path("report")));
  for (const json& step : report["steps"]) {
    const std::string rule = step["rule"];
    normalizing += rule == "factors" ? 1 : 0;
    searched += rule.starts_with("factors-") ? 1 : 0;
  }
  EXPECT_GT(normalizing, 0) << outcome.out;
  EXPECT_GT(searched, 0) << outcome.out;
  EXPECT_EQ(isomer({"verify", factors, path("out.onnx"), path("proof")}).exit_code, 0);
}

TEST_F(SearchCommand, TellsNoGainWhereItDoesNotSearch) {
  ASSERT_EQ(optimize({"--level", "2", "--report", path("report"), "-q"}).exit_code, 0);
  const json report = json::parse(read_file(path("report")));
  EXPECT_EQ(report["search"]["outcome"], "not searched");
  EXPECT_EQ(report["search"]["why"], "--level 2 only simplifies");
  EXPECT_EQ(report["cost_before_us"], nullptr);
  EXPECT_THAT(optimize({"--level", "2"}).out, HasSubstr("not measured: --level 2 does not measure"));
}

TEST_F(SearchCommand, LeavesSizesThatNobodyBound) {
  const std::string open = model(
      "opset 17\ngraph open(x: float32[n,4]) -> (y: float32[n,4]) {\n  a = Relu(x)\n  y = Tanh(a)\n}\n", "open.onnx");
  ASSERT_EQ(isomer({"optimize", open, "-o", path("out.onnx"), "--report", path("report"), "-q"}).exit_code, 0);
  EXPECT_EQ(json::parse(read_file(path("report")))["search"]["outcome"], "not searched");
}

TEST_F(SearchCommand, SaysWhatAFileHasMoreOf) {
  const std::string shared = model(R"(opset 17
graph shared(p: float32[8,32], q: float32[8,32]) -> (y: float32[8,32], z: float32[8,32]) {
  w: float32[32,32] = random 1
  f: float32[32] = random 2
  g: float32[32] = random 3
  m = MatMul(p, w)
  n = MatMul(q, w)
  y = Mul(m, f)
  z = Mul(n, g)
}
)",
                                   "shared.onnx");
  EXPECT_THAT(isomer({"optimize", shared, "-o", path("out.onnx"), "--level", "2"}).out,
              HasSubstr("\nmore weights than before: "));
}

TEST_F(SearchCommand, SaysWhatAFileIsFor) {
  const Outcome any = optimize();
  EXPECT_THAT(any.out, HasSubstr("written for any runtime: no step of the search adds"));
  EXPECT_THAT(any.out, testing::Not(HasSubstr("more weights")));
  EXPECT_THAT(optimize({"--for", "isomer"}).out, HasSubstr("other runtimes may be slower"));
  const Outcome none = optimize({"--for", "onnxruntime", "--onnxruntime", path("none.so")});
  EXPECT_EQ(none.exit_code, 0) << none.err;
  EXPECT_THAT(none.out, HasSubstr("not measured: onnxruntime"));
}

TEST_F(SearchCommand, WritesNoMoreWorkForAnyRuntime) {
  ASSERT_EQ(optimize({"--report", path("report"), "-q"}).exit_code, 0);
  const json report = json::parse(read_file(path("report")));
  EXPECT_EQ(report["for"], "any");
  EXPECT_LE(report["nodes_after"], report["nodes_before"]);
  EXPECT_LE(report["weights_mb_after"], report["weights_mb_before"]);
}

TEST_F(SearchCommand, TakesTheTimeOfTheWholeCommand) {
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_EQ(optimize({"--for", "isomer", "--time", "2s", "--report", path("report"), "-q"}).exit_code, 0);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(passed.count(), 30) << "far from 2 s, whatever else the machine does";
}

TEST_F(SearchCommand, CompilesWhatItFinds) {
  const Outcome outcome = with_time_enough(
      [&](const std::string& time) {
        return isomer({"compile", input_, "-o", path("out.iso"), "--records", path("records.sqlite"), "--min-speedup",
                       "0", "--threads", "1", "--time", time, "--json"});
      },
      [](const Outcome& made) { return json::parse(made.out)["search"][0]["outcome"] != "not searched"; });
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["check"]["passed"], true);
  EXPECT_EQ(isomer({"compare", input_, path("out.iso")}).exit_code, 0);
}

TEST_F(SearchCommand, CompilesTheWaysToCutThatItMeasured) {
  // No other graph is taken: choices name values of this one.
  const Outcome outcome = with_time_enough(
      [&](const std::string& time) {
        return isomer({"compile", input_, "-o", path("out.iso"), "--records", path("records.sqlite"), "--min-speedup",
                       "1000", "--threads", "1", "--time", time, "--json"});
      },
      [](const Outcome& made) {
        const json report = json::parse(made.out);
        if (report["search"][0]["outcome"] == "not searched" || !report["tasks_chosen"][0].is_object()) return false;
        const json& alternatives = report["tasks_chosen"][0]["alternatives"];
        return std::any_of(alternatives.begin(), alternatives.end(), [](const json& each) {
          return each["what"].get<std::string>().find("cut") != std::string::npos;
        });
      });
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  // What was measured can be said by hand.
  const json& chosen = report["tasks_chosen"][0];
  ASSERT_FALSE(chosen["alternatives"].empty()) << outcome.out;
  std::vector<std::string> by_hand = {"compile", input_, "-o", path("hand.iso"), "--level", "2", "-q"};
  for (const json& alternative : chosen["alternatives"])
    for (const std::string answer : alternative["choose"])
      if (alternative["what"].get<std::string>().find("cut") != std::string::npos)
        by_hand.insert(by_hand.end(), {"--choose", answer});
  ASSERT_GT(by_hand.size(), 7u) << outcome.out;
  EXPECT_EQ(isomer(by_hand).exit_code, 0);
  EXPECT_EQ(isomer({"compare", input_, path("hand.iso")}).exit_code, 0);
  const Outcome without = isomer({"compile", input_, "-o", path("out.iso"), "--records", path("records.sqlite"),
                                  "--without", "alternatives", "--json"});
  EXPECT_TRUE(json::parse(without.out)["tasks_chosen"][0].is_null()) << without.out;
}

TEST_F(SearchCommand, RefusesChoicesThatNameNothing) {
  const auto compile = [&](const std::string& choice) {
    return isomer({"compile", input_, "-o", path("out.iso"), "--level", "2", "--choose", choice});
  };
  expect_error(compile("nobody=together"), 2, "a value of the model as tasks are made of it expected");
  expect_error(compile("y=twice"), 2, "VALUE=together, apart, channels-last or row-major expected, 'y=twice' found");
  expect_error(compile("y"), 2, "VALUE=together, apart");
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
