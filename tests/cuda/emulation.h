// What CUDA's keywords and built-in names mean on a CPU: put in front of the code of kernels, which a C++ compiler then
// makes a library of that `Emulator` (emulator.h) runs. Accesses to memory are seen by what -fsanitize=thread makes the
// compiler call.
#include <math.h>
#include <string.h>

#include <utility>

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(count)
// Blocks of threads run one after the other, each thread on a stack of its own.
#define __shared__ static

struct EmulatedIndex {
  unsigned x, y, z;
};
/// Of the thread that runs.
extern "C" EmulatedIndex isomer_emulated_thread, isomer_emulated_block;
#define threadIdx isomer_emulated_thread
#define blockIdx isomer_emulated_block

extern "C" void isomer_emulated_barrier();
extern "C" void isomer_emulated_atomic(const void* address, int bytes);
#define __syncthreads isomer_emulated_barrier  // told apart by where they are called

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

// A function's arguments as cudaLaunchKernel takes them: addresses of their values.
template <class... Arguments, size_t... I>
static void emulated_call(void (*function)(Arguments...), void** arguments, std::index_sequence<I...>) {
  function(*static_cast<Arguments*>(arguments[I])...);
}
template <class... Arguments>
static void emulated_call(void (*function)(Arguments...), void** arguments) {
  emulated_call(function, arguments, std::index_sequence_for<Arguments...>());
}
#define ISOMER_EMULATED_ENTRY(name) \
  extern "C" void emulated_##name(void** arguments) { emulated_call(name, arguments); }
