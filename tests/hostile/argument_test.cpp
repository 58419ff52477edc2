// FILE itself is hostile: no regular file, or one whose name is.
#include <sys/stat.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>

#include "hostile/case.h"
#include "hostile/command.h"
#include "support/files.h"

namespace isomer::test {
namespace {

namespace fs = std::filesystem;

struct Argument {
  std::string file;
  std::string sentence;
};

TEST(HostileArgument, ThatIsNoRegularFileGetsASentence) {
  const ScratchFolder scratch;
  const fs::path pipe = scratch.path() / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  fs::create_symlink("loop", scratch.path() / "loop");
  const Argument arguments[] = {
      {"/dev/zero", "a regular file expected, a device found"},
      {"/dev/stdin", "expected"},
      {"/proc/self/mem", "expected"},
      {pipe.string(), "a regular file expected, a pipe found"},
      {scratch.path().string(), "a regular file expected, a folder found"},
      {(scratch.path() / "missing").string(), "a readable file expected"},
      {(scratch.path() / "loop").string(), "symbolic link"},
      {"/proc/self/environ", "expected"},
  };
  for (const auto& [file, sentence] : arguments) {
    const Outcome outcome = run_isomer({"inspect", file});
    EXPECT_EQ(wrong_with_refusal(outcome, file, sentence), "");
    EXPECT_LE(outcome.cpu_seconds, allowed_seconds());
  }
}

TEST(HostileArgument, WithALinkToTheModelIsFollowed) {
  const ScratchFolder scratch;
  write_file(scratch.path() / "model.onnx", from_notation("y = Relu(x: f32[2])"));
  fs::create_symlink("model.onnx", scratch.path() / "link.onnx");
  EXPECT_EQ(run_isomer({"inspect", (scratch.path() / "link.onnx").string()}).exit_code, 0);
}

TEST(HostileArgument, IsEscapedWhereItIsNamed) {
  const ScratchFolder scratch;
  for (const char* name : {"a\nb", "\x1b[31m", "%s%n{}", "\xff\xfe",
                           "\xc2\x9b"
                           "31m",
                           "$(touch pwned)"}) {
    const fs::path file = scratch.path() / name;
    write_file(file, "no model");
    const Outcome outcome = run_isomer({"inspect", file.string()});
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_TRUE(is_clean_text(outcome.err)) << outcome.err;
    EXPECT_NE(outcome.err.find("no protocol buffer"), std::string::npos) << outcome.err;
  }
}

/// Every command that reads a model, with `file` in each place where it may stand.
std::vector<std::vector<std::string>> commands_on(const std::string& file, const std::string& model,
                                                  const std::string& output) {
  return {{"inspect", file},
          {"run", "--interpret", file},
          {"optimize", file, "-o", output},
          {"compare", file, model},
          {"compare", model, file}};
}

TEST(HostileArgument, GetsItsSentenceFromEveryCommand) {
  const ScratchFolder scratch;
  const auto place = [&](const char* name) { return (scratch.path() / name).string(); };
  const std::string model = place("model.onnx"), output = place("output.onnx");
  write_file(model, from_notation("y = Relu(x: f32[2])"));
  write_file(place("empty"), "");
  write_file(place("text"), "no model");
  const Argument arguments[] = {{place("missing"), "a readable file expected"},
                                {scratch.path().string(), "a folder found"},
                                {place("empty"), "an empty file found"},
                                {place("text"), "no protocol buffer"}};
  for (const auto& [file, sentence] : arguments)
    for (const auto& command : commands_on(file, model, output)) {
      SCOPED_TRACE(command[0]);
      EXPECT_EQ(wrong_with_refusal(run_isomer(command), file, sentence), "");
      EXPECT_FALSE(fs::exists(output));
    }
}

TEST(HostileArgument, ThatCannotBeWrittenToChangesNothing) {
  const ScratchFolder scratch;
  const auto place = [&](const char* name) { return (scratch.path() / name).string(); };
  const std::string model = place("model.onnx"), bytes = from_notation("y = Relu(x: f32[2])");
  write_file(model, bytes);
  fs::create_directory(place("folder"));
  ASSERT_EQ(mkfifo(place("pipe").c_str(), 0600), 0);
  const std::string places[] = {place("missing/output.onnx"),    place("folder"), place("folder/"),
                                place("model.onnx/output.onnx"), place("pipe"),   place(".")};
  for (const std::string& output : places) {
    EXPECT_EQ(wrong_with_refusal(run_isomer({"optimize", model, "-o", output}), output, "expected"), "");
    EXPECT_EQ(run_isomer({"optimize", model, "-o", place("output.onnx"), "--report", output}).exit_code, 3);
    EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator()), 3);
    EXPECT_TRUE(fs::is_empty(place("folder")));
    EXPECT_EQ(read_file(model), bytes);
  }
}

TEST(HostileArgument, MayBeBothInputAndOutput) {
  const ScratchFolder scratch;
  const std::string model = (scratch.path() / "model.onnx").string();
  write_file(model, from_notation("z = Identity(x: f32[2]); y = Relu(z)"));
  EXPECT_EQ(run_isomer({"optimize", model, "-o", model}).exit_code, 0);
  EXPECT_EQ(run_isomer({"inspect", model}).exit_code, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(scratch.path()), fs::directory_iterator()), 1);
}

/// What can't be said in the model's opset is the model's fault, checked or not.
TEST(HostileArgument, IsNamedWhereItCannotBeWritten) {
  const ScratchFolder scratch;
  const std::string model = (scratch.path() / "model.onnx").string(), out = (scratch.path() / "out.onnx").string();
  write_file(model, from_notation("@5 y = Tile(x: f32[2,3], t: f32[1]{2}, a: f32[1]{0})"));
  for (const char* flag : {"--quiet", "--no-check"}) {
    const Outcome outcome = run_isomer({"optimize", model, "-o", out, "--level", "0", flag});
    EXPECT_EQ(wrong_with_refusal(outcome, model, "(Tile): opset 6 or newer expected"), "") << flag;
  }
}

}  // namespace
}  // namespace isomer::test
