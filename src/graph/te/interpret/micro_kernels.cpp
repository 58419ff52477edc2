#include "graph/te/interpret/micro_kernels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "graph/te/interpret/strip.h"

// The loops over a tile's rows and vectors must be unrolled for the tile to live in registers.
#if defined(__clang__)
#define ISOMER_UNROLL _Pragma("unroll")
#else
#define ISOMER_UNROLL _Pragma("GCC unroll 8")
#endif

namespace isomer::te::interpreter {
namespace {

constexpr int kBaseRows = 4, kBaseColumns = 4;
void run_base(int64_t depth, const double* a, const double* b, double* tile) {
  double sums[kBaseRows][kBaseColumns] = {};
  for (int64_t k = 0; k < depth; ++k, a += kBaseRows, b += kBaseColumns)
    for (int i = 0; i < kBaseRows; ++i)
      for (int j = 0; j < kBaseColumns; ++j) sums[i][j] += a[i] * b[j];
  for (int i = 0; i < kBaseRows; ++i)
    for (int j = 0; j < kBaseColumns; ++j) tile[i * kBaseColumns + j] = sums[i][j];
}
constexpr MicroKernel kBase = {kBaseRows, kBaseColumns, run_base};

template <bool native, bool b_varies>
void multiply_add_base(const Instruction& i, Frame& f) {
  auto* d = static_cast<double*>(f.at[i.dst]);
  const auto* b = static_cast<const double*>(f.at[i.b]);
  const double b0 = b[0];
  const int64_t n = f.lanes;
  typedef float __attribute__((aligned(1), may_alias)) Float;
  if constexpr (native) {
    const auto* a = static_cast<const Float*>(f.buffers[i.buffer]) + f.slots[i.slot];
    for (int64_t l = 0; l < n; ++l) d[l] += a[l] * (b_varies ? b[l] : b0);
  } else {
    const auto* a = static_cast<const double*>(f.at[i.a]);
    for (int64_t l = 0; l < n; ++l) d[l] += a[l] * (b_varies ? b[l] : b0);
  }
}

#if defined(__x86_64__)
#define ISOMER_AVX2 __attribute__((target("avx2,fma")))
#define ISOMER_AVX512 __attribute__((target("avx512f,avx2,fma")))

constexpr int kAvx2Rows = 4, kAvx2Vectors = 3;
ISOMER_AVX2 void run_avx2(int64_t depth, const double* a, const double* b, double* tile) {
  __m256d sums[kAvx2Rows][kAvx2Vectors];
  ISOMER_UNROLL for (int i = 0; i < kAvx2Rows; ++i) ISOMER_UNROLL for (int j = 0; j < kAvx2Vectors; ++j) sums[i][j] =
      _mm256_setzero_pd();
  for (int64_t k = 0; k < depth; ++k, a += kAvx2Rows, b += 4 * kAvx2Vectors) {
    __m256d columns[kAvx2Vectors];
    ISOMER_UNROLL for (int j = 0; j < kAvx2Vectors; ++j) columns[j] = _mm256_load_pd(b + 4 * j);
    ISOMER_UNROLL for (int i = 0; i < kAvx2Rows; ++i) {
      const __m256d row = _mm256_broadcast_sd(a + i);
      ISOMER_UNROLL for (int j = 0; j < kAvx2Vectors; ++j) sums[i][j] = _mm256_fmadd_pd(row, columns[j], sums[i][j]);
    }
  }
  ISOMER_UNROLL for (int i = 0; i < kAvx2Rows; ++i) ISOMER_UNROLL for (int j = 0; j < kAvx2Vectors; ++j)
      _mm256_store_pd(tile + (i * kAvx2Vectors + j) * 4, sums[i][j]);
}
constexpr MicroKernel kAvx2 = {kAvx2Rows, 4 * kAvx2Vectors, run_avx2};

constexpr int kAvx512Rows = 8, kAvx512Vectors = 3;
ISOMER_AVX512 void run_avx512(int64_t depth, const double* a, const double* b, double* tile) {
  __m512d sums[kAvx512Rows][kAvx512Vectors];
  ISOMER_UNROLL for (int i = 0; i < kAvx512Rows; ++i) ISOMER_UNROLL for (int j = 0; j < kAvx512Vectors; ++j)
      sums[i][j] = _mm512_setzero_pd();
  for (int64_t k = 0; k < depth; ++k, a += kAvx512Rows, b += 8 * kAvx512Vectors) {
    __m512d columns[kAvx512Vectors];
    ISOMER_UNROLL for (int j = 0; j < kAvx512Vectors; ++j) columns[j] = _mm512_load_pd(b + 8 * j);
    ISOMER_UNROLL for (int i = 0; i < kAvx512Rows; ++i) {
      const __m512d row = _mm512_set1_pd(a[i]);
      ISOMER_UNROLL for (int j = 0; j < kAvx512Vectors; ++j) sums[i][j] = _mm512_fmadd_pd(row, columns[j], sums[i][j]);
    }
  }
  ISOMER_UNROLL for (int i = 0; i < kAvx512Rows; ++i) ISOMER_UNROLL for (int j = 0; j < kAvx512Vectors; ++j)
      _mm512_store_pd(tile + (i * kAvx512Vectors + j) * 8, sums[i][j]);
}
constexpr MicroKernel kAvx512 = {kAvx512Rows, 8 * kAvx512Vectors, run_avx512};

template <bool native, bool b_varies>
ISOMER_AVX2 void multiply_add_avx2(const Instruction& i, Frame& f) {
  auto* d = static_cast<double*>(f.at[i.dst]);
  const auto* b = static_cast<const double*>(f.at[i.b]);
  const double b0 = b[0];
  const __m256d b_all = _mm256_set1_pd(b0);
  const int64_t n = f.lanes;
  typedef float __attribute__((aligned(1), may_alias)) Float;
  const auto* narrow = native ? static_cast<const Float*>(f.buffers[i.buffer]) + f.slots[i.slot] : nullptr;
  const auto* wide = native ? nullptr : static_cast<const double*>(f.at[i.a]);
  int64_t l = 0;
  for (; l + 4 <= n; l += 4) {
    __m256d a;
    if constexpr (native)
      a = _mm256_cvtps_pd(_mm_loadu_ps(reinterpret_cast<const float*>(narrow + l)));
    else
      a = _mm256_loadu_pd(wide + l);
    const __m256d factor = b_varies ? _mm256_loadu_pd(b + l) : b_all;
    _mm256_storeu_pd(d + l, _mm256_fmadd_pd(a, factor, _mm256_loadu_pd(d + l)));
  }
  for (; l < n; ++l)
    d[l] = __builtin_fma(native ? static_cast<double>(narrow[l]) : wide[l], b_varies ? b[l] : b0, d[l]);
}

/// Whether AVX2 and FMA can be used.
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() { return __builtin_cpu_supports("avx512f"); }
#endif

}  // namespace

#if defined(__x86_64__)
const MicroKernel& micro_kernel() { return has_avx512() && has_avx2() ? kAvx512 : has_avx2() ? kAvx2 : kBase; }
#else
const MicroKernel& micro_kernel() { return kBase; }
#endif

namespace kernels {

Run multiply_add(bool native, bool b_varies) {
#if defined(__x86_64__)
  if (has_avx2()) {
    if (native) return b_varies ? multiply_add_avx2<true, true> : multiply_add_avx2<true, false>;
    return b_varies ? multiply_add_avx2<false, true> : multiply_add_avx2<false, false>;
  }
#endif
  if (native) return b_varies ? multiply_add_base<true, true> : multiply_add_base<true, false>;
  return b_varies ? multiply_add_base<false, true> : multiply_add_base<false, false>;
}

}  // namespace kernels
}  // namespace isomer::te::interpreter
