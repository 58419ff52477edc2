// Shorthands for kernels that tests write by hand.
#pragma once

#include "kernel/loop_nest.h"

namespace isomer::kernel::test {

inline Statement loop(int variable, int64_t extent, LoopKind kind, Statements body) {
  Loop result;
  result.variable = variable;
  result.extent = te::index(extent);
  result.kind = kind;
  result.body = std::move(body);
  return {std::move(result)};
}

inline Expr k(int variable) { return loop_variable(variable); }

/// buffer[index] = body, or combined with it: over loop variables, without iterators of its own but for `reduce`.
inline Block assign(std::string name, int buffer, std::vector<Expr> index, Expr body) {
  Block block;
  block.name = std::move(name);
  block.writes = {{buffer, std::move(index)}};
  block.bodies = {std::move(body)};
  return block;
}
inline Block accumulate(std::string name, int buffer, std::vector<Expr> index, Expr body) {
  Block block = assign(std::move(name), buffer, std::move(index), body);
  block.combine = te::sum(body.dtype());
  return block;
}

}  // namespace isomer::kernel::test
