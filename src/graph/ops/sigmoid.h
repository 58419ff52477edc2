// Activations that saturate, as expressions: what rows of fused operators share with the activations' own.
#pragma once

#include "graph/te/expr.h"

namespace isomer::ops {

te::Expr sigmoid_of(const te::Expr& x);
/// max(0, min(1, alpha x + beta)).
te::Expr hard_sigmoid_of(const te::Expr& x, double alpha, double beta);
/// x/2 (1 + erf(x/√2)).
te::Expr gelu_of(const te::Expr& x);
/// The same with the error function approximated by tanh(√(2/π) (x + 0.044715 x³)).
te::Expr tanh_gelu_of(const te::Expr& x);

}  // namespace isomer::ops
