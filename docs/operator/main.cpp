// operator MODEL FOLDER: the example of docs/adding-an-operator.md. A model with operators of its own is optimized, the
// proof verified, and what it computes compared with what the operators are said to be.
#include <algorithm>
#include <cmath>
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
#include "operators.h"

namespace {

const std::vector<isomer::Operator>& operators() {
  static const std::vector<isomer::Operator> all{gate(), root_mean_square(), moving_average()};
  return all;
}

void optimize(const std::string& model, const std::string& folder) {
  isomer::OptimizeOptions options;
  options.seconds = 5;
  options.operators = operators();
  const isomer::Optimized made = isomer::optimize_model(model, folder + "/faster.onnx", options).value();
  std::ofstream(folder + "/faster.proof") << made.proof;
  isomer::VerifyModelOptions verify;
  verify.operators = operators();
  const auto verified = isomer::verify_model(model, folder + "/faster.onnx", folder + "/faster.proof", verify).value();
  std::printf("%lld -> %lld nodes, verified: %lld steps\n", static_cast<long long>(made.nodes_before),
              static_cast<long long>(made.nodes_after), static_cast<long long>(verified.steps));
}

void compile(const std::string& model, const std::string& artifact) {
  isomer::CompileModelOptions options;
  options.operators = operators();
  const isomer::CompileModelReport made = isomer::compile_model(model, artifact, options).value();
  for (const isomer::CompiledTaskReport& task : made.tasks) std::printf("task %s\n", task.name.c_str());
  std::printf("check: %s\n", made.check.c_str());
}

/// The same in plain C++, of the model that tests/consumer/own_operators.graph describes.
std::vector<float> expected(const std::vector<float>& in, size_t steps, size_t columns) {
  std::vector<float> out(in.size());
  std::vector<double> average(columns);
  for (size_t t = 0; t < steps; ++t) {
    double squares = 0;
    for (size_t k = 0; k < columns; ++k) squares += std::pow(in[t * columns + k], 2);
    for (size_t k = 0; k < columns; ++k) {
      const double x = in[t * columns + k], y = x / std::sqrt(squares / static_cast<double>(columns) + 1e-5);
      const double gated = y * x / (1 + std::exp(-1.5 * x));
      average[k] = 0.75 * average[k] + 0.25 * gated;
      out[t * columns + k] = static_cast<float>(average[k]);
    }
  }
  return out;
}

bool compare(const std::string& artifact) {
  isomer::Session session = isomer::Session::open(artifact).value();
  const std::vector<int64_t>& shape = session.inputs()[0].shape;
  const auto steps = static_cast<size_t>(shape[0]), columns = static_cast<size_t>(shape[1]);
  std::vector<float> in(steps * columns);
  for (size_t k = 0; k < in.size(); ++k) in[k] = std::sin(static_cast<float>(k));
  const auto outputs = session.run({isomer::TensorView(in, shape)}).value();
  const auto found = outputs[0].elements<float>();
  const std::vector<float> right = expected(in, steps, columns);
  float largest = 0;
  for (size_t k = 0; k < found.size(); ++k) largest = std::max(largest, std::fabs(found[k] - right[k]));
  std::printf("%zu elements, largest difference %g\n", found.size(), largest);
  return largest < 1e-5f;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "operator: MODEL FOLDER expected\n");
    return 2;
  }
  const std::string model = argv[1], folder = argv[2];
  try {
    const isomer::ModelDescription described = isomer::describe_model(model, operators()).value();
    std::printf("gives %s of rank %zu\n", described.outputs[0].name.c_str(), described.outputs[0].shape.size());
    optimize(model, folder);
    compile(model, folder + "/own_operators.iso");
    return compare(folder + "/own_operators.iso") ? 0 : 1;
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s\n", failure.what());
    return 1;
  }
}
