#include "graph/ops/parts.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "graph/ops/common.h"

namespace isomer::ops {

te::Expr Parts::part(const te::Expr& all, size_t k) const {
  const int64_t below = element_count(Dims(counts.begin() + static_cast<std::ptrdiff_t>(k) + 1, counts.end()));
  const te::Expr here = below == 1 ? all : te::floor_div(all, te::index(below));
  return k == 0 ? here : te::floor_mod(here, te::index(counts[k]));
}

Result<Parts> parts_of(const OpContext& context, const char* counts, const char* whole) {
  Parts result{context.get_ints("axes"), context.get_ints(counts), context.get_int(whole)};
  const auto rank = static_cast<int64_t>(context.shape(0).size());
  std::vector<int64_t> all = result.axes;
  all.push_back(result.whole);
  std::sort(all.begin(), all.end());
  if (result.axes.empty() || all.front() < 0 || all.back() >= rank ||
      std::adjacent_find(all.begin(), all.end()) != all.end())
    return context.invalid("axes and {} of a tensor of rank {} expected, each another, {} and {} found", whole, rank,
                           result.axes, result.whole);
  TRY_VOID(check_values(context, counts, result.counts, result.axes.size(), 1));
  if (result.count() == 1) return context.invalid("two parts or more expected, {} {} found", counts, result.counts);
  return result;
}

Result<Dims> known_sizes(const NodeForm& form) {
  const auto dims = form.has_rank(0) ? constants(*form.type(0).shape) : std::nullopt;
  if (!dims) return form.unsupported("an input of known sizes expected");
  return *dims;
}

}  // namespace isomer::ops
