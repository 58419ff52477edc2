// embedding MODEL FOLDER: the example of docs/embedding.md. A model is optimized, its proof verified, compiled and run.
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "isomer/isomer.h"
#include "isomer/model.h"
#include "isomer/optimize.h"
#include "isomer/schedule.h"

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

bool is_done(isomer_status status) {
  if (status != ISOMER_OK) std::fprintf(stderr, "%s\n", isomer_last_error());
  return status == ISOMER_OK;
}

/// By the C interface, which needs libisomer.so alone.
bool run(const std::string& artifact) {
  isomer_model* model = nullptr;
  isomer_session* session = nullptr;
  const isomer_binding batch = {"batch", 8};
  const isomer_options options = {1, &batch, 1};
  bool is_right =
      is_done(isomer_model_open(artifact.c_str(), &model)) && is_done(isomer_session_create(model, &options, &session));
  isomer_tensor input, output;
  const char* name = nullptr;
  is_right = is_right && is_done(isomer_session_input(session, 0, &name, &input)) &&
             is_done(isomer_session_output(session, 0, &name, &output));
  if (is_right) {
    std::vector<float> in(static_cast<size_t>(isomer_tensor_bytes(&input)) / sizeof(float), 1.0f);
    std::vector<float> out(static_cast<size_t>(isomer_tensor_bytes(&output)) / sizeof(float));
    input.data = in.data();
    output.data = out.data();
    is_right = is_done(isomer_session_run(session, &input, 1, &output, 1));
    std::printf("%s: %zu elements, the first is %g\n", name, out.size(), out[0]);
  }
  isomer_session_close(session);
  isomer_model_close(model);
  return is_right;
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
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
  return run(folder + "/model.iso") ? 0 : 1;
}
