// Stages beyond random ones: reference programs, sizes that data decide, errors, sums that must not become products.
#include <gmock/gmock.h>

#include <limits>

#include "graph/te/interpret.h"
#include "interpreter/compare.h"
#include "util/random.h"

namespace isomer::te::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr DataType kF32 = DataType::kFloat32, kInt = DataType::kInt64;

Expr input(int i, std::vector<Expr> at, DataType dtype = kF32) {
  return load({BufferRef::Kind::kInput, i, 0}, dtype, std::move(at));
}
Tensor reals(Dims dims, std::vector<double> values) { return Tensor::from_doubles(kF32, std::move(dims), values); }
Tensor ints(std::vector<int64_t> values) { return Tensor::int64s(std::move(values)); }

std::string error_of(const Program& program, const std::vector<Tensor>& tensors) {
  std::vector<Array> inputs;
  for (const Tensor& tensor : tensors) inputs.push_back(Array::from(tensor));
  const auto result = interpret(program, inputs);
  return result.ok() ? "" : result.error().message();
}

/// The indices of the elements that are not zero: their number first, then they.
Program nonzero(int64_t count) {
  Procedure procedure;
  procedure.locals = {{kInt, {}}, {kInt, {Dim(0)}}};
  const Expr element = input(0, {loop_var(0)});
  const Expr found = load_local(0, kInt, {});
  const auto if_nonzero = [&](Block then) { return if_then(logical_not(equal(element, Number(0))), std::move(then)); };
  procedure.block = {
      for_loop(0, index(count), {if_nonzero({store(0, {}, found + index(1))})}),
      resize(1, {found}),
      store(0, {}, index(0)),
      for_loop(0, index(count), {if_nonzero({store(1, {found}, loop_var(0)), store(0, {}, found + index(1))})}),
  };
  Program program;
  program.outputs.push_back(program.imperative({procedure, {1}}));
  return program;
}

TEST(Imperative, resizes_and_stores) {
  EXPECT_TRUE(agrees(nonzero(5), {reals({5}, {0, 3, 0, 0, -1})}));
  const std::vector<Array> inputs = {Array::from(reals({5}, {0, 3, 0, 0, -1}))};
  const auto result = interpret(nonzero(5), inputs);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT((*result)[0].integers(), ElementsAre(1, 4));
}

TEST(Imperative, loops_while_a_condition_holds) {
  // The number of steps that 3n + 1 takes from 27 to 1.
  Procedure procedure;
  procedure.locals = {{kInt, {}}, {kInt, {}}};
  const Expr n = load_local(0, kInt, {}), steps = load_local(1, kInt, {});
  const Expr next = select(equal(floor_mod(n, index(2)), index(0)), floor_div(n, index(2)), n * index(3) + index(1));
  procedure.block = {store(0, {}, index(27)),
                     while_loop(index(1) < n, {store(0, {}, next), store(1, {}, steps + index(1))})};
  Program program;
  program.outputs.push_back(program.imperative({procedure, {1}}));
  EXPECT_TRUE(agrees(program, {}));
  EXPECT_EQ((*interpret(program, {}))[0].integers()[0], 111);
}

TEST(Imperative, a_store_out_of_range_is_an_error) {
  Procedure procedure;
  procedure.locals = {{kInt, {Dim(2)}}};
  procedure.block = {for_loop(0, index(3), {store(0, {loop_var(0)}, index(1))})};
  Program program;
  program.outputs.push_back(program.imperative({procedure, {0}}));
  EXPECT_THAT(error_of(program, {}), HasSubstr("index 2 is out of range on axis 0 of buffer 0, which has 2 elements"));
}

TEST(Stages, sizes_may_be_values_of_earlier_stages) {
  Program program;
  const StageValue count = program.reduce({}, {4}, sum(kInt), input(0, {reduce_axis(0)}, kInt));
  program.outputs.push_back(program.map({Dim(program.load(count, {})), 2}, axis(0) * index(10) + axis(1)));
  EXPECT_TRUE(agrees(program, {ints({1, 0, 30, 2})}));
  EXPECT_TRUE(agrees(program, {ints({0, 0, 0, 0})}));
  EXPECT_THAT(error_of(program, {ints({1, 0, -3, 0})}), HasSubstr("extent of at least 0 expected, -2 found"));
}

TEST(Stages, plans_are_made_again_for_other_sizes) {
  Program program;
  const Dim count(load({BufferRef::Kind::kInput, 0, 0}, kInt, {}));
  program.outputs.push_back(program.map({count}, input(1, {axis(0)}) * Number(2)));
  PlannedProgram plan(program);
  for (const int64_t n : {3, 40, 3, 100}) {
    const std::vector<Array> inputs = {Array::integers(kInt, {}, std::vector{n}),
                                       Array::reals(kF32, {n}, std::vector<double>(n, 1.5))};
    const auto result = plan.run(inputs);
    ASSERT_TRUE(result.ok());
    EXPECT_THAT((*result)[0].reals(), testing::AllOf(testing::SizeIs(n), testing::Each(3.0)));
  }
}

TEST(Stages, only_those_that_outputs_need_are_run) {
  Program program;
  program.map({3}, input(0, {axis(0) + index(100)}));
  program.outputs.push_back(program.map({3}, input(0, {axis(0)})));
  EXPECT_TRUE(agrees(program, {reals({3}, {1, 2, 3})}));
}

TEST(Errors, say_which_index_of_what_is_out_of_range) {
  for (const int64_t count : {4, 100}) {
    Program gather;
    gather.outputs.push_back(
        gather.map({count, 30}, input(0, {input(1, {floor_mod(axis(0), index(4))}, kInt), axis(1)})));
    EXPECT_THAT(error_of(gather, {reals({5, 30}, std::vector<double>(150, 1)), ints({0, 4, 7, 2})}),
                HasSubstr("index 7 is out of range on axis 0 of input 0, which has 5 elements"));
    Program affine;
    affine.outputs.push_back(affine.map({count, 30}, input(0, {axis(1) + index(1)})));
    EXPECT_THAT(error_of(affine, {reals({30}, std::vector<double>(30, 1))}),
                HasSubstr("axis 0 of input 0, which has 30 elements"));
  }
}

TEST(Errors, division_by_zero) {
  for (const int64_t count : {1, 10}) {
    Program program;
    program.outputs.push_back(program.map({count, 4}, input(0, {axis(1)}, kInt) / input(1, {axis(1)}, kInt)));
    EXPECT_EQ(error_of(program, {ints({1, 2, 3, 4}), ints({1, 2, 0, 4})}), "an integer is divided by zero");
    EXPECT_EQ(error_of(program, {ints({1, 2, 3, 4}), ints({1, 2, 3, 4})}), "");
  }
}

TEST(Errors, symbols_without_a_value_and_sizes_beyond_memory) {
  Program symbolic;
  symbolic.outputs.push_back(symbolic.map({Dim::symbol("batch")}, index(1)));
  EXPECT_THAT(error_of(symbolic, {}), HasSubstr("the dim batch has no value"));
  Program huge;
  huge.outputs.push_back(huge.map({int64_t{1} << 40, int64_t{1} << 15}, index(1)));
  EXPECT_THAT(error_of(huge, {}), HasSubstr("does not fit into memory"));
  Program absurd;
  absurd.outputs.push_back(absurd.map({int64_t{1} << 40, int64_t{1} << 40}, index(1)));
  EXPECT_THAT(error_of(absurd, {}), HasSubstr("more than 2^58 elements"));
}

TEST(Errors, are_the_same_with_any_number_of_threads) {
  Program program;
  program.outputs.push_back(program.map({2000, 300}, input(0, {input(1, {axis(0)}, kInt), axis(1)})));
  std::vector<int64_t> rows(2000, 0);
  for (size_t k = 700; k < rows.size(); ++k) rows[k] = static_cast<int64_t>(k);
  const std::vector<Array> inputs = {Array::from(reals({1, 300}, std::vector<double>(300, 1))),
                                     Array::from(ints(rows))};
  for (const int threads : {1, 2, 4, 4, 4}) {
    const auto result = interpret(program, inputs, {.threads = threads});
    ASSERT_FALSE(result.ok());
    EXPECT_THAT(result.error().message(), HasSubstr("index 700 "));
  }
}

TEST(Contraction, a_condition_around_the_product_hides_what_is_not_finite) {
  // A weight that only meets positions outside of the input.
  const double infinity = std::numeric_limits<double>::infinity();
  const int64_t channels = 16, size = 24;
  std::vector<double> weights(channels * channels * 2, 0.5);
  for (int64_t k = 0; k < channels; ++k) weights[k * 2 + 1] = infinity;
  const Expr at = axis(1) + reduce_axis(1) * index(size);
  const Expr product = input(0, {reduce_axis(0), at}) * input(1, {axis(0), reduce_axis(0), reduce_axis(1)});
  Program program;
  program.outputs.push_back(
      program.reduce({channels, size}, {channels, 2}, sum(kF32), select(at < index(size), product, literal(0, kF32))));
  EXPECT_TRUE(agrees(program, {reals({channels, size}, std::vector<double>(channels * size, 0.25)),
                               reals({channels, channels, 2}, weights)}));
}

TEST(Contraction, a_condition_on_what_no_factor_reads_is_kept) {
  // Every second column is 0.
  const int64_t rows = 16, columns = 24, depth = 16;
  const Expr product = input(0, {axis(0), reduce_axis(0)}) * input(1, {reduce_axis(0), floor_div(axis(1), index(2))});
  const Expr even = equal(floor_mod(axis(1), index(2)), index(0));
  Program program;
  program.outputs.push_back(
      program.reduce({rows, columns}, {depth}, sum(kF32), select(even, product, literal(0, kF32))));
  EXPECT_TRUE(agrees(program, {reals({rows, depth}, std::vector<double>(rows * depth, 0.5)),
                               reals({depth, columns / 2}, std::vector<double>(depth * columns / 2, 0.25))}));
}

TEST(Contraction, of_integers_that_doubles_cannot_hold_stays_exact) {
  const int64_t n = 24;
  std::vector<int64_t> values(n * n);
  for (size_t k = 0; k < values.size(); ++k) values[k] = (int64_t{1} << 40) + static_cast<int64_t>(k) * 7919;
  for (const DataType dtype : {DataType::kInt64, DataType::kUInt64, DataType::kInt32, DataType::kUInt32}) {
    const Expr a = load({BufferRef::Kind::kInput, 0, 0}, dtype, {axis(0), reduce_axis(0)});
    const Expr b = load({BufferRef::Kind::kInput, 0, 0}, dtype, {axis(1), reduce_axis(0)});
    Program program;
    program.outputs.push_back(program.reduce({n, n}, {n}, sum(dtype), a * b));
    EXPECT_TRUE(agrees(program, {Tensor::from_ints(dtype, {n, n}, values)}));
  }
}

TEST(Contraction, results_do_not_depend_on_the_number_of_threads) {
  const int64_t m = 70, n = 130, k = 300;
  std::vector<double> a(m * k), b(k * n);
  Random random(1);
  for (double& x : a) x = random.normal();
  for (double& x : b) x = random.normal();
  Program program;
  program.outputs.push_back(program.reduce({m, n}, {k}, sum(kF32),
                                           input(0, {axis(0), reduce_axis(0)}) * input(1, {reduce_axis(0), axis(1)})));
  const std::vector<Array> inputs = {Array::reals(kF32, {m, k}, a), Array::reals(kF32, {k, n}, b)};
  const auto one = interpret(program, inputs);
  for (const int threads : {2, 3}) {
    const auto many = interpret(program, inputs, {.threads = threads});
    EXPECT_TRUE(std::equal((*one)[0].reals().begin(), (*one)[0].reals().end(), (*many)[0].reals().begin()));
  }
}

TEST(Arrays, hold_tensors_of_every_type) {
  for (const DataType dtype :
       {DataType::kFloat64, DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16, DataType::kInt8,
        DataType::kUInt32, DataType::kInt64, DataType::kUInt64, DataType::kBool}) {
    const Tensor tensor = Tensor::from_ints(dtype, {2, 2}, std::vector<int64_t>{0, 1, 1, 0});
    const Array array = Array::from(tensor);
    EXPECT_EQ(array.as_double(1), 1) << name(dtype);
    EXPECT_TRUE(to_tensor(array).same_contents(tensor)) << name(dtype);
    EXPECT_THAT(array.reshaped({4}).dims(), ElementsAre(4));
  }
  EXPECT_EQ(Array::from(reals({0, 3}, {})).count(), 0);
}

TEST(Arrays, misaligned_words_are_copied) {
  auto bytes = std::make_shared<std::vector<std::byte>>(17);
  encode_real(DataType::kFloat64, 1.5, bytes->data() + 1);
  encode_real(DataType::kFloat64, -2.5, bytes->data() + 9);
  const Array array = Array::from(Tensor(DataType::kFloat64, {2}, std::span(*bytes).subspan(1), bytes));
  EXPECT_THAT(array.reals(), ElementsAre(1.5, -2.5));
}

}  // namespace
}  // namespace isomer::te::test
