// Writes the imperative loop nests of operators that have no tensor expression.
#pragma once

#include <functional>
#include <vector>

#include "graph/op_context.h"

namespace isomer::ops {

/// A buffer of the procedure under construction.
struct Buffer {
  int local;
  DataType dtype;

  te::Expr at(std::vector<te::Expr> index) const { return te::load_local(local, dtype, std::move(index)); }
  te::Expr at(te::Expr index) const { return at(std::vector{std::move(index)}); }
  te::Expr get() const { return at(std::vector<te::Expr>()); }
  te::Statement put(std::vector<te::Expr> index, te::Expr value) const {
    return te::store(local, std::move(index), std::move(value));
  }
  te::Statement put(te::Expr index, te::Expr value) const {
    return put(std::vector{std::move(index)}, std::move(value));
  }
  te::Statement set(te::Expr value) const { return put(std::vector<te::Expr>(), std::move(value)); }
  te::Statement increment() const { return set(get() + 1); }
};

class Writer {
 public:
  Buffer buffer(DataType dtype, Shape shape);
  Buffer scalar(DataType dtype) { return buffer(dtype, {}); }
  Buffer counter() { return scalar(DataType::kInt64); }
  /// for (variable from 0 to extent) body(variable)
  te::Statement loop(const te::Expr& extent, const std::function<te::Block(te::Expr)>& body);
  /// Loops over all positions of a shape, the first axis outermost; `except` is left out.
  te::Block loops(const Shape& shape, int except, const std::function<te::Block(std::vector<te::Expr>)>& body);
  /// The block as the last stage of `program`, with the operator's outputs.
  te::Program finish(const OpContext& context, te::Block block, const std::vector<Buffer>& outputs,
                     te::Program program = {});

 private:
  te::Block nest(const Shape& shape, int except, int axis, std::vector<te::Expr>& position,
                 const std::function<te::Block(std::vector<te::Expr>)>& body);

  te::Procedure procedure_;
  int loops_ = 0;
};

}  // namespace isomer::ops
