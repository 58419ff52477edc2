#include <algorithm>

#include "kernel/primitives.h"
#include "kernel/tree.h"

namespace isomer::kernel::primitives {
namespace {

/// Dims k and k + 1 of a buffer, or iterators k and k + 1 of a block.
struct Pair {
  enum class Of : uint8_t { kBuffer, kAxes, kReduce } of = Of::kBuffer;
  int number = 0;  ///< of the buffer, or of the block in the kernel's order
  int first = 0;
  auto operator<=>(const Pair&) const = default;
};

/// The iterator that an index is; nothing where it is anything else.
std::optional<std::pair<Pair::Of, int>> as_iterator(const Expr& index) {
  const auto* variable = te::as<te::Var>(index);
  if (variable && variable->kind == te::VarKind::kSpatial) return std::pair(Pair::Of::kAxes, variable->index);
  if (variable && variable->kind == te::VarKind::kReduce) return std::pair(Pair::Of::kReduce, variable->index);
  return std::nullopt;
}

/// What a block that copies may have: it finds what it reads by quotients and remainders, and in the reductions that
/// read what it writes an iterator stays as it is.
struct Copy {
  std::string_view name;
  int written = -1;
  int apart = -1;  ///< the iterator of reductions; -1: none
};

/// Which pairs are always used together: those of an iterator pair and of the buffer dims that it runs over stand or
/// fall as one.
class Pairs {
 public:
  Pairs(const Kernel& kernel, const Copy& copy) : kernel_(kernel), copy_(copy) {
    // What data decide the size of keeps its dims: who gives it memory sets them one by one.
    for (size_t b = 0; b < kernel.buffers.size(); ++b)
      if (!constants(kernel.buffers[b].shape)) forbid(static_cast<int>(b));
    for_each_expression(kernel.body, [&](const Expr& e) { forbid_odd_loads(e); });
    for (const Statement& root : kernel.body) look_at(root);
    while (spread()) {
    }
  }

  /// The first good pair of iterators with all that goes with it.
  std::set<Pair> component() const {
    for (const auto& [pair, with] : links_) {
      if (pair.of == Pair::Of::kBuffer || bad_.contains(pair)) continue;
      std::set<Pair> found;
      std::vector<Pair> open = {pair};
      while (!open.empty()) {
        const Pair next = open.back();
        open.pop_back();
        if (!found.insert(next).second) continue;
        if (const auto more = links_.find(next); more != links_.end())
          open.insert(open.end(), more->second.begin(), more->second.end());
      }
      return found;
    }
    return {};
  }

 private:
  /// Loads outside blocks' bodies (extents, conditions of imperative statements): nothing is known of them.
  void forbid_odd_loads(const Expr& expr) {
    std::function<void(const Expr&, bool)> look = [&](const Expr& e, bool inside) {
      if (const auto* load = te::as<te::Load>(e)) {
        if (inside) forbid(load->buffer.index);
        inside = true;
      }
      for (const Expr& child : te::detail::children(e)) look(child, inside);
    };
    look(expr, false);
  }

  void forbid(int buffer) {
    for (size_t k = 0; k + 1 < kernel_.buffers[buffer].shape.size(); ++k)
      bad_.insert({Pair::Of::kBuffer, buffer, static_cast<int>(k)});
  }

  /// A root statement: loops, each the only statement of the one before, around one block; or something else.
  void look_at(const Statement& root) {
    const auto nest = plain_nest(root);
    if (!nest) {
      for (const int buffer : touched(root)) forbid(buffer);
      return;
    }
    std::vector<const Loop*> loops;
    for (const Statement* loop : nest->loops) loops.push_back(&std::get<Loop>(loop->node));
    look_at(std::get<Block>(nest->block->node), loops);
    ++blocks_;
  }

  void look_at(const Block& block, const std::vector<const Loop*>& loops) {
    for (const auto& [of, list] :
         {std::pair(Pair::Of::kAxes, &block.axes), std::pair(Pair::Of::kReduce, &block.reduce)}) {
      const size_t offset = of == Pair::Of::kAxes ? 0 : block.axes.size();
      for (size_t k = 0; k + 1 < list->size(); ++k) {
        const Pair pair{of, blocks_, static_cast<int>(k)};
        bool good = true;
        for (const size_t i : {k, k + 1})
          good &= offset + i < loops.size() && (*list)[i].binding == loop_variable(loops[offset + i]->variable) &&
                  te::as_constant((*list)[i].extent).has_value();
        links_[pair];
        if (!good) bad_.insert(pair);
      }
    }
    if (copy_.apart >= 0 && loads(block).contains(copy_.written))
      for (const int first : {copy_.apart - 1, copy_.apart}) bad_.insert({Pair::Of::kReduce, blocks_, first});
    const auto shape_of = [&](int buffer) -> const Shape& { return kernel_.buffers[buffer].shape; };
    const auto use = [&](int buffer, const std::vector<Expr>& index) {
      for (size_t k = 0; k + 1 < index.size(); ++k) {
        const Pair dims{Pair::Of::kBuffer, buffer, static_cast<int>(k)};
        const auto a = as_iterator(index[k]), b = as_iterator(index[k + 1]);
        const bool is_pair = a && b && a->first == b->first && a->second + 1 == b->second &&
                             covers(block, *a, shape_of(buffer)[k]) && covers(block, *b, shape_of(buffer)[k + 1]);
        if (!is_pair) {
          bad_.insert(dims);
          if (a) bad_.insert({a->first, blocks_, a->second});
          continue;
        }
        const Pair iterators{a->first, blocks_, a->second};
        links_[iterators].insert(dims);
        links_[dims].insert(iterators);
      }
      // An iterator in an index must have its partner beside it.
      for (size_t k = 0; k < index.size(); ++k) {
        const auto it = as_iterator(index[k]);
        if (!it) {
          forbid_iterators_in(index[k]);
          continue;
        }
        const auto beside = [&](size_t at, int number) {
          const auto other = at < index.size() ? as_iterator(index[at]) : std::nullopt;
          return other && other->first == it->first && other->second == number;
        };
        if (!beside(k + 1, it->second + 1)) bad_.insert({it->first, blocks_, it->second});
        if (k == 0 || !beside(k - 1, it->second - 1)) bad_.insert({it->first, blocks_, it->second - 1});
      }
    };
    for (const Write& write : block.writes) use(write.buffer, write.index);
    for (const Expr& body : block.bodies) {
      if (block.name != copy_.name) {
        look_into(body, use);
        continue;
      }
      for (const int buffer : loads(body)) forbid(buffer);
    }
  }

  void look_into(const Expr& expr, const std::function<void(int, const std::vector<Expr>&)>& use) {
    if (const auto* load = te::as<te::Load>(expr)) return use(load->buffer.index, load->index);
    if (const auto it = as_iterator(expr)) return forbid_iterator(*it);
    for (const Expr& child : te::detail::children(expr)) look_into(child, use);
  }

  void forbid_iterator(std::pair<Pair::Of, int> iterator) {
    bad_.insert({iterator.first, blocks_, iterator.second});
    bad_.insert({iterator.first, blocks_, iterator.second - 1});
  }
  void forbid_iterators_in(const Expr& expr) {
    te::for_each_node(expr, [&](const Expr& e) {
      if (const auto it = as_iterator(e)) forbid_iterator(*it);
    });
  }

  static bool covers(const Block& block, std::pair<Pair::Of, int> iterator, const Dim& dim) {
    const auto& list = iterator.first == Pair::Of::kAxes ? block.axes : block.reduce;
    return dim.is_constant() && te::as_constant(list[iterator.second].extent) == dim.value();
  }

  bool spread() {
    const size_t before = bad_.size();
    for (const auto& [pair, with] : links_)
      for (const Pair& other : with)
        if (bad_.contains(pair) || bad_.contains(other)) {
          bad_.insert(pair);
          bad_.insert(other);
        }
    return bad_.size() > before;
  }

  const Kernel& kernel_;
  const Copy copy_;
  int blocks_ = 0;
  std::map<Pair, std::set<Pair>> links_;
  std::set<Pair> bad_;
};

/// Iterator `first` and the one behind it become one; `first` of the merged.
std::vector<Expr> merged_index(const std::vector<Expr>& index, size_t first) {
  std::vector<Expr> result = index;
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(first) + 1);
  return result;
}

class Merger {
 public:
  Merger(Kernel& kernel, std::string_view copy, const std::set<Pair>& pairs) : kernel_(kernel), copy_(copy) {
    for (const Pair& pair : pairs)
      if (pair.of == Pair::Of::kBuffer) {
        dims_.emplace(pair.number, pair.first);
      } else {
        iterators_.emplace(pair.number, pair);
      }
  }

  void run() {
    for (const auto& [buffer, first] : dims_) {
      Shape& shape = kernel_.buffers[buffer].shape;
      shape[first] = shape[first] * shape[first + 1];
      shape.erase(shape.begin() + first + 1);
    }
    int number = 0;
    for (Statement& root : kernel_.body) {
      if (!plain_nest(root)) continue;
      if (const auto pair = iterators_.find(number++); pair != iterators_.end()) merge(root, pair->second);
    }
  }

 private:
  Expr rewritten(const Expr& expr, const Pair& pair) const {
    return te::transform(expr, [&](const Expr& e) -> Expr {
      if (const auto* load = te::as<te::Load>(e)) {
        const auto dims = dims_.find(load->buffer.index);
        if (dims == dims_.end()) return {};
        return load_buffer(kernel_, load->buffer.index, merged_index(load->index, static_cast<size_t>(dims->second)));
      }
      const auto it = as_iterator(e);
      if (!it || it->first != pair.of || it->second <= pair.first) return {};
      return pair.of == Pair::Of::kAxes ? te::axis(it->second - 1) : te::reduce_axis(it->second - 1);
    });
  }

  /// Over quotient and remainder of the merged axis.
  static Expr taken_apart(const Expr& expr, const Block& block, const Pair& pair) {
    const Expr merged = te::axis(pair.first), length = block.axes[pair.first + 1].extent;
    const Expr apart = te::transform(expr, [&](const Expr& e) -> Expr {
      const auto it = as_iterator(e);
      if (!it || it->second < pair.first) return {};
      if (it->second == pair.first) return te::floor_div(merged, length);
      return it->second == pair.first + 1 ? te::floor_mod(merged, length) : te::axis(it->second - 1);
    });
    return te::simplify_index(apart);
  }

  void merge(Statement& root, const Pair& pair) {
    std::vector<Statement*> loops;
    Statement* at = &root;
    for (; std::holds_alternative<Loop>(at->node); at = &std::get<Loop>(at->node).body.front()) loops.push_back(at);
    auto& block = std::get<Block>(at->node);
    for (Expr& body : block.bodies) body = block.name == copy_ ? taken_apart(body, block, pair) : rewritten(body, pair);
    for (Write& write : block.writes) {
      for (Expr& index : write.index) index = rewritten(index, pair);
      if (const auto dims = dims_.find(write.buffer); dims != dims_.end())
        write.index = merged_index(write.index, static_cast<size_t>(dims->second));
    }
    auto& list = pair.of == Pair::Of::kAxes ? block.axes : block.reduce;
    const size_t outer = (pair.of == Pair::Of::kAxes ? 0 : block.axes.size()) + static_cast<size_t>(pair.first);
    Iterator& merged = list[pair.first];
    merged.extent = te::index(*te::as_constant(merged.extent) * *te::as_constant(list[pair.first + 1].extent));
    const int variable = kernel_.next_variable++;
    merged.binding = loop_variable(variable);
    const Expr extent = merged.extent;
    list.erase(list.begin() + pair.first + 1);
    Loop fused(variable, extent);
    fused.body = std::move(std::get<Loop>(loops[outer + 1]->node).body);
    loops[outer]->node = std::move(fused);
  }

  Kernel& kernel_;
  const std::string_view copy_;
  std::map<int, int> dims_;
  std::map<int, Pair> iterators_;
};

/// Reduce iterators of one step, in nests of nothing but loops around a block, and their loops go.
void drop_unit_reductions(Statement& root) {
  const auto nest = plain_nest(root);
  if (!nest) return;
  const std::vector<Statement*>& loops = nest->loops;
  auto* block = &std::get<Block>(nest->block->node);
  if (loops.size() != block->axes.size() + block->reduce.size()) return;
  for (size_t k = block->reduce.size(); k-- > 0 && block->reduce.size() > 1;) {
    const size_t depth = block->axes.size() + k;
    const auto& loop = std::get<Loop>(loops[depth]->node);
    if (te::as_constant(block->reduce[k].extent) != 1 || !(block->reduce[k].binding == loop_variable(loop.variable)))
      continue;
    const auto dropped = [&](const Expr& expr) {
      const Expr without = te::transform(expr, [&](const Expr& e) -> Expr {
        const auto it = as_iterator(e);
        if (!it || it->first != Pair::Of::kReduce || it->second < static_cast<int>(k)) return {};
        return it->second == static_cast<int>(k) ? te::index(0) : te::reduce_axis(it->second - 1);
      });
      return te::transform(without, [&](const Expr& e) -> Expr {
        const auto* load = te::as<te::Load>(e);
        if (!load) return {};
        std::vector<Expr> index;
        for (const Expr& i : load->index) index.push_back(te::simplify_index(i));
        return te::load(load->buffer, e.dtype(), std::move(index));
      });
    };
    for (Expr& body : block->bodies) body = dropped(body);
    for (Write& write : block->writes)
      for (Expr& index : write.index) index = dropped(index);
    block->reduce.erase(block->reduce.begin() + static_cast<std::ptrdiff_t>(k));
    // The loop's body takes its place; places of the loops below move up with it.
    Statement inner = std::move(std::get<Loop>(loops[depth]->node).body.front());
    *loops[depth] = std::move(inner);
    return drop_unit_reductions(root);
  }
}

}  // namespace

namespace {

Result<void> collapse_with(Kernel& kernel, const Copy& copy) {
  if (copy.apart < 0)
    for (Statement& root : kernel.body) drop_unit_reductions(root);
  while (true) {
    const std::set<Pair> pairs = Pairs(kernel, copy).component();
    if (pairs.empty()) return {};
    std::set<std::pair<Pair::Of, int>> seen;
    for (const Pair& pair : pairs)
      if (!seen.insert({pair.of == Pair::Of::kBuffer ? pair.of : Pair::Of::kAxes, pair.number}).second) return {};
    Merger(kernel, copy.name, pairs).run();
  }
}

}  // namespace

Result<void> collapse(Kernel& kernel) { return collapse_with(kernel, {}); }

Result<void> flatten(Kernel& kernel, const std::string& name, int64_t apart) {
  TRY(const Place place, find_block(kernel, name));
  const Block& block = place.block();
  if (block.is_reduction() || block.predicate || block.writes.size() != 1 ||
      block.writes[0].index != te::axes(static_cast<int>(block.axes.size())))
    return invalid(name, "a map that writes element axis(0), axis(1)… expected");
  constexpr int64_t kMostIterators = 64;
  if (apart < -1 || apart >= kMostIterators)
    return invalid(name, "-1 or an iterator of a reduction expected, {} found", apart);
  return collapse_with(kernel, {name, block.writes[0].buffer, static_cast<int>(apart)});
}

}  // namespace isomer::kernel::primitives
