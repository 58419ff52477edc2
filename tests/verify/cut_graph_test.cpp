// A node that runs on no input is cut out of both models; what is around it is checked all the same.
#include "verify/check/cut_graph.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "graph/text.h"
#include "util/check.h"
#include "verify/check/check.h"

namespace isomer::test {
namespace {

Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  CHECK(graph.ok()) << graph.error().message();
  return *std::move(graph);
}

/// Numbers from 7 on are no rows of a table of four.
constexpr std::string_view kTable = R"(opset 17
graph g(x: int64[6], s: float32[8]) -> (z) {
  seven: int64[] = {7}
  table: float32[4,8] = random 1
  m = Max(x, seven)
  u = Unique(m) {sorted = 1}
  t = Gather(table, u)
  a = Mul(t, s)
  z = Tanh(a)
})";

Graph with(std::string text, std::string_view old, std::string_view now) {
  text.replace(text.find(old), old.size(), now);
  return parsed(text);
}

void expect_checked_but_for(const Graph& before, const Graph& after, std::string_view node, std::string_view reason) {
  const auto report = check_same(before, after, {});
  ASSERT_TRUE(report.ok()) << report.error().message();
  EXPECT_TRUE(report->equivalence.passed()) << report->equivalence.difference->text();
  EXPECT_GT(report->equivalence.runs, 0);
  ASSERT_EQ(report->cut_out.size(), 1U);
  EXPECT_EQ(report->cut_out[0].node, node);
  EXPECT_NE(report->cut_out[0].reason.find(reason), std::string::npos) << report->cut_out[0].reason;
  EXPECT_EQ(report->nodes_unchecked, 1);
  EXPECT_TRUE(report->lines().back().starts_with("not checked: " + std::string(node))) << report->lines().back();
}

TEST(CutOut, AnIndexThatIsAlwaysOutside) {
  const Graph graph = parsed(kTable);
  expect_checked_but_for(graph, graph, "node 2 (Gather)", "index");
}

TEST(CutOut, AnIntegerDivisorThatIsAlwaysZero) {
  const Graph graph = parsed(R"(opset 17
graph g(x: int64[4]) -> (z) {
  two: int64[] = {2}
  d = Sub(x, x)
  q = Div(x, d)
  z = Mul(q, two)
})");
  expect_checked_but_for(graph, graph, "node 1 (Div)", "divided by zero");
}

/// A body that fails: the branch as a whole is what can be cut out.
TEST(CutOut, ABranchWhoseSideThatIsTakenFails) {
  const Graph graph = parsed(R"(opset 17
graph g(x: int64[4]) -> (z) {
  yes: bool[] = {1}
  n = Abs(x)
  y: int64[4] = If(yes) captures (n) {
    then_branch = graph t() captures (a: int64[4]) -> (b) {
      d = Sub(a, a)
      b = Div(a, d)
    },
    else_branch = graph e() captures (a: int64[4]) -> (b) { b = Neg(a) }
  }
  z = Abs(y)
}
)");
  expect_checked_but_for(graph, graph, "node 1 (If)", "divided by zero");
}

TEST(CutOut, WhatComesBeforeAndAfterIsStillCompared) {
  const Graph before = parsed(kTable);
  for (const auto& [old, now] : {std::pair{"Tanh(a)", "Sigmoid(a)"}, {"Max(x, seven)", "Add(x, seven)"}}) {
    const auto report = check_same(before, with(std::string(kTable), old, now), {});
    ASSERT_TRUE(report.ok()) << report.error().message();
    EXPECT_FALSE(report->equivalence.passed()) << now;
  }
}

/// The optimized form computes the same around the node, with other nodes.
TEST(CutOut, FindsTheNodeWhereItsOutputHasAnotherName) {
  const std::string named = R"(opset 17
graph g(x: int64[4]) -> (z: int64[4]) {
  d = Sub(x, x)
  q = Div(x, d) as "ratio"
  z = Identity(q)
})";
  const Graph before = parsed(named);
  const Graph after = parsed(R"(opset 17
graph g(x: int64[4]) -> (z: int64[4]) {
  d: int64[4] = all 0
  z = Div(x, d) as "ratio"
})");
  expect_checked_but_for(before, after, "ratio (Div)", "divided by zero");
}

TEST(CutOut, RefusesWhereTheNodeIsAnotherOne) {
  const Graph before = parsed(kTable);
  for (const std::string_view now : {"Gather(table, u) {axis = 1}", "GatherElements(table, v)"}) {
    std::string text(kTable);
    if (now.starts_with("GatherE"))
      text.replace(text.find("  t = "), 0, "  e: int64[1] = {0}\n  v = Unsqueeze(u, e)\n");
    const auto report = check_same(before, with(text, "Gather(table, u)", now), {});
    ASSERT_FALSE(report.ok());
    EXPECT_EQ(report.error().kind, ErrorKind::kUnsupported);
    EXPECT_NE(report.error().message().find("can't be cut out"), std::string::npos) << report.error().message();
  }
}

TEST(CutOut, AttributesAtTheirDefaultAreTheSame) {
  const Graph before = with(std::string(kTable), "Gather(table, u)", "Gather(table, u) {axis = 0}");
  expect_checked_but_for(before, parsed(kTable), "node 2 (Gather)", "index");
}

/// A node without a row is alone where its branch was taken; what decided the branch is nothing that it reads.
TEST(CutOut, ABranchThatWasTakenAroundANodeWithoutARow) {
  const auto model = [](std::string_view made) {
    return parsed(
        fmt::format("opset 20\ngraph g(x: float32[4], p: bool[]) -> (y: float32[4]) {{\n  yes: bool[] = {{1}}\n"
                    "  {}\n  y = Relu(a)\n}}",
                    made));
  };
  const Graph inside = model(R"(a: float32[4] = If(yes) captures (x, p) {
    then_branch = graph t() captures (x: float32[4], p: bool[]) -> (b: float32[4]) {
      b: float32[4] = If(p) captures (x) {
        then_branch = graph t() captures (x: float32[4]) -> (c: float32[4]) { c: float32[4] = of.nobody.Own(x) },
        else_branch = graph e() captures (x: float32[4]) -> (x) { }
      }
    },
    else_branch = graph e() captures (x: float32[4], p: bool[]) -> (x) { }
  })");
  const Graph taken = model(R"(a: float32[4] = If(p) captures (x) {
    then_branch = graph t() captures (x: float32[4]) -> (c: float32[4]) { c: float32[4] = of.nobody.Own(x) },
    else_branch = graph e() captures (x: float32[4]) -> (x) { }
  })");
  const Graph alone = model("a: float32[4] = of.nobody.Own(x)");
  for (const auto& [before, after] : {std::pair(&inside, &taken), {&taken, &alone}, {&inside, &alone}}) {
    const auto report = check_same(*before, *after, {});
    ASSERT_TRUE(report.ok()) << report.error().message();
    EXPECT_TRUE(report->equivalence.passed()) << report->equivalence.difference->text();
  }
}

/// The table of labels that classifiers carry: nothing runs on strings, and what has numbers is compared.
TEST(CutOut, WhatReadsConstantsOfStrings) {
  for (const std::string_view label : {"l = Gather(labels, i)", "l = Identity(labels)", "l = of.nobody.Pick(labels, i)",
                                       R"(l: string[] = If(yes) captures (labels, i) {
    then_branch = graph t() captures (of, k) -> (n) { n = Gather(of, k) },
    else_branch = graph e() captures (of, k) -> (m) { m: string[] = {"none"} }
  })",
                                       R"(l: string[] = If(p) captures (i) {
    then_branch = graph t() captures (k) -> (n) {
      own: string[2] = {"cat", "dog"}
      n: string[] = Gather(own, k)
    },
    else_branch = graph e() captures (k) -> (m) { m: string[] = {"none"} }
  })"}) {
    const auto model = [&](std::string_view score) {
      return parsed(fmt::format(R"(opset 17
graph g(x: float32[2], p: bool[]) -> (l, labels, s) {{
  labels: string[2] = {{"cat", "dog"}}
  yes: bool[] = {{1}}
  s = {}(x)
  i = ArgMax(s) {{keepdims = 0}}
  {}
}})",
                                score, label));
    };
    const Graph before = model("Tanh"), other = model("Sigmoid");
    const auto same = check_same(before, before, {});
    ASSERT_TRUE(same.ok()) << label << ": " << same.error().message();
    EXPECT_TRUE(same->equivalence.passed()) << label;
    EXPECT_GT(same->equivalence.runs, 0) << label;
    EXPECT_EQ(same->nodes_unchecked, 1) << label;
    const auto differs = check_same(before, other, {});
    ASSERT_TRUE(differs.ok()) << label << ": " << differs.error().message();
    EXPECT_FALSE(differs->equivalence.passed()) << label;
  }
}

}  // namespace
}  // namespace isomer::test
