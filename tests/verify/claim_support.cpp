#include "verify/claim_support.h"

#include <cmath>

#include "graph/interpret.h"
#include "util/check.h"
#include "util/random.h"

namespace isomer::verify::test {

VariableTypes types_of(const Claim& claim) {
  VariableTypes result;
  const std::string text = claim.types;
  for (size_t at = 0; (at = text.find_first_not_of(' ', at)) != std::string::npos;) {
    const size_t open = text.find('[', at), close = text.find(']', at);
    Shape shape;
    for (size_t k = open + 1; k < close; k = std::min(text.find(',', k), close) + 1)
      shape.emplace_back(std::stoll(text.substr(k)));
    result.emplace(text.substr(at, open - at), ValueType::tensor(DataType::kFloat32, std::move(shape)));
    at = close + 1;
  }
  return result;
}

bool agree(const Law& equation, const VariableTypes& types) {
  const auto graph = graph_of({equation.left, equation.right}, types);
  CHECK(graph.ok()) << equation.text() << ": " << graph.error().message();
  Random random(1);
  std::vector<te::Array> inputs;
  for (const auto& [name, type] : types) {
    const Dims dims = *constants(*type.shape);
    std::vector<double> values;
    for (int64_t count = element_count(dims); count > 0; --count) values.push_back(random.uniform(-2, 2));
    inputs.push_back(te::Array::reals(type.dtype, dims, values));
  }
  const auto sides = interpret(*graph, inputs, {});
  CHECK(sides.ok()) << equation.text() << ": " << sides.error().message();
  const te::Array &left = (*sides)[0], &right = (*sides)[1];
  if (left.dims() != right.dims()) return false;
  for (int64_t k = 0; k < left.count(); ++k) {
    if (!is_float(left.dtype())) {
      if (left.integer(k) != right.integer(k)) return false;
      continue;
    }
    if (std::abs(left.real(k) - right.real(k)) > 1e-9 * std::max(1.0, std::abs(left.real(k)))) return false;
  }
  return true;
}

}  // namespace isomer::verify::test
