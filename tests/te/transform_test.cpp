#include <gtest/gtest.h>

#include <array>

#include "graph/te/print.h"
#include "te/random_expr.h"

namespace isomer::te {
namespace {

/// The spatial iterator that a leaf is.
const Var* spatial(const Expr& leaf) {
  const Var* var = as<Var>(leaf);
  return var && var->kind == VarKind::kSpatial ? var : nullptr;
}

TEST(Transform, substitutes_all_iterators_at_once) {
  Random random(3);
  int compared = 0;
  for (int i = 0; i < 5'000; ++i) {
    const Expr expr = test::random_index(random, 4);
    // Small ones, 0 and 1 among them: what then folds into one of its operands must not be replaced again.
    std::array<Expr, 3> images;
    for (Expr& image : images)
      image = random.chance(0.3) ? index(random.between(0, 1)) : test::random_index(random, random.chance(0.5) ? 0 : 2);
    const Expr substituted = transform(expr, [&](const Expr& leaf) {
      const Var* var = spatial(leaf);
      return var ? images[var->index] : Expr();
    });
    const test::Binding binding = test::random_binding(random);
    std::array<std::optional<int64_t>, 3> values;
    for (size_t k = 0; k < images.size(); ++k) values[k] = test::value_of(images[k], binding);
    if (!values[0] || !values[1] || !values[2]) continue;
    const auto expected = test::value_of(expr, [&](const Expr& leaf) {
      const Var* var = spatial(leaf);
      return var ? *values[var->index] : binding(leaf);
    });
    if (!expected) continue;
    ++compared;
    ASSERT_EQ(test::value_of(substituted, binding), expected)
        << print(expr) << "\nwith " << print(images[0]) << ", " << print(images[1]) << ", " << print(images[2])
        << "\nbecame " << print(substituted);
  }
  EXPECT_GT(compared, 3'000);
}

}  // namespace
}  // namespace isomer::te
