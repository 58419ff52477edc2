#include "graph/ops/registry.h"

#include <algorithm>
#include <unordered_map>

#include "util/check.h"

namespace isomer {
namespace {

struct Registry {
  std::vector<OpDef> rows;
  std::vector<const OpDef*> order;
  std::unordered_map<std::string, const OpDef*> by_name;

  Registry() {
    using Family = std::vector<OpDef> (*)();
    for (const Family family : {ops::arithmetic,
                                ops::comparison,
                                ops::bitwise,
                                ops::unary,
                                ops::trigonometry,
                                ops::activation,
                                ops::sigmoid,
                                ops::cast,
                                ops::layout,
                                ops::joining,
                                ops::slicing,
                                ops::padding,
                                ops::repeating,
                                ops::shape,
                                ops::gathering,
                                ops::reduction,
                                ops::one_axis,
                                ops::product,
                                ops::convolution,
                                ops::winograd,
                                ops::residues,
                                ops::windows,
                                ops::folding,
                                ops::pooling,
                                ops::normalization,
                                ops::layer_normalization,
                                ops::axis_normalization,
                                ops::softmax,
                                ops::spectral,
                                ops::resampling,
                                ops::recurrent,
                                ops::attention,
                                ops::attention_contrib,
                                ops::fused_contrib,
                                ops::product_contrib,
                                ops::loss,
                                ops::quantization,
                                ops::quantized_contrib,
                                ops::selection,
                                ops::suppression,
                                ops::control_flow})
      for (OpDef& row : family()) rows.push_back(std::move(row));
    for (const OpDef& row : rows) {
      order.push_back(&row);
      const bool added = by_name.emplace(key(row.domain, row.name), &row).second;
      CHECK(added) << row.name << " has two rows";
    }
  }

  static std::string key(std::string_view domain, std::string_view name) {
    if (domain == "ai.onnx") domain = "";
    return fmt::format("{}:{}", domain, name);
  }
};

const Registry& registry() {
  static const Registry instance;
  return instance;
}

}  // namespace

const OpDef* OpTable::find(std::string_view domain, std::string_view name) const {
  const auto found =
      std::ranges::find_if(rows, [&](const OpDef& row) { return row.domain == domain && row.name == name; });
  return found == rows.end() ? nullptr : &*found;
}

const OpDef* find_op(std::string_view domain, std::string_view name, const OpTable* more) {
  const auto found = registry().by_name.find(Registry::key(domain, name));
  if (found != registry().by_name.end()) return found->second;
  return more ? more->find(domain, name) : nullptr;
}

const OpDef* find_op(std::string_view name) {
  const OpDef* standard = find_op("", name);
  return standard ? standard : find_op(kOwnDomain, name);
}

const std::vector<const OpDef*>& all_ops() { return registry().order; }

}  // namespace isomer
