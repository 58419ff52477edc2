#include "driver/operators.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "driver/operator_access.h"
#include "driver/operator_places.h"
#include "graph/te/validate.h"

namespace isomer {
namespace {

using detail::OperatorAccess;

void expect_numbers(DataType dtype) {
  if (!kNumeric.contains(dtype))
    throw NoValue(fmt::format("numbers to combine expected, elements of {} found", name(dtype)));
}

te::Monoid monoid(Combine combine, DataType dtype) {
  expect_numbers(dtype);
  switch (combine) {
    case Combine::sum: return te::sum(dtype);
    case Combine::product: return te::product(dtype);
    case Combine::maximum: return te::maximum(dtype);
    case Combine::minimum: break;
  }
  return te::minimum(dtype);
}

std::vector<te::Expr> place(const Expressions& index, size_t rank) {
  if (index.size() != rank)
    throw NoValue(fmt::format("an index for each of {} axes expected, {} found", rank, index.size()));
  std::vector<te::Expr> made;
  for (const Expression& each : index) {
    made.push_back(OperatorAccess::expr(each));
    if (made.back().dtype() != DataType::kInt64)
      throw NoValue(fmt::format("an index of int64 expected, {} found", name(made.back().dtype())));
  }
  return made;
}

std::vector<te::Expr> origin(size_t rank) { return std::vector<te::Expr>(rank, te::index(0)); }

te::MapReduce mapped(const Sizes& shape, const Expression& body) {
  return {OperatorAccess::shape(shape), {}, {}, {OperatorAccess::expr(body)}};
}

te::MapReduce reduced(Combine combine, const Sizes& shape, const Sizes& over, const Expression& body) {
  const te::Expr expr = OperatorAccess::expr(body);
  return {OperatorAccess::shape(shape), OperatorAccess::shape(over), monoid(combine, expr.dtype()), {expr}};
}

/// Component k of the program's last stage.
Stage last_of(const te::Program& program, int k, Sizes shape) {
  const te::StageValue value{static_cast<int>(program.stages.size()) - 1, k};
  const te::Expr first = program.load(value, origin(shape.size()));
  return OperatorAccess::stage(first, std::move(shape));
}

Stage add(detail::StepState& state, te::MapReduce stage, Sizes shape) {
  const DataType dtype = stage.bodies[0].dtype();
  state.stages.push_back(std::move(stage));
  const int number = static_cast<int>(state.stages.size()) - 1;
  const te::Expr first = te::load_inner(number, dtype, origin(shape.size()));
  return OperatorAccess::stage(first, std::move(shape));
}

/// What the functions of users give, or the sentence of NoValue.
template <class T>
Result<T> asked(const OpContext& context, const std::function<Expected<T>()>& ask) {
  const auto given = [&]() -> Expected<T> {
    try {
      return ask();
    } catch (const NoValue& none) {
      return Failure{none.what(), FailureKind::invalid};
    }
  }();
  if (given) return given.value();
  if (given.error().kind == FailureKind::unsupported) return context.unsupported("{}", given.error().sentence);
  return context.invalid("{}", given.error().sentence);
}

Result<std::vector<ValueType>> inferred(const Operator& op, const OpContext& context) {
  const detail::NodeState state{context};
  TRY(const std::vector<TensorType> given,
      asked<std::vector<TensorType>>(context, [&] { return op.infer(OperatorAccess::node(state)); }));
  if (static_cast<int>(given.size()) < context.output_count())
    return context.invalid("types of {} outputs expected, {} found", context.output_count(), given.size());
  std::vector<ValueType> types;
  for (const TensorType& each : given) {
    const DataType dtype = parse_data_type(each.type);
    if (!is_computable(dtype))
      return context.invalid("an element type such as float32 expected, '{}' found", each.type);
    types.push_back({ValueType::Kind::kTensor, dtype, OperatorAccess::shape(each.shape), {}});
  }
  return types;
}

/// An output is what was inferred.
Result<void> check_output(const OpContext& context, int output, const ValueType& expected, const te::Program& program,
                          te::StageValue value) {
  const DataType dtype = program.dtype(value);
  const Shape shape = program.shape(value);
  if (dtype != expected.dtype || shape != *expected.shape)
    return context.invalid("output {} of {}{} expected, as inferred, {}{} found", output, name(expected.dtype),
                           text(*expected.shape), name(dtype), text(shape));
  return {};
}

Result<te::Program> computed(const Operator& op, const OpContext& context) {
  const detail::NodeState state{context};
  detail::MeaningState made;
  TRY(const std::vector<Stage> outputs, asked<std::vector<Stage>>(context, [&] {
        Meaning meaning = OperatorAccess::meaning(made);
        return op.compute(OperatorAccess::node(state), meaning);
      }));
  TRY(const std::vector<ValueType> types, inferred(op, context));
  te::Program& program = made.program;
  for (int i = 0; i < context.output_count(); ++i) {
    if (!context.wants_output(i)) {
      program.outputs.push_back({});
      continue;
    }
    if (i >= static_cast<int>(outputs.size()) || !OperatorAccess::is_computed(outputs[i]))
      return context.invalid("output {} expected, none found", i);
    const te::Expr element = OperatorAccess::load(outputs[i]);
    const auto* load = te::as<te::Load>(element);
    if (load->buffer.kind != te::BufferRef::Kind::kStage ||
        load->buffer.index >= static_cast<int>(program.stages.size()))
      return context.invalid("output {} from this meaning expected, a tensor from elsewhere found", i);
    program.outputs.push_back({load->buffer.index, load->buffer.component});
    TRY_VOID(check_output(context, i, types[i], program, program.outputs.back()));
  }
  if (const auto valid = te::validate(program); !valid.ok())
    return context.invalid("a meaning that reads what it computed before expected, another found: {}",
                           valid.error().message());
  TRY_VOID(check_places(program, context));
  return std::move(program);
}

template <class... Args>
Error wrong(const Operator& op, fmt::format_string<Args...> format, Args&&... args) {
  return {ErrorKind::kUsage, fmt::format("operator {}::{}", op.domain, op.name),
          fmt::format(format, std::forward<Args>(args)...)};
}

Result<void> check_name(const Operator& op) {
  if (op.name.empty()) return wrong(op, "a name expected, none found");
  if (op.domain.empty() || op.domain == "ai.onnx" || op.domain == kOwnDomain)
    return wrong(op, "a domain of yours expected, '{}' found", op.domain);
  if (find_op(op.domain, op.name))
    return wrong(op, "an operator that Isomer does not know expected, one that it knows found");
  if (op.since < 1) return wrong(op, "a version from 1 expected, {} found", op.since);
  if (!op.infer || !op.compute) return wrong(op, "infer and compute expected, none found");
  return {};
}

Result<void> add_types(const Operator& op, OpDef& row) {
  for (const TypeParameter& each : op.types) {
    TypeSet types;
    for (const std::string& type : each.types) {
      const DataType dtype = parse_data_type(type);
      if (!is_computable(dtype)) return wrong(op, "an element type such as float32 expected, '{}' found", type);
      types = types | dtype;
    }
    if (types == TypeSet()) return wrong(op, "types for '{}' expected, none found", each.name);
    row.types.push_back({each.name, types});
  }
  return {};
}

Result<std::vector<Parameter>> parameters(const Operator& op, const OpDef& row, const std::vector<std::string>& specs) {
  std::vector<Parameter> made;
  for (const std::string& spec : specs) {
    const Parameter parameter(spec.c_str());
    if (parameter.name.empty() || parameter.heterogeneous)
      return wrong(op, "a name such as 'x', 'scale?' or 'indices:int64' expected, '{}' found", spec);
    if (parameter.arity == Parameter::Arity::kVariadic && &spec != &specs.back())
      return wrong(op, "no input or output after a list expected, one after '{}' found", spec);
    const bool is_known =
        std::ranges::any_of(row.types, [&](const auto& each) { return each.name == parameter.type; }) ||
        is_computable(parse_data_type(parameter.type));
    if (!is_known) return wrong(op, "types of '{}' expected, none found", parameter.type);
    made.push_back(parameter);
  }
  return made;
}

AttributeDef attribute(const OperatorAttribute& given) {
  AttributeDef def{given.name, AttributeKind::kInt, given.presence == OperatorAttribute::Presence::required};
  const Attribute value = std::visit(
      te::Overloaded{
          [&](int64_t each) { return def.kind = AttributeKind::kInt, Attribute(each); },
          [&](double each) { return def.kind = AttributeKind::kFloat, Attribute(static_cast<float>(each)); },
          [&](const std::string& each) { return def.kind = AttributeKind::kString, Attribute(each); },
          [&](const std::vector<int64_t>& each) { return def.kind = AttributeKind::kInts, Attribute(each); },
          [&](const std::vector<float>& each) { return def.kind = AttributeKind::kFloats, Attribute(each); }},
      given.value);
  if (given.presence == OperatorAttribute::Presence::fallback) def.fallback = value;
  return def;
}

Result<OpDef> row_of(const Operator& op) {
  TRY_VOID(check_name(op));
  OpDef row{.domain = op.domain,
            .name = op.name,
            .since = op.since,
            .inputs = {},
            .outputs = {},
            .types = {},
            .infer = nullptr};
  TRY_VOID(add_types(op, row));
  TRY(row.inputs, parameters(op, row, op.inputs));
  TRY(row.outputs, parameters(op, row, op.outputs));
  if (row.outputs.empty()) return wrong(op, "an output expected, none found");
  std::set<std::string> names;
  for (const OperatorAttribute& each : op.attributes) {
    if (each.name.empty() || !names.insert(each.name).second)
      return wrong(op, "attributes with a name each expected, '{}' found", each.name);
    row.attributes.push_back(attribute(each));
  }
  row.infer = [&op](const OpContext& context) { return inferred(op, context); };
  row.compute = [&op](const OpContext& context) { return computed(op, context); };
  return row;
}

}  // namespace

Result<std::shared_ptr<const OpTable>> operators_of(const std::vector<Operator>& operators) {
  if (operators.empty()) return std::shared_ptr<const OpTable>();
  const auto owner = std::make_shared<const std::vector<Operator>>(operators);
  const auto table = std::make_shared<OpTable>();
  for (const Operator& op : *owner) {
    if (table->find(op.domain, op.name)) return wrong(op, "one of that name expected, two found");
    TRY(OpDef row, row_of(op));
    table->rows.push_back(std::move(row));
  }
  table->owner = owner;
  return std::shared_ptr<const OpTable>(table);
}

// Nodes

namespace {

const OpContext& with_input(const detail::NodeState& state, int input) {
  if (input < 0 || !state.context.has_input(input))
    throw NoValue(fmt::format("input {} expected, the node has none", input));
  return state.context;
}

const OpContext& with_attribute(const detail::NodeState& state, const std::string& attribute, AttributeKind kind) {
  const std::vector<AttributeDef>& known = state.context.op().attributes;
  const auto found = std::ranges::find(known, attribute, &AttributeDef::name);
  if (found == known.end() || found->kind != kind || !state.context.has_attribute(attribute))
    throw NoValue(fmt::format("an attribute '{}' of that type expected, the node has none", attribute));
  return state.context;
}

}  // namespace

std::string OperatorNode::name() const { return state_.context.label(); }
int OperatorNode::inputs() const { return state_.context.input_count(); }
bool OperatorNode::has_input(int input) const { return input >= 0 && state_.context.has_input(input); }
std::string OperatorNode::type(int input) const {
  return std::string(isomer::name(with_input(state_, input).dtype(input)));
}
Sizes OperatorNode::shape(int input) const { return OperatorAccess::sizes(with_input(state_, input).shape(input)); }

Sizes OperatorNode::broadcast_shape() const {
  Shape shape;
  for (int input = 0; input < inputs(); ++input) {
    if (!has_input(input)) continue;
    auto both = isomer::broadcast(state_.context, shape, state_.context.shape(input));
    if (!both.ok()) throw NoValue(both.error().what);
    shape = *std::move(both);
  }
  return OperatorAccess::sizes(shape);
}

std::optional<std::vector<int64_t>> OperatorNode::known_integers(int input) const {
  return with_input(state_, input).ints(input);
}

int OperatorNode::outputs() const { return state_.context.output_count(); }
bool OperatorNode::wants_output(int output) const { return output >= 0 && state_.context.wants_output(output); }

bool OperatorNode::has_attribute(const std::string& name) const { return state_.context.has_attribute(name); }
int64_t OperatorNode::integer(const std::string& name) const {
  return with_attribute(state_, name, AttributeKind::kInt).get_int(name);
}
double OperatorNode::real(const std::string& name) const {
  return with_attribute(state_, name, AttributeKind::kFloat).get_float(name);
}
std::string OperatorNode::text(const std::string& name) const {
  return with_attribute(state_, name, AttributeKind::kString).get_string(name);
}
std::vector<int64_t> OperatorNode::integers(const std::string& name) const {
  return with_attribute(state_, name, AttributeKind::kInts).get_ints(name);
}
std::vector<float> OperatorNode::reals(const std::string& name) const {
  return with_attribute(state_, name, AttributeKind::kFloats).get_floats(name);
}

Expression OperatorNode::element(int input, const Expressions& index) const {
  const OpContext& context = with_input(state_, input);
  return OperatorAccess::expression(context.load(input, place(index, context.shape(input).size())));
}

Expression OperatorNode::element_at(int input, const Sizes& shape) const {
  const OpContext& context = with_input(state_, input);
  if (context.shape(input).size() > shape.size())
    throw NoValue(
        fmt::format("a shape of rank {} at least expected, one of rank {} found", context.rank(input), shape.size()));
  return OperatorAccess::expression(context.load_broadcast(input, OperatorAccess::shape(shape)));
}

// Meaning

std::string Stage::type() const { return std::string(isomer::name(OperatorAccess::load(*this).dtype())); }

Expression Stage::element(const Expressions& index) const {
  const te::Expr first = OperatorAccess::load(*this);
  return OperatorAccess::expression(
      te::load(te::as<te::Load>(first)->buffer, first.dtype(), place(index, shape_.size())));
}

Stage Meaning::map(const Sizes& shape, const Expression& body) {
  state_.program.stages.push_back({mapped(shape, body)});
  return last_of(state_.program, 0, shape);
}

Stage Meaning::reduce(Combine combine, const Sizes& shape, const Sizes& over, const Expression& body) {
  state_.program.stages.push_back({reduced(combine, shape, over, body)});
  return last_of(state_.program, 0, shape);
}

std::pair<Stage, Stage> Meaning::arg_extremum(Combine maximum_or_minimum, const Sizes& shape, const Sizes& over,
                                              const Expression& body) {
  const te::Expr value = OperatorAccess::expr(body);
  const bool is_maximum = maximum_or_minimum == Combine::maximum;
  if (!is_maximum && maximum_or_minimum != Combine::minimum)
    throw NoValue("maximum or minimum expected, another found");
  expect_numbers(value.dtype());
  te::Expr number = te::index(0);
  const Shape extents = OperatorAccess::shape(over);
  for (size_t k = 0; k < extents.size(); ++k)
    number = number * extents[k].expr() + te::reduce_axis(static_cast<int>(k));
  state_.program.reduce(OperatorAccess::shape(shape), extents,
                        is_maximum ? te::argmax(value.dtype(), false) : te::argmin(value.dtype(), false),
                        std::vector{value, number});
  return {last_of(state_.program, 0, shape), last_of(state_.program, 1, shape)};
}

std::vector<Stage> Meaning::scan(const Recurrence& recurrence) {
  te::Scan scan;
  scan.trip = OperatorAccess::dim(recurrence.steps);
  for (const Recurrence::State& each : recurrence.states)
    scan.states.push_back({OperatorAccess::shape(each.shape), OperatorAccess::expr(each.first)});
  detail::StepState state{scan.states, {}};
  Recurrence::Step step = OperatorAccess::step(state);
  const std::vector<Stage> next = recurrence.next(step);
  if (next.size() != scan.states.size())
    throw NoValue(fmt::format("the next of {} states expected, {} found", scan.states.size(), next.size()));
  for (size_t k = 0; k < next.size(); ++k) {
    const te::Expr load = OperatorAccess::load(next[k]);
    const te::BufferRef& buffer = te::as<te::Load>(load)->buffer;
    if (buffer.kind != te::BufferRef::Kind::kInner || buffer.index >= static_cast<int>(state.stages.size()))
      throw NoValue("a next state that the step computes expected, a tensor from elsewhere found");
    const te::Scan::State& before = scan.states[k];
    const Shape shape = OperatorAccess::shape(next[k].shape());
    if (shape != before.shape || load.dtype() != before.init.dtype())
      throw NoValue(fmt::format("next state {} of {}{} expected, as it was, {}{} found", k,
                                isomer::name(before.init.dtype()), text(before.shape), isomer::name(load.dtype()),
                                text(shape)));
    scan.next.push_back(buffer.index);
  }
  scan.steps = std::move(state.stages);
  state_.program.scan(std::move(scan));
  std::vector<Stage> all;
  for (size_t k = 0; k < next.size(); ++k) {
    Sizes shape{recurrence.steps};
    shape.insert(shape.end(), recurrence.states[k].shape.begin(), recurrence.states[k].shape.end());
    all.push_back(last_of(state_.program, static_cast<int>(k), std::move(shape)));
  }
  return all;
}

Expression Recurrence::Step::state(int k, const Expressions& index) const {
  if (k < 0 || k >= static_cast<int>(state_.states.size()))
    throw NoValue(fmt::format("a state below {} expected, {} found", state_.states.size(), k));
  const te::Scan::State& state = state_.states[k];
  return OperatorAccess::expression(te::load_state(k, state.init.dtype(), place(index, state.shape.size())));
}

Expression Recurrence::Step::number() const { return OperatorAccess::expression(te::time_step()); }

Stage Recurrence::Step::map(const Sizes& shape, const Expression& body) {
  return add(state_, mapped(shape, body), shape);
}

Stage Recurrence::Step::reduce(Combine combine, const Sizes& shape, const Sizes& over, const Expression& body) {
  return add(state_, reduced(combine, shape, over, body), shape);
}

}  // namespace isomer
