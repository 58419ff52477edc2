// Shapes of operators of movement where they are subtle: symbolic dims, partly known targets, clamps, hostile numbers;
// and the form of their indices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/infer.h"
#include "graph/te/print.h"
#include "graph/text.h"

namespace isomer {
namespace {

struct Case {
  const char* property;
  const char* inputs;
  const char* nodes;     ///< the last defines y
  const char* expected;  ///< y's type, or a part of the error
};

std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.property; }

Result<Graph> graph_of(const Case& c) {
  return parse_graph(fmt::format("opset 21\ngraph g({}) -> (y) {{\n{}\n}}\n", c.inputs, c.nodes));
}

const Value& named(const Graph& graph, std::string_view name) {
  for (const ValueId id : graph.values())
    if (graph.value(id).name == name) return graph.value(id);
  CHECK(false) << name;
  return graph.value(graph.values()[0]);
}

class Movement : public testing::TestWithParam<Case> {};

TEST_P(Movement, infers) {
  const Case& c = GetParam();
  const auto graph = graph_of(c);
  if (!graph.ok()) {
    EXPECT_THAT(graph.error().message(), testing::HasSubstr(c.expected));
    return;
  }
  const Value& y = named(*graph, "y");
  const std::string reason = y.producer.valid() ? graph->node(y.producer).opaque_reason : "";
  EXPECT_EQ(reason.empty() ? y.type.text() : reason, c.expected);
}

const Case kShapes[] = {
    {"reshape copies and solves", "x: float32[batch,seq,768]", "s: int64[4] = {0, 0, 12, -1}\ny = Reshape(x, s)",
     "float32[batch,seq,12,64]"},
    {"reshape solves a symbol", "x: float32[batch,seq,768]", "s: int64[3] = {-1, 12, 64}\ny = Reshape(x, s)",
     "float32[batch*seq,12,64]"},
    {"reshape to the shape of another", "x: float32[n,m], z: float32[m,n]", "s = Shape(z)\ny = Reshape(x, s)",
     "float32[m,n]"},
    {"reshape divides by a product", "x: float32[a,b,6]",
     "z = Shape(x)\ni: int64[] = {0}\nj: int64[1] = {0}\nk: int64[1] = {-1}\na = Gather(z, i)\nu = Unsqueeze(a, j)\ns "
     "= Concat(u, k) {axis = 0}\ny = Reshape(x, s)",
     "float32[a,6*b]"},
    {"reshape with allowzero", "x: float32[0,4]", "s: int64[2] = {4, 0}\ny = Reshape(x, s) {allowzero = 1}",
     "float32[4,0]"},
    {"reshape to unknown dims", "x: float32[4], s: int64[2]", "y = Reshape(x, s)", "float32[\"y.0?\",\"y.1?\"]"},
    // At n = 5 such a dim is a 0, which copies; at n = 4 it is made up.
    {"reshape to a size that may be no size", "x: float32[n,2]",
     "s = Shape(x)\nd: int64[2] = {5, 0}\nt = Sub(s, d)\ny = Reshape(x, t)", "float32[n,2]"},
    {"reshape to sizes that may be no sizes", "x: float32[n,m]",
     "s = Shape(x)\nd: int64[2] = {5, 2}\nt = Sub(s, d)\ny = Reshape(x, t)", "float32[\"y.0?\",\"y.1?\"]"},
    {"reshape to a size that may be none beside one made up", "x: float32[n,2]",
     "s = Shape(x)\ni: int64[1] = {0}\na = Gather(s, i)\nb: int64[1] = {2}\nh = Div(a, b)\nm: int64[1] = {-1}\nt = "
     "Concat(h, m) {axis = 0}\ny = Reshape(x, t)",
     "float32[\"y.0?\",\"y.1?\"]"},
    {"reshape to a half", "x: float32[n,6]",
     "s = Shape(x)\nd: int64[2] = {2, 1}\nt = Div(s, d)\ne: int64[2] = {1, 2}\nu = Mul(t, e)\ny = Reshape(x, u)",
     "float32[n floordiv 2,12]"},
    {"reshape to halves that may be 0", "x: float32[n,m]",
     "s = Shape(x)\nd: int64[2] = {2, 2}\nt = Div(s, d)\ny = Reshape(x, t)", "float32[\"y.0?\",\"y.1?\"]"},
    {"reshape to halves with allowzero", "x: float32[n,m]",
     "s = Shape(x)\nd: int64[2] = {2, 2}\nt = Div(s, d)\ny = Reshape(x, t) {allowzero = 1}",
     "float32[n floordiv 2,m floordiv 2]"},
    {"reshape to what is at least 1", "x: float32[n,m], z: float32[a,b]",
     "s = Shape(z)\nd: int64[2] = {2, 1}\nt = Div(s, d)\ne: int64[2] = {1, 3}\nf: int64[2] = {1, 2}\nu = Mul(t, "
     "e)\nv = Add(u, f)\ny = Reshape(x, v)",
     "float32[a floordiv 2 + 1,3*b + 2]"},
    {"reshape to a product", "x: float32[n,m]", "s = Shape(x)\nd: int64[2] = {4, 3}\nt = Mul(s, d)\ny = Reshape(x, t)",
     "float32[4*n,3*m]"},
    {"reshape to a count that data decide", "x: float32[3,4], z: float32[k]",
     "c = NonZero(z)\ns = Shape(c)\nm: int64[2] = {1, 1}\ni: int64[2] = {1, 1}\nt = Gather(s, i)\ny = Reshape(x, t)",
     "float32[\"y.0?\",\"y.1?\"]"},
    {"reshape to factors of sizes without a name", "x: float32[\"s.0\",\"b.0\",768]",
     "s = Shape(x)\np: int64[3] = {1, 0, 2}\nq = Gather(s, p)\nm: int64[3] = {12, 1, 1}\nd: int64[3] = {1, 1, 12}\nr "
     "= Mul(q, m)\nt = Div(r, d)\ny = Reshape(x, t)",
     "float32[12*\"b.0\",\"s.0\",64]"},
    {"reshape of two -1", "x: float32[4]", "s: int64[2] = {-1, -1}\ny = Reshape(x, s)",
     "at most one -1 in shape expected"},
    {"reshape of another count", "x: float32[4]", "s: int64[2] = {3, 2}\ny = Reshape(x, s)",
     "a shape of 4 elements expected"},
    {"reshape indivisible", "x: float32[4]", "s: int64[2] = {-1, 3}\ny = Reshape(x, s)", "4 elements expected"},
    {"reshape of huge dims", "x: float32[4]", "s: int64[2] = {4611686018427387904, 4}\ny = Reshape(x, s)", "expected"},
    {"flatten symbols", "x: float32[n,c,2,3]", "y = Flatten(x) {axis = 2}", "float32[c*n,6]"},
    {"flatten at the end", "x: float32[2,3]", "y = Flatten(x) {axis = 2}", "float32[6,1]"},
    {"squeeze a symbol", "x: float32[n,1,m]", "a: int64[2] = {1, -1}\ny = Squeeze(x, a)", "float32[n]"},
    {"squeeze another dim", "x: float32[2,3]", "a: int64[1] = {0}\ny = Squeeze(x, a)",
     "dim 1 at axis 0 expected, 2 found"},
    {"squeeze all", "x: float32[1,3,1]", "y = Squeeze(x)", "float32[3]"},
    {"unsqueeze from the end", "x: float32[n]", "a: int64[2] = {-1, 0}\ny = Unsqueeze(x, a)", "float32[1,n,1]"},
    {"transpose twice an axis", "x: float32[2,3]", "y = Transpose(x) {perm = [0,0]}", "a permutation of the 2 axes"},
    {"depth to space of symbols", "x: float32[n,8,h,w]", "y = DepthToSpace(x) {blocksize = 2}", "float32[n,2,2*h,2*w]"},
    {"depth to space indivisible", "x: float32[1,7,2,2]", "y = DepthToSpace(x) {blocksize = 2}",
     "to be a multiple of 4 expected"},
    {"depth to space of a huge block", "x: float32[1,8,2,2]", "y = DepthToSpace(x) {blocksize = 9223372036854775807}",
     "to be a multiple of"},
    {"concat sums symbols", "x: float32[n,2], z: float32[m,2]", "y = Concat(x, z, x) {axis = 0}", "float32[m + 2*n,2]"},
    {"concat takes the known dim", "x: float32[1,n], z: float32[2,3]", "y = Concat(x, z) {axis = 0}", "float32[3,3]"},
    {"concat of unequal dims", "x: float32[1,4], z: float32[2,3]", "y = Concat(x, z) {axis = 0}",
     "inputs that differ only along axis 0"},
    {"slice to the end", "x: float32[n,9]",
     "s: int64[2] = {1, -3}\ne: int64[2] = {9223372036854775807, -1}\ny = Slice(x, s, e)", "float32[n - min(1, n),2]"},
    {"slice backwards", "x: float32[7]",
     "s: int64[1] = {-1}\ne: int64[1] = {-9223372036854775808}\na: int64[1] = {0}\nt: int64[1] = {-2}\ny = Slice(x, s, "
     "e, a, t)",
     "float32[4]"},
    {"slice backwards over a symbol", "x: float32[n]",
     "s: int64[1] = {-1}\ne: int64[1] = {-9223372036854775808}\na: int64[1] = {0}\nt: int64[1] = {-1}\ny = Slice(x, s, "
     "e, a, t)",
     "float32[n]"},
    {"slice by the most negative step", "x: float32[7]",
     "s: int64[1] = {6}\ne: int64[1] = {-9223372036854775808}\na: int64[1] = {0}\nt: int64[1] = "
     "{-9223372036854775808}\ny = Slice(x, s, e, a, t)",
     "float32[1]"},
    {"slice by step 0", "x: float32[7]",
     "s: int64[1] = {0}\ne: int64[1] = {7}\na: int64[1] = {0}\nt: int64[1] = {0}\ny = Slice(x, s, e, a, t)",
     "steps other than 0 expected"},
    {"slice at unknown places", "x: float32[7,n], s: int64[1], e: int64[1]", "a: int64[1] = {0}\ny = Slice(x, s, e, a)",
     "float32[\"y.0?\",n]"},
    {"split unevenly", "x: float32[7]", "z, y = Split(x) {num_outputs = 2}", "float32[3]"},
    {"split a symbol", "x: float32[4*n]", "z, y = Split(x) {num_outputs = 2}", "float32[2*n]"},
    {"split into too many", "x: float32[1]", "z, v, y = Split(x) {num_outputs = 3}", "a dim that splits into 3 parts"},
    {"pad by negatives", "x: float32[n,5]", "p: int64[4] = {1, -2, 0, -1}\ny = Pad(x, p)", "float32[n + 1,2]"},
    {"pad away more than there is", "x: float32[5]", "p: int64[2] = {-3, -3}\ny = Pad(x, p)", "pads that leave axis 0"},
    {"pad by the most", "x: float32[5]", "p: int64[2] = {9223372036854775807, 1}\ny = Pad(x, p)",
     "pads in [-2^40, 2^40] expected"},
    {"tile a symbol", "x: float32[n,2]", "r: int64[2] = {3, 2}\ny = Tile(x, r)", "float32[3*n,4]"},
    {"tile by negatives", "x: float32[2]", "r: int64[1] = {-1}\ny = Tile(x, r)", "repeats of at least 0 expected"},
    {"expand by a size that may be 0", "x: float32[n], z: float32[k]",
     "c = NonZero(z)\nd = Shape(c) {start = 1}\ny = Expand(x, d)",
     "float32[min(min(1, \"c.1?\"), n)*max(\"c.1?\", n)]"},
    {"expand to a symbol", "x: float32[1,3], z: float32[n,1]", "s = Shape(z)\ny = Expand(x, s)", "float32[n,3]"},
    {"shape from a negative start", "x: float32[2,n,4]", "s = Shape(x) {start = -2}\ny = ConstantOfShape(s)",
     "float32[n,4]"},
    {"constant of a negative shape", "", "s: int64[1] = {-1}\ny = ConstantOfShape(s)",
     "dims of at least 0 expected, -1 found"},
    {"range of symbols", "x: float32[n]", "s = Size(x)\na: int64[] = {0}\nd: int64[] = {1}\ny = Range(a, s, d)",
     "int64[n]"},
    {"range downwards", "", "a: int64[] = {10}\nb: int64[] = {0}\nd: int64[] = {-3}\ny = Range(a, b, d)", "int64[4]"},
    {"range of reals", "", "a: float32[] = {0}\nb: float32[] = {1}\nd: float32[] = {0.25}\ny = Range(a, b, d)",
     "float32[4]"},
    {"range by 0", "", "a: int64[] = {10}\nb: int64[] = {0}\nd: int64[] = {0}\ny = Range(a, b, d)",
     "delta other than 0 expected"},
    {"range of the whole int64", "",
     "a: int64[] = {-9223372036854775808}\nb: int64[] = {9223372036854775807}\nd: int64[] = {1}\ny = Range(a, b, d)",
     "expected"},
    {"one-hot of a negative depth", "x: int64[2]", "d: int64[] = {-5}\nv: float32[2] = {0, 1}\ny = OneHot(x, d, v)",
     "depth of at least 0 expected, -5 found"},
    {"gather of rows", "x: float32[v,8], i: int64[n,m]", "y = Gather(x, i)", "float32[n,m,8]"},
    {"gather nd in batches", "x: float32[n,3,4,5], i: int64[n,7,2]", "y = GatherND(x, i) {batch_dims = 1}",
     "float32[n,7,5]"},
    {"scatter nd of another shape", "x: float32[4,4], i: int64[2,1], u: float32[2,3]", "y = ScatterND(x, i, u)",
     "updates of shape [2,4] expected, [2,3] found"},
    {"top k of a symbol", "x: float32[n,9], z: float32[k]", "s = Shape(z)\ny, i = TopK(x, s)", "float32[n,k]"},
    {"top k of too many", "x: float32[2,3]", "k: int64[1] = {4}\ny, i = TopK(x, k)", "K in [0, 3] expected, 4 found"},
    {"top k of fewer than none", "x: float32[2,3]", "k: int64[1] = {-1}\ny, i = TopK(x, k)",
     "K in [0, 3] expected, -1 found"},
    {"resize by halves", "x: float32[n,3,h,w]", "s: float32[4] = {1, 1, 1.5, 2}\ny = Resize(x, _, s)",
     "float32[n,3,3*h floordiv 2,2*w]"},
    {"resize in float32", "x: float32[1,1,10,10]", "s: float32[4] = {1, 1, 0.7, 0.6}\ny = Resize(x, _, s)",
     "float32[1,1,7,6]"},
    {"resize keeps the aspect", "x: float32[4,6]",
     "s: int64[2] = {8, 9}\ny = Resize(x, _, _, s) {keep_aspect_ratio_policy = \"not_larger\"}", "float32[6,9]"},
    {"resize by nothing", "x: float32[4]", "s: float32[1] = {0}\ny = Resize(x, _, s)", "scales above 0 expected"},
    {"resize by too much", "x: float32[4]", "s: float32[1] = {1e30}\ny = Resize(x, _, s)",
     "dims of at most 2^40 expected"},
    {"resize by nothing and to nothing", "x: float32[4]", "y = Resize(x)",
     "either scales or sizes expected, neither found"},
};
INSTANTIATE_TEST_SUITE_P(shapes, Movement, testing::ValuesIn(kShapes));

/// The index expressions of the only load of y's program.
std::string indices(const Case& c) {
  const auto graph = graph_of(c);
  if (!graph.ok()) return graph.error().message();
  const NodeId producer = named(*graph, "y").producer;
  const auto program = graph->node(producer).op->compute(context_of(*graph, producer));
  if (!program.ok()) return program.error().message();
  std::vector<std::string> texts;
  const auto& stage = std::get<te::MapReduce>(program->stages.back().body);
  te::for_each_node(stage.bodies[0], [&](const te::Expr& e) {
    if (const te::Load* load = te::as<te::Load>(e); load && texts.empty())
      for (const te::Expr& index : load->index) texts.push_back(te::print(index));
  });
  return fmt::format("{}", fmt::join(texts, ", "));
}

TEST(Resize, ToNothingHasAProgram) {
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* sizes : {"1, 1, 0, 3", "1, 1, 3, 0", "1, 1, 0, 0"}) {
      const int antialias = std::string_view(mode) == "nearest" ? 0 : 1;
      const std::string body = fmt::format(
          "s: int64[4] = {{{}}}\ny = Resize(x, _, _, s) {{mode = \"{}\", antialias = {}}}", sizes, mode, antialias);
      const auto graph = graph_of({"", "x: float32[1,1,4,4]", body.c_str(), ""});
      ASSERT_TRUE(graph.ok()) << graph.error().message();
      const NodeId producer = named(*graph, "y").producer;
      EXPECT_TRUE(graph->node(producer).op->compute(context_of(*graph, producer)).ok()) << body;
    }
}

class MovementIndex : public testing::TestWithParam<Case> {};

TEST_P(MovementIndex, is_as_simple_as_can_be) { EXPECT_EQ(indices(GetParam()), GetParam().expected); }

const Case kIndices[] = {
    {"reshape keeps common dims", "x: float32[n,4,m]", "s: int64[4] = {0, 2, 2, -1}\ny = Reshape(x, s)",
     "i0, 2*i1 + i2, i3"},
    {"reshape splits", "x: float32[n,2,3]", "s: int64[2] = {0, 6}\ny = Reshape(x, s)",
     "i0, i1 floordiv 3, i1 floormod 3"},
    {"flatten of ones", "x: float32[n,5,1,1]", "y = Flatten(x)", "i0, i1, 0, 0"},
    {"unsqueeze", "x: float32[n,m]", "a: int64[1] = {1}\ny = Unsqueeze(x, a)", "i0, i2"},
    {"depth to space", "x: float32[n,8,h,w]", "y = DepthToSpace(x) {blocksize = 2}",
     "i0, i1 + 4*(i2 floormod 2) + 2*(i3 floormod 2), i2 floordiv 2, i3 floordiv 2"},
    {"slice", "x: float32[n,9]",
     "s: int64[1] = {8}\ne: int64[1] = {-9223372036854775808}\na: int64[1] = {1}\nt: int64[1] = {-2}\ny = Slice(x, s, "
     "e, a, t)",
     "i0, 8 - 2*i1"},
    {"gather of one", "x: float32[3,n]", "i: int64[] = {-1}\ny = Gather(x, i)", "2, i0"},
    {"nearest upsampling", "x: float32[1,1,5,7]",
     "s: float32[4] = {1, 1, 2, 2}\ny = Resize(x, _, s) {coordinate_transformation_mode = \"asymmetric\", nearest_mode "
     "= \"floor\"}",
     "i0, i1, i2 floordiv 2, i3 floordiv 2"},
};
INSTANTIATE_TEST_SUITE_P(indices, MovementIndex, testing::ValuesIn(kIndices));

}  // namespace
}  // namespace isomer
