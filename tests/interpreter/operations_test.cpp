// Every operation on every type, at the values where implementations differ: by strips, with uniform operands, and by
// the register machine.
#include <cmath>
#include <limits>

#include "graph/te/program_text.h"
#include "interpreter/compare.h"

namespace isomer::te::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

const std::vector<DataType> kTypes = {DataType::kFloat64, DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16,
                                      DataType::kInt8,    DataType::kInt16,   DataType::kInt32,   DataType::kInt64,
                                      DataType::kUInt8,   DataType::kUInt16,  DataType::kUInt32,  DataType::kUInt64,
                                      DataType::kBool};

Tensor specials(DataType dtype) {
  if (is_float(dtype)) {
    // Without -0, which the evaluator's exact numbers don't have.
    const std::vector<double> values = {
        0.0,  1.0,   -1.0,   0.5,    1.5, 2.5,  -2.5,         3.0, -7.25,  127.5,   128.0, -129.0, 255.5, 256.0,
        1e-7, 1e-30, 65504., 65520., 7e4, -3e9, 2147483648.0, 4e9, 9.3e18, 1.85e19, -1e19, kInf,   -kInf, std::nan("")};
    return Tensor::from_doubles(dtype, {static_cast<int64_t>(values.size())}, values);
  }
  const std::vector<int64_t> values = {0,
                                       1,
                                       2,
                                       3,
                                       5,
                                       7,
                                       63,
                                       64,
                                       127,
                                       128,
                                       -1,
                                       -2,
                                       -128,
                                       255,
                                       32767,
                                       -32768,
                                       65535,
                                       2147483647,
                                       -2147483648LL,
                                       4294967295LL,
                                       std::numeric_limits<int64_t>::max(),
                                       std::numeric_limits<int64_t>::min()};
  return Tensor::from_ints(dtype, {static_cast<int64_t>(values.size())}, values);
}

Expr input(int i, DataType dtype, Expr at) { return load({BufferRef::Kind::kInput, i, 0}, dtype, {std::move(at)}); }

/// The body over all of [count] at once, and with the axis cut to a few elements from each position.
template <class Body>
void expect_agreement(const Dims& dims, const std::vector<Tensor>& inputs, Body body) {
  Program program;
  program.outputs.push_back(program.map(Shape(dims.begin(), dims.end()), body(axes(static_cast<int>(dims.size())))));
  EXPECT_TRUE(agrees(program, inputs)) << print(program);
  for (int64_t first = 0; first + 3 <= dims[0]; first += 3) {
    Program part;
    std::vector<Expr> at = axes(static_cast<int>(dims.size()));
    at[0] = at[0] + index(first);
    if (at.size() > 1) at[1] = floor_mod(at[1] + index(first * 5), index(dims[1]));
    Shape shape = {3};
    if (at.size() > 1) shape.push_back(5);
    part.outputs.push_back(part.map(shape, body(at)));
    EXPECT_TRUE(agrees(part, inputs)) << print(part);
  }
}

TEST(Operations, casts_between_all_types) {
  for (const DataType from : kTypes)
    for (const DataType to : kTypes) {
      const Tensor values = specials(from);
      expect_agreement(values.dims(), {values},
                       [&](const std::vector<Expr>& at) { return cast(to, input(0, from, at[0])); });
    }
}

TEST(Operations, unary_on_all_types) {
  for (const DataType dtype : kTypes)
    for (int op = 0; op <= static_cast<int>(UnaryOp::kIsNan); ++op) {
      const auto unary_op = static_cast<UnaryOp>(op);
      const bool on_integers = unary_op == UnaryOp::kNeg || unary_op == UnaryOp::kAbs || unary_op == UnaryOp::kNot ||
                               unary_op == UnaryOp::kFloor;
      if (is_float(dtype) ? unary_op == UnaryOp::kNot
                          : !on_integers || (dtype == DataType::kBool && unary_op != UnaryOp::kNot))
        continue;
      const Tensor values = specials(dtype);
      expect_agreement(values.dims(), {values},
                       [&](const std::vector<Expr>& at) { return unary(unary_op, input(0, dtype, at[0])); });
    }
}

TEST(Operations, binary_on_all_types) {
  for (const DataType dtype : kTypes)
    for (int op = 0; op <= static_cast<int>(BinaryOp::kLessEqual); ++op) {
      const auto binary_op = static_cast<BinaryOp>(op);
      const bool bitwise = binary_op >= BinaryOp::kAnd && binary_op <= BinaryOp::kShiftRight;
      if (is_float(dtype) && bitwise) continue;
      if (dtype == DataType::kBool && binary_op != BinaryOp::kAnd && binary_op != BinaryOp::kOr &&
          binary_op != BinaryOp::kXor && binary_op != BinaryOp::kEqual)
        continue;
      const Tensor values = specials(dtype);
      const int64_t count = values.count();
      const bool divides = !is_float(dtype) && (binary_op == BinaryOp::kDiv || binary_op == BinaryOp::kFloorDiv ||
                                                binary_op == BinaryOp::kFloorMod || binary_op == BinaryOp::kTruncMod);
      const auto body = [&](const std::vector<Expr>& at) {
        const Expr a = input(0, dtype, at[0]), b = input(0, dtype, at[1]);
        if (!divides) return binary(binary_op, a, b);
        const Expr zero = literal(0, dtype);
        return select(equal(b, zero), zero, binary(binary_op, a, b));
      };
      expect_agreement({count, count}, {values}, body);
      expect_agreement({count, count}, {values}, [&](const std::vector<Expr>& at) { return body({at[1], at[0]}); });
      expect_agreement({count}, {values}, [&](const std::vector<Expr>& at) { return body({at[0], at[0]}); });
    }
}

TEST(Operations, narrow_integers_wrap_where_their_value_is_needed) {
  for (const DataType dtype : kTypes) {
    if (is_float(dtype) || dtype == DataType::kBool) continue;
    const Tensor values = specials(dtype);
    expect_agreement({values.count(), values.count()}, {values}, [&](const std::vector<Expr>& at) {
      const Expr a = input(0, dtype, at[0]), b = input(0, dtype, at[1]);
      const Expr sum = a * b + a - literal(3, dtype);
      return select(sum < b, cast(DataType::kFloat64, sum), cast(DataType::kFloat64, -sum));
    });
  }
}

TEST(Operations, reductions_of_all_types) {
  for (const DataType dtype : kTypes) {
    if (dtype == DataType::kBool) continue;
    const Tensor values = specials(dtype);
    const int64_t count = values.count();
    for (const Monoid& monoid : {sum(dtype), product(dtype), maximum(dtype), minimum(dtype)})
      for (const bool along : {false, true}) {
        Program program;
        const Expr moving = input(0, dtype, along ? reduce_axis(0) : floor_mod(axis(0) + reduce_axis(0), index(count)));
        program.outputs.push_back(program.reduce({along ? 2 : 40}, {along ? count : 3}, monoid, moving));
        EXPECT_TRUE(agrees(program, {values})) << print(program);
      }
  }
}

}  // namespace
}  // namespace isomer::te::test
