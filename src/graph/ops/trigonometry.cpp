// Sin Cos Tan, their inverses, and the hyperbolic ones (Tanh is with the activations).
#include "graph/ops/common.h"
#include "graph/ops/registry.h"

namespace isomer::ops {
namespace {

OpDef row(const char* name, int first, te::UnaryOp op) {
  return {.name = name,
          .since = 22,
          .inputs = {"input"},
          .outputs = {"output"},
          .types = {{"T", kFloats}},
          .versions = {{first}},
          .infer = same_as_first,
          .compute = pointwise([op](te::Expr x) { return te::unary(op, x); })};
}

}  // namespace

std::vector<OpDef> trigonometry() {
  using te::UnaryOp;
  return {
      row("Sin", 7, UnaryOp::kSin),     row("Cos", 7, UnaryOp::kCos),     row("Tan", 7, UnaryOp::kTan),
      row("Asin", 7, UnaryOp::kAsin),   row("Acos", 7, UnaryOp::kAcos),   row("Atan", 7, UnaryOp::kAtan),
      row("Sinh", 9, UnaryOp::kSinh),   row("Cosh", 9, UnaryOp::kCosh),   row("Asinh", 9, UnaryOp::kAsinh),
      row("Acosh", 9, UnaryOp::kAcosh), row("Atanh", 9, UnaryOp::kAtanh),
  };
}

}  // namespace isomer::ops
