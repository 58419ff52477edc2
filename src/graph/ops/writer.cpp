#include "graph/ops/writer.h"

namespace isomer::ops {

using te::Block;
using te::Expr;

Buffer Writer::buffer(DataType dtype, Shape shape) {
  procedure_.locals.push_back({dtype, std::move(shape)});
  return {static_cast<int>(procedure_.locals.size()) - 1, dtype};
}

te::Statement Writer::loop(const Expr& extent, const std::function<Block(Expr)>& body) {
  const int variable = loops_++;
  return te::for_loop(variable, extent, body(te::loop_var(variable)));
}

Block Writer::loops(const Shape& shape, int except, const std::function<Block(std::vector<Expr>)>& body) {
  std::vector<Expr> position(shape.size());
  return nest(shape, except, 0, position, body);
}

Block Writer::nest(const Shape& shape, int except, int axis, std::vector<Expr>& position,
                   const std::function<Block(std::vector<Expr>)>& body) {
  if (axis == static_cast<int>(shape.size())) return body(position);
  if (axis == except) return nest(shape, except, axis + 1, position, body);
  return {loop(shape[axis].expr(), [&](Expr variable) {
    position[axis] = std::move(variable);
    return nest(shape, except, axis + 1, position, body);
  })};
}

te::Program Writer::finish(const OpContext& context, Block block, const std::vector<Buffer>& outputs,
                           te::Program program) {
  procedure_.block = std::move(block);
  te::Imperative imperative{std::move(procedure_), {}};
  for (const Buffer& output : outputs) imperative.outputs.push_back(output.local);
  const te::StageValue stage = program.imperative(std::move(imperative));
  for (int i = 0; i < context.output_count(); ++i)
    program.outputs.push_back(context.wants_output(i) ? te::StageValue{stage.stage, i} : te::StageValue{});
  return program;
}

}  // namespace isomer::ops
