// The reference evaluator: the values of a program over any algebra, by its definition.
#pragma once

#include "graph/te/evaluator.h"

namespace isomer::te {

template <RealAlgebra A>
using ValuesOver = Values<typename Concrete<A>::Scalar>;

/// The elements of a tensor of a computable type in an algebra.
template <RealAlgebra A>
Result<ValuesOver<A>> import_tensor(const Concrete<A>& scalars, const Tensor& tensor) {
  ValuesOver<A> result{tensor.dtype(), tensor.dims(), {}};
  try {
    for (int64_t i = 0; i < tensor.count(); ++i)
      result.elements.push_back(is_float(tensor.dtype()) ? scalars.literal(tensor.number(i).value_or(0), tensor.dtype())
                                                         : scalars.integer(tensor.integer(i)));
  } catch (Failure& failure) {
    return std::move(failure.error);
  }
  return result;
}

/// All outputs of a program; an output that the node does not have is left empty. `inputs` has nullptr for absent ones.
/// Errors: what has no value in the algebra, division of integers by zero, an index out of range where it is used, a
/// symbol without a value, an evaluation beyond the limits.
template <RealAlgebra A>
Result<std::vector<ValuesOver<A>>> evaluate(const Program& program, const Concrete<A>& scalars,
                                            const std::vector<const ValuesOver<A>*>& inputs,
                                            const EvaluationLimits& limits = {}) {
  Evaluator<const Concrete<A>> evaluator(program, scalars, inputs, limits);
  std::vector<ValuesOver<A>> outputs;
  try {
    for (const StageValue& output : program.outputs)
      outputs.push_back(output.stage < 0 ? ValuesOver<A>() : evaluator.value(output));
  } catch (Failure& failure) {
    return std::move(failure.error);
  }
  return outputs;
}

}  // namespace isomer::te
