// isomer tune: a table for people, an object a round for programs, and code that is compiled of what it found.
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/command_line.h"

namespace isomer::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class Tune : public CommandLine {
 protected:
  const std::string layers_ = model(R"(opset 17
graph layers(x: float32[64,128]) -> (y: float32[64,128]) {
  v: float32[128,128] = random 1
  w: float32[128,128] = random 2
  a = MatMul(x, v)
  b = Relu(a)
  c = MatMul(b, w)
  d = Relu(c)
  y = Softmax(d)
}
)",
                                    "layers.onnx");
  Outcome tune(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"tune", "--records", path("records"), "--threads", "1"});
    return isomer(arguments);
  }
};

/// Convolutions have other programs (Winograd, folds), and which of them is the fastest is known when all are tuned.
TEST_F(Tune, LetsMeasuredTimesDecideAmongGraphs) {
  const std::string sums = model(R"(opset 17
graph sums(x: float32[64,64]) -> (y: float32[64,64]) {
  v: float32[64,64] = random 1
  w: float32[64,64] = random 2
  a = MatMul(x, v)
  b = MatMul(x, w)
  y = Add(a, b)
}
)",
                                 "sums.onnx");
  const auto run = [&](std::vector<std::string> arguments) {
    return with_time_enough(
        [&](const std::string& time) {
          std::vector<std::string> all = arguments;
          all.insert(all.end(),
                     {"--graphs", "3", "--threads", "1", "--records", path("records"), "--time", time, "--json"});
          return isomer(all);
        },
        [](const Outcome& outcome) {
          const json last = json::parse(outcome.out.substr(outcome.out.rfind('\n', outcome.out.size() - 2) + 1));
          return last.contains("models") ? !last["models"][0]["programs"].empty()
                                         : !last["search"][0]["graphs"]["regions"].empty();
        });
  };
  const json made = json::parse(run({"compile", sums, "-o", path("out.iso"), "--tune"}).out);
  for (const json& region : made["search"][0]["graphs"]["regions"]) {
    EXPECT_GE(region["programs"].size(), 2U);
    EXPECT_LE(region["programs"].size(), 3U);
    EXPECT_LT(region["wanted"], region["programs"].size());
  }
  EXPECT_THAT(made["check"], testing::Not(json()));
  EXPECT_EQ(isomer({"compare", sums, path("out.iso")}).exit_code, 0);
  const Outcome tuned = run({"tune", sums, "--trials", "16"});
  EXPECT_EQ(tuned.exit_code, 0) << tuned.err;
  // What was tuned is in the records: another time they decide.
  const json again = json::parse(run({"compile", sums, "-o", path("again.iso")}).out);
  EXPECT_EQ(again["tuning"][0], json());
  EXPECT_EQ(isomer({"compare", sums, path("again.iso")}).exit_code, 0);
  expect_error(isomer({"compile", sums, "-o", path("out.iso"), "--graphs", "2", "--tune", "--level", "2"}), 2,
               "--graphs");
  expect_error(isomer({"tune", sums, "--graphs", "2", "--level", "2"}), 2, "--level");
  expect_error(isomer({"compile", sums, "-o", path("out.iso"), "--graphs", "2", "--choose", "a=apart"}), 2, "--choose");
}

TEST_F(Tune, PrintsATableInTheEnd) {
  const Outcome outcome = tune({layers_, "--trials", "16", "--report", path("tune.html")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const std::string page = test::read_file(path("tune.html"));
  EXPECT_TRUE(page.starts_with("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("MatMul+Relu"));
  EXPECT_THAT(outcome.out, HasSubstr("16/16 trials"));
  EXPECT_THAT(outcome.out, HasSubstr("to gain"));
  EXPECT_THAT(outcome.out, HasSubstr("MatMul+Relu float32[64,128] const float32[128,128]"));
  EXPECT_THAT(outcome.out, HasSubstr("Softmax"));
  EXPECT_THAT(outcome.err, HasSubstr("0/16 trials"));
}

TEST_F(Tune, TellsProgramsARoundALine) {
  const Outcome outcome = tune({layers_, "--trials", "32", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  std::istringstream lines(outcome.out);
  json last;
  int64_t trials = 0, count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    last = json::parse(line);
    EXPECT_GE(last["trials"], trials);
    trials = last["trials"];
  }
  EXPECT_GE(count, 3);
  EXPECT_EQ(trials, 32);
  ASSERT_EQ(last["tasks"].size(), 2U);
  EXPECT_EQ(last["tasks"][0]["places"], 2);
  EXPECT_GT(last["tasks"][0]["start_us"], 0);
  EXPECT_GT(last["tasks"][0]["roofline_us"], 0);
  EXPECT_EQ(last["models"][0]["model"], layers_);
  // By what records know them.
  for (const json& task : last["tasks"]) {
    if (!task["found"]) continue;
    const Outcome best = isomer({"records", "best", "--records", path("records"), "--task", task["hash"]});
    EXPECT_THAT(best.out, HasSubstr("tuned"));
    EXPECT_THAT(best.out, HasSubstr(" := "));
  }
}

/// Whatever was found is what is compiled, and checked as everything is.
TEST_F(Tune, WhatItFoundIsCompiled) {
  const Outcome tuned = tune({layers_, "--trials", "32", "--json"});
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  const json last = json::parse(tuned.out.substr(tuned.out.rfind('\n', tuned.out.size() - 2) + 1));
  int found = 0;
  for (const json& task : last["tasks"]) found += task["found"].get<bool>();
  const auto compile = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"compile", layers_, "-o", path("out.iso"), "--level", "2", "--threads", "1", "--records",
                               path("records"), "--json"});
    const Outcome outcome = isomer(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json::parse(outcome.out);
  };
  EXPECT_EQ(compile({})["kernels_tuned"], found);
  EXPECT_EQ(compile({"--untuned"})["kernels_tuned"], 0);
}

/// What `compile` tunes it takes, and leaves in the records for others.
TEST_F(Tune, IsPartOfCompileWhereItIsAskedFor) {
  const auto compile = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"compile", layers_, "-o", path("out.iso"), "--threads", "1", "--records", path("records")});
    const Outcome outcome = isomer(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  const auto tuned = [&](std::vector<std::string> more, const std::function<bool(const std::string&)>& is_enough) {
    return with_time_enough(
               [&](const std::string& time) {
                 std::vector<std::string> all = {"compile",   layers_,  "-o",        path("out.iso"),
                                                 "--threads", "1",      "--records", path("records"),
                                                 "--tune",    "--time", time};
                 all.insert(all.end(), more.begin(), more.end());
                 return isomer(all);
               },
               [&](const Outcome& outcome) { return is_enough(outcome.out); })
        .out;
  };
  const auto has_tuned = [](const std::string& out) { return out.find("tuning: ") != std::string::npos; };
  EXPECT_THAT(tuned({}, has_tuned), HasSubstr("tuning: "));
  const json made = json::parse(tuned({"--level", "2", "--json"}, [](const std::string& out) {
    const json report = json::parse(out);
    return report["tuning"][0].is_object() && report["tuning"][0]["start_us"] > 0;
  }));
  EXPECT_GT(made["tuning"][0]["start_us"], 0);
  EXPECT_LE(made["tuning"][0]["best_us"], made["tuning"][0]["start_us"]);
  EXPECT_EQ(json::parse(compile({"--level", "2", "--json"}))["kernels_tuned"], made["kernels_tuned"]);
  EXPECT_THAT(made["check"], testing::Not(json()));
  // Where nothing can be kept it is said.
  const Outcome kept =
      run_program({"env", "-u", "XDG_CACHE_HOME", "-u", "HOME", tool_path("isomer").string(), "compile", layers_, "-o",
                   path("out.iso"), "--tune", "--level", "2", "--time", "2s"});
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_THAT(kept.err, HasSubstr("in no records"));
  expect_error(isomer({"compile", layers_, "-o", path("out.iso"), "--tune", "--untuned"}), 2, "--untuned");
  expect_error(isomer({"compile", layers_, "-o", path("out.iso"), "--tune", "--target", "cuda=sm_80"}), 2,
               "a CPU that this machine has expected");
}

/// Whichever is first leaves time for the others.
TEST_F(Tune, OfSeveralVariantsEachIsTuned) {
  const std::string rows =
      model("opset 17\ngraph rows(x: float32[n,64]) -> (y: float32[n,64]) {\n  y = Softmax(x)\n}\n", "rows.onnx");
  const auto trials_of = [](const Outcome& outcome) {
    const json report = json::parse(outcome.out);
    std::vector<int64_t> trials;
    for (const json& each : report["tuning"]) trials.push_back(each.is_object() ? each["trials"].get<int64_t>() : 0);
    return trials;
  };
  const Outcome outcome = with_time_enough(
      [&](const std::string& time) {
        return isomer({"compile", rows, "-o", path("out.iso"), "--threads", "1", "--records", path("records"), "--tune",
                       "--level", "2", "--dim", "n=16,32,64", "--time", time, "--json"});
      },
      [&](const Outcome& each) { return std::ranges::count(trials_of(each), 0) == 0; });
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(trials_of(outcome).size(), 3U);
  EXPECT_EQ(std::ranges::count(trials_of(outcome), 0), 0);
}

/// Of the product of layers_: what the file says stays, in all that is measured.
TEST_F(Tune, KeepsWhatAHalfOpenScheduleDecides) {
  write_file(path("rows"), "s0.rows := 3\n");
  const Outcome outcome = tune({layers_, "--task", "0", "--schedule", path("rows"), "--trials", "16", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json last = json::parse(outcome.out.substr(outcome.out.rfind('\n', outcome.out.size() - 2) + 1));
  EXPECT_EQ(last["trials"], 16);
  const Outcome best = isomer({"records", "best", "--records", path("records"), "--task", last["tasks"][0]["hash"]});
  if (last["tasks"][0]["found"]) {
    EXPECT_THAT(best.out, HasSubstr("s0.rows := 3\n"));
  }
  expect_error(tune({layers_, "--schedule", path("rows")}), 2, "one task expected, 2 found");
  write_file(path("wrong"), "s0.rows := 3000\n");
  expect_error(tune({layers_, "--task", "0", "--schedule", path("wrong")}), 3, "s0.rows: one of");
  write_file(path("closed"), "s0.rows := 3\nparallel(k0)\n");
  expect_error(tune({layers_, "--task", "0", "--schedule", path("closed")}), 3,
               "a schedule of decisions alone expected");
  expect_error(tune({layers_, "--task", "0", "--schedule", path("none")}), 3, "none");
}

TEST_F(Tune, TakesSeveralModelsAndOneTask) {
  const std::string other =
      model("opset 17\ngraph other(x: float32[n,64]) -> (y: float32[n,64]) {\n  y = Softmax(x)\n}\n", "other.onnx");
  const Outcome outcome = tune({layers_, other, "--dim", "n=16", "--trials", "24", "--objective", "f3", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("other.onnx"));
  // Each task is a line of the table.
  const Outcome table = tune({layers_, other, "--dim", "n=16", "--trials", "3"});
  size_t lines = 0;
  for (size_t at = 0; (at = table.out.find("float32[", at)) != std::string::npos; at = table.out.find('\n', at))
    ++lines;
  EXPECT_EQ(lines, 3U) << table.out;
  const Outcome one = tune({layers_, "--task", "1", "--trials", "8"});
  ASSERT_EQ(one.exit_code, 0) << one.err;
  EXPECT_THAT(one.out, HasSubstr("Softmax"));
  EXPECT_THAT(one.out, testing::Not(HasSubstr("MatMul")));
}

TEST_F(Tune, JudgesCostModelsByWhatTheRecordsHave) {
  const std::string other = model(R"(opset 17
graph other(x: float32[48,64]) -> (y: float32[48,96]) {
  w: float32[64,96] = random 1
  a = MatMul(x, w)
  y = Softmax(a)
}
)",
                                  "other.onnx");
  ASSERT_EQ(tune({layers_, other, "--trials", "160", "--strategy", "random", "--scheduler", "round-robin"}).exit_code,
            0);
  // A model that learns traces takes seconds for each fold: of models there are two.
  for (const auto& [held_out, kind] : {std::pair("tasks", "trees"), {"models", "tlp"}}) {
    const Outcome judged = tune({layers_, other, "--evaluate-cost-model", "--cost-model", kind, "--json", "--hold-out",
                                 held_out, "--other-targets"});
    ASSERT_EQ(judged.exit_code, 0) << judged.err;
    const json report = json::parse(judged.out);
    EXPECT_EQ(report["held_out"], held_out);
    ASSERT_EQ(report["models"].size(), 1U);
    const json& made = report["models"][0];
    EXPECT_THAT(made["model"].get<std::string>(), testing::StartsWith(kind));
    EXPECT_EQ(made["tasks"], 4);
    EXPECT_GE(made["trials"], 100);
    EXPECT_GT(made["top_1"], 0);
    EXPECT_LE(made["top_1"], made["top_5"]);
    EXPECT_LE(made["top_5"], 1);
  }
  const Outcome text = tune({layers_, other, "--evaluate-cost-model", "--cost-model", "trees"});
  EXPECT_THAT(text.out, HasSubstr("4 tasks held out in turns"));
  EXPECT_THAT(text.out, HasSubstr("at random"));
  EXPECT_THAT(text.out, HasSubstr("trees"));
  expect_error(tune({layers_, "--evaluate-cost-model", "--hold-out", "models"}), 2, "several models expected");
  expect_error(tune({layers_, "--evaluate-cost-model", "--cost-model", "none"}), 2, "a model to evaluate expected");
  expect_error(isomer({"tune", layers_, "--records", path("none"), "--evaluate-cost-model", "--cost-model", "tlp"}), 3,
               "none: a file of records expected, found: none");
  write_file(path("empty"), "");
  expect_error(isomer({"tune", layers_, "--records", path("empty"), "--evaluate-cost-model", "--cost-model", "tlp"}), 3,
               "trials of tasks of at least two folds expected");
}

/// On a terminal that can't replace what it shows there are lines.
TEST_F(Tune, DrawsNothingOnADumbTerminal) {
  const auto on_terminal = [&](const std::string& terminal) {
    return run_program(
        {"env", "TERM=" + terminal, "script", "-qec",
         tool_path("isomer").string() + " tune " + layers_ + " --trials 4 --threads 1 --records " + path("records"),
         "/dev/null"});
  };
  const Outcome drawn = on_terminal("xterm"), told = on_terminal("dumb");
  EXPECT_THAT(drawn.out, HasSubstr("\x1b["));
  EXPECT_EQ(told.exit_code, 0) << told.out;
  EXPECT_EQ(told.out.find('\x1b'), std::string::npos) << told.out;
}

/// Candidates of a task that is a long chain take a while each: the clock is looked at while they are drawn.
TEST_F(Tune, OfManyOperatorsEndsInTime) {
  constexpr int kOperators = 300;
  std::string text = fmt::format("opset 17\ngraph chain(x0: float32[2,4]) -> (x{}: float32[2,4]) {{\n", kOperators);
  for (int k = 0; k < kOperators; ++k)
    text += fmt::format("  x{} = {}(x{})\n", k + 1, k % 3 == 0 ? "Sigmoid" : "Relu", k);
  const Outcome outcome = tune({model(text + "}\n", "chain.onnx"), "--time", "2s", "--json"});
  EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 4) << outcome.err;
  EXPECT_LT(outcome.cpu_seconds, 15);
}

TEST_F(Tune, RefusesWhatItCanNotDoInOneSentence) {
  expect_error(tune({layers_, "--task", "7"}), 2, "a number below 2 expected, 7 found");
  expect_error(tune({layers_, "--objective", "f2"}), 2, "--wanted");
  expect_error(tune({layers_, "--wanted", "1"}), 2, "--objective f2");
  expect_error(tune({layers_, "--target", "cuda=sm_80"}), 2, "a CPU that this machine has expected");
  expect_error(tune({layers_, "--time", "soon"}), 2, "--time");
  expect_error(tune({layers_, layers_, "--dim", "n=2"}), 2, "--dim");
  expect_error(tune({path("none.onnx")}), 3, "none.onnx");
  // Where what is found could not be kept.
  expect_error(isomer({"tune", layers_, "--records", "/proc/none/records"}), 3, "records");
  expect_error(run_program({"env", "XDG_CACHE_HOME=/proc", tool_path("isomer").string(), "tune", layers_}), 3,
               "what is found is lost");
}

}  // namespace
}  // namespace isomer::test
