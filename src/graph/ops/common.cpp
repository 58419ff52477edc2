#include "graph/ops/common.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "graph/ops/pattern.h"

namespace isomer::ops {

std::vector<ValueType> one(DataType dtype, Shape shape) { return {ValueType::tensor(dtype, std::move(shape))}; }

DataType sum_type(DataType dtype) {
  return dtype == DataType::kFloat16 || dtype == DataType::kBFloat16 ? DataType::kFloat32 : dtype;
}

te::Program single_map(Shape axes, te::Expr body) {
  te::Program program;
  program.outputs = {program.map(std::move(axes), std::move(body))};
  return program;
}

namespace {

Result<Shape> broadcast_all(const OpContext& context) {
  Shape shape = context.shape(0);
  for (int i = 1; i < context.input_count(); ++i) {
    TRY(shape, broadcast(context, shape, context.shape(i)));
  }
  return shape;
}

Compute pointwise_over(std::function<te::Expr(const OpContext&, const Shape&)> body) {
  return [body = std::move(body)](const OpContext& context) -> Result<te::Program> {
    TRY(Shape shape, broadcast_all(context));
    te::Expr value = body(context, shape);
    return single_map(std::move(shape), std::move(value));
  };
}

}  // namespace

Result<std::vector<ValueType>> same_as_first(const OpContext& context) {
  return one(context.dtype(0), context.shape(0));
}

Result<std::vector<ValueType>> broadcast_shapes(const OpContext& context) {
  TRY(Shape shape, broadcast_all(context));
  return one(context.dtype(0), std::move(shape));
}

Infer broadcast_to(DataType dtype) {
  return [dtype](const OpContext& context) -> Result<std::vector<ValueType>> {
    TRY(Shape shape, broadcast_all(context));
    return one(dtype, std::move(shape));
  };
}

Compute pointwise(std::function<te::Expr(te::Expr)> f) {
  return pointwise_over(
      [f = std::move(f)](const OpContext& c, const Shape& out) { return f(c.load_broadcast(0, out)); });
}

Compute pointwise(std::function<te::Expr(te::Expr, te::Expr)> f) {
  return pointwise_over([f = std::move(f)](const OpContext& c, const Shape& out) {
    return f(c.load_broadcast(0, out), c.load_broadcast(1, out));
  });
}

Compute pointwise(std::function<te::Expr(te::Expr, te::Expr, te::Expr)> f) {
  return pointwise_over([f = std::move(f)](const OpContext& c, const Shape& out) {
    return f(c.load_broadcast(0, out), c.load_broadcast(1, out), c.load_broadcast(2, out));
  });
}

Compute pointwise_with(std::function<te::Expr(const OpContext&, te::Expr)> f) {
  return [f = std::move(f)](const OpContext& context) -> Result<te::Program> {
    const Shape& shape = context.shape(0);
    return single_map(shape, f(context, context.load_broadcast(0, shape)));
  };
}

Version ints_attribute_to_input(int since, const char* name, int input) {
  return {since,
          [=](NodeForm& form) -> Result<void> {
            TRY(auto values, form.take_ints(name));
            if (values) form.set_input(input, form.ints(std::move(*values), name));
            return {};
          },
          [=](NodeForm& form) -> Result<void> {
            if (!form.has_input(input)) return {};
            auto values = form.ints(input);
            if (!values) return form.unsupported("a constant {} expected where the opset has it as an attribute", name);
            form.drop_inputs_from(input);
            form.set(name, std::move(*values));
            return {};
          }};
}

namespace {

/// Sizes of an operand and of the axes where it is to stand: ones aside, an opset that aligns operands by an axis takes
/// no others than equal ones.
bool must_be_equal(const Dim& a, const Dim& b) {
  return a == b || (!a.is(1) && !b.is(1) && !(a.is_constant() && b.is_constant()));
}

/// Of operand 1, that has `before` ones before `core` and others behind it. What the way to the newest form put there
/// is left out.
Result<void> take_ones_off(NodeForm& form, const Shape& core, int64_t before) {
  const Node* unsqueeze = Pattern(form.graph()).producer(form.input(1), "Unsqueeze");
  if (unsqueeze && form.graph().value(unsqueeze->inputs[0]).type.shape == core) {
    form.set_input(1, unsqueeze->inputs[0]);
    return {};
  }
  std::vector<int64_t> ones;
  for (int64_t k = 0; k < form.rank(1); ++k)
    if (k < before || k >= before + std::ssize(core)) ones.push_back(k);
  if (ones.empty()) return {};
  TRY(const ValueId squeezed, form.emit("Squeeze", {form.input(1), form.ints(std::move(ones), "axes")}));
  form.set_input(1, squeezed);
  return {};
}

}  // namespace

Version explicit_broadcast(int since) {
  return {
      since,
      [](NodeForm& form) -> Result<void> {
        TRY_VOID(drop_consumed_inputs(form));
        TRY(const auto enabled, form.take_int("broadcast"));
        TRY(const auto axis, form.take_int("axis"));
        if (enabled.value_or(0) == 0 && form.has_rank(0) && form.has_rank(1) &&
            contradict(*form.type(0).shape, *form.type(1).shape))
          return form.invalid("operands of one shape expected without attribute broadcast, {} and {} found",
                              text(*form.type(0).shape), text(*form.type(1).shape));
        if (enabled.value_or(0) == 0 || !axis) return {};
        if (!form.has_rank(0) || !form.has_rank(1)) return form.unsupported("known ranks expected for attribute axis");
        const int rank = form.rank(0), inner = form.rank(1);
        const int64_t first = *axis < 0 ? *axis + rank : *axis;
        if (first < 0 || first > rank - inner)
          return form.invalid("axis {} with B of rank {} in A of rank {}", *axis, inner, rank);
        if (first + inner == rank) return {};
        std::vector<int64_t> trailing;
        for (int64_t k = inner; k < rank - first; ++k) trailing.push_back(k);
        TRY(const ValueId aligned, form.emit("Unsqueeze", {form.input(1), form.ints(std::move(trailing), "axes")}));
        form.set_input(1, aligned);
        return {};
      },
      [](NodeForm& form) -> Result<void> {
        if (!form.has_rank(0) || !form.has_rank(1)) {
          form.set("broadcast", int64_t{1});  // without ranks it came without an axis
          return {};
        }
        if (*form.type(0).shape == *form.type(1).shape) return {};
        const Shape& a = *form.type(0).shape;
        const Shape& b = *form.type(1).shape;
        // What numpy aligns by ones, these opsets align by an axis.
        const auto is_wide = [](const Dim& dim) { return !dim.is(1); };
        const auto from = std::find_if(b.begin(), b.end(), is_wide);
        const auto to = std::find_if(b.rbegin(), std::make_reverse_iterator(from), is_wide).base();
        const Shape core(from, to);
        const auto values = constants(core);
        const bool whole = b.size() <= a.size() && std::equal(b.rbegin(), b.rend(), a.rbegin());
        const size_t first = b.size() > a.size() ? 0 : a.size() - b.size() + (from - b.begin());
        if (!whole && (b.size() > a.size() || !std::equal(core.begin(), core.end(), a.begin() + first, must_be_equal)))
          return form.unsupported("operands that opset 6 can broadcast expected");
        form.set("broadcast", int64_t{1});
        if (whole) return {};
        if (!values) {
          TRY_VOID(take_ones_off(form, core, from - b.begin()));
          form.set("axis", static_cast<int64_t>(first));
          return {};
        }
        if (std::count(values->begin(), values->end(), 0) > 0)
          return form.unsupported("dims above 0 expected, which Reshape can say in opset 6");
        TRY(const ValueId aligned, form.emit("Reshape", {form.input(1), form.ints(*values, "shape")}));
        form.set_input(1, aligned);
        form.set("axis", static_cast<int64_t>(first));
        return {};
      }};
}

Result<void> drop_consumed_inputs(NodeForm& form) {
  form.drop("consumed_inputs");
  return {};
}

Version without(int since, std::vector<const char*> attributes) {
  const auto equal = [](const Attribute& a, const Attribute& b) {
    const auto same = [&]<class T>(const T* x) { return x && std::get_if<T>(&b) && *x == std::get<T>(b); };
    return same(std::get_if<int64_t>(&a)) || same(std::get_if<float>(&a)) || same(std::get_if<std::string>(&a));
  };
  return {since, nullptr, [equal, attributes = std::move(attributes)](NodeForm& form) -> Result<void> {
            for (const AttributeDef& def : form.node().op->attributes) {
              const bool lacking = std::find(attributes.begin(), attributes.end(), def.name) != attributes.end();
              const auto found = form.node().attributes.find(def.name);
              if (!lacking || found == form.node().attributes.end()) continue;
              const auto* list = std::get_if<std::vector<int64_t>>(&found->second);
              const bool neutral = def.fallback
                                       ? equal(found->second, *def.fallback)
                                       : list && std::count(list->begin(), list->end(), 1) == std::ssize(*list);
              if (!neutral) return form.unsupported("the default of '{}' expected, which the opset lacks", def.name);
              form.drop(def.name);
            }
            return {};
          }};
}

Reform in_turn(std::vector<Reform> steps) {
  return [steps = std::move(steps)](NodeForm& form) -> Result<void> {
    for (const Reform& step : steps)
      if (step) TRY_VOID(step(form));
    return {};
  };
}

Reform drop_neutral(const char* name, int64_t neutral) {
  return [=](NodeForm& form) -> Result<void> {
    TRY(const auto value, form.take_int(name));
    if (value.value_or(neutral) == neutral) return {};
    return form.unsupported("{} of {} expected where the opset lacks the attribute, {} found", name, neutral, *value);
  };
}

Reform drop_neutral(const char* name, std::string neutral) {
  return [=](NodeForm& form) -> Result<void> {
    TRY(const auto value, form.take_string(name));
    if (value.value_or(neutral) == neutral) return {};
    return form.unsupported("{} of '{}' expected where the opset lacks the attribute, '{}' found", name, neutral,
                            *value);
  };
}

Reform count_from_front(const char* name, int more) {
  return [=](NodeForm& form) -> Result<void> {
    const auto found = form.node().attributes.find(name);
    if (found == form.node().attributes.end()) return {};
    std::vector<int64_t> axes;
    if (const auto* axis = std::get_if<int64_t>(&found->second)) axes = {*axis};
    if (const auto* list = std::get_if<std::vector<int64_t>>(&found->second)) axes = *list;
    if (std::all_of(axes.begin(), axes.end(), [](int64_t axis) { return axis >= 0; })) return {};
    // Without a rank it came so: runtimes have always counted from the end, whatever the opset says.
    if (!form.has_rank(0)) return {};
    for (int64_t& axis : axes)
      if (axis < 0) axis += form.rank(0) + more;
    if (std::holds_alternative<int64_t>(found->second))
      form.set(name, axes.front());
    else
      form.set(name, std::move(axes));
    return {};
  };
}

Result<void> check_values(const OpContext& context, std::string_view what, const std::vector<int64_t>& values,
                          size_t count, int64_t least) {
  const bool fits =
      values.size() == count && std::all_of(values.begin(), values.end(), [&](int64_t v) { return v >= least; });
  if (!fits) return context.invalid("{} of {} values of at least {} expected, {} found", what, count, least, values);
  return {};
}

Result<DataType> type_attribute(const OpContext& context, std::string_view attribute) {
  const int64_t code = context.get_int(attribute);
  if (!is_known_data_type(code)) return context.invalid("a data type as {} expected, {} found", attribute, code);
  const auto dtype = static_cast<DataType>(code);
  if (!kPlain.contains(dtype)) return context.unsupported("{} {}", attribute, name(dtype));
  return dtype;
}

}  // namespace isomer::ops
