// Every dim in what is known of a value.
#pragma once

#include <type_traits>

#include "graph/graph.h"

namespace isomer {

/// A T, or a const one.
template <class U, class T>
concept IsOf = std::is_same_v<std::remove_const_t<U>, T>;

/// Calls `look` with each dim of the shape; with none where the rank is unknown.
template <IsOf<ValueType> Type, class F>
void for_each_dim(Type& type, F&& look) {
  if (type.shape)
    for (auto& dim : *type.shape) look(dim);
}

/// Calls `look` with each element that is known.
template <IsOf<std::optional<Content>> Elements, class F>
void for_each_dim(Elements& content, F&& look) {
  if (!content) return;
  for (auto& element : *content)
    if (element) look(*element);
}

}  // namespace isomer
