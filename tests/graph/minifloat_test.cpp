// Values of minifloats, as the tables of ONNX's specification have them.
#include "graph/minifloat.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/interpret.h"
#include "graph/text.h"

namespace isomer::test {
namespace {

struct Known {
  DataType dtype;
  int code;
  double value;
};

TEST(Minifloat, IsWhatItsTableSays) {
  const double infinity = INFINITY;
  const Known table[] = {
      {DataType::kFloat8E4M3FN, 0x7e, 448},
      {DataType::kFloat8E4M3FN, 0xfe, -448},
      {DataType::kFloat8E4M3FN, 0x38, 1},
      {DataType::kFloat8E4M3FN, 0x01, 0x1p-9},
      {DataType::kFloat8E4M3FN, 0x08, 0x1p-6},
      {DataType::kFloat8E4M3FNUZ, 0x7f, 240},
      {DataType::kFloat8E4M3FNUZ, 0x01, 0x1p-10},
      {DataType::kFloat8E4M3FNUZ, 0x08, 0x1p-7},
      {DataType::kFloat8E5M2, 0x7b, 57344},
      {DataType::kFloat8E5M2, 0x7c, infinity},
      {DataType::kFloat8E5M2, 0xfc, -infinity},
      {DataType::kFloat8E5M2, 0x01, 0x1p-16},
      {DataType::kFloat8E5M2, 0x04, 0x1p-14},
      {DataType::kFloat8E5M2FNUZ, 0x7f, 57344},
      {DataType::kFloat8E5M2FNUZ, 0x01, 0x1p-17},
      {DataType::kFloat8E5M2FNUZ, 0x04, 0x1p-15},
      {DataType::kFloat4E2M1, 0x7, 6},
      {DataType::kFloat4E2M1, 0x1, 0.5},
      {DataType::kFloat4E2M1, 0xb, -1.5},
      {DataType::kFloat8E8M0, 0, 0x1p-127},
      {DataType::kFloat8E8M0, 254, 0x1p127},
      {DataType::kFloat8E8M0, 127, 1},
  };
  for (const Known& known : table)
    EXPECT_EQ(decode_minifloat(known.dtype, known.code), known.value) << name(known.dtype) << " " << known.code;
  const std::pair<DataType, int> nans[] = {{DataType::kFloat8E4M3FN, 0x7f},   {DataType::kFloat8E4M3FN, 0xff},
                                           {DataType::kFloat8E4M3FNUZ, 0x80}, {DataType::kFloat8E5M2, 0x7d},
                                           {DataType::kFloat8E5M2, 0xff},     {DataType::kFloat8E5M2FNUZ, 0x80},
                                           {DataType::kFloat8E8M0, 0xff}};
  for (const auto& [dtype, code] : nans)
    EXPECT_TRUE(std::isnan(decode_minifloat(dtype, code))) << name(dtype) << " " << code;
  EXPECT_TRUE(std::signbit(decode_minifloat(DataType::kFloat8E4M3FN, 0x80)));
}

TEST(Minifloat, NearestIsItselfOfEveryValue) {
  for (const DataType dtype : {DataType::kFloat8E4M3FN, DataType::kFloat8E4M3FNUZ, DataType::kFloat8E5M2,
                               DataType::kFloat8E5M2FNUZ, DataType::kFloat4E2M1, DataType::kFloat8E8M0})
    for (int code = 0; code < 1 << value_bits(dtype); ++code) {
      const double value = decode_minifloat(dtype, code);
      if (!std::isfinite(value)) continue;
      EXPECT_EQ(decode_minifloat(dtype, nearest_minifloat(dtype, value)), value) << name(dtype) << " " << code;
      const int next = nearest_minifloat(dtype, value * 1.001);
      EXPECT_EQ(decode_minifloat(dtype, next), value) << name(dtype) << " " << code;
    }
}

/// As in the data of ONNX's cases, whose float4e2m1 has no NaN.
TEST(Minifloat, NanBecomesOneOrNegativeZero) {
  for (const DataType dtype : {DataType::kFloat8E4M3FN, DataType::kFloat8E4M3FNUZ, DataType::kFloat8E5M2,
                               DataType::kFloat8E5M2FNUZ, DataType::kFloat4E2M1, DataType::kFloat8E8M0})
    for (const DataType from : {DataType::kFloat32, DataType::kFloat16, DataType::kFloat64}) {
      SCOPED_TRACE(fmt::format("{} to {}", name(from), name(dtype)));
      const auto graph =
          parse_graph(fmt::format("opset 24\ngraph g(x: {}[2]) -> (y) {{\n  y = Cast(x) {{to = {}}}\n}}\n", name(from),
                                  static_cast<int>(dtype)));
      ASSERT_TRUE(graph.ok()) << graph.error().message();
      const auto x = te::Array::from(Tensor::from_doubles(from, {2}, std::vector<double>{NAN, 2}));
      const auto y = interpret(*graph, {&x, 1}, {});
      ASSERT_TRUE(y.ok()) << y.error().message();
      const Tensor found = te::to_tensor((*y)[0]);
      if (dtype == DataType::kFloat4E2M1)
        EXPECT_EQ(found.integer(0), 8);
      else
        EXPECT_TRUE(std::isnan(found.real(0)));
      EXPECT_EQ(found.real(1), 2);
    }
}

}  // namespace
}  // namespace isomer::test
