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

Shape TakenParts::shape(const Shape& x) const {
  Shape result = x;
  Dim& whole = result[static_cast<size_t>(parts.whole)];
  whole = whole * parts.count();
  for (size_t k = 0; k < sizes.size(); ++k) result[static_cast<size_t>(parts.axes[k])] = sizes[k];
  return result;
}

te::Program TakenParts::program(const OpContext& context) const {
  const Shape& x = context.shape(0);
  const Shape made = shape(x);
  std::vector<te::Expr> index = te::axes(static_cast<int>(made.size()));
  te::Expr& whole = index[static_cast<size_t>(parts.whole)];
  const te::Expr size = x[static_cast<size_t>(parts.whole)].expr(), all = te::floor_div(whole, size);
  whole = te::floor_mod(whole, size);
  te::Expr inside;
  for (size_t k = 0; k < parts.axes.size(); ++k) {
    te::Expr& at = index[static_cast<size_t>(parts.axes[k])];
    at = at * steps[k] + parts.part(all, k) * apart[k] - pads[k];
    const te::Expr is_in = te::Number(0) <= at && at < x[static_cast<size_t>(parts.axes[k])].expr();
    inside = inside ? inside && is_in : is_in;
  }
  const te::Expr element = context.load(0, index);
  return single_map(made, te::select(inside, element, te::literal(0, element.dtype())));
}

Shape joined_shape(const Parts& parts, const std::vector<int64_t>& sizes, const Shape& x) {
  Shape result = x;
  Dim& whole = result[static_cast<size_t>(parts.whole)];
  whole = floor_div(whole, parts.count());
  for (size_t k = 0; k < sizes.size(); ++k) result[static_cast<size_t>(parts.axes[k])] = sizes[k];
  return result;
}

Result<Dims> known_sizes(const NodeForm& form) {
  const auto dims = form.has_rank(0) ? constants(*form.type(0).shape) : std::nullopt;
  if (!dims) return form.unsupported("an input of known sizes expected");
  return *dims;
}

}  // namespace isomer::ops
