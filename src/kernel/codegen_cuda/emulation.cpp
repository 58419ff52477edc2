#include <fmt/format.h>

#include "kernel/codegen_cuda.h"

namespace isomer::kernel {
namespace {

/// Accesses to memory are seen by what -fsanitize=thread makes a compiler call, where it is asked to.
constexpr std::string_view kKeywords = R"cuda(#include <math.h>
#include <string.h>

#include <utility>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(count)
#define __align__(bytes) __attribute__((aligned(bytes)))
// Blocks of threads run one after the other, each thread on a stack of its own.
#define __shared__ static

struct EmulatedIndex {
  unsigned x, y, z;
};
/// Of the thread that runs.
extern "C" EmulatedIndex isomer_emulated_thread, isomer_emulated_block;
#define threadIdx isomer_emulated_thread
#define blockIdx isomer_emulated_block

// Barriers and exchanges are told apart by where they stand in the text: of one call a compiler may make several.
extern "C" void isomer_emulated_barrier(int line);
extern "C" void isomer_emulated_atomic(const void* address, int bytes);
#define __syncthreads() isomer_emulated_barrier(__LINE__)

__attribute__((no_sanitize("thread"))) static inline int atomicMax(int* address, int value) {
  isomer_emulated_atomic(address, sizeof(int));
  const int before = *address;
  if (value > before) *address = value;
  return before;
}

template <class To, class From>
static inline To emulated_bits(From from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}
static inline float __int_as_float(int bits) { return emulated_bits<float>(bits); }
static inline float __uint_as_float(unsigned bits) { return emulated_bits<float>(bits); }
static inline unsigned __float_as_uint(float value) { return emulated_bits<unsigned>(value); }

// Copies that are done only when they are waited for: all groups but the last ones.
extern "C" void isomer_emulated_copy(void* to, const void* from, int bytes);
extern "C" void isomer_emulated_commit();
extern "C" void isomer_emulated_complete(int left);

// Gives what each of the 32 threads of the warp has, when all are there; the thread's own number among them.
extern "C" int isomer_emulated_exchange(int line, const void* own, void* all, int bytes);
struct EmulatedFragments {
  unsigned registers[6];  // four of the first operand, two of the second
};
// mma.m16n8k16 as the PTX ISA describes it: element (row, k) of the first operand lies with lane row % 8 * 4 + k % 8 / 2,
// element (k, column) of the second with lane column * 4 + k % 8 / 2.
template <class FromHalf>
static inline void emulated_mma_m16n8k16(float& c0, float& c1, float& c2, float& c3, EmulatedFragments own, FromHalf from_half,
                                int line) {
  EmulatedFragments all[32];
  const int lane = isomer_emulated_exchange(line, &own, all, sizeof own);
  float* const sums[4] = {&c0, &c1, &c2, &c3};
  for (int element = 0; element < 4; ++element) {
    const int row = lane / 4 + element / 2 * 8, column = lane % 4 * 2 + element % 2;
    for (int k = 0; k < 16; ++k) {
      const unsigned a = all[row % 8 * 4 + k % 8 / 2].registers[row / 8 + k / 8 * 2];
      const unsigned b = all[column * 4 + k % 8 / 2].registers[4 + k / 8];
      *sums[element] += from_half((unsigned short)(a >> k % 2 * 16)) * from_half((unsigned short)(b >> k % 2 * 16));
    }
  }
}

// cvt.rna.tf32.f32: to the nearest number with 10 bits behind the first, ties away from zero.
static inline unsigned emulated_tf32(float value) {
  const unsigned bits = __float_as_uint(value), magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0x7fffffffu;
  return (bits & 0x80000000u) | (magnitude == 0x7f800000u ? magnitude : (magnitude + 0x1000u) & ~0x1fffu);
}

// mma.m16n8k8 of tf32 as the PTX ISA describes it: registers a0 to a3 of lane l have rows l / 4, and 8 more in a1 and
// a3, of columns l % 4, and 4 more in a2 and a3; b0 and b1 have column l / 4, rows l % 4, and 4 more.
template <class FromBits>
static inline void emulated_mma_m16n8k8(float& c0, float& c1, float& c2, float& c3, EmulatedFragments own,
                                        FromBits from_bits, int line) {
  EmulatedFragments all[32];
  const int lane = isomer_emulated_exchange(line, &own, all, sizeof own);
  float* const sums[4] = {&c0, &c1, &c2, &c3};
  for (int element = 0; element < 4; ++element) {
    const int row = lane / 4 + (element >= 2 ? 8 : 0), column = lane % 4 * 2 + element % 2;
    for (int k = 0; k < 8; ++k) {
      const unsigned a = all[row % 8 * 4 + k % 4].registers[(row >= 8 ? 1 : 0) + (k >= 4 ? 2 : 0)];
      const unsigned b = all[column * 4 + k % 4].registers[k >= 4 ? 5 : 4];
      *sums[element] += from_bits(a) * from_bits(b);
    }
  }
}

// ldmatrix.x4 as the PTX ISA describes it.
static inline void emulated_matrices(unsigned& r0, unsigned& r1, unsigned& r2, unsigned& r3, const unsigned short* row,
                                     int line) {
  unsigned short own[8], all[32][8];
  for (int k = 0; k < 8; ++k) own[k] = row[k];
  const int lane = isomer_emulated_exchange(line, own, all, sizeof own);
  unsigned* const registers[4] = {&r0, &r1, &r2, &r3};
  for (int matrix = 0; matrix < 4; ++matrix) {
    const unsigned short* const halves = all[8 * matrix + lane / 4] + lane % 4 * 2;
    *registers[matrix] = unsigned(halves[0]) | unsigned(halves[1]) << 16;
  }
}

// The same of matrices of floats, with the elements rounded to tf32: a row of 8 halves is one of 4 floats.
static inline void emulated_matrices(unsigned& r0, unsigned& r1, unsigned& r2, unsigned& r3, const float* row,
                                     int line) {
  float own[4], all[32][4];
  for (int k = 0; k < 4; ++k) own[k] = row[k];
  const int lane = isomer_emulated_exchange(line, own, all, sizeof own);
  unsigned* const registers[4] = {&r0, &r1, &r2, &r3};
  for (int matrix = 0; matrix < 4; ++matrix) *registers[matrix] = emulated_tf32(all[8 * matrix + lane / 4][lane % 4]);
}

// A function's arguments as cudaLaunchKernel takes them: addresses of their values.
template <class... Arguments, size_t... I>
static void emulated_call(void (*function)(Arguments...), void** arguments, std::index_sequence<I...>) {
  function(*static_cast<Arguments*>(arguments[I])...);
}
template <class... Arguments>
static void emulated_call(void (*function)(Arguments...), void** arguments) {
  emulated_call(function, arguments, std::index_sequence_for<Arguments...>());
}
// Sizes of its parameters, to the first 0.
template <class... Arguments>
struct EmulatedSizes {
  int bytes[sizeof...(Arguments) + 1];
};
template <class... Arguments>
static constexpr EmulatedSizes<Arguments...> emulated_sizes(void (*)(Arguments...)) {
  return {{int(sizeof(Arguments))..., 0}};
}
#define ISOMER_EMULATED_ENTRY(name)                                                   \
  extern "C" void emulated_##name(void** arguments) { emulated_call(name, arguments); } \
  extern "C" const auto parameters_##name = emulated_sizes(name);
)cuda";

}  // namespace

std::string emulated_source(const std::string& text, const std::vector<std::string>& functions) {
  std::string source = fmt::format("{}\n{}\n{}", kKeywords, cuda_prelude(), text);
  for (const std::string& function : functions) source += fmt::format("ISOMER_EMULATED_ENTRY({})\n", function);
  return source;
}

}  // namespace isomer::kernel
