#include "verify/laws/check_law.h"

#include <numeric>

namespace isomer::verify {
namespace {

constexpr int kLawFailures = 8;  ///< of which the smallest is shown

int64_t elements_of(const LawInstance& instance) {
  return std::accumulate(instance.types.begin(), instance.types.end(), int64_t{0},
                         [](int64_t sum, const auto& type) { return sum + element_count(*type.second.shape).value(); });
}

}  // namespace

LawCheck check_law(const Law& law, std::string_view family, int trials, uint64_t seed, FloatClass float_class) {
  Random random(seed);
  LawCheck result;
  int failures = 0;
  for (int trial = 0; trial < trials && failures < kLawFailures; ++trial) {
    const auto instance = draw_instance(law, family, random);
    if (!instance) break;
    auto check = check_instance(*instance, random, float_class);
    if (!check) continue;
    ++result.instances;
    result.over_rationals += check->over_rationals ? 1 : 0;
    result.in_doubles += check->in_doubles ? 1 : 0;
    if (!check->counterexample) continue;
    ++failures;
    if (!result.counterexample || elements_of(*instance) < elements_of(result.counterexample->instance))
      result.counterexample = std::move(check->counterexample);
  }
  return result;
}

}  // namespace isomer::verify
