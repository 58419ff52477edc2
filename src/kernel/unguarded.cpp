#include "kernel/unguarded.h"

#include <algorithm>
#include <functional>

#include "graph/te/simplifier.h"
#include "kernel/access_plan.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

class Search {
 public:
  explicit Search(Kernel& kernel) : kernel_(kernel), sizes_(kernel) {}

  void look_at(const Statements& statements) {
    for (const Statement& statement : statements) std::visit([&](const auto& each) { look_at(each); }, statement.node);
  }

 private:
  void look_at(const Loop& loop) {
    ranges_.enter(loop);
    look_at(loop.body);
    ranges_.leave(loop);
  }
  void look_at(const Branch& branch) {
    look_at(branch.condition);
    under(branch.condition, true, [&] { look_at(branch.then); });
    under(branch.condition, false, [&] { look_at(branch.otherwise); });
  }
  void look_at(const While& loop) { look_at(loop.body); }
  void look_at(const Resize&) {}
  void look_at(const Barrier&) {}

  void look_at(const Block& block) {
    if (!block.predicate) return look_inside(block);
    look_at(block.predicate);
    under(block.predicate, true, [&] { look_inside(block); });
  }

  void look_inside(const Block& block) {
    for (const Expr& body : block.bodies) look_at(bind_iterators(block, body));
    for (const Write& write : block.writes) {
      std::vector<Expr> index;
      for (const Expr& i : write.index) index.push_back(bind_iterators(block, i));
      look_at(write.buffer, index);
    }
  }

  /// `look` where the condition holds, or where it does not.
  void under(const Expr& condition, bool holds, const std::function<void()>& look) {
    conditions_.push_back(condition);
    if (holds) holding_.push_back(condition);
    look();
    if (holds) holding_.pop_back();
    conditions_.pop_back();
  }

  void look_at(const Expr& expr) {
    if (const auto* choice = te::as<te::Select>(expr)) {
      look_at(choice->condition);
      under(choice->condition, true, [&] { look_at(choice->then); });
      return under(choice->condition, false, [&] { look_at(choice->otherwise); });
    }
    const auto* both = te::as<te::Binary>(expr);
    if (both && (both->op == te::BinaryOp::kAnd || both->op == te::BinaryOp::kOr)) {
      look_at(both->left);
      return under(both->left, both->op == te::BinaryOp::kAnd, [&] { look_at(both->right); });
    }
    if (const auto* load = te::as<te::Load>(expr)) look_at(load->buffer.index, load->index);
    for (const Expr& child : te::detail::children(expr)) look_at(child);
  }

  void look_at(int number, const std::vector<Expr>& index) {
    Buffer& buffer = kernel_.buffers[static_cast<size_t>(number)];
    if (buffer.is_checked) return;
    te::Simplifier simplifier(ranges_.ranges());
    for (size_t k = 0; k < index.size(); ++k) {
      const te::Range range = simplifier.range(simplifier.polynomial(index[k]));
      const Dim& size = buffer.shape[k];
      if (size.is_constant() && range.low >= 0 && range.high < size.value()) continue;
      // What is loaded may be inlined: then it is computed there.
      const bool is_open = !size.is_constant() || runs_on(index[k]);
      const bool is_safe = is_open ? sizes_.are_around(index[k], size.expr(), ranges_, holding_) : is_guarded(index[k]);
      buffer.is_checked |= !is_safe || sizes_.reads_data(index[k]);
    }
  }

  /// Whether data decide how far a loop goes that the index depends on.
  bool runs_on(const Expr& index) const {
    const std::set<int> loops = variables(index);
    return std::ranges::any_of(loops, [&](int loop) { return !ranges_.interval(loop).high; });
  }

  /// Whether a condition around depends on a loop that the index depends on.
  bool is_guarded(const Expr& index) const {
    return te::any_node(index, [&](const Expr& e) {
      const auto* loop = te::as<te::Var>(e);
      return loop && loop->kind == te::VarKind::kLoop &&
             std::any_of(conditions_.begin(), conditions_.end(),
                         [&](const Expr& condition) { return depends_on(condition, loop->index); });
    });
  }

  Kernel& kernel_;
  const OpenSizes sizes_;
  LoopRanges ranges_;
  std::vector<Expr> conditions_;
  std::vector<Expr> holding_;  ///< those of them that hold
};

}  // namespace

void mark_unguarded(Kernel& kernel) { Search(kernel).look_at(kernel.body); }

}  // namespace isomer::kernel
