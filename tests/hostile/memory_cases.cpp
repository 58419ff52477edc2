// Class K: small files that ask for much memory when they are run, checked or compiled.
#include <fmt/format.h>

#include "hostile/bytes.h"
#include "hostile/case.h"

namespace isomer::test {
namespace {

/// Inputs and values whose shapes the file states.
std::vector<HostileCase> stated() {
  return in_notation({
      {"input_of_8_gb", "", "y = Relu(x: f32[2147483647,1])"},
      {"input_of_4_tb", "", "y = Neg(x: f32[1099511627776])"},
      {"inputs_of_6_gb", "", "y = Sum(a: f32[500000000], b: f32[500000000], c: f32[500000000])"},
      {"integers", "", "y = Add(x: i64[1000000000], z: i64[1]{1})"},
      {"bools", "", "y = Not(x: bool[2000000000])"},
      {"expand", "", "y = Expand(x: f32[1], s: i64[2]{100000,100000})"},
      {"constant_of_shape", "", "c = ConstantOfShape(s: i64[1]{10000000000}); y = Add(c, x: f32[1])"},
      {"constant_of_shape_alone", "", "y = ConstantOfShape(s: i64[1]{10000000000})"},
      {"constant_of_shape_summed", "",
       "c = ConstantOfShape(s: i64[1]{10000000000}); d = Add(c, x: f32[1]); y = ReduceSum(d)"},
      {"range", "", "r = Range(a: i64[]{0}, l: i64[]{10000000000}, d: i64[]{1}); y = Add(r, x: i64[1])"},
      {"tile", "", "y = Tile(x: f32[2], r: i64[1]{5000000000})"},
      {"pad", "", "y = Pad(x: f32[2], p: i64[2]{0,10000000000})"},
      {"resize", "", "y = Resize(x: f32[1,1,2,2], _, s: f32[4]{1,1,50000,50000})"},
      {"upsample", "", "@9 y = Upsample(x: f32[1,1,2,2], s: f32[4]{1,1,50000,50000})"},
      {"one_hot", "", "y = OneHot(i: i64[100], d: i64[]{1000000000}, v: f32[2]{0,1})"},
      {"eye_like", "", "y = EyeLike<dtype=1>(x: i8[40000,40000])"},
      {"outer_product", "", "y = MatMul(a: f32[100000,1], b: f32[1,100000])"},
      {"outer_product_summed", "", "p = MatMul(a: f32[100000,1], b: f32[1,100000]); q = Exp(p); y = ReduceSum(q)"},
      {"outer_sum", "", "y = Add(a: f32[100000,1], b: f32[1,100000])"},
      {"einsum", "", "y = Einsum<equation=\"i,j,k->ijk\">(a: f32[3000], b: f32[3000], c: f32[3000])"},
      {"gather", "", "y = Gather(x: f32[1000,1000], i: i64[100000])"},
      {"gather_nd", "", "e = Expand(i: i64[1], s: i64[2]{1000000000,1}); y = GatherND(x: f32[10], e)"},
      {"attention", "",
       "s = MatMul(q: f32[200000,1], k: f32[1,200000]); p = Softmax<axis=1>(s); y = MatMul(p, v: f32[200000,1])"},
      {"conv_pads", "", "y = Conv<pads=[50000,50000,50000,50000]>(x: f32[1,1,2,2], w: f32[1,1,1,1])"},
      {"conv_channels", "", "e = Expand(w: f32[1,1,1,1], s: i64[4]{100000,1,1,1}); y = Conv(x: f32[1,1,300,300], e)"},
      {"conv_transpose_strides", "", "y = ConvTranspose<strides=[50000,50000]>(x: f32[1,1,2,2], w: f32[1,1,1,1])"},
      {"cum_sum", "", "e = Expand(x: f32[1], s: i64[1]{3000000000}); y = CumSum(e, a: i64[]{0})"},
      {"top_k", "", "e = Expand(x: f32[1], s: i64[1]{500000000}); y, i = TopK(e, k: i64[1]{500000000})"},
      {"non_zero", "", "e = Expand(x: f32[1], s: i64[1]{500000000}); y = NonZero(e)"},
      {"lstm", "", "y, h, c = LSTM<hidden_size=1>(x: f32[1000000,1000,1], w: f32[1,4,1], r: f32[1,4,1])"},
      {"if_branch", "",
       "y = If<then_branch={-> t | t = Expand(x, s)}, else_branch={-> e | e = Expand(x, s)}>(c: bool[]); z = "
       "Neg(x: f32[1]); w = Neg(s: i64[1]{10000000000}) -> y, z"},
  });
}

/// What data decide is known when it is there.
std::vector<HostileCase> decided_by_data() {
  // At random 1000 numbers are no zeros: n is [1, 1000].
  const std::string count = "z = NonZero(x: f32[1000]); n = Shape(z); ";
  return in_notation({
      {"data_constant_of_shape", "", count + "m = Mul(n, f: i64[2]{1,10000000}); y = ConstantOfShape(m)"},
      {"data_expand", "", count + "m = Mul(n, f: i64[2]{1,10000000}); e = Expand(v: f32[1], m); y = Neg(e)"},
      {"data_range", "",
       count + "m = ReduceMax<keepdims=0>(n); l = Mul(m, f: i64[]{10000000}); y = Range(a: i64[]{0}, l, d: i64[]{1})"},
      {"data_tile", "", count + "m = Mul(n, f: i64[2]{1,10000000}); y = Tile(v: f32[1,1], m)"},
      {"data_pad", "", count + "m = Mul(n, f: i64[2]{1,10000000}); o = Concat<axis=0>(m, m); y = Pad(v: f32[1,1], o)"},
      {"data_one_hot", "",
       count +
           "m = ReduceMax<keepdims=0>(n); l = Mul(m, f: i64[]{10000}); y = OneHot(i: i64[1000], l, v: f32[2]{0,1})"},
      {"data_outer_product", "", "z = NonZero(x: f32[60000]); f = Cast<to=1>(z); t = Transpose(f); y = MatMul(t, f)"},
  });
}

/// Loops that keep what each iteration makes.
std::vector<HostileCase> loops() {
  return in_notation({
      {"loop_keeps_much", "",
       "y, s = Loop<body={i: i64[], c: bool[], v: f32[1000000] -> d, w, u | d = Identity(c); w = Neg(v); u = "
       "Relu(v)}>(m: i64[]{1000000}, k: bool[]{1}, x: f32[1000000])"},
      {"loop_of_1e9", "",
       "y, s = Loop<body={i: i64[], c: bool[], v: f32[2] -> d, w, u | d = Identity(c); w = Neg(v); u = Relu(v)}>(m: "
       "i64[]{1000000000}, k: bool[]{1}, x: f32[2])"},
      {"loop_doubles", "",
       "y = Loop<body={i: i64[], c: bool[], v: f32[?] -> d, w | d = Identity(c); w = Concat<axis=0>(v, v)}>(m: "
       "i64[]{60}, k: bool[]{1}, x: f32[2])"},
      {"loop_expands", "",
       "y = Loop<body={i: i64[], c: bool[], v: f32[1] -> d, w | d = Identity(c); e = Expand(v, s); w = "
       "ReduceSum<keepdims=1>(e)}>(m: i64[]{3}, k: bool[]{1}, x: f32[1]); z = Neg(s: i64[1]{2000000000}) -> y, z"},
      {"scan_keeps_much", "",
       "y, s = Scan<num_scan_inputs=1, body={v: f32[100000], e: f32[1] -> w, u | w = Add(v, e); u = Neg(v)}>(x: "
       "f32[100000], q: f32[100000,1])"},
  });
}

/// Small values, many at a time.
std::vector<HostileCase> many() {
  std::string chain = "a0 = Relu(x: f32[5000000])", concat = "e = Neg(x: f32[10000000]); y = Concat<axis=0>(e";
  std::string sum = "; y = Sum(a0";
  for (int k = 1; k < 60; ++k) {
    chain += fmt::format("; a{} = Sin(a{})", k, k - 1);
    sum += fmt::format(", a{}", k);
    concat += ", e";
  }
  return in_notation({
      {"chain_of_live_values", "", chain + sum + ")"},
      {"concat_of_60", "", concat + ")"},
      {"constants_summed", "",
       "a = ConstantOfShape(s: i64[1]{8000000}); b = Exp(a); c = Concat<axis=0>(a, b, a, b, a, b, a, b, a, b, a, b, a, "
       "b, a, b, a, b, a, b); d = ReduceSum(c); y = Add(d, x: f32[1])"},
  });
}

}  // namespace

std::vector<HostileCase> memory_cases() {
  std::vector<HostileCase> all;
  for (auto* cases : {stated, decided_by_data, loops, many})
    for (HostileCase& hostile : cases()) all.push_back(std::move(hostile));
  return all;
}

}  // namespace isomer::test
