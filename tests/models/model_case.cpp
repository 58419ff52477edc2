#include "models/model_case.h"

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "graph/bind.h"
#include "graph/edit.h"
#include "graph/interpret.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "substitutions/derivation/derivation.h"
#include "support/files.h"
#include "support/process.h"
#include "tools/fill_rule.h"

namespace isomer::test {
namespace {

using nlohmann::ordered_json;

const ordered_json& expected_models() {
  static const ordered_json models = ordered_json::parse(read_file(source_path("models/expected.json")))["models"];
  return models;
}

class Timer {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Result<Tensor> make_input(const ordered_json& input) {
  TRY(const FillRule rule, parse_fill_rule(input["rule"].get<std::string>()));
  const Dims dims = input["shape"].get<Dims>();
  std::vector<double> values(element_count(dims));
  evaluate(rule, 0, dims.empty() ? 1 : dims.back(), values);
  return Tensor::from_doubles(parse_data_type(input["dtype"].get<std::string>()), dims, values);
}

/// The array's facts against the recorded ones: the largest difference as a share of what is allowed.
Result<double> error_of(const te::Array& array, const ordered_json& expected) {
  const std::string name = expected["name"];
  if (array.dims() != expected["shape"].get<Dims>())
    return invalid(name, "shape {} expected", expected["shape"].dump());
  if (isomer::name(array.dtype()) != expected["dtype"].get<std::string>())
    return invalid(name, "another type expected");
  double worst = 0, sum = 0, squares = 0, largest = 0;
  const int64_t count = array.count();
  for (int64_t i = 0; i < count; ++i) {
    const double value = array.as_double(i);
    sum += value;
    squares += value * value;
    largest = std::max(largest, std::fabs(value));
  }
  const auto compare = [&](double found, const ordered_json& fact, double scale = 1) {
    const double difference = std::fabs(found - fact.get<double>()) / scale;
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
  };
  const auto& first = expected["first"];
  const auto& last = expected["last"];
  for (size_t i = 0; i < first.size(); ++i) compare(array.as_double(static_cast<int64_t>(i)), first[i]);
  for (size_t i = 0; i < last.size(); ++i)
    compare(array.as_double(count - static_cast<int64_t>(last.size() - i)), last[i]);
  compare(sum / static_cast<double>(count), expected["mean"]);
  compare(std::sqrt(squares), expected["l2"], std::sqrt(static_cast<double>(count)));
  compare(largest, expected["max_abs"]);
  return worst / (1e-4 * expected["max_abs"].get<double>() + 1e-6);
}

Result<double> run(const Graph& graph, const ordered_json& model, int threads) {
  std::map<std::string, te::Array> by_name;
  for (const auto& input : model["inputs"]) {
    TRY(const Tensor tensor, make_input(input));
    by_name.emplace(input["name"], te::Array::from(tensor));
  }
  std::vector<te::Array> inputs;
  for (const ValueId id : graph.inputs()) inputs.push_back(by_name[graph.value(id).name]);
  TRY(const auto outputs, interpret(graph, inputs, {.threads = threads}));
  double worst = 0;
  for (const auto& expected : model["outputs"])
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (graph.value(graph.outputs()[i]).name != expected["name"].get<std::string>()) continue;
      TRY(const double error, error_of(outputs[i], expected));
      worst = std::max(worst, error);
    }
  return worst;
}

void count_unknown(const Graph& graph, ModelOutcome& outcome) {
  for (const NodeId id : graph.nodes()) outcome.opaque_nodes += graph.node(id).is_opaque();
  for (const ValueId id : graph.values()) outcome.values_without_shape += !graph.value(id).type.has_shape();
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  for (const auto& [name, model] : expected_models().items()) names.push_back(name);
  return names;
}

std::vector<std::string> shape_flags(const std::string& name) {
  std::vector<std::string> flags;
  for (const auto& input : expected_models()[name]["inputs"]) {
    if (input["shape"].empty()) continue;
    flags.insert(flags.end(), {"--input-shapes", input["name"].get<std::string>() + ":" + input["shape"].dump()});
  }
  return flags;
}

std::map<std::string, std::vector<int64_t>> input_shapes(const std::string& name) {
  std::map<std::string, std::vector<int64_t>> shapes;
  for (const auto& input : expected_models()[name]["inputs"])
    if (!input["shape"].empty()) shapes[input["name"]] = input["shape"].get<Dims>();
  return shapes;
}

Result<std::filesystem::path> fill_model(const std::string& name, const std::filesystem::path& folder) {
  const Outcome filled = run_program(
      {tool_path("isomer-fill").string(), source_path("models/" + name + ".onnx").string(), "-o", folder.string()});
  if (filled.exit_code != 0) return invalid(name, "weights expected: {}", filled.err);
  return folder / (name + ".onnx");
}

Result<ModelOutcome> run_model(const std::string& name, int threads) {
  const ScratchFolder scratch;
  const auto optimized_path = scratch.path() / (name + ".optimized.onnx");
  TRY(const auto model_path, fill_model(name, scratch.path()));
  const ordered_json& expected = expected_models()[name];
  ModelOutcome outcome;
  ImportReport file;
  ImportOptions import;
  import.report = &file;

  Timer timer;
  TRY(const Graph graph, import_model(model_path, import));
  outcome.import_seconds = timer.seconds();
  outcome.nodes_before = file.nodes;
  outcome.bytes_before = count_bytes(graph);
  count_unknown(graph, outcome);
  timer = Timer();
  TRY(outcome.error, run(graph, expected, threads));
  outcome.run_seconds = timer.seconds();

  timer = Timer();
  substitutions::Theory theory;
  TRY(const substitutions::Derived derived, substitutions::derived(graph, {}, theory, {.threads = threads}));
  TRY_VOID(export_model(derived.graph, optimized_path));
  outcome.optimize_seconds = timer.seconds();
  TRY(const Graph reread, import_model(optimized_path, import));
  outcome.nodes_after = file.nodes;
  outcome.bytes_after = count_bytes(reread);
  TRY(outcome.error_optimized, run(reread, expected, threads));
  return outcome;
}

std::optional<NodeCeiling> node_ceiling(const std::string& name) {
  std::istringstream table(read_file(source_path("tests/models/ceilings.txt")));
  for (std::string line; std::getline(table, line);) {
    std::istringstream fields(line);
    std::string model;
    NodeCeiling ceiling;
    if (fields >> model >> ceiling.onnxsim >> ceiling.onnxslim >> ceiling.ours && model == name) return ceiling;
  }
  return std::nullopt;
}

}  // namespace isomer::test
