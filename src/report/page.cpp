#include "report/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "graph/diff.h"
#include "report/drawing.h"
#include "report/measured.h"
#include "report/page_style.h"
#include "report/pieces.h"
#include "report/words.h"
#include "util/stable_sort.h"

namespace isomer::report {
namespace {

using nlohmann::json;

/// What was changed in one way, in so many places.
struct DrawnChange {
  Drawing before, after;
  size_t removed = 0, added = 0, changed = 0;
  std::vector<std::string> names;  ///< of the first nodes, by place
};

std::map<NodeId, std::string_view> styled(const std::vector<GraphDiff::Pair>& changed, NodeId GraphDiff::Pair::* side,
                                          const std::vector<NodeId>& others, std::string_view style) {
  std::map<NodeId, std::string_view> result;
  for (const GraphDiff::Pair& pair : changed) result.emplace(pair.*side, "changed");
  for (const NodeId id : others) result.emplace(id, style);
  return result;
}

std::string name_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  for (const ValueId output : node.outputs)
    if (output.valid()) return graph.value(output).name;
  return node.name;
}

/// Places that look the same are drawn once; those in most places first.
std::vector<DrawnChange> drawn_changes(const Graph& before, const Graph& after, const GraphDiff& diff) {
  std::vector<DrawnChange> result;
  std::map<std::string, size_t> known;
  std::vector<GraphDiff::Place> pieces;
  for (const GraphDiff::Place& place : diff.places)
    std::ranges::move(pieces_of(place, before, after, diff), std::back_inserter(pieces));
  for (const GraphDiff::Place& place : pieces) {
    DrawnChange change;
    change.before = draw(before, styled(place.changed, &GraphDiff::Pair::before, place.removed, "gone"));
    change.after = draw(after, styled(place.changed, &GraphDiff::Pair::after, place.added, "new"));
    change.removed = place.removed.size();
    change.added = place.added.size();
    change.changed = place.changed.size();
    const auto [number, is_new] = known.emplace(change.before.key + "\n=\n" + change.after.key, result.size());
    if (is_new) result.push_back(std::move(change));
    result[number->second].names.push_back(!place.removed.empty()   ? name_of(before, place.removed.front())
                                           : !place.changed.empty() ? name_of(after, place.changed.front().after)
                                                                    : name_of(after, place.added.front()));
  }
  stable_sort(result, [](const DrawnChange& a, const DrawnChange& b) { return a.names.size() > b.names.size(); });
  return result;
}

/// Of millions of runs, as of a small model, enough to draw them.
json with_fewer_runs(json facts) {
  const auto thin_out = [](json& of, const char* name) {
    if (!of.contains(name) || !of[name].is_array() || of[name].size() <= kMostRuns) return;
    json few = json::array();
    const size_t count = of[name].size();
    for (size_t k = 0; k < kMostRuns; ++k) few.push_back(of[name][k * count / kMostRuns]);
    of[std::string(name) + "_count"] = count;
    of[name] = std::move(few);
  };
  thin_out(facts, "times_ms");
  thin_out(facts, "device_times_ms");
  if (facts.contains("against") && facts["against"].is_object())
    for (json& peer : facts["against"]) thin_out(peer, "times_ms");
  return facts;
}

/// "node: a (NonZero), reason: …".
std::string text_of(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return value.dump(-1, ' ', true, json::error_handler_t::replace);
  std::string text;
  for (const auto& [name, part] : value.items())
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", name, text_of(part));
  return text;
}

/// As HTML, a list an element a line.
std::string lines_of(const json& value) {
  if (!value.is_array()) return escaped(text_of(value));
  std::string lines;
  for (const json& element : value) lines += fmt::format("<div>{}</div>", escaped(text_of(element)));
  return lines;
}

class Page {
 public:
  Page(const PageInput& input, const json& facts) : input_(input), facts_(facts) {}

  std::string text() {
    text_ = fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta name=\"viewport\" "
        "content=\"width=device-width, initial-scale=1\"/><title>{}</title><style>{}</style></head><body>\n",
        escaped(input_.title), kStyle);
    text_ += fmt::format(
        "<header><h1>{}</h1><button id=\"theme\" type=\"button\" title=\"light or dark (t)\">◐</button>"
        "</header>\n<main>\n",
        escaped(input_.title));
    add_summary();
    text_ += measured_sections(facts_);
    add_changes();
    add_rules();
    add_regions();
    add_check();
    add_times();
    // "</" would end the script, and "<!--<script" would keep it from ending. Outside of strings JSON has no "<".
    std::string facts;
    for (const char c : with_fewer_runs(facts_).dump(1, ' ', true, json::error_handler_t::replace))
      c == '<' ? facts.append("\\u003c") : facts.append(1, c);
    text_ += fmt::format(
        "</main>\n<script type=\"application/json\" id=\"report\">{}</script>\n<script>{}</script>\n"
        "</body></html>\n",
        facts, kScript);
    return std::move(text_);
  }

 private:
  bool has(const char* name) const { return facts_.contains(name) && !facts_[name].is_null(); }

  void add_sizes() {
    text_ += tile("nodes",
                  fmt::format("{} → {}", number(facts_.value("nodes_before", json())),
                              number(facts_.value("nodes_after", json()))),
                  has("for") ? "for " + escaped(facts_["for"].get<std::string>()) : "");
    text_ += tile("weights",
                  fmt::format("{} → {} MB", number(facts_.value("weights_mb_before", json())),
                              number(facts_.value("weights_mb_after", json()))),
                  "");
  }

  void add_summary() {
    text_ += "<section id=\"summary\">\n" + measured_tiles(facts_);
    if (has("nodes_before")) add_sizes();
    if (has("search") && facts_["search"].contains("race")) {
      const json& race = facts_["search"]["race"];
      text_ += tile("time", fmt::format("{} times as fast", number(race["ratio"], "{:.3f}")),
                    fmt::format("{} → {} in {}; half of {} rounds between {} and {}", microseconds(race["before_us"]),
                                microseconds(race["after_us"]), escaped(race["in"].get<std::string>()),
                                number(race["rounds"]), number(race["low"], "{:.3f}"), number(race["high"], "{:.3f}")));
    } else if (has("search")) {
      text_ += tile("time", "not measured",
                    escaped(facts_["search"].value("why", facts_["search"].value("outcome", std::string()))));
    }
    if (has("check"))
      text_ += tile("check", facts_["check"].value("passed", false) ? "passed" : "failed",
                    fmt::format("{} runs, largest difference {}", number(facts_["check"].value("runs", json())),
                                number(facts_["check"].value("max_abs_error", json()))));
    text_ += "</section>\n";
  }

  void add_changes() {
    if (!input_.before || !input_.after) return;
    const GraphDiff found = diff(*input_.before, *input_.after);
    const std::vector<DrawnChange> changes = drawn_changes(*input_.before, *input_.after, found);
    text_ += fmt::format(
        "<section id=\"changes\"><h2>What changed</h2>\n<p>{} nodes are the same; {} places differ, drawn in {} "
        "ways. <kbd>j</kbd> <kbd>k</kbd> move between them, <kbd>Enter</kbd> opens one.</p>\n"
        "<input id=\"filter\" type=\"search\" placeholder=\"filter by operator or name\"/>\n",
        found.same.size(), found.places.size(), changes.size());
    if (!found.interface.empty()) text_ += "<h3>Inputs and outputs</h3>\n<ul id=\"interface\">";
    for (const GraphDiff::InterfaceChange& change : found.interface)
      text_ += fmt::format("<li>{}{}</li>",
                           change.kind == GraphDiff::InterfaceChange::Kind::kRemoved ? "gone: "
                           : change.kind == GraphDiff::InterfaceChange::Kind::kAdded ? "new: "
                                                                                     : "",
                           escaped(change.what));
    if (!found.interface.empty()) text_ += "</ul>\n";
    for (const DrawnChange& change : changes) add_change(change);
    text_ += "</section>\n";
  }

  void add_change(const DrawnChange& change) {
    std::string counts;
    const auto count = [&](size_t number, std::string_view what) {
      if (number > 0) counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", number, what);
    };
    count(change.removed, "removed");
    count(change.added, "added");
    count(change.changed, "changed");
    constexpr size_t kNames = 3;
    std::vector<std::string> names(change.names.begin(), change.names.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                                    kNames, change.names.size())));
    std::string places;
    for (const std::string& name : names)
      places += fmt::format("{}<code>{}</code>", places.empty() ? "" : ", ", escaped(name));
    if (change.names.size() > kNames) places += fmt::format(" and {} more", change.names.size() - kNames);
    text_ += fmt::format(
        "<details class=\"change\"><summary><b>{}</b> at {}</summary>\n<div class=\"sides\"><figure><figcaption>before"
        "</figcaption>{}</figure><figure><figcaption>after</figcaption>{}</figure></div></details>\n",
        counts, places, change.before.svg.empty() ? "nothing" : change.before.svg,
        change.after.svg.empty() ? "nothing" : change.after.svg);
  }

  void add_rules() {
    if (!has("steps") || facts_["steps"].empty()) return;
    struct Use {
      int times = 0;
      double gain = 0;
      std::string float_class, where;
    };
    std::map<std::string, Use> uses;
    for (const json& step : facts_["steps"]) {
      Use& use = uses[step["rule"].get<std::string>()];
      ++use.times;
      if (step["gain_us"].is_number()) use.gain += step["gain_us"].get<double>();
      use.float_class = step["fp_class"].get<std::string>();
      if (use.where.empty() && step["where"].is_string()) use.where = step["where"].get<std::string>();
    }
    double all = 0;
    for (const auto& [rule, use] : uses) all += std::max(use.gain, 0.0);
    std::vector<std::pair<std::string, Use>> rows(uses.begin(), uses.end());
    stable_sort(rows, [](const auto& a, const auto& b) { return a.second.gain > b.second.gain; });
    text_ +=
        "<section id=\"rules\"><h2>Steps by rule</h2>\n<table><thead><tr><th>rule</th><th>steps</th><th>saved, as "
        "predicted</th><th>share</th><th>floating point</th><th>first at</th></tr></thead><tbody>\n";
    for (const auto& [rule, use] : rows) {
      const auto known = std::find_if(input_.rules.begin(), input_.rules.end(),
                                      [&](const RuleText& each) { return each.name == rule; });
      const std::string statement = known == input_.rules.end()
                                        ? ""
                                        : fmt::format("<div class=\"statement\">{}</div>", escaped(known->statement));
      const std::string share = use.gain > 0 ? bar(use.gain / all) : std::string();
      text_ +=
          fmt::format("<tr><td>{}{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td><code>{}</code></td></tr>\n",
                      escaped(rule), statement, use.times, use.gain > 0 ? microseconds(use.gain) : "", share,
                      escaped(use.float_class), escaped(use.where));
    }
    text_ += "</tbody></table></section>\n";
  }

  void add_regions() {
    if (!has("search") || !facts_["search"].contains("by_region") || facts_["search"]["by_region"].empty()) return;
    std::vector<json> regions = facts_["search"]["by_region"].get<std::vector<json>>();
    const auto all_us = [](const json& region) {
      return region["cost_us"].get<double>() * region["places"].get<double>();
    };
    stable_sort(regions, [&](const json& a, const json& b) { return all_us(a) > all_us(b); });
    text_ += fmt::format(
        "<section id=\"regions\"><h2>The search</h2>\n<p>{}; {} rewrites looked at, {} measured; {}.</p>\n"
        "<table><thead><tr><th>region</th><th>operators</th><th>places</th><th>took</th><th>best rewrites</th>"
        "<th>would save</th><th>taken, or why not</th></tr></thead><tbody>\n",
        escaped(facts_["search"].value("outcome", "")), number(facts_["search"]["costed"]),
        number(facts_["search"]["measured"]), escaped(facts_["search"].value("stop_reason", "")));
    for (const json& region : regions) {
      std::string rules;
      for (const json& rule : region["rules"]) rules += fmt::format("<div>{}</div>", escaped(rule.get<std::string>()));
      const std::string why = region["taken"].get<bool>()     ? "taken"
                              : region["why_not"].is_string() ? escaped(region["why_not"].get<std::string>())
                                                              : "nothing was found";
      text_ += fmt::format(
          "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
          escaped(region["where"].get<std::string>()), number(region["applications"]), number(region["places"]),
          microseconds(region["cost_us"]), rules, region["rules"].empty() ? "" : microseconds(region["saved_us"]), why);
    }
    text_ += "</tbody></table></section>\n";
  }

  void add_check() {
    if (!has("check")) return;
    text_ += "<section id=\"check\"><h2>The check</h2>\n<table><tbody>\n";
    for (const auto& [name, value] : facts_["check"].items())
      if (value.is_primitive() || !value.empty())
        text_ += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", escaped(name), lines_of(value));
    text_ += "</tbody></table></section>\n";
  }

  void add_times() {
    if (!has("seconds") || !facts_["seconds"].is_object()) return;
    double all = 0;
    for (const auto& [name, value] : facts_["seconds"].items()) all += value.get<double>();
    text_ += "<section id=\"times\"><h2>Where the command spent its time</h2>\n<table><tbody>\n";
    for (const auto& [name, value] : facts_["seconds"].items())
      text_ += fmt::format("<tr><td>{}</td><td>{:.2f} s</td><td>{}</td></tr>\n", escaped(name), value.get<double>(),
                           bar(all > 0 ? value.get<double>() / all : 0));
    text_ += "</tbody></table></section>\n";
  }

  const PageInput& input_;
  const json& facts_;
  std::string text_;
};

}  // namespace

std::string page(const PageInput& input, const nlohmann::json& facts) { return Page(input, facts).text(); }

}  // namespace isomer::report
