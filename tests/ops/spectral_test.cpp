// The factors of Fourier transforms, to all digits: what transforms make of a single one among zeros.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "graph/infer.h"
#include "graph/interpret.h"
#include "graph/text.h"

namespace isomer::test {
namespace {

/// cos(2π turn / count), the angle brought into [0, π/4] in integers.
long double cosine(int64_t turn, int64_t count) {
  turn = std::min(turn % count, count - turn % count);
  const int64_t from_quarter = std::abs(4 * turn - count);
  const long double sign = 4 * turn > count ? -1 : 1, quarter = std::numbers::pi_v<long double> / 2;
  if (2 * from_quarter <= count)
    return sign * std::sin(quarter * static_cast<long double>(from_quarter) / static_cast<long double>(count));
  return sign * std::cos(quarter * static_cast<long double>(count - from_quarter) / static_cast<long double>(count));
}

TEST(Spectral, FactorsAreExactToTheirType) {
  for (const auto& [dtype, unit] : {std::pair("float64", 0x1p-52L), std::pair("float32", 0x1p-24L)})
    for (const int64_t count : {1, 2, 3, 4, 5, 8, 12, 60, 97, 360, 1000}) {
      SCOPED_TRACE(fmt::format("{} of {}", dtype, count));
      auto graph = parse_graph(
          fmt::format("opset 17\ngraph g(x: {0}[1,{1},1]) -> (y: {0}[1,{1},2]) {{ y = DFT(x) }}", dtype, count));
      ASSERT_TRUE(graph.ok()) << graph.error().message();
      ASSERT_TRUE(infer(*graph).ok());
      std::vector<double> impulse(count);
      impulse[1 % count] = 1;
      const te::Array x = te::Array::reals(parse_data_type(dtype), {1, count, 1}, impulse);
      const auto y = interpret(*graph, {&x, 1}, {.round_values = true});
      ASSERT_TRUE(y.ok()) << y.error().message();
      for (int64_t k = 0; k < count && count > 1; ++k) {
        const long double real = cosine(k, count), imaginary = cosine(4 * k + count, 4 * count);
        EXPECT_LE(std::abs((*y)[0].real(2 * k) - real), 2 * unit * std::abs(real)) << "output " << k;
        EXPECT_LE(std::abs((*y)[0].real(2 * k + 1) - imaginary), 2 * unit * std::abs(imaginary)) << "output " << k;
      }
    }
}

}  // namespace
}  // namespace isomer::test
