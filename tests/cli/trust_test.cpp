// What isomer-verify is made of (docs/trust.md): the sources that it reaches, the symbols that it holds, how much of it
// is to be believed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/files.h"
#include "support/process.h"

namespace isomer::test {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLines = 6000;

/// "src/verify/proof/ledger.cpp" …, of the folder itself.
std::vector<std::string> sources_in(const std::string& folder) {
  std::vector<std::string> result;
  for (const auto& entry : fs::directory_iterator(source_path(folder)))
    if (entry.path().extension() == ".h" || entry.path().extension() == ".cpp")
      result.push_back(folder + "/" + entry.path().filename().string());
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<std::string> believed() {
  std::vector<std::string> result = sources_in("src/verify/proof");
  for (std::string& file : sources_in("src/substitutions/proof")) result.push_back(std::move(file));
  return result;
}

struct Included {
  std::vector<std::string> ours;    ///< "graph/graph.h"
  std::vector<std::string> others;  ///< "fmt/format.h"
};

Included included_by(const std::string& file) {
  static const std::regex kInclude("\\s*#include ([\"<])([^\">]+)[\">].*");
  Included result;
  std::istringstream lines(read_file(source_path(file)));
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (std::regex_match(line, match, kInclude)) (match[1] == "\"" ? result.ours : result.others).push_back(match[2]);
  return result;
}

/// The sources that a program is made of, and for each one that asks for it: those that the files include, and those
/// that define what an included header declares.
std::map<std::string, std::string> reached_from(std::initializer_list<std::string> files) {
  std::map<std::string, std::string> reached;
  std::vector<std::pair<std::string, std::string>> open;
  for (const std::string& file : files) open.emplace_back(file, "");
  while (!open.empty()) {
    const auto [next, by] = open.back();
    open.pop_back();
    if (!fs::exists(source_path(next)) || !reached.emplace(next, by).second) continue;
    for (const std::string& header : included_by(next).ours) open.emplace_back("src/" + header, next);
    if (next.ends_with(".h")) open.emplace_back(next.substr(0, next.size() - 1) + "cpp", next);
  }
  return reached;
}

bool is_in(const std::string& file, std::initializer_list<std::string_view> folders) {
  return std::any_of(folders.begin(), folders.end(), [&](std::string_view folder) { return file.starts_with(folder); });
}

/// Functions that are defined there, those that several libraries may hold (templates, inline ones) not among them.
std::set<std::string> functions_of(const std::string& file) {
  const Outcome listed = run_program({"nm", "--defined-only", file});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  std::set<std::string> result;
  std::istringstream lines(listed.out);
  for (std::string line; std::getline(lines, line);)
    if (const size_t at = line.find(" T "); at != std::string::npos) result.insert(line.substr(at + 3));
  return result;
}

TEST(Trust, TheProgramReachesNothingThatFindsProofs) {
  const auto reached = reached_from({"src/cli/verify_main.cpp", "src/cli/verify.cpp"});
  EXPECT_TRUE(reached.contains("src/verify/proof/ledger.cpp"));
  EXPECT_TRUE(reached.contains("src/graph/onnx/import.cpp"));
  for (const auto& [file, by] : reached) {
    EXPECT_TRUE(is_in(file, {"src/cli/", "src/util/", "src/graph/", "src/verify/proof/", "src/verify/check/",
                             "src/substitutions/proof/"}) &&
                !file.starts_with("src/graph/passes/"))
        << file << ", for " << by;
    for (const std::string& other : included_by(file).others)
      EXPECT_FALSE(is_in(other, {"llvm", "z3", "sqlite", "dlfcn"}) && !file.starts_with("src/util/"))
          << file << " includes " << other;
  }
}

TEST(Trust, TheCheckerIncludesOnlyWhatItStandsOn) {
  std::vector<std::string> all = believed();
  for (const char* beside : {"src/verify/proof/guess", "src/verify/proof/refute", "src/substitutions/proof/read"})
    for (std::string& file : sources_in(beside)) all.push_back(std::move(file));
  for (const std::string& file : all)
    for (const std::string& header : included_by(file).ours) {
      SCOPED_TRACE(file + " includes " + header);
      EXPECT_FALSE(header.starts_with("graph/passes/"));
      EXPECT_TRUE(is_in(header, {"util/", "graph/", "verify/proof/"}) ||
                  (file.starts_with("src/substitutions/") && is_in(header, {"substitutions/proof/", "verify/check/"})));
      // One place asks each of what need not be believed.
      const auto only_by = [&](std::string_view what, std::initializer_list<std::string_view> by) {
        return !header.starts_with(what) || is_in(file, by);
      };
      EXPECT_TRUE(only_by("verify/proof/guess/", {"src/verify/proof/guess/", "src/verify/proof/element_cases.",
                                                  "src/verify/proof/equal_elements.", "src/verify/proof/spell_out."}));
      EXPECT_TRUE(only_by("verify/proof/refute/", {"src/verify/proof/refute/", "src/verify/proof/replay.cpp"}));
      EXPECT_TRUE(only_by("substitutions/proof/read/",
                          {"src/substitutions/proof/read/", "src/substitutions/proof/verify_files.cpp"}));
      EXPECT_TRUE(only_by("verify/check/", {"src/substitutions/proof/verify_files."}));
    }
}

TEST(Trust, WhatIsToBeBelievedCanBeReadInADay) {
  int64_t lines = 0;
  for (const std::string& file : believed()) {
    const std::string text = read_file(source_path(file));
    lines += std::count(text.begin(), text.end(), '\n');
  }
  EXPECT_GT(lines, 1000);
  EXPECT_LE(lines, kMostLines);
}

TEST(Trust, ThePageNamesEveryFile) {
  const std::string page = read_file(source_path("docs/trust.md"));
  for (const std::string& file : believed())
    EXPECT_THAT(page, testing::HasSubstr("`" + fs::path(file).stem().string() + "`")) << file;
}

TEST(Trust, TheProgramHoldsNothingOfOtherLibraries) {
  const std::set<std::string> held = functions_of(tool_path("isomer-verify").string());
  EXPECT_GT(held.size(), 1000U);
  std::istringstream libraries(ISOMER_UNTRUSTED);
  int others = 0;
  for (std::string library; std::getline(libraries, library, ':');) {
    const std::set<std::string> functions = functions_of(library);
    EXPECT_FALSE(functions.empty()) << library;
    for (const std::string& function : functions) EXPECT_FALSE(held.contains(function)) << library << ": " << function;
    ++others;
  }
  EXPECT_EQ(others, 16);
}

TEST(Trust, TheProgramLoadsFewLibraries) {
  const Outcome listed = run_program({"readelf", "-d", tool_path("isomer-verify").string()});
  ASSERT_EQ(listed.exit_code, 0) << listed.err;
  static const std::regex kNeeded("NEEDED.*\\[(lib|ld-linux)([A-Za-z_+-]*)[^\\]]*\\]");
  const std::set<std::string> known = {"fmt", "protobuf", "stdc++", "m", "gcc_s", "c", "pthread", "dl", "rt", "resolv"};
  std::istringstream lines(listed.out);
  std::smatch match;
  int needed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_search(line, match, kNeeded)) continue;
    EXPECT_TRUE(match[1] == "ld-linux" || known.contains(match[2])) << line;
    ++needed;
  }
  EXPECT_GE(needed, 3);
}

}  // namespace
}  // namespace isomer::test
