// isomer diff: what changed between two models.
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/load_model.h"
#include "graph/diff.h"
#include "graph/dot.h"
#include "graph/edit.h"
#include "graph/hash.h"
#include "report/page.h"

namespace isomer::cli {
namespace {

using nlohmann::json;

struct DiffOptions : CommonOptions {
  std::string before, after;
  bool dot = false;
  bool html = false;
};

std::string operand(const Graph& graph, ValueId id) {
  if (!id.valid()) return "_";
  const Value& value = graph.value(id);
  return graph.is_constant(id) ? value.type.text() : value.name;
}

std::vector<std::string> operands(const Graph& graph, const std::vector<ValueId>& values) {
  std::vector<std::string> result;
  for (const ValueId id : values) result.push_back(operand(graph, id));
  return result;
}

std::string attributes_of(const Node& node) {
  std::vector<std::string> list;
  for (const auto& [name, value] : node.attributes) list.push_back(fmt::format("{}={}", name, short_text(value)));
  return list.empty() ? "" : fmt::format(" {{{}}}", fmt::join(list, ", "));
}

/// "Conv(x, float32[8,3,3,3]) {pads=[1,1,1,1]} -> y float32[1,8,32,32]"
std::string text_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  std::vector<std::string> results;
  for (const ValueId output : node.outputs)
    results.push_back(output.valid() ? fmt::format("{} {}", graph.value(output).name, graph.value(output).type.text())
                                     : "_");
  return fmt::format("{}({}){} -> {}", operator_name(node), fmt::join(operands(graph, node.inputs), ", "),
                     attributes_of(node), fmt::join(results, ", "));
}

std::string sign_of(GraphDiff::InterfaceChange::Kind kind) {
  switch (kind) {
    case GraphDiff::InterfaceChange::Kind::kChanged: return "~";
    case GraphDiff::InterfaceChange::Kind::kRemoved: return "-";
    case GraphDiff::InterfaceChange::Kind::kAdded: return "+";
  }
  return "";
}

std::vector<std::string> changes(const Graph& before, const Graph& after, const GraphDiff& diff,
                                 const GraphDiff::Pair& pair);

/// What changed in a body: "else_branch: - Tanh(x) -> y float32[4]"; of a large change the first lines.
std::vector<std::string> changes_within(const std::string& name, const Graph& before, const Graph& after) {
  constexpr size_t kMost = 12;
  const GraphDiff found = diff(before, after, Ports::kByPlace);
  std::vector<std::string> result;
  const auto line = [&](std::string_view sign, const std::string& what) {
    result.push_back(fmt::format("{}: {} {}", name, sign, what));
  };
  for (const GraphDiff::InterfaceChange& change : found.interface) line(sign_of(change.kind), change.what);
  for (const GraphDiff::Place& place : found.places) {
    for (const GraphDiff::Pair& pair : place.changed) {
      line("~", text_of(after, pair.after));
      for (const std::string& change : changes(before, after, found, pair)) line(" ", "  " + change);
    }
    for (const NodeId id : place.removed) line("-", text_of(before, id));
    for (const NodeId id : place.added) line("+", text_of(after, id));
  }
  if (result.empty()) result.push_back(name + ": others");
  if (result.size() > kMost) {
    const size_t more = result.size() - kMost + 1;
    result.resize(kMost - 1);
    result.push_back(fmt::format("{}: and {} lines more", name, more));
  }
  return result;
}

/// "pads: [0,0] -> [1,1]", "input 1: float32[8,3,3,3] -> float32[8,3,5,5]"
std::vector<std::string> changes(const Graph& before, const Graph& after, const GraphDiff& diff,
                                 const GraphDiff::Pair& pair) {
  std::vector<std::string> result;
  const Node &a = before.node(pair.before), &b = after.node(pair.after);
  const auto text = [](const Attribute* attribute) {
    return attribute ? short_text(*attribute) : std::string("not set");
  };
  Attributes both = a.attributes;
  both.insert(b.attributes.begin(), b.attributes.end());
  for (const auto& [name, ignored] : both) {
    const auto x = a.attributes.find(name), y = b.attributes.find(name);
    const Attribute *first = x == a.attributes.end() ? nullptr : &x->second,
                    *second = y == b.attributes.end() ? nullptr : &y->second;
    if (first && second && attribute_hash(*first) == attribute_hash(*second)) continue;
    const auto *body = first ? std::get_if<GraphPtr>(first) : nullptr,
               *other = second ? std::get_if<GraphPtr>(second) : nullptr;
    if (body && other)
      std::ranges::move(changes_within(name, **body, **other), std::back_inserter(result));
    else
      result.push_back(fmt::format("{}: {} -> {}", name, text(first), text(second)));
  }
  for (size_t k = 0; k < a.inputs.size(); ++k) {
    const ValueId x = a.inputs[k], y = b.inputs[k];
    if (y.valid() ? diff.paired[static_cast<size_t>(y.index)] == x && x.valid() : !x.valid()) continue;
    const std::string from = operand(before, x), to = operand(after, y);
    result.push_back(from == to ? fmt::format("input {}: other elements of {}", k, to)
                                : fmt::format("input {}: {} -> {}", k, from, to));
  }
  // Bodies are compared by places of what they capture.
  for (size_t k = 0; k < std::min(a.captures.size(), b.captures.size()); ++k) {
    const ValueId x = a.captures[k], y = b.captures[k];
    if (diff.paired[static_cast<size_t>(y.index)] != x)
      result.push_back(fmt::format("captured: {} -> {}", operand(before, x), operand(after, y)));
  }
  return result;
}

/// Of all places.
struct Counts {
  explicit Counts(const GraphDiff& diff) {
    for (const GraphDiff::Place& place : diff.places) {
      changed += place.changed.size();
      removed += place.removed.size();
      added += place.added.size();
    }
  }
  size_t changed = 0, removed = 0, added = 0;
};

double megabytes(const Graph& graph) { return static_cast<double>(count_bytes(graph)) / 1e6; }

std::string lines_of(const Graph& before, const Graph& after, const GraphDiff& diff, const DiffOptions& options) {
  std::string text = fmt::format("{}: {} nodes, {:.2f} MB of weights\n{}: {} nodes, {:.2f} MB of weights\n",
                                 printable(options.before), before.node_count(), megabytes(before),
                                 printable(options.after), after.node_count(), megabytes(after));
  const auto line = [&](std::string_view sign, const std::string& what) {
    text += fmt::format("{} {}\n", sign, printable(what));
  };
  if (!diff.interface.empty()) text += "@@ inputs and outputs\n";
  for (const GraphDiff::InterfaceChange& change : diff.interface) line(sign_of(change.kind), change.what);
  for (size_t k = 0; k < diff.places.size(); ++k) {
    const GraphDiff::Place& place = diff.places[k];
    text += fmt::format("@@ place {} of {}\n", k + 1, diff.places.size());
    for (const GraphDiff::Pair& pair : place.changed) {
      line("~", text_of(after, pair.after));
      for (const std::string& change : changes(before, after, diff, pair)) line(" ", "    " + change);
    }
    for (const NodeId id : place.removed) line("-", text_of(before, id));
    for (const NodeId id : place.added) line("+", text_of(after, id));
  }
  const Counts counts(diff);
  text += fmt::format("{} nodes are the same, {} changed, {} removed, {} added", diff.same.size(), counts.changed,
                      counts.removed, counts.added);
  if (!diff.interface.empty()) text += "; inputs and outputs differ";
  return text + "\n";
}

json node_json(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  return {{"op", operator_name(node)},
          {"name", node.name},
          {"inputs", operands(graph, node.inputs)},
          {"outputs", operands(graph, node.outputs)}};
}

json json_of(const Graph& before, const Graph& after, const GraphDiff& diff) {
  json places = json::array();
  for (const GraphDiff::Place& place : diff.places) {
    json changed = json::array(), removed = json::array(), added = json::array();
    for (const GraphDiff::Pair& pair : place.changed) {
      json node = node_json(after, pair.after);
      node["changes"] = changes(before, after, diff, pair);
      changed.push_back(std::move(node));
    }
    for (const NodeId id : place.removed) removed.push_back(node_json(before, id));
    for (const NodeId id : place.added) added.push_back(node_json(after, id));
    places.push_back({{"changed", changed}, {"removed", removed}, {"added", added}});
  }
  const Counts counts(diff);
  json interface = json::array();
  for (const GraphDiff::InterfaceChange& change : diff.interface)
    interface.push_back(sign_of(change.kind) + " " + change.what);
  return {{"nodes_before", before.node_count()},
          {"nodes_after", after.node_count()},
          {"weights_mb_before", megabytes(before)},
          {"weights_mb_after", megabytes(after)},
          {"same", diff.same.size()},
          {"changed", counts.changed},
          {"removed", counts.removed},
          {"added", counts.added},
          {"interface", interface},
          {"places", places}};
}

Result<void> run(const DiffOptions& options) {
  TRY(const LoadedModel before, load_model(options.before, options));
  TRY(const LoadedModel after, load_model(options.after, options));
  const GraphDiff found = diff(before.graph, after.graph);
  json facts = json_of(before.graph, after.graph, found);
  std::string text;
  if (options.html)
    text = report::page({options.before + " and " + options.after, &before.graph, &after.graph, {}}, facts);
  else if (options.dot)
    text = to_dot(before.graph, after.graph, found);
  else if (!options.json)
    text = lines_of(before.graph, after.graph, found, options);
  if (options.json) {
    if (!text.empty()) facts[options.html ? "html" : "dot"] = text;
    text = json_text(facts) + "\n";
  }
  fmt::print("{}", text);
  return {};
}

}  // namespace

void add_diff(CLI::App& app, int& exit) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App* command = app.add_subcommand("diff", "What changed between two models, place by place");
  command->add_option("A", options->before, "The one before")->required();
  command->add_option("B", options->after, "The one after")->required();
  auto* html = command->add_flag("--html", options->html, "A page with the changes drawn, before and after");
  command->add_flag("--dot", options->dot, "The changes for Graphviz: red nodes are gone, green ones new")
      ->excludes(html);
  options->add_to(*command);
  command->callback([options, &exit] {
    const auto done = run(*options);
    exit = done.ok() ? kDone : report(done.error());
  });
}

}  // namespace isomer::cli
