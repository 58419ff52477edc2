// schedule_rule FOLDER [TARGET]: the examples of docs/adding-a-schedule-rule.md on pairs.onnx, product.onnx and
// rows.onnx in the folder, each beside the default schedule, and that of docs/templates.md, tuned. Exit code 1: one was
// not used, or gives another result.
#include <cstdio>
#include <stdexcept>

#include "examples.h"
#include "timed.h"

namespace {

/// Compiles the model as it is and with the options; `used` is what the trace must say then.
bool show(const std::string& folder, const std::string& name, const isomer::CompileModelOptions& options,
          const std::string& used) {
  const std::string model = folder + "/" + name + ".onnx";
  isomer::CompileModelOptions usual;
  usual.target = options.target;
  usual.threads = options.threads;
  isomer::compile_model(model, folder + "/usual.iso", usual).value();
  const auto report = isomer::compile_model(model, folder + "/mine.iso", options).value();
  const std::string& trace = report.tasks[0].trace;
  const bool is_used = trace.find(used) != std::string::npos;
  const Comparison times = compare(folder + "/usual.iso", folder + "/mine.iso");
  std::printf("%s: %.1f us as it is, %.1f us so: %.2f times as fast; results are %s, what is mine is %s\n",
              name.c_str(), times.first, times.second, times.first / times.second,
              times.are_equal ? "equal" : "not equal", is_used ? "used" : "not used");
  if (!is_used) std::printf("%s\n", trace.c_str());
  return is_used && times.are_equal;
}

/// What the tuner makes of the choices that `options` have, for `compile_model` with the same options.
bool show_tuned(const std::string& model, isomer::CompileModelOptions options, const std::string& folder) {
  options.records = folder + "/records";
  const auto tuned = isomer::tune_model(model, options, {.trials = 16, .seconds = {}, .continues = false}).value();
  const auto made = isomer::compile_model(model, folder + "/tuned.iso", options).value();
  for (const isomer::MadeChoice& choice : made.tasks[0].choices)
    std::printf("%s := %lld%s\n", choice.name.c_str(), static_cast<long long>(choice.value),
                choice.value == choice.preferred ? "" : ", tuned");
  std::printf("%s: %.1f us as it is preferred, %.1f us tuned, after %lld trials\n", tuned[0].name.c_str(),
              tuned[0].first_us, tuned[0].best_us, static_cast<long long>(tuned[0].trials));
  return tuned[0].trials > 0 && tuned[0].best_us <= tuned[0].first_us;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : ".";
  isomer::CompileModelOptions plain;
  plain.target = argc > 2 ? argv[2] : "cpu";
  plain.threads = 1;
  try {
    isomer::CompileModelOptions pairs = plain;
    pairs.modules = {lanes_of_pairs()};
    bool is_good = show(folder, "pairs", pairs, "s0.lanes_of_pairs := 1");
    if (plain.target == "cpu") is_good &= show_tuned(folder + "/pairs.onnx", pairs, folder);

    isomer::CompileModelOptions product = plain;
    product.micro_kernels = {product_tile(14, 32, {"avx512f"}), product_tile(6, 16, {})};
    product.modules = {products_in_tiles()};
    is_good &= show(folder, "product", product, ", tile");

    isomer::CompileModelOptions rows = plain;
    rows.decisions = {{"Softmax", {{"s0.in_row", 0}}}};
    is_good &= show(folder, "rows", rows, "s0.in_row := 0");
    return is_good ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "schedule_rule: %s\n", error.what());
    return 1;
  }
}
