// Symbols in expressions: which there are, and what stands in their place.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "graph/te/dim.h"
#include "graph/te/expr.h"
#include "graph/te/simplify.h"

namespace isomer::te {

/// Calls `look` with the name of each symbol, as often as it stands there.
template <class F>
void for_each_symbol(const Expr& expr, F&& look) {
  for_each_node(expr, [&](const Expr& e) {
    if (const Symbol* symbol = as<Symbol>(e)) look(symbol->name);
  });
}

/// Whether the name of some symbol is what `is` looks for.
template <class F>
bool any_symbol(const Expr& expr, F&& is) {
  return any_node(expr, [&](const Expr& e) {
    const Symbol* symbol = as<Symbol>(e);
    return symbol && is(symbol->name);
  });
}

/// `replace` is asked for the name of each symbol and returns an empty Expr to keep it.
template <class F>
Expr with_symbols(const Expr& expr, F&& replace) {
  return transform(expr, [&](const Expr& e) -> Expr {
    const Symbol* symbol = as<Symbol>(e);
    return symbol ? replace(symbol->name) : Expr();
  });
}

/// What symbols are replaced by.
using Replacement = std::map<std::string, Expr, std::less<>>;
inline Expr with_names(const Expr& expr, const Replacement& names) {
  return with_symbols(expr, [&](const std::string& name) {
    const auto found = names.find(name);
    return found == names.end() ? Expr() : found->second;
  });
}

/// The names of its symbols: "group", "x.1?".
inline std::set<std::string> names(const Expr& expr) {
  std::set<std::string> result;
  for_each_symbol(expr, [&](const std::string& name) { result.insert(name); });
  return result;
}

}  // namespace isomer::te

namespace isomer {

/// What the size of a value's axis is called that data decide, or that is another in each iteration: "y.1?".
inline std::string size_by_data(std::string_view value, int64_t axis) {
  return std::string(value) + "." + std::to_string(axis) + "?";
}
/// The same of a loop's state: "s.step.0?".
inline std::string size_by_step(std::string_view state, int64_t axis) {
  return size_by_data(std::string(state) + ".step", axis);
}
/// Whether a size of this name may be 0; others are at least 1.
inline bool may_be_zero(std::string_view size) { return size.ends_with('?'); }
/// Says to te::bounds that a size is at least 0 or 1, as its name tells.
inline te::Interval range_of_size(const te::Expr& leaf) {
  const te::Symbol* symbol = te::as<te::Symbol>(leaf);
  if (!symbol) return {};
  return {may_be_zero(symbol->name) ? 0 : 1, std::nullopt};
}

template <class F>
Dim with_symbols(const Dim& dim, F&& replace) {
  return dim.is_constant() ? dim : Dim(te::with_symbols(dim.expr(), replace));
}
inline std::set<std::string> names(const Dim& dim) { return te::names(dim.expr()); }
/// Of a size that is a symbol by itself.
inline const std::string* only_name(const Dim& dim) {
  const te::Symbol* symbol = dim.is_constant() ? nullptr : te::as<te::Symbol>(dim.expr());
  return symbol ? &symbol->name : nullptr;
}

}  // namespace isomer
