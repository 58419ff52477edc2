#include "passes/case_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "support/files.h"

namespace isomer::test {
namespace {

std::string trimmed(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\n"), last = text.find_last_not_of(" \t\n");
  return first == std::string::npos ? "" : text.substr(first, last - first + 1);
}

void read_passes(PassCase& entry, const std::string& line) {
  std::istringstream items(line);
  for (std::string item; std::getline(items, item, ',');) {
    std::istringstream words(item);
    std::string word, value;
    words >> word;
    entry.passes.push_back(word);
    while (words >> word >> value) {
      if (word == "level")
        entry.options.level = std::stoi(value);
      else if (word == "fp")
        entry.options.fp = value == "strict" ? FloatMode::kStrict : FloatMode::kReassociate;
      else if (word == "keep" && value == "composites")
        entry.options.keep_composites = true;
      else if (word == "decode" && value == "weights")
        entry.options.decodes = true;
      else
        throw std::runtime_error(
            fmt::format("{}: level, fp, keep composites or decode weights expected, {} found", entry.file, word));
    }
  }
}

std::vector<PassCase> read_cases_of(const std::filesystem::path& path) {
  std::vector<PassCase> cases;
  std::string* section = nullptr;
  std::istringstream lines(read_file(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("=== ")) {
      cases.emplace_back();
      cases.back().file = path.filename().string();
      cases.back().name = trimmed(line.substr(4));
      section = nullptr;
    } else if (cases.empty()) {
      continue;
    } else if (line.starts_with("passes: ")) {
      read_passes(cases.back(), line.substr(8));
    } else if (line == "--- before") {
      section = &cases.back().before;
    } else if (line == "--- after") {
      section = &cases.back().after;
    } else if (line == "--- operators") {
      section = &cases.back().operators;
    } else if (line == "--- unchanged") {
      cases.back().unchanged = true;
      section = nullptr;
    } else if (section) {
      *section += line + "\n";
    }
  }
  for (PassCase& entry : cases) {
    entry.operators = trimmed(entry.operators);
    const int expectations = entry.unchanged + !entry.after.empty() + !entry.operators.empty();
    if (entry.before.empty() || entry.passes.empty() || expectations != 1)
      throw std::runtime_error(
          fmt::format("{}: {}: passes, a graph before and one expectation expected", entry.file, entry.name));
  }
  return cases;
}

}  // namespace

std::string operators_of(const Graph& graph) {
  std::map<std::string, int> counts;
  for (const NodeId id : graph.nodes()) ++counts[graph.node(id).op_type];
  std::string text;
  for (const auto& [op, count] : counts) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", op, count);
  return text;
}

void PrintTo(const PassCase& entry, std::ostream* out) { *out << entry.file << ": " << entry.name; }

std::vector<PassCase> read_cases(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<PassCase> cases;
  for (const auto& file : files)
    for (PassCase& entry : read_cases_of(file)) cases.push_back(std::move(entry));
  return cases;
}

}  // namespace isomer::test
