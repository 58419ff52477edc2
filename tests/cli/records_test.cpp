// isomer records, and the file that commands keep measured times in.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/command_line.h"

namespace isomer::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string line(const std::string& task, const std::string& time, const std::string& trace = "vectorize(k1)") {
  return R"({"task":")" + task +
         R"(","target":"cpu x1","generator":"1","maker":"default","name":"Conv","types":"","microseconds":)" + time +
         R"(,"failure":"","runs":7,"time":1,"trace":")" + trace + "\"}\n";
}
const std::string kTask = "00000000000000010000000000000002";

class RecordsCommand : public CommandLine {
 protected:
  std::string file(const std::string& name, const std::string& content) const {
    write_file(path(name), content);
    return path(name);
  }
  Outcome records(const std::string& command, std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {"records", command, "--records", path("r.sqlite")});
    return isomer(more);
  }
};

TEST_F(RecordsCommand, WhatIsExportedIsImportedAndExportedTheSame) {
  ASSERT_EQ(records("import", {file("a.jsonl", line(kTask, "2.5") + line(kTask, "1.5", "unroll(k2)") +
                                                   line(kTask, "null", "fuse(k0)"))})
                .exit_code,
            0);
  const Outcome exported = records("export");
  EXPECT_EQ(std::count(exported.out.begin(), exported.out.end(), '\n'), 3);
  EXPECT_EQ(isomer({"records", "import", "--records", path("s.sqlite"), file("b.jsonl", exported.out)}).exit_code, 0);
  EXPECT_EQ(isomer({"records", "export", "--records", path("s.sqlite"), "-o", path("c.jsonl")}).exit_code, 0);
  EXPECT_EQ(read_file(path("c.jsonl")), exported.out);
}

TEST_F(RecordsCommand, JsonIsOneObject) {
  const std::string lines = file("a.jsonl", line(kTask, "2.5") + line(kTask, "1.5", "unroll(k2)"));
  EXPECT_EQ(json::parse(records("import", {lines, "--json"}).out)["imported"], 2);
  EXPECT_EQ(json::parse(records("export", {"--json"}).out)["records"].size(), 2);
  EXPECT_EQ(json::parse(records("export", {"--json", "-o", path("b.jsonl")}).out)["exported"], 2);
  EXPECT_EQ(records("import", {path("b.jsonl")}).out, "2 records read\n");
  EXPECT_EQ(records("prune").out, "2 records removed\n");
  expect_error(records("export", {"-o", path("r.sqlite")}), 2, "another file than that of --records expected");
}

TEST_F(RecordsCommand, ListsAndKeepsTheBest) {
  ASSERT_EQ(records("import", {file("a.jsonl", line(kTask, "2.5") + line(kTask, "1.5", "unroll(k2)"))}).exit_code, 0);
  EXPECT_EQ(json::parse(records("list", {"--json"}).out)["records"].size(), 2);
  EXPECT_EQ(json::parse(records("list", {"--json", "--task", std::string(32, '0')}).out)["records"].size(), 0);
  EXPECT_THAT(records("best").out, HasSubstr("1.5 us  Conv"));
  EXPECT_THAT(records("best", {"--task", kTask}).out, HasSubstr("1.5 us  Conv"));
  EXPECT_THAT(records("best", {"--task", kTask}).out, HasSubstr("\n    unroll(k2)\n"));
  const json best = json::parse(records("best", {"--json"}).out)["records"];
  ASSERT_EQ(best.size(), 1);
  EXPECT_EQ(best[0]["trace"], "unroll(k2)");
  // The code generator's version is another one: nothing of these is of use any more.
  EXPECT_EQ(json::parse(records("prune", {"--json"}).out)["removed"], 2);
  EXPECT_EQ(records("list").out, "");
}

TEST_F(RecordsCommand, WrongLinesAreNamedAndNothingIsTaken) {
  for (const auto& [content, what] : {std::pair<std::string, std::string>{"nothing\n", "line 1: a JSON object"},
                                      {line(kTask, "1") + "{}\n", "line 2: a text 'task'"},
                                      {line("1", "1"), "32 hexadecimal digits"},
                                      {line(kTask, "-1"), "above 0"},
                                      {line(kTask, "1e-320"), "above 0"},
                                      {line(kTask, "1e300"), "above 0"},
                                      {line(kTask, "1e999"), "line 1"},
                                      {line(kTask, "\"1\""), "'microseconds'"}}) {
    SCOPED_TRACE(content);
    expect_error(records("import", {file("a.jsonl", content)}), 3, what);
    EXPECT_FALSE(std::filesystem::exists(path("r.sqlite")));
  }
  expect_error(records("list", {"--task", "1"}), 2, "--task");
  expect_error(isomer({"records", "list", "--records", file("text", std::string(3000, 'x'))}), 3,
               "a database of records expected");
}

/// A name that was mistyped is no store of nothing: least of all where it would replace what was exported before.
TEST_F(RecordsCommand, WhatIsReadIsThere) {
  const std::string good = file("good.jsonl", line(kTask, "2.5"));
  for (const char* command : {"list", "best", "prune", "export"})
    expect_error(records(command), 3, "isomer: " + path("r.sqlite") + ": a file of records expected, found: none");
  expect_error(records("export", {"-o", good}), 3, "a file of records expected");
  EXPECT_FALSE(std::filesystem::exists(path("r.sqlite")));
  // The user's own one, which nobody names, may be broken, too.
  std::filesystem::create_directories(path("cache/isomer"));
  file("cache/isomer/records.sqlite", std::string(3000, 'x'));
  expect_error(run_program({"env", "XDG_CACHE_HOME=" + path("cache"), tool_path("isomer").string(), "records", "export",
                            "-o", good}),
               3, "nothing is exported");
  EXPECT_EQ(read_file(good), line(kTask, "2.5"));
}

/// Where records can be in memory alone, nothing would be left of them.
TEST_F(RecordsCommand, WhatCantBeKeptIsNotImported) {
  const std::string lines = file("a.jsonl", line(kTask, "2.5")), binary = tool_path("isomer").string();
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"env", "XDG_CACHE_HOME=/proc"},
        std::vector<std::string>{"env", "-u", "XDG_CACHE_HOME", "-u", "HOME"}})
    for (const std::vector<std::string>& work :
         {std::vector<std::string>{"import", lines, "-q"}, std::vector<std::string>{"prune", "-q"}}) {
      std::vector<std::string> all = command;
      all.insert(all.end(), {binary, "records"});
      all.insert(all.end(), work.begin(), work.end());
      expect_error(run_program(all), 3, "nothing is kept");
    }
}

TEST_F(RecordsCommand, OfSeveralFilesAllAreTakenOrNone) {
  const std::string right = file("a.jsonl", line(kTask, "2.5")), wrong = file("b.jsonl", "nothing\n");
  expect_error(records("import", {right, wrong}), 3, "line 1");
  EXPECT_FALSE(std::filesystem::exists(path("r.sqlite")));
  EXPECT_EQ(records("import", {right, file("c.jsonl", line(kTask, "1.5", "unroll(k2)"))}).out, "2 records read\n");
}

}  // namespace
}  // namespace isomer::test
