// isomer inspect: what a model or artifact holds, which of a model's nodes this version can run, and what they become.
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/commands.h"
#include "cli/inspect_artifact.h"
#include "cli/inspect_records.h"
#include "cli/inspect_tasks.h"
#include "cli/load_artifact.h"
#include "cli/load_model.h"
#include "cli/rule_statistics.h"
#include "cli/settings.h"
#include "driver/code_of_model.h"
#include "graph/dot.h"
#include "graph/edit.h"
#include "graph/infer.h"
#include "graph/op_def.h"
#include "graph/sequence_ops.h"
#include "graph/te/symbols.h"
#include "graph/text.h"

namespace isomer::cli {
namespace {

using nlohmann::json;

struct InspectOptions : CommonOptions {
  std::string file;
  bool text = false, dot = false, capability = false, verify = false;
  TaskView code;
  std::vector<CLI::Option*> of_models;  ///< what says nothing of an artifact
};

/// A name as the file has it, which --dim takes; of more than a name its expression.
std::string text_of(const Dim& dim) {
  const std::string* name = only_name(dim);
  return name ? *name : dim.text();
}

json interface_of(const Graph& graph, const std::vector<ValueId>& values) {
  json list = json::array();
  for (const ValueId id : values) {
    const Value& value = graph.value(id);
    json shape = nullptr;
    if (value.type.shape) {
      shape = json::array();
      for (const Dim& dim : *value.type.shape)
        shape.push_back(dim.is_constant() ? json(dim.value()) : json(text_of(dim)));
    }
    list.push_back({{"name", value.name}, {"dtype", isomer::name(value.type.dtype)}, {"shape", std::move(shape)}});
  }
  return list;
}

json summary(const LoadedModel& model) {
  const Graph& graph = model.graph;
  json opsets = json::object();
  for (const auto& [domain, version] : graph.info().opsets) opsets[domain.empty() ? "ai.onnx" : domain] = version;
  return {{"name", graph.name},
          {"producer", graph.info().producer_name},
          {"ir_version", graph.info().ir_version},
          {"opsets", opsets},
          {"inputs", interface_of(graph, graph.inputs())},
          {"outputs", interface_of(graph, graph.outputs())},
          {"nodes", model.file.nodes},
          {"ops", model.file.operators},
          {"functions", model.file.functions},
          {"weights_mb", static_cast<double>(count_bytes(graph)) / 1e6}};
}

/// One row of the capability table: nodes of one operator that fare alike.
struct Capability {
  int64_t count = 0;
  std::string example;
};
using CapabilityKey = std::tuple<std::string, std::string, std::string>;  // operator, status, reason

/// What becomes of a node, and why it is not compiled.
std::pair<std::string, std::string> status_of(const Graph& graph, const Node& node) {
  if (node.is_opaque() && is_sequence_op(node)) return {"interpreted", "it is an operator on sequences or optionals"};
  if (node.is_opaque()) return {"unsupported", node.opaque_reason};
  if (!node.op->compute && std::holds_alternative<std::monostate>(node.op->form))
    return {"interpreted", "it is neither a tensor expression nor a branch or a loop"};
  for (const auto* list : {&node.inputs, &node.outputs})
    for (const ValueId value : *list)
      if (value.valid() && !graph.value(value).type.has_shape())
        return {"interpreted", "the rank of what it reads or makes is not known"};
  return {"compiled", ""};
}

/// Whether data decide sizes of what a node makes, or what its row has no program for as they are. Bodies may.
bool may_be_refused(const Graph& graph) {
  const auto is_open = [&](ValueId value) {
    return value.valid() && !(graph.value(value).type.has_shape() && constants(*graph.value(value).type.shape));
  };
  const std::vector<NodeId> nodes = graph.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](NodeId id) {
    const Node& node = graph.node(id);
    return node.op && (!node.op->compute || std::any_of(node.outputs.begin(), node.outputs.end(), is_open) ||
                       !node.op->compute(context_of(graph, id)).ok());
  });
}

/// Why compiling the model, its free dims bound, is refused: "node 0 (Pad): known pads and axes expected".
Result<std::string> refusal_of(LoadedModel model, const InspectOptions& options) {
  const bool is_bound = bind_free_dims(model.graph, options.file, options).ok();
  if (!is_bound || !may_be_refused(model.graph)) return std::string();
  TRY(const Settings settings, settings_of(options));
  const auto code = code_of_model(model, options.file, settings, {});
  if (code.ok() || code.error().kind != ErrorKind::kUnsupported) return std::string();
  const std::string sentence = code.error().message(), file = options.file + ": ";
  return sentence.starts_with(file) ? sentence.substr(file.size()) : sentence;
}

/// The refusal goes to the node that it names, and is empty then.
void collect(const Graph& graph, std::map<CapabilityKey, Capability>& table, std::string& refusal) {
  for (const NodeId id : graph.nodes()) {
    const Node& node = graph.node(id);
    const std::string name = operator_name(node), place = label(graph, id) + ": ";
    auto [status, reason] = status_of(graph, node);
    if (status == "compiled" && refusal.starts_with(place)) {
      status = "interpreted";
      reason = std::exchange(refusal, "").substr(place.size());
    }
    Capability& row = table[{name, status, reason}];
    if (row.count++ == 0) row.example = label(graph, id);
    for (const auto& [key, attribute] : node.attributes)
      if (const auto* body = std::get_if<GraphPtr>(&attribute)) collect(**body, table, refusal);
  }
}

Result<json> capability(const LoadedModel& model, const InspectOptions& options) {
  const Graph& graph = model.graph;
  std::map<CapabilityKey, Capability> table;
  std::string refusal;
  collect(graph, table, refusal);
  const auto is_compiled = [](const auto& entry) { return std::get<1>(entry.first) == "compiled"; };
  if (std::all_of(table.begin(), table.end(), is_compiled)) {
    TRY(refusal, refusal_of(model, options));
    table.clear();
    collect(graph, table, refusal);
    // Of a node that passes made.
    if (!refusal.empty()) table[{"the model", "interpreted", refusal}].count = 1;
  }
  json rows = json::array();
  for (const auto& [key, row] : table) {
    const auto& [op, status, reason] = key;
    const size_t dot = op.rfind('.');
    const auto opset = graph.info().opsets.find(dot == std::string::npos ? "" : op.substr(0, dot));
    rows.push_back({{"op", op},
                    {"opset", opset == graph.info().opsets.end() ? json(nullptr) : json(opset->second)},
                    {"count", row.count},
                    {"status", status},
                    {"reason", reason},
                    {"first_node", row.example}});
  }
  return rows;
}

/// "[N,3]", "[?]" where nothing is known.
std::string shape_text(const json& shape) {
  if (shape.is_null()) return "[?]";
  std::vector<std::string> dims;
  for (const json& dim : shape) dims.push_back(dim.is_string() ? dim.get<std::string>() : dim.dump());
  return fmt::format("[{}]", fmt::join(dims, ","));
}

void print_summary(const json& facts) {
  const auto line = [](std::string_view key, const std::string& value) {
    fmt::print("{:<10} {}\n", key, printable(value));
  };
  line("name", facts["name"]);
  line("producer", facts["producer"]);
  line("ir", facts["ir_version"].dump());
  for (const auto& [domain, version] : facts["opsets"].items()) line("opset", domain + " " + version.dump());
  for (const char* side : {"inputs", "outputs"})
    for (const json& value : facts[side])
      line(side, fmt::format("{} {}{}", value["name"].get<std::string>(), value["dtype"].get<std::string>(),
                             shape_text(value["shape"])));
  line("weights", fmt::format("{:.3f} MB", facts["weights_mb"].get<double>()));
  line("nodes", facts["nodes"].dump());
  std::vector<std::pair<int64_t, std::string>> ops;
  for (const auto& [op, count] : facts["ops"].items()) ops.emplace_back(-count.get<int64_t>(), op);
  std::sort(ops.begin(), ops.end());
  for (const auto& [count, op] : ops) fmt::print("{:>10} {}\n", -count, printable(op));
}

void print_capability(const json& rows) {
  fmt::print("{:<28} {:>6} {:>7}  {:<12} {}\n", "operator", "opset", "nodes", "status", "first node, reason");
  for (const json& row : rows)
    fmt::print("{:<28} {:>6} {:>7}  {:<12} {}{}{}\n", printable(row["op"].get<std::string>()), row["opset"].dump(),
               row["count"].dump(), row["status"].get<std::string>(), printable(row["first_node"].get<std::string>()),
               row["reason"].get<std::string>().empty() ? "" : ": ", printable(row["reason"].get<std::string>()));
}

/// An error where one of them is given.
Result<void> expect_none(const std::vector<CLI::Option*>& given, std::string_view expected) {
  for (const CLI::Option* option : given)
    if (option->count() > 0) return Error{ErrorKind::kUsage, option->get_name(), std::string(expected)};
  return {};
}

std::string first_bytes_of(const std::string& file, size_t count) {
  std::error_code error;
  std::string bytes(count, '\0');
  if (!std::filesystem::is_regular_file(file, error)) return "";  // opening a pipe would wait for its writer
  std::ifstream stream(file, std::ios::binary);
  stream.read(bytes.data(), static_cast<std::streamsize>(count));
  bytes.resize(static_cast<size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  return bytes;
}

using Inspector = Result<void> (*)(const std::string& file, const CommonOptions& options);

/// Of either of their two files, which are found by their names.
Result<void> inspect_rules(const std::string& file, const CommonOptions& options) {
  std::filesystem::path rules = file;
  if (rules.extension() != ".rules" && rules.extension() != ".proofs")
    return invalid(file, "rules called STEM.rules, with STEM.proofs beside them, expected, another name found");
  return print_rule_statistics({rules.replace_extension(".rules").string()}, options);
}

/// Of what is no model, by its first bytes.
Inspector inspector_of(const std::string& file) {
  const std::string start = first_bytes_of(file, 32);
  if (start.starts_with("SQLite format 3")) return inspect_records;
  if (start.starts_with("{\"")) return inspect_record_lines;
  if (start.starts_with("# isomer library generate ")) return inspect_rules;
  return nullptr;
}

Result<void> inspect(const InspectOptions& options) {
  if (is_artifact(options.file)) {
    TRY_VOID(expect_none(options.of_models, "a model expected with it, '" + options.file + "' is an artifact"));
    return inspect_artifact(options.file, options, options.verify);
  }
  if (options.verify)
    return Error{ErrorKind::kUsage, "--verify", "an artifact expected with it, '" + options.file + "' is none"};
  if (const auto inspector = inspector_of(options.file)) {
    TRY_VOID(expect_none(options.of_models, "a model expected with it, '" + options.file + "' is none"));
    return inspector(options.file, options);
  }
  if (!options.code.wanted())
    TRY_VOID(expect_none(options.code.how, "a view of code, such as --tasks, expected with it"));
  TRY(LoadedModel model, load_model(options.file, options));
  if (options.code.wanted()) {
    TRY_VOID(bind_free_dims(model.graph, options.file, options));
    return inspect_tasks(model, options.file, options, options.code);
  }
  const Graph& graph = model.graph;
  if (options.text || options.dot) {
    const std::string text = options.text ? print_graph(graph) : to_dot(graph);
    if (options.json)
      fmt::print("{}\n", json_text({{options.text ? "text" : "dot", text}}));
    else
      fmt::print("{}", text);
  } else if (options.capability) {
    TRY(const json rows, capability(model, options));
    if (options.json)
      fmt::print("{}\n", json_text({{"capability", rows}}));
    else
      print_capability(rows);
  } else if (options.json) {
    fmt::print("{}\n", json_text(summary(model)));
  } else {
    print_summary(summary(model));
  }
  return {};
}

}  // namespace

void add_inspect(CLI::App& app, int& exit) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App* command = app.add_subcommand("inspect", "What a model, artifact, records or rules file holds");
  command->add_option("FILE", options->file, "The model, artifact, records or rules")->required();
  auto* text = command->add_flag("--text", options->text, "The graph as text");
  auto* dot = command->add_flag("--dot", options->dot, "The graph for Graphviz")->excludes(text);
  auto* capability =
      command->add_flag("--capability", options->capability, "Which nodes this version runs, and why not")
          ->excludes(text)
          ->excludes(dot);
  command->add_flag("--verify", options->verify, "Hash an artifact's weights");
  options->code.add_to(*command);
  options->add_to(*command);
  options->of_models = {text, dot, capability, command->get_option("--dim"), command->get_option("--input-shapes")};
  for (CLI::Option* view : options->code.views) {
    view->excludes(text)->excludes(dot)->excludes(capability);
    options->of_models.push_back(view);
  }
  options->of_models.insert(options->of_models.end(), options->code.how.begin(), options->code.how.end());
  command->callback([options, &exit] {
    const auto done = inspect(*options);
    exit = done.ok() ? kDone : report(done.error());
  });
}

}  // namespace isomer::cli
