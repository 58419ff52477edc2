// If, Loop and Scan as steps around compiled bodies, against the interpreter.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/bind.h"
#include "graph/infer.h"
#include "graph/op_def.h"
#include "properties/same_function.h"
#include "search/expect_same.h"
#include "suite/case.h"
#include "support/long_run.h"
#include "util/random.h"
#include "verify/check/equivalence.h"

namespace isomer::test {
namespace {

std::string refusal(std::string_view text) {
  const auto made = compiled(parsed(text), 1);
  if (made.ok()) return "compiled";
  EXPECT_EQ(made.error().kind, ErrorKind::kUnsupported);
  return made.error().message();
}

TEST(ControlFlow, BranchesWriteWhereTheOutputIs) {
  constexpr std::string_view kText = R"(opset 17
graph g(c: bool[], x: float32[4,8]) -> (y: float32[4,8], z: float32[4,8], w: float32[8,8]) {
  w: float32[8,8] = random 1
  y, z = If(c) captures (x, w) {
    then_branch = graph t() captures (a: float32[4,8], b: float32[8,8]) -> (p, q) {
      p = MatMul(a, b)
      q = Relu(p)
    },
    else_branch = graph e() captures (a: float32[4,8], b: float32[8,8]) -> (p, a) {
      m = MatMul(a, b)
      p = Neg(m)
    }
  }
}
)";
  expect_same(kText, {{flag(true), floats({4, 8}, 1)}, {flag(false), floats({4, 8}, 2)}});
  const auto made = compiled(parsed(kText), 1);
  const runtime::Variant& variant = made->artifact.variants[0];
  const auto& branch = std::get<runtime::BranchStep>(variant.steps[0].action);
  EXPECT_TRUE(branch.then_body.moves.empty());
  // The packed weight of both, and the one that is an output; GPUs take it as it is.
  EXPECT_EQ(made->artifact.weights.size(), is_for_gpu() ? 1u : 2u);
}

TEST(ControlFlow, StatesSwap) {
  std::vector<Arrays> inputs;
  for (const int64_t trips : {0, 1, 2, 3, 10})
    inputs.push_back({scalar(trips), floats({300}, 1), floats({300}, 2), floats({300}, 3)});
  expect_same(R"(opset 17
graph g(m: int64[], a: float32[300], b: float32[300], c: float32[300]) -> (p: float32[300], q: float32[300], r: float32[300]) {
  p, q, r = Loop(m, _, a, b, c) {
    body = graph b(i: int64[], go: bool[], u: float32[300], v: float32[300], w: float32[300]) -> (go, v, u, n) {
      s = Sub(u, w)
      k: float32[] = {0.5}
      n = Mul(s, k)
    }
  }
}
)",
              inputs);
}

TEST(ControlFlow, DataEndTheLoop) {
  std::vector<Arrays> inputs;
  for (const uint64_t seed : {1, 2, 3, 4})
    inputs.push_back({scalar(seed == 4 ? 3 : 100), flag(seed != 3), floats({2, 3}, seed)});
  expect_same(R"(opset 17
graph g(m: int64[], c: bool[], x: float32[2,3]) -> (last: float32[2,3], going: bool[], n: int64[]) {
  zero: int64[] = {0}
  last, n, rows = Loop(m, c, x, zero) {
    body = graph b(i: int64[], go: bool[], s: float32[2,3], k: int64[]) -> (next, t, j, o) {
      two: float32[] = {1.5}
      t = Mul(s, two)
      sq = Mul(t, t)
      sum = ReduceSum(sq) {keepdims = 0}
      limit: float32[] = {1000}
      next = Less(sum, limit)
      one: int64[] = {1}
      j = Add(k, one)
      o = Add(i, k)
    }
  }
  bound: int64[] = {50}
  going = Less(n, bound)
}
)",
              inputs);
}

TEST(ControlFlow, AConditionOfOneRowIsOne) {
  expect_same(R"(opset 17
graph g(m: int64[1], c: bool[1], x: float32[3]) -> (y: float32[3]) {
  y = Loop(m, c, x) {
    body = graph b(i: int64[1], go: bool[], s: float32[3]) -> (next, t) {
      f = Cast(i) {to = 1}
      t = Add(s, f)
      five: int64[1] = {5}
      next = Less(i, five)
    }
  }
}
)",
              {{Array::integers(DataType::kInt64, {1}, std::vector<int64_t>{9}),
                Array::integers(DataType::kBool, {1}, std::vector<int64_t>{1}), floats({3}, 1)}});
}

TEST(ControlFlow, ConstantTripCountsStackToKnownSizesThatOthersRead) {
  expect_same(R"(opset 17
graph g(x: float32[2,3]) -> (y: float32[5,2,4], f: float32[2,3], none: float32[0,2,3]) {
  m: int64[] = {5}
  w: float32[3,4] = random 1
  f, rows = Loop(m, _, x) {
    body = graph b(i: int64[], go: bool[], s: float32[2,3]) -> (go, t, s) {
      c = Cast(i) {to = 1}
      t = Add(s, c)
    }
  }
  y = MatMul(rows, w)
  zero: int64[] = {0}
  g, none = Loop(zero, _, x) {
    body = graph b(i: int64[], go: bool[], s: float32[2,3]) -> (go, t, t) { t = Neg(s) }
  }
}
)",
              {{floats({2, 3}, 1)}});
}

TEST(ControlFlow, LengthsThatDataDecideAreOutputs) {
  std::vector<Arrays> inputs;
  for (const int64_t trips : {3, 0, 7, 1}) inputs.push_back({scalar(trips), flag(trips != 7), floats({4}, 1)});
  expect_same(R"(opset 17
graph g(m: int64[], c: bool[], x: float32[4]) -> (rows, numbers, same, chosen, picked) {
  l, rows, numbers = Loop(m, c, x) {
    body = graph b(i: int64[], go: bool[], s: float32[4]) -> (go, t, t, i) { t = Exp(s) }
  }
  same = Loop(m, _) {
    body = graph b(i: int64[], go: bool[]) -> (go, r) {
      r: float32[2] = {1, 2}
    }
  }
  chosen = If(c) captures (x) {
    then_branch = graph t() captures (a: float32[4]) -> (a) {},
    else_branch = graph e() captures (a: float32[4]) -> (d) { d = Concat(a, a) {axis = 0} }
  }
  picked = If(c) captures (numbers) {
    then_branch = graph t() captures (a: int64[n]) -> (a) {},
    else_branch = graph e() captures (a: int64[n]) -> (d) { d: int64[1] = {7} }
  }
}
)",
              inputs);
}

TEST(ControlFlow, CapturesComeFromAllLevelsAndStayAlive) {
  std::vector<Arrays> inputs;
  for (const int64_t trips : {0, 1, 4}) inputs.push_back({scalar(trips), floats({16, 64}, 5)});
  expect_same(R"(opset 17
graph g(m: int64[], x: float32[16,64]) -> (y: float32[16,64], z: float32[16,64]) {
  far = Exp(x)
  w: float32[64,64] = random 3
  y = Loop(m, _, x) captures (far, w, m) {
    body = graph b(i: int64[], go: bool[], s: float32[16,64]) captures (fa: float32[16,64], wa: float32[64,64], ma: int64[]) -> (go, next) {
      two: int64[] = {2}
      odd = Mod(i, two)
      one: int64[] = {1}
      is_odd = Equal(odd, one)
      near = Sigmoid(s)
      next = If(is_odd) captures (fa, near, wa, ma, s) {
        then_branch = graph t() captures (f: float32[16,64], n: float32[16,64], v: float32[64,64], k: int64[], u: float32[16,64]) -> (r) {
          r = Loop(k, _, u) captures (f, n, v) {
            body = graph d(j: int64[], on: bool[], c: float32[16,64]) captures (ff: float32[16,64], nn: float32[16,64], vv: float32[64,64]) -> (on, e) {
              p = MatMul(c, vv)
              q = Tanh(p)
              o = Softmax(q)
              h = Mul(o, ff)
              e = Sub(h, nn)
            }
          }
        },
        else_branch = graph e() captures (f: float32[16,64], n: float32[16,64], v: float32[64,64], k: int64[], u: float32[16,64]) -> (r) {
          a = MatMul(u, v)
          b = Softmax(a)
          r = Add(b, f)
        }
      }
    }
  }
  z = Neg(y)
}
)",
              inputs);
}

TEST(ControlFlow, BodiesReadWhatConvolutionsLeft) {
  expect_same(R"(opset 17
graph g(m: int64[], x: float32[1,8,6,6]) -> (y: float32[1,8,6,6]) {
  v: float32[8,8,3,3] = random 1
  a = Conv(x, v) {pads = [1,1,1,1]}
  y = Loop(m, _, a) captures (a, v) {
    body = graph b(i: int64[], go: bool[], s: float32[1,8,6,6]) captures (c: float32[1,8,6,6], w: float32[8,8,3,3]) -> (go, t) {
      d = Conv(s, w) {pads = [1,1,1,1]}
      e = Tanh(d)
      t = Add(e, c)
    }
  }
}
)",
              {{scalar(3), floats({1, 8, 6, 6}, 1)}, {scalar(0), floats({1, 8, 6, 6}, 2)}});
}

TEST(ControlFlow, ScansAreLoops) {
  expect_same(R"(opset 17
graph g(s: float32[3], x: float32[5,3], y: float32[3,5]) -> (last: float32[3], sums: float32[3,5], back: float32[5,3], turned: float32[3,5]) {
  k: float32[3] = {1, 2, 3}
  last, sums, back, turned = Scan(s, x, y) captures (k) {
    num_scan_inputs = 2, scan_input_axes = [0,-1], scan_input_directions = [0,1], scan_output_axes = [1,0,-1], scan_output_directions = [0,1,1],
    body = graph b(a: float32[3], u: float32[3], v: float32[3]) captures (c: float32[3]) -> (n, n, m, u) {
      t = Add(a, u)
      n = Add(t, v)
      m = Mul(t, c)
    }
  }
}
)",
              {{floats({3}, 1), floats({5, 3}, 2), floats({3, 5}, 3)}});
}

TEST(ControlFlow, CasesOfTheOnnxSuiteRun) {
  suite::RunOptions options;
  options.run = [](const Graph& graph, std::span<const Array> inputs) -> Result<Arrays> {
    TRY(const search::Compilation made, compiled(graph));
    return search::run_artifact(*opened(made.artifact), inputs);
  };
  for (const char* name :
       {"if", "range_float_type_positive_delta_expanded", "range_int32_type_negative_delta_expanded", "scan9_sum"}) {
    const suite::Outcome outcome =
        suite::run_case({name, fmt::format("{}/node/test_{}", ONNX_TESTDATA, name)}, options);
    EXPECT_EQ(outcome.verdict, suite::Verdict::kPass) << name << ": " << outcome.detail;
  }
}

/// Adds a node of a standard operator with outputs of the given names.
std::vector<ValueId> add(Graph& graph, std::string_view op_type, std::vector<ValueId> inputs,
                         std::vector<ValueId> captures, Attributes attributes,
                         const std::vector<std::string>& outputs) {
  Node node;
  node.op = find_op("", op_type);
  node.op_type = op_type;
  node.inputs = std::move(inputs);
  node.captures = std::move(captures);
  node.attributes = std::move(attributes);
  for (const std::string& name : outputs) {
    Value value;
    value.name = name;
    node.outputs.push_back(graph.add_value(std::move(value)));
  }
  const std::vector<ValueId> made = node.outputs;
  graph.add_node(std::move(node));
  return made;
}

std::vector<ValueId> like_inputs(Graph& graph, const Graph& other) {
  std::vector<ValueId> values;
  for (const ValueId input : other.inputs()) {
    Value value;
    value.name = other.value(input).name;
    value.type = other.value(input).type;
    values.push_back(graph.add_value(std::move(value)));
  }
  return values;
}

constexpr int64_t kTrips = 3;

/// The graph as both branches of an If in a Loop, which stacks what it makes kTrips times.
Graph wrapped(const Graph& graph) {
  Graph branch = graph;
  branch.set_captures(graph.inputs());
  branch.set_inputs({});
  const auto inner = std::make_shared<const Graph>(branch);
  std::vector<std::string> names;
  for (const ValueId output : graph.outputs()) names.push_back(graph.value(output).name);

  Graph body;
  const ValueId number = body.add_value({.name = "number",
                                         .type = ValueType::tensor(DataType::kInt64, {}),
                                         .content = {},
                                         .constant = {},
                                         .declared = {},
                                         .producer = {},
                                         .extra = {}});
  const ValueId going = body.add_value({.name = "going",
                                        .type = ValueType::tensor(DataType::kBool, {}),
                                        .content = {},
                                        .constant = {},
                                        .declared = {},
                                        .producer = {},
                                        .extra = {}});
  body.set_inputs({number, going});
  body.set_captures(like_inputs(body, graph));
  const auto is_first = add(body, "Equal", {number, body.add_constant(Tensor::scalar(DataType::kInt64, 0), "zero")}, {},
                            {}, {"is_first"});
  std::vector<ValueId> outputs =
      add(body, "If", is_first, body.captures(), {{"then_branch", inner}, {"else_branch", inner}}, names);
  outputs.insert(outputs.begin(), going);
  body.set_outputs(std::move(outputs));

  Graph outer;
  outer.edit_info() = graph.info();
  const std::vector<ValueId> inputs = like_inputs(outer, graph);
  outer.set_inputs(inputs);
  const ValueId trips = outer.add_constant(Tensor::scalar(DataType::kInt64, kTrips), "trips");
  outer.set_outputs(
      add(outer, "Loop", {trips, {}}, inputs, {{"body", std::make_shared<const Graph>(std::move(body))}}, names));
  return outer;
}

/// Element `k` of the first axis.
Array row(const Array& stack, int64_t k) {
  const Tensor whole = te::to_tensor(stack);
  const size_t bytes = whole.bytes().size() / kTrips;
  const auto first = whole.bytes().begin() + static_cast<ptrdiff_t>(k * bytes);
  return Array::from(Tensor(whole.dtype(), Dims(whole.dims().begin() + 1, whole.dims().end()),
                            std::vector<std::byte>(first, first + static_cast<ptrdiff_t>(bytes))));
}

TEST(ControlFlow, RandomGraphsRunInBodies) {
  const uint64_t count = is_long_run() ? 1'000 : is_for_gpu() ? 15 : 60;
  int ran = 0;
  for (uint64_t seed = 0; seed < count; ++seed) {
    const Case tried = case_of(random_sample(seed), seed);
    for (const isomer::test::Run& one : tried.runs) {
      std::map<std::string, Dims> shapes;
      Graph inner = tried.sample.graph;
      for (size_t k = 0; k < one.inputs.size(); ++k) shapes[inner.value(inner.inputs()[k]).name] = one.inputs[k].dims();
      if (!bind_inputs(inner, {}, shapes).ok()) continue;
      SCOPED_TRACE(fmt::format("seed {}\n{}", seed, print_graph(inner)));
      Graph graph = wrapped(inner);
      ASSERT_TRUE(infer(graph).ok());
      const auto made = compiled(graph);
      if (!made.ok()) {
        EXPECT_EQ(made.error().kind, ErrorKind::kUnsupported) << made.error().message();
        continue;
      }
      const auto stacks = search::run_artifact(*opened(made->artifact), one.inputs);
      ASSERT_TRUE(stacks.ok()) << stacks.error().message();
      for (int64_t k = 0; k < kTrips; ++k) {
        Arrays found;
        for (const Array& stack : *stacks) found.push_back(row(stack, k));
        EXPECT_EQ(difference(inner, one, found), "") << "iteration " << k;
      }
      ++ran;
    }
  }
  fmt::print("{} graphs ran in bodies\n", ran);
  EXPECT_GT(ran, static_cast<int>(count / 4));
}

TEST(ControlFlow, OneKernelServesAllBodies) {
  const auto made = compiled(parsed(R"(opset 17
graph g(c: bool[], x: float32[64]) -> (y: float32[64]) {
  a = Exp(x)
  y = If(c) captures (a) {
    then_branch = graph t() captures (b: float32[64]) -> (r) { r = Exp(b) },
    else_branch = graph e() captures (b: float32[64]) -> (r) { r = Exp(b) }
  }
}
)"),
                             1);
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made->artifact.kernels.size(), 1);
  std::vector<std::string> names;
  for (const search::PlacedTask& placed : all_tasks(made->whole))
    names.push_back(fmt::format("{} {}", placed.depth, placed.task->name));
  EXPECT_EQ(names, (std::vector<std::string>{"0 Exp", "0 If", "1 Exp", "1 Exp"}));
}

TEST(ControlFlow, SizesThatChangeAreRead) {
  constexpr std::string_view kStack = R"(opset 17
graph g(m: int64[], x: float32[4]) -> (y) {
  l, rows = Loop(m, _, x) { body = graph b(i: int64[], go: bool[], s: float32[4]) -> (go, s, s) {} }
  y = Exp(rows) as "reader"
}
)";
  constexpr std::string_view kBranches = R"(opset 17
graph g(c: bool[], x: float32[4]) -> (y) {
  z = If(c) captures (x) {
    then_branch = graph t() captures (a: float32[4]) -> (a) {},
    else_branch = graph e() captures (a: float32[4]) -> (d) { d = Concat(a, a) {axis = 0} }
  }
  y = Exp(z) as "reader"
}
)";
  if (is_for_gpu()) {
    for (const std::string_view text : {kStack, kBranches})
      EXPECT_EQ(refusal(text),
                "reader (Exp): sizes that are known at compile time expected of code for a GPU, data decide some");
    return;
  }
  std::vector<Arrays> inputs;
  for (const int64_t trips : {0, 1, 4}) inputs.push_back({scalar(trips), floats({4}, 1)});
  expect_same(kStack, inputs);
  expect_same(kBranches, {{flag(true), floats({4}, 1)}, {flag(false), floats({4}, 2)}});
}

/// Detectors shift the boxes of all levels by the largest: a body is given what is joined, not whose lengths these are.
TEST(ControlFlow, SizesMadeOfSizesElsewhereAreTheirOwn) {
  constexpr std::string_view kModel = R"(opset 17
graph g(c: bool[], m: int64[], x: float32[6]) -> (y, z, rows) {
  zero: float32[] = {0}
  first: int64[1] = {0}
  last: int64[1] = {1000}
  over = Greater(x, zero)
  n = NonZero(over)
  i = Transpose(n)
  a = GatherND(x, i)
  under = Less(x, zero)
  o = NonZero(under)
  j = Transpose(o)
  b = GatherND(x, j)
  all = Concat(a, b, a) {axis = 0}
  e = Exp(all)
  y, z = If(c) captures (all, e) {
    then_branch = graph t() captures (p: float32[n], q: float32[n]) -> (r, k) {
      most = ReduceMax(p) {keepdims = 0}
      s = Add(p, q)
      r = Sub(s, most)
      k = Shape(p)
    },
    else_branch = graph f() captures (p: float32[n], q: float32[n]) -> (r, k) {
      r = Mul(p, q)
      k = Shape(q)
    }
  }
  l, rows = Loop(m, _, all) captures (e) {
    body = graph d(t: int64[], go: bool[], s) captures (w: float32[n]) -> (go, h, v) {
      h = Add(s, w)
      v = ReduceSum(h) {keepdims = 0}
    }
  }
}
)";
  if (is_for_gpu()) {
    EXPECT_NE(refusal(kModel), "");
    return;
  }
  std::vector<Arrays> inputs;
  for (const int64_t trips : {0, 1, 3}) inputs.push_back({flag(trips == 1), scalar(trips), floats({6}, 7 + trips)});
  expect_same(kModel, inputs);
}

/// TorchScript declares no shapes of states; they have the rank that the loop begins with.
TEST(ControlFlow, StatesWithoutARankHaveThatOfTheFirst) {
  std::vector<Arrays> inputs;
  for (const int64_t trips : {0, 1, 3}) inputs.push_back({scalar(trips), floats({4}, 1)});
  constexpr std::string_view kText = R"(opset 17
graph g(m: int64[], x: float32[4]) -> (y) {
  y = Loop(m, _, x) { body = graph b(i: int64[], go: bool[], s) -> (go, t) { t = Concat(s, s) {axis = 0} as "twice" } } as "grows"
}
)";
  if (is_for_gpu()) {
    EXPECT_THAT(refusal(kText), testing::HasSubstr("sizes that are known at compile time expected"));
    return;
  }
  expect_same(kText, inputs);
}

/// Of a state that iterations make longer, what they leave alone is known: its products are of known sizes.
TEST(ControlFlow, StatesKeepTheDimsThatIterationsLeaveAlone) {
  std::vector<Arrays> inputs;
  for (const int64_t trips : {0, 1, 5}) inputs.push_back({scalar(trips), floats({2, 3, 24}, 1)});
  constexpr std::string_view kText = R"(opset 17
graph g(m: int64[], x: float32[2,3,24]) -> (y) {
  w: float32[24,40] = random 1
  v: float32[40,24] = random 2
  y = Loop(m, _, x) captures (w, v) {
    body = graph b(i: int64[], go: bool[], s: float32[p,q,r]) captures (c: float32[24,40], d: float32[40,24]) -> (go, t) {
      last: int64[1] = {-1}
      end: int64[1] = {9223372036854775807}
      axis: int64[1] = {1}
      one = Slice(s, last, end, axis)
      a = MatMul(one, c)
      e = Tanh(a)
      f = MatMul(e, d)
      t = Concat(s, f) {axis = 1}
    }
  }
}
)";
  if (is_for_gpu()) {
    EXPECT_THAT(refusal(kText), testing::HasSubstr("sizes that are known at compile time expected"));
    return;
  }
  expect_same(kText, inputs);
}

TEST(ControlFlow, StatesWhoseRankChangesAreRefusedByName) {
  EXPECT_THAT(refusal(R"(opset 17
graph g(m: int64[], x: float32[4]) -> (y) {
  y = Loop(m, _, x) {
    body = graph b(i: int64[], go: bool[], s) -> (go, t) {
      axis: int64[1] = {0}
      t = Unsqueeze(s, axis)
    }
  } as "grows"
}
)"),
              testing::StartsWith("grows (Loop): "));
}

}  // namespace
}  // namespace isomer::test
