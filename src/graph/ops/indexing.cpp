#include "graph/ops/indexing.h"

#include "graph/infer.h"
#include "graph/te/simplify.h"

namespace isomer::ops {
namespace {

te::Expr choose_among(const te::Expr& position, const std::vector<te::Expr>& begins,
                      const std::vector<te::Expr>& pieces, size_t first, size_t last) {
  if (last - first == 1) return pieces[first];
  const size_t middle = first + (last - first) / 2;
  return te::select(position < begins[middle], choose_among(position, begins, pieces, first, middle),
                    choose_among(position, begins, pieces, middle, last));
}

/// Dims other than 1 with their axes, and the products of those before each.
struct Factors {
  std::vector<int> axes;
  std::vector<Dim> products = {Dim(1)};

  explicit Factors(const Shape& shape) {
    for (size_t k = 0; k < shape.size(); ++k) {
      if (shape[k].is(1)) continue;
      axes.push_back(static_cast<int>(k));
      products.push_back(products.back() * shape[k]);
    }
  }
  size_t size() const { return axes.size(); }
};

/// The first ends after (i, j) at which the same number of elements is behind both; the very ends if there are none.
std::pair<size_t, size_t> next_seam(const Factors& from, const Factors& to, size_t i, size_t j) {
  for (size_t a = i + 1; a <= from.size(); ++a)
    for (size_t b = j + 1; b <= to.size(); ++b)
      if (from.products[a] == to.products[b] && (a < from.size()) == (b < to.size())) return {a, b};
  return {from.size(), to.size()};
}

}  // namespace

te::Expr choose(const te::Expr& position, const std::vector<te::Expr>& begins, const std::vector<te::Expr>& pieces) {
  CHECK(!pieces.empty() && begins.size() == pieces.size());
  return choose_among(position, begins, pieces, 0, pieces.size());
}

te::Expr pick(const te::Expr& position, const std::vector<te::Expr>& values) {
  std::vector<te::Expr> begins;
  for (size_t k = 0; k < values.size(); ++k) begins.push_back(te::index(static_cast<int64_t>(k)));
  return choose(position, begins, values);
}

te::Expr simplified(const te::Expr& expr, const Shape& axes) {
  return te::simplify_index(expr, [&](const te::Expr& leaf) -> te::Interval {
    const te::Var* variable = te::as<te::Var>(leaf);
    if (!variable || variable->kind != te::VarKind::kSpatial) return {};
    const Dim& extent = axes[variable->index];
    if (!extent.is_constant()) return {0, std::nullopt};
    return {0, std::max<int64_t>(0, extent.value() - 1)};
  });
}

te::Expr load_index(const OpContext& context, int i, std::vector<te::Expr> at) {
  return te::cast(DataType::kInt64, context.load(i, std::move(at)));
}

te::Expr wrapped(te::Expr index, const Dim& dim) { return te::select(index < 0, index + dim.expr(), index); }

te::Expr clamped(te::Expr value, const Dim& least, const Dim& greatest) {
  return te::min(te::max(std::move(value), least.expr()), greatest.expr());
}

std::vector<te::Expr> reshaped_index(const Shape& from, const Shape& to) {
  std::vector<te::Expr> index(from.size(), te::index(0));
  const Factors source(from), target(to);
  for (size_t i = 0, j = 0; i < source.size() || j < target.size();) {
    const auto [i_end, j_end] = next_seam(source, target, i, j);
    te::Expr position = te::index(0);
    for (; j < j_end; ++j) position = position * to[target.axes[j]].expr() + te::axis(target.axes[j]);
    Dim stride = 1;
    for (size_t k = i_end; k > i; --k) {
      const int axis = source.axes[k - 1];
      te::Expr quotient = te::floor_div(position, stride.expr());
      if (k - 1 > i) quotient = te::floor_mod(quotient, from[axis].expr());
      index[axis] = simplified(quotient, to);
      stride = stride * from[axis];
    }
    i = i_end;
  }
  return index;
}

Result<void> expect_scalar(const OpContext& context, int i) {
  const Dim count = element_count(context.shape(i));
  if (!count.is_constant() || count.is(1)) return {};
  return context.invalid("{} of one element expected, shape {} found", context.input_name(i), text(context.shape(i)));
}

te::Expr load_scalar(const OpContext& context, int i) {
  return context.load(i, std::vector<te::Expr>(context.rank(i), te::index(0)));
}

Result<std::optional<int64_t>> vector_length(const OpContext& context, int i) {
  if (context.rank(i) != 1)
    return context.invalid("{} of rank 1 expected, shape {} found", context.input_name(i), text(context.shape(i)));
  return context.dim(i, 0).constant();
}

Result<std::optional<Content>> vector_content(const OpContext& context, int i, bool with_loads) {
  TRY(const auto length, vector_length(context, i));
  if (const Content* known = context.content(i)) {
    Content content = *known;
    for (auto& element : content)
      if (element && !with_loads && te::has_load(element->expr())) element.reset();
    return std::optional(std::move(content));
  }
  if (const auto dims = context.dims(i)) return std::optional(Content(dims->begin(), dims->end()));
  if (!length || *length > kMaxRank) return std::optional<Content>();
  return std::optional(Content(*length));
}

}  // namespace isomer::ops
