#include "substitutions/verify_files.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "graph/bind.h"
#include "graph/equal.h"
#include "graph/hash.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "util/file.h"
#include "util/temporary_folder.h"

namespace isomer::substitutions {
namespace {

namespace fs = std::filesystem;

template <class... Args>
Error mismatch(std::string where, fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kMismatch, std::move(where), fmt::format(format, std::forward<Args>(args)...)};
}

Result<Derivation> read_proof(const fs::path& file, std::span<const verify::StatedAxiom> axioms) {
  constexpr size_t kMostBytes = size_t{1} << 28;
  auto mapped = MappedFile::open(file);
  if (!mapped.ok()) return std::move(mapped).error().within(file.string());
  const std::span<const std::byte> bytes = (*mapped)->bytes();
  if (bytes.size() > kMostBytes)
    return invalid(file.string(), "a proof of at most {} bytes expected, {} found", kMostBytes, bytes.size());
  auto parsed = parse_derivation({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, axioms);
  if (!parsed.ok()) return std::move(parsed).error().within(file.string());
  return parsed;
}

Result<Graph> read_model(const fs::path& file) {
  auto graph = import_model(file);
  if (!graph.ok()) return std::move(graph).error().within(file.string());
  return graph;
}

std::string size_text(int64_t size) { return fmt::format("{}", size); }
std::string size_text(const Dims& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

/// What is granted without what the proof needs of it; an error where it needs more. `form`: how a command grants it.
template <class Named>
Result<Named> left_open(Named granted, const Named& needed, std::string_view form, const std::string& proof) {
  for (const auto& [name, size] : needed) {
    const auto found = granted.find(name);
    if (found == granted.end() || found->second != size) {
      const std::string expected = found == granted.end() ? "of any size" : size_text(found->second);
      return mismatch(proof, "a proof for '{}' {} expected, one for {} found ({} grants it)", name, expected,
                      size_text(size), fmt::format(fmt::runtime(form), name, size_text(size)));
    }
    granted.erase(found);
  }
  return granted;
}

/// The input with the dims bound that the proof names.
Result<Graph> bound_input(const ModelFiles& files, const Derivation& derivation) {
  TRY(Graph graph, read_model(files.input));
  const std::string proof = files.proof.string(), input = files.input.string();
  if (const auto bound = bind_inputs(graph, derivation.dims, derivation.shapes); !bound.ok())
    return mismatch(proof, "a proof of {} expected, one of a model with other dims found: {}", input,
                    bound.error().message());
  if (structural_hash(graph) != derivation.input)
    return mismatch(proof, "a proof of {} expected, one of another model found", input);
  return graph;
}

/// A graph as a reader of its file has it.
Result<Graph> as_written(const Graph& graph) {
  TRY(const TemporaryFolder folder, TemporaryFolder::in_system_folder());
  const fs::path file = folder.path() / "derived.onnx";
  TRY_VOID(export_model(graph, file));
  return import_model(file);
}

struct Port {
  std::string kind, name;
  ValueType type;
  std::optional<ValueType> declared;
  bool operator==(const Port&) const = default;
  std::string text() const { return fmt::format("{} {} of type {}", kind, name, type.text()); }
};

std::vector<Port> ports(const Graph& graph) {
  std::vector<Port> result;
  const auto add = [&](std::string_view kind, const std::vector<ValueId>& values) {
    for (const ValueId id : values)
      result.push_back({std::string(kind), graph.value(id).name, graph.value(id).type, graph.value(id).declared});
  };
  add("input", graph.inputs());
  add("output", graph.outputs());
  return result;
}

/// The model that was derived is the one in the file, but for what nobody computes with: names within, texts.
Result<void> check_is_derived(const Graph& derived, const Graph& found, const std::string& file) {
  const std::vector<Port> expected_ports = ports(derived), found_ports = ports(found);
  if (expected_ports.size() != found_ports.size())
    return mismatch(file, "{} inputs and outputs expected, {} found", expected_ports.size(), found_ports.size());
  for (size_t k = 0; k < expected_ports.size(); ++k)
    if (expected_ports[k] != found_ports[k])
      return mismatch(file, "{} expected, {} found", expected_ports[k].text(), found_ports[k].text());
  if (derived.info().opsets != found.info().opsets)
    return mismatch(file, "the operator sets of the input expected, others found");
  if (const auto place = difference(derived, found))
    return mismatch(file, "the model that the proof makes of the input expected, another found ({})", *place);
  return {};
}

Result<void> check_interface(const Graph& before, const Graph& after, const std::string& file) {
  const std::vector<Port> expected = ports(before), found = ports(after);
  const bool is_same = std::equal(expected.begin(), expected.end(), found.begin(), found.end(),
                                  [](const Port& a, const Port& b) { return a.kind == b.kind && a.name == b.name; });
  if (!is_same) return mismatch(file, "the inputs and outputs of the model expected, others found");
  return {};
}

}  // namespace

Result<Verified> verify_files(const ModelFiles& files, const VerifyOptions& options) {
  Theory theory;
  Verified result;
  const std::string proof = files.proof.string(), output = files.output.string();
  TRY(result.derivation, read_proof(files.proof, theory.axioms()));
  if (result.derivation.fp > options.fp)
    return mismatch(proof, "a proof of --fp {} expected, one of --fp {} found", name(options.fp),
                    name(result.derivation.fp));
  TRY(const auto dims, left_open(options.dims, result.derivation.dims, "--dim {}={}", proof));
  TRY(const auto shapes, left_open(options.shapes, result.derivation.shapes, "--input-shapes {}:{}", proof));
  TRY(Graph input, bound_input(files, result.derivation));
  TRY(Graph found, read_model(files.output));
  auto made = derived(input, result.derivation, theory, {.threads = options.check.threads, .log = options.log});
  if (!made.ok()) return std::move(made).error().within(proof);
  result.derived = *std::move(made);
  if (structural_hash(result.derived.graph) != result.derivation.output)
    return mismatch(proof,
                    "the model that it was written for expected, its steps make another (passes of another version, a "
                    "changed proof)");
  TRY(const Graph written, as_written(result.derived.graph));
  TRY_VOID(check_is_derived(written, found, output));
  TRY_VOID(check_interface(input, found, output));
  if (options.check.runs == 0) return result;
  for (Graph* graph : {&input, &found}) TRY_VOID(bind_inputs(*graph, dims, shapes));
  TRY(result.check, check_same(input, found, options.check));
  if (const auto& difference = result.check->equivalence.difference) return mismatch(output, "{}", difference->text());
  return result;
}

}  // namespace isomer::substitutions
