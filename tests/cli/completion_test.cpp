// isomer completion: what bash offers.
#include <iterator>
#include <sstream>

#include "cli/command_line.h"
#include "support/files.h"

namespace isomer::test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class Completion : public CommandLine {
 protected:
  void SetUp() override {
    if (run_program({"sh", "-c", "bash -c true"}, {}).exit_code != 0) GTEST_SKIP() << "there is no bash";
    const Outcome script = isomer({"completion", "bash"});
    ASSERT_EQ(script.exit_code, 0) << script.err;
    write_file(path("script"), script.out);
  }
  /// What is offered for the last of these words.
  std::vector<std::string> offered(const std::string& line) const {
    const Outcome outcome = run_program({"bash", "-c",
                                         "source " + path("script") + "; COMP_WORDS=(" + line +
                                             "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _isomer; echo ${COMPREPLY[@]}"},
                                        {});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    std::istringstream words(outcome.out);
    return {std::istream_iterator<std::string>(words), {}};
  }
};

TEST_F(Completion, OffersCommandsFlagsAndTheirValues) {
  EXPECT_EQ(offered("isomer opt"), std::vector<std::string>{"optimize"});
  EXPECT_THAT(offered("isomer library re"), testing::UnorderedElementsAre("replay", "refute"));
  EXPECT_THAT(offered("isomer optimize model.onnx --pro"), testing::ElementsAre("--proof"));
  EXPECT_THAT(offered("isomer library show --js"), testing::ElementsAre("--json"));
  EXPECT_THAT(offered("isomer optimize --strategy ''"), testing::UnorderedElementsAre("beam", "best-first", "e-graph"));
  EXPECT_THAT(offered("isomer run --"), Not(Contains("--proof")));
  EXPECT_THAT(offered("isomer optimize --fp = st"), testing::ElementsAre("strict")) << "as bash cuts --fp=st";
  EXPECT_THAT(offered("isomer completion ''"), testing::UnorderedElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(offered("isomer library ''"), Contains("replay"));
}

/// bash offers them where nothing else is.
TEST_F(Completion, LeavesRoomForFiles) {
  EXPECT_THAT(offered("isomer run ''"), testing::IsEmpty());
  EXPECT_THAT(offered("isomer run mod"), testing::IsEmpty());
  EXPECT_THAT(offered("isomer optimize model.onnx -o ''"), testing::IsEmpty());
  EXPECT_THAT(read_file(path("script")), HasSubstr("complete -o default "));
}

TEST_F(Completion, KnowsOtherShells) {
  const std::string fish = isomer({"completion", "fish"}).out;
  EXPECT_THAT(fish, HasSubstr("complete -c isomer -n '__fish_use_subcommand' -f -a 'optimize' -d "));
  EXPECT_THAT(fish, HasSubstr("'__fish_seen_subcommand_from library; and __fish_seen_subcommand_from show' -l json"));
  EXPECT_THAT(isomer({"completion", "zsh"}).out, HasSubstr("bashcompinit"));
  expect_error(isomer({"completion", "tcsh"}), 2, "SHELL");
}

}  // namespace
}  // namespace isomer::test
