// Graphs in text form that the tests of hashes and of the text form share.
#pragma once

namespace isomer::test {

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
  q: int4[3] = hex "1203"
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

}  // namespace isomer::test
