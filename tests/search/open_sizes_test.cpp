// Sizes that data decide, in what comes behind them: against the interpreter, for results of any number of rows.
#include "search/code/prepare.h"
#include "search/expect_same.h"
#include "search/tasks/open_rows.h"
#include "support/long_run.h"

namespace isomer::test {
namespace {

/// 6x4, with rows that are chosen by the sign of their first element: some, all and none.
std::vector<Arrays> rows() {
  std::vector<Arrays> inputs;
  for (const uint64_t seed : {1, 2, 3}) {
    Array x = floats({6, 4}, seed);
    inputs.push_back({x});
  }
  for (const double sign : {1.0, -1.0})
    inputs.push_back({Array::reals(DataType::kFloat32, {6, 4}, std::vector<double>(24, sign))});
  return inputs;
}

/// The chosen rows as `r: [n,4]`, then the text.
std::string behind_rows(std::string_view outputs, std::string_view text) {
  return fmt::format(R"(opset 18
graph g(x: float32[6,4]) -> ({}) {{
  zero: float32[] = {{0}}
  first: int64[1] = {{0}}
  last: int64[1] = {{1}}
  one: int64[1] = {{1}}
  two: int64[1] = {{2}}
  minus: int64[1] = {{-1}}
  c = Slice(x, first, last, one)
  k = Squeeze(c, one)
  p = Greater(k, zero)
  r = Compress(x, p) {{axis = 0}}
{}
}}
)",
                     outputs, text);
}

/// As it is, and as `compile` prepares it.
void expect_same_prepared(std::string_view text, const std::vector<Arrays>& inputs) {
  const Graph graph = parsed(text);
  expect_same(graph, graph, inputs);
  Graph prepared = graph;
  const auto done = search::prepare_for_code(prepared, {});
  ASSERT_TRUE(done.ok()) << done.error().message();
  expect_same(graph, prepared, inputs);
}

void expect_same_rows(std::string_view outputs, std::string_view text) {
  expect_same_prepared(behind_rows(outputs, text), rows());
}

/// How many loops over some rows at a time there are.
int loops_of(std::string_view text) {
  Graph graph = parsed(text);
  const auto loops = search::compute_some_rows_at_a_time(graph);
  CHECK(loops.ok()) << loops.error().message();
  return *loops;
}

TEST(OpenSizes, Maps) {
  expect_same_rows("a, b, d, e", R"(
  a = Exp(r)
  w: float32[4] = random 1
  m = Mul(r, w)
  b = Relu(m)
  d = Transpose(m) {perm = [1,0]}
  e = Cast(r) {to = 7})");
}

TEST(OpenSizes, ProductsAndRows) {
  expect_same_rows("a, b, d, e, f", R"(
  w: float32[4,5] = random 1
  v: float32[6,3] = random 2
  a = MatMul(r, w)
  b = Softmax(a) {axis = 1}
  t = Transpose(r) {perm = [1,0]}
  d = MatMul(r, t)
  e = Gemm(t, r)
  f = LayerNormalization(a, g) {axis = -1}
  g: float32[5] = random 3)");
}

TEST(OpenSizes, SumsOverThem) {
  expect_same_rows("a, b, d", R"(
  a = ReduceSum(r, first) {keepdims = 0}
  b = ReduceMean(r, one)
  d = CumSum(r, first))");
}

TEST(OpenSizes, Movements) {
  expect_same_rows("a, b, d, e, f, h, i, j", R"(
  a = Concat(r, x, r) {axis = 0}
  b = Unsqueeze(r, one)
  flat = Concat(minus) {axis = 0}
  d = Reshape(r, flat)
  pair = Concat(minus, two) {axis = 0}
  e = Reshape(r, pair)
  times: int64[2] = {2,1}
  f = Tile(r, times)
  pads: int64[4] = {1,0,2,1}
  h = Pad(r, pads)
  order: int64[3] = {3,0,1}
  i = Gather(r, order) {axis = 1}
  j = Slice(r, last, two, one))");
}

TEST(OpenSizes, ShapesThatAreValues) {
  expect_same_rows("s, n, a, b, d", R"(
  s = Shape(r)
  n = Size(r)
  a = ConstantOfShape(s)
  begin: int64[] = {0}
  step: int64[] = {1}
  rows = Gather(s, begin)
  b = Range(begin, rows, step)
  wide = Unsqueeze(b, one)
  f = Cast(wide) {to = 1}
  d = Add(r, f))");
}

TEST(OpenSizes, TwoOfThem) {
  expect_same_rows("a, b, d", R"(
  q = Not(p)
  others = Compress(x, q) {axis = 0}
  a = Concat(r, others) {axis = 0}
  t = Transpose(others) {perm = [1,0]}
  b = MatMul(r, t)
  i = Unsqueeze(r, one)
  j = Unsqueeze(others, first)
  d = Sub(i, j))");
}

TEST(OpenSizes, PlacesAndUpdates) {
  expect_same_rows("places, y, z, u", R"(
  places = NonZero(p)
  at = Transpose(places) {perm = [1,0]}
  y = GatherND(x, at)
  z = ScatterND(x, at, doubled)
  doubled = Add(y, y)
  values, indices, inverse, counts = Unique(y)
  u = Exp(values))");
}

TEST(OpenSizes, ImperativeOnesReadThem) {
  expect_same_rows("values, places, k2, m", R"(
  three: int64[1] = {2}
  values, places = TopK(x, count) {axis = 0}
  s = Shape(r)
  rows = Gather(s, first)
  count = Min(rows, three)
  k2 = NonZero(r)
  m = Unique(r))");
}

constexpr std::string_view kDetector = R"(opset 18
graph g(x: float32[1,3,12,12], boxes: float32[5,4], scores: float32[1,1,5]) -> (y, z, chosen) {
  first: int64[1] = {0}
  one: int64[1] = {1}
  two: int64[1] = {2}
  many: int64[] = {4}
  overlap: float32[] = {0.5}
  threshold: float32[] = {0.1}
  grouped = Unsqueeze(boxes, first)
  kept = NonMaxSuppression(grouped, scores, many, overlap, threshold)
  three: int64[1] = {3}
  columns = Slice(kept, two, three, one)
  places = Squeeze(columns, one)
  chosen = Gather(boxes, places)
  zero: int64[] = {0}
  of = Mul(places, zero)
  crops = RoiAlign(x, chosen, of) {output_height = 4, output_width = 4, sampling_ratio = 2, spatial_scale = 1.0}
  w: float32[32,3,3,3] = random 1
  b: float32[32] = random 2
  c = Conv(crops, w, b) {pads = [1,1,1,1]}
  a = Relu(c)
  m = MaxPool(a) {kernel_shape = [2,2], strides = [2,2]}
  z = GlobalAveragePool(m)
  flat = Flatten(m)
  v: float32[128,7] = random 3
  u = MatMul(flat, v)
  y = Softmax(u)
}
)";

/// K is a number of what the data are.
TEST(OpenSizes, DataDecideHowManyAreChosen) {
  expect_same_rows("values, places, e, only", R"(
  n = Cast(p) {to = 7}
  many = ReduceSum(n)
  values, places = TopK(x, many) {axis = 0}
  e = Exp(values)
  scalar = ReduceSum(n) {keepdims = 0}
  flat = Reshape(scalar, one)
  _, only = TopK(r, flat) {axis = 0, largest = 0})");
}

/// Numbers that no shape is made of: of either sign, beyond the ends.
TEST(OpenSizes, DataDecideWhereAndHowFar) {
  const std::string text = R"(opset 18
graph g(x: float32[6,4], from: int64[1], to: int64[1], step: int64[]) -> (a, b, d, e, f) {
  first: int64[1] = {0}
  back: int64[1] = {-1}
  a = Slice(x, from, to, first)
  b = Slice(x, from, to, first, back)
  begin = Squeeze(from)
  end = Squeeze(to)
  one: int64[] = {1}
  d = Range(begin, end, one)
  size = Abs(to)
  row: float32[1] = {2.5}
  e = Expand(row, size)
  f = Exp(a)
}
)";
  std::vector<Arrays> inputs;
  const auto one = [](int64_t value) { return Array::integers(DataType::kInt64, {1}, {&value, 1}); };
  for (const auto& [from, to] : {std::pair(0, 6), std::pair(1, 3), std::pair(-2, 9), std::pair(4, 2), std::pair(5, -7),
                                 std::pair(-100, -1), std::pair(3, 3)})
    inputs.push_back({floats({6, 4}, 1), one(from), one(to), scalar(1)});
  expect_same_prepared(text, inputs);
}

TEST(OpenSizes, BatchesOfImages) {
  std::vector<Arrays> inputs;
  for (const uint64_t seed : {1, 2, 3, 4}) {
    Random random(seed);
    std::vector<double> boxes, scores;
    for (int k = 0; k < 5; ++k) {
      const double x = std::floor(random.uniform(0, 6)), y = std::floor(random.uniform(0, 6));
      boxes.insert(boxes.end(), {x, y, x + 4, y + 3});
      scores.push_back(seed == 4 ? 0 : static_cast<float>(random.uniform(0, 1)));  // none at last
    }
    inputs.push_back({floats({1, 3, 12, 12}, seed), Array::reals(DataType::kFloat32, {5, 4}, boxes),
                      Array::reals(DataType::kFloat32, {1, 1, 5}, scores)});
  }
  expect_same_prepared(kDetector, inputs);
  EXPECT_EQ(loops_of(kDetector), 1);
}

/// What is behind a sum over all rows can't be in the loop before it; what is little work is in none, and rows that are
/// vectors have tiles in common.
TEST(OpenSizes, LoopsEndWhereRowsMeet) {
  constexpr std::string_view kText = R"(
  w: float32[4,3000] = random 1
  v: float32[3000,5] = random 2
  t = Unsqueeze(r, one)
  a = MatMul(t, w)
  h = MatMul(a, v)
  middle = ReduceMean(h, first)
  centered = Sub(h, middle)
  u: float32[5,3000] = random 3
  y = MatMul(centered, u)
  e = Exp(r))";
  expect_same_rows("y, e", kText);
  EXPECT_EQ(loops_of(behind_rows("y, e", kText)), 2);
  EXPECT_EQ(loops_of(behind_rows("e", "  e = Exp(r)")), 0);
  EXPECT_EQ(loops_of(behind_rows("a", "  w: float32[4,3000] = random 1\n  a = MatMul(r, w)")), 0);
  // The sum reads across rows, and so does the product of rows with each other.
  EXPECT_EQ(loops_of(behind_rows("e", "  e = CumSum(r, first)")), 0);
}

/// Of two numbers of rows, each loop would wait for the other: one of them is made.
TEST(OpenSizes, LoopsDoNotWaitForEachOther) {
  constexpr std::string_view kText = R"(
  q = Not(p)
  s = Compress(x, q) {axis = 0}
  w: float32[4,3000] = random 1
  t = Unsqueeze(r, one)
  u = Unsqueeze(s, one)
  a1 = MatMul(t, w)
  b2 = MatMul(u, w)
  sum1 = ReduceSum(a1, first) {keepdims = 0}
  sum2 = ReduceSum(b2, first) {keepdims = 0}
  a2 = Add(r2, sum2)
  b1 = Add(s2, sum1)
  r2 = MatMul(t, w)
  s2 = MatMul(u, w)
  y = ReduceSum(a2, first) {keepdims = 0}
  z = ReduceSum(b1, first) {keepdims = 0})";
  expect_same_rows("y, z", kText);
  EXPECT_GE(loops_of(behind_rows("y, z", kText)), 1);
}

/// More rows than are computed at a time, whole blocks of them and one more.
TEST(OpenSizes, ManyRows) {
  const std::string text = R"(opset 18
graph g(x: float32[20,4], p: bool[20]) -> (y) {
  one: int64[1] = {1}
  r = Compress(x, p) {axis = 0}
  t = Unsqueeze(r, one)
  w: float32[4,3000] = random 1
  y = MatMul(t, w)
}
)";
  EXPECT_EQ(loops_of(text), 1);
  std::vector<Arrays> inputs;
  for (const int64_t count : {0, 1, 15, 16, 17, 20}) {
    std::vector<int64_t> chosen(20);
    for (int64_t k = 0; k < count; ++k) chosen[static_cast<size_t>(19 - k)] = 1;
    inputs.push_back({floats({20, 4}, 1), Array::integers(DataType::kBool, {20}, chosen)});
  }
  expect_same_prepared(text, inputs);
}

TEST(OpenSizes, InBodies) {
  expect_same_rows("z, stacked, e", R"(
  has = ReduceSum(r) {keepdims = 0}
  is = Greater(has, zero)
  z = If(is) captures (r, x) {
    then_branch = graph t() captures (a: float32[n,4], b: float32[6,4]) -> (o) { o = Exp(a) },
    else_branch = graph e() captures (a: float32[n,4], b: float32[6,4]) -> (o) { o = Concat(b, a) {axis = 0} }
  }
  e = Neg(z)
  trips: int64[] = {3}
  start = ReduceSum(r, first) {keepdims = 0}
  final, stack = Loop(trips, _, start) captures (r) {
    body = graph b(i: int64[], go: bool[], s: float32[4]) captures (a: float32[n,4]) -> (go, t, t) {
      first: int64[1] = {0}
      shifted = Add(a, s)
      t = ReduceMean(shifted, first) {keepdims = 0}
    }
  }
  stacked = Exp(stack))");
}

/// A recurrence over as many steps as there are rows.
TEST(OpenSizes, Recurrences) {
  expect_same_rows("y, h", R"(
  sequence = Unsqueeze(r, one)
  w: float32[1,15,4] = random 1
  u: float32[1,15,5] = random 2
  y, h = GRU(sequence, w, u) {hidden_size = 5})");
}

/// Chains of nodes over rows, some of them enough work for a loop, and what reads across rows between them.
std::string random_chain(uint64_t seed) {
  Random random(seed);
  std::string text, outputs;
  struct Rows {
    std::string name;
    int64_t columns;
  };
  std::vector<Rows> made = {{"r", 4}};
  const int64_t count = random.between(2, 9);
  for (int64_t k = 0; k < count; ++k) {
    const Rows of =
        made[static_cast<size_t>(random.between(std::max<int64_t>(0, std::ssize(made) - 3), std::ssize(made) - 1))];
    const std::string name = fmt::format("v{}", k);
    const auto add = [&](int64_t columns, const std::string& node) {
      text += fmt::format("  {} = {}\n", name, node);
      made.push_back({name, columns});
    };
    switch (random.between(0, 11)) {
      case 0: add(of.columns, fmt::format("Tanh({})", of.name)); break;
      case 1: add(of.columns, fmt::format("Softmax({}) {{axis = {}}}", of.name, random.between(0, 1))); break;
      case 2:
      case 3: {
        const int64_t columns = of.columns < 100 && random.between(0, 1) ? 3000 : 5;
        text += fmt::format("  w{}: float32[{},{}] = random {}\n", k, of.columns, columns, k);
        if (random.chance(0.3)) {
          add(columns, fmt::format("MatMul({}, w{})", of.name, k));
        } else {  // rows that are matrices
          text += fmt::format("  u{0} = Unsqueeze({1}, one)\n  p{0} = MatMul(u{0}, w{0})\n", k, of.name);
          add(columns, fmt::format("Squeeze(p{}, one)", k));
        }
        break;
      }
      case 4: add(2 * of.columns, fmt::format("Concat({0}, {0}) {{axis = 1}}", of.name)); break;
      case 5:
        text += fmt::format("  m{} = ReduceMax({}, one)\n", k, of.name);
        add(of.columns, fmt::format("Sub({}, m{})", of.name, k));
        break;
      case 6:
        text += fmt::format("  s{} = ReduceSum({}, first)\n", k, of.name);
        add(of.columns, fmt::format("Add({}, s{})", of.name, k));
        break;
      case 7: add(of.columns, fmt::format("CumSum({}, first)", of.name)); break;
      case 8: add(of.columns, fmt::format("Slice({}, last, big, first)", of.name)); break;
      case 9: add(of.columns, fmt::format("Slice({}, minus, least, first, minus)", of.name)); break;
      case 10:
        text += fmt::format("  n{} = Unsqueeze({}, one)\n", k, of.name);
        add(of.columns, fmt::format("Squeeze(n{}, one)", k));
        break;
      default:
        text += fmt::format("  t{0} = Transpose({1}) {{perm = [1,0]}}\n  o{0} = MatMul({1}, t{0})\n", k, of.name);
        outputs += fmt::format("o{}, ", k);
    }
  }
  return behind_rows(outputs + made.back().name, "  big: int64[1] = {99}\n  least: int64[1] = {-99}\n" + text);
}

TEST(OpenSizes, RandomChains) {
  const uint64_t count = is_long_run() ? 1'000 : 20;
  int loops = 0;
  for (uint64_t seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const std::string text = random_chain(seed);
    SCOPED_TRACE(text);
    expect_same_prepared(text, rows());
    loops += loops_of(text);
    if (HasFailure()) return;
  }
  EXPECT_GT(loops, static_cast<int>(count) / 4);
}

}  // namespace
}  // namespace isomer::test
