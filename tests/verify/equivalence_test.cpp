// What a comparison calls a difference, and what it leaves to rounding.
#include "verify/check/equivalence.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <numeric>

#include "graph/interpret.h"
#include "graph/text.h"
#include "support/long_run.h"
#include "support/quantized_pair.h"
#include "util/resident.h"
#include "verify/check/check.h"
#include "verify/check/places.h"
#include "verify/check/stage_sizes.h"

namespace isomer::test {
namespace {

struct Model {
  std::string name;
  std::string text;
  bool is_saturating = false;  ///< rounding decides much of it
};

void PrintTo(const Model& model, std::ostream* stream) { *stream << model.name; }

/// Something that rounding or an error of a thousandth may decide, behind a product with constant weights.
Model behind_product(std::string name, std::string_view outputs, std::string_view rest, bool is_saturating = false) {
  return {std::move(name),
          fmt::format(R"(opset 17
graph g(x: float32[1024,24]) -> ({}) {{
  w: float32[24,40] = random 3
  zero: float32[] = {{0}}
  one: float32[] = {{1}}
  few: float32[] = {{0.3}}
  ten: float32[] = {{10}}
  two: int64[1] = {{2}}
  even: float32[] = {{2}}
  axis: int64[1] = {{1}}
  h = MatMul(x, w)
{}
}})",
                      outputs, rest),
          is_saturating};
}

std::vector<Model> models() {
  return {
      behind_product("sign", "y", "  d = Sub(h, one)\n  y = Sign(d)"),
      behind_product("cast_to_integer", "y", "  t = Mul(h, ten)\n  y = Cast(t) {to = 7}"),
      behind_product("cast_to_bool_of_floor", "y", "  t = Floor(h)\n  y = Cast(t) {to = 9}"),
      behind_product("floor", "y", "  t = Mul(h, ten)\n  y = Floor(t)"),
      behind_product("ceil", "y", "  t = Mul(h, ten)\n  y = Ceil(t)"),
      behind_product("round", "y", "  t = Div(h, few)\n  y = Round(t)"),
      behind_product("argmax", "y", "  y = ArgMax(h) {axis = 1}"),
      behind_product("topk_indices", "i", "  v, i = TopK(h, two)"),
      behind_product("where_less", "y", "  c = Less(h, few)\n  s = Sin(h)\n  y = Where(c, s, ten)"),
      behind_product("equal_of_rounded", "y", "  t = Mul(h, ten)\n  r = Round(t)\n  y = Equal(r, ten)"),
      behind_product("sign_of_softmax_less_mean", "y",
                     "  s = Softmax(h) {axis = 1}\n  m = ReduceMean(s, axis)\n  d = Sub(s, m)\n  y = Sign(d)"),
      behind_product("quantized", "y",
                     "  q = Mul(h, ten)\n  r = Round(q)\n  d = Div(r, ten)\n  t = Transpose(w)\n  y = MatMul(d, t)"),
      behind_product("division_near_zero", "y", "  s = Sin(h)\n  y = Div(ten, s)"),
      behind_product("logarithm_of_saturating_sigmoid", "y",
                     "  t = Mul(h, ten)\n  s = Sigmoid(t)\n  d = Sub(one, s)\n  y = Log(d)", true),
      behind_product("sizes_that_data_decide", "y",
                     "  t = Mul(h, ten)\n  f = Floor(t)\n  m = Mod(f, even) {fmod = 1}\n  y = NonZero(m)", true),
      behind_product("plain", "y", "  y = Relu(h)"),
  };
}

Graph parsed(const Model& model) {
  auto graph = parse_graph(model.text);
  EXPECT_TRUE(graph.ok()) << model.name << ": " << graph.error().message();
  return *std::move(graph);
}

class Judged : public testing::TestWithParam<Model> {};

/// One column of the weights a thousandth larger.
Graph planted(Graph graph, int64_t column) {
  for (const ValueId id : graph.values()) {
    const auto& constant = graph.value(id).constant;
    if (!constant || graph.value(id).name != "w") continue;
    std::vector<double> elements(constant->count());
    for (int64_t i = 0; i < constant->count(); ++i)
      elements[i] = constant->real(i) * (i % constant->dims()[1] == column ? 1.001 : 1);
    graph.edit(id).constant = Tensor::from_doubles(constant->dtype(), constant->dims(), elements);
  }
  return graph;
}

TEST_P(Judged, AThousandthInOneChannelIsADifference) {
  const Graph graph = parsed(GetParam());
  for (int64_t column = 0; column < 40; column += is_long_run() ? 1 : 7) {
    const auto report = check_same(graph, planted(graph, column), {.runs = 64});
    ASSERT_TRUE(report.ok()) << report.error().message();
    EXPECT_FALSE(report->equivalence.passed()) << "column " << column << ": " << report->lines()[0];
  }
}

/// Other runtimes round otherwise at every node: within a few places of the last.
TEST_P(Judged, OtherRoundingIsNoDifference) {
  const Graph graph = parsed(GetParam());
  int64_t elements = 0, set_aside = 0;
  for (uint64_t seed = 0; seed < (is_long_run() ? 2000 : 16); ++seed) {
    const auto inputs = [&](int set) -> Result<std::vector<te::Array>> {
      TRY(const std::vector<Tensor> tensors, generate_inputs(graph, {.seed = 1000 * seed + set}));
      std::vector<te::Array> arrays;
      for (const Tensor& tensor : tensors) arrays.push_back(te::Array::from(tensor));
      return arrays;
    };
    const auto other = [&](std::span<const te::Array> given) {
      const RandomRounding movement{.seed = 77 + seed, .half_ulps = seed % 2 == 0 ? 1.0 : 2.0};
      return interpret(graph, given, {.movement = movement});
    };
    const auto result = compare_with(graph, other, inputs, 1, {});
    ASSERT_TRUE(result.ok()) << result.error().message();
    EXPECT_TRUE(result->passed()) << "seed " << seed << ": " << result->difference->text();
    elements += result->elements();
    set_aside += result->set_aside();
  }
  EXPECT_TRUE(GetParam().is_saturating || set_aside < elements / 100) << set_aside << " of " << elements;
}

INSTANTIATE_TEST_SUITE_P(Equivalence, Judged, testing::ValuesIn(models()),
                         [](const auto& info) { return info.param.name; });

Equivalence compared(const Graph& graph, const std::vector<double>& x, const RunModel& other) {
  const std::vector<te::Array> inputs = {te::Array::reals(DataType::kFloat32, {static_cast<int64_t>(x.size())}, x)};
  auto result = compare_with(graph, other, {inputs}, 1);
  EXPECT_TRUE(result.ok()) << result.error().message();
  return *std::move(result);
}

RunModel giving(DataType dtype, std::vector<double> values) {
  return [=](std::span<const te::Array>) -> Result<std::vector<te::Array>> {
    const Dims dims = {static_cast<int64_t>(values.size())};
    if (is_float(dtype)) return std::vector{te::Array::reals(dtype, dims, values)};
    const std::vector<int64_t> integers(values.begin(), values.end());
    return std::vector{te::Array::integers(dtype, dims, integers)};
  };
}

/// Operators that lose digits on their way, at points where nothing of the output hides it, as any runtime computes
/// them: in floats.
TEST(Equivalence, RoundingInsideOfAnOperatorIsNoDifference) {
  struct Case {
    std::string op;
    float x;
    std::function<float(float)> in_floats;
  };
  const auto softplus = [](float x) { return std::max(x, 0.F) + std::log(std::exp(-std::fabs(x)) + 1.F); };
  const std::vector<Case> cases = {
      {"Elu", -1e-4F, [](float x) { return std::exp(x) - 1.F; }},
      {"Selu", -0.00708F, [](float x) { return 1.0507010F * (1.6732632F * (std::exp(x) - 1.F)); }},
      {"Celu", -3e-3F, [](float x) { return std::exp(x) - 1.F; }},
      {"Softplus", -11.3F, softplus},
      {"Mish", -9.7F, [&](float x) { return x * std::tanh(softplus(x)); }},
      {"Gelu", -3.9F, [](float x) { return 0.5F * x * (1.F + std::erf(x * 0.70710677F)); }},
  };
  for (const Case& each : cases) {
    const auto graph =
        *parse_graph(fmt::format("opset 20\ngraph g(x: float32[1]) -> (y: float32[1]) {{\n  y = {}(x)\n}}", each.op));
    for (int k = 0; k < 50; ++k) {
      const float x = each.x * (1 + 0.002F * static_cast<float>(k));
      const Equivalence right = compared(graph, {x}, giving(DataType::kFloat32, {each.in_floats(x)}));
      EXPECT_TRUE(right.passed()) << each.op << ": " << right.difference->text();
      const double wrong = each.in_floats(x) * 1.05 - 1e-4;
      EXPECT_FALSE(compared(graph, {x}, giving(DataType::kFloat32, {wrong})).passed()) << each.op << " of " << x;
    }
  }
}

/// Which of two neighbours a tie goes to hangs on the order in which float32 multiplies: that alone is set aside.
TEST(Equivalence, TiesInsideOfQuantizedOperatorsAreNoDifference) {
  struct Case {
    std::string op;
    float a, b, c;
    std::function<float(float, float)> combine;
  };
  const std::vector<Case> cases = {
      {"QLinearAdd", 0.03F, 0.02F, 0.04F, [](float a, float b) { return a + b; }},
      {"QLinearAdd", 0.1F, 0.1F, 0.2F, [](float a, float b) { return a + b; }},
      {"QLinearMul", 0.1F, 0.2F, 0.16F, [](float a, float b) { return a * b; }},
  };
  for (const Case& each : cases) {
    const auto graph = *parse_graph(
        quantized_pair(each.op, fmt::format("{}", each.a), fmt::format("{}", each.b), fmt::format("{}", each.c)));
    const std::vector<te::Array> inputs = all_pairs_of_bytes();
    std::vector<int64_t> found;
    std::vector<double> exact;
    for (int a = 0; a < 256; ++a)
      for (int b = 0; b < 256; ++b) {
        const float x = static_cast<float>(a - 120) * each.a, y = static_cast<float>(b - 7) * each.b;
        found.push_back(static_cast<int64_t>(std::clamp(std::nearbyint(each.combine(x, y) / each.c) + 60, 0.F, 255.F)));
        exact.push_back(each.op == "QLinearAdd" ? (double(a - 120) * each.a + double(b - 7) * each.b) / each.c
                                                : double(a - 120) * each.a * (double(b - 7) * each.b) / each.c);
      }
    const auto compared_with = [&](std::vector<int64_t> other) {
      const auto run = [&](std::span<const te::Array>) -> Result<std::vector<te::Array>> {
        return std::vector{te::Array::integers(DataType::kUInt8, {256, 256}, other)};
      };
      return *compare_with(graph, run, {inputs}, 1);
    };
    const Equivalence result = compared_with(found);
    EXPECT_TRUE(result.passed()) << each.op << ": " << result.difference->text();
    EXPECT_GT(result.set_aside(), 0) << each.op;
    EXPECT_LT(result.set_aside(), 6000) << each.op;
    int planted = 0;
    for (size_t k = 0; k < found.size(); k += 997) {
      const double from_tie = std::fabs(exact[k] - std::floor(exact[k]) - 0.5);
      if (from_tie < 1e-2 || exact[k] < -58 || exact[k] > 190) continue;
      std::vector<int64_t> other = found;
      ++other[k];
      EXPECT_FALSE(compared_with(other).passed()) << each.op << " at " << k << ": " << exact[k];
      ++planted;
    }
    EXPECT_GT(planted, 5) << each.op;
  }
}

TEST(Equivalence, TiesThatConvolutionsOfQuantizedNumbersMeetAreNoDifference) {
  const auto graph = *parse_graph(R"(opset 17
graph g(x: uint8[256]) -> (y: uint8[1,1,16,16]) {
  dims: int64[4] = {1, 1, 16, 16}
  image = Reshape(x, dims)
  sx: float32[] = {0.03}
  zx: uint8[] = {120}
  w: int8[1,1,1,1] = {1}
  sw: float32[] = {1}
  zw: int8[] = {0}
  sy: float32[] = {0.06}
  zy: uint8[] = {60}
  y = QLinearConv(image, sx, zx, w, sw, zw, sy, zy)
})");
  std::vector<int64_t> bytes(256), up(256), wrong;
  std::iota(bytes.begin(), bytes.end(), 0);
  for (int k = 0; k < 256; ++k) up[k] = static_cast<int64_t>(std::floor((k - 120) / 2.0 + 0.5)) + 60;
  const std::vector<te::Array> inputs = {te::Array::integers(DataType::kUInt8, {256}, bytes)};
  const auto compared_with = [&](const std::vector<int64_t>& other) {
    const auto run = [&](std::span<const te::Array>) -> Result<std::vector<te::Array>> {
      return std::vector{te::Array::integers(DataType::kUInt8, {1, 1, 16, 16}, other)};
    };
    return *compare_with(graph, run, {inputs}, 1);
  };
  EXPECT_TRUE(compared_with(up).passed()) << compared_with(up).difference->text();
  wrong = up;
  ++wrong[200];
  EXPECT_FALSE(compared_with(wrong).passed());
}

/// x + 1 - 1 - x is nothing but rounding.
constexpr std::string_view kSignOfRounding = R"(opset 17
graph g(x: float32[4]) -> (y: float32[4]) {
  third: float32[] = {0.33333334}
  a = Add(x, third)
  b = Sub(a, third)
  c = Sub(b, x)
  y = Sign(c)
})";

TEST(Equivalence, WhatIsNotFiniteIsNotCompared) {
  const Graph graph = *parse_graph(R"(opset 17
graph g(x: float32[2]) -> (y: float32[2], z: float32[2]) {
  y = Sqrt(x)
  z = Neg(x)
})");
  const auto found = [](const std::vector<double>& y, const std::vector<double>& z) -> RunModel {
    return [=](std::span<const te::Array>) -> Result<std::vector<te::Array>> {
      return std::vector{te::Array::reals(DataType::kFloat32, {2}, y), te::Array::reals(DataType::kFloat32, {2}, z)};
    };
  };
  const Equivalence one = compared(graph, {4, -1}, found({2, NAN}, {-4, 1}));
  EXPECT_TRUE(one.passed() && one.uncompared().empty()) << one.text();
  const Equivalence none = compared(graph, {-4, -1}, found({NAN, NAN}, {4, 1}));
  EXPECT_TRUE(none.passed());
  EXPECT_FALSE(none.is_equal());
  EXPECT_TRUE(none.uncompared().starts_with("nothing of output y could be compared")) << none.uncompared();
  EXPECT_NE(none.text().find("nothing of output y"), std::string::npos) << none.text();
  EXPECT_EQ(none.warnings().size(), 1);
}

TEST(Equivalence, CountsWhatRoundingDecides) {
  const Graph graph = *parse_graph(kSignOfRounding);
  const Equivalence result = compared(graph, {0.1, 0.7, 0.9, 1.3}, giving(DataType::kFloat32, {1, -1, 1, -1}));
  EXPECT_TRUE(result.passed());
  EXPECT_GE(result.set_aside(), 2);
  EXPECT_EQ(result.elements(), 4);
  EXPECT_GT(result.movements, 0);
  ASSERT_EQ(result.warnings().size(), 1);
  EXPECT_NE(result.text().find("of 4 elements set aside"), std::string::npos) << result.text();
}

/// What a sum is rounded to lies next to it: how its terms are added decides where it is close to the middle.
TEST(Equivalence, OrdersOfSumsDecideWhatIsQuantized) {
  const Graph graph = *parse_graph(R"(opset 17
graph g(x: float32[4096]) -> (y: float32[1]) {
  one: float32[] = {1}
  zero: uint8[] = {0}
  sum = ReduceSum(x)
  q = QuantizeLinear(sum, one, zero)
  y = DequantizeLinear(q, one, zero)
})");
  const auto found_of = [&](double sum, double found) {
    std::vector<double> terms;
    double total = 0;
    for (int k = 0; k < 4096; ++k) total += 1 + 0.3 * std::sin(k);
    for (int k = 0; k < 4096; ++k) terms.push_back(static_cast<float>(sum / total * (1 + 0.3 * std::sin(k))));
    return compared(graph, terms, giving(DataType::kFloat32, {found}));
  };
  const Equivalence close = found_of(20.5 - 6e-5, 21);
  EXPECT_TRUE(close.passed()) << close.difference->text();
  EXPECT_EQ(close.set_aside(), 1);
  EXPECT_FALSE(found_of(20.5 - 6e-5, 40).passed());
  EXPECT_FALSE(found_of(20.5 - 5e-3, 21).passed());
  EXPECT_FALSE(found_of(20.1, 21).passed());
}

/// Sines of large angles are noise, as what is behind many quantized layers: few movements are enough to tell.
TEST(Equivalence, WhatIsNoiseIsSetAsideHoweverFewMovementsAreMade) {
  constexpr int kElements = 500;
  const Graph graph = *parse_graph(R"(opset 17
graph g(x: float32[500]) -> (y: float32[500]) {
  many: float32[] = {1.2345678e+09}
  angle = Mul(x, many)
  y = Sin(angle)
})");
  std::vector<double> x, other, large;
  for (int k = 0; k < kElements; ++k) {
    x.push_back(static_cast<float>(1 + 0.37 * std::sin(k)));
    other.push_back(std::sin(1.7 * k));
    large.push_back(20 * other.back());
  }
  const std::vector<te::Array> inputs = {te::Array::reals(DataType::kFloat32, {kElements}, x)};
  const auto judged = [&](const std::vector<double>& found) {
    const RunModel model = giving(DataType::kFloat32, found);
    return *compare_with(graph, model, [&](int) -> Result<std::vector<te::Array>> { return inputs; }, 1,
                         {.until = Clock::now()});
  };
  const Equivalence noise = judged(other);
  EXPECT_TRUE(noise.passed()) << noise.difference->text();
  EXPECT_EQ(noise.movements, kLeastMovements);
  EXPECT_GT(noise.set_aside(), kElements / 2);
  EXPECT_FALSE(judged(large).passed());
}

TEST(Equivalence, WhoIsStrictAsksForRoomBelowTheBound) {
  const double unit = unit_roundoff(DataType::kFloat32);
  const auto pair = [](double first) {
    return te::Array::reals(DataType::kFloat32, {2}, std::vector<double>{first, 1});
  };
  const auto agrees = [&](Strictness strictness) {
    OutputComparison output("y", pair(1), pair(1 + 6 * unit), 8, strictness);
    output.use_rounded(pair(1));
    output.use_moved(pair(1 + 0.4 * unit), kNarrow);
    return !output.difference();
  };
  EXPECT_TRUE(agrees({}));
  EXPECT_FALSE(agrees({.within = 0.5})) << "6 of 8 + 8 * 0.4 places";
  EXPECT_TRUE(agrees({.within = 0.5, .reach = 2})) << "6 of 8 + 8 * 2 * 0.4 places";
}

TEST(Equivalence, WholeNumbersAreNotMoved) {
  const Graph graph = *parse_graph(R"(opset 17
graph g(x: float32[4]) -> (y: int64[4]) {
  ten: float32[] = {10}
  a = Mul(x, ten)
  f = Floor(a)
  y = Cast(f) {to = 7}
})");
  const auto same = compared(graph, {1, 2, 3, 0.5}, giving(DataType::kInt64, {10, 20, 30, 5}));
  EXPECT_TRUE(same.passed());
  EXPECT_EQ(same.set_aside(), 0);
  const auto off = compared(graph, {1, 2, 3, 0.5}, giving(DataType::kInt64, {10, 19, 30, 5}));
  EXPECT_FALSE(off.passed());
  EXPECT_EQ(off.set_aside(), 0);
}

TEST(Equivalence, WhatIsNoNumberMustBeNone) {
  const Graph graph = *parse_graph(R"(opset 17
graph g(x: float32[4]) -> (y: float32[4]) {
  y = Sqrt(x)
})");
  EXPECT_TRUE(compared(graph, {-1, 4, 9, 16}, giving(DataType::kFloat32, {NAN, 2, 3, 4})).passed());
  EXPECT_FALSE(compared(graph, {-1, 4, 9, 16}, giving(DataType::kFloat32, {0, 2, 3, 4})).passed());
  EXPECT_FALSE(compared(graph, {-1, 4, 9, 16}, giving(DataType::kFloat32, {NAN, NAN, 3, 4})).passed());
  EXPECT_FALSE(compared(graph, {-1, 4, 9, 16}, giving(DataType::kFloat32, {NAN, INFINITY, 3, 4})).passed());
}

TEST(Equivalence, OutputsOfAnotherShapeOrTypeDiffer) {
  const Graph graph = *parse_graph(R"(opset 17
graph g(x: float32[4]) -> (y: float32[4]) {
  y = Exp(x)
})");
  EXPECT_FALSE(compared(graph, {0, 0, 0, 0}, giving(DataType::kFloat32, {1, 1, 1})).passed());
  EXPECT_FALSE(compared(graph, {0, 0, 0, 0}, giving(DataType::kFloat64, {1, 1, 1, 1})).passed());
}

/// An element that is badly conditioned doesn't hide an error in another.
TEST(Equivalence, ALargeErrorOfOneElementIsNotAllowedElsewhere) {
  const Graph graph = *parse_graph(R"(opset 17
graph g(x: float32[400]) -> (y: float32[400]) {
  one: float32[] = {1}
  d = Sub(x, one)
  e = Sin(d)
  y = Div(one, e)
})");
  std::vector<double> x(400), exact(400);
  for (size_t k = 0; k < x.size(); ++k) x[k] = static_cast<float>(2 + std::sin(static_cast<double>(k)) / 2);
  x[7] = static_cast<float>(1.0000001);
  for (size_t k = 0; k < x.size(); ++k) exact[k] = 1 / std::sin(x[k] - 1);
  std::vector<double> other = exact;
  EXPECT_TRUE(compared(graph, x, giving(DataType::kFloat32, other)).passed());
  other[3] *= 1.0001;
  EXPECT_FALSE(compared(graph, x, giving(DataType::kFloat32, other)).passed());
}

/// Runtimes flush what is below the least normal number, and a cast to the type and back makes it zero.
TEST(Compare, WhatUnderflowsIsNothing) {
  const Graph squares = *parse_graph(R"(opset 17
graph g(x: float32[2]) -> (y: float32[2]) {
  s = Mul(x, x)
  d = Cast(s) {to = 11}
  y = Cast(d) {to = 1}
})");
  const Graph without = *parse_graph("opset 17\ngraph g(x: float32[2]) -> (y: float32[2]) { y = Mul(x, x) }");
  const std::vector<te::Array> tiny = {
      te::Array::reals(DataType::kFloat32, {2}, std::vector<double>{-0x1p-100, 0x1p-70})};
  const auto same = compare_models_on(squares, without, {tiny}, 1);
  ASSERT_TRUE(same.ok()) << same.error().message();
  EXPECT_TRUE(same->passed()) << same->difference->text();
  const std::vector<te::Array> small = {
      te::Array::reals(DataType::kFloat32, {2}, std::vector<double>{0x1p-50, 0x1p-60})};
  const Graph halves = *parse_graph(
      "opset 17\ngraph g(x: float32[2]) -> (y: float32[2]) {\n  h: float32[] = {0.5}\n"
      "  s = Mul(x, x)\n  y = Mul(s, h)\n}");
  EXPECT_FALSE(compare_models_on(squares, halves, {small}, 1)->passed());
}

/// The fraction of a number beyond 2^24 is none in float32, whatever its order of multiplication, and any in the reals.
TEST(Compare, WhereTheyAgreeInTheirOwnPrecisionTheRestIsSetAside) {
  const std::string rest = "  f = Floor(m)\n  y = Sub(m, f)\n}";
  const std::string head = "opset 17\ngraph g(x: float32[3,2]) -> (y: float32[3,3]) {\n";
  const Graph apart = *parse_graph(head + R"(  w: float32[1,2] = {-0.47048348, 1.5175464}
  v: float32[2,3] = {-0.37165153, 0.107222654, 1.609233, 0.82613033, -0.016487077, 0.92685574}
  a = Mul(x, w)
  m = MatMul(a, v)
)" + rest);
  const Graph folded = *parse_graph(
      head + R"(  v: float32[2,3] = {0.1748559, -0.050446488, -0.75711757, 1.2536911, -0.025019905, 1.4065466}
  m = MatMul(x, v)
)" + rest);
  const auto compared_on = [&](double large, const Graph& other) {
    const std::vector<te::Array> inputs = {
        te::Array::reals(DataType::kFloat32, {3, 2}, std::vector<double>{2, 4, large, 4, 3, -96})};
    return *compare_models_on(apart, other, {inputs}, 1);
  };
  const Equivalence huge = compared_on(-2147483648, folded);
  EXPECT_TRUE(huge.passed()) << huge.difference->text();
  EXPECT_GT(huge.set_aside(), 0);
  EXPECT_TRUE(compared_on(0.5, folded).passed());
  const Graph wrong =
      *parse_graph(head + R"(  v: float32[2,3] = {0.1748559, -0.050446488, -0.75711757, 1.2536911, -0.025019905, 1.5}
  m = MatMul(x, v)
)" + rest);
  EXPECT_FALSE(compared_on(-2147483648, wrong).passed());
}

/// The last places of large integers are rounding's, as those of floats are: a few of them, and not half of the number.
TEST(Equivalence, IntegersThatRoundingMovesDifferByNoMoreThanThat) {
  constexpr int kElements = 64;
  std::vector<double> x;
  for (int k = 0; k < kElements; ++k) x.push_back(static_cast<float>(std::sin(k)));
  for (const float scale : {1e12F, 0x1p25F}) {
    const Graph graph = *parse_graph(fmt::format(R"(opset 17
graph g(x: float32[{}]) -> (y: int64[{}]) {{
  scale: float32[] = {{{}}}
  r = Relu(x)
  m = Mul(r, scale)
  y = Cast(m) {{to = 7}}
}})",
                                                 kElements, kElements, scale));
    const auto differs = [&](double factor) {
      std::vector<double> found;
      for (const double value : x)
        found.push_back(std::trunc(factor * static_cast<float>(std::max(value, 0.0) * scale)));
      return !compared(graph, x, giving(DataType::kInt64, found)).passed();
    };
    EXPECT_FALSE(differs(1)) << scale;
    EXPECT_FALSE(differs(1 + 0x1p-23)) << scale;
    for (const double factor : {2.0, -1.0, 1.001, 0.0}) EXPECT_TRUE(differs(factor)) << factor << " of " << scale;
  }
}

/// What fixed point is made of behind a product is moved by one, all of it.
TEST(Equivalence, FixedPointBehindAProductIsCompared) {
  const Model model =
      behind_product("fixed_point", "y", "  many: float32[] = {1048576}\n  t = Mul(h, many)\n  y = Cast(t) {to = 6}");
  const Graph graph = parsed(model);
  const auto with = [&](double factor) {
    Graph other = graph;
    for (const ValueId id : graph.values())
      if (graph.value(id).name == "many")
        other.edit(id).constant = Tensor::from_doubles(DataType::kFloat32, {}, {{1048576 * factor}});
    return check_same(graph, other, {.runs = 1})->equivalence.passed();
  };
  EXPECT_TRUE(with(1));
  EXPECT_FALSE(with(1.5));
  EXPECT_FALSE(with(-1));
}

/// Sines of large angles again, in hundreds: a few movements may all have been short.
TEST(Equivalence, IntegersThatAreNoiseAreSetAsideHoweverFewMovementsAreMade) {
  constexpr int kElements = 2000;
  const Graph graph = *parse_graph(R"(opset 17
graph g(x: float32[2000]) -> (y: int32[2000]) {
  many: float32[] = {1.2345678e+09}
  hundreds: float32[] = {300}
  angle = Mul(x, many)
  sine = Sin(angle)
  large = Mul(sine, hundreds)
  y = Cast(large) {to = 6}
})");
  std::vector<double> x, other, wrong;
  for (int k = 0; k < kElements; ++k) {
    x.push_back(static_cast<float>(1.1 + 0.37 * std::sin(k)));
    other.push_back(std::trunc(300 * std::sin(1.7 * k)));
    wrong.push_back(20000 * other.back());
  }
  const std::vector<te::Array> inputs = {te::Array::reals(DataType::kFloat32, {kElements}, x)};
  const auto judged = [&](const std::vector<double>& found) {
    const RunModel model = giving(DataType::kInt32, found);
    return *compare_with(graph, model, [&](int) -> Result<std::vector<te::Array>> { return inputs; }, 1,
                         {.until = Clock::now()});
  };
  EXPECT_TRUE(judged(other).passed()) << judged(other).difference->text();
  EXPECT_FALSE(judged(wrong).passed());
}

TEST(Equivalence, PlacesThatRoundingMovesMayBeAnyOther) {
  const auto pair = [](int64_t first) {
    return te::Array::integers(DataType::kInt64, {2}, std::vector<int64_t>{first, 7});
  };
  const auto agrees = [&](bool are_places, int64_t moved) {
    OutputComparison output("y", pair(5), pair(4000), 8, {}, are_places);
    output.use_rounded(pair(5));
    for (int k = 0; k < kLeastMovements; ++k) output.use_moved(pair(moved), kNarrow);
    return !output.difference();
  };
  EXPECT_TRUE(agrees(true, 6));
  EXPECT_FALSE(agrees(true, 5)) << "nothing moves it";
  EXPECT_FALSE(agrees(false, 6)) << "moved by 1";
  EXPECT_TRUE(agrees(false, 1000)) << "moved by 995";
}

TEST(Places, AreFoundBySearchesAndKeptByWhatIsMadeOfThem) {
  const auto graph = *parse_graph(R"(opset 17
graph g(x: float32[6,5]) -> (a, b, c, d, e, f, g, h) {
  two: int64[1] = {2}
  a = ArgMax(x) {axis = 1}
  v, i = TopK(x, two)
  narrow = Cast(i) {to = 6}
  b = Add(narrow, narrow)
  z = NonZero(x)
  c = Transpose(z)
  d = Cast(x) {to = 7}
  many = Greater(x, x)
  ones = Cast(many) {to = 7}
  e = ReduceSum(ones)
  f = Cast(i) {to = 1}
  least = ArgMin(x)
  g = Gather(d, two) {axis = 0}
  h = Sub(least, e)
})");
  EXPECT_EQ(outputs_of_places(graph), (std::vector<bool>{true, true, true, false, false, false, false, true}));
}

/// Hashes, times in nanoseconds, masks: doubles end at 53 bits.
TEST(Compare, IntegersCountToTheirLastBit) {
  const auto sum = [](const std::string& type, const std::string& number) {
    return *parse_graph(fmt::format(
        "opset 17\ngraph g(x: {0}[4]) -> (y: {0}[4]) {{\n  c: {0}[] = {{{1}}}\n  y = Add(x, c)\n}}", type, number));
  };
  struct Case {
    std::string type, one, other;
  };
  for (const Case& each : {Case{"int64", "1152921504606846976", "1152921504606846977"},
                           Case{"uint64", "9223372036854775809", "9223372036854775810"}}) {
    const DataType dtype = each.type == "int64" ? DataType::kInt64 : DataType::kUInt64;
    const std::vector<te::Array> zeros = {te::Array::integers(dtype, {4}, std::vector<int64_t>(4))};
    const Graph one = sum(each.type, each.one), other = sum(each.type, each.other);
    EXPECT_TRUE(compare_models_on(one, one, {zeros}, 1)->passed());
    const auto differs = compare_models_on(one, other, {zeros}, 1);
    ASSERT_FALSE(differs->passed()) << each.type;
    EXPECT_EQ(differs->difference->text(),
              fmt::format("y[0]: {} expected, {} found (allowed difference 0)", each.one, each.other));
    EXPECT_EQ(differs->max_abs_error, 1);
  }
}

/// Where nothing is known but the outputs, as of two artifacts.
TEST(Compare, OneLargeElementAllowsNothingElsewhere) {
  const Graph graph = *parse_graph("opset 17\ngraph g(x: float32[1000]) -> (y: float32[1000]) {\n  y = Relu(x)\n}");
  const Value& output = graph.value(graph.outputs()[0]);
  const auto passes = [&](double factor) {
    std::vector<double> expected(1000), found(1000);
    for (int k = 0; k < 1000; ++k) {
      expected[k] = std::sin(k);
      found[k] = factor * expected[k];
    }
    expected[0] = 1e8;
    found[0] = 1e8 + 8;
    Equivalence result;
    compare_in_units(output, te::Array::reals(DataType::kFloat32, {1000}, expected),
                     te::Array::reals(DataType::kFloat32, {1000}, found), 1024, result);
    EXPECT_EQ(result.elements(), 1000);
    return result.passed();
  };
  EXPECT_TRUE(passes(1 + 1e-5));
  EXPECT_FALSE(passes(2));
  EXPECT_FALSE(passes(1.01));
}

/// What a mask puts in the place of half of the scores, be it put or added, is no measure of the others.
TEST(Check, MasksAllowNothingElsewhere) {
  const auto passes = [](std::string_view dtype, double mask, std::string_view masked, double factor) {
    const Graph model = *parse_graph(fmt::format(R"(opset 17
graph g(x: {0}[8,2]) -> (y: {0}[8,2]) {{
  is_open: bool[2] = {{1, 0}}
  closed: {0}[2] = {{0, {1}}}
  factor: {0}[] = {{1}}
  h = Mul(x, factor)
  y = {2}
}})",
                                                 dtype, mask, masked));
    Graph other = model;
    for (const ValueId id : other.values())
      if (other.value(id).name == "factor")
        other.edit(id).constant = Tensor::scalar(other.value(id).type.dtype, factor);
    const auto report = check_same(model, other, {});
    EXPECT_TRUE(report.ok()) << report.error().message();
    return report.ok() && report->equivalence.passed();
  };
  for (const std::string_view masked : {"Add(h, closed)", "Where(is_open, h, closed)"})
    for (const auto& [dtype, mask] : {std::pair<std::string_view, double>("float32", -3.4028234663852886e+38),
                                      {"float32", -1e9},
                                      {"float16", -65504},
                                      {"bfloat16", -1e30}}) {
      EXPECT_TRUE(passes(dtype, mask, masked, 1)) << dtype << " " << mask << " " << masked;
      EXPECT_FALSE(passes(dtype, mask, masked, -1)) << dtype << " " << mask << " " << masked;
      EXPECT_FALSE(passes(dtype, mask, masked, 2)) << dtype << " " << mask << " " << masked;
    }
}

TEST(Compare, WhatHasNoElementsWhereDataDecideIsNotCompared) {
  const auto kept = [](double factor) {
    return *parse_graph(fmt::format(R"(opset 17
graph g(x: float32[32]) -> (y) {{
  limit: float32[] = {{100}}
  factor: float32[] = {{{}}}
  m = Greater(x, limit)
  c = Compress(x, m) {{axis = 0}}
  y = Mul(c, factor)
}})",
                                    factor));
  };
  const auto on = [](const Graph& one, const Graph& other, double value) {
    const std::vector<te::Array> inputs = {te::Array::reals(DataType::kFloat32, {32}, std::vector<double>(32, value))};
    return *compare_models_on(one, other, {inputs}, 1);
  };
  const Equivalence none = on(kept(1), kept(-7), 1);
  EXPECT_TRUE(none.passed());
  EXPECT_TRUE(none.is_equal());
  EXPECT_TRUE(none.uncompared().starts_with("nothing of output y could be compared: there is no element"))
      << none.uncompared();
  EXPECT_EQ(none.warnings().size(), 1);
  EXPECT_FALSE(on(kept(1), kept(-7), 101).passed());
  EXPECT_EQ(on(kept(1), kept(1), 101).uncompared(), "");
  const Graph empty = *parse_graph("opset 17\ngraph g(x: float32[0,3]) -> (y: float32[0,3]) {\n  y = Relu(x)\n}");
  const std::vector<te::Array> nothing = {te::Array::reals(DataType::kFloat32, {0, 3}, {})};
  EXPECT_EQ(compare_models_on(empty, empty, {nothing}, 1)->uncompared(), "") << "its type says so";
}

TEST(Compare, WhatIsMostlyNoNumberIsSaid) {
  const Graph roots = *parse_graph("opset 17\ngraph g(x: float32[100]) -> (y: float32[100]) {\n  y = Sqrt(x)\n}");
  const auto warnings = [&](int negative) {
    std::vector<double> x(100, 4);
    std::fill_n(x.begin(), negative, -4);
    const std::vector<te::Array> inputs = {te::Array::reals(DataType::kFloat32, {100}, x)};
    return compare_models_on(roots, roots, {inputs}, 1)->warnings();
  };
  EXPECT_TRUE(warnings(1).empty());
  ASSERT_EQ(warnings(99).size(), 1);
  EXPECT_TRUE(warnings(99)[0].starts_with("output y: 99 % of the elements are infinite or no numbers"))
      << warnings(99)[0];
}

TEST(Compare, WhatRefusesInputsOfTheOtherDiffers) {
  const auto rows = [](int count) {
    return *parse_graph(fmt::format(
        "opset 17\ngraph g(i: int64[4]) -> (y: float32[4]) {{\n  c: float32[{}] = all 1\n  y = Gather(c, i)\n}}",
        count));
  };
  const std::vector<te::Array> indices = {te::Array::integers(DataType::kInt64, {4}, std::vector<int64_t>{0, 1, 7, 2})};
  const Graph eight = rows(8), three = rows(3);
  const auto in_graph = compare_models_on(eight, three, {indices}, 1);
  ASSERT_TRUE(in_graph.ok()) << in_graph.error().message();
  const auto in_code =
      compare_with(eight, [&](std::span<const te::Array> given) { return interpret(three, given, {}); }, {indices}, 1);
  ASSERT_TRUE(in_code.ok()) << in_code.error().message();
  for (const Equivalence& each : {*in_graph, *in_code}) {
    ASSERT_FALSE(each.passed());
    EXPECT_EQ(each.runs, 1);
    EXPECT_NE(each.difference->text().find("outputs expected, none found"), std::string::npos);
    EXPECT_NE(each.difference->refusal.find("index 7 is out of range"), std::string::npos) << each.difference->refusal;
  }
}

/// What other runtimes give where each step goes on from the one before: in floats, one after the other.
TEST(Equivalence, RunningSumsAreRoundedInEachStep) {
  constexpr int kSteps = 20000;
  struct Case {
    std::string rest;
    std::function<double(float)> of_sum;
    bool is_last = false;  ///< the last sum alone
  };
  const std::vector<Case> cases = {
      {"  y = CumSum(x, zero)", [](float sum) { return sum; }},
      {"  s = CumSum(x, zero)\n  y = Sin(s)", [](float sum) { return std::sin(static_cast<double>(sum)); }},
      {"  i: int64[20000] = all 0\n  z: float32[1] = {0}\n"
       "  y = ScatterElements(z, i, x) {axis = 0, reduction = \"add\"}",
       [](float sum) { return sum; }, true},
  };
  std::vector<double> x;
  for (int k = 0; k < kSteps; ++k) x.push_back(static_cast<float>(0.8 + 0.7 * std::sin(k)));
  for (const Case& each : cases) {
    const Graph graph = *parse_graph(
        fmt::format("opset 18\ngraph g(x: float32[{}]) -> (y) {{\n  zero: int64[] = {{0}}\n{}\n}}", kSteps, each.rest));
    const auto differs = [&](double factor) {
      std::vector<double> found;
      float sum = 0;
      for (const double term : x) {
        sum += static_cast<float>(term * factor);
        found.push_back(each.of_sum(sum));
      }
      if (each.is_last) found = {found.back()};
      return !compared(graph, x, giving(DataType::kFloat32, found)).passed();
    };
    EXPECT_FALSE(differs(1)) << each.rest;
    EXPECT_TRUE(differs(1.001)) << each.rest;
  }
}

TEST(StageSizes, SumsInBodiesCount) {
  const Graph graph = *parse_graph(R"(opset 17
graph g(x: float32[4,1024], n: int64[]) -> (y) {
  w: float32[1024,1024] = all 1
  y = Loop(n, _, x) captures (w) {
    body = graph body(i: int64[], go: bool[], a: float32[4,1024])
        captures (w: float32[1024,1024]) -> (go, b) {
      b = MatMul(a, w)
    }
  }
})");
  EXPECT_EQ(stage_sizes(graph).longest_sum, 1024);
}

TEST(Equivalence, WhatWasComparedElsewhereIsAdded) {
  Equivalence one;
  one.runs = 1;
  one.max_abs_error = 1;
  one.outputs = {{.name = "y", .elements = 3, .set_aside = 1}};
  const Equivalence other{.runs = 2,
                          .max_abs_error = 2,
                          .outputs = {{.name = "z", .elements = 5}, {.name = "y", .elements = 4, .not_finite = 2}},
                          .difference = Difference{.output = "z"}};
  one += other;
  EXPECT_EQ(one.runs, 3);
  EXPECT_EQ(one.max_abs_error, 2);
  EXPECT_EQ(one.elements(), 12);
  EXPECT_EQ(one.outputs[0].not_finite, 2);
  EXPECT_FALSE(one.passed());
}

constexpr std::string_view kDivision = R"(opset 17
graph g(x: int64[4], y: int64[4]) -> (z: int64[4]) {
  three: int64[] = {3}
  d = Sub(y, three)
  z = Div(x, d)
})";

/// As exporters spell it: a mask of more than ones overflows, and whatever follows is no number.
TEST(Check, FindsADifferenceBehindAMask) {
  const auto model = [](double factor) {
    return *parse_graph(fmt::format(R"(opset 17
graph g(x: float32[2,6,8], mask: int64[2,6]) -> (y: float32[2,6,8]) {{
  one: float32[] = {{1}}
  least: float32[] = {{-3.4028234663852886e+38}}
  axis: int64[1] = {{1}}
  factor: float32[] = {{{}}}
  m = Cast(mask) {{to = 1}}
  open = Sub(one, m)
  scores = Mul(open, least)
  wide = Unsqueeze(scores, axis)
  turned = Transpose(x) {{perm = [0, 2, 1]}}
  products = MatMul(x, turned)
  masked = Add(products, wide)
  weights = Softmax(masked) {{axis = -1}}
  mixed = MatMul(weights, x)
  y = Mul(mixed, factor)
}})",
                                    factor));
  };
  for (const uint64_t seed : {0, 1}) {
    const auto same = check_same(model(1), model(1), {.seed = seed, .runs = 2});
    ASSERT_TRUE(same.ok()) << same.error().message();
    EXPECT_TRUE(same->equivalence.passed() && same->equivalence.uncompared().empty()) << same->equivalence.text();
    const auto other = check_same(model(1), model(3), {.seed = seed, .runs = 2});
    ASSERT_TRUE(other.ok()) << other.error().message();
    EXPECT_FALSE(other->equivalence.passed()) << other->equivalence.text();
  }
}

TEST(Check, TakesOtherSeedsWhereADivisorIsZero) {
  const Graph graph = *parse_graph(kDivision);
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto report = check_same(graph, graph, {.seed = seed});
    ASSERT_TRUE(report.ok()) << report.error().message();
    EXPECT_EQ(report->equivalence.runs, 2);
  }
}

TEST(Check, FindsTheOneInputThatAModelRunsOn) {
  const Graph graph = *parse_graph(R"(opset 17
graph g(x: float32[3], count: int64[]) -> (y) {
  one: int64[] = {1}
  start: int64[] = {0}
  five: float32[5] = all 2
  r = Range(start, count, one)
  f = Cast(r) {to = 1}
  s = Add(f, five)
  t = ReduceSum(s)
  y = Mul(x, t)
})");
  for (const uint64_t seed : {0, 1, 2}) {
    const auto report = check_same(graph, graph, {.seed = seed});
    ASSERT_TRUE(report.ok()) << report.error().message();
    EXPECT_GT(report->equivalence.runs, 0);
  }
}

TEST(Check, RefusesWhatRunsOnNoInputUnlessItIsAsItWas) {
  const Graph graph = *parse_graph(R"(opset 17
graph g(x: int64[4]) -> (z: int64[4]) {
  d: int64[4] = all 0
  z = Div(x, d)
})");
  const Graph other = *parse_graph(R"(opset 17
graph g(x: int64[4]) -> (z: int64[4]) {
  d: int64[4] = all 0
  q = Div(x, d)
  z = Identity(q)
})");
  const auto refused = check_same(graph, other, {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnsupported);
  const auto unchanged = check_same(graph, graph, {});
  ASSERT_TRUE(unchanged.ok()) << unchanged.error().message();
  EXPECT_EQ(unchanged->equivalence.runs, 0);
  EXPECT_EQ(unchanged->lines().front(), "not checked: the model is as it was");
}

constexpr std::string_view kLong = R"(opset 17
graph g(x: float32[n,64,64]) -> (y: float32[n,64,64]) {
  a = MatMul(x, x)
  y = MatMul(a, a)
})";

// As many elements as n = 2 has, where n is anything.
TEST(Check, WhatRefusesInputsOfTheModelDiffers) {
  const Graph model = *parse_graph(
      "opset 17\ngraph g(x: float32[1,n,3]) -> (y) {\n  i: int64[2,1,3] = all 0\n"
      "  a = Transpose(x) {perm = [1,0,2]}\n  y = GatherElements(a, i) {axis = 1}\n}\n");
  const Graph reshaped = *parse_graph(
      "opset 17\ngraph g(x: float32[1,n,3]) -> (y) {\n  s: int64[3] = {2, 1, 3}\n"
      "  y = Reshape(x, s)\n}\n");
  const auto report = check_same(model, reshaped, {});
  ASSERT_TRUE(report.ok()) << report.error().message();
  ASSERT_FALSE(report->equivalence.passed());
  EXPECT_TRUE(report->equivalence.difference->text().starts_with("outputs expected, none found"));
}

TEST(Check, RunsOnceHoweverLittleTimeThereIs) {
  const Graph graph = *parse_graph(kLong);
  const auto report = check_same(graph, graph, {.runs = 100, .seconds = 0});
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_EQ(report->equivalence.runs, 1);
  EXPECT_TRUE(report->out_of_time);
  EXPECT_EQ(report->sizes.size(), 1);
  EXPECT_NE(report->lines().back().find("not on 100"), std::string::npos) << report->lines().back();
}

TEST(Check, EndsWithItsTime) {
  const Graph graph = *parse_graph(kLong);
  const auto start = Clock::now();
  const auto report = check_same(graph, graph, {.runs = 1000000, .seconds = 1});
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_GT(report->equivalence.runs, 1);
  EXPECT_TRUE(report->out_of_time);
  EXPECT_LT(seconds_since(start), 10);
}

/// 2048 sounds of 2048 samples are 256 times the work of one of 16384, and run no further.
TEST(Check, TriesLessWorkFirst) {
  const Graph graph = *parse_graph(R"(opset 17
graph g(x: float32[batch,1,samples]) -> (z) {
  w: float32[16,1,10] = random 1
  v: float32[16,16,8] = random 2
  at: int64[1] = {400}
  a = Conv(x, w) {strides = [4]}
  b = Conv(a, v) {strides = [4]}
  z = Gather(b, at) {axis = 2}
})");
  const auto start = Clock::now();
  const auto report = check_same(graph, graph, {.seconds = 1});
  ASSERT_TRUE(report.ok()) << report.error().message();
  ASSERT_EQ(report->sizes.size(), 1);
  EXPECT_EQ(report->sizes[0].at("batch"), 1);
  EXPECT_EQ(report->sizes[0].at("samples"), 16384);
  EXPECT_LT(seconds_since(start), 20);
}

constexpr std::string_view kWide = R"(opset 17
graph g(x: float32[n,1]) -> (y: float32[n,3000000]) {
  w: float32[1,3000000] = random 1
  y = Mul(x, w)
})";

/// A row takes 24 MB in the interpreter, and a comparison a few of them.
TEST(Check, LeavesOutSizesThatDoNotFit) {
  const Graph graph = *parse_graph(kWide);
  malloc_trim(0);  // what earlier tests left in the heap would be given back in the middle
  const auto report =
      check_same(graph, graph, {.runs = 1, .memory = MemoryLimit{resident_bytes() + (int64_t{160} << 20)}});
  ASSERT_TRUE(report.ok()) << report.error().message();
  ASSERT_EQ(report->sizes.size(), 1);
  EXPECT_EQ(report->sizes[0].at("n"), 1);
  ASSERT_EQ(report->left_out.size(), 3);
  EXPECT_TRUE(report->left_out[0].starts_with("n=2: ")) << report->left_out[0];
  EXPECT_EQ(report->lines().back(), "left out for want of memory: " + report->left_out[0] + " (and 2 other sizes)");
}

TEST(Check, NamesTheFlagsThatHelpWhereNothingFits) {
  const Graph graph = *parse_graph(kWide);
  const auto report = check_same(graph, graph, {.memory = MemoryLimit{1}});
  ASSERT_FALSE(report.ok());
  EXPECT_EQ(report.error().kind, ErrorKind::kUnsupported);
  for (const char* flag : {"--memory SIZE", "--no-check"})
    EXPECT_NE(report.error().message().find(flag), std::string::npos) << report.error().message();
}

TEST(Check, MakesMoreRunsWhereDecisionsAreMade) {
  const auto runs = [](std::string_view last) {
    const auto graph = parse_graph(fmt::format(R"(opset 17
graph g(x: float32[4,4]) -> (y: float32[4,4]) {{
  a = MatMul(x, x)
  y = {}(a)
}})",
                                               last));
    return check_same(*graph, *graph, {})->equivalence.runs;
  };
  EXPECT_EQ(runs("Relu"), 2);
  EXPECT_GT(runs("Sign"), 2);
}

}  // namespace
}  // namespace isomer::test
