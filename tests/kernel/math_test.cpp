// The vector code of elementary functions over all float32 bit patterns (a stride of them, in the short run), against
// libm in double precision; and of divisions by one number.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>
#include <optional>

#include "kernel/hand_made.h"
#include "kernel/run_kernel.h"
#include "runtime/call.h"
#include "runtime/math_table.h"
#include "support/long_run.h"
#include "util/random.h"

namespace isomer::kernel::test {
namespace {

using te::UnaryOp;

struct Function {
  const char* name;
  UnaryOp op;
  double (*exact)(double);
};

void PrintTo(const Function& function, std::ostream* out) { *out << function.name; }

constexpr int64_t kCount = 1 << 14;

/// out[i] = f(in[i]), eight lanes at a time.
Kernel kernel_of(UnaryOp op, DataType dtype = DataType::kFloat32) {
  Kernel kernel;
  kernel.buffers = {{"in", dtype, {kCount}}, {"out", dtype, {kCount}}};
  kernel.inputs = {0};
  kernel.outputs = {1};
  const Expr i = k(0) * 8 + k(1);
  const Block block = assign("f", 1, {i}, te::unary(op, load_buffer(kernel, 0, {i})));
  kernel.body = {loop(0, kCount / 8, LoopKind::kSerial, {loop(1, 8, LoopKind::kVectorized, {Statement{block}})})};
  kernel.next_variable = 2;
  return kernel;
}

/// Kernels run with subnormal floats read and written as zeros.
double flushed(double x) { return std::fabs(x) < 0x1p-126 ? std::copysign(0.0, x) : x; }

/// How far off a float is, in units of the last place of the exact value.
double ulps(double exact, float found) {
  if (std::isnan(exact)) return std::isnan(found) ? 0 : INFINITY;
  const auto nearest = static_cast<float>(exact);
  if (std::isinf(nearest) && found == nearest) return 0;
  if (std::isnan(found) || std::isinf(found) || std::isinf(nearest))
    return std::isinf(nearest) && std::fabs(found) == std::numeric_limits<float>::max() ? 1 : INFINITY;
  if (std::fabs(exact - static_cast<double>(found)) < 0x1p-125) return 0;  // flushed, or made of what was
  const double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
  return std::fabs(exact - static_cast<double>(found)) / unit;
}

class Elementary : public testing::TestWithParam<std::tuple<Function, const char*>> {};

TEST_P(Elementary, IsNearToTheFunction) {
  const auto& [function, cpu] = GetParam();
  const CpuTarget target = *parse_cpu_target(cpu);
  if (!runs_here(target)) GTEST_SKIP() << "this machine can't run code for " << cpu;
  const MachineCode code = *compile(kernel_of(function.op), target);
  const auto memory = *runtime::Memory::allocate(2 * kCount * 4);
  const auto image = runtime::ExecutableMemory::copy_of(code.image);
  ASSERT_TRUE(image.ok());
  auto* const in = reinterpret_cast<float*>(memory.data());
  float* const out = in + kCount;
  void* buffers[] = {in, out};
  runtime::Frame frame{buffers, nullptr, nullptr, nullptr, runtime::math_table(), 0};
  // A stride that is prime reaches all exponents and mantissas of all forms.
  const uint64_t stride = isomer::test::is_long_run() ? 7 : 1009;
  double worst = 0;
  float worst_at = 0;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32;) {
    for (int64_t i = 0; i < kCount; ++i, bits += stride) in[i] = std::bit_cast<float>(static_cast<uint32_t>(bits));
    ASSERT_EQ(runtime::call(*image, code.kernels[0][0], frame, 0, 1), runtime::Outcome::kDone);
    for (int64_t i = 0; i < kCount; ++i) {
      const double off = ulps(function.exact(flushed(in[i])), out[i]);
      if (off > worst) worst = off, worst_at = in[i];
    }
  }
  RecordProperty("ulps", std::to_string(worst));
  EXPECT_LE(worst, 2) << "at " << worst_at;
  EXPECT_GT(worst, 0.4) << "the test sees nothing";
}

TEST_P(Elementary, IsRightAtItsEnds) {
  const auto& [function, cpu] = GetParam();
  const CpuTarget target = *parse_cpu_target(cpu);
  if (!runs_here(target)) GTEST_SKIP() << "this machine can't run code for " << cpu;
  std::vector<float> points = {0.0f,      -0.0f,     INFINITY,   -INFINITY,  NAN, 1,       -1,   88.72284f, 88.7229f,
                               89,        1000,      3e38f,      -87.33655f, -88, -103.9f, -104, -1000,     -3e38f,
                               0x1p-149f, 0x1p-126f, -0x1p-149f, 9,          -9,  4,       -4};
  points.resize(kCount, 0);
  std::vector<std::byte> bytes(kCount * 4);
  std::memcpy(bytes.data(), points.data(), bytes.size());
  const auto found = run(kernel_of(function.op), {Tensor(DataType::kFloat32, {kCount}, bytes)}, target);
  ASSERT_TRUE(found.ok()) << found.error().message();
  for (int64_t i = 0; i < 25; ++i) {
    const double exact = function.exact(flushed(points[i]));
    const double value = found->outputs[0].real(i);
    EXPECT_LE(ulps(exact, static_cast<float>(value)), 2) << points[i] << ": " << value << " instead of " << exact;
    EXPECT_TRUE(exact != 0 || std::signbit(exact) == std::signbit(value)) << points[i];
  }
}

/// Those of doubles that have vector code, beside libm in extended precision.
struct DoubleFunction {
  const char* name;
  UnaryOp op;
  long double (*exact)(long double);
};

void PrintTo(const DoubleFunction& function, std::ostream* out) { *out << function.name; }

class OfDoubles : public testing::TestWithParam<std::tuple<DoubleFunction, const char*>> {};

TEST_P(OfDoubles, IsNearToTheFunction) {
  const auto& [function, cpu] = GetParam();
  const CpuTarget target = *parse_cpu_target(cpu);
  if (!runs_here(target)) GTEST_SKIP() << "this machine can't run code for " << cpu;
  std::vector<double> points = {0.0,
                                -0.0,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                1,
                                -1,
                                709.782712893384,
                                709.7827128933841,
                                710,
                                1e308,
                                -708.3964185322641,
                                -708.39641853226,
                                -709,
                                -745,
                                -1e308,
                                0x1p-1022,
                                -0x1p-1022,
                                20,
                                -20,
                                0.5 * std::numbers::ln2,
                                1.5 * std::numbers::ln2,
                                std::numbers::sqrt2,
                                0.5 * std::numbers::sqrt2};
  Random random(3);
  while (std::ssize(points) < kCount) {
    points.push_back(std::bit_cast<double>(random.next()));  // any exponent
    points.push_back(random.uniform(-750, 750));
    points.push_back(1 + random.uniform(-1, 1) * std::exp2(-random.uniform(0, 52)));
    points.push_back(random.uniform(-1, 1) * std::exp2(-random.uniform(0, 60)));
  }
  points.resize(kCount);
  const auto found = run(kernel_of(function.op, DataType::kFloat64),
                         {Tensor::from_doubles(DataType::kFloat64, {kCount}, points)}, target);
  ASSERT_TRUE(found.ok()) << found.error().message();
  constexpr double kLeast = std::numeric_limits<double>::min();
  const auto flush = [](double x) { return std::fabs(x) < kLeast ? std::copysign(0.0, x) : x; };
  double worst = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const double x = flush(points[static_cast<size_t>(i)]), value = found->outputs[0].real(i);
    const long double exact = function.exact(x);
    const auto nearest = static_cast<double>(exact);
    if (std::isnan(nearest) || std::isinf(nearest)) {
      EXPECT_TRUE(std::isnan(nearest) ? std::isnan(value) : value == nearest) << x << ": " << value;
    } else if (std::fabs(nearest) < 2 * kLeast) {
      EXPECT_LE(std::fabs(value), 2 * kLeast) << x;  // flushed, or made of what was
    } else {
      const long double unit = std::ldexp(1.0L, std::ilogb(nearest) - 52);
      const auto off = static_cast<double>(std::fabs(exact - static_cast<long double>(value)) / unit);
      EXPECT_LE(off, 2) << x << ": " << value << " instead of " << nearest;
      worst = std::max(worst, off);
    }
    EXPECT_TRUE(nearest != 0 || std::signbit(value) == std::signbit(nearest)) << x;
  }
  EXPECT_GT(worst, 0.4) << "the test sees nothing";
}

INSTANTIATE_TEST_SUITE_P(Functions, OfDoubles,
                         testing::Combine(testing::Values(DoubleFunction{"exp", UnaryOp::kExp, std::exp},
                                                          DoubleFunction{"log", UnaryOp::kLog, std::log},
                                                          DoubleFunction{"tanh", UnaryOp::kTanh, std::tanh}),
                                          testing::Values("cpu=x86-64", "cpu=haswell", "cpu=skylake-avx512")),
                         [](const auto& info) {
                           std::string name =
                               std::string(std::get<0>(info.param).name) + "_" + (std::get<1>(info.param) + 4);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

INSTANTIATE_TEST_SUITE_P(
    Functions, Elementary,
    testing::Combine(
        testing::Values(Function{"exp", UnaryOp::kExp, std::exp}, Function{"log", UnaryOp::kLog, std::log},
                        Function{"tanh", UnaryOp::kTanh, std::tanh}, Function{"erf", UnaryOp::kErf, std::erf},
                        Function{"sqrt", UnaryOp::kSqrt, std::sqrt}, Function{"sin", UnaryOp::kSin, std::sin},
                        Function{"cos", UnaryOp::kCos, std::cos}, Function{"tan", UnaryOp::kTan, std::tan},
                        Function{"asin", UnaryOp::kAsin, std::asin}, Function{"acos", UnaryOp::kAcos, std::acos},
                        Function{"atan", UnaryOp::kAtan, std::atan}, Function{"sinh", UnaryOp::kSinh, std::sinh},
                        Function{"cosh", UnaryOp::kCosh, std::cosh}, Function{"asinh", UnaryOp::kAsinh, std::asinh},
                        Function{"acosh", UnaryOp::kAcosh, std::acosh}, Function{"atanh", UnaryOp::kAtanh, std::atanh}),
        testing::Values("cpu=x86-64", "cpu=haswell", "cpu=skylake-avx512")),
    [](const auto& info) {
      std::string name = std::string(std::get<0>(info.param).name) + "_" + (std::get<1>(info.param) + 4);
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    });

/// out[i] = f(x[i], y[i]), or f(x[i], y) with a `y` that all have.
Kernel kernel_of(Expr (*function)(const Expr&, const Expr&), std::optional<float> y) {
  Kernel kernel;
  kernel.buffers = {
      {"x", DataType::kFloat32, {kCount}}, {"y", DataType::kFloat32, {kCount}}, {"out", DataType::kFloat32, {kCount}}};
  kernel.inputs = {0, 1};
  kernel.outputs = {2};
  const Expr i = k(0) * 8 + k(1);
  const Expr second = y ? te::literal(te::Number(*y), DataType::kFloat32) : load_buffer(kernel, 1, {i});
  const Block block = assign("f", 2, {i}, function(load_buffer(kernel, 0, {i}), second));
  kernel.body = {loop(0, kCount / 8, LoopKind::kSerial, {loop(1, 8, LoopKind::kVectorized, {Statement{block}})})};
  kernel.next_variable = 2;
  return kernel;
}

/// A function of two arguments, with its exact value, and how many units in the last place code may be off.
struct Function2 {
  const char* symbol;
  Expr (*function)(const Expr&, const Expr&);
  double (*exact)(double, double);
  double ulps;
};

Expr remainder(const Expr& x, const Expr& y) { return te::binary(te::BinaryOp::kTruncMod, x, y); }
Expr power(const Expr& x, const Expr& y) { return te::pow(x, y); }
constexpr Function2 kPower{"^", power, std::pow, 1}, kRemainder{"mod", remainder, std::fmod, 0};

const std::vector<float> kEnds = {
    0.0f,      -0.0f,      INFINITY,  -INFINITY,   NAN,        1,      -1,       2,        -2,    3,
    -3,        0.5f,       -0.5f,     1.0f / 3,    2.5f,       -2.5f,  16777215, 16777216, 3e38f, -3e38f,
    0x1p-126f, -0x1p-126f, 0x1p-149f, 0.99999994f, 1.0000001f, 1e-30f, -7,       127,      128,   -150};

float any_float(Random& random) { return std::bit_cast<float>(static_cast<uint32_t>(random.next())); }

class TwoArguments : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!runs_here(*parse_cpu_target(GetParam()))) GTEST_SKIP() << "this machine can't run code for " << GetParam();
  }

  void expect_values(const Function2& f, std::optional<float> second, const std::vector<float>& x,
                     const std::vector<float>& y) {
    const CpuTarget target = *parse_cpu_target(GetParam());
    const auto tensor = [](const std::vector<float>& values) {
      std::vector<std::byte> bytes(values.size() * 4);
      std::memcpy(bytes.data(), values.data(), bytes.size());
      return Tensor(DataType::kFloat32, {kCount}, bytes);
    };
    const auto found = run(kernel_of(f.function, second), {tensor(x), tensor(y)}, target);
    ASSERT_TRUE(found.ok()) << found.error().message();
    for (int64_t i = 0; i < kCount; ++i) {
      const double exact = flushed(f.exact(flushed(x[i]), flushed(y[i])));
      const double value = found->outputs[0].real(i);
      ASSERT_LE(ulps(exact, static_cast<float>(value)), f.ulps)
          << x[i] << " " << f.symbol << " " << y[i] << ": " << value << " instead of " << exact;
      ASSERT_TRUE(exact != 0 || std::signbit(exact) == std::signbit(value)) << x[i] << " " << f.symbol << " " << y[i];
    }
  }

  /// Of all pairs of kEnds.
  void expect_values_at_ends(const Function2& f) {
    std::vector<float> x(kCount, 1), y(kCount, 1);
    for (size_t i = 0; i < kEnds.size(); ++i)
      for (size_t j = 0; j < kEnds.size(); ++j) {
        x[i * kEnds.size() + j] = kEnds[i];
        y[i * kEnds.size() + j] = kEnds[j];
      }
    expect_values(f, std::nullopt, x, y);
  }

  const int rounds_ = isomer::test::is_long_run() ? 1000 : 20;
  Random random_{3};
};

TEST_P(TwoArguments, HavePowersNearToTheFunction) {
  ASSERT_NO_FATAL_FAILURE(expect_values_at_ends(kPower));
  std::vector<float> x(kCount), y(kCount);
  for (int round = 0; round < rounds_; ++round) {
    for (int64_t i = 0; i < kCount; ++i) {
      x[i] = any_float(random_);
      y[i] = static_cast<float>(random_.uniform(-1, 1) *
                                std::min<double>(1e9, 130 / std::fabs(std::log2(std::fabs(x[i])))));
    }
    ASSERT_NO_FATAL_FAILURE(expect_values(kPower, std::nullopt, x, y));
  }
  for (const float exponent : {-1.0f, -0.5f, 1.0f / 3, 1.7f, 2.2f, 5.0f, -3.0f, 100.0f}) {
    for (int64_t i = 0; i < kCount; ++i) {
      x[i] = any_float(random_);
      y[i] = exponent;
    }
    ASSERT_NO_FATAL_FAILURE(expect_values(kPower, exponent, x, y));
  }
}

TEST_P(TwoArguments, HaveExactRemainders) {
  ASSERT_NO_FATAL_FAILURE(expect_values_at_ends(kRemainder));
  std::vector<float> x(kCount), y(kCount);
  for (int round = 0; round < rounds_; ++round) {
    for (int64_t i = 0; i < kCount; ++i) {
      y[i] = any_float(random_);
      // Quotients of all sizes, many near an integer.
      const double quotient = std::exp2(random_.uniform(-2, round % 2 ? 28 : 40));
      x[i] = static_cast<float>(i % 2 ? y[i] * std::round(quotient) : y[i] * quotient);
      if (i % 3 == 0) x[i] = std::nextafter(x[i], 0.0f);
    }
    ASSERT_NO_FATAL_FAILURE(expect_values(kRemainder, std::nullopt, x, y));
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, TwoArguments, testing::Values("cpu=x86-64", "cpu=haswell", "cpu=skylake-avx512"),
                         [](const auto& info) {
                           std::string name = info.param + 4;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// out[i] = in[i] / divisor, eight lanes at a time; the divisor is a literal, or an integer that data decide.
Kernel quotients(DataType dtype, std::optional<double> literal) {
  Kernel kernel;
  kernel.buffers = {{"in", dtype, {kCount}}, {"n", DataType::kInt64, {1}}, {"out", dtype, {kCount}}};
  kernel.inputs = {0, 1};
  kernel.outputs = {2};
  const Expr i = k(0) * 8 + k(1);
  const Expr divisor = literal ? te::literal(*literal, dtype) : te::cast(dtype, load_buffer(kernel, 1, {te::index(0)}));
  const Block block = assign("quotient", 2, {i}, load_buffer(kernel, 0, {i}) / divisor);
  kernel.body = {loop(0, kCount / 8, LoopKind::kSerial, {loop(1, 8, LoopKind::kVectorized, {Statement{block}})})};
  kernel.next_variable = 2;
  return kernel;
}

/// Multiples of the divisor, which Floor and casts to integers look at; numbers of all sizes; none.
std::vector<double> dividends(double divisor, DataType dtype) {
  std::vector<double> result = {0, -0.0, 1, -1, INFINITY, -INFINITY, NAN, 3e38};
  Random random(7);
  while (result.size() < kCount)
    result.push_back(result.size() % 2 == 0
                         ? divisor * static_cast<double>(random.between(-4096, 4096))
                         : random.uniform(-1, 1) * std::ldexp(1.0, static_cast<int>(random.between(-60, 60))));
  if (dtype == DataType::kFloat32)
    for (double& x : result) x = static_cast<float>(x);
  return result;
}

TEST(Quotient, ByOneNumberIsRoundedAsADivision) {
  for (const char* cpu : {"cpu=x86-64-v2", "cpu=haswell", "cpu=skylake-avx512", "cpu=host"})
    for (const DataType dtype : {DataType::kFloat32, DataType::kFloat64})
      for (const bool is_literal : {true, false})
        for (const double divisor :
             {3.0, 7.0, 8.0, 10.0, 41.0, 49.0, 55.0, 97.0, 255.0, -6.0, 16777213.0, 0.0, 0.1, 0.3, 1e-20, 3e29}) {
          if (!is_literal && divisor != std::round(divisor)) continue;
          if (is_literal && divisor == 0) continue;
          if (!is_literal && divisor > 0x1p53) continue;
          SCOPED_TRACE(testing::Message()
                       << cpu << " " << name(dtype) << " / " << divisor << (is_literal ? "" : ", an integer"));
          const auto target = parse_cpu_target(cpu);
          if (!target.ok() || !runs_here(*target)) continue;
          const double rounded = dtype == DataType::kFloat32 ? static_cast<float>(divisor) : divisor;
          const std::vector<double> values = dividends(rounded, dtype);
          const Tensor in = Tensor::from_doubles(dtype, {kCount}, values);
          const Tensor n = Tensor::from_ints(DataType::kInt64, {1},
                                             std::vector<int64_t>{is_literal ? 0 : static_cast<int64_t>(divisor)});
          const auto found =
              run(quotients(dtype, is_literal ? std::optional(divisor) : std::nullopt), {in, n}, *target);
          ASSERT_TRUE(found.ok()) << found.error().message();
          for (int64_t i = 0; i < kCount; ++i) {
            const double x = values[static_cast<size_t>(i)];
            const double exact =
                dtype == DataType::kFloat32 ? static_cast<float>(x) / static_cast<float>(rounded) : x / rounded;
            const double real = found->outputs[0].real(i);
            // What is lost below the smallest normal number of float32 is not looked at.
            if (dtype == DataType::kFloat32 && std::fabs(exact) < 0x1p-100 &&
                std::fabs(real - exact) <= 0x1p-22 * std::fabs(exact) + 0x1p-126)
              continue;
            const bool is_same = real == exact && std::signbit(real) == std::signbit(exact);
            ASSERT_TRUE(is_same || (std::isnan(real) && std::isnan(exact)))
                << x << ": " << exact << " expected, " << real << " found";
          }
        }
}

}  // namespace
}  // namespace isomer::kernel::test
