// Graphs and rules for the tests of matching and rewriting.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "graph/edit.h"
#include "graph/text.h"
#include "substitutions/rewrite/apply.h"
#include "util/random.h"

namespace isomer::substitutions::test {

inline Graph graph(std::string_view body) {
  auto parsed = parse_graph("opset 22\n" + std::string(body));
  CHECK(parsed.ok()) << parsed.error().message();
  return *std::move(parsed);
}

inline Program program(const Graph& graph, Theory& theory) {
  auto made = program_of(graph, theory);
  CHECK(made.ok()) << made.error().message();
  return *std::move(made);
}

inline Graph written(const Program& program) {
  auto made = graph_of(program);
  CHECK(made.ok()) << made.error().message();
  return *std::move(made);
}

/// The laws of this text, as rules.
inline std::vector<Rule> laws(const Theory& theory, const std::set<std::string>& texts) {
  std::vector<Rule> rules;
  for (size_t k = 0; k < theory.axioms().size(); ++k)
    if (texts.contains(std::string(theory.axioms()[k].axiom->law)))
      rules.push_back(rule_of(static_cast<int>(k), theory.axioms()));
  CHECK(rules.size() == texts.size()) << "laws of these texts expected";
  return rules;
}

/// Operators of the program, sorted.
inline std::vector<std::string> operators(const Program& program) {
  std::vector<std::string> result;
  for (int id = 0; id < program.application_count(); ++id)
    if (program.contains(id)) result.emplace_back(program.op(id) ? program.op(id)->name : "opaque");
  std::sort(result.begin(), result.end());
  return result;
}

/// A graph of the operators that rules are about, on few shapes, so that much of it can be rewritten.
inline Graph dense_graph(uint64_t seed) {
  Random random(seed);
  Graph graph;
  graph.name = "g";
  graph.edit_info().ir_version = 10;
  graph.edit_info().opsets[""] = 22;
  std::vector<ValueId> known, inputs;
  const bool image = random.chance(0.4);
  const std::vector<Shape> shapes =
      image ? std::vector<Shape>{{1, 2, 4, 4}, {1, 2, 4, 4}} : std::vector<Shape>{{2, 4}, {2, 4}, {4, 4}};
  for (const Shape& shape : shapes) {
    Value value;
    value.name = graph.fresh_name("x");
    value.type = ValueType::tensor(DataType::kFloat32, shape);
    value.declared = value.type;
    inputs.push_back(graph.add_value(std::move(value)));
  }
  graph.set_inputs(inputs);
  known = inputs;
  const auto weights = [&](Dims dims) {
    std::vector<double> elements;
    for (int64_t k = 0; k < element_count(dims); ++k)
      elements.push_back(static_cast<double>(random.between(-8, 8)) / 8);
    return graph.add_constant(Tensor::from_doubles(DataType::kFloat32, dims, elements), graph.fresh_name("w"));
  };
  for (int k = 0; k < 2; ++k) known.push_back(weights(image ? Dims{2, 2, 3, 3} : Dims{4, 4}));
  if (image) known.push_back(weights({2, 1, 3, 3}));
  known.push_back(graph.add_constant(Tensor::scalar(DataType::kFloat32, 0), graph.fresh_name("zero")));
  const auto any = [&] { return known[random.below(known.size())]; };
  const auto pads = std::vector<int64_t>{1, 1, 1, 1};
  const int nodes = static_cast<int>(random.between(4, 14));
  for (int attempt = 0; attempt < 40 * nodes && graph.node_count() < nodes; ++attempt) {
    const auto choice = random.below(image ? 8 : 9);
    // Before the operands: compilers evaluate the arguments of a call in orders of their own.
    const int64_t axis = choice == 4 ? random.between(0, 1) : 0;
    const int64_t group = image && (choice == 5 || choice == 6) ? random.between(1, 2) : 1;
    const Graph::Mark mark = graph.mark();
    Result<ValueId> made = Error{};
    if (choice == 0) made = emit(graph, "Relu", {any()}, {}, "r");
    if (choice == 1) made = emit(graph, "Add", {any(), any()}, {}, "a");
    if (choice == 2) made = emit(graph, "Mul", {any(), any()}, {}, "m");
    if (choice == 3) made = emit(graph, "Max", {any(), any()}, {}, "x");
    if (choice == 4) made = emit(graph, "Concat", {any(), any()}, {{"axis", Attribute(axis)}}, "c");
    if (choice == 5 || choice == 6) {
      if (image)
        made = emit(graph, "Conv", {any(), any()}, {{"pads", Attribute(pads)}, {"group", Attribute(group)}}, "v");
      else
        made = emit(graph, "MatMul", {any(), any()}, {}, "p");
    }
    if (choice == 7) made = emit(graph, "Sigmoid", {any()}, {}, "s");
    if (choice == 8) made = emit(graph, "Transpose", {any()}, {{"perm", Attribute(std::vector<int64_t>{1, 0})}}, "t");
    if (!made.ok()) {
      graph.roll_back(mark);
      continue;
    }
    const auto elements = element_count(*graph.value(*made).type.shape).constant();
    if (elements && *elements <= 256) known.push_back(*made);
  }
  std::vector<ValueId> outputs;
  const std::vector<int> uses = graph.use_counts();
  for (const NodeId id : graph.nodes())
    for (const ValueId output : graph.node(id).outputs)
      if (uses[static_cast<size_t>(output.index)] == 0 || random.chance(0.1)) outputs.push_back(output);
  for (const ValueId output : outputs) graph.edit(output).declared = graph.value(output).type;
  graph.set_outputs(outputs);
  return graph;
}

}  // namespace isomer::substitutions::test
