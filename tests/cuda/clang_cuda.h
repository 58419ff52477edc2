// What clang needs to read the code of kernels as CUDA without CUDA's own headers: keywords, indices, the mathematical
// functions by their names. Types and address spaces are checked then, for one target each.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))

struct ClangIndex {
  unsigned x, y, z;
};
static __device__ inline ClangIndex clang_thread() {
  return {static_cast<unsigned>(__nvvm_read_ptx_sreg_tid_x()), static_cast<unsigned>(__nvvm_read_ptx_sreg_tid_y()),
          static_cast<unsigned>(__nvvm_read_ptx_sreg_tid_z())};
}
static __device__ inline ClangIndex clang_block() {
  return {static_cast<unsigned>(__nvvm_read_ptx_sreg_ctaid_x()), static_cast<unsigned>(__nvvm_read_ptx_sreg_ctaid_y()),
          static_cast<unsigned>(__nvvm_read_ptx_sreg_ctaid_z())};
}
#define threadIdx clang_thread()
#define blockIdx clang_block()

static __device__ inline int atomicMax(int* address, int value) { return __nvvm_atom_max_gen_i(address, value); }
static __device__ inline float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
static __device__ inline float __uint_as_float(unsigned bits) { return __builtin_bit_cast(float, bits); }
static __device__ inline unsigned __float_as_uint(float value) { return __builtin_bit_cast(unsigned, value); }
static __device__ inline double __longlong_as_double(long long bits) { return __builtin_bit_cast(double, bits); }
static __device__ inline long long __double_as_longlong(double value) { return __builtin_bit_cast(long long, value); }

#define CLANG_UNARY(name)                              \
  extern "C" __device__ float name##f(float) noexcept; \
  extern "C" __device__ double name(double) noexcept;
CLANG_UNARY(fabs)
CLANG_UNARY(floor)
CLANG_UNARY(ceil)
CLANG_UNARY(rint)
CLANG_UNARY(sqrt)
CLANG_UNARY(exp)
CLANG_UNARY(log)
CLANG_UNARY(sin)
CLANG_UNARY(cos)
CLANG_UNARY(tan)
CLANG_UNARY(asin)
CLANG_UNARY(acos)
CLANG_UNARY(atan)
CLANG_UNARY(sinh)
CLANG_UNARY(cosh)
CLANG_UNARY(tanh)
CLANG_UNARY(asinh)
CLANG_UNARY(acosh)
CLANG_UNARY(atanh)
CLANG_UNARY(erf)
#undef CLANG_UNARY
#define CLANG_BINARY(name)                                    \
  extern "C" __device__ float name##f(float, float) noexcept; \
  extern "C" __device__ double name(double, double) noexcept;
CLANG_BINARY(fmod)
CLANG_BINARY(pow)
CLANG_BINARY(copysign)
#undef CLANG_BINARY
