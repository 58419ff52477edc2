// isomer verify on what isomer optimize writes: exit codes, one-line errors, JSON; isomer-verify says the same each
// time. What proofs with steps are refused for is tested in tests/substitutions.
#include <nlohmann/json.hpp>

#include <filesystem>

#include "cli/command_line.h"
#include "support/long_run.h"

namespace isomer::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

/// Constants to fold, weights to scale, an Identity to remove; dims of the outputs go by the batch.
constexpr std::string_view kFoldable = R"(opset 17
graph foldable(x: float32[batch,2,4,4]) -> (y: float32[batch,2,4,4]) {
  w: float32[2,2,1,1] = {0.1, 0.2, 0.3, 0.4}
  s: float32[1,2,1,1] = {0.7, 0.9}
  a = Identity(x)
  b = Conv(a, w)
  y = Mul(b, s)
}
)";

class Verify : public CommandLine {
 protected:
  Verify() : input_(model(kFoldable, "in.onnx")) {}

  void optimize(std::vector<std::string> options = {}, const char* level = "2") const {
    std::vector<std::string> arguments = {"optimize", input_,    "-o", path("out.onnx"), "--proof", path("out.proof"),
                                          "-q",       "--level", level};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const Outcome outcome = isomer(arguments);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  }
  /// What isomer verify says; isomer-verify must say the same.
  static Outcome said(std::vector<std::string> arguments) {
    std::vector<std::string> alone = arguments;
    alone.insert(alone.begin(), tool_path("isomer-verify").string());
    arguments.insert(arguments.begin(), "verify");
    const Outcome one = isomer(arguments), other = run_program(alone);
    EXPECT_EQ(one.exit_code, other.exit_code);
    EXPECT_EQ(without_seconds(one.out), without_seconds(other.out));
    EXPECT_EQ(one.err, other.err);
    return one;
  }
  Outcome verify(std::vector<std::string> options = {}) const {
    std::vector<std::string> arguments = {input_, path("out.onnx"), path("out.proof")};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return said(arguments);
  }
  static std::string without_seconds(const std::string& out) {
    if (!out.starts_with('{')) return out;
    json report = json::parse(out);
    report.erase("seconds");
    return report.dump();
  }
  /// The first of these bytes are others.
  void replace(const std::string& file, const std::string& what, const std::string& by) const {
    std::string bytes = read_file(path(file));
    const size_t at = bytes.find(what);
    ASSERT_NE(at, std::string::npos) << what;
    write_file(path(file), bytes.replace(at, what.size(), by));
  }

  const std::string input_;
};

TEST_F(Verify, AcceptsWhatOptimizeWrites) {
  for (const char* level : {"0", "1", "2"}) {
    optimize({}, level);
    const Outcome outcome = verify();
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_THAT(outcome.out, HasSubstr("verified")) << level;
    EXPECT_EQ(outcome.err, "");
  }
}

/// The file has one number a group; reading makes one a channel of it, writing takes that back.
TEST_F(Verify, GrantsStrictlyWhatAnOldOpsetHas) {
  const std::string file = model(R"(opset 18
graph g(x: float32[2,4,3]) -> (y) {
  s: float32[4] = {1, 1, 2, 2}
  b: float32[4] = {0.5, 0.5, -1, -1}
  y = GroupNormalization(x, s, b) {num_groups = 2}
}
)",
                                 "old.onnx");
  for (const char* level : {"0", "1", "2"}) {
    const Outcome made = isomer({"optimize", file, "-o", path("old_out.onnx"), "--proof", path("old.proof"), "-q",
                                 "--level", level, "--fp", "strict"});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.err, "");
    const Outcome outcome = said({file, path("old_out.onnx"), path("old.proof"), "--fp", "strict"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
}

/// A number goes over whatever moves into the weights, whichever operand it is.
TEST_F(Verify, AcceptsFactorsCarriedOverMovement) {
  const std::vector<std::string> movements = {"Slice(m, one, two, one)",
                                              "Transpose(m) {perm = [1,0,2]}",
                                              "Reshape(m, rows)",
                                              "Gather(m, one) {axis = 2}",
                                              "Unsqueeze(m, one)",
                                              "Expand(m, wide)",
                                              "Pad(m, ends)",
                                              "Concat(m, m) {axis = 1}"};
  for (const std::string& movement : movements)
    for (const char* product : {"Mul(t, k)", "Mul(k, t)"}) {
      SCOPED_TRACE(movement + ", " + product);
      const std::string file = model(fmt::format(R"(opset 17
graph g(x: float32[1,4,7]) -> (y) {{
  w: float32[7,3] = random 1
  k: float32[] = {{0.15}}
  one: int64[1] = {{1}}
  two: int64[1] = {{2}}
  rows: int64[2] = {{2, 6}}
  wide: int64[4] = {{2, 1, 4, 3}}
  ends: int64[6] = {{0, 1, 0, 0, 0, 2}}
  m = MatMul(x, w)
  t = {}
  y = {}
}}
)",
                                                 movement, product),
                                     "moved.onnx");
      const Outcome made = isomer(
          {"optimize", file, "-o", path("moved_out.onnx"), "--proof", path("moved.proof"), "-q", "--level", "2"});
      ASSERT_EQ(made.exit_code, 0) << made.err;
      const Outcome outcome = said({file, path("moved_out.onnx"), path("moved.proof"), "--no-check"});
      EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    }
}

/// A normalization that exporters write out, of constants: its terms lie on both sides of zero.
TEST_F(Verify, GrantsAFoldedVariance) {
  const std::string file = model(R"(opset 13
graph g(x: float32[20,64]) -> (y: float32[20,64]) {
  b: float32[64] = random 1
  c: float32[20,64] = random 2
  two: float32[] = {2}
  axis: int64[1] = {-1}
  sum = Add(x, b)
  m = ReduceMean(c, axis)
  d = Sub(c, m)
  p = Pow(d, two)
  v = ReduceMean(p, axis)
  y = Add(sum, v)
}
)",
                                 "variance.onnx");
  for (const char* level : {"1", "2", "3"}) {
    const Outcome made = isomer({"optimize", file, "-o", path("folded.onnx"), "--proof", path("folded.proof"),
                                 "--level", level, "--time", "2s", "--report", path("folded.json")});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_THAT(json::parse(read_file(path("folded.json")))["search"]["left_out"], testing::IsEmpty());
    const Outcome outcome = said({file, path("folded.onnx"), path("folded.proof"), "--no-check"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  }
}

TEST_F(Verify, SaysInJsonWhatItDid) {
  optimize();
  const Outcome outcome = verify({"--json", "--check-runs", "3"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const json report = json::parse(outcome.out);
  EXPECT_EQ(report["verified"], true);
  EXPECT_EQ(report["kinds"]["output"], 1);
  EXPECT_GT(report["kinds"]["fold"], 0);
  EXPECT_GT(report["kinds"]["rule"], 0);
  EXPECT_GT(report["taken"].size(), 0U);
  EXPECT_EQ(report["fp_class"], "reassociated");
  EXPECT_EQ(report["check"]["runs"], 3);
  EXPECT_EQ(json::parse(verify({"--json", "--no-check"}).out)["check"], nullptr);
}

TEST_F(Verify, GrantsOnlyTheSizesThatItIsTold) {
  optimize({"--dim", "batch=3"});
  expect_error(verify(), 1, "a proof for 'batch' of any size expected, one for 3 found (--dim batch=3 grants it)");
  const Outcome outcome = verify({"--json", "--dim", "batch=3"});
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(json::parse(outcome.out)["dims"]["batch"], 3);
  EXPECT_THAT(verify({"--dim", "batch=3"}).out, HasSubstr("granted: --fp reassociate, --dim batch=3\n"));
  expect_error(verify({"--dim", "batch=4"}), 1, "'batch' 4 expected, one for 3 found");
  expect_error(verify({"--dim", "batch=3", "--input-shapes", "x:[4,2,4,4]"}), 3, "x");
  expect_error(verify({"--dim", "batch=3", "--dim", "height=4"}), 2, "height");
  optimize({"--input-shapes", "x:[5,2,4,4]"});
  expect_error(verify(), 1, "(--input-shapes x:[5,2,4,4] grants it)");
  EXPECT_THAT(verify({"--input-shapes", "x:[5,2,4,4]"}).out, HasSubstr("--input-shapes x:[5,2,4,4]\n"));
  replace("out.proof", "[5,2,4,4]", "[6,2,4,4]");
  expect_error(verify({"--input-shapes", "x:[6,2,4,4]"}), 1, "one of another model found");
  replace("out.proof", "\"x\"=[6,2,4,4]", "\"z\"=[6,2,4,4]");
  expect_error(verify({"--input-shapes", "z:[6,2,4,4]"}), 1, "other dims");
}

TEST_F(Verify, GrantsOnlyTheRoundingThatItIsTold) {
  optimize({"--fp", "fast"});
  expect_error(verify(), 1, "a proof of --fp reassociate expected, one of --fp fast found");
  EXPECT_THAT(verify({"--fp", "fast"}).out, HasSubstr("granted: --fp fast, no size bound, free sizes from 1 on\n"));
  optimize();
  expect_error(verify({"--fp", "strict"}), 1, "a proof of --fp strict expected, one of --fp reassociate found");
  EXPECT_THAT(verify().out, HasSubstr("granted: --fp reassociate, no size bound, free sizes from 1 on\n"));
  optimize({"--fp", "strict"});
  EXPECT_THAT(verify().out, HasSubstr("granted: --fp strict"));
  EXPECT_EQ(json::parse(verify({"--json"}).out)["fp"], "strict");
  expect_error(verify({"--fp", "loose"}), 2, "--fp");
}

TEST_F(Verify, RunsTheModelsOnDimsThatTheProofLeavesOpen) {
  optimize();
  EXPECT_EQ(verify({"--dim", "batch=2"}).exit_code, 0);
  EXPECT_EQ(verify({"--input-shapes", "x:[7,2,4,4]"}).exit_code, 0);
}

/// Proofs know no number behind the bits of a constant that a body makes: it stays computed, and everything else is
/// done. One that it captures is known outside.
TEST_F(Verify, GrantsTheRestWhereBodiesMakeWhatWouldBeRounded) {
  for (const bool is_inside : {false, true}) {
    const char* outside = is_inside ? "q = Abs(w)" : "q = Sigmoid(w)";
    const char* inside = is_inside ? "h: float32[1] = {0.5}\n      r = Sigmoid(h)" : "r = Abs(q)";
    const std::string file = model(fmt::format(R"(opset 17
graph g(x: float32[1,3,6,6], p: bool[]) -> (y: float32[1,3,6,6]) {{
  w: float32[1] = {{0.5}}
  k: float32[3,3,3,3] = random 1
  s: float32[3] = {{1, 2, 3}}
  t: float32[3] = {{0, 1, 2}}
  m: float32[3] = {{0, 0.5, 1}}
  v: float32[3] = {{1, 2, 0.5}}
  c = Conv(x, k) {{pads = [1,1,1,1]}}
  b = BatchNormalization(c, s, t, m, v)
  {}
  y = If(p) captures (q, b) {{else_branch = graph e() captures (q: float32[1], b: float32[1,3,6,6]) -> (o) {{
      o = Tanh(b)
    }}, then_branch = graph t() captures (q: float32[1], b: float32[1,3,6,6]) -> (o) {{
      {}
      o = Add(b, r)
    }}}}
}}
)",
                                               outside, inside),
                                   "rounds.onnx");
    const Outcome made = isomer({"optimize", file, "-o", path("out.onnx"), "--proof", path("out.proof"), "--level", "2",
                                 "--report", path("report.json")});
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.err.find("left out constants that bodies read") != std::string::npos, is_inside) << made.err;
    EXPECT_THAT(made.err, Not(HasSubstr("what level")));
    const json after = json::parse(read_file(path("report.json")))["ops_after"];
    EXPECT_FALSE(after.contains("BatchNormalization"));
    EXPECT_EQ(after.contains("Sigmoid"), is_inside) << after;
    EXPECT_EQ(said({file, path("out.onnx"), path("out.proof")}).exit_code, 0);
  }
}

/// Runtimes infer such a type; what is written states it.
TEST_F(Verify, AcceptsTypesOfOutputsOfWhichTheFileSaysNothing) {
  const auto field = [](int number, const std::string& bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
  };
  const auto integer = [](int number, int value) {
    return std::string{static_cast<char>(number << 3), static_cast<char>(value)};
  };
  const std::string type = field(1, integer(1, 1) + field(2, field(1, integer(1, 2))));
  const std::string graph = field(1, field(1, "x") + field(2, "y") + field(4, "Relu")) + field(2, "g") +
                            field(11, field(1, "x") + field(2, type)) + field(12, field(1, "y"));
  write_file(path("untyped.onnx"), integer(1, 8) + field(7, graph) + field(8, integer(2, 17)));
  const Outcome made = isomer(
      {"optimize", path("untyped.onnx"), "-o", path("out.onnx"), "--proof", path("out.proof"), "-q", "--level", "0"});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(said({path("untyped.onnx"), path("out.onnx"), path("out.proof")}).exit_code, 0);
}

TEST_F(Verify, RefusesOtherModels) {
  optimize();
  const std::string right = read_file(path("out.onnx"));
  expect_error(said({path("out.onnx"), input_, path("out.proof")}), 1, "one of another model found");
  expect_error(said({input_, input_, path("out.proof")}), 1,
               "the model that the proof was written for expected, another found");
  replace("out.onnx", "batch", "batsh");
  expect_error(verify(), 1, "out.onnx: input x of type float32[batch,2,4,4] expected");
  write_file(path("out.onnx"), right);
  EXPECT_EQ(verify().exit_code, 0);
}

TEST_F(Verify, CannotReadBrokenFiles) {
  optimize();
  expect_error(said({input_, path("out.onnx"), path("none")}), 3, "none");
  expect_error(said({input_, path("none"), path("out.proof")}), 3, "none");
  expect_error(said({input_, path("out.onnx"), folder_.path().string()}), 3, "folder");
  expect_error(said({input_, path("out.onnx"), input_}), 3, "line 1: a proof");
  replace("out.proof", "end\n", "");
  expect_error(verify(), 3, "'end' expected, the end found");
  expect_error(said({input_, path("out.onnx")}), 2, "PROOF");
}

TEST_F(Verify, RefusesHostileModels) {
  optimize();
  const std::string good = path("out.onnx"), proof = path("out.proof");
  std::vector<std::string> hostile;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("tests/hostile/files")))
    if (entry.path().extension() == ".onnx") hostile.push_back(entry.path().string());
  std::sort(hostile.begin(), hostile.end());
  ASSERT_GT(hostile.size(), 100U);
  const size_t step = is_long_run() ? 1 : 30;
  for (size_t k = 0; k < hostile.size(); k += step) {
    SCOPED_TRACE(hostile[k]);
    for (const Outcome& outcome : {said({hostile[k], good, proof}), said({input_, hostile[k], proof})}) {
      EXPECT_TRUE(outcome.exit_code == 1 || outcome.exit_code == 3) << outcome.exit_code;
      expect_error(outcome, outcome.exit_code, "");
    }
  }
}

TEST_F(Verify, RefusesProofsThatAreCutOff) {
  optimize();
  const std::string whole = read_file(path("out.proof"));
  const size_t step = std::max<size_t>(1, whole.size() / (is_long_run() ? 400 : 12));
  for (size_t size = 0; size < whole.size(); size += step) {
    SCOPED_TRACE(size);
    write_file(path("out.proof"), whole.substr(0, size));
    expect_error(verify(), 3, "out.proof");
  }
}

TEST_F(Verify, ExplainsItself) {
  EXPECT_EQ(said({"--help"}).exit_code, 0);
  const Outcome version = said({"--version"});
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, testing::StartsWith("isomer "));
  expect_error(said({}), 2, "IN");
  expect_error(said({"--frobnicate"}), 2, "IN");
}

}  // namespace
}  // namespace isomer::test
