#include "kernel/open_sizes.h"

#include <algorithm>
#include <optional>

#include "graph/te/simplifier.h"
#include "kernel/padding.h"
#include "kernel/tree.h"

namespace isomer::kernel {
namespace {

/// The variable of a term that is a multiple of one; -1: it is none.
int loop_of(const te::Term& term) {
  const auto* variable = term.factors.size() == 1 ? te::as<te::Var>(term.factors[0]) : nullptr;
  return variable && variable->kind == te::VarKind::kLoop ? variable->index : -1;
}

/// The least value of a polynomial as one of sizes alone. Nothing where a loop moves more than a multiple of its
/// variable.
std::optional<te::Polynomial> least(te::Polynomial polynomial, const LoopRanges& loops, te::Simplifier& simplifier) {
  te::Polynomial result(polynomial.constant);
  polynomial.constant = 0;
  for (const te::Term& term : polynomial.terms) {
    te::Polynomial value;
    value.terms = {term};
    if (const int loop = loop_of(term); loop >= 0) {
      const Expr* extent = loops.extent(loop);
      if (!extent || !variables(*extent).empty()) return std::nullopt;
      const te::Polynomial last = simplifier.polynomial(*extent) - te::Polynomial(1);
      value = term.coefficient > 0 ? te::Polynomial() : scaled(last, term.coefficient);
    } else if (std::ranges::any_of(term.factors, [](const Expr& factor) { return !variables(factor).empty(); })) {
      return std::nullopt;
    }
    result = result + value;
  }
  return result;
}

}  // namespace

OpenSizes::OpenSizes(const Kernel& kernel) {
  for (const Buffer& buffer : kernel.buffers)
    for (const Dim& dim : buffer.shape) {
      if (dim.is_constant()) continue;
      for (const int read : loads(dim.expr()))
        if (std::ranges::find(kernel.inputs, read) != kernel.inputs.end()) buffers_.insert(read);
    }
  if (buffers_.empty()) return;
  for (const Statement& statement : kernel.body)
    for_each_block(statement, [&](const Block& block, const auto&) {
      for (const int written : stores(block)) buffers_.erase(written);
    });
  for (const int resized : resized(kernel)) buffers_.erase(resized);
}

bool OpenSizes::reads_data(const Expr& expr) const {
  return te::any_node(expr, [&](const Expr& e) {
    const auto* load = te::as<te::Load>(e);
    return load && !buffers_.contains(load->buffer.index);
  });
}

bool OpenSizes::decide(const Expr& expr) const {
  return !reads_data(expr) &&
         !te::any_node(expr, [](const Expr& e) { return te::as<te::Var>(e) || te::as<te::Symbol>(e); });
}

bool OpenSizes::are_around(const Expr& index, const Expr& size, const LoopRanges& loops,
                           const std::vector<Expr>& conditions) const {
  if (!decide(size)) return false;
  te::Simplifier simplifier(loops.ranges());
  const auto is_nonnegative = [&](const te::Polynomial& gap) {
    const auto low = least(gap, loops, simplifier);
    return low && simplifier.is_nonnegative(*low);
  };
  std::vector<te::Polynomial> known = {te::Polynomial()};
  for (const Expr& condition : conditions)
    for (const Expr& part : conjuncts(condition))
      if (const Expr gap = at_least_zero(part)) known.push_back(simplifier.polynomial(gap));
  for (const Expr& each : {index, size - 1 - index}) {
    const te::Polynomial gap = simplifier.polynomial(each);
    if (std::ranges::none_of(known, [&](const te::Polynomial& less) { return is_nonnegative(gap - less); }))
      return false;
  }
  return true;
}

}  // namespace isomer::kernel
