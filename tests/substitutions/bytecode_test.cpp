#include "substitutions/discover/bytecode.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "substitutions/discover/fingerprint.h"
#include "substitutions/discover/operator_set.h"
#include "util/random.h"
#include "verify/proof/refute/evaluate_exact.h"
#include "verify/proof/term_graph.h"

namespace isomer::substitutions {
namespace {

using Rationals = te::Concrete<te::RationalAlgebra>;
using Values = te::ValuesOver<te::RationalAlgebra>;

Values draw(const Dims& dims, const std::vector<int64_t>& choices, Random& random) {
  const Rationals scalars;
  Values result{DataType::kFloat32, dims, {}};
  for (int64_t k = element_count(dims); k > 0; --k)
    result.elements.push_back(scalars.literal(choices[random.below(choices.size())], DataType::kFloat32));
  return result;
}

te::Number number_of(const Rationals::Scalar& scalar) {
  te::Number result;
  CHECK(te::Number::parse(std::get<1>(scalar).text(), result)) << std::get<1>(scalar).text();
  return result;
}

Elements encoded(const Values& values, bool wide) {
  Elements result(values.elements.size(), wide);
  for (size_t k = 0; k < values.elements.size(); ++k)
    encode(number_of(values.elements[k]), wide, result.data() + k * static_cast<size_t>(element_words(wide)));
  return result;
}

/// The bytecode against the reference evaluator over the rationals; how many elements were compared.
int compare(const Instance& instance, const std::vector<Dims>& operands, const std::vector<int64_t>& choices, bool wide,
            Random& random) {
  auto recorder = TermRecorder::make(instance.outputs, operands);
  if (!recorder.ok()) return 0;
  const auto bytecode = Bytecode::record(*recorder, instance.outputs.size(), wide);
  EXPECT_TRUE(bytecode.ok()) << instance.outputs[0].text();
  verify::VariableTypes types;
  std::vector<Values> inputs;
  std::vector<Elements> elements;
  for (size_t k = 0; k < operands.size(); ++k) {
    types.emplace(k == 0 ? "a" : "b", ValueType::tensor(DataType::kFloat32, {operands[k].begin(), operands[k].end()}));
    inputs.push_back(draw(operands[k], choices, random));
    elements.push_back(encoded(inputs.back(), wide));
  }
  const auto graph = verify::graph_of(instance.outputs, types);
  const auto expected = verify::evaluate(*graph, Rationals(), inputs);
  if (!expected.ok()) return 0;  // no rational value: exp and the like
  Elements registers(bytecode->registers(), wide);
  const auto words = [&](size_t k) { return k < elements.size() ? elements[k].data() : nullptr; };
  const Arithmetic arithmetic(random.next());
  const Operands run = bytecode->run(words(0), words(1), registers.data(), arithmetic);
  int compared = 0;
  for (size_t output = 0; output < expected->size(); ++output) {
    const Values& values = (*expected)[output];
    EXPECT_EQ(values.dims, bytecode->outputs()[output].dims);
    Elements found(values.elements.size(), wide);
    bytecode->copy_output(static_cast<int>(output), run, found.data());
    for (size_t k = 0; k < values.elements.size(); ++k) {
      if (!std::get<1>(values.elements[k]).is_finite()) continue;
      Elements one(1, wide);
      encode(number_of(values.elements[k]), wide, one.data());
      EXPECT_TRUE(same_elements(one.data(), found.data() + k * static_cast<size_t>(element_words(wide)), 1, wide))
          << instance.outputs[output].text() << " at " << k;
      ++compared;
    }
  }
  return compared;
}

bool mentions(const Instance& instance, std::initializer_list<const char*> words) {
  const std::string text = instance.outputs[0].text();
  return std::any_of(words.begin(), words.end(),
                     [&](const char* word) { return text.find(word) != std::string::npos; });
}

/// All lists of as many of the shapes.
std::vector<std::vector<Dims>> choices_of(const std::vector<Dims>& shapes, size_t count) {
  std::vector<std::vector<Dims>> result = {{}};
  for (size_t k = 0; k < count; ++k) {
    std::vector<std::vector<Dims>> longer;
    for (const auto& known : result)
      for (const Dims& dims : shapes) {
        longer.push_back(known);
        longer.back().push_back(dims);
      }
    result = std::move(longer);
  }
  return result;
}

/// The families' shapes, and what one operator makes of them.
std::vector<Dims> shapes_of(const OperatorSet& set) {
  std::vector<Dims> shapes;
  const auto add = [&](const Dims& dims) {
    if (element_count(dims) <= 600 && std::find(shapes.begin(), shapes.end(), dims) == shapes.end())
      shapes.push_back(dims);
  };
  for (const Family& family : set.families) add(family.dims);
  const std::vector<Dims> families = shapes;
  for (const Instance& instance : set.instances)
    for (const auto& operands : choices_of(families, instance.operands.size())) {
      if (instance.equal_types && operands[0] != operands[1]) continue;
      if (const auto recorder = TermRecorder::make(instance.outputs, operands); recorder.ok()) add(recorder->dims(0));
    }
  return shapes;
}

class EverySet : public testing::TestWithParam<std::string> {};

/// Where there are two numbers only, 0 and a small one, their order is the usual one.
TEST_P(EverySet, ComputesWhatTheRowsMean) {
  const auto set = operator_set(GetParam());
  ASSERT_TRUE(set.ok());
  const std::vector<Dims> shapes = shapes_of(*set);
  Random random(1);
  for (const Instance& instance : set->instances) {
    // Any functions; of 0 and 1 too.
    if (mentions(instance, {"Exp(", "Sqrt", "Tanh", "Sigmoid"})) continue;
    int compared = 0, applied = 0;
    for (const auto& operands : choices_of(shapes, instance.operands.size())) {
      if ((instance.equal_types && operands[0] != operands[1]) || applied == 8) continue;
      const int before = compared;
      compared += compare(instance, operands, {-3, 0}, set->exponents, random);
      if (!mentions(instance, {"Max", "Min"}))
        compared += compare(instance, operands, {-9, -4, -1, 2, 7, 8}, set->exponents, random);
      applied += compared > before ? 1 : 0;
    }
    // Of kernels 1x1 taso has none; its smaller splits are of nested concats.
    const bool has_operands =
        !mentions(instance, {"kernel_shape=[1,1]", "split=[4,8]", "split=[8,4]", "split=[1,1]"}) ||
        GetParam() != "taso";
    EXPECT_TRUE(compared > 0 || !has_operands) << instance.outputs[0].text();
  }
}
INSTANTIATE_TEST_SUITE_P(Bytecode, EverySet,
                         testing::Values("taso", "elementwise", "matrix", "image", "movement", "vision", "sequence",
                                         "winograd"));

Elements run(const Bytecode& bytecode, const Elements& a, const Elements& b, const Universe& universe,
             const ElementLoops& kernels) {
  Elements registers(bytecode.registers(), bytecode.wide()),
      result(bytecode.outputs()[0].elements.size(), bytecode.wide());
  bytecode.copy_output(0, bytecode.run(a.data(), b.data(), registers.data(), universe.arithmetic(), kernels),
                       result.data());
  return result;
}

const char* const kTerms[] = {"Add(a,b)",
                              "Mul(a,b)",
                              "Div(a,b)",
                              "Max(a,b)",
                              "Min(Relu(a),Abs(b))",
                              "Exp(Sub(a,b))",
                              "Sigmoid(Mul(a,b))",
                              "Sqrt(Tanh(a))",
                              "MatMul(a,b)",
                              "ReduceMax(a){axes=[0],keepdims=1}",
                              "Div(ReduceSum(a){axes=[1],keepdims=1},7)",
                              "Pow(a,b)"};

TEST(Bytecode, KernelsForAnyMachineGiveTheSame) {
  const std::vector<Dims> operands = {{6, 6}, {6, 6}};
  for (const bool wide : {false, true}) {
    const Universe universe(5, wide);
    const Elements a = universe.variable("a", 36), b = universe.variable("b", 36);
    for (const char* text : kTerms) {
      const auto term = verify::parse_term(text);
      auto recorder = TermRecorder::make({&*term, 1}, operands);
      ASSERT_TRUE(recorder.ok()) << text;
      const auto bytecode = Bytecode::record(*recorder, 1, wide);
      ASSERT_TRUE(bytecode.ok()) << text << ": " << bytecode.error().message();
      const auto words = bytecode->outputs()[0].elements.size() * static_cast<size_t>(element_words(wide));
      const Elements fast = run(*bytecode, a, b, universe, element_loops(wide)),
                     portable = run(*bytecode, a, b, universe, portable_element_loops(wide));
      EXPECT_TRUE(std::equal(fast.data(), fast.data() + words, portable.data())) << text;
    }
  }
}

TEST(Bytecode, SamplesAreElements) {
  const std::vector<Dims> operands = {{2, 4, 5, 5}, {4, 4, 3, 3}};
  const auto term = verify::parse_term("Relu(Conv(a,b){kernel_shape=[3,3],pads=[1,1,1,1]})");
  auto recorder = TermRecorder::make({&*term, 1}, operands);
  ASSERT_TRUE(recorder.ok());
  const std::vector<uint32_t> positions = {0, 17, 63, 199};
  const auto whole = Bytecode::record(*recorder, 1, false), sample = Bytecode::record(*recorder, 0, positions, false);
  ASSERT_TRUE(whole.ok() && sample.ok());
  const Universe universe(3, false);
  const Elements a = universe.variable("a", 200), b = universe.variable("b", 144);
  const Elements all = run(*whole, a, b, universe, element_loops(false)),
                 some = run(*sample, a, b, universe, element_loops(false));
  for (size_t k = 0; k < positions.size(); ++k)
    EXPECT_TRUE(same_elements(all.data() + positions[k] * size_t{kSeeds}, some.data() + k * kSeeds, 1, false));
  EXPECT_EQ(sample->registers(), 2 * positions.size());
}

TEST(Bytecode, RefusesWhatDataDecide) {
  for (const char* text : {"LeakyRelu(a)", "Where(Less(a,b),a,b)"}) {
    const auto term = verify::parse_term(text);
    ASSERT_TRUE(term.ok()) << text;
    const std::vector<Dims> operands = {{2}, {2}};
    auto recorder = TermRecorder::make({&*term, 1}, operands);
    ASSERT_TRUE(recorder.ok()) << text;
    EXPECT_FALSE(Bytecode::record(*recorder, 1, false).ok()) << text;
  }
}

}  // namespace
}  // namespace isomer::substitutions
