// Every operator of integers and bools, of what is loaded and of loop variables: CUDA code gives what the interpreter
// and the code of a CPU give.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cuda/native.h"
#include "graph/te/integer_algebra.h"
#include "graph/te/interpret.h"
#include "graph/te/program_text.h"
#include "kernel/launch_examples.h"
#include "kernel/run_kernel.h"

namespace isomer::kernel::test {
namespace {

constexpr int64_t kLeast = INT64_MIN, kMost = INT64_MAX;

/// As the text of a program.
std::string text_of(int64_t value) {
  return value == kLeast ? "(-9223372036854775807 - 1)" : fmt::format("({})", value);
}

struct Operator {
  const char* text;  ///< of its operands a and b
  bool divides = false, is_condition = false;
};
const std::vector<Operator>& operators_of_integers() {
  static const std::vector<Operator> all = {{"-{0}"},
                                            {"abs({0})"},
                                            {"not({0})"},
                                            {"floor({0})"},
                                            {"round({0})"},
                                            {"ceil({0})"},
                                            {"isnan({0})", false, true},
                                            {"{0} + {1}"},
                                            {"{0} - {1}"},
                                            {"{0}*{1}"},
                                            {"min({0}, {1})"},
                                            {"max({0}, {1})"},
                                            {"pow({0}, {1})"},
                                            {"{0} & {1}"},
                                            {"{0} | {1}"},
                                            {"{0} ^ {1}"},
                                            {"{0} << {1}"},
                                            {"{0} >> {1}"},
                                            {"{0} == {1}", false, true},
                                            {"{0} < {1}", false, true},
                                            {"{0} <= {1}", false, true},
                                            {"{0}/{1}", true},
                                            {"{0} % {1}", true},
                                            {"{0} floordiv {1}", true},
                                            {"{0} floormod {1}", true},
                                            {"select({0} < {1}, {0}, {1})"}};
  return all;
}

struct OperatorCase {
  Example example;
  std::vector<Tensor> inputs;
  Kernel kernel;
  CudaKernel code;
};

class OperatorCases {
 public:
  void add(const Example& example, std::vector<Tensor> inputs) {
    SCOPED_TRACE(example.program);
    const Kernel kernel = lowered(example);
    cases_.push_back({example, std::move(inputs), kernel, ok(emit_cuda(kernel, fmt::format("f{}_", cases_.size())))});
  }

  void expect_right() const {
    std::string text;
    std::vector<std::string> functions;
    for (const OperatorCase& each : cases_) {
      text += each.code.text;
      for (const CudaLaunch& launch : each.code.launches) functions.push_back(launch.function);
    }
    const RunnableCode runnable(text, functions);
    for (const OperatorCase& each : cases_) {
      SCOPED_TRACE(each.example.program + each.code.text);
      std::vector<te::Array> arrays;
      for (const Tensor& input : each.inputs) arrays.push_back(te::Array::from(input));
      const auto expected = ok(te::interpret(ok(te::parse_program(each.example.program)), arrays));
      const Tensor right = to_tensor(expected[0]);
      EXPECT_THAT(ok(run(each.kernel, each.inputs, host_target())).outputs[0].bytes(),
                  testing::ElementsAreArray(right.bytes()));
      for (const EmulatedRun& found : runnable.run(each.kernel, each.code, each.inputs)) {
        EXPECT_THAT(found.findings, testing::IsEmpty());
        EXPECT_EQ(found.outcome, 0);
        EXPECT_THAT(found.outputs[0].bytes(), testing::ElementsAreArray(right.bytes()));
      }
    }
  }

 private:
  std::vector<OperatorCase> cases_;
};

Tensor tensor_of(DataType type, const std::vector<int64_t>& values) {
  std::vector<int64_t> wrapped;
  for (const int64_t value : values) wrapped.push_back(te::wrap(type, value));
  return to_tensor(te::Array::integers(type, {static_cast<int64_t>(values.size())}, wrapped));
}

TEST(CudaOperators, OfWhatIsLoaded) {
  OperatorCases cases;
  for (const char* type : {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}) {
    const DataType dtype = parse_data_type(type);
    const int bits = bit_width(dtype);
    const int64_t high = static_cast<int64_t>(uint64_t{1} << (bits - 1));
    const std::vector<int64_t> values = {0, 1, 2, 3, 7, 8, 31, 63, 64, 100, -1, -2, -3, -128, high, high + 1, high - 1};
    std::vector<int64_t> left, right, divisors;
    for (const int64_t a : values)
      for (const int64_t b : values) {
        left.push_back(a);
        right.push_back(b);
        divisors.push_back(te::wrap(dtype, b) == 0 ? 5 : b);
      }
    for (const Operator& each : operators_of_integers()) {
      const std::string a = fmt::format("in0[i0]:{}", type), b = fmt::format("in1[i0]:{}", type);
      const Dims dims = {static_cast<int64_t>(left.size())};
      cases.add(
          {each.text,
           fmt::format("s0 = map [{}] {{ {} }}\noutput s0\n", dims[0], fmt::format(fmt::runtime(each.text), a, b)),
           {dims, dims},
           dtype},
          {tensor_of(dtype, left), tensor_of(dtype, each.divides ? divisors : right)});
    }
  }
  cases.expect_right();
}

/// In 32 bits and in 64, with numbers at the ends of these, and where results wrap.
TEST(CudaOperators, OfLoopVariables) {
  OperatorCases cases;
  const std::vector<std::string> left = {"(i0 - 4)", "(i0*3000000000 - 7000000000)", "(i0*2305843009213693952 - 5)",
                                         fmt::format("select(i0 == 2, {}, {} - i0)", text_of(kLeast), text_of(kMost))},
                                 right = {"(i1 - 3)",      "(i1*1000000007 - 3000000000)",
                                          text_of(kLeast), text_of(kMost),
                                          "(-1)",          "3"};
  for (const Operator& each : operators_of_integers())
    for (const std::string& a : left)
      for (const std::string& b : right) {
        const std::string text = fmt::format(fmt::runtime(each.text), a, each.divides ? fmt::format("({} | 1)", b) : b);
        cases.add({each.text, fmt::format("s0 = map [9, 8] {{ {} }}\noutput s0\n", text), {}}, {});
        // Beside it, where it is one operand of several.
        cases.add({each.text,
                   fmt::format("s0 = map [9, 8] {{ select(({}){}, i0, not({}) ^ i1) }}\noutput s0\n", text,
                               each.is_condition ? "" : " == 3", a),
                   {}},
                  {});
      }
  cases.expect_right();
}

TEST(CudaOperators, OfConditions) {
  OperatorCases cases;
  for (const char* text :
       {"not({0})", "{0} && {1}", "{0} || {1}", "{0} ^ {1}", "{0} == {1}", "{0} < {1}", "{0} <= {1}", "min({0}, {1})",
        "max({0}, {1})", "{0} + {1}", "{0} - {1}", "{0}*{1}", "select({0}, {1}, not({1}))"}) {
    const std::string of_loops = fmt::format(fmt::runtime(text), "(i0 < i1)", "(i0 % 2 == i1 % 3)"),
                      of_loads = fmt::format(fmt::runtime(text), "in0[i0]:bool", "in0[i1]:bool");
    cases.add({text, fmt::format("s0 = map [6, 6] {{ {} }}\noutput s0\n", of_loops), {}}, {});
    cases.add({text, fmt::format("s0 = map [6, 6] {{ select({}, i0*5, i1) }}\noutput s0\n", of_loops), {}}, {});
    cases.add({text, fmt::format("s0 = map [2, 2] {{ {} }}\noutput s0\n", of_loads), {{2}}, DataType::kBool},
              {tensor_of(DataType::kBool, {0, 1})});
  }
  cases.expect_right();
}

}  // namespace
}  // namespace isomer::kernel::test
