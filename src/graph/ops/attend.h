// Softmax(scale Q Kᵀ + bias) V (Vaswani et al. 2017, section 3.2.1) and the heads that it is computed for: what rows of
// attention share, however their operands lie.
#pragma once

#include <functional>

#include "graph/op_context.h"

namespace isomer::ops {

/// [batch, heads, sequence, size].
struct Heads {
  Dim batch, heads, sequence, size;
};

/// Which of `keys` heads of keys and values a head of `queries` ones reads: neighbours share one.
te::Expr shared_head(const te::Expr& head, const Dim& queries, const Dim& keys);
/// An error unless so many heads of queries share so many of keys evenly.
Result<void> expect_shared(const OpContext& context, const Dim& queries, const Dim& keys);
/// 1 / √size.
te::Expr inverse_root(const Dim& size, DataType dtype);

/// How pairs of elements of a head are turned by angles (RoFormer, Su et al. 2021): the first `turned` of `size`, a
/// pair being neighbours where they are interleaved, else an element of the first half and one of the second.
struct Rotation {
  Dim turned, size;
  bool interleaved;
  std::function<te::Expr(const te::Expr&)> cosine, sine;  ///< of a pair
};
/// Element `element` of a head after it, `x` being those before.
te::Expr rotated(const Rotation& rotation, const te::Expr& element, const std::function<te::Expr(const te::Expr&)>& x);

struct AttentionForm {
  Heads q;  ///< of the queries
  Dim keys, value_size;
  DataType dtype, softmax;  ///< of the scores, and the one in which their softmax is computed
  /// Elements, of batch, head of the queries, place and element of the head.
  using Element = std::function<te::Expr(const te::Expr&, const te::Expr&, const te::Expr&, const te::Expr&)>;
  Element query = nullptr, key = nullptr, value = nullptr;
  te::Expr scale = {};  ///< in the type that sums are kept in, accumulator(dtype)
  double softcap = 0;   ///< scores become softcap * tanh(score / softcap) where it is greater than 0
  /// What is added to the score of batch, head, query and key; an empty function adds nothing.
  Element bias = nullptr;
  /// A query whose biases are all -inf gets zeros; otherwise none is taken to see nothing.
  bool may_see_nothing = false;
  /// Of a head of the queries: what is added to the sum of the powers as if it were a key's score, whose value is 0.
  std::function<te::Expr(const te::Expr&)> sink = nullptr;

  Shape scores() const { return {q.batch, q.heads, q.sequence, keys}; }
  Shape rows() const { return {q.batch, q.heads, q.sequence}; }
};

/// Stages over [batch, heads, queries, keys]: the scores after each step, and the shares, softmax of the last.
struct AttentionStages {
  te::StageValue scaled, capped, biased, shares;
  te::StageValue y;  ///< [batch, heads, queries, value_size] in accumulator(dtype)
};
AttentionStages attend(te::Program& program, const AttentionForm& form);

/// y of `form` as [batch, queries, heads * value_size] in that type.
te::StageValue heads_together(te::Program& program, const AttentionForm& form, te::StageValue y, DataType dtype);

}  // namespace isomer::ops
