#include "suite/summary.h"

#include <fmt/format.h>

#include <numeric>

namespace isomer::suite {
namespace {

std::string line(std::string_view name, const Counts& counts) {
  return fmt::format("{:<32}{:>7}{:>7}{:>13}{:>7}{:>7}\n", name, counts[Verdict::kPass], counts[Verdict::kWrong],
                     counts[Verdict::kUnsupported], counts[Verdict::kError], counts.total());
}

}  // namespace

int Counts::total() const { return std::accumulate(by_verdict.begin(), by_verdict.end(), 0); }

Summary summarize(const std::vector<Outcome>& outcomes) {
  Summary summary;
  for (const Outcome& outcome : outcomes) {
    ++summary.by_operator[outcome.operator_type][outcome.verdict];
    ++summary.all[outcome.verdict];
  }
  return summary;
}

std::string table(const Summary& summary) {
  std::string text =
      fmt::format("{:<32}{:>7}{:>7}{:>13}{:>7}{:>7}\n", "operator", "pass", "wrong", "unsupported", "error", "cases");
  for (const auto& [name, counts] : summary.by_operator) text += line(name, counts);
  return text + line("all", summary.all);
}

}  // namespace isomer::suite
