#include "cli/show_rule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/options.h"
#include "search/cost/work.h"
#include "substitutions/mutate/cover.h"
#include "substitutions/proof/read/rule_text.h"
#include "verify/proof/term_graph.h"

namespace isomer::cli {
namespace {

using namespace substitutions;
using nlohmann::json;

constexpr size_t kMostBoxes = 8;  ///< that are told of a program

/// On floats, at the example's sizes; nothing where that is not known.
std::optional<double> operations(const verify::Term& term, const Rule& rule) {
  const auto graph = verify::graph_of({term}, rule.example.types);
  if (!graph.ok()) return std::nullopt;
  double sum = 0;
  for (const NodeId id : graph->nodes()) {
    const auto work = search::work_of(*graph, id);
    if (!work) return std::nullopt;
    sum += work->operations;
  }
  return sum;
}

std::string law_title(const verify::LawUse& use, std::span<const verify::StatedAxiom> axioms) {
  if (use.law == verify::kByElements) return "these have the same elements";
  const verify::StatedAxiom& axiom = axioms[static_cast<size_t>(use.law)];
  return fmt::format("{} ({}): {}", law_name(use.law, axioms), axiom.axiom->shapes, axiom.law.text());
}

std::string sizes_text(const Rule& rule) {
  std::vector<std::string> texts;
  for (const auto& [name, type] : rule.example.types) texts.push_back(fmt::format("{}:{}", name, type.text()));
  for (const auto& [name, number] : rule.example.names.integers)
    texts.push_back(fmt::format("{}={}", name, number.text()));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// What there is to say of a mutant: its boxes, and the arithmetic of both sides at the example.
json cover_json(const Rule& rule) {
  const auto cover = cover_of(rule);
  if (!cover) return nullptr;
  const Output there = equations_at(rule, rule.example)[0];
  const auto before = operations(there.left, rule), after = operations(there.right, rule);
  json boxes = json::array();
  for (const CoverPart& part : cover->parts) {
    json wrong = json::array();
    for (const Box& box : part.wrong) wrong.push_back(text(box, cover->dims));
    const auto of_part = operations(part.program, rule);
    boxes.push_back({{"box", text(part.box, cover->dims)},
                     {"program", part.stated.text()},
                     {"cut", part.is_cut},
                     {"wrong", wrong},
                     {"share", of_part && after && *after > 0 ? json(*of_part / *after) : json()}});
  }
  return {{"at", sizes_text(rule)},
          {"dims", cover->dims},
          {"boxes", boxes},
          {"operations", before && after && *before > 0 ? json(*after / *before) : json()}};
}

void add_cover(const json& cover, std::vector<std::string>& lines) {
  if (cover.is_null()) return;
  lines.push_back(fmt::format("boxes of its output [{}], at {}:", fmt::join(cover["dims"].get<Dims>(), ","),
                              cover["at"].get<std::string>()));
  for (const json& box : cover["boxes"]) {
    const std::string share =
        box["share"].is_null() ? "" : fmt::format(" ({:.0f} % of the operations)", 100 * box["share"].get<double>());
    lines.push_back(fmt::format("  {}{}: {}", box["box"].get<std::string>(), share, box["program"].get<std::string>()));
    auto wrong = box["wrong"].get<std::vector<std::string>>();
    const size_t count = wrong.size();
    if (count == 0) continue;
    wrong.resize(std::min(count, kMostBoxes));
    lines.push_back(fmt::format("    which is wrong at {}{}", fmt::join(wrong, " "),
                                count > kMostBoxes ? fmt::format(" and {} more boxes", count - kMostBoxes) : ""));
  }
  if (!cover["operations"].is_null())
    lines.push_back(
        fmt::format("operations: {:.2f} times those of the left side there", cover["operations"].get<double>()));
}

}  // namespace

json rule_json(const Rule& rule, std::span<const verify::StatedAxiom> axioms) {
  json outputs = json::array(), laws = json::array();
  for (const Output& output : rule.outputs)
    outputs.push_back({{"left", output.left.text()}, {"right", output.right.text()}});
  for (const verify::LawUse& use : rule.proof.uses) {
    json bindings = json::object();
    for (const auto& [variable, term] : use.bindings.tensors) bindings[variable] = term.text();
    laws.push_back({{"law", law_title(use, axioms)}, {"where", bindings}});
  }
  return {{"name", rule.name},
          {"outputs", outputs},
          {"class", name(rule.float_class)},
          {"laws", laws},
          {"cover", cover_json(rule)}};
}

std::vector<std::string> rule_lines(const Rule& rule, std::span<const verify::StatedAxiom> axioms) {
  std::vector<std::string> lines = {printable(rule.name)};
  for (const Output& output : rule.outputs) {
    lines.push_back("  " + output.left.text());
    lines.push_back("= " + output.right.text());
  }
  lines.push_back(fmt::format("floating point: {}", name(rule.float_class)));
  lines.emplace_back("where these laws hold:");
  for (const verify::LawUse& use : rule.proof.uses) {
    lines.push_back("  " + law_title(use, axioms) + (use.law == verify::kByElements ? ":" : ""));
    for (const auto& [variable, term] : use.bindings.tensors)
      lines.push_back(fmt::format("      {} = {}", variable, term.text()));
  }
  add_cover(cover_json(rule), lines);
  return lines;
}

}  // namespace isomer::cli
