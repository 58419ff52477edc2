#include <algorithm>

#include "kernel/space/modules.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

bool is_integer_sum(const View& view, const std::string& name) {
  const Block& block = view.block(name);
  return block.combine.name == te::sum(DataType::kInt32).name && block.bodies.size() == 1 && !block.reduce.empty();
}

/// Sums over words along the longest iterator of the reduction that allows it.
void narrow(Builder& builder, const std::string& name) {
  const View& view = builder.view;
  std::vector<std::pair<int64_t, int64_t>> iterators;  // steps, iterator
  const Block block = view.block(name);
  for (size_t k = 0; k < block.reduce.size(); ++k)
    if (const auto steps = te::as_constant(block.reduce[k].extent); steps > 1)
      iterators.emplace_back(-*steps, static_cast<int64_t>(k));
  std::sort(iterators.begin(), iterators.end());
  const auto narrowed = [&](int64_t parts) {
    for (const auto& [steps, iterator] : iterators)
      if (tried(builder.schedule.multiply_words(name, iterator, parts))) return true;
    return false;
  };
  std::vector<int64_t> candidates = {0};
  const Schedule before = builder.schedule;
  for (const int64_t parts : {2, 4}) {
    if (parts <= builder.machine().word_parts && narrowed(parts)) candidates.push_back(parts);
    builder.schedule = before;
  }
  if (candidates.size() == 1) return;
  const int64_t parts = builder.decide(name, "word_parts", candidates, candidates.back());
  if (parts != 0) (void)narrowed(parts);
}

}  // namespace

Module narrow_products() {
  return {"narrow_products",
          [](const View& view, const std::string& name) {
            return view.machine().word_parts > 0 && view.is_free_reduction(name) && is_integer_sum(view, name);
          },
          narrow};
}

}  // namespace isomer::kernel
