#include "cli/examples.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace isomer::cli {
namespace {

struct Example {
  std::string_view command;  ///< with those that it is under; empty: the program
  std::vector<std::string_view> lines;
};

/// One line can be run after another: they use what those above them have written.
const std::vector<Example>& examples() {
  static const std::vector<Example> all = {
      {"",
       {"isomer optimize model.onnx -o faster.onnx", "isomer compile model.onnx -o model.iso",
        "isomer bench model.iso"}},
      {"optimize",
       {"isomer optimize model.onnx -o faster.onnx",
        "isomer optimize bert.onnx -o faster-bert.onnx --dim batch=8 --time 2min",
        "isomer optimize model.onnx -o simpler.onnx --level 2 --proof simpler.proof"}},
      {"compile",
       {"isomer compile model.onnx -o model.iso", "isomer compile bert.onnx -o bert.iso --dim batch=8 --threads 1"}},
      {"tune",
       {"isomer tune model.onnx --trials 64 --time 2s",
        "isomer tune model.onnx bert.onnx --dim batch=8 --time 2s --report tune.html"}},
      {"run",
       {"isomer run model.onnx", "isomer run bert.onnx --dim batch=8 --fill ones --json",
        "isomer run model.iso --load-inputs inputs.npz --save-outputs outputs.npz"}},
      {"bench",
       {"isomer bench model.iso", "isomer bench bert.onnx --dim batch=8 --duration 1 --json",
        "isomer bench model.onnx --against onnxruntime --duration 1"}},
      {"compare",
       {"isomer compare model.onnx faster.onnx", "isomer compare bert.onnx bert.iso --dim batch=8 --runs 5"}},
      {"diff", {"isomer diff model.onnx faster.onnx", "isomer diff model.onnx simpler.onnx --dot"}},
      {"completion", {"isomer completion bash"}},
      {"inspect",
       {"isomer inspect model.onnx", "isomer inspect model.onnx --capability",
        "isomer inspect bert.onnx --dim batch=8 --task 0 --nest", "isomer inspect model.iso --verify"}},
      {"verify", {"isomer verify model.onnx simpler.onnx simpler.proof"}},
      {"library", {"isomer library stats", "isomer library matches model.onnx"}},
      {"library generate", {"isomer library generate --ops elementwise --max-ops 2 -o rules"}},
      {"library replay", {"isomer library replay rules/elementwise.rules"}},
      {"library verify", {"isomer library verify rules/elementwise.rules"}},
      {"library refute", {"isomer library refute rules/elementwise.rules --trials 100"}},
      {"library list", {"isomer library list", "isomer library list rules/elementwise.rules"}},
      {"library show", {"isomer library show add-add-4f06dc"}},
      {"library stats", {"isomer library stats", "isomer library stats rules/elementwise.rules --json"}},
      {"library check-axioms", {"isomer library check-axioms --trials 5"}},
      {"library check-equations",
       {"echo 'x[2,4] v[4,3] w[3,5] | MatMul(MatMul(x,v),w) = MatMul(x,MatMul(v,w))' > my.equations",
        "isomer library check-equations my.equations"}},
      {"library add",
       {"echo 'relu-twice | x[2,3] | Relu(Relu(x)) = Relu(x)' > relu.equations",
        "isomer library add relu.equations -o mine", "isomer optimize model.onnx -o faster.onnx --rules mine.rules"}},
      {"library matches", {"isomer library matches model.onnx", "isomer library matches model.onnx mine.rules"}},
      {"records", {"isomer records list", "isomer records export -o records.jsonl"}},
      {"records list", {"isomer records list", "isomer records list --json"}},
      {"records best", {"isomer records best"}},
      {"records export", {"isomer records export -o records.jsonl"}},
      {"records import", {"isomer records import records.jsonl"}},
      {"records prune", {"isomer records prune --keep 3"}},
      {"env", {"isomer env", "isomer env --json"}},
  };
  return all;
}

/// nullptr where the program does not have the command.
CLI::App* find(CLI::App* app, std::string_view path) {
  if (!app || path.empty()) return app;
  const size_t end = std::min(path.find(' '), path.size());
  const std::string_view name = path.substr(0, end);
  const auto there = app->get_subcommands([&](CLI::App* each) { return each->get_name() == name; });
  return find(there.empty() ? nullptr : there[0], path.substr(std::min(end + 1, path.size())));
}

}  // namespace

void add_examples(CLI::App& app) {
  for (const auto& [command, lines] : examples()) {
    std::string text = lines.size() == 1 ? "Example:" : "Examples:";
    for (const std::string_view line : lines) text += fmt::format("\n  {}", line);
    if (CLI::App* found = find(&app, command)) found->footer(text);
  }
  for (const auto& [group, commands] : std::initializer_list<std::pair<const char*, std::vector<const char*>>>{
           {"Make models faster", {"optimize", "compile"}},
           {"Run and measure them", {"run", "bench"}},
           {"Look into them", {"inspect", "compare", "verify"}},
           {"What it works with", {"library", "records", "env"}}})
    for (const char* command : commands)
      if (CLI::App* found = find(&app, command)) found->group(group);
}

}  // namespace isomer::cli
