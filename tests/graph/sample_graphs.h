// Graphs in text form that the tests of hashes and of the text form share.
#pragma once

#include <gtest/gtest.h>

#include "graph/text.h"

namespace isomer::test {

inline Graph parsed(std::string_view text) {
  auto graph = parse_graph(text);
  EXPECT_TRUE(graph.ok()) << graph.error().message();
  return *std::move(graph);
}

/// Every kind of type, constant, attribute and name.
inline constexpr const char* kEverything = R"(ir_version 8
opset 17
opset "com.example" 3
producer_name "a \"quoted\" name"
model_version 7
metadata "key" "value\x0a"
graph "main graph"(x: float32[batch,4], "odd name": int64[1] = {1}, r: int64[?], u, s: other "0a00") -> (y: float32[batch,2], "2", p) {
  w: float32[4,2] = {1, -0, 0.1, 1e-45, inf, -inf, 3.4028235e+38, 2}
  h: float16[3] = {0.5, 65504, 6e-08}
  b: bfloat16[1] = {1}
  d: float64[] = {0.1}
  n: float32[1] = hex "0100c07f"
  i: int8[2,2] = {-128, 127, 0, 1}
  g: uint64[1] = {18446744073709551615}
  l: bool[2] = {true, false}
  t: string[2] = {"a", "\xff\""}
  e: float32[0,3] = {}
  q: int4[3] = {1, 2, -8}
  v8: float8e4m3fn[2] = hex "7eff"
  f: int32[100] = random 5
  z: float32[7] = all 0.25
  m: float32[batch,2] = MatMul(x, w) as "dense/MatMul"
  y: float32[batch,2] = com.example::Scale(m, _, h) {alpha = 0.5, beta = 1.0, many = [1,2,3], few = ints[], mode = "x\"y", modes = ["a","b"], weights = [0.5,1e-20], tensor = int64[2] {1, 2}, none = floats[], raw = raw "0801"} as "scale"
  _, "2": float32[2*batch + 1,4] = com.example::Two(u, s)
  p = If(c) captures (m, x) {then_branch = graph then() captures (a: float32[batch,2], v) -> (o) {
    o = Neg(a)
  }, else_branch = graph () captures (a, v) -> (o) {
    k: float32[1] = {3}
    o = Neg(k)
  }}
  c: bool[] = com.example::Decide(u)
}
)";

/// Each another graph than all the others.
inline constexpr const char* kNoTwoAlike[] = {
    "graph (x: float32[2]) -> (y) { y = Neg(x) }",
    "graph (x: float32[3]) -> (y) { y = Neg(x) }",
    "graph (x: float64[2]) -> (y) { y = Neg(x) }",
    "graph (x: float32[n]) -> (y) { y = Neg(x) }",
    "graph (x: float32[2]) -> (y) { y = Exp(x) }",
    "graph (x: float32[2]) -> (y) { y = com.example::Neg(x) }",
    "graph (x: float32[2]) -> (y, y) { y = Neg(x) }",
    "graph (x: float32[2]) -> (y, z) { y = Neg(x)\n z = Neg(x) }",
    "graph (x: float32[2], z: float32[2]) -> (y) { y = Sub(x, z) }",
    "graph (x: float32[2], z: float32[2]) -> (y) { y = Sub(z, x) }",
    "graph (x: float32[2]) -> (y) { c: float32[] = {1}\n y = Sub(x, c) }",
    "graph (x: float32[2]) -> (y) { c: float32[] = {2}\n y = Sub(x, c) }",
    "graph (x: float32[2]) -> (y) { y = A::B(x) {a = 1} }",
    "graph (x: float32[2]) -> (y) { y = A::B(x) {a = 1.0} }",
    "graph (x: float32[2]) -> (y) { y = A::B(x) {a = [1]} }",
    "graph (x: float32[2]) -> (y) { y = A::B(x) {b = [1]} }",
    "graph (x: float32[2]) -> (y) { y = A::B(x) {b = ints[]} }",
    "graph (x: float32[2]) -> (y) { y = A::B(x) {b = floats[]} }",
    "graph (x: float32[2]) -> (y) { y = A::B(x) {b = graph () -> (c) { c: float32[] = {1} }} }",
    "graph (x: float32[2]) -> (y) { y = A::B(x) {b = graph () -> (c) { c: float32[] = {2} }} }",
    "graph (x: float32[2]) -> (y) { y = A::B(x, _, x) }",
    "graph (x: float32[2]) -> (y) { y = A::B(_, x, x) }",
    "graph (x: float32[2]) -> (y) { _, y = A::B(x) }",
};

}  // namespace isomer::test
