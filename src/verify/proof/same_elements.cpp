#include "verify/proof/same_elements.h"

#include <algorithm>
#include <map>

#include "graph/all_sizes.h"
#include "graph/edit.h"
#include "graph/infer.h"
#include "graph/movement.h"
#include "graph/node_program.h"
#include "graph/rounding.h"
#include "graph/te/program_text.h"
#include "graph/te/regroup.h"
#include "graph/te/rewrite_program.h"
#include "graph/te/simplify.h"

namespace isomer::verify {
namespace {

using te::BufferRef;
using te::Expr;

/// Nodes followed one below the other, and of an expression.
constexpr int kDeepest = 24;
constexpr int64_t kLargest = 6000;

std::optional<te::Number> element(const Tensor& tensor, const std::vector<Expr>& index) {
  if (!is_computable(tensor.dtype()) || tensor.count() == 0) return std::nullopt;
  int64_t at = 0;
  for (size_t k = 0; k < index.size(); ++k) {
    const auto position = te::as_constant(index[k]);
    if (position && (*position < 0 || *position >= tensor.dims()[k])) return std::nullopt;
    at = position && at >= 0 ? at * tensor.dims()[k] + *position : -1;
  }
  if (at < 0 && !is_splat(tensor)) return std::nullopt;
  return tensor.number(std::max<int64_t>(at, 0));
}

/// A cast that loses nothing, and then another, is one. Sums and products, the same bits either way, have one order:
/// that of hashes, so that a collision hides a pair and does no more.
Expr in_one_form(const Expr& expr) {
  return te::transform(expr, [](const Expr& node) -> Expr {
    if (const te::Binary* two = te::as<te::Binary>(node))
      return (two->op == te::BinaryOp::kAdd || two->op == te::BinaryOp::kMul) && two->right->hash < two->left->hash
                 ? te::binary(two->op, two->right, two->left)
                 : Expr();
    const te::Cast* second = te::as<te::Cast>(node);
    const te::Cast* first = second ? te::as<te::Cast>(second->operand) : nullptr;
    if (!first || !is_exact_cast(first->operand.dtype(), second->operand.dtype())) return {};
    return te::cast(node.dtype(), first->operand);
  });
}

class Comparison {
 public:
  Comparison(const Ledger& ledger, std::span<const int> over, std::span<const int> through) : ledger_(ledger) {
    for (const int value : over) over_.push_back(ledger.leader(value));
    for (const int value : through) through_.emplace(ledger.leader(value), value);
  }

  Result<FloatClass> run(int first, int second) {
    const ValueType &a = ledger_.type(first), &b = ledger_.type(second);
    if (!a.has_shape() || a != b)
      return Error{ErrorKind::kMismatch, "",
                   fmt::format("two values of one type of known rank expected, {} and {} found", a.text(), b.text())};
    const auto x = expression(first, *a.shape), y = expression(second, *a.shape);
    if (x && y && *x == *y) return te::as<te::Load>(*x) ? float_class_ : std::max(float_class_, class_elsewhere(*x));
    if (x && y && te::regrouped(*x) == te::regrouped(*y)) return std::max(float_class_, FloatClass::kReassociated);
    if (const auto float_class = by_programs(first, second)) return *float_class;
    return Error{ErrorKind::kMismatch, "", "two values of the same elements expected, others found"};
  }

 private:
  /// A pointwise node's output, and what it reads.
  struct Inlined {
    te::Expr body;
    std::vector<int> arguments;
  };

  /// The value's element at axis(0) …, in normal form; nothing where it is too large.
  std::optional<Expr> expression(int value, const Shape& shape) {
    const auto expr = at(value, te::axes(static_cast<int>(shape.size())), 0);
    if (!expr) return std::nullopt;
    return in_one_form(without_neutral(simplified(*expr, shape), float_class_));
  }

  /// Of a value by its leader, or of a constant behind them. The component says that it is no load of a row's.
  static Expr load(int buffer, DataType dtype, std::vector<Expr> index) {
    return te::load({BufferRef::Kind::kInput, buffer, 1}, dtype, std::move(index));
  }
  /// The element that lies there in row-major order, whatever its place is called.
  Expr load_leaf(int leader, const std::vector<Expr>& index) const {
    const ValueType& type = ledger_.type(leader);
    if (!type.has_shape() || type.shape->size() != index.size()) return load(leader, type.dtype, index);
    return load(leader, type.dtype, {flat(index, *type.shape)});
  }

  std::optional<Expr> at(int value, const std::vector<Expr>& index, int depth) {
    const int leader = ledger_.leader(value);
    if (std::ranges::find(over_, leader) != over_.end()) return load_leaf(leader, index);
    const auto member = through_.find(leader);
    if (const Tensor* constant = ledger_.tensor(value); constant && member == through_.end())
      return element_of(*constant, index);
    const auto inlined = depth < kDeepest ? inlined_at(member == through_.end() ? value : member->second) : nullptr;
    if (!inlined) return load_leaf(leader, index);
    bool fits = true;
    const Expr placed = te::transform(inlined->body, [&](const Expr& expr) {
      const te::Var* var = te::as<te::Var>(expr);
      return var && var->kind == te::VarKind::kSpatial ? index[static_cast<size_t>(var->index)] : Expr();
    });
    Expr result = te::transform(placed, [&](const Expr& expr) -> Expr {
      const te::Load* read = te::as<te::Load>(expr);
      if (!read || read->buffer.component != 0 || !fits) return {};
      const int argument = inlined->arguments[static_cast<size_t>(read->buffer.index)];
      auto inner = argument < 0 ? std::nullopt : at(argument, read->index, depth + 1);
      fits = inner && te::node_count(*inner, kLargest) < kLargest;
      return fits ? *std::move(inner) : Expr();
    });
    return fits && te::node_count(result, kLargest) < kLargest ? std::optional(std::move(result)) : std::nullopt;
  }

  Expr element_of(const Tensor& tensor, const std::vector<Expr>& index) {
    if (const auto number = element(tensor, index)) return te::literal(*number, tensor.dtype());
    return load(ledger_.size() + place_of(tensor), tensor.dtype(),
                {flat(index, Shape(tensor.dims().begin(), tensor.dims().end()))});
  }

  static Expr flat(const std::vector<Expr>& index, const Shape& shape) {
    Expr position = te::index(0);
    for (size_t k = 0; k < index.size(); ++k) position = position * shape[k].expr() + index[k];
    return position;
  }

  int place_of(const Tensor& tensor) {
    const Tensor list = tensor.reshaped({tensor.count()});
    const auto known =
        std::ranges::find_if(constants_, [&](const Tensor& constant) { return constant.same_contents(list); });
    const auto place = static_cast<int>(known - constants_.begin());
    if (known == constants_.end()) constants_.push_back(list);
    return place;
  }

  const Inlined* inlined_at(int value) {
    const auto [known, is_new] = inlined_.try_emplace(value);
    if (is_new) known->second = find_inlined(value);
    return known->second ? &*known->second : nullptr;
  }

  std::optional<Inlined> find_inlined(int value) const {
    const auto part = node_of(value);
    const auto pointwise = part ? pointwise_of(part->graph, part->node, part->output) : std::nullopt;
    if (!pointwise) return std::nullopt;
    const bool fits = !te::any_node(pointwise->body, [](const Expr& expr) {
      const te::Load* read = te::as<te::Load>(expr);
      return read && read->buffer.kind != BufferRef::Kind::kInput;
    });
    Inlined inlined{pointwise->body, {}};
    for (const ValueId input : part->graph.node(part->node).inputs) inlined.arguments.push_back(part->of(input));
    return fits ? std::optional(std::move(inlined)) : std::nullopt;
  }

  /// The value's node in a graph; nothing where no row knows it.
  std::optional<Ledger::Part> node_of(int value) const {
    auto part = ledger_.part_of(value);
    if (!part.ok() || !infer_node(part->graph, part->node).ok() || part->graph.node(part->node).is_opaque() ||
        !fits_all_sizes(part->graph, part->node))
      return std::nullopt;
    return *std::move(part);
  }

  /// The node's program, inputs by what they are: literals where their elements are known.
  std::optional<te::Program> program_of(const Ledger::Part& part) {
    const Node& node = part.graph.node(part.node);
    auto program = isomer::program_of(part.graph, part.node);
    if (!program) return std::nullopt;
    const bool rewritten = te::rewrite(*program, [&](const Expr& expr) -> Expr {
      const te::Load* read = te::as<te::Load>(expr);
      if (!read || read->buffer.kind != BufferRef::Kind::kInput || read->buffer.component != 0) return {};
      const ValueId input = node.inputs[static_cast<size_t>(read->buffer.index)];
      const int argument = part.of(input);
      // The integers of a parameter stand for no value.
      if (argument < 0) return element_of(*part.graph.value(input).constant, read->index);
      const auto known = at(argument, read->index, 0);
      if (known && te::as<te::Literal>(*known)) return *known;
      return load(ledger_.leader(argument), expr.dtype(), read->index);
    });
    return rewritten ? std::move(program) : std::nullopt;
  }

  std::optional<FloatClass> by_programs(int first, int second) {
    const auto a = node_of(first), b = node_of(second);
    if (!a || !b || a->output != b->output) return std::nullopt;
    const auto x = program_of(*a), y = program_of(*b);
    if (!x || !y || te::print(*x) != te::print(*y)) return std::nullopt;
    // Another operator's kernels may group sums in other ways, and those that give more outputs.
    const Node &p = a->graph.node(a->node), &q = b->graph.node(b->node);
    return p.op == q.op && p.outputs.size() == q.outputs.size() ? FloatClass::kExact : class_in_doubles(*x);
  }

  const Ledger& ledger_;
  std::vector<int> over_;
  std::map<int, int> through_;  ///< by leader
  std::map<int, std::optional<Inlined>> inlined_;
  std::vector<Tensor> constants_;
  FloatClass float_class_ = FloatClass::kExact;
};

}  // namespace

Result<FloatClass> same_elements(const Ledger& ledger, int first, int second, std::span<const int> over,
                                 std::span<const int> through) {
  return Comparison(ledger, over, through).run(first, second);
}

}  // namespace isomer::verify
