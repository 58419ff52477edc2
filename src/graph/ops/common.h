// What many rows share: inference and meaning of pointwise operators, and the usual changes of form.
#pragma once

#include <functional>

#include "graph/node_form.h"
#include "graph/op_context.h"
#include "graph/op_def.h"

namespace isomer::ops {

using Infer = decltype(OpDef::infer);
using Compute = decltype(OpDef::compute);

/// Floats of a byte that have a sign.
inline constexpr TypeSet kFloat8s =
    DataType::kFloat8E4M3FN | DataType::kFloat8E4M3FNUZ | DataType::kFloat8E5M2 | DataType::kFloat8E5M2FNUZ;

/// The output has input 0's type and shape.
Result<std::vector<ValueType>> same_as_first(const OpContext& context);
/// All inputs broadcast together; the output has input 0's element type, or a fixed one.
Result<std::vector<ValueType>> broadcast_shapes(const OpContext& context);
Infer broadcast_to(DataType dtype);

/// out[i] = f(a[i]), f(a[i], b[i]), … with broadcasting.
Compute pointwise(std::function<te::Expr(te::Expr)> f);
Compute pointwise(std::function<te::Expr(te::Expr, te::Expr)> f);
Compute pointwise(std::function<te::Expr(te::Expr, te::Expr, te::Expr)> f);
/// The same where f reads attributes.
Compute pointwise_with(std::function<te::Expr(const OpContext&, te::Expr)> f);

/// One output, defined by one map over `axes`.
te::Program single_map(Shape axes, te::Expr body);
/// What sums and products of many numbers of a type are kept in until the last one: float32 for those of 16 bits.
DataType sum_type(DataType dtype);
/// One output of the given type.
std::vector<ValueType> one(DataType dtype, Shape shape);

// Changes of form. Each returns the Reform for a row's `versions`.

/// Attribute `name` (ints) of the older form is input `input` of the newest; on the way back the input must be
/// constant. An absent attribute is an omitted input.
Version ints_attribute_to_input(int since, const char* name, int input);
/// Older forms of binary operators that broadcast only with `broadcast` = 1, aligned at `axis`.
Version explicit_broadcast(int since);
/// Opsets 1–5 had an attribute consumed_inputs without meaning.
Result<void> drop_consumed_inputs(NodeForm& form);

/// An older form that lacks these attributes; on the way back they must have the row's defaults.
Version without(int since, std::vector<const char*> attributes);
/// One change after the other, in the order given; empty ones are skipped.
Reform in_turn(std::vector<Reform> steps);
/// Ways back to forms that lack attribute `name`: dropped where it has the value that they mean, else kUnsupported.
Reform drop_neutral(const char* name, int64_t neutral);
Reform drop_neutral(const char* name, std::string neutral);
/// Ways back to forms that count axes from the front only: the int or ints of attribute `name`, which index the axes of
/// input 0 (of a rank that is `more` greater).
Reform count_from_front(const char* name, int more = 0);

/// The element type that an int attribute names; kUnsupported where rows don't compute with it.
Result<DataType> type_attribute(const OpContext& context, std::string_view attribute);
/// Positive, non-negative or other checks share one sentence: "strides of 2 positive values expected, [1,0] found".
Result<void> check_values(const OpContext& context, std::string_view what, const std::vector<int64_t>& values,
                          size_t count, int64_t least);

}  // namespace isomer::ops
