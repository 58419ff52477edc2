// isomer run: a model on given or seeded inputs.
#include <cmath>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/distinct_files.h"
#include "cli/load_artifact.h"
#include "cli/load_model.h"
#include "cli/model_inputs.h"
#include "cli/numpy_file.h"
#include "cli/search_options.h"
#include "cli/settings.h"
#include "driver/code_of_model.h"
#include "driver/staging_folder.h"
#include "graph/interpret.h"
#include "graph/memory_estimate.h"
#include "graph/onnx/value_file.h"
#include "graph/te/array_parts.h"
#include "graph/te/integer.h"
#include "search/code/run_artifact.h"
#include "util/append.h"
#include "util/output_file.h"

namespace isomer::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct RunOptions : CommonOptions {
  InputOptions inputs;
  CompileChoices choices;  ///< the target
  std::string file;
  std::string save_outputs;
  bool interpret = false;
};

/// JSON has no infinities or NaN: null stands for them.
json number(double value) { return std::isfinite(value) ? json(value) : json(nullptr); }

/// The array holds numbers that are no integers.
std::pair<json, json> least_and_most_reals(const te::Array& array) {
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (int64_t i = 0; i < array.count(); ++i) {
    least = std::fmin(least, array.as_double(i));
    most = std::fmax(most, array.as_double(i));
  }
  return {number(least), number(most)};
}

/// The array holds `Integer`s, which stay as they are: doubles have not all of them.
template <class Integer>
std::pair<json, json> least_and_most(const te::Array& array) {
  if (array.count() == 0) return {nullptr, nullptr};
  Integer least = std::numeric_limits<Integer>::max(), most = std::numeric_limits<Integer>::min();
  for (int64_t i = 0; i < array.count(); ++i) {
    least = std::min(least, static_cast<Integer>(array.integer(i)));
    most = std::max(most, static_cast<Integer>(array.integer(i)));
  }
  return {least, most};
}

json summary_of(const te::Array& array) {
  const DataType dtype = array.dtype();
  const auto [least, most] = dtype == DataType::kUInt64                  ? least_and_most<uint64_t>(array)
                             : is_int(dtype) || dtype == DataType::kBool ? least_and_most<int64_t>(array)
                                                                         : least_and_most_reals(array);
  double total = 0;
  bool finite = true;
  for (int64_t i = 0; i < array.count(); ++i) {
    const double value = array.as_double(i);
    finite &= std::isfinite(value);
    total += value;
  }
  const json mean = array.count() == 0 ? json(nullptr) : number(total / static_cast<double>(array.count()));
  return {{"dtype", isomer::name(dtype)},
          {"shape", array.dims()},
          {"min", least},
          {"max", most},
          {"mean", mean},
          {"finite", finite}};
}

/// A sequence by its elements, an optional without a value as null.
json describe(const te::Array& value) {
  if (value.is_none()) return nullptr;
  if (const auto* elements = value.sequence_elements()) {
    json list = json::array();
    for (const te::Array& element : *elements) list.push_back(describe(element));
    return list;
  }
  return summary_of(value);
}

struct Output {
  std::string name;
  ValueType type;
  te::Array value;
};

std::string output_name(size_t number) { return fmt::format("output_{}.pb", number); }

/// Where the outputs of a model with so many go.
std::vector<fs::path> places_of(const std::string& place, size_t outputs) {
  if (place.empty()) return {};
  if (has_ending(place, ".npz")) return {place};
  std::vector<fs::path> places;
  for (size_t i = 0; i < outputs; ++i) places.push_back(fs::path(place) / output_name(i));
  return places;
}

/// An error where one of them is a file that the command reads, or no file can be written.
Result<void> check_places(const std::vector<fs::path>& places, const RunOptions& options) {
  std::vector<NamedFile> read = {{"FILE", options.file}}, written;
  append(read, files_of_inputs(options.inputs));
  for (const fs::path& place : places) {
    TRY_VOID(output_place(place));
    written.push_back({"--save-outputs", place.string()});
  }
  return check_distinct(read, written);
}

/// Written; released, they have their names.
Result<StagingFolder> save(const std::string& place, const std::vector<Output>& outputs) {
  if (has_ending(place, ".npz")) {
    TRY(StagingFolder staging, StagingFolder::beside(place));
    std::vector<NamedTensor> arrays;
    for (const Output& output : outputs)
      for (const auto& [name, tensor] : te::named_tensors(output.name, output.value))
        arrays.emplace_back(name, te::to_tensor(tensor));
    if (auto done = write_npz(staging.file(), arrays); !done.ok()) return staging.at_place(std::move(done).error());
    return staging;
  }
  TRY(StagingFolder staging, StagingFolder::in(place));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& [name, type, value] = outputs[i];
    if (auto done = write_value_file(staging.path() / output_name(i), name, value, type); !done.ok())
      return staging.at_place(std::move(done).error());
  }
  return staging;
}

/// A line a tensor; elements of a sequence are called as in an .npz.
void print_value(const std::string& name, const json& value) {
  if (value.is_null()) fmt::print("{} has no value\n", name);
  if (value.is_array()) {
    if (value.empty()) fmt::print("{} is an empty sequence\n", name);
    for (size_t k = 0; k < value.size(); ++k) print_value(fmt::format("{}.{}", name, k), value[k]);
  }
  if (!value.is_object()) return;
  fmt::print("{} {}{} min {} max {} mean {}{}\n", name, value["dtype"].get<std::string>(), value["shape"].dump(),
             value["min"].dump(), value["max"].dump(), value["mean"].dump(),
             value["finite"].get<bool>() ? "" : " (not finite)");
}

void print(const std::vector<Output>& outputs, const RunOptions& options) {
  json report = json::array();
  for (const Output& output : outputs) {
    json value = describe(output.value);
    if (!options.json) {
      print_value(printable(output.name), value);
      continue;
    }
    if (!output.value.is_tensor()) value = {{output.value.is_none() ? "optional" : "sequence", std::move(value)}};
    value["name"] = output.name;
    report.push_back(std::move(value));
  }
  if (options.json) fmt::print("{}\n", json_text({{"outputs", report}}));
}

/// The model as it runs: what its inputs and outputs are, and their values.
struct Ran {
  Graph graph;
  std::vector<te::Array> outputs;
};

Result<std::vector<te::Array>> inputs_of(Graph& graph, const RunOptions& options,
                                         const std::map<std::string, Demand>& demands = {}) {
  return model_inputs(graph, options.file, options.inputs, options, demands);
}

template <class T>
Result<T> in_file(Result<T> result, const RunOptions& options) {
  if (!result.ok()) return std::move(result).error().within(options.file);
  return result;
}

/// What a run on inputs that are not made yet takes: they and the outputs lie in tensors and, aligned, in the session;
/// of that a GPU has all but the outputs in its own memory.
Result<void> check_run_fits(const runtime::Session& session, const RunOptions& options) {
  const runtime::Variant& variant = session.variant();
  const bool is_cpu = variant.target.device == runtime::DeviceKind::kCpu;
  int64_t bytes = is_cpu ? variant.arena_bytes : 0;
  const auto add = [&](const std::vector<runtime::Port>& ports, int64_t times) {
    for (const runtime::Port& port : ports)
      bytes =
          te::saturating_add(bytes, te::saturating_mul(std::max<int64_t>(variant.values[port.value].bytes, 0), times));
  };
  add(variant.inputs, is_cpu ? 2 : 1);
  add(variant.outputs, 2);
  return in_file(options.memory_limit().check(bytes, "running it"), options);
}

/// Compiled in memory; what can't be compiled is interpreted, with a note why.
Result<std::unique_ptr<runtime::Session>> session_of(const LoadedModel& model, const RunOptions& options) {
  TRY(const Settings settings, settings_of(options));
  auto compiled = code_of_model(model, options.file, settings, options.choices);
  if (!compiled.ok()) {
    if (compiled.error().kind != ErrorKind::kUnsupported) return std::move(compiled).error();
    note(options, "isomer: interpreting: {}", sentence_of(compiled.error()));
    return std::unique_ptr<runtime::Session>();
  }
  return in_file(open_session(std::move(compiled->artifact), settings.threads, settings.memory), options);
}

Result<std::vector<te::Array>> interpreted(LoadedModel& model, std::optional<std::vector<te::Array>> arrays,
                                           const RunOptions& options) {
  if (!arrays) {
    TRY(const GraphMemory needed, in_file(memory_to_interpret(model.graph), options));
    TRY_VOID(in_file(check_fits(needed, options.memory_limit(), "interpreting it"), options));
    TRY(arrays, inputs_of(model.graph, options));
  }
  return in_file(interpret(model.graph, *arrays, {.threads = options.thread_count(), .memory = options.memory_limit()}),
                 options);
}

Result<std::vector<te::Array>> outputs_of(LoadedModel& model, const RunOptions& options) {
  // Files may bind dims, so they are read first; inputs are made when it is known that all of it fits.
  std::optional<std::vector<te::Array>> arrays;
  if (options.inputs.files.empty()) {
    TRY_VOID(bind_free_dims(model.graph, options.file, options));
  } else {
    TRY(arrays, inputs_of(model.graph, options));
  }
  if (options.interpret) return interpreted(model, std::move(arrays), options);
  TRY(const auto session, session_of(model, options));
  if (!session) return interpreted(model, std::move(arrays), options);
  if (!arrays) {
    TRY_VOID(check_run_fits(*session, options));
    TRY(arrays, inputs_of(model.graph, options));
  }
  return in_file(search::run_artifact(*session, *arrays), options);
}

Result<Ran> run_model_file(const RunOptions& options) {
  TRY(LoadedModel model, load_model(options.file, options));
  const std::vector<fs::path> places = places_of(options.save_outputs, model.graph.outputs().size());
  TRY_VOID(check_places(places, options));
  TRY_VOID(check_apart(model, options.file, places));
  TRY(std::vector<te::Array> outputs, outputs_of(model, options));
  return Ran{std::move(model.graph), std::move(outputs)};
}

Result<Ran> run_artifact_file(const RunOptions& options) {
  TRY(LoadedArtifact artifact, load_artifact(options.file, options, {}, {}, options.inputs));
  TRY_VOID(check_places(places_of(options.save_outputs, artifact.interface.outputs().size()), options));
  TRY_VOID(check_run_fits(*artifact.session, options));
  TRY(const std::vector<te::Array> arrays, inputs_of(artifact.interface, options, artifact.demands));
  TRY(std::vector<te::Array> outputs, in_file(search::run_artifact(*artifact.session, arrays), options));
  return Ran{std::move(artifact.interface), std::move(outputs)};
}

Result<void> run(const RunOptions& options) {
  const char* of_models = options.interpret                 ? "--interpret"
                          : options.choices.tf32            ? "--tf32"
                          : options.choices.target != "cpu" ? "--target"
                                                            : nullptr;
  if (of_models && is_artifact(options.file))
    return Error{ErrorKind::kUsage, of_models, "a model expected, '" + options.file + "' is compiled already"};
  for (const char* ending : {".npy", ".pb"})
    if (has_ending(options.save_outputs, ending))
      return Error{ErrorKind::kUsage, "--save-outputs",
                   "a folder or FILE.npz expected, '" + options.save_outputs + "' found"};
  TRY(const Ran ran, is_artifact(options.file) ? run_artifact_file(options) : run_model_file(options));
  const Graph& graph = ran.graph;
  std::vector<Output> outputs;
  for (size_t i = 0; i < ran.outputs.size(); ++i) {
    const Value& value = graph.value(graph.outputs()[i]);
    outputs.push_back({value.name, value.type, ran.outputs[i]});
  }
  std::optional<StagingFolder> saved;
  if (!options.save_outputs.empty()) {
    TRY(StagingFolder staging, save(options.save_outputs, outputs));
    saved.emplace(std::move(staging));
  }
  TRY_VOID(print_results([&] { print(outputs, options); }));
  return saved ? saved->release() : Result<void>();
}

}  // namespace

void add_run(CLI::App& app, int& exit) {
  auto options = std::make_shared<RunOptions>();
  CLI::App* command = app.add_subcommand("run", "Run a model on given or seeded inputs");
  command->add_option("FILE", options->file, "The model")->required();
  command->add_option("--save-outputs", options->save_outputs, "A folder (output_0.pb, …) or FILE.npz");
  command->add_flag("--interpret", options->interpret,
                    "Run a model in the double-precision interpreter, not as machine code");
  add_target_options(*command, options->choices);
  options->add_to(*command);
  options->inputs.add_to(*command);
  command->callback([options, &exit] {
    const auto done = run(*options);
    exit = done.ok() ? kDone : report(done.error());
  });
}

}  // namespace isomer::cli
