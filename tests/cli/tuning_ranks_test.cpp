// Under mpirun the first process tunes and the others measure for it; one that is killed ends the run in order or not
// at all, as mpirun has it, and what was found until then is in the records.
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "cli/command_line.h"

namespace isomer::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class TuningRanks : public CommandLine {
 protected:
  void SetUp() override {
    if (run_program({"mpirun", "--version"}).exit_code != 0) GTEST_SKIP() << "mpirun is not here";
    if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "two CPUs needed";
  }

  /// The first process, and another one; what the first one says is in LOG.
  Outcome two(const std::vector<std::string>& more_of_mpirun, const std::string& trials,
              const std::string& before_other = "true") const {
    const std::string tune = "exec '" + tool_path("isomer").string() + "' tune '" + layers_ + "' --records '" +
                             path("records") + "' --threads 1 --json --trials " + trials;
    std::vector<std::string> arguments = {"env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
                                          "mpirun", "--oversubscribe"};
    arguments.insert(arguments.end(), more_of_mpirun.begin(), more_of_mpirun.end());
    arguments.insert(arguments.end(), {"-n", "1", "sh", "-c", tune + " > '" + path("log") + "'"});
    arguments.insert(arguments.end(), {":", "-n", "1", "sh", "-c", before_other + "\n" + tune});
    return run_program(arguments);
  }
  /// Kills the other process when the first one has told of so many rounds.
  std::string killed_after(int rounds) const {
    return "( while [ \"$(cat '" + path("log") + "' 2>/dev/null | wc -l)\" -lt " + std::to_string(rounds) +
           " ]; do sleep 0.1; done; kill -9 $$ ) &";
  }

  /// All that the first process told, an object a round; nothing of one that it was ended in.
  std::vector<json> told() const {
    std::vector<json> rounds;
    std::istringstream lines(read_file(path("log")));
    for (std::string line; std::getline(lines, line);)
      if (json round = json::parse(line, nullptr, false); !round.is_discarded()) rounds.push_back(std::move(round));
    return rounds;
  }

  Outcome go_on() const {
    return isomer(
        {"tune", layers_, "--records", path("records"), "--threads", "1", "--trials", "8", "--continue", "--json"});
  }

  const std::string layers_ = model(R"(opset 17
graph layers(x: float32[64,128]) -> (y: float32[64,128]) {
  v: float32[128,128] = random 1
  a = MatMul(x, v)
  b = Relu(a)
  y = Softmax(b)
}
)",
                                    "layers.onnx");
};

TEST_F(TuningRanks, OthersMeasure) {
  const Outcome outcome = two({}, "48");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.err, HasSubstr("1 of 1 other processes measure"));
  EXPECT_EQ(outcome.out, "") << "the first one alone tells";
  ASSERT_FALSE(told().empty());
  EXPECT_EQ(told().back()["trials"], 48);
  EXPECT_EQ(go_on().exit_code, 0);
}

TEST_F(TuningRanks, WhereOneIsKilledTheRunEndsWithWhatIsRecorded) {
  const Outcome outcome = two({}, "1000000", killed_after(3));
  EXPECT_FALSE(outcome.timed_out);
  EXPECT_NE(outcome.exit_code, 0) << "mpirun ends what is left";
  ASSERT_GE(told().size(), 3U);
  EXPECT_LT(told().back()["trials"], 1'000'000);
  const json last = told().back();
  for (const json& task : last["tasks"])
    EXPECT_FALSE(task["failed"].contains("crash")) << "what is ended with the run is no candidate's fault: " << task;
  const Outcome records = isomer({"records", "list", "--records", path("records")});
  EXPECT_EQ(records.exit_code, 0) << records.err;
  EXPECT_THAT(records.out, HasSubstr("MatMul"));
  EXPECT_EQ(go_on().exit_code, 0);
}

TEST_F(TuningRanks, WhereMpirunLetsItTheFirstGoesOnAlone) {
  const Outcome outcome = two({"--enable-recovery"}, "100", killed_after(3));
  EXPECT_FALSE(outcome.timed_out);
  ASSERT_FALSE(told().empty()) << outcome.err;
  EXPECT_EQ(told().back()["trials"], 100) << outcome.err;
  EXPECT_EQ(go_on().exit_code, 0);
}

}  // namespace
}  // namespace isomer::test
