#include "tune/matrix_product.h"

#include <cstring>

namespace isomer::tune {
namespace {

struct Product {
  size_t rows, columns, depth;
  MatrixView a, b;
  float* c;
  size_t step;
};

/// Results of kRows rows and kVectors vectors of columns stay in registers.
template <int kLanes, int kRows, int kVectors>
[[gnu::always_inline]] inline void add_tile(const Product& p, size_t row, size_t column) {
  using Vector [[gnu::vector_size(kLanes * sizeof(float))]] = float;
  Vector sums[kRows][kVectors] = {};
  for (size_t k = 0; k < p.depth; ++k) {
    const float* const a = p.a.first + row * p.a.row + k * p.a.column;
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) {
      Vector b;
      std::memcpy(&b, p.b.first + k * p.b.row + column + v * kLanes, sizeof b);
#pragma GCC unroll 8
      for (size_t r = 0; r < kRows; ++r) sums[r][v] += a[r * p.a.row] * b;
    }
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < kRows; ++r)
#pragma GCC unroll 2
    for (size_t v = 0; v < kVectors; ++v) {
      float* const c = p.c + (row + r) * p.step + column + v * kLanes;
      Vector old;
      std::memcpy(&old, c, sizeof old);
      old += sums[r][v];
      std::memcpy(c, &old, sizeof old);
    }
}

template <int kLanes, int kRows, int kVectors>
[[gnu::always_inline]] inline void add_columns(const Product& p, size_t column) {
  size_t row = 0;
  for (; row + kRows <= p.rows; row += kRows) add_tile<kLanes, kRows, kVectors>(p, row, column);
  for (; row < p.rows; ++row) add_tile<kLanes, 1, kVectors>(p, row, column);
}

template <int kLanes, int kRows>
[[gnu::always_inline]] inline void add_all(const Product& p) {
  size_t column = 0;
  for (; column + 2 * kLanes <= p.columns; column += 2 * kLanes) add_columns<kLanes, kRows, 2>(p, column);
  for (; column + kLanes <= p.columns; column += kLanes) add_columns<kLanes, kRows, 1>(p, column);
  for (; column < p.columns; ++column) add_columns<1, kRows, 1>(p, column);
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] void add_by_avx512(const Product& product) { add_all<16, 8>(product); }
[[gnu::target("avx2,fma")]] void add_by_avx2(const Product& product) { add_all<8, 4>(product); }
#endif
void add_plainly(const Product& product) { add_all<4, 4>(product); }

using Add = void (*)(const Product& product);
Add widest() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return add_by_avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return add_by_avx2;
#endif
  return add_plainly;
}

}  // namespace

void add_product(size_t rows, size_t columns, size_t depth, MatrixView a, MatrixView b, float* c, size_t step) {
  static const Add add = widest();
  add({rows, columns, depth, a, b, c, step});
}

}  // namespace isomer::tune
