// The contract of the command line (CLI.md): exit codes, one-line errors, JSON, inputs and outputs of runs.
#include <nlohmann/json.hpp>

#include <filesystem>
#include <set>

#include "cli/command_line.h"
#include "graph/onnx/value_file.h"
#include "support/long_run.h"
#include "util/random.h"

namespace isomer::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

/// y = relu(x + c) twice over, with an Identity to remove and a constant to fold.
constexpr std::string_view kSmall = R"(opset 17
graph small(x: float32[batch,3]) -> (y: float32[batch,3]) {
  c: float32[3] = {1, -2, 0.5}
  a = Identity(x)
  b = Add(a, c)
  y = Relu(b)
}
)";

/// Gathers rows: integer inputs must stay below the number of rows.
constexpr std::string_view kLookup = R"(opset 17
graph lookup(i: int64[50]) -> (y: float32[50,2]) {
  table: float32[3,2] = {1, 2, 3, 4, 5, 6}
  y = Gather(table, i)
}
)";

TEST_F(CommandLine, UsageErrorsExitWithTwo) {
  expect_error(isomer({}), 2, "subcommand");
  expect_error(isomer({"frobnicate"}), 2, "--help");
  expect_error(isomer({"optimize", "a.onnx"}), 2, "--output");
  expect_error(isomer({"run", "a.onnx", "--fill", "sideways"}), 2, "sideways");
  expect_error(isomer({"optimize", "a.onnx", "-o", "b.onnx", "--level", "9"}), 2, "level");
  // More than a clock can count.
  expect_error(isomer({"optimize", "a.onnx", "-o", "b.onnx", "--time", "3000000h"}), 2, "a time such as 90");
}

TEST_F(CommandLine, UsageErrorsNameTheCommand) {
  expect_error(isomer({"run"}), 2, "isomer: run: FILE is required; see 'isomer run --help'");
  expect_error(isomer({"library", "show", "--what"}), 2, "see 'isomer library show --help'");
  expect_error(isomer({"frob"}), 2, "'frob' found; see 'isomer --help'");
  expect_error(isomer({"library", "frob"}), 2, "isomer: library: the name of a command expected, 'frob' found");
}

TEST_F(CommandLine, ListsEndWhereTheModelStands) {
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"bench", "--against", "onnxruntime,onednn", path("none.onnx"), "--threads", "1"},
           {"tune", "--objective", "f2", "--wanted", "1,2", path("none.onnx"), path("none.onnx")}})
    expect_error(isomer(command), 3, "none.onnx");
}

TEST_F(CommandLine, NumbersThatAreNoneAreRefused) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"bench", "a.onnx", "--duration", "-1"},
                                             {"bench", "a.onnx", "--duration", "0"},
                                             {"bench", "a.onnx", "--duration", "nan"},
                                             {"optimize", "a.onnx", "-o", "b.onnx", "--alpha", "nan"},
                                             {"optimize", "a.onnx", "-o", "b.onnx", "--min-speedup", "nan"},
                                             {"tune", "a.onnx", "--objective", "f2", "--wanted", "-1"},
                                             {"tune", "a.onnx", "--objective", "f2", "--wanted", "nan"},
                                             {"tune", "a.onnx", "--task", "-1"},
                                             {"run", "a.onnx", "--seed", "-1"},
                                             {"run", "a.onnx", "--seed", "18446744073709551616"},
                                             {"run", "a.onnx", "--threads", "1025"}}) {
    SCOPED_TRACE(testing::PrintToString(command));
    const Outcome outcome = isomer(command);
    expect_error(outcome, 2, "");
    EXPECT_LT(outcome.err.size(), 200) << outcome.err;
  }
  const std::string file = model(kSmall, "small.onnx");
  EXPECT_EQ(isomer({"bench", file, "--duration", "0.01s"}).exit_code, 0);
  EXPECT_EQ(isomer({"run", file, "--seed", "18446744073709551615"}).exit_code, 0);
}

/// -v tells what a command took, -vv also what it did when.
TEST_F(CommandLine, VerboseTellsMoreAndMore) {
  const std::string file = model(kSmall, "small.onnx");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"run", file}, {"compare", file, file}, {"inspect", file}, {"env"}}) {
    SCOPED_TRACE(command[0]);
    std::vector<std::string> verbose = command, quiet = command;
    verbose.emplace_back("-v");
    quiet.insert(quiet.end(), {"-v", "-q"});
    EXPECT_THAT(isomer(verbose).err, HasSubstr("isomer: took "));
    EXPECT_EQ(isomer(quiet).err, "");
  }
  const std::vector<std::string> optimize = {"optimize", file, "-o", path("out.onnx"), "--level", "1", "-v"};
  EXPECT_THAT(isomer(optimize).err, testing::Not(HasSubstr(" s: reading\n")));
  std::vector<std::string> all = optimize;
  all.emplace_back("-v");
  EXPECT_THAT(isomer(all).err, HasSubstr(" s: reading\n"));
}

/// What isomer prints goes where a shell sends it.
Outcome isomer_to(const std::string& rest) {
  return run_program({"/bin/sh", "-c", tool_path("isomer").string() + " " + rest});
}

TEST_F(CommandLine, WhatCannotBePrintedIsAnError) {
  const std::string file = model("opset 17\ngraph g(x: float32[2]) -> (y: float32[2]) {\n  y = Relu(x)\n}\n", "g.onnx");
  for (const std::string& command :
       {std::string("--version"), std::string("--help"), "inspect " + file, "inspect --json " + file})
    expect_error(isomer_to(command + " > /dev/full"), 3, "output: a place that takes what is printed expected");
}

/// What goes wrong with standard error is nobody's error.
TEST_F(CommandLine, StandardErrorMayBeClosedOrFull) {
  const std::string file = model(kSmall, "small.onnx");
  for (const char* where : {" 2>&-", " 2>/dev/full"}) {
    SCOPED_TRACE(where);
    EXPECT_EQ(isomer_to("run " + file + where).exit_code, 0) << "which has a note on a size";
    EXPECT_EQ(isomer_to("run " + path("none.onnx") + where).exit_code, 3);
    EXPECT_EQ(isomer_to("optimize " + file + " -o " + path("out.onnx") + " --level 3 --time 1s -v" + where).exit_code,
              0);
  }
}

/// Files that are opened then must not be printed into.
TEST_F(CommandLine, OutputsMayBeClosed) {
  const std::string file = model(kSmall, "small.onnx");
  for (const char* closed : {" >&-", " >&- 2>&-", " <&- >&- 2>&-"}) {
    SCOPED_TRACE(closed);
    const Outcome outcome = isomer_to("optimize " + file + " -o " + path("out.onnx") + " --level 1" + closed);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(json::parse(isomer({"inspect", path("out.onnx"), "--json"}).out)["nodes"], 2);
    std::filesystem::remove(path("out.onnx"));
  }
}

/// Both, or neither: what could not be printed leaves no file.
TEST_F(CommandLine, FilesComeWithWhatIsPrinted) {
  const std::string file = model(kSmall, "small.onnx");
  const std::vector<std::string> commands = {
      "optimize " + file + " -o " + path("out.onnx") + " --report " + path("out.json") + " --level 1 -q --json",
      "compile " + file + " -o " + path("out.iso") + " --level 1 -q --json",
      "run " + file + " -q --save-outputs " + path("out.npz"), "run " + file + " -q --save-outputs " + path("out"),
      "bench " + file + " -q --duration 0.01 --report " + path("out.json")};
  const std::vector<std::string> names = {"out.onnx", "out.json", "out.iso", "out.npz", "out/output_0.pb"};
  std::set<std::string> made;
  for (const std::string& command : commands) {
    SCOPED_TRACE(command);
    expect_error(isomer_to(command + " > /dev/full"), 3, "output: a place that takes what is printed expected");
    for (const std::string& name : names) EXPECT_FALSE(std::filesystem::exists(path(name))) << name;
    EXPECT_EQ(isomer_to(command + " | true").err, "") << "nobody reads it";
    for (const std::string& name : names)
      if (std::filesystem::remove(path(name))) made.insert(name);
  }
  EXPECT_EQ(made.size(), names.size());
}

TEST_F(CommandLine, ReadersMayStopReading) {
  std::string text = "opset 17\ngraph g(v0: float32[2]) -> (v3000: float32[2]) {\n";
  for (int k = 0; k < 3000; ++k) text += fmt::format("  v{} = Relu(v{})\n", k + 1, k);
  const std::string file = model(text + "}\n", "long.onnx");
  const Outcome outcome = isomer_to("inspect --text " + file + " | head -n 1");
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 1);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(CommandLine, MissingAndBrokenFilesExitWithThree) {
  expect_error(isomer({"inspect", path("none.onnx")}), 3, "none.onnx");
  write_file(path("broken.onnx"), "not a model");
  expect_error(isomer({"inspect", path("broken.onnx")}), 3, "broken.onnx");
  expect_error(isomer({"inspect", folder_.path().string()}), 3, "folder");
}

TEST_F(CommandLine, UnboundDimsAreOneAndNamedWithTheFlag) {
  const std::string file = model(kSmall, "small.onnx");
  const std::vector<std::vector<std::string>> commands = {{"run", file},
                                                          {"run", file, "--interpret"},
                                                          {"bench", file, "--duration", "0.01"},
                                                          {"compile", file, "-o", path("small.iso")},
                                                          {"inspect", file, "--task", "0"},
                                                          {"compare", file, file}};
  for (std::vector<std::string> command : commands) {
    const Outcome outcome = isomer(command);
    EXPECT_EQ(outcome.exit_code, 0) << command[0] << ": " << outcome.err;
    const std::string line = "isomer: " + file + ": batch is taken as 1; bind it with --dim batch=SIZE\n";
    EXPECT_THAT(outcome.err, HasSubstr(line)) << command[0];
    command.push_back("-q");
    EXPECT_EQ(isomer(command).err, "") << command[0];
  }
  const json report = json::parse(isomer({"run", file, "--json"}).out);
  EXPECT_EQ(report["outputs"][0]["shape"], json({1, 3}));
  EXPECT_EQ(isomer({"run", path("small.iso"), "--dim", "batch=1", "-q"}).exit_code, 0);
  EXPECT_EQ(isomer({"run", file, "--dim", "batch=2"}).err, "");
  expect_error(isomer({"run", file, "--interpret", "-q", "--dim", "height=2"}), 2, "batch");
}

TEST_F(CommandLine, ArtifactsAreComparedAtTheirOwnSizes) {
  const std::string file = model(kSmall, "small.onnx");
  ASSERT_EQ(isomer({"compile", file, "-o", path("small.iso"), "--dim", "batch=4", "-q"}).exit_code, 0);
  const Outcome outcome = isomer({"compare", file, path("small.iso")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

/// Callers may leave out inputs of a model that have a value there; of an artifact they are none.
TEST_F(CommandLine, ArtifactsKeepTheValuesOfInputs) {
  auto graph =
      parse_graph("opset 17\ngraph g(x: float32[2,3]) -> (y) {\n  w: float32[3] = {10, 20, 30}\n  y = Add(x, w)\n}\n");
  ASSERT_TRUE(graph.ok());
  std::vector<ValueId> inputs = graph->inputs();
  for (const ValueId id : graph->values())
    if (graph->is_constant(id)) inputs.push_back(id);
  ASSERT_EQ(inputs.size(), 2U);
  graph->set_inputs(inputs);
  graph->edit_info().ir_version = 8;
  const std::string file = path("defaults.onnx"), artifact = path("defaults.iso");
  ASSERT_TRUE(export_model(*graph, file).ok());
  const Outcome compiled = isomer({"compile", file, "-o", artifact, "--level", "1"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_THAT(compiled.err, HasSubstr("w keeps the value that the file gives it"));
  const json of_model = json::parse(isomer({"run", file, "--json", "--fill", "zeros"}).out);
  const json of_artifact = json::parse(isomer({"run", artifact, "--json", "--fill", "zeros"}).out);
  EXPECT_EQ(of_artifact["outputs"], of_model["outputs"]);
  EXPECT_EQ(of_artifact["outputs"][0]["max"], 30);
  EXPECT_EQ(isomer({"compare", file, artifact}).exit_code, 0);
}

/// Whoever has the inputs need not know what their sizes are called.
TEST_F(CommandLine, VariantsAreFoundByTheShapesOfInputs) {
  const std::string file =
      model("opset 17\ngraph g(x: float32[n,4]) -> (y: float32[n,4]) {\n  y = Relu(x)\n}\n", "open.onnx");
  const std::string artifact = path("open.iso");
  ASSERT_EQ(isomer({"compile", file, "-o", artifact, "--dim", "n=2,5", "-q"}).exit_code, 0);
  expect_error(isomer({"compile", file, "-o", artifact, "--dim", "n=2,2", "-q"}), 2, "n=2 found again");
  expect_error(isomer({"compile", file, "-o", artifact, "--dim", "n=2", "--target", "cpu,", "-q"}), 2, "'' found");
  for (const int n : {2, 5}) {
    const std::string shape = fmt::format("x:[{},4]", n);
    const json report = json::parse(isomer({"run", artifact, "--input-shapes", shape, "--json"}).out);
    EXPECT_EQ(report["outputs"][0]["shape"], json({n, 4}));
    const std::string folder = path(fmt::format("out{}", n));
    ASSERT_EQ(isomer({"run", artifact, "--input-shapes", shape, "--save-outputs", folder, "-q"}).exit_code, 0);
    const Outcome loaded = isomer({"run", artifact, "--load-inputs", "x:" + folder + "/output_0.pb", "--json"});
    EXPECT_EQ(loaded.exit_code, 0) << loaded.err;
    EXPECT_EQ(json::parse(loaded.out), report) << "Relu of what Relu gave";
    EXPECT_EQ(isomer({"compare", file, artifact, "--input-shapes", shape}).exit_code, 0);
  }
  expect_error(isomer({"run", artifact, "--input-shapes", "x:[3,4]"}), 2,
               "--input-shapes: shapes of one of (n=2; n=5) expected");
}

TEST_F(CommandLine, UnboundDimsOfArtifactsAreOneToo) {
  const std::string file =
      model("opset 17\ngraph g(x: float32[n,m]) -> (y: float32[n,m]) {\n  y = Relu(x)\n}\n", "open.onnx");
  const std::string artifact = path("open.iso");
  ASSERT_EQ(
      isomer({"compile", file, "-o", artifact, "--dim", "n=1,4", "--dim", "m=1,3", "--level", "1", "-q"}).exit_code, 0);
  const auto shape = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"run", artifact, "--json"});
    const Outcome outcome = isomer(more);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return std::pair(json::parse(outcome.out)["outputs"][0]["shape"], outcome.err);
  };
  const std::string start = "isomer: " + artifact + ": ";
  EXPECT_EQ(shape({}), std::pair(json({1, 1}), start + "m, n are taken as 1; bind them with --dim m=SIZE\n"));
  EXPECT_EQ(shape({"--dim", "n=4"}), std::pair(json({4, 1}), start + "m is taken as 1; bind it with --dim m=SIZE\n"));
  EXPECT_EQ(shape({"--dim", "n=4", "--dim", "m=3"}), std::pair(json({4, 3}), std::string()));
  EXPECT_EQ(shape({"--dim", "m=3", "--input-shapes", "4x3"}), std::pair(json({4, 3}), std::string()));
  EXPECT_EQ(isomer({"compare", file, artifact}).exit_code, 0);
  expect_error(isomer({"run", artifact, "--dim", "n=2"}), 2, "n=4");
  expect_error(isomer({"compare", artifact, artifact, "--input-shapes", "z:[4,3]"}), 2, "--input-shapes: ");
}

TEST_F(CommandLine, ShapesOfArtifactsOfOneSizeAreChecked) {
  const std::string file = model(kSmall, "small.onnx"), artifact = path("small.iso");
  ASSERT_EQ(isomer({"compile", file, "-o", artifact, "--dim", "batch=2", "--level", "1", "-q"}).exit_code, 0);
  EXPECT_EQ(isomer({"run", artifact, "--input-shapes", "x:[2,3]"}).exit_code, 0);
  for (const char* shape : {"x:[4,3]", "z:[2,3]"})
    expect_error(isomer({"run", artifact, "--input-shapes", shape}), 2, "shapes of one of (x:[2,3]) expected");
}

TEST_F(CommandLine, ABranchThatIsNotTakenMayNotFit) {
  const std::string file = model(R"(opset 17
graph g(c: bool[], x: float32[n,4]) -> (y) {
  y = If(c) captures (x) {
    then_branch = graph t() captures (a: float32[n,4]) -> (r) {
      s: int64[2] = {2, 4}
      r = Reshape(a, s)
    },
    else_branch = graph e() captures (a: float32[n,4]) -> (r) { r = Relu(a) }
  }
}
)",
                                 "branches.onnx");
  for (const char* interpret : {"--interpret", "-q"}) {
    const Outcome outcome = isomer({"run", file, "--dim", "n=3", "--fill", "zeros", "-q", interpret});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    expect_error(isomer({"run", file, "--dim", "n=3", "--fill", "ones", "-q", interpret}), 3, "Reshape");
    EXPECT_EQ(isomer({"run", file, "--dim", "n=2", "--fill", "ones", "-q", interpret}).exit_code, 0);
  }
  EXPECT_EQ(isomer({"optimize", file, "-o", path("out.onnx"), "--dim", "n=3", "--no-check"}).exit_code, 0);
}

TEST_F(CommandLine, ShapesAreAcceptedInEverySpelling) {
  const std::string file = model(kSmall, "small.onnx");
  for (const char* shape : {"x:[2,3]", "x:2x3", "x:2,3", "2x3", "[2,3]"}) {
    const Outcome outcome = isomer({"run", "--interpret", "-q", "--json", "--input-shapes", shape, file});
    ASSERT_EQ(outcome.exit_code, 0) << shape << outcome.err;
    EXPECT_EQ(json::parse(outcome.out)["outputs"][0]["shape"], json({2, 3})) << shape;
  }
  expect_error(isomer({"run", file, "--interpret", "-q", "--input-shapes", "x:[2,4]"}), 3, "x");
  expect_error(isomer({"run", file, "--interpret", "-q", "--input-shapes", "z:[2,4]"}), 2, "z");
}

TEST_F(CommandLine, RunReportsItsOutputs) {
  const std::string file = model(kSmall, "small.onnx");
  const Outcome outcome = isomer({"run", file, "--interpret", "--json", "--dim", "batch=1", "--fill", "zeros"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json output = json::parse(outcome.out)["outputs"][0];
  EXPECT_EQ(output["name"], "y");
  EXPECT_EQ(output["dtype"], "float32");
  EXPECT_EQ(output["shape"], json({1, 3}));
  EXPECT_EQ(output["min"], 0);
  EXPECT_EQ(output["max"], 1);
  EXPECT_EQ(output["mean"], 0.5);
  EXPECT_EQ(output["finite"], true);
}

TEST_F(CommandLine, TheSeedDecidesTheInputs) {
  const std::string file = model(kSmall, "small.onnx");
  const auto run = [&](const std::string& seed) {
    return isomer({"run", file, "--interpret", "-q", "--json", "--dim", "batch=4", "--seed", seed}).out;
  };
  EXPECT_EQ(run("1"), run("1"));
  EXPECT_NE(run("1"), run("2"));
}

TEST_F(CommandLine, IntegerInputsStayBelowWhatTheyIndex) {
  const Outcome outcome = isomer({"run", model(kLookup, "lookup.onnx"), "--interpret", "-q", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LE(json::parse(outcome.out)["outputs"][0]["max"], 6);
}

TEST_F(CommandLine, RangesAreKeptByEveryType) {
  const auto outputs = [&](const std::string& type, const std::string& range) {
    const std::string file =
        model(fmt::format("opset 17\ngraph g(x: {0}[64]) -> (y: {0}[64]) {{ y = Identity(x) }}\n", type), "x.onnx");
    return isomer({"run", file, "--interpret", "-q", "--json", "--val-range", "x:" + range});
  };
  struct Case {
    const char *type, *range;
    json least, most;
  };
  for (const Case& each :
       {Case{"uint8", "[250,255]", 250, 255}, Case{"int8", "[-128, -126]", -128, -126},
        Case{"int64", "[1.5,2.5]", 2, 2}, Case{"bool", "[1,1]", 1, 1},
        Case{"uint64", "[18446744073709549568,18446744073709551615]", 18446744073709549568u, ~0ull},
        Case{"int64", "[9223372036854774784,9223372036854775807]", 9223372036854774784, INT64_MAX},
        Case{"int64", "[-9223372036854775808,9223372036854775807]", INT64_MIN, INT64_MAX},
        Case{"float16", "[0,60000]", 0, 60000}, Case{"float64", "[-1.7e308,1.7e308]", -1.7e308, 1.7e308}}) {
    SCOPED_TRACE(std::string(each.type) + each.range);
    const Outcome outcome = outputs(each.type, each.range);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const json y = json::parse(outcome.out)["outputs"][0];
    EXPECT_GE(y["min"], each.least);
    EXPECT_LE(y["max"], each.most);
    EXPECT_TRUE(y["finite"]);
  }
  for (const auto& [type, range] :
       {std::pair("uint8", "[-5,-1]"), std::pair("int8", "[100,200]"), std::pair("uint64", "[-1,1]"),
        std::pair("int64", "[0,1e19]"), std::pair("int32", "[0.2,0.8]"), std::pair("bool", "[0,2]"),
        std::pair("float16", "[0,1e6]"), std::pair("float32", "[-1e39,0]")})
    expect_error(outputs(type, range), 2, fmt::format("x: a range of numbers that {} has expected, [", type));
  for (const char* range : {"[0,inf]", "[nan,1]", "[0;1]"}) expect_error(outputs("float32", range), 2, "--val-range: ");
  const std::string file = model(kSmall, "small.onnx");
  for (const char* range : {"x[5,6]", "input[5,6]"})
    expect_error(isomer({"run", file, "-q", "--val-range", range}), 2, "x:[low,high] expected");
}

/// Of an artifact callers' values are no inputs; they change no other input's.
TEST_F(CommandLine, InputsOfASeedAreThoseOfTheArtifact) {
  auto graph = parse_graph(
      "ir_version 8\nopset 17\ngraph g(w: float32[4], x: float32[4], z: float32[4]) -> (y: float32[4]) {\n"
      "  a = Mul(x, w)\n  y = Sub(a, z)\n}\n");
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  graph->edit(graph->inputs()[0]).constant = Tensor::from_doubles(DataType::kFloat32, {4}, {{1, 1, 1, 1}});
  const std::string file = path("default.onnx"), artifact = path("default.iso");
  ASSERT_TRUE(export_model(*graph, file).ok());
  ASSERT_EQ(isomer({"compile", file, "-o", artifact, "--level", "1", "-q"}).exit_code, 0);
  EXPECT_EQ(json::parse(isomer({"run", file, "--json", "--seed", "3"}).out),
            json::parse(isomer({"run", artifact, "--json", "--seed", "3"}).out));
}

TEST_F(CommandLine, IntegersArePrintedAsTheyAre) {
  const std::string file = model(R"(opset 17
graph g(x: float32[2]) -> (y: int64[2], b: bool[2], none: float32[0]) {
  n: int64[2] = {9007199254740993, -9223372036854775807}
  y = Identity(n)
  one: float32[2] = {1, 1}
  b = Equal(one, one)
  none: float32[0] = {}
}
)",
                                 "large.onnx");
  const Outcome outcome = isomer({"run", file, "-q", "--json"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\"max\":9007199254740993,"));
  EXPECT_THAT(outcome.out, HasSubstr("\"min\":-9223372036854775807,"));
  EXPECT_THAT(outcome.out, HasSubstr("\"max\":1,"));
  const json none = json::parse(outcome.out)["outputs"][2];
  EXPECT_TRUE(none["min"].is_null() && none["mean"].is_null());
  EXPECT_THAT(isomer({"run", file, "-q"}).out, HasSubstr("y int64[2] min -9223372036854775807 max 9007199254740993 "));
}

TEST_F(CommandLine, NoFileOfInputsIsPassedOver) {
  const std::string file =
      model("opset 17\ngraph g(a: float32[2], b: float32[2], c: float32[2]) -> (y: float32[2]) { y = Sum(a, b, c) }\n",
            "sum.onnx");
  fs::create_directory(path("set"));
  for (const char* name : {"input_0.pb", "input_2.pb"})
    ASSERT_TRUE(
        write_tensor_file(path("set/") + name, "x", Tensor::from_doubles(DataType::kFloat32, {2}, {{1, 2}})).ok());
  expect_error(isomer({"run", file, "-q", "--load-inputs", path("set")}), 3,
               "set: input_1.pb expected, as input_2.pb is there, none found");
}

/// None of the outputs is written where one can't be, and no folder is made.
TEST_F(CommandLine, OutputsAreSavedTogether) {
  const std::string file =
      model("opset 17\ngraph g(x: float32[2]) -> (y: float32[2], z: float32[2]) {\n  y = Relu(x)\n  z = Neg(x)\n}\n",
            "two.onnx");
  fs::create_directories(path("out/output_1.pb"));
  write_file(path("out/output_0.pb"), "precious");
  expect_error(isomer({"run", file, "-q", "--save-outputs", path("out")}), 3, "output_1.pb: a regular file to replace");
  EXPECT_EQ(read_file(path("out/output_0.pb")), "precious");
  const Outcome limited = run_program({"/bin/sh", "-c", "ulimit -f 0; \"$0\" run \"$1\" -q --save-outputs \"$2\"",
                                       tool_path("isomer").string(), file, path("new/folder")});
  expect_error(limited, 3, "isomer: " + path("new/folder/output_0.pb") + ": can't write the file: File too large");
  EXPECT_FALSE(fs::exists(path("new")));
  EXPECT_EQ(isomer({"run", file, "-q", "--save-outputs", path("new/folder")}).exit_code, 0);
  EXPECT_TRUE(fs::exists(path("new/folder/output_1.pb")));
  expect_error(isomer({"run", file, "-q", "--save-outputs", file + "/folder"}), 3, "a folder expected");
}

// The type of `list` is a sequence of float32, of `perhaps` an optional one of these.
constexpr const char* kList = R"(opset 18
graph list(list: other "22060a040a020801", perhaps: other "4a060a040a020801", x: float32[2]) -> (longer: other "22060a040a020801", has: bool[], same: other "4a060a040a020801") {
  longer: other "22060a040a020801" = SequenceInsert(list, x)
  has: bool[] = OptionalHasElement(perhaps)
  same: other "4a060a040a020801" = Identity(perhaps)
}
)";

TEST_F(CommandLine, SequencesAndOptionalsAreReadAndWritten) {
  const std::string file = model(kList, "list.onnx");
  const auto x = te::Array::from(Tensor::from_doubles(DataType::kFloat32, {2}, std::vector<double>{1, 2}));
  const std::string list_type = "\x22\x06\x0a\x04\x0a\x02\x08\x01", optional_type = "\x4a\x06\x0a\x04\x0a\x02\x08\x01";
  const ValueType list{ValueType::Kind::kOther, {}, {}, list_type},
      optional{ValueType::Kind::kOther, {}, {}, optional_type};
  std::filesystem::create_directory(path("set"));
  ASSERT_TRUE(write_value_file(path("set/input_0.pb"), "list", te::Array::sequence({x}), list).ok());
  ASSERT_TRUE(write_value_file(path("set/input_1.pb"), "perhaps", te::Array::none(), optional).ok());
  const Outcome outcome =
      isomer({"run", file, "-q", "--json", "--load-inputs", path("set"), "--save-outputs", path("out")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json outputs = json::parse(outcome.out)["outputs"];
  EXPECT_EQ(outputs[0]["name"], "longer");
  EXPECT_EQ(outputs[0]["sequence"].size(), 2u);
  EXPECT_EQ(outputs[0]["sequence"][0]["max"], 2);
  EXPECT_EQ(outputs[1]["max"], 0);
  EXPECT_TRUE(outputs[2]["optional"].is_null());
  const auto longer = read_value_file(path("out/output_0.pb"), list),
             same = read_value_file(path("out/output_2.pb"), optional);
  ASSERT_TRUE(longer.ok() && same.ok());
  ASSERT_TRUE(longer->sequence_elements());
  EXPECT_EQ(longer->sequence_elements()->size(), 2u);
  EXPECT_TRUE(same->is_none());
  EXPECT_THAT(isomer({"run", file, "-q", "--load-inputs", path("set")}).out,
              AllOf(HasSubstr("longer.0 float32[2] min 1.0 max 2.0"), HasSubstr("longer.1 float32[2]"),
                    HasSubstr("same has no value")));
  EXPECT_THAT(isomer({"run", file}).err,
              HasSubstr("list: a sequence of float32 that --load-inputs gives expected, none found"));
  EXPECT_EQ(isomer({"run", file}).exit_code, 3);
}

TEST_F(CommandLine, AModelThatStaysAsItIsNeedsNoCheck) {
  // No seeded sizes of blocks fit the rows.
  const std::string file = model(R"(opset 18
graph g(x: float32[1,5,5], image: int64[2], block: int64[2]) -> (y: float32[1,1,5,5]) {
  y = Col2Im(x, image, block)
}
)",
                                 "rows.onnx");
  const Outcome outcome = isomer({"optimize", file, "-o", path("o.onnx")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out,
              AllOf(HasSubstr("not checked: the model is as it was"), HasSubstr("not checked: node 0 (Col2Im)")));
}

TEST_F(CommandLine, SequencesAreCompared) {
  const auto rows = [&](const std::string& change, const std::string& name) {
    return model(fmt::format(R"(opset 18
graph rows(x: float32[4,2], n: int64[]) -> (list: other "22060a040a020801", y: float32[4,2]) {{
  c: float32[] = {{2}}
  changed = {}
  list: other "22060a040a020801" = SplitToSequence(changed, n)
  again: float32[4,2] = ConcatFromSequence(list) {{axis=0}}
  y = Relu(again)
}}
)",
                             change),
                 name);
  };
  const std::string doubled = rows("Add(x, x)", "doubled.onnx"), twice = rows("Mul(x, c)", "twice.onnx"),
                    same = rows("Identity(x)", "same.onnx");
  const std::vector<std::string> sizes = {"--val-range", "n:[1,3]", "-q"};
  const auto compare = [&](const std::string& a, const std::string& b) {
    std::vector<std::string> arguments = {"compare", a, b};
    arguments.insert(arguments.end(), sizes.begin(), sizes.end());
    return isomer(arguments);
  };
  EXPECT_EQ(compare(doubled, twice).exit_code, 0);
  expect_error(compare(doubled, same), 1, "list.0");
  const Outcome optimized = isomer({"optimize", doubled, "-o", path("o.onnx")});
  EXPECT_EQ(optimized.exit_code, 0) << optimized.err;
  EXPECT_THAT(optimized.out + optimized.err, Not(HasSubstr("cannot be run here")));
}

TEST_F(CommandLine, InputsLoadAndOutputsSaveInEveryFormat) {
  const std::string file = model(kSmall, "small.onnx");
  const std::vector<double> values = {0, 1, 2, 3, 4, 5};
  const Tensor x = Tensor::from_doubles(DataType::kFloat32, {2, 3}, values);
  std::filesystem::create_directory(path("set"));
  ASSERT_TRUE(write_tensor_file(path("set/input_0.pb"), "x", x).ok());
  for (const std::string& inputs : {path("set"), path("set/input_0.pb"), "x:" + path("set/input_0.pb")}) {
    const Outcome outcome =
        isomer({"run", file, "--interpret", "-q", "--load-inputs", inputs, "--save-outputs", path("out")});
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const auto y = read_tensor_file(path("out/output_0.pb"));
    ASSERT_TRUE(y.ok()) << y.error().message();
    EXPECT_EQ(y->dims(), (Dims{2, 3}));
    EXPECT_EQ(y->real(0), 1);
    EXPECT_EQ(y->real(1), 0);
    EXPECT_EQ(y->real(5), 5.5);
  }
  // An .npz of outputs named like the input feeds the next run.
  const std::string echo =
      model("opset 17\ngraph echo(x: float32[2,3]) -> (x2: float32[2,3]) { x2 = Neg(x) }\n", "echo.onnx");
  ASSERT_EQ(isomer({"run", echo, "--interpret", "-q", "--load-inputs", path("set"), "--save-outputs", path("out.npz")})
                .exit_code,
            0);
  const std::string back =
      model("opset 17\ngraph back(x2: float32[2,3]) -> (y: float32[2,3]) { y = Neg(x2) }\n", "back.onnx");
  const Outcome outcome = isomer({"run", back, "--interpret", "-q", "--json", "--load-inputs", path("out.npz")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["outputs"][0]["max"], 5);
  expect_error(isomer({"run", echo, "--interpret", "-q", "--load-inputs", "q:" + path("set/input_0.pb")}), 2, "q");
}

/// TensorFlow's do; the longest name that an input has is meant.
TEST_F(CommandLine, NamesOfInputsMayHaveColons) {
  const std::string file =
      model("opset 17\ngraph g(x: float32[2], \"x:0\": float32[2]) -> (y: float32[2]) { y = Sub(\"x:0\", x) }\n",
            "colons.onnx");
  const Tensor seven = Tensor::from_doubles(DataType::kFloat32, {2}, std::vector<double>{7, 7});
  ASSERT_TRUE(write_tensor_file(path("seven.pb"), "x", seven).ok());
  const Outcome outcome =
      isomer({"run", file, "-q", "--json", "--fill", "zeros", "--load-inputs", "x:0:" + path("seven.pb")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["outputs"][0]["min"], 7);
}

/// An input with a default need not be named.
TEST_F(CommandLine, TheOnlyInputThatIsAskedForNeedsNoName) {
  auto graph = parse_graph(
      "ir_version 8\nopset 17\ngraph g(x: float32[2], w: float32[2]) -> (y: float32[2]) { y = Mul(x, w) }\n");
  ASSERT_TRUE(graph.ok()) << graph.error().message();
  graph->edit(graph->inputs()[1]).constant = Tensor::from_doubles(DataType::kFloat32, {2}, std::vector<double>{1, 2});
  ASSERT_TRUE(export_model(*graph, path("default.onnx")).ok());
  const Tensor seven = Tensor::from_doubles(DataType::kFloat32, {2}, std::vector<double>{7, 7});
  ASSERT_TRUE(write_tensor_file(path("seven.pb"), "x", seven).ok());
  const Outcome outcome = isomer({"run", path("default.onnx"), "--json", "--load-inputs", path("seven.pb")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["outputs"][0]["max"], 14);
}

/// numpy has no bfloat16 and no int4: what it has instead is taken for them where its elements are.
TEST_F(CommandLine, WhatNumpyHasNotIsSavedAndLoadedAgain) {
  const auto newest = [&](const std::string& text, const std::string& name) {
    const auto graph = parse_graph("ir_version 10\nopset 21\n" + text);
    EXPECT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_TRUE(export_model(*graph, path(name)).ok());
    return path(name);
  };
  const std::string file = newest(
      "graph g(x: float32[4]) -> (b: bfloat16[4], f: float8e4m3fn[4], i: int4[4]) {\n"
      "  b = Cast(x) {to = 16}\n  f = Cast(x) {to = 17}\n  i = Cast(x) {to = 22}\n}\n",
      "there.onnx");
  const std::string back = newest(
      "graph g(b: bfloat16[4], f: float8e4m3fn[4], i: int4[4]) -> (x: float32[4], y: float32[4], z: float32[4]) {\n"
      "  x = Cast(b) {to = 1}\n  y = Cast(f) {to = 1}\n  z = Cast(i) {to = 1}\n}\n",
      "back.onnx");
  const Outcome saved =
      isomer({"run", file, "--interpret", "-q", "--fill", "arange", "--save-outputs", path("out.NPZ"), "--json"});
  ASSERT_EQ(saved.exit_code, 0) << saved.err;
  const Outcome loaded = isomer({"run", back, "--interpret", "-q", "--load-inputs", path("out.NPZ"), "--json"});
  ASSERT_EQ(loaded.exit_code, 0) << loaded.err;
  for (const json& output : json::parse(loaded.out)["outputs"]) EXPECT_EQ(output["max"], 3) << output;
  expect_error(isomer({"run", file, "-q", "--save-outputs", path("out.npy")}), 2, "a folder or FILE.npz expected");
}

/// A file of numpy's with a header, and so many bytes of data.
std::string npy(const std::string& header, size_t bytes) {
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(header.size() & 0xff);
  file += static_cast<char>(header.size() >> 8);
  return file + header + std::string(bytes, '\0');
}

std::string npy_of_floats(const std::string& shape, size_t count) {
  return npy("{'descr': '<f4', 'fortran_order': False, 'shape': (" + shape + "), }\n", 4 * count);
}

/// Headers are others' text: any characters, any number of them.
TEST_F(CommandLine, HeadersOfArraysAreReadOrRefused) {
  const std::string file =
      model("opset 17\ngraph g(x: float32[2,3]) -> (y: float32[2,3]) { y = Neg(x) }\n", "neg.onnx");
  const auto run = [&](const std::string& content) {
    write_file(path("x.npy"), content);
    return isomer({"run", file, "-q", "--interpret", "--load-inputs", path("x.npy")});
  };
  const std::string blanks(9000, ' ');
  for (const std::string& shape : {std::string("2, 3"), std::string("2L, 3L"), "2," + blanks + "3 , "})
    EXPECT_EQ(run(npy_of_floats(shape, 6)).exit_code, 0) << shape.substr(0, 20);
  const auto of = [](const std::string& descr, const std::string& rest) { return "{'descr': '" + descr + "'" + rest; };
  const std::string rest = ", 'fortran_order': False, 'shape': (2, 3), }";
  for (const auto& [content, what] : std::vector<std::pair<std::string, std::string>>{
           {npy(of(std::string(60'000, 'f'), rest), 24), "a header of at most 10000 bytes expected, one of 600"},
           {npy_of_floats("2," + std::string(60'000, ' ') + "3", 6), "a header of at most 10000 bytes expected"},
           {npy(of(std::string(9000, 'f'), rest), 24), "a little-endian number or bool array expected, 'ffff"},
           {npy(std::string(9000, '('), 24), "a numpy header with 'descr' expected"},
           {npy(of("<f4", ""), 24), "a numpy header with 'fortran_order' expected"},
           {npy(of("<f4", ", 'fortran_order': False, 'shape': (2, 3"), 24), "a numpy header with 'shape' expected"},
           {npy_of_floats("-2, 3", 6), "dims in [0, 2^40] expected, '-2' found"},
           {npy_of_floats("2, 3.5", 6), "dims in [0, 2^40] expected, '3.5' found"},
           {npy_of_floats("2,, 3", 6), "dims in [0, 2^40] expected, '' found"},
           {npy_of_floats("2, 99999999999999999999", 6), "dims in [0, 2^40] expected"}}) {
    SCOPED_TRACE(what);
    expect_error(run(content), 3, "isomer: " + path("x.npy") + ": " + what);
  }
}

TEST_F(CommandLine, ErrorsAboutInputsNameTheFile) {
  const std::string file = model(kLookup, "lookup.onnx");
  ASSERT_TRUE(
      write_tensor_file(path("real.pb"), "i", Tensor::from_doubles(DataType::kFloat32, {50}, std::vector<double>(50)))
          .ok());
  write_file(path("broken.pb"), "not a tensor");
  write_file(path("broken.npy"), "not an array");
  for (const char* name : {"real.pb", "broken.pb", "broken.npy", "none.npy", "none.pb", "none.npz"})
    for (const std::string& argument : {path(name), "i:" + path(name)})
      expect_error(isomer({"run", file, "-q", "--load-inputs", argument}), 3, "isomer: " + path(name) + ": ");
  expect_error(isomer({"run", file, "-q", "--val-range", "j:[0,1]"}), 2, "--val-range: the name of an input expected");
  const std::string words = model("graph (s: string[1]) -> (y) {\n  y = Identity(s)\n}\n", "words.onnx");
  write_file(path("word.pb"), std::string("\x08\x01\x10\x08\x32\x01x", 7));
  expect_error(isomer({"run", words, "-q", "--load-inputs", "s:" + path("word.pb")}), 3,
               "s: an input of a number type expected, string found");
}

TEST_F(CommandLine, ShapesThatDoNotFitNameTheirFile) {
  const std::string file = model(kSmall, "small.onnx"), artifact = path("small.iso"), wide = path("wide.npy");
  ASSERT_EQ(isomer({"compile", file, "-o", artifact, "--level", "1", "--dim", "batch=2,3", "-q"}).exit_code, 0);
  write_file(wide, npy_of_floats("2, 4", 8));
  const std::string begin = "isomer: " + wide + ": x: a shape that fits float32[";
  expect_error(isomer({"run", file, "-q", "--load-inputs", wide}), 3, begin + "batch,3] expected, [2,4] found");
  expect_error(isomer({"bench", file, "-q", "--load-inputs", "x:" + wide}), 3, begin);
  expect_error(isomer({"run", artifact, "-q", "--dim", "batch=2", "--load-inputs", wide}), 3, begin + "2,3]");
  expect_error(isomer({"compare", file, file, "-q", "--load-inputs", wide}), 3, begin);
  write_file(path("two.npy"), npy_of_floats("2, 3", 6));
  expect_error(isomer({"run", file, "-q", "--dim", "batch=3", "--load-inputs", "x:" + path("two.npy")}), 3,
               "isomer: " + path("two.npy") + ": x: a shape that fits float32[3,3] expected, [2,3] found");
}

TEST_F(CommandLine, AnInputHasOneValue) {
  const std::string file = model(kSmall, "small.onnx"), one = path("one.npy"), other = path("other.npy");
  for (const std::string& name : {one, other}) write_file(name, npy_of_floats("2, 3", 6));
  expect_error(isomer({"run", file, "-q", "--load-inputs", one, "--load-inputs", "x:" + other}), 2,
               "isomer: --load-inputs: one value of x expected, those of " + one + " and " + other + " found");
}

TEST_F(CommandLine, EmptyNamesAreRefused) {
  const std::string file = model(kSmall, "small.onnx");
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"optimize", file, "-o", ""},
                                             {"optimize", file, "-o", path("out.onnx"), "--report", ""},
                                             {"optimize", file, "-o", path("out.onnx"), "--proof", ""},
                                             {"compile", file, "-o", path("out.iso"), "--records", ""},
                                             {"run", file, "--save-outputs", ""},
                                             {"run", file, "--load-inputs", ""},
                                             {"bench", file, "--report", ""},
                                             {"records", "export", "-o", ""},
                                             {"run", ""}}) {
    SCOPED_TRACE(testing::PrintToString(command));
    expect_error(isomer(command), 2, "a value expected, an empty one found; see 'isomer ");
  }
  EXPECT_FALSE(fs::exists(path("out.onnx")) || fs::exists(path("out.iso")));
}

/// The folder that it was written in first is nobody's business.
TEST_F(CommandLine, OutputsThatCanNotBeWrittenAreNamed) {
  const std::string file =
      model("opset 17\ngraph g(x: float32[4096]) -> (y: float32[4096]) { y = Neg(x) }\n", "neg.onnx");
  for (const auto& [place, named] :
       {std::pair{path("out"), path("out/output_0.pb")}, std::pair{path("out.npz"), path("out.npz")}}) {
    const Outcome outcome =
        run_program({"/bin/sh", "-c", "ulimit -f 1; \"$0\" run \"$1\" --interpret --save-outputs \"$2\"",
                     tool_path("isomer").string(), file, place});
    expect_error(outcome, 3, "isomer: " + named + ": ");
    EXPECT_FALSE(fs::exists(place));
  }
}

TEST_F(CommandLine, OptimizeWritesAModelAReportAndATable) {
  const std::string file = model(kSmall, "small.onnx");
  const Outcome outcome = isomer({"optimize", file, "-o", path("out.onnx"), "--report", path("report.json")});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("Identity"));
  const json report = json::parse(read_file(path("report.json")));
  EXPECT_EQ(report["nodes_before"], 3);
  EXPECT_EQ(report["nodes_after"], 2);
  EXPECT_EQ(report["ops_before"]["Identity"], 1);
  EXPECT_EQ(report["check"]["passed"], true);
  for (const char* key : {"model", "ops_after", "weights_mb_before", "weights_mb_after", "cost_before_us",
                          "cost_after_us", "steps", "seconds", "stop_reason", "seed", "version"})
    EXPECT_TRUE(report.contains(key)) << key;
  EXPECT_EQ(isomer({"compare", file, path("out.onnx"), "--dim", "batch=3"}).exit_code, 0);
}

/// The page has the JSON that another ending gives.
TEST_F(CommandLine, ReportsArePagesWhereTheirNamesSaySo) {
  const std::string file = model(kSmall, "small.onnx");
  ASSERT_EQ(isomer({"optimize", file, "-o", path("out.onnx"), "--report", path("report.html"), "-q"}).exit_code, 0);
  const std::string page = read_file(path("report.html"));
  EXPECT_THAT(page, testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("<h1>small.onnx</h1>"));
  EXPECT_THAT(page, HasSubstr("class=\"node gone\""));
  const size_t begin = page.find("id=\"report\">") + 12;
  EXPECT_EQ(json::parse(page.substr(begin, page.find("</script>", begin) - begin))["nodes_after"], 2);
  const Outcome outcome = isomer({"diff", file, path("out.onnx"), "--html"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, testing::StartsWith("<!DOCTYPE html>"));
}

TEST_F(CommandLine, ADimThatNothingHasIsRefused) {
  const std::string fixed =
                        model("opset 17\ngraph g(x: float32[4]) -> (y: float32[4]) {\n  y = Relu(x)\n}\n", "g.onnx"),
                    small = model(kSmall, "small.onnx");
  expect_error(isomer({"run", fixed, "--dim", "nope=3"}), 2,
               "no dim expected, as there are no free dims, 'nope' found");
  expect_error(isomer({"run", small, "--dim", "nope=3"}), 2, "one of the dims batch expected, 'nope' found");
  expect_error(isomer({"tune", fixed, small, "--dim", "nope=3"}), 2, "one of the dims batch expected, 'nope' found");
  expect_error(isomer({"tune", fixed, fixed, "--dim", "nope=3"}), 2, "no free dims");
}

TEST_F(CommandLine, DiffSaysWhatBecameOfInterfacesAndBranches) {
  const auto named = [&](const std::string& result, const std::string& op) {
    return model("opset 17\ngraph g(x: float32[4], c: bool[]) -> (" + result + ": float32[4]) {\n  " + result +
                     R"( = If(c) captures (x) {
    then_branch = graph t() captures (a: float32[4]) -> (r) { r = Relu(a) },
    else_branch = graph e() captures (b: float32[4]) -> (s) { s = )" +
                     op + "(b) }\n  }\n}\n",
                 result + op + ".onnx");
  };
  const std::string before = named("y", "Tanh");
  const Outcome renamed = isomer({"diff", before, named("z", "Tanh")});
  EXPECT_THAT(renamed.out, HasSubstr("- output y float32[4]\n+ output z float32[4]\n"));
  EXPECT_THAT(renamed.out,
              HasSubstr("1 nodes are the same, 0 changed, 0 removed, 0 added; inputs and outputs differ\n"));
  EXPECT_EQ(json::parse(isomer({"diff", before, named("z", "Tanh"), "--json"}).out)["interface"],
            (json{"- output y float32[4]", "+ output z float32[4]"}));
  const Outcome changed = isomer({"diff", before, named("y", "Sigmoid")});
  EXPECT_THAT(changed.out, HasSubstr("else_branch: - Tanh("));
  EXPECT_THAT(changed.out, HasSubstr("else_branch: + Sigmoid("));
  EXPECT_THAT(changed.out, testing::Not(HasSubstr("then_branch: ")));
}

/// What needs more memory is not measured.
TEST_F(CommandLine, PeaksAreMeasuredInTheMemoryThatIsAllowed) {
  const Outcome outcome = isomer({"env", "--peak", "--json", "--threads", "1", "--memory", "260MB"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json peak = json::parse(outcome.out)["peak"]["threads_1"];
  EXPECT_GT(peak["fma_gflops"], 0);
  EXPECT_GT(peak["read_gbs"]["l1"], 0);
  EXPECT_TRUE(peak["read_gbs"]["memory"].is_null());
  EXPECT_TRUE(peak["copy_gbs"]["memory"].is_null());
}

TEST_F(CommandLine, JsonIsAllThatStandardOutputHolds) {
  const std::string file = model(kSmall, "small.onnx");
  EXPECT_EQ(json::parse(isomer({"optimize", file, "-o", path("out.onnx"), "--json"}).out)["nodes_after"], 2);
  EXPECT_EQ(json::parse(isomer({"inspect", file, "--json"}).out)["nodes"], 3);
  EXPECT_TRUE(json::parse(isomer({"inspect", file, "--json", "--capability"}).out)["capability"].is_array());
  EXPECT_EQ(json::parse(isomer({"compare", file, file, "--json", "--dim", "batch=3"}).out)["passed"], true);
  EXPECT_GE(json::parse(isomer({"env", "--json"}).out)["threads"], 1);
  EXPECT_THAT(json::parse(isomer({"inspect", file, "--json", "--text"}).out)["text"].get<std::string>(),
              HasSubstr("Relu"));
  EXPECT_THAT(json::parse(isomer({"inspect", file, "--json", "--dot"}).out)["dot"].get<std::string>(),
              HasSubstr("digraph"));
  EXPECT_THAT(
      json::parse(isomer({"inspect", file, "--json", "--nest", "-q"}).out)["tasks"][0]["nest"].get<std::string>(),
      HasSubstr("for"));
  EXPECT_THAT(json::parse(isomer({"diff", file, file, "--json", "--dot"}).out)["dot"].get<std::string>(),
              HasSubstr("digraph"));
}

/// What a failed check found is said in it too.
TEST_F(CommandLine, JsonSaysWhatFailed) {
  const std::string file = model(kSmall, "small.onnx");
  const std::string two = model(
      "opset 17\ngraph g(x: float32[batch,3]) -> (y: float32[batch,3], z: float32[batch,3]) {\n  y = Relu(x)\n  z = "
      "Neg(x)\n}\n",
      "two.onnx");
  const Outcome outcome = isomer({"compare", file, two, "--json", "-q"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["passed"], false);
  ASSERT_EQ(isomer({"compile", file, "-o", path("small.iso"), "--level", "1", "-q"}).exit_code, 0);
  EXPECT_EQ(json::parse(isomer({"inspect", path("small.iso"), "--verify", "--json"}).out)["verified"], true);
}

/// What can't mean anything where it is given is refused, and not passed over.
TEST_F(CommandLine, OptionsThatSayNothingAreRefused) {
  const std::string file = model(kSmall, "small.onnx"), artifact = path("small.iso");
  ASSERT_EQ(isomer({"compile", file, "-o", artifact, "--level", "1", "-q"}).exit_code, 0);
  const std::vector<std::vector<std::string>> commands = {
      {"run", artifact, "--interpret"},
      {"inspect", artifact, "--text"},
      {"inspect", artifact, "--capability"},
      {"inspect", artifact, "--task", "0"},
      {"inspect", artifact, "--dim", "batch=1"},
      {"inspect", file, "--verify"},
      {"inspect", file, "--nest", "--text"},
      {"inspect", file, "--task", "0", "--capability"},
      {"inspect", file, "--level", "2"},
      {"diff", file, file, "--dot", "--html"},
      {"bench", file, "--serve", "--duration", "1"},
      {"bench", file, "--serve", "--against", "onednn"},
      {"bench", file, "--model", file},
      {"tune", file, "--labels", "0.5"},
      {"records", "list", "--dim", "batch=1"},
      {"library", "stats", "--input-shapes", "2x3"},
      {"run", file, "--dim", "batch=2", "--dim", "batch=3"},
      {"run", file, "--input-shapes", "2x3", "--input-shapes", "3x3"}};
  for (const std::vector<std::string>& command : commands) {
    SCOPED_TRACE(testing::PrintToString(command));
    expect_error(isomer(command), 2, "");
  }
}

TEST_F(CommandLine, ModelsCompileAndArtifactsRunLikeTheModel) {
  const std::string file = model(R"(opset 17
graph block(x: float32[batch,37], z: float32[29,37]) -> (y: float32[batch,29]) {
  c: float32[29] = {1, -2, 0.5, 1, -2, 0.5, 1, -2, 0.5, 1, -2, 0.5, 1, -2, 0.5, 1, -2, 0.5, 1, -2, 0.5, 1, -2, 0.5, 1, -2, 0.5, 1, -2}
  t = Transpose(z)
  m = MatMul(x, t)
  b = Add(m, c)
  r = Relu(b)
  y = Softmax(r)
}
)",
                                 "block.onnx");
  const Outcome compiled = isomer({"compile", file, "-o", path("block.iso"), "--dim", "batch=5", "-q"});
  EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_EQ(
      isomer({"compile", file, "-o", path("old.iso"), "--dim", "batch=5", "--target", "cpu=x86-64", "-q"}).exit_code,
      0);
  const json expected = json::parse(isomer({"run", file, "--dim", "batch=5", "--json", "-q"}).out)["outputs"][0];
  for (const char* artifact : {"block.iso", "old.iso"}) {
    const json found = json::parse(isomer({"run", path(artifact), "--json", "-q"}).out)["outputs"][0];
    EXPECT_EQ(found["shape"], expected["shape"]);
    EXPECT_NEAR(found["max"].get<double>(), expected["max"].get<double>(), 1e-5);
    EXPECT_NEAR(found["min"].get<double>(), expected["min"].get<double>(), 1e-5);
  }
  EXPECT_EQ(isomer({"compile", file, "-o", path("both.iso"), "--dim", "batch=1,5", "-q"}).exit_code, 0);
  for (const char* batch : {"1", "5"}) {
    const json found = json::parse(
        isomer({"run", path("both.iso"), "--dim", fmt::format("batch={}", batch), "--json", "-q"}).out)["outputs"][0];
    EXPECT_EQ(found["shape"][0].dump(), batch);
    if (*batch == '5') {
      EXPECT_NEAR(found["max"].get<double>(), expected["max"].get<double>(), 1e-5);
    }
  }
  expect_error(isomer({"run", path("both.iso"), "--dim", "batch=2", "-q"}), 2, "batch=1; batch=5");
  const json bench = json::parse(
      isomer({"bench", path("block.iso"), "--duration", "0.05", "--json", "--report", path("bench.json")}).out);
  EXPECT_EQ(json::parse(test::read_file(path("bench.json"))), bench);
  EXPECT_GE(bench["times_ms"].size(), 1);
  EXPECT_FALSE(bench["tasks"].empty());
  write_file(path("broken.iso"), read_file(path("block.iso")).substr(0, 3000));
  expect_error(isomer({"run", path("broken.iso"), "-q"}), 3, "broken.iso");
}

TEST_F(CommandLine, CompareExitsWithOneOnADifference) {
  const std::string file = model(kSmall, "small.onnx");
  std::string other(kSmall);
  other.replace(other.find("0.5"), 3, "0.6");
  const Outcome outcome = isomer({"compare", file, model(other, "other.onnx"), "--dim", "batch=2"});
  expect_error(outcome, 1, "y[");
  EXPECT_THAT(outcome.err, HasSubstr("expected"));
  expect_error(isomer({"compare", file, model(kLookup, "lookup.onnx"), "--dim", "batch=2"}), 2, "batch");
}

/// By name where both have the same names, and else by position, which is said.
TEST_F(CommandLine, WhatIsComparedIsPairedByName) {
  const auto pair = [&](const char* inputs, const char* outputs, const char* difference, const std::string& name) {
    return model(fmt::format("opset 17\ngraph g({}) -> ({}) {{\n  y = Sub({})\n  z = Mul(a, b)\n}}\n", inputs, outputs,
                             difference),
                 name);
  };
  const char *const usual = "a: float32[4], b: float32[4]", *const turned = "b: float32[4], a: float32[4]";
  const std::string one = pair(usual, "y: float32[4], z: float32[4]", "a, b", "one.onnx"),
                    same = pair(turned, "z: float32[4], y: float32[4]", "a, b", "same.onnx"),
                    other = pair(turned, "y: float32[4], z: float32[4]", "b, a", "other.onnx"),
                    renamed = model(
                        "opset 17\ngraph g(p: float32[4], q: float32[4]) -> (y: float32[4], z: float32[4]) {\n"
                        "  y = Sub(p, q)\n  z = Mul(p, q)\n}\n",
                        "renamed.onnx");
  for (const char* name : {"one", "same", "other"}) {
    const std::string artifact = path(std::string(name) + ".iso");
    ASSERT_EQ(isomer({"compile", path(std::string(name) + ".onnx"), "-o", artifact, "--level", "1", "-q"}).exit_code,
              0);
  }
  ASSERT_TRUE(write_tensor_file(path("a.pb"), "a", Tensor::from_doubles(DataType::kFloat32, {4}, {{1, 2, 3, 4}})).ok());
  const std::vector<std::string> given = {"--load-inputs", "a:" + path("a.pb")};
  for (const auto& more : {std::vector<std::string>(), given})
    for (const std::string& candidate : {same, path("same.iso"), other, path("other.iso")})
      for (const std::string& reference : {one, path("one.iso")}) {
        SCOPED_TRACE(reference + " " + candidate);
        std::vector<std::string> command = {"compare", reference, candidate};
        command.insert(command.end(), more.begin(), more.end());
        const Outcome outcome = isomer(command);
        const bool is_same = candidate.find("same") != std::string::npos;
        EXPECT_EQ(outcome.exit_code, is_same ? 0 : 1) << outcome.err;
        EXPECT_THAT(outcome.err, is_same ? testing::Matcher<std::string>("") : HasSubstr("y["));
      }
  const Outcome outcome = isomer({"compare", one, renamed});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("inputs are paired by position: their names differ\n"));
}

TEST_F(CommandLine, CompareSaysWhichTypesAndShapesDiffer) {
  const auto of = [&](const std::string& output, const std::string& name) {
    return model("opset 17\ngraph g(x: float32[4]) -> (y: " + output + "\n}\n", name);
  };
  const std::string file = of("float32[4]) {\n  y = Relu(x)", "usual.onnx"),
                    wide = of("float64[4]) {\n  y = Cast(x) {to = 11}", "wide.onnx"),
                    flat = of("float32[1,4]) {\n  s: int64[2] = {1, 4}\n  y = Reshape(x, s)", "flat.onnx");
  expect_error(isomer({"compare", file, wide}), 1, "y: float32[4] expected, float64[4] found");
  expect_error(isomer({"compare", file, flat}), 1, "y: float32[4] expected, float32[1,4] found");
  const Outcome outcome = isomer({"compare", file, flat, "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  const json difference = json::parse(outcome.out)["difference"];
  EXPECT_EQ(difference["expected_type"], "float32[4]");
  EXPECT_EQ(difference["found_type"], "float32[1,4]");
  EXPECT_TRUE(difference["expected"].is_null() && difference["bound"].is_null());
  const std::string short_one =
      model("opset 17\ngraph g(x: float32[3]) -> (y: float32[3]) {\n  y = Relu(x)\n}\n", "short.onnx");
  expect_error(isomer({"compare", file, short_one}), 1, "x: a shape that fits float32[3] expected, [4] found");
  EXPECT_EQ(json::parse(isomer({"compare", file, short_one, "--json"}).out)["passed"], false);
}

/// Whichever of the two is an artifact, or both.
TEST_F(CommandLine, CompareExpectsWhatTheFirstModelGives) {
  const auto of = [&](const std::string& type, const std::string& value, const std::string& name) {
    return model(fmt::format("opset 17\ngraph g(x: {0}[4]) -> (y: {0}[4]) {{\n  c: {0}[4] = {{{1}, {1}, {1}, {1}}}\n"
                             "  zero = Sub(x, x)\n  y = Add(zero, c)\n}}\n",
                             type, value),
                 name);
  };
  const auto compiled = [&](const std::string& file) {
    const std::string place = file + ".iso";
    const Outcome outcome = isomer({"compile", file, "-o", place, "--level", "1", "-q"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return place;
  };
  const std::string one = of("float32", "1", "one.onnx"), two = of("float32", "2", "two.onnx"),
                    wide = of("float64", "1", "wide.onnx");
  const std::string short_one =
      model("opset 17\ngraph g(x: float32[3]) -> (y: float32[3]) {\n  y = Relu(x)\n}\n", "short.onnx");
  const std::string cast =
      model("opset 17\ngraph g(x: float32[4]) -> (y: float64[4]) {\n  y = Cast(x) {to = 11}\n}\n", "cast.onnx");
  const std::string ones = compiled(one), twos = compiled(two), wides = compiled(wide), shorts = compiled(short_one),
                    casts = compiled(cast);
  const std::vector<std::pair<std::string, std::string>> pairs = {{one, two}, {ones, two}, {one, twos}, {ones, twos}};
  for (const auto& [first, second] : pairs) {
    SCOPED_TRACE(first + ", " + second);
    expect_error(isomer({"compare", first, second}), 1, "y[0]: 1 expected, 2 found");
    const json difference = json::parse(isomer({"compare", first, second, "--json"}).out)["difference"];
    EXPECT_EQ(difference["expected"], 1);
    EXPECT_EQ(difference["found"], 2);
  }
  for (const std::string& first : {one, ones})
    for (const std::string& second : {wide, wides}) {
      SCOPED_TRACE(first + ", " + second);
      expect_error(isomer({"compare", first, second}), 1, "x: float32[4] expected, float64[4] found");
    }
  for (const std::string& first : {one, ones})
    for (const std::string& second : {cast, casts}) {
      SCOPED_TRACE(first + ", " + second);
      expect_error(isomer({"compare", first, second}), 1, "y: float32[4] expected, float64[4] found");
    }
  for (const std::string& first : {one, ones})
    for (const std::string& second : {short_one, shorts}) {
      SCOPED_TRACE(first + ", " + second);
      const Outcome outcome = isomer({"compare", first, second});
      EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
      EXPECT_THAT(outcome.err, HasSubstr("x: a shape that fits float32["));
    }
}

/// Two wrong numbers that are none are no check.
TEST_F(CommandLine, CompareExitsWithOneWhereNothingCouldBeCompared) {
  const auto text = [](const char* factor) {
    return fmt::format(R"(opset 17
graph g(x: float32[4]) -> (y: float32[4]) {{
  f: float32[] = {{{}}}
  one: float32[] = {{1}}
  square = Mul(x, x)
  least = Add(square, one)
  negative = Neg(least)
  root = Sqrt(negative)
  y = Mul(root, f)
}}
)",
                       factor);
  };
  const std::string file = model(text("1"), "roots.onnx"), other = model(text("3"), "others.onnx");
  expect_error(isomer({"compare", file, other}), 1, "nothing of output y could be compared");
  const Outcome outcome = isomer({"compare", file, other, "--json"});
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_EQ(json::parse(outcome.out)["passed"], false);
  const Outcome compiled = isomer({"compile", file, "-o", path("roots.iso"), "--level", "1"});
  EXPECT_EQ(compiled.exit_code, 0) << compiled.err;
  EXPECT_THAT(compiled.err + compiled.out, HasSubstr("nothing of output y could be compared"));
}

/// An attention's mask of more than ones overflows: other inputs than those asked for are tried before that is said.
TEST_F(CommandLine, CompareTriesMasksWhereNothingElseCouldBeCompared) {
  const auto masked = [&](const char* factor, const std::string& name) {
    return model(fmt::format(R"(opset 17
graph g(x: float32[2,6,8], mask: int64[2,6]) -> (y: float32[2,6,8]) {{
  one: float32[] = {{1}}
  least: float32[] = {{-3.4028234663852886e+38}}
  axis: int64[1] = {{1}}
  factor: float32[] = {{{}}}
  m = Cast(mask) {{to = 1}}
  open = Sub(one, m)
  scores = Mul(open, least)
  wide = Unsqueeze(scores, axis)
  turned = Transpose(x) {{perm = [0, 2, 1]}}
  products = MatMul(x, turned)
  masked = Add(products, wide)
  weights = Softmax(masked) {{axis = -1}}
  mixed = MatMul(weights, x)
  y = Mul(mixed, factor)
}}
)",
                             factor),
                 name);
  };
  const std::string file = masked("1", "one.onnx"), other = masked("3", "three.onnx");
  for (const char* seed : {"0", "1"}) {
    const Outcome outcome = isomer({"compare", file, file, "--seed", seed, "--runs", "1"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    expect_error(isomer({"compare", file, other, "--seed", seed, "--runs", "1"}), 1, "y[");
  }
}

/// As optimize does: whatever the second doesn't run on, the first does.
TEST_F(CommandLine, CompareExitsWithOneWhereTheSecondModelRefusesInputs) {
  const auto rows = [&](int count, const std::string& name) {
    return model(fmt::format("opset 17\ngraph g(i: int64[4]) -> (y: float32[4]) {{\n  c: float32[{}] = all 1\n"
                             "  y = Gather(c, i)\n}}\n",
                             count),
                 name);
  };
  const std::string eight = rows(8, "eight.onnx"), three = rows(3, "three.onnx");
  ASSERT_TRUE(
      write_tensor_file(path("i.pb"), "i", Tensor::from_ints(DataType::kInt64, {4}, std::vector<int64_t>{0, 7, 1, 2}))
          .ok());
  std::vector<std::string> command = {"compare", eight, three, "--load-inputs", path("i.pb")};
  expect_error(isomer(command), 1, three + ": outputs expected, none found: ");
  command.emplace_back("--json");
  const json report = json::parse(isomer(command).out);
  EXPECT_EQ(report["passed"], false);
  EXPECT_THAT(report["difference"]["refusal"].get<std::string>(), HasSubstr("index 7 is out of range"));
  EXPECT_TRUE(report["difference"]["expected"].is_null() && report["difference"]["found"].is_null());
}

TEST_F(CommandLine, LargeIntegersThatDifferArePrintedWhole) {
  const auto sum = [&](const std::string& number, const std::string& name) {
    return model("opset 17\ngraph g(x: int64[1]) -> (y: int64[1]) {\n  c: int64[] = {" + number +
                     "}\n  zero = Sub(x, x)\n  y = Add(zero, c)\n}\n",
                 name);
  };
  const std::string one = sum("1152921504606846976", "one.onnx"), other = sum("1152921504606846977", "other.onnx");
  expect_error(isomer({"compare", one, other}), 1,
               "y[0]: 1152921504606846976 expected, 1152921504606846977 found (allowed difference 0)");
  const json difference = json::parse(isomer({"compare", one, other, "--json"}).out)["difference"];
  EXPECT_EQ(difference["expected"], 1152921504606846976);
  EXPECT_EQ(difference["found"], 1152921504606846977);
}

/// Masks are what checks try: runs have what CLI.md says, whatever the seed.
TEST_F(CommandLine, IntegersOfRunsAreBelowEightWhateverTheSeed) {
  const std::string file =
      model("opset 17\ngraph g(x: int64[200]) -> (y: int64[200]) {\n  y = Identity(x)\n}\n", "same.onnx");
  for (const char* seed : {"0", "1", "3"}) {
    const json output = json::parse(isomer({"run", file, "--seed", seed, "--json"}).out)["outputs"][0];
    EXPECT_EQ(output["min"], 0) << seed;
    EXPECT_EQ(output["max"], 7) << seed;
  }
}

TEST_F(CommandLine, AFailedRunTouchesNoFile) {
  write_file(path("out.onnx"), "precious");
  write_file(path("broken.onnx"), "not a model");
  EXPECT_EQ(isomer({"optimize", path("broken.onnx"), "-o", path("out.onnx")}).exit_code, 3);
  EXPECT_EQ(read_file(path("out.onnx")), "precious");
  const std::string file = model(kSmall, "small.onnx");
  EXPECT_EQ(isomer({"optimize", file, "-o", path("nowhere/out.onnx")}).exit_code, 3);
  int files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_.path())) ++files;
  EXPECT_EQ(files, 3) << "something was left behind";
}

/// What a link leads to is written, whether it is there yet or not, and keeps its permissions.
TEST_F(CommandLine, OutputsFollowLinksAndKeepTheirModes) {
  const std::string file = model(kSmall, "small.onnx");
  fs::create_directory(path("real"));
  const auto command = [&](const std::string& name) {
    const std::string place = path("link" + name);
    if (name == ".npz") return isomer({"run", file, "-q", "--save-outputs", place});
    if (name == ".iso") return isomer({"compile", file, "-o", place, "--level", "1", "-q"});
    std::vector<std::string> all = {
        "optimize", file, "--level", "1", "-q", "-o", name == ".onnx" ? place : path("o.onnx")};
    if (name == ".json") all.insert(all.end(), {"--report", place});
    if (name == ".proof") all.insert(all.end(), {"--proof", place});
    return isomer(all);
  };
  for (const std::string name : {".onnx", ".json", ".proof", ".npz", ".iso"}) {
    SCOPED_TRACE(name);
    const fs::path target = path("real/target" + name), link = path("link" + name);
    fs::create_symlink("real/target" + name, link);
    for (const char* when : {"it is made", "it is replaced"}) {
      const Outcome outcome = command(name);
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
      EXPECT_TRUE(fs::is_symlink(link)) << when;
      ASSERT_TRUE(fs::is_regular_file(target)) << when;
      fs::permissions(target, fs::perms::owner_read | fs::perms::owner_write);
    }
    command(name);
    EXPECT_EQ(fs::status(target).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  }
  EXPECT_EQ(isomer({"inspect", path("link.onnx")}).exit_code, 0);
  expect_error(isomer({"optimize", file, "-o", "/dev/stdout"}), 3, "a regular file to replace expected");
}

TEST_F(CommandLine, OneFileIsNotTwo) {
  const std::string file = model(kSmall, "small.onnx"), out = path("out.onnx");
  const std::string before = read_file(file);
  fs::create_symlink("small.onnx", path("link.onnx"));
  const std::string x = path("output_0.pb");
  fs::create_directory(path("set"));
  ASSERT_TRUE(write_tensor_file(x, "x", Tensor::from_doubles(DataType::kFloat32, {1, 3}, {{1, 2, 3}})).ok());
  fs::copy_file(x, path("set/input_0.pb"));
  for (const char* name : {"in.npz", "mine.rules", "mine.proofs", "trace"}) write_file(path(name), "precious");
  const std::vector<std::vector<std::string>> commands = {
      {"optimize", file, "-o", out, "--proof", file},
      {"optimize", file, "-o", out, "--proof", path("link.onnx")},
      {"optimize", file, "-o", out, "--report", out},
      {"optimize", file, "-o", out, "--report", path("./a"), "--proof", path("a")},
      {"compile", file, "-o", path("link.onnx")},
      {"tune", file, "--report", file},
      {"bench", file, "--report", file},
      {"bench", file, "--report", x, "--load-inputs", x},
      {"bench", file, "--report", x, "--load-inputs", "x:" + x},
      {"bench", file, "--report", path("set/input_0.pb"), "--load-inputs", path("set")},
      {"run", file, "--load-inputs", "x:" + x, "--save-outputs", path("")},
      {"run", file, "--load-inputs", path("in.npz"), "--save-outputs", path("in.npz")},
      {"optimize", file, "-o", path("mine.rules"), "--rules", path("mine")},
      {"optimize", file, "-o", out, "--rules", path("mine.rules"), "--report", path("mine.proofs")},
      {"compile", file, "-o", path("mine.rules"), "--rules", path("mine")},
      {"compile", file, "-o", path("trace"), "--schedule", "0=" + path("trace")},
      {"bench", file, "--report", path("trace"), "--schedule", "0=" + path("trace")}};
  for (const std::vector<std::string>& command : commands) {
    expect_error(isomer(command), 2, "another file than that of ");
    EXPECT_EQ(read_file(file), before);
    EXPECT_FALSE(fs::exists(out));
  }
  for (const char* name : {"in.npz", "mine.rules", "mine.proofs", "trace"})
    EXPECT_EQ(read_file(path(name)), "precious") << name;
}

/// A model whose weights are beside it.
class Weights : public CommandLine {
 protected:
  Weights() {
    const auto graph = parse_graph(
        "ir_version 8\nopset 17\ngraph g(x: float32[4,600]) -> (y: float32[4,600]) {\n  c: float32[600] = random 1\n"
        "  a = Identity(x)\n  y = Add(a, c)\n}\n");
    EXPECT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_TRUE(export_model(*graph, path("in.onnx"), {.inline_bytes = 0}).ok());
    weights_ = read_file(path(name_));
  }
  Outcome optimize(const std::string& out, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"optimize", path("in.onnx"), "-o", path(out), "--level", "1", "-q"});
    return isomer(more);
  }
  bool is_like_before(const std::string& out) const {
    return isomer({"compare", path("in.onnx"), path(out)}).exit_code == 0 && read_file(path(name_)) == weights_;
  }
  const std::string name_ = "in.data";
  std::string weights_;
};

TEST_F(Weights, OfOthersAreNotReplaced) {
  write_file(path("out.data"), "precious");
  ASSERT_EQ(optimize("out.onnx").exit_code, 0);
  EXPECT_EQ(read_file(path("out.data")), "precious");
  EXPECT_TRUE(is_like_before("out.onnx"));
  // Its own are replaced, under two names in turns.
  for (const bool is_third : {true, false}) {
    ASSERT_EQ(optimize("out.onnx").exit_code, 0);
    EXPECT_EQ(fs::exists(path("out-3.data")), is_third);
    EXPECT_EQ(fs::exists(path("out-2.data")), !is_third);
    EXPECT_TRUE(is_like_before("out.onnx"));
  }
  ASSERT_EQ(optimize("other.onnx", {"--report", path("other.data")}).exit_code, 0);
  EXPECT_TRUE(json::accept(read_file(path("other.data"))));
  EXPECT_TRUE(is_like_before("other.onnx"));
}

TEST_F(Weights, OfTheModelAreNoOutput) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"--proof", path(name_)}, {"--report", path(name_)}}) {
    expect_error(optimize("out.onnx", more), 2, "another file expected than that of the weights of ");
    EXPECT_TRUE(is_like_before("in.onnx"));
  }
  expect_error(optimize(name_), 2, "another file expected than that of the weights of ");
  expect_error(isomer({"compile", path("in.onnx"), "-o", path(name_), "-q"}), 2, "that of the weights of ");
  ASSERT_EQ(isomer({"compile", path("in.onnx"), "-o", path("out.iso"), "--level", "1", "-q"}).exit_code, 0);
  for (const std::vector<std::string>& measured :
       std::vector<std::vector<std::string>>{{path("in.onnx")}, {path("out.iso"), "--model", path("in.onnx")}}) {
    std::vector<std::string> bench = {"bench", "--duration", "0.01", "-q", "--report", path(name_)};
    bench.insert(bench.end(), measured.begin(), measured.end());
    expect_error(isomer(bench), 2, "another file expected than that of the weights of ");
  }
  EXPECT_TRUE(is_like_before("in.onnx"));
  EXPECT_EQ(optimize("in.onnx").exit_code, 0) << "in place";
  EXPECT_EQ(json::parse(isomer({"inspect", path("in.onnx"), "--json"}).out)["nodes"], 1);
}

/// Decoders have them in common, with and without a past.
TEST_F(Weights, StayWhereAnotherModelReadsThem) {
  fs::copy_file(path("in.onnx"), path("other.onnx"));
  ASSERT_EQ(optimize("in.onnx").exit_code, 0);
  EXPECT_TRUE(is_like_before("other.onnx"));
}

TEST_F(Weights, BeyondALimitOfTheSizeOfFilesAreAnError) {
  const Outcome outcome = isomer_to("optimize " + path("in.onnx") + " -o " + path("out.onnx") + " --level 1 -q");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  fs::remove(path("out.onnx"));
  const Outcome limited = run_program({"/bin/sh", "-c", "ulimit -f 1; \"$0\" optimize \"$1\" -o \"$2\" --level 1 -q",
                                       tool_path("isomer").string(), path("in.onnx"), path("out.onnx")});
  expect_error(limited, 3, "File too large");
  EXPECT_THAT(limited.err, HasSubstr(": " + path("out")));
  EXPECT_EQ(limited.err.find(".isomer-"), std::string::npos) << limited.err;
  EXPECT_FALSE(fs::exists(path("out.onnx")));
  for (const auto& entry : fs::directory_iterator(folder_.path()))
    EXPECT_FALSE(entry.path().filename().string().starts_with(".isomer-")) << entry.path();
}

TEST_F(CommandLine, WhatAnUnknownNodeReadsIsCheckedByTheNodesNameForIt) {
  const std::string file = model(R"(opset 17
opset "com.example" 1
graph unknown(x: float32[3]) -> (z: float32[3]) {
  c: float32[3] = {1, 2, 3}
  a = Neg(x)
  b = Neg(x)
  d = Neg(c)
  y: float32[3] = com.example::Mix(a, b, d)
  z = Relu(y)
}
)",
                                 "unknown.onnx");
  const Outcome outcome = isomer({"optimize", file, "-o", path("out.onnx"), "-q", "--report", path("report.json")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = json::parse(read_file(path("report.json")));
  EXPECT_EQ(report["ops_after"]["Neg"], 1);
  EXPECT_EQ(report["check"]["nodes_unchecked"], 1);
}

TEST_F(CommandLine, ANodeThatRunsOnNoInputIsNamedAsNotChecked) {
  const std::string file = model(R"(opset 17
graph table(x: int64[6], s: float32[8]) -> (z) {
  seven: int64[] = {7}
  table: float32[4,8] = random 1
  m = Max(x, seven)
  u = Unique(m) {sorted = 1}
  t = Gather(table, u) as "lookup"
  a = Mul(t, s)
  z = Tanh(a)
}
)",
                                 "table.onnx");
  ASSERT_EQ(isomer({"optimize", file, "-o", path("out.onnx"), "--report", path("report.html")}).exit_code, 0);
  EXPECT_THAT(read_file(path("report.html")), HasSubstr("node: lookup (Gather), reason: "));
  const Outcome outcome = isomer({"optimize", file, "-o", path("out.onnx"), "--report", path("report.json")});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("not checked: lookup (Gather), because "), std::string::npos) << outcome.out;
  const json report = json::parse(read_file(path("report.json")));
  ASSERT_EQ(report["check"]["not_checked"].size(), 1);
  EXPECT_EQ(report["check"]["not_checked"][0]["node"], "lookup (Gather)");
  EXPECT_EQ(report["check"]["nodes_unchecked"], 1);
}

constexpr std::string_view kBranches = R"(opset 17
graph g(c: bool[], x: float32[4,8]) -> (y: float32[4,8], z: float32[4,8]) {
  zero: float32[] = {0}
  a = Abs(x)
  s = ReduceSum(a) {keepdims = 0}
  never = Less(s, zero)
  y = If(c) captures (x) {
    then_branch = graph t() captures (b: float32[4,8]) -> (r) { r = Tanh(b) },
    else_branch = graph e() captures (b: float32[4,8]) -> (r) { r = Exp(b) }
  }
  z = If(never) captures (x) {
    then_branch = graph t() captures (b: float32[4,8]) -> (r) { r = Sin(b) },
    else_branch = graph e() captures (b: float32[4,8]) -> (r) { r = Cos(b) }
  }
}
)";

/// Both sides of a branch are reached by trying several inputs; one that none reaches is named.
TEST_F(CommandLine, CompileTellsWhatItsCheckExercised) {
  const std::string file = model(std::string(kBranches), "branches.onnx");
  const Outcome told = isomer({"compile", file, "-o", path("out.iso"), "--level", "2"});
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_NE(told.out.find("exercised: "), std::string::npos) << told.out;
  EXPECT_NE(told.out.find("not exercised: step "), std::string::npos) << told.out;
  const Outcome outcome = isomer({"compile", file, "-o", path("out.iso"), "--level", "2", "--json"});
  const json exercised = json::parse(outcome.out)["check"]["exercised"];
  ASSERT_EQ(exercised["missed"].size(), 1) << exercised;
  EXPECT_TRUE(exercised["missed"][0].get<std::string>().ends_with("(If): then side")) << exercised;
  EXPECT_EQ(exercised["bodies"]["all"], 4);
  EXPECT_EQ(exercised["bodies"]["ran"], 3);
  for (const char* part : {"steps", "stages", "kernels"}) {
    EXPECT_EQ(exercised[part]["all"].get<int>(), exercised[part]["ran"].get<int>() + 1) << part;
    EXPECT_GT(exercised[part]["ran"], 0) << part;
  }
  EXPECT_TRUE(exercised["primitives"].contains("vectorize")) << exercised;
}

/// One check of an artifact says nothing of its other variants.
TEST_F(CommandLine, CompileTellsWhatEachVariantsCheckFound) {
  const std::string file = model(
      "opset 17\ngraph g(x: float32[n,3], z: float32[m]) -> (y: float32[n,3]) {\n  y = Relu(x)\n}\n", "open.onnx");
  const std::vector<std::string> sizes = {"compile", file, "-o", path("sizes.iso"), "--dim", "n=1,8", "--level", "1"};
  const Outcome told = isomer(sizes);
  ASSERT_EQ(told.exit_code, 0) << told.err;
  EXPECT_THAT(told.out,
              AllOf(HasSubstr("check: n=1: largest difference"), HasSubstr("check: n=8: largest difference")));
  const std::string line = "m is taken as 1; bind it with --dim m=SIZE\n";
  EXPECT_THAT(told.err, HasSubstr(line));
  EXPECT_EQ(told.err.find(line), told.err.rfind(line)) << told.err;
  std::vector<std::string> in_json = sizes;
  in_json.emplace_back("--json");
  const json check = json::parse(isomer(in_json).out)["check"];
  ASSERT_EQ(check["by_variant"].size(), 2U) << check;
  EXPECT_EQ(check["by_variant"][0]["elements"].get<int>() * 8, check["by_variant"][1]["elements"].get<int>());
  EXPECT_EQ(check["elements"].get<int>() * 8, check["by_variant"][1]["elements"].get<int>() * 9);
  EXPECT_EQ(check["passed"], true);
  // No CPU has the features of both of the last two.
  const std::vector<std::string> targets = {"compile", file,  "-o",       path("targets.iso"),
                                            "--dim",   "n=2", "--target", "cpu=x86-64,cpu=graniterapids,cpu=znver4",
                                            "--level", "1",   "--json"};
  const json of_targets = json::parse(isomer(targets).out)["check"];
  ASSERT_EQ(of_targets["by_variant"].size(), 3U) << of_targets;
  EXPECT_TRUE(of_targets["by_variant"][0].is_object());
  EXPECT_TRUE(of_targets["by_variant"][1].is_null() || of_targets["by_variant"][2].is_null());
  EXPECT_THAT(isomer({targets.begin(), targets.end() - 1}).out,
              AllOf(HasSubstr("check: cpu=x86-64: largest difference"), HasSubstr(": not checked\n")));
}

class Interrupted : public CommandLine {
 protected:
  Interrupted() {
    std::string text = "opset 17\ngraph slow(x: float32[1500,1500]) -> (y: float32[1500,1500]) {\n  a0 = Neg(x)\n";
    for (int i = 1; i <= 60; ++i) text += fmt::format("  a{} = MatMul(a{}, x)\n", i, i - 1);
    model(text + "  y = Relu(a60)\n}\n", "slow.onnx");
  }
  /// `optimize` of a model that takes minutes gets the signal when it has begun, however long that takes here: then its
  /// temporary folder is there. The second of two signals may find it gone.
  Outcome optimize_until(const std::string& signal) const {
    RunOptions options;
    options.working_folder = folder_.path();
    return run_program({"sh", "-c",
                        "env --default-signal=HUP \"$0\" optimize slow.onnx -o out.onnx -q & isomer=$!\n"
                        "until ls -d .isomer-* > /dev/null 2>&1 || ! kill -0 $isomer; do sleep 0.02; done\n"
                        "kill -" +
                            signal + " $isomer 2> /dev/null; wait $isomer",
                        tool_path("isomer").string()},
                       options);
  }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      result.push_back(entry.path().filename().string());
    return result;
  }
};

TEST_F(Interrupted, StopsAndLeavesNothing) {
  for (const char* signal : {"INT", "TERM", "HUP", "INT $isomer; kill -TERM", "TERM $isomer; sleep 0.05; kill -TERM"}) {
    SCOPED_TRACE(signal);
    expect_error(optimize_until(signal), 4, "stopped");
    EXPECT_THAT(names(), testing::ElementsAre("slow.onnx"));
  }
}

/// As nohup has it.
TEST_F(Interrupted, TheEndOfATerminalMayBeIgnored) {
  model(kSmall, "small.onnx");
  RunOptions options;
  options.working_folder = folder_.path();
  const Outcome outcome =
      run_program({"sh", "-c",
                   "trap '' HUP; \"$0\" bench small.onnx --duration 1 --report out.json -q > /dev/null & isomer=$!\n"
                   "until ls -d .isomer-* > /dev/null 2>&1 || ! kill -0 $isomer; do sleep 0.02; done\n"
                   "kill -HUP $isomer; wait $isomer",
                   tool_path("isomer").string()},
                  options);
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_TRUE(json::accept(read_file(path("out.json"))));
}

TEST_F(Interrupted, WhatIsLeftByKillingGoesWithTheNextRun) {
  EXPECT_EQ(optimize_until("KILL").exit_code, 128 + 9);
  EXPECT_THAT(names(), testing::UnorderedElementsAre("slow.onnx", testing::StartsWith(".isomer-")));
  const std::string file = model(kSmall, "small.onnx");
  ASSERT_EQ(isomer({"optimize", file, "-o", path("out.onnx"), "-q"}).exit_code, 0);
  EXPECT_THAT(names(), testing::UnorderedElementsAre("slow.onnx", "small.onnx", "out.onnx"));
}

/// Making code asks, too: many products, each of a shape of its own.
TEST_F(Interrupted, StopsWhileCodeIsMade) {
  std::string text = "opset 17\ngraph deep(x: float32[16,100]) -> (y) {\n";
  for (int n = 101; n <= 160; ++n)
    text += fmt::format("  w{0}: float32[{1},{0}] = random {0}\n  m{0} = MatMul({2}, w{0})\n  a{0} = Tanh(m{0})\n", n,
                        n - 1, n == 101 ? "x" : fmt::format("a{}", n - 1));
  model(text + "  y = Relu(a160)\n}\n", "deep.onnx");
  RunOptions options;
  options.working_folder = folder_.path();
  const Outcome outcome =
      run_program({"sh", "-c",
                   "\"$0\" compile deep.onnx -o deep.iso --level 2 --no-check --threads 1 -q & isomer=$!\n"
                   "until ls -d .isomer-* > /dev/null 2>&1 || ! kill -0 $isomer; do sleep 0.02; done\n"
                   "sleep 1; kill -INT $isomer 2> /dev/null; wait $isomer",
                   tool_path("isomer").string()},
                  options);
  expect_error(outcome, 4, "stopped");
  EXPECT_THAT(names(), testing::UnorderedElementsAre("slow.onnx", "deep.onnx"));
}

/// Commands that write, ended at random moments by all three signals: what is there afterwards is whole, and nothing
/// else is but what a killed one leaves, which the next run removes.
TEST_F(Interrupted, AtAnyMomentLeavesWholeFilesOrNone) {
  const std::string convolutions = model(
      "opset 17\ngraph g(x: float32[1,32,28,28], w: float32[32,32,3,3], v: float32[32,32,3,3]) -> (y) {\n"
      "  a = Conv(x, w) {pads = [1, 1, 1, 1]}\n  b = Relu(a)\n  y = Conv(b, v) {pads = [1, 1, 1, 1]}\n}\n",
      "small.onnx");
  const std::vector<std::string> commands = {
      "optimize small.onnx -o out.onnx --proof out.proof --report out.json --for isomer --time 1s -q",
      "compile small.onnx -o out.iso --level 3 --time 1s -q", "tune small.onnx --trials 64 --records out.records -q"};
  const std::set<std::string> wanted = {"slow.onnx", "small.onnx",  "out.onnx",        "out.proof",      "out.json",
                                        "out.iso",   "out.records", "out.records-wal", "out.records-shm"};
  Random random(20261127);
  bool was_killed = false;
  for (int k = 0; k < (is_long_run() ? 100 : 3); ++k) {
    const std::string command = commands[k % commands.size()];
    const std::string signal = std::vector<std::string>{"INT", "TERM", "KILL"}[random.below(3)];
    const double seconds = random.uniform(0, 2.5);
    SCOPED_TRACE(fmt::format("{}: {} after {:.3f} s", command, signal, seconds));
    for (const char* file : {"out.onnx", "out.proof", "out.json", "out.iso"}) std::filesystem::remove(path(file));
    RunOptions options;
    options.working_folder = folder_.path();
    const Outcome outcome = run_program(
        {"sh", "-c",
         fmt::format("\"$0\" {} > /dev/null & isomer=$!; sleep {:.3f}; kill -{} $isomer 2> /dev/null; wait $isomer",
                     command, seconds, signal),
         tool_path("isomer").string()},
        options);
    const bool killed = outcome.exit_code == 128 + 9;
    // What was stopped before it had a result ends with 4, what had one with 0; a shell tells of signals that come
    // first.
    EXPECT_TRUE(killed || outcome.exit_code == 0 || outcome.exit_code == 4 || outcome.exit_code > 128) << outcome.err;
    for (const std::string& name : names())
      EXPECT_TRUE(wanted.contains(name) || ((killed || was_killed) && name.starts_with(".isomer-"))) << name;
    was_killed = killed || (was_killed && outcome.exit_code > 128);
    const auto is_there = [&](const char* name) { return std::filesystem::exists(path(name)); };
    if (is_there("out.onnx")) {
      EXPECT_EQ(isomer({"inspect", path("out.onnx")}).exit_code, 0);
    }
    if (is_there("out.onnx") && is_there("out.proof")) {
      EXPECT_EQ(isomer({"verify", convolutions, path("out.onnx"), path("out.proof")}).exit_code, 0);
    }
    if (is_there("out.json")) {
      EXPECT_TRUE(json::accept(read_file(path("out.json"))));
    }
    if (is_there("out.iso")) {
      EXPECT_EQ(isomer({"bench", path("out.iso"), "--duration", "0.01"}).exit_code, 0);
    }
    if (is_there("out.records")) {
      EXPECT_EQ(isomer({"records", "list", "--records", path("out.records")}).exit_code, 0);
    }
    EXPECT_TRUE(killed || is_there("out.onnx") == is_there("out.proof"));
  }
}

TEST_F(CommandLine, ModelsCanBeOptimizedInPlace) {
  const std::string file = model(kSmall, "small.onnx");
  ASSERT_EQ(isomer({"optimize", file, "-o", file, "-q"}).exit_code, 0);
  EXPECT_EQ(json::parse(isomer({"inspect", file, "--json"}).out)["nodes"], 2);
}

TEST_F(CommandLine, TextFromModelsIsEscaped) {
  const std::string file =
      model("opset 17\ngraph g(\"x\\x1b[31m%n\": float32[2]) -> (y: float32[2]) { y = Neg(\"x\\x1b[31m%n\") }\n",
            "escape.onnx");
  const Outcome outcome = isomer({"inspect", file});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.find('\x1b'), std::string::npos);
  EXPECT_THAT(outcome.out, HasSubstr("\\x1b[31m%n"));
}

/// A file's name is ours, and so are the words at the end.
TEST_F(CommandLine, LongTextHidesNeitherThePlaceNorTheHint) {
  const std::string deep = std::string(150, 'a') + "/" + std::string(150, 'b'), name = deep + "/beyond.onnx";
  fs::create_directories(path(deep));
  const auto beyond = [&](const std::string& called) {
    return model(fmt::format(R"(opset 17
graph g(x: int64[4]) -> (z: float32[4]) {{
  hundred: int64[] = {{100}}
  table: float32[8] = random 1
  i = Add(x, hundred)
  y = Gather(table, i) as "{0}_first"
  v = Gather(table, i) as "{0}_second"
  z = Add(y, v)
}}
)",
                             called),
                 name);
  };
  const std::string file = beyond("lookup");
  expect_error(isomer({"run", file, "--interpret"}), 3, "isomer: " + file + ": lookup_first (Gather): ");
  // Of the model's own text at most so much is printed.
  beyond(std::string(1000, 'n'));
  const Outcome outcome = isomer({"compile", file, "-o", path("out.iso"), "--level", "1", "-q"});
  expect_error(outcome, 3, "nnn");
  EXPECT_THAT(outcome.err, testing::EndsWith("; --no-check skips the check\n"));
  EXPECT_LT(std::count(outcome.err.begin(), outcome.err.end(), 'n'), 330);
  expect_error(isomer({"optimize", file, "-o", path("out.onnx"), "--level", "2", "-q"}), 3,
               "; bind its dims with --dim, or skip the check with --no-check");
}

/// Of what can't be compiled, too, and of what no rule knows.
TEST_F(CommandLine, TextFromModelsIsEscapedInNotes) {
  const std::string type = "\"22060a040a020801\"", name = "\"s\\x0aisomer: all is well\\x1b[31m\"";
  const std::string file = model("opset 17\ngraph g(x: float32[2]) -> (" + name + ": other " + type + ") {\n  " + name +
                                     ": other " + type + " = SequenceConstruct(x, x)\n}\n",
                                 "escape.onnx");
  const Outcome outcome = isomer({"run", file});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("s\\x0aisomer: all is well\\x1b[31m"));
  EXPECT_EQ(outcome.err.find('\x1b'), std::string::npos);
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1);
}

/// What compile prints of its check, optimize of its race, and compare of outputs.
TEST_F(CommandLine, TextFromModelsIsEscapedInResults) {
  const std::string name = "\"y\\x1b[31m\\x0aisomer: all is well\"", shown = "y\\x1b[31m\\x0aisomer: all is well";
  const std::string file = model("opset 17\ngraph g(x: float32[4]) -> (" + name +
                                     ": float32[4]) {\n  c: float32[] = {nan}\n  " + name + " = Mul(x, c)\n}\n",
                                 "nothing.onnx");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"compile", file, "-o", path("out.iso"), "--level", "1"},
        std::vector<std::string>{"optimize", file, "-o", path("out.onnx"), "--level", "1"},
        std::vector<std::string>{"compare", file, file}}) {
    SCOPED_TRACE(testing::PrintToString(command));
    const Outcome outcome = isomer(command);
    EXPECT_THAT(outcome.out + outcome.err, HasSubstr(shown));
    EXPECT_EQ((outcome.out + outcome.err).find('\x1b'), std::string::npos);
    EXPECT_EQ((outcome.out + outcome.err).find("\nisomer: all is well"), std::string::npos);
  }
  const Outcome raced = isomer({"optimize", model(kSmall, "small.onnx"), "-o", path("out.onnx"), "--level", "3",
                                "--time", "1s", "--onnxruntime", path("none\x1b[31m\n.so")});
  EXPECT_EQ(raced.out.find('\x1b'), std::string::npos) << raced.out;
}

/// What inspect calls a dim --dim takes.
TEST_F(CommandLine, DimsAreCalledWhatTheyAre) {
  const std::string file =
      model("opset 17\ngraph g(x: float32[\"a b\",2]) -> (y: float32[\"a b\",2]) { y = Neg(x) }\n", "dims.onnx");
  const json shape = json::parse(isomer({"inspect", file, "--json"}).out)["inputs"][0]["shape"];
  EXPECT_EQ(shape, json({"a b", 2}));
  EXPECT_THAT(isomer({"inspect", file}).out, HasSubstr("x float32[a b,2]"));
  EXPECT_EQ(isomer({"run", file, "-q", "--dim", shape[0].get<std::string>() + "=3"}).exit_code, 0);
}

TEST_F(CommandLine, InspectShowsGraphsAsTextAndDot) {
  const std::string file = model(kSmall, "small.onnx");
  EXPECT_THAT(isomer({"inspect", file, "--text"}).out, HasSubstr("Relu"));
  EXPECT_THAT(isomer({"inspect", file, "--dot"}).out, HasSubstr("digraph"));
}

TEST_F(CommandLine, InspectTakesRecordsAndRules) {
  const std::string file = model(kSmall, "small.onnx"), records = path("r.sqlite"), lines = path("r.jsonl");
  ASSERT_EQ(isomer({"tune", file, "--trials", "2", "--records", records, "-q"}).exit_code, 0);
  ASSERT_EQ(isomer({"records", "export", "--records", records, "-o", lines}).exit_code, 0);
  const json facts = json::parse(isomer({"inspect", records, "--json"}).out);
  EXPECT_GE(facts["records"], 1);
  EXPECT_EQ(json::parse(isomer({"inspect", lines, "--json"}).out), facts);
  EXPECT_THAT(isomer({"inspect", records}).out, HasSubstr(" task"));
  write_file(path("relu.equations"), "mine | x[2,3] | Relu(Relu(x)) = Relu(x)\n");
  ASSERT_EQ(isomer({"library", "add", path("relu.equations"), "-o", path("mine")}).exit_code, 0);
  for (const char* name : {"mine.rules", "mine.proofs"})
    EXPECT_EQ(json::parse(isomer({"inspect", path(name), "--json"}).out)["rules"], 1) << name;
  // The rules of another file are not shown in their place.
  write_file(path("mine.txt"), "# isomer library generate (added) other\n");
  expect_error(isomer({"inspect", path("mine.txt")}), 3,
               "mine.txt: rules called STEM.rules, with STEM.proofs beside them, expected, another name found");
  expect_error(isomer({"inspect", lines, "--text"}), 2, "a model expected with it");
}

TEST_F(CommandLine, InspectSaysWhatBecomesOfNodes) {
  const std::string file = model(R"(opset 17
opset "com.acme" 1
graph g(x: float32[4]) -> (y, z) {
  rows = NonZero(x)
  y = Neg(rows)
  own = com.acme::Own(x)
  z = Relu(own)
}
)",
                                 "capability.onnx");
  const json rows = json::parse(isomer({"inspect", file, "--capability", "--json"}).out)["capability"];
  std::map<std::string, std::pair<std::string, std::string>> found;
  for (const json& row : rows) found[row["op"]] = {row["status"], row["reason"]};
  EXPECT_EQ(found["NonZero"].first, "compiled");
  EXPECT_EQ(found["Neg"].first, "compiled") << "of a size that data decide";
  EXPECT_EQ(found["com.acme.Own"], std::pair(std::string("unsupported"), std::string("no such operator is known")));
  EXPECT_EQ(found["Relu"],
            std::pair(std::string("interpreted"), std::string("the rank of what it reads or makes is not known")));
}

TEST_F(CommandLine, CompileSaysWhichInputOrOutputIsNoTensor) {
  const std::string made = model(R"(opset 17
graph g(x: float32[2]) -> (s: other "22060a040a020801") {
  s: other "22060a040a020801" = SequenceConstruct(x, x)
}
)",
                                 "made.onnx");
  const std::string given = model(R"(opset 18
graph g(o: other "4a0c0a0a0a08080112040a020802") -> (y: bool[]) {
  y: bool[] = OptionalHasElement(o)
}
)",
                                  "given.onnx");
  const auto compile = [&](const std::string& file) { return isomer({"compile", file, "-o", path("out.iso")}); };
  expect_error(compile(made), 3, "s: an output that is a tensor expected, a sequence of float32 found");
  expect_error(compile(given), 3, "o: an input that is a tensor expected, an optional float32 found");
}

TEST_F(CommandLine, RunGivesAnOutputAsOftenAsItIsListed) {
  const std::string file = model(R"(opset 17
graph g(x: float32[2]) -> (y, z, y) {
  y = Abs(x)
  z = Exp(y)
}
)",
                                 "twice.onnx");
  const auto names = [&](const std::string& of) {
    const json ran = json::parse(isomer({"run", of, "--json", "-q"}).out);
    std::vector<std::string> result;
    for (const json& output : ran["outputs"]) result.push_back(output["name"]);
    return result;
  };
  const std::vector<std::string> expected = {"y", "z", "y"};
  EXPECT_EQ(names(file), expected);
  for (const char* level : {"0", "2"}) {
    const std::string out = path("twice_out.onnx"), proof = path("twice.proof");
    const Outcome made = isomer({"optimize", file, "-o", out, "--proof", proof, "-q", "--level", level});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(names(out), expected);
    EXPECT_EQ(isomer({"verify", file, out, proof}).exit_code, 0);
    EXPECT_EQ(isomer({"compare", file, out}).exit_code, 0);
  }
  ASSERT_EQ(isomer({"compile", file, "-o", path("twice.iso"), "--level", "2", "-q"}).exit_code, 0);
  EXPECT_EQ(names(path("twice.iso")), expected);
  EXPECT_EQ(isomer({"compare", file, path("twice.iso")}).exit_code, 0);
}

TEST_F(CommandLine, InspectSaysWhatCompilingRefuses) {
  const std::vector<std::pair<std::string, std::string>> models = {
      {"Pad", "graph g(x: float32[4], p: int64[2]) -> (y) {\n  a = Relu(x)\n  y = Pad(a, p)\n}\n"},
      {"Reshape", "graph g(x: float32[4], p: int64[2]) -> (y) {\n  a = Relu(x)\n  y = Reshape(a, p)\n}\n"},
      {"If",
       "graph g(x: float32[4], c: bool[]) -> (y: float32[4]) {\n  a = Relu(x)\n"
       "  y = If(c) captures (a) {else_branch = graph e() captures (a: float32[4]) -> (n) {\n    n = Neg(a)\n  }, "
       "then_branch = graph t() captures (a: float32[4]) -> (s) {\n    s = ReduceSum(a) {keepdims = 0}\n  }}\n}\n"},
      {"", "graph g(x: float32[4]) -> (y) {\n  a = NonZero(x)\n  y = Neg(a)\n}\n"}};
  for (const auto& [op, text] : models) {
    const std::string file = model("opset 17\n" + text, "refused.onnx");
    const Outcome compiled = isomer({"compile", file, "-o", path("refused.iso"), "--level", "2"});
    EXPECT_EQ(compiled.exit_code, op.empty() ? 0 : 3) << compiled.err;
    const json rows = json::parse(isomer({"inspect", file, "--capability", "--json"}).out)["capability"];
    for (const json& row : rows) {
      EXPECT_EQ(row["status"], row["op"] == op ? "interpreted" : "compiled") << row;
      EXPECT_THAT(compiled.err, HasSubstr(row["reason"].get<std::string>()));
    }
  }
}

}  // namespace
}  // namespace isomer::test
