// Add Sub Mul Div: broadcasting arithmetic on two operands.
#include "graph/ops/common.h"
#include "graph/ops/registry.h"

namespace isomer::ops {

std::vector<OpDef> arithmetic() {
  return {
      {.name = "Add", .since = 14, .inputs = {"A", "B"}, .outputs = {"C"},
       .types = {{"T", kNumeric}},
       .versions = {{13}, {7}, explicit_broadcast(6), explicit_broadcast(1)},
       .infer = broadcast_shapes,
       .compute = pointwise([](te::Expr a, te::Expr b) { return a + b; }),
       .axioms = {{"Add(a,b) = Add(b,a)", "equal"},
                  {"Add(a,Add(b,c)) = Add(Add(a,b),c)", "equal", FloatClass::kReassociated}}},
  };
}

}  // namespace isomer::ops
