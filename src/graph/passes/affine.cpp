#include "graph/passes/affine.h"

#include <cmath>

#include "graph/edit.h"
#include "graph/passes/anchor.h"

namespace isomer {
namespace {

std::vector<double> reals(const Tensor& tensor) {
  std::vector<double> values(tensor.count());
  for (size_t i = 0; i < values.size(); ++i) values[i] = tensor.real(static_cast<int64_t>(i));
  return values;
}

std::optional<Affine> batch_normalization(const Graph& graph, const Node& node) {
  if (!is_op(node, "BatchNormalization") || node.outputs.size() != 1) return std::nullopt;
  std::vector<double> parameters[4];
  for (int i = 0; i < 4; ++i) {
    const Tensor* tensor = constant_of(graph, input_of(node, i + 1));
    if (!tensor || !is_float(tensor->dtype())) return std::nullopt;
    parameters[i] = reals(*tensor);
  }
  const auto& [scale, bias, mean, variance] = parameters;
  const float* epsilon = attribute_of<float>(node, "epsilon");
  if (!epsilon || bias.size() != scale.size() || mean.size() != scale.size() || variance.size() != scale.size())
    return std::nullopt;
  Affine affine{node.inputs[0], 1, {}, {}};
  for (size_t c = 0; c < scale.size(); ++c) {
    const double factor = scale[c] / std::sqrt(variance[c] + *epsilon);
    if (!std::isfinite(factor)) return std::nullopt;
    affine.scale.push_back(factor);
    affine.shift.push_back(bias[c] - mean[c] * factor);
  }
  return affine;
}

/// The axis of an operand of `rank` axes along which a right-aligned constant varies; -1 none, -2 several.
int varying_axis(const Dims& dims, int rank) {
  int axis = -1;
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] == 1) continue;
    if (axis != -1) return -2;
    axis = rank - static_cast<int>(dims.size()) + static_cast<int>(k);
  }
  return axis;
}

}  // namespace

bool Affine::is_shift() const { return all_equal(scale, 1); }
bool Affine::is_scale() const { return all_equal(shift, 0); }
std::vector<double> Affine::scales(int64_t count) const {
  return axis < 0 ? std::vector<double>(count, scale[0]) : scale;
}
std::vector<double> Affine::shifts(int64_t count) const {
  return axis < 0 ? std::vector<double>(count, shift[0]) : shift;
}

std::optional<Affine> affine_at(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (auto normalization = batch_normalization(graph, node)) return normalization;
  const bool multiplies = is_op(node, "Mul"), divides = is_op(node, "Div"), adds = is_op(node, "Add"),
             subtracts = is_op(node, "Sub");
  if (!multiplies && !divides && !adds && !subtracts) return std::nullopt;
  for (const int side : {1, 0}) {
    const Tensor* constant = constant_of(graph, node.inputs[side]);
    const ValueId source = node.inputs[1 - side];
    if (!constant || constant_of(graph, source) || !is_float(constant->dtype()) || constant->count() == 0 ||
        (divides && side == 0))
      continue;
    if (!same_type(graph, source, node.outputs[0])) continue;
    const int rank = static_cast<int>(graph.value(source).type.shape->size());
    if (static_cast<int>(constant->dims().size()) > rank) continue;
    const int axis = varying_axis(constant->dims(), rank);
    if (axis == -2) continue;
    Affine affine{source, axis, {}, {}};
    for (const double c : reals(*constant)) {
      if (!std::isfinite(c) || (divides && c == 0)) return std::nullopt;
      affine.scale.push_back(multiplies ? c : divides ? 1 / c : subtracts && side == 0 ? -1 : 1);
      affine.shift.push_back(adds ? c : subtracts ? (side == 0 ? c : -c) : 0);
    }
    return affine;
  }
  return std::nullopt;
}

}  // namespace isomer
