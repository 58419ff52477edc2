// Proofs whose names and sizes were chosen to deceive: of models that are not the same function.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/hash.h"
#include "graph/onnx/export.h"
#include "graph/onnx/import.h"
#include "graph/text.h"
#include "substitutions/proof/read/proof_file.h"
#include "substitutions/proof/verify_files.h"
#include "support/files.h"

namespace isomer::substitutions::test {
namespace {

using testing::HasSubstr;

class ForgedProofs : public testing::Test {
 protected:
  /// Empty, or why a proof of these rules and steps is refused. "@x" in it is the number of the input's value x, "@#"
  /// that of the first value that is made.
  std::string refusal(const std::string& input, const std::string& output, std::string rules_and_steps) {
    const Graph first = written(input, files_.input), last = written(output, files_.output);
    std::string names;
    for (const ValueId id : first.values()) names += first.value(id).name.substr(0, 1);
    names += '#';
    for (size_t at = 0; (at = rules_and_steps.find('@', at)) != std::string::npos;) {
      const size_t number = names.find(rules_and_steps[at + 1]);
      CHECK(number != std::string::npos) << rules_and_steps.substr(at);
      rules_and_steps.replace(at, 2, fmt::format("%{}", number));
    }
    isomer::test::write_file(files_.proof,
                             fmt::format("{}\ninput {}\noutput {}\nfp reassociate\n{}end\n", kProofTitle,
                                         structural_hash(first).hex(), structural_hash(last).hex(), rules_and_steps));
    const auto verified = verify_files(files_, {.fp = FloatMode::kFast, .check = {.runs = 0}});
    return verified.ok() ? "" : verified.error().message();
  }

 private:
  static Graph written(const std::string& text, const std::filesystem::path& file) {
    const auto graph = parse_graph(text);
    CHECK(graph.ok()) << graph.error().message();
    CHECK(export_model(*graph, file).ok());
    auto read = import_model(file);
    CHECK(read.ok()) << read.error().message();
    return *std::move(read);
  }

  isomer::test::ScratchFolder folder_;
  const ModelFiles files_{folder_.path() / "in.onnx", folder_.path() / "out.onnx", folder_.path() / "out.proof"};
};

/// What was found of x[4] is not what is asked of x[9], however the other variables are called.
TEST_F(ForgedProofs, DoNotReuseWhatOtherTypesWereAskedFor) {
  constexpr const char *kWhole = "ReduceSum(b){axes=[0],keepdims=1}",
                       *kPart = "ReduceSum(Slice(b){axes=[0],ends=[4],starts=[0]}){axes=[0],keepdims=1}";
  const std::string rules = fmt::format(
      "rules\nr\treassociated\t{0} = {1}\tb:float32[4]\n\telements ; left={0} ; right={1}\nsteps\n", kWhole, kPart);
  constexpr std::string_view kModel = R"(opset 18
graph g(x: float32[9], u: float32[4]) -> (y: float32[1]) {{
  a: int64[1] = {{0}}
  e: int64[1] = {{4}}
  {}
  y = ReduceSum({}, a)
}})";
  const std::string input = fmt::format(kModel, "", "x"), output = fmt::format(kModel, "z = Slice(x, a, e, a)", "z");
  EXPECT_EQ(refusal(input, input, rules + "rule\tr\tb=@u\noutput\n"), "");
  EXPECT_THAT(refusal(input, output, rules + "rule\tr\tb=@u\nrule\tr\tb=@x\noutput\n"), HasSubstr("step 2"));
  EXPECT_THAT(refusal(input, output,
                      rules + "rule\tr\ta;q:float32[4];b:float32[9];c=@u ; b=@u\n"
                              "rule\tr\ta;q=@u ; b=@x ; c:float32[4];b=@u\noutput\n"),
              HasSubstr("step 2"));
}

/// A size is none of the indices and bounds that elements are spoken of with.
TEST_F(ForgedProofs, CallASizeAsIndicesAre) {
  constexpr const char *kAll = "ReduceMax(MaxPool(x){kernel_shape=[2],pads=[1,1],strides=[256]}){axes=[2],keepdims=1}",
                       *kFirst =
                           "Slice(MaxPool(x){kernel_shape=[2],pads=[1,1],strides=[256]}){axes=[2],ends=[1],starts=[0]}";
  const std::string proof = fmt::format(
      "rules\nr\treassociated\t{0} = {1}\tx:float32[2,1,300]\n\telements ; left={0} ; right={1}\n"
      "steps\nrule\tr\tx=@x\noutput\n",
      kAll, kFirst);
  constexpr std::string_view kModel = R"(opset 18
graph g(x: float32[256,1,{0}]) -> (y: float32[256,1,1]) {{
  a: int64[1] = {{2}}
  s: int64[1] = {{0}}
  e: int64[1] = {{1}}
  p = MaxPool(x) {{kernel_shape = [2], pads = [1, 1], strides = [256]}}
  y = {1}
}})";
  const auto refused = [&](const std::string& size) {
    return refusal(fmt::format(kModel, size, "ReduceMax(p, a)"), fmt::format(kModel, size, "Slice(p, s, e, a)"), proof);
  };
  EXPECT_EQ(refused("200"), "");
  for (const char* letter : {"i", "r", "t", "q", "j", "size ", "bound "})
    for (int number = 0; number < 8; ++number)
      EXPECT_THAT(refused(fmt::format("\"{}{}\"", letter, number)), HasSubstr("step 1")) << letter << number;
  for (const char* name : {"N", "joined", "d0_2", "size"})
    EXPECT_THAT(refused(fmt::format("\"{}\"", name)), HasSubstr("step 1"));
}

/// A product of [1,n] and [min(n,256),1] is none for most n, whatever it is for two of them.
TEST_F(ForgedProofs, GoThroughTermsThatAreNoTensors) {
  constexpr std::string_view kSizes[] = {"min(x_1,256)", "x_1 + (x_1 - 127)*(x_1 - 210)", "max(x_1,127) + 0*x_1"};
  constexpr std::string_view kModel = R"(opset 18
graph g(x: float32[1,{0}]) -> (y: float32[1,1]) {{
  a: int64[1] = {{1}}
  s: int64[1] = {{0}}
  e: int64[1] = {{256}}
  {1}
}})";
  const auto refused = [&](std::string_view size, std::string_view between) {
    const std::string ones = fmt::format("Expand(1){{shape=[{},1]}}", between);
    const std::string left = "ReduceSum(x){axes=[1],keepdims=1}",
                      right = "ReduceSum(Slice(x){axes=[1],ends=[256],starts=[0]}){axes=[1],keepdims=1}",
                      product = fmt::format("MatMul(x,{})", ones),
                      turned = fmt::format("MatMul(Transpose({}){{perm=[1,0]}},Transpose(x){{perm=[1,0]}})", ones);
    std::string law;
    for (const verify::StatedAxiom& axiom : verify::all_axioms())
      if (axiom.law.text() ==
          "Transpose(MatMul(x,y)){perm=[1,0]} = MatMul(Transpose(y){perm=[1,0]},Transpose(x){perm=[1,0]})")
        law = axiom.name;
    CHECK(!law.empty());
    std::string proof = fmt::format("rules\nr\treassociated\t{} = {}\tx:float32[1,300]\n", left, right);
    proof += fmt::format("\telements ; left={} ; right={}\n", left, product);
    proof += fmt::format("\telements ; left=Transpose({1}){{perm=[1,0]}} ; right={1}\n", left, product);
    proof += fmt::format("\t{} ; x=x ; y={}\n", law, ones);
    proof += fmt::format("\telements ; left={} ; right={}\nsteps\nrule\tr\tx=@x\noutput\n", turned, right);
    return refusal(fmt::format(kModel, size, "y = ReduceSum(x, a)"),
                   fmt::format(kModel, size, "z = Slice(x, s, e, a)  y = ReduceSum(z, a)"), proof);
  };
  EXPECT_EQ(refused("200", "x_1"), "");
  for (const std::string_view between : kSizes) EXPECT_THAT(refused("n", between), HasSubstr("step 1")) << between;
}

/// What is read beyond what fits is not compared: a Reshape to a size that another has.
TEST_F(ForgedProofs, FollowNodesThatDoNotFit) {
  constexpr std::string_view kModel = R"(opset 18
graph g(x: float32[{0}]) -> (y: float32[{0}]) {{
  s: int64[1] = {{0}}
  e: int64[1] = {{256}}
  h = Slice(x, s, e, s)
  n = Shape(x)
  r = Reshape({1}, n)
  y = Relu(r)
}})";
  const auto refused = [&](std::string_view size) {
    const std::string input = fmt::format(kModel, size, "x"), output = fmt::format(kModel, size, "h");
    return refusal(input, output,
                   "rules\nsteps\nmake\n\tgraph m(@h: float32[5], @n: int64[1]) -> (t: float32[5]) {\n"
                   "\t  t = Reshape(@h, @n)\n\t}\nsame\t@r\t@x\t\nsame\t@#\t@x\t\noutput\n");
  };
  EXPECT_EQ(refused("200"), "");
  EXPECT_THAT(refused("n"), HasSubstr("step 3"));
}

}  // namespace
}  // namespace isomer::substitutions::test
