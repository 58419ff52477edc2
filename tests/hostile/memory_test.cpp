// Files that ask for more memory than there is, by every command that reads a model: under --memory 1GB none takes more
// than that, and what does not fit is said in one sentence.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "hostile/case.h"
#include "hostile/command.h"
#include "support/files.h"
#include "util/sanitized.h"

namespace isomer::test {
namespace {

namespace fs = std::filesystem;

using Words = std::vector<std::string>;

Words operator+(Words first, const Words& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class MemoryHungry : public testing::TestWithParam<HostileCase> {};

/// It may run in less than it seems to need; where not, one sentence.
void expect_within(const Outcome& outcome) {
  if (kSanitized && outcome.timed_out) return;
  EXPECT_LE(outcome.peak_kb, peak_kb_of_1gb());
  EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 3) << outcome.exit_code << ": " << outcome.err;
  if (outcome.exit_code == 3) {
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_TRUE(outcome.err.starts_with("isomer: ")) << outcome.err;
    EXPECT_EQ(outcome.err.find("internal error"), std::string::npos) << outcome.err;
  }
}

TEST_P(MemoryHungry, StaysWithinMemoryInEveryCommand) {
  const ScratchFolder scratch;
  const std::string file = (scratch.path() / "model.onnx").string(), out = (scratch.path() / "out").string();
  write_file(file, GetParam().bytes());
  const Words common = {"--quiet", "--memory", "1GB", "--threads", "2"};
  const Words first[] = {{"inspect", file}, {"run", file}, {"compile", file, "-o", out + ".iso"}};
  const Words others[] = {{"run", "--interpret", file},
                          {"compare", file, file},
                          {"optimize", "--level", "2", file, "-o", out + ".onnx"},
                          {"optimize", "--time", "1s", file, "-o", out + ".onnx"},
                          {"compile", "--no-check", file, "-o", out + ".iso"},
                          {"bench", "--duration", "0.01", file}};
  std::vector<Words> commands(std::begin(first), std::end(first));
  for (size_t k = 0; k < std::size(others); ++k)
    if (is_turn(GetParam().name, k % 3, 3)) commands.push_back(others[k]);
  for (const Words& command : commands) {
    SCOPED_TRACE(testing::PrintToString(command));
    expect_within(run_isomer(command + common));
  }
  // What was compiled may be too large to run.
  if (fs::exists(out + ".iso")) {
    SCOPED_TRACE("run the artifact");
    expect_within(run_isomer(Words{"run", out + ".iso"} + common));
  }
}

INSTANTIATE_TEST_SUITE_P(Table, MemoryHungry, testing::ValuesIn(memory_cases()),
                         [](const auto& info) { return info.param.name; });

/// A model of symbolic dims is small until they are bound.
TEST(MemoryOfBoundDims, IsRefusedInOneSentence) {
  const ScratchFolder scratch;
  const std::string file = (scratch.path() / "model.onnx").string(), out = (scratch.path() / "out").string();
  write_file(file, from_notation("y = Relu(x: f32[n,m])"));
  for (const Words& bound : {Words{"--dim", "n=2147483647", "--dim", "m=2"}, {"--input-shapes", "x:[100000,100000]"}})
    for (const Words& command : {Words{"run", file},
                                 {"run", "--interpret", file},
                                 {"compare", file, file},
                                 {"optimize", file, "-o", out + ".onnx"},
                                 {"compile", file, "-o", out + ".iso"},
                                 {"bench", file}}) {
      SCOPED_TRACE(testing::PrintToString(command));
      const Outcome outcome = run_isomer(command + bound + Words{"-q", "--memory", "1GB"});
      EXPECT_EQ(wrong_with_refusal(outcome, file, "--memory SIZE allows more"), "");
      EXPECT_LE(outcome.peak_kb, peak_kb_of_1gb() / 4) << "refused before anything is made";
    }
}

/// Free dims take sizes at which the check fits.
TEST(MemoryOfFreeDims, IsThatOfSizesAtWhichTheCheckFits) {
  const ScratchFolder scratch;
  const std::string file = (scratch.path() / "model.onnx").string(), out = (scratch.path() / "out.onnx").string();
  write_file(file, from_notation("e = Expand(x: f32[n,1], s: i64[2]{1,12000000}); y = ReduceSum(e)"));
  const Outcome outcome = run_isomer({"optimize", file, "-o", out, "--memory", "1GB", "--level", "2"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_LE(outcome.peak_kb, peak_kb_of_1gb());
}

/// The check is part of what optimize promises: where it does not fit there is no model.
TEST(MemoryOfTheCheck, IsNamedWithTheFlagsThatHelp) {
  const ScratchFolder scratch;
  const std::string file = (scratch.path() / "model.onnx").string(), out = (scratch.path() / "out.onnx").string();
  write_file(file, from_notation("y = Relu(x: f32[2147483647,1])"));
  const Outcome refused = run_isomer({"optimize", file, "-o", out, "-q", "--memory", "1GB"});
  EXPECT_EQ(refused.exit_code, 3);
  EXPECT_NE(refused.err.find("--memory"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("--no-check"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(out));
  const Outcome unchecked = run_isomer({"optimize", file, "-o", out, "--no-check", "--memory", "1GB"});
  EXPECT_EQ(unchecked.exit_code, 0) << unchecked.err;
  EXPECT_NE(unchecked.err.find("left out search"), std::string::npos) << unchecked.err;
  EXPECT_LE(unchecked.peak_kb, peak_kb_of_1gb());
}

/// What a header promises, or a file that is mostly a hole.
TEST(MemoryOfInputFiles, IsThatOfTheFileWhateverItPromises) {
  const ScratchFolder scratch;
  const auto place = [&](const char* name) { return (scratch.path() / name).string(); };
  write_file(place("model.onnx"), from_notation("y = Relu(x: f32[n])"));
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000,), }\n";
  const std::string header = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(dict.size()) + '\0' + dict;
  write_file(place("x.npy"), header + "1234");
  // A sparse file: its size is no promise.
  write_file(place("long.npy"), header);
  fs::resize_file(place("long.npy"), header.size() + 16'000'000'000);
  write_file(place("long.pb"), "");
  fs::resize_file(place("long.pb"), 2'000'000'000);
  for (const char* name : {"x.npy", "long.npy", "long.pb"}) {
    SCOPED_TRACE(name);
    const Outcome outcome =
        run_isomer({"run", place("model.onnx"), "--load-inputs", "x:" + place(name), "-q", "--memory", "1GB"});
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_LE(outcome.peak_kb, peak_kb_of_1gb() / 4);
  }
}

TEST(MemoryOption, TakesSizes) {
  const ScratchFolder scratch;
  const std::string file = (scratch.path() / "model.onnx").string();
  write_file(file, from_notation("y = Relu(x: f32[2])"));
  for (const char* size : {"1GB", "512MB", "2GiB", "1.5G", "700000000"})
    EXPECT_EQ(run_isomer({"run", file, "--memory", size}).exit_code, 0) << size;
  for (const char* size : {"0", "1XB", "lots", "1e300GB", "nan"}) {
    const Outcome outcome = run_isomer({"run", file, "--memory", size});
    EXPECT_EQ(outcome.exit_code, 2) << size;
    EXPECT_NE(outcome.err.find("a size such as 2GB"), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace isomer::test
