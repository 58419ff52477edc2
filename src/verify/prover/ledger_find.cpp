// What only those ask of a ledger who look for a proof.
#include "verify/proof/ledger.h"

namespace isomer::verify {

std::optional<int> Ledger::find_constant(const Tensor& tensor) const {
  const auto exact = find(tensor, true);
  return exact ? exact : find(tensor, false);
}

std::optional<std::vector<int>> Ledger::find(const isomer::Node& node, std::span<const int> arguments) const {
  if (!node.op) return std::nullopt;
  const auto symbol = find_symbol(node);
  if (!symbol) return std::nullopt;
  std::vector<int> outputs;
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    const auto known =
        known_.find(canonical({*symbol, static_cast<int>(k), {arguments.begin(), arguments.end()}, false}));
    if (known == known_.end()) return std::nullopt;
    outputs.push_back(known->second);
  }
  return outputs;
}

}  // namespace isomer::verify
