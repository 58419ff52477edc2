// Graphs over an algebra: what laws and rules are compared on. Exact numbers, float32 that rounds each operation, what
// rounding may do.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/te/algebra_floating.h"
#include "graph/te/algebra_prime.h"
#include "graph/te/algebra_rational.h"
#include "graph/te/evaluate.h"
#include "verify/rounding_algebra.h"

namespace isomer::verify {

/// The outputs of a graph of bound dims for inputs in its order. Errors: what has no value in the algebra, nodes
/// without a tensor expression, evaluations beyond the limits.
template <te::RealAlgebra A>
Result<std::vector<te::ValuesOver<A>>> evaluate(const Graph& graph, const te::Concrete<A>& scalars,
                                                const std::vector<te::ValuesOver<A>>& inputs);

extern template Result<std::vector<te::ValuesOver<te::PrimeFieldAlgebra>>> evaluate(
    const Graph&, const te::Concrete<te::PrimeFieldAlgebra>&,
    const std::vector<te::ValuesOver<te::PrimeFieldAlgebra>>&);
extern template Result<std::vector<te::ValuesOver<te::RationalAlgebra>>> evaluate(
    const Graph&, const te::Concrete<te::RationalAlgebra>&, const std::vector<te::ValuesOver<te::RationalAlgebra>>&);
extern template Result<std::vector<te::ValuesOver<te::FloatAlgebra>>> evaluate(
    const Graph&, const te::Concrete<te::FloatAlgebra>&, const std::vector<te::ValuesOver<te::FloatAlgebra>>&);
extern template Result<std::vector<te::ValuesOver<RoundingAlgebra>>> evaluate(
    const Graph&, const te::Concrete<RoundingAlgebra>&, const std::vector<te::ValuesOver<RoundingAlgebra>>&);

}  // namespace isomer::verify
