#include "suite/case.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>

#include "graph/infer.h"
#include "graph/interpret.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/onnx/value_file.h"
#include "graph/passes/pipeline.h"

namespace isomer::suite {
namespace {

namespace fs = std::filesystem;

struct Tolerance {
  double relative = 1e-3, absolute = 1e-7;
  /// Two steps of a narrow type, as ONNX's own runner takes them for the same.
  double relative_for(DataType dtype) const {
    return dtype == DataType::kBFloat16 ? std::max(relative, 0x1p-6) : relative;
  }
};

Tolerance tolerance_of(const fs::path& folder) {
  Tolerance tolerance;
  std::ifstream file(folder / "data.json");
  if (!file) return tolerance;
  const auto json = nlohmann::json::parse(file);
  tolerance.relative = json.value("rtol", tolerance.relative);
  tolerance.absolute = json.value("atol", tolerance.absolute);
  return tolerance;
}

std::vector<fs::path> data_sets(const fs::path& folder) {
  std::vector<fs::path> sets;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.is_directory() && entry.path().filename().string().starts_with("test_data_set_"))
      sets.push_back(entry.path());
  std::sort(sets.begin(), sets.end());
  return sets;
}

/// prefix_0.pb, prefix_1.pb, … of a data set.
std::vector<fs::path> numbered(const fs::path& folder, std::string_view prefix) {
  std::vector<fs::path> files;
  for (int i = 0;; ++i) {
    fs::path file = folder / fmt::format("{}_{}.pb", prefix, i);
    if (!fs::exists(file)) return files;
    files.push_back(std::move(file));
  }
}

Result<te::Array> read_value(const Graph& graph, ValueId id, const fs::path& file) {
  const Value& value = graph.value(id);
  if (value.type.kind == ValueType::Kind::kOther) {
    auto other = read_value_file(file, value.type);
    if (!other.ok()) return std::move(other).error().within(value.name);
    return other;
  }
  auto tensor = read_tensor_file(file);
  if (!tensor.ok()) return std::move(tensor).error().within(file.filename().string());
  // Older suites stored bfloat16 as the uint16 of the same bits.
  if (value.type.dtype == DataType::kBFloat16 && tensor->dtype() == DataType::kUInt16) {
    const auto bytes = tensor->bytes();
    return te::Array::from(
        Tensor(DataType::kBFloat16, tensor->dims(), std::vector<std::byte>(bytes.begin(), bytes.end())));
  }
  if (!is_computable(tensor->dtype()))
    return unsupported(value.name, "numbers expected, {} found", isomer::name(tensor->dtype()));
  return te::Array::from(*tensor);
}

/// Arrays in the order of the graph's inputs. Files give the inputs without default, or all; where they have another
/// shape than the model declares (some of the older cases do), the graph takes theirs.
Result<std::vector<te::Array>> read_inputs(Graph& graph, const fs::path& folder) {
  const std::vector<fs::path> files = numbered(folder, "input");
  std::vector<te::Array> arrays(graph.inputs().size());
  const auto has_default = [&](ValueId id) { return graph.value(id).constant.has_value(); };
  const bool all = files.size() >= graph.inputs().size();
  size_t next = 0;
  for (size_t i = 0; i < graph.inputs().size() && next < files.size(); ++i) {
    const ValueId input = graph.inputs()[i];
    if (!all && has_default(input)) continue;
    TRY(arrays[i], read_value(graph, input, files[next++]));
    const Shape shape(arrays[i].dims().begin(), arrays[i].dims().end());
    if (graph.value(input).type.shape && constants(*graph.value(input).type.shape))
      graph.edit(input).type.shape = shape;
  }
  TRY_VOID(infer(graph));
  return arrays;
}

bool is_close(double found, double expected, double relative, double absolute) {
  if (std::isnan(expected) || std::isnan(found)) return std::isnan(expected) && std::isnan(found);
  if (std::isinf(expected) || std::isinf(found)) return expected == found;
  return std::abs(found - expected) <= absolute + relative * std::abs(expected);
}

/// Where an output differs; empty where it doesn't.
std::string difference(const Tensor& found, const Tensor& expected, const Tolerance& tolerance) {
  if (found.dtype() != expected.dtype() || found.dims() != expected.dims())
    return fmt::format("{}{} expected, {}{} found", name(expected.dtype()), expected.dims(), name(found.dtype()),
                       found.dims());
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double relative = tolerance.relative_for(expected.dtype());
    if (is_float(expected.dtype()) && !is_close(found.real(i), expected.real(i), relative, tolerance.absolute))
      return fmt::format("element {}: {} expected, {} found", i, expected.real(i), found.real(i));
    if (!is_float(expected.dtype()) && found.integer(i) != expected.integer(i))
      return fmt::format("element {}: {} expected, {} found", i, expected.integer(i), found.integer(i));
  }
  return {};
}

/// The same of any values.
std::string difference(const te::Array& found, const te::Array& expected, const Tolerance& tolerance) {
  if (found.is_tensor() && expected.is_tensor())
    return difference(te::to_tensor(found), te::to_tensor(expected), tolerance);
  if (found.is_none() || expected.is_none())
    return found.is_none() == expected.is_none() ? "" : "an optional with a value and one without";
  const auto *ours = found.sequence_elements(), *theirs = expected.sequence_elements();
  if (!ours || !theirs) return "a sequence and a tensor";
  if (ours->size() != theirs->size())
    return fmt::format("{} elements expected, {} found", theirs->size(), ours->size());
  for (size_t k = 0; k < ours->size(); ++k)
    if (std::string differs = difference((*ours)[k], (*theirs)[k], tolerance); !differs.empty())
      return fmt::format("element {} of the sequence: {}", k, differs);
  return {};
}

Outcome failure(const Error& error) {
  return {error.kind == ErrorKind::kUnsupported ? Verdict::kUnsupported : Verdict::kError, error.message(), {}};
}

Outcome run_data_set(Graph graph, const fs::path& folder, const Tolerance& tolerance, const RunOptions& options) {
  const auto inputs = read_inputs(graph, folder);
  if (!inputs.ok()) return failure(inputs.error());
  const std::vector<fs::path> files = numbered(folder, "output");
  // Expected outputs were computed in the types of the model: a value that is rounded to an integer later may be a tie
  // only once it is a float32.
  const auto outputs =
      options.run ? options.run(graph, *inputs)
                  : interpret(graph, *inputs, {.threads = options.threads, .round_values = true, .observe = nullptr});
  if (!outputs.ok()) return failure(outputs.error());
  if (outputs->size() != files.size()) return {Verdict::kWrong, fmt::format("{} outputs expected", files.size()), {}};
  for (size_t i = 0; i < files.size(); ++i) {
    const auto expected = read_value(graph, graph.outputs()[i], files[i]);
    if (!expected.ok()) return failure(expected.error());
    const std::string differs = difference((*outputs)[i], *expected, tolerance);
    if (!differs.empty())
      return {Verdict::kWrong, fmt::format("{}: {}", graph.value(graph.outputs()[i]).name, differs), {}};
  }
  return {};
}

/// A file that is gone in the end.
struct TemporaryFile {
  fs::path path = fs::temp_directory_path() /
                  fmt::format("onnx_suite_{}_{}.onnx", static_cast<long>(getpid()), static_cast<const void*>(this));
  TemporaryFile() = default;
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

Result<Graph> optimized(Graph graph) {
  const TemporaryFile file;
  const auto report = optimize(graph, {});
  if (!report.ok()) return std::move(report).error();
  TRY_VOID(export_model(graph, file.path));
  return import_model(file.path);
}

Outcome run(const Case& test, const RunOptions& options, ImportReport& report) {
  auto graph = import_model(test.folder / "model.onnx", {.limits = {}, .folder = {}, .report = &report});
  if (!graph.ok()) return failure(graph.error());
  if (options.optimize) {
    graph = optimized(std::move(*graph));
    if (!graph.ok()) return failure(graph.error());
  }
  const Tolerance tolerance = tolerance_of(test.folder);
  for (const fs::path& folder : data_sets(test.folder))
    if (Outcome outcome = run_data_set(*graph, folder, tolerance, options); outcome.verdict != Verdict::kPass)
      return outcome;
  return {};
}

std::string only_operator(const ImportReport& report) {
  std::string only;
  for (const auto& [type, count] : report.operators) {
    if (type == "Constant" && report.operators.size() > 1) continue;
    if (!only.empty()) return "(several)";
    only = type;
  }
  return only.empty() ? "(none)" : only;
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass: return "pass";
    case Verdict::kWrong: return "wrong";
    case Verdict::kUnsupported: return "unsupported";
    case Verdict::kError: return "error";
  }
  return {};
}

std::vector<Case> find_cases(const fs::path& root) {
  std::vector<Case> cases;
  const auto add = [&](const fs::path& folder) {
    if (!fs::exists(folder / "model.onnx")) return false;
    cases.push_back({fs::relative(folder, root).string(), folder});
    return true;
  };
  for (const auto& entry : fs::directory_iterator(root)) {
    if (!entry.is_directory() || add(entry.path())) continue;
    for (const auto& inner : fs::directory_iterator(entry.path()))
      if (inner.is_directory()) add(inner.path());
  }
  std::sort(cases.begin(), cases.end(), [](const Case& a, const Case& b) { return a.name < b.name; });
  return cases;
}

Outcome run_case(const Case& test, const RunOptions& options) {
  ImportReport report;
  Outcome outcome;
  try {
    outcome = run(test, options, report);
  } catch (const std::exception& bug) {
    outcome = {Verdict::kError, bug.what(), {}};
  }
  outcome.operator_type = only_operator(report);
  return outcome;
}

}  // namespace isomer::suite
