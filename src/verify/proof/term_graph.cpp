#include "verify/proof/term_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "graph/equal.h"
#include "graph/infer.h"
#include "graph/te/program_text.h"
#include "graph/te/symbols.h"

namespace isomer::verify {
namespace {

/// A list, or one without dims.
struct IntegerInput {
  std::vector<Dim> elements;
  Dims dims;
};

/// What stands for a formal input: an argument, integers, or nothing.
using Source = std::variant<std::monostate, size_t, IntegerInput>;

/// An application in its row's form.
struct Placement {
  Attributes attributes;
  std::vector<Source> inputs;
};

/// What names of sizes begin with that data decide.
constexpr std::string_view kDecided = "output of a term: ";

std::string label_of(const Term::Application& application) { return std::string(application.op->name); }

Result<std::vector<int64_t>> numbers(const Term::Application& application, const std::string& name,
                                     const std::vector<Dim>& integers) {
  std::vector<int64_t> result;
  for (const Dim& each : integers) {
    if (!each.is_constant())
      return unsupported(label_of(application), "a number for '{}' expected, {} found", name, each.text());
    result.push_back(each.value());
  }
  return result;
}

Result<Attribute> attribute_of(const Term::Application& application, const AttributeDef& def, const std::string& name,
                               const Parameter& parameter) {
  const auto* integer = std::get_if<Dim>(&parameter);
  const auto* integers = std::get_if<std::vector<Dim>>(&parameter);
  if (def.kind == AttributeKind::kInt && integer) {
    TRY(const std::vector<int64_t> values, numbers(application, name, {*integer}));
    return Attribute(values.front());
  }
  if (def.kind == AttributeKind::kInts && integers) {
    TRY(std::vector<int64_t> values, numbers(application, name, *integers));
    return Attribute(std::move(values));
  }
  if (const auto* number = std::get_if<float>(&parameter); number && def.kind == AttributeKind::kFloat)
    return Attribute(*number);
  if (const auto* string = std::get_if<std::string>(&parameter); string && def.kind == AttributeKind::kString)
    return Attribute(*string);
  return invalid(label_of(application), "a value of another kind for '{}' expected, {} found", name, text(parameter));
}

Result<Placement> place(const Term::Application& application) {
  if (!application.rest.empty())
    return unsupported(label_of(application), "all parameters expected, ..{} stands for some", application.rest);
  const OpDef& op = *application.op;
  Placement result;
  std::vector<std::string_view> used;
  size_t next = 0;
  for (const isomer::Parameter& formal : op.inputs) {
    if (const auto found = application.parameters.find(formal.name); found != application.parameters.end()) {
      used.push_back(found->first);
      if (const auto* integer = std::get_if<Dim>(&found->second))
        result.inputs.emplace_back(IntegerInput{{*integer}, {}});
      else if (const auto* integers = std::get_if<std::vector<Dim>>(&found->second))
        result.inputs.emplace_back(IntegerInput{*integers, {static_cast<int64_t>(integers->size())}});
      else
        return invalid(label_of(application), "integers for '{}' expected, {} found", found->first,
                       text(found->second));
      continue;
    }
    const bool is_variadic = formal.arity == isomer::Parameter::Arity::kVariadic;
    do {
      if (next < application.arguments.size())
        result.inputs.emplace_back(next++);
      else if (!is_variadic)
        result.inputs.emplace_back(std::monostate());
    } while (is_variadic && next < application.arguments.size());
  }
  while (!result.inputs.empty() && std::holds_alternative<std::monostate>(result.inputs.back()))
    result.inputs.pop_back();
  if (next < application.arguments.size())
    return invalid(label_of(application), "at most {} arguments expected, {} found", next,
                   application.arguments.size());
  for (const auto& [name, parameter] : application.parameters) {
    if (std::ranges::find(used, name) != used.end()) continue;
    const auto def = std::ranges::find_if(op.attributes, [&](const AttributeDef& a) { return a.name == name; });
    if (def == op.attributes.end())
      return invalid(label_of(application), "a parameter of its row expected, '{}' found", name);
    TRY(Attribute value, attribute_of(application, *def, name, parameter));
    result.attributes.emplace(name, std::move(value));
  }
  return result;
}

/// Of the outputs that are always there, up to the one that is asked for.
std::vector<std::string> output_names(const Term::Application& application) {
  const auto& formals = application.op->outputs;
  auto count = static_cast<size_t>(std::ranges::count_if(
      formals, [](const isomer::Parameter& formal) { return formal.arity != isomer::Parameter::Arity::kOptional; }));
  const bool is_variadic = formals.back().arity == isomer::Parameter::Arity::kVariadic;
  if (const auto split = application.parameters.find("split"); is_variadic && split != application.parameters.end())
    if (const auto* sizes = std::get_if<std::vector<Dim>>(&split->second)) count = sizes->size();
  count = std::max(count, static_cast<size_t>(application.output) + 1);
  std::vector<std::string> names;
  for (size_t k = 0; k < count; ++k) names.push_back("o" + std::to_string(k));
  return names;
}

/// Asks about the application in a context of its own.
template <class T, class Ask>
Result<T> with_context(const Term::Application& application, std::span<const ValueType> arguments, const Ask& ask) {
  TRY(const Placement placement, place(application));
  std::vector<Content> contents(placement.inputs.size());
  std::vector<OpContext::Input> inputs;
  for (size_t k = 0; k < placement.inputs.size(); ++k) {
    const Source& source = placement.inputs[k];
    OpContext::Input input;
    input.present = !std::holds_alternative<std::monostate>(source);
    if (const auto* argument = std::get_if<size_t>(&source)) {
      input.type = arguments[*argument];
      if (input.type.is_tensor() && input.type.dtype == DataType::kUndefined)
        input.type.dtype = dtype_beside(arguments, condition_count(*application.op));
    } else if (const auto* integers = std::get_if<IntegerInput>(&source)) {
      contents[k].assign(integers->elements.begin(), integers->elements.end());
      input.type = ValueType::tensor(DataType::kInt64, Shape(integers->dims.begin(), integers->dims.end()));
      input.content = &contents[k];
    }
    inputs.push_back(std::move(input));
  }
  std::vector<std::string> outputs = output_names(application);
  for (std::string& name : outputs) name.insert(0, kDecided);
  const OpContext context(*application.op, placement.attributes, label_of(application), std::move(inputs), outputs);
  TRY_VOID(check_schema(context, placement.attributes));
  return ask(context, placement);
}

/// Terms that become values of a graph, each once.
class GraphBuilder {
 public:
  explicit GraphBuilder(const VariableTypes& variables) {
    std::vector<ValueId> inputs;
    for (const auto& [name, type] : variables) {
      Value value;
      value.name = name;
      value.type = type;
      inputs.push_back(graph_.add_value(std::move(value)));
      variables_.emplace(name, inputs.back());
    }
    graph_.set_inputs(inputs);
    graph_.edit_info().opsets[""] = 22;
  }

  Result<Graph> run(const std::vector<Term>& outputs) {
    std::vector<ValueId> values;
    for (const Term& term : outputs) {
      TRY(values.emplace_back(), value_of(term, DataType::kFloat32));
    }
    graph_.set_outputs(values);
    return std::move(graph_);
  }

 private:
  Result<ValueId> value_of(const Term& term, DataType dtype) {
    if (const auto* number = std::get_if<Term::Number>(&term.form()))
      return graph_.add_constant(Tensor::scalar(dtype, number->value.to_double()), graph_.fresh_name("number"));
    if (const auto* variable = term.as_variable()) {
      const auto found = variables_.find(variable->name);
      if (found == variables_.end())
        return invalid(variable->name, "a type of each variable expected, this one has none");
      return found->second;
    }
    if (const auto known = values_.find(term); known != values_.end()) return known->second;
    Term::Application first = *term.as_application();
    const auto output = static_cast<size_t>(std::exchange(first.output, 0));
    const Term node(std::move(first));
    auto made = nodes_.find(node);
    if (made == nodes_.end()) {
      TRY(std::vector<ValueId> outputs, apply(*term.as_application()));
      made = nodes_.emplace(node, std::move(outputs)).first;
    }
    if (output >= made->second.size())
      return invalid(term.text(), "an output below {} expected, {} found", made->second.size(), output);
    values_.emplace(term, made->second[output]);
    return made->second[output];
  }

  Result<std::vector<ValueId>> apply(const Term::Application& application) {
    TRY(const Placement placement, place(application));
    std::vector<ValueId> arguments(application.arguments.size());
    std::vector<ValueType> types(application.arguments.size());
    for (size_t k = 0; k < arguments.size(); ++k) {
      if (std::holds_alternative<Term::Number>(application.arguments[k].form())) continue;
      TRY(arguments[k], value_of(application.arguments[k], DataType::kFloat32));
      types[k] = graph_.value(arguments[k]).type;
    }
    for (size_t k = 0; k < arguments.size(); ++k) {
      if (arguments[k].valid()) continue;
      TRY(arguments[k], value_of(application.arguments[k], dtype_beside(types, condition_count(*application.op))));
    }
    Node node;
    node.op = application.op;
    node.domain = application.op->domain;
    node.op_type = application.op->name;
    node.attributes = placement.attributes;
    for (const Source& source : placement.inputs) {
      if (const auto* argument = std::get_if<size_t>(&source)) {
        node.inputs.push_back(arguments[*argument]);
      } else if (const auto* integers = std::get_if<IntegerInput>(&source)) {
        TRY(const std::vector<int64_t> values, numbers(application, "an input", integers->elements));
        node.inputs.push_back(graph_.add_constant(Tensor::from_ints(DataType::kInt64, integers->dims, values),
                                                  graph_.fresh_name("integers")));
      } else {
        node.inputs.emplace_back();
      }
    }
    for (const std::string& name : output_names(application)) {
      Value value;
      value.name = graph_.fresh_name(name);
      node.outputs.push_back(graph_.add_value(std::move(value)));
    }
    const NodeId id = graph_.add_node(std::move(node));
    TRY_VOID(infer_node(graph_, id));
    if (graph_.node(id).is_opaque()) return unsupported(label_of(application), "{}", graph_.node(id).opaque_reason);
    return graph_.node(id).outputs;
  }

  Graph graph_;
  std::map<std::string, ValueId, std::less<>> variables_;
  std::unordered_map<Term, ValueId, TermHash> values_;
  std::unordered_map<Term, std::vector<ValueId>, TermHash> nodes_;
};

}  // namespace

std::optional<Parameter> parameter_of(const Attribute& attribute) {
  if (has_negative_zero(attribute)) return std::nullopt;
  if (const auto* integer = std::get_if<int64_t>(&attribute)) return Parameter(Dim(*integer));
  if (const auto* number = std::get_if<float>(&attribute)) return Parameter(*number);
  if (const auto* string = std::get_if<std::string>(&attribute)) return Parameter(*string);
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&attribute))
    return Parameter(std::vector<Dim>(integers->begin(), integers->end()));
  return std::nullopt;
}

Result<std::vector<ValueType>> infer_application(const Term::Application& application,
                                                 std::span<const ValueType> arguments) {
  TRY(std::vector<ValueType> types,
      with_context<std::vector<ValueType>>(
          application, arguments, [](const OpContext& context, const Placement&) { return infer_types(context); }));
  // Such a size would have one name whatever the arguments are.
  const auto is_decided = [](const std::string& name) { return name.starts_with(kDecided); };
  bool any_decided = false;
  for (const ValueType& type : types)
    for_each_dim(type, [&](const Dim& dim) { any_decided |= te::any_symbol(dim.expr(), is_decided); });
  if (any_decided) return unsupported(label_of(application), "sizes that do not hang on data expected");
  return types;
}

Result<ApplicationProgram> program_of(const Term::Application& application, std::span<const ValueType> arguments) {
  const auto ask = [&](const OpContext& context, const Placement& placement) -> Result<ApplicationProgram> {
    if (!application.op->compute)
      return unsupported(label_of(application), "a tensor expression expected, its row has none");
    ApplicationProgram result;
    TRY(result.program, application.op->compute(context));
    for (const Source& source : placement.inputs) {
      const auto* argument = std::get_if<size_t>(&source);
      result.arguments.push_back(argument ? std::optional(*argument) : std::nullopt);
    }
    return result;
  };
  return with_context<ApplicationProgram>(application, arguments, ask);
}

Result<std::string> program_text(const Term::Application& application, std::span<const ValueType> arguments) {
  TRY(const ApplicationProgram made, program_of(application, arguments));
  std::string result = te::print(made.program);
  for (size_t k = 0; k < application.op->inputs.size(); ++k)
    if (const auto said = application.parameters.find(application.op->inputs[k].name);
        said != application.parameters.end() && result.find(fmt::format("in{}[", k)) != std::string::npos)
      result += fmt::format("in{} = {}\n", k, text(said->second));
  return result;
}

Result<Graph> graph_of(const std::vector<Term>& outputs, const VariableTypes& variables) {
  return GraphBuilder(variables).run(outputs);
}

}  // namespace isomer::verify
