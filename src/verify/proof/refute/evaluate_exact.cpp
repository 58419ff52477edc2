#include "verify/proof/refute/evaluate_exact.h"

namespace isomer::verify {

template Result<std::vector<te::ValuesOver<te::PrimeFieldAlgebra>>> evaluate(
    const Graph&, const te::Concrete<te::PrimeFieldAlgebra>&,
    const std::vector<te::ValuesOver<te::PrimeFieldAlgebra>>&);
template Result<std::vector<te::ValuesOver<te::RationalAlgebra>>> evaluate(
    const Graph&, const te::Concrete<te::RationalAlgebra>&, const std::vector<te::ValuesOver<te::RationalAlgebra>>&);

}  // namespace isomer::verify
