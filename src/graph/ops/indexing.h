// Index arithmetic that operators of movement share: choosing among pieces, counting from the end, row-major order.
#pragma once

#include <optional>
#include <vector>

#include "graph/op_context.h"

namespace isomer::ops {

/// An element of an integer input, as an index.
te::Expr load_index(const OpContext& context, int i, std::vector<te::Expr> at);

/// pieces[k] where position lies in [begins[k], begins[k+1]), begins ascending from 0: a balanced tree of selects, so
/// that neither depth nor time grows with the number of pieces. At least one piece.
te::Expr choose(const te::Expr& position, const std::vector<te::Expr>& begins, const std::vector<te::Expr>& pieces);
/// values[position].
te::Expr pick(const te::Expr& position, const std::vector<te::Expr>& values);
/// The normal form of an index or a condition, given that axis(k) lies in [0, axes[k]).
te::Expr simplified(const te::Expr& expr, const Shape& axes);
/// index, or index + dim where it is negative.
te::Expr wrapped(te::Expr index, const Dim& dim);
te::Expr clamped(te::Expr value, const Dim& least, const Dim& greatest);
/// Where the element at axis(0…) of `to` stands in a tensor of shape `from` that has the same elements in row-major
/// order. Dims that both have stay themselves; those that are merged or split become quotients and remainders.
std::vector<te::Expr> reshaped_index(const Shape& from, const Shape& to);

/// An error unless input i has one element, as far as dims are known.
Result<void> expect_scalar(const OpContext& context, int i);
/// The element of input i that `expect_scalar` accepts.
te::Expr load_scalar(const OpContext& context, int i);
/// Input i as a vector of int64: its length, or an error when it has another rank; nothing when the length is unknown.
Result<std::optional<int64_t>> vector_length(const OpContext& context, int i);
/// The elements of input i, one each; unknown ones empty. Nothing when even their number is unknown. Code may read what
/// data decide: loads of the input, of either sign, stand for these where `with_loads`, else they are unknown.
Result<std::optional<Content>> vector_content(const OpContext& context, int i, bool with_loads = false);

}  // namespace isomer::ops
