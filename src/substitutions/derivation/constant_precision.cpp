#include "substitutions/derivation/constant_precision.h"

#include <algorithm>
#include <cmath>

#include "graph/rounding.h"

namespace isomer::substitutions {
namespace {

using te::Expr;

/// What rounding a type's smallest numbers may take of an element, as a part of the largest one beside it: no more than
/// what data of usual sizes would ever show.
constexpr double kNegligible = 0x1p-100;

/// What rounding takes of a number.
double loss(DataType dtype, double exact) { return std::fabs(round_to(dtype, exact) - exact); }

/// Nearly all constants are float32, and keep their bits: a loop that runs on vectors.
bool none_is_lossy(const te::Array& elements) {
  if (elements.dtype() != DataType::kFloat32 || elements.storage() != te::Storage::kDouble) return false;
  const double spacing = spacing_at_one(DataType::kFloat32);
  int lost = 0;
  for (const double element : elements.reals())
    lost += std::fabs(static_cast<float>(element) - element) <= spacing * std::fabs(element) ? 0 : 1;
  return lost == 0;
}

/// Those that lose more than rounding takes of any number.
std::vector<int64_t> lossy(const te::Array& elements) {
  const DataType dtype = elements.dtype();
  std::vector<int64_t> result;
  if (!is_float(dtype)) return result;
  const double spacing = spacing_at_one(dtype);
  for (int64_t i = 0; i < elements.count(); ++i)
    if (const double exact = elements.real(i); loss(dtype, exact) > spacing * std::fabs(exact)) result.push_back(i);
  return result;
}

const te::Load* as_load_of(const Expr& expr, int input) {
  const te::Load* load = te::as<te::Load>(expr);
  return load && load->buffer.kind == te::BufferRef::Kind::kInput && load->buffer.index == input ? load : nullptr;
}

bool loads(const Expr& expr, int input) {
  return te::any_node(expr, [&](const Expr& node) { return as_load_of(node, input) != nullptr; });
}

bool is_term(const Expr& expr, int input) {
  if (!loads(expr, input) || as_load_of(expr, input)) return true;
  const te::Binary* sum = te::as<te::Binary>(expr);
  return sum && sum->op == te::BinaryOp::kAdd && is_term(sum->left, input) && is_term(sum->right, input);
}

/// Of each element the place of its sum, axes of the result in order, and how many places there are.
struct Places {
  std::vector<int64_t> extents;  ///< by axis of the result
  explicit Places(const Summed& summed) {
    const Dims& dims = summed.elements->dims();
    for (size_t k = 0; k < dims.size(); ++k) {
      if (!summed.axes[k]) continue;
      const auto axis = static_cast<size_t>(*summed.axes[k]);
      if (extents.size() <= axis) extents.resize(axis + 1, 1);
      extents[axis] = dims[k];
    }
  }
  int64_t count() const {
    int64_t result = 1;
    for (const int64_t extent : extents) result *= extent;
    return result;
  }
  /// Nothing where the element stands in the sums of several places.
  std::optional<int64_t> of(const Summed& summed, int64_t element) const {
    const Dims& dims = summed.elements->dims();
    std::vector<int64_t> at(extents.size(), -1);
    for (size_t k = dims.size(); k-- > 0; element /= dims[k])
      if (summed.axes[k] && static_cast<size_t>(*summed.axes[k]) < at.size())
        at[static_cast<size_t>(*summed.axes[k])] = element % dims[k];
    int64_t result = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) {
      if (at[axis] >= extents[axis] || (at[axis] < 0 && extents[axis] > 1)) return std::nullopt;
      result = result * extents[axis] + std::max<int64_t>(at[axis], 0);
    }
    return result;
  }
};

}  // namespace

std::optional<SummedAxes> summed_axes(const te::Program& program, int input) {
  std::optional<SummedAxes> result;
  bool agrees = true;
  for (const te::Stage& stage : program.stages) {
    const auto* map = std::get_if<te::MapReduce>(&stage.body);
    if (!map) return std::nullopt;
    for (const Expr& body : map->bodies)
      te::for_each_node(body, [&](const Expr& expr) {
        const te::Load* load = as_load_of(expr, input);
        if (!load) return;
        SummedAxes axes;
        for (const Expr& position : load->index) {
          const te::Var* var = te::as<te::Var>(position);
          const bool is_spatial = var && var->kind == te::VarKind::kSpatial;
          axes.push_back(is_spatial ? std::optional(var->index) : std::nullopt);
          // A position that mixes both is of several results.
          agrees = agrees && (is_spatial || !te::any_node(position, [](const Expr& node) {
                                const te::Var* part = te::as<te::Var>(node);
                                return part && part->kind == te::VarKind::kSpatial;
                              }));
        }
        agrees = agrees && (!result || *result == axes);
        result = std::move(axes);
      });
  }
  return agrees ? result : std::nullopt;
}

bool is_addend(const te::Program& program, int input) {
  bool is_read = false;
  for (const te::Stage& stage : program.stages) {
    const auto* map = std::get_if<te::MapReduce>(&stage.body);
    if (!map) return false;
    for (const Expr& body : map->bodies) {
      if (!loads(body, input)) continue;
      is_read = true;
      if (!map->reduce.empty() || as_load_of(body, input) || !is_term(body, input)) return false;
    }
  }
  return is_read;
}

bool stay_finite(const te::Array& elements) {
  for (int64_t i = 0; is_float(elements.dtype()) && i < elements.count(); ++i)
    if (!std::isfinite(loss(elements.dtype(), elements.real(i)))) return false;
  return true;
}

bool keep_precision(const te::Array& elements) {
  if (none_is_lossy(elements)) return true;
  if (!stay_finite(elements)) return false;
  const std::vector<int64_t> small = lossy(elements);
  if (small.empty()) return true;
  if (elements.count() == 1) return false;
  // Whatever axis is summed over, or is not: something large stands beside each.
  int64_t inner = elements.count();
  for (const int64_t size : elements.dims()) {
    inner /= size;
    if (size == 1) continue;
    std::vector<double> largest(static_cast<size_t>(size), 0);
    const auto place = [&](int64_t i) -> double& { return largest[static_cast<size_t>(i / inner % size)]; };
    for (int64_t i = 0; i < elements.count(); ++i) place(i) = std::max(place(i), std::fabs(elements.real(i)));
    for (const int64_t i : small)
      if (loss(elements.dtype(), elements.real(i)) > kNegligible * place(i)) return false;
  }
  return true;
}

bool keep_precision(const Summed& summed, const std::optional<Summed>& added) {
  const te::Array& elements = *summed.elements;
  if (none_is_lossy(elements)) return true;
  if (!stay_finite(elements)) return false;
  const std::vector<int64_t> small = lossy(elements);
  if (small.empty()) return true;
  const Places places(summed);
  std::vector<double> largest(static_cast<size_t>(places.count()), 0);
  for (const Summed* each : {&summed, added ? &*added : nullptr}) {
    for (int64_t i = 0; each && i < each->elements->count(); ++i)
      if (const auto at = places.of(*each, i))
        largest[static_cast<size_t>(*at)] =
            std::max(largest[static_cast<size_t>(*at)], std::fabs(each->elements->real(i)));
  }
  return std::all_of(small.begin(), small.end(), [&](int64_t i) {
    return loss(elements.dtype(), elements.real(i)) <=
           kNegligible * largest[static_cast<size_t>(*places.of(summed, i))];
  });
}

}  // namespace isomer::substitutions
