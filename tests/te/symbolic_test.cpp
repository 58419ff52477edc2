#include "graph/te/symbolic.h"

#include <gtest/gtest.h>

#include "graph/te/print.h"

namespace isomer::te {
namespace {

using Contents = std::vector<std::optional<Dim>>;

const Dim n = Dim::symbol("n"), m = Dim::symbol("m");

Expr input(int i, std::vector<Expr> index, DataType dtype = DataType::kInt64) {
  return load({BufferRef::Kind::kInput, i, 0}, dtype, std::move(index));
}

/// "[n, ?, 3]", or "unknown".
std::string text(const std::optional<Contents>& contents) {
  if (!contents) return "unknown";
  std::string result = "[";
  for (const auto& element : *contents) result += (result.size() > 1 ? ", " : "") + (element ? element->text() : "?");
  return result + "]";
}

std::string contents_of(Program program, StageValue output, const std::vector<const Contents*>& inputs) {
  program.outputs = {output};
  std::vector<Shape> shapes;
  for (const Contents* elements : inputs) shapes.push_back(elements ? Shape{Dim(static_cast<int64_t>(elements->size()))} : Shape{n});
  return text(symbolic_contents(program, 0, inputs, shapes));
}

TEST(SymbolicContents, follow_a_shape_computation) {
  const Contents shape = {n, Dim(3), m + 1}, indices = {Dim(2), Dim(0)}, tail = {Dim(-1), std::nullopt};
  Program gather;
  EXPECT_EQ(contents_of(gather, gather.map({2}, input(0, {input(1, {axis(0)})})), {&shape, &indices}),
            "[m + 1, n]");
  Program arithmetic;
  const StageValue half = arithmetic.map({3}, input(0, {axis(0)}) / index(2));
  EXPECT_EQ(contents_of(arithmetic, half, {&shape}), "[n floordiv 2, 1, (m + 1) floordiv 2]");
  Program total;
  EXPECT_EQ(contents_of(total, total.reduce({}, {3}, product(DataType::kInt64), input(0, {reduce_axis(0)})), {&shape}),
            "[3*m*n + 3*n]");
  Program join;
  const Expr joined = select(axis(0) < index(3), input(0, {axis(0)}), input(1, {axis(0) - index(3)}));
  EXPECT_EQ(contents_of(join, join.map({5}, joined), {&shape, &tail}), "[n, 3, m + 1, -1, ?]");
}

TEST(SymbolicContents, decide_conditions_by_bounds) {
  const Contents shape = {n, Dim(-1), m + 1};
  const Expr element = input(0, {axis(0)});
  Program negative;
  EXPECT_EQ(contents_of(negative, negative.map({3}, element < index(0)), {&shape}), "[0, 1, 0]");
  Program positive;
  EXPECT_EQ(contents_of(positive, positive.map({3}, index(0) < element), {&shape}), "[?, 0, 1]");
  Program agree;
  EXPECT_EQ(contents_of(agree, agree.map({3}, select(equal(element, index(5)), index(7), index(3) + index(4))), {&shape}),
            "[7, 7, 7]");
}

TEST(SymbolicContents, keep_integers_in_floats) {
  const Contents shape = {n, Dim(7)};
  const Expr real = cast(DataType::kFloat32, input(0, {axis(0)}));
  const auto scaled = [&](Number by) {
    Program p;
    const StageValue value = p.map({2}, cast(DataType::kInt64, unary(UnaryOp::kFloor, real * by)));
    return contents_of(p, value, {&shape});
  };
  EXPECT_EQ(scaled(2), "[2*n, 14]");
  EXPECT_EQ(scaled(0.5), "unknown");
  Program quotient;
  EXPECT_EQ(contents_of(quotient, quotient.map({2}, real * 6 / Number(2)), {&shape}), "[3*n, 21]");
}

TEST(SymbolicContents, wrap_constants_and_leave_errors_unknown) {
  const Contents values = {Dim(200), Dim(-1), Dim(0)};
  Program wraps;
  EXPECT_EQ(contents_of(wraps, wraps.map({3}, cast(DataType::kInt8, input(0, {axis(0)}))), {&values}), "[-56, -1, 0]");
  Program divides;
  EXPECT_EQ(contents_of(divides, divides.map({3}, index(6) / input(0, {axis(0)})), {&values}), "[0, -6, ?]");
  Program outside;
  EXPECT_EQ(contents_of(outside, outside.map({2}, input(0, {axis(0) + index(2)})), {&values}), "[0, ?]");
}

TEST(SymbolicContents, write_known_elements) {
  const Contents shape = {n, Dim(2), m};
  Update put{{3}, input(0, {axis(0)}), {1}, {input(1, {reduce_axis(0)})}, input(2, {reduce_axis(0)}), {}};
  Program p;
  const StageValue out = p.update(put);
  const Contents one = {Dim(1)}, nothing = {std::nullopt};
  EXPECT_EQ(contents_of(p, out, {&shape, &one, &nothing}), "[n, ?, m]");
  EXPECT_EQ(contents_of(p, out, {&shape, &nothing, &one}), "unknown");
}

TEST(SymbolicContents, are_unknown_where_nothing_can_be_known) {
  const Contents weights = {Dim(1), Dim(2)};
  Program p;
  const StageValue out = p.reduce({2}, {1000000}, sum(DataType::kInt64), input(0, {reduce_axis(0)}) * input(1, {axis(0)}));
  EXPECT_EQ(contents_of(p, out, {nullptr, &weights}), "unknown");
  Program large;
  EXPECT_EQ(contents_of(large, large.map({100, 100}, axis(0)), {}), "unknown");
  Program symbolic;
  EXPECT_EQ(contents_of(symbolic, symbolic.map({n}, axis(0)), {}), "unknown");
  Program constant;
  EXPECT_EQ(contents_of(constant, constant.map({2}, m.expr()), {}), "[m, m]");
}

}  // namespace
}  // namespace isomer::te
