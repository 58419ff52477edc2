#include "graph/ops/winograd_matrices.h"

#include <array>

namespace isomer::ops {

using te::Expr;
using te::Number;

namespace {

/// Where polynomials are evaluated, but for infinity.
constexpr std::array<int64_t, kLargestTile - 1> kPoints = {0, 1, -1, 2, -2};

/// The coefficients of the product of (x - p) over the first `count` points but `left_out`, the constant one first.
std::vector<int64_t> product_of_points(int64_t count, int64_t left_out) {
  std::vector<int64_t> result = {1};
  for (int64_t k = 0; k < count; ++k) {
    if (k == left_out) continue;
    std::vector<int64_t> next(result.size() + 1, 0);
    for (size_t i = 0; i < result.size(); ++i) {
      next[i + 1] += result[i];
      next[i] -= kPoints[static_cast<size_t>(k)] * result[i];
    }
    result = std::move(next);
  }
  return result;
}

int64_t power(int64_t base, int64_t exponent) {
  int64_t result = 1;
  for (; exponent > 0; --exponent) result *= base;
  return result;
}

}  // namespace

Matrix input_transform(int64_t a) {
  Matrix rows;
  for (int64_t j = 0; j < a; ++j) {
    std::vector<Number> row;
    for (const int64_t coefficient : product_of_points(a - 1, j)) row.emplace_back(coefficient);
    row.resize(static_cast<size_t>(a), Number(0));
    rows.push_back(std::move(row));
  }
  return rows;
}

Matrix kernel_transform(int64_t a, int64_t r) {
  Matrix rows;
  for (int64_t j = 0; j < a; ++j) {
    const bool is_infinity = j == a - 1;
    int64_t norm = 1;
    for (int64_t k = 0; k < a - 1 && !is_infinity; ++k)
      norm *= k == j ? 1 : kPoints[static_cast<size_t>(j)] - kPoints[static_cast<size_t>(k)];
    std::vector<Number> row;
    for (int64_t k = 0; k < r; ++k)
      row.push_back(is_infinity ? Number(k == r - 1 ? 1 : 0)
                                : Number::fraction(power(kPoints[static_cast<size_t>(j)], k), norm));
    rows.push_back(std::move(row));
  }
  return rows;
}

Matrix output_transform(int64_t m, int64_t a) {
  Matrix rows;
  for (int64_t i = 0; i < m; ++i) {
    std::vector<Number> row;
    for (int64_t j = 0; j < a; ++j)
      row.emplace_back(j == a - 1 ? int64_t{i == m - 1} : power(kPoints[static_cast<size_t>(j)], i));
    rows.push_back(std::move(row));
  }
  return rows;
}

Expr transformed(const Matrix& matrix, const Expr& which, const std::function<Expr(int64_t)>& element) {
  Expr result;
  for (auto row = static_cast<int64_t>(matrix.size()) - 1; row >= 0; --row) {
    Expr sum;
    const std::vector<Number>& factors = matrix[static_cast<size_t>(row)];
    for (size_t k = 0; k < factors.size(); ++k) {
      if (factors[k].equals(0)) continue;
      const Expr x = element(static_cast<int64_t>(k));
      if (!sum) {
        sum = factors[k].equals(1) ? x : x * factors[k];
      } else if (factors[k].equals(1) || factors[k].equals(-1)) {
        sum = factors[k].equals(1) ? sum + x : sum - x;
      } else {
        sum = sum + x * factors[k];
      }
    }
    result = result ? te::select(te::equal(which, te::index(row)), sum, result) : sum;
  }
  return result;
}

Tensor kronecker_square(const Matrix& matrix, DataType dtype, Dims shape, bool transposed) {
  const size_t rows = matrix.size(), columns = matrix[0].size();
  std::vector<double> values(rows * rows * columns * columns);
  for (size_t i = 0; i < rows * rows; ++i)
    for (size_t k = 0; k < columns * columns; ++k)
      values[transposed ? k * rows * rows + i : i * columns * columns + k] =
          matrix[i / rows][k / columns].to_double() * matrix[i % rows][k % columns].to_double();
  return Tensor::from_doubles(dtype, std::move(shape), values);
}

}  // namespace isomer::ops
