// Every row on random nodes: inferred types are the evaluated ones, also for symbolic dims at several bindings;
// contents that inference claims are the values; dims are unknown only where data decide; every type, attribute,
// optional input and output is reached; expansions mean the same. Independent references are in reference_test.cpp.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/infer.h"
#include "graph/interpret.h"
#include "graph/node_form.h"
#include "ops/instance.h"
#include "support/long_run.h"
#include "util/hash.h"

namespace isomer::test {
namespace {

using Bindings = std::map<std::string, int64_t>;

/// The dim under the bindings; nothing where it has other symbols.
std::optional<int64_t> evaluate(const Dim& dim, const Bindings& bindings) {
  const Dim bound(te::transform(dim.expr(), [&](const te::Expr& e) {
    const te::Symbol* symbol = te::as<te::Symbol>(e);
    const auto found = symbol ? bindings.find(symbol->name) : bindings.end();
    return found == bindings.end() ? te::Expr() : te::index(found->second);
  }));
  return bound.constant();
}

/// Types of the outputs, or the error; unsupported where inference made the node opaque.
Result<std::vector<ValueType>> infer_outputs(Graph& graph) {
  TRY_VOID(infer(graph));
  const NodeId node = graph.nodes().front();
  if (graph.node(node).is_opaque()) return unsupported("node", "{}", graph.node(node).opaque_reason);
  std::vector<ValueType> types;
  for (const ValueId output : graph.outputs()) types.push_back(graph.value(output).type);
  return types;
}

std::vector<te::Array> arrays_of(const Instance& instance) {
  std::vector<te::Array> arrays;
  for (const Instance::Input& input : instance.inputs)
    if (input.present && !input.constant) arrays.push_back(te::Array::from(input.tensor));
  return arrays;
}

/// Data decide shapes here.
bool has_unknown_sizes(const Instance& instance) {
  return std::any_of(instance.inputs.begin(), instance.inputs.end(),
                     [](const Instance::Input& input) { return input.present && input.fixed && !input.constant; });
}

/// What a row has been shown.
struct Coverage {
  int valid = 0, invalid = 0, bindings = 0;
  std::map<std::string_view, std::set<DataType>> types;
  std::set<std::string_view> attributes;
  std::set<size_t> present, absent, outputs;
  void add(const Instance& instance);
};

void Coverage::add(const Instance& instance) {
  ++valid;
  for (size_t i = 0; i < instance.op->inputs.size(); ++i) {
    const bool given = i < instance.inputs.size() && instance.inputs[i].present;
    (given ? present : absent).insert(i);
    if (given) types[instance.op->inputs[i].type].insert(instance.inputs[i].tensor.dtype());
  }
  for (size_t i = instance.op->inputs.size(); i < instance.inputs.size(); ++i)  // more of a variadic one
    if (instance.inputs[i].present) types[instance.op->inputs.back().type].insert(instance.inputs[i].tensor.dtype());
  for (const AttributeDef& attribute : instance.op->attributes)
    if (instance.attributes.contains(attribute.name)) attributes.insert(attribute.name);
  for (size_t i = 0; i < instance.outputs.size(); ++i)
    if (instance.outputs[i]) outputs.insert(i);
}

class Sweep : public testing::TestWithParam<const OpDef*> {
 protected:
  const OpDef& op() const { return *GetParam(); }
  Coverage coverage_;

  void check_values(const Graph& graph, const Instance& instance, const std::vector<ValueType>& types);
  void check_symbolic(const Instance& instance, Random& random);
  void check_binding(const Instance& instance, const Graph& symbolic, const Bindings& bindings,
                     const std::map<int64_t, std::string>& symbols, bool original);
  void check_expansion(const Graph& graph, const Instance& instance);
};

/// Shapes, types and contents of what is computed are the inferred ones.
void Sweep::check_values(const Graph& graph, const Instance& instance, const std::vector<ValueType>& types) {
  const auto outputs = interpret(graph, arrays_of(instance), {});
  ASSERT_TRUE(outputs.ok()) << outputs.error().message();
  ASSERT_EQ(outputs->size(), types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    const te::Array& found = (*outputs)[i];
    ASSERT_EQ(types[i].dtype, found.dtype()) << "output " << i;
    if (!types[i].shape) continue;
    ASSERT_EQ(types[i].shape->size(), found.dims().size()) << "output " << i;
    for (size_t k = 0; k < found.dims().size(); ++k) {
      const Dim& dim = (*types[i].shape)[k];
      if (!dim.is_constant()) continue;
      ASSERT_EQ(dim.value(), found.dims()[k]) << "output " << i << " axis " << k;
    }
    const auto& content = graph.value(graph.outputs()[i]).content;
    for (size_t k = 0; content && k < content->size(); ++k) {
      const auto& element = (*content)[k];
      if (!element || !element->is_constant()) continue;
      ASSERT_EQ(static_cast<double>(element->value()), found.as_double(static_cast<int64_t>(k)))
          << "output " << i << " element " << k;
    }
  }
}

/// What inference says of symbolic inputs is, under the bindings, what it says of inputs with these dims.
void Sweep::check_binding(const Instance& instance, const Graph& symbolic, const Bindings& bindings,
                          const std::map<int64_t, std::string>& symbols, bool original) {
  Graph concrete = graph_of(instance, [&](size_t input, size_t axis) {
    const int64_t dim = instance.inputs[input].tensor.dims()[axis];
    return symbols.contains(dim) && !instance.inputs[input].fixed ? Dim(bindings.at(symbols.at(dim))) : Dim(dim);
  });
  const auto expected = infer_outputs(concrete);
  if (!expected.ok()) {
    ASSERT_FALSE(original) << expected.error().message();
    return;
  }
  ++coverage_.bindings;
  for (size_t i = 0; i < expected->size(); ++i) {
    const ValueType& found = symbolic.value(symbolic.outputs()[i]).type;
    if (!(*expected)[i].shape) continue;
    ASSERT_TRUE(found.shape) << "output " << i << " has no known rank where dims are symbolic";
    ASSERT_EQ(found.shape->size(), (*expected)[i].shape->size());
    for (size_t k = 0; k < found.shape->size(); ++k) {
      const Dim& wanted = (*(*expected)[i].shape)[k];
      if (!wanted.is_constant()) continue;
      const auto value = evaluate((*found.shape)[k], bindings);
      if (!value && has_unknown_sizes(instance)) continue;
      ASSERT_TRUE(value) << "output " << i << " axis " << k << ": " << (*found.shape)[k].text() << " where "
                         << wanted.text() << " is decided by shapes";
      ASSERT_EQ(*value, wanted.value()) << "output " << i << " axis " << k << ": " << (*found.shape)[k].text();
    }
    const auto& content = symbolic.value(symbolic.outputs()[i]).content;
    const auto& actual = concrete.value(concrete.outputs()[i]).content;
    if (!content || !actual || content->size() != actual->size()) continue;
    for (size_t k = 0; k < content->size(); ++k) {
      if (!(*content)[k] || !(*actual)[k]) continue;
      const auto value = evaluate(*(*content)[k], bindings);
      if (!value || !(*actual)[k]->is_constant()) continue;
      ASSERT_EQ(*value, (*actual)[k]->value()) << "element " << k << " of output " << i;
    }
  }
}

void Sweep::check_symbolic(const Instance& instance, Random& random) {
  std::map<int64_t, std::string> symbols;
  for (const Instance::Input& input : instance.inputs)
    if (input.present && !input.constant && !input.fixed)
      for (const int64_t dim : input.tensor.dims())
        if (dim > 1 ? random.chance(0.6) : dim == 1 && random.chance(0.1)) symbols[dim] = fmt::format("d{}", dim);
  if (symbols.empty()) return;
  Graph graph = graph_of(instance, [&](size_t input, size_t axis) {
    const int64_t dim = instance.inputs[input].tensor.dims()[axis];
    return symbols.contains(dim) && !instance.inputs[input].fixed ? Dim::symbol(symbols.at(dim)) : Dim(dim);
  });
  const auto types = infer_outputs(graph);
  ASSERT_TRUE(types.ok()) << types.error().message();
  Bindings bindings;
  for (const auto& [dim, symbol] : symbols) bindings[symbol] = dim;
  ASSERT_NO_FATAL_FAILURE(check_binding(instance, graph, bindings, symbols, true));
  for (int k = 0; k < 3; ++k) {
    // The maximum stands for what two symbols broadcast to: right unless one of them is 0 and the other 1.
    for (auto& [symbol, value] : bindings) value = random.between(symbols.contains(1), 7);
    ASSERT_NO_FATAL_FAILURE(check_binding(instance, graph, bindings, symbols, false));
  }
}

/// Primitives that the operator is written out in give the same.
void Sweep::check_expansion(const Graph& graph, const Instance& instance) {
  Graph expanded = graph;
  const auto nodes = reform_node(expanded, expanded.nodes().front(), op().expand);
  if (!nodes.ok() && nodes.error().kind == ErrorKind::kUnsupported) return;
  ASSERT_TRUE(nodes.ok()) << nodes.error().message();
  const auto before = interpret(graph, arrays_of(instance), {}), after = interpret(expanded, arrays_of(instance), {});
  ASSERT_TRUE(before.ok() && after.ok()) << (before.ok() ? after.error() : before.error()).message();
  for (size_t i = 0; i < before->size(); ++i) {
    const te::Array &x = (*before)[i], &y = (*after)[i];
    ASSERT_EQ(x.dtype(), y.dtype()) << "expanded, output " << i;
    ASSERT_EQ(x.dims(), y.dims()) << "expanded, output " << i;
    for (int64_t k = 0; k < x.count(); ++k) {
      const double a = x.as_double(k), b = y.as_double(k);
      const double bound = (bit_width(x.dtype()) <= 16 ? 0.02 : 1e-6) * (1 + std::abs(a));
      ASSERT_TRUE((std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= bound)
          << "expanded, output " << i << " element " << k << ": " << a << " expected, " << b << " found";
    }
  }
}

/// Types that the standard has for the operator and no node is computed with.
TypeSet opaque_types(const OpDef& op) {
  if (op.name == "Col2Im") return DataType::kBool;
  return op.name == "QLinearMatMul" ? kMinifloats : TypeSet();
}

TEST_P(Sweep, InferenceAgreesWithEvaluation) {
  const int count = is_long_run() ? 20000 : 500;
  Random random(Hasher().add(full_name(op())).finish().low);
  for (int turn = 0; turn < count && !HasFatalFailure(); ++turn) {
    const Instance instance = make_instance(op(), random, turn);
    SCOPED_TRACE(instance.text());
    Graph graph = graph_of(instance);
    const auto types = infer_outputs(graph);
    if (!types.ok()) {
      ++coverage_.invalid;
      continue;
    }
    coverage_.add(instance);
    check_values(graph, instance, *types);
    if (HasFatalFailure()) return;
    check_symbolic(instance, random);
    if (HasFatalFailure()) return;
    if (op().expand) check_expansion(graph, instance);
  }

  fmt::print("{:<28}{:>5} valid{:>5} invalid{:>6} bindings\n", op().name, coverage_.valid, coverage_.invalid,
             coverage_.bindings);
  EXPECT_GE(coverage_.valid, count / 2);
  for (const auto& variable : op().types) {
    if (!coverage_.types.contains(variable.name)) continue;
    for (int code = 1; code <= 26; ++code) {
      const auto dtype = static_cast<DataType>(code);
      if (!variable.types.contains(dtype) || !is_computable(dtype) || opaque_types(op()).contains(dtype)) continue;
      EXPECT_TRUE(coverage_.types[variable.name].contains(dtype)) << variable.name << " never was " << name(dtype);
    }
  }
  for (const AttributeDef& attribute : op().attributes) {
    if (attribute.kind == AttributeKind::kString && attribute.name == "value_string") continue;
    if (attribute.kind == AttributeKind::kStrings && attribute.name == "value_strings") continue;
    EXPECT_TRUE(coverage_.attributes.contains(attribute.name)) << attribute.name << " was never set";
  }
  for (size_t i = 0; i < op().inputs.size(); ++i) {
    if (op().inputs[i].name.empty()) continue;
    EXPECT_TRUE(coverage_.present.contains(i)) << "input " << i << " was never there";
    const bool always = op().inputs[i].arity != Parameter::Arity::kOptional;
    EXPECT_TRUE(always || coverage_.absent.contains(i)) << "input " << i << " was always there";
  }
  const bool training_only = op().name == "BatchNormalization";
  for (size_t i = 0; i < op().outputs.size() && !training_only; ++i)
    EXPECT_TRUE(op().outputs[i].name.empty() || coverage_.outputs.contains(i))
        << "output " << i << " was never asked for";
}

INSTANTIATE_TEST_SUITE_P(Rows, Sweep, testing::ValuesIn(all_ops()),
                         [](const auto& info) { return test_name(*info.param); });

}  // namespace
}  // namespace isomer::test
