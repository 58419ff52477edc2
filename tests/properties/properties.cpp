#include "properties/properties.h"

#include <fmt/format.h>

#include <cmath>

#include "graph/algorithms.h"
#include "graph/edit.h"
#include "graph/hash.h"
#include "graph/infer.h"
#include "graph/interpret.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/passes/pipeline.h"
#include "graph/shuffle.h"
#include "graph/te/algebra_floating.h"
#include "graph/te/evaluate.h"
#include "graph/te/interpret.h"
#include "graph/text.h"
#include "passes/all_passes.h"
#include "properties/mutate.h"
#include "support/files.h"

namespace isomer::test {
namespace {

// (a) The interpreter does what the definition of its language says.

using Reference = te::ValuesOver<te::DoubleAlgebra>;

std::string unlike(const Reference& expected, const te::Array& found, double allowed) {
  if (expected.dtype == DataType::kUndefined) return found.empty() ? "" : "an output that is absent";
  if (found.dtype() != expected.dtype || found.dims() != expected.dims) return "another type";
  double scale = 1;
  for (const auto& element : expected.elements)
    if (const double* real = std::get_if<double>(&element); real && std::isfinite(*real))
      scale = std::max(scale, std::fabs(*real));
  for (int64_t i = 0; i < found.count(); ++i) {
    const auto& element = expected.elements[i];
    if (is_float(found.dtype())) {
      const double x = std::get<double>(element), y = found.real(i);
      if (!((std::isnan(x) && std::isnan(y)) || x == y || std::fabs(x - y) <= allowed * scale))
        return fmt::format("element {} is {} instead of {}", i, y, x);
    } else if (std::get<int64_t>(element) != found.integer(i)) {
      return fmt::format("element {} is {} instead of {}", i, found.integer(i), std::get<int64_t>(element));
    }
  }
  return "";
}

/// What the order of a sum may change, relative to the largest element: a last place where reals are rounded to a
/// narrower type on the way, anything where they become integers.
double slack(const te::Program& program) {
  double result = 1e-11;
  for (const te::Stage& stage : program.stages)
    if (const auto* body = std::get_if<te::MapReduce>(&stage.body))
      for (const te::Expr& expr : body->bodies)
        te::for_each_node(expr, [&](const te::Expr& e) {
          const te::Cast* cast = te::as<te::Cast>(e);
          if (!cast || !is_float(cast->operand.dtype())) return;
          const DataType to = e.dtype();
          const double unit = !is_float(to)               ? INFINITY
                              : to == DataType::kBFloat16 ? 0x1p-7
                              : to == DataType::kFloat16  ? 0x1p-10
                                                          : 0x1p-23;
          result = std::max(result, to == DataType::kFloat64 ? result : unit);
        });
  return result;
}

std::string evaluated_otherwise(const Graph& graph, NodeId id, const std::map<int32_t, te::Array>& values) {
  const Node& node = graph.node(id);
  const te::Concrete<te::DoubleAlgebra> scalars;
  std::vector<Tensor> tensors(node.inputs.size());
  std::vector<std::optional<Content>> contents(node.inputs.size());
  std::vector<OpContext::Input> formal(node.inputs.size());
  std::vector<Reference> references(node.inputs.size());
  std::vector<const Reference*> given(node.inputs.size());
  std::vector<te::Array> arrays(node.inputs.size());
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].valid()) continue;
    tensors[i] = te::to_tensor(values.at(node.inputs[i].index));
    contents[i] = content_of(tensors[i]);
    const Dims& dims = tensors[i].dims();
    formal[i] = {true, ValueType::tensor(tensors[i].dtype(), Shape(dims.begin(), dims.end())),
                 contents[i] ? &*contents[i] : nullptr, &tensors[i]};
    arrays[i] = te::Array::from(tensors[i]);
    auto reference = te::import_tensor(scalars, tensors[i]);
    if (!reference.ok()) return reference.error().message();
    references[i] = std::move(*reference);
    given[i] = &references[i];
  }
  std::vector<std::string> names;
  for (const ValueId output : node.outputs) names.push_back(output.valid() ? graph.value(output).name : "");
  const OpContext context(*node.op, node.attributes, label(graph, id), std::move(formal), std::move(names));
  if (!infer_types(context).ok()) return "";  // rounding has made another node of it
  const auto program = node.op->compute(context);
  if (!program.ok()) return "";
  const double allowed = slack(*program);
  if (std::isinf(allowed)) return "";
  const auto expected = te::evaluate(*program, scalars, given, {.steps = int64_t{1} << 20});
  const auto found = te::interpret(*program, arrays);
  if (!expected.ok() && expected.error().kind == ErrorKind::kUnsupported) return "";
  if (expected.ok() != found.ok())
    return fmt::format("{}: the evaluator says '{}', the interpreter '{}'", label(graph, id),
                       expected.ok() ? "" : expected.error().message(), found.ok() ? "" : found.error().message());
  for (size_t k = 0; found.ok() && k < found->size(); ++k)
    if (const std::string what = unlike((*expected)[k], (*found)[k], allowed); !what.empty())
      return fmt::format("{}: output {}: {}", label(graph, id), k, what);
  return "";
}

std::string interpreter_is_not_evaluator(const Case& tried) {
  const Sample& sample = tried.sample;
  for (const auto& [inputs, exact, rounded] : tried.runs) {
    std::map<int32_t, te::Array> values;
    for (const ValueId id : sample.graph.values())
      if (const auto& constant = sample.graph.value(id).constant) values[id.index] = te::Array::from(*constant);
    for (size_t i = 0; i < inputs.size(); ++i) values[sample.graph.inputs()[i].index] = inputs[i];
    const auto ran = interpret(sample.graph, inputs,
                               {.observe = [&](ValueId id, const te::Array& array) { values[id.index] = array; }});
    if (!ran.ok()) continue;
    for (const NodeId id : sample.graph.nodes()) {
      const Node& node = sample.graph.node(id);
      const bool known = std::all_of(node.inputs.begin(), node.inputs.end(),
                                     [&](ValueId v) { return !v.valid() || values.contains(v.index); });
      if (!node.op->compute || !known) continue;
      if (const std::string what = evaluated_otherwise(sample.graph, id, values); !what.empty()) return what;
    }
  }
  return "";
}

// (b) Optimization keeps the function, the interface and the size.

std::string interface_change(const Graph& before, const Graph& after) {
  const auto differs = [&](const std::vector<ValueId>& old_ids, const std::vector<ValueId>& new_ids) -> std::string {
    if (old_ids.size() != new_ids.size()) return "another number of inputs or outputs";
    for (size_t i = 0; i < old_ids.size(); ++i) {
      const Value &x = before.value(old_ids[i]), &y = after.value(new_ids[i]);
      if (x.name != y.name) return fmt::format("{} is called {}", x.name, y.name);
      if (x.declared != y.declared) return fmt::format("{} is declared otherwise", x.name);
      if (x.type.dtype != y.type.dtype)
        return fmt::format("{} is {} instead of {}", x.name, y.type.text(), x.type.text());
    }
    return "";
  };
  const std::string inputs = differs(before.inputs(), after.inputs());
  return inputs.empty() ? differs(before.outputs(), after.outputs()) : inputs;
}

/// Inference still accepts the graph.
std::string broken(const Graph& graph) {
  Graph copy = graph;
  if (const auto inferred = infer_all(copy); !inferred.ok())
    return fmt::format("is not valid any more: {}", inferred.error().message());
  for (const NodeId id : copy.nodes())
    if (copy.node(id).is_opaque())
      return fmt::format("{} became opaque: {}", label(copy, id), copy.node(id).opaque_reason);
  return "";
}

/// `difference` or `difference_in_bits`.
using Comparison = std::string (*)(const Case&, const Graph&);

std::string changed(const Case& tried, const Graph& after, Comparison compare) {
  std::string what = interface_change(tried.sample.graph, after);
  if (what.empty()) what = broken(after);
  if (what.empty()) what = compare(tried, after);
  return what.empty() ? "" : fmt::format("{}\nbecame\n{}", what, print_graph(after));
}

std::string skipped(const OptimizeReport& report) { return report.skipped.empty() ? "" : report.skipped[0]; }

std::string exact_optimization_changes_bits(const Case& tried) {
  Graph graph = tried.sample.graph;
  const auto report = optimize(graph, {.level = 1});
  if (!report.ok()) return report.error().message();
  if (!skipped(*report).empty()) return skipped(*report);
  return changed(tried, graph, difference_in_bits);
}

/// Of all constants, equal ones each.
int64_t stored_bytes(const Graph& graph) {
  int64_t bytes = 0;
  for (const ValueId id : graph.values())
    if (const auto& constant = graph.value(id).constant) bytes += static_cast<int64_t>(constant->bytes().size());
  return bytes;
}

std::string growth(const Graph& before, const Graph& after, int64_t allowed) {
  const int nodes = count_nodes(before), nodes_after = count_nodes(after);
  if (nodes_after > nodes) return fmt::format("{} nodes became {}\n{}", nodes, nodes_after, print_graph(after));
  const int64_t bytes = std::max(count_bytes(before), stored_bytes(before)), bytes_after = count_bytes(after);
  if (bytes_after > bytes + allowed)
    return fmt::format("{} bytes of weights became {}\n{}", bytes, bytes_after, print_graph(after));
  return "";
}

std::string optimization_is_wrong(const Case& tried) {
  const PassOptions options;
  Graph graph = tried.sample.graph;
  const auto report = optimize(graph, options);
  if (!report.ok()) return report.error().message();
  if (!skipped(*report).empty()) return skipped(*report);
  std::string what = changed(tried, graph, difference);
  if (what.empty()) what = growth(tried.sample.graph, graph, options.max_growth);
  if (!what.empty()) return what;
  Graph twice = graph;
  if (const auto again = optimize(twice, options); !again.ok()) return again.error().message();
  if (count_nodes(graph) == count_nodes(twice)) return "";
  return fmt::format("{} nodes, then {}\n{}then\n{}", count_nodes(graph), count_nodes(twice), print_graph(graph),
                     print_graph(twice));
}

/// Where constants must not grow, only shapes and scalars do.
std::string optimization_without_growth_grows(const Case& tried) {
  if (tried.seed % 4 != 0) return "";
  Graph graph = tried.sample.graph;
  if (const auto report = optimize(graph, {.small_constant = 0, .max_growth = 0}); !report.ok())
    return report.error().message();
  return growth(tried.sample.graph, graph, 1024);
}

std::string canonical_form_changes_the_function(const Case& tried) {
  Graph graph = tried.sample.graph;
  const auto report = canonicalize(graph, {});
  if (!report.ok()) return report.error().message();
  if (!skipped(*report).empty()) return skipped(*report);
  return changed(tried, graph, difference);
}

std::string a_pass_changes_the_function(const Case& tried) {
  for (const auto& [name, pass] : all_passes()) {
    Graph graph = tried.sample.graph;
    if (const auto inferred = infer_all(graph); !inferred.ok()) return inferred.error().message();
    const PassOptions options;
    std::vector<OptimizeStep> steps;
    PassContext context(options, steps);
    context.set_growth_left(options.max_growth);
    const auto done = pass(graph, context);
    if (!done.ok()) return fmt::format("{}: {}", name, done.error().message());
    if (*done == 0) continue;
    if (const std::string what = changed(tried, graph, difference); !what.empty())
      return fmt::format("{}: {}", name, what);
  }
  return "";
}

// (c) Text and files say all of it.

std::string text_is_another_graph(const Case& tried) {
  const std::string text = print_graph(tried.sample.graph);
  const auto parsed = parse_graph(text, long_constants(tried.sample.graph));
  if (!parsed.ok()) return parsed.error().message();
  if (structural_hash(*parsed) != structural_hash(tried.sample.graph)) return "another hash";
  const std::string again = print_graph(*parsed);
  return again == text ? "" : fmt::format("printed again it is\n{}", again);
}

std::string file_is_another_graph(const Case& tried) {
  const ScratchFolder folder("/dev/shm");
  const auto file = folder.path() / "model.onnx";
  if (const auto written = export_model(tried.sample.graph, file); !written.ok()) return written.error().message();
  auto read = import_model(file);
  if (!read.ok()) return read.error().message();
  // Constants in nodes come back as values.
  const bool same = structural_hash(*read) == structural_hash(tried.sample.graph);
  bool has_constants = false;
  for (const NodeId id : tried.sample.graph.nodes())
    has_constants = has_constants || tried.sample.graph.node(id).op_type == "Constant";
  if (!same && !has_constants) return fmt::format("read again it is\n{}", print_graph(*read));
  return changed(tried, *read, difference_in_bits);
}

// (d) The hash sees the structure and nothing else.

std::string hash_sees_names(const Case& tried) {
  const Graph other = shuffled(tried.sample.graph, tried.seed);
  return structural_hash(other) == structural_hash(tried.sample.graph)
             ? ""
             : fmt::format("shuffled it is\n{}", print_graph(other));
}

std::string hash_misses_a_change(const Case& tried) {
  Random random(tried.seed);
  for (int k = 0; k < 5; ++k) {
    const std::optional<Mutant> mutant = mutated(tried.sample.graph, random);
    if (mutant && structural_hash(mutant->graph) == structural_hash(tried.sample.graph)) return mutant->change;
  }
  return "";
}

}  // namespace

const std::vector<Property>& properties() {
  static const std::vector<Property> all = {
      {"interpreter is not evaluator", interpreter_is_not_evaluator},
      {"exact optimization changes bits", exact_optimization_changes_bits},
      {"optimization is wrong", optimization_is_wrong},
      {"canonical form changes the function", canonical_form_changes_the_function},
      {"optimization without growth grows", optimization_without_growth_grows},
      {"a pass changes the function", a_pass_changes_the_function},
      {"text is another graph", text_is_another_graph},
      {"file is another graph", file_is_another_graph},
      {"hash sees names", hash_sees_names},
      {"hash misses a change", hash_misses_a_change},
  };
  return all;
}

}  // namespace isomer::test
