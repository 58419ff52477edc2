#include "suite/expectations.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace isomer::suite {
namespace {

Verdict parse_verdict(std::string_view text, const std::string& line) {
  for (const Verdict verdict : {Verdict::kWrong, Verdict::kUnsupported, Verdict::kError})
    if (name(verdict) == text) return verdict;
  throw std::runtime_error("a line 'case verdict: reason' expected, '" + line + "' found");
}

}  // namespace

Expectations read_expectations(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  Expectations expectations;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.find(' '), colon = line.find(": ", space);
    if (space == std::string::npos || colon == std::string::npos) parse_verdict("", line);
    const Verdict verdict = parse_verdict(std::string_view(line).substr(space + 1, colon - space - 1), line);
    expectations[line.substr(0, space)] = {verdict, line.substr(colon + 2)};
  }
  return expectations;
}

void write_expectations(const std::filesystem::path& file, const std::vector<Case>& cases,
                        const std::vector<Outcome>& outcomes) {
  std::ofstream stream(file);
  stream << "# Cases of libonnx-testdata that don't pass, and why. The list may only shrink.\n";
  for (size_t i = 0; i < cases.size(); ++i) {
    if (outcomes[i].verdict == Verdict::kPass) continue;
    std::string reason = outcomes[i].detail;
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    stream << fmt::format("{} {}: {}\n", cases[i].name, name(outcomes[i].verdict), reason);
  }
}

std::vector<std::string> surprises(const std::vector<Case>& cases, const std::vector<Outcome>& outcomes,
                                   const Expectations& expectations) {
  std::vector<std::string> sentences;
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto listed = expectations.find(cases[i].name);
    const Verdict expected = listed == expectations.end() ? Verdict::kPass : listed->second.verdict;
    if (outcomes[i].verdict != expected)
      sentences.push_back(fmt::format("{}: {} expected, {} found ({})", cases[i].name, name(expected),
                                      name(outcomes[i].verdict), outcomes[i].detail));
  }
  return sentences;
}

}  // namespace isomer::suite
