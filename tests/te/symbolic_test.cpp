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

/// Of the value that `define` adds to a program.
template <class Define>
std::string contents_of(Define define, const std::vector<const Contents*>& inputs) {
  Program program;
  program.outputs = {define(program)};
  std::vector<Shape> shapes;
  for (const Contents* elements : inputs)
    shapes.push_back(elements ? Shape{Dim(static_cast<int64_t>(elements->size()))} : Shape{n});
  return text(symbolic_contents(program, 0, inputs, shapes));
}

Shape vector(int64_t size) { return {Dim(size)}; }

auto mapped(Shape axes, Expr body) {
  return [=](Program& p) { return p.map(axes, body); };
}

TEST(SymbolicContents, know_nothing_of_what_a_type_may_not_hold) {
  const Contents shape = {n};
  const auto scaled = [&](DataType dtype, int64_t factor) {
    const Expr narrow = cast(dtype, input(0, {axis(0)}));
    return contents_of(mapped(vector(1), narrow * literal(Number(factor), dtype)), {&shape});
  };
  EXPECT_EQ(scaled(DataType::kInt32, 2), "[2*n]");
  EXPECT_EQ(scaled(DataType::kInt32, 1'000'000'000), "unknown");
  EXPECT_EQ(scaled(DataType::kInt64, 1'000'000), "[1000000*n]");
  EXPECT_EQ(scaled(DataType::kInt64, int64_t{1} << 59), "unknown");
  EXPECT_EQ(scaled(DataType::kFloat32, 100'000), "unknown");
  const Expr wide = input(0, {axis(0)}) * index(1'000'000);
  EXPECT_EQ(contents_of(mapped(vector(1), cast(DataType::kInt32, wide)), {&shape}), "unknown");
}

TEST(SymbolicContents, know_nothing_of_what_would_wrap_in_an_unsigned_type) {
  const Contents shape = {n, n - 5, n - 1, Dim(5000) - n};
  const Expr element = input(0, {axis(0)});
  for (const DataType dtype : {DataType::kUInt32, DataType::kUInt64}) {
    const Expr unsigned_element = cast(dtype, element);
    EXPECT_EQ(contents_of(mapped(vector(4), unsigned_element), {&shape}), "[n, ?, n - 1, ?]");
    EXPECT_EQ(contents_of(mapped(vector(1), unsigned_element - literal(1, dtype)), {&shape}), "[n - 1]");
    EXPECT_EQ(contents_of(mapped(vector(1), unsigned_element - literal(2, dtype)), {&shape}), "unknown");
    EXPECT_EQ(contents_of(mapped(vector(2), cast(DataType::kInt64, unsigned_element) - element), {&shape}), "[0, ?]");
  }
}

TEST(SymbolicContents, follow_a_shape_computation) {
  const Contents shape = {n, Dim(3), m + 1}, indices = {Dim(2), Dim(0)}, tail = {Dim(-1), std::nullopt};
  const Expr element = input(0, {axis(0)});
  EXPECT_EQ(contents_of(mapped(vector(2), input(0, {input(1, {axis(0)})})), {&shape, &indices}), "[m + 1, n]");
  EXPECT_EQ(contents_of(mapped(vector(3), element / index(2)), {&shape}), "[n floordiv 2, 1, (m + 1) floordiv 2]");
  const Expr joined = select(axis(0) < index(3), element, input(1, {axis(0) - index(3)}));
  EXPECT_EQ(contents_of(mapped(vector(5), joined), {&shape, &tail}), "[n, 3, m + 1, -1, ?]");
  const auto total = [](Program& p) {
    return p.reduce({}, vector(3), product(DataType::kInt64), input(0, {reduce_axis(0)}));
  };
  EXPECT_EQ(contents_of(total, {&shape}), "[3*m*n + 3*n]");
}

TEST(SymbolicContents, decide_conditions_by_bounds) {
  const Contents shape = {n, Dim(-1), m + 1};
  const Expr element = input(0, {axis(0)});
  EXPECT_EQ(contents_of(mapped(vector(3), element < index(0)), {&shape}), "[0, 1, 0]");
  EXPECT_EQ(contents_of(mapped(vector(3), index(0) < element), {&shape}), "[?, 0, 1]");
  const Expr agree = select(equal(element, index(5)), element - element, index(0));
  EXPECT_EQ(contents_of(mapped(vector(3), agree), {&shape}), "[0, 0, 0]");
}

TEST(SymbolicContents, keep_integers_in_floats) {
  const Contents shape = {n, Dim(7)};
  const Expr real = cast(DataType::kFloat32, input(0, {axis(0)}));
  const auto scaled = [&](Number by) {
    return contents_of(mapped(vector(2), cast(DataType::kInt64, unary(UnaryOp::kFloor, real * by))), {&shape});
  };
  EXPECT_EQ(scaled(2), "[2*n, 14]");
  EXPECT_EQ(scaled(0.5), "unknown");
  EXPECT_EQ(contents_of(mapped(vector(2), real * 6 / Number(2)), {&shape}), "[3*n, 21]");
}

TEST(SymbolicContents, wrap_constants_and_leave_errors_unknown) {
  const Contents values = {Dim(200), Dim(-1), Dim(0)};
  const Expr element = input(0, {axis(0)});
  EXPECT_EQ(contents_of(mapped(vector(3), cast(DataType::kInt8, element)), {&values}), "[-56, -1, 0]");
  EXPECT_EQ(contents_of(mapped(vector(3), index(6) / element), {&values}), "[0, -6, ?]");
  EXPECT_EQ(contents_of(mapped(vector(2), input(0, {axis(0) + index(2)})), {&values}), "[0, ?]");
}

TEST(SymbolicContents, write_known_elements) {
  const Contents shape = {n, Dim(2), m}, one = {Dim(1)}, nothing = {std::nullopt};
  const auto put = [](Program& p) {
    return p.update(
        {vector(3), input(0, {axis(0)}), vector(1), {input(1, {reduce_axis(0)})}, input(2, {reduce_axis(0)}), {}});
  };
  EXPECT_EQ(contents_of(put, {&shape, &one, &nothing}), "[n, ?, m]");
  EXPECT_EQ(contents_of(put, {&shape, &nothing, &one}), "unknown");
}

TEST(SymbolicContents, are_unknown_where_nothing_can_be_known) {
  const Contents weights = {Dim(1), Dim(2)};
  const auto product_with_unknown = [](Program& p) {
    return p.reduce(vector(2), vector(1'000'000), sum(DataType::kInt64),
                    input(0, {reduce_axis(0)}) * input(1, {axis(0)}));
  };
  EXPECT_EQ(contents_of(product_with_unknown, {nullptr, &weights}), "unknown");
  EXPECT_EQ(contents_of(mapped({100, 100}, axis(0)), {}), "unknown");
  EXPECT_EQ(contents_of(mapped({n}, axis(0)), {}), "unknown");
  EXPECT_EQ(contents_of(mapped(vector(2), m.expr()), {}), "[m, m]");
}

TEST(SymbolicContents, give_up_on_what_grows_without_end) {
  const Contents element = {n + 1};
  const auto squared_again_and_again = [](Program& p) {
    StageValue value = p.map({1}, input(0, {axis(0)}));
    for (int i = 0; i < 60; ++i) value = p.map({1}, p.load(value, {axis(0)}) * p.load(value, {axis(0)}));
    return value;
  };
  EXPECT_EQ(contents_of(squared_again_and_again, {&element}), "unknown");
  const auto divided_again_and_again = [](Program& p) {
    StageValue value = p.map({1}, input(0, {axis(0)}));
    for (int i = 0; i < 60; ++i) {
      const Expr x = p.load(value, {axis(0)});
      value = p.map({1}, floor_div(x, index(2)) + floor_div(x, index(3)));
    }
    return value;
  };
  EXPECT_EQ(contents_of(divided_again_and_again, {&element}), "unknown");
}

}  // namespace
}  // namespace isomer::te
