// embedding MODEL FOLDER: the example of docs/embedding.md. A model is optimized, its proof verified, compiled and run.
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "isomer/compile.h"
#include "isomer/model.h"
#include "isomer/optimize.h"
#include "isomer/session.h"
#include "isomer/verify.h"

namespace {

/// value() of what failed throws NoValue with its sentence.
void optimize(const std::string& model, const std::string& folder) {
  isomer::OptimizeOptions options;
  options.seconds = 5;
  options.dims = {{"batch", 8}};
  options.progress.note = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); };
  const isomer::Optimized made = isomer::optimize_model(model, folder + "/faster.onnx", options).value();
  std::printf("%lld -> %lld nodes, %zu steps\n", static_cast<long long>(made.nodes_before),
              static_cast<long long>(made.nodes_after), made.steps.size());
  std::ofstream(folder + "/faster.proof") << made.proof;
  std::ofstream(folder + "/faster.html") << made.page;

  isomer::VerifyModelOptions verify;
  verify.dims = options.dims;
  const auto verified = isomer::verify_model(model, folder + "/faster.onnx", folder + "/faster.proof", verify).value();
  std::printf("verified: %lld steps, %s\n", static_cast<long long>(verified.steps), verified.fp_class.c_str());
}

void compile(const std::string& model, const std::string& artifact) {
  isomer::CompileModelOptions options;
  options.level = 3;
  options.seconds = 5;
  options.variants = {{{"batch", 1}}, {{"batch", 8}}};
  std::printf("check: %s\n", isomer::compile_model(model, artifact, options).value().check.c_str());
}

/// By session.h, which needs libisomer.so alone.
void run(const std::string& artifact) {
  isomer::SessionOptions options;
  options.dims = {{"batch", 8}};
  options.threads = 1;
  isomer::Session session = isomer::Session::open(artifact, options).value();
  const std::vector<int64_t>& shape = session.inputs()[0].shape;
  const std::vector<float> in(static_cast<size_t>(shape[0] * shape[1]), 1.0f);
  const auto outputs = session.run({isomer::TensorView(in, shape)}).value();
  const auto out = outputs[0].elements<float>();
  std::printf("%s: %zu elements, the first is %g\n", session.outputs()[0].name.c_str(), out.size(), out[0]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "embedding: MODEL FOLDER expected\n");
    return 2;
  }
  const std::string model = argv[1], folder = argv[2];
  try {
    const isomer::ModelDescription described = isomer::describe_model(model).value();
    for (const isomer::ModelPort& input : described.inputs)
      std::printf("takes %s (%s, %zu dims)\n", input.name.c_str(), input.type.c_str(), input.shape.size());
    optimize(model, folder);
    compile(model, folder + "/model.iso");
    run(folder + "/model.iso");
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
  return 0;
}
