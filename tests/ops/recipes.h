// What makes sense for an operator, where its row's schema doesn't say.
#pragma once

#include <map>
#include <string_view>

#include "ops/instance.h"

namespace isomer::test {

using Recipe = void (*)(Maker&);

Recipe recipe_for(const OpDef& op);

// The families of recipes; each adds its operators to the table.
using Recipes = std::map<std::string_view, Recipe>;
void add_pointwise_recipes(Recipes& recipes);
void add_movement_recipes(Recipes& recipes);
void add_window_recipes(Recipes& recipes);
void add_product_recipes(Recipes& recipes);
void add_selection_recipes(Recipes& recipes);
void add_attention_recipes(Recipes& recipes);
void add_contrib_recipes(Recipes& recipes);
void add_control_recipes(Recipes& recipes);

/// A shape that broadcasts to `dims`.
Dims broadcastable(Maker& maker, const Dims& dims);

}  // namespace isomer::test
