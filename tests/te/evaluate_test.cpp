#include "graph/te/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/te/algebra_floating.h"

namespace isomer::te {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr DataType kF32 = DataType::kFloat32, kI64 = DataType::kInt64;

Expr input(int i, std::vector<Expr> index, DataType dtype = kF32) {
  return load({BufferRef::Kind::kInput, i, 0}, dtype, std::move(index));
}
Tensor reals(Dims dims, std::vector<double> values) { return Tensor::from_doubles(kF32, std::move(dims), values); }
Tensor ints(Dims dims, std::vector<int64_t> values) { return Tensor::from_ints(kI64, std::move(dims), values); }

struct Outcome {
  std::vector<std::vector<double>> outputs;
  std::vector<Dims> dims;
  std::string error;
};

Outcome run(const Program& program, const std::vector<std::optional<Tensor>>& inputs, SymbolValues symbols = {},
            EvaluationLimits limits = {}) {
  const Concrete<DoubleAlgebra> scalars({}, std::move(symbols));
  std::vector<ValuesOver<DoubleAlgebra>> values(inputs.size());
  std::vector<const ValuesOver<DoubleAlgebra>*> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]) values[i] = *import_tensor(scalars, *inputs[i]);
    given.push_back(inputs[i] ? &values[i] : nullptr);
  }
  const auto result = evaluate(program, scalars, given, limits);
  if (!result.ok()) return {{}, {}, result.error().message()};
  Outcome outcome;
  for (const auto& output : *result) {
    outcome.dims.push_back(output.dims);
    outcome.outputs.emplace_back();
    for (const auto& e : output.elements)
      outcome.outputs.back().push_back(e.index() == 0 ? static_cast<double>(std::get<0>(e)) : std::get<1>(e));
  }
  return outcome;
}

template <class Define>
Outcome run_one(Define define, const std::vector<std::optional<Tensor>>& inputs, SymbolValues symbols = {},
                EvaluationLimits limits = {}) {
  Program program;
  program.outputs = {define(program)};
  return run(program, inputs, std::move(symbols), limits);
}

TEST(Evaluate, a_padded_strided_convolution) {
  const auto define = [](Program& p) {
    const Expr at = axis(0) * index(2) + reduce_axis(0) - index(1);
    const Expr x = select(index(0) <= at && at < index(5), input(0, {at}), literal(0, kF32));
    return p.reduce({3}, {3}, sum(kF32), x * input(1, {reduce_axis(0)}));
  };
  const Outcome out = run_one(define, {reals({5}, {1, 2, 3, 4, 5}), reals({3}, {1, 10, 100})});
  EXPECT_THAT(out.outputs[0], ElementsAre(210, 432, 54)) << out.error;
}

TEST(Evaluate, stages_read_stages_and_extents_read_data) {
  const auto define = [](Program& p) {
    const StageValue count = p.reduce({}, {4}, sum(kI64), cast(kI64, input(0, {reduce_axis(0)}) < Number(0)));
    return p.map({Dim(p.load(count, {})), Dim::symbol("n")}, axis(0) * index(10) + axis(1));
  };
  const Outcome out = run_one(define, {reals({4}, {-1, 2, -3, 4})}, {{"n", 3}});
  EXPECT_THAT(out.dims[0], ElementsAre(2, 3)) << out.error;
  EXPECT_THAT(out.outputs[0], ElementsAre(0, 1, 2, 10, 11, 12));
}

TEST(Evaluate, the_named_monoids) {
  const Tensor x = reals({5}, {3, -1, 4, 4, -1});
  const Expr element = input(0, {reduce_axis(0)});
  const auto reduced = [&](const Monoid& monoid, std::vector<Expr> bodies) {
    Program program;
    program.reduce({}, {5}, monoid, bodies);
    for (int k = 0; k < monoid.arity(); ++k) program.outputs.push_back({0, k});
    std::vector<double> result;
    for (const auto& output : run(program, {x}).outputs) result.push_back(output[0]);
    return result;
  };
  EXPECT_THAT(reduced(sum(kF32), {element}), ElementsAre(9));
  EXPECT_THAT(reduced(product(kF32), {element}), ElementsAre(48));
  EXPECT_THAT(reduced(maximum(kF32), {element}), ElementsAre(4));
  EXPECT_THAT(reduced(minimum(kF32), {element}), ElementsAre(-1));
  EXPECT_THAT(reduced(argmax(kF32, false), {element, reduce_axis(0)}), ElementsAre(4, 2));
  EXPECT_THAT(reduced(argmax(kF32, true), {element, reduce_axis(0)}), ElementsAre(4, 3));
  EXPECT_THAT(reduced(argmin(kF32, false), {element, reduce_axis(0)}), ElementsAre(-1, 1));
  EXPECT_THAT(reduced(argmin(kF32, true), {element, reduce_axis(0)}), ElementsAre(-1, 4));
  const auto moments = reduced(welford(kF32), {literal(1, kF32), element, literal(0, kF32)});
  EXPECT_NEAR(moments[1], 1.8, 1e-12);
  EXPECT_NEAR(moments[2] / moments[0], 5.36, 1e-12);
  const auto softmax = reduced(online_softmax(kF32), {element, literal(1, kF32), element});
  double total = 0, weighted = 0;
  for (const double v : {3, -1, 4, 4, -1}) total += std::exp(v - 4), weighted += std::exp(v - 4) * v;
  EXPECT_EQ(softmax[0], 4);
  EXPECT_NEAR(softmax[1], total, 1e-12);
  EXPECT_NEAR(softmax[2], weighted, 1e-12);
}

TEST(Evaluate, empty_reductions_give_the_identity_and_empty_maps_nothing) {
  const Expr element = input(0, {reduce_axis(0)});
  const auto lowest = [&](Program& p) { return p.reduce({}, {0}, maximum(kF32), element); };
  EXPECT_EQ(run_one(lowest, {reals({0}, {})}).outputs[0][0], -std::numeric_limits<double>::infinity());
  const auto nothing = [&](Program& p) { return p.map({2, 0, 3}, input(0, {index(7)})); };
  const Outcome out = run_one(nothing, {reals({1}, {0})});
  EXPECT_THAT(out.dims[0], ElementsAre(2, 0, 3)) << out.error;
  EXPECT_TRUE(out.outputs[0].empty());
}

TEST(Evaluate, a_scan_with_two_states) {
  // Fibonacci, beside the running sum of the input.
  Scan scan;
  scan.trip = Dim::symbol("t");
  scan.states = {{{}, literal(0, kI64)}, {{}, literal(1, kI64)}, {{2}, literal(0, kF32)}};
  const auto now = [](int k) { return load_state(k, kI64, {}); };
  scan.steps = {{{}, {}, {}, {now(0) + now(1)}},
                {{}, {}, {}, {now(1)}},
                {{2}, {}, {}, {load_state(2, kF32, {axis(0)}) + input(0, {time_step(), axis(0)})}},
                {{}, {}, {}, {load_inner(0, kI64, {})}}};
  scan.next = {1, 3, 2};
  Program program;
  program.scan(scan);
  program.outputs = {{0, 0}, {0, 1}, {0, 2}};
  const Outcome out = run(program, {reals({4, 2}, {1, 10, 2, 20, 3, 30, 4, 40})}, {{"t", 4}});
  ASSERT_EQ(out.error, "");
  EXPECT_THAT(out.outputs[0], ElementsAre(1, 1, 2, 3));
  EXPECT_THAT(out.outputs[1], ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(out.outputs[2], ElementsAre(1, 10, 3, 30, 6, 60, 10, 100));
  EXPECT_THAT(out.dims[2], ElementsAre(4, 2));
}

TEST(Evaluate, updates_replace_in_order_or_combine) {
  const Tensor base = reals({4}, {1, 2, 3, 4}), values = reals({3}, {10, 20, 30}), at = ints({3}, {2, 0, 2});
  const auto scatter = [](Monoid monoid) {
    return [=](Program& p) {
      return p.update(
          {{4}, input(0, {axis(0)}), {3}, {input(1, {reduce_axis(0)}, kI64)}, input(2, {reduce_axis(0)}), monoid});
    };
  };
  EXPECT_THAT(run_one(scatter({}), {base, at, values}).outputs[0], ElementsAre(20, 2, 30, 4));
  EXPECT_THAT(run_one(scatter(sum(kF32)), {base, at, values}).outputs[0], ElementsAre(21, 2, 43, 4));
  EXPECT_THAT(run_one(scatter({}), {base, ints({3}, {0, 4, 1}), values}).error, HasSubstr("out of range"));
}

/// NonZero of a vector: locals 0 the count, 1 the result, sized by a first pass.
Program positions_of_nonzero() {
  const Expr element = input(0, {loop_var(0)}), count = load_local(0, kI64, {});
  const Block count_one = {store(0, {}, count + index(1))};
  const Block put_one = {store(1, {count}, loop_var(0)), store(0, {}, count + index(1))};
  const Expr is_set = logical_not(equal(element, Number(0)));
  Imperative body;
  body.body.locals = {{kI64, {}}, {kI64, {Dim::symbol("unknown")}}};
  body.body.block = {for_loop(0, index(5), {if_then(is_set, count_one)}), resize(1, {count}), store(0, {}, index(0)),
                     for_loop(0, index(5), {if_then(is_set, put_one)})};
  body.outputs = {1};
  Program program;
  program.outputs = {program.imperative(body)};
  return program;
}

TEST(Evaluate, imperative_stages_size_their_results) {
  const Outcome out = run(positions_of_nonzero(), {reals({5}, {0, 7, 0, -1, 2})});
  EXPECT_THAT(out.outputs[0], ElementsAre(1, 3, 4)) << out.error;
  EXPECT_THAT(run(positions_of_nonzero(), {reals({5}, {0, 0, 0, 0, 0})}).dims[0], ElementsAre(0));
}

TEST(Evaluate, while_loops_end_or_are_stopped) {
  const Expr value = load_local(0, kI64, {}), steps = load_local(1, kI64, {});
  const Block collatz = {
      if_then(equal(floor_mod(value, index(2)), index(0)), {store(0, {}, floor_div(value, index(2)))},
              {store(0, {}, value * index(3) + index(1))}),
      store(1, {}, steps + index(1))};
  Imperative body;
  body.body.locals = {{kI64, {}}, {kI64, {}}};
  body.body.block = {store(0, {}, input(0, {}, kI64)), while_loop(index(1) < value, collatz)};
  body.outputs = {1};
  const auto define = [&](Program& p) { return p.imperative(body); };
  EXPECT_THAT(run_one(define, {ints({}, {27})}).outputs[0], ElementsAre(111));
  EXPECT_THAT(run_one(define, {ints({}, {27})}, {}, {.steps = 50}).error, HasSubstr("more than 50 steps"));
}

TEST(Evaluate, mistakes_are_errors_unless_not_chosen) {
  const auto map = [](Expr body, Shape axes = {2}) { return [=](Program& p) { return p.map(axes, body); }; };
  const Tensor x = ints({2}, {1, 0});
  const Expr element = input(0, {axis(0)}, kI64);
  EXPECT_THAT(run_one(map(index(1) / element), {x}).error, HasSubstr("divided by zero"));
  EXPECT_THAT(run_one(map(floor_mod(index(1), element)), {x}).error, HasSubstr("divided by zero"));
  EXPECT_THAT(run_one(map(select(equal(element, index(0)), index(5), index(7) / element)), {x}).outputs[0],
              ElementsAre(7, 5));
  const Expr beyond = input(0, {axis(0) + index(1)}, kI64), before = input(0, {axis(0) - index(1)}, kI64);
  EXPECT_THAT(run_one(map(beyond), {x}).error, HasSubstr("out of range"));
  EXPECT_THAT(run_one(map(before), {x}).error, HasSubstr("out of range"));
  EXPECT_THAT(run_one(map(select(axis(0) < index(1), beyond, index(9))), {x}).outputs[0], ElementsAre(0, 9));
  EXPECT_THAT(run_one(map(element), {std::nullopt}).error, HasSubstr("absent"));
  EXPECT_THAT(run_one(map(symbol("n")), {}).error, HasSubstr("'n' has no value"));
  EXPECT_THAT(run_one(map(axis(0), {Dim(-1)}), {}).error, HasSubstr("-1 found"));
  EXPECT_THAT(run_one(map(axis(0), {Dim(int64_t{1} << 40), Dim(int64_t{1} << 40)}), {}).error, HasSubstr("more than"));
}

TEST(Evaluate, a_dim_that_hides_a_negative_extent_is_an_error) {
  const auto define = [](Program& p) { return p.map({Dim::symbol("n") - 5}, axis(0)); };
  EXPECT_THAT(run_one(define, {}, {{"n", 3}}).error, HasSubstr("-2 found"));
}

TEST(Evaluate, casts_round_truncate_and_wrap) {
  const auto cast_of = [](const Tensor& x, DataType to, bool back = true) {
    return run_one(
               [&](Program& p) {
                 const Expr element = input(0, {axis(0)}, x.dtype());
                 return p.map({Dim(x.dims()[0])},
                              back ? cast(DataType::kFloat64, cast(to, element)) : cast(to, element));
               },
               {x})
        .outputs[0];
  };
  const auto f64 = [](std::vector<double> v) {
    return Tensor::from_doubles(DataType::kFloat64, {static_cast<int64_t>(v.size())}, v);
  };
  EXPECT_THAT(cast_of(f64({0.1, 2.7, -2.7}), kI64), ElementsAre(0, 2, -2));
  EXPECT_THAT(cast_of(f64({300, -1, 1e20}), DataType::kUInt8), ElementsAre(44, 255, 0));
  EXPECT_THAT(cast_of(f64({0.1}), kF32), ElementsAre(0.1f));
  EXPECT_THAT(cast_of(f64({1 + 0x1p-11, 1 + 3 * 0x1p-11, 65520, 0x1p-25}), DataType::kFloat16),
              ElementsAre(1, 1 + 0x1p-9, std::numeric_limits<double>::infinity(), 0));
  EXPECT_THAT(cast_of(f64({0, -0.5}), DataType::kBool), ElementsAre(0, 1));
  EXPECT_THAT(cast_of(ints({2}, {-1, 1}), DataType::kUInt64), ElementsAre(0x1p64, 1));
  EXPECT_THAT(cast_of(ints({1}, {(1 << 24) + 1}), kF32), ElementsAre(1 << 24));
  EXPECT_THAT(cast_of(f64({0x1p63}), DataType::kUInt64), ElementsAre(0x1p63));
}

}  // namespace
}  // namespace isomer::te
