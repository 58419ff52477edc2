// Rows that choose: TopK and NonMaxSuppression against plain loops, in the interpreter and as code.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "graph/interpret.h"
#include "search/expect_same.h"

namespace isomer::test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Few different values, NaN, infinities and zeros of both signs among them.
Array with_ties(Dims dims, Random& random) {
  const std::vector<double> values = {-2, -1, -0.0, 0.0, 1, 2, 3, kInfinity, -kInfinity, std::nan("")};
  std::vector<double> elements(element_count(dims));
  for (double& element : elements) element = values[random.below(values.size())];
  return Array::reals(DataType::kFloat32, std::move(dims), elements);
}

/// NaN is above all numbers.
bool is_less(double a, double b) { return std::isnan(a) ? false : std::isnan(b) || a < b; }

/// The positions of the k first elements of row `row` of x: [rows,n].
std::vector<int64_t> first_of(const Array& x, int64_t row, int64_t n, int64_t k, bool largest) {
  std::vector<int64_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    const double left = x.real(row * n + a), right = x.real(row * n + b);
    if (is_less(left, right)) return !largest;
    if (is_less(right, left)) return largest;
    return a < b;
  });
  order.resize(k);
  return order;
}

TEST(Selection, TopKOfLongRows) {
  Random random(1);
  for (const int64_t n : {7, 128, 131, 300})
    for (const bool largest : {true, false})
      for (const int64_t k : {int64_t{0}, int64_t{1}, n / 5, n / 4, n}) {
        SCOPED_TRACE(fmt::format("{} of {}, {}", k, n, largest ? "largest" : "smallest"));
        const std::string text = fmt::format(
            "opset 18\ngraph g(x: float32[3,{}]) -> (v, i) {{\n  k: int64[1] = {{{}}}\n"
            "  v, i = TopK(x, k) {{largest = {}}}\n}}\n",
            n, k, largest ? 1 : 0);
        std::vector<Arrays> inputs;
        for (int draw = 0; draw < 3; ++draw)
          inputs.push_back({draw == 0 ? floats({3, n}, n) : with_ties({3, n}, random)});
        expect_same(text, inputs);
        for (const Arrays& given : inputs) {
          const auto found = interpret(parsed(text), given, {});
          ASSERT_TRUE(found.ok()) << found.error().message();
          for (int64_t row = 0; row < 3; ++row) {
            const std::vector<int64_t> expected = first_of(given[0], row, n, k, largest);
            for (int64_t i = 0; i < k; ++i)
              ASSERT_EQ((*found)[1].integer(row * k + i), expected[i]) << row << ", " << i;
          }
        }
      }
}

TEST(Selection, TopKOfAnotherAxisAndOtherTypes) {
  Random random(2);
  expect_same(
      "opset 18\ngraph g(x: float32[2,150,5]) -> (v, i) {\n  k: int64[1] = {7}\n  v, i = TopK(x, k) {axis = 1}\n}\n",
      {{floats({2, 150, 5}, 3)}, {with_ties({2, 150, 5}, random)}});
  std::vector<int64_t> numbers(3 * 200);
  for (int64_t& number : numbers) number = static_cast<int64_t>(random.below(50)) - 25;
  for (const int largest : {0, 1})
    expect_same(fmt::format("opset 18\ngraph g(x: int32[3,200]) -> (v, i) {{\n  k: int64[1] = {{9}}\n"
                            "  v, i = TopK(x, k) {{largest = {}}}\n}}\n",
                            largest),
                {{Array::integers(DataType::kInt32, {3, 200}, numbers)}});
}

/// A K that data decide may be any of a long row's, all of it too.
TEST(Selection, TopKOfALongRowByData) {
  Random random(3);
  std::vector<Arrays> inputs;
  for (const int64_t k : {0, 1, 15, 16, 17, 120, 127, 128, 129, 131}) {
    const std::vector<int64_t> count = {k};
    inputs.push_back({with_ties({2, 131}, random), Array::integers(DataType::kInt64, {1}, count)});
  }
  expect_same("opset 18\ngraph g(x: float32[2,131], k: int64[1]) -> (v, i) {\n  v, i = TopK(x, k)\n}\n", inputs);
}

/// As the operator's description has it, with as many comparisons as it takes.
std::vector<int64_t> suppressed(const Array& boxes, const Array& scores, int64_t most, double overlap, double least) {
  const int64_t classes = scores.dims()[1], count = scores.dims()[2];
  const auto coordinate = [&](int64_t box, int64_t k) { return static_cast<float>(boxes.real(box * 4 + k)); };
  std::vector<int64_t> triples;
  for (int64_t kind = 0; kind < classes; ++kind) {
    const auto score = [&](int64_t box) { return scores.real(kind * count + box); };
    std::vector<int64_t> order, kept;
    for (int64_t box = 0; box < count; ++box)
      if (score(box) > least) order.push_back(box);
    std::sort(order.begin(), order.end(),
              [&](int64_t a, int64_t b) { return score(a) != score(b) ? score(a) > score(b) : a < b; });
    for (const int64_t box : order) {
      const bool is_free = std::none_of(kept.begin(), kept.end(), [&](int64_t other) {
        float common = 1, areas = 0;
        for (const int64_t k : {0, 1})
          common *= std::max(0.0f, std::min(coordinate(box, k + 2), coordinate(other, k + 2)) -
                                       std::max(coordinate(box, k), coordinate(other, k)));
        for (const int64_t one : {box, other})
          areas += (coordinate(one, 2) - coordinate(one, 0)) * (coordinate(one, 3) - coordinate(one, 1));
        return common > static_cast<float>(overlap) * (areas - common);
      });
      if (!is_free || static_cast<int64_t>(kept.size()) >= most) continue;
      kept.push_back(box);
      triples.insert(triples.end(), {0, kind, box});
    }
  }
  return triples;
}

TEST(Selection, BoxesThatOverlap) {
  Random random(4);
  for (const int64_t most : {0, 1, 5, 60})
    for (const double least : {-1.0, 0.5, 2.0}) {
      SCOPED_TRACE(fmt::format("at most {} with scores above {}", most, least));
      constexpr int64_t kBoxes = 60, kClasses = 3;
      std::vector<double> corners, scores(kClasses * kBoxes);
      for (int64_t box = 0; box < kBoxes; ++box) {
        const double top = std::floor(random.uniform(0, 16)), left = std::floor(random.uniform(0, 16));
        for (const double corner :
             {top, left, top + std::ceil(random.uniform(0, 8)), left + std::ceil(random.uniform(0, 8))})
          corners.push_back(corner / 16);
      }
      for (double& score : scores) score = std::floor(random.uniform(0, 32)) / 32;
      const Array boxes = Array::reals(DataType::kFloat32, {1, kBoxes, 4}, corners);
      const Array given = Array::reals(DataType::kFloat32, {1, kClasses, kBoxes}, scores);
      const std::string text = fmt::format(
          "opset 18\ngraph g(b: float32[1,{},4], s: float32[1,{},{}]) -> (y) {{\n  most: int64[1] = {{{}}}\n"
          "  overlap: float32[1] = {{0.25}}\n  least: float32[1] = {{{}}}\n"
          "  y = NonMaxSuppression(b, s, most, overlap, least)\n}}\n",
          kBoxes, kClasses, kBoxes, most, least);
      expect_same(text, {{boxes, given}});
      const auto found = interpret(parsed(text), Arrays{boxes, given}, {});
      ASSERT_TRUE(found.ok()) << found.error().message();
      const std::vector<int64_t> expected = suppressed(boxes, given, most, 0.25, least);
      ASSERT_EQ(found->front().dims(), (Dims{static_cast<int64_t>(expected.size()) / 3, 3}));
      for (size_t i = 0; i < expected.size(); ++i)
        ASSERT_EQ(found->front().integer(static_cast<int64_t>(i)), expected[i]);
    }
}

}  // namespace
}  // namespace isomer::test
