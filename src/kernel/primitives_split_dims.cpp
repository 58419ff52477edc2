#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "graph/te/simplifier.h"
#include "kernel/primitives.h"
#include "kernel/tree.h"

namespace isomer::kernel::primitives {
namespace {

/// A plain nest with a loop for each iterator of its block.
struct Nest {
  std::vector<Statement*> loops;
  Block* block = nullptr;
};

std::optional<Nest> nest_of(Statement& root) {
  const auto plain = plain_nest(root);
  if (!plain) return std::nullopt;
  Nest nest{plain->loops, &std::get<Block>(plain->block->node)};
  std::vector<const Iterator*> iterators;
  for (const auto* list : {&nest.block->axes, &nest.block->reduce})
    for (const Iterator& iterator : *list) iterators.push_back(&iterator);
  if (iterators.size() != nest.loops.size()) return std::nullopt;
  for (size_t k = 0; k < iterators.size(); ++k)
    if (!(iterators[k]->binding == loop_variable(std::get<Loop>(nest.loops[k]->node).variable))) return std::nullopt;
  return nest;
}

/// A factor of an extent by another one; nothing where some sizes leave a remainder.
std::optional<Expr> quotient(const Expr& extent, int64_t factor) {
  const te::Polynomial whole = te::Simplifier({}).polynomial(extent);
  const auto is_multiple = [&](int64_t number) { return number % factor == 0; };
  if (!whole.is_exact() || !is_multiple(whole.constant) ||
      !std::ranges::all_of(whole.terms, [&](const te::Term& term) { return is_multiple(term.coefficient); }))
    return std::nullopt;
  return te::to_expr(exactly_divided(whole, factor));
}

/// An iterator of a block.
struct Own {
  bool reduces = false;
  size_t number = 0;
  auto operator<=>(const Own&) const = default;

  const Iterator& in(const Block& block) const { return (reduces ? block.reduce : block.axes)[number]; }
  Expr variable() const {
    return reduces ? te::reduce_axis(static_cast<int>(number)) : te::axis(static_cast<int>(number));
  }
};

/// Nothing for any other expression.
std::optional<Own> as_own(const Expr& expr) {
  const auto* variable = te::as<te::Var>(expr);
  if (!variable || variable->kind == te::VarKind::kLoop) return std::nullopt;
  return Own{variable->kind == te::VarKind::kReduce, static_cast<size_t>(variable->index)};
}

/// What becomes two, found from one axis: iterators of blocks and the dims of buffers that they run over.
class Splitter {
 public:
  Splitter(Kernel& kernel, int64_t factor) : kernel_(kernel), factor_(factor) {}

  Result<void> follow(const std::string& block, Own iterator) {
    if (!iterators_[block].insert(iterator).second) return {};
    Statement* root = nullptr;
    for (Statement& each : kernel_.body)
      for_each_block(each, [&](const Block& inner, const auto&) {
        if (inner.name == block) root = &each;
      });
    const auto nest = root ? nest_of(*root) : std::nullopt;
    if (!nest) return invalid(block, "a block alone in serial loops, one for each of its iterators, expected");
    const auto extent = te::as_constant(iterator.in(*nest->block).extent);
    if (!extent || *extent % factor_ != 0)
      return invalid(block, "an extent that is a multiple of {} expected", factor_);
    std::vector<std::pair<int, size_t>> dims;
    for_each_access(*nest->block, [&](int buffer, const std::vector<Expr>& index) {
      for (size_t k = 0; k < index.size(); ++k)
        if (as_own(index[k]) == iterator && kernel_.buffers[static_cast<size_t>(buffer)].shape[k].is(*extent))
          dims.emplace_back(buffer, k);
    });
    for (const auto& [buffer, dim] : dims) TRY_VOID(follow(buffer, dim, *extent));
    return {};
  }

  /// The iterator alone.
  Result<void> take(const std::string& block, Own iterator) {
    for (Statement& root : kernel_.body)
      if (const auto nest = nest_of(root); nest && nest->block->name == block) {
        if (!quotient(iterator.in(*nest->block).extent, factor_))
          return invalid(block, "an extent that is a multiple of {} expected", factor_);
        iterators_[block].insert(iterator);
        return {};
      }
    return invalid(block, "a block alone in serial loops, one for each of its iterators, expected");
  }

  void apply() {
    for (const auto& [buffer, dims] : dims_)
      for (auto dim = dims.rbegin(); dim != dims.rend(); ++dim) {
        Shape& shape = kernel_.buffers[static_cast<size_t>(buffer)].shape;
        const int64_t extent = shape[*dim].value();
        shape[*dim] = Dim(extent / factor_);
        shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*dim) + 1, Dim(factor_));
      }
    for (Statement& root : kernel_.body)
      if (auto nest = nest_of(root))
        if (const auto found = iterators_.find(nest->block->name); found != iterators_.end())
          split(*nest, found->second);
  }

 private:
  static void for_each_access(const Block& block, const std::function<void(int, const std::vector<Expr>&)>& look) {
    for (const Write& write : block.writes) look(write.buffer, write.index);
    const auto look_into = [&](const Expr& expr) {
      te::for_each_node(expr, [&](const Expr& e) {
        if (const auto* load = te::as<te::Load>(e)) look(load->buffer.index, load->index);
      });
    };
    for (const Expr& body : block.bodies) look_into(body);
    for (const Write& write : block.writes)
      for (const Expr& index : write.index) look_into(index);
  }

  /// Everybody who touches the buffer runs over the dim with an iterator of its own.
  Result<void> follow(int buffer, size_t dim, int64_t extent) {
    if (!dims_[buffer].insert(dim).second) return {};
    const std::string& name = kernel_.buffers[static_cast<size_t>(buffer)].name;
    std::vector<std::pair<std::string, Own>> users;
    std::optional<Error> error;
    for (Statement& root : kernel_.body) {
      if (!touches(root, buffer)) continue;
      const auto nest = nest_of(root);
      if (!nest) return invalid(name, "uses by blocks alone in serial loops expected");
      for_each_access(*nest->block, [&](int accessed, const std::vector<Expr>& index) {
        if (accessed != buffer) return;
        const auto iterator = as_own(index[dim]);
        if (!iterator || te::as_constant(iterator->in(*nest->block).extent) != extent)
          error = invalid(nest->block->name, "an iterator over all of dim {} of '{}' expected", dim, name);
        else
          users.emplace_back(nest->block->name, *iterator);
      });
    }
    if (error) return std::move(*error);
    for (const auto& [block, iterator] : users) TRY_VOID(follow(block, iterator));
    return {};
  }

  /// A block's iterators, some of which have become two.
  struct Divided {
    std::map<Own, std::vector<Expr>> parts;      ///< one of an iterator that stays, or quotient and remainder
    std::array<std::vector<Iterator>, 2> lists;  ///< axes and those of the reduction, without bindings
    std::vector<Expr> extents;                   ///< of both

    te::Interval range(const Expr& leaf) const {
      const auto own = as_own(leaf);
      if (!own) return {};
      const auto extent = te::as_constant(lists[own->reduces ? 1 : 0][own->number].extent);
      return {0, extent ? std::optional(*extent - 1) : std::nullopt};
    }
  };

  Divided divided(const Block& block, const std::set<Own>& iterators) const {
    Divided result;
    for (const bool reduces : {false, true}) {
      const std::vector<Iterator>& list = reduces ? block.reduce : block.axes;
      std::vector<Iterator>& made = result.lists[reduces ? 1 : 0];
      const auto add = [&](const Own& old, const Expr& extent) {
        result.parts[old].push_back(Own{reduces, made.size()}.variable());
        made.push_back({extent, {}});
        result.extents.push_back(extent);
      };
      for (size_t k = 0; k < list.size(); ++k) {
        const Own old{reduces, k};
        if (iterators.contains(old)) {
          add(old, *quotient(list[k].extent, factor_));
          add(old, te::index(factor_));
        } else {
          add(old, list[k].extent);
        }
      }
    }
    return result;
  }

  /// Over the new iterators: quotient * factor + remainder wherever the block reads an old one, but for the dims that
  /// are two now.
  Expr rewritten(const Expr& e, const Divided& by) const {
    if (const auto* load = te::as<te::Load>(e))
      return load_buffer(kernel_, load->buffer.index, rewritten(load->buffer.index, load->index, by));
    if (const auto own = as_own(e)) {
      const std::vector<Expr>& parts = by.parts.at(*own);
      return parts.size() == 1 ? parts[0] : parts[0] * factor_ + parts[1];
    }
    std::vector<Expr> children;
    for (const Expr& child : te::detail::children(e)) children.push_back(rewritten(child, by));
    return children.empty() ? e : te::detail::with_children(e, std::move(children));
  }

  /// An element of a buffer.
  std::vector<Expr> rewritten(int buffer, const std::vector<Expr>& index, const Divided& by) const {
    const auto dims = dims_.find(buffer);
    std::vector<Expr> result;
    for (size_t k = 0; k < index.size(); ++k) {
      if (dims != dims_.end() && dims->second.contains(k)) {
        const std::vector<Expr>& parts = by.parts.at(*as_own(index[k]));
        result.insert(result.end(), parts.begin(), parts.end());
      } else {
        result.push_back(te::simplify_index(rewritten(index[k], by), [&](const Expr& leaf) { return by.range(leaf); }));
      }
    }
    return result;
  }

  /// The iterators' loops become two each.
  void split(Nest& nest, const std::set<Own>& iterators) {
    Block made = *nest.block;
    Divided by = divided(made, iterators);
    for (Expr& body : made.bodies) body = rewritten(body, by);
    for (Write& write : made.writes) write.index = rewritten(write.buffer, write.index, by);
    made.axes = std::move(by.lists[0]);
    made.reduce = std::move(by.lists[1]);
    Statement root = under_loops(kernel_, by.extents, [&](const std::vector<Expr>& variables) {
      auto next = variables.begin();
      for (auto* list : {&made.axes, &made.reduce})
        for (Iterator& iterator : *list) iterator.binding = *next++;
      return std::move(made);
    });
    *nest.loops.front() = std::move(root);
  }

  Kernel& kernel_;
  const int64_t factor_;
  std::map<std::string, std::set<Own>> iterators_;  ///< by block
  std::map<int, std::set<size_t>> dims_;            ///< by buffer
};

Result<void> check_split(Kernel& kernel, const std::string& name, int64_t axis, int64_t factor) {
  TRY(const Place place, find_block(kernel, name));
  if (axis < 0 || axis >= static_cast<int64_t>(place.block().axes.size()))
    return invalid(name, "an axis below {} expected, {} found", place.block().axes.size(), axis);
  if (factor < 2) return invalid(name, "a factor of 2 or more expected, {} found", factor);
  return {};
}

}  // namespace

Result<void> split_dims(Kernel& kernel, const std::string& name, int64_t axis, int64_t factor) {
  TRY_VOID(check_split(kernel, name, axis, factor));
  Splitter splitter(kernel, factor);
  TRY_VOID(splitter.follow(name, Own{false, static_cast<size_t>(axis)}));
  splitter.apply();
  return {};
}

Result<void> split_axis(Kernel& kernel, const std::string& name, int64_t axis, int64_t factor) {
  TRY_VOID(check_split(kernel, name, axis, factor));
  Splitter splitter(kernel, factor);
  TRY_VOID(splitter.take(name, Own{false, static_cast<size_t>(axis)}));
  splitter.apply();
  return {};
}

}  // namespace isomer::kernel::primitives
