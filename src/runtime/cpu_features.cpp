#include "runtime/cpu_features.h"

#include <array>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace isomer::runtime {

#if defined(__x86_64__)
namespace {

enum Register { kEax, kEbx, kEcx, kEdx };
/// Registers that the operating system must save (bits of XCR0).
constexpr uint64_t kNone = 0, kYmm = 0x6, kZmm = 0xe6;

struct Feature {
  std::string_view name;
  uint32_t leaf, subleaf;
  Register place;
  int bit;
  uint64_t state;
};
/// Intel's manual, volume 2A, CPUID; AMD's, volume 3, appendix E.
constexpr Feature kFeatures[] = {
    {"sse2", 1, 0, kEdx, 26, kNone},
    {"sse3", 1, 0, kEcx, 0, kNone},
    {"pclmul", 1, 0, kEcx, 1, kNone},
    {"ssse3", 1, 0, kEcx, 9, kNone},
    {"cx16", 1, 0, kEcx, 13, kNone},
    {"sse4.1", 1, 0, kEcx, 19, kNone},
    {"sse4.2", 1, 0, kEcx, 20, kNone},
    {"movbe", 1, 0, kEcx, 22, kNone},
    {"popcnt", 1, 0, kEcx, 23, kNone},
    {"aes", 1, 0, kEcx, 25, kNone},
    {"avx", 1, 0, kEcx, 28, kYmm},
    {"fma", 1, 0, kEcx, 12, kYmm},
    {"f16c", 1, 0, kEcx, 29, kYmm},
    {"bmi", 7, 0, kEbx, 3, kNone},
    {"avx2", 7, 0, kEbx, 5, kYmm},
    {"bmi2", 7, 0, kEbx, 8, kNone},
    {"avx512f", 7, 0, kEbx, 16, kZmm},
    {"avx512dq", 7, 0, kEbx, 17, kZmm},
    {"avx512ifma", 7, 0, kEbx, 21, kZmm},
    {"clflushopt", 7, 0, kEbx, 23, kNone},
    {"avx512cd", 7, 0, kEbx, 28, kZmm},
    {"avx512bw", 7, 0, kEbx, 30, kZmm},
    {"avx512vl", 7, 0, kEbx, 31, kZmm},
    {"avx512vbmi", 7, 0, kEcx, 1, kZmm},
    {"avx512vbmi2", 7, 0, kEcx, 6, kZmm},
    {"gfni", 7, 0, kEcx, 8, kNone},
    {"vaes", 7, 0, kEcx, 9, kYmm},
    {"vpclmulqdq", 7, 0, kEcx, 10, kYmm},
    {"avx512vnni", 7, 0, kEcx, 11, kZmm},
    {"avx512bitalg", 7, 0, kEcx, 12, kZmm},
    {"avx512vpopcntdq", 7, 0, kEcx, 14, kZmm},
    {"avx512fp16", 7, 0, kEdx, 23, kZmm},
    {"avxvnni", 7, 1, kEax, 4, kYmm},
    {"avx512bf16", 7, 1, kEax, 5, kZmm},
    {"avxifma", 7, 1, kEax, 23, kYmm},
    {"avxvnniint8", 7, 1, kEdx, 4, kYmm},
    {"sahf", 0x80000001, 0, kEcx, 0, kNone},
    {"lzcnt", 0x80000001, 0, kEcx, 5, kNone},
    {"sse4a", 0x80000001, 0, kEcx, 6, kNone},
};

/// The state that the operating system saves; 0 where the instruction that tells is not enabled.
uint64_t saved_state() {
  std::array<uint32_t, 4> r{};
  if (!__get_cpuid(1, &r[0], &r[1], &r[2], &r[3]) || (r[kEcx] & (1U << 27)) == 0) return 0;
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t{high} << 32) | low;
}

bool is_present(const Feature& feature) {
  std::array<uint32_t, 4> r{};
  if (!__get_cpuid_count(feature.leaf, feature.subleaf, &r[0], &r[1], &r[2], &r[3])) return false;
  return ((r[feature.place] >> feature.bit) & 1) != 0 && (saved_state() & feature.state) == feature.state;
}

}  // namespace

bool has_cpu_feature(std::string_view name) {
  for (const Feature& feature : kFeatures)
    if (feature.name == name) return is_present(feature);
  return false;
}

#else

bool has_cpu_feature(std::string_view) { return false; }

#endif

std::optional<std::string> first_missing_feature(std::span<const std::string> names) {
  for (const std::string& name : names)
    if (!has_cpu_feature(name)) return name;
  return std::nullopt;
}

}  // namespace isomer::runtime
