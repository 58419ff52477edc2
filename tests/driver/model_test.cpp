// include/isomer/model.h: what models are said to take and give.
#include "isomer/model.h"

#include <gtest/gtest.h>

#include "support/files.h"
#include "support/model_file.h"

namespace isomer::test {
namespace {

TEST(Models, SizesAreCalledAsTheFileCallsThem) {
  const ScratchFolder folder;
  const std::string model = write_model(
      "opset 17\ngraph g(x: float32[\"past + 1\",2,\"x.2\"]) -> (y: float32[\"past + 1\",2,\"x.2\"]) {\n  y = "
      "Relu(x)\n}\n",
      (folder.path() / "model.onnx").string());
  const auto described = describe_model(model);
  ASSERT_TRUE(described.has_value()) << described.error().sentence;
  for (const ModelPort& port : {described.value().inputs[0], described.value().outputs[0]})
    EXPECT_EQ(port.shape, (std::vector<ModelDim>{"past + 1", 2, ""}));
  CompareModelsOptions options;
  options.dims = {{"past + 1", 3}};
  EXPECT_TRUE(compare_models(model, model, options).has_value());
  options.runs = 0;
  EXPECT_EQ(compare_models(model, model, options).error().kind, FailureKind::usage);
}

TEST(Models, AreComparedByTheNamesOfInputsAndOutputs) {
  const ScratchFolder folder;
  const auto model = [&](const std::string& interface, const std::string& difference, const std::string& name) {
    return write_model("opset 17\ngraph g(" + interface + ") {\n  y = Sub(" + difference + ")\n  z = Mul(a, b)\n}\n",
                       (folder.path() / name).string());
  };
  const std::string turned = "b: float32[4], a: float32[4]) -> (z: float32[4], y: float32[4]";
  const std::string reference =
                        model("a: float32[4], b: float32[4]) -> (y: float32[4], z: float32[4]", "a, b", "1.onnx"),
                    same = model(turned, "a, b", "2.onnx"), other = model(turned, "b, a", "3.onnx");
  EXPECT_TRUE(compare_models(reference, same).value().are_equal);
  EXPECT_FALSE(compare_models(reference, other).value().are_equal);
}

TEST(Models, InputsWithInitializersAreToldApart) {
  const ScratchFolder folder;
  const std::string model = write_model(
      "opset 17\ngraph g(x: float32[2], k: float32[2] = random 1) -> (y: float32[2]) {\n  y = Mul(x, k)\n}\n",
      (folder.path() / "model.onnx").string());
  const auto described = describe_model(model);
  ASSERT_TRUE(described.has_value()) << described.error().sentence;
  ASSERT_EQ(described.value().inputs.size(), 1U);
  ASSERT_EQ(described.value().overridable.size(), 1U);
  EXPECT_EQ(described.value().overridable[0].name, "k");
}

}  // namespace
}  // namespace isomer::test
