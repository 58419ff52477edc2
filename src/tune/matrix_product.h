// Products of small matrices of float, on one thread, by the widest vectors that this machine has.
// Test: tests/tune/matrix_product_test.cpp
#pragma once

#include <cstddef>

namespace isomer::tune {

/// Element (i, j) lies at first + i * row + j * column.
struct MatrixView {
  const float* first;
  size_t row, column = 1;
};

/// c[i, j] += sum over k < depth of a[i, k] * b[k, j], for all i < rows, j < columns; rows of c lie `step` apart, those
/// of b without gaps in them (column 1).
void add_product(size_t rows, size_t columns, size_t depth, MatrixView a, MatrixView b, float* c, size_t step);

}  // namespace isomer::tune
