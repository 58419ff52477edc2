// include/isomer/operator.h: operators of users, those of docs/operator and wrong ones.
#include "isomer/operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "isomer/compile.h"
#include "isomer/model.h"
#include "isomer/optimize.h"
#include "isomer/session.h"
#include "isomer/verify.h"
#include "operator/operators.h"
#include "support/files.h"
#include "support/model_file.h"

namespace isomer::test {
namespace {

using testing::HasSubstr;

class UserOperators : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  /// A model of the text.
  std::string model(const std::string& name, std::string_view text) const { return write_model(text, path(name)); }

  ScratchFolder folder_;
  const std::vector<Operator> operators_{gate(), root_mean_square(), moving_average()};
};

constexpr std::string_view kGated = R"(opset 17
opset "com.acme" 1
graph gated(x: float32[batch,32], w: float32[batch,1]) -> (y: float32[batch,48]) {
  m: float32[32,48] = random 1
  s: float32[48] = random 2
  nothing: float32[1] = {0}
  p = MatMul(x, m)
  n = com.acme::RootMeanSquare(p, s) {epsilon = 0.001}
  z = Add(n, nothing)
  y = com.acme::Gate(z, w) {beta = 2.0}
}
)";

/// The same in operators of the standard.
constexpr std::string_view kWrittenOut = R"(opset 17
graph gated(x: float32[batch,32], w: float32[batch,1]) -> (y: float32[batch,48]) {
  m: float32[32,48] = random 1
  s: float32[48] = random 2
  epsilon: float32[] = {0.001}
  beta: float32[] = {2}
  p = MatMul(x, m)
  square = Mul(p, p)
  axes: int64[1] = {-1}
  mean = ReduceMean(square, axes)
  guarded = Add(mean, epsilon)
  root = Sqrt(guarded)
  rows = Div(p, root)
  n = Mul(rows, s)
  steep = Mul(w, beta)
  open = Sigmoid(steep)
  by = Mul(w, open)
  y = Mul(n, by)
}
)";

TEST_F(UserOperators, MeanWhatTheyAreSaidToMean) {
  const std::string own = model("own.onnx", kGated), standard = model("standard.onnx", kWrittenOut);
  CompareModelsOptions options;
  options.operators = operators_;
  const auto compared = compare_models(standard, own, options);
  ASSERT_TRUE(compared.has_value()) << compared.error().sentence;
  EXPECT_TRUE(compared.value().are_equal) << compared.value().text;
  // Who does not know them can't say.
  const auto unknown = compare_models(standard, own);
  ASSERT_FALSE(unknown.has_value()) << unknown.value().text;
  EXPECT_EQ(unknown.error().sentence, "outputs: 'y' of nodes that can be run expected, one behind others found");
  // What both leave to the same node is equal where what it reads is.
  const auto itself = compare_models(own, own);
  ASSERT_TRUE(itself.has_value()) << itself.error().sentence;
  EXPECT_TRUE(itself.value().are_equal);
  const auto renamed = compare_models(
      model("renamed.onnx", "opset 17\ngraph g(x: float32[batch,3]) -> (z: float32[batch,3]) {\n  z = Relu(x)\n}\n"),
      model("first.onnx", "opset 17\ngraph g(x: float32[batch,3]) -> (y: float32[batch,3]) {\n  y = Relu(x)\n}\n"));
  ASSERT_FALSE(renamed.has_value()) << renamed.value().text;
  EXPECT_EQ(renamed.error().kind, FailureKind::mismatch);
}

TEST_F(UserOperators, ShapesAreInferred) {
  const auto described = describe_model(
      model("own.onnx",
            "opset 17\nopset \"com.acme\" 1\ngraph g(x: float32[batch,32], w: float32[batch,1]) -> (y) {\n"
            "  n = com.acme::RootMeanSquare(x)\n  y = com.acme::Gate(n, w)\n}\n"),
      operators_);
  ASSERT_TRUE(described.has_value()) << described.error().sentence;
  const ModelPort& output = described.value().outputs[0];
  EXPECT_EQ(output.type, "float32");
  EXPECT_EQ(output.shape, (std::vector<ModelDim>{"batch", 32}));
}

TEST_F(UserOperators, AreOptimizedProvedAndKept) {
  const std::string own = model("own.onnx", kGated);
  OptimizeOptions options;
  options.level = 2;
  options.operators = operators_;
  const auto made = optimize_model(own, path("faster.onnx"), options);
  ASSERT_TRUE(made.has_value()) << made.error().sentence;
  EXPECT_EQ(made.value().nodes_after, made.value().nodes_before - 1) << "the sum with nothing is gone";
  write_file(path("proof"), made.value().proof);
  VerifyModelOptions verify;
  verify.operators = operators_;
  const auto verified = verify_model(own, path("faster.onnx"), path("proof"), verify);
  EXPECT_TRUE(verified.has_value()) << verified.error().sentence;
  const auto described = describe_model(path("faster.onnx"), operators_);
  ASSERT_TRUE(described.has_value()) << described.error().sentence;
  EXPECT_EQ(described.value().operators.at("com.acme.Gate"), 1);
  // The proof is of the meaning that it was made with.
  const auto other = verify_model(own, path("faster.onnx"), path("proof"));
  EXPECT_FALSE(other.has_value());
}

TEST_F(UserOperators, AreFusedAndCompiled) {
  CompileModelOptions options;
  options.dims = {{"batch", 24}};
  options.operators = operators_;
  const auto made = compile_model(model("own.onnx", kGated), path("own.iso"), options);
  ASSERT_TRUE(made.has_value()) << made.error().sentence;
  EXPECT_THAT(made.value().check, HasSubstr("largest difference"));
  EXPECT_LE(made.value().tasks.size(), 2u) << "the product, and the rows with what follows";
  // Searched, too.
  options.level = 3;
  options.seconds = 3;
  options.records = path("records.sqlite");
  const auto searched = compile_model(path("own.onnx"), path("searched.iso"), options);
  ASSERT_TRUE(searched.has_value()) << searched.error().sentence;
  EXPECT_THAT(searched.value().check, HasSubstr("largest difference"));
}

TEST_F(UserOperators, WithoutThemNodesStayAsTheyAre) {
  const std::string own = model("own.onnx", kGated);
  OptimizeOptions options;
  options.level = 2;
  const auto made = optimize_model(own, path("kept.onnx"), options);
  ASSERT_TRUE(made.has_value()) << made.error().sentence;
  const auto described = describe_model(path("kept.onnx"));
  EXPECT_EQ(described.value().operators.at("com.acme.Gate"), 1);
  CompileModelOptions bound;
  bound.dims = {{"batch", 24}};
  const auto compiled = compile_model(own, path("own.iso"), bound);
  ASSERT_FALSE(compiled.has_value());
  EXPECT_EQ(compiled.error().kind, FailureKind::unsupported);
}

/// An operator of one input, x, of 2x3 elements in the tests below.
Operator copying() {
  Operator op;
  op.domain = "com.acme";
  op.name = "Copy";
  op.inputs = {"x"};
  op.outputs = {"y"};
  op.infer = [](const OperatorNode& node) -> Expected<std::vector<TensorType>> {
    return std::vector{TensorType{node.type(0), node.shape(0)}};
  };
  op.compute = [](const OperatorNode& node, Meaning& meaning) -> Expected<std::vector<Stage>> {
    return std::vector{meaning.map(node.shape(0), node.element_at(0, node.shape(0)))};
  };
  return op;
}

using Compute = decltype(Operator::compute);

class WrongOperators : public UserOperators {
 protected:
  /// What compile_model says of a model of one such operator.
  std::string refused(const Operator& op) const {
    const std::string own = model("copy.onnx",
                                  "opset 17\nopset \"com.acme\" 1\ngraph g(x: float32[2,3]) -> (y: float32[2,3]) {\n"
                                  "  y = com.acme::Copy(x) as \"copy\"\n}\n");
    CompileModelOptions options;
    options.operators = {op};
    const auto made = compile_model(own, path("copy.iso"), options);
    EXPECT_EQ(std::filesystem::exists(path("copy.iso")), made.has_value());
    std::filesystem::remove(path("copy.iso"));
    return made ? "" : made.error().sentence;
  }
  std::string refused(Compute compute) const {
    Operator op = copying();
    op.compute = std::move(compute);
    return refused(op);
  }
};

TEST_F(WrongOperators, ARightOneIsNotRefused) { EXPECT_EQ(refused(copying()), ""); }

TEST_F(WrongOperators, SchemasAreRefused) {
  const auto with = [&](const std::function<void(Operator&)>& change) {
    Operator op = copying();
    change(op);
    return refused(op);
  };
  EXPECT_EQ(with([](Operator& op) { op.domain = ""; }), "operator ::Copy: a domain of yours expected, '' found");
  EXPECT_EQ(with([](Operator& op) { op.domain = "com.microsoft", op.name = "Gelu"; }),
            "operator com.microsoft::Gelu: an operator that Isomer does not know expected, one that it knows found");
  EXPECT_THAT(with([](Operator& op) { op.name = ""; }), HasSubstr("a name expected, none found"));
  EXPECT_THAT(with([](Operator& op) { op.since = 0; }), HasSubstr("a version from 1 expected, 0 found"));
  EXPECT_THAT(with([](Operator& op) { op.infer = nullptr; }), HasSubstr("infer and compute expected, none found"));
  EXPECT_THAT(with([](Operator& op) { op.inputs = {"x:U"}; }), HasSubstr("types of 'U' expected, none found"));
  EXPECT_THAT(with([](Operator& op) { op.inputs = {""}; }),
              HasSubstr("a name such as 'x', 'scale?' or 'indices:int64' expected, '' found"));
  EXPECT_THAT(with([](Operator& op) { op.inputs = {"x*", "y"}; }),
              HasSubstr("no input or output after a list expected, one after 'x*' found"));
  EXPECT_THAT(with([](Operator& op) { op.outputs = {}; }), HasSubstr("an output expected, none found"));
  EXPECT_THAT(with([](Operator& op) { op.types = {{"T", {"float31"}}}; }),
              HasSubstr("an element type such as float32 expected, 'float31' found"));
  EXPECT_THAT(with([](Operator& op) { op.types = {{"T", {}}}; }), HasSubstr("types for 'T' expected, none found"));
  EXPECT_THAT(with([](Operator& op) { op.attributes = {{"a", 1}, {"a", 2}}; }),
              HasSubstr("attributes with a name each expected, 'a' found"));
  // What the node does not have.
  EXPECT_THAT(with([](Operator& op) { op.inputs = {"x", "z"}; }), HasSubstr("input 1 (z) expected, none found"));
  EXPECT_THAT(with([](Operator& op) { op.types = {{"T", {"int32"}}}; }), HasSubstr("x has type float32"));
  EXPECT_THAT(with([](Operator& op) { op.attributes = {{"a", 1, OperatorAttribute::Presence::required}}; }),
              HasSubstr("attribute 'a' expected, none found"));
  EXPECT_THAT(with([](Operator& op) { op.since = 2; }), HasSubstr("opset 1 does not have the operator"));
}

TEST_F(WrongOperators, TwoOfOneNameAreRefused) {
  const auto described = describe_model(model("own.onnx", kGated), {copying(), copying()});
  ASSERT_FALSE(described.has_value());
  EXPECT_EQ(described.error().kind, FailureKind::usage);
  EXPECT_EQ(described.error().sentence, "operator com.acme::Copy: one of that name expected, two found");
}

TEST_F(WrongOperators, TypesOfOutputsAreRefused) {
  Operator op = copying();
  op.infer = [](const OperatorNode&) -> Expected<std::vector<TensorType>> { return std::vector<TensorType>(); };
  EXPECT_THAT(refused(op), HasSubstr("types of 1 outputs expected, 0 found"));
  op.infer = [](const OperatorNode&) -> Expected<std::vector<TensorType>> {
    return std::vector{TensorType{"float31", {2, 3}}};
  };
  EXPECT_THAT(refused(op), HasSubstr("an element type such as float32 expected, 'float31' found"));
  op.infer = [](const OperatorNode&) -> Expected<std::vector<TensorType>> {
    return std::vector{TensorType{"float32", {3, 2}}};
  };
  EXPECT_THAT(refused(op), HasSubstr("output 0 of float32[3,2] expected, as inferred, float32[2,3] found"));
  op.infer = [](const OperatorNode&) -> Expected<std::vector<TensorType>> { return Failure{"no such node"}; };
  EXPECT_THAT(refused(op), HasSubstr("no such node"));
}

TEST_F(WrongOperators, MeaningsAreRefused) {
  const auto of_body = [&](const std::function<Expression(const OperatorNode&)>& body) {
    return refused([body](const OperatorNode& node, Meaning& meaning) -> Expected<std::vector<Stage>> {
      return std::vector{meaning.map(node.shape(0), body(node))};
    });
  };
  EXPECT_THAT(of_body([](const OperatorNode& node) { return node.element(0, {axis(0)}); }),
              HasSubstr("an index for each of 2 axes expected, 1 found"));
  EXPECT_THAT(of_body([](const OperatorNode& node) { return node.element(1, {axis(0)}); }),
              HasSubstr("input 1 expected, the node has none"));
  for (const auto& of_no_input : std::vector<std::function<void(const OperatorNode&)>>{
           [](const OperatorNode& node) { static_cast<void>(node.type(-1)); },
           [](const OperatorNode& node) { static_cast<void>(node.shape(-1)); },
           [](const OperatorNode& node) { static_cast<void>(node.known_integers(-1)); },
           [](const OperatorNode& node) { static_cast<void>(node.element(-1, {})); },
           [](const OperatorNode& node) { static_cast<void>(node.element_at(-1, {})); }})
    EXPECT_THAT(of_body([of_no_input](const OperatorNode& node) {
                  of_no_input(node);
                  return Expression();
                }),
                HasSubstr("input -1 expected, the node has none"));
  EXPECT_THAT(of_body([](const OperatorNode& node) { return node.element(0, {axis(0), number(1, "float32")}); }),
              HasSubstr("an index of int64 expected, float32 found"));
  EXPECT_THAT(of_body([](const OperatorNode& node) { return node.element_at(0, node.shape(0)) + axis(0); }),
              HasSubstr("operands of one type expected, float32 and int64 found"));
  EXPECT_THAT(of_body([](const OperatorNode&) { return exp(axis(0)); }), HasSubstr("a float expected, int64 found"));
  EXPECT_THAT(of_body([](const OperatorNode&) { return axis(0) * 0.5; }),
              HasSubstr("a whole number beside int64 expected, 0.5 found"));
  EXPECT_THAT(of_body([](const OperatorNode&) { return Expression(); }),
              HasSubstr("an expression expected, an empty one found"));
  EXPECT_THAT(of_body([](const OperatorNode& node) { return number(node.real("alpha"), "float32"); }),
              HasSubstr("an attribute 'alpha' of that type expected, the node has none"));
  EXPECT_THAT(of_body([](const OperatorNode& node) { return node.element(0, {axis(0), axis(2)}); }),
              HasSubstr("a meaning that reads what it computed before expected, another found"));
  EXPECT_THAT(of_body([](const OperatorNode& node) { return node.element(0, {axis(0), reduced_axis(0)}); }),
              HasSubstr("a meaning that reads what it computed before expected, another found"));
  EXPECT_THAT(of_body([](const OperatorNode&) { return axis(0); }),
              HasSubstr("output 0 of float32[2,3] expected, as inferred, int64[2,3] found"));
  EXPECT_THAT(
      refused([](const OperatorNode&, Meaning&) -> Expected<std::vector<Stage>> { return std::vector<Stage>(); }),
      HasSubstr("output 0 expected, none found"));
  EXPECT_THAT(
      refused([](const OperatorNode&, Meaning&) -> Expected<std::vector<Stage>> { return std::vector<Stage>(1); }),
      HasSubstr("output 0 expected, none found"));
}

TEST_F(WrongOperators, RecurrencesAreRefused) {
  const auto of_next = [&](const std::function<std::vector<Stage>(const OperatorNode&, Recurrence::Step&)>& next) {
    return refused([next](const OperatorNode& node, Meaning& meaning) -> Expected<std::vector<Stage>> {
      return meaning.scan({2, {{{3}, number(0, "float32")}}, [&](auto& step) { return next(node, step); }});
    });
  };
  EXPECT_EQ(of_next([](const OperatorNode& node, Recurrence::Step& step) {
              return std::vector{step.map({3}, step.state(0, {axis(0)}) + node.element(0, {step.number(), axis(0)}))};
            }),
            "");
  EXPECT_THAT(of_next([](const OperatorNode&, Recurrence::Step&) { return std::vector<Stage>(); }),
              HasSubstr("the next of 1 states expected, 0 found"));
  EXPECT_THAT(of_next([](const OperatorNode&, Recurrence::Step& step) {
                return std::vector{step.map({3}, step.state(1, {axis(0)}))};
              }),
              HasSubstr("a state below 1 expected, 1 found"));
  EXPECT_THAT(of_next([](const OperatorNode&, Recurrence::Step& step) {
                return std::vector{step.map({2}, step.state(0, {axis(0)}))};
              }),
              HasSubstr("next state 0 of float32[3] expected, as it was, float32[2] found"));
}

/// A tensor that belongs to another node's meaning.
TEST_F(WrongOperators, TensorsFromElsewhereAreRefused) {
  std::vector<Stage> kept;
  const std::string sentence = refused([&](const OperatorNode& node, Meaning& meaning) -> Expected<std::vector<Stage>> {
    if (kept.empty()) {
      for (int k = 0; k < 3; ++k) kept.push_back(meaning.map(node.shape(0), node.element_at(0, node.shape(0))));
    }
    return std::vector{kept.back()};
  });
  EXPECT_THAT(sentence, HasSubstr("output 0 from this meaning expected, a tensor from elsewhere found"));
}

TEST_F(WrongOperators, WhatTheyThrowPassesThrough) {
  const Compute throwing = [](const OperatorNode&, Meaning&) -> Expected<std::vector<Stage>> {
    throw std::logic_error("of a user's");
  };
  EXPECT_THROW(static_cast<void>(refused(throwing)), std::logic_error);
}

/// Code does not check what iterators alone decide: that must be proved.
TEST_F(WrongOperators, PlacesOutsideAreRefused) {
  const auto at = [&](const std::function<Expression(const OperatorNode&, const Expression& i)>& body) {
    return refused([body](const OperatorNode& node, Meaning& meaning) -> Expected<std::vector<Stage>> {
      return std::vector{meaning.map(node.shape(0), body(node, axis(1)))};
    });
  };
  const auto element = [](const OperatorNode& node, const Expression& i) { return node.element(0, {axis(0), i}); };
  const Expression zero = number(0, "float32"), one = integer(1), two = integer(2), three = integer(3);
  const std::string outside = "an index in [0, 3) along axis 1 of what is read expected, ";
  EXPECT_THAT(at([&](auto& node, auto& i) { return element(node, i + one); }), HasSubstr(outside));
  EXPECT_THAT(at([&](auto& node, auto& i) { return element(node, i - one); }), HasSubstr(outside));
  EXPECT_THAT(at([&](auto& node, auto& i) { return element(node, i * two); }), HasSubstr(outside));
  EXPECT_THAT(at([&](auto& node, auto& i) { return select(i + one <= three, element(node, i + one), zero); }),
              HasSubstr(outside));
  EXPECT_THAT(at([&](auto& node, auto& i) { return select(one <= i, zero, element(node, i - one)); }),
              HasSubstr(outside));
  // What is in range, by what it is or by a condition.
  EXPECT_EQ(at([&](auto& node, auto& i) { return element(node, two - i); }), "");
  EXPECT_EQ(at([&](auto& node, auto& i) { return element(node, floor_divide(i * two, two)); }), "");
  EXPECT_EQ(at([&](auto& node, auto& i) { return element(node, min(i + one, two)); }), "");
  EXPECT_EQ(at([&](auto& node, auto& i) { return element(node, floor_remainder(i + two, three)); }), "");
  EXPECT_EQ(at([&](auto& node, auto& i) { return select(i + one < three, element(node, i + one), zero); }), "");
  EXPECT_EQ(at([&](auto& node, auto& i) { return select(i < one, zero, element(node, i - one)); }), "");
  EXPECT_EQ(at([&](auto& node, auto& i) {
              return select(i * two - one >= integer(0) && !(i * two - one >= three), element(node, i * two - one),
                            zero);
            }),
            "");
  EXPECT_EQ(at([&](auto& node, auto& i) { return select(i == one, element(node, i + one), zero); }), "");
}

/// What data decide ends the run with an error; nothing outside is read.
TEST_F(WrongOperators, PlacesThatDataDecideAreChecked) {
  Operator op = copying();
  op.compute = [](const OperatorNode& node, Meaning& meaning) -> Expected<std::vector<Stage>> {
    const Expression chosen = cast("int64", node.element_at(0, node.shape(0)));
    return std::vector{meaning.map(node.shape(0), node.element(0, {axis(0), chosen}))};
  };
  static_cast<void>(refused(op));
  CompileModelOptions options;
  options.operators = {op};
  options.check = false;
  const auto made = compile_model(path("copy.onnx"), path("copy.iso"), options);
  ASSERT_TRUE(made.has_value()) << made.error().sentence;
  Session session = Session::open(path("copy.iso")).value();
  const std::vector<float> inside{0, 1, 2, 2, 1, 0}, outside{0, 1, 2, 2, 3, 0};
  const auto ran = session.run({TensorView(inside, {2, 3})});
  ASSERT_TRUE(ran.has_value()) << ran.error().sentence;
  EXPECT_THAT(ran.value()[0].elements<float>(), testing::ElementsAre(0, 1, 2, 0, 1, 2));
  const auto failed = session.run({TensorView(outside, {2, 3})});
  ASSERT_FALSE(failed.has_value());
  EXPECT_THAT(failed.error().sentence, HasSubstr("index"));
}

}  // namespace
}  // namespace isomer::test
