// Every hostile file through the command line: its sentence and exit code 3, or acceptance, in bounded time and memory;
// what is accepted then goes through `run` and `optimize`, which may refuse but not crash.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iterator>
#include <map>
#include <ostream>
#include <vector>

#include "hostile/case.h"
#include "hostile/command.h"
#include "hostile/stored.h"
#include "support/files.h"
#include "util/sanitized.h"

namespace isomer::test {
namespace {

namespace fs = std::filesystem;

/// A case laid out on disk: a stored file where it stands, any other one in a folder of its own.
class HostileFile : public testing::TestWithParam<HostileCase> {
 protected:
  void SetUp() override {
    const std::string name = GetParam().name + ".onnx";
    path_ = source_path("tests/hostile/files") / name;
    if (!GetParam().surround && fs::exists(path_)) return;
    path_ = scratch_.path() / "model" / "model.onnx";
    fs::create_directory(path_.parent_path());
    write_file(path_, GetParam().bytes());
    if (GetParam().surround) GetParam().surround(path_.parent_path());
  }

  const std::string& sentence() const { return GetParam().sentence; }
  std::string file() const { return path_.string(); }

  ScratchFolder scratch_;
  fs::path path_;
};

TEST_P(HostileFile, GetsItsSentenceOrIsAccepted) {
  const Outcome outcome = run_isomer({"inspect", file()});
  if (sentence().empty()) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_EQ(outcome.err, "");
    EXPECT_TRUE(is_clean_text(outcome.out)) << outcome.out;
  } else {
    EXPECT_EQ(wrong_with_refusal(outcome, file(), sentence()), "");
  }
  EXPECT_LE(outcome.cpu_seconds, allowed_seconds());
  EXPECT_LE(outcome.peak_kb, allowed_peak_kb());
}

/// 1: a check failed, 3: it can't be run. Standard error may tell more than one thing, but nothing raw. Sanitizers take
/// minutes for the loops that run until the interpreter's limit: there the time limit may end them.
void expect_no_crash(const Outcome& outcome) {
  if (kSanitized && outcome.timed_out) return;
  EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 1 || outcome.exit_code == 3)
      << outcome.exit_code << ": " << outcome.err;
  EXPECT_TRUE(is_clean_text(outcome.err)) << outcome.err;
  EXPECT_EQ(outcome.err.find("internal error"), std::string::npos) << outcome.err;
}

class AcceptedFile : public HostileFile {};

std::vector<HostileCase> accepted_cases() {
  std::vector<HostileCase> cases = hostile_cases();
  std::erase_if(cases, [](const HostileCase& hostile) { return !hostile.sentence.empty(); });
  return cases;
}

TEST_P(AcceptedFile, IsPrintedRunAndOptimizedWithoutCrash) {
  const std::vector<std::string> forms = {"--text", "--dot", "--capability", "--json"};
  for (size_t k = 0; k < forms.size(); ++k) {
    if (!is_turn(GetParam().name, k, forms.size())) continue;
    const std::string& form = forms[k];
    SCOPED_TRACE(form);
    const Outcome outcome = run_isomer({"inspect", form, file()});
    expect_no_crash(outcome);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    EXPECT_TRUE(is_clean_text(outcome.out)) << outcome.out.substr(0, 1000);
  }
  // The check of `optimize` runs it too.
  if (is_turn(GetParam().name, 0, 4)) {
    SCOPED_TRACE("run");
    const Outcome outcome = run_isomer({"run", "--interpret", "--quiet", "--memory", "1GB", file()});
    expect_no_crash(outcome);
    EXPECT_LE(outcome.peak_kb, peak_kb_of_1gb());
  }
  SCOPED_TRACE("optimize");
  const fs::path optimized = scratch_.path() / "optimized.onnx";
  std::vector<std::string> command = {"optimize", "--quiet", "--memory", "1GB", file(), "-o", optimized.string()};
  // What a search is given has been read and simplified by then.
  if (!is_turn(GetParam().name, 1, 4)) command.insert(command.end(), {"--level", "2"});
  const Outcome outcome = run_isomer(command);
  expect_no_crash(outcome);
  EXPECT_LE(outcome.peak_kb, peak_kb_of_1gb());
  EXPECT_EQ(fs::exists(optimized), outcome.exit_code == 0) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(Table, HostileFile, testing::ValuesIn(hostile_cases()),
                         [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(Table, AcceptedFile, testing::ValuesIn(accepted_cases()),
                         [](const auto& info) { return info.param.name; });

TEST(HostileFiles, StandInTheTreeAsTheTablesSay) {
  const ScratchFolder fresh;
  write_hostile_files(fresh.path());
  const fs::path tree = source_path("tests/hostile");
  EXPECT_EQ(read_file(fresh.path() / "expectations.txt"), read_file(tree / "expectations.txt"));
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(fresh.path() / "files")) {
    const fs::path name = entry.path().filename();
    ASSERT_TRUE(fs::exists(tree / "files" / name)) << name << " is missing: run generate";
    EXPECT_EQ(read_file(entry.path()), read_file(tree / "files" / name)) << name << " is out of date: run generate";
    ++count;
  }
  EXPECT_EQ(count,
            static_cast<size_t>(std::distance(fs::directory_iterator(tree / "files"), fs::directory_iterator())));
}

TEST(HostileFiles, HaveNamesOfTheirOwnInEveryClass) {
  std::map<std::string, int> seen, by_class;
  for (const HostileCase& hostile : hostile_cases()) {
    EXPECT_EQ(++seen[hostile.name], 1) << hostile.name;
    ++by_class[hostile.name.substr(0, hostile.name.find('_'))];
  }
  EXPECT_EQ(by_class.size(), 10u);
  for (const auto& [name, count] : by_class) {
    RecordProperty(name, count);
    EXPECT_GE(count, 20) << name;
  }
}

}  // namespace

/// What gtest prints of a parameter.
void PrintTo(const HostileCase& hostile, std::ostream* out) { *out << expectation_line(hostile); }

}  // namespace isomer::test
