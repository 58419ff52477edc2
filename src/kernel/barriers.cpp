#include "kernel/barriers.h"

#include <algorithm>

#include "kernel/launch.h"
#include "kernel/tree.h"
#include "kernel/uses.h"

namespace isomer::kernel {
namespace {

using Uses = std::set<const Use*>;

class Barriers {
 public:
  /// `kernel` stays as it is.
  Barriers(const Kernel& kernel, const Statement& root) : launch_(launch_of(root)) {
    // Arguments that are only read need no order.
    std::set<int> written;
    for_each_block(root, [&](const Block& block, const auto&) { written.merge(stores(block)); });
    for (Use& use : kernel::uses_of(kernel, root))
      if (written.contains(use.buffer)) uses_[use.block].push_back(std::move(use));
  }

  /// `before`: what was used since the last barrier, when the statements begin and then when they end.
  Result<void> insert(Statements& statements, Uses& before) {
    for (size_t i = 0; i < statements.size(); ++i) {
      if (std::holds_alternative<Barrier>(statements[i].node)) {
        before.clear();
        continue;
      }
      if (conflict(before, uses_of(statements[i]))) {
        if (divergent_) return unsupported("", "a barrier would stand in {}, where not all threads come", *divergent_);
        statements.insert(statements.begin() + static_cast<std::ptrdiff_t>(i++), Statement{Barrier()});
        before.clear();
      }
      TRY_VOID(insert_inside(statements[i], before));
    }
    return {};
  }

 private:
  Result<void> insert_inside(Statement& statement, Uses& before) {
    if (auto* loop = std::get_if<Loop>(&statement.node)) {
      if (is_thread(loop->kind)) threads_.push_back(loop->variable);
      auto result = insert_inside(*loop, before);
      if (is_thread(loop->kind)) threads_.pop_back();
      return result;
    }
    if (auto* branch = std::get_if<Branch>(&statement.node)) {
      const Leave leave = enter(depends_on_threads(branch->condition) || te::has_load(branch->condition), "a branch");
      Uses otherwise = before;
      TRY_VOID(insert(branch->then, before));
      TRY_VOID(insert(branch->otherwise, otherwise));
      before.insert(otherwise.begin(), otherwise.end());
      return {};
    }
    if (auto* loop = std::get_if<While>(&statement.node)) {
      const Leave leave = enter(true, "a loop that data end");
      return in_time(loop->body, before);
    }
    before.merge(uses_of(statement));
    return {};
  }

  Result<void> insert_inside(Loop& loop, Uses& before) {
    const bool is_cut = is_thread(loop.kind) && te::as_constant(loop.extent) != launch_.threads[axis_of(loop.kind)];
    const Leave leave = enter(is_cut || depends_on_threads(loop.extent) || te::has_load(loop.extent),
                              fmt::format("k{}", loop.variable));
    const bool is_repeated = !is_bound(loop.kind) && te::as_constant(loop.extent) != 1;
    return is_repeated ? in_time(loop.body, before) : insert(loop.body, before);
  }

  /// The body of a loop whose iterations follow each other: what one used is there when the next one begins.
  Result<void> in_time(Statements& body, Uses& before) {
    Uses after = before;
    TRY_VOID(insert(body, after));
    before.merge(after);
    return insert(body, before);
  }

  // What keeps barriers out

  struct Leave {
    Barriers* barriers;
    std::optional<std::string> outer;
    ~Leave() { barriers->divergent_ = std::move(outer); }
  };
  Leave enter(bool diverges, std::string where) {
    Leave leave{this, divergent_};
    if (diverges && !divergent_) divergent_ = std::move(where);
    return leave;
  }
  bool depends_on_threads(const Expr& expr) const {
    const std::set<int> read = variables(expr);
    return std::any_of(threads_.begin(), threads_.end(), [&](int variable) { return read.contains(variable); });
  }

  bool conflict(const Uses& before, const Uses& after) const {
    return std::any_of(before.begin(), before.end(), [&](const Use* a) {
      return std::any_of(after.begin(), after.end(), [&](const Use* b) {
        return a->buffer == b->buffer && (a->is_write || b->is_write) && !is_of_one_thread(*a, *b, launch_);
      });
    });
  }

  Uses uses_of(const Statement& statement) const {
    Uses uses;
    for_each_block(statement, [&](const Block& block, const auto&) {
      if (const auto found = uses_.find(block.name); found != uses_.end())
        for (const Use& use : found->second) uses.insert(&use);
    });
    return uses;
  }

  const Launch launch_;
  std::map<std::string, std::vector<Use>> uses_;  ///< of what is written somewhere in the launch, by block
  std::vector<int> threads_;                      ///< variables of the loops around whose iterations are threads
  std::optional<std::string> divergent_;
};

/// `root` is what `original` is in a copy of the kernel.
Result<void> insert_barriers(const Kernel& kernel, const Statement& original, Statement& root) {
  if (launch_of(original).threads_of_block() == 1) return {};
  Statements alone;
  alone.push_back(std::move(root));
  Uses before;
  const auto result = Barriers(kernel, original).insert(alone, before);
  root = std::move(alone.back());
  return result;
}

}  // namespace

Result<Kernel> with_barriers(const Kernel& kernel) {
  TRY_VOID(check_launches(kernel));
  Kernel result = kernel;
  for (const LaunchPlace& place : launches_of(kernel))
    TRY_VOID(insert_barriers(kernel, place.in(kernel), place.in(result)));
  return result;
}

}  // namespace isomer::kernel
