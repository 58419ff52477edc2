#include "graph/ops/winograd_matrices.h"

#include <array>

namespace isomer::ops {

using te::Expr;
using te::Number;

namespace {

/// A number where polynomials are evaluated, as a fraction, so that what is made of it are integers.
struct Point {
  int64_t above, below;
};
/// Besides infinity.
constexpr std::array<Point, kLargestTile - 1> kPoints = {{{0, 1}, {1, 1}, {-1, 1}, {2, 1}, {-2, 1}, {1, 2}, {-1, 2}}};

Point point(int64_t number) { return kPoints[static_cast<size_t>(number)]; }

/// The coefficients of the product of (below * x - above) over the first `count` points but `left_out`, the constant
/// one first.
std::vector<int64_t> product_of_points(int64_t count, int64_t left_out) {
  std::vector<int64_t> result = {1};
  for (int64_t k = 0; k < count; ++k) {
    if (k == left_out) continue;
    std::vector<int64_t> next(result.size() + 1, 0);
    for (size_t i = 0; i < result.size(); ++i) {
      next[i + 1] += point(k).below * result[i];
      next[i] -= point(k).above * result[i];
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

/// x^exponent at the point, times what makes it an integer for all exponents up to the degree.
int64_t power(Point x, int64_t exponent, int64_t degree) {
  return power(x.above, exponent) * power(x.below, degree - exponent);
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
    int64_t norm = is_infinity ? 1 : point(j).below;
    for (int64_t k = 0; k < a - 1; ++k)
      if (is_infinity)
        norm *= point(k).below;
      else if (k != j)
        norm *= point(j).above * point(k).below - point(k).above * point(j).below;
    std::vector<Number> row;
    for (int64_t k = 0; k < r; ++k)
      row.push_back(Number::fraction(is_infinity ? int64_t{k == r - 1} : power(point(j), k, r - 1), norm));
    rows.push_back(std::move(row));
  }
  return rows;
}

Matrix output_transform(int64_t m, int64_t a) {
  Matrix rows;
  for (int64_t i = 0; i < m; ++i) {
    std::vector<Number> row;
    for (int64_t j = 0; j < a; ++j) row.emplace_back(j == a - 1 ? int64_t{i == m - 1} : power(point(j), i, m - 1));
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

Tensor kronecker_product(const std::vector<Matrix>& matrices, DataType dtype, Dims shape, bool transposed) {
  size_t rows = 1, columns = 1;
  std::vector<double> values = {1};
  for (const Matrix& matrix : matrices) {
    const size_t more_rows = matrix.size(), more_columns = matrix[0].size();
    std::vector<double> next(values.size() * more_rows * more_columns);
    for (size_t i = 0; i < rows * more_rows; ++i)
      for (size_t k = 0; k < columns * more_columns; ++k)
        next[i * columns * more_columns + k] =
            values[i / more_rows * columns + k / more_columns] * matrix[i % more_rows][k % more_columns].to_double();
    values = std::move(next);
    rows *= more_rows;
    columns *= more_columns;
  }
  if (!transposed) return Tensor::from_doubles(dtype, std::move(shape), values);
  std::vector<double> turned(values.size());
  for (size_t i = 0; i < rows; ++i)
    for (size_t k = 0; k < columns; ++k) turned[k * rows + i] = values[i * columns + k];
  return Tensor::from_doubles(dtype, std::move(shape), turned);
}

}  // namespace isomer::ops
