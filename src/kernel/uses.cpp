#include "kernel/uses.h"

#include <algorithm>
#include <array>

#include "kernel/regions.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// Whether both uses move in some dim by one and the same step along a variable, and take no more than that in one
/// iteration, over all iterations of what lies `inside`.
bool move_apart(const Use& a, const Use& b, int variable, const auto& is_inside) {
  const auto inner = [&](const Use& use) {
    std::vector<const Loop*> loops;
    std::copy_if(use.loops.begin(), use.loops.end(), std::back_inserter(loops), is_inside);
    return loops;
  };
  for (size_t k = 0; k < a.index.size(); ++k) {
    if (!loads(a.index[k]).empty() || !loads(b.index[k]).empty()) continue;
    const auto first = span_of(a.index[k], inner(a)), second = span_of(b.index[k], inner(b));
    const auto span = first && second ? united(*first, *second) : std::nullopt;
    const auto extent = span ? te::as_constant(span->extent) : std::nullopt;
    if (!extent) continue;
    const Expr next = substitute(span->minimum, {{variable, loop_variable(variable) + 1}});
    const auto step = te::as_constant(te::simplify_index(next - span->minimum));
    if (step && std::abs(*step) >= *extent) return true;
  }
  return false;
}

/// Whether both are of one block, which has one point for each of the elements that it writes, and find these at that
/// point: but for the steps of ordered loops, which one point takes one after the other.
bool stay_in_place(const Use& a, const Use& b) {
  if (a.block != b.block || (!a.is_write && !b.is_write)) return false;
  if (a.is_write && b.is_write) return true;
  const std::vector<Expr>& written = a.is_write ? a.index : b.index;
  const auto is_ordered = [&](int variable) {
    return std::ranges::any_of(a.loops, [&](const Loop* loop) { return loop->variable == variable && loop->ordered; });
  };
  for (size_t k = 0; k < a.index.size(); ++k) {
    if (te::has_load(written[k])) return false;
    const std::set<int> read = variables(written[k]);
    if (std::ranges::all_of(read, is_ordered)) continue;
    if (std::ranges::any_of(read, is_ordered) || !(a.index[k] == b.index[k])) return false;
  }
  return true;
}

std::vector<Use> uses_in(const Kernel& kernel, const Statement& statement, const std::array<Scope, 2>& scopes) {
  std::vector<Use> uses;
  for_each_block(statement, [&](const Block& block, const std::vector<const Loop*>&) {
    const std::vector<const Loop*> loops = place_of_block(kernel, block.name).loops();
    const bool is_of_lanes = lanes_of_reduction(block, loops) != nullptr;
    const auto add = [&](int buffer, std::vector<Expr> index, bool is_write) {
      if (std::ranges::find(scopes, kernel.buffers[static_cast<size_t>(buffer)].scope) != scopes.end())
        uses.push_back({block.name, buffer, std::move(index), loops, is_write, is_write && is_of_lanes});
    };
    const auto add_loads = [&](const Expr& expr) {
      te::for_each_node(bind_iterators(block, expr), [&](const Expr& e) {
        if (const auto* load = te::as<te::Load>(e)) add(load->buffer.index, load->index, false);
      });
    };
    std::for_each(block.bodies.begin(), block.bodies.end(), add_loads);
    if (block.predicate) add_loads(block.predicate);
    for (const Write& write : block.writes) {
      std::vector<Expr> index;
      for (const Expr& e : write.index) {
        index.push_back(bind_iterators(block, e));
        add_loads(e);
      }
      add(write.buffer, std::move(index), true);
    }
  });
  return uses;
}

}  // namespace

std::vector<Use> uses_of(const Kernel& kernel, const Statement& statement) {
  return uses_in(kernel, statement, {Scope::kArgument, Scope::kShared});
}
std::vector<Use> private_uses_of(const Kernel& kernel, const Statement& statement) {
  return uses_in(kernel, statement, {Scope::kCache, Scope::kRegister});
}

bool is_of_one_block(const Use& a, const Use& b, const Loop& grid) {
  if (stay_in_place(a, b)) return true;
  return move_apart(a, b, grid.variable, [](const Loop* loop) { return !is_block(loop->kind); });
}

bool are_apart(const Use& a, const Use& b, const Loop& turns) {
  const auto inner = [&](const Use& use) {
    std::vector<const Loop*> loops = use.loops;
    std::erase_if(loops, [&](const Loop* loop) { return loop->variable == turns.variable; });
    return loops;
  };
  for (size_t k = 0; k < a.index.size(); ++k) {
    if (!loads(a.index[k]).empty() || !loads(b.index[k]).empty()) continue;
    const auto first = span_of(a.index[k], inner(a)), second = span_of(b.index[k], inner(b));
    if (!first || !second) continue;
    const auto distance = te::as_constant(te::simplify_index(second->minimum - first->minimum)),
               of_first = te::as_constant(first->extent), of_second = te::as_constant(second->extent);
    if (distance && ((of_first && *distance >= *of_first) || (of_second && -*distance >= *of_second))) return true;
  }
  return false;
}

bool is_of_one_thread(const Use& a, const Use& b, const Launch& launch) {
  if (stay_in_place(a, b)) return true;
  const auto of_a = threads_around(a.loops), of_b = threads_around(b.loops);
  // Both in the variables of the first use.
  Use renamed = b;
  std::map<int, Expr> names;
  std::vector<size_t> open;
  for (size_t axis = 0; axis < 3; ++axis) {
    if (launch.threads[axis] == 1) continue;
    if (!of_a[axis] || !of_b[axis]) return false;
    open.push_back(axis);
    names.emplace(of_b[axis]->variable, loop_variable(of_a[axis]->variable));
    std::replace(renamed.loops.begin(), renamed.loops.end(), of_b[axis], of_a[axis]);
  }
  for (Expr& e : renamed.index) e = substitute(e, names);
  // An axis at a time: those that are known to be the same don't move any more.
  while (!open.empty()) {
    const auto is_same = [&](size_t axis) {
      return move_apart(a, renamed, of_a[axis]->variable, [&](const Loop* loop) {
        if (is_block(loop->kind)) return false;
        const bool is_effective = is_thread(loop->kind) && of_a[axis_of(loop->kind)] == loop;
        if (!is_effective) return true;
        return axis_of(loop->kind) != axis && std::find(open.begin(), open.end(), axis_of(loop->kind)) != open.end();
      });
    };
    const auto known = std::find_if(open.begin(), open.end(), is_same);
    if (known == open.end()) return false;
    open.erase(known);
  }
  return true;
}

}  // namespace isomer::kernel
