// Products of all small sizes and steps against plain loops.
#include "tune/matrix_product.h"

#include <gtest/gtest.h>

#include <vector>

#include "util/random.h"

namespace isomer::tune::test {
namespace {

TEST(MatrixProduct, IsWhatLoopsGive) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const auto size = [&] { return static_cast<size_t>(random.between(1, 70)); };
    const size_t rows = size(), columns = size(), depth = size(), gap = random.below(3);
    const bool is_transposed = random.chance(0.5);
    const auto integers = [&](size_t count) {
      std::vector<float> result;
      for (size_t k = 0; k < count; ++k) result.push_back(static_cast<float>(random.between(-4, 4)));
      return result;
    };
    const std::vector<float> a = integers(rows * depth), b = integers(depth * (columns + gap));
    std::vector<float> c = integers(rows * (columns + gap)), expected = c;
    const MatrixView view = is_transposed ? MatrixView{a.data(), 1, rows} : MatrixView{a.data(), depth};
    for (size_t i = 0; i < rows; ++i)
      for (size_t j = 0; j < columns; ++j)
        for (size_t k = 0; k < depth; ++k)
          expected[i * (columns + gap) + j] += a[i * view.row + k * view.column] * b[k * (columns + gap) + j];
    add_product(rows, columns, depth, view, {b.data(), columns + gap}, c.data(), columns + gap);
    ASSERT_EQ(c, expected) << rows << " x " << columns << " x " << depth;  // what lies in gaps too
  }
}

}  // namespace
}  // namespace isomer::tune::test
