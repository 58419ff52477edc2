// --schedule: traces that a user gives for tasks, and docs/schedule.md, whose example is compiled and run.
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "cli/command_line.h"

namespace isomer::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// The model of docs/schedule.md.
constexpr std::string_view kLayer = R"(opset 17
graph layer(x: float32[96,128]) -> (y: float32[96,160]) {
  w: float32[128,160] = random 1
  b: float32[160] = random 2
  p = MatMul(x, w)
  s = Add(p, b)
  y = Relu(s)
}
)";

/// Tasks of every kind, with layouts between them; two of them are equal.
constexpr std::string_view kNet = R"(opset 17
graph net(x: float32[1,8,12,12], r: float32[1,16,12,12]) -> (y: float32[16,36]) {
  w: float32[16,8,3,3] = random 1
  b: float32[16] = random 2
  v: float32[36,36] = random 3
  u: float32[36,36] = random 4
  c = Conv(x, w, b) {pads = [1,1,1,1]}
  a = Add(c, r)
  e = Relu(a)
  m = MaxPool(e) {kernel_shape = [2,2], strides = [2,2]}
  s: int64[2] = {16, 36}
  f = Reshape(m, s)
  g = MatMul(f, v)
  h = MatMul(g, u)
  y = Softmax(h)
}
)";

class Schedules : public CommandLine {
 protected:
  std::string file(const std::string& name, const std::string& content) const {
    write_file(path(name), content);
    return path(name);
  }

  /// The tasks of a model, with traces.
  static json tasks(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "inspect");
    arguments.insert(arguments.end(), {"--tasks", "--trace", "--json", "-q", "--threads", "2"});
    const Outcome outcome = isomer(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.exit_code == 0 ? json::parse(outcome.out)["tasks"] : json();
  }
};

TEST_F(Schedules, TheExampleOfTheDocsCompilesAndIsPrintedAsItWasWritten) {
  const std::string layer = model(kLayer, "layer.onnx");
  const std::string trace = blocks_of("docs/schedule.md", "trace")[0];
  const std::string given = "Gemm+Relu=" + file("layer.trace", trace);
  const Outcome compiled = isomer({"compile", layer, "-o", path("layer.iso"), "--schedule", given, "--threads", "2"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_THAT(compiled.out, HasSubstr("check: largest difference"));
  EXPECT_EQ(isomer({"compare", layer, path("layer.iso"), "--threads", "2"}).exit_code, 0);

  std::string commands;  // without comments
  for (size_t start = 0; start < trace.size(); start = trace.find('\n', start) + 1) {
    std::string line = trace.substr(start, trace.find('\n', start) - start);
    line = line.substr(0, line.find('#'));
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty()) commands += line + '\n';
  }
  const json mine = tasks({layer, "--schedule", given}), usual = tasks({layer});
  EXPECT_EQ(mine[0]["trace"], commands);
  EXPECT_NE(mine[0]["kernel"], usual[0]["kernel"]);
}

TEST_F(Schedules, WhatInspectPrintsIsAcceptedAndGivesTheSameKernels) {
  const std::string net = model(kNet, "net.onnx");
  const json usual = tasks({net});
  std::vector<std::string> arguments = {net};
  size_t kernels = 0;
  std::set<std::string> seen;
  for (const json& task : usual) {
    if (task["view"] || !seen.insert(task["kernel"]).second) continue;
    const std::string number = task["task"].dump();
    const Outcome printed = isomer({"inspect", net, "--task", number, "--trace", "-q", "--threads", "2"});
    ASSERT_EQ(printed.exit_code, 0) << printed.err;
    arguments.insert(arguments.end(), {"--schedule", number + "=" + file(number + ".trace", printed.out)});
    ++kernels;
  }
  EXPECT_GE(kernels, 4);
  EXPECT_EQ(tasks(arguments), usual);
}

TEST_F(Schedules, AScheduleIsThatOfAllEqualTasks) {
  const std::string net = model(kNet, "net.onnx");
  const json usual = tasks({net});
  std::vector<size_t> products;
  for (const json& task : usual)
    if (task["name"] == "MatMul") products.push_back(task["task"]);
  ASSERT_EQ(products.size(), 2);
  const std::string empty = file("empty.trace", "# as it is lowered\n");
  const std::string first = fmt::format("{}={}", products[0], empty), second = fmt::format("{}={}", products[1], empty);
  const json plain = tasks({net, "--schedule", second});
  EXPECT_NE(plain[products[0]]["kernel"], usual[products[0]]["kernel"]);
  EXPECT_EQ(plain[products[0]]["kernel"], plain[products[1]]["kernel"]);
  EXPECT_EQ(plain[products[0]]["trace"], "");
  EXPECT_EQ(isomer({"compile", net, "-o", path("net.iso"), "-q", "--schedule", second}).exit_code, 0);
  expect_error(isomer({"compile", net, "-o", path("no.iso"), "-q", "--schedule", first, "--schedule", second}), 2,
               "one schedule for equal tasks expected");
  expect_error(isomer({"compile", net, "-o", path("no.iso"), "-q", "--schedule", "MatMul=" + empty}), 2,
               "2 are called 'MatMul'");
  const Outcome bench = isomer({"bench", net, "--duration", "0.02", "--json", "-q", "--schedule", first});
  EXPECT_EQ(bench.exit_code, 0) << bench.err;
  expect_error(isomer({"bench", path("net.iso"), "-q", "--schedule", first}), 2, "is compiled already");
}

TEST_F(Schedules, LayoutsOfTheGraphStay) {
  const std::string net = model(kNet, "net.onnx");
  size_t laid_out = 0;
  for (const json& task : tasks({net})) {
    const std::string trace = task["view"] ? "" : task["trace"];
    if (trace.find("set_layout") == std::string::npos) continue;
    ++laid_out;
    const std::string number = task["task"].dump();
    const std::string without = file("without.trace", trace.substr(trace.find('\n') + 1));
    expect_error(isomer({"inspect", net, "-q", "--threads", "2", "--tasks", "--schedule", number + "=" + without}), 3,
                 "a layout that the graph gives to this task");
    const std::string twice = file("twice.trace", trace + "set_layout(in0, 0:1:2:3)\n");
    expect_error(isomer({"inspect", net, "-q", "--threads", "2", "--tasks", "--schedule", number + "=" + twice}), 3,
                 "layouts as the graph gives them");
  }
  EXPECT_GE(laid_out, 1);
}

TEST_F(Schedules, BadOnesAreRefusedInOneSentenceWithTheLine) {
  const std::string layer = model(kLayer, "layer.onnx");
  const auto refused = [&](const std::string& schedule, int code, const std::string& part) {
    SCOPED_TRACE(schedule);
    expect_error(isomer({"compile", layer, "-o", path("layer.iso"), "-q", "--schedule", schedule}), code, part);
    EXPECT_FALSE(std::filesystem::exists(path("layer.iso")));
  };
  const auto refused_text = [&](const std::string& text, const std::string& part) {
    SCOPED_TRACE(text.substr(0, 60));
    refused("0=" + file("bad.trace", text), 3, part);
  };
  refused("nothing", 2, "TASK=FILE expected");
  refused("=" + file("a.trace", ""), 2, "TASK=FILE expected");
  refused("1=" + path("a.trace"), 2, "a number below 1 expected, '1' found");
  refused("99999999999999999999=" + path("a.trace"), 2, "a number below 1 expected");
  refused("Conv=" + path("a.trace"), 2, "'Conv' found");
  refused("0=" + path("none.trace"), 3, "none.trace");
  refused("0=" + folder_.path().string(), 3, "folder");
  refused("0=/dev/zero", 3, "/dev/zero");
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  refused("0=" + path("pipe"), 3, "pipe");
  refused_text("# one\n\nsplit(k0", "line 3: ");
  refused_text("split k0\n", "line 1: a primitive with its arguments");
  refused_text("frobnicate(k0)\n", "line 1: frobnicate: the name of a primitive expected");
  refused_text("compute_inline(s1)\nvectorize(k2)\n", "line 2: vectorize: k2: ");
  refused_text("vectorize(k77)\n", "line 1: vectorize: k77: ");
  refused_text("vectorize(k4294967296)\n", "line 1: vectorize: argument 1: a loop like k4 expected");
  refused_text("split(k0, {k1})\n", "line 1: split: argument 2: a list like [4, 8] expected, '{k1}' found");
  refused_text("split(k0)\n", "line 1: split: 2 arguments expected, 1 found");
  refused_text("k9 = split(k0, [-1, 8])\n", "line 1: split: names for its 2 results expected, 1 found");
  refused_text("a, b = split(k0, [-1, 8])\n", "line 1: split: a name like 'k");
  refused_text("split(k0, [-1, 9223372036854775807])\nsplit(k1, [9223372036854775807, 2])\n",
               "line 1: split: at most ");
  refused_text("split(k0, [-1, t0])\n", "line 1: ");
  refused_text("split(k0, t0)\n", "argument 2: a list like [4, 8] expected, 't0' found");
  refused_text("s0.rows := many\n", "line 1: an integer behind ':=' expected, 'many' found");
  refused_text("set_layout(in0, 1:0)\n", "line 1: layouts as the graph gives them");
  refused_text("set_scope(s1, registers)\n", "line 1: set_scope: ");
  refused_text(std::string("\x7f"
                           "ELF\x01\x00\x02\xff\xfe\n",
                           10) +
                   std::string(100'000, '\xf0'),
               "line 1: ");
  std::string deep, wide = "split(k0, [1";
  for (int i = 0; i < 2'000; ++i) deep += "k0, k99 = split(k0, [-1, 1])\n", wide += ", 1";
  refused_text(wide + "])\n", "64 factors expected");
  refused_text(deep, "split: at most 512 loops around a block expected");
}

/// What is decided in a file is taken; what it leaves open is decided as in the default schedule.
TEST_F(Schedules, MayBeHalfOpen) {
  const std::string layer = model(kLayer, "layer.onnx");
  const auto choices = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"inspect", layer, "--task", "0", "--trace", "--choices", "--json", "-q"});
    const Outcome outcome = isomer(arguments);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return json::parse(outcome.out)["tasks"][0];
  };
  const json usual = choices({});
  const std::vector<int64_t> rows = usual["choices"]["s0.rows"]["candidates"];
  ASSERT_GE(rows.size(), 3);
  const int64_t row = rows[1];
  ASSERT_NE(row, usual["choices"]["s0.rows"]["value"]);
  const std::string given = "0=" + file("rows.trace", fmt::format("# of {}\ns0.rows := {}\n", rows.size(), row));
  const json mine = choices({"--schedule", given});
  EXPECT_EQ(mine["choices"]["s0.rows"]["value"], row);
  EXPECT_EQ(mine["choices"]["s0.vector_axis"], usual["choices"]["s0.vector_axis"]);
  EXPECT_NE(mine["kernel"], usual["kernel"]);
  EXPECT_EQ(isomer({"compile", layer, "-o", path("layer.iso"), "--schedule", given}).exit_code, 0);
  EXPECT_EQ(isomer({"compare", layer, path("layer.iso")}).exit_code, 0);
  // What --choices prints says all that the default schedule decides.
  const Outcome printed = isomer({"inspect", layer, "--task", "0", "--choices", "-q"});
  const json again = choices({"--schedule", "0=" + file("all.trace", printed.out)});
  EXPECT_EQ(again["kernel"], usual["kernel"]);

  const auto refused = [&](const std::string& text, const std::string& part) {
    SCOPED_TRACE(text);
    expect_error(isomer({"compile", layer, "-o", path("no.iso"), "-q", "--schedule", "0=" + file("bad.trace", text)}),
                 3, part);
  };
  refused("s0.rows := 1000\n", "bad.trace: s0.rows: one of 1, ");
  refused("s0.lines := 2\n",
          "bad.trace: s0.lines: a choice that this schedule comes to expected, it comes to s1.inline, s0.tiles, ");
  refused("s0.rows := 2\ns0.rows := 3\n", "bad.trace: s0.rows: one decision expected, two found");
}

TEST_F(Schedules, TracesSayWhatWasDecided) {
  const std::string layer = model(kLayer, "layer.onnx");
  EXPECT_THAT(tasks({layer})[0]["trace"].get<std::string>(), HasSubstr(".rows := "));
  const std::string trace =
      file("decided.trace", "k50, k51 = split(k1, [-1, 16])\nk52, k53 = split(k51, [2, 8])\ns0.rows := 6  # as if\n");
  const json made = tasks({layer, "--schedule", "0=" + trace});
  EXPECT_THAT(made[0]["trace"].get<std::string>(), testing::EndsWith("s0.rows := 6\n"));
}

/// Examples of docs/templates.md.
class Templates : public Schedules {
 protected:
  static std::string example(const std::string& kind) { return blocks_of("docs/templates.md", kind)[0]; }
  static std::string replaced(std::string text, const std::string& what, const std::string& by) {
    EXPECT_THAT(text, HasSubstr(what));
    return text.replace(text.find(what), what.size(), by);
  }

  Outcome tune(const std::string& model, const std::string& schedule, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments = {"tune",      model,           "--task",    "0", "--schedule", schedule,
                                          "--records", path("records"), "--threads", "1", "--json",     "-q"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return isomer(arguments);
  }
  /// Its last line.
  static json result_of(const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    if (outcome.exit_code != 0) return {};
    return json::parse(outcome.out.substr(outcome.out.rfind('\n', outcome.out.size() - 2) + 1));
  }
  /// How many kernels are as they were tuned; what is compiled computes what the model does.
  int tuned_kernels(const std::string& model, const std::string& schedule, std::vector<std::string> more = {}) const {
    const Outcome outcome = compile(model, schedule, std::move(more));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(isomer({"compare", model, path("made.iso")}).exit_code, 0);
    return outcome.exit_code == 0 ? kernels_tuned(outcome) : -1;
  }
  Outcome compile(const std::string& model, const std::string& schedule, std::vector<std::string> more) const {
    std::vector<std::string> arguments = {"compile",   model, "-o",        path("made.iso"),
                                          "--level",   "2",   "--records", path("records"),
                                          "--threads", "1",   "--json",    "-q"};
    if (!schedule.empty()) arguments.insert(arguments.end(), {"--schedule", "0=" + schedule});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return isomer(arguments);
  }
  static int kernels_tuned(const Outcome& compiled) { return json::parse(compiled.out)["kernels_tuned"]; }

  const std::string layer_ = model(kLayer, "layer.onnx");
  const std::string sums_ = model(R"(opset 17
graph sums(x: float32[512,96]) -> (y: float32[96]) {
  axes: int64[1] = {0}
  y = ReduceSum(x, axes) {keepdims = 0}
}
)",
                                  "sums.onnx");
  /// From what nobody would prefer: few sums are in registers.
  const std::string product_ = file(
      "product", replaced(replaced(example("template"), "rows := 6", "rows := 2"), "columns := 16", "columns := 8"));
};

TEST_F(Templates, OfTheDocsCompileAndTune) {
  const std::string as_it_is = file("as_it_is", example("template")), by_hand = file("by_hand", example("by-hand"));
  EXPECT_EQ(tuned_kernels(layer_, as_it_is), 0);
  for (const auto& [model, schedule, trials] : {std::tuple(layer_, product_, 35), std::tuple(sums_, by_hand, 4)}) {
    SCOPED_TRACE(schedule);
    EXPECT_EQ(tuned_kernels(model, schedule), 0);
    const json tuned = result_of(tune(model, schedule));
    EXPECT_EQ(tuned["trials"], trials) << "all but what is preferred";
    EXPECT_EQ(tuned["tasks"][0]["failed"], json::object());
    ASSERT_TRUE(tuned["tasks"][0]["found"]) << tuned;
    EXPECT_GT(tuned["tasks"][0]["speedup"], 1.3);
    EXPECT_EQ(tuned_kernels(model, schedule), 1);
    EXPECT_EQ(tuned_kernels(model, schedule, {"--untuned"}), 0);
  }
}

/// What was found is the template's: it is gone on from, and taken where this text is given, and nowhere else.
TEST_F(Templates, KeepWhatIsFoundForThemselves) {
  const std::string other = file("other", read_file(product_) + "written_out := 1\n");
  const json tuned = result_of(tune(layer_, product_));
  ASSERT_TRUE(tuned["tasks"][0]["found"]) << tuned;
  EXPECT_EQ(tuned_kernels(layer_, product_), 1);
  EXPECT_EQ(tuned_kernels(layer_, other), 0);
  EXPECT_EQ(tuned_kernels(layer_, ""), 0);

  const Outcome best = isomer({"records", "best", "--records", path("records"), "--task", tuned["tasks"][0]["hash"]});
  EXPECT_THAT(best.out, HasSubstr("rows := "));
  EXPECT_THAT(best.out, HasSubstr("tuned, template "));
  const Outcome inspected = isomer({"inspect", layer_, "--task", "0", "--choices", "--json", "-q", "--threads", "1",
                                    "--schedule", "0=" + product_, "--records", path("records")});
  const json choices = json::parse(inspected.out)["tasks"][0]["choices"];
  EXPECT_EQ(choices["columns"]["candidates"], json({8, 16, 32}));
  EXPECT_TRUE(choices["rows"]["value"] != 2 || choices["columns"]["value"] != 8) << choices;

  EXPECT_LE(result_of(tune(layer_, product_, {"--continue"}))["trials"], 1) << "all but the best were measured before";
  EXPECT_EQ(tuned_kernels(layer_, product_), 1);
  EXPECT_EQ(result_of(tune(layer_, other))["trials"], 17);
}

TEST_F(Templates, AreRefusedInOneSentenceWithTheLine) {
  const auto refused = [&](const std::string& text, const std::string& part) {
    SCOPED_TRACE(text);
    const std::string schedule = file("bad", text);
    expect_error(tune(layer_, schedule), 3, part);
    expect_error(isomer({"compile", layer_, "-o", path("no.iso"), "-q", "--schedule", "0=" + schedule}), 3, part);
  };
  refused("rows := 4 in [4, 8]\nk7, k8 = split(k0, [-1, ?row])\n", "bad: line 2: a knob expected behind '?', of rows");
  refused("rows := 4 in [4, 8]\nk7, k8 = split(k99, [-1, ?rows])\n", "bad: line 2: split: k99");
  refused("rows := 4 in [4, 8]\nk7, k8 = split(k0, [-1, ?rows])\ns2.row := 2\ndefaults()\n",
          "bad: s2.row: a choice that this schedule comes to expected, it comes to rows, ");
  expect_error(tune(layer_, file("closed", "parallel(k0)\n")), 3, "closed: a schedule of decisions alone expected");
}

/// `compile --tune` tunes what given schedules leave open, and no more.
TEST_F(Templates, AreTunedBeforeTheyAreCompiled) {
  const Outcome tuned =
      with_time_enough([&](const std::string& time) { return compile(layer_, product_, {"--tune", "--time", time}); },
                       [](const Outcome& outcome) { return kernels_tuned(outcome) == 1; });
  ASSERT_EQ(tuned.exit_code, 0) << tuned.err;
  EXPECT_EQ(kernels_tuned(tuned), 1);
  EXPECT_EQ(tuned_kernels(layer_, product_), 1);
}

TEST_F(Schedules, AreMadeForAGpuToo) {
  const Outcome outcome = isomer({"inspect", model(kLayer, "layer.onnx"), "--cuda", "-q"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("extern \"C\" __global__ void __launch_bounds__("));
  EXPECT_THAT(outcome.out, HasSubstr("task0_0(int* __restrict__ outcome"));
  EXPECT_THAT(outcome.out, HasSubstr("namespace op {"));
}

}  // namespace
}  // namespace isomer::test
