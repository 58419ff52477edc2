#include "graph/passes/movement.h"

#include <algorithm>

#include "graph/infer.h"
#include "graph/passes/edit.h"
#include "util/check.h"

namespace isomer {
namespace {

using te::Expr;

/// Programs of more nodes than this are no movements; inlining stages could grow without bound.
constexpr int kMaxNodes = 4000;

te::Ranges ranges_of(const Shape& extents) {
  return [&extents](const Expr& leaf) -> te::Interval {
    const te::Var* var = te::as<te::Var>(leaf);
    if (!var) return {te::as<te::Symbol>(leaf) ? std::optional<int64_t>(0) : std::nullopt, std::nullopt};
    if (var->kind != te::VarKind::kSpatial || static_cast<size_t>(var->index) >= extents.size())
      return {0, std::nullopt};
    const Dim& extent = extents[var->index];
    return {0, extent.is_constant() ? std::optional(std::max<int64_t>(extent.value() - 1, 0)) : std::nullopt};
  };
}

Expr with_axes(const Expr& expr, const std::vector<Expr>& index) {
  return te::transform(expr, [&](const Expr& node) {
    const te::Var* var = te::as<te::Var>(node);
    return var && var->kind == te::VarKind::kSpatial ? index[var->index] : Expr();
  });
}

int size_of(const Expr& expr) {
  int nodes = 0;
  te::for_each_node(expr, [&](const Expr&) { ++nodes; });
  return nodes;
}

/// Replaces loads of plain earlier maps by their bodies; false where a load is of something else.
bool inline_stages(const te::Program& program, Expr& body) {
  for (int round = 0; round < 8; ++round) {
    bool plain = true, found = false;
    body = te::transform(body, [&](const Expr& node) {
      const te::Load* load = te::as<te::Load>(node);
      if (!load || load->buffer.kind == te::BufferRef::Kind::kInput) return Expr();
      const auto* map = load->buffer.kind == te::BufferRef::Kind::kStage
                            ? std::get_if<te::MapReduce>(&program.stages[load->buffer.index].body)
                            : nullptr;
      if (!map || !map->reduce.empty() || map->combine.arity() > 0) {
        plain = false;
        return Expr();
      }
      found = true;
      return with_axes(map->bodies[load->buffer.component], load->index);
    });
    if (!plain || size_of(body) > kMaxNodes) return false;
    if (!found) return true;
  }
  return false;
}

/// Loads of constants: any element of a splat, the element at a literal index; not of -0.
Expr bind_constants(const Graph& graph, const Node& node, const Expr& body) {
  return te::transform(body, [&](const Expr& expr) -> Expr {
    const te::Load* load = te::as<te::Load>(expr);
    if (!load || load->buffer.kind != te::BufferRef::Kind::kInput) return {};
    const ValueId input = input_of(node, load->buffer.index);
    const Tensor* constant = constant_of(graph, input);
    if (!constant || !is_computable(constant->dtype()) || constant->count() == 0) return {};
    int64_t at = 0;
    for (size_t k = 0; k < load->index.size(); ++k) {
      const auto position = te::as_constant(load->index[k]);
      if (position && (*position < 0 || *position >= constant->dims()[k])) return {};
      at = position && at >= 0 ? at * constant->dims()[k] + *position : -1;
    }
    if (at < 0 && !is_splat(*constant)) return {};
    const auto number = constant->number(std::max<int64_t>(at, 0));
    return number ? te::literal(*number, constant->dtype()) : Expr();
  });
}

std::optional<te::Number> literal_of(const Expr& expr) {
  const te::Literal* literal = te::as<te::Literal>(expr);
  return literal ? std::optional(literal->value) : std::nullopt;
}

/// x * 1, x / 1, x - 0, x ^ 1, max(x, -inf), min(x, inf) are x bit for bit; x + 0 but for the sign of a zero.
Expr without_neutral(const Expr& expr, FloatClass& fp_class) {
  return te::transform(expr, [&](const Expr& node) -> Expr {
    const te::Binary* e = te::as<te::Binary>(node);
    if (!e) return {};
    const auto left = literal_of(e->left), right = literal_of(e->right);
    switch (e->op) {
      case te::BinaryOp::kMul: return right && right->equals(1) ? e->left : left && left->equals(1) ? e->right : Expr();
      case te::BinaryOp::kDiv:
      case te::BinaryOp::kPow: return right && right->equals(1) ? e->left : Expr();
      case te::BinaryOp::kSub: return right && right->equals(0) ? e->left : Expr();
      case te::BinaryOp::kAdd:
        if (!(right && right->equals(0)) && !(left && left->equals(0))) return {};
        if (is_float(node.dtype())) fp_class = FloatClass::kSignOfZero;
        return right && right->equals(0) ? e->left : e->right;
      case te::BinaryOp::kMax:
      case te::BinaryOp::kMin: {
        const te::Number neutral = te::Number::infinity(e->op == te::BinaryOp::kMax);
        return right && *right == neutral ? e->left : left && *left == neutral ? e->right : Expr();
      }
      default: return {};
    }
  });
}

/// The axis that an index is, by itself; -1 where it is something else.
int axis_of(const Expr& expr) {
  const te::Var* var = te::as<te::Var>(expr);
  return var && var->kind == te::VarKind::kSpatial ? var->index : -1;
}

bool is_unit(const Dim& dim) { return dim.is(1); }

std::optional<Spelling> spell_transpose(const std::vector<Expr>& index, const Shape& from, const Shape& to) {
  if (from.size() != to.size()) return std::nullopt;
  std::vector<int64_t> perm(to.size(), -1);
  std::vector<bool> used(from.size(), false);
  for (size_t k = 0; k < from.size(); ++k) {
    const int axis = axis_of(index[k]);
    if (axis < 0) continue;
    if (perm[axis] >= 0 || !(from[k] == to[axis])) return std::nullopt;
    perm[axis] = static_cast<int64_t>(k);
    used[k] = true;
  }
  // Axes of extent 1 take the places that are left, in order.
  for (size_t k = 0; k < from.size(); ++k) {
    if (used[k]) continue;
    if (!is_unit(from[k]) || te::as_constant(index[k]) != 0) return std::nullopt;
    const auto free = std::find_if(perm.begin(), perm.end(),
                                   [&](const int64_t& p) { return p < 0 && is_unit(to[&p - perm.data()]); });
    if (free == perm.end()) return std::nullopt;
    *free = static_cast<int64_t>(k);
  }
  return Spelling{Spelling::Kind::kTranspose, std::move(perm), {}, {}, {}};
}

Expr linear(const std::vector<Expr>& index, const Shape& shape) {
  Expr sum = te::index(0);
  for (size_t k = 0; k < shape.size(); ++k) sum = sum * shape[k].expr() + index[k];
  return sum;
}

std::optional<Spelling> spell_reshape(const std::vector<Expr>& index, const Shape& from, const Shape& to) {
  if (!(element_count(from) == element_count(to))) return std::nullopt;
  if (!(simplified(linear(index, from), to) == simplified(linear(te::axes(static_cast<int>(to.size())), to), to)))
    return std::nullopt;
  auto target = reshape_target(from, to);
  if (!target) return std::nullopt;
  return Spelling{Spelling::Kind::kReshape, std::move(*target), {}, {}, {}};
}

std::optional<Spelling> spell_expand(const std::vector<Expr>& index, const Shape& from, const Shape& to) {
  const auto dims = constants(to);
  if (!dims || from.size() > to.size()) return std::nullopt;
  const size_t offset = to.size() - from.size();
  for (size_t k = 0; k < from.size(); ++k) {
    const bool kept = axis_of(index[k]) == static_cast<int>(k + offset) && from[k] == to[k + offset];
    if (!kept && !(is_unit(from[k]) && te::as_constant(index[k]) == 0)) return std::nullopt;
  }
  return Spelling{Spelling::Kind::kExpand, *dims, {}, {}, {}};
}

/// start + step * axis(k) at every place k.
std::optional<Spelling> spell_slice(const std::vector<Expr>& index, const Shape& from, const Shape& to) {
  if (from.size() != to.size()) return std::nullopt;
  Spelling slice{Spelling::Kind::kSlice, {}, {}, {}, {}};
  for (size_t k = 0; k < from.size(); ++k) {
    if (axis_of(index[k]) == static_cast<int>(k) && from[k] == to[k]) continue;
    if (!from[k].is_constant() || !to[k].is_constant()) return std::nullopt;
    const int64_t extent = to[k].value();
    std::vector<Expr> at(to.size());
    const auto value = [&](int64_t position) {
      for (size_t j = 0; j < to.size(); ++j) at[j] = j == k ? te::index(position) : te::axis(static_cast<int>(j));
      return te::as_constant(simplified(with_axes(index[k], at), to));
    };
    const auto start = value(0), second = value(1);
    if (!start || !second || extent < 1) return std::nullopt;
    const int64_t step = extent == 1 ? 1 : *second - *start;
    if (step == 0 || !(index[k] == simplified(te::index(*start) + te::index(step) * te::axis(static_cast<int>(k)), to)))
      return std::nullopt;
    const int64_t last = *start + step * (extent - 1);
    if (*start < 0 || *start >= from[k].value() || last < 0 || last >= from[k].value()) return std::nullopt;
    slice.values.push_back(*start);
    // One before the first element is written as a number below -extent.
    const int64_t end = last + (step > 0 ? 1 : -1);
    slice.ends.push_back(end < 0 ? -from[k].value() - 1 : end);
    slice.axes.push_back(static_cast<int64_t>(k));
    slice.steps.push_back(step);
  }
  return slice;
}

}  // namespace

te::Expr simplified(const te::Expr& expr, const Shape& extents) {
  // An axis of extent 1 has one position.
  const te::Expr bound = te::transform(expr, [&](const Expr& node) {
    const te::Var* var = te::as<te::Var>(node);
    const bool single = var && var->kind == te::VarKind::kSpatial && static_cast<size_t>(var->index) < extents.size() &&
                        is_unit(extents[var->index]);
    return single ? te::index(0) : Expr();
  });
  return te::simplify_index(bound, ranges_of(extents));
}

std::optional<Pointwise> pointwise_of(const Graph& graph, NodeId id, int output) {
  const Node& node = graph.node(id);
  if (node.is_opaque() || !node.op->compute) return std::nullopt;
  for (const ValueId input : node.inputs)
    if (input.valid() && !graph.value(input).type.has_shape()) return std::nullopt;
  const auto program = node.op->compute(context_of(graph, id));
  if (!program.ok()) return std::nullopt;
  const te::StageValue made = program->outputs[output];
  if (made.stage < 0) return std::nullopt;
  const auto* map = std::get_if<te::MapReduce>(&program->stages[made.stage].body);
  if (!map || !map->reduce.empty() || map->combine.arity() > 0) return std::nullopt;
  Expr body = map->bodies[made.component];
  if (size_of(body) > kMaxNodes || !inline_stages(*program, body)) return std::nullopt;
  body = simplified(body, map->axes);
  std::set<int> inputs;
  te::for_each_node(body, [&](const Expr& expr) {
    if (const te::Load* load = te::as<te::Load>(expr)) inputs.insert(load->buffer.index);
  });
  return Pointwise{map->axes, simplified(bind_constants(graph, node, body), map->axes), std::move(inputs)};
}

std::optional<Movement> movement_of(const Graph& graph, NodeId id, int output) {
  const auto pointwise = pointwise_of(graph, id, output);
  if (!pointwise) return std::nullopt;
  FloatClass fp_class = FloatClass::kExact;
  const Expr body = without_neutral(pointwise->body, fp_class);
  const te::Load* load = te::as<te::Load>(body);
  if (!load) return std::nullopt;
  for (const Expr& position : load->index) {
    bool closed = true;
    te::for_each_node(position, [&](const Expr& node) { closed &= !te::as<te::Load>(node); });
    if (!closed) return std::nullopt;
  }
  return Movement{input_of(graph.node(id), load->buffer.index), load->index, fp_class};
}

bool is_identity(const std::vector<te::Expr>& index, const Shape& from, const Shape& to) {
  if (from != to) return false;
  for (size_t k = 0; k < from.size(); ++k)
    if (axis_of(index[k]) != static_cast<int>(k) && !(is_unit(from[k]) && te::as_constant(index[k]) == 0)) return false;
  return true;
}

std::optional<Spelling> spell_movement(const std::vector<te::Expr>& index, const Shape& from, const Shape& to) {
  if (is_identity(index, from, to)) return Spelling{Spelling::Kind::kIdentity, {}, {}, {}, {}};
  for (const auto spell : {spell_reshape, spell_transpose, spell_expand, spell_slice})
    if (auto spelling = spell(index, from, to)) return spelling;
  return std::nullopt;
}

}  // namespace isomer
