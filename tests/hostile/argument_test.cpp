// FILE itself is hostile: no regular file, or one whose name is.
#include <sys/stat.h>

#include <gtest/gtest.h>

#include <algorithm>

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
      {"/dev/stdin", "a regular file expected"},
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
    EXPECT_LE(outcome.seconds, 10);
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
  for (const char* name : {"a\nb", "\x1b[31m", "%s%n{}", "\xff\xfe", "\xc2\x9b" "31m", "$(touch pwned)"}) {
    const fs::path file = scratch.path() / name;
    write_file(file, "no model");
    const Outcome outcome = run_isomer({"inspect", file.string()});
    EXPECT_EQ(outcome.exit_code, 3);
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_TRUE(is_clean_text(outcome.err)) << outcome.err;
    EXPECT_NE(outcome.err.find("no protocol buffer"), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace isomer::test
