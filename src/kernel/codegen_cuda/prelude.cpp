#include "kernel/codegen_cuda.h"

namespace isomer::kernel {

std::string_view cuda_prelude() {
  return R"cuda(// Operations of tensor expressions (Isomer).
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

#define ISOMER_DEVICE static __device__ __forceinline__

// Shared memory of a block of threads that its launch asks for.
#ifdef __CUDA_ARCH__
#define ISOMER_ASKED_MEMORY(name, alignment, size) extern __shared__ __align__(alignment) u8 name[]
#else
#define ISOMER_ASKED_MEMORY(name, alignment, size) __shared__ __align__(alignment) u8 name[size]
#endif

namespace op {

// What goes wrong is reported, and the thread goes on.
ISOMER_DEVICE i64 checked(i64 index, i64 extent, int* outcome) {
  if (0 <= index && index < extent) return index;
  atomicMax(outcome, 1);
  return 0;
}
template <class T>
ISOMER_DEVICE T divisor(T b, int* outcome) {
  if (b != T(0)) return b;
  atomicMax(outcome, 2);
  return T(1);
}

// So many bytes at once, which begin at a multiple of them.
template <int bytes>
struct __align__(bytes) Vector {
  u32 words[bytes / 4];
};
template <int bytes>
ISOMER_DEVICE void move(void* to, const void* from) {
  *static_cast<Vector<bytes>*>(to) = *static_cast<const Vector<bytes>*>(from);
}

// `copy` does the same from an argument to shared memory while the thread goes on (cp.async of the PTX ISA). `commit`
// makes a group of the copies begun since; `complete` waits for all groups but the last `left`.
#ifdef __CUDACC_RTC__
ISOMER_DEVICE u32 shared_address(const void* place) { return u32(__cvta_generic_to_shared(place)); }
#elif defined(__CUDA_ARCH__)
ISOMER_DEVICE u32 shared_address(const void* place) {
  u32 address;
  asm("{ .reg .u64 place; cvta.to.shared.u64 place, %1; cvt.u32.u64 %0, place; }" : "=r"(address) : "l"(place));
  return address;
}
#endif
#ifdef __CUDA_ARCH__
template <int bytes>
ISOMER_DEVICE void copy(void* to, const void* from) {
  static_assert(bytes == 16, "what goes past the first-level cache");
  asm volatile("cp.async.cg.shared.global [%0], [%1], %2;"
               :
               : "r"(shared_address(to)), "l"(from), "n"(bytes)
               : "memory");
}
ISOMER_DEVICE void commit() { asm volatile("cp.async.commit_group;" : : : "memory"); }
template <int left>
ISOMER_DEVICE void complete() { asm volatile("cp.async.wait_group %0;" : : "n"(left) : "memory"); }
#else
template <int bytes>
ISOMER_DEVICE void copy(void* to, const void* from) { isomer_emulated_copy(to, from, bytes); }
ISOMER_DEVICE void commit() { isomer_emulated_commit(); }
template <int left>
ISOMER_DEVICE void complete() { isomer_emulated_complete(left); }
#endif

// Integers, which wrap around; arithmetic on bools is that of bytes, true what is not 0.
template <class T>
struct is_signed {
  static constexpr bool value = T(-1) < T(0);
};
template <class T>
ISOMER_DEVICE T neg(T a) { return T(u64(0) - u64(a)); }
template <class T>
ISOMER_DEVICE T add(T a, T b) { return T(u64(a) + u64(b)); }
template <class T>
ISOMER_DEVICE T sub(T a, T b) { return T(u64(a) - u64(b)); }
template <class T>
ISOMER_DEVICE T mul(T a, T b) { return T(u64(a) * u64(b)); }
template <class T>
ISOMER_DEVICE T abs(T a) { return is_signed<T>::value && a < T(0) ? neg(a) : a; }
template <class T>
ISOMER_DEVICE T div(T a, T b) {
  return is_signed<T>::value && b == T(-1) ? neg(a) : T(a / b);
}
template <class T>
ISOMER_DEVICE T trunc_mod(T a, T b) {
  return is_signed<T>::value && b == T(-1) ? T(0) : T(a % b);
}
template <class T>
ISOMER_DEVICE T floor_mod(T a, T b) {
  const T rest = trunc_mod(a, b);
  return rest != T(0) && (rest < T(0)) != (b < T(0)) ? add(rest, b) : rest;
}
template <class T>
ISOMER_DEVICE T floor_div(T a, T b) {
  const T rest = trunc_mod(a, b), quotient = div(a, b);
  return rest != T(0) && (rest < T(0)) != (b < T(0)) ? sub(quotient, T(1)) : quotient;
}
template <class T>
ISOMER_DEVICE T min(T a, T b) { return a < b ? a : b; }
template <class T>
ISOMER_DEVICE T max(T a, T b) { return b < a ? a : b; }
template <class T>
ISOMER_DEVICE T shift_left(T a, T b) {
  return u64(b) >= 8 * sizeof(T) ? T(0) : T(u64(a) << u64(b));
}
template <class T>
ISOMER_DEVICE T shift_right(T a, T b) {
  const u64 most = 8 * sizeof(T);
  if (u64(b) >= most) return is_signed<T>::value && a < T(0) ? T(-1) : T(0);
  return T(a >> b);
}
template <class T>
ISOMER_DEVICE T bit_not(T a) { return T(~u64(a)); }
ISOMER_DEVICE bool bit_not(bool a) { return !a; }
template <class T>
ISOMER_DEVICE T power(T base, T exponent) {
  if (is_signed<T>::value && exponent < T(0)) {
    if (base == T(1)) return T(1);
    return base == T(-1) ? ((u64(exponent) & 1) ? T(-1) : T(1)) : T(0);
  }
  u64 result = 1, square = u64(base);
  for (u64 rest = u64(exponent); rest != 0; rest >>= 1) {
    if (rest & 1) result *= square;
    square *= square;
  }
  return T(result);
}

// Reals.
#define ISOMER_REAL(T, f, bits)                                                              \
  ISOMER_DEVICE T neg(T a) { return -a; }                                                    \
  ISOMER_DEVICE T add(T a, T b) { return a + b; }                                            \
  ISOMER_DEVICE T sub(T a, T b) { return a - b; }                                            \
  ISOMER_DEVICE T mul(T a, T b) { return a * b; }                                            \
  ISOMER_DEVICE T div(T a, T b) { return a / b; }                                            \
  ISOMER_DEVICE T abs(T a) { return ::fabs##f(a); }                                          \
  ISOMER_DEVICE T floor(T a) { return ::floor##f(a); }                                       \
  ISOMER_DEVICE T ceil(T a) { return ::ceil##f(a); }                                         \
  ISOMER_DEVICE T round(T a) { return ::rint##f(a); }                                        \
  ISOMER_DEVICE T sqrt(T a) { return ::sqrt##f(a); }                                         \
  ISOMER_DEVICE T exp(T a) { return ::exp##f(a); }                                           \
  ISOMER_DEVICE T log(T a) { return ::log##f(a); }                                           \
  ISOMER_DEVICE T sin(T a) { return ::sin##f(a); }                                           \
  ISOMER_DEVICE T cos(T a) { return ::cos##f(a); }                                           \
  ISOMER_DEVICE T tan(T a) { return ::tan##f(a); }                                           \
  ISOMER_DEVICE T asin(T a) { return ::asin##f(a); }                                         \
  ISOMER_DEVICE T acos(T a) { return ::acos##f(a); }                                         \
  ISOMER_DEVICE T atan(T a) { return ::atan##f(a); }                                         \
  ISOMER_DEVICE T sinh(T a) { return ::sinh##f(a); }                                         \
  ISOMER_DEVICE T cosh(T a) { return ::cosh##f(a); }                                         \
  ISOMER_DEVICE T tanh(T a) { return ::tanh##f(a); }                                         \
  ISOMER_DEVICE T asinh(T a) { return ::asinh##f(a); }                                       \
  ISOMER_DEVICE T acosh(T a) { return ::acosh##f(a); }                                       \
  ISOMER_DEVICE T atanh(T a) { return ::atanh##f(a); }                                       \
  ISOMER_DEVICE T erf(T a) { return ::erf##f(a); }                                           \
  ISOMER_DEVICE bool is_nan(T a) { return a != a; }                                          \
  ISOMER_DEVICE T floor_div(T a, T b) { return ::floor##f(a / b); }                          \
  ISOMER_DEVICE T trunc_mod(T a, T b) { return ::fmod##f(a, b); }                            \
  ISOMER_DEVICE T floor_mod(T a, T b) {                                                      \
    const T rest = ::fmod##f(a, b);                                                          \
    if (rest == T(0)) return ::copysign##f(T(0), b);                                         \
    return (rest < T(0)) != (b < T(0)) ? rest + b : rest;                                    \
  }                                                                                          \
  ISOMER_DEVICE T power(T a, T b) {                                                          \
    return b == T(2) ? a * a : b == T(3) ? a * a * a : ::pow##f(a, b);                       \
  }                                                                                          \
  ISOMER_DEVICE T min(T a, T b) { return a != a || a < b ? a : b; }                          \
  ISOMER_DEVICE T max(T a, T b) { return a != a || b < a ? a : b; }
ISOMER_REAL(float, f, 32)
ISOMER_REAL(double, , 64)
#undef ISOMER_REAL

// float16 and bfloat16 are floats in registers.
ISOMER_DEVICE u32 bits_of(float a) { return __float_as_uint(a); }
ISOMER_DEVICE float float_of(u32 bits) { return __uint_as_float(bits); }

// For a result that is rounded to a half: within 2^-17 of itself (ex2.approx of the PTX ISA). What a float has no
// normal number for is 0 as float16.
#ifdef __CUDA_ARCH__
ISOMER_DEVICE float exp_of_f16(float a) {
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(a * 1.44269504088896341f));
  return result;
}
ISOMER_DEVICE float exp_of_bf16(float a) {
  float result;
  asm("ex2.approx.f32 %0, %1;" : "=f"(result) : "f"(a * 1.44269504088896341f));
  return result;
}
#else
ISOMER_DEVICE float exp_of_f16(float a) { return ::expf(a); }
ISOMER_DEVICE float exp_of_bf16(float a) { return ::expf(a); }
#endif

// What the lane of the warp has whose number differs in these bits (shfl.sync.bfly of the PTX ISA).
#ifdef __CUDA_ARCH__
ISOMER_DEVICE u32 across(u32 value, int apart) {
  u32 other;
  asm volatile("shfl.sync.bfly.b32 %0, %1, %2, 31, -1;" : "=r"(other) : "r"(value), "r"(apart));
  return other;
}
ISOMER_DEVICE u64 across(u64 value, int apart) {
  return u64(across(u32(value >> 32), apart)) << 32 | across(u32(value), apart);
}
ISOMER_DEVICE float across(float value, int apart) { return float_of(across(bits_of(value), apart)); }
ISOMER_DEVICE double across(double value, int apart) {
  return __longlong_as_double(i64(across(u64(__double_as_longlong(value)), apart)));
}
ISOMER_DEVICE bool across(bool value, int apart) { return across(u32(value), apart) != 0; }
ISOMER_DEVICE i64 across(i64 value, int apart) { return i64(across(u64(value), apart)); }
template <class T>
ISOMER_DEVICE T across(T value, int apart) { return T(across(u32(value), apart)); }
#else
template <class T>
ISOMER_DEVICE T across(T value, int apart, int line = __builtin_LINE()) {
  T all[32];
  const int lane = isomer_emulated_exchange(line, &value, all, sizeof value);
  return all[lane ^ apart];
}
#endif
#ifdef __CUDACC_RTC__
// Functions of libdevice, which NVRTC brings: it sees through them, and loads and stores become vectors.
extern "C" __device__ float __nv_half2float(short);
extern "C" __device__ short __nv_float2half_rn(float);
ISOMER_DEVICE float from_f16(u16 stored) { return __nv_half2float(short(stored)); }
ISOMER_DEVICE u16 to_f16(float value) { return u16(__nv_float2half_rn(value)); }
#elif defined(__CUDA_ARCH__)
ISOMER_DEVICE float from_f16(u16 stored) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(stored));
  return value;
}
ISOMER_DEVICE u16 to_f16(float value) {
  u16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result) : "f"(value));
  return result;
}
#else
ISOMER_DEVICE float from_f16(u16 stored) {
  const u32 sign = u32(stored & 0x8000u) << 16, magnitude = stored & 0x7fffu;
  if (magnitude < 0x0400u) return float_of(bits_of(float(magnitude) * 5.9604644775390625e-8f) | sign);
  return float_of((magnitude << 13) + (magnitude >= 0x7c00u ? 0x70000000u : 0x38000000u) | sign);
}
ISOMER_DEVICE u16 to_f16(float value) {
  const u32 bits = bits_of(value), sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  u32 result = (magnitude + 0xfffu - 0x38000000u + ((magnitude >> 13) & 1u)) >> 13;
  if (magnitude < 0x38800000u) result = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;
  if (magnitude >= 0x477ff000u) result = 0x7c00u;
  if (magnitude > 0x7f800000u) result = 0x7e00u;
  return u16(result | sign);
}
#endif
#ifdef __CUDA_ARCH__
// Two at once is what the hardware does fast.
ISOMER_DEVICE u32 to_bf16(float first, float second) {
  u32 both;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
  return both;
}
ISOMER_DEVICE u16 to_bf16(float value) { return u16(to_bf16(value, 0.0f)); }
#else
ISOMER_DEVICE u16 to_bf16(float value) {
  const u32 bits = bits_of(value);
  return u16((value != value ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
ISOMER_DEVICE u32 to_bf16(float first, float second) { return to_bf16(first) | u32(to_bf16(second)) << 16; }
#endif
ISOMER_DEVICE float from_bf16(u16 stored) { return float_of(u32(stored) << 16); }
// Of halves that lie by two in words.
ISOMER_DEVICE u16 half_of(const u32* words, int number) { return u16(words[number / 2] >> 16 * (number % 2)); }
ISOMER_DEVICE float bf16_of(const u32* words, int number) {
  return float_of(number % 2 ? words[number / 2] & 0xffff0000u : words[number / 2] << 16);
}
template <int bytes>
ISOMER_DEVICE void move_to_bf16(u16* to, const float* from) {
  __align__(bytes) u32 words[bytes / 4];
#pragma unroll
  for (int k = 0; k < bytes / 4; ++k) words[k] = to_bf16(from[2 * k], from[2 * k + 1]);
  move<bytes>(to, words);
}
// Of a float that is a bfloat16.
ISOMER_DEVICE u16 upper_half(float value) { return u16(bits_of(value) >> 16); }

// The place of an element in memory of which the pieces of 2^bits lie in other places of their row from line to line, of
// 8 pieces.
template <int mask, int bits, class T>
ISOMER_DEVICE T swizzled(T place) { return place ^ (((place >> (bits + 3)) & T(mask)) << bits); }

// Halves of a register, of two steps of a product.
ISOMER_DEVICE u32 pair(u16 first, u16 second) { return u32(first) | u32(second) << 16; }
#ifdef __CUDA_ARCH__
ISOMER_DEVICE u32 pair(const u16* both) { return *reinterpret_cast<const u32*>(both); }
// Rounded to 11 significant bits, ties away from zero; what tensor cores read of it.
ISOMER_DEVICE u32 tf32(float value) {
  u32 bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(value));
  return bits;
}
// Four matrices of 8 by 8 halves (ldmatrix of the PTX ISA): each lane gives a row, lanes 0 to 7 those of the first
// matrix, which begins `offset` halves behind `row`. Lane 4 * g + t gets columns 2 * t and 2 * t + 1 of row g of each.
template <int offset>
ISOMER_DEVICE void load_matrices(u32& r0, u32& r1, u32& r2, u32& r3, const u16* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4 + %5];"
               : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
               : "r"(shared_address(row)), "n"(2 * offset)
               : "memory");
}
// The same of 8 by 4 floats, of which lane 4 * g + t gets column t of row g.
template <int offset>
ISOMER_DEVICE void load_matrices(u32& r0, u32& r1, u32& r2, u32& r3, const float* row) {
  load_matrices<2 * offset>(r0, r1, r2, r3, reinterpret_cast<const u16*>(row));
  r0 = tf32(float_of(r0));
  r1 = tf32(float_of(r1));
  r2 = tf32(float_of(r2));
  r3 = tf32(float_of(r3));
}
// Adds to sums of the warp the product of what its lanes have.
#define ISOMER_MMA(type, shape)                                                                               \
  ISOMER_DEVICE void mma_##type(float& c0, float& c1, float& c2, float& c3, u32 a0, u32 a1, u32 a2, u32 a3,   \
                                u32 b0, u32 b1) {                                                             \
    asm volatile(                                                                                             \
        "mma.sync.aligned." #shape ".row.col.f32." #type "." #type ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "      \
        "{%8,%9}, {%0,%1,%2,%3};"                                                                             \
        : "+f"(c0), "+f"(c1), "+f"(c2), "+f"(c3)                                                              \
        : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));                                              \
  }
#else
ISOMER_DEVICE u32 pair(const u16* both) { return pair(both[0], both[1]); }
ISOMER_DEVICE u32 tf32(float value) { return emulated_tf32(value); }
template <int offset>
ISOMER_DEVICE void load_matrices(u32& r0, u32& r1, u32& r2, u32& r3, const u16* row, int line = __builtin_LINE()) {
  emulated_matrices(r0, r1, r2, r3, row + offset, line);
}
template <int offset>
ISOMER_DEVICE void load_matrices(u32& r0, u32& r1, u32& r2, u32& r3, const float* row, int line = __builtin_LINE()) {
  emulated_matrices(r0, r1, r2, r3, row + offset, line);
}
#define ISOMER_MMA(type, shape)                                                                               \
  ISOMER_DEVICE void mma_##type(float& c0, float& c1, float& c2, float& c3, u32 a0, u32 a1, u32 a2, u32 a3,   \
                                u32 b0, u32 b1, int line = __builtin_LINE()) {                                \
    emulated_mma_##shape(c0, c1, c2, c3, {a0, a1, a2, a3, b0, b1}, from_##type, line);                        \
  }
#endif
ISOMER_DEVICE float from_tf32(u32 bits) { return float_of(bits); }
ISOMER_MMA(f16, m16n8k16)
ISOMER_MMA(bf16, m16n8k16)
ISOMER_MMA(tf32, m16n8k8)
#undef ISOMER_MMA

// To odd: rounding the result to a narrower type is rounding the double to it.
ISOMER_DEVICE float to_odd(double value) {
  const float nearest = float(value);
  const double back = nearest;
  if (back == value || value != value) return nearest;
  const u32 bits = bits_of(nearest) - (::fabs(back) > ::fabs(value) ? 1u : 0u);
  return float_of(bits | 1u);
}
ISOMER_DEVICE float round_f16(float value) { return from_f16(to_f16(value)); }
ISOMER_DEVICE float round_f16(double value) { return round_f16(to_odd(value)); }
ISOMER_DEVICE float round_bf16(float value) { return from_bf16(to_bf16(value)); }
ISOMER_DEVICE float round_bf16(double value) { return round_bf16(to_odd(value)); }

// Truncation of reals; what is out of range gives the least int32 or int64, of which narrower types take the low bits.
template <class T, class R>
ISOMER_DEVICE T truncated(R value) {
  if (sizeof(T) < 4 || (sizeof(T) == 4 && is_signed<T>::value)) {
    const bool is_inside = value > R(sizeof(R) == 8 ? -2147483649.0 : -2147483904.0) && value < R(2147483648.0);
    return T(is_inside ? i32(value) : i32(-2147483647 - 1));
  }
  const R limit = R(9223372036854775808.0);
  const i64 least = -9223372036854775807ll - 1;
  if (!is_signed<T>::value && sizeof(T) == 8 && value >= limit)
    return T(value < 2 * limit ? u64(i64(value - limit)) + 0x8000000000000000ull : 0ull);
  return T(value >= -limit && value < limit ? i64(value) : least);
}

}  // namespace op
)cuda";
}

}  // namespace isomer::kernel
