#include "graph/onnx/outputs.h"

#include <algorithm>

#include "graph/op_def.h"

namespace isomer {

size_t least_outputs(const Node& node) {
  if (node.is_opaque()) return 0;
  size_t least = node.op->outputs.size();
  while (least > 0 && node.op->outputs[least - 1].arity == Parameter::Arity::kOptional) --least;
  return least;
}

bool must_be_named(const Node& node, size_t i) {
  if (node.is_opaque() || node.op->outputs.empty()) return false;
  const std::vector<Parameter>& formal = node.op->outputs;
  return formal[std::min(i, formal.size() - 1)].arity != Parameter::Arity::kOptional;
}

Result<void> check_outputs(const Node& node, const std::string& place) {
  for (size_t i = 0; i < least_outputs(node); ++i) {
    const Parameter& formal = node.op->outputs[i];
    const bool is_there = i < node.outputs.size() && node.outputs[i].valid();
    // Of a list it is enough that it is not empty.
    const bool is_listed = formal.arity == Parameter::Arity::kVariadic && i < node.outputs.size();
    if (!is_there && !is_listed) return invalid(place, "output {} ({}) expected, none found", i, formal.name);
  }
  return {};
}

}  // namespace isomer
