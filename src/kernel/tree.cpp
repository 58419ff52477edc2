#include "kernel/tree.h"

#include <algorithm>

namespace isomer::kernel {
namespace {

/// Looks for the statement that `wanted` accepts; `List` is Statements or const Statements. found(list, position) is
/// called there.
template <class List, class Ancestors, class Found>
bool find(List& list, const std::function<bool(const Statement&)>& wanted, Ancestors& ancestors, const Found& found) {
  const auto below = [&](auto& inner) { return find(inner, wanted, ancestors, found); };
  for (size_t i = 0; i < list.size(); ++i) {
    if (wanted(list[i])) {
      found(list, i);
      return true;
    }
    ancestors.push_back(&list[i]);
    const bool is_there = std::visit(
        [&](auto& s) {
          using Node = std::remove_cvref_t<decltype(s)>;
          if constexpr (std::is_same_v<Node, Branch>)
            return below(s.then) || below(s.otherwise);
          else if constexpr (std::is_same_v<Node, Loop> || std::is_same_v<Node, While>)
            return below(s.body);
          else
            return false;
        },
        list[i].node);
    if (is_there) return true;
    ancestors.pop_back();
  }
  return false;
}

bool find(Statements& list, const std::function<bool(const Statement&)>& wanted, Place& place) {
  return find(list, wanted, place.ancestors, [&](Statements& in, size_t position) {
    place.list = &in;
    place.position = position;
  });
}

template <class List, class Node>
std::vector<Node*> nodes_in(const List& ancestors) {
  std::vector<Node*> result;
  for (auto* ancestor : ancestors)
    if (auto* node = std::get_if<std::remove_const_t<Node>>(&ancestor->node)) result.push_back(node);
  return result;
}

void walk(std::span<const Statement> statements, std::vector<const Loop*>& loops, const BlockVisitor& look) {
  for (const Statement& statement : statements)
    std::visit(
        te::Overloaded{[&](const Loop& s) {
                         loops.push_back(&s);
                         walk(s.body, loops, look);
                         loops.pop_back();
                       },
                       [&](const Block& s) { look(s, loops); },
                       [&](const Branch& s) {
                         walk(s.then, loops, look);
                         walk(s.otherwise, loops, look);
                       },
                       [&](const While& s) { walk(s.body, loops, look); }, [](const Resize&) {}, [](const Barrier&) {}},
        statement.node);
}

void add_loads(const Expr& expr, std::set<int>& buffers) {
  te::for_each_node(expr, [&](const Expr& e) {
    if (const auto* load = te::as<te::Load>(e)) buffers.insert(load->buffer.index);
  });
}

/// look(expression) for each of them; `List` is one of Statements, or a span of const ones.
template <class List, class Look>
void visit_expressions(List& statements, const Look& look) {
  const auto all = [&](auto& list) {
    for (auto& e : list) look(e);
  };
  const auto iterators = [&](auto& list) {
    for (auto& iterator : list) {
      look(iterator.extent);
      look(iterator.binding);
    }
  };
  for (auto& statement : statements)
    std::visit(
        [&](auto& s) {
          using Node = std::remove_cvref_t<decltype(s)>;
          if constexpr (std::is_same_v<Node, Loop>) {
            look(s.extent);
            visit_expressions(s.body, look);
          } else if constexpr (std::is_same_v<Node, Block>) {
            iterators(s.axes);
            iterators(s.reduce);
            if (s.predicate) look(s.predicate);
            for (auto& write : s.writes) all(write.index);
            all(s.bodies);
          } else if constexpr (std::is_same_v<Node, Branch>) {
            look(s.condition);
            visit_expressions(s.then, look);
            visit_expressions(s.otherwise, look);
          } else if constexpr (std::is_same_v<Node, While>) {
            look(s.condition);
            visit_expressions(s.body, look);
          } else if constexpr (std::is_same_v<Node, Resize>) {
            all(s.extents);
          }
        },
        statement.node);
}

}  // namespace

std::vector<Loop*> Place::loops() const { return nodes_in<std::vector<Statement*>, Loop>(ancestors); }

std::vector<const Loop*> BlockPlace::loops() const {
  return nodes_in<std::vector<const Statement*>, const Loop>(ancestors);
}

BlockPlace place_of_block(const Kernel& kernel, std::string_view name) {
  BlockPlace place;
  const auto wanted = [&](const Statement& statement) {
    const auto* block = std::get_if<Block>(&statement.node);
    return block && block->name == name;
  };
  find(kernel.body, wanted, place.ancestors,
       [&](const Statements& list, size_t position) { place.block = &std::get<Block>(list[position].node); });
  return place;
}

const Loop* loop_of(const Kernel& kernel, int variable) {
  std::vector<const Statement*> ancestors;
  const Loop* found = nullptr;
  const auto wanted = [&](const Statement& statement) {
    const auto* loop = std::get_if<Loop>(&statement.node);
    return loop && loop->variable == variable;
  };
  find(kernel.body, wanted, ancestors,
       [&](const Statements& list, size_t position) { found = &std::get<Loop>(list[position].node); });
  return found;
}

Result<Place> find_loop(Kernel& kernel, int variable) {
  Place place;
  const auto wanted = [&](const Statement& statement) {
    const auto* loop = std::get_if<Loop>(&statement.node);
    return loop && loop->variable == variable;
  };
  if (!find(kernel.body, wanted, place))
    return invalid(fmt::format("k{}", variable), "a loop of the kernel expected, there is none of this name");
  return place;
}

Result<int> find_buffer(const Kernel& kernel, const std::string& name) {
  const int buffer = kernel.find_buffer(name);
  if (buffer < 0) return invalid(name, "a buffer of the kernel expected, there is none of this name");
  return buffer;
}

Result<Place> find_block(Kernel& kernel, std::string_view name) {
  Place place;
  const auto wanted = [&](const Statement& statement) {
    const auto* block = std::get_if<Block>(&statement.node);
    return block && block->name == name;
  };
  if (!find(kernel.body, wanted, place))
    return invalid(std::string(name), "a block of the kernel expected, there is none of this name");
  return place;
}

void for_each_block(std::span<const Statement> statements, const BlockVisitor& look) {
  std::vector<const Loop*> loops;
  walk(statements, loops, look);
}

void edit_blocks(Statements& statements, const std::function<void(Block&)>& edit) {
  for (Statement& statement : statements)
    std::visit(te::Overloaded{[&](Loop& s) { edit_blocks(s.body, edit); }, [&](Block& s) { edit(s); },
                              [&](Branch& s) {
                                edit_blocks(s.then, edit);
                                edit_blocks(s.otherwise, edit);
                              },
                              [&](While& s) { edit_blocks(s.body, edit); }, [](Resize&) {}, [](Barrier&) {}},
               statement.node);
}

void rewrite_expressions(Statements& statements, const std::function<Expr(const Expr&)>& rewrite) {
  visit_expressions(statements, [&](Expr& e) { e = rewrite(e); });
}

void for_each_expression(std::span<const Statement> statements, const std::function<void(const Expr&)>& look) {
  visit_expressions(statements, look);
}

std::set<int> variables(const Expr& expr) {
  std::set<int> result;
  te::for_each_node(expr, [&](const Expr& e) {
    if (const auto* variable = te::as<te::Var>(e); variable && variable->kind == te::VarKind::kLoop)
      result.insert(variable->index);
  });
  return result;
}

bool depends_on(const Expr& expr, int loop_variable) {
  return te::any_node(expr, [&](const Expr& e) {
    const auto* variable = te::as<te::Var>(e);
    return variable && variable->kind == te::VarKind::kLoop && variable->index == loop_variable;
  });
}

std::vector<Expr> conjuncts(const Expr& condition) {
  if (!condition) return {};
  const auto* both = te::as<te::Binary>(condition);
  if (!both || both->op != te::BinaryOp::kAnd) return {condition};
  std::vector<Expr> all = conjuncts(both->left);
  for (Expr& each : conjuncts(both->right)) all.push_back(std::move(each));
  return all;
}

bool reads_any(const std::vector<Iterator>& iterators, int variable) {
  return std::any_of(iterators.begin(), iterators.end(),
                     [&](const Iterator& i) { return depends_on(i.binding, variable); });
}

const Loop* lanes_of_tile(const Loop& rows) {
  const auto* lanes = rows.body.size() == 1 ? std::get_if<Loop>(&rows.body[0].node) : nullptr;
  const auto* map = lanes && lanes->body.size() == 1 ? std::get_if<Block>(&lanes->body[0].node) : nullptr;
  const auto count = te::as_constant(rows.extent);
  const bool is_square = map && lanes->kind == LoopKind::kVectorized && te::as_constant(lanes->extent) == count &&
                         (count == 4 || count == 8 || count == 16);
  return is_square && !map->is_reduction() && map->bodies.size() == 1 ? lanes : nullptr;
}

Expr substitute(const Expr& expr, const std::map<int, Expr>& variables) {
  return te::transform(expr, [&](const Expr& e) -> Expr {
    const auto* variable = te::as<te::Var>(e);
    if (!variable || variable->kind != te::VarKind::kLoop) return {};
    const auto found = variables.find(variable->index);
    return found == variables.end() ? Expr() : found->second;
  });
}

void map_accesses(const Kernel& kernel, Statements& statements, int buffer, const AccessPlace& place) {
  rewrite_expressions(statements, [&](const Expr& expr) {
    return te::transform(expr, [&](const Expr& e) -> Expr {
      const auto* load = te::as<te::Load>(e);
      if (!load || load->buffer.index != buffer) return {};
      const Write there = place(load->index);
      return load_buffer(kernel, there.buffer, there.index);
    });
  });
  edit_blocks(statements, [&](Block& block) {
    for (Write& write : block.writes)
      if (write.buffer == buffer) write = place(write.index);
  });
}

std::set<int> loads(const Expr& expr) {
  std::set<int> result;
  add_loads(expr, result);
  return result;
}

std::set<int> loads(const Block& block) {
  std::set<int> result;
  for (const Expr& body : block.bodies) add_loads(body, result);
  for (const Write& write : block.writes)
    for (const Expr& e : write.index) add_loads(e, result);
  if (block.predicate) add_loads(block.predicate, result);
  return result;
}

std::set<int> stores(const Block& block) {
  std::set<int> result;
  for (const Write& write : block.writes) result.insert(write.buffer);
  return result;
}

std::set<int> touched(std::span<const Statement> statements) {
  std::set<int> result;
  for_each_expression(statements, [&](const Expr& e) { add_loads(e, result); });
  for_each_block(statements, [&](const Block& block, const auto&) {
    for (const Write& write : block.writes) result.insert(write.buffer);
  });
  return result;
}

bool touches(const Statement& statement, int buffer) { return touched(statement).contains(buffer); }

std::vector<std::string> writers(const Kernel& kernel, int buffer) {
  std::vector<std::string> names;
  for_each_block(kernel.body, [&](const Block& block, const auto&) {
    if (stores(block).contains(buffer)) names.push_back(block.name);
  });
  return names;
}

std::vector<std::string> readers(const Kernel& kernel, int buffer) {
  std::vector<std::string> names;
  for_each_block(kernel.body, [&](const Block& block, const auto&) {
    if (loads(block).contains(buffer)) names.push_back(block.name);
  });
  return names;
}

bool written_before(const Kernel& kernel, int buffer, std::string_view name) {
  bool passed = false, before = true;
  for_each_block(kernel.body, [&](const Block& block, const auto&) {
    passed |= block.name == name;
    if (passed && stores(block).contains(buffer)) before = false;
  });
  return before;
}

bool is_output(const Kernel& kernel, int buffer) {
  return std::find(kernel.outputs.begin(), kernel.outputs.end(), buffer) != kernel.outputs.end();
}

bool is_argument(const Kernel& kernel, int buffer) {
  return is_output(kernel, buffer) ||
         std::find(kernel.inputs.begin(), kernel.inputs.end(), buffer) != kernel.inputs.end();
}

std::set<int> resized(const Statements& statements) {
  std::set<int> buffers;
  std::vector<const Statement*> ancestors;
  const auto look = [&](const Statement& statement) {
    if (const auto* resize = std::get_if<Resize>(&statement.node)) buffers.insert(resize->buffer);
    return false;
  };
  find(statements, look, ancestors, [](const Statements&, size_t) {});
  return buffers;
}

bool has_dynamic_sizes(const Kernel& kernel) {
  return std::ranges::any_of(kernel.buffers, [](const Buffer& buffer) { return !constants(buffer.shape); }) ||
         !resized(kernel).empty();
}

void remove(Kernel& kernel, const Place& place) {
  place.list->erase(place.list->begin() + static_cast<std::ptrdiff_t>(place.position));
  const std::function<void(Statements&)> prune = [&](Statements& list) {
    for (Statement& statement : list)
      if (auto* loop = std::get_if<Loop>(&statement.node)) prune(loop->body);
    std::erase_if(list, [](const Statement& statement) {
      const auto* loop = std::get_if<Loop>(&statement.node);
      return loop && loop->body.empty();
    });
  };
  prune(kernel.body);
}

std::string fresh_block_name(const Kernel& kernel, const std::string& hint) {
  std::set<std::string> names;
  for_each_block(kernel.body, [&](const Block& block, const auto&) { names.insert(block.name); });
  std::string name = hint;
  for (int i = 1; names.contains(name); ++i) name = fmt::format("{}_{}", hint, i);
  return name;
}

std::string fresh_buffer_name(const Kernel& kernel, const std::string& hint) {
  std::string name = hint;
  for (int i = 1; kernel.find_buffer(name) >= 0; ++i) name = fmt::format("{}_{}", hint, i);
  return name;
}

Statement under_loops(Kernel& kernel, const std::vector<Expr>& extents,
                      const std::function<Block(const std::vector<Expr>& variables)>& make) {
  std::vector<Loop> loops;
  std::vector<Expr> variables;
  for (const Expr& extent : extents) {
    loops.emplace_back(kernel.next_variable++, extent);
    variables.push_back(loop_variable(loops.back().variable));
  }
  Statement statement = {make(variables)};
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    loop->body.push_back(std::move(statement));
    statement = {std::move(*loop)};
  }
  return statement;
}

LoopRanges ranges_of(const std::vector<const Loop*>& loops) {
  LoopRanges ranges;
  for (const Loop* loop : loops) ranges.enter(*loop);
  return ranges;
}

void rename_copy(Kernel& kernel, Statements& statements, const std::string& suffix, std::map<int, Expr>& renamed) {
  for (Statement& statement : statements)
    std::visit(te::Overloaded{[&](Block& block) { block.name = fresh_block_name(kernel, block.name + suffix); },
                              [&](Loop& loop) {
                                const int variable = kernel.next_variable++;
                                renamed.emplace(loop.variable, loop_variable(variable));
                                loop.variable = variable;
                                rename_copy(kernel, loop.body, suffix, renamed);
                              },
                              [&](Branch& branch) {
                                rename_copy(kernel, branch.then, suffix, renamed);
                                rename_copy(kernel, branch.otherwise, suffix, renamed);
                              },
                              [&](While& loop) { rename_copy(kernel, loop.body, suffix, renamed); }, [](Resize&) {},
                              [](Barrier&) {}},
               statement.node);
}

}  // namespace isomer::kernel
