#include "kernel/vectorizable.h"

#include <algorithm>

#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

bool any_depends(const Block& block, const std::vector<Expr>& exprs, int variable) {
  return std::any_of(exprs.begin(), exprs.end(),
                     [&](const Expr& e) { return depends_on(bind_iterators(block, e), variable); });
}

bool can_run_at_once(const Block& block, int variable) {
  const auto binds = [&](const std::vector<Iterator>& iterators) {
    return std::any_of(iterators.begin(), iterators.end(),
                       [&](const Iterator& i) { return depends_on(i.binding, variable); });
  };
  for (const Write& write : block.writes) {
    if (any_depends(block, write.index, variable)) continue;
    if (block.is_reduction() ? binds(block.axes) : any_depends(block, block.bodies, variable)) return false;
  }
  return true;
}

bool can_run_at_once(const Statements& statements, int variable) {
  return std::all_of(statements.begin(), statements.end(), [&](const Statement& statement) {
    return std::visit(te::Overloaded{[&](const Loop& s) {
                                       return !depends_on(s.extent, variable) && can_run_at_once(s.body, variable);
                                     },
                                     [&](const Block& s) { return can_run_at_once(s, variable); },
                                     [&](const Branch& s) {
                                       return !depends_on(s.condition, variable) && can_run_at_once(s.then, variable) &&
                                              can_run_at_once(s.otherwise, variable);
                                     },
                                     [](const While&) { return false; }, [](const Resize&) { return false; },
                                     [](const Barrier&) { return false; }},
                      statement.node);
  });
}

}  // namespace

bool is_vectorizable(const Loop& loop) { return !loop.ordered && can_run_at_once(loop.body, loop.variable); }

}  // namespace isomer::kernel
