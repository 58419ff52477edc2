#include "graph/infer.h"

#include <algorithm>
#include <map>

#include "graph/algorithms.h"
#include "graph/te/simplify.h"
#include "graph/te/symbolic.h"
#include "util/check.h"

namespace isomer {
namespace {

/// Operations and operands of one symbolic dim.
constexpr int64_t kMaxDimNodes = 512;

bool is_kind(const Attribute& attribute, AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kInt: return std::holds_alternative<int64_t>(attribute);
    case AttributeKind::kFloat: return std::holds_alternative<float>(attribute);
    case AttributeKind::kString: return std::holds_alternative<std::string>(attribute);
    case AttributeKind::kTensor: return std::holds_alternative<Tensor>(attribute);
    case AttributeKind::kGraph: return std::holds_alternative<GraphPtr>(attribute);
    case AttributeKind::kInts: return std::holds_alternative<std::vector<int64_t>>(attribute);
    case AttributeKind::kFloats: return std::holds_alternative<std::vector<float>>(attribute);
    case AttributeKind::kStrings: return std::holds_alternative<std::vector<std::string>>(attribute);
  }
  return false;
}

const Parameter* formal(const std::vector<Parameter>& parameters, int i) {
  if (parameters.empty()) return nullptr;
  const auto at = std::min<size_t>(i, parameters.size() - 1);
  const bool beyond = static_cast<size_t>(i) >= parameters.size();
  return beyond && parameters[at].arity != Parameter::Arity::kVariadic ? nullptr : &parameters[at];
}

/// What a row lacks: its domain's newer forms may have it, the standard's are all known.
template <class... Args>
Error beyond(const OpContext& context, fmt::format_string<Args...> format, Args&&... args) {
  const bool is_known = context.op().domain.empty() || context.op().domain == kOwnDomain;
  return is_known ? context.invalid(format, std::forward<Args>(args)...)
                  : context.unsupported(format, std::forward<Args>(args)...);
}

/// Of a number or a string.
bool is_fallback(const AttributeDef& def, const Attribute& value) {
  const auto same = [&]<class T>(const T*) {
    const T *a = std::get_if<T>(&value), *b = std::get_if<T>(&*def.fallback);
    return a && b && *a == *b;
  };
  return same(static_cast<int64_t*>(nullptr)) || same(static_cast<float*>(nullptr)) ||
         same(static_cast<std::string*>(nullptr));
}

std::string_view kind_name(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kInt: return "int";
    case AttributeKind::kFloat: return "float";
    case AttributeKind::kString: return "string";
    case AttributeKind::kTensor: return "tensor";
    case AttributeKind::kGraph: return "graph";
    case AttributeKind::kInts: return "ints";
    case AttributeKind::kFloats: return "floats";
    case AttributeKind::kStrings: return "strings";
  }
  return "";
}

/// What is there, for people: numbers and strings as they are, of others the type.
std::string attribute_text(const Attribute& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return fmt::format("{}", *number);
  if (const auto* number = std::get_if<float>(&value)) return fmt::format("{}", *number);
  if (const auto* string = std::get_if<std::string>(&value)) return fmt::format("'{}'", *string);
  for (int kind = 0; kind <= static_cast<int>(AttributeKind::kStrings); ++kind)
    if (is_kind(value, static_cast<AttributeKind>(kind)))
      return std::string(kind_name(static_cast<AttributeKind>(kind)));
  return "another";
}

Result<void> check_attributes(const OpContext& context, const Attributes& attributes) {
  const auto& defs = context.op().attributes;
  for (const auto& [name, value] : attributes) {
    const auto def = std::find_if(defs.begin(), defs.end(), [&](const AttributeDef& d) { return d.name == name; });
    if (def == defs.end()) return beyond(context, "an attribute that the operator has expected, '{}' found", name);
    if (!is_kind(value, def->kind))
      return context.invalid("attribute '{}' of type {} expected, {} found", name, kind_name(def->kind),
                             attribute_text(value));
    if (const auto* flag = def->is_flag ? std::get_if<int64_t>(&value) : nullptr; flag && *flag != 0 && *flag != 1)
      return context.invalid("{} of 0 or 1 expected, {} found", name, *flag);
    if (def->fixed && !is_fallback(*def, value))
      return context.unsupported("attribute '{}' of {} expected, {} found", name, attribute_text(*def->fallback),
                                 attribute_text(value));
  }
  for (const AttributeDef& def : defs)
    if (def.required && !attributes.contains(def.name))
      return context.invalid("attribute '{}' expected, none found", def.name);
  return {};
}

Result<void> check_arity(const OpContext& context) {
  const OpDef& op = context.op();
  for (int i = 0; i < context.input_count(); ++i)
    if (!formal(op.inputs, i))
      return beyond(context, "at most {} inputs expected, {} found", op.inputs.size(), context.input_count());
  for (int i = 0; i < std::max(context.input_count(), static_cast<int>(op.inputs.size())); ++i) {
    const Parameter& parameter = *formal(op.inputs, i);
    // A list of values of one type has at least one; the states of a Loop may be none.
    const bool optional =
        parameter.arity == Parameter::Arity::kOptional || (parameter.heterogeneous && i >= context.input_count());
    if (!optional && !context.has_input(i))
      return context.invalid("input {} ({}) expected, none found", i, parameter.name);
    if (parameter.name.empty() && context.has_input(i)) return context.unsupported("input {}", i);
  }
  for (int i = 0; i < context.output_count(); ++i)
    if (!formal(op.outputs, i))
      return beyond(context, "at most {} outputs expected, {} found", op.outputs.size(), context.output_count());
  return {};
}

TypeSet allowed_types(const OpDef& op, std::string_view variable) {
  for (const TypeVariable& known : op.types)
    if (known.name == variable) return known.types;
  const DataType fixed = parse_data_type(variable);
  CHECK(fixed != DataType::kUndefined) << op.name << " has no type variable " << variable;
  return fixed;
}

using Bindings = std::map<std::string_view, DataType>;

Result<Bindings> bind_types(const OpContext& context) {
  const OpDef& op = context.op();
  Bindings bindings;
  for (int i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i) || context.type(i).kind == ValueType::Kind::kUnknown) continue;
    const Parameter& parameter = *formal(op.inputs, i);
    if (!context.type(i).is_tensor()) {
      // Bodies take what their operators do.
      if (op.control && parameter.heterogeneous) continue;
      return context.unsupported("a tensor as {} expected, something else found", parameter.name);
    }
    const DataType dtype = context.dtype(i);
    if (!allowed_types(op, parameter.type).contains(dtype))
      return is_computable(dtype)
                 ? context.invalid("{} has type {}, which the operator does not take", parameter.name, name(dtype))
                 : context.unsupported("{} has type {}", parameter.name, name(dtype));
    if (parameter.heterogeneous) continue;
    const auto [bound, inserted] = bindings.emplace(parameter.type, dtype);
    if (!inserted && bound->second != dtype)
      return context.invalid("{} of type {} expected, {} found", parameter.name, name(bound->second), name(dtype));
  }
  return bindings;
}

/// Types by the row's type variables alone, for nodes behind inputs of unknown rank.
std::vector<ValueType> types_without_shapes(const OpContext& context, const Bindings& bindings) {
  std::vector<ValueType> types(context.output_count());
  // Where an attribute says the type, the variable need not.
  const bool is_said = context.has_attribute("output_dtype") && context.get_int("output_dtype") != 0;
  for (int i = 0; i < context.output_count() && !is_said; ++i) {
    const std::string_view variable = formal(context.op().outputs, i)->type;
    const auto bound = bindings.find(variable);
    const DataType dtype = bound != bindings.end() ? bound->second : parse_data_type(variable);
    if (dtype != DataType::kUndefined) types[i] = {ValueType::Kind::kTensor, dtype, std::nullopt, {}};
  }
  return types;
}

Result<void> check_limits(const OpContext& context, int output, const ValueType& type) {
  if (!type.has_shape()) return {};
  const Shape& shape = *type.shape;
  if (static_cast<int64_t>(shape.size()) > kMaxRank)
    return context.invalid("output {} of rank at most {} expected, {} found", output, kMaxRank, shape.size());
  Dim bytes = std::max(1, bit_width(type.dtype) / 8);
  for (const Dim& dim : shape) {
    if (dim.is_constant() && (dim.value() < 0 || dim.value() > kMaxDim))
      return context.invalid("output {} with dims in [0, 2^40] expected, {} found", output, text(shape));
    if (dim.is_constant() && dim.value() > 0) bytes = bytes * dim;
  }
  if (bytes.is_constant() && bytes.value() > kMaxBytes)
    return context.invalid("output {} of at most 2^46 bytes expected, {} found", output, type.text());
  return {};
}

/// Dims whose expressions have grown beyond use become dims of their own: each operator behind them would multiply
/// their size.
void bound_dims(const OpContext& context, int output, ValueType& type) {
  if (!type.has_shape()) return;
  for (size_t k = 0; k < type.shape->size(); ++k)
    if (Dim& dim = (*type.shape)[k]; !dim.is_constant() && te::node_count(dim.expr(), kMaxDimNodes) >= kMaxDimNodes)
      dim = context.fresh(output, static_cast<int>(k));
}

bool all_ranks_known(const OpContext& context) {
  for (int i = 0; i < context.input_count(); ++i)
    if (context.has_input(i) && !context.type(i).has_shape()) return false;
  return true;
}

/// Contents of small integer outputs, by evaluating the row's own program over symbolic elements.
std::vector<std::optional<Content>> infer_contents(const OpContext& context, const std::vector<ValueType>& types) {
  std::vector<std::optional<Content>> contents(types.size());
  const auto may_decide_shapes = [](const ValueType& type) {
    const bool is_number = is_computable(type.dtype) && !is_minifloat(type.dtype);
    if (!type.has_shape() || !is_number || type.shape->size() > 2) return false;
    const Dim count = element_count(*type.shape);
    return count.is_constant() && count.value() <= kMaxContent;
  };
  if (!context.op().compute || std::none_of(types.begin(), types.end(), may_decide_shapes)) return contents;
  std::vector<Shape> shapes(context.input_count());
  std::vector<const Content*> known(context.input_count());
  for (int i = 0; i < context.input_count(); ++i) {
    if (!context.has_input(i)) continue;
    shapes[i] = context.shape(i);
    known[i] = context.content(i);
  }
  const auto program = context.op().compute(context);
  if (!program.ok()) return contents;
  for (size_t i = 0; i < types.size(); ++i)
    if (may_decide_shapes(types[i]) && context.wants_output(static_cast<int>(i)))
      contents[i] = te::symbolic_contents(*program, static_cast<int>(i), known, shapes);
  return contents;
}

/// Infers a body of the node `id` on formal inputs of these types; captures take what the outer graph knows.
Result<std::vector<ValueType>> infer_body(const Graph& outer, NodeId id, const Graph& body,
                                          const std::vector<ValueType>& inputs) {
  if (inputs.size() != body.inputs().size())
    return invalid(label(outer, id), "a body with {} inputs expected, {} found", inputs.size(), body.inputs().size());
  Graph refined = body;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].kind != ValueType::Kind::kUnknown) refined.edit(refined.inputs()[i]).type = inputs[i];
  const std::vector<ValueId>& captures = outer.node(id).captures;
  for (size_t i = 0; i < captures.size() && i < refined.captures().size(); ++i) {
    const Value& captured = outer.value(captures[i]);
    Value& formal = refined.edit(refined.captures()[i]);
    formal.type = captured.type;
    formal.content = captured.content;
  }
  TRY_VOID(infer(refined));
  std::vector<ValueType> types;
  for (const ValueId output : refined.outputs()) types.push_back(refined.value(output).type);
  return types;
}

void make_opaque(Graph& graph, NodeId id, std::string reason) {
  Node& node = graph.edit(id);
  node.op = nullptr;
  node.opaque_reason = std::move(reason);
}

}  // namespace

OpContext context_of(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  CHECK(node.op != nullptr) << label(graph, id);
  std::vector<OpContext::Input> inputs;
  for (const ValueId input : node.inputs) {
    if (!input.valid()) {
      inputs.emplace_back();
      continue;
    }
    const Value& value = graph.value(input);
    inputs.push_back({true, value.type, value.content ? &*value.content : nullptr,
                      graph.is_constant(input) ? &*value.constant : nullptr});
  }
  std::vector<std::string> names;
  for (const ValueId output : node.outputs) names.push_back(output.valid() ? graph.value(output).name : "");
  return OpContext(*node.op, node.attributes, label(graph, id), std::move(inputs), std::move(names),
                   [&graph, id](const Graph& body, const std::vector<ValueType>& types) {
                     return infer_body(graph, id, body, types);
                   });
}

int condition_count(const OpDef& op) {
  const auto is_bool = [&](const Parameter& input) { return allowed_types(op, input.type) == kBoolean; };
  const auto count = std::ranges::count_if(op.inputs, is_bool);
  return count == std::ssize(op.inputs) ? 0 : static_cast<int>(count);
}

Result<void> check_schema(const OpContext& context, const Attributes& attributes) {
  TRY_VOID(check_attributes(context, attributes));
  TRY_VOID(check_arity(context));
  const auto bindings = bind_types(context);
  return bindings.ok() ? Result<void>() : Result<void>(bindings.error());
}

Result<std::vector<ValueType>> infer_types(const OpContext& context) {
  TRY(const Bindings bindings, bind_types(context));
  if (!all_ranks_known(context)) return types_without_shapes(context, bindings);
  TRY(std::vector<ValueType> types, context.op().infer(context));
  CHECK(static_cast<int>(types.size()) >= context.output_count()) << context.label();
  types.resize(context.output_count());
  for (int i = 0; i < context.output_count(); ++i) {
    bound_dims(context, i, types[i]);
    TRY_VOID(check_limits(context, i, types[i]));
  }
  return types;
}

Result<void> infer_node(Graph& graph, NodeId id) {
  if (graph.node(id).is_opaque()) return {};
  const OpContext context = context_of(graph, id);
  const auto give_up = [&](const Error& error) -> Result<void> {
    if (error.kind != ErrorKind::kUnsupported) return error;
    make_opaque(graph, id, error.what);
    return {};
  };
  if (const auto checked = check_schema(context, graph.node(id).attributes); !checked.ok())
    return give_up(checked.error());
  const auto types = infer_types(context);
  if (!types.ok()) return give_up(types.error());
  const auto contents =
      all_ranks_known(context) ? infer_contents(context, *types) : std::vector<std::optional<Content>>(types->size());
  const std::vector<ValueId> outputs = graph.node(id).outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].valid()) continue;
    Value& value = graph.edit(outputs[i]);
    const ValueType& type = (*types)[i];
    if (type.has_shape() || (type.is_tensor() && !value.type.is_tensor())) value.type = type;
    value.content = contents[i];
  }
  return {};
}

Result<void> infer(Graph& graph) {
  TRY(const std::vector<NodeId> order, topological_order(graph));
  for (const NodeId id : order) TRY_VOID(infer_node(graph, id));
  return {};
}

}  // namespace isomer
